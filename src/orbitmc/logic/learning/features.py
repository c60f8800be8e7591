"""Which features are true."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.features import ClauseFeatures, Features


def truth_in(part: Features, values: Ints) -> NDArray[np.bool_]:
    """The features that are true in a state, or in each of several if `values` has columns."""
    if isinstance(part, ClauseFeatures):
        wanted = part.satisfying.reshape(part.satisfying.shape + (1,) * (values.ndim - 1))
        return np.asarray((values[part.scope] == wanted).any(axis=1) == part.holds)
    return np.asarray(part.truth[tuple(values[column] for column in part.scope.T)])
