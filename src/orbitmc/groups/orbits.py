"""Orbits by uniting every point with its images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, tiered
from orbitmc._util.arrays import Index, Numbers


@shared
def root_of(parent: Numbers, point: Index) -> Index:
    """The representative of a point; shortens the path to it."""
    while parent[point] != point:
        parent[point] = parent[parent[point]]
        point = parent[point]
    return point


@shared
def unite(parent: Numbers, one: Index, other: Index) -> bool:
    """Join two classes under the smaller representative; tells whether they were apart."""
    first, second = root_of(parent, one), root_of(parent, other)
    if first == second:
        return False
    parent[max(first, second)] = min(first, second)
    return True


@tiered(of_all)
def _connected(parent: Numbers, one: Numbers, other: Numbers) -> None:
    for k in range(len(one)):
        unite(parent, one[k], other[k])
    for point in range(len(parent)):
        parent[point] = root_of(parent, point)


def connected(degree: int, one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.int64]:
    """The smallest point connected with each point, when `one[k]` is connected with `other[k]`."""
    parent = np.arange(degree)
    _connected(parent, one.astype(np.int64), other.astype(np.int64))
    return parent
