"""An answer as a table: for terminals, for logs, and for spreadsheets."""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from orbitmc._util.arrays import Floats
from orbitmc.estimate.answers import JOINT_COLUMNS, Estimates, Joint, Sensitivity
from orbitmc.estimate.formatting import (
    CERTAIN_HEADINGS,
    LEFT_ALIGNED,
    VARIABLES_AT_A_TIME,
    count,
    escape_unprintable,
    has_error,
    headings,
    plain_table,
    probability,
    r_hat_in_words,
    rows,
)
from orbitmc.estimate.marginals import MARGINAL_COLUMNS, About, Columns, Marginals
from orbitmc.estimate.verdicts import BELIEVED, RARE, VERDICTS

BOUNDS = (RARE, "at least")  # what is said of rare values
LEAST_NEEDED = ("R-hat", "ESS", "95 % interval", "±")  # the least needed first
COLUMN_GAP = 2  # letters between columns
MOST_COLOURED = 2000  # values: colours need the whole table at once
LINES_AT_A_TIME = 4096  # of a plain table that are written together
THREE_DIGITS = 9.95e-100  # below it, exponents have three


def show_answer(answer: Marginals, console: Console, *, most_coloured: int = MOST_COLOURED) -> None:
    """Print every value of every variable; coloured on a terminal, plain elsewhere.

    Long tables are printed line by line, without colours.
    """
    if console.is_terminal and len(answer.columns.probability) <= most_coloured:
        show(headings(answer), list(rows(answer)), console)
    else:
        for piece in plain_pieces(answer):
            console.file.write(piece)


def show(titles: Sequence[str], lines: Sequence[Sequence[str]], console: Console) -> None:
    """Print words in columns; what a narrow terminal has no room for is left out, and named."""
    if console.is_terminal:
        left_out = _columns_to_drop(titles, lines, console.width)
        columns = [place for place, title in enumerate(titles) if title not in left_out]
        fitting = [[line[place] for place in columns] for line in lines]
        console.print(_rich_table([titles[place] for place in columns], fitting))
        if left_out:
            console.print(f"a wider terminal also shows {', '.join(left_out)}", style="dim")
    else:
        console.file.write(plain_table(titles, lines) + "\n")


def plain_pieces(
    answer: Marginals,
    rows_at_a_time: int = VARIABLES_AT_A_TIME,
    lines_at_a_time: int = LINES_AT_A_TIME,
) -> Iterator[str]:
    """A plain table, some thousand lines at a time: it is never held as a whole."""
    titles = headings(answer)
    sides = ["<" if title in LEFT_ALIGNED else ">" for title in titles]
    line = "  ".join(f"{{:{s}{width}}}" for s, width in zip(sides, _widths(answer), strict=True))
    words = rows(answer, rows_at_a_time)
    lines = (line.format(*row).rstrip() + "\n" for row in chain([titles], words))
    while piece := "".join(islice(lines, lines_at_a_time)):
        yield piece


def csv_pieces(answer: Marginals, rows_at_a_time: int = VARIABLES_AT_A_TIME) -> Iterator[str]:
    """One line per value, numbers in full; an error that has no bound is left empty."""
    yield ",".join(["variable", "value", *MARGINAL_COLUMNS, "verdict"]) + "\n"
    for piece in answer.columns.pieces(rows_at_a_time):
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(_csv_rows(piece))
        yield file.getvalue()


def _csv_rows(piece: Columns) -> Iterator[tuple[str, ...]]:
    numbers = list(
        zip(*(getattr(piece, column).tolist() for column in MARGINAL_COLUMNS), strict=True)
    )
    first = piece.start.tolist()
    for place, name in enumerate(piece.names):
        word = VERDICTS[piece.verdict[place]]
        for k, value in enumerate(piece.values[place], first[place]):
            yield (name, value, *(repr(n) if math.isfinite(n) else "" for n in numbers[k]), word)


def _columns_to_drop(
    titles: Sequence[str], lines: Sequence[Sequence[str]], width: int
) -> list[str]:
    """Columns to leave out, so that no number must be cut; words may be broken into lines."""
    needed = {title: _width(title, cells) for title, *cells in zip(titles, *lines, strict=True)}
    left_out: list[str] = []
    for title in LEAST_NEEDED:
        if sum(needed.values()) + COLUMN_GAP * len(needed) <= width:
            break
        if needed.pop(title, None) is not None:
            left_out.insert(0, title)
    return left_out


