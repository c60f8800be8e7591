"""Sums over counts: how many constants of each class are in each cell.

A state N has a count for each coordinate, a cell of a class; the counts of a class, its block, add
up to its size. Its log-weight is

    f(N) = sum over blocks lgamma(n + 1) + sum over t (h[t] N[t] - lgamma(N[t] + 1)) + N'QN / 2

Boxes of states are halved until they are small enough to be summed, or proven to be negligible:
what is dropped that way is known and told. All values are differences from a state of reference,
which is near the largest one, so large sums do not cancel.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from orbitmc._numba.jit import compiled, shared
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.mln.data.database import Ints

Bools = NDArray[np.bool_]

NEGLIGIBLE = 45.0  # nats below the largest state: a box that has no more is dropped
LEAF = math.log(2e4)  # of states in a box that is summed
FEW = math.log(64)  # of states in a box that is searched for the largest one
FAR = 300.0  # nats above the scale of a sum: the scale moves
BEYOND = 3.0  # times as many states are in boxes as in the ellipsoid that they cover
DEEPEST = 4096  # boxes that wait
WORK_AT_A_TIME = 2e7  # states, about a tenth of a second
BOXES_AT_A_TIME = 100_000
STATES_PER_BOX = 100.0  # that are added up in the time of looking at a box
SECONDS_PER_STATE = 6e-9
ROUNDING = 1e-13  # of log-weights
MOST_COORDINATES = 24  # of a problem whose largest state is looked for before it is asked


class CountProblem(NamedTuple):
    """Linear and quadratic log-weights; `apart` marks coordinates that exclude each other.

    A coordinate apart from itself has at most one constant. `quad` is 0 where `apart`. If the
    `entropy` is 0, the number of ways to deal constants to cells does not count: that is for the
    largest state.
    """

    block: Ints
    total: Ints
    linear: Floats
    quad: Floats
    apart: Bools
    entropy: float = 1.0


@dataclass(frozen=True)
class CountMoments:
    """The log of the sum over all states, and means of counts and of their products.

    `dropped` bounds the share of the sum that was left out; `states` were added up. The sum was
    `total` on the log-scale `scale`.
    """

    log_sum: float
    mean: Floats
    second: Floats
    dropped: float
    states: float
    total: float = 1.0
    scale: float = 0.0


class _Search(NamedTuple):
    """What compiled code reads; `gauge` is `quad` where bounds are tight.

    Without entropy, states that are larger than the best by no more than `slack` are not looked
    for: that is rounding.
    """

    block: Ints
    total: Ints
    reference: Ints
    gradient: Floats
    quad: Floats
    gauge: Floats
    apart: Bools
    log_factorial: Floats
    entropy: float
    slack: float


class _Progress(NamedTuple):
    """Boxes that wait, and sums so far: `numbers` are listed below."""

    low: Ints
    high: Ints
    numbers: Floats
    first: Floats
    second: Floats


class _Memory(NamedTuple):
    """Arrays that compiled code writes to: of a box, of a line, and sums of a box."""

    low: Ints
    high: Ints
    centre: Floats
    slope: Floats
    implied: Ints
    counts: Ints
    distance: Floats
    line: Floats
    first: Floats
    second: Floats


WAITING, TOTAL, SCALE, BEST, DROPPED, STATES, BOXES, DRAWN = range(8)


def sum_counts(
    problem: CountProblem, *, leaf: float = LEAF, most_states: float = math.inf
) -> CountMoments:
    """Add up all states but those that are proven to be negligible.

    A box is added up if the log of its number of states is at most `leaf`. More than `most_states`
    are refused; a box counts as some of them.
    """
    blocks, size = len(problem.total), len(problem.block)
    if size == 0:
        return CountMoments(0.0, np.zeros(0), np.zeros((0, 0)), 0.0, 1.0)
    search, value = _prepare(problem)
    possible = math.isfinite(value)
    progress, memory = _begin(problem, possible)
    while progress.numbers[WAITING] > 0:
        _advance(search, progress, memory, leaf, WORK_AT_A_TIME)
        _require_work(progress, most_states)
    total, scale = progress.numbers[[TOTAL, SCALE]]
    if total <= 0.0:
        raise ContradictionError("no world satisfies all hard rules and the evidence")
    shift, reference = progress.first / total, search.reference
    spread = np.outer(shift, reference)
    second = progress.second / total + spread + spread.T + np.outer(reference, reference)
    base = value if possible else _value(problem, reference, ignore_apart=True)
    parts = [base, scale, math.log(total), *gammaln(problem.total + 1.0).tolist()]
    assert blocks == len(parts) - 3
    return CountMoments(
        math.fsum(parts),
        reference + shift,
        second,
        float(progress.numbers[DROPPED]),
        float(progress.numbers[STATES]),
        float(total),
        float(scale),
    )


def _begin(problem: CountProblem, possible: bool) -> tuple[_Progress, _Memory]:
    """A search that has one box to look at: all states."""
    blocks, size = len(problem.total), len(problem.block)
    progress = _Progress(
        np.zeros((DEEPEST, size), np.int64),
        np.zeros((DEEPEST, size), np.int64),
        np.zeros(8),
        np.zeros(size),
        np.zeros((size, size)),
    )
    memory = _Memory(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(blocks, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros((size, size)),
    )
    progress.high[0] = _most(problem)
    progress.numbers[[WAITING, BEST]] = 1.0, 0.0 if possible else -math.inf
    return progress, memory


def _require_work(progress: _Progress, most_states: float) -> None:
    """Refuse a search that takes far more than was expected."""
    check_interrupt()
    work = progress.numbers[STATES] + STATES_PER_BOX * progress.numbers[BOXES]
    if work > most_states or progress.numbers[WAITING] >= DEEPEST:
        raise LimitError(f"counting takes more than the {most_states:.2g} states expected")


def draw_counts(
    problem: CountProblem, moments: CountMoments, uniform: Floats, *, leaf: float = LEAF
) -> Ints:
    """Independent states, a row for each number between 0 and 1; a second sum finds them all.

    States of equal numbers are equal. What was dropped from the sum is never drawn.
    """
    states = np.zeros((len(uniform), len(problem.block)), np.int64)
    if not len(problem.block):
        return states
    search, value = _prepare(problem)
    progress, memory = _begin(problem, math.isfinite(value))
    order = np.argsort(uniform)
    wanted, drawn = uniform[order] * moments.total, np.zeros_like(states)
    progress.numbers[SCALE] = moments.scale
    while progress.numbers[WAITING] > 0 and progress.numbers[DRAWN] < len(uniform):
        _advance_draws(search, progress, memory, leaf, WORK_AT_A_TIME, wanted, drawn)
        check_interrupt()
    count = int(progress.numbers[DRAWN])
    drawn[count:] = drawn[count - 1]  # rounding of the sum
    states[order] = drawn
    return states


def best_counts(
    problem: CountProblem, *, leaf: float = FEW, most_states: float = math.inf
) -> tuple[Ints, float]:
    """The largest state of a problem without entropy, and its log-weight; that is proven.

    A box is dropped only if none of its states can be larger, but for rounding.
    """
    if not len(problem.block):
        return np.zeros(0, np.int64), 0.0
    assert problem.entropy == 0.0
    search, value = _prepare(problem)
    progress, memory = _begin(problem, math.isfinite(value))
    progress.first[:] = search.reference
    while progress.numbers[WAITING] > 0:
        _advance(search, progress, memory, leaf, WORK_AT_A_TIME)
        _require_work(progress, most_states)
    if not math.isfinite(progress.numbers[BEST]):
        raise ContradictionError("no world satisfies all hard rules and the evidence")
    counts = progress.first.astype(np.int64)
    return counts, _value(problem, counts)


def count_states(problem: CountProblem) -> float:
    """About how many states have to be added up; all of them, or those near the largest."""
    sizes = np.bincount(problem.block, minlength=len(problem.total))
    log_all = sum(
        math.lgamma(total + size) - math.lgamma(total + 1) - math.lgamma(size)
        for total, size in zip(problem.total.tolist(), sizes.tolist(), strict=True)
    )
    everything = math.exp(min(log_all, 700.0))
    if everything < 1e6 or not 0 < len(problem.block) <= MOST_COORDINATES:
        return everything
    return min(everything, _near_reference(problem))


def _near_reference(problem: CountProblem) -> float:
    """How many states are within reach of the largest one, if it is a Gaussian; else infinite."""
    reference, _ = _climb(problem)
    hessian = problem.quad - np.diag(1.0 / (reference + 0.5))
    basis = []
    for block in range(len(problem.total)):
        inside = np.flatnonzero(problem.block == block)
        fullest = inside[np.argmax(reference[inside])]
        for place in inside[inside != fullest]:
            row = np.zeros(len(reference))
            row[place], row[fullest] = 1.0, -1.0
            basis.append(row)
    directions = np.array(basis)
    curvature = -directions @ hessian @ directions.T
    sign, log_determinant = np.linalg.slogdet(curvature)
    if sign <= 0 or np.linalg.eigvalsh(curvature).min() <= 0:
        return math.inf
    size = len(basis)
    log_ball = 0.5 * size * math.log(math.pi) - math.lgamma(size / 2 + 1)
    log_volume = 0.5 * size * math.log(2 * NEGLIGIBLE) + log_ball - 0.5 * log_determinant
    return BEYOND * math.exp(min(log_volume, 700.0)) + math.exp(LEAF) * 2.0**size


def _most(problem: CountProblem) -> Ints:
    """How many constants each coordinate may have."""
    most = problem.total[problem.block]
    return np.where(np.diag(problem.apart), np.minimum(most, 1), most)


def _value(problem: CountProblem, counts: Ints, *, ignore_apart: bool = False) -> float:
    """The log-weight of a state without the multinomials' numerators."""
    if not ignore_apart:
        used = counts > 0
        outside = problem.apart & ~np.eye(len(counts), dtype=np.bool_)
        if outside[np.ix_(used, used)].any() or (counts > _most(problem)).any():
            return -math.inf
    linear = math.fsum((problem.linear * counts).tolist())
    quadratic = 0.5 * math.fsum((counts[:, None] * problem.quad * counts).ravel().tolist())
    return math.fsum([linear, quadratic, *(-problem.entropy * gammaln(counts + 1.0)).tolist()])


