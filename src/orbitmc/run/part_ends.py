"""Log-weights of chains at the ends of the parts of time.

Marginals can look mixed while chains still remember their starts: a jump between two heavy states
averages them to one half, however slowly chains find them. The log-weight shows it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, sealed
from orbitmc.estimate.statistics import persistence
from orbitmc.estimate.tally import PARTS, capacity
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weights_of_parts

GROUPS = 64  # the largest components have one each, the others share the last
LOOKED_AT = 2**23  # factors times lanes; of larger models one lane of each column
ROUNDING = 1e-6  # of log-weights: less comes from adding many of them


class PartEnds(NamedTuple):
    """`log_weights[part, group, lane]` when a part of time was full; `group_of` each variable."""

    group_of: NDArray[np.int64]
    log_weights: Floats


def part_ends(graph: FactorGraph, lanes: int, part_of: NDArray[np.int64]) -> PartEnds:
    """Give room for the log-weights of a pack; `part_of` has the component of each variable."""
    sizes = np.bincount(part_of)
    group = np.full(len(sizes), min(len(sizes), GROUPS) - 1, dtype=np.int64)
    largest = np.argsort(-sizes, kind="stable")[: GROUPS - 1]
    group[largest] = np.arange(len(largest))
    looked_at = lanes if graph.factors * lanes <= LOOKED_AT else COLUMNS
    groups = int(group.max(initial=-1)) + 1
    return PartEnds(sealed(group[part_of]), np.zeros((PARTS, groups, looked_at)))


def note_end(ends: PartEnds, graph: FactorGraph, values: Bytes, part: int) -> None:
    """Remember the log-weights of the present states."""
    lanes = ends.log_weights.shape[2]
    ends.log_weights[part] = log_weights_of_parts(graph, values[:, :lanes], ends.group_of)


def merge_ends(ends: PartEnds) -> None:
    """Follow `merge_parts`: of two parts that become one, the later end stays."""
    ends.log_weights[0], ends.log_weights[1] = ends.log_weights[1], ends.log_weights[3].copy()


def unmixed_variables(every: Sequence[PartEnds], recorded: int) -> NDArray[np.bool_]:
    """Say of each variable whether the log-weight of its group is kept by columns, or drifts."""
    full = recorded // capacity(recorded) if recorded else 0
    means = np.concatenate([_column_means(ends.log_weights[:full]) for ends in every], axis=2)
    found = persistence(means, np.ones(full), ROUNDING, means.shape[1])
    return (found.kept | found.drifts)[every[0].group_of]


def _column_means(log_weights: Floats) -> Floats:
    parts, groups, lanes = log_weights.shape
    means: Floats = log_weights.reshape(parts, groups, lanes // COLUMNS, COLUMNS).mean(axis=2)
    return means
