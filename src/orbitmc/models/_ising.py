"""Spins with couplings and fields: from mappings and matrices, on grids; Potts models."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.text import format_names
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import require_beta

# Spins that prefer to agree (or not) with their neighbours and with a field.
#
# The log-weight of spins `s = -1, +1` is the sum of `field * s` over spins and of
# `coupling * s * s'` over edges; an inverse temperature is already folded in. Value 0 is spin -1,
# "down", and value 1 is spin +1, "up".

SPIN_VALUES = ("down", "up")


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
    return Model(builder.build(), called, (SPIN_VALUES,) * spins)


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
    fields = broadcast_number(field, (rows, columns), "fields")
    return ising(fields, edges, coupling, names=grid_names(rows, columns))


def broadcast_number(numbers: ArrayLike, shape: tuple[int, ...], what: str) -> NDArray[np.float64]:
    """Give one number per place: repeat a single one, or check that there are enough."""
    array = np.asarray(numbers, dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InputError(
            f"{what} need the shape {shape} or one number, got {array.shape}"
        ) from None


def add_scaled(
    builder: Builder, scopes: NDArray[np.int64], strengths: ArrayLike, pattern: NDArray[np.float64]
) -> None:
    """Add a factor `strength * pattern` per scope; equal strengths share a table, zero has none."""
    all_strengths = broadcast_number(strengths, (len(scopes),), "couplings")
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


def require_one_order(edges: NDArray[np.int64]) -> None:
    """Refuse edges of which one is there in both orders: that doubles what was meant once."""
    if not len(edges):
        return
    width = int(edges.max()) + 1
    falling = edges[:, 0] > edges[:, 1]
    codes = np.sort(edges, axis=1) @ np.array([width, 1])
    twice = np.intersect1d(codes[falling], codes[~falling])
    if len(twice):
        first, second = divmod(int(twice[0]), width)
        raise InputError(
            f"the edge ({first}, {second}) is there in both orders; give it once, with its coupling"
        )


class Spins(NamedTuple):
    """A field per spin, pairs of spins, and a coupling per pair; `names` if spins have any."""

    fields: Floats
    edges: NDArray[np.int64]
    couplings: Floats
    names: tuple[str, ...] | None


def spins_of(couplings: Any, fields: Any) -> Spins:
    """Spins from `J` and `h`, both as arrays or both as mappings; one of them may be missing."""
    if isinstance(couplings, Mapping) or isinstance(fields, Mapping):
        return _from_mappings(_mapping(couplings, "J"), _mapping(fields, "h"))
    return _from_arrays(couplings, fields)


def pair_places(pairs: Sequence[Any], labels: Mapping[Any, int]) -> NDArray[np.int64]:
    """Places of the two spins of each pair."""
    places = [(labels[first], labels[second]) for first, second in pairs]
    return np.array(places, dtype=np.int64).reshape(-1, 2)


def number(value: Any, what: str) -> float:
    """A finite number, whatever holds it."""
    try:
        real = float(value)
    except (TypeError, ValueError):
        real = np.nan
    if not np.isfinite(real):
        raise InputError(f"{what} is a finite number, not {value!r}")
    return real


def _mapping(numbers: Any, what: str) -> Mapping[Any, Any]:
    if numbers is None:
        return {}
    if not isinstance(numbers, Mapping):
        raise InputError(f"J and h are both arrays or both mappings; {what} is no mapping")
    return numbers


def _from_mappings(couplings: Mapping[Any, Any], fields: Mapping[Any, Any]) -> Spins:
    for pair in couplings:
        _require_pair(pair, couplings)
    labels: dict[Hashable, int] = {}
    for label in [*(spin for pair in couplings for spin in pair), *fields]:
        labels.setdefault(label, len(labels))
    values = np.zeros(len(labels))
    for label, field in fields.items():
        values[labels[label]] = number(field, f"the field of {label!r}")
    strengths = [number(value, f"the coupling of {pair!r}") for pair, value in couplings.items()]
    return Spins(
        values, pair_places(list(couplings), labels), np.array(strengths), format_names(labels)
    )


def _require_pair(pair: Any, couplings: Mapping[Any, Any]) -> None:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InputError(f"J names pairs of spins, as (a, b), not {pair!r}")
    if pair[0] == pair[1]:
        raise InputError(f"spin {pair[0]!r} is coupled to itself; a field belongs into h")
    if (pair[1], pair[0]) in couplings:
        raise InputError(f"the pair {pair!r} is there in both orders; give it once, with its sum")


def _from_arrays(couplings: Any, fields: Any) -> Spins:
    matrix = None if couplings is None else _matrix(couplings)
    count = len(np.atleast_1d(fields)) if matrix is None else matrix.shape[0]
    values = np.zeros(count) if fields is None else _numbers(fields, "h")
    values = np.full(count, values) if values.ndim == 0 else values
    if values.shape != (count,):
        raise InputError(f"h needs {count} numbers or one, got the shape {values.shape}")
    if matrix is None:
        return Spins(values, np.zeros((0, 2), dtype=np.int64), np.zeros(0), None)
    first, second, strengths = _pairs(matrix, _rounding(couplings))
    return Spins(values, np.stack([first, second], axis=1).astype(np.int64), strengths, None)


def _rounding(couplings: Any) -> float:
    """How far entries of a matrix may be apart by rounding, as a part of the largest."""
    kind = getattr(couplings, "dtype", np.dtype(np.float64))
    is_short = np.issubdtype(kind, np.floating) and np.finfo(kind).eps > 1e-10
    return 1e-5 if is_short else 1e-9


def _matrix(couplings: Any) -> Any:
    """A square matrix without a diagonal, as a sparse one."""
    from scipy.sparse import coo_array, issparse

    plain = couplings if issparse(couplings) else _numbers(couplings, "J")
    if plain.ndim != 2 or plain.shape[0] != plain.shape[1]:
        raise InputError(f"J is a square matrix, not of the shape {plain.shape}")
    matrix = coo_array(plain)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        raise InputError("J has an entry that is not a finite number")
    if (matrix.row == matrix.col)[matrix.data != 0].any():
        spin = matrix.row[(matrix.row == matrix.col) & (matrix.data != 0)][0]
        raise InputError(f"J couples spin {spin} to itself; a field belongs into h")
    return matrix


def _pairs(matrix: Any, rounding: float) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Each pair once, the smaller spin first.

    A matrix that is symmetric up to rounding names each pair twice; of a pair that is named once,
    the other entry is zero up to rounding. What is neither may mean this or that.
    """
    from scipy.sparse import triu

    above, below = triu(matrix, k=1).tocsr(), triu(matrix.T, k=1).tocsr()
    small = rounding * np.abs(matrix.data).max(initial=0.0)
    if np.abs((above - below).data).max(initial=0.0) <= small:
        upper = (above * 0.5 + below * 0.5).tocoo()  # equal halves add up to the very number
    else:
        _require_once(above, below, small)
        upper = (above + below).tocoo()
    return upper.row, upper.col, np.asarray(upper.data, dtype=np.float64)


