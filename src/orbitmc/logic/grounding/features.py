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


def taken(features: Features, rows: slice | NDArray[np.bool_]) -> Features:
    """Some of the features."""
    scope, weight = features.scope[rows], features.weight[rows]
    if isinstance(features, ClauseFeatures):
        return replace(features, scope=scope, satisfying=features.satisfying[rows], weight=weight)
    return replace(features, scope=scope, weight=weight)
