"""Boolean matrices as a few rectangles of ones: which rows, which columns.

`matrix[i, j]` is approximated by "some rectangle has row `i` and column `j`". Rows that are in the
same rectangles are alike, however different they were.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orbitmc._numba.compile_log import require_time, timed
from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, tier
from orbitmc._simd.bits import Bits, Matrix, bit_count, pack_bits, set_bit, test_bit, unpack_bits
from orbitmc._util.arrays import Numbers
from orbitmc.errors import InputError

# The compiled loops of Boolean factorisation, on rows of bits.
#
# `ones` must be covered, `zeros` should not be; what is in neither does not matter (a diagonal).

EXHAUSTIVE = 6
"""Up to this many sets, all ways of using them for a row are tried; beyond, one at a time."""


@tier(of_all)
def add_column(
    ones: Bits, free: Bits, allowed: Bits, columns: int, rows: Bits, chosen: Bits, gain: int
) -> int:
    """Let a rectangle without zeros cover more of `free` than `gain`; gives how much it does then.

    `allowed[column]` are the rows where that column may be covered, and `ones[row]` the columns,
    those that do not matter included. Changes `rows` and `chosen` (columns): the column is added
    that gains most, together with all that come for free.
    """
    tried_rows, tried = np.empty_like(rows), np.empty_like(chosen)
    best_rows, best, best_gain = rows.copy(), chosen.copy(), gain
    for column in range(columns):
        if test_bit(chosen, column):
            continue
        for word in range(len(rows)):
            tried_rows[word] = rows[word] & allowed[column, word]
        closed_gain = _closure_gain(ones, free, tried_rows, tried)
        if closed_gain > best_gain:
            best_gain = closed_gain
            best_rows[:] = tried_rows
            best[:] = tried
    rows[:] = best_rows
    chosen[:] = best
    return best_gain


@shared
def _closure_gain(ones: Bits, free: Bits, rows: Bits, common: Bits) -> int:
    """Fill `common` with the columns that all rows have; gives what they cover of `free`."""
    common[:] = ~np.uint64(0)
    for row in range(len(ones)):
        if test_bit(rows, row):
            for word in range(len(common)):
                common[word] &= ones[row, word]
    gain = 0
    for row in range(len(ones)):
        if test_bit(rows, row):
            for word in range(len(common)):
                gain += bit_count(common[word] & free[row, word])
    return gain


@tier(of_all)
def best_candidate(
    free: Bits, zeros: Bits, candidates: Bits, bounds: Numbers, usage: Matrix
) -> int:
    """Find the set of columns whose use, row by row where it pays, gains most; gives its number.

    `free` are ones and `zeros` zeros that nothing covers yet. No set gains more than its bound,
    and bounds descend, so most sets need no look. Fills `usage` with who uses the set found.
    """
    best, best_gain = -1, 0
    for number in range(len(candidates)):
        if bounds[number] <= best_gain:
            break
        total = 0
        for row in range(len(free)):
            total += max(0, _coverage_gain(free[row], zeros[row], candidates[number]))
        if total > best_gain:
            best, best_gain = number, total
    for row in range(len(free)):
        usage[row] = best >= 0 and _coverage_gain(free[row], zeros[row], candidates[best]) > 0
    return best


@shared
def _coverage_gain(free: Bits, zeros: Bits, columns: Bits) -> int:
    gain = 0
    for word in range(len(free)):
        gain += bit_count(free[word] & columns[word]) - bit_count(zeros[word] & columns[word])
    return gain


@tier(of_all)
def improve_rows(ones: Bits, zeros: Bits, sets: Bits, usage: Matrix) -> bool:
    """Let each row use the sets (rows of bits) that suit it best; tells whether one changed."""
    changed = False
    cover = np.empty(ones.shape[1], dtype=np.uint64)
    for row in range(len(ones)):
        changed = improve_row(ones[row], zeros[row], sets, usage[row], cover) or changed
    return changed


@shared
def improve_row(ones: Bits, zeros: Bits, sets: Bits, usage: Matrix, cover: Bits) -> bool:
    """Choose the sets that make the least errors in one row; of equal ones, the present."""
    if len(sets) > EXHAUSTIVE:
        return _flip_while_better(ones, zeros, sets, usage, cover)
    before = 0
    for number in range(len(sets)):
        before += int(usage[number]) << number
    best, least = before, _errors(ones, zeros, sets, before, cover)
    for pattern in range(1 << len(sets)):
        errors = _errors(ones, zeros, sets, pattern, cover)
        if errors < least:
            best, least = pattern, errors
    for number in range(len(sets)):
        usage[number] = bool((best >> number) & 1)
    return best != before


@shared
def _flip_while_better(ones: Bits, zeros: Bits, sets: Bits, usage: Matrix, cover: Bits) -> bool:
    least = _errors_of(ones, zeros, sets, usage, cover)
    changed = False
    while True:
        best = -1
        for number in range(len(sets)):
            usage[number] = not usage[number]
            errors = _errors_of(ones, zeros, sets, usage, cover)
            usage[number] = not usage[number]
            if errors < least:
                best, least = number, errors
        if best < 0:
            return changed
        usage[best] = not usage[best]
        changed = True


@shared
def _errors(ones: Bits, zeros: Bits, sets: Bits, pattern: int, cover: Bits) -> int:
    cover[:] = 0
    for number in range(len(sets)):
        if (pattern >> number) & 1:
            for word in range(len(cover)):
                cover[word] |= sets[number, word]
    return _cover_errors(ones, zeros, cover)


@shared
def _errors_of(ones: Bits, zeros: Bits, sets: Bits, usage: Matrix, cover: Bits) -> int:
    cover[:] = 0
    for number in range(len(sets)):
        if usage[number]:
            for word in range(len(cover)):
                cover[word] |= sets[number, word]
    return _cover_errors(ones, zeros, cover)


@shared
def _cover_errors(ones: Bits, zeros: Bits, cover: Bits) -> int:
    errors = 0
    for word in range(len(cover)):
        errors += bit_count(ones[word] & ~cover[word]) + bit_count(zeros[word] & cover[word])
    return errors


@tier(of_all)
def improve_members(ones: Bits, zeros: Bits, sets: Bits, partner: Numbers, usage: Matrix) -> bool:
    """The same for a symmetric matrix: a member's bits decide its row and its column at once.

    Who uses a set is a member of its partner: the rows of a rectangle use its columns, and the
    other way round; a set of which all pairs are linked is its own partner.
    """
    changed = False
    cover = np.empty(ones.shape[1], dtype=np.uint64)
    for member in range(len(ones)):
        if improve_row(ones[member], zeros[member], sets, usage[member], cover):
            changed = True
            for number in range(len(sets)):
                set_bit(sets[partner[number]], member, usage[member, number])
    return changed


THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""How often one column must accompany another to be associated with it."""

