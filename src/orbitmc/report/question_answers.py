"""Answers to questions beside marginals, as JSON, CSV and tables."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from orbitmc.estimate.answers import JOINT_COLUMNS, Estimates, Joint
from orbitmc.estimate.formatting import plain_table, printable, probability
from orbitmc.estimate.marginals import About


def head(about: About, *, converged: bool) -> dict[str, Any]:
    """How an answer was found, in terms that JSON has."""
    return {
        "method": about.method,
        "reason": about.reason,
        "seconds": about.seconds,
        "seed": about.seed,
        "samples": about.samples,
        "chains": about.chains,
        "converged": converged,
        "interrupted": about.interrupted,
        "warnings": list(about.warnings),
    }


def dumped(held: Any) -> str:
    """One JSON object as text."""
    return json.dumps(held, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return file.getvalue()


def joint_json(found: Joint) -> str:
    """Numbers as nested lists, an axis for each name."""
    numbers = {column: getattr(found, column).tolist() for column in (*JOINT_COLUMNS, "rare")}
    held = {
        **head(found.about, converged=found.converged),
        "names": list(found.names),
        "values": [list(words) for words in found.values],
        **numbers,
        "verdict": found.verdict,
    }
    return dumped(held)


def joint_csv(found: Joint) -> str:
    return csv_text((*found.names, *JOINT_COLUMNS, "rare"), _rows_with_rare(found))


def _rows_with_rare(found: Joint) -> Iterator[tuple[Any, ...]]:
    for row, rare in zip(found.rows(), found.rare.reshape(-1).tolist(), strict=True):
        yield (*row, int(rare))


def joint_table(found: Joint) -> str:
    """A line per joint value; errors only where there are any."""
    sure = not np.any(found.standard_error)
    titles = (*found.names, "P") if sure else (*found.names, "P", "±", "95 % interval")
    lines = [_line(found, row, sure) for row in found.rows()]
    return plain_table(list(map(printable, titles)), lines, found.names) + "\n"


def _line(found: Joint, row: tuple[Any, ...], sure: bool) -> list[str]:
    words, numbers = row[: len(found.names)], row[len(found.names) :]
    p, error, low, high = map(probability, numbers)
    return [*map(printable, words), p, *(() if sure else (error, f"{low}…{high}"))]


def estimates_json(found: Estimates) -> str:
    """An object by name."""
    numbers = {name: one.record() for name, one in found.items()}
    return dumped({**head(found.about, converged=found.converged), "estimates": numbers})


def estimates_csv(found: Estimates) -> str:
    rows = [(name, *one.record().values()) for name, one in found.items()]
    return csv_text(("name", "value", "standard_error", "low", "high", "verdict"), rows)


def estimates_table(found: Estimates) -> str:
    """A line per name."""
    sure = all(one.standard_error == 0.0 for one in found.values())
    titles = ("variable", "value", "verdict") if sure else ("variable", "value", "±", "verdict")
    lines = [
        (
            printable(name),
            f"{one.value:.6g}",
            *(() if sure else (f"{one.standard_error:.2g}",)),
            one.verdict,
        )
        for name, one in found.items()
    ]
    return plain_table(titles, lines, ("variable", "verdict")) + "\n"
