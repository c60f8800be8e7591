"""Charts in SVG. Colours come from classes, so that one style sheet serves light and dark."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from orbitmc.report.display.scales import Scale, log_scale
from orbitmc.report.display.words import safe

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
    drawn = [_polyline(line, x, y) for line in lines]
    keys = _keys([(line.name, line.tone, line.dashed) for line in lines])
    return keys + _frame(x, y, x_title, y_title, "".join(drawn), about)


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
