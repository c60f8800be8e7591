"""Spins that prefer to agree (or not) with their neighbours and with a field.

The log-weight of spins `s = -1, +1` is the sum of `field * s` over spins and of
`coupling * s * s'` over edges; an inverse temperature is already folded in. Value 0 is spin -1,
"down", and value 1 is spin +1, "up".
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.models.grid import grid_edges, grid_names

VALUES = ("down", "up")


def ising(
    fields: ArrayLike,
    edges: ArrayLike,
    couplings: ArrayLike,
    *,
    names: Sequence[str] | None = None,
) -> Model:
    """Build an Ising model on any graph: a field per spin, a pair of spins per coupling.

    A coupling may be one number for all edges. Equal couplings share a table; fields and
    couplings of zero cost nothing. Spins are called s0, s1, … unless `names` says otherwise.

    >>> ising([0.1, 0.0, -0.1], [(0, 1), (1, 2)], 0.5).graph.factors
    4
    """
    spin_fields = np.asarray(fields, dtype=np.float64).reshape(-1)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    spins = len(spin_fields)
    builder = Builder(np.full(spins, 2))
    # spin by spin: (down, up), and (down down, down up, up down, up up)
    add_scaled(builder, np.arange(spins)[:, None], spin_fields, np.array([-1.0, 1.0]))
    add_scaled(builder, pairs, couplings, np.array([1.0, -1.0, -1.0, 1.0]))
    called = tuple(names) if names is not None else tuple(f"s{spin}" for spin in range(spins))
    return Model(builder.build(), called, (VALUES,) * spins)


def ising_grid(
    rows: int,
    columns: int,
    coupling: ArrayLike,
    field: ArrayLike = 0.0,
    *,
    periodic: bool = False,
) -> Model:
    """Build a grid of spins, row by row, called s<row>_<column>.

    `field` is one number or an array [rows, columns]; `coupling` one number or one per edge in
    the order of `grid_edges`. A periodic grid closes each side that is longer than two.

    >>> ising_grid(3, 4, 0.3).names[5]
    's1_1'
    """
    edges = grid_edges(rows, columns, periodic=periodic)
    fields = spread(field, (rows, columns), "fields")
    return ising(fields, edges, coupling, names=grid_names(rows, columns))


def spread(numbers: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Give one number per place: repeat a single one, or check that there are enough."""
    given = np.asarray(numbers, dtype=np.float64)
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        raise InputError(
            f"{what} need the shape {shape} or one number, got {given.shape}"
        ) from None


def add_scaled(
    builder: Builder, scopes: NDArray[np.int64], strengths: ArrayLike, pattern: NDArray[np.float64]
) -> None:
    """Add a factor `strength * pattern` per scope; equal strengths share a table, zero has none."""
    all_strengths = spread(strengths, (len(scopes),), "couplings")
    active = all_strengths != 0
    if not active.any():
        return
    distinct, which = np.unique(all_strengths[active], return_inverse=True)
    with np.errstate(invalid="ignore"):
        numbers = builder.add_tables(distinct[:, None] * pattern)
    builder.add_factors(scopes[active], numbers[which])
