"""Blocks whose rows may be permuted in any way, and swaps of constants.

Swaps of two constants of one class: every variable that speaks of one moves to the other's.

A variable is known by a code: the numbers of its constants as digits. A swap changes digits, and
the variable with the changed code is where it goes; if there is none, it stays where it is. So
every swap undoes itself, even when the constants are known in different ways.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orbitmc._numba.jit import shared
from orbitmc._util.arrays import (
    Bytes,
    Index,
    Indices,
    Numbers,
    indices,
    lengths,
    short_repr,
    starts,
)
from orbitmc.errors import InputError

# Blocks whose rows may be permuted in any way: products of symmetric groups.


class ExchangeBlocks(NamedTuple):
    """Disjoint blocks whose rows may be permuted in any way.

    Block `b` is the matrix `member[start[b]:start[b + 1]].reshape(-1, width[b])`; permuting it
    means permuting its rows. Width 1: the members themselves. `block_of` belongs to `member`.
    """

    start: Indices
    width: Indices
    member: Indices
    block_of: Indices

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def blocks(self) -> int:
        return len(self.width)

    @property
    def largest(self) -> int:
        """How many members the largest block has."""
        return int(lengths(self.start).max(initial=0))

    def rows(self, block: int) -> Indices:
        """The matrix of one block."""
        part = self.member[self.start[block] : self.start[block + 1]]
        return part.reshape(-1, int(self.width[block]))


def exchange_blocks(blocks: Iterable[ArrayLike], *, degree: int | None = None) -> ExchangeBlocks:
    """Make blocks of lists of members (width 1) or of matrices whose rows may be permuted.

    >>> exchange_blocks([[0, 1, 2], [[3, 4], [5, 6]]]).width.tolist()
    [1, 2]
    """
    matrices = [_matrix(block, number) for number, block in enumerate(blocks)]
    sizes = np.array([matrix.size for matrix in matrices], dtype=np.int64)
    members = np.concatenate([np.empty(0, dtype=np.int64), *(m.ravel() for m in matrices)])
    _check_members(members, degree)
    return blocks_from_arrays(
        starts(sizes), indices([matrix.shape[1] for matrix in matrices]), indices(members)
    )


def blocks_from_arrays(start: Indices, width: Indices, member: Indices) -> ExchangeBlocks:
    """Put arrays that are known to be right together."""
    return ExchangeBlocks(
        start, width, member, indices(np.repeat(np.arange(len(width)), lengths(start)))
    )


def _matrix(block: ArrayLike, number: int) -> np.ndarray:
    rows = np.asarray(block)
    if rows.ndim == 1:
        rows = rows.reshape(-1, 1)
    if rows.ndim != 2 or not np.issubdtype(rows.dtype, np.integer):
        raise InputError(f"block {number} must be a list or a matrix of points, got {block!r}")
    if len(rows) < 2 or rows.shape[1] == 0:
        raise InputError(f"block {number} needs at least two rows to exchange")
    return rows.astype(np.int64)


def _check_members(members: np.ndarray, degree: int | None) -> None:
    points, counts = np.unique(members, return_counts=True)
    for member in points[counts > 1]:
        raise InputError(f"blocks must be disjoint, but {member} appears twice")
    for member in points[(points < 0) | (points >= (2**32 if degree is None else degree))]:
        raise InputError(f"there is no point {member} among {degree}, counted from 0")


NO_OWNER = -1


class ConstantSwaps(NamedTuple):
    """Classes of constants, and the variables that speak of them.

    Class `k` has the constants `member[start[k]:start[k + 1]]`, and `class_of` is aligned with
    `member`. Constant `c` has the digit `digit[c]` of kind `kind[c]`, and the variables
    `mention[mention_start[c]:mention_start[c + 1]]` speak of it. Variable `v` has `code[v]` in
    its family. The digits of family `f` are at `place_start[f]:place_start[f + 1]`: each has a
    kind, a radix and a size. The codes of a family, sorted, are
    `known_code[code_start[f]:code_start[f + 1]]`, aligned with their variables in `owner`; both
    codes of an atom that is symmetric have one owner. Atoms of relations that no factor says are
    numbered beyond the variables if evidence decides them: `truth` says how.
    """

    start: Indices
    member: Indices
    class_of: Indices
    digit: Numbers
    kind: Indices
    mention_start: Indices
    mention: Indices
    family: Indices
    code: Numbers
    place_start: Indices
    place_kind: Indices
    radix: Numbers
    size: Numbers
    code_start: Indices
    known_code: Numbers
    owner: Indices
    truth: Bytes

    @property
    def variables(self) -> int:
        return len(self.code) - len(self.truth)

    @property
    def classes(self) -> int:
        return len(self.start) - 1

    @property
    def mean_moved(self) -> float:
        """How many variables a swap moves on average, or somewhat fewer."""
        return 2.0 * len(self.mention) / max(1, len(self.member))

    @property
    def most_moved(self) -> int:
        """How many variables a swap moves at most."""
        return 2 * int(lengths(self.mention_start).max(initial=0))


@shared
def swap_image(
    swaps: ConstantSwaps, variable: Index, constant: Index, other: Index
) -> tuple[int, bool]:
    """Where the swap of two constants carries a variable, and whether it speaks of `other` too.

    NOBODY stands for an atom that is no variable.
    """
    family = swaps.family[variable]
    kind, ours, theirs = swaps.kind[constant], swaps.digit[constant], swaps.digit[other]
    code, both = swaps.code[variable], False
    for place in range(swaps.place_start[family], swaps.place_start[family + 1]):
        if swaps.place_kind[place] == kind:
            digit = swaps.code[variable] // swaps.radix[place] % swaps.size[place]
            if digit == ours:
                code += (theirs - ours) * swaps.radix[place]
            elif digit == theirs:
                code += (ours - theirs) * swaps.radix[place]
                both = True
    return _owner_of(swaps, family, code), both


@shared
def _owner_of(swaps: ConstantSwaps, family: int, code: int) -> int:
    """The variable with a code, by halving."""
    low, high = np.int64(swaps.code_start[family]), np.int64(swaps.code_start[family + 1])
    end = high
    while low < high:
        middle = (low + high) // 2
        if swaps.known_code[middle] < code:
            low = middle + 1
        else:
            high = middle
    if low < end and swaps.known_code[low] == code:
        return int(np.int64(swaps.owner[low]))
    return NO_OWNER