def _require_once(above: Any, below: Any, small: float) -> None:
    """Refuse a matrix that has a pair in both orders, and is not symmetric."""
    both = abs(above).minimum(abs(below)).tocoo()
    twice = np.flatnonzero(both.data > small)
    if len(twice):
        first, second = int(both.row[twice[0]]), int(both.col[twice[0]])
        raise InputError(
            f"J has the pair {first}, {second} in both orders and is not symmetric: "
            f"J[{first}, {second}] is {above[first, second]:g}, J[{second}, {first}] is "
            f"{below[first, second]:g}. Give a symmetric matrix, which means each pair once, "
            "or only its upper triangle, or a dict of pairs"
        )


def _numbers(numbers: Any, what: str) -> Floats:
    try:
        array = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is an array of numbers") from None
    if not np.isfinite(array).all():
        raise InputError(f"{what} has an entry that is not a finite number")
    return array


# Energies of binary variables that are quadratic; states weigh exp(-beta E).

SPIN, BINARY = ("-1", "1"), ("0", "1")
VARTYPE_VALUES: Mapping[str, tuple[str, str]] = {"SPIN": SPIN, "BINARY": BINARY}
PATTERNS: Mapping[str, tuple[list[float], list[float]]] = {
    "SPIN": ([-1.0, 1.0], [1.0, -1.0, -1.0, 1.0]),
    "BINARY": ([0.0, 1.0], [0.0, 0.0, 0.0, 1.0]),
}
"""What a linear and a quadratic bias of 1 add to the energy of each state, in order."""


class Quadratic(NamedTuple):
    """An energy: a bias of each variable and of each pair of them, and an offset.

    The variables are numbers -1 and 1 where `vartype` is SPIN, 0 and 1 where it is BINARY.
    """

    vartype: str
    names: tuple[str, ...]
    linear: Floats
    pairs: NDArray[np.int64]
    quadratic: Floats
    offset: float = 0.0


def quadratic_model(energy: Quadratic, beta: float = 1.0) -> Model:
    """The distribution exp(-beta E) of an energy; values are called as the numbers are."""
    require_beta(beta)
    alone, together = (np.array(pattern) for pattern in PATTERNS[energy.vartype])
    count = len(energy.names)
    builder = Builder(np.full(count, 2))
    add_scaled(builder, np.arange(count)[:, None], -beta * energy.linear, alone)
    add_scaled(builder, energy.pairs.reshape(-1, 2), -beta * energy.quadratic, together)
    builder.constant = -beta * energy.offset
    return Model(builder.build(), energy.names, (VARTYPE_VALUES[energy.vartype],) * count)


# The Potts model: values that prefer to equal their neighbours', whatever they are.


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
    _add_fields(
        builder, broadcast_number(field, (rows, columns, states), "fields").reshape(sites, states)
    )
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
