"""Where chains start: annealed states, states of high weight, and the best that cooling finds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc import kernels
from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import elements, tier
from orbitmc._simd.random import COLUMNS, Generator, Stream, generator
from orbitmc._util.arrays import Bytes, Floats, Index, Numbers, lengths, starts
from orbitmc._util.interrupts import check_interrupt
from orbitmc.conditionals.prepared import PreparedGraph, prepare, prepare_briefly
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_log_weight, log_potential, log_weights_of_parts
from orbitmc.graph.model import UngroundRelation
from orbitmc.graph.relevance import components
from orbitmc.graph.transforms import at_beta
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.protocol import Kernel, start_states
from orbitmc.sampling.executor import Sender, pack_shared, readonly_graph
from orbitmc.sampling.pack import Pack, empty_pack, start_values, walk

# Factors whose best entry is hard to come by when one variable changes at a time.
#
# A table over many variables, or a conjunction of many literals, may pay for one state only. Until
# all its variables but one agree with that state, no single step sees a gain.

WIDE = 3  # variables at least
MOST = 256
LEAST_GAIN = 1.0  # over the mean entry; less is no mode


def hidden_factors(graph: FactorGraph) -> NDArray[np.int64]:
    """Wide factors that gain much at their best, those that gain most first."""
    gain = _gains(graph)[graph.table_of]
    gain[lengths(graph.scope_start) < WIDE] = 0.0
    clauses = slice(graph.first_clause, graph.factors)
    start = graph.table_start[graph.table_of[clauses]]
    unsatisfied, satisfied = graph.table[start], graph.table[start + 1]
    gain[clauses] = np.where(unsatisfied > satisfied, gain[clauses], 0.0)
    order = np.argsort(-gain, kind="stable")[:MOST].astype(np.int64)
    return order[gain[order] > LEAST_GAIN]


def best_values(
    graph: FactorGraph, factors: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int16]:
    """Values at which the first factor is best, then the others, as far as they agree; else -1."""
    wanted = np.full(graph.variables, -1, dtype=np.int16)
    for factor in [factors[0], *rng.permutation(factors[1:])]:
        scope, best = graph.scope_of(factor), _best_entry(graph, int(factor), rng)
        earlier = wanted[scope]
        if ((earlier < 0) | (earlier == best)).all():
            wanted[scope] = best
    return wanted


def _gains(graph: FactorGraph) -> NDArray[np.float64]:
    """How far the best entry of each table lies above its mean, impossible ones left out."""
    sizes = lengths(graph.table_start)
    table_of = np.repeat(np.arange(len(sizes)), sizes)
    finite = np.isfinite(graph.table)
    count = np.bincount(table_of, finite, minlength=len(sizes))
    total = np.bincount(table_of[finite], graph.table[finite], minlength=len(sizes))
    best = np.full(len(sizes), -np.inf)
    np.maximum.at(best, table_of, graph.table)
    gains: NDArray[np.float64] = np.where(count > 0, best - total / np.maximum(count, 1), 0.0)
    return gains


def _best_entry(graph: FactorGraph, factor: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values at which a factor is best; of a clause, some that do not satisfy it."""
    table = graph.table_values(factor)
    if factor < graph.first_clause:
        return np.array(np.unravel_index(int(table.argmax()), table.shape))
    avoided = graph.satisfying[graph.scope_start[factor] : graph.scope_start[factor + 1]]
    size = graph.cardinality[graph.scope_of(factor)].astype(np.int64)
    return (avoided + rng.integers(1, np.maximum(size, 2))) % size


# Starts in modes that random starts miss.
#
# One column of eight starts from annealed states, the others at random. Starts do not bias a chain
# that forgets them. If modes do not communicate, this column disagrees with the others for as long
# as the run lasts, and that is seen; a mode that nobody has entered is not.

COLD = 4.0  # inverse temperature of annealing
SWEEPS = 8
NANOSECONDS = 20.0  # for each lane and each variable that is or that a factor reads
UNIFORM, HEAVY = 1, (2, 3)  # what lanes are annealed from, by their numbers modulo 4; 0 is random


def search_seconds(graph: FactorGraph, lanes: int) -> float:
    """About how long the search for modes takes, and what is made of it in the end."""
    return NANOSECONDS * 1e-9 * lanes * (graph.variables + len(graph.scope))


