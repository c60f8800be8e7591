"""An answer as a table: for terminals, for logs, and for spreadsheets."""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orbitmc.estimate.columns import NUMBERS, Columns
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.text import LEFT_ALIGNED, headings, plain_table, rows
from orbitmc.estimate.verdicts import BELIEVED, RARE, VERDICTS
from orbitmc.report.widths import widths

BOUNDS = (RARE, "at least")  # what is said of rare values
LEAST_NEEDED = ("R-hat", "ESS", "95 % interval", "±")  # the least needed first
GAP = 2  # letters between columns
MOST_COLOURED = 2000  # values: colours need the whole table at once
LINES = 4096  # of a plain table that are written together


def show_answer(answer: Marginals, console: Console) -> None:
    """Print every value of every variable; coloured on a terminal, plain elsewhere.

    Long tables are printed line by line, without colours.
    """
    if console.is_terminal and len(answer.columns.probability) <= MOST_COLOURED:
        show(headings(answer), list(rows(answer)), console)
    else:
        for piece in plain_pieces(answer):
            console.file.write(piece)


def show(titles: Sequence[str], lines: Sequence[Sequence[str]], console: Console) -> None:
    """Print words in columns; what a narrow terminal has no room for is left out, and named."""
    if console.is_terminal:
        left_out = _left_out(titles, lines, console.width)
        kept = [place for place, title in enumerate(titles) if title not in left_out]
        fitting = [[line[place] for place in kept] for line in lines]
        console.print(_rich_table([titles[place] for place in kept], fitting))
        if left_out:
            console.print(f"a wider terminal also shows {', '.join(left_out)}", style="dim")
    else:
        console.file.write(plain_table(titles, lines) + "\n")


def plain_pieces(answer: Marginals) -> Iterator[str]:
    """A plain table, some thousand lines at a time: it is never held as a whole."""
    titles = headings(answer)
    sides = ["<" if title in LEFT_ALIGNED else ">" for title in titles]
    line = "  ".join(f"{{:{s}{width}}}" for s, width in zip(sides, widths(answer), strict=True))
    lines = (line.format(*row).rstrip() + "\n" for row in chain([titles], rows(answer)))
    while piece := "".join(islice(lines, LINES)):
        yield piece


def csv_pieces(answer: Marginals) -> Iterator[str]:
    """One line per value, numbers in full; an error that has no bound is left empty."""
    yield ",".join(["variable", "value", *NUMBERS, "verdict"]) + "\n"
    for piece in answer.columns.pieces():
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(_csv_rows(piece))
        yield file.getvalue()


def _csv_rows(piece: Columns) -> Iterator[tuple[str, ...]]:
    numbers = list(zip(*(getattr(piece, column).tolist() for column in NUMBERS), strict=True))
    first = piece.start.tolist()
    for place, name in enumerate(piece.names):
        word = VERDICTS[piece.verdict[place]]
        for k, value in enumerate(piece.values[place], first[place]):
            yield (name, value, *(repr(n) if math.isfinite(n) else "" for n in numbers[k]), word)


def _left_out(titles: Sequence[str], lines: Sequence[Sequence[str]], width: int) -> list[str]:
    """Columns to leave out, so that no number must be cut; words may be broken into lines."""
    needed = {title: _width(title, cells) for title, *cells in zip(titles, *lines, strict=True)}
    left_out: list[str] = []
    for title in LEAST_NEEDED:
        if sum(needed.values()) + GAP * len(needed) <= width:
            break
        if needed.pop(title, None) is not None:
            left_out.insert(0, title)
    return left_out


def _width(title: str, cells: Sequence[str]) -> int:
    """How many letters a column needs at least."""
    if title in LEFT_ALIGNED:
        cells = [word for cell in cells for word in cell.split()]
    return max(map(len, [title, *cells]))


def _is_believed(verdict: str) -> bool:
    return verdict in BELIEVED or verdict.startswith(BOUNDS)


def _rich_table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in titles:
        words = title in LEFT_ALIGNED
        table.add_column(
            Text(title), justify="left" if words else "right", no_wrap=not words, overflow="fold"
        )
    for line in lines:
        doubted = titles[-1] == "verdict" and not _is_believed(line[-1])
        table.add_row(*(Text(word) for word in line), style="yellow" if doubted else "")
    return table