SECONDS_PER_PLACE = 4e-8  # of a matrix, until rectangles are looked for
SECONDS_PER_WORD = 2e-9  # of bits of a row, for each column that may be covered there
MOST_CANDIDATES = 256  # how many sets of associated columns are tried: those shared by most columns


@dataclass(frozen=True)
class Rectangles:
    """Rectangle `l` covers the rows of `rows[:, l]` in the columns of `columns[:, l]`.

    Symmetric rectangles cover the transposed entries too.
    """

    rows: Matrix
    columns: Matrix
    symmetric: bool = False

    def cover(self) -> Matrix:
        """The matrix that they stand for."""
        return unpack_bits(self.cover_bits(), len(self.columns))

    def cover_bits(self) -> Bits:
        """The same, packed."""
        covered = pack_bits(np.zeros((len(self.rows), len(self.columns)), np.bool_))
        columns, rows = _pack_columns(self.columns), _pack_columns(self.rows)
        for number in range(len(columns)):
            covered[self.rows[:, number]] |= columns[number]
            if self.symmetric:
                covered[self.columns[:, number]] |= rows[number]
        return covered


@dataclass(frozen=True)
class FactorisationTask:
    """What must be covered and what should not, as rows and, turned, as columns of bits.

    On the diagonal of links among the same members, it is neither.
    """

    shape: tuple[int, int]
    ones: Bits
    zeros: Bits
    ones_down: Bits
    zeros_down: Bits
    symmetric: bool

    def errors(self, cover: Bits) -> int:
        wrong = np.bitwise_count((self.ones & ~cover) | (self.zeros & cover))
        return int(wrong.sum(dtype=np.int64))


