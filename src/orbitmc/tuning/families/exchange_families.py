"""Jumps that exchange values between variables: groups of exclusive ones."""

import numpy as np

from orbitmc._util.arrays import Bytes, Numbers
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ExchangeBlocks, exchange_blocks
from orbitmc.kernels._one_hot import one_hot
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.families.family import Propose, remembered
from orbitmc.tuning.structure.groups import exclusive_groups


def one_hot_groups(model: Model, prepared: PreparedGraph) -> Kernel | None:
    groups = _groups(model)
    return one_hot(prepared, groups) if groups else None


def group_exchange(model: Model, prepared: PreparedGraph) -> Kernel | None:
    rows = _rows(model)
    return shuffle(prepared, exchange_blocks(rows), rows=2) if rows else None


def guessed_group_exchange(model: Model) -> Propose | None:
    found = exchange_blocks(_rows(model))
    if not found.blocks:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        matrix = found.rows(_block(found, rng))
        chosen = rng.permutation(len(matrix))[:2]
        turned = values.copy()
        turned[matrix[chosen]] = values[matrix[rng.permutation(chosen)]]
        return turned

    return propose


@remembered
def _groups(model: Model) -> list[Numbers]:
    return exclusive_groups(model.graph)


def _rows(model: Model) -> list[Numbers]:
    """Exclusive groups of one size as the rows of a matrix, a matrix for each size."""
    groups = _groups(model)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    alike = [[groups[k] for k in np.flatnonzero(sizes == size)] for size in np.unique(sizes)]
    return [np.array(rows) for rows in alike if len(rows) > 1]


def _block(found: ExchangeBlocks, rng: np.random.Generator) -> int:
    """The block of a random member."""
    return int(np.searchsorted(found.start, rng.integers(len(found.member)), side="right")) - 1