def _width(title: str, cells: Sequence[str]) -> int:
    """How many letters a column needs at least."""
    if title in LEFT_ALIGNED:
        cells = [word for cell in cells for word in cell.split()]
    return max(map(len, [title, *cells]))


def _rich_table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in titles:
        words = title in LEFT_ALIGNED
        table.add_column(
            Text(title), justify="left" if words else "right", no_wrap=not words, overflow="fold"
        )
    for line in lines:
        believed = line[-1] in BELIEVED or line[-1].startswith(BOUNDS)
        doubted = titles[-1] == "verdict" and not believed
        table.add_row(*(Text(word) for word in line), style="yellow" if doubted else "")
    return table


def _widths(answer: Marginals) -> tuple[int, ...]:
    """How wide each column will be, known before its words are made; the last is not filled up."""
    titles, columns = headings(answer), answer.columns
    words = (
        _longest(columns.names),
        _longest(value for words_of in set(columns.values) for value in words_of),
    )
    p = _widest(columns.probability)
    numbers = (p, *_errors(columns)[: len(titles) - len(CERTAIN_HEADINGS)])
    return tuple(map(max, map(len, titles), (*words, *numbers, 1)))


def _errors(columns: Columns) -> tuple[int, int, int, int]:
    uncertain, sampled = has_error(columns), np.isfinite(columns.ess)
    if not uncertain.any():
        return 0, 0, 0, 0
    low, high = (_lengths(column[uncertain]) for column in (columns.low, columns.high))
    ess = columns.ess[sampled].max(initial=0.0)
    r_hat = columns.r_hat[sampled].max(initial=1.0)
    return (
        _widest(columns.standard_error[uncertain]),
        int((low + 1 + high).max()),
        len(count(float(ess))),
        len(r_hat_in_words(float(r_hat))),
    )


def _lengths(numbers: Floats) -> Floats:
    """How many letters `probability` makes of each number."""
    return np.where((numbers == 0.0) | (numbers == 1.0), 1, np.where(numbers < THREE_DIGITS, 8, 7))


def _widest(numbers: Floats) -> int:
    """The smallest number that is no certainty has the longest text."""
    between = numbers[(numbers != 0.0) & (numbers != 1.0)]
    return len(probability(float(between.min()))) if len(between) else 1


def _longest(words: Iterable[str]) -> int:
    return max((len(escape_unprintable(word)) for word in words), default=0)


# Answers to questions beside marginals, as JSON, CSV and tables.


def json_header(about: About, *, converged: bool) -> dict[str, Any]:
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
        **({"errors_from": about.errors_from} if about.errors_from else {}),
    }


