"""Every kernel of the package on a graph, as exact as it was before rounding."""

import numpy as np

from orbitmc.arrays import sealed
from orbitmc.graph.conditional_tables import COUNT, FACTORS, FIELD
from orbitmc.graph.conditionals import unrounded_conditionals
from orbitmc.kernels.gibbs import RandomScan, SystematicScan


def prepared_on(graph):
    """The conditionals of a graph, stored in every way that suits all its variables."""
    usual = unrounded_conditionals(graph)
    ways = {"usual": usual, "factors": on_path(usual, usual.path >= 0, FACTORS)}
    if (usual.path == COUNT).any():
        ways["fields"] = on_path(usual, usual.path == COUNT, FIELD)
    return ways


def on_path(prepared, chosen, path):
    return prepared._replace(path=sealed(np.where(chosen, path, prepared.path).astype(np.uint8)))


def kernels_on(graph):
    """Kernels that leave the distribution of the graph unchanged, by name."""
    return {
        f"{kernel.__name__} with {way}": kernel(prepared)
        for way, prepared in prepared_on(graph).items()
        for kernel in (RandomScan, SystematicScan)
    }
