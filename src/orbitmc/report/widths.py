"""How wide the columns of a table will be, known before its words are made."""

from collections.abc import Iterable

import numpy as np

from orbitmc.estimate.columns import Columns
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.text import CERTAIN, count, headings, printable, probability
from orbitmc.machine.arrays import Floats

THREE_DIGITS = 9.95e-100  # below it, exponents have three


def widths(answer: Marginals) -> tuple[int, ...]:
    """The width of every column; the last one is not filled up, so any will do."""
    titles, columns = headings(answer), answer.columns
    words = (
        _longest(columns.names),
        _longest(value for own in set(columns.values) for value in own),
    )
    p = _widest(columns.probability)
    numbers = (p,) if titles == CERTAIN else (p, *_errors(columns))
    return tuple(map(max, map(len, titles), (*words, *numbers, 1)))


def _errors(columns: Columns) -> tuple[int, int, int, int]:
    sampled = np.isfinite(columns.ess)
    if not sampled.any():
        return 0, 0, 0, 0
    low, high = (_lengths(column[sampled]) for column in (columns.low, columns.high))
    ess, r_hat = columns.ess[sampled].max(), columns.r_hat[sampled].max()
    return (
        _widest(columns.standard_error[sampled]),
        int((low + 1 + high).max()),
        len(count(float(ess))),
        len(f"{float(r_hat):.3f}"),
    )


def _lengths(numbers: Floats) -> Floats:
    """How many letters `probability` makes of each number."""
    return np.where((numbers == 0.0) | (numbers == 1.0), 1, np.where(numbers < THREE_DIGITS, 8, 7))


def _widest(numbers: Floats) -> int:
    """The smallest number that is no certainty has the longest text."""
    between = numbers[(numbers != 0.0) & (numbers != 1.0)]
    return len(probability(float(between.min()))) if len(between) else 1


def _longest(words: Iterable[str]) -> int:
    return max((len(printable(word)) for word in words), default=0)
