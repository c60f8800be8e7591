"""Worlds that fall into small components, whose states can all be listed."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from orbitmc.errors import ContradictionError
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.features import Features, taken, truth_in
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.logic.learning.changes import Changes
from orbitmc.logic.learning.worlds import TrainingWorld

MOST_STATES = 2**14  # of a component
MOST_COMPONENTS = 2**16  # of all worlds: each is listed on its own
ROUNDING = 1e-9  # of the logarithm of a number of states
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
        return _grouped(self.label, len(self.log_states))

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
            (part, _grouped(self.label[part.scope[:, 0]], count))
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
        found = [self._component(number) for number in range(len(self.members))]
        sizes = [possible.size for _, possible, _ in found]
        where, possible, shown = zip(*found, strict=True)
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
        seen = ~world.hidden[members]
        shown = possible & (values[seen] == world.values[members][seen][:, None]).all(axis=0)
        if not shown.any():
            raise ContradictionError("the database breaks a hard formula, whatever is hidden")
        return np.concatenate(pieces, axis=1), possible, shown

    def _features(self, number: int) -> Iterator[Features]:
        """The features of a component, with its variables numbered from 0."""
        for part, rows in self.parts:
            if len(rows[number]):
                own = taken(part, rows[number])
                yield replace(own, scope=self.place[own.scope])


def are_small(worlds: Sequence[Components]) -> bool:
    """Whether all states of all components can be listed."""
    if sum(len(world.log_states) for world in worlds) > MOST_COMPONENTS:
        return False
    most = np.log(MOST_STATES) + ROUNDING
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


def _grouped(label: Ints, count: int) -> list[Ints]:
    """The places of each label."""
    order = np.argsort(label, kind="stable")
    edges = np.searchsorted(label[order], np.arange(count + 1))
    return [order[low:high] for low, high in pairwise(edges)]
