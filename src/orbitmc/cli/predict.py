"""`orbitmc predict`: one question for each row of a table."""

import csv
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from orbitmc import inference
from orbitmc.cli import options
from orbitmc.cli.inputs import as_one
from orbitmc.cli.options import QUESTION
from orbitmc.cli.questions import QuestionCommand, Reply, question

if TYPE_CHECKING:
    from orbitmc.inference._predict import Predictions
    from orbitmc.inference.table_files import TableText


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
    table = inference.read_table(rows, model.domains(), asking.settings.memory)
    ignored, copied = columns_named(table, ignore), columns_named(table, ids)
    predictions = inference.predictions(
        source,
        table.columns({*ignored, *copied}),
        query=inference.names_in(query, source) if query and model is source else as_one(query),
        ignore=ignored,
        ids=copied,
        explain=explain,
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


def columns_named(table: "TableText", typed: Sequence[str] | None) -> list[str]:
    """Columns that an option names: one, or several with commas between."""
    return [
        name
        for text in typed or ()
        for name in ([text] if text in table.titles else options.words_in([text]))
    ]


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
