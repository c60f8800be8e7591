"""The few best states in order, by splitting what is left after each one (Lawler 1972).

Read from the roots down, a state is a path. All other states leave it somewhere: they have its
first values, then another one. The messages tell how heavy the best of those is, so the next best
state is always known before it is made (Nilsson 1998).
"""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import heed
from orbitmc.exact.best.max_elimination import MaxElimination, State


@dataclass(frozen=True)
class Path:
    """The best state of some set of states, and what its values score.

    The set is: the same values before place `turn` of the way down, none of `excluded` there.
    """

    weight: float
    state: State
    scores: list[Floats]
    turn: int
    excluded: frozenset[int]


def best_states(elimination: MaxElimination) -> Iterator[tuple[float, State]]:
    """All possible states, heaviest first, with their weights (without the constant)."""
    count = itertools.count()
    first = _completed(elimination, None, 0, -1)
    heap = [(-first.weight, next(count), first, 0, -1)]
    while heap:
        heed()
        negative, _, parent, turn, value = heapq.heappop(heap)
        path = first if value < 0 else _completed(elimination, parent, turn, value, -negative)
        yield path.weight, path.state
        for place in range(path.turn, len(elimination.downward)):
            found = _next_at(elimination, path, place)
            if found is not None:
                weight, other = found
                heapq.heappush(heap, (-weight, next(count), path, place, other))


def _next_at(elimination: MaxElimination, path: Path, place: int) -> tuple[float, int] | None:
    """The best other value at a place of the way down, and the weight of the best such state."""
    variable = elimination.downward[place]
    scores = path.scores[variable].copy()
    scores[path.state[variable]] = -np.inf
    if place == path.turn:
        scores[list(path.excluded)] = -np.inf
    other = int(scores.argmax())
    if scores[other] == -np.inf:
        return None
    lost = path.scores[variable][path.state[variable]] - scores[other]
    return path.weight - float(lost), other


def _completed(
    elimination: MaxElimination,
    parent: Path | None,
    turn: int,
    value: int,
    weight: float = 0.0,
) -> Path:
    """The best state that leaves its parent at some turn with some value."""
    tree, downward = elimination.tree, elimination.downward
    state = [0] * len(tree.sizes) if parent is None else list(parent.state)
    scores: list[Floats] = [np.zeros(0)] * len(state) if parent is None else list(parent.scores)
    changed = set(range(len(state))) if parent is None else {downward[turn]}
    excluded: frozenset[int] = frozenset()
    if parent is not None:
        turned = downward[turn]
        earlier = parent.excluded if turn == parent.turn else frozenset()
        excluded = earlier | {parent.state[turned]}
        state[turned] = value
    for variable in downward[turn if parent is None else turn + 1 :]:
        if parent is None or not changed.isdisjoint(tree.shared[variable]):
            scores[variable] = elimination.scores(variable, state)
            best = int(scores[variable].argmax())
            if best != state[variable]:
                state[variable] = best
                changed.add(variable)
    return Path(elimination.best() if parent is None else weight, state, scores, turn, excluded)
