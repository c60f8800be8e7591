"""Blocks whose rows may be permuted in any way: products of symmetric groups."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orbitmc._util.arrays import Indices, brief, indices, lengths, starts
from orbitmc.errors import InputError


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
        return brief(self)

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
    found = np.asarray(block)
    if found.ndim == 1:
        found = found.reshape(-1, 1)
    if found.ndim != 2 or not np.issubdtype(found.dtype, np.integer):
        raise InputError(f"block {number} must be a list or a matrix of points, got {block!r}")
    if len(found) < 2 or found.shape[1] == 0:
        raise InputError(f"block {number} needs at least two rows to exchange")
    return found.astype(np.int64)


def _check_members(members: np.ndarray, degree: int | None) -> None:
    found, counts = np.unique(members, return_counts=True)
    for member in found[counts > 1]:
        raise InputError(f"blocks must be disjoint, but {member} appears twice")
    for member in found[(found < 0) | (found >= (2**32 if degree is None else degree))]:
        raise InputError(f"there is no point {member} among {degree}, counted from 0")
