"""Spins that prefer to agree (or not) with their neighbours and with a field.

The log-weight of spins `s = -1, +1` is the sum of `field * s` over spins and of
`coupling * s * s'` over edges; an inverse temperature is already folded in. Value 0 is spin -1,
"down", and value 1 is spin +1, "up".
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import require_beta
from orbitmc.models.couplings import require_one_order, spins_of

VALUES = ("down", "up")


def ising(
    fields: ArrayLike | None = None,
    edges: ArrayLike | None = None,
    couplings: ArrayLike | None = None,
    *,
    J: Any = None,  # noqa: N803
    h: Any = None,
    beta: float = 1.0,
    names: Sequence[str] | None = None,
) -> Model:
    """Build an Ising model on any graph: a field per spin, a pair of spins per coupling.

    P is proportional to exp(beta (Σ h s + Σ J s s')), with s = -1 ("down") or +1 ("up"): a
    positive coupling lets spins agree. Say it by `fields`, `edges` and `couplings` (one number for
    all edges, or one for each; an edge is given in one order only), or by `J` and `h`:

    - `J` as a matrix, NumPy's or a sparse one of SciPy: a symmetric one names each pair twice and
      means it once, a triangular one means what it says. Entries that differ by rounding only are
      the same. Others with a pair in both orders are refused. The diagonal must be zero.
    - `J` as a mapping from pairs to numbers, `h` as a mapping from spins: these may be called
      anything. A pair may be given in one order only.

    Equal couplings share a table; fields and couplings of zero cost nothing. Spins without a name
    of their own are called s0, s1, … unless `names` says otherwise.

    >>> ising([0.1, 0.0, -0.1], [(0, 1), (1, 2)], 0.5).graph.factors
    4
    >>> ising(J=[[0, 0.5], [0.5, 0]], h=[0.1, 0.2]).graph.factors
    3
    >>> ising(J={("a", "b"): 0.5}, h={"c": 1.0}).names
    ('a', 'b', 'c')
    """
    if J is None and h is None:
        if fields is None:
            raise InputError("an Ising model needs fields, edges and couplings, or J and h")
        pairs = np.asarray(() if edges is None else edges, dtype=np.int64).reshape(-1, 2)
        require_one_order(pairs)
        return scaled_ising(fields, pairs, couplings, beta, names=names)
    if fields is not None or edges is not None or couplings is not None:
        raise InputError("give either fields, edges and couplings, or J and h")
    spins = spins_of(J, h)
    called = spins.names if names is None else names
    return scaled_ising(spins.fields, spins.edges, spins.couplings, beta, names=called)


def scaled_ising(
    fields: ArrayLike,
    edges: ArrayLike,
    couplings: ArrayLike | None,
    beta: float,
    *,
    names: Sequence[str] | None = None,
) -> Model:
    """The model of fields, edges and couplings, at an inverse temperature."""
    require_beta(beta)
    spin_fields = beta * np.asarray(fields, dtype=np.float64).reshape(-1)
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    strengths = beta * np.asarray(0.0 if couplings is None else couplings, dtype=np.float64)
    spins = len(spin_fields)
    builder = Builder(np.full(spins, 2))
    # spin by spin: (down, up), and (down down, down up, up down, up up)
    add_scaled(builder, np.arange(spins)[:, None], spin_fields, np.array([-1.0, 1.0]))
    add_scaled(builder, pairs, strengths, np.array([1.0, -1.0, -1.0, 1.0]))
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
