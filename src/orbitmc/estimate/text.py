"""Numbers of an answer as words, and words as aligned columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orbitmc.estimate.columns import Marginal
    from orbitmc.estimate.marginals import Marginals

SAMPLED = ("variable", "value", "P", "±", "95 % interval", "ESS", "R-hat", "verdict")
CERTAIN = ("variable", "value", "P", "verdict")
LEFT_ALIGNED = frozenset({"variable", "value", "verdict"})
MOST_ROWS = 40


def headings(answer: Marginals) -> tuple[str, ...]:
    """Column titles: an answer without sampling error needs fewer."""
    return CERTAIN if answer.about.method == "exact" else SAMPLED


def rows(answer: Marginals) -> Iterator[tuple[str, ...]]:
    """One row of words per value of each variable."""
    short = headings(answer) == CERTAIN
    for name, marginal in answer.items():
        for place, value in enumerate(marginal.values):
            p = probability(float(marginal.probability[place]))
            error = () if short else _error(marginal, place)
            yield (printable(name), printable(value), p, *error, verdict(marginal, place))


def verdict(marginal: Marginal, place: int) -> str:
    """The verdict on a value; of a rare one, how probable it is at most."""
    if marginal.verdict != "rare":
        return marginal.verdict
    if not marginal.rare[place]:
        return "fair"
    if marginal.probability[place] > 0.5:
        return f"at least {probability(float(marginal.low[place]))}"
    return f"rare: at most {probability(float(marginal.high[place]))}"


def plain_table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Align columns with blanks: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    left = [title in LEFT_ALIGNED for title in titles]
    padded = (
        "  ".join(
            word.ljust(width) if to_left else word.rjust(width)
            for word, width, to_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in (titles, *lines)
    )
    return "\n".join(padded)


def compact(answer: Marginals, *, most_rows: int = MOST_ROWS) -> str:
    """A table of the first values; says how many it leaves out, and how it was found."""
    lines: list[tuple[str, ...]] = []
    left_out = 0
    for row in rows(answer):
        if len(lines) < most_rows:
            lines.append(row)
        else:
            left_out += 1
    table = plain_table(headings(answer), lines)
    more = f"\n… and {left_out:,} more rows" if left_out else ""
    return f"{table}{more}\n{answer.about.method}: {answer.about.reason}"


def probability(number: float) -> str:
    """Five decimals; certainties as such, and rare values in powers of ten.

    >>> [probability(p) for p in (0.0, 1.0, 0.25, 0.0000123)]
    ['0', '1', '0.25000', '1.2e-05']
    """
    if number in (0.0, 1.0):
        return f"{number:.0f}"
    return f"{number:.1e}" if number < 1e-4 else f"{number:.5f}"


def count(number: float) -> str:
    """A whole number with thousands marked, or nothing when there is no bound."""
    return f"{number:,.0f}" if math.isfinite(number) else ""


def printable(name: str) -> str:
    """A name without line breaks or control characters."""
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


def _error(marginal: Marginal, place: int) -> tuple[str, str, str, str]:
    if not math.isfinite(marginal.ess[place]):
        return "", "", "", ""
    low, high = float(marginal.low[place]), float(marginal.high[place])
    return (
        probability(float(marginal.standard_error[place])),
        f"{probability(low)}…{probability(high)}",
        count(float(marginal.ess[place])),
        f"{float(marginal.r_hat[place]):.3f}",
    )
