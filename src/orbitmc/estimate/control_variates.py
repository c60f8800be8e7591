"""Control variates: what they are made of, what they cost, and the estimates they correct.

The noise of an average of conditional probabilities is mostly linear in the neighbours' values.
The matrix here says how: entry `(i, j)` is the mean of P(i | rest, j = 1) - P(i | rest, j = 0) over
some states. A variable with more values has a row for each; the change of a row with the value of
a neighbour is taken from the mean over that neighbour's values, since values sum to one.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from orbitmc._util.arrays import Bytes, Floats, Indices, lengths
from orbitmc.estimate.tally import JointTally, RaoBlackwellTally, rows_of
from orbitmc.graph.factor_graph import FactorGraph

# Columns of estimates from which control variates have taken most of the noise.
#
# For every variable, its value minus its conditional probability has mean zero, so any fixed linear
# combination of such differences may be subtracted. The one here would remove all noise of a model
# whose conditionals are linear in the neighbours' values. How much of it to subtract, `theta`, is
# fitted to one half of the columns and used on the other: what corrects a column never depends on
# it.

MAX_SHARE = 1.5  # of the correction that is subtracted
PRIOR = 8.0  # columns that the common share of all variables is worth, beside a variable's own
SMALLEST_SQUARE = 1e-22  # squares below it are rounding

POWER_STEPS = 40  # to find the largest eigenvalue
LARGEST_RADIUS = 0.95  # eigenvalue of the matrix; a larger one is scaled down to it
RADIUS_STRETCHES = (1.0, 1.05, 1.1)  # of a matrix, that are tried out
SLOW_RADIUS = 0.6  # largest eigenvalues below it need no stretching
LEFT_OUT = 0.02  # of the slowest component, by ending the series


class Controls(NamedTuple):
    """A matrix of secants, and how many terms of its series are added up."""

    matrix: csr_array
    terms: int


def apply_controls(
    tallies: Sequence[RaoBlackwellTally],
    records: int,
    controls: Controls,
    joints: Sequence[JointTally] = (),
    joint_matrix: csr_array | None = None,
) -> list[Floats]:
    """Estimates of columns, `[row, column]`; each column of a tally sums up so many records.

    Those of `joints` that were counted beside them follow; `joint_matrix` says how these change
    with the values of variables.
    """
    chances = np.concatenate([tally.sums.sum(axis=0) / records for tally in tallies], axis=1)
    values = np.concatenate([tally.values.sum(axis=0) / records for tally in tallies], axis=1)
    excess = neumann_series(controls.matrix, values - chances, controls.terms)
    estimates = [subtract_excess(chances, excess, tallies[0].row_start)]
    if joint_matrix is not None:
        counts = np.concatenate([joint.sums.sum(axis=0) / records for joint in joints], axis=1)
        joint_excess = joint_matrix @ (values - chances + excess)
        estimates.append(subtract_excess(counts, joint_excess, joints[0].row_start))
    return estimates


def subtract_excess(chances: Floats, excess: Floats, row_start: Indices) -> Floats:
    """Subtract as much of what columns have in excess as other columns say."""
    halves = np.arange(chances.shape[1]) % 2 == 0
    result = chances.copy()
    for half in (halves, ~halves):
        theta = row_shares(chances[:, ~half], excess[:, ~half], row_start)
        result[:, half] -= theta[:, None] * excess[:, half]
    return result


def row_shares(chances: Floats, excess: Floats, row_start: Indices) -> Floats:
    """How much of the excess to subtract, per row; the rows of a variable have one share.

    Each variable's own regression is drawn towards the common one of all.
    """
    centred, centred_excess = _centre(chances), _centre(excess)
    total, both, square = (
        _by_variable((first * second).sum(axis=1), row_start)
        for first, second in (
            (centred, centred),
            (centred, centred_excess),
            (centred_excess, centred_excess),
        )
    )
    noisy = (total > SMALLEST_SQUARE) & (square > SMALLEST_SQUARE)
    scale = np.where(noisy, total, 1.0)
    left, right = (both / scale)[noisy].sum(), (square / scale)[noisy].sum()
    common = min(max(left / right, 0.0), MAX_SHARE) if right > 0.0 else 0.0
    prior = PRIOR / max(chances.shape[1] - 1, 1) * square
    share = np.zeros(len(total))
    share[noisy] = ((both + prior * common) / np.maximum(square + prior, SMALLEST_SQUARE))[noisy]
    return np.repeat(np.clip(share, 0.0, MAX_SHARE), lengths(row_start))


def _centre(columns: Floats) -> Floats:
    deviations: Floats = columns - columns.mean(axis=1, keepdims=True)
    return deviations


def _by_variable(numbers: Floats, row_start: Indices) -> Floats:
    variable: NDArray[np.int64] = np.repeat(np.arange(len(row_start) - 1), lengths(row_start))
    sums: Floats = np.bincount(variable, numbers, minlength=len(row_start) - 1).astype(np.float64)
    return sums


def radii_for(matrix: csr_array) -> list[float]:
    """Largest eigenvalues that a matrix may be scaled to, its own first unless its series diverges.

    Neighbours that change together change a variable by more than the sum of what each of them
    does alone; where many do, near a critical point, a larger matrix says better what follows.
    """
    radius = min(spectral_radius(matrix), LARGEST_RADIUS)
    stretches = RADIUS_STRETCHES if radius > SLOW_RADIUS else RADIUS_STRETCHES[:1]
    return sorted({min(radius * stretch, LARGEST_RADIUS) for stretch in stretches})


def scale_to_radius(matrix: csr_array, radius: float) -> csr_array:
    """The same matrix with another largest eigenvalue."""
    current = spectral_radius(matrix)
    return matrix * (radius / current) if current > 0.0 else matrix


def spectral_radius(matrix: csr_array) -> float:
    """About the largest absolute eigenvalue, by powers of the matrix."""
    vector: Floats = np.random.default_rng(0).normal(size=matrix.shape[0])
    growth = []
    for _ in range(POWER_STEPS):
        size = float(np.linalg.norm(vector))
        if size == 0.0:
            return 0.0
        vector = matrix @ (vector / size)
        growth.append(float(np.linalg.norm(vector)))
    return float(np.exp(np.log(np.maximum(growth[POWER_STEPS // 2 :], 1e-300)).mean()))


def terms_for(radius: float) -> int:
    """How many terms of the series to add up."""
    if radius <= LEFT_OUT:
        return 1
    return math.ceil(math.log(LEFT_OUT) / math.log(radius))


def neumann_series(matrix: csr_array, start: Floats, terms: int) -> Floats:
    """Sum of so many powers of a matrix, from the first on, times each column of `start`.

    So (I - A) u = A d is solved by u = A d + A A d + …, the same for every d: a fixed number of
    terms is a fixed linear map, and that is all that an unbiased estimate needs.
    """
    total: Floats = matrix @ start
    for _ in range(terms - 1):
        total = matrix @ (start + total)
    return total


# What control variates take, known before anything is made of them.

OF_ENTRY = 80  # bytes of a pair of values while secants are made
SECANT, AFFINE = 400.0, 40.0  # what a pair of values costs, beside a factor that an update reads
SMALL_UPDATE_COST = (
    2000.0  # factors read by updates: what is done once costs as much, however small the model
)
SERIES = 150.0  # sweeps that the series may cost, for the columns of one pack


def is_affine(graph: FactorGraph) -> bool:
    """Whether all variables are binary, and all factors finite and of at most two variables."""
    small = graph.arities.max(initial=0) <= 2
    return bool(small and (graph.cardinality == 2).all()) and not graph.has_zeros()


def sensitivity_entries(graph: FactorGraph) -> float:
    """How many pairs of values of neighbours there are, at most."""
    factor_of = graph.factor_of_edge
    sizes = graph.cardinality[graph.scope].astype(np.float64)
    total = np.bincount(factor_of, sizes, minlength=graph.factors)
    return float((total**2 - np.bincount(factor_of, sizes**2, minlength=graph.factors)).sum())


def sensitivity_bytes(graph: FactorGraph) -> float:
    """What secants take at most, while they are made."""
    return OF_ENTRY * sensitivity_entries(graph)


def sensitivity_sweeps(graph: FactorGraph) -> float:
    """About what secants and their series cost, in sweeps."""
    reads = float((graph.arities.astype(np.float64) ** 2).sum())
    each = AFFINE if is_affine(graph) else SECANT
    return each * sensitivity_entries(graph) / max(reads, SMALL_UPDATE_COST) + SERIES


# Factors of one shape, and what they say of one or two of their variables in many states.

LOG_ZERO = -1e8  # stands for minus infinity: differences of such numbers stay numbers

Ints = NDArray[np.int64]


class FactorGroup(NamedTuple):
    """Factors whose variables have the same numbers of values; `scope[factor, position]`.

    Tables begin at `start[factor]` in `table`. Clauses are satisfied by `satisfying`, which tables
    lack.
    """

    shape: tuple[int, ...]
    scope: Ints
    start: Ints
    stride: Ints
    satisfying: Ints | None
    table: Floats

    def of_one(self, states: Bytes, position: int) -> Floats:
        """Log-potentials for the values of one variable: `[factor, own, lane]`."""
        return self.of_two(states, position, None)[:, :, 0]

    def of_two(self, states: Bytes, position: int, other: int | None) -> Floats:
        """Log-potentials for the values of two variables: `[factor, own, other, lane]`."""
        values = states[self.scope]  # [factor, position, lane]
        fixed = [k for k in range(len(self.shape)) if k not in (position, other)]
        if self.satisfying is None:
            return self._of_tables(values, fixed, position, other)
        return self._of_clauses(self.satisfying, values, fixed, position, other)

    def _of_tables(
        self, values: Bytes, fixed: list[int], position: int, other: int | None
    ) -> Floats:
        place = (
            self.start[:, None] + np.arange(self.shape[position]) * self.stride[:, position, None]
        )
        places = place[:, :, None, None]
        if other is not None:
            steps = np.arange(self.shape[other]) * self.stride[:, other, None]
            places = places + steps[:, None, :, None]
        rest = np.zeros((len(values), values.shape[2]), dtype=np.int64)
        for k in fixed:
            rest += values[:, k] * self.stride[:, k, None]
        return self.table[places + rest[:, None, None, :]]

    def _of_clauses(
        self, wanted: Ints, values: Bytes, fixed: list[int], position: int, other: int | None
    ) -> Floats:
        met = (values[:, fixed] == wanted[:, fixed, None]).any(axis=1)[:, None, None, :]
        first = np.arange(self.shape[position]) == wanted[:, position, None]
        met = met | first[:, :, None, None]
        if other is not None:
            second = np.arange(self.shape[other]) == wanted[:, other, None]
            met = met | second[:, None, :, None]
        potentials: Floats = self.table[self.start[:, None, None, None] + met]
        return potentials


def factor_groups(graph: FactorGraph) -> Iterator[FactorGroup]:
    """All factors with variables, by shape; clauses apart from tables."""
    arities = graph.arities
    clauses = np.arange(graph.factors) >= graph.first_clause
    table = np.maximum(graph.table, LOG_ZERO)
    for arity in np.unique(arities[arities > 0]):
        for is_clause in (False, True):
            chosen = np.flatnonzero((arities == arity) & (clauses == is_clause))
            places = graph.edges_of(chosen, arity)
            yield from _by_shape(graph, chosen, places, table, is_clause)


def _by_shape(
    graph: FactorGraph, chosen: Any, places: Ints, table: Floats, is_clause: bool
) -> Iterator[FactorGroup]:
    scope = graph.scope[places].astype(np.int64)
    sizes = graph.cardinality[scope].astype(np.int64)
    order = np.lexsort(sizes.T)
    if not len(order):
        return
    changes = np.flatnonzero((np.diff(sizes[order], axis=0) != 0).any(axis=1)) + 1
    for same in np.split(order, changes):
        yield FactorGroup(
            shape=tuple(sizes[same[0]].tolist()),
            scope=scope[same],
            start=graph.table_start[graph.table_of[chosen[same]]].astype(np.int64),
            stride=graph.stride[places[same]].astype(np.int64),
            satisfying=graph.satisfying[places[same]].astype(np.int64) if is_clause else None,
            table=table,
        )


SENSITIVITY_STATES = 32  # to average over: the mean of a bounded change needs no more
LOG_WEIGHTS_AT_ONCE = 2**22  # log-weights

PAIRS_AT_ONCE = 2**15  # pairs of neighbours: what a processor keeps close by


class Pairs(NamedTuple):
    """Pairs of neighbours with so many values each, and the factors that make them neighbours.

    `sources` has the group and the positions of the pair within it; `adds` sums up what they say.
    """

    variable: Ints
    other: Ints
    shape: tuple[int, int]
    sources: Sequence[tuple[FactorGroup, int, int]]
    adds: csr_array


def sensitivities(graph: FactorGraph, states: Bytes) -> csr_array:
    """The matrix of mean changes, over `states[variable, lane]`; its rows are those of a tally.

    A change that leaves a variable no value counts as none.
    """
    if is_affine(graph):
        return affine_sensitivities(graph, states)
    return factor_sensitivities(graph, states)


def factor_sensitivities(
    graph: FactorGraph, states: Bytes, *, at_once: int = LOG_WEIGHTS_AT_ONCE
) -> csr_array:
    """Do what `sensitivities` does, for any factors; so many log-weights are held `at_once`."""
    groups = list(factor_groups(graph))
    pairs = list(_pairs(graph.variables, groups))
    means = [np.zeros((len(part.variable), _height(part), part.shape[1])) for part in pairs]
    chances = _chances if graph.has_zeros() else _finite_chances
    value_start = np.concatenate([[0], np.cumsum(graph.cardinality, dtype=np.int64)])
    lanes = states.shape[1]
    step = int(np.clip(at_once / max(sensitivity_entries(graph), 1.0), 1, lanes))
    for first in range(0, lanes, step):
        some = states[:, first : first + step]
        weights = _log_weights(value_start, groups, some)
        for part, mean in zip(pairs, means, strict=True):
            mean += chances(part, weights, value_start, some).sum(axis=3) / lanes
    return _matrix(graph, pairs, means)


def _pairs(variables: int, groups: Sequence[FactorGroup]) -> list[Pairs]:
    sources: dict[tuple[int, int], list[tuple[FactorGroup, int, int]]] = {}
    for group in groups:
        arity = len(group.shape)
        for position in range(arity):
            for other in range(arity):
                if position != other and min(group.shape[position], group.shape[other]) > 1:
                    shape = group.shape[position], group.shape[other]
                    sources.setdefault(shape, []).append((group, position, other))
    return [_join_pairs(variables, shape, members) for shape, members in sources.items()]


def _join_pairs(
    variables: int, shape: tuple[int, int], sources: list[tuple[FactorGroup, int, int]]
) -> Pairs:
    """Pairs of variables of one shape; those of several factors are one pair."""
    keys = np.concatenate(
        [g.scope[:, position] * variables + g.scope[:, k] for g, position, k in sources]
    )
    unique, pair = np.unique(keys, return_inverse=True)
    places = (pair.reshape(-1), np.arange(len(keys)))
    adds = csr_array((np.ones(len(keys)), places), shape=(len(unique), len(keys)))
    return Pairs(unique // variables, unique % variables, shape, sources, adds)


def _log_weights(start: Ints, groups: Sequence[FactorGroup], states: Bytes) -> Floats:
    """Log-weights of each value of each variable, all others as they are: `[value, lane]`."""
    total = np.zeros((int(start[-1]), states.shape[1]))
    for group in groups:
        for position, size in enumerate(group.shape):
            terms = group.of_one(states, position).reshape(-1, states.shape[1])
            rows = (start[group.scope[:, position]][:, None] + np.arange(size)).reshape(-1)
            shape = (len(total), len(rows))
            total += csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape) @ terms
    return total


def _height(pairs: Pairs) -> int:
    """Rows of a tally that the first variable of a pair has."""
    return 1 if pairs.shape[0] == 2 else pairs.shape[0]


def _finite_chances(pairs: Pairs, weights: Floats, first: Ints, states: Bytes) -> Floats:
    """Do what `_chances` does where nothing is impossible: log-odds are enough for two values."""
    if pairs.shape[0] != 2:
        return _chances(pairs, weights, first, states)
    rows = first[pairs.variable]
    present = (weights[rows + 1] - weights[rows])[:, None]
    changes = [
        _odds(group.of_two(states, position, other))
        - _odds(group.of_one(states, position))[:, None]
        for group, position, other in pairs.sources
    ]
    flat = np.concatenate([change.reshape(len(change), -1) for change in changes])
    odds = (pairs.adds @ flat).reshape(len(rows), pairs.shape[1], -1) + present
    chances: Floats = expit(odds)[:, None]
    return chances


def _odds(log_potentials: Floats) -> Floats:
    odds: Floats = log_potentials[:, 1] - log_potentials[:, 0]
    return odds


def _chances(pairs: Pairs, weights: Floats, first: Ints, states: Bytes) -> Floats:
    """Chances of one variable for each value of the other: `[pair, row, other, lane]`."""
    rows = first[pairs.variable][:, None] + np.arange(pairs.shape[0])
    present = weights[rows][:, :, None]
    changes = [
        group.of_two(states, position, other) - group.of_one(states, position)[:, :, None]
        for group, position, other in pairs.sources
    ]
    flat = np.concatenate([change.reshape(len(change), -1) for change in changes])
    log_weights = (pairs.adds @ flat).reshape(len(rows), *pairs.shape, -1) + present
    chances = _normalise(log_weights, present)
    return chances[:, 1:] if pairs.shape[0] == 2 else chances


def _normalise(log_weights: Floats, present: Floats) -> Floats:
    """Turn log-weights of `own` into chances; where all are impossible, the present ones count."""
    best = log_weights.max(axis=1, keepdims=True)
    if best.min(initial=0.0) < 0.5 * LOG_ZERO:
        log_weights = np.where(best < 0.5 * LOG_ZERO, present, log_weights)
        best = log_weights.max(axis=1, keepdims=True)
    log_weights -= best
    np.exp(log_weights, out=log_weights)
    log_weights /= log_weights.sum(axis=1, keepdims=True)
    return log_weights


def _matrix(graph: FactorGraph, pairs: Sequence[Pairs], means: Sequence[Floats]) -> csr_array:
    """Put the mean chances of pairs of variables into their places, as changes."""
    start = np.concatenate([[0], np.cumsum(rows_of(graph.cardinality))])
    data, row, column = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for part, mean in zip(pairs, means, strict=True):
        change = _changes(mean)
        rows = start[part.variable][:, None, None] + np.arange(change.shape[1])[:, None]
        columns = start[part.other][:, None, None] + np.arange(change.shape[2])
        data.append(change.reshape(-1))
        row.append(np.broadcast_to(rows, change.shape).reshape(-1))
        column.append(np.broadcast_to(columns, change.shape).reshape(-1))
    places = (np.concatenate(row), np.concatenate(column))
    return csr_array((np.concatenate(data), places), shape=(int(start[-1]), int(start[-1])))


def _changes(chances: Floats) -> Floats:
    """Changes of chances with the other's value."""
    binary = chances.shape[2] == 2
    base = chances[:, :, :1] if binary else chances.mean(axis=2, keepdims=True)
    changes: Floats = chances - base
    return changes[:, :, 1:] if binary else changes