Shares = NDArray[np.float32]
Finder = Callable[[FactorisationTask, Bits], tuple[Matrix, Matrix]]
"""Finds one more rectangle, given what is covered already."""


def factorise(matrix: Matrix, rank: int) -> Rectangles:
    """The rectangles with the least errors that all methods find, cleaned up after each step.

    More rectangles never make more errors.
    """
    return _best(_factorisation_task(matrix, rank, "plain"), rank)


def factorise_links(links: Matrix, rank: int) -> Rectangles:
    """The same for links among the members of one set; links of a member to itself are ignored.

    If links go both ways, so do the rectangles.
    """
    kind = "symmetric" if np.array_equal(links, links.T) else "links"
    return _best(_factorisation_task(links, rank, kind), rank)


def _factorisation_task(matrix: Matrix, rank: int, kind: str) -> FactorisationTask:
    if rank < 0:
        raise InputError(f"a Boolean rank is 0 or more, got {rank}")
    if matrix.ndim != 2 or matrix.dtype != np.bool_:
        raise InputError(f"expected a matrix of truth values, got {matrix.dtype} {matrix.shape}")
    require_time(SECONDS_PER_PLACE * matrix.size)
    relevant = np.ones_like(matrix)
    if kind != "plain":
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(f"links among the same members are a square, got {matrix.shape}")
        np.fill_diagonal(relevant, val=False)
    ones, zeros = matrix & relevant, ~matrix & relevant
    return FactorisationTask(
        shape=(matrix.shape[0], matrix.shape[1]),
        ones=pack_bits(ones),
        zeros=pack_bits(zeros),
        ones_down=_pack_columns(ones),
        zeros_down=_pack_columns(zeros),
        symmetric=kind == "symmetric",
    )


def _best(question: FactorisationTask, rank: int) -> Rectangles:
    """Each method's errors never grow with the rank, hence neither do those of the best."""
    shares = _association(unpack_bits(question.ones, question.shape[1]))
    tried = [_candidates(shares, threshold) for threshold in timed(THRESHOLDS)]
    different = {candidates.tobytes(): candidates for candidates in tried}
    finders = [_concept, *(_candidate_finder(candidates) for candidates in different.values())]
    results = [_greedy(question, rank, finder) for finder in finders]
    return min(results, key=lambda rectangles: question.errors(rectangles.cover_bits()))


def _greedy(question: FactorisationTask, rank: int, find: Finder) -> Rectangles:
    height, width = question.shape
    rectangles = Rectangles(
        np.zeros((height, 0), np.bool_), np.zeros((width, 0), np.bool_), question.symmetric
    )
    covered = rectangles.cover_bits()
    for _ in timed(range(rank)):
        more = _clean(question, _extend(rectangles, *find(question, covered)))
        cover = more.cover_bits()
        if question.errors(cover) >= question.errors(covered):
            # no method would find anything else next time
            return _pad(rectangles, rank)
        rectangles, covered = more, cover
    return rectangles


def _extend(rectangles: Rectangles, rows: Matrix, columns: Matrix) -> Rectangles:
    return Rectangles(
        np.hstack([rectangles.rows, rows[:, None]]),
        np.hstack([rectangles.columns, columns[:, None]]),
        rectangles.symmetric,
    )


def _pad(rectangles: Rectangles, rank: int) -> Rectangles:
    while rectangles.rows.shape[1] < rank:
        nothing = (
            np.zeros(len(rectangles.rows), np.bool_),
            np.zeros(len(rectangles.columns), np.bool_),
        )
        rectangles = _extend(rectangles, *nothing)
    return rectangles


def _concept(question: FactorisationTask, covered: Bits) -> tuple[Matrix, Matrix]:
    """The rectangle without zeros that covers the most new ones, grown column by column."""
    height, width = question.shape
    ones, free = ~question.zeros, question.ones & ~covered
    rows, chosen = np.zeros_like(question.ones_down[:1]), np.zeros_like(question.ones[:1])
    if not height * width:
        return np.zeros(height, np.bool_), np.zeros(width, np.bool_)
    rows[:] = ~np.uint64(0)
    words = height * width + ones.shape[1] * int(np.bitwise_count(ones).sum(dtype=np.int64))
    gain, before = 0, -1
    while gain > before:
        require_time(SECONDS_PER_WORD * words)
        before = gain
        gain = add_column(ones, free, ~question.zeros_down, width, rows[0], chosen[0], before)
    if not gain:
        return np.zeros(height, np.bool_), np.zeros(width, np.bool_)
    return unpack_bits(rows, height)[0], unpack_bits(chosen, width)[0]


