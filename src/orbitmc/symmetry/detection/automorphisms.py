"""Find the symmetries of a distribution, as far as time allows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from orbitmc._numba.compile_log import working_time
from orbitmc._util.arrays import Indices, Numbers, ranks, row_classes, sealed
from orbitmc._util.loading import Displayed
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    check_number_of_values,
    orbit_labels,
    orbits,
    order_in_words,
    permutation_group,
    subgroup,
)
from orbitmc.groups.permutations import MOST_VALUES, Permutation
from orbitmc.symmetry.detection.balls import ball_cells
from orbitmc.symmetry.detection.encoding.colored_graph import ColoredGraph
from orbitmc.symmetry.detection.encoding.encoding import value_graph, variable_graph
from orbitmc.symmetry.detection.encoding.energy_form import energy_form
from orbitmc.symmetry.detection.generators import (
    PointMoves,
    changes_energy,
    swaps,
    together,
    value_group,
    variable_group,
)
from orbitmc.symmetry.detection.search.refinement import equitable_cells
from orbitmc.symmetry.detection.search.search import advance_by, begin
from orbitmc.symmetry.detection.search.search_memory import DEPTH, FAILED, LEFT_OPEN, LEVEL, Search
from orbitmc.symmetry.detection.twins import neighboring_swaps, twin_classes

SLICE = 1_000_000
"""Arcs to look at between two looks at the clock: about a tenth of a second."""

PATIENCE = 100
"""How many times one attempt may look at the whole graph before it is left undecided."""

MANY_REFUTED = 64
"""So many failed attempts say that refinement alone sees too little."""

REACHES = (400, 1600, 6400)
"""How many arcs around each vertex to look at then, and again if that was not enough."""


@dataclass(frozen=True, repr=False)
class SymmetryReport(Displayed):
    """A group of symmetries, and how far it is to be trusted to be all of them.

    Each generator preserves the distribution, whatever `complete` says. `order` is None where it
    was not counted. Completeness is about the canonical form of the energy: symmetries that come
    about by zeros, clauses or tables of many variables in disguise may be missing.
    """

    group: PermutationGroup
    orbits: tuple[Indices, ...]
    order: int | None
    seconds: float
    complete: bool
    how: str

    def __str__(self) -> str:
        return (
            f"SymmetryReport({order_in_words(self.order)} symmetries, {len(self.orbits)} orbits, "
            f"{'complete' if self.complete else 'maybe not all'}, {self.how})"
        )


def automorphisms(
    graph: FactorGraph, *, values: bool = False, seconds: float = 10.0
) -> SymmetryReport:
    """Permutations of variables (with `values`, also of their values) that change nothing.

    Refinement comes first, then twins, then a search. When `seconds` are over, what was found is
    reported; compiling, which happens once per installation, is not counted.

    >>> from orbitmc.models.ising_models import ising_grid
    >>> automorphisms(ising_grid(5, 5, 0.3).graph).order
    8
    """
    started = working_time()
    if values and (graph.cardinality > MOST_VALUES).any():
        raise InputError(f"values can be permuted only where there are at most {MOST_VALUES}")
    form = energy_form(graph)
    drawn = value_graph(form) if values else variable_graph(form)
    found = graph_automorphisms(drawn, twins=not values, started=started, seconds=seconds)
    convert = value_group if values else variable_group
    group = convert(form.cardinality, together([found.exchanges, found.moves]))
    wrong = changes_energy(graph, group)
    group = subgroup(group, np.flatnonzero(~wrong)) if wrong.any() else group
    return SymmetryReport(
        group=group,
        orbits=orbits(group),
        order=found.order if not wrong.any() else None,
        seconds=working_time() - started,
        complete=found.complete and not wrong.any(),
        how=found.how,
    )


def given_generators(graph: FactorGraph, generators: Iterable[Permutation]) -> PermutationGroup:
    """The group that people ask for: bijections between variables with as many values.

    It need not preserve anything: every group is safe as a source of proposals.
    """
    group = permutation_group(graph.variables, generators, cardinality=graph.cardinality)
    check_number_of_values(group, graph.cardinality)
    return group


def orbit_cells(group: PermutationGroup) -> Numbers:
    """Number the orbits, point by point; -1 for points that stay alone.

    >>> from orbitmc.models.ising_models import ising
    >>> star = ising([0.0] * 4, [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> orbit_cells(automorphisms(star.graph).group).tolist()
    [-1, 0, 0, 0]
    """
    labels = orbit_labels(group)
    alone = np.bincount(labels, minlength=group.degree)[labels] == 1
    cells = np.full(group.degree, -1, dtype=np.int64)
    cells[~alone] = np.unique(labels[~alone], return_inverse=True)[1]
    return sealed(cells)


@dataclass(frozen=True)
class FoundSymmetries:
    """Automorphisms of a coloured graph: all permutations within `twins`, and other moves."""

    twins: Numbers
    moves: PointMoves
    order: int | None
    complete: bool
    how: str

    @property
    def exchanges(self) -> PointMoves:
        """Swaps that generate all permutations of twins."""
        return swaps(*neighboring_swaps(self.twins))


def graph_automorphisms(
    graph: ColoredGraph, *, twins: bool = True, started: float, seconds: float
) -> FoundSymmetries:
    """Refine, set twins apart, search."""
    cells = equitable_cells(graph)
    classes = twin_classes(graph, cells) if twins else np.arange(graph.points)
    count = math.prod(math.factorial(int(size)) for size in np.bincount(classes) if size > 1)
    found = ["twins"] if count > 1 else []
    if found:
        cells = _with_twins_in_order(graph, cells, classes)
    if len(np.unique(cells[: graph.points])) == graph.points:
        how = " and ".join(["refinement", *found])
        return FoundSymmetries(classes, together([]), count, True, how)
    search = _searched(graph, cells, until=started + seconds)
    complete = search.progress[LEVEL] == 0 and search.progress[LEFT_OPEN] == 0
    how = " and ".join([*found, "search"])
    order = count * math.prod(int(size) for size in search.path.orbit[: search.progress[DEPTH]])
    return FoundSymmetries(classes, _moves(search), order if complete else None, complete, how)


def _with_twins_in_order(graph: ColoredGraph, cells: Numbers, classes: Numbers) -> Numbers:
    """Cells that keep twins in the order of their numbers, refined again.

    Every symmetry is a permutation of twins after one that keeps their order.
    """
    rank, size = np.zeros((2, graph.vertices), dtype=np.int64)
    rank[: graph.points] = ranks(classes)
    size[: graph.points] = np.bincount(classes)[classes]
    return equitable_cells(graph, row_classes(np.stack([cells, size, rank], axis=1))[1])


def _searched(graph: ColoredGraph, cells: Numbers, *, until: float) -> Search:
    """Search until all is tried or time is over; look more closely if most attempts fail."""
    room = 20 * graph.vertices + 1_000_000
    patience = PATIENCE * (graph.arcs + graph.vertices)
    search = begin(graph, cells, room=room)
    reaches = iter(REACHES)
    while not advance_by(graph, search, patience, SLICE) and working_time() < until:
        if search.progress[FAILED] > MANY_REFUTED and (reach := next(reaches, 0)):
            finer = equitable_cells(graph, ball_cells(graph, cells, reach=reach))
            if finer.max() > cells.max():
                cells = finer
                search = begin(graph, cells, room=room)
    return search


def _moves(search: Search) -> PointMoves:
    count, entries = search.found.used
    return PointMoves(
        search.found.start[: count + 1], search.found.point[:entries], search.found.image[:entries]
    )
