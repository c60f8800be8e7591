"""A graph made ready for elimination: small log-tables over variables that are still open."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum, require_narrow, sum_of_tables
from orbitmc.graph.probing import Decided, Probed
from orbitmc.graph.transforms import join_equal_axes

LONGEST_EXPANDED = 6
"""Clauses up to this length become one table; longer ones a chain of small tables."""

Scope = tuple[int, ...]
MOST_JOINT_ENTRIES = 2**20  # of a joint table


@dataclass(frozen=True)
class Problem:
    """Log-tables over variables with two or more possible values each.

    `place[v]` is the number here of graph variable `v`, or of the one that decides it, or -1 if
    only one value is left; `possible[v]` says which of its `cardinality[v]` values it has for each
    value of that one, and leaves those out that factors exclude. Variables here that
    are nobody's place are helpers, which stand for parts of long clauses. No table has entries
    above 0; `constant` is what is left of the log-weights, not a number beyond doubles.
    """

    sizes: tuple[int, ...]
    scopes: tuple[Scope, ...]
    tables: tuple[Floats, ...]
    constant: float
    cardinality: tuple[int, ...]
    possible: tuple[NDArray[np.int64], ...]
    place: tuple[int, ...]

    def in_values(self, state: Sequence[int]) -> NDArray[np.int64]:
        """A state of the variables here as values of the graph's; helpers are left out."""
        pairs = zip(self.possible, self.place, strict=True)
        return np.array(
            [possible[state[place] if place >= 0 else 0] for possible, place in pairs], np.int64
        )

    @property
    def followers(self) -> int:
        """How many variables of the graph are left out because others decide them."""
        open_ones = [place for place in self.place if place >= 0]
        return len(open_ones) - len(set(open_ones))

    def places_of(self, variables: Iterable[int]) -> Scope:
        """The numbers here of graph variables, each once; those with one value have none."""
        places = (self.place[variable] for variable in variables)
        return tuple(dict.fromkeys(place for place in places if place >= 0))

    def joint_of(self, scope: Scope, table: Floats, known: Mapping[int, int]) -> Floats:
        """A joint of possible values over all values of graph variables; `known` ones have one.

        Impossible values have probability 0; variables with one value left have that.
        """
        whole = np.zeros([self.cardinality[variable] for variable in scope])
        places = self.places_of(variable for variable in scope if variable not in known)
        index = []
        for variable in scope:
            shape = [1] * len(places)
            if variable in known:
                values = np.array([known[variable]])
            else:
                values = self.possible[variable]
                if self.place[variable] >= 0:
                    shape[places.index(self.place[variable])] = -1
            index.append(values.reshape(shape))
        sizes = [self.sizes[place] for place in places]
        np.add.at(whole, tuple(index), table.reshape(sizes))
        total: Floats = whole / whole.sum()
        return total


def prepare(graph: FactorGraph, probed: Probed | None = None) -> Problem:
    """Expand clauses, drop impossible values, and multiply factors over the same variables.

    What was `probed` beforehand is left out, too: impossible values, and variables that others
    decide.
    """
    scopes, tables, possible = possible_tables(graph, probed)
    decided = _number_decided(scopes, tables, possible, {} if probed is None else probed.decided)
    _join_axes(scopes, tables, decided)
    open_variables = [
        v for v, values in enumerate(possible) if len(values) > 1 and v not in decided
    ]
    place = {variable: number for number, variable in enumerate(open_variables)}
    for variable, (by, numbers) in decided.items():
        possible[variable] = possible[variable][numbers]
        place[variable] = place[by]
    return build_problem(graph, scopes, tables, possible, place, graph.constant)


def build_problem(
    graph: FactorGraph,
    scopes: Sequence[Scope],
    tables: Sequence[Floats],
    possible: Sequence[NDArray[np.int64]],
    place: Mapping[int, int],
    constant: float,
) -> Problem:
    """A problem of some tables; a `place` is the number of a variable, or of who decides it."""
    constant, merged = _merge_tables(scopes, tables, place, constant)
    size_of = {number: len(possible[variable]) for variable, number in place.items()}
    return Problem(
        sizes=tuple(size_of[number] for number in range(len(size_of))),
        scopes=tuple(merged),
        tables=tuple(merged.values()),
        constant=constant,
        cardinality=tuple(graph.cardinality.tolist()),
        possible=tuple(possible[: graph.variables]),
        place=tuple(place.get(variable, -1) for variable in range(graph.variables)),
    )


