"""Sums that keep their last digits, however many terms they have."""

import functools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from orbitmc.machine.arrays import Floats

FEW = 8  # terms whose roundings are as small as that of their sum


def exact_sum(terms: Iterable[float]) -> float:
    """Add numbers with one rounding; not a number if the sum is beyond doubles.

    >>> exact_sum([1e16, 1.0, -1e16]), exact_sum([1e308, 1e308])
    (1.0, nan)
    """
    try:
        return math.fsum(terms)
    except OverflowError:
        return math.nan


def sum_of_tables(tables: Sequence[Floats]) -> Floats:
    """Add log-tables with compensation (Neumaier 1974); minus infinity stays."""
    if len(tables) <= FEW:
        return functools.reduce(np.add, tables)
    possible = ~np.isneginf(tables[0])
    total, lost = np.where(possible, tables[0], 0.0), np.zeros(())
    for table in tables[1:]:
        possible = possible & ~np.isneginf(table)
        term = np.where(np.isneginf(table), 0.0, table)
        together = total + term
        lost = lost + np.where(
            np.abs(total) >= np.abs(term), (total - together) + term, (term - together) + total
        )
        total = together
    return np.where(possible, total + lost, -np.inf)


def maxima_taken_off(tables: Sequence[Floats]) -> tuple[list[Floats], list[float]]:
    """Log-tables with maximum 0, so that many of them lose no digits, and what was taken off."""
    highest = [float(table.max()) for table in tables]
    tops = [top if top > -np.inf else 0.0 for top in highest]
    return [table - top for table, top in zip(tables, tops, strict=True)], tops
