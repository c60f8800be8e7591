"""Numbers of an answer as words, and words as aligned columns."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orbitmc.estimate.verdicts import FAIR, RARE, VERDICTS

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Columns, Marginals


SAMPLED_HEADINGS = ("variable", "value", "P", "±", "95 % interval", "ESS", "R-hat", "verdict")
LEARNED_HEADINGS = ("variable", "value", "P", "±", "95 % interval", "verdict")
CERTAIN_HEADINGS = ("variable", "value", "P", "verdict")
LEFT_ALIGNED = frozenset({"variable", "value", "verdict"})
MOST_COMPACT_ROWS = 40
VARIABLES_AT_A_TIME = 4096  # variables that are turned into words at a time
LARGEST_R_HAT = 100.0  # that is written as a number


def headings(answer: Marginals) -> tuple[str, ...]:
    """Column titles: an answer without sampling error needs fewer."""
    if not answer.about.is_exact:
        return SAMPLED_HEADINGS
    return LEARNED_HEADINGS if answer.about.errors_from else CERTAIN_HEADINGS


def rows(answer: Marginals, rows_at_a_time: int = VARIABLES_AT_A_TIME) -> Iterator[tuple[str, ...]]:
    """One row of words per value of each variable."""
    cells = len(headings(answer)) - len(CERTAIN_HEADINGS)
    for piece in answer.columns.pieces(rows_at_a_time):
        yield from _rows(piece, cells)


def _rows(piece: Columns, cells: int) -> Iterator[tuple[str, ...]]:
    """Rows of words with so many cells about their errors."""
    p, low, high, rare = (
        a.tolist() for a in (piece.probability, piece.low, piece.high, piece.rare)
    )
    error, ess, r_hat = (a.tolist() for a in (piece.standard_error, piece.ess, piece.r_hat))
    uncertain = has_error(piece).tolist()
    first = piece.start.tolist()
    for place, name in enumerate(piece.names):
        label, word = escape_unprintable(name), VERDICTS[piece.verdict[place]]
        for k, value in enumerate(piece.values[place], first[place]):
            numbers = ("",) * cells
            if cells and uncertain[k]:
                numbers = _error(error[k], low[k], high[k], ess[k], r_hat[k])[:cells]
            verdict = _rare_verdict(p[k], low[k], high[k], rare[k]) if word == RARE else word
            yield (
                label,
                escape_unprintable(value),
                probability(p[k]),
                *numbers,
                verdict,
            )


def has_error(columns: Columns) -> NDArray[np.bool_]:
    """Which values have an error: those that were sampled, or that depend on learned tables."""
    return np.isfinite(columns.ess) | (columns.standard_error > 0.0)


def _rare_verdict(p: float, low: float, high: float, rare: bool) -> str:
    """The verdict on a value of a variable with rare ones: how probable those are at most."""
    if not rare:
        return FAIR
    return f"at least {probability(low)}" if p > 0.5 else f"{RARE}: at most {probability(high)}"


def plain_table(
    titles: Sequence[str],
    lines: Sequence[Sequence[str]],
    to_the_left: Container[str] = LEFT_ALIGNED,
) -> str:
    """Align columns with blanks: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    left = [title in to_the_left for title in titles]
    padded = (
        "  ".join(
            word.ljust(width) if to_left else word.rjust(width)
            for word, width, to_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in (titles, *lines)
    )
    return "\n".join(padded)


def compact(answer: Marginals) -> str:
    """A table of the first values; says how many it leaves out, and how it was found."""
    lines = list(islice(rows(answer), MOST_COMPACT_ROWS))
    table = plain_table(headings(answer), lines)
    left_out = len(answer.columns.probability) - len(lines)
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


def r_hat_in_words(number: float) -> str:
    """Three decimals; chains that do not agree at all have no R-hat worth its digits.

    >>> r_hat_in_words(1.00349), r_hat_in_words(1000.0)
    ('1.003', 'beyond 100')
    """
    return f"{number:.3f}" if number <= LARGEST_R_HAT else f"beyond {LARGEST_R_HAT:.0f}"


def escape_unprintable(name: str) -> str:
    """A name without line breaks or control characters."""
    return name if name.isprintable() else name.encode("unicode_escape").decode("ascii")


def _error(
    error: float, low: float, high: float, ess: float, r_hat: float
) -> tuple[str, str, str, str]:
    interval = f"{probability(low)}…{probability(high)}"
    return probability(error), interval, count(ess), r_hat_in_words(r_hat)