def possible_tables(
    graph: FactorGraph, probed: Probed | None = None
) -> tuple[list[Scope], list[Floats], list[NDArray[np.int64]]]:
    """Scopes and tables of all factors, over possible values of variables, and these.

    Long clauses are several tables, with helpers as variables.
    """
    require_narrow(graph)
    sizes, scopes, tables = _full_tables(graph)
    possible = [np.arange(size) for size in sizes]
    if probed is not None:
        allowed = {v: probed.domains.of(v) for v in range(graph.variables)}
        _restrict(scopes, tables, possible, allowed)
    if graph.has_zeros() or len(sizes) > graph.variables:
        _drop_impossible(scopes, tables, possible)
    return scopes, tables, possible


def _full_tables(graph: FactorGraph) -> tuple[list[int], list[Scope], list[Floats]]:
    sizes = [int(size) for size in graph.cardinality]
    scopes: list[Scope] = []
    tables: list[Floats] = []
    flat, bounds = graph.scope.tolist(), graph.scope_start.tolist()
    numbers, starts = graph.table_of.tolist(), graph.table_start.tolist()
    expanded: dict[tuple[object, ...], Floats] = {}  # factors that share a table, clauses of a rule
    for factor in range(graph.factors):
        scope = tuple(flat[bounds[factor] : bounds[factor + 1]])
        shape = [sizes[variable] for variable in scope]
        if factor < graph.first_clause:
            kind: tuple[object, ...] = (numbers[factor], *shape)
            if kind not in expanded:
                entries = graph.table[starts[numbers[factor]] : starts[numbers[factor] + 1]]
                expanded[kind] = entries.reshape(shape)
            scopes.append(scope)
            tables.append(expanded[kind])
        elif len(scope) <= LONGEST_EXPANDED:
            kind = (numbers[factor], *shape, graph.satisfying_of(factor).tobytes())
            if kind not in expanded:
                expanded[kind] = graph.full_table(factor)
            scopes.append(scope)
            tables.append(expanded[kind])
        else:
            _chain_clause(graph, factor, sizes, scopes, tables)
    return sizes, scopes, tables


def _chain_clause(
    graph: FactorGraph, factor: int, sizes: list[int], scopes: list[Scope], tables: list[Floats]
) -> None:
    """Write a long clause with helpers that say "satisfied so far": linear instead of exponential.

    A helper equals the "or" of the helper before it and of the next variable's being satisfied.
    """
    scope, wanted = graph.scope_of(factor).tolist(), graph.satisfying_of(factor)
    unsatisfied, satisfied = graph.table_values(factor)
    so_far = -1
    for place, variable in enumerate(scope):
        hits = np.arange(sizes[variable]) == wanted[place]
        before = np.array([False, True]) if so_far >= 0 else np.array([False])
        after = before[:, None] | hits
        earlier: Scope = (so_far,) if so_far >= 0 else ()
        if place == len(scope) - 1:
            tables.append(np.where(after, satisfied, unsatisfied))
            scopes.append((*earlier, variable))
            return
        so_far = len(sizes)
        sizes.append(2)
        table = np.where(after[:, :, None] == [False, True], 0.0, -np.inf)
        tables.append(table if earlier else table[0])
        scopes.append((*earlier, variable, so_far))


def _drop_impossible(
    scopes: list[Scope], tables: list[Floats], possible: list[NDArray[np.int64]]
) -> None:
    """Remove values that some factor excludes, until every value has support in every factor.

    Lists are changed, tables are not; what remains has the same weights, so the answer stays exact.
    """
    every_table = {id(table): table for table in tables}  # they live on: no other gets their id
    full = {number for number, table in every_table.items() if _supports_all(table)}
    readers: dict[int, list[int]] = {}
    for factor, scope in enumerate(scopes):
        for variable in scope:
            readers.setdefault(variable, []).append(factor)
    waiting = deque(range(len(scopes)))
    queued = set(waiting)
    while waiting:
        factor = waiting.popleft()
        queued.discard(factor)
        if id(tables[factor]) in full:
            continue
        finite = tables[factor] > -np.inf
        if not finite.any():
            raise ContradictionError("no state is possible: the hard constraints contradict")
        for axis, variable in enumerate(scopes[factor]):
            others = tuple(other for other in range(finite.ndim) if other != axis)
            supported = finite.any(axis=others)
            if supported.all():
                continue
            possible[variable] = possible[variable][supported]
            for reader in readers[variable]:
                along = scopes[reader].index(variable)
                tables[reader] = np.compress(supported, tables[reader], axis=along)
                if reader not in queued:
                    waiting.append(reader)
                    queued.add(reader)
            finite = tables[factor] > -np.inf


Follower = tuple[int, NDArray[np.int64]]
"""Who decides a variable, and which of its possible values it has for each of that one's."""


