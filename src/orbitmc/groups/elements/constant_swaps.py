"""Swaps of two constants of one class: every variable that speaks of one moves to the other's.

A variable is known by a code: the numbers of its constants as digits. A swap changes digits, and
the variable with the changed code is where it goes; if there is none, it stays where it is. So
every swap undoes itself, even when the constants are known in different ways.
"""

from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import shared
from orbitmc._util.arrays import Index, Indices, Numbers, lengths

NOBODY = -1


class ConstantSwaps(NamedTuple):
    """Classes of constants, and the variables that speak of them.

    Class `k` has the constants `member[start[k]:start[k + 1]]`, and `class_of` is aligned with
    `member`. Constant `c` has the digit `digit[c]` of kind `kind[c]`, and the variables
    `mention[mention_start[c]:mention_start[c + 1]]` speak of it. Variable `v` has `code[v]` in
    its family. The digits of family `f` are at `place_start[f]:place_start[f + 1]`: each has a
    kind, a radix and a size. The codes of a family, sorted, are
    `known_code[code_start[f]:code_start[f + 1]]`, aligned with their variables in `owner`.
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
def swapped(swaps: ConstantSwaps, variable: Index, one: Index, other: Index) -> tuple[int, bool]:
    """Where the swap of two constants carries a variable, and whether it speaks of `other` too.

    NOBODY stands for an atom that is no variable.
    """
    family = swaps.family[variable]
    kind, ours, theirs = swaps.kind[one], swaps.digit[one], swaps.digit[other]
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
    return NOBODY
