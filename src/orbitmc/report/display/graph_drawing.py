"""A small drawing of which variables share a factor."""

from collections.abc import Mapping, Sequence

import numpy as np

from orbitmc.graph.model import Model
from orbitmc.machine.arrays import Floats
from orbitmc.report.display.words import safe

MOST_VARIABLES = 40
STEPS = 300
WIDTH, TALLEST, MARGIN = 640, 400, 46
FEW, SHORT, LONG = 16, 10, 18  # letters of a name: longer ones where there are few
LETTER, TALL = 6.0, 24.0  # pixels of a letter, and of a dot with its name
PUSHES = 80


def draw_graph(model: Model, orbit_of: Mapping[int, int] | None = None) -> str:
    """Dots and lines for up to forty free variables, or nothing; an orbit shares a colour."""
    count = model.graph.variables
    if not 0 < count <= MOST_VARIABLES:
        return ""
    edges = _edges(model)
    height = min(TALLEST, 120 + 10 * count)
    shown = [safe(name, LONG if count <= FEW else SHORT) for name in model.names]
    places = _untangled(_stretched(_layout(count, edges), height), shown, height)
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
        f'<svg class="graph" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{about}">'
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
    turn = 2 * np.pi * np.arange(count) / count
    places = count / 6.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-9)
    for _ in range(STEPS):
        between = places[:, None] - places[None]
        length = np.maximum(np.linalg.norm(between, axis=2), 1e-6)
        wanted = places[None] + between * (apart / length)[:, :, None]
        places = (weight[:, :, None] * wanted).sum(axis=1) / total
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


def _stretched(places: Floats, height: int) -> Floats:
    """Fill the picture, the longer side across."""
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T if len(centred) > 1 else centred
    low, high = turned.min(axis=0), turned.max(axis=0)
    share = (turned - low) / np.maximum(high - low, 1e-9)
    share[:, high - low < 1e-6] = 0.5
    room = np.array([WIDTH - 2 * MARGIN, height - 2 * MARGIN])
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
