"""Drawings in SVG: charts, heat maps, and which variables share a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.estimate.answers import Joint
from orbitmc.estimate.formatting import probability
from orbitmc.exact.families import Family, families_of
from orbitmc.report.html import safe, table

if TYPE_CHECKING:
    from orbitmc import Model

# Axes: where a number stands in a picture, and which numbers are written beside it.

MOST_TICKS = 6
TICK_STEPS = (1, 2, 5, 10)
FEW_DECADES = (
    50.0  # times the lowest number: an axis that reaches less far has ticks at 2 and 5, too
)
TINY = 1e-4
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` between two places of a picture, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, number: float) -> float:
        low, high, here = (
            (math.log(self.low), math.log(self.high), math.log(max(number, self.low)))
            if self.log
            else (self.low, self.high, number)
        )
        share = (here - low) / (high - low) if high > low else 0.5
        return round(self.start + (self.end - self.start) * share, 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Round numbers on the axis, and how they are written."""
        return _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high)


def log_scale(numbers: Sequence[float], start: float, end: float) -> Scale:
    """An axis that has room for positive numbers, and for two ticks at least.

    >>> [words for _, words in log_scale([0.002, 3.0], 0, 1).ticks()]
    ['0.001', '0.01', '0.1', '1', '10']
    >>> [words for _, words in log_scale([1.3, 4.0], 0, 1).ticks()]
    ['1', '2', '5']
    """
    low, high = min(numbers), max(numbers)
    fine = TICK_STEPS[:3] if high < FEW_DECADES * low else TICK_STEPS[:1]
    allowed = [digit * 10.0**power for power in _powers(low, high) for digit in fine]
    below = [tick for tick in allowed if tick <= low * (1 + 1e-9)]
    above = [tick for tick in allowed if tick >= high * (1 - 1e-9)]
    first, last = below[-1], above[0]
    return Scale(first, last if last > first else 10 * first, start, end, log=True)


def _powers(low: float, high: float) -> range:
    """Powers of ten from below one number to above another."""
    return range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)


