"""Sum out what is cheap to sum out: a smaller graph with the same sum of weights.

What is left, the core, has fewer variables, which hang together in larger tables. Chains have less
to do, and less to go wrong: what was summed out, the fringe, is exact given the core.
"""

import functools
import heapq
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Numbers, lengths
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum
from orbitmc.graph.probing import LOOKS, Probed, probe
from orbitmc.graph.support import Domains, hard_factors
from orbitmc.graph.transforms import copy_factors, join_equal_axes, merge_factors

MOST_NEIGHBOURS_SUMMED = 64
MOST_VARIABLES_TO_ELIMINATE = 20_000  # more are left as they are: they would take seconds
MOST_LOOKS = 2e7  # at entries of tables, to find variables that others decide

Scope = tuple[int, ...]
Table = tuple[Scope, Floats]


class SummedOut(NamedTuple):
    """A variable, the table over it and others that it was summed out of, and the largest sum.

    Sums are logarithms, and so are the entries of the table.
    """

    variable: int
    scope: Scope
    total: Floats
    top: float


def sum_out_cheapest(
    sizes: Sequence[int],
    tables: dict[int, Table],
    most: int,
    *,
    held: Collection[int] = (),
) -> list[SummedOut]:
    """Sum out the variable with the smallest table, again and again; `tables` are what is left.

    Their scopes are ascending. Variables that are `held` stay.
    """
    readers: list[set[int]] = [set() for _ in sizes]
    for number, (scope, _) in tables.items():
        for variable in scope:
            readers[variable].add(number)
    numbers = itertools.count(max(tables, default=-1) + 1)

    def near(variable: int) -> set[int]:
        members = {member for reader in readers[variable] for member in tables[reader][0]}
        return members - {variable}

    left = set(range(len(sizes))) - {*held}
    entries = {variable: _entries(sizes, near(variable), variable) for variable in left}
    heap = [(cost, variable) for variable, cost in entries.items()]
    heapq.heapify(heap)
    sums: list[SummedOut] = []
    while heap and heap[0][0] <= most:
        cost, variable = heapq.heappop(heap)
        if variable not in left or cost != entries[variable]:
            continue
        check_interrupt()
        parts = [tables[reader] for reader in sorted(readers[variable])]
        empty = ((variable,), np.zeros(sizes[variable]))
        scope, total = add_tables(parts, sizes) if parts else empty
        for reader in tuple(readers[variable]):
            for member in tables.pop(reader)[0]:
                readers[member].discard(reader)
        left.discard(variable)
        message: Floats = np.asarray(np.logaddexp.reduce(total, axis=scope.index(variable)))
        top = float(message.max())
        if top == -math.inf:
            raise ContradictionError("no state satisfies the hard constraints of the model")
        sums.append(SummedOut(variable, scope, total, top))
        others = tuple(member for member in scope if member != variable)
        if others:
            number = next(numbers)
            tables[number] = others, message - top
            for member in others:
                readers[member].add(number)
        for member in left.intersection(others):
            entries[member] = _entries(sizes, near(member), member)
            heapq.heappush(heap, (entries[member], member))
    return sums


def _entries(sizes: Sequence[int], near: Collection[int], variable: int) -> float:
    """Of the table that a variable is summed out of; those of many variables are not counted."""
    if len(near) > MOST_NEIGHBOURS_SUMMED:
        return math.inf
    return sizes[variable] * math.prod(sizes[member] for member in near)


def add_tables(tables: Sequence[Table], sizes: Sequence[int]) -> Table:
    """Add tables up; scopes are ascending."""
    read = sorted({member for scope, _ in tables for member in scope})
    shaped = [
        table.reshape([sizes[member] if member in scope else 1 for member in read])
        for scope, table in tables
    ]
    return tuple(read), functools.reduce(np.add, shaped)


# A graph in two parts: a core, and a fringe that is known exactly given the core.
#
# The weight of a state is that of its core times the probability of each variable of the fringe
# given those that come later in the order of elimination: an ancestral network that hangs on the
# core. Those that a variable is given are, but for one parent, given to the parent too. So a
# variable of the fringe depends on the core through few variables, those of its topmost ancestor.

MOST_FRINGE_ENTRIES = 2**5  # of a table; larger ones would make conditionals of the core slow


class Given(NamedTuple):
    """How probable the values of a variable are given those of others: `chances[value, ...]`.

    There is an axis for each of the variables that are `given`. Where they are impossible together,
    chances are 0.
    """

    variable: int
    given: Scope
    chances: Floats


