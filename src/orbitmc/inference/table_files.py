"""Tables in files: CSV, whose first line names the variables."""

import csv
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orbitmc._util.arrays import Numbers
from orbitmc._util.text import MEMORY, read_text
from orbitmc.errors import InputError

NOTHING = ("", "NA", "NaN", "nan", "None", "null")
"""Cells that observe nothing, unless a value is called so."""

TRUTHS = {"True": True, "False": False}
WHOLE = re.compile(r"[+-]?[0-9]{1,9}(?:\.0*)?")


@dataclass(frozen=True)
class Kinds:
    """The different cells of a column, and which of them each row has; -1 where none."""

    which: Sequence[int] | Numbers
    values: list[Any]

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for row, kind in enumerate(np.asarray(self.which, dtype=np.int64).tolist()):
            yield row, None if kind < 0 else self.values[kind]


@dataclass(frozen=True)
class Columns:
    """A table by its columns, all of `count` cells."""

    cells: Mapping[str, Kinds]
    count: int


@dataclass(frozen=True)
class TableText:
    """A table as text: titles, rows of cells, and the values of variables."""

    titles: list[str]
    cells: list[list[str]]
    domains: Mapping[str, tuple[str, ...]]

    def columns(self, plain: Container[str]) -> Columns:
        """What the cells of each column say; those of `plain` columns stay text."""
        columns = {}
        for place, name in enumerate(self.titles):
            kinds: dict[str, int] = {}
            which = [
                kinds.setdefault(cells[place], len(kinds)) if place < len(cells) else -1
                for cells in self.cells
            ]
            values = self.domains.get(name, ())
            said = [text if name in plain else _cell(text.strip(), values) for text in kinds]
            columns[name] = Kinds(which, said)
        return Columns(columns, len(self.cells))


def read_table(
    path: str | Path, domains: Mapping[str, tuple[str, ...]], memory: int = MEMORY
) -> TableText:
    """Read a CSV file about variables that have these values."""
    lines = list(csv.reader(read_text(path, memory=memory).content.splitlines()))
    if not lines:
        raise InputError("the table is empty: its first line names the variables", source=str(path))
    titles = [title.strip() for title in lines[0]]
    if len(set(titles)) < len(titles):
        raise InputError("two columns have the same name", source=str(path), line=1)
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if not cells and len(titles) > 1:
            continue  # a blank line at the end
        if len(cells) > len(titles):
            raise InputError(
                f"{len(cells)} cells under {len(titles)} titles", source=str(path), line=number
            )
        rows.append(cells)
    return TableText(titles, rows, domains)


def _cell(text: str, values: tuple[str, ...]) -> str | float | None:
    """A value by its name, or what pandas would read: a number, a truth, or nothing.

    Whole numbers with gaps between them are written as `0.0` by pandas.
    """
    if text in values:
        return text
    if text in NOTHING:
        return None
    if text in TRUTHS:
        return TRUTHS[text]
    return float(text) if WHOLE.fullmatch(text) else text


def read_if_file(
    table: Any, domains: Mapping[str, tuple[str, ...]], plain: Sequence[str] = ()
) -> Any:
    """The columns of a CSV file, if a table is the path of one; else the table itself."""
    if not isinstance(table, str | Path):
        return table
    return read_table(table, domains).columns(plain)
