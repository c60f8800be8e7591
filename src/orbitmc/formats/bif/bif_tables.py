"""The body of a probability block of BIF: rows, a default, or one table."""

import math
from collections.abc import Sequence

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.text import listed, quoted, suggestion
from orbitmc.formats.bif.bayes import ROUNDING, Beginnings
from orbitmc.formats.bif.bif_scanner import Scanner

BYTES_PER_ENTRY = 32
"""What an entry of a table takes: a weight, its logarithm, and copies while sharing them."""


def read_table(scanner: Scanner, at: int, child: str, values: Sequence[Sequence[str]]) -> Floats:
    """Read a block for parents and, last, a child with these values; gives a row per parents."""
    sizes = [len(own) for own in values]
    rows, default, table = _read_body(scanner, values)
    if table:
        return _child_last(scanner, at, child, table, sizes[-1])
    count = math.prod(sizes[:-1])
    if len(rows) < count and not default:
        missing = next(row for row in range(count) if row not in rows)
        seen = listed(_parent_values(missing, values[:-1]))
        raise scanner.error(
            at, f"{quoted(child)} has no probabilities for ({seen}), and no default"
        )
    full = np.empty((count, sizes[-1]))
    full[:] = default or 0.0
    for row, weights in rows.items():
        full[row] = weights
    return full


def _parent_values(row: int, values: Sequence[Sequence[str]]) -> list[str]:
    """The values of the parents in a row of the table, the last parent fastest."""
    seen: list[str] = []
    for own in reversed(values):
        row, value = divmod(row, len(own))
        seen.append(own[value])
    return seen[::-1]


def _read_body(
    scanner: Scanner, values: Sequence[Sequence[str]]
) -> tuple[dict[int, list[float]], list[float], list[float]]:
    rows: dict[int, list[float]] = {}
    default: list[float] = []
    table: list[float] = []
    numbers = [{value: number for number, value in enumerate(own)} for own in values[:-1]]
    beginnings = [Beginnings(own) for own in values[:-1]]
    scanner.take("{")
    while not scanner.took("}"):
        at = scanner.at
        if scanner.took("("):
            row = _read_row(scanner, numbers, beginnings)
            if row in rows:
                raise scanner.error(at, "this row stands there twice")
            rows[row] = _counted(scanner, len(values[-1]))
        elif scanner.took_word("table"):
            table = _counted(scanner, math.prod(len(own) for own in values))
        elif scanner.took_word("default"):
            default = _counted(scanner, len(values[-1]))
        else:
            scanner.skip_property()
    return rows, default, table


def _read_row(
    scanner: Scanner, numbers: Sequence[dict[str, int]], beginnings: Sequence[Beginnings]
) -> int:
    """Read the values of the parents; gives the number of the row, the last parent fastest."""
    row = 0
    for own, begun in zip(numbers, beginnings, strict=True):
        at = scanner.at
        value = scanner.known("a value of each parent", own, begun)
        if value not in own:
            raise scanner.error(
                at,
                f"unknown value {quoted(value)}{suggestion(value, own)}; expected one of "
                f"{listed(own)}",
            )
        row = row * len(own) + own[value]
        scanner.took(",")
    scanner.take(")")
    return row


def _counted(scanner: Scanner, count: int) -> list[float]:
    at = scanner.at
    weights = scanner.weights("a probability")
    if len(weights) != count:
        raise scanner.error(at, f"expected {count} probabilities, found {len(weights)}")
    return weights


def _child_last(scanner: Scanner, at: int, child: str, table: Sequence[float], size: int) -> Floats:
    """Bring the child from slowest to fastest; refuse a table that plainly has it fastest."""
    given = np.array(table)
    slow = given.reshape(size, -1)
    fast = given.reshape(-1, size)
    if not _sums_to_one(slow, 0) and _sums_to_one(fast, 1):
        raise scanner.error(
            at,
            f"the table of {quoted(child)} must list its first value for all parents, then the "
            "next",
        )
    return np.ascontiguousarray(slow.T)


def _sums_to_one(table: Floats, axis: int) -> bool:
    with np.errstate(over="ignore"):
        return bool((np.abs(table.sum(axis=axis) - 1) <= ROUNDING).all())
