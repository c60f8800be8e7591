"""An answer as a table: for terminals, for logs, and for spreadsheets."""

import csv
import io
import math
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.text import LEFT_ALIGNED, headings, plain_table, rows
from orbitmc.estimate.verdicts import BELIEVED, RARE

BOUNDS = (RARE, "at least")  # what is said of rare values
LEAST_NEEDED = ("R-hat", "ESS", "95 % interval", "±")  # the least needed first
GAP = 2  # letters between columns
NUMBERS = ("probability", "standard_error", "low", "high", "ess", "r_hat")


def show_answer(answer: Marginals, console: Console) -> None:
    """Print every value of every variable; coloured on a terminal, plain elsewhere."""
    show(headings(answer), list(rows(answer)), console)


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


def csv_text(answer: Marginals) -> str:
    """One line per value, numbers in full; an error that has no bound is left empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["variable", "value", *NUMBERS, "verdict"])
    for name, marginal in answer.items():
        for place, value in enumerate(marginal.values):
            numbers = [float(getattr(marginal, column)[place]) for column in NUMBERS]
            written = [repr(number) if math.isfinite(number) else "" for number in numbers]
            writer.writerow([name, value, *written, marginal.verdict])
    return file.getvalue()


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
