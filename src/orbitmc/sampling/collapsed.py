"""Marginals and states of a whole graph from chains that sample its core.

A variable of the fringe depends on the core through few of its variables. So its probabilities are
a linear map of theirs: of what is recorded of one core variable, or of counted joint values of
several. What sums of the core are in columns and parts of time, those of the fringe are then too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orbitmc._numba.jit import compiled
from orbitmc._simd.random import COLUMNS, Stream
from orbitmc._util.arrays import Bytes, Floats, Indices, Numbers, floats, indices, starts
from orbitmc.estimate.statistics import Statistics, part_lengths
from orbitmc.estimate.tally import PARTS, rows_of
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.fringe import Fringe, Given
from orbitmc.graph.relevance import components

if TYPE_CHECKING:
    from orbitmc.graph.fringe import Scope
    from orbitmc.sampling.observers import Needed, Observer
    from orbitmc.sampling.pack import Pack

Flags = NDArray[np.bool_]


class RecoveredTally(NamedTuple):
    """Sums of all variables of a whole graph, as if chains had sampled it."""

    sums: Floats
    row_start: Indices
    open: Bytes


@dataclass(frozen=True)
class Recovery:
    """How sums of a whole graph follow from those of its core.

    Joint values of `groups` of core variables are counted. `matrix` has a row for each row of a
    tally of the whole; its columns are the number of records, the rows of the core's tally, and
    those of the groups. `depends[variable, core variable]` says what a variable hangs on.
    """

    fringe: Fringe
    groups: tuple[Scope, ...]
    matrix: csr_array
    depends: csr_array

    @property
    def graph(self) -> FactorGraph:
        """The whole graph."""
        return self.fringe.whole

    @cached_property
    def part_of(self) -> NDArray[np.int64]:
        """The connected component of each variable of the whole graph."""
        return components(self.graph)

    @cached_property
    def row_start(self) -> Indices:
        return starts(rows_of(self.graph.cardinality))

    @cached_property
    def known(self) -> Flags:
        """The variables that do not depend on the core at all: they are exact."""
        return np.asarray(self.depends.sum(axis=1) == 0).reshape(-1)

    def bytes(self, packs: int) -> int:
        """What it takes on top of a run of the core: counts, and sums of all variables."""
        rows, columns = self.matrix.shape
        return 8 * PARTS * COLUMNS * packs * (int(columns) + 2 * int(rows)) + 16 * int(
            self.matrix.nnz
        )

    def tallies(
        self, packs: Sequence[Pack], recorded: int, lanes: int, looks: int
    ) -> list[RecoveredTally]:
        """The tallies that packs would have of the whole graph."""
        counts = np.zeros(PARTS)
        counts[: len(part_lengths(recorded))] = part_lengths(recorded) * looks * lanes // COLUMNS
        return [
            RecoveredTally(self._sums(pack, counts), self.row_start, self._open(pack, lanes))
            for pack in packs
        ]

    def _sums(self, pack: Pack, counts: Floats) -> Floats:
        joints = [] if pack.joints is None else [pack.joints.sums]
        return np.stack(
            [
                self.columns(count, [sums[part] for sums in (pack.tally.sums, *joints)])
                for part, count in enumerate(counts.tolist())
            ]
        )

    def columns(self, count: float, parts: Iterable[Floats]) -> Floats:
        """Columns of the whole from those of the core and of groups, after so many records."""
        recorded = [*parts]
        first = np.full((1, recorded[0].shape[1]), count)
        result: Floats = self.matrix @ np.concatenate([first, *recorded])
        return result

    def _open(self, pack: Pack, lanes: int) -> Bytes:
        """Whether zeros leave lanes a choice; they freeze nothing of the fringe by itself."""
        if not self.graph.has_zeros():
            return np.zeros((0, lanes), dtype=np.uint8)
        whole = np.ones((self.graph.variables, lanes), dtype=np.uint8)
        if len(pack.tally.open):
            whole[self.fringe.places] = pack.tally.open
        return whole

    def of_core(self, known: Statistics) -> Statistics:
        """What statistics of the whole say of the probabilities and errors of the core."""
        rows = np.repeat(self._in_core, rows_of(self.graph.cardinality))
        return replace(
            known,
            probability=known.probability[rows],
            standard_error=known.standard_error[rows],
        )

    @cached_property
    def _in_core(self) -> Flags:
        flags = np.zeros(self.graph.variables, dtype=np.bool_)
        flags[self.fringe.places] = True
        return flags

    def any_below(self, flags: Flags) -> Flags:
        """Say of each variable whether something that it depends on is marked in the core."""
        return np.asarray(self.depends @ flags.astype(np.int64) > 0)

    def spread(self, flags: Flags) -> Flags:
        """Flags of core variables for all variables; those of the fringe are marked."""
        whole = np.ones(self.graph.variables, dtype=np.bool_)
        whole[self.fringe.places] = flags
        return whole


def recovery_of(fringe: Fringe) -> Recovery:
    """Prepare the map from sums of a core to those of its whole graph."""
    steps = fringe.given_core()
    groups = _largest({step.given for step in steps if len(step.given) > 1})
    layout = _Layout(fringe.core.cardinality.astype(np.int64), groups)
    row_start = np.concatenate([[0], np.cumsum(rows_of(fringe.whole.cardinality))])
    pieces = [*_copy_core(fringe, layout, row_start)]
    for step in steps:
        columns, chances = layout.columns_of(step)
        rows = np.arange(row_start[step.variable], row_start[step.variable + 1])
        pieces.append((rows, columns, chances[len(chances) - len(rows) :]))
    shape = (int(row_start[-1]), int(layout.group_start[-1]))
    return Recovery(fringe, tuple(groups), _sparse(pieces, shape), _depends(fringe, steps))


def _largest(scopes: Iterable[Scope]) -> list[Scope]:
    """Scopes that no other one contains."""
    largest: list[Scope] = []
    with_member: dict[int, list[set[int]]] = {}
    for scope in sorted(scopes, key=lambda scope: (-len(scope), scope)):
        if not any(other.issuperset(scope) for other in with_member.get(scope[0], ())):
            largest.append(scope)
            for member in scope:
                with_member.setdefault(member, []).append({*scope})
    return largest


class _Layout:
    """Where the columns of the map are: the number of records, core variables, groups."""

    def __init__(self, sizes: Numbers, groups: Sequence[Scope]) -> None:
        self.sizes, self.groups = sizes, groups
        self.core_start = 1 + np.concatenate([[0], np.cumsum(rows_of(sizes))])  # type: ignore[arg-type]
        entries = [int(sizes[[*group]].prod()) for group in groups]
        self.group_start = self.core_start[-1] + np.cumsum([0, *entries])
        self.with_member: dict[int, list[int]] = {}
        for number, group in enumerate(groups):
            for member in group:
                self.with_member.setdefault(member, []).append(number)

    def columns_of(self, step: Given) -> tuple[Numbers, Floats]:
        """What the probabilities of a variable are made of, and how: `[value, column]`."""
        if not step.given:
            return np.zeros(1, np.int64), step.chances[:, None]
        if len(step.given) == 1:
            return self._of_one(step.given[0], step.chances)
        group = self._home(step.given)
        shape = [self.sizes[member] if member in step.given else 1 for member in self.groups[group]]
        whole = [len(step.chances), *self.sizes[[*self.groups[group]]]]
        chances = np.broadcast_to(step.chances.reshape(-1, *shape), whole)
        columns = np.arange(self.group_start[group], self.group_start[group + 1])
        return columns, chances.reshape(len(step.chances), -1)

    def _of_one(self, variable: int, chances: Floats) -> tuple[Numbers, Floats]:
        """A binary variable has one row: what is not value 1 of it is value 0."""
        first = int(self.core_start[variable])
        if self.sizes[variable] > 2:
            return np.arange(first, self.core_start[variable + 1]), chances
        change = chances[:, 1:] - chances[:, :1]
        return np.array([0, first])[: chances.shape[1]], np.hstack([chances[:, :1], change])

    def _home(self, scope: Scope) -> int:
        """A group that has all of some variables."""
        return next(
            group for group in self.with_member[scope[0]] if {*self.groups[group]} >= {*scope}
        )


Piece = tuple[Numbers, Numbers, Floats]
"""Rows, columns, and the entries where they meet."""


def _copy_core(fringe: Fringe, layout: _Layout, row_start: Numbers) -> Iterator[Piece]:
    for number, place in enumerate(fringe.places.tolist()):
        rows = np.arange(row_start[place], row_start[place + 1])
        yield rows, np.arange(*layout.core_start[[number, number + 1]]), np.eye(len(rows))


def _sparse(pieces: Sequence[Piece], shape: tuple[int, int]) -> csr_array:
    rows = [np.repeat(rows, len(columns)) for rows, columns, _ in pieces]
    columns = [np.tile(columns, len(rows)) for rows, columns, _ in pieces]
    entries = [table.reshape(-1) for _, _, table in pieces]
    nothing: list[Any] = [np.zeros(0, np.int64)]
    places = np.concatenate([*nothing, *rows]), np.concatenate([*nothing, *columns])
    return csr_array((np.concatenate([np.zeros(0), *entries]), places), shape=shape)


def _depends(fringe: Fringe, steps: Sequence[Given]) -> csr_array:
    """Which core variables each variable depends on; one of the core on itself."""
    pairs = [(place, number) for number, place in enumerate(fringe.places.tolist())]
    pairs += [(step.variable, member) for step in steps for member in step.given]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    shape = (fringe.whole.variables, fringe.core.variables)
    return csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)


# States of the whole graph, for questions about joint values: the fringe is drawn given the core.


class Network(NamedTuple):
    """Variables in the order in which they are drawn, each given some that are known before.

    `cumulative[start[step] + place * size[step] + value]` is how probable that value or a smaller
    one is where those that are given have the joint value `place`.
    """

    variable: Indices
    size: Indices
    start: Indices
    cumulative: Floats
    given_start: Indices
    given: Indices
    stride: Indices


def network_of(steps: Sequence[Given], sizes: Sequence[int]) -> Network:
    """Lay out variables that are drawn one after the other."""
    tables = [
        np.cumsum(step.chances.reshape(len(step.chances), -1), axis=0).T.reshape(-1)
        for step in steps
    ]
    strides = [
        np.cumprod([1, *[sizes[member] for member in step.given[:0:-1]]])[::-1][: len(step.given)]
        for step in steps
    ]
    return Network(
        variable=_numbers([step.variable for step in steps]),
        size=_numbers([len(step.chances) for step in steps]),
        start=starts(_numbers([len(table) for table in tables])),
        cumulative=floats(np.concatenate([np.zeros(0), *tables])),
        given_start=starts(_numbers([len(step.given) for step in steps])),
        given=_numbers([member for step in steps for member in step.given]),
        stride=indices(np.concatenate([np.zeros(0, np.int64), *strides])),
    )


def _numbers(listed: Sequence[int]) -> Indices:
    return indices(np.array(listed, dtype=np.int64))


@compiled
def draw_network(network: Network, levels: Floats, values: Bytes) -> None:
    """Draw the variables of a network in `values[variable, lane]`, by `levels[step, lane]`."""
    for step in range(len(network.variable)):
        size, start = np.int64(network.size[step]), np.int64(network.start[step])
        for lane in range(values.shape[1]):
            place = start
            for edge in range(network.given_start[step], network.given_start[step + 1]):
                value = np.int64(values[network.given[edge], lane])
                place += size * np.int64(network.stride[edge]) * value
            drawn = 0
            while drawn < size - 1 and levels[step, lane] >= network.cumulative[place + drawn]:
                drawn += 1
            values[network.variable[step], lane] = np.uint8(drawn)


class RecoveredStates:
    """Lets notes look at states of the whole graph while chains sample its core.

    What they need of the fringe is drawn anew for each sample. So a state is one of the whole
    graph, and depends only on the seed, on the number of its pack and on how many came before.
    """

    def __init__(self, notes: Observer, fringe: Fringe, seed: int) -> None:
        self.notes, self.seed = notes, seed
        wanted = np.arange(fringe.whole.variables)[notes.needed]
        steps = _needed_steps(fringe, wanted.tolist())
        read = [member for step in steps for member in (step.variable, *step.given)]
        variables = np.unique(np.concatenate([wanted, np.array(read, dtype=np.int64)]))
        row = {variable: number for number, variable in enumerate(variables.tolist())}
        drawn = [
            Given(row[variable], tuple(row[member] for member in given), chances)
            for variable, given, chances in steps
        ]
        self.network = network_of(drawn, fringe.whole.cardinality[variables].tolist())
        self.rows = len(variables)
        self.shown = np.searchsorted(variables, wanted)
        self.core = np.flatnonzero(np.isin(fringe.places, variables))
        self.core_rows = np.searchsorted(variables, fringe.places[self.core])

    @property
    def needed(self) -> Needed:
        """Places in the core."""
        return self.core

    @property
    def waiting(self) -> float:
        return self.notes.waiting

    def note(self, number: int, states: Bytes, recorded: int) -> None:
        values = np.zeros((self.rows, states.shape[1]), dtype=np.uint8)
        values[self.core_rows] = states
        seed = np.random.SeedSequence(self.seed, spawn_key=(Stream.FRINGE, number, recorded))
        levels = np.random.default_rng(seed).random((len(self.network.variable), states.shape[1]))
        draw_network(self.network, levels, values)
        self.notes.note(number, values[self.shown], recorded)

    def spread(self, recorded: int, lanes: int) -> Floats:
        return self.notes.spread(recorded, lanes)


def recover_states(notes: Observer | None, recovery: Recovery | None, seed: int) -> Observer | None:
    """Notes that see states of the whole graph, whatever is sampled."""
    if notes is None or recovery is None:
        return notes
    return RecoveredStates(notes, recovery.fringe, seed)


def _needed_steps(fringe: Fringe, wanted: Iterable[int]) -> list[Given]:
    """What must be drawn for some variables, those that others are given first."""
    read = {*wanted}
    drawn = []
    for step in fringe.network:
        if step.variable in read:
            read.update(step.given)
            drawn.append(step)
    return drawn[::-1]