@dataclass(frozen=True)
class Fringe:
    """Variables of the graph `whole` that are summed out, and the graph of its `core`.

    `places` are the core's variables in the whole graph. `network` has the others in the order in
    which they were summed out; what they are given comes later, or belongs to the core. The first
    of them are `followers`: others decide them, or nothing is left to decide.
    """

    whole: FactorGraph
    core: FactorGraph
    places: Numbers
    network: tuple[Given, ...]
    followers: int = 0

    def given_core(self) -> list[Given]:
        """How probable the values of each variable of the network are given the core alone.

        What they are given are places in the core.
        """
        place = {variable: number for number, variable in enumerate(self.places.tolist())}
        turn = {step.variable: number for number, step in enumerate(self.network)}
        known: dict[int, _Joint] = {}
        for variable, given, chances in reversed(self.network):
            inner = tuple(member for member in given if member in turn)
            parent = known[min(inner, key=turn.__getitem__)] if inner else None
            known[variable] = _join(variable, given, chances, inner, parent)
        tables = []
        for variable, _, _ in self.network:
            joint = known[variable]
            alone = joint.chances.sum(axis=tuple(range(1, len(joint.members))))
            core = tuple(place[member] for member in joint.core)
            tables.append(Given(variable, core, alone))
        return tables


class _Joint(NamedTuple):
    """How probable the joint values of some `members` of a fringe are given those of the core."""

    members: Scope
    core: Scope
    chances: Floats


def _join(
    variable: int, given: Scope, chances: Floats, inner: Scope, parent: _Joint | None
) -> _Joint:
    """Join a variable with those of the fringe that it is given, of which its parent knows all."""
    if parent is None:
        return _Joint((variable,), given, chances)
    letters = dict(zip({variable, *parent.members, *parent.core}, ascii_letters, strict=False))
    members = (variable, *inner)
    first, second, result = (
        "".join(letters[member] for member in scope)
        for scope in (
            (variable, *given),
            (*parent.members, *parent.core),
            (*members, *parent.core),
        )
    )
    table: Floats = np.einsum(f"{first},{second}->{result}", chances, parent.chances)
    return _Joint(members, parent.core, table)


def eliminate_fringe(graph: FactorGraph, most: int = MOST_FRINGE_ENTRIES) -> Fringe:
    """Sum out variables while the tables that it takes have at most so many entries.

    What has larger tables, or longer clauses, stays as it is.

    >>> import orbitmc as om
    >>> fringe = eliminate_fringe(om.ising_grid(3, 30, 0.3).graph)
    >>> fringe.core.variables, len(fringe.network)
    (0, 90)
    """
    sizes = graph.cardinality.astype(np.int64).tolist()
    small = _small_factors(graph, most)
    before = {factor: _ascending(graph, factor) for factor in np.flatnonzero(small).tolist()}
    tables = dict(before)
    held = set(graph.scope[~small[graph.factor_of_edge]].tolist())
    sums = sum_out_cheapest(sizes, tables, most, held=held)
    gone = np.zeros(graph.variables, dtype=np.bool_)
    gone[[step.variable for step in sums]] = True
    places = np.flatnonzero(~gone)
    renamed = np.cumsum(~gone) - 1
    builder = Builder(graph.cardinality[places])
    untouched = np.bincount(graph.factor_of_edge, gone[graph.scope], minlength=graph.factors) == 0
    copy_factors(graph, np.flatnonzero(untouched), builder, renamed)
    for number in sorted(tables.keys() - before.keys()):
        scope, table = tables[number]
        builder.add_factor(renamed[list(scope)].tolist(), table)
    builder.constant = exact_sum([graph.constant, *(step.top for step in sums)])
    network = tuple(_condition(step) for step in sums)
    return Fringe(graph, merge_factors(builder.build()), places, network)


def merge_followers(graph: FactorGraph, probed: Probed) -> Fringe:
    """Leave out variables that have one value, or the one that another variable decides.

    >>> import orbitmc as om
    >>> model = om.model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a", "b"], [0, 2, 1, 0])])
    >>> fringe = merge_followers(model.graph, probe(model.graph))
    >>> fringe.core.variables, [step.given for step in fringe.network]
    (1, [(0,)])
    """
    sizes, domains = graph.cardinality.astype(np.int64), probed.domains
    fixed = {v: domains.of(v) for v in range(graph.variables) if domains.of(v).sum() == 1}
    network = [Given(v, (), some.astype(np.float64)) for v, some in fixed.items()]
    follows: dict[int, tuple[int, Numbers]] = {}
    in_clauses = {*graph.scope[graph.scope_start[graph.first_clause] :].tolist()}
    for variable, (by, values) in probed.decided.items():
        images = values[domains.of(by)]
        if variable in fixed or by in fixed or len({*images.tolist()}) < len(images):
            continue
        if variable in in_clauses and not sizes[variable] == sizes[by] == 2:
            continue
        chances = (np.arange(sizes[variable])[:, None] == values).astype(np.float64)
        network.append(Given(variable, (by,), chances))
        follows[variable] = by, values.astype(np.int64)
    places = np.setdiff1d(np.arange(graph.variables), [*fixed, *follows])
    core = _Merging(graph, {v: int(some.argmax()) for v, some in fixed.items()}, follows, places)
    return Fringe(graph, core.build(domains), places, tuple(network), len(network))


