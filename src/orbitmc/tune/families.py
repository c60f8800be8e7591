"""Families of jumps: what each one is, and for which models it makes sense.

A family is rebuilt from its name, so a recorded choice can be used again without any race.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc.approximate.cluster_weights import cluster_weights
from orbitmc.approximate.colours import cells
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
from orbitmc.symmetry.blocks import ACCEPTANCE_BUDGET, blocks
from orbitmc.tune.groups import exclusive_groups

Numbers = NDArray[np.int64]

CLUSTERS = 6  # of weights, for blocks of variables that are nearly alike
MOST_SETS = 1000  # of variables that are flipped together
MOST_LABELS = 12


@dataclass(frozen=True)
class Family:
    """One kind of jump.

    `build` gives its kernel, or None where it does not apply. A family that `switches` connects
    modes that no local step connects, so it is kept even if a short race cannot show its worth.
    """

    words: str
    build: Callable[[Model, Conditionals], Kernel | None]
    switches: bool = False


def _flip(model: Model, prepared: Conditionals) -> Kernel | None:
    binary = np.flatnonzero(model.graph.cardinality == 2)
    return flips(model.graph, prepared, [binary]) if len(binary) > 1 else None


def _component_flips(model: Model, prepared: Conditionals) -> Kernel | None:
    part_of = components(model.graph)
    parts = [np.flatnonzero(part_of == part) for part in np.unique(part_of)[:MOST_SETS]]
    sets = [part[model.graph.cardinality[part] == 2] for part in parts]
    sets = [one for one in sets if len(one) > 1]
    return flips(model.graph, prepared, sets) if len(parts) > 1 and sets else None


def _labels(model: Model, prepared: Conditionals) -> Kernel | None:
    sizes = model.graph.cardinality
    sets: list[Numbers] = []
    pairs: list[tuple[int, int]] = []
    for size in np.unique(sizes[(sizes > 2) & (sizes <= MOST_LABELS)]):
        own = np.flatnonzero(sizes == size)
        for first in range(int(size)):
            for second in range(first + 1, int(size)):
                sets.append(own)
                pairs.append((first, second))
    return relabelling(model.graph, sets, pairs) if sets else None


def _one_hot(model: Model, prepared: Conditionals) -> Kernel | None:
    groups = exclusive_groups(model.graph, prepared)
    return one_hot(model.graph, prepared, groups) if groups else None


def _group_swap(model: Model, prepared: Conditionals) -> Kernel | None:
    groups = exclusive_groups(model.graph, prepared)
    if not groups:
        return None
    return swap(model.graph, prepared, exchange_blocks(groups, degree=model.graph.variables))


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
    "flip": Family("all binary variables change their values at once", _flip, switches=True),
    "component flips": Family(
        "all binary variables of one component change at once", _component_flips, switches=True
    ),
    "labels": Family("two labels are exchanged everywhere", _labels, switches=True),
    "one-hot": Family("of mutually exclusive variables, another one becomes 1", _one_hot),
    "group swap": Family("two mutually exclusive variables exchange their values", _group_swap),
    "clusters": Family("clusters of agreeing variables change at once", _clusters, switches=True),
    "swap": Family("two variables that are nearly alike exchange their values", _swap),
    "informed swap": Family("the same, preferring pairs that gain by it", _informed),
    "shuffle": Family("the values of a block of variables are shuffled", _shuffle),
    "replica": Family("two chains trade connected parts in which they differ", _replica),
}
"""In the order of their usual worth."""
