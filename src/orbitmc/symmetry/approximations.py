"""A model as terms with a table each, which approximations change, and a model of them again."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.compile_log import timed
from orbitmc._util.arrays import Floats, row_classes, snap
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import copy_factors
from orbitmc.symmetry.boolean_rank import factorise_links
from orbitmc.symmetry.clustering import cluster_means, clusters_of_numbers, clusters_of_vectors
from orbitmc.symmetry.terms import Clauses, Energy, Terms, energy_of


def rebuild_model(model: Model, energy: Energy) -> Model:
    """The model of these terms over the variables of another; equal tables are shared."""
    builder = Builder(model.graph.cardinality)
    builder.constant = model.graph.constant
    for terms in energy.terms:
        if len(terms.scopes):
            rows = snap(terms.tables.reshape(len(terms.tables), -1))
            first, which = row_classes(rows)
            active = (rows[first] != 0).any(axis=1)[which]
            numbers = builder.add_tables(rows[first])[which]
            if active.any():
                builder.add_factors(terms.scopes[active], numbers[active])
    for clauses in energy.clauses:
        weights, which = np.unique(clauses.weights, return_inverse=True)
        numbers = builder.add_tables(np.stack([np.zeros(len(weights)), weights], axis=1))
        builder.add_clauses(clauses.scopes, clauses.satisfying, numbers[which])
    copy_factors(model.graph, energy.hard_clauses, builder, np.arange(model.graph.variables))
    return model.with_graph(builder.build())


# Make weights equal: those that are nearly so, all couplings, or no fields at all.


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
    terms = tuple(cluster_tables(term, clusters) for term in everybody.terms)
    clauses = tuple(_cluster_clauses(some, clusters) for some in energy.clauses)
    return rebuild_model(model, replace(energy, terms=terms, clauses=clauses))


def require_clusters(clusters: int) -> None:
    if clusters < 1:
        raise InputError(f"weights need at least one cluster, got {clusters}")


def cluster_tables(terms: Terms, clusters: int) -> Terms:
    """Give terms of one shape at most so many different tables."""
    if terms.impossible or not len(terms.tables):
        return terms
    vectors = terms.tables.reshape(len(terms.tables), -1)
    labels = clusters_of_vectors(vectors, clusters)
    return terms.with_tables(_means(vectors, labels).reshape(terms.tables.shape))


def _cluster_clauses(clauses: Clauses, clusters: int) -> Clauses:
    labels = clusters_of_numbers(clauses.weights, clusters)
    return replace(clauses, weights=_means(clauses.weights[:, None], labels)[:, 0])


def _means(vectors: Floats, labels: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    means: Floats = cluster_means(vectors, labels, int(labels.max()) + 1)[labels]
    return means


def with_all_fields(graph: FactorGraph, energy: Energy) -> Energy:
    """Give every variable a field, zero if it has none."""
    others = tuple(term for term in energy.terms if not term.is_field)
    fields_of_size = {term.shape[0]: term for term in energy.terms if term.is_field}
    fields = []
    for size in np.unique(graph.cardinality[graph.cardinality > 1]):
        variables = np.flatnonzero(graph.cardinality == size)
        tables = np.zeros((graph.variables, size))
        if int(size) in fields_of_size:
            tables[fields_of_size[int(size)].scopes[:, 0]] = fields_of_size[int(size)].tables
        numbers = np.arange(len(variables))
        fields.append(Terms((int(size),), False, variables[:, None], numbers, tables[variables]))
    return replace(energy, terms=(*fields, *others))


def without_fields(model: Model) -> Model:
    """Drop what values earn by themselves, and keep all interactions: the bare structure.

    >>> import orbitmc as om
    >>> grid = om.ising([0.1, 0.2, 0.3], [(0, 1), (1, 2)], 0.4)
    >>> grid.graph.factors, without_fields(grid).graph.factors
    (5, 2)
    """
    energy = energy_of(model.graph)
    couplings = tuple(term for term in energy.terms if not term.is_field)
    return rebuild_model(model, replace(energy, terms=couplings))


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
    terms = tuple(map(_average, energy.terms))
    return rebuild_model(model, replace(energy, terms=terms))


def _average(terms: Terms) -> Terms:
    means = np.broadcast_to(terms.tables.mean(axis=0), terms.tables.shape)
    return terms.with_tables(means) if terms.is_coupling else terms


# Replace who interacts with whom by a few rectangles, so that many variables become twins.

MOST_COMPLETE_MEMBERS = 10_000
"""Beyond this many variables, matrices with an entry for each pair are too large."""


def low_rank(
    model: Model, rank: int = 5, *, clusters: int = 1, most_variables: int = MOST_COMPLETE_MEMBERS
) -> Model:
    """Replace the links of each kind of coupling by at most `rank` rectangles of links.

    Couplings between variables with equally many values are first put into so many `clusters`,
    each one kind with one table. Variables in the same rectangles become interchangeable as far
    as couplings go; fields and larger interactions stay, so cluster or drop those too. Links of
    more than `most_variables` are refused: their matrix would be too large.

    >>> import orbitmc as om
    >>> ring = om.ising([0.0] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], 0.3)
    >>> low_rank(ring, rank=1).graph.factors < ring.graph.factors
    True
    """
    require_clusters(clusters)
    if rank < 0:
        raise InputError(f"a Boolean rank is 0 or more, got {rank}")
    energy = energy_of(model.graph)
    terms: list[Terms] = []
    for term in energy.terms:
        if term.is_coupling and term.shape[0] == term.shape[1]:
            kinds = _kinds(cluster_tables(term, clusters))
            terms.extend(_of_rank(kind, rank, most_variables) for kind in kinds)
        else:
            terms.append(term)
    return rebuild_model(model, replace(energy, terms=tuple(terms)))


def _kinds(couplings: Terms) -> Iterator[Terms]:
    """Couplings with the same table, one kind at a time."""
    rows = couplings.tables.reshape(len(couplings.tables), -1)
    first, which = row_classes(rows)
    for number in timed(range(len(first))):
        chosen = which == number
        kind = couplings.with_tables(couplings.tables[chosen])
        yield replace(kind, scopes=couplings.scopes[chosen])


def _of_rank(kind: Terms, rank: int, most_variables: int) -> Terms:
    members, places = np.unique(kind.scopes, return_inverse=True)
    if len(members) > most_variables:
        raise LimitError(
            f"low-rank links of {len(members)} variables need matrices of {len(members) ** 2} "
            f"entries; the limit is {most_variables} variables (rank 0 leaves links as they are)"
        )
    table = kind.tables[0]
    both_ways = np.allclose(table, table.T, rtol=1e-9, atol=1e-12)
    pairs = _pairs_of_rank(places.reshape(-1, 2), len(members), rank, both_ways=both_ways)
    same = np.broadcast_to(table, (len(pairs), *table.shape))
    return replace(kind.with_tables(same), scopes=members[pairs])


def _pairs_of_rank(
    pairs: NDArray[np.int64], members: int, rank: int, *, both_ways: bool
) -> NDArray[np.int64]:
    links = np.zeros((members, members), dtype=np.bool_)
    links[pairs[:, 0], pairs[:, 1]] = True
    if both_ways:
        links |= links.T
    cover = factorise_links(links, rank).cover()
    np.fill_diagonal(cover, val=False)
    return np.argwhere(np.triu(cover) if both_ways else cover)
