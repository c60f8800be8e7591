"""The compiled loops of Boolean factorisation, on rows of bits.

`ones` must be covered, `zeros` should not be; what is in neither does not matter (a diagonal).
"""

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._numba.tiers import of_all, tiered
from orbitmc._simd.bits import Bits, Matrix, bit_count, has, put
from orbitmc._util.arrays import Numbers

EXHAUSTIVE = 6
"""Up to this many sets, all ways of using them for a row are tried; beyond, one at a time."""


@tiered(of_all)
def best_concept(
    ones: Bits, free: Bits, allowed: Bits, columns: int, rows: Bits, chosen: Bits
) -> int:
    """Grow the rectangle without zeros that covers the most of `free`; gives how much.

    `allowed[column]` are the rows where that column may be covered, and `ones[row]` the columns,
    those that do not matter included. Fills `rows` and `chosen` (columns). From no column at all,
    the column is added that gains most, together with all that come for free.
    """
    gain = 0
    tried_rows, tried = np.empty_like(rows), np.empty_like(chosen)
    best_rows, best = np.empty_like(rows), np.empty_like(chosen)
    rows[:] = ~np.uint64(0)
    chosen[:] = 0
    while True:
        best_gain = gain
        for column in range(columns):
            if has(chosen, column):
                continue
            for word in range(len(rows)):
                tried_rows[word] = rows[word] & allowed[column, word]
            own = _closure_gain(ones, free, tried_rows, tried)
            if own > best_gain:
                best_gain = own
                best_rows[:] = tried_rows
                best[:] = tried
        if best_gain == gain:
            return gain
        gain = best_gain
        rows[:] = best_rows
        chosen[:] = best


@shared
def _closure_gain(ones: Bits, free: Bits, rows: Bits, common: Bits) -> int:
    """Fill `common` with the columns that all rows have; gives what they cover of `free`."""
    common[:] = ~np.uint64(0)
    for row in range(len(ones)):
        if has(rows, row):
            for word in range(len(common)):
                common[word] &= ones[row, word]
    gain = 0
    for row in range(len(ones)):
        if has(rows, row):
            for word in range(len(common)):
                gain += bit_count(common[word] & free[row, word])
    return gain


@tiered(of_all)
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
            total += max(0, _use(free[row], zeros[row], candidates[number]))
        if total > best_gain:
            best, best_gain = number, total
    for row in range(len(free)):
        usage[row] = best >= 0 and _use(free[row], zeros[row], candidates[best]) > 0
    return best


@shared
def _use(free: Bits, zeros: Bits, columns: Bits) -> int:
    gain = 0
    for word in range(len(free)):
        gain += bit_count(free[word] & columns[word]) - bit_count(zeros[word] & columns[word])
    return gain


@tiered(of_all)
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
    return _wrong(ones, zeros, cover)


@shared
def _errors_of(ones: Bits, zeros: Bits, sets: Bits, usage: Matrix, cover: Bits) -> int:
    cover[:] = 0
    for number in range(len(sets)):
        if usage[number]:
            for word in range(len(cover)):
                cover[word] |= sets[number, word]
    return _wrong(ones, zeros, cover)


@shared
def _wrong(ones: Bits, zeros: Bits, cover: Bits) -> int:
    errors = 0
    for word in range(len(cover)):
        errors += bit_count(ones[word] & ~cover[word]) + bit_count(zeros[word] & cover[word])
    return errors


@tiered(of_all)
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
                put(sets[partner[number]], member, usage[member, number])
    return changed