def _association(matrix: Matrix) -> Shares:
    """In which share of the rows of one column another one is found."""
    counts = csr_array(matrix, dtype=np.float32)
    together = (counts.T @ counts).toarray()
    alone = np.maximum(np.diag(together), 1.0)
    shares: Shares = (together / alone[:, None]).astype(np.float32)
    return shares


def _candidates(shares: Shares, threshold: float) -> Bits:
    """For each column, the set of columns found in enough of its rows; no set twice."""
    sets = pack_bits(shares >= threshold)
    counts = Counter(row.tobytes() for row in sets if row.any())
    usual = [row for row, _ in counts.most_common(MOST_CANDIDATES)]
    return np.frombuffer(b"".join(usual), dtype=np.uint64).reshape(-1, sets.shape[1])


def _candidate_finder(candidates: Bits) -> Finder:
    """Take one of the given sets of columns, for the rows where it pays."""

    def find(question: FactorisationTask, covered: Bits) -> tuple[Matrix, Matrix]:
        height, width = question.shape
        usage = np.zeros(height, np.bool_)
        free, zeros = question.ones & ~covered, question.zeros & ~covered
        bounds = unpack_bits(candidates, width) @ unpack_bits(free, width).sum(axis=0)
        order = np.argsort(-bounds, kind="stable")
        sets = candidates[order]
        number = best_candidate(free, zeros, sets, bounds[order], usage)
        if number < 0:
            return usage, np.zeros(width, np.bool_)
        return usage, unpack_bits(sets[number : number + 1], width)[0]

    return find


def _clean(question: FactorisationTask, rectangles: Rectangles) -> Rectangles:
    """Give each row the rectangles that suit it best, then each column, until nothing changes."""
    if question.symmetric:
        grown = _clean_symmetric(question, _symmetrise(rectangles))
        return _clean_symmetric(question, _symmetrise(grown))
    rows, columns = rectangles.rows.copy(), rectangles.columns.copy()
    changed = True
    while changed:
        changed = improve_rows(question.ones, question.zeros, _pack_columns(columns), rows)
        sets = _pack_columns(rows)
        changed = improve_rows(question.ones_down, question.zeros_down, sets, columns) or changed
    return Rectangles(rows, columns)


def _symmetrise(rectangles: Rectangles) -> Rectangles:
    """Where rows and columns are mostly the same members, make them the same.

    Two bits for each member could describe some noise; one makes more members alike.
    """
    either = rectangles.rows | rectangles.columns
    mostly = 2 * (rectangles.rows & rectangles.columns).sum(axis=0) >= either.sum(axis=0)
    rows, columns = (
        np.where(mostly, either, rectangles.rows),
        np.where(mostly, either, rectangles.columns),
    )
    return Rectangles(rows, columns, symmetric=True)


def _clean_symmetric(question: FactorisationTask, rectangles: Rectangles) -> Rectangles:
    square = (rectangles.rows == rectangles.columns).all(axis=0)
    rank, oblong = len(square), np.flatnonzero(~square)
    usage = np.ascontiguousarray(np.hstack([rectangles.rows, rectangles.columns[:, oblong]]))
    sets = _pack_columns(np.hstack([rectangles.columns, rectangles.rows[:, oblong]]))
    partner = np.arange(len(sets))
    partner[oblong], partner[rank:] = partner[rank:].copy(), oblong
    while improve_members(question.ones, question.zeros, sets, partner, usage):
        require_time()
    columns = usage[:, :rank].copy()
    columns[:, oblong] = usage[:, rank:]
    return Rectangles(usage[:, :rank], columns, symmetric=True)


def _pack_columns(matrix: Matrix) -> Bits:
    """Pack the columns of a matrix, a row of bits each."""
    return pack_bits(np.ascontiguousarray(matrix.T))
