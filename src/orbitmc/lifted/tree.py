"""Sums over counts of many classes in one group, as with different soft evidence for everybody.

Only how many constants of the whole group are in each cell meets the weights of pairs. So classes
are polynomials in the counts, and a balanced tree multiplies them; the way back down gives the
marginals of all classes. Everything is a sum of positive terms on the log scale: a coefficient far
below the largest one may belong to the largest state in the end.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln

from orbitmc._numba.jit import compiled
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError
from orbitmc.mln.data.database import Ints

IMPOSSIBLE = "no world satisfies all hard rules and the evidence"
NEGLIGIBLE = -45.0  # nats: what is smaller adds nothing
MOST_COEFFICIENTS = 4e6  # of a polynomial
SECONDS_PER_TERM = 6e-9
TERMS_AT_A_TIME = 2e7


@dataclass(frozen=True)
class TreeProblem:
    """Classes of one group: `sizes`, log-weights `log_h[c, m]` of cells, and `log_r` of pairs."""

    sizes: Ints
    log_h: Floats
    log_r: Floats

    @property
    def seconds(self) -> float:
        """About how long the sum takes; infinite if a polynomial is too long."""
        cells = len(self.log_r)
        total = int(self.sizes.sum())
        if (total + 1.0) ** (cells - 1) > MOST_COEFFICIENTS:
            return math.inf
        order = np.sort(self.sizes)
        return SECONDS_PER_TERM * _count_terms(np.concatenate([[0], np.cumsum(order)]), cells)


def _count_terms(ends: Ints, cells: int) -> float:
    """How many products of coefficients the way up and down takes, for classes between `ends`."""
    if len(ends) <= 2:
        return 0.0
    middle = len(ends) // 2
    one, two = ends[middle] - ends[0], ends[-1] - ends[middle]
    lengths = [math.comb(int(size) + cells - 1, cells - 1) for size in (one, two)]
    below = _count_terms(ends[: middle + 1], cells) + _count_terms(ends[middle:], cells)
    return 6.0 * math.prod(lengths) + below


@dataclass(frozen=True)
class _Node:
    """The polynomial of some classes: log-coefficients of `counts`, a row of cells each."""

    size: int
    counts: Ints
    log: Floats
    number: int = -1
    parts: tuple["_Node", ...] = ()

    def places(self, base: int) -> Ints:
        """Where the coefficients are in a dense table for counts below `base`."""
        return np.asarray(self.counts[:, 1:] @ base ** np.arange(self.counts.shape[1] - 1))


@dataclass(frozen=True)
class TreeMoments:
    """The log of the sum, and for each class the mean counts of its cells."""

    problem: TreeProblem
    log_sum: float
    mean: Floats
    dropped: float = 0.0
    states: float = 1.0
    _clamped: dict[int, Floats] = field(default_factory=dict, repr=False, compare=False)

    def pair_law(self, first: int, second: int) -> Floats:
        """How probable the cells of two different constants of two classes are."""
        if first not in self._clamped and second in self._clamped:
            return self.pair_law(second, first).T
        if first not in self._clamped:
            self._clamped[first] = self._clamp(first)
        law = self._clamped[first][:, second]
        others = self.problem.sizes[second] - (first == second)
        return np.asarray(law / others)

    def _clamp(self, number: int) -> Floats:
        """For each cell of one constant of a class: its probability, times all mean counts."""
        problem, cells = self.problem, len(self.problem.log_r)
        sizes = problem.sizes.copy()
        sizes[number] -= 1
        law = np.zeros((cells, len(sizes), cells))
        for cell in np.flatnonzero(np.isfinite(problem.log_h[number])):
            offset = np.zeros(cells, np.int64)
            offset[cell] = 1
            rest = TreeProblem(sizes, problem.log_h, problem.log_r)
            try:
                moments = sum_tree(rest, offset)
            except ContradictionError:
                continue
            log_share = moments.log_sum + problem.log_h[number, cell] - self.log_sum
            law[cell] = math.exp(log_share) * moments.mean
        return law


def sum_tree(problem: TreeProblem, offset: Ints | None = None) -> TreeMoments:
    """Add up all states; `offset` are further constants, whose cells are known."""
    cells = len(problem.log_r)
    filled = np.flatnonzero(problem.sizes > 0)
    mean = np.zeros((len(problem.sizes), cells))
    fixed = np.zeros(cells, np.int64) if offset is None else offset
    if not len(filled):
        return TreeMoments(problem, float(_interaction(fixed[None], problem.log_r)[0]), mean)
    root = _multiply(problem, filled[np.argsort(problem.sizes[filled], kind="stable")])
    outside = _interaction(root.counts + fixed, problem.log_r)
    joint = root.log + outside
    top = float(joint.max(initial=-np.inf))
    if not math.isfinite(top):
        raise ContradictionError(IMPOSSIBLE)
    log_sum = top + math.log(np.exp(joint - top).sum())
    waiting = [(root, outside)]
    while waiting:
        node, outside = waiting.pop()
        if not node.parts:
            law = np.exp(node.log + outside - log_sum)
            mean[node.number] = law @ node.counts
            continue
        base = node.size + 1
        above = np.full(base ** (cells - 1), -np.inf)
        above[node.places(base)] = outside
        for one, two in (node.parts, node.parts[::-1]):
            log = np.empty(len(one.log))
            _correlate(one.places(base), two.places(base), two.log, above, log)
            waiting.append((one, log))
        check_interrupt()
    return TreeMoments(problem, log_sum, mean, states=float(len(root.log)))


def draw_tree(problem: TreeProblem, rng: np.random.Generator, count: int) -> Ints:
    """Independent states: counts of the cells of each class, `[state, class, cell]`."""

    def draw(log: Floats) -> int:
        chances = np.cumsum(np.exp(log - log.max()))
        return int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))

    root, joint = _root(problem, largest=False)
    states = np.zeros((count, *problem.log_h.shape), np.int64)
    for state in states:
        _descend(root, root.counts[draw(joint)], draw, state)
        check_interrupt()
    return states


def best_tree(problem: TreeProblem) -> tuple[Ints, float]:
    """A largest state, and its log-weight."""

    def choose(log: Floats) -> int:
        return int(np.argmax(log))

    root, joint = _root(problem, largest=True)
    state = np.zeros(problem.log_h.shape, np.int64)
    _descend(root, root.counts[choose(joint)], choose, state)
    return state, float(joint.max())


def _root(problem: TreeProblem, *, largest: bool) -> tuple[_Node, Floats]:
    """The polynomial of all classes, and the log-weights of its counts."""
    order = np.argsort(problem.sizes, kind="stable")
    root = _multiply(problem, order, largest=largest)
    joint = root.log + _interaction(root.counts, problem.log_r)
    if not math.isfinite(joint.max(initial=-np.inf)):
        raise ContradictionError(IMPOSSIBLE)
    return root, joint


def _descend(root: _Node, total: Ints, choose: Callable[[Floats], int], state: Ints) -> None:
    """Divide counts among the parts of each node, down to the classes."""
    waiting = [(root, total)]
    while waiting:
        node, counts = waiting.pop()
        if not node.parts:
            state[node.number] = counts
            continue
        one, two = node.parts
        base = node.size + 1
        log = np.full(base ** (len(counts) - 1), -np.inf)
        log[two.places(base)] = two.log
        rest = counts - one.counts
        fits = np.flatnonzero((rest >= 0).all(axis=1))
        places = rest[fits, 1:] @ base ** np.arange(len(counts) - 1)
        chosen = int(fits[choose(one.log[fits] + log[places])])
        waiting += [(one, one.counts[chosen]), (two, rest[chosen])]


def _multiply(problem: TreeProblem, classes: Ints, *, largest: bool = False) -> _Node:
    """The product of the polynomials of some classes; or the largest terms of its coefficients."""
    cells = len(problem.log_r)
    if len(classes) == 1:
        return _leaf(problem, int(classes[0]), largest=largest)
    half = len(classes) // 2
    one = _multiply(problem, classes[:half], largest=largest)
    two = _multiply(problem, classes[half:], largest=largest)
    size = one.size + two.size
    base = size + 1
    dense, sums = np.full(base ** (cells - 1), -np.inf), np.zeros(base ** (cells - 1))
    left, right = one.places(base), two.places(base)
    _find_largest(left, one.log, right, two.log, dense)
    if not largest:
        _convolve(left, one.log, right, two.log, dense, sums)
    check_interrupt()
    counts = _compositions(size, cells)
    log = dense[_Node(size, counts, dense).places(base)]
    possible = np.isfinite(log)
    return _Node(size, counts[possible], log[possible], parts=(one, two))


def _leaf(problem: TreeProblem, number: int, *, largest: bool) -> _Node:
    size = int(problem.sizes[number])
    counts = _compositions(size, len(problem.log_r))
    log_h = problem.log_h[number]
    possible = (counts[:, ~np.isfinite(log_h)] == 0).all(axis=1)
    counts = counts[possible]
    finite = np.where(np.isfinite(log_h), log_h, 0.0)
    log = counts @ finite
    if not largest:
        log = gammaln(size + 1.0) - gammaln(counts + 1.0).sum(axis=1) + log
    return _Node(size, counts, log, number)


def _compositions(size: int, cells: int) -> Ints:
    """All counts of cells that add up to a size, a row each."""
    if cells == 1:
        return np.full((1, 1), size)
    if cells == 2:
        return np.column_stack([size - np.arange(size + 1), np.arange(size + 1)])
    parts = [
        np.column_stack([np.full(len(rest), first), rest])
        for first in range(size + 1)
        for rest in [_compositions(size - first, cells - 1)]
    ]
    return np.concatenate(parts)


def _interaction(counts: Ints, log_r: Floats) -> Floats:
    """What all pairs weigh, for each row of counts."""
    total = np.zeros(len(counts))
    for i in range(len(log_r)):
        for j in range(i + 1):
            pairs = counts[:, i] * counts[:, j] if i != j else counts[:, i] * (counts[:, i] - 1) / 2
            if np.isfinite(log_r[i, j]):
                total += pairs * log_r[i, j]
            else:
                total[pairs > 0] = -np.inf
    return total


@compiled
def _find_largest(
    left: Ints, left_log: Floats, right: Ints, right_log: Floats, top: Floats
) -> None:
    """The largest term of each coefficient of a product; `top` begins at minus infinity."""
    for p in range(len(left)):
        for q in range(len(right)):
            term = left_log[p] + right_log[q]
            if term > top[left[p] + right[q]]:
                top[left[p] + right[q]] = term


@compiled
def _convolve(
    left: Ints, left_log: Floats, right: Ints, right_log: Floats, top: Floats, sums: Floats
) -> None:
    """Log-coefficients of a product, by place: `top` has its largest terms, `sums` are zero."""
    for p in range(len(left)):
        for q in range(len(right)):
            term = left_log[p] + right_log[q] - top[left[p] + right[q]]
            if term > NEGLIGIBLE:
                sums[left[p] + right[q]] += math.exp(term)
    for place in range(len(top)):
        if top[place] > -math.inf:
            top[place] += math.log(sums[place])


@compiled
def _correlate(child: Ints, other: Ints, other_log: Floats, above: Floats, log: Floats) -> None:
    """What all else weighs, for each coefficient of a child."""
    for p in range(len(child)):
        top = -math.inf
        for q in range(len(other)):
            term = other_log[q] + above[child[p] + other[q]]
            if term > top:
                top = term
        total = 0.0
        if top > -math.inf:
            for q in range(len(other)):
                term = other_log[q] + above[child[p] + other[q]] - top
                if term > NEGLIGIBLE:
                    total += math.exp(term)
        log[p] = top + math.log(total) if total > 0.0 else -math.inf
