"""Jumps that exchange values between variables: groups, swaps, shuffles."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from orbitmc.graph.conditionals.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.groups.block_groups import ExchangeBlocks, exchange_blocks
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.informed import informed_swap
from orbitmc.kernels.jumps.one_hot.one_hot import one_hot
from orbitmc.kernels.jumps.swap import swap
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.arrays import Bytes, Numbers
from orbitmc.symmetry.approximation.cluster_weights import cluster_weights
from orbitmc.symmetry.approximation.colours import cells
from orbitmc.symmetry.blocks.blocks import ACCEPTANCE_BUDGET, blocks
from orbitmc.symmetry.detection.encoding.exchangeable import Links, links
from orbitmc.tuning.families.family import Family, Propose, remembered
from orbitmc.tuning.structure.groups import exclusive_groups
from orbitmc.tuning.structure.twins import twins

CLUSTERS = 6  # of weights, for blocks of variables that are nearly alike
MOST_MOVED = 200  # factors around a block, unless a family says otherwise
SWAPS = {"swap in small blocks": 50, "swap": MOST_MOVED, "swap in large blocks": 800}
SHUFFLES = {
    "shuffle of 4": (MOST_MOVED, 4),
    "shuffle of 8": (MOST_MOVED, 8),
    "shuffle": (50, 0),
    "shuffle of large blocks": (MOST_MOVED, 0),
}
"""How many factors a block may move, and how many of its members (0 for all), boldest last."""


def swap_families() -> dict[str, Family]:
    """Swaps in blocks of several sizes, the smallest first."""
    words = "two variables that are nearly alike exchange their values"
    return {name: _swap(words, partial(_alike, max_moved=k)) for name, k in SWAPS.items()}


def twin_family() -> Family:
    return _swap("two variables that are exactly alike exchange their values", _twins)


def shuffle_families() -> dict[str, Family]:
    """Shuffles of several sizes, the smallest first."""
    return {name: _shuffle(*sizes) for name, sizes in SHUFFLES.items()}


def group_swap_family() -> Family:
    words = "two mutually exclusive variables exchange their values"
    return _swap(words, lambda model: exchange_blocks(_groups(model)))


def one_hot_groups(model: Model, prepared: Conditionals) -> Kernel | None:
    groups = _groups(model)
    return one_hot(model.graph, prepared, groups) if groups else None


def group_exchange(model: Model, prepared: Conditionals) -> Kernel | None:
    rows = _rows(model)
    return shuffle(model.graph, prepared, exchange_blocks(rows), rows=2) if rows else None


def guessed_group_exchange(model: Model) -> Propose | None:
    return _guessed_shuffle(exchange_blocks(_rows(model)), 2)


def informed(model: Model, prepared: Conditionals) -> Kernel | None:
    found = _alike(model, max_moved=MOST_MOVED)
    binary = found.blocks and (model.graph.cardinality[found.member] == 2).all()
    return informed_swap(model.graph, prepared, found) if binary else None


def _swap(words: str, find: Callable[[Model], ExchangeBlocks]) -> Family:
    def build(model: Model, prepared: Conditionals) -> Kernel | None:
        found = find(model)
        return swap(model.graph, prepared, found) if found.blocks else None

    return Family(words, build, guess=lambda model: _guessed_swap(find(model)))


def _shuffle(max_moved: int, rows: int) -> Family:
    def build(model: Model, prepared: Conditionals) -> Kernel | None:
        found = _alike(model, max_moved=max_moved)
        return shuffle(model.graph, prepared, found, rows=rows) if found.blocks else None

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


@remembered
def _twins(model: Model) -> ExchangeBlocks:
    """Blocks of variables of which any two can be exchanged and nothing changes."""
    return exchange_blocks(twins(model.graph))


def _guessed_swap(found: ExchangeBlocks) -> Propose | None:
    if not found.blocks:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        members = found.rows(_block(found, rng))[:, 0]
        own = values[members]
        others = np.zeros(own.shape)
        for value in range(int(own.max()) + 1):
            others += (own == value) * (own != value).sum(axis=0)
        first = _picked(others, rng)
        second = _picked(own != np.take_along_axis(own, first, axis=0), rng)
        turned = values.copy()
        lanes = np.arange(values.shape[1])
        turned[members[first[0]], lanes] = own[second[0], lanes]
        turned[members[second[0]], lanes] = own[first[0], lanes]
        return turned

    return propose


def _picked(weights: NDArray[np.generic], rng: np.random.Generator) -> Numbers:
    """Pick a row in each column, by weight; the first where all are 0."""
    upto = np.cumsum(weights, axis=0)
    drawn = rng.random(weights.shape[1]) * upto[-1]
    return np.asarray(np.argmax(upto > drawn, axis=0)[None, :])


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
