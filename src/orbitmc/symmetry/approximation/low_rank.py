"""Replace who interacts with whom by a few rectangles, so that many variables become twins."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.time_limits import timed
from orbitmc._util.arrays import row_classes
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.model import Model
from orbitmc.symmetry.approximation.boolean_rank import factorised_links
from orbitmc.symmetry.approximation.cluster_weights import clustered, require_clusters
from orbitmc.symmetry.approximation.energy import energy_of, rebuilt
from orbitmc.symmetry.terms import Terms

MOST_MEMBERS = 10_000
"""Beyond this many variables, matrices with an entry for each pair are too large."""


def low_rank(model: Model, rank: int = 5, *, clusters: int = 1) -> Model:
    """Replace the links of each kind of coupling by at most `rank` rectangles of links.

    Couplings between variables with equally many values are first put into so many `clusters`,
    each one kind with one table. Variables in the same rectangles become interchangeable as far
    as couplings go; fields and larger interactions stay, so cluster or drop those too.

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
            terms.extend(_of_rank(kind, rank) for kind in _kinds(clustered(term, clusters)))
        else:
            terms.append(term)
    return rebuilt(model, replace(energy, terms=tuple(terms)))


def _kinds(couplings: Terms) -> Iterator[Terms]:
    """Couplings with the same table, one kind at a time."""
    rows = couplings.tables.reshape(len(couplings.tables), -1)
    first, which = row_classes(rows)
    for number in timed(range(len(first))):
        chosen = which == number
        own = couplings.with_tables(couplings.tables[chosen])
        yield replace(own, scopes=couplings.scopes[chosen])


def _of_rank(kind: Terms, rank: int) -> Terms:
    members, places = np.unique(kind.scopes, return_inverse=True)
    if len(members) > MOST_MEMBERS:
        raise LimitError(
            f"low-rank links of {len(members)} variables need matrices of {len(members) ** 2} "
            f"entries; the limit is {MOST_MEMBERS} variables (rank 0 leaves links as they are)"
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
    cover = factorised_links(links, rank).cover()
    np.fill_diagonal(cover, val=False)
    return np.argwhere(np.triu(cover) if both_ways else cover)