def _number_decided(
    scopes: list[Scope],
    tables: list[Floats],
    possible: list[NDArray[np.int64]],
    decided: Mapping[int, Decided],
) -> dict[int, Follower]:
    """Variables that are others under another name, by numbers of possible values.

    First, values go that fit no value of the other one. A variable with fewer values than who
    decides it stays: tables would grow.
    """
    while True:
        keep: dict[int, NDArray[np.bool_]] = {}
        for variable, (by, values) in decided.items():
            images = values[possible[by]]
            fits = np.isin(images, possible[variable])
            used = np.isin(possible[variable], images[fits])
            if not fits.all():
                keep[by] = keep.get(by, fits) & fits
            if not used.all():
                keep[variable] = keep.get(variable, used) & used
        if not keep:
            break
        _restrict(scopes, tables, possible, keep)
        _drop_impossible(scopes, tables, possible)
    followers = {
        variable: (by, np.searchsorted(possible[variable], values[possible[by]]))
        for variable, (by, values) in decided.items()
        if 1 < len(possible[variable]) == len(possible[by])
    }
    if not followers:
        return {}
    near = _connected_to_deciders(scopes, {v: by for v, (by, _) in followers.items()})
    return {variable: follower for variable, follower in followers.items() if variable in near}


def _connected_to_deciders(scopes: Iterable[Scope], decider: Mapping[int, int]) -> set[int]:
    """Followers that factors link to who decides them, through others that the same one decides.

    A graph in which these are one never needs larger tables than before; one in which variables
    far from each other are one may.
    """
    links: dict[int, set[int]] = {}
    for scope in scopes:
        alike: dict[int, list[int]] = {}
        for variable in scope:
            alike.setdefault(decider.get(variable, variable), []).append(variable)
        for members in alike.values():
            for member in members:
                links.setdefault(member, set()).update(members)
    reached = set(decider.values())
    waiting = list(reached)
    while waiting:
        new = links.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached


def _restrict(
    scopes: Sequence[Scope],
    tables: list[Floats],
    possible: list[NDArray[np.int64]],
    keep: Mapping[int, NDArray[np.bool_]],
) -> None:
    """Leave some of the values of variables that are possible so far."""
    less = {variable for variable, some in keep.items() if not some.all()}
    for variable in less:
        possible[variable] = possible[variable][keep[variable]]
        if not len(possible[variable]):
            raise ContradictionError("no state is possible: the hard constraints contradict")
    for number, scope in enumerate(scopes):
        for axis, variable in enumerate(scope):
            if variable in less:
                tables[number] = np.compress(keep[variable], tables[number], axis=axis)


def _join_axes(scopes: list[Scope], tables: list[Floats], decided: Mapping[int, Follower]) -> None:
    """Let tables read who decides a variable instead of the variable."""
    if not decided:
        return
    for number, scope in enumerate(scopes):
        if decided.keys().isdisjoint(scope):
            continue
        table, read = tables[number], list(scope)
        for axis, variable in enumerate(scope):
            if variable in decided:
                read[axis], numbers = decided[variable]
                table = table.take(numbers, axis=axis)
        scopes[number], tables[number] = join_equal_axes(read, table)


def _supports_all(table: Floats) -> bool:
    """Whether every value of every variable is possible."""
    finite = table > -np.inf
    axes = range(finite.ndim)
    return all(
        finite.any(axis=tuple(other for other in axes if other != axis)).all() for axis in axes
    )


def _merge_tables(
    scopes: Sequence[Scope], tables: Sequence[Floats], place: Mapping[int, int], constant: float
) -> tuple[float, dict[Scope, Floats]]:
    """Renumber scopes, leave out decided variables, and add up tables over equal scopes.

    The maximum of each table goes into the constant: numbers near 0 keep more digits.
    """
    alike: dict[Scope, list[Floats]] = {}
    scaled: dict[tuple[int, Scope], tuple[float, Floats]] = {}  # tables that factors share
    taken_off = [constant]
    for scope, table in zip(scopes, tables, strict=True):
        numbers = [place[variable] for variable in scope if variable in place]
        axes = tuple(sorted(range(len(numbers)), key=numbers.__getitem__))
        if (id(table), axes) not in scaled:
            scaled[id(table), axes] = _scale_table(table, axes)
        top, ordered = scaled[id(table), axes]
        taken_off.append(top)
        if numbers and top > -np.inf:
            alike.setdefault(tuple([numbers[axis] for axis in axes]), []).append(ordered)
    if -np.inf in taken_off:
        raise ContradictionError("no state is possible: a factor allows nothing")
    return exact_sum(taken_off), {key: sum_of_tables(parts) for key, parts in alike.items()}


def _scale_table(table: Floats, axes: Scope) -> tuple[float, Floats]:
    """The largest entry, and the table without it, its axes of several values in some order."""
    if len(axes) < table.ndim:
        table = table.reshape([size for size in table.shape if size > 1])
    top = float(table.max())
    return top, (table - top if top > -np.inf else table).transpose(axes)
