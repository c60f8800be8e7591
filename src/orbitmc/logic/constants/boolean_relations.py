"""Relations as a few rectangles: evidence of low Boolean rank, and constants it cannot tell apart.

A relation between constants is a matrix of truth values. Covered by a few rectangles it becomes
knowledge about single constants, in which rectangles they are (Van den Broeck & Darwiche 2013).
What is known of a constant and itself is knowledge about a single one already, and is kept.
"""

from collections.abc import Iterator

import numpy as np

from orbitmc._simd.bits import Matrix
from orbitmc._util.arrays import row_classes
from orbitmc.errors import LimitError
from orbitmc.logic.constants.approximate_classes import free_constants
from orbitmc.logic.constants.constant_classes import Classes
from orbitmc.logic.constants.relations import Relation, relations
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.symmetry.approximations import require_clusters
from orbitmc.symmetry.boolean_rank import factorised, factorised_links
from orbitmc.symmetry.clustering import clusters_of_numbers

MOST_ENTRIES = 2**28
"""Of a relation as a matrix of bytes."""


def by_rank(ground: Ground, rank: int = 5, *, clusters: int = 6) -> Classes:
    """Put constants into one class when evidence of that Boolean rank cannot tell them apart.

    What is known of single constants counts too, with soft evidence in clusters. Relations of
    three or more constants are not looked at.
    """
    require_clusters(clusters)
    free = free_constants(ground)
    columns = {kind: [np.where(mark, 0, 1)] for kind, mark in free.items()}
    for relation in relations(ground):
        if len(relation.kinds) == 1:
            own = columns[relation.kinds[0]]
            own.append(_labels(relation, relation.arguments[:, 0], len(own[0]), clusters))
        elif len(relation.kinds) == 2:
            for kind, column in _signatures(ground, relation, rank):
                columns[kind].append(column)
    return {
        kind: np.where(mark, row_classes(np.stack(columns[kind], axis=1))[1], -1)
        for kind, mark in free.items()
    }


def _truths(ground: Ground, relation: Relation, truth: int) -> Matrix:
    """Which pairs of constants have a relation of which that is known."""
    shape = tuple(ground.universe.size(kind) for kind in relation.kinds)
    if shape[0] * shape[1] > MOST_ENTRIES:
        raise LimitError(
            f"{relation.name} has {shape[0] * shape[1]:,} pairs, too many for a matrix; its "
            "Boolean rank cannot be lowered"
        )
    found = np.zeros(shape, dtype=np.bool_)
    chosen = relation.arguments[relation.truth == truth]
    found[chosen[:, 0], chosen[:, 1]] = True
    return found


def _labels(relation: Relation, constant: Ints, size: int, clusters: int) -> Ints:
    """What is known of single constants; -1 where nothing is."""
    soft = clusters_of_numbers(relation.log_odds, clusters)
    found = np.full(size, -1)
    found[constant] = relation.truth.astype(np.int64) * clusters + soft
    return found


def _signatures(ground: Ground, relation: Relation, rank: int) -> Iterator[tuple[str, Ints]]:
    """In which rectangles each constant is, and how it stands to itself."""
    cover = factorised_links if relation.is_among_equals else factorised
    for truth in np.unique(relation.truth):
        matrix = _truths(ground, relation, int(truth))
        found = cover(matrix, rank)
        for kind, sides in zip(relation.kinds, (found.rows, found.columns), strict=True):
            yield kind, row_classes(sides.astype(np.int64))[1]
    if relation.is_among_equals and len(relation.truth):
        one, other = relation.arguments.T
        alone = one == other
        itself = np.full(ground.universe.size(relation.kinds[0]), -1)
        itself[one[alone]] = relation.truth[alone]
        yield relation.kinds[0], itself
