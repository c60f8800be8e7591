"""Weights too large to be added to others become hard constraints, if that changes nothing.

Where all tables of a wide range can be near their maximum together, a state in which some are not
weighs nothing beside one in which they are. So their low entries count as impossible. Where they
contradict each other, only their sums would decide, and those are beyond doubles.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc import graph as graphs
from orbitmc._util.arrays import MOST_VALUES, Floats, floats, indices, starts
from orbitmc._util.text import MOST_NAMED
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import WIDEST, exact_sum, extremes, large_factors, widths
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components
from orbitmc.graph.support import Domains, all_values, hard_factors, possible_values

CERTAIN_MARGIN = 1000.0  # a probability below exp(-1000) is 0 as a double, many times over
LARGEST_FLOAT = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Hardening:
    """A model whose log-potentials can be added up, and what must be said with its answers."""

    model: Model
    remarks: tuple[str, ...] = ()


def harden(model: Model) -> Hardening:
    """Make entries impossible that lie far below the maximum of their table, where that is safe.

    Large maxima go into the constant. Models with weights of usual size stay as they are.
    """
    model.require_all_factors()
    graph = model.graph
    large = large_factors(graph)
    if not len(large):
        return Hardening(model, model.doubts)
    domains = possible_values(graph) if graph.has_zeros() else all_values(graph)
    firm, gap = _harden_tables(graph, large, domains)
    changed = model.with_graph(firm)
    if np.isinf(gap).all():
        return Hardening(changed, model.doubts)
    _require_together(model, firm, gap)
    remark = _remark(model, gap, _require_margin(model, firm, gap))
    return Hardening(changed, (*model.doubts, remark))


class _Piece(NamedTuple):
    """A table with its maximum taken off, and how far below it the first dropped entry lies."""

    table: Floats
    top: float
    gap: float


def _harden_tables(
    graph: FactorGraph, large: NDArray[np.int64], domains: Domains
) -> tuple[FactorGraph, Floats]:
    """Give large factors new tables; and how far below the maximum each one was cut."""
    table_of = graph.table_of.astype(np.int64)
    gap = np.full(graph.factors, np.inf)
    pieces: list[Floats] = []
    constant = [graph.constant]
    for factors, possible in _group_factors(graph, large, domains):
        piece = _harden_table(graph.table_values(int(factors[0])).reshape(-1), possible)
        table_of[factors] = len(graph.table_start) - 1 + len(pieces)
        gap[factors] = piece.gap
        pieces.append(piece.table)
        constant += [piece.top] * len(factors)
    firm = _with_tables(graph, table_of, pieces)
    return firm._replace(constant=exact_sum(constant)), gap


def _with_tables(
    graph: FactorGraph, table_of: NDArray[np.int64], more: list[Floats]
) -> FactorGraph:
    """A graph with other tables: its own, then more of them; what no factor reads is left out."""
    count = len(graph.table_start) - 1
    used, numbers = np.unique(table_of, return_inverse=True)
    tables = [
        graph.table[graph.table_start[t] : graph.table_start[t + 1]]
        if t < count
        else more[t - count]
        for t in used
    ]
    return graph._replace(
        table_of=indices(numbers),
        table_start=starts(np.array([len(table) for table in tables])),
        table=floats(np.concatenate(tables)),
    )


def _group_factors(
    graph: FactorGraph, large: NDArray[np.int64], domains: Domains
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Factors that share a table and its possible entries, and which entries those are."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    pruned = set(
        np.flatnonzero(~np.logical_and.reduceat(domains.allowed, domains.value_start[:-1]))
    )
    for factor in large.tolist():
        scope = graph.scope_of(factor).tolist()
        possible = (
            b""
            if pruned.isdisjoint(scope)
            else _reachable_entries(graph, factor, domains).tobytes()
        )
        groups.setdefault((int(graph.table_of[factor]), possible), []).append(factor)
    for (table, possible), factors in groups.items():
        size = int(graph.table_start[table + 1] - graph.table_start[table])
        reached = np.frombuffer(possible, dtype=np.bool_) if possible else np.ones(size, np.bool_)
        yield np.array(factors), reached


def _harden_table(entries: Floats, possible: NDArray[np.bool_]) -> _Piece:
    """Take the maximum off, and make impossible what lies far below it."""
    left = np.where(possible, entries, -np.inf)
    top = float(left.max(initial=-np.inf))
    if top == -np.inf:  # no state is possible, and whoever looks for one will say so
        return _Piece(left, 0.0, np.inf)
    with np.errstate(over="ignore"):
        below = left - top
    dropped = below[(below < -WIDEST) & np.isfinite(left)]
    gap = min(float(-dropped.max()), LARGEST_FLOAT) if len(dropped) else np.inf
    return _Piece(np.where(below < -WIDEST, -np.inf, below), top, gap)


def _reachable_entries(graph: FactorGraph, factor: int, domains: Domains) -> NDArray[np.bool_]:
    """Which entries of a factor's table the remaining values of its variables can reach."""
    scope = graph.scope_of(factor)
    left = [domains.of(int(variable)) for variable in scope]
    if factor >= graph.first_clause:
        hit = [
            allowed[value] for allowed, value in zip(left, graph.satisfying_of(factor), strict=True)
        ]
        others = [allowed.sum() > met for allowed, met in zip(left, hit, strict=True)]
        return np.array([all(others), any(hit)])
    reached = np.ones(1, dtype=np.bool_)
    for values in left:
        reached = (reached[:, None] & values).reshape(-1)
    return reached


