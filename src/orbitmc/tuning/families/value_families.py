"""Jumps that exchange values: flips of binary variables, labels that change places."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from orbitmc._util.arrays import Bytes, Numbers
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components
from orbitmc.kernels._flips import flips
from orbitmc.kernels._relabelling import relabelling
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.families.family import Propose, remembered
from orbitmc.tuning.structure.parts import MOST_SETS, strong_parts

MOST_LABELS = 12


def flip(model: Model, prepared: PreparedGraph) -> Kernel | None:
    return _flips(model, prepared, _all_binary(model))


def guessed_flip(model: Model) -> Propose | None:
    return _guessed_flips(_all_binary(model))


def component_flips(model: Model, prepared: PreparedGraph) -> Kernel | None:
    return _flips(model, prepared, _components(model))


def guessed_component_flips(model: Model) -> Propose | None:
    return _guessed_flips(_components(model))


def gauge_flips(model: Model, prepared: PreparedGraph) -> Kernel | None:
    return _flips(model, prepared, _parts(model))


def guessed_gauge_flips(model: Model) -> Propose | None:
    return _guessed_flips(_parts(model))


def _all_binary(model: Model) -> list[Numbers]:
    binary = np.flatnonzero(model.graph.cardinality == 2)
    return [binary] if len(binary) > 1 else []


@remembered
def _components(model: Model) -> list[Numbers]:
    """The binary variables of each component, if there are several."""
    part_of = components(model.graph)
    parts = [np.flatnonzero(part_of == part) for part in np.unique(part_of)[:MOST_SETS]]
    sets = [part[model.graph.cardinality[part] == 2] for part in parts]
    return [one for one in sets if len(one) > 1] if len(parts) > 1 else []


@remembered
def _parts(model: Model) -> list[Numbers]:
    return strong_parts(model.graph)


def _flips(model: Model, prepared: PreparedGraph, sets: Sequence[Numbers]) -> Kernel | None:
    return flips(prepared, sets) if sets else None


def _guessed_flips(sets: Sequence[Numbers]) -> Propose | None:
    if not sets:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        turned = values.copy()
        turned[sets[int(rng.integers(len(sets)))]] ^= 1
        return turned

    return propose


def labels(model: Model, prepared: PreparedGraph) -> Kernel | None:
    chosen = _label_pairs(model)
    if not chosen:
        return None
    return relabelling(model.graph, [own for own, _ in chosen], [pair for _, pair in chosen])


def guessed_labels(model: Model) -> Propose | None:
    chosen = _label_pairs(model)
    if not chosen:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        own, (one, other) = chosen[rng.integers(len(chosen))]
        names = np.arange(model.graph.cardinality[own[0]], dtype=np.uint8)
        names[[one, other]] = other, one
        turned = values.copy()
        turned[own] = names[values[own]]
        return turned

    return propose


def _label_pairs(model: Model) -> list[tuple[Numbers, tuple[int, int]]]:
    sizes = model.graph.cardinality
    return [
        (np.flatnonzero(sizes == size), pair)
        for size in np.unique(sizes[(sizes > 2) & (sizes <= MOST_LABELS)]).tolist()
        for pair in combinations(range(size), 2)
    ]
