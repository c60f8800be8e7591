"""The Potts model: values that prefer to equal their neighbours', whatever they are."""

import numpy as np
from numpy.typing import ArrayLike

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.models.ising_models import add_scaled, grid_edges, grid_names, spread


def potts_grid(
    rows: int,
    columns: int,
    states: int,
    coupling: ArrayLike,
    field: ArrayLike = 0.0,
    *,
    periodic: bool = False,
) -> Model:
    """Build a Potts model on a grid: `coupling` is earned by each pair of equal neighbours.

    `coupling` is one number or one per edge of `grid_edges`; `field` is what a value earns, an
    array [states] for all sites or [rows, columns, states]. Values are called 0, 1, ….

    >>> potts_grid(2, 2, 3, 0.5).values[0]
    ('0', '1', '2')
    """
    if states < 1:
        raise InputError(f"a Potts model needs at least one state, got {states}")
    sites = rows * columns
    edges = grid_edges(rows, columns, periodic=periodic)
    builder = Builder(np.full(sites, states))
    _add_fields(builder, spread(field, (rows, columns, states), "fields").reshape(sites, states))
    add_scaled(builder, edges, coupling, np.eye(states).reshape(-1))
    values = tuple(str(value) for value in range(states))
    return Model(builder.build(), grid_names(rows, columns), (values,) * sites)


def _add_fields(
    builder: Builder, fields: np.ndarray[tuple[int, int], np.dtype[np.float64]]
) -> None:
    active = np.flatnonzero((fields != 0).any(axis=1))
    if len(active):
        distinct, which = np.unique(fields[active], axis=0, return_inverse=True)
        numbers = builder.add_tables(distinct)
        builder.add_factors(active[:, None], numbers[which.reshape(-1)])