def _require_together(model: Model, firm: FactorGraph, gap: Floats) -> None:
    """Refuse tables that cannot be near their maximum together, or of which nobody knows."""
    if firm.cardinality.max(initial=1) > MOST_VALUES:
        raise LimitError(
            f"{_name_factors(model, np.flatnonzero(np.isfinite(gap)))}: log-weights that range "
            f"over more than {WIDEST:g} need variables of at most {MOST_VALUES} values; "
            "write smaller ones"
        )
    try:
        graphs.possible_states(firm, 1, np.random.SeedSequence(0))
    except ContradictionError:
        core = graphs.conflict(firm)
        heavy = np.flatnonzero(np.isfinite(gap)) if core is None else core
        if not np.isfinite(gap[heavy]).any():
            raise  # the hard constraints alone contradict each other
        together = "contradict each other" if core is not None else "seem to contradict each other"
        raise LimitError(
            f"{_name_factors(model, heavy)} {together}, and their weights are too large to be "
            f"added up (log-weights that range over more than {WIDEST:g}); write smaller ones, or "
            "leave one of them out"
        ) from None


def _require_margin(model: Model, firm: FactorGraph, gap: Floats) -> float:
    """How sure it is that dropped entries do not matter: their probability is below exp(-margin).

    In a part that hard constraints connect, any state with dropped entries could be exchanged for
    the one that was found without; it gains a gap, and loses at most what all others range over.
    """
    part_of = components(firm, hard_factors(firm))
    touched = np.unique(np.stack([part_of[firm.scope], firm.factor_of_edge]), axis=1)
    others = np.zeros(part_of.max() + 1)
    np.add.at(others, touched[0], widths(*extremes(firm))[firm.table_of][touched[1]])
    np.add.at(others, part_of, np.log(firm.cardinality))
    heavy = np.flatnonzero(np.isfinite(gap))
    home = part_of[firm.scope[firm.scope_start[heavy].astype(np.int64)]]
    margin = gap[heavy] - others[home]
    worst = int(margin.argmin())
    if margin[worst] - np.log(len(heavy)) < CERTAIN_MARGIN:
        raise LimitError(
            f"{_name_factors(model, heavy[[worst]])}: these log-weights are too far apart to be "
            f"added up, and too near to count as hard beside the {others[home[worst]]:.3g} that "
            "others near them may add; write them as a hard constraint, or smaller"
        )
    return float(margin[worst] - np.log(len(heavy)))


def _remark(model: Model, gap: Floats, margin: float) -> str:
    heavy = np.flatnonzero(np.isfinite(gap))
    count = "1 factor has" if len(heavy) == 1 else f"{len(heavy):,} factors have"
    return (
        f"{count} log-weights too far apart to be added up ({_name_factors(model, heavy)}): "
        f"entries more than {WIDEST:g} below the maximum count as impossible, which changes the "
        f"answer by less than exp(-{margin:.3g})"
    )


def _name_factors(model: Model, factors: Iterable[int]) -> str:
    every = list(factors)
    more = f" and {len(every) - MOST_NAMED:,} more" if len(every) > MOST_NAMED else ""
    return "; ".join(_describe_factor(model, factor) for factor in every[:MOST_NAMED]) + more


def _describe_factor(model: Model, factor: int) -> str:
    """Which variables a factor reads, and which finite log-weights it gives them."""
    scope = ", ".join(model.names[variable] for variable in model.graph.scope_of(factor))
    entries = model.graph.table_values(factor)
    finite = entries[np.isfinite(entries)]
    return f"({scope}) from {finite.min(initial=np.inf):.3g} to {finite.max(initial=-np.inf):.3g}"
