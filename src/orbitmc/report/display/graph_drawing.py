"""A small drawing of which variables share a factor."""

from collections.abc import Mapping, Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.graph.model import Model
from orbitmc.report.display.words import safe

MOST_VARIABLES = 40
LAYOUT_STEPS = 300
DRAWING_WIDTH, LEAST, TALLEST, MARGIN = 640, 130, 400, 46
SQUARE = 0.8  # how alike the directions of lines are in a lattice, 1 if all cross at right angles
FEW_NAMES, SHORT, LONG = 16, 10, 18  # letters of a name: longer ones where there are few
LETTER, TALL = 6.0, 24.0  # pixels of a letter, and of a dot with its name
PUSHES = 80


def draw_graph(model: Model, orbit_of: Mapping[int, int] | None = None) -> str:
    """Dots and lines for up to forty free variables, or nothing; an orbit shares a colour."""
    count = model.graph.variables
    if not 0 < count <= MOST_VARIABLES:
        return ""
    edges = _edges(model)
    shown = [safe(name, LONG if count <= FEW_NAMES else SHORT) for name in model.names]
    turned = _turned(_layout(count, edges), edges)
    height = _height(turned)
    places = _untangled(_stretched(turned, height), shown, height)
    lines = "".join(
        f'<path class="e" d="M{places[a, 0]:.0f} {places[a, 1]:.0f}'
        f'L{places[b, 0]:.0f} {places[b, 1]:.0f}"/>'
        for a, b in edges
    )
    dots = "".join(
        f'<g><title>{safe(name)}</title><circle class="v o{(orbit_of or {}).get(place, 0) % 8}" '
        f'cx="{places[place, 0]:.0f}" cy="{places[place, 1]:.0f}" r="6"/>'
        f'<text x="{places[place, 0]:.0f}" y="{places[place, 1] - 9:.0f}" '
        f'text-anchor="middle">{shown[place]}</text></g>'
        for place, name in enumerate(model.names)
    )
    about = f"{count} variables and the {len(edges)} pairs that share a factor"
    return (
        f'<svg class="graph" viewBox="0 0 {DRAWING_WIDTH} {height}" role="img" '
        f'aria-label="{about}">'
        f"{lines}{dots}</svg>"
    )


def _edges(model: Model) -> list[tuple[int, int]]:
    """Pairs of variables that share a factor."""
    graph, found = model.graph, set()
    for factor in range(graph.factors):
        scope = sorted(graph.scope_of(factor).tolist())
        found |= {(a, b) for place, a in enumerate(scope) for b in scope[place + 1 :]}
    return sorted(found)


def _layout(count: int, edges: list[tuple[int, int]]) -> Floats:
    """Places whose distances are near those in the graph (stress, Kamada and Kawai 1989)."""
    apart = _distances(count, edges)
    weight = apart**-2.0
    np.fill_diagonal(weight, 0.0)
    places = _first_places(apart)
    total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
    for _ in range(LAYOUT_STEPS):
        between = places[:, None] - places[None]
        length = np.maximum(np.linalg.norm(between, axis=2), 1e-6)
        wanted = places[None] + between * (apart / length)[:, :, None]
        places = (weight[:, :, None] * wanted).sum(axis=1) / total
    return places


def _first_places(apart: Floats) -> Floats:
    """Places by classical scaling (Torgerson 1952), and a little circle that parts equal ones."""
    count = len(apart)
    squares = apart**2
    np.fill_diagonal(squares, 0.0)
    centring = np.eye(count) - 1.0 / count
    values, vectors = np.linalg.eigh(-centring @ squares @ centring / 2)
    turn = 2 * np.pi * np.arange(count) / count
    found = np.zeros((count, 2))
    found[:, : min(2, count)] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :2]
    places: Floats = found + 0.05 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return places


def _distances(count: int, edges: list[tuple[int, int]]) -> Floats:
    """How many lines lie between two dots; parts that are not connected are a little further."""
    found = np.full((count, count), np.inf)
    np.fill_diagonal(found, 0.0)
    for a, b in edges:
        found[a, b] = found[b, a] = 1.0
    for middle in range(count):
        found = np.minimum(found, found[:, [middle]] + found[[middle]])
    reached = found[np.isfinite(found)].max(initial=0.0)
    found[np.isinf(found)] = reached / 2 + 1.5
    np.fill_diagonal(found, 1.0)
    return found


def _turned(places: Floats, edges: list[tuple[int, int]]) -> Floats:
    """Turn most lines of a lattice level, and of anything else the longer side."""
    centred = places - places.mean(axis=0)
    lines = np.array([centred[b] - centred[a] for a, b in edges]).reshape(-1, 2)
    four = np.exp(4j * np.arctan2(lines[:, 1], lines[:, 0]))
    if len(edges) and abs(four.mean()) > SQUARE:
        angle = np.angle(four.mean()) / 4
        axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    else:
        axes = np.linalg.svd(centred, full_matrices=False)[2]
    turned: Floats = centred @ axes.T if len(centred) > 1 else centred
    return turned if np.ptp(turned[:, 0]) >= np.ptp(turned[:, 1]) else turned[:, ::-1]


def _height(places: Floats) -> int:
    """As tall as the drawing is beside its width, within limits."""
    wide, tall = np.ptp(places, axis=0)
    whole = 2 * MARGIN + (DRAWING_WIDTH - 2 * MARGIN) * tall / max(wide, 1e-9)
    return int(np.clip(whole, LEAST, min(TALLEST, 160 + 12 * len(places))))


def _stretched(places: Floats, height: int) -> Floats:
    """Fill the picture."""
    low, high = places.min(axis=0), places.max(axis=0)
    share = (places - low) / np.maximum(high - low, 1e-9)
    share[:, high - low < 1e-6] = 0.5
    room = np.array([DRAWING_WIDTH - 2 * MARGIN, height - 2 * MARGIN])
    found: Floats = MARGIN + share * room
    return found


def _untangled(places: Floats, names: Sequence[str], height: int) -> Floats:
    """Push names apart that would be written over each other."""
    wide = np.array([LETTER * len(name) + 6.0 for name in names])
    room = (wide[:, None] + wide[None]) / 2
    for _ in range(PUSHES):
        between = places[:, None] - places[None]
        across, up = room - np.abs(between[:, :, 0]), TALL - np.abs(between[:, :, 1])
        over = (across > 0) & (up > 0)
        np.fill_diagonal(over, False)
        if not over.any():
            break
        sign = np.where(between[:, :, 1] >= 0, 1.0, -1.0)
        sign = np.where(between[:, :, 1] == 0, np.sign(np.subtract.outer(wide, wide) + 0.5), sign)
        places = places + np.stack(
            [np.zeros(len(names)), (over * sign * up).sum(axis=1) / 4], axis=1
        )
        places[:, 1] = np.clip(places[:, 1], MARGIN / 2, height - MARGIN / 4)
    return places
