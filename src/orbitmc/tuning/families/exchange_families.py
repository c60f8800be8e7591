"""Jumps that exchange values between variables: groups of exclusive ones, shuffles of blocks."""

import numpy as np

from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.groups.block_groups import ExchangeBlocks, exchange_blocks
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.one_hot.one_hot import one_hot
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.arrays import Bytes, Numbers
from orbitmc.symmetry.approximation.cluster_weights import cluster_weights
from orbitmc.symmetry.approximation.colours import cells
from orbitmc.symmetry.blocks.blocks import ACCEPTANCE_BUDGET, blocks
from orbitmc.symmetry.detection.encoding.exchangeable import Links, links
from orbitmc.tuning.families.family import Family, Propose, remembered
from orbitmc.tuning.structure.groups import exclusive_groups

CLUSTERS = 6  # of weights, for blocks of variables that are nearly alike
MOST_MOVED = 200  # factors around a block, unless a family says otherwise
SHUFFLES = {
    "shuffle of 4": (MOST_MOVED, 4),
    "shuffle of 8": (MOST_MOVED, 8),
    "shuffle": (50, 0),
    "shuffle of large blocks": (MOST_MOVED, 0),
}
"""How many factors a block may move, and how many of its members (0 for all), boldest last."""


def shuffle_families() -> dict[str, Family]:
    """Shuffles of several sizes, the smallest first."""
    return {name: _shuffle(*sizes) for name, sizes in SHUFFLES.items()}


def one_hot_groups(model: Model, prepared: PreparedGraph) -> Kernel | None:
    groups = _groups(model)
    return one_hot(prepared, groups) if groups else None


def group_exchange(model: Model, prepared: PreparedGraph) -> Kernel | None:
    rows = _rows(model)
    return shuffle(prepared, exchange_blocks(rows), rows=2) if rows else None


def guessed_group_exchange(model: Model) -> Propose | None:
    return _guessed_shuffle(exchange_blocks(_rows(model)), 2)


def _shuffle(max_moved: int, rows: int) -> Family:
    def build(model: Model, prepared: PreparedGraph) -> Kernel | None:
        found = _alike(model, max_moved=max_moved)
        return shuffle(prepared, found, rows=rows) if found.blocks else None

    some = f"{rows} variables" if rows else "the variables"
    words = f"the values of {some} of a block are shuffled"
    return Family(
        words, build, guess=lambda model: _guessed_shuffle(_alike(model, max_moved=max_moved), rows)
    )


@remembered
def _groups(model: Model) -> list[Numbers]:
    return exclusive_groups(model.graph)


def _rows(model: Model) -> list[Numbers]:
    """Exclusive groups of one size as the rows of a matrix, a matrix for each size."""
    groups = _groups(model)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    alike = [[groups[k] for k in np.flatnonzero(sizes == size)] for size in np.unique(sizes)]
    return [np.array(rows) for rows in alike if len(rows) > 1]


@remembered
def _alike(model: Model, max_moved: int) -> ExchangeBlocks:
    """Blocks of variables that are nearly alike once weights are clustered."""
    return blocks(
        model.graph,
        _near(model),
        max_moved=max_moved,
        budget=ACCEPTANCE_BUDGET,
        connections=_connections(model),
    )


@remembered
def _connections(model: Model) -> Links:
    return links(model.graph)


@remembered
def _near(model: Model) -> Numbers:
    return cells(cluster_weights(model, CLUSTERS), rounds=1)


def _guessed_shuffle(found: ExchangeBlocks, rows: int) -> Propose | None:
    if not found.blocks:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        matrix = found.rows(_block(found, rng))
        chosen = rng.permutation(len(matrix))[: rows or len(matrix)]
        turned = values.copy()
        turned[matrix[chosen]] = values[matrix[rng.permutation(chosen)]]
        return turned

    return propose


def _block(found: ExchangeBlocks, rng: np.random.Generator) -> int:
    """The block of a random member."""
    return int(np.searchsorted(found.start, rng.integers(len(found.member)), side="right")) - 1
