"""Rows of evidence, as people have them, in numbers of values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.text import quoted, suggestion
from orbitmc.errors import InputError
from orbitmc.graph.evidence import resolve
from orbitmc.graph.model import Model

UNSEEN, WRONG, SOFT = -1, -2, -3
"""Instead of the number of a value: not observed, not understood, or weights of values."""

Cell = tuple[int, tuple[float, ...] | None, str]
"""The number of a value, the weights if it is soft, and what is wrong with it."""


@dataclass(frozen=True)
class Rows:
    """What rows say of the variables `names`: `value[k, row]`, and soft evidence by its place.

    `problems` says of rows, by number, what is wrong with them. `ids` are columns that are no
    evidence and belong to the answers.
    """

    names: tuple[str, ...]
    value: Numbers
    soft: Mapping[tuple[int, int], tuple[float, ...]]
    problems: Mapping[int, str]
    ids: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def likelihood(self, column: int, rows: Numbers, size: int) -> Floats:
        """Log-weights [value, row] of a variable in some rows: 0 for all values where unseen."""
        value = self.value[column, rows]
        weights = np.ones((size, len(rows)))
        seen = np.flatnonzero(value >= 0)
        weights[:, seen] = 0.0
        weights[value[seen], seen] = 1.0
        for place in np.flatnonzero(value == SOFT):
            weights[:, place] = self.soft[column, int(rows[place])]
        with np.errstate(divide="ignore"):
            return np.log(weights)


def read_rows(
    model: Model, table: Any, ignore: Sequence[str] = (), ids: Sequence[str] = ()
) -> Rows:
    """Understand a data frame, or mappings from names to what was seen, one for each row.

    A cell is what evidence may be: a value, by name or by number, weights of the values, or None
    or NaN for nothing. A name that is no variable is refused, unless it is to be ignored, or one of
    the `ids`; a value that is none costs its row.
    """
    columns, count = _columns(table)
    domains = model.domains()
    copied = _taken_out(columns, count, ignore, ids)
    for name in columns:
        if name not in domains:
            raise InputError(
                f"the rows have a column {quoted(name)} that is no variable"
                f"{suggestion(str(name), domains)}; if it is not evidence, ignore it (--ignore, "
                "ignore=) or copy it to the answers (--id, id=)"
            )
    value = np.full((len(columns), count), UNSEEN, dtype=np.int64)
    soft: dict[tuple[int, int], tuple[float, ...]] = {}
    problems: dict[int, str] = {}
    for column, (name, cells) in enumerate(columns.items()):
        known: dict[Any, Cell] = {}
        for row, cell in cells:
            number, weights, wrong = _understood(name, cell, domains[name], known)
            value[column, row] = number
            if weights is not None:
                soft[column, row] = weights
            if wrong:
                problems.setdefault(row, wrong)
    rows = Rows(tuple(columns), value, soft, problems, copied)
    for column in range(len(columns)):
        _note_contradictions(model, column, rows, problems)
    return rows


def _taken_out(
    columns: dict[str, Iterable[tuple[int, Any]]],
    count: int,
    ignore: Sequence[str],
    ids: Sequence[str],
) -> dict[str, list[Any]]:
    """Take columns out that are no evidence; gives those that are to be copied."""
    copied: dict[str, list[Any]] = {}
    for name in (*ids, *ignore):
        if name not in columns and name not in copied:
            near = suggestion(str(name), columns)
            raise InputError(f"the rows have no column {quoted(name)}{near}")
        cells = columns.pop(name, ())
        if name in ids:
            copied.setdefault(name, [None] * count)
            for row, cell in cells:
                copied[name][row] = cell
    return copied


def _columns(table: Any) -> tuple[dict[str, Iterable[tuple[int, Any]]], int]:
    """The cells of each column with the numbers of their rows, and how many rows there are."""
    if hasattr(table, "columns") and hasattr(table, "iloc"):
        names = list(table.columns)
        if len(set(names)) < len(names):
            raise InputError("two columns of the rows have the same name")
        every = {name: table.iloc[:, k].tolist() for k, name in enumerate(names)}
        return {name: enumerate(cells) for name, cells in every.items()}, len(table)
    if isinstance(table, Mapping | str | bytes) or not isinstance(table, Iterable):
        raise InputError("rows of evidence are a data frame, or a list with a mapping for each row")
    found: dict[str, list[tuple[int, Any]]] = {}
    rows = list(table)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number} is no mapping from names to values: {quoted(row)}")
        for name, cell in row.items():
            found.setdefault(name, []).append((number, cell))
    return dict(found), len(rows)


def _understood(name: str, cell: Any, values: Sequence[str], known: dict[Any, Cell]) -> Cell:
    """What a cell says; equal cells of a column are looked at once."""
    key = (type(cell), cell)
    try:
        if key not in known:
            known[key] = _looked_up(name, cell, values)
        return known[key]
    except TypeError:  # weights in a mapping or a list have no hash
        return _looked_up(name, cell, values)


def _looked_up(name: str, cell: Any, values: Sequence[str]) -> Cell:
    try:
        found = resolve({name: cell}, {name: values})
    except InputError as error:
        return WRONG, None, str(error)
    if name in found.soft:
        return SOFT, found.soft[name], ""
    return found.hard.get(name, UNSEEN), None, ""


def _note_contradictions(model: Model, column: int, rows: Rows, problems: dict[int, str]) -> None:
    """Note rows that contradict what is observed in all of them."""
    name, value = rows.names[column], rows.value[column]
    known = model.observed.get(name)
    if known is None:
        return
    was = known.values[known.value]
    for row in np.flatnonzero((value >= 0) & (value != known.value)).tolist():
        said = known.values[value[row]]
        problems.setdefault(
            row, f"{quoted(name)} is already observed to be {quoted(was)}, not {quoted(said)}"
        )
    for row in np.flatnonzero(value == SOFT).tolist():
        if rows.soft[column, row][known.value] == 0:
            problems.setdefault(
                row,
                f"{quoted(name)} is already observed to be {quoted(was)}, which has weight 0 here",
            )
