"""Make weights equal: those that are nearly so, all couplings, or no fields at all."""

from dataclasses import replace

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.symmetry.approximation.energy import Energy, energy_of, rebuilt
from orbitmc.symmetry.approximation.kmeans import (
    cluster_means,
    clusters_of_numbers,
    clusters_of_vectors,
)
from orbitmc.symmetry.terms import Clauses, Terms


def cluster_weights(model: Model, clusters: int = 6) -> Model:
    """Replace each weight by the mean of its cluster, so that few different ones are left.

    Fields, couplings and larger interactions are clustered apart, and so are variables with
    different numbers of values. Variables without a field have the field zero. Clusters of
    numbers are optimal; those of vectors (interactions of many values) are the best of ten tries.

    >>> import orbitmc as om
    >>> model = om.ising([0.1, 0.2, 0.9], [(0, 1), (1, 2)], 0.3)
    >>> om.symmetry.automorphisms(cluster_weights(model, clusters=1).graph).order
    2
    """
    require_clusters(clusters)
    energy = energy_of(model.graph)
    everybody = with_all_fields(model.graph, energy)
    terms = tuple(clustered(term, clusters) for term in everybody.terms)
    clauses = tuple(_clustered_clauses(some, clusters) for some in energy.clauses)
    return rebuilt(model, replace(energy, terms=terms, clauses=clauses))


def require_clusters(clusters: int) -> None:
    if clusters < 1:
        raise InputError(f"weights need at least one cluster, got {clusters}")


def clustered(terms: Terms, clusters: int) -> Terms:
    """Give terms of one shape at most so many different tables."""
    if terms.impossible or not len(terms.tables):
        return terms
    vectors = terms.tables.reshape(len(terms.tables), -1)
    labels = clusters_of_vectors(vectors, clusters)
    return terms.with_tables(_means(vectors, labels).reshape(terms.tables.shape))


def _clustered_clauses(clauses: Clauses, clusters: int) -> Clauses:
    labels = clusters_of_numbers(clauses.weights, clusters)
    return replace(clauses, weights=_means(clauses.weights[:, None], labels)[:, 0])


def _means(vectors: Floats, labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    means: Floats = cluster_means(vectors, labels, int(labels.max()) + 1)[labels]
    return means


def with_all_fields(graph: FactorGraph, energy: Energy) -> Energy:
    """Give every variable a field, zero if it has none."""
    others = tuple(term for term in energy.terms if not term.is_field)
    given = {term.shape[0]: term for term in energy.terms if term.is_field}
    fields = []
    for size in np.unique(graph.cardinality[graph.cardinality > 1]):
        variables = np.flatnonzero(graph.cardinality == size)
        tables = np.zeros((graph.variables, size))
        if int(size) in given:
            tables[given[int(size)].scopes[:, 0]] = given[int(size)].tables
        own = np.arange(len(variables))
        fields.append(Terms((int(size),), False, variables[:, None], own, tables[variables]))
    return replace(energy, terms=(*fields, *others))


def without_fields(model: Model) -> Model:
    """Drop what values earn by themselves, and keep all interactions: the bare structure.

    >>> import orbitmc as om
    >>> grid = om.ising([0.1, 0.2, 0.3], [(0, 1), (1, 2)], 0.4)
    >>> grid.graph.factors, without_fields(grid).graph.factors
    (5, 2)
    """
    energy = energy_of(model.graph)
    kept = tuple(term for term in energy.terms if not term.is_field)
    return rebuilt(model, replace(energy, terms=kept))


def one_coupling(model: Model) -> Model:
    """Replace all pairwise interactions by their mean; fields and all else stay.

    Pairs of variables with other numbers of values have a mean of their own.

    >>> import orbitmc as om
    >>> path = om.ising([0.0] * 3, [(0, 1), (1, 2)], [0.2, 0.4])
    >>> om.symmetry.automorphisms(path.graph).order
    1
    >>> om.symmetry.automorphisms(one_coupling(path).graph).order
    2
    """
    energy = energy_of(model.graph)
    terms = tuple(map(_averaged, energy.terms))
    return rebuilt(model, replace(energy, terms=terms))


def _averaged(terms: Terms) -> Terms:
    means = np.broadcast_to(terms.tables.mean(axis=0), terms.tables.shape)
    return terms.with_tables(means) if terms.is_coupling else terms
