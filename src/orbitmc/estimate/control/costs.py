"""What control variates take, known before anything is made of them."""

import numpy as np

from orbitmc.graph.factor_graph import FactorGraph

OF_ENTRY = 80  # bytes of a pair of values while secants are made
SECANT, AFFINE = 400.0, 40.0  # what a pair of values costs, beside a factor that an update reads
SMALL = 2000.0  # factors read by updates: what is done once costs as much, however small the model
SERIES = 150.0  # sweeps that the series may cost, for the columns of one pack


def is_affine(graph: FactorGraph) -> bool:
    """Whether all variables are binary, and all factors finite and of at most two variables."""
    small = graph.arities.max(initial=0) <= 2
    return bool(small and (graph.cardinality == 2).all()) and not graph.has_zeros()


def secant_entries(graph: FactorGraph) -> float:
    """How many pairs of values of neighbours there are, at most."""
    factor_of = graph.factor_of_edge
    sizes = graph.cardinality[graph.scope].astype(np.float64)
    total = np.bincount(factor_of, sizes, minlength=graph.factors)
    return float((total**2 - np.bincount(factor_of, sizes**2, minlength=graph.factors)).sum())


def secant_bytes(graph: FactorGraph) -> float:
    """What secants take at most, while they are made."""
    return OF_ENTRY * secant_entries(graph)


def secant_sweeps(graph: FactorGraph) -> float:
    """About what secants and their series cost, in sweeps."""
    reads = float((graph.arities.astype(np.float64) ** 2).sum())
    each = AFFINE if is_affine(graph) else SECANT
    return each * secant_entries(graph) / max(reads, SMALL) + SERIES
