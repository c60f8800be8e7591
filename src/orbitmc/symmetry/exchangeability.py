"""Which variables of a factor may be exchanged without changing it."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._util.arrays import (
    Floats,
    Indices,
    Numbers,
    indices,
    lengths,
    ranks,
    readonly,
    row_classes,
    short_repr,
    starts,
)
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph, incidence

IGNORED_CLASS = -1  # the class of a variable on which its factor does not depend
NO_THIRD = -1  # instead of the third variable of a bond that has none
NO_JOINT = -1  # the joint of a factor that does not join two variables alike
EQUAL_TOLERANCE = 1e-9
"""Log-potentials that differ by less, relative to one plus their size, are equal."""

MOST_COLUMNS = 2**10
"""Of tables that are sorted; to sort rows takes far too long where there are many."""

TABLE_DIGITS = 10
"""Tables that agree in so many digits after the point are of one kind."""


class Links(NamedTuple):
    """Which factor depends on which variable; variables that a factor ignores are left out.

    Factor `f` depends on `variable[factor_start[f]:factor_start[f + 1]]`, and variables of equal
    `alike` may be exchanged without changing it. Variable `v` matters to the factors
    `factor[variable_start[v]:variable_start[v + 1]]`, `variable_class[...]` is its class in them,
    and `bond[...]` what they are to it: variables of equal bonds have a factor each with equal
    tables and the same third variable, if any. Bond `b` is held by the variables
    `holder[holder_start[b]:holder_start[b + 1]]`. Factors of equal `joint` join two variables each
    in the same way, whichever comes first, and no two of them join the same two; others have none.
    """

    factor_start: Indices
    variable: Indices
    alike: Numbers
    variable_start: Indices
    factor: Indices
    variable_class: Numbers
    bond: Numbers
    holder_start: Indices
    holder: Indices
    joint: Numbers

    def __repr__(self) -> str:
        return short_repr(self)


def links(graph: FactorGraph) -> Links:
    """Find what each factor depends on and which of its variables are interchangeable.

    >>> import orbitmc as om
    >>> path = om.ising([0.0, 0.0, 0.0], [(0, 1), (1, 2)], 0.3).graph
    >>> found = links(path)
    >>> found.variable.tolist(), found.factor_start.tolist()
    ([0, 1, 1, 2], [0, 2, 4])
    """
    classes = np.zeros(len(graph.scope), dtype=np.int64)
    _classify(graph, classes, np.full(len(graph.table_start), -1))
    relevant = classes != IGNORED_CLASS
    factor_of = graph.factor_of_edge[relevant]
    factor_start = starts(np.bincount(factor_of, minlength=graph.factors))
    variable, alike = readonly(graph.scope[relevant]), readonly(classes[relevant])
    variable_start, factor = incidence(graph.variables, factor_start, variable)
    order = np.argsort(variable, kind="stable")
    kinds = 2 * table_kinds(graph)[graph.table_of] + (
        np.arange(graph.factors) >= graph.first_clause
    )
    bond = _bonds(kinds, factor_start, variable, alike)[order]
    joint = _joints(kinds, factor_start, variable, alike)
    holder_start, holder = incidence(int(bond.max(initial=-1)) + 1, variable_start, indices(bond))
    return Links(
        factor_start,
        variable,
        alike,
        variable_start,
        factor,
        readonly(alike[order]),
        readonly(bond),
        holder_start,
        holder,
        readonly(joint),
    )


def _bonds(kinds: Numbers, factor_start: Indices, variable: Indices, alike: Numbers) -> Numbers:
    """Number what each factor is to each of its variables; with three or more, nobody's equal.

    `kinds` says how factors are stored and what is in them.
    """
    arity = lengths(factor_start)
    factor = np.repeat(np.arange(len(arity)), arity)
    pair = np.flatnonzero(arity[factor] == 2)
    other = pair + np.where(pair == factor_start[factor[pair]], 1, -1)
    third, its = np.full(len(variable), NO_THIRD), np.full(len(variable), IGNORED_CLASS)
    third[pair], its[pair] = variable[other], alike[other]
    large = np.flatnonzero(arity[factor] > 2)
    third[large] = NO_THIRD - 1 - large
    traits = (kinds[factor], alike, its, third)
    return _number_combinations(
        [*traits, ranks(_number_combinations([*traits, variable.astype(np.int64)]))]
    )


def _joints(kinds: Numbers, factor_start: Indices, variable: Indices, alike: Numbers) -> Numbers:
    """Number the ways in which factors join two variables alike."""
    joints = np.full(len(kinds), NO_JOINT)
    pair = np.flatnonzero(lengths(factor_start) == 2)
    first = factor_start[pair].astype(np.int64)
    same = alike[first] == alike[first + 1]
    pair, first = pair[same], first[same]
    ends = np.sort(np.stack([variable[first], variable[first + 1]]), axis=0).astype(np.int64)
    traits = (kinds[pair], alike[first])
    joints[pair] = _number_combinations([*traits, ranks(_number_combinations([*traits, *ends]))])
    return joints


def table_kinds(graph: FactorGraph) -> Numbers:
    """Number tables by what is in them, up to rounding."""
    sizes = lengths(graph.table_start)
    numbers = np.zeros(len(sizes), dtype=np.int64)
    known = 0
    for size in np.unique(sizes).tolist():
        tables = np.flatnonzero(sizes == size)
        entries = graph.table[graph.table_start[tables].astype(np.int64)[:, None] + np.arange(size)]
        which = _equal_rows(entries.round(TABLE_DIGITS))
        numbers[tables] = known + which
        known += int(which.max()) + 1
    return numbers


def _equal_rows(rows: Floats) -> Numbers:
    """Number rows by what is in them; those of many columns are compared as bytes."""
    if rows.shape[1] <= MOST_COLUMNS:
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    known: dict[bytes, int] = {}
    return np.array([known.setdefault((row + 0.0).tobytes(), len(known)) for row in rows])


def _number_combinations(traits: list[Numbers]) -> Numbers:
    """Number the combinations of several traits."""
    return row_classes(np.stack(traits, axis=1))[1]


@tier(of_first)
def _classify(graph: FactorGraph, classes: Numbers, last_with_table: Numbers) -> None:
    for factor in range(graph.first_clause):
        table = graph.table_of[factor]
        known = last_with_table[table]
        if known >= 0 and _same_shape(graph, known, factor):
            _copy(graph, classes, known, factor)
        else:
            _classify_table(graph, classes, factor)
        last_with_table[table] = factor
    for clause in range(graph.first_clause, len(graph.table_of)):
        for edge in range(graph.scope_start[clause], graph.scope_start[clause + 1]):
            classes[edge] = (
                graph.satisfying[edge] if depends_on(graph, clause, edge) else IGNORED_CLASS
            )


@shared
def _same_shape(graph: FactorGraph, first: int, second: int) -> bool:
    start, other = np.int64(graph.scope_start[first]), np.int64(graph.scope_start[second])
    arity = np.int64(graph.scope_start[first + 1]) - start
    if np.int64(graph.scope_start[second + 1]) - other != arity:
        return False
    for place in range(arity):
        size = graph.cardinality[graph.scope[start + place]]
        if size != graph.cardinality[graph.scope[other + place]]:
            return False
    return True


@shared
def _copy(graph: FactorGraph, classes: Numbers, known: int, factor: int) -> None:
    start, other = np.int64(graph.scope_start[known]), np.int64(graph.scope_start[factor])
    for place in range(np.int64(graph.scope_start[known + 1]) - start):
        classes[other + place] = classes[start + place]


@shared
def _classify_table(graph: FactorGraph, classes: Numbers, factor: int) -> None:
    """Number the classes after the first place of each."""
    first, last = np.int64(graph.scope_start[factor]), np.int64(graph.scope_start[factor + 1])
    for edge in range(first, last):
        classes[edge] = edge - first if depends_on(graph, factor, edge) else IGNORED_CLASS
        if classes[edge] == IGNORED_CLASS:
            continue
        for earlier in range(first, edge):
            if classes[earlier] == earlier - first and exchangeable(graph, factor, earlier, edge):
                classes[edge] = earlier - first
                break


@shared
def depends_on(graph: FactorGraph, factor: int, edge: int) -> bool:
    """Whether a factor depends on the variable at `edge`."""
    start, last = table_bounds(graph, factor)
    if factor >= graph.first_clause:
        return not _equal(graph.table[start], graph.table[start + 1])
    stride, size = np.int64(graph.stride[edge]), np.int64(graph.cardinality[graph.scope[edge]])
    for entry in range(last - start):
        if (entry // stride) % size and not _equal(
            graph.table[start + entry], graph.table[start + entry - stride]
        ):
            return True
    return False


@shared
def exchangeable(graph: FactorGraph, factor: int, first: int, second: int) -> bool:
    """Whether a factor stays the same when the variables at two edges of it trade places."""
    if factor >= graph.first_clause and graph.satisfying[first] != graph.satisfying[second]:
        return False
    size = np.int64(graph.cardinality[graph.scope[first]])
    if size != np.int64(graph.cardinality[graph.scope[second]]):
        return False
    if factor >= graph.first_clause:
        return True
    start, last = table_bounds(graph, factor)
    first_stride, second_stride = np.int64(graph.stride[first]), np.int64(graph.stride[second])
    for entry in range(last - start):
        difference = (entry // first_stride) % size - (entry // second_stride) % size
        traded = entry + difference * (second_stride - first_stride)
        if difference > 0 and not _equal(graph.table[start + entry], graph.table[start + traded]):
            return False
    return True


@shared
def table_bounds(graph: FactorGraph, factor: int) -> tuple[np.int64, np.int64]:
    table = graph.table_of[factor]
    return np.int64(graph.table_start[table]), np.int64(graph.table_start[table + np.uint32(1)])


@shared
def _equal(first: float, second: float) -> bool:
    if first == second:
        return True
    return (
        first != -np.inf
        and second != -np.inf
        and abs(first - second) <= EQUAL_TOLERANCE * (1 + abs(first))
    )


def budget_for(acceptance: float) -> float:
    """The budget that makes shuffles succeed so often, if fields alone mattered.

    A change of log-weight with standard deviation `d` is accepted with chance `2 * Phi(-d / 2)`
    if it is about normal, and the values of binary variables vary by at most a quarter.
    """
    if not 0 < acceptance <= 1:
        raise InputError(f"the acceptance lies above 0 and is at most 1, got {acceptance}")
    deviation = -2 * NormalDist().inv_cdf(acceptance / 2) if acceptance < 1 else 0.0
    return 4 * deviation**2
