"""Renamings of constants that change nothing, found among constants, not among ground atoms.

A renaming that maps what is known to what is known, keeps the weights of a rule's copies, and
leaves every constant alone that a formula names is a symmetry of the ground model. Constants are
far fewer than atoms, so these symmetries are cheap to find.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc._numba.compile_log import working_time
from orbitmc._util.arrays import Floats, Numbers, float_classes, row_classes, starts
from orbitmc.errors import InputError
from orbitmc.groups.permutations import Permutation, normalise
from orbitmc.mln.data.database import UNKNOWN, Ints, Universe
from orbitmc.mln.grounding.atoms import Atoms
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.symmetry.classes import Classes, fixed_constants, relations
from orbitmc.symmetry._automorphisms import PointMoves, graph_automorphisms
from orbitmc.symmetry.encoding import ColoredGraph, GraphEncoder

Images = Mapping[str, Numbers]  # for each type, where each constant goes


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
            for first, second in itertools.pairwise(order):
                if classes[first] == classes[second]:
                    images = np.arange(len(classes))
                    images[[first, second]] = second, first
                    yield {kind: images}


def renamings(ground: Ground, *, seconds: float = 10.0) -> Renamings:
    """Find the renamings of constants that leave a ground program unchanged."""
    started = working_time()
    result = graph_automorphisms(constant_graph(ground), started=started, seconds=seconds)
    first = first_constants(ground)
    sizes = ground.universe.sizes
    return Renamings(
        classes={kind: result.twins[first[kind] : first[kind] + sizes[kind]] for kind in first},
        others=tuple(
            _images(result.moves, number, first, sizes)
            for number in range(len(result.moves.start) - 1)
        ),
        order=result.order,
        complete=result.complete,
        seconds=working_time() - started,
        how=result.how,
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
    drawing = GraphEncoder(_colors(ground, facts, total))
    offset = 0
    for rows, label in facts:
        if rows.shape[1] == 2:
            left, right = rows.T
            apart, labels = left != right, offset + 2 * label
            drawing.join(left[apart], right[apart], labels[apart], labels[apart] + 1)
            offset += 2 * (int(label.max()) + 1)
        elif rows.shape[1] > 2:
            drawing.add_factors(label, rows, np.broadcast_to(np.arange(rows.shape[1]), rows.shape))
    return drawing.build()


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


# What renaming constants does to variables: `P(a, b)` goes to `P(s(a), s(b))`.


def induced_permutation(ground: Ground, images: Mapping[str, Ints]) -> Permutation:
    """What a renaming does to the variables and their values.

    `images[kind][c]` is where constant `c` of a type goes; types that are missing stay. It must
    respect what is known: unknown atoms go to unknown ones.
    """
    codes_here, codes_there = [], []
    for atoms in ground.atoms.values():
        here = _moved_codes(atoms, images, ground.universe)
        columns = atoms.arguments(here, ground.universe)
        for place, kind in enumerate(atoms.predicate.types):
            if kind in images:
                columns[place] = images[kind][columns[place]]
        there = atoms.codes(columns, len(here))
        if (atoms.status(there) != UNKNOWN).any():
            raise InputError(
                f"this renaming carries unknown atoms of {atoms.predicate.name} to known ones"
            )
        codes_here.append(atoms.literals(here))
        codes_there.append(atoms.literals(there))
    variable, value = np.concatenate([np.zeros((2, 0), np.int64), *codes_here], axis=1)
    image, image_value = np.concatenate([np.zeros((2, 0), np.int64), *codes_there], axis=1)
    return _permutation(ground.cardinality, variable, value, image, image_value)


def _moved_codes(atoms: Atoms, images: Mapping[str, Ints], universe: Universe) -> Ints:
    """Codes of the unknown atoms that speak of a constant that moves, with all of their blocks."""
    kinds, exclusive = atoms.predicate.types, atoms.predicate.exclusive
    moving = [_moved_constants(images.get(kind)) for kind in kinds]
    values_move = any(len(some) and mark for some, mark in zip(moving, exclusive, strict=True))
    if atoms.default == UNKNOWN and not values_move:
        codes = _codes_mentioning(atoms, moving, universe)
        return np.asarray(codes[atoms.status(codes) == UNKNOWN])
    codes = atoms.unknown()
    concerned = np.zeros(len(codes), dtype=bool)
    for column, some in zip(atoms.arguments(codes, universe), moving, strict=True):
        concerned |= np.isin(column, some)
    blocks = np.unique(codes[concerned] // atoms.width)
    return np.asarray(codes[np.isin(codes // atoms.width, blocks)])


def _moved_constants(images: Ints | None) -> Ints:
    if images is None:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(images != np.arange(len(images)))


def _codes_mentioning(atoms: Atoms, moving: Sequence[Ints], universe: Universe) -> Ints:
    """Codes of all atoms with one of the constants at some place."""
    parts = [np.zeros(0, dtype=np.int64)]
    for place, some in enumerate(moving):
        codes = np.zeros(1, dtype=np.int64)
        for other, kind in enumerate(atoms.predicate.types):
            digits = some if other == place else np.arange(universe.size(kind))
            codes = (codes[:, None] + atoms.radix[other] * digits).reshape(-1)
        parts.append(codes)
    return np.unique(np.concatenate(parts))


def _permutation(
    cardinality: Ints, variable: Ints, value: Ints, image: Ints, image_value: Ints
) -> Permutation:
    """Put literals that move together; a variable of two values keeps them."""
    moved, first = np.unique(variable, return_index=True)
    goal = image[first]
    sizes = cardinality[moved]
    begin = np.cumsum(sizes) - sizes
    value_map = np.arange(sizes.sum()) - np.repeat(begin, sizes)
    value_map[begin[np.searchsorted(moved, variable)] + value] = image_value
    unchanged = value_map == np.arange(sizes.sum()) - np.repeat(begin, sizes)
    if unchanged.all():
        return normalise(len(cardinality), moved, goal)
    return normalise(len(cardinality), moved, goal, starts(sizes), value_map)
