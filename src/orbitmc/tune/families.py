"""Families of jumps: what each one is, and for which models it makes sense.

A family is rebuilt from its name, so a recorded choice can be used again without any race.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from orbitmc.approximate.cluster_weights import cluster_weights
from orbitmc.approximate.colours import cells
from orbitmc.arrays import Bytes
from orbitmc.graph.components import components
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.groups.exchange_blocks import ExchangeBlocks, exchange_blocks
from orbitmc.kernels.clusters import clusters
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.flips import flips
from orbitmc.kernels.informed import informed_swap
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.one_hot import one_hot
from orbitmc.kernels.relabelling import relabelling
from orbitmc.kernels.replica import replica_exchange
from orbitmc.kernels.swap import swap
from orbitmc.random import COLUMNS
from orbitmc.symmetry.blocks import ACCEPTANCE_BUDGET, blocks
from orbitmc.tune.groups import exclusive_groups

Numbers = NDArray[np.int64]

CLUSTERS = 6  # of weights, for blocks of variables that are nearly alike
MOST_SETS = 1000  # of variables that are flipped together
MOST_LABELS = 12


Propose = Callable[[Bytes, np.random.Generator], Bytes]
"""Propose one jump from the states of some lanes, as a family would."""


@dataclass(frozen=True)
class Family:
    """One kind of jump.

    `build` gives its kernel, or None where it does not apply. A family that `switches` connects
    modes that no local step connects, so it is kept even if a short race cannot show its worth.
    A `guess` proposes such jumps, to tell before anything is compiled how often they will be
    accepted. Where lanes trade parts of their states, only `columns` of them are independent.
    """

    words: str
    build: Callable[[Model, Conditionals], Kernel | None]
    switches: bool = False
    guess: Callable[[Model], Propose] | None = None
    columns: int | None = None


def _flip(model: Model, prepared: Conditionals) -> Kernel | None:
    binary = np.flatnonzero(model.graph.cardinality == 2)
    return flips(model.graph, prepared, [binary]) if len(binary) > 1 else None


def _guessed_flip(model: Model) -> Propose:
    binary = (model.graph.cardinality == 2).astype(np.uint8)[:, None]
    return lambda values, rng: values ^ binary


def _parts(model: Model) -> list[Numbers]:
    """The binary variables of each component, if there are several."""
    part_of = components(model.graph)
    parts = [np.flatnonzero(part_of == part) for part in np.unique(part_of)[:MOST_SETS]]
    sets = [part[model.graph.cardinality[part] == 2] for part in parts]
    return [one for one in sets if len(one) > 1] if len(parts) > 1 else []


def _component_flips(model: Model, prepared: Conditionals) -> Kernel | None:
    sets = _parts(model)
    return flips(model.graph, prepared, sets) if sets else None


def _label_pairs(model: Model) -> list[tuple[Numbers, tuple[int, int]]]:
    sizes = model.graph.cardinality
    return [
        (np.flatnonzero(sizes == size), pair)
        for size in np.unique(sizes[(sizes > 2) & (sizes <= MOST_LABELS)]).tolist()
        for pair in combinations(range(size), 2)
    ]


def _labels(model: Model, prepared: Conditionals) -> Kernel | None:
    chosen = _label_pairs(model)
    if not chosen:
        return None
    return relabelling(model.graph, [own for own, _ in chosen], [pair for _, pair in chosen])


def _guessed_labels(model: Model) -> Propose:
    chosen = _label_pairs(model)

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        own, (one, other) = chosen[rng.integers(len(chosen))]
        names = np.arange(model.graph.cardinality[own[0]], dtype=np.uint8)
        names[[one, other]] = other, one
        turned = values.copy()
        turned[own] = names[values[own]]
        return turned

    return propose


def _one_hot(model: Model, prepared: Conditionals) -> Kernel | None:
    groups = exclusive_groups(model.graph)
    return one_hot(model.graph, prepared, groups) if groups else None


def _group_swap(model: Model, prepared: Conditionals) -> Kernel | None:
    groups = exclusive_groups(model.graph)
    if not groups:
        return None
    return swap(model.graph, prepared, exchange_blocks(groups, degree=model.graph.variables))


def _rows(model: Model) -> list[Numbers]:
    """Exclusive groups of one size as the rows of a matrix, a matrix for each size."""
    groups = exclusive_groups(model.graph)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    alike = [[groups[k] for k in np.flatnonzero(sizes == size)] for size in np.unique(sizes)]
    return [np.array(rows) for rows in alike if len(rows) > 1]


def _group_exchange(model: Model, prepared: Conditionals) -> Kernel | None:
    rows = _rows(model)
    return shuffle(model.graph, prepared, exchange_blocks(rows), rows=2) if rows else None


def _guessed_exchange(model: Model) -> Propose:
    matrices = _rows(model)

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        rows = matrices[rng.integers(len(matrices))]
        one, other = rng.choice(len(rows), 2, replace=False)
        turned = values.copy()
        turned[rows[one]], turned[rows[other]] = values[rows[other]], values[rows[one]]
        return turned

    return propose


def _alike(model: Model, max_moved: int) -> ExchangeBlocks:
    """Blocks of variables that are nearly alike once weights are clustered."""
    near = cells(cluster_weights(model, CLUSTERS), rounds=1)
    return blocks(model.graph, near, max_moved=max_moved, budget=ACCEPTANCE_BUDGET)


def _swap(model: Model, prepared: Conditionals) -> Kernel | None:
    found = _alike(model, max_moved=200)
    return swap(model.graph, prepared, found) if found.blocks else None


def _informed(model: Model, prepared: Conditionals) -> Kernel | None:
    found = _alike(model, max_moved=200)
    binary = found.blocks and (model.graph.cardinality[found.member] == 2).all()
    return informed_swap(model.graph, prepared, found) if binary else None


def _shuffle(model: Model, prepared: Conditionals) -> Kernel | None:
    found = _alike(model, max_moved=50)
    return shuffle(model.graph, prepared, found) if found.blocks else None


def _clusters(model: Model, prepared: Conditionals) -> Kernel | None:
    pairwise = model.graph.variables and prepared.affine.all() and len(prepared.neighbour)
    return clusters(model.graph, prepared) if pairwise else None


def _replica(model: Model, prepared: Conditionals) -> Kernel | None:
    return replica_exchange() if model.graph.variables else None


FAMILIES: Mapping[str, Family] = {
    "flip": Family("all binary variables change their values at once", _flip, True, _guessed_flip),
    "component flips": Family(
        "all binary variables of one component change at once", _component_flips, True
    ),
    "labels": Family("two labels are exchanged everywhere", _labels, True, _guessed_labels),
    "one-hot": Family("of mutually exclusive variables, another one becomes 1", _one_hot),
    "group exchange": Family(
        "two groups of mutually exclusive variables exchange their values",
        _group_exchange,
        guess=_guessed_exchange,
    ),
    "group swap": Family("two mutually exclusive variables exchange their values", _group_swap),
    "clusters": Family("clusters of agreeing variables change at once", _clusters),
    "swap": Family("two variables that are nearly alike exchange their values", _swap),
    "informed swap": Family("the same, preferring pairs that gain by it", _informed),
    "shuffle": Family("the values of a block of variables are shuffled", _shuffle),
    "replica": Family(
        "two chains trade connected parts in which they differ", _replica, columns=COLUMNS
    ),
}
"""In the order of their usual worth."""
