"""`orbitmc predict`: one question for each row of a table."""

import csv
import json
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from orbitmc import inference
from orbitmc._util.text import read_text
from orbitmc.cli import options
from orbitmc.cli.inputs import as_one
from orbitmc.cli.options import QUESTION
from orbitmc.cli.questions import QuestionCommand, Reply, question
from orbitmc.cli.running import Display
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.inference import Columns
    from orbitmc.inference._predict import Predictions


NOTHING = ("", "NA", "NaN", "nan", "None", "null")
"""Cells that observe nothing, unless a value is called so."""

TRUTHS = {"True": True, "False": False}
WHOLE = re.compile(r"[+-]?[0-9]{1,9}(?:\.0*)?")
BAD_ROWS = 2
RowsFile = Annotated[Path, options.argument("ROWS", "A table as CSV: a column for each variable.")]


IGNORE_HELP = "A column that is no evidence; may be repeated."
ID_HELP = "A column that is copied to the answers instead."
Ignored = Annotated[
    list[str] | None, options.option("--ignore", QUESTION, IGNORE_HELP, metavar="COLUMN")
]
EXPLAIN_HELP = "Give the most probable state of each row, too."
Explain = Annotated[bool, options.option("--explain", QUESTION, EXPLAIN_HELP)]
Ids = Annotated[list[str] | None, options.option("--id", QUESTION, ID_HELP, metavar="COLUMN")]


@question(kinds=(".csv", ".json"), opens_query=True)
def predict(
    asking: QuestionCommand,
    rows: RowsFile,
    query: options.Names = None,
    ignore: Ignored = None,
    ids: Ids = None,
    explain: Explain = False,
) -> Reply:
    """Say how probable values are, for each row of a table."""
    source = asking.source
    model = inference.model_in(source)
    table = read_table(rows, model.domains(), asking.settings.memory)
    predictions = inference.predictions(
        source,
        table.columns({*table.named(ignore), *table.named(ids)}),
        query=inference.names_in(query, source) if query and model is source else as_one(query),
        ignore=table.named(ignore),
        ids=table.named(ids),
        explain=explain,
        progress=None if asking.quiet else _Progress(),
        **asking.how,
    )
    return Reply(
        predictions.about,
        f"{predictions.answered:,} of {predictions.rows:,} rows have an answer",
        predictions.converged,
        table=lambda: csv_pieces(predictions),
        json=lambda: json_pieces(predictions),
        csv=lambda: csv_pieces(predictions),
        code=BAD_ROWS if predictions.problems else 0,
    )


@dataclass(frozen=True)
class Table:
    """A table as text: titles, rows of cells, and the values of variables."""

    titles: list[str]
    cells: list[list[str]]
    domains: Mapping[str, tuple[str, ...]]

    def named(self, typed: Sequence[str] | None) -> list[str]:
        """Columns that an option names: one, or several with commas between."""
        return [
            name
            for text in typed or ()
            for name in ([text] if text in self.titles else options.words_in([text]))
        ]

    def columns(self, plain: Container[str]) -> "Columns":
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
            columns[name] = inference.Kinds(which, said)
        return inference.Columns(columns, len(self.cells))


def read_table(path: Path, domains: Mapping[str, tuple[str, ...]], memory: int) -> Table:
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
    return Table(titles, rows, domains)


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


def csv_pieces(predictions: "Predictions") -> Iterator[str]:
    """A line for each row, after titles `variable=value`; rows without an answer are empty.

    Then come the log-likelihood, the best values if they were asked for, and, if some rows were
    sampled, the verdict of each and the errors of all numbers.
    """
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = [f"{name}={value}" for name, value in predictions.columns]
    errors = (
        ["verdict", *(f"{title} standard_error" for title in titles)] if predictions.sampled else []
    )
    best = [] if predictions.best is None else [f"best {name}" for name in predictions.names]
    writer.writerow(["row", *predictions.ids, *titles, "log_likelihood", *best, *errors])
    for row, numbers in enumerate(predictions.probability.T):
        shown = (*numbers.tolist(), float(predictions.log_likelihood[row]))
        cells = ["" if p != p else f"{p:.9g}" for p in shown]
        if best:
            cells += (predictions.best_of_row(row) or dict.fromkeys(best, "")).values()
        if errors:
            cells.append(predictions.verdict(row))
        if row in predictions.errors:
            cells += [f"{error:.2g}" for error in predictions.errors[row].standard_error]
        writer.writerow([row, *(column[row] for column in predictions.ids.values()), *cells])
        if text.tell() > 2**16:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def json_pieces(predictions: "Predictions") -> Iterator[str]:
    """One object: a list of answers, one for each row, and what is wrong with rows without one."""
    content: dict[str, Any] = {
        "rows": [
            None if numbers[0] != numbers[0] else predictions.by_name(numbers)
            for numbers in predictions.probability.T.tolist()
        ],
        "log_likelihood": [
            number if math.isfinite(number) else None
            for number in predictions.log_likelihood.tolist()
        ],
        "problems": {str(row): predictions.problems[row] for row in sorted(predictions.problems)},
        "sampled": {
            str(row): {
                "verdict": predictions.sampled[row],
                "standard_error": predictions.by_name(
                    predictions.errors[row].standard_error.tolist()
                ),
            }
            for row in sorted(predictions.sampled)
        },
        "interrupted": predictions.about.interrupted,
    }
    if predictions.best is not None:
        content["best"] = [predictions.best_of_row(row) for row in range(predictions.rows)]
    if predictions.ids:
        content["ids"] = {name: list(column) for name, column in predictions.ids.items()}
    yield json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


class _Progress:
    """Says how far it is, now and then."""

    def __init__(self) -> None:
        self.display, self.due = Display(), 0.0

    def __call__(self, done: int, rows: int) -> None:
        import time

        now = time.perf_counter()
        if not self.due:
            self.due = now + self.display.seconds
        if now >= self.due or done == rows:
            if now >= self.due:
                self.display.show(done / max(rows, 1), f"{done:,} of {rows:,} rows")
            self.due = now + self.display.seconds
        if done == rows:
            self.display.close()
