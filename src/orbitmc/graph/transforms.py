"""Copies of a graph: with observed values, merged factors, other temperatures, side by side."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Numbers, distinct, lengths, readonly
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import (
    FEW_TERMS,
    exact_sum,
    large_tables,
    subtract_maxima,
    sum_of_tables,
)

FREE_VALUE = -1


def condition(graph: FactorGraph, observed: Mapping[int, int]) -> FactorGraph:
    """Give the graph over the unobserved variables, in their old order.

    Tables are sliced, clauses shortened or decided, factors over the same variables merged. What
    no longer depends on a variable goes into `constant`.
    """
    value_of = np.full(graph.variables, FREE_VALUE, dtype=np.int64)
    for variable, value in observed.items():
        value_of[variable] = value
    pieces = _Pieces(graph, value_of)
    touched = _touches(graph, value_of)
    for factor in np.flatnonzero(touched[: graph.first_clause]):
        pieces.slice_table(int(factor))
    pieces.add_slices()
    for clause in np.flatnonzero(touched[graph.first_clause :]):
        pieces.shorten_clause(graph.first_clause + int(clause))
    pieces.keep(np.flatnonzero(~touched))
    pieces.builder.constant = exact_sum(pieces.constant)
    return merge_factors(pieces.builder.build())


def merge_factors(graph: FactorGraph) -> FactorGraph:
    """Multiply tables that read the same variables (in any order) into one.

    Tables in which others would be lost stay alone.
    """
    repeated = _repeated_scopes(graph)
    if not repeated:
        return graph
    builder = Builder(graph.cardinality)
    constant = [graph.constant]
    alone = np.ones(graph.factors, dtype=bool)
    for factors in repeated:
        alone[factors] = False
        scope = graph.scope_of(factors[0])
        tables = _in_order(graph, factors, scope)
        if len(tables) > FEW_TERMS:
            tables, tops = subtract_maxima(tables)
            constant += tops
        builder.add_factor(scope.tolist(), sum_of_tables(tables))
    builder.constant = exact_sum(constant)
    copy_factors(graph, np.flatnonzero(alone), builder, np.arange(graph.variables))
    return builder.build()


def join_equal_axes(read: Sequence[int], table: Floats) -> tuple[tuple[int, ...], Floats]:
    """A table over each variable once, where several axes of it stand for the same one."""
    left = list(read)
    for variable in dict.fromkeys(read):
        while left.count(variable) > 1:
            first = left.index(variable)
            second = left.index(variable, first + 1)
            table = np.moveaxis(np.diagonal(table, axis1=first, axis2=second), -1, first)
            del left[second]
    return tuple(left), table


def copy_factors(
    graph: FactorGraph,
    factors: NDArray[np.int64],
    builder: Builder,
    renamed: NDArray[np.int64],
) -> None:
    """Copy factors into a builder, sharing tables as before, with variables renamed."""
    numbers = _copy_tables(graph, factors, builder)
    arities = graph.arities
    for is_clause in (False, True):
        some = factors[(factors >= graph.first_clause) == is_clause]
        for length in distinct(arities[some]).tolist():
            chosen = some[arities[some] == length]
            places = graph.edges_of(chosen, length)
            rows = renamed[graph.scope[places]]
            tables = numbers[graph.table_of[chosen]]
            if is_clause:
                builder.add_clauses(rows, graph.satisfying[places], tables)
            else:
                builder.add_factors(rows, tables)


def select(graph: FactorGraph, variables: Numbers, factors: Numbers) -> FactorGraph:
    """The graph of some variables, in their order, and of factors that read only these."""
    renamed = np.full(graph.variables, -1, dtype=np.int64)
    renamed[variables] = np.arange(len(variables))
    builder = Builder(graph.cardinality[variables])
    copy_factors(graph, factors, builder, renamed)
    return builder.build()


class _Pieces:
    """What is left of a graph while some variables are being fixed."""

    def __init__(self, graph: FactorGraph, value_of: NDArray[np.int64]) -> None:
        self.graph, self.value_of = graph, value_of
        free = value_of == FREE_VALUE
        self.renamed = np.cumsum(free) - 1
        self.builder = Builder(graph.cardinality[free])
        self.constant = [graph.constant]
        self._slices: dict[tuple[int, tuple[int, ...]], tuple[int, Floats]] = {}
        self._rows: list[list[int]] = []  # of variables, all of one length, that wait to be added
        self._numbers: list[int] = []

    def slice_table(self, factor: int) -> None:
        scope = self.graph.scope_of(factor)
        values = self.value_of[scope]
        key = (int(self.graph.table_of[factor]), tuple(values.tolist()))
        if key not in self._slices:
            where = tuple(slice(None) if value == FREE_VALUE else int(value) for value in values)
            table = np.asarray(self.graph.table_values(factor)[where])
            self._require_possible(factor, table)
            self._slices[key] = (self.builder.add_table(table), table)
        number, table = self._slices[key]
        if not table.ndim:
            self.constant.append(float(table))
            return
        row = self.renamed[scope[values == FREE_VALUE]].tolist()
        if self._rows and len(row) != len(self._rows[0]):
            self.add_slices()
        self._rows.append(row)
        self._numbers.append(number)

    def add_slices(self) -> None:
        """Add the factors that wait, in their order."""
        if self._rows:
            self.builder.add_factors(self._rows, self._numbers)
            self._rows, self._numbers = [], []

    def shorten_clause(self, factor: int) -> None:
        graph = self.graph
        scope = graph.scope_of(factor)
        wanted = graph.satisfying_of(factor)
        values = self.value_of[scope]
        unsatisfied, satisfied = graph.table_values(factor)
        free = values == FREE_VALUE
        decided = satisfied if (values[~free] == wanted[~free]).any() else unsatisfied
        if (values[~free] == wanted[~free]).any() or not free.any():
            self._require_possible(factor, np.asarray(decided))
            self.constant.append(float(decided))
        else:
            number = self.builder.add_table([unsatisfied, satisfied])
            self.builder.add_clauses(self.renamed[scope[free]], wanted[free], number)

    def keep(self, factors: NDArray[np.int64]) -> None:
        copy_factors(self.graph, factors, self.builder, self.renamed)

    def _require_possible(self, factor: int, table: Floats) -> None:
        if np.isneginf(table).all():
            raise ImpossibleFactorError(factor)


class ImpossibleFactorError(ContradictionError):
    """Evidence leaves a factor without any possible entry; the model knows the names."""

    def __init__(self, factor: int) -> None:
        super().__init__(f"the evidence contradicts factor {factor}")
        self.factor = factor


def _touches(graph: FactorGraph, value_of: NDArray[np.int64]) -> NDArray[np.bool_]:
    observed = value_of[graph.scope] != FREE_VALUE
    return np.bincount(graph.factor_of_edge[observed], minlength=graph.factors) > 0


def _copy_tables(
    graph: FactorGraph, factors: NDArray[np.int64], builder: Builder
) -> NDArray[np.int64]:
    used = distinct(graph.table_of[factors])
    numbers = np.zeros(len(graph.table_start), dtype=np.int64)
    first = graph.table_start[used].astype(np.int64)
    sizes = graph.table_start[used + 1].astype(np.int64) - first
    for size in distinct(sizes).tolist():
        chosen = sizes == size
        rows = graph.table[first[chosen][:, None] + np.arange(size)]
        numbers[used[chosen]] = builder.add_tables(rows)
    return numbers


def _repeated_scopes(graph: FactorGraph) -> list[list[int]]:
    """Table factors that read the same set of variables, two or more at a time."""
    groups: list[list[int]] = []
    arities = lengths(graph.scope_start[: graph.first_clause + 1])
    arities[large_tables(graph)[graph.table_of[: graph.first_clause]]] = 0
    for length in distinct(arities[arities > 0]).tolist():
        factors = np.flatnonzero(arities == length)
        places = graph.edges_of(factors, length)
        rows = np.sort(graph.scope[places], axis=1)
        order = np.lexsort(rows.T[::-1])
        rows, factors = rows[order], factors[order]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.append(np.flatnonzero(new), len(rows))
        for group in np.flatnonzero(np.diff(starts) > 1).tolist():
            groups.append(factors[starts[group] : starts[group + 1]].tolist())
    return groups


def _in_order(
    graph: FactorGraph, factors: Iterable[int], scope: NDArray[np.uint32]
) -> list[Floats]:
    """Log-tables over the same variables, each brought to the order of `scope`."""
    tables = []
    for factor in factors:
        variables = graph.scope_of(factor).tolist()
        tables.append(graph.table_values(factor).transpose([variables.index(v) for v in scope]))
    return tables


# Graphs with more in them, at other temperatures, or side by side.

Factor = tuple[tuple[int, ...], Floats]
"""Which variables it reads, and a log-potential for each of their joint values."""


def replicate(graph: FactorGraph, betas: Sequence[float]) -> FactorGraph:
    """Give one graph of independent copies; copy `k` has all log-weights times `betas[k]` > 0.

    Variable `v` of copy `k` is number `k * graph.variables + v`. Impossible stays impossible.
    """
    return side_by_side([at_beta(graph, beta) for beta in betas])


def side_by_side(graphs: Sequence[FactorGraph]) -> FactorGraph:
    """Give one graph of several that do not touch each other, one after the other."""
    builder = Builder(np.concatenate([graph.cardinality for graph in graphs]))
    builder.constant = exact_sum(graph.constant for graph in graphs)
    first = 0
    for graph in graphs:
        renamed = np.arange(first, first + graph.variables)
        copy_factors(graph, np.arange(graph.factors), builder, renamed)
        first += graph.variables
    return builder.build()


def at_beta(graph: FactorGraph, beta: float) -> FactorGraph:
    """The graph at another inverse temperature: all log-weights times `beta`, 0 or more.

    What is impossible stays so.
    """
    if beta == 0:
        table = np.where(np.isneginf(graph.table), -np.inf, 0.0)
        return graph._replace(table=readonly(table), constant=0.0)
    return graph._replace(table=readonly(graph.table * beta), constant=graph.constant * beta)


def require_beta(beta: float) -> None:
    """Refuse an inverse temperature that makes no sense."""
    if not isinstance(beta, Real) or not 0.0 <= beta < math.inf:
        raise InputError(f"beta is a number, 0 or above, not {beta!r}")


MOST_SUMMED_ENTRIES = 2**20  # of a table that variables are summed out of


def sum_out(graph: FactorGraph, variables: Sequence[int]) -> FactorGraph:
    """The graph of the other variables, with what the factors of each of these sum to.

    >>> import orbitmc as om
    >>> chain = om.ising_grid(1, 3, 0.5).graph
    >>> sum_out(chain, [1]).full_table(0).round(4).tolist()
    [[1.1269, 0.6931], [0.6931, 1.1269]]
    """
    gone = set(variables)
    touched = [f for f in range(graph.factors) if gone.intersection(graph.scope_of(f).tolist())]
    pieces: list[Factor] = [
        (tuple(graph.scope_of(factor).tolist()), graph.full_table(factor)) for factor in touched
    ]
    for variable in variables:
        reading = [place for place, (scope, _) in enumerate(pieces) if variable in scope]
        product = _summed(graph, [pieces[place] for place in reading], variable)
        first = reading[0] if reading else len(pieces)
        pieces = [piece for place, piece in enumerate(pieces) if place not in reading]
        pieces.insert(first, product)
    left = np.array([v for v in range(graph.variables) if v not in gone], dtype=np.int64)
    renamed = np.full(graph.variables, -1, dtype=np.int64)
    renamed[left] = np.arange(len(left))
    builder = Builder(graph.cardinality[left])
    alone = np.ones(graph.factors, dtype=np.bool_)
    alone[touched] = False
    copy_factors(graph, np.flatnonzero(alone), builder, renamed)
    builder.constant = graph.constant
    for scope, table in pieces:
        builder.add_factor(renamed[list(scope)].tolist(), table)
    return builder.build()


def _summed(graph: FactorGraph, factors: Sequence[Factor], variable: int) -> Factor:
    """The product of some tables, summed over a variable."""
    scope = tuple(dict.fromkeys(v for read, _ in factors for v in read if v != variable))
    shape = [int(graph.cardinality[v]) for v in (variable, *scope)]
    if math.prod(shape) > MOST_SUMMED_ENTRIES:
        raise LimitError(
            f"a table of {len(scope)} variables would have {math.prod(shape[1:]):.3g} entries, the "
            f"limit is {MOST_SUMMED_ENTRIES:,}"
        )
    product = np.zeros(shape)
    for read, table in factors:
        axes = [(variable, *scope).index(v) for v in read]
        order = np.argsort(axes)
        sizes = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        product = product + table.transpose(order).reshape(sizes)
    return scope, np.logaddexp.reduce(product, axis=0)


def extend(graph: FactorGraph, factors: Sequence[Factor], sizes: Sequence[int] = ()) -> FactorGraph:
    """Give a graph with new variables of these sizes behind its own, and with new factors.

    >>> import numpy as np
    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.3).graph
    >>> extend(graph, [((0, 4), np.zeros((2, 3)))], sizes=[3]).cardinality.tolist()
    [2, 2, 2, 2, 3]
    """
    builder = Builder(np.concatenate([graph.cardinality.astype(np.int64), [*sizes]]))
    every, same = np.arange(graph.factors), np.arange(graph.variables)
    copy_factors(graph, every, builder, same)
    for scope, table in factors:
        builder.add_factor(scope, table)
    builder.constant = graph.constant
    return builder.build()