def affine_sensitivities(graph: FactorGraph, states: Bytes) -> csr_array:
    """Mean changes of chances with the value of each neighbour."""
    bias, coupling = _fields(graph)
    values = states.astype(np.float64)
    fields = coupling @ values + bias[:, None]
    variable = np.repeat(np.arange(len(bias)), np.diff(coupling.indptr))
    other, change = coupling.indices, np.zeros(coupling.nnz)
    for first in range(0, len(other), PAIRS_AT_ONCE):
        some = slice(first, first + PAIRS_AT_ONCE)
        strength = coupling.data[some, None]
        low = fields[variable[some]] - strength * values[other[some]]
        change[some] = (expit(low + strength) - expit(low)).mean(axis=1)
    return csr_array((change, other, coupling.indptr), shape=coupling.shape)


def _fields(graph: FactorGraph) -> tuple[Floats, csr_array]:
    """Log-odds of each variable if its neighbours are 0, and what each neighbour adds."""
    bias, nothing = np.zeros(graph.variables), np.zeros((graph.variables, 1), dtype=np.uint8)
    entries: list[tuple[Any, Any, Any]] = []
    for group in factor_groups(graph):
        for position in range(len(group.shape)):
            other = 1 - position if len(group.shape) == 2 else None
            table = group.of_two(nothing, position, other)[..., 0]
            odds = table[:, 1] - table[:, 0]
            np.add.at(bias, group.scope[:, position], odds[:, 0])
            if other is not None:
                entries.append(
                    (odds[:, 1] - odds[:, 0], group.scope[:, position], group.scope[:, other])
                )
    data, row, column = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
    shape = (graph.variables, graph.variables)
    return bias, csr_array((data, (row, column)), shape=shape)


