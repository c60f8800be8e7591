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
NUMBERS = ("probability", "standard_error", "low", "high", "ess", "r_hat")


def show_answer(answer: Marginals, console: Console) -> None:
    """Print every value of every variable; coloured on a terminal, plain elsewhere."""
    show(headings(answer), list(rows(answer)), console)


def show(titles: Sequence[str], lines: Sequence[Sequence[str]], console: Console) -> None:
    """Print words in columns."""
    if console.is_terminal:
        console.print(_rich_table(titles, lines))
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


def _is_believed(verdict: str) -> bool:
    return verdict in BELIEVED or verdict.startswith(BOUNDS)


def _rich_table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(Text(title), justify="left" if title in LEFT_ALIGNED else "right")
    for line in lines:
        doubted = titles[-1] == "verdict" and not _is_believed(line[-1])
        table.add_row(*(Text(word) for word in line), style="yellow" if doubted else "")
    return table
