"""Curves as letters, for terminals."""

import math
from collections.abc import Mapping, Sequence

Curve = Sequence[tuple[float, float]]
WIDTH = 56


def text_chart(curves: Mapping[str, Curve], width: int = WIDTH) -> list[str]:
    """Lines of text that draw positive numbers on logarithmic axes, each curve by its letter.

    Two rows are a power of ten. Where curves meet, the last one is seen.

    >>> for line in text_chart({"a": [(1, 1), (100, 1)], "b": [(1, 0.1), (100, 0.03)]}, width=9):
    ...     print(line)
      1 | a       a
        |
    0.1 | b
        |         b
        +----------
          1   10  100
    """
    points = [point for curve in curves.values() for point in curve]
    low, high = (pick(math.log10(x) for x, _ in points) for pick in (min, max))
    rows = [_row(y) for _, y in points]
    top, bottom = max(rows), min(rows)
    cells = [[" "] * width for _ in range(top - bottom + 1)]
    for letter, curve in curves.items():
        for x, y in curve:
            cells[top - _row(y)][_column(math.log10(x), low, high, width)] = letter
    words = ["" if row % 2 else _power(row // 2) for row in range(top, bottom - 1, -1)]
    margin = max(map(len, words))
    drawn = [
        f"{word:>{margin}} | {''.join(row)}".rstrip()
        for word, row in zip(words, cells, strict=True)
    ]
    return [*drawn, " " * margin + " +" + "-" * (width + 1), _axis(low, high, width, margin)]


def _row(number: float) -> int:
    """The nearest half power of ten."""
    return math.floor(2 * math.log10(number) + 0.5)


def _column(place: float, low: float, high: float, width: int) -> int:
    share = (place - low) / (high - low) if high > low else 0.0
    return round(share * (width - 1))


def _axis(low: float, high: float, width: int, margin: int) -> str:
    """Powers of ten below the axis."""
    line = [" "] * (width + 8)
    for power in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1):
        word, at = _power(power), _column(power, low, high, width)
        line[at : at + len(word)] = word
    return " " * (margin + 3) + "".join(line).rstrip()


def _power(power: int) -> str:
    return f"{10.0**power:,g}" if -3 <= power <= 6 else f"1e{power}"
