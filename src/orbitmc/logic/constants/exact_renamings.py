"""Renamings of constants that change nothing, found among constants, not among ground atoms.

A renaming that maps what is known to what is known, keeps the weights of a rule's copies, and
leaves every constant alone that a formula names is a symmetry of the ground model. Constants are
far fewer than atoms, so these symmetries are cheap to find.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from orbitmc._numba.compile_log import working_time
from orbitmc._util.arrays import Floats, Numbers, float_classes, row_classes
from orbitmc.logic.constants.constant_classes import Classes
from orbitmc.logic.constants.fixed_constants import fixed_constants
from orbitmc.logic.constants.relations import relations
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.symmetry._automorphisms import PointMoves, graph_automorphisms
from orbitmc.symmetry.encoding import ColoredGraph, Drawing

Images = Mapping[str, Numbers]
"""For each type, where each constant goes."""


@dataclass(frozen=True)
class Renamings:
    """A group of renamings: all permutations within classes, and others.

    `classes` numbers the constants of each type so that those with equal numbers are
    interchangeable; `others` are generators that move more than one class, or less than all of
    it. `order` is None where it was not counted.
    """

    classes: Classes
    others: tuple[Images, ...]
    order: int | None
    complete: bool
    seconds: float
    how: str

    def swaps(self) -> Iterator[Images]:
        """Swaps of neighbours that generate all permutations within classes."""
        for kind, classes in self.classes.items():
            order = np.argsort(classes, kind="stable")
            for one, other in itertools.pairwise(order):
                if classes[one] == classes[other]:
                    images = np.arange(len(classes))
                    images[[one, other]] = other, one
                    yield {kind: images}


def renamings(ground: Ground, *, seconds: float = 10.0) -> Renamings:
    """Find the renamings of constants that leave a ground program unchanged."""
    started = working_time()
    found = graph_automorphisms(constant_graph(ground), started=started, seconds=seconds)
    first = first_constants(ground)
    sizes = ground.universe.sizes
    return Renamings(
        classes={kind: found.twins[first[kind] : first[kind] + sizes[kind]] for kind in first},
        others=tuple(
            _images(found.moves, number, first, sizes)
            for number in range(len(found.moves.start) - 1)
        ),
        order=found.order,
        complete=found.complete,
        seconds=working_time() - started,
        how=found.how,
    )


def first_constants(ground: Ground) -> dict[str, int]:
    """The number of the first constant of each type, when all stand in one row."""
    sizes = ground.universe.sizes
    return dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))


def constant_graph(ground: Ground) -> ColoredGraph:
    """Points are constants; what is known of one is its colour, of two an arc, of more a vertex."""
    first = first_constants(ground)
    facts = [(rows, label) for rows, label in _facts(ground, first) if len(label)]
    total = sum(ground.universe.sizes.values())
    drawing = Drawing(_colors(ground, facts, total))
    offset = 0
    for rows, label in facts:
        if rows.shape[1] == 2:
            one, other = rows.T
            apart, labels = one != other, offset + 2 * label
            drawing.join(one[apart], other[apart], labels[apart], labels[apart] + 1)
            offset += 2 * (int(label.max()) + 1)
        elif rows.shape[1] > 2:
            drawing.add_factors(label, rows, np.broadcast_to(np.arange(rows.shape[1]), rows.shape))
    return drawing.finished()


Fact = tuple[Numbers, Numbers]
"""Rows of constants with labels: equal labels mean that the same is known."""


def _facts(ground: Ground, first: Mapping[str, int]) -> Iterator[Fact]:
    for relation in relations(ground):
        begins = np.array([first[kind] for kind in relation.kinds], dtype=np.int64)
        doubts = float_classes(relation.log_odds)
        labels = row_classes(np.stack([relation.truth.astype(np.int64), doubts], axis=1))[1]
        yield relation.arguments + begins, labels
    for number, rule in enumerate(ground.program.rules):
        kinds = [rule.types[name] for name in rule.per_constant]
        begin, end = ground.first_weight[number], ground.first_weight[number + 1]
        weights = _weight_classes(ground.weights[begin:end])
        unusual = np.flatnonzero(weights != np.bincount(weights).argmax())
        if kinds and len(unusual):
            shape = [ground.universe.size(kind) for kind in kinds]
            rows = np.stack(np.unravel_index(unusual, shape), axis=1)
            yield rows + np.array([first[kind] for kind in kinds]), weights[unusual]


def _weight_classes(weights: Floats) -> Numbers:
    finite = np.isfinite(weights)
    return np.where(finite, float_classes(np.where(finite, weights, 0.0)), -1) + 1


def _colors(ground: Ground, facts: list[Fact], total: int) -> Numbers:
    """By type, by name if a formula says it, and by what is known of a constant alone."""
    sizes = list(ground.universe.sizes.values())
    fixed = fixed_constants(ground.program, ground.universe)
    marks = np.concatenate([np.zeros(0, bool), *fixed.values()])
    columns = [np.repeat(np.arange(len(sizes)), sizes), np.where(marks, np.arange(total), -1)]
    for rows, label in facts:
        if rows.shape[1] in (1, 2):
            alone = rows[:, 0] == rows[:, -1]
            column = np.full(total, -1, dtype=np.int64)
            column[rows[alone, 0]] = label[alone]
            columns.append(column)
    return row_classes(np.stack(columns, axis=1))[1]


def _images(
    moves: PointMoves, number: int, first: Mapping[str, int], sizes: Mapping[str, int]
) -> Images:
    """One generator, type by type."""
    begin, end = moves.start[number], moves.start[number + 1]
    row = np.arange(sum(sizes.values()))
    row[moves.point[begin:end]] = moves.image[begin:end]
    return {
        kind: row[first[kind] : first[kind] + size] - first[kind] for kind, size in sizes.items()
    }
