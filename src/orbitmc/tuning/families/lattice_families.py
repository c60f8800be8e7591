"""Symmetries of a whole lattice: its reflections and turns."""

import numpy as np

from orbitmc._util.arrays import Bytes, Numbers
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.groups.permutations import Permutation, act, from_images
from orbitmc.kernels._orbital import orbital
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.families.family import Family, Propose, remembered
from orbitmc.tuning.structure.lattice import lattice


def reflection_family() -> Family:
    """Reflections of all sites: they lead from one sublattice to the other if sides are even."""
    return Family(
        "the whole lattice is reflected or turned", _build_reflections, True, _guess_reflections
    )


def _build_reflections(model: Model, prepared: PreparedGraph) -> Kernel | None:
    turns = _turns(model)
    if not turns:
        return None
    graph = prepared.graph
    return orbital(graph, permutation_group(graph.variables, turns, cardinality=graph.cardinality))


def _guess_reflections(model: Model) -> Propose | None:
    turns = _turns(model)
    if not turns:
        return None

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        return act(turns[rng.integers(len(turns))], values)

    return propose


@remembered
def _turns(model: Model) -> list[Permutation]:
    """What carries the lattice of a model to itself; nothing if there is no lattice."""
    sites = lattice(model.graph)
    return (
        []
        if sites is None
        else [from_images(sites.size, sites.ravel(), image.ravel()) for image in _images(sites)]
    )


def _images(sites: Numbers) -> list[Numbers]:
    """A lattice, reflected and turned in all ways that keep its shape."""
    straight = [np.fliplr(sites), np.flipud(sites), np.rot90(sites, 2)]
    square = sites.shape[0] == sites.shape[1]
    return [*straight, *([sites.T, np.rot90(sites, 2).T] if square else [])]
