"""Ground formulas as features of variables: true or false in each state, with a weight each."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc.logic.databases.universe import Ints


@dataclass(frozen=True)
class TableFeatures:
    """Features with one truth table: true where `truth[values of the scope]` is.

    `scope` has a row of variables for each feature, `weight` the number of its weight.
    """

    scope: Ints
    truth: NDArray[np.bool_]
    weight: Ints


@dataclass(frozen=True)
class ClauseFeatures:
    """Features that are clauses, or negated ones: see `holds`.

    A clause is satisfied when any variable of its row in `scope` has its `satisfying` value; the
    feature is true when that is `holds`.
    """

    scope: Ints
    satisfying: Ints
    holds: bool
    weight: Ints


Features = TableFeatures | ClauseFeatures


def truth_in(part: Features, values: Ints) -> NDArray[np.bool_]:
    """The features that are true in a state, or in each of several if `values` has columns."""
    if isinstance(part, ClauseFeatures):
        wanted = part.satisfying.reshape(part.satisfying.shape + (1,) * (values.ndim - 1))
        return np.asarray((values[part.scope] == wanted).any(axis=1) == part.holds)
    return np.asarray(part.truth[tuple(values[column] for column in part.scope.T)])


def taken(features: Features, rows: slice | NDArray[np.bool_] | Ints) -> Features:
    """Some of the features."""
    scope, weight = features.scope[rows], features.weight[rows]
    if isinstance(features, ClauseFeatures):
        return replace(features, scope=scope, satisfying=features.satisfying[rows], weight=weight)
    return replace(features, scope=scope, weight=weight)
