"""What is stored of all conditionals, and what drawing from one of them overwrites."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats, Indices
from orbitmc.graph.conditionals.factor_groups import FactorGroups


class Conditionals(NamedTuple):
    """How to draw each variable: its way, its neighbours, and their limits or couplings.

    `affine` variables have finite log-odds that are `bias` plus the `coupling` of each neighbour
    that is 1. `pairwise` ones, all affine ones among them, have finite factors with at most one
    other variable, and few values. `ladder` has the log-odds of a COUNT variable when no neighbour
    agrees, and what each that agrees adds. `role` belongs to `neighbour`: whether a COUNT
    neighbour counts when it is 0, or the stride of a TABLE neighbour. `start` is where a
    variable's limits begin. `sextet` sums the couplings of six neighbours at a time, by the
    patterns of the first and the last three. `curve` has the numbers of `curves` for pairwise
    variables that are not affine. `groups` belong to FACTORS variables.
    """

    path: Bytes
    affine: Bytes
    pairwise: Bytes
    neighbour_start: Indices
    neighbour: Indices
    role: Indices
    coupling: NDArray[Any]
    bias: NDArray[Any]
    ladder: NDArray[Any]
    start: Indices
    limit: NDArray[Any]
    sextet_start: Indices
    sextet: NDArray[np.float32]
    curve_start: Indices
    curve: NDArray[Any]
    groups: FactorGroups


class Scratch(NamedTuple):
    """Arrays that one conditional overwrites, one entry per lane.

    `counts` has the literals of each long clause that hold, if `counted` says that it was in this
    `turn`: while nothing else than `draw_in_turn` changes values.
    """

    pattern: Bytes
    place: NDArray[np.uint32]
    field: NDArray[Any]
    bend: NDArray[Any]
    log_weights: Floats
    others: Bytes
    kept: Bytes
    counts: NDArray[np.uint16]
    counted: NDArray[np.int64]
    turn: NDArray[np.int64]
    width: tuple[int, ...]
