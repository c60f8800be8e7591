"""Find the symmetries of a distribution, as far as time allows."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_first, tier
from orbitmc._util.arrays import (
    MOST_VALUES,
    Bytes,
    Index,
    Indices,
    Numbers,
    distinct,
    indices,
    ranks,
    readonly,
    row_classes,
    starts,
)
from orbitmc._util.loading import HtmlRepr
from orbitmc._util.text import format_order
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_potential
from orbitmc.groups.cycles import cycle_text
from orbitmc.groups.permutation_groups import (
    PermutationGroup,
    check_number_of_values,
    group_from_arrays,
    orbit_labels,
    orbits,
    permutation_group,
    subgroup,
)
from orbitmc.groups.permutations import Permutation
from orbitmc.symmetry.encoding import ColoredGraph, first_literals, value_graph, variable_graph
from orbitmc.symmetry.refinement import ball_cells, equitable_cells
from orbitmc.symmetry.search import DEPTH, FAILED, LEFT_OPEN, LEVEL, Search, advance_by, begin
from orbitmc.symmetry.terms import energy_form
from orbitmc.symmetry.twins import neighboring_swaps, twin_classes

# From permutations of points to groups of variables and values, and the last word on them.

STATES_CHECKED = 16
"""States to try: even a wrong swap of two binary variables changes only every other one."""

ENERGY_TOLERANCE = 1e-9
"""Relative to the sum of absolute log-potentials, which bounds the rounding of their sum."""


class PointMoves(NamedTuple):
    """Sparse permutations of points: number `g` moves `point[start[g]:start[g + 1]]` to `image`."""

    start: Numbers
    point: Numbers
    image: Numbers


def swaps(first: Numbers, second: Numbers) -> PointMoves:
    """One exchange per pair."""
    point, image = np.stack([first, second], axis=1), np.stack([second, first], axis=1)
    return PointMoves(2 * np.arange(len(first) + 1), point.reshape(-1), image.reshape(-1))


def combine_generators(parts: list[PointMoves]) -> PointMoves:
    sizes = [np.diff(part.start) for part in parts]
    start = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes]))])
    none = [np.zeros(0, dtype=np.int64)]
    return PointMoves(
        start.astype(np.int64),
        np.concatenate(none + [part.point for part in parts]),
        np.concatenate(none + [part.image for part in parts]),
    )


def variable_group(cardinality: Numbers, moves: PointMoves) -> PermutationGroup:
    """Points are variables: values are kept."""
    return group_from_arrays(len(cardinality), moves.start, moves.point, moves.image)


def value_group(cardinality: Numbers, moves: PointMoves) -> PermutationGroup:
    """Points are variables and then literals: values move along with their literals."""
    degree, first = len(cardinality), first_literals(cardinality)
    owner = np.concatenate([np.arange(degree), np.repeat(np.arange(degree), cardinality)])
    number = np.repeat(np.arange(len(moves.start) - 1), np.diff(moves.start))
    moved = np.unique(number * degree + owner[moves.point])
    generator, variable = moved // degree, moved % degree
    sizes = cardinality[variable]
    begin = np.cumsum(sizes) - sizes
    # all literals of the variables concerned, at home until some of them are moved
    literal = np.repeat(first[variable] - begin, sizes) + np.arange(sizes.sum())
    is_literal = moves.point >= degree
    at = moves.point[is_literal]
    place = np.searchsorted(moved, number[is_literal] * degree + owner[at])
    literal[begin[place] + at - first[owner[at]]] = moves.image[is_literal]
    group = PermutationGroup(
        degree,
        start=starts(np.bincount(generator, minlength=len(moves.start) - 1)),
        point=indices(variable),
        image=indices(owner[literal[begin]]) if len(variable) else indices([]),
        map_start=starts(sizes) if len(variable) else indices([]),
        value_map=readonly((literal - first[owner[literal]]).astype(np.uint8)),
    )
    return group if len(variable) else variable_group(cardinality, combine_generators([]))


def changes_energy(graph: FactorGraph, group: PermutationGroup) -> np.ndarray:
    """For each generator: whether it changes the log-weight of some random state."""
    rng = np.random.default_rng(0)
    most = np.minimum(graph.cardinality, 256)[:, None]
    values = rng.integers(0, most, size=(graph.variables, STATES_CHECKED), dtype=np.uint8)
    if not group.maps_values:
        most_values = np.minimum(graph.cardinality.max(initial=1), 256)
        map_start = indices(np.zeros(len(group.point)))
        group = group._replace(
            map_start=map_start, value_map=np.arange(most_values, dtype=np.uint8)
        )
    changes = np.zeros(len(group.start) - 1, dtype=bool)
    _check(graph, group, values, values.copy(), np.full(graph.factors, -1), changes)
    return changes


@shared
def _move(
    group: PermutationGroup, begin: Index, end: Index, values: Bytes, proposed: Bytes
) -> None:
    for k in range(begin, end):
        first = np.int64(group.map_start[k])
        for lane in range(values.shape[1]):
            value = np.int64(values[group.point[k], lane])
            proposed[group.image[k], lane] = group.value_map[first + value]


@shared
def _differ(
    graph: FactorGraph, factors: Numbers, count: int, values: Bytes, proposed: Bytes, lane: int
) -> bool:
    """Whether the log-potentials of some factors add up to something else."""
    before, after, scale = 0.0, 0.0, 1.0
    for k in range(count):
        old = log_potential(graph, factors[k], values, lane)
        before += old
        after += log_potential(graph, factors[k], proposed, lane)
        scale += abs(old)
    if before == -np.inf or after == -np.inf:
        return before != after
    return abs(after - before) > ENERGY_TOLERANCE * scale


@tier(of_first)
def _check(
    graph: FactorGraph,
    group: PermutationGroup,
    values: Bytes,
    proposed: Bytes,
    mark: Numbers,
    changes: NDArray[np.bool_],
) -> None:
    factors = np.zeros(len(mark), dtype=np.int64)
    for number in range(len(changes)):
        begin, end = np.int64(group.start[number]), np.int64(group.start[number + 1])
        _move(group, begin, end, values, proposed)
        count = 0
        for k in range(begin, end):
            # every moved point is somebody's image
            variable = group.image[k]
            for edge in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
                factor = graph.incident[edge]
                if mark[factor] != number:
                    mark[factor] = number
                    factors[count] = factor
                    count += 1
        for lane in range(values.shape[1]):
            if _differ(graph, factors, count, values, proposed, lane):
                changes[number] = True
        for k in range(begin, end):
            for lane in range(values.shape[1]):
                proposed[group.image[k], lane] = values[group.image[k], lane]


SLICE = 1_000_000  # arcs to look at between two looks at the clock: about a tenth of a second
ARCS_BEFORE_CLOSER_LOOK = 100
"""How many times one attempt may look at the whole graph before it is left undecided."""

MANY_REFUTED = 64  # so many failed attempts say that refinement alone sees too little
REACHES = (400, 1600, 6400)
"""How many arcs around each vertex to look at then, and again if that was not enough."""


@dataclass(frozen=True, repr=False)
class SymmetryReport(HtmlRepr):
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

    @property
    def cycle_texts(self) -> list[str]:
        """The generators, with numbers for variables."""
        names = [str(place) for place in range(self.group.degree)]
        return [cycle_text(element, names) for element in self.group.generators()]

    def __str__(self) -> str:
        return (
            f"SymmetryReport({format_order(self.order)} symmetries, {len(self.orbits)} orbits, "
            f"{'complete' if self.complete else 'maybe not all'}, {self.how})"
        )


def automorphisms(
    graph: FactorGraph, *, values: bool = False, seconds: float = 10.0
) -> SymmetryReport:
    """Permutations of variables (with `values`, also of their values) that change nothing.

    Refinement comes first, then twins, then a search. When `seconds` are over, what was found is
    reported; compiling, which happens once per installation, is not counted.

    >>> from orbitmc.models._ising import ising_grid
    >>> automorphisms(ising_grid(5, 5, 0.3).graph).order
    8
    """
    started = working_time()
    if values and (graph.cardinality > MOST_VALUES).any():
        raise InputError(f"values can be permuted only where there are at most {MOST_VALUES}")
    form = energy_form(graph)
    encoded = value_graph(form) if values else variable_graph(form)
    result = graph_automorphisms(encoded, twins=not values, started=started, seconds=seconds)
    convert = value_group if values else variable_group
    group = convert(form.cardinality, combine_generators([result.exchanges, result.moves]))
    wrong = changes_energy(graph, group)
    group = subgroup(group, np.flatnonzero(~wrong)) if wrong.any() else group
    return SymmetryReport(
        group=group,
        orbits=orbits(group),
        order=result.order if not wrong.any() else None,
        seconds=working_time() - started,
        complete=result.complete and not wrong.any(),
        how=result.how,
    )


def group_of_generators(graph: FactorGraph, generators: Iterable[Permutation]) -> PermutationGroup:
    """The group that people ask for: bijections between variables with as many values.

    It need not preserve anything: every group is safe as a source of proposals.
    """
    group = permutation_group(graph.variables, generators, cardinality=graph.cardinality)
    check_number_of_values(group, graph.cardinality)
    return group


def orbit_cells(group: PermutationGroup) -> Numbers:
    """Number the orbits, point by point; -1 for points that stay alone.

    >>> from orbitmc.models._ising import ising
    >>> star = ising([0.0] * 4, [(0, 1), (0, 2), (0, 3)], 0.3)
    >>> orbit_cells(automorphisms(star.graph).group).tolist()
    [-1, 0, 0, 0]
    """
    labels = orbit_labels(group)
    alone = np.bincount(labels, minlength=group.degree)[labels] == 1
    cells = np.full(group.degree, -1, dtype=np.int64)
    cells[~alone] = np.unique(labels[~alone], return_inverse=True)[1]
    return readonly(cells)


@dataclass(frozen=True)
class SearchResult:
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
) -> SearchResult:
    """Refine, set twins apart, search."""
    cells = equitable_cells(graph)
    classes = twin_classes(graph, cells) if twins else np.arange(graph.points)
    count = math.prod(math.factorial(int(size)) for size in np.bincount(classes) if size > 1)
    steps = ["twins"] if count > 1 else []
    if steps:
        cells = _with_twins_in_order(graph, cells, classes)
    if len(distinct(cells[: graph.points])) == graph.points:
        how = " and ".join(["refinement", *steps])
        return SearchResult(classes, combine_generators([]), count, True, how)
    search = _search_until(graph, cells, until=started + seconds)
    complete = search.progress[LEVEL] == 0 and search.progress[LEFT_OPEN] == 0
    how = " and ".join([*steps, "search"])
    order = count * math.prod(int(size) for size in search.path.orbit[: search.progress[DEPTH]])
    return SearchResult(classes, _moves(search), order if complete else None, complete, how)


def _with_twins_in_order(graph: ColoredGraph, cells: Numbers, classes: Numbers) -> Numbers:
    """Cells that keep twins in the order of their numbers, refined again.

    Every symmetry is a permutation of twins after one that keeps their order.
    """
    rank, size = np.zeros((2, graph.vertices), dtype=np.int64)
    rank[: graph.points] = ranks(classes)
    size[: graph.points] = np.bincount(classes)[classes]
    return equitable_cells(graph, row_classes(np.stack([cells, size, rank], axis=1))[1])


def _search_until(graph: ColoredGraph, cells: Numbers, *, until: float) -> Search:
    """Search until all is tried or time is over; look more closely if most attempts fail."""
    room = 20 * graph.vertices + 1_000_000
    patience = ARCS_BEFORE_CLOSER_LOOK * (graph.arcs + graph.vertices)
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
    count, entries = search.generators.used
    return PointMoves(
        search.generators.start[: count + 1],
        search.generators.point[:entries],
        search.generators.image[:entries],
    )