def _ticks(low: float, high: float) -> list[tuple[float, str]]:
    if not high > low:
        return [(low, f"{low:g}")]
    rough = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in TICK_STEPS if power * digit >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [(place * step, f"{place * step:.6g}") for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    if high < FEW_DECADES * low:
        every = [digit * 10.0**power for power in _powers(low, high) for digit in TICK_STEPS[:3]]
        visible = [tick for tick in every if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        return [(tick, f"{tick:g}" if tick > TINY else f"{tick:.0e}") for tick in visible]
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, -(-(last - first) // (MOST_TICKS - 1)))
    return [(10.0**power, power_of_ten(power)) for power in range(first, last + 1, stride)]


def power_of_ten(power: int) -> str:
    """A power of ten as people write it.

    >>> power_of_ten(-2), power_of_ten(3), power_of_ten(-7)
    ('0.01', '1,000', '10⁻⁷')
    """
    if -3 <= power <= 4:
        return f"{10.0**power:,.{max(0, -power)}f}"
    return f"10{str(power).translate(RAISED)}"


# Charts in SVG. Colours come from classes, so that one style sheet serves light and dark.

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 24, 12, 44
BAR_WIDTH, BAR_HEIGHT = 120, 12


@dataclass(frozen=True)
class Line:
    """Points that are joined, under a name; `tone` is the class that colours them."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    tone: str
    dashed: bool = False


def bar(p: float, low: float, high: float, tone: str) -> str:
    """A probability as a bar, with its interval as a whisker."""
    length, left, right = (round(BAR_WIDTH * x, 1) for x in (p, low, high))
    arms = f"M{left} 2.5v7M{left} 6H{right}M{right} 2.5v7" if right > left else ""
    whisker = f'<path class="w" d="{arms}"/>' if arms else ""
    return (
        f'<svg class="bar" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}">'
        f'<rect class="t" y="1" width="{BAR_WIDTH}" height="10" rx="2"/>'
        f'<rect class="f {tone}" y="1" width="{length}" height="10" rx="2"/>{whisker}</svg>'
    )


def line_chart(lines: Sequence[Line], x_title: str, y_title: str, about: str) -> str:
    """Positive numbers against positive numbers, both axes logarithmic, names at the ends."""
    every_x = [x for line in lines for x in line.x]
    every_y = [y for line in lines for y in line.y if y > 0]
    x = log_scale(every_x, LEFT, WIDTH - RIGHT)
    y = log_scale(every_y, HEIGHT - BOTTOM, TOP)
    curves = [_polyline(line, x, y) for line in lines]
    keys = _keys([(line.name, line.tone, line.dashed) for line in lines])
    return keys + _frame(x, y, x_title, y_title, "".join(curves), about)


def _polyline(line: Line, x: Scale, y: Scale) -> str:
    places = [(x(a), y(b)) for a, b in zip(line.x, line.y, strict=True) if b > 0]
    points = " ".join(f"{a},{b}" for a, b in places)
    kind = f"l {line.tone} d" if line.dashed else f"l {line.tone}"
    dots = (
        ""
        if line.dashed
        else "".join(
            f'<circle class="p {line.tone}" cx="{a}" cy="{b}" r="2.4"/>' for a, b in places
        )
    )
    return f'<polyline class="{kind}" points="{points}"/>{dots}'


def scatter(x: Sequence[float], y: Sequence[float], titles: tuple[str, str], about: str) -> str:
    """Probabilities against probabilities, with the line on which both are equal."""
    across = Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    up = Scale(0.0, 1.0, HEIGHT - BOTTOM, TOP)
    line = f'<path class="g" d="M{across(0)} {up(0)}L{across(1)} {up(1)}"/>'
    dots = "".join(
        f'<circle class="p good" cx="{across(a)}" cy="{up(b)}" r="2.4"/>'
        for a, b in zip(x, y, strict=True)
    )
    return _frame(across, up, *titles, line + dots, about)


def histogram(
    edges: Sequence[float],
    counts: Sequence[int],
    x_title: str,
    marks: Sequence[float],
    about: str,
    *,
    log: bool = False,
) -> str:
    """How many numbers lie between edges; dashed lines mark limits."""
    x = Scale(edges[0], edges[-1], LEFT, WIDTH - RIGHT, log)
    y = Scale(0.0, max(counts, default=1) * 1.05, HEIGHT - BOTTOM, TOP)
    columns = "".join(
        f'<rect class="f good" x="{x(a)}" y="{y(n)}" width="{max(x(b) - x(a) - 0.8, 0.8):.1f}" '
        f'height="{y(0) - y(n):.1f}"/>'
        for (a, b), n in zip(pairwise(edges), counts, strict=True)
        if n
    )
    limits = "".join(
        f'<path class="m" d="M{x(at)} {TOP}V{HEIGHT - BOTTOM}"/>'
        f'<text x="{x(at) + 4}" y="{TOP + 9}">{at:g}</text>'
        for at in marks
        if edges[0] < at < edges[-1]
    )
    return _frame(x, y, x_title, "values", columns + limits, about)


def _frame(x: Scale, y: Scale, x_title: str, y_title: str, body: str, about: str) -> str:
    """Axes with ticks and titles around a drawing."""
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    across = "".join(
        f'<path class="g" d="M{x(at)} {TOP}V{bottom}"/>'
        f'<text x="{x(at)}" y="{bottom + 15}" text-anchor="middle">{words}</text>'
        for at, words in x.ticks()
    )
    up = "".join(
        f'<path class="g" d="M{LEFT} {y(at)}H{right}"/>'
        f'<text x="{LEFT - 6}" y="{y(at) + 4}" text-anchor="end">{words}</text>'
        for at, words in y.ticks()
    )
    middle = (TOP + bottom) / 2
    titles = (
        f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{safe(x_title)}</text>"
        f'<text transform="translate(13 {middle}) rotate(-90)" text-anchor="middle">'
        f"{safe(y_title)}</text>"
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{safe(about, 300)}">'
        f"{across}{up}{body}{titles}</svg>"
    )


def _keys(entries: Sequence[tuple[str, str, bool]]) -> str:
    """What the lines of a chart are called."""
    words = (
        f'<span><svg viewBox="0 0 22 8" width="22" height="8"><path class="l {tone}'
        f'{" d" if dashed else ""}" d="M1 4H21"/></svg> {safe(name)}</span>'
        for name, tone, dashed in entries
    )
    return f'<div class="keys">{"".join(words)}</div>'


# Tables of probabilities as coloured squares.

MOST_SIDE = 24  # rows or columns of a heat map
MOST_JOINT_ROWS = 200
LEGIBLE = 0.6  # of the darkest: beyond it, words are light


def joint_table(joint: Joint) -> str:
    """A heat map for two names that have few values, and a table for others."""
    sides = joint.probability.shape
    if len(sides) == 2 and max(sides) <= MOST_SIDE:
        return _heat_map(joint)
    return _plain(joint)


def _heat_map(joint: Joint) -> str:
    down, across = joint.names
    largest = float(joint.probability.max(initial=0.0)) or 1.0
    head = "".join(f"<th>{safe(value)}</th>" for value in joint.values[1])
    rows = "".join(
        f"<tr><th>{safe(value)}</th>{_cells(joint, row, largest)}</tr>"
        for row, value in enumerate(joint.values[0])
    )
    return (
        f'<table class="heat"><thead><tr><td>{safe(down)} \\ {safe(across)}</td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _cells(joint: Joint, row: int, largest: float) -> str:
    return "".join(_cell(joint, row, column, largest) for column in range(len(joint.values[1])))


def _cell(joint: Joint, i: int, j: int, largest: float) -> str:
    p, error = float(joint.probability[i, j]), float(joint.standard_error[i, j])
    share = p / largest
    light = " x" if share > LEGIBLE else ""
    label = f"{probability(p)}" + (f" ± {error:.1g}" if error else "")
    return (
        f'<td class="h{light}" style="--s:{share:.2f}" title="{label}">'
        f"{probability(p)}{f'<small>±{error:.1g}</small>' if error else ''}</td>"
    )


def _plain(joint: Joint) -> str:
    rows = sorted(joint.rows(), key=lambda row: -row[len(joint.names)])[:MOST_JOINT_ROWS]
    wide = len(joint.names)
    columns = 2 if joint.standard_error.any() else 1
    cells = [
        [*(safe(word) for word in row[:wide]), *map(probability, row[wide : wide + columns])]
        for row in rows
    ]
    left_out = joint.probability.size - len(rows)
    more = f"<p>… and {left_out:,} less probable joint values</p>" if left_out else ""
    titles = [*(safe(name) for name in joint.names), *("P", "±")[:columns]]
    return table(titles, cells, numbers=(wide, wide + 1)) + more


MOST_VARIABLES_DRAWN = 40
LAYOUT_STEPS = 300
DRAWING_WIDTH, LEAST, TALLEST, MARGIN = 640, 130, 400, 46
SQUARE = 0.8  # how alike the directions of lines are in a lattice, 1 if all cross at right angles
FEW_NAMES, SHORT, LONG = 16, 10, 18  # letters of a name: longer ones where there are few
LETTER, TALL = 6.0, 24.0  # pixels of a letter, and of a dot with its name
PUSHES = 80
RIM, TIP, HALF_TIP = 7.5, 7.0, 3.2  # pixels from a dot to an arrow, of its head, of half as wide
ROUNDED = 1e-3  # files round probabilities


def draw_graph(
    model: Model,
    orbit_of: Mapping[int, int] | None = None,
    evidence: Mapping[str, str] | None = None,
) -> str:
    """Dots and lines for up to forty free variables, or nothing; an orbit shares a colour.

    A Bayesian network has arrows. What is `evidence` has a thick rim and its value.
    """
    seen = [place for place, name in enumerate(model.names) if name not in model.helpers]
    count = len(seen)
    if not 0 < count <= MOST_VARIABLES_DRAWN:
        return ""
    names, known, orbits = [model.names[place] for place in seen], evidence or {}, orbit_of or {}
    arrows = find_arrows(model, seen)
    edges = (
        find_edges(model, seen) if arrows is None else sorted({_pair(*arrow) for arrow in arrows})
    )
    longest = LONG if count <= FEW_NAMES else SHORT
    labels = [_label(name, known.get(name, ""), longest) for name in names]
    turned = _point_down(_turn(place_by_distance(count, edges), edges), arrows or ())
    height = _height(turned)
    places = _untangle(_stretch(turned, height), labels, height)
    lines = "".join(_line(places, *pair) for pair in edges)
    tips = "".join(_tip(places, *arrow) for arrow in arrows or ())
    dots = "".join(
        _dot(places[place], name, labels[place], orbits.get(seen[place], 0), name in known)
        for place, name in enumerate(names)
    )
    about = _describe_drawing(count, len(edges), arrows is not None, sum(n in known for n in names))
    return (
        f'<svg class="graph" viewBox="0 0 {DRAWING_WIDTH} {height}" role="img" '
        f'aria-label="{about}">'
        f"{lines}{tips}{dots}</svg>"
    )


def _describe_drawing(count: int, edges: int, directed: bool, observed: int) -> str:
    joined = f"the {edges} {'arrows between them' if directed else 'pairs that share a factor'}"
    evidence = f"; {observed} observed, with a thick rim" if observed else ""
    return f"{count} variables and {joined}{evidence}"


def _label(name: str, value: str, longest: int) -> str:
    return safe(name, longest) + (f" = {safe(value, longest)}" if value else "")


def _line(places: Floats, a: int, b: int) -> str:
    return (
        f'<path class="e" d="M{places[a, 0]:.0f} {places[a, 1]:.0f}'
        f'L{places[b, 0]:.0f} {places[b, 1]:.0f}"/>'
    )


def _tip(places: Floats, parent: int, child: int) -> str:
    """The head of an arrow, at the rim of the child."""
    along = places[child] - places[parent]
    along = along / max(float(np.hypot(*along)), 1e-9)
    end, across = places[child] - RIM * along, HALF_TIP * np.array([-along[1], along[0]])
    back = end - TIP * along
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in (end, back + across, back - across))
    return f'<polygon class="a" points="{corners}"/>'


def _dot(place: Floats, name: str, label: str, orbit: int, observed: bool) -> str:
    thick = " seen" if observed else ""
    bold = ' class="seen"' if observed else ""
    return (
        f"<g><title>{safe(name)}</title>"
        f'<circle class="v o{orbit % 8}{thick}" cx="{place[0]:.0f}" cy="{place[1]:.0f}" r="6"/>'
        f'<text{bold} x="{place[0]:.0f}" y="{place[1] - 9:.0f}" text-anchor="middle">{label}</text>'
        "</g>"
    )


def find_arrows(model: Model, seen: Sequence[int]) -> list[tuple[int, int]] | None:
    """Parents and children by their places among those that are seen; None if there are none.

    Causes of a noisy gate point to its child, past the helpers between them.
    """
    families = families_of(model.graph)
    if families is None or all(len(family.scope) < 2 for family in families):
        return None
    if not all(_is_conditional(model, family) for family in families):
        return None
    place_of = {variable: place for place, variable in enumerate(seen)}

    def causes(variable: int) -> set[int]:
        family = families[variable]
        parents = [v for axis, v in enumerate(family.scope) if axis != family.axis]
        return {
            cause
            for parent in parents
            for cause in ([place_of[parent]] if parent in place_of else causes(parent))
        }

    return [(cause, place) for place, child in enumerate(seen) for cause in sorted(causes(child))]


def _is_conditional(model: Model, family: Family) -> bool:
    """Whether a table has probabilities: they add up to one, whatever the parents are."""
    sums = np.exp(model.graph.full_table(family.factor)).sum(axis=family.axis)
    return bool(np.allclose(sums, 1.0, atol=ROUNDED))


def _pair(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


def find_edges(model: Model, seen: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of variables that share a factor, by their places among those that are seen."""
    graph, pairs = model.graph, set()
    place_of = {variable: place for place, variable in enumerate(seen)}
    for factor in range(graph.factors):
        scope = sorted(place_of[v] for v in graph.scope_of(factor).tolist() if v in place_of)
        pairs |= {(a, b) for place, a in enumerate(scope) for b in scope[place + 1 :]}
    return sorted(pairs)


def place_by_distance(count: int, edges: list[tuple[int, int]]) -> Floats:
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
    scaled = np.zeros((count, 2))
    scaled[:, : min(2, count)] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :2]
    places: Floats = scaled + 0.05 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return places


def _distances(count: int, edges: list[tuple[int, int]]) -> Floats:
    """How many lines lie between two dots; parts that are not connected are a little further."""
    distances = np.full((count, count), np.inf)
    np.fill_diagonal(distances, 0.0)
    for a, b in edges:
        distances[a, b] = distances[b, a] = 1.0
    for middle in range(count):
        distances = np.minimum(distances, distances[:, [middle]] + distances[[middle]])
    reached = distances[np.isfinite(distances)].max(initial=0.0)
    distances[np.isinf(distances)] = reached / 2 + 1.5
    np.fill_diagonal(distances, 1.0)
    return distances


def _turn(places: Floats, edges: list[tuple[int, int]]) -> Floats:
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


def _point_down(places: Floats, arrows: Sequence[tuple[int, int]]) -> Floats:
    """Let most arrows point down, and to the right."""
    along = sum((places[child] - places[parent] for parent, child in arrows), np.zeros(2))
    pointed: Floats = places * np.where(along < 0, -1.0, 1.0)
    return pointed


def _height(places: Floats) -> int:
    """As tall as the drawing is beside its width, within limits."""
    wide, tall = np.ptp(places, axis=0)
    whole = 2 * MARGIN + (DRAWING_WIDTH - 2 * MARGIN) * tall / max(wide, 1e-9)
    return int(np.clip(whole, LEAST, min(TALLEST, 160 + 12 * len(places))))


def _stretch(places: Floats, height: int) -> Floats:
    """Fill the picture."""
    low, high = places.min(axis=0), places.max(axis=0)
    share = (places - low) / np.maximum(high - low, 1e-9)
    share[:, high - low < 1e-6] = 0.5
    room = np.array([DRAWING_WIDTH - 2 * MARGIN, height - 2 * MARGIN])
    stretched: Floats = MARGIN + share * room
    return stretched


def _untangle(places: Floats, names: Sequence[str], height: int) -> Floats:
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
