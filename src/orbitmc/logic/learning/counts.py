"""How many groundings of each weight are true, in many states at once."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from orbitmc._util.arrays import Bytes, Floats
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.features import Features, TableFeatures, taken, truth_in
from orbitmc.logic.grounding.grounding import Ground

BLOCK = 2**22  # numbers at a time


@dataclass(frozen=True)
class States:
    """True groundings of each weight (rows) in some states (columns), and the states' chances."""

    counts: Floats
    chances: Floats

    @property
    def mean(self) -> Floats:
        return np.asarray(self.counts @ self.chances)

    @property
    def variance(self) -> Floats:
        away = self.counts - self.mean[:, None]
        return np.asarray((away * away) @ self.chances)

    def spread(self, direction: Floats) -> float:
        """Variance of the counts' sum, weighted by a direction."""
        sums = direction @ self.counts
        away = sums - sums @ self.chances
        return float((away * away) @ self.chances)


class TrueCounts:
    """Counts the true groundings that evidence leaves undecided.

    What single variables decide is added up beforehand, value by value.
    """

    def __init__(self, ground: Ground) -> None:
        self.weights = len(ground.weights)
        self.begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(ground.cardinality)])
        self.several = [part for part in ground.features if not _is_single(part)]
        self.single = self._single(ground.features)

    def __call__(self, values: Bytes | Ints) -> Floats:
        """Counts [weight, state] in states that are columns [variable, state]."""
        found = np.empty((self.weights, values.shape[1]))
        step = max(1, BLOCK // max(1, int(self.begin[-1])))
        for first in range(0, values.shape[1], step):
            found[:, first : first + step] = self._counts(values[:, first : first + step])
        return found

    def _counts(self, values: Bytes | Ints) -> Floats:
        states = values.shape[1]
        chosen = np.zeros((int(self.begin[-1]), states))
        chosen[self.begin[:-1, None] + values, np.arange(states)] = 1.0
        total = np.asarray(self.single @ chosen)
        for part in self.several:
            step = max(1, BLOCK // (states * part.scope.shape[1]))
            for first in range(0, len(part.weight), step):
                total += self._part(part, slice(first, first + step), values)
        return total

    def _part(self, part: Features, rows: slice, values: Bytes | Ints) -> Floats:
        truth = truth_in(taken(part, rows), values.astype(np.int64))
        weight = part.weight[rows]
        adding = csr_array(
            (np.ones(len(weight)), (weight, np.arange(len(weight)))),
            shape=(self.weights, len(weight)),
        )
        return np.asarray(adding @ truth.astype(np.float64))

    def _single(self, features: tuple[Features, ...]) -> csr_array:
        weight, place = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in features:
            if isinstance(part, TableFeatures) and _is_single(part):
                for value in np.flatnonzero(part.truth):
                    weight.append(part.weight)
                    place.append(self.begin[part.scope[:, 0]] + value)
        where = np.concatenate(weight), np.concatenate(place)
        shape = (self.weights, int(self.begin[-1]))
        return csr_array((np.ones(len(where[0])), where), shape=shape)


def _is_single(part: Features) -> bool:
    return isinstance(part, TableFeatures) and part.truth.ndim == 1
