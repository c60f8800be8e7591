"""Which rows are eliminated together: those that observe the same variables."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Numbers
from orbitmc.exact.rows.passes import Elimination
from orbitmc.exact.rows.template import Template

FEW = 32
"""Rows that are not worth an elimination of their own."""

TOGETHER = 2**22
"""Bytes of all tables of rows that are eliminated together: they stay in the cache."""


@dataclass(frozen=True)
class Batch:
    """Rows for one elimination: columns that all of them observe, and columns that some do."""

    rows: Numbers
    hard: tuple[int, ...]
    soft: tuple[int, ...]


def batches(seen: NDArray[np.bool_], soft: NDArray[np.bool_], few: int = FEW) -> list[Batch]:
    """Sort rows by which columns [column, row] they observe, softly or not.

    Patterns that `few` rows have are put together: what some of these rows do not observe has
    likelihoods there, the same for all values in rows that say nothing.
    """
    if not seen.shape[1]:
        return []
    code = seen.astype(np.int8) + soft
    which = np.unique(code, axis=1, return_inverse=True)[1].reshape(-1)
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
    rest = [rows for rows in groups if len(rows) < few]
    kept = [rows for rows in groups if len(rows) >= few or len(rest) == 1]
    found = [_batch(code, rows) for rows in kept]
    if len(rest) > 1:
        found.append(_batch(code, np.sort(np.concatenate(rest))))
    return found


def _batch(code: NDArray[np.int8], rows: NDArray[np.int64]) -> Batch:
    hard = (code[:, rows] == 1).all(axis=1)
    some = (code[:, rows] > 0).any(axis=1) & ~hard
    return Batch(rows, _batch_codes(hard), _batch_codes(some))


def _batch_codes(chosen: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(chosen).tolist())


def rows_at_once(template: Template, memory: int) -> int:
    """How many rows are eliminated together, so that their tables fit."""
    row = 8 * 3 * max(template.entries, 1)
    return max(1, min(max(TOGETHER // row, 16), memory // (2 * row)))


def chunks(elimination: Elimination, rows: int, memory: int) -> Iterator[slice]:
    """Parts of so many rows that fit into memory."""
    size = rows_at_once(elimination.template, memory)
    for first in range(0, rows, size):
        yield slice(first, min(rows, first + size))
