"""Programs whose observed pairs have no pattern: a model of the cells of constants, to be sampled.

Open pairs are summed out, so the model has a variable for each constant and a factor for each
pair of which something was observed. What all other pairs weigh depends on counts of cells, which
the kernel `CountGibbs` knows. Modes of the whole are fixed points of its mean field.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats, indices, lengths, readonly, starts
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.kernels._count_gibbs import CountGibbs
from orbitmc.lifted.cells import (
    PairField,
    PairTable,
    SortCells,
    build_cells,
    build_pair_tables,
    log_sum,
    unary_evidence,
    visible_fields,
)
from orbitmc.lifted.coordinates import (
    ObservedPairs,
    correct_pair_weights,
    find_observed_pairs,
    usual_of_tables,
)
from orbitmc.lifted.evidence import Field, Known, read_known
from orbitmc.lifted.fragment import Fragment, NotLiftableError, find_fragment
from orbitmc.lifted.marginals import find_propositions, normalise
from orbitmc.lifted.tree import IMPOSSIBLE
from orbitmc.mln.data.database import Ints
from orbitmc.mln.grounding.grounding import AtomTables
from orbitmc.mln.language.syntax import Program

MOST_CELLS = 64  # of a constant
MOST_SUPPORTS = 64  # combinations of cells that hard rules allow
MOST_CLIQUES = 10_000  # of cells, that are looked at to find them
TOO_MANY_SUPPORTS = (
    f"hard rules allow more than {MOST_SUPPORTS} combinations of cells; chains of cells start with "
    "all of them"
)
MODE_STEPS = 200  # of a fixed point
MODE_TOLERANCE = 1e-4  # of chances of cells: chains start there, and find the rest
CORNER = 0.01  # of a corner from which a mode is looked for, in each other cell
FORBIDDEN = -50.0  # nats, in the place of zeros of observed pairs while modes are looked for
SAME_MODE = 0.02  # difference of the shares of cells
FAR_MODE = 60.0  # nats: modes below the largest by more are left out
DAMPING = 0.5
MOST_SWEEPS = 4_000  # from one mode to another: where more are needed, counts are not flattened
STEP = 4.0  # how much less of a barrier each flattened copy has left
PATH_POINTS, PATH_STEPS = 33, 40  # between two modes, and of the mean field at each
THETA_STEPS, LONGEST_STEP = 8, 4.0  # of Newton's method


@dataclass(frozen=True)
class CellChain:
    """A model of cells, the kernel that samples it, and what cells say of atoms.

    Variable v is member `place[v]` of sort `sort[v]`; `value_of[v]` are the cells of its values.
    `sure[s]` is the cell of each member of sort s that has no choice, else -1. `left_out` are modes
    that are too small to matter, in nats below the largest; there are `modes` others. Some of
    these are so `far` apart, in sweeps, that counts between them are not flattened.
    """

    fragment: Fragment
    known: Mapping[Field, Known]
    cells: tuple[SortCells, ...]
    tables: Mapping[tuple[int, int], tuple[PairTable, ...]]
    pairs: Mapping[tuple[int, int], ObservedPairs]
    model: Model
    kernel: CountGibbs
    sort: Ints
    place: Ints
    variable_of: tuple[Ints, ...]
    sure: tuple[Ints, ...]
    modes: int
    left_out: tuple[float, ...]
    far: int

    def field_chances(self, sort: int, field: Field, value: Ints, places: Ints) -> Floats:
        """For members of a sort: the chance that a field has a value, in each cell."""
        cells = self.cells[sort]
        if field in cells.fields:
            column = cells.values[:, cells.fields.index(field)]
            return np.asarray(column[None, :] == value[:, None], np.float64)
        part = next(part for part in cells.summed if field in part.fields)
        column = part.values[:, part.fields.index(field)]
        kinds, which = np.unique(cells.evidence.kind_of[places], return_inverse=True)
        laws = normalise(cells.joint(part, kinds))
        size = self.fragment.schemas[field.predicate].size
        by_value = np.stack([laws[:, :, column == v].sum(axis=2) for v in range(size)], axis=2)
        return np.asarray(by_value[which.reshape(-1), :, value])

    def pair_chances(self, first: int, second: int, place: PairField, a: int, b: int) -> Floats:
        """For a pair: the law of a field between them, in each two cells, [i, j, value]."""
        law, table = self.pair_law(first, second, place, a, b)
        column = table.values[:, table.fields.index(place)]
        size = self.fragment.schemas[place.field.predicate].size
        return np.stack([law[:, :, column == v].sum(axis=2) for v in range(size)], axis=2)

    def pair_law(
        self, first: int, second: int, place: PairField, a: int, b: int
    ) -> tuple[Floats, PairTable]:
        """For a pair: the law of all fields that a field is tied to, [i, j, w], and their table."""
        tables = self.tables[first, second]
        number, table = next((n, t) for n, t in enumerate(tables) if place in t.fields)
        known = usual_of_tables(self.known, tables)
        pairs = self.pairs.get((first, second))
        if pairs is not None:
            row = np.flatnonzero((pairs.first == a) & (pairs.second == b))
            if len(row):
                known = pairs.of_tables(int(pairs.pattern[row[0]]), tables)
        return normalise(table.given(known[number])), table


def build_cell_chain(program: Program, tables: AtomTables) -> CellChain:
    """The model of cells of a program, which is not ground; what cannot be lifted is refused."""
    fragment = find_fragment(program, tables)
    known = read_known(fragment)
    cases = list(find_propositions(fragment, known))
    if len(cases) != 1:
        raise NotLiftableError(
            f"atoms of no constant have {len(cases):,} joint values; chains of cells need one"
        )
    propositions = cases[0][0]
    visible = visible_fields(fragment)
    cells = tuple(
        build_cells(
            fragment,
            number,
            visible[number],
            unary_evidence(fragment, sort, known),
            propositions,
            log_sum,
        )
        for number, sort in enumerate(fragment.sorts)
    )
    for part in cells:
        if len(part.values) > MOST_CELLS:
            raise NotLiftableError(
                f"a constant of type {part.sort.kind} has {len(part.values):,} cells; chains of "
                f"cells take {MOST_CELLS}"
            )
    numbers = range(len(fragment.sorts))
    pair_tables = {
        sorts: build_pair_tables(fragment, *sorts, cells, propositions)
        for sorts in itertools.combinations_with_replacement(numbers, 2)
    }
    pairs = {
        sorts: find_observed_pairs(fragment, known, *sorts)
        for sorts, between in pair_tables.items()
        if between
    }
    return _Assembly(fragment, known, cells, pair_tables, pairs).chain()


@dataclass(frozen=True)
class _Assembly:
    """Puts a chain of cells together."""

    fragment: Fragment
    known: Mapping[Field, Known]
    cells: tuple[SortCells, ...]
    tables: Mapping[tuple[int, int], tuple[PairTable, ...]]
    pairs: Mapping[tuple[int, int], ObservedPairs]

    def chain(self) -> CellChain:
        sizes = [len(part.values) for part in self.cells]
        first_cell = np.cumsum([0, *sizes])
        log_r, corrections, edges = self._relations(first_cell)
        log_u = [part.log_u[part.evidence.kind_of] for part in self.cells]
        sure, variable_of, count = [], [], 0
        for weights in log_u:
            possible = np.isfinite(weights).sum(axis=1)
            if (possible == 0).any():
                raise ContradictionError(IMPOSSIBLE)
            sure.append(np.where(possible == 1, np.argmax(weights, axis=1), -1))
            open_ = possible > 1
            variable_of.append(np.where(open_, count + np.cumsum(open_) - 1, -1))
            count += int(open_.sum())
        forbidden = np.isneginf(log_r)
        finite = np.where(forbidden, 0.0, log_r)
        self._settle(log_u, sure, first_cell, finite, forbidden)
        sort = np.concatenate([np.full((v >= 0).sum(), s) for s, v in enumerate(variable_of)])
        place = np.concatenate([np.flatnonzero(v >= 0) for v in variable_of])
        most = max(sizes, default=1)
        weights = np.full((count, most), -np.inf)
        for s, part in enumerate(log_u):
            inside = variable_of[s] >= 0
            weights[variable_of[s][inside], : sizes[s]] = part[inside]
        weights, kept = self._fold_edges(edges, corrections, sure, variable_of, weights, most)
        kernel = self._kernel(sort, first_cell, weights, finite, forbidden, kept, corrections)
        everything = Support(np.ones(len(finite), np.bool_))
        supports = find_supports(kernel) if forbidden.any() else [everything]
        modes, heights = _find_modes(kernel, supports)
        near = [place for place, height in enumerate(heights) if max(heights) - height <= FAR_MODE]
        near.sort(key=lambda place: -heights[place])
        kernel = kernel._replace(modes=readonly(np.array([modes[number] for number in near])))
        kernel, far = _flatten(kernel) if kernel.smooth else (kernel, 0)
        left_out = tuple(
            max(heights) - height for height in heights if max(heights) - height > FAR_MODE
        )
        model = self._model(sort, place, sizes, weights, kept, corrections)
        return CellChain(
            self.fragment, self.known, self.cells, self.tables, self.pairs, model, kernel,
            sort, place, tuple(variable_of), tuple(sure), len(near), left_out, far,
        )  # fmt: skip

    def _relations(
        self, first_cell: Ints
    ) -> tuple[Floats, list[Floats], list[tuple[int, int, Ints, Ints, Ints]]]:
        """Usual log-weights of pairs of cells, corrections, and which pairs have which."""
        total = int(first_cell[-1])
        log_r = np.zeros((total, total))
        corrections: list[Floats] = []
        edges = []
        for (s, t), tables in self.tables.items():
            if not tables:
                continue
            pairs, begin = self.pairs[s, t], len(corrections)
            usual, more = correct_pair_weights(
                tables, (self.cells[s], self.cells[t]), self.known, pairs
            )
            rows = slice(first_cell[s], first_cell[s + 1])
            columns = slice(first_cell[t], first_cell[t + 1])
            log_r[rows, columns] = usual
            log_r[columns, rows] = usual.T
            corrections += more
            edges.append((s, t, pairs.first, pairs.second, pairs.pattern + begin))
        return log_r, corrections, edges

    def _settle(
        self,
        log_u: list[Floats],
        sure: Sequence[Ints],
        first_cell: Ints,
        finite: Floats,
        forbidden: NDArray[np.bool_],
    ) -> None:
        """Tell all constants of what those weigh whose cell is known."""
        counts = np.zeros(len(finite))
        for s, part in enumerate(sure):
            counts[first_cell[s] : first_cell[s + 1]] = np.bincount(
                part[part >= 0], minlength=int(first_cell[s + 1] - first_cell[s])
            )
        gain, blocked = finite @ counts, forbidden @ counts
        alone = np.diag(forbidden) & (counts == 1)  # nobody to be forbidden with
        if ((blocked - alone > 0) & (counts > 0)).any():
            raise ContradictionError(IMPOSSIBLE)
        for s, weights in enumerate(log_u):
            rows = slice(first_cell[s], first_cell[s + 1])
            log_u[s] = weights + np.where(blocked[rows] > 0, -np.inf, gain[rows])

    def _fold_edges(
        self,
        edges: Sequence[tuple[int, int, Ints, Ints, Ints]],
        corrections: Sequence[Floats],
        sure: Sequence[Ints],
        variable_of: Sequence[Ints],
        weights: Floats,
        most: int,
    ) -> tuple[Floats, tuple[Ints, Ints, Ints]]:
        """Observed pairs of two variables; what others say goes into the weights of one."""
        tables = np.zeros((len(corrections), most, most))
        for number, table in enumerate(corrections):
            tables[number, : table.shape[0], : table.shape[1]] = table
        ends: list[tuple[Ints, Ints, Ints]] = []
        for s, t, a, b, pattern in edges:
            one, two = variable_of[s][a], variable_of[t][b]
            left = (one >= 0) & (two < 0)
            np.add.at(weights, one[left], tables[pattern[left], :, sure[t][b[left]]])
            right = (one < 0) & (two >= 0)
            np.add.at(weights, two[right], tables[pattern[right], sure[s][a[right]], :])
            both = (one >= 0) & (two >= 0)
            ends.append((one[both], two[both], pattern[both]))
            known = (one < 0) & (two < 0)
            if np.isneginf(tables[pattern[known], sure[s][a[known]], sure[t][b[known]]]).any():
                raise ContradictionError(IMPOSSIBLE)
        if not np.isfinite(weights).any(axis=1).all():
            raise ContradictionError(IMPOSSIBLE)
        nothing = np.zeros(0, np.int64)
        columns = zip(*ends, strict=True) if ends else ((nothing,),) * 3
        one, two, pattern = (np.concatenate(column) for column in columns)
        return weights, (one, two, pattern)

    def _kernel(
        self,
        sort: Ints,
        first_cell: Ints,
        weights: Floats,
        finite: Floats,
        forbidden: NDArray[np.bool_],
        kept: tuple[Ints, Ints, Ints],
        corrections: Sequence[Floats],
    ) -> CountGibbs:
        one, two, pattern = kept
        count, most = weights.shape
        tables = np.zeros((max(1, 2 * len(corrections)), most, most))
        for number, table in enumerate(corrections):
            tables[number, : table.shape[0], : table.shape[1]] = table
            tables[number + len(corrections), : table.shape[1], : table.shape[0]] = table.T
        owner, partner = np.concatenate([one, two]), np.concatenate([two, one])
        both_ways = np.concatenate([pattern, pattern + len(corrections)])
        order = np.argsort(owner, kind="stable")
        sizes = np.array([len(self.cells[s].values) for s in sort.tolist()], dtype=np.int64)
        there = np.arange(most) < sizes[:, None]
        smooth = (
            not forbidden.any() and np.isfinite(weights[there]).all() and np.isfinite(tables).all()
        )
        return CountGibbs(
            first_cell=indices(first_cell[sort]),
            log_u=readonly(weights),
            log_r=readonly(finite),
            forbidden=readonly(forbidden.astype(np.uint8)),
            smooth=int(smooth),
            partner_start=starts(np.bincount(owner, minlength=count)),
            partner=indices(partner[order]),
            pattern=indices(both_ways[order]),
            correction=readonly(tables),
            modes=readonly(np.zeros((1, count, most))),
            mark=readonly(np.zeros((1, len(finite)), np.uint8)),
            bias=readonly(np.zeros((1, 1))),
            below=indices(np.zeros(1, np.int64)),
        )

    def _model(
        self,
        sort: Ints,
        place: Ints,
        sizes: Sequence[int],
        weights: Floats,
        kept: tuple[Ints, Ints, Ints],
        corrections: Sequence[Floats],
    ) -> Model:
        """The cells of constants as variables, with all that the graph can know."""
        cardinality = np.array(sizes, dtype=np.int64)[sort] if len(sort) else np.zeros(0, np.int64)
        builder = Builder(cardinality)
        for size in np.unique(cardinality).tolist():
            some = np.flatnonzero(cardinality == size)
            numbers = builder.add_tables(weights[some, :size])
            builder.add_factors(some[:, None], numbers)
        one, two, pattern = kept
        for number, table in enumerate(corrections):
            some = np.flatnonzero(pattern == number)
            if len(some):
                shared = builder.add_table(table)
                builder.add_factors(np.stack([one[some], two[some]], axis=1), shared)
        names = []
        for s, member in zip(sort.tolist(), place.tolist(), strict=True):
            kind = self.fragment.sorts[s].kind
            constant = self.fragment.sorts[s].members[member]
            names.append(f"{kind} {self.fragment.universe.constants[kind][constant]}")
        values = tuple(tuple(map(str, range(size))) for size in cardinality.tolist())
        return Model(graph=builder.build(), names=tuple(names), values=values)


# Which cells hard rules let constants be in at the same time.


class Support(NamedTuple):
    """Cells that any number of constants may be in at once, and some that have one constant."""

    cells: NDArray[np.bool_]
    single: tuple[int, ...] = ()


def find_supports(kernel: CountGibbs) -> list[Support]:
    """All largest sets of cells that constants may be in at once; refuses what has none or many.

    Of cells that two constants may not share, each combination is a support of its own.
    """
    forbidden = kernel.forbidden.astype(np.bool_)
    possible = _possible_cells(kernel)
    alone = np.diag(forbidden)
    allowed = ~forbidden
    np.fill_diagonal(allowed, val=False)
    supports: dict[tuple[bytes, tuple[int, ...]], Support] = {}
    nodes = np.flatnonzero(possible.any(axis=0)).tolist()
    for number, clique in enumerate(_maximal_cliques(allowed, nodes)):
        if number == MOST_CLIQUES:
            raise NotLiftableError(TOO_MANY_SUPPORTS)
        cells = np.zeros(len(alone), np.bool_)
        cells[[cell for cell in clique if not alone[cell]]] = True
        needy = ~(possible & cells).any(axis=1)
        if needy.any():
            room = [cell for cell in clique if alone[cell]]
            if needy.sum() > len(room) or not possible[needy][:, room].any(axis=1).all():
                continue
            raise NotLiftableError(
                "hard rules leave a constant no cell but those that it cannot share, which may "
                "keep chains from moving"
            )
        shared = [cell for cell in clique if alone[cell]]
        for size in range(len(shared) + 1):
            for single in itertools.combinations(shared, size):
                supports[cells.tobytes(), single] = Support(cells, single)
                if len(supports) > MOST_SUPPORTS:
                    raise NotLiftableError(TOO_MANY_SUPPORTS)
    if not supports:
        raise ContradictionError(IMPOSSIBLE)
    return list(supports.values())


def _possible_cells(kernel: CountGibbs) -> NDArray[np.bool_]:
    """Which cells of all sorts constants may be in, a row each; not more alike ones than matter."""
    finite = np.isfinite(kernel.log_u)
    rows = np.column_stack([kernel.first_cell.astype(np.int64), finite])
    possible = np.zeros((len(rows), len(kernel.log_r)), np.bool_)
    variable, cell = np.nonzero(finite)
    possible[variable, kernel.first_cell.astype(np.int64)[variable] + cell] = True
    _, first, count = np.unique(rows, axis=0, return_index=True, return_counts=True)
    few = np.minimum(count, len(kernel.log_r) + 1)  # more are as good as that many
    return np.asarray(possible[np.repeat(first, few)])


def _maximal_cliques(allowed: NDArray[np.bool_], nodes: Sequence[int]) -> Iterator[list[int]]:
    """All sets of nodes that allow each other and that no other node fits (Bron and Kerbosch)."""
    near = {node: set(np.flatnonzero(allowed[node]).tolist()) & set(nodes) for node in nodes}

    def extend(clique: list[int], open_: set[int], closed: set[int]) -> Iterator[list[int]]:
        if not open_ and not closed:
            yield clique
            return
        pivot = max(sorted(open_ | closed), key=lambda node: len(near[node] & open_))
        for node in sorted(open_ - near[pivot]):
            yield from extend([*clique, node], open_ & near[node], closed & near[node])
            open_, closed = open_ - {node}, closed | {node}

    yield from extend([], set(nodes), set())


# Modes: fixed points of the mean field.


def _find_modes(
    kernel: CountGibbs, supports: Sequence[Support]
) -> tuple[list[Floats], list[float]]:
    """Chances of cells at each fixed point that is found, and the bounds on log Z there."""
    if not len(kernel.first_cell):
        return [np.zeros((0, 1))], [0.0]
    modes: list[Floats] = []
    heights: list[float] = []
    for support in supports:
        field = _MeanField(kernel, support)
        for begin in field.corners():
            chances, height = field.occupy(field.settle(begin))
            shares = chances.mean(axis=0)
            if all(np.abs(shares - mode.mean(axis=0)).max() > SAME_MODE for mode in modes):
                modes.append(chances)
                heights.append(height)
    return modes, heights


def _flatten(kernel: CountGibbs) -> tuple[CountGibbs, int]:
    """Add copies that are flattened between the largest mode and each other one that is near.

    A number of constants changes by about the root of all in a sweep, in any direction: from mode
    to mode it takes the square of so many steps. What is too far is told, in sweeps.

    The last copy of each has about equal chances for all numbers of constants between both modes.
    Of the bias that it has, the one before lacks so much as makes one nat, and each one before that
    lacks four times as much: few copies do, however high the barrier is.
    """
    field, variables = _MeanField(kernel), len(kernel.first_cell)
    marks, biases, below, far = [kernel.mark[0]], [np.zeros(variables + 1)], [0], 0
    for mode in kernel.modes[1:]:
        gain = field.count(mode) - field.count(kernel.modes[0])
        mark = (gain > 0).astype(np.uint8)
        sweeps = math.ceil(float(gain[mark == 1].sum()) ** 2 / variables)
        if sweeps > MOST_SWEEPS:
            far = max(far, sweeps)
            continue
        full = field.barrier(kernel.modes[0], mode, mark)
        steps = max(1, math.ceil(math.log(max(2.0, float(full.max())), STEP)))
        below.append(0)
        for number, share in enumerate([*(1.0 - STEP ** -np.arange(1.0, steps + 1)), 1.0]):
            marks.append(mark)
            biases.append(share * full)
            if number:
                below.append(len(below) - 1)
    copies = kernel._replace(
        mark=readonly(np.array(marks)),
        bias=readonly(np.array(biases)),
        below=indices(np.array(below)),
    )
    return copies, far


class _MeanField:
    """What cells of a constant weigh on average, if those of others are independent.

    With a support, constants are in its cells only, and one each is in its `single` cells.
    """

    def __init__(self, kernel: CountGibbs, support: Support | None = None) -> None:
        self.alone, self.log_r = kernel.log_u, kernel.log_r
        most = self.alone.shape[1]
        count = len(self.log_r)
        cells = kernel.first_cell.astype(np.int64)[:, None] + np.arange(most)
        self.cells = np.minimum(cells, count - 1)  # beyond its own, chances are 0
        self.single = () if support is None else support.single
        inside = np.ones(count, np.bool_) if support is None else support.cells
        told = self.log_r[:, list(self.single)].sum(axis=1)
        self.log_u = np.where(inside[self.cells], self.alone + told[self.cells], -np.inf)
        self.owner = np.repeat(np.arange(len(cells)), lengths(kernel.partner_start))
        self.partner = kernel.partner.astype(np.int64)
        self.told = np.maximum(kernel.correction, FORBIDDEN)[kernel.pattern.astype(np.int64)]

    def corners(self) -> Iterator[Floats]:
        """Chances to begin with: all cells alike, and nearly all constants in one."""
        possible = np.isfinite(self.log_u)
        yield possible / possible.sum(axis=1, keepdims=True)
        every, most = np.arange(len(possible)), possible.shape[1]
        last = most - 1 - possible[:, ::-1].argmax(axis=1)
        for cell in range(most):
            corner = np.where(possible, CORNER, 0.0)
            corner[every, np.where(possible[:, cell], cell, last)] += 1.0
            yield corner / corner.sum(axis=1, keepdims=True)

    def occupy(self, chances: Floats) -> tuple[Floats, float]:
        """Let one constant be in each single cell; its chances, and the height of the mode."""
        height = self.height(chances)
        if not self.single:
            return chances, height
        field = self.of(chances)
        usual = log_sum(self.log_u + field, 1)
        chances = chances.copy()
        for number, cell in enumerate(self.single):
            place, column = np.nonzero((self.cells == cell) & np.isfinite(self.alone))
            gain = self.alone[place, column] + field[place, column] - usual[place]
            total = float(log_sum(gain, 0))
            height += total + float(self.log_r[cell, list(self.single[:number])].sum())
            share = np.exp(gain - total)
            chances[place] *= 1.0 - share[:, None]
            chances[place, column] = share
        return chances, height

    def count(self, chances: Floats) -> Floats:
        """How many constants are expected in each cell."""
        counts = np.bincount(self.cells.ravel(), weights=chances.ravel(), minlength=len(self.log_r))
        return counts.astype(np.float64)

    def of_open_pairs(self, chances: Floats) -> Floats:
        """The weights of cells by what others are, if nothing was observed of pairs."""
        field = np.asarray((self.log_r @ self.count(chances))[self.cells])
        for mine in range(chances.shape[1]):  # nobody meets itself
            field -= self.log_r[self.cells, self.cells[:, [mine]]] * chances[:, [mine]]
        return field

    def of(self, chances: Floats) -> Floats:
        """The weights of cells by what others are."""
        variables, most = chances.shape
        field = self.of_open_pairs(chances)
        for own in range(most if len(self.owner) else 0):
            told = np.zeros(len(self.owner))
            for theirs in range(most):
                told += self.told[:, own, theirs] * chances[self.partner, theirs]
            field[:, own] += np.bincount(self.owner, weights=told, minlength=variables)
        return field

    def settle(self, chances: Floats) -> Floats:
        """The fixed point that chances lead to."""
        for _ in range(MODE_STEPS):
            following = normalise(self.log_u + self.of(chances))
            change = float(np.abs(following - chances).max())
            chances = DAMPING * chances + (1 - DAMPING) * following
            if change < MODE_TOLERANCE:
                break
            check_interrupt()
        return chances

    def height(self, chances: Floats) -> float:
        """About log Z: energy and entropy, and what observed pairs weigh on average."""
        log_u = np.where(chances > 0, self.log_u, 0.0)
        energy = chances * (log_u + 0.5 * self.of_open_pairs(chances))
        entropy = -chances * np.log(np.where(chances > 0, chances, 1.0))
        both = np.einsum(
            "ei,eij,ej->e", chances[self.owner], np.exp(self.told), chances[self.partner]
        )
        return math.fsum(
            [float(energy.sum()), float(entropy.sum()), 0.5 * float(np.log(both).sum())]
        )

    def barrier(self, low: Floats, high: Floats, mark: Bytes) -> Floats:
        """How far log Z is below the largest one, by how many constants are in marked cells.

        Between two modes it is that of the mean field with this number; beyond them, as there.
        """
        marked = mark[self.cells] * 1.0
        ends = [float((marked * chances).sum()) for chances in (low, high)]
        points = np.linspace(ends[0], ends[1], PATH_POINTS)
        heights, chances, theta = [], low, 0.0
        for point in points.tolist():
            for _ in range(PATH_STEPS):
                log = self.log_u + self.of(chances)
                following, theta = _tilt(log, marked, theta, point)
                change = float(np.abs(following - chances).max())
                chances = DAMPING * chances + (1 - DAMPING) * following
                if change < MODE_TOLERANCE:
                    break
                check_interrupt()
            share = (marked * chances).sum(axis=1)
            width = 2.0 * math.pi * float((share * (1.0 - share)).sum())
            heights.append(self.height(chances) - 0.5 * math.log1p(width))
        gaps = max(heights) - np.array(heights)
        return np.asarray(np.interp(np.arange(len(low) + 1.0), points, gaps))


def _tilt(log: Floats, marked: Floats, theta: float, wanted: float) -> tuple[Floats, float]:
    """Chances of cells of which so many constants are in marked ones, and the tilt they need."""
    for _ in range(THETA_STEPS):
        chances = normalise(log + theta * marked)
        share = (marked * chances).sum(axis=1)
        gap, spread = wanted - float(share.sum()), float((share * (1 - share)).sum())
        theta += max(-LONGEST_STEP, min(LONGEST_STEP, gap / max(spread, 1e-9)))
    return normalise(log + theta * marked), theta