def find_followers(graph: FactorGraph) -> Fringe | None:
    """Variables that chains need not sample, because zeros decide them; None if there are none.

    How long it looks for them depends on the graph only.
    """
    constraints = hard_factors(graph)
    if graph.variables > MOST_VARIABLES_TO_ELIMINATE or not (graph.arities[constraints] > 1).any():
        return None
    entries = lengths(graph.table_start)[graph.table_of[constraints]].sum()
    looks = min(LOOKS, MOST_LOOKS / float(entries + graph.factors))
    fringe = merge_followers(graph, probe(graph, looks=looks))
    return fringe if 0 < fringe.core.variables < graph.variables else None


def join_fringes(outer: Fringe, inner: Fringe) -> Fringe:
    """The fringe of a graph, and that of its core, as one."""
    place = outer.places.tolist()
    steps = [
        Given(place[variable], tuple(place[member] for member in given), chances)
        for variable, given, chances in inner.network
    ]
    network = (*outer.network, *steps)
    return Fringe(outer.whole, inner.core, outer.places[inner.places], network, outer.followers)


class _Merging:
    """A graph while values are put in for some variables, and other variables for others."""

    def __init__(
        self,
        graph: FactorGraph,
        fixed: Mapping[int, int],
        follows: Mapping[int, tuple[int, Numbers]],
        places: Numbers,
    ) -> None:
        self.graph, self.fixed, self.follows = graph, fixed, follows
        self.gone = np.ones(graph.variables, dtype=np.bool_)
        self.gone[places] = False
        self.renamed = np.cumsum(~self.gone) - 1
        self.builder = Builder(graph.cardinality[places])
        self.constants = [graph.constant]

    def build(self, domains: Domains) -> FactorGraph:
        graph = self.graph
        touched = np.bincount(graph.factor_of_edge, self.gone[graph.scope], graph.factors) > 0
        copy_factors(graph, np.flatnonzero(~touched), self.builder, self.renamed)
        for factor in np.flatnonzero(touched).tolist():
            if factor < graph.first_clause:
                self._rewrite_table(factor)
            else:
                self._rewrite_clause(factor)
        for variable in sorted({by for by, _ in self.follows.values()}):
            possible = domains.of(variable)
            if not possible.all():
                self._add((variable,), np.where(possible, 0.0, -np.inf))
        self.builder.constant = exact_sum(self.constants)
        return merge_factors(self.builder.build())

    def _add(self, scope: Scope, table: Floats) -> None:
        if scope:
            self.builder.add_factor(self.renamed[list(scope)].tolist(), table)
        else:
            self.constants.append(float(table))

    def _rewrite_table(self, factor: int) -> None:
        """A table over who decides its variables; impossible values of those have any entries."""
        scope, table = self.graph.scope_of(factor).tolist(), self.graph.table_values(factor)
        read: list[int] = []
        for axis, variable in reversed([*enumerate(scope)]):
            if variable in self.fixed:
                table = np.asarray(table.take(self.fixed[variable], axis=axis))
            elif variable in self.follows:
                by, values = self.follows[variable]
                table = table.take(np.maximum(values, 0), axis=axis)
                read.insert(0, by)
            else:
                read.insert(0, variable)
        self._add(*join_equal_axes(read, table))

    def _rewrite_clause(self, factor: int) -> None:
        """A clause over who decides its variables, who are binary."""
        graph = self.graph
        unsatisfied, satisfied = graph.table_values(factor).tolist()
        literals: dict[int, int] = {}
        scope, wanted = graph.scope_of(factor).tolist(), graph.satisfying_of(factor).tolist()
        for variable, value in zip(scope, wanted, strict=True):
            if variable in self.fixed:
                if self.fixed[variable] == value:
                    self.constants.append(satisfied)
                    return
                continue
            by, where = variable, value
            if variable in self.follows:
                by, values = self.follows[variable]
                where = values.tolist().index(value)
            if literals.setdefault(by, where) != where:
                self.constants.append(satisfied)
                return
        if literals:
            numbers = self.renamed[[*literals]].tolist()
            table = self.builder.add_table([unsatisfied, satisfied])
            self.builder.add_clauses([numbers], [[*literals.values()]], table)
        else:
            self.constants.append(unsatisfied)


def _small_factors(graph: FactorGraph, most: int) -> NDArray[np.bool_]:
    """Factors of at least one variable whose full tables have at most so many entries."""
    logs = np.log2(graph.cardinality)[graph.scope]
    entries = np.bincount(graph.factor_of_edge, logs, minlength=graph.factors)
    return np.asarray((entries <= np.log2(most) + 1e-9) & (graph.arities > 0))


def _ascending(graph: FactorGraph, factor: int) -> Table:
    """The full table of a factor, its scope in ascending order."""
    scope = graph.scope_of(factor).tolist()
    order = np.argsort(scope)
    return tuple(scope[axis] for axis in order), graph.full_table(factor).transpose(order)


def _condition(step: SummedOut) -> Given:
    """The probabilities of a variable given those that it was summed out of a table with."""
    variable, scope, total, _ = step
    weights = np.moveaxis(total, scope.index(variable), 0)
    top = weights.max(axis=0)
    chances = np.exp(weights - np.where(top > -np.inf, top, 0.0))
    chances /= np.maximum(chances.sum(axis=0), np.finfo(np.float64).tiny)
    return Given(variable, tuple(member for member in scope if member != variable), chances)