# Joint values that are counted beside a tally: how they change with the values of variables.


def joint_sensitivities(joints: JointTally, cardinality: Indices, states: Bytes) -> csr_array:
    """The matrix of mean changes of counts, over `states[variable, lane]`.

    Its rows are those of the joint values, its columns those of a tally of the variables. A joint
    value is there with one value of a variable, where the others have theirs, and not otherwise.
    """
    start = np.concatenate([[0], np.cumsum(rows_of(cardinality))])
    data, row, column = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for group, first in enumerate(joints.row_start[:-1].tolist()):
        scope = joints.scope[joints.scope_start[group] : joints.scope_start[group + 1]]
        sizes = cardinality[scope].astype(np.int64)
        for axis, variable in enumerate(scope.tolist()):
            others = np.delete(np.arange(len(scope)), axis)
            place = tuple(states[scope[others]].astype(np.int64))
            counts = np.zeros(sizes[others])
            np.add.at(counts, place, 1.0 / states.shape[1])
            change = _changes(np.eye(int(sizes[axis]))[None])[0]
            table = np.expand_dims(counts, (axis, -1)) * change.reshape(
                [sizes[axis] if k == axis else 1 for k in range(len(scope))] + [-1]
            )
            rows = np.broadcast_to(first + np.arange(sizes.prod()).reshape(*sizes, 1), table.shape)
            columns = np.broadcast_to(start[variable] + np.arange(table.shape[-1]), table.shape)
            data.append(table.reshape(-1))
            row.append(rows.reshape(-1))
            column.append(columns.reshape(-1))
    places = (np.concatenate(row), np.concatenate(column))
    shape = (int(joints.row_start[-1]), int(start[-1]))
    return csr_array((np.concatenate(data), places), shape=shape)
