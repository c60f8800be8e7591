"""Expected numbers of true groundings: from small components, or from chains."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from orbitmc._simd.random import generator
from orbitmc._util.arrays import Bytes, Floats, indices
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.transforms import condition
from orbitmc.kernels._gibbs import PartialScan, SystematicScan
from orbitmc.mln.data.database import Ints
from orbitmc.mln.grounding.ground_features import Features, take_features, truth_in
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.learning.objectives import Arrays, require_like
from orbitmc.mln.learning.worlds import Changes, States, TrainingWorld, TrueCounts
from orbitmc.sampling.pack import Pack, empty_pack, start_pack, start_values, walk
from orbitmc.sampling.schedule import LANES

# Chains that go on while the weights of their model change.


class Chains:
    """A pack of chains on one world; it depends on the seed, the world's number and the weights.

    Small changes of the weights move the distribution little, so a few sweeps after each keep the
    chains near it (persistent contrastive divergence). `arrays` is all they need to go on. Chains
    that are `given` the data change hidden variables only.
    """

    def __init__(
        self,
        world: TrainingWorld,
        *,
        seed: int,
        number: int,
        lanes: int = LANES,
        given: bool = False,
    ) -> None:
        self.world, self.ground, self.counts = world, world.ground, TrueCounts(world.ground)
        self.seed, self.number, self.lanes, self.given = seed, number, lanes, given
        self.changing = indices(np.flatnonzero(world.hidden | (not given)))
        self.arrays: Arrays = {}

    def states(self, weights: Floats, *, sweeps: int) -> Bytes:
        """Go on for some sweeps under these weights; gives the states [variable, lane] reached."""
        prepared = prepare(graph_of(self.ground, weights))
        kernel = PartialScan(self.changing) if self.given else SystematicScan()
        pack = self._pack(prepared, kernel)
        walk(prepared, kernel, pack, sweeps * len(self.changing))
        self.arrays = _arrays(pack)
        return pack.values

    def sample(self, weights: Floats, *, sweeps: int) -> States:
        """Go on for some sweeps under these weights, and count in the states reached."""
        counts = self.counts(self.states(weights, sweeps=sweeps))
        return States(counts, np.full(self.lanes, 1.0 / self.lanes))

    def restore(self, arrays: Arrays) -> None:
        """Go on where other chains on the same world stopped."""
        cardinality = self.ground.cardinality
        rng = generator(self.seed, self.number, self.lanes)
        values = np.zeros((len(cardinality), self.lanes), dtype=np.uint8)
        require_like(arrays, {"values": values, "common": rng.common, "streams": rng.streams})
        if (arrays["values"] >= cardinality[:, None]).any():
            raise InputError("the chains that were kept have values that no atom has")
        self.arrays = arrays

    def _pack(self, prepared: PreparedGraph, kernel: SystematicScan | PartialScan) -> Pack:
        """A pack for these weights, in the state in which the last one was left."""
        if not self.arrays:
            pack = start_pack(
                prepared, kernel, seed=self.seed, number=self.number, lanes=self.lanes
            )
            if self.given:
                self._show_data(prepared.graph, pack)
            return pack
        pack = empty_pack(prepared, kernel, lanes=self.lanes)
        for name, array in _arrays(pack).items():
            array[...] = self.arrays[name]
        return pack

    def _show_data(self, graph: FactorGraph, pack: Pack) -> None:
        """Begin where the data are, with hidden values that they leave possible."""
        observed = np.flatnonzero(~self.world.hidden)
        known = dict(zip(observed.tolist(), self.world.values[observed].tolist(), strict=True))
        start = np.random.SeedSequence(self.seed, spawn_key=(self.number, 1))
        pack.values[...] = self.world.values[:, None]
        pack.values[self.changing] = start_values(condition(graph, known), self.lanes, start)


def _arrays(pack: Pack) -> Arrays:
    return {"values": pack.values, "common": pack.rng.common, "streams": pack.rng.streams}


MOST_STATES = 2**14  # of a component
MOST_COMPONENTS = 2**16  # of all worlds: each is listed on its own
LOG_STATES_TOLERANCE = 1e-9  # of the logarithm of a number of states
MOST_TRUTHS = 2**23  # features of components in their states, of all worlds: 200 MB at most


class Components:
    """The components of a world: variables that share no feature with any outside."""

    def __init__(self, world: TrainingWorld) -> None:
        self.world, self.label = world, _labels(world.ground)
        logs = np.log(world.ground.cardinality.astype(float))
        self.log_states = np.bincount(self.label, weights=logs)

    @cached_property
    def members(self) -> list[Ints]:
        """The variables of each component."""
        return _places_of_labels(self.label, len(self.log_states))

    @cached_property
    def place(self) -> Ints:
        """Which member of its component each variable is."""
        place = np.zeros(len(self.label), dtype=np.int64)
        for members in self.members:
            place[members] = np.arange(len(members))
        return place

    @cached_property
    def parts(self) -> list[tuple[Features, list[Ints]]]:
        """All features, and which of them belong to each component."""
        count = len(self.log_states)
        return [
            (part, _places_of_labels(self.label[part.scope[:, 0]], count))
            for part in self.world.ground.features
        ]

    def truths(self) -> float:
        """How many features in how many states there are to be looked at."""
        features = np.ones(len(self.log_states))
        for part in self.world.ground.features:
            features += np.bincount(self.label[part.scope[:, 0]], minlength=len(features))
        return float(features @ np.exp(self.log_states))

    def changes(self) -> Changes:
        """True groundings in all states of each component, and which of these the data show."""
        components = [self._component(number) for number in range(len(self.members))]
        sizes = [possible.size for _, possible, _ in components]
        where, possible, shown = zip(*components, strict=True)
        first = np.cumsum([0, *sizes[:-1]])
        pieces = [np.zeros((3, 0), dtype=np.int64)]
        for rows, start in zip(where, first, strict=True):
            pieces += [rows + np.array([[start], [0], [0]])]
        row, weight, count = np.concatenate(pieces, axis=1)
        shape = (sum(sizes), len(self.world.ground.weights))
        growth = csr_array((count.astype(np.float64), (row, weight)), shape=shape)
        return Changes(growth, np.concatenate(possible), first, np.concatenate(shown))

    def _component(self, number: int) -> tuple[Ints, NDArray[np.bool_], NDArray[np.bool_]]:
        """Rows (state, weight, true groundings), possible states, and those that data show."""
        world, members = self.world, self.members[number]
        sizes = tuple(world.ground.cardinality[members].tolist())
        values = np.indices(sizes).reshape(len(sizes), -1)
        hard = np.isposinf(world.ground.weights)
        possible = np.ones(values.shape[1], dtype=bool)
        pieces = [np.zeros((3, 0), dtype=np.int64)]
        for part in self._features(number):
            truth = truth_in(part, values)
            possible &= truth[hard[part.weight]].all(axis=0)
            feature, state = np.nonzero(truth & ~hard[part.weight][:, None])
            pieces.append(np.stack([state, part.weight[feature], np.ones_like(state)]))
        observed = ~world.hidden[members]
        shown = possible & (values[observed] == world.values[members][observed][:, None]).all(
            axis=0
        )
        if not shown.any():
            raise ContradictionError("the database breaks a hard formula, whatever is hidden")
        return np.concatenate(pieces, axis=1), possible, shown

    def _features(self, number: int) -> Iterator[Features]:
        """The features of a component, with its variables numbered from 0."""
        for part, rows in self.parts:
            if len(rows[number]):
                features = take_features(part, rows[number])
                yield replace(features, scope=self.place[features.scope])


def are_small(worlds: Sequence[Components]) -> bool:
    """Whether all states of all components can be listed."""
    if sum(len(world.log_states) for world in worlds) > MOST_COMPONENTS:
        return False
    most = np.log(MOST_STATES) + LOG_STATES_TOLERANCE
    if any(world.log_states.max(initial=0.0) > most for world in worlds):
        return False
    return sum(world.truths() for world in worlds) <= MOST_TRUTHS


def _labels(ground: Ground) -> Ints:
    """The number of each variable's component."""
    variables = len(ground.cardinality)
    first, other = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part in ground.features:
        for column in part.scope.T[1:]:
            first.append(part.scope[:, 0])
            other.append(column)
    where = np.concatenate(first), np.concatenate(other)
    links = coo_array((np.ones(len(where[0]), np.int8), where), shape=(variables, variables))
    _, label = connected_components(links, directed=False)
    return np.asarray(label, dtype=np.int64)


def _places_of_labels(label: Ints, count: int) -> list[Ints]:
    """The places of each label."""
    order = np.argsort(label, kind="stable")
    edges = np.searchsorted(label[order], np.arange(count + 1))
    return [order[low:high] for low, high in pairwise(edges)]
