"""How far the log-potentials of a table lie apart, and when that is too far to add them up.

Sums of log-potentials are doubles: beside 1e16 a weight of 1 disappears.
"""

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, lengths
from orbitmc.errors import LimitError
from orbitmc.graph.factor_graph import FactorGraph

WIDEST = 1e6
"""The largest range whose sums are right to 1e-10."""

COLDEST = 10.0
"""By how much a copy of a model may be cooled, and so its range increased."""


def extremes(graph: FactorGraph) -> tuple[Floats, Floats]:
    """The smallest and largest finite entry of each table; both 0 if there is none."""
    sizes = lengths(graph.table_start)
    low, high = np.zeros(len(sizes)), np.zeros(len(sizes))
    some = np.flatnonzero(sizes)
    if len(some):
        first = graph.table_start[some].astype(np.int64)
        finite = np.isfinite(graph.table)
        low[some] = np.minimum.reduceat(np.where(finite, graph.table, np.inf), first)
        high[some] = np.maximum.reduceat(graph.table, first)
    empty = ~np.isfinite(high) | (low > high)
    low[empty] = high[empty] = 0.0
    return low, high


def widths(low: Floats, high: Floats) -> Floats:
    """How far apart they are; infinite beyond doubles."""
    with np.errstate(over="ignore"):
        return high - low


def large_tables(graph: FactorGraph) -> NDArray[np.bool_]:
    """Which tables have entries far apart, or far from 0: others are lost in sums with them."""
    return _are_large(*extremes(graph))


def large_rows(tables: Floats) -> NDArray[np.bool_]:
    """Which of several tables, a row each, are large in the same sense."""
    finite = np.isfinite(tables)
    low = np.where(finite, tables, np.inf).min(axis=1, initial=np.inf)
    high = np.where(finite, tables, -np.inf).max(axis=1, initial=-np.inf)
    some = finite.any(axis=1)
    return some & _are_large(np.where(some, low, 0.0), np.where(some, high, 0.0))


def _are_large(low: Floats, high: Floats) -> NDArray[np.bool_]:
    return (widths(low, high) > WIDEST) | (np.abs(high) > WIDEST)


def large_factors(graph: FactorGraph) -> NDArray[np.int64]:
    """Factors with large tables."""
    return np.flatnonzero(large_tables(graph)[graph.table_of])


def require_narrow(graph: FactorGraph) -> None:
    """Refuse a graph whose log-potentials cannot be added up; no `hardened` model is one."""
    low, high = extremes(graph)
    wrong = np.flatnonzero(_are_large(low / COLDEST, high / COLDEST)[graph.table_of])
    if len(wrong):
        table = graph.table_of[wrong[0]]
        raise LimitError(
            f"the factor over the variables {graph.scope_of(wrong[0]).tolist()} has log-weights "
            f"from {low[table]:.3g} to {high[table]:.3g}: beside such numbers others are lost"
        )
