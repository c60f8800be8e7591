"""Couplings and fields of spins, from matrices and mappings as people have them."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.text import names_of
from orbitmc.errors import InputError


def require_one_order(edges: NDArray[np.int64]) -> None:
    """Refuse edges of which one is there in both orders: that doubles what was meant once."""
    if not len(edges):
        return
    width = int(edges.max()) + 1
    falling = edges[:, 0] > edges[:, 1]
    codes = np.sort(edges, axis=1) @ np.array([width, 1])
    twice = np.intersect1d(codes[falling], codes[~falling])
    if len(twice):
        one, other = divmod(int(twice[0]), width)
        raise InputError(
            f"the edge ({one}, {other}) is there in both orders; give it once, with its coupling"
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


def paired(pairs: Sequence[Any], labels: Mapping[Any, int]) -> NDArray[np.int64]:
    """Places of the two spins of each pair."""
    found = [(labels[first], labels[second]) for first, second in pairs]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def number(value: Any, what: str) -> float:
    """A finite number, whatever holds it."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        raise InputError(f"{what} is a finite number, not {value!r}")
    return found


def _mapping(given: Any, what: str) -> Mapping[Any, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"J and h are both arrays or both mappings; {what} is no mapping")
    return given


def _from_mappings(couplings: Mapping[Any, Any], fields: Mapping[Any, Any]) -> Spins:
    for pair in couplings:
        _require_pair(pair, couplings)
    labels: dict[Hashable, int] = {}
    for label in [*(spin for pair in couplings for spin in pair), *fields]:
        labels.setdefault(label, len(labels))
    found = np.zeros(len(labels))
    for label, field in fields.items():
        found[labels[label]] = number(field, f"the field of {label!r}")
    strengths = [number(value, f"the coupling of {pair!r}") for pair, value in couplings.items()]
    return Spins(found, paired(list(couplings), labels), np.array(strengths), names_of(labels))


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
    found = np.zeros(count) if fields is None else _numbers(fields, "h")
    found = np.full(count, found) if found.ndim == 0 else found
    if found.shape != (count,):
        raise InputError(f"h needs {count} numbers or one, got the shape {found.shape}")
    if matrix is None:
        return Spins(found, np.zeros((0, 2), dtype=np.int64), np.zeros(0), None)
    first, second, strengths = _pairs(matrix, _rounding(couplings))
    return Spins(found, np.stack([first, second], axis=1).astype(np.int64), strengths, None)


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
    found = coo_array(plain)
    found.sum_duplicates()
    if not np.isfinite(found.data).all():
        raise InputError("J has an entry that is not a finite number")
    if (found.row == found.col)[found.data != 0].any():
        spin = found.row[(found.row == found.col) & (found.data != 0)][0]
        raise InputError(f"J couples spin {spin} to itself; a field belongs into h")
    return found


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
        one, other = int(both.row[twice[0]]), int(both.col[twice[0]])
        raise InputError(
            f"J has the pair {one}, {other} in both orders and is not symmetric: J[{one}, {other}] "
            f"is {above[one, other]:g}, J[{other}, {one}] is {below[one, other]:g}. Give "
            "a symmetric matrix, which means each pair once, or only its upper triangle, or a "
            "dict of pairs"
        )


def _numbers(given: Any, what: str) -> Floats:
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{what} is an array of numbers") from None
    if not np.isfinite(found).all():
        raise InputError(f"{what} has an entry that is not a finite number")
    return found