def _climb(problem: CountProblem) -> tuple[Ints, float]:
    """A state of large weight: steps within blocks, from every corner and from the middle."""
    starts = _starts(problem)
    possible = [start for start in starts if math.isfinite(_value(problem, start))]
    best, height = starts[0], -math.inf
    for start in possible or [_escape(problem, start) for start in starts]:
        counts = start
        step = max(1, int(problem.total.max()) // 2)
        while step >= 1:
            moved = _best_move(problem, counts, step)
            counts, step = (counts, step // 2) if moved is None else (moved, step)
        value = _value(problem, counts)
        if value > height:
            best, height = counts, value
    return best, height


def _best_move(problem: CountProblem, counts: Ints, step: int) -> Ints | None:
    """Move so many constants from one cell of a class to another, as is best; None if none is."""
    slope = problem.linear + problem.quad @ counts
    diagonal = np.diag(problem.quad)
    gain = step * (slope - slope[:, None])
    gain += 0.5 * step**2 * (diagonal[:, None] + diagonal - 2 * problem.quad)
    fewer = gammaln(counts + 1.0) - gammaln(np.maximum(counts - step, 0) + 1.0)
    more = gammaln(counts + 1.0) - gammaln(counts + step + 1.0)
    gain += problem.entropy * (fewer[:, None] + more)
    allowed = (problem.block[:, None] == problem.block) & (counts >= step)[:, None]
    np.fill_diagonal(allowed, val=False)
    allowed &= counts + step <= _most(problem)
    others = np.where(np.eye(len(counts), dtype=np.bool_), 0, problem.apart)
    excluding = others @ (counts > 0)
    left = (counts == step)[:, None] & (others > 0)  # what excludes a cell may be left empty
    allowed &= excluding - left <= 0
    gain = np.where(allowed, gain, -math.inf)
    source, target = np.unravel_index(np.argmax(gain), gain.shape)
    if gain[source, target] <= 1e-9:
        return None
    moved = counts.copy()
    moved[source] -= step
    moved[target] += step
    return moved


def _escape(problem: CountProblem, start: Ints) -> Ints:
    """Try to leave an impossible state: the first single move that makes it possible."""
    for source in np.flatnonzero(start):
        for target in np.flatnonzero(problem.block == problem.block[source]):
            moved = start.copy()
            moved[target] += moved[source]
            moved[source] = 0
            if source != target and math.isfinite(_value(problem, moved)):
                return moved
    return start


def _starts(problem: CountProblem) -> list[Ints]:
    size = len(problem.block)
    middle = np.zeros(size, np.int64)
    corners = [np.zeros(size, np.int64) for _ in range(size)]
    for block, total in enumerate(problem.total.tolist()):
        inside = np.flatnonzero(problem.block == block)
        middle[inside] = total // len(inside)
        middle[inside[0]] += total - middle[inside].sum()
        for place, corner in enumerate(corners):
            corner[place if problem.block[place] == block else inside[place % len(inside)]] = total
    return [middle, *corners]


def _prepare(problem: CountProblem) -> tuple[_Search, float]:
    reference, value = _climb(problem)
    same = problem.block[:, None] == problem.block
    diagonal = np.diag(problem.quad)
    within = problem.quad - 0.5 * (diagonal[:, None] + diagonal)
    gauge = np.where(same, within, _centre(problem))
    most = int(problem.total.max(initial=0))
    search = _Search(
        problem.block,
        problem.total,
        reference,
        problem.linear + problem.quad @ reference,
        problem.quad,
        gauge,
        problem.apart,
        np.asarray(problem.entropy * gammaln(np.arange(most + 2) + 1.0)),
        problem.entropy,
        ROUNDING * float(np.abs(problem.linear) @ reference),
    )
    return search, value


def _centre(problem: CountProblem) -> Floats:
    """Quadratic weights between blocks without what only adds to the linear ones."""
    centred = problem.quad.copy()
    for first in range(len(problem.total)):
        rows = problem.block == first
        for second in range(len(problem.total)):
            columns = problem.block == second
            part = problem.quad[np.ix_(rows, columns)]
            part = part - part.mean(axis=0) - part.mean(axis=1)[:, None] + part.mean()
            centred[np.ix_(rows, columns)] = part
    return centred


# Compiled: the search.


@shared
def _digamma(count: float) -> float:
    """The derivative of lgamma(count + 1), for counts from 0 on."""
    shifted = count + 1.0
    value = 0.0
    while shifted < 6.0:
        value -= 1.0 / shifted
        shifted += 1.0
    inverse = 1.0 / (shifted * shifted)
    series = inverse * (1 / 12.0 - inverse * (1 / 120.0 - inverse / 252.0))
    return value + math.log(shifted) - 0.5 / shifted - series


@shared
def _tighten(search: _Search, low: Ints, high: Ints) -> bool:
    """Narrow a box by what blocks add up to; whether anything is left."""
    for _ in range(3):
        for t in range(len(low)):
            below, above = 0, 0
            for s in range(len(low)):
                if s != t and search.block[s] == search.block[t]:
                    below += low[s]
                    above += high[s]
            high[t] = min(high[t], search.total[search.block[t]] - below)
            low[t] = max(low[t], search.total[search.block[t]] - above)
            if low[t] > high[t]:
                return False
    return True


@shared
def _undecided(search: _Search, low: Ints, high: Ints) -> int:
    """A coordinate to decide, because another excludes it; -1 if none, -2 if both are used."""
    place = -1
    for t in range(len(low)):
        for s in range(t):
            if search.apart[t, s]:
                if low[t] > 0 and low[s] > 0:
                    return -2
                if high[t] > 0 and high[s] > 0:
                    place = t if low[t] == 0 else s
    return place


@shared
def _bound(
    search: _Search, low: Ints, high: Ints, centre: Floats, slope: Floats
) -> tuple[float, float]:
    """No state of a box is larger; and the log of how many states it has at most."""
    size = len(low)
    for block in range(len(search.total)):
        below, above = 0, 0
        for t in range(size):
            if search.block[t] == block:
                below += low[t]
                above += high[t]
        share = (search.total[block] - below) / (above - below) if above > below else 0.0
        for t in range(size):
            if search.block[t] == block:
                centre[t] = low[t] + share * (high[t] - low[t])
    value = 0.0
    for t in range(size):
        line = 0.0
        for s in range(size):
            line += search.quad[t, s] * (centre[s] - search.reference[s])
        value += (centre[t] - search.reference[t]) * (search.gradient[t] + 0.5 * line)
        slope[t] = search.gradient[t] + line
        if search.entropy > 0.0:
            value -= math.lgamma(centre[t] + 1.0) - search.log_factorial[search.reference[t]]
            slope[t] -= _digamma(centre[t])
    volume = 0.0
    for block in range(len(search.total)):
        # The sum of a block is fixed, so any multiple of it may be taken off the slopes.
        best, widest, logs = math.inf, 0, 0.0
        for m in range(size):
            if search.block[m] != block:
                continue
            widest = max(widest, high[m] - low[m])
            logs += math.log(high[m] - low[m] + 1.0)
            rise = 0.0
            for t in range(size):
                if search.block[t] == block:
                    steep = slope[t] - slope[m]
                    rise += steep * ((high[t] if steep > 0 else low[t]) - centre[t])
            best = min(best, rise)
        value += best
        volume += logs - math.log(widest + 1.0)
    for t in range(size):
        wide = max(high[t] - centre[t], centre[t] - low[t])
        for s in range(size):
            other = max(high[s] - centre[s], centre[s] - low[s])
            value += 0.5 * abs(search.gauge[t, s]) * wide * other
    return value, volume


@shared
def _first_line(search: _Search, low: Ints, high: Ints, implied: Ints) -> int:
    """The coordinate that runs along lines; `implied` gets the fullest one of each block."""
    implied[:] = -1
    for t in range(len(low)):
        block = search.block[t]
        if implied[block] < 0 or search.reference[t] > search.reference[implied[block]]:
            implied[block] = t
    running, width = -1, -1
    for t in range(len(low)):
        if t != implied[search.block[t]] and high[t] - low[t] > width:
            running, width = t, high[t] - low[t]
    return running


@shared
def _complete(
    search: _Search, low: Ints, high: Ints, counts: Ints, implied: Ints, running: int
) -> bool:
    """Give implied coordinates what is left of their blocks; whether it fits into the box."""
    for block in range(len(search.total)):
        left = search.total[block]
        for t in range(len(low)):
            if search.block[t] == block and t != implied[block] and t != running:
                left -= counts[t]
        last = implied[block]
        if running >= 0 and search.block[running] == block:
            counts[running] = low[running]
            counts[last] = left - low[running]
        else:
            counts[last] = left
            if left < low[last] or left > high[last]:
                return False
    return True


@shared
def _next_line(
    search: _Search, low: Ints, high: Ints, counts: Ints, implied: Ints, running: int
) -> bool:
    """Step to the next line of a box; False behind the last one."""
    for t in range(len(low)):
        if t == running or t == implied[search.block[t]]:
            continue
        if counts[t] < high[t]:
            counts[t] += 1
            return True
        counts[t] = low[t]
    return False


@shared
def _find_line(
    search: _Search, memory: _Memory, running: int
) -> tuple[int, int, int, float, float, float]:
    """Where a line of a box begins and ends, its partner, and its log-weights.

    Step `s` moves so many constants to `running`, and takes them from the partner; without what is
    due to these two counts, its log-weight is `base + s * (slope + s * curve)`. There is no line if
    it ends before it begins. `distance` gets what is not on the line.
    """
    low, high, counts, implied = memory.low, memory.high, memory.counts, memory.implied
    d, line = memory.distance, memory.line
    if not _complete(search, low, high, counts, implied, running):
        return 0, -1, -1, 0.0, 0.0, 0.0
    begin, end, partner = 0, 0, -1
    if running >= 0:
        partner = implied[search.block[running]]
        begin = max(0, counts[partner] - high[partner])
        end = min(high[running] - low[running], counts[partner] - low[partner])
    if end < begin:
        return begin, end, partner, 0.0, 0.0, 0.0
    size = len(low)
    base, slope, curve = 0.0, 0.0, 0.0
    for t in range(size):
        d[t] = counts[t] - search.reference[t]
    for t in range(size):
        line[t] = 0.0
        for s in range(size):
            line[t] += search.quad[t, s] * d[s]
        base += d[t] * (search.gradient[t] + 0.5 * line[t])
        base += search.log_factorial[search.reference[t]]
        if t != running and t != partner:
            base -= search.log_factorial[counts[t]]
    if running >= 0:
        slope = search.gradient[running] + line[running]
        slope -= search.gradient[partner] + line[partner]
        curve = 0.5 * (search.quad[running, running] + search.quad[partner, partner])
        curve -= search.quad[running, partner]
    return begin, end, partner, base, slope, curve


@shared
def _sum_box(search: _Search, memory: _Memory, scale: float) -> tuple[float, float]:
    """Add up a box, line by line; the sum, and the largest log-weight.

    The sum is -1 if that is far above the scale. Moments are about the reference.
    """
    low, high, implied, counts = memory.low, memory.high, memory.implied, memory.counts
    d, first, second = memory.distance, memory.first, memory.second
    size = len(low)
    running = _first_line(search, low, high, implied)
    for t in range(size):
        counts[t] = low[t]
    total, top = 0.0, -math.inf
    while True:
        begin, end, partner, base, slope, curve = _find_line(search, memory, running)
        if end >= begin:
            offset, many, few = 0, 0, 0
            if running >= 0:
                few, many = counts[running], counts[partner]
                offset = search.reference[running] - few
                d[running] = 0.0
                d[partner] = many - offset - search.reference[partner]
            part, part1, part2 = 0.0, 0.0, 0.0
            for s in range(begin, end + 1):
                f = base + s * (slope + s * curve)
                if running >= 0:
                    f -= search.log_factorial[few + s] + search.log_factorial[many - s]
                top = max(top, f)
                weight = math.exp(f - scale)
                step = s - offset
                part += weight
                part1 += weight * step
                part2 += weight * step * step
            if top > scale + FAR:
                return -1.0, top
            total += part
            for t in range(size):
                first[t] += part * d[t]
                for s in range(size):
                    second[t, s] += part * d[t] * d[s]
            if running >= 0:
                first[running] += part1
                first[partner] -= part1
                for t in range(size):
                    second[t, running] += part1 * d[t]
                    second[running, t] += part1 * d[t]
                    second[t, partner] -= part1 * d[t]
                    second[partner, t] -= part1 * d[t]
                second[running, running] += part2
                second[partner, partner] += part2
                second[running, partner] -= part2
                second[partner, running] -= part2
        if not _next_line(search, low, high, counts, implied, running):
            return total, top


@shared
def _draw_in_box(
    search: _Search, memory: _Memory, scale: float, before: float, wanted: Floats, states: Ints
) -> int:
    """States of a box at which the sum over all boxes passes the wanted ones; how many these are.

    The sum is `before` where the box begins. What rounding leaves over is its largest state's.
    """
    low, high, implied, counts = memory.low, memory.high, memory.implied, memory.counts
    running = _first_line(search, low, high, implied)
    for t in range(len(low)):
        counts[t] = low[t]
    drawn, top = 0, -math.inf
    while drawn < len(wanted):
        begin, end, partner, base, slope, curve = _find_line(search, memory, running)
        for s in range(begin, end + 1):
            f = base + s * (slope + s * curve)
            if running >= 0:
                f -= search.log_factorial[counts[running] + s]
                f -= search.log_factorial[counts[partner] - s]
            before += math.exp(f - scale)
            heaviest = f > top
            top = max(top, f)
            first = drawn
            while drawn < len(wanted) and before > wanted[drawn]:
                drawn += 1
            for row in range(first, len(wanted) if heaviest else drawn):
                for t in range(len(low)):
                    states[row, t] = counts[t]
                if running >= 0:
                    states[row, running] += s
                    states[row, partner] -= s
        if not _next_line(search, low, high, counts, implied, running):
            break
    return len(wanted)


@shared
def _climb_in_box(search: _Search, progress: _Progress, memory: _Memory) -> None:
    """Keep the largest state of a box, if it is larger than any before."""
    low, high, implied, counts = memory.low, memory.high, memory.implied, memory.counts
    numbers = progress.numbers
    running = _first_line(search, low, high, implied)
    for t in range(len(low)):
        counts[t] = low[t]
    while True:
        begin, end, partner, base, slope, curve = _find_line(search, memory, running)
        for s in range(begin, end + 1):
            f = base + s * (slope + s * curve)
            if f > numbers[BEST]:
                numbers[BEST] = f
                for t in range(len(low)):
                    progress.first[t] = counts[t]
                if running >= 0:
                    progress.first[running] += s
                    progress.first[partner] -= s
        if not _next_line(search, low, high, counts, implied, running):
            break


@shared
def _sum_leaf(search: _Search, progress: _Progress, memory: _Memory) -> None:
    """Add a box to the sums; if it is far above their scale, that moves first."""
    numbers = progress.numbers
    while True:
        memory.first[:] = 0.0
        memory.second[:] = 0.0
        part, top = _sum_box(search, memory, numbers[SCALE])
        if part >= 0.0:
            if numbers[TOTAL] > 0.0 or part > 0.0 or top == -math.inf:
                break
            numbers[SCALE] = top  # all of it is far below
            continue
        factor = math.exp(max(numbers[SCALE] - top, -700.0))
        numbers[TOTAL] *= factor
        for t in range(len(memory.first)):
            progress.first[t] *= factor
            for s in range(len(memory.first)):
                progress.second[t, s] *= factor
        numbers[SCALE] = top
    numbers[TOTAL] += part
    for t in range(len(memory.first)):
        progress.first[t] += memory.first[t]
        for s in range(len(memory.first)):
            progress.second[t, s] += memory.second[t, s]
    numbers[BEST] = max(numbers[BEST], top)


@shared
def _next_leaf(
    search: _Search, progress: _Progress, memory: _Memory, leaf: float, most_boxes: float
) -> float:
    """Take boxes from the stack until one is small enough: the log of how many states it has.

    That is minus infinity if no box is left, or enough were looked at.
    """
    numbers = progress.numbers
    size = len(search.block)
    low, high = memory.low, memory.high
    while numbers[WAITING] > 0 and numbers[BOXES] < most_boxes:
        numbers[BOXES] += 1
        top = int(numbers[WAITING]) - 1
        numbers[WAITING] = top
        for t in range(size):
            low[t] = progress.low[top, t]
            high[t] = progress.high[top, t]
        if not _tighten(search, low, high):
            continue
        place = _undecided(search, low, high)
        if place == -2:
            continue
        middle = 0
        if place < 0:
            bound, volume = _bound(search, low, high, memory.centre, memory.slope)
            if search.entropy == 0.0:
                if bound <= numbers[BEST] + search.slack:
                    continue
            elif bound + volume < numbers[BEST] - NEGLIGIBLE:
                numbers[DROPPED] += math.exp(bound + volume - numbers[BEST])
                continue
            if volume <= leaf:
                return volume
            for t in range(size):
                if place < 0 or high[t] - low[t] > high[place] - low[place]:
                    place = t
            middle = (low[place] + high[place]) // 2
        if top + 2 >= DEEPEST:
            numbers[WAITING] = DEEPEST
            return -math.inf
        near = 0 if search.reference[place] <= middle else 1
        for half in range(2):
            row = top + (1 if half == near else 0)
            for t in range(size):
                progress.low[row, t] = low[t]
                progress.high[row, t] = high[t]
            if half == 0:
                progress.high[row, place] = middle
            else:
                progress.low[row, place] = middle + 1
        numbers[WAITING] = top + 2
    return -math.inf


@compiled
def _advance(
    search: _Search, progress: _Progress, memory: _Memory, leaf: float, work: float
) -> None:
    """Add up boxes, or look for the largest state, until none waits or enough work is done."""
    numbers = progress.numbers
    until, most_boxes = numbers[STATES] + work, numbers[BOXES] + BOXES_AT_A_TIME
    while numbers[STATES] < until:
        volume = _next_leaf(search, progress, memory, leaf, most_boxes)
        if volume == -math.inf:
            return
        if search.entropy == 0.0:
            _climb_in_box(search, progress, memory)
        else:
            _sum_leaf(search, progress, memory)
        numbers[STATES] += math.exp(volume)


@compiled
def _advance_draws(
    search: _Search,
    progress: _Progress,
    memory: _Memory,
    leaf: float,
    work: float,
    wanted: Floats,
    states: Ints,
) -> None:
    """Go through the boxes of a sum once more, and stop where it passes the wanted values.

    The log-scale is the one on which the sum ended, and stays.
    """
    numbers = progress.numbers
    until, most_boxes = numbers[STATES] + work, numbers[BOXES] + BOXES_AT_A_TIME
    while numbers[STATES] < until:
        volume = _next_leaf(search, progress, memory, leaf, most_boxes)
        if volume == -math.inf:
            return
        before = numbers[TOTAL]
        part, top = _sum_box(search, memory, numbers[SCALE])
        numbers[TOTAL] += part
        numbers[BEST] = max(numbers[BEST], top)
        numbers[STATES] += math.exp(volume)
        first = int(numbers[DRAWN])
        last = first
        while last < len(wanted) and wanted[last] < numbers[TOTAL]:
            last += 1
        if last > first:
            numbers[DRAWN] += _draw_in_box(
                search, memory, numbers[SCALE], before, wanted[first:last], states[first:last]
            )