def search_modes(
    graph: FactorGraph,
    packs: Mapping[int, Pack | None],
    lanes: int,
    part_of: NDArray[np.int64],
    *,
    seed: int,
) -> Bytes:
    """Anneal states for packs with these numbers; give the heaviest state of all.

    One column of every pack that is there is put into its annealed states; it still depends on
    nothing but the seed and its number. `part_of` has the connected component of each variable.
    """
    share = lanes // COLUMNS
    modes = []
    for group in sorted({number // COLUMNS for number in packs}):
        states = anneal_states(graph, seed=seed, group=group, lanes=lanes)
        for place in range(COLUMNS):
            if pack := packs.get(group * COLUMNS + place):
                pack.values[:, ::COLUMNS] = states[:, place * share : (place + 1) * share]
        modes.append(heaviest_states(graph, states, part_of))
    return heaviest_states(graph, np.stack(modes, axis=1), part_of)


def anneal_states(graph: FactorGraph, *, seed: int, group: int, lanes: int) -> Bytes:
    """Cool states down: random ones, uniform ones, and those in which some factors are best."""
    source = np.random.SeedSequence(seed, spawn_key=(Stream.ANNEALED_STARTS + group,))
    wanted = _target_values(graph, lanes, np.random.default_rng(source.spawn(1)[0]))
    cold, kernel = prepare_briefly(at_beta(graph, COLD)), SystematicScan()
    pack = empty_pack(cold, kernel, lanes=lanes)
    pack.values[...] = start_values(graph, lanes, source, wanted)
    pack = replace(pack, rng=generator(seed, Stream.ANNEALED_STARTS + group, lanes))
    walk(cold, kernel, pack, SWEEPS * graph.variables)
    return pack.values


def heaviest_states(graph: FactorGraph, states: Bytes, part_of: NDArray[np.int64]) -> Bytes:
    """The heaviest state that can be put together, each component from the lane that has it."""
    if states.shape[1] == 1:
        return states[:, 0]
    lane = log_weights_of_parts(graph, states, part_of).argmax(axis=1)
    best: Bytes = states[np.arange(graph.variables), lane[part_of]]
    return best


def _target_values(graph: FactorGraph, lanes: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """The values that each lane should have before it is cooled; -1 where any will do."""
    wanted = np.full((graph.variables, lanes), -1, dtype=np.int16)
    largest = graph.cardinality.astype(np.int64) - 1
    hidden = hidden_factors(graph)
    for lane in range(lanes):
        if lane % 4 == UNIFORM:
            wanted[:, lane] = np.minimum(lane // 4 % (1 + largest.max(initial=0)), largest)
        elif lane % 4 in HEAVY and len(hidden):
            wanted[:, lane] = best_values(graph, np.roll(hidden, -(lane // 2)), rng)
    return wanted


# Greedy ascent: give variables their best value until none can be improved alone.

GAIN = 1e-12  # less is rounding


def _work(graph: FactorGraph, values: Bytes, *rest: Any) -> float:
    """Every lane looks at every factor a few times."""
    return 10.0 * float(values.shape[1]) * elements(graph.scope)


@tier(_work)
def ascend(graph: FactorGraph, values: Bytes) -> None:
    """Improve the possible states of all lanes, one variable at a time; impossible ones stay."""
    for lane in range(values.shape[1]):
        better = True
        while better:
            better = False
            for variable in range(values.shape[0]):
                before = values[variable, lane]
                best, highest = before, _around(graph, values, variable, lane) + GAIN
                if highest > -np.inf:
                    for value in range(np.int64(graph.cardinality[variable])):
                        values[variable, lane] = value
                        sum_here = _around(graph, values, variable, lane)
                        if sum_here > highest:
                            best, highest = np.uint8(value), sum_here
                            better = True
                values[variable, lane] = best


@tier(_work)
def weight_gains(graph: FactorGraph, values: Bytes, start: Any, gains: Floats) -> None:
    """What the log-weight of the first lane's state gains by each value of each variable alone."""
    for variable in range(values.shape[0]):
        before = values[variable, 0]
        here = _around(graph, values, variable, 0)
        for value in range(np.int64(graph.cardinality[variable])):
            values[variable, 0] = value
            gains[np.int64(start[variable]) + value] = _around(graph, values, variable, 0) - here
        values[variable, 0] = before


@shared
def _around(graph: FactorGraph, values: Bytes, variable: Index, lane: Index) -> float:
    """What the factors around a variable add up to."""
    total = 0.0
    for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
        total += log_potential(graph, graph.incident[edge], values, lane)
    return total


BETAS = tuple(np.geomspace(0.25, 8.0, 9).tolist())
"""Inverse temperatures, from hot to cold."""

GREEDY = 1e3  # inverse temperature at which items of relations go where they gain most
FIRST_SWEEPS = 2
UPDATES_PER_CALL = 10**7  # of all lanes, so that Ctrl-C is heard
CLIMBED_PER_CALL = 10**6  # states of variables, and of those that factors read


class Round(NamedTuple):
    """A pack of one round of the search."""

    seed: int
    lanes: int
    number: int
    """Of the pack; it keeps random numbers apart."""
    sweeps: int
    """At each temperature; 0 in the first round, which does not cool."""


class Cooling:
    """A graph at falling temperatures, each prepared when chains first need it.

    Where there are `relations` that the graph does not say, chains stay in them.
    """

    def __init__(
        self,
        graph: FactorGraph,
        is_over: Callable[[], bool] = lambda: False,
        relations: Sequence[UngroundRelation] = (),
    ) -> None:
        self.graph, self.is_over, self.relations = graph, is_over, relations
        self.prepared: dict[float, tuple[PreparedGraph, Kernel]] = {}

    def at(self, beta: float) -> tuple[PreparedGraph, Kernel]:
        """The graph at a temperature and the chain that samples it; prepared once."""
        if beta not in self.prepared:
            prepared, kernel = prepare(at_beta(self.graph, beta)), SystematicScan()
            chain = (
                kernels.relations.relation_scan(prepared, self.relations)[0]
                if self.relations
                else kernel
            )
            self.prepared[beta] = prepared, chain
        return self.prepared[beta]

    def states(self, work: Round) -> Bytes:
        """States [variable, lane] that no single change improves."""
        seed, lanes, number, sweeps = work
        rng = generator(seed, Stream.BEST_STATES + number, lanes)
        states = self._start(work)
        for beta in BETAS if sweeps else ():
            if self.is_over():
                break
            states = self._walk(beta, states, rng, sweeps)
        if self.relations:
            return self._walk(GREEDY, states, rng, max(sweeps, FIRST_SWEEPS))
        self._ascend(states)
        return states

    def _start(self, work: Round) -> Bytes:
        """States from which a round starts."""
        if not self.relations:
            return anneal_states(self.graph, seed=work.seed, group=work.number, lanes=work.lanes)
        stream = np.random.SeedSequence(work.seed, spawn_key=(work.number, 1))
        states = start_states(self.at(GREEDY)[1], self.graph, work.lanes, stream)
        assert states is not None
        return states

    def _ascend(self, states: Bytes) -> None:
        """Climb, a few lanes at a time, until time is over; the first lanes always climb."""
        reads = self.graph.variables + len(self.graph.scope)
        some = max(1, CLIMBED_PER_CALL // max(1, reads))
        for first in range(0, states.shape[1], some):
            if first and self.is_over():
                return
            lanes = np.ascontiguousarray(states[:, first : first + some])
            ascend(self.graph, lanes)
            states[:, first : first + some] = lanes

    def _walk(self, beta: float, states: Bytes, rng: Generator, sweeps: int) -> Bytes:
        """Take sweeps at a temperature in slices, until time is over."""
        prepared, kernel = self.at(beta)
        pack = replace(empty_pack(prepared, kernel, lanes=states.shape[1]), rng=rng)
        pack.values[...] = states
        updates = sweeps * self.graph.variables
        while updates > 0 and not self.is_over():
            check_interrupt()
            some = min(updates, max(1, UPDATES_PER_CALL // states.shape[1]))
            walk(prepared, kernel, pack, some)
            updates -= some
        return pack.values


@dataclass(frozen=True)
class SharedCooling:
    """What workers need to cool chains."""

    graph: FactorGraph
    relations: Sequence[UngroundRelation] = ()

    def open(self) -> Cooling:
        """Chains that a worker cools by itself."""
        return Cooling(readonly_graph(self.graph), relations=self.relations)


def cool_states(
    graph: FactorGraph,
    *,
    seed: int,
    lanes: int,
    packs: int = 1,
    executor: Executor | None = None,
    stopped: Callable[[], bool] = lambda: False,
    is_over: Callable[[], bool] = lambda: False,
    relations: Sequence[UngroundRelation] = (),
) -> Iterator[Bytes]:
    """Round after round of states [variable, lane] that no single change improves.

    States that are none of the `relations` are impossible; there no item of one can be put better.

    The first round starts from annealed states and where heavy factors are at their best; each
    later one cools from a hot start, twice as slowly as the one before. With an `executor` the
    packs of a round are cooled by its workers; the states are the same. When time `is_over`, the
    chains of the present round cool no further; workers end their round.
    """
    if executor is None:
        cool = _here(Cooling(graph, is_over, relations))
    else:
        cool = _elsewhere(SharedCooling(graph, relations), executor, stopped)
    for number in count():
        sweeps = FIRST_SWEEPS << number - 1 if number else 0
        work = [Round(seed, lanes, number * packs + pack, sweeps) for pack in range(packs)]
        yield np.concatenate(cool(work), axis=1)


Cool = Callable[[list[Round]], list[Bytes]]


def _here(cooling: Cooling) -> Cool:
    return lambda work: [cooling.states(piece) for piece in work]


def _elsewhere(shared: SharedCooling, executor: Executor, stopped: Callable[[], bool]) -> Cool:
    sender, needed = Sender(executor), pack_shared(shared)

    def cool(work: list[Round]) -> list[Bytes]:
        states = sender.all(Cooling.states, needed, work, stopped)
        if states is None:
            raise KeyboardInterrupt
        return states

    return cool


class TopStates:
    """The best states so far, all different.

    Where the graph alone `decides` what is possible, parts of them are put together.
    """

    def __init__(self, graph: FactorGraph, count: int, *, decides: bool = True) -> None:
        self.graph, self.count, self.decides = graph, count, decides
        self.part_of = components(graph) if decides else np.zeros(graph.variables, dtype=np.int64)
        self.weights: dict[bytes, float] = {}

    def consider(self, states: Bytes) -> None:
        """Look at all lanes, at the best of each connected part, and at what is next to that."""
        best = heaviest_states(self.graph, states, self.part_of)
        columns = [best, *np.unique(states, axis=1).T] if self.count > 1 else [best]
        for column in columns:
            self._add(column)
        if self.count > 1 and self.decides:
            self._add_neighbours(np.frombuffer(self.rank()[0][1], dtype=np.uint8))

    def _add(self, state: Bytes) -> None:
        key = np.ascontiguousarray(state, dtype=np.uint8).tobytes()
        if key not in self.weights:
            weight = exact_log_weight(self.graph, state.astype(np.int64))
            if weight > -np.inf:
                self.weights[key] = weight
        self.weights = {key: weight for weight, key in self.rank()}

    def _add_neighbours(self, state: Bytes) -> None:
        """Change the best state in one variable, the most harmless changes first."""
        start = starts(self.graph.cardinality)
        gains = np.zeros(int(start[-1]))
        weight_gains(self.graph, state[:, None].copy(), start, gains)
        unchanged = start[:-1].astype(np.int64) + state
        gains[unchanged] = -np.inf
        for place in np.argsort(-gains, kind="stable")[: self.count]:
            if gains[place] > -np.inf:
                variable = int(np.searchsorted(start, place, side="right")) - 1
                other = state.copy()
                other[variable] = place - int(start[variable])
                self._add(other)

    def rank(self) -> list[tuple[float, bytes]]:
        """Heaviest first, then in the order of their values."""
        pairs = sorted((-weight, key) for key, weight in self.weights.items())
        return [(-negative, key) for negative, key in pairs[: self.count]]

    def states(self) -> list[Numbers]:
        """Value numbers, heaviest first."""
        return [np.frombuffer(key, dtype=np.uint8).astype(np.int64) for _, key in self.rank()]