def dump_json(value: Any) -> str:
    """One JSON object as text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(titles)
    writer.writerows(rows)
    return file.getvalue()


def joint_json(joint: Joint) -> str:
    """Numbers as nested lists, an axis for each name."""
    numbers = {column: getattr(joint, column).tolist() for column in (*JOINT_COLUMNS, "rare")}
    fields = {
        **json_header(joint.about, converged=joint.converged),
        "names": list(joint.names),
        "values": [list(words) for words in joint.values],
        **numbers,
        "verdict": joint.verdict,
    }
    return dump_json(fields)


def joint_csv(joint: Joint) -> str:
    return csv_text((*joint.names, *JOINT_COLUMNS, "rare"), _rows_with_rare(joint))


def _rows_with_rare(joint: Joint) -> Iterator[tuple[Any, ...]]:
    for row, rare in zip(joint.rows(), joint.rare.reshape(-1).tolist(), strict=True):
        yield (*row, int(rare))


def joint_table(joint: Joint) -> str:
    """A line per joint value; errors only where there are any."""
    sure = not np.any(joint.standard_error)
    titles = (*joint.names, "P") if sure else (*joint.names, "P", "±", "95 % interval")
    lines = [_line(joint, row, sure) for row in joint.rows()]
    return plain_table(list(map(escape_unprintable, titles)), lines, joint.names) + "\n"


def _line(joint: Joint, row: tuple[Any, ...], sure: bool) -> list[str]:
    words, numbers = row[: len(joint.names)], row[len(joint.names) :]
    p, error, low, high = map(probability, numbers)
    return [*map(escape_unprintable, words), p, *(() if sure else (error, f"{low}…{high}"))]


def estimates_json(estimates: Estimates) -> str:
    """An object by name."""
    numbers = {name: estimate.record() for name, estimate in estimates.items()}
    return dump_json(
        {**json_header(estimates.about, converged=estimates.converged), "estimates": numbers}
    )


def sensitivity_json(answer: Sensitivity) -> str:
    """An object with a list of entries."""
    entries = [{**entry._asdict(), "given": dict(entry.given)} for entry in answer]
    return dump_json(
        {
            **json_header(answer.about, converged=True),
            "event": answer.event,
            "probability": answer.probability,
            "threshold": answer.threshold,
            "entries": entries,
        }
    )


def sensitivity_csv(answer: Sensitivity) -> str:
    """A row for each entry."""
    titles = ("entry", "probability", "derivative", "low", "high", "needed")
    rows = [(entry.name, *entry[3:]) for entry in answer]
    return csv_text(titles, [["" if cell is None else cell for cell in row] for row in rows])


def estimates_csv(estimates: Estimates) -> str:
    rows = [(name, *estimate.record().values()) for name, estimate in estimates.items()]
    return csv_text(("name", "value", "standard_error", "low", "high", "verdict"), rows)


def estimates_table(estimates: Estimates, unit: str = "value") -> str:
    """A line per name; the numbers are of such a unit."""
    sure = all(estimate.standard_error == 0.0 for estimate in estimates.values())
    titles = ("variable", unit, "verdict") if sure else ("variable", unit, "±", "verdict")
    lines = [
        (
            escape_unprintable(name),
            f"{estimate.value:.6g}",
            *(() if sure else (f"{estimate.standard_error:.2g}",)),
            estimate.verdict,
        )
        for name, estimate in estimates.items()
    ]
    return plain_table(titles, lines, ("variable", "verdict")) + "\n"


# Curves as letters, for terminals.

Curve = Sequence[tuple[float, float]]
WIDTH = 56


def text_chart(curves: Mapping[str, Curve], width: int = WIDTH) -> list[str]:
    """Lines of text that draw positive numbers on logarithmic axes, each curve by its letter.

    Two rows are a power of ten. Where curves meet, the last one is seen.

    >>> for line in text_chart({"a": [(1, 1), (100, 1)], "b": [(1, 0.1), (100, 0.03)]}, width=9):
    ...     print(line)
      1 | a       a
        |
    0.1 | b
        |         b
        +----------
          1   10  100
    """
    points = [point for curve in curves.values() for point in curve]
    low, high = (pick(math.log10(x) for x, _ in points) for pick in (min, max))
    rows = [_row(y) for _, y in points]
    top, bottom = max(rows), min(rows)
    cells = [[" "] * width for _ in range(top - bottom + 1)]
    for letter, curve in curves.items():
        for x, y in curve:
            cells[top - _row(y)][_column(math.log10(x), low, high, width)] = letter
    words = ["" if row % 2 else _power(row // 2) for row in range(top, bottom - 1, -1)]
    margin = max(map(len, words))
    chart = [
        f"{word:>{margin}} | {''.join(row)}".rstrip()
        for word, row in zip(words, cells, strict=True)
    ]
    return [*chart, " " * margin + " +" + "-" * (width + 1), _axis(low, high, width, margin)]


def _row(number: float) -> int:
    """The nearest half power of ten."""
    return math.floor(2 * math.log10(number) + 0.5)


def _column(place: float, low: float, high: float, width: int) -> int:
    share = (place - low) / (high - low) if high > low else 0.0
    return round(share * (width - 1))


def _axis(low: float, high: float, width: int, margin: int) -> str:
    """Powers of ten below the axis."""
    line = [" "] * (width + 8)
    for power in range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1):
        word, at = _power(power), _column(power, low, high, width)
        line[at : at + len(word)] = word
    return " " * (margin + 3) + "".join(line).rstrip()


def _power(power: int) -> str:
    return f"{10.0**power:,g}" if -3 <= power <= 6 else f"1e{power}"
