"""The square grid: which sites are neighbours, and what they are called."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError


def grid_edges(rows: int, columns: int, *, periodic: bool = False) -> NDArray[np.int64]:
    """Pairs of neighbours on a grid numbered row by row: first along rows, then down columns.

    A periodic grid has the closing edges too, but not of a side of one or two sites, where they
    would join a site to itself or repeat an edge.

    >>> grid_edges(2, 2).tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    >>> len(grid_edges(3, 3)), len(grid_edges(3, 3, periodic=True))
    (12, 18)
    """
    if rows < 1 or columns < 1:
        raise InputError(f"a grid needs rows and columns, got {rows} by {columns}")
    sites = np.arange(rows * columns).reshape(rows, columns)
    along = [(sites[:, :-1], sites[:, 1:]), (sites[:-1], sites[1:])]
    if periodic and columns > 2:
        along.insert(1, (sites[:, -1:], sites[:, :1]))
    if periodic and rows > 2:
        along.append((sites[-1:], sites[:1]))
    return np.concatenate([np.stack([a.reshape(-1), b.reshape(-1)], axis=1) for a, b in along])


def grid_names(rows: int, columns: int) -> tuple[str, ...]:
    return tuple(f"s{row}_{column}" for row in range(rows) for column in range(columns))
