"""Answers as files: JSON, CSV, arrays and netCDF."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.files import write_atomically, write_pieces
from orbitmc.estimate.answers import Draws
from orbitmc.estimate.formatting import VARIABLES_AT_A_TIME
from orbitmc.estimate.marginals import MARGINAL_COLUMNS, About, Columns, Marginals, no_parts
from orbitmc.estimate.verdicts import CODE, GOOD, VERDICTS
from orbitmc.report.sentences import verdict

if TYPE_CHECKING:
    from orbitmc import Model

# An answer as one JSON object; it has no infinities and no NaN, they become null.


def json_pieces(answer: Marginals, rows_at_a_time: int = VARIABLES_AT_A_TIME) -> Iterator[str]:
    """The object in pieces, with a line per variable, so that people can look at it too."""
    head = ",\n  ".join(f"{_dump(key)}: {_dump(value)}" for key, value in _head(answer).items())
    yield "{\n  " + head + ',\n  "variables": {\n    '
    between = ""
    for piece in answer.columns.pieces(rows_at_a_time):
        yield between + ",\n    ".join(_json_lines(piece))
        between = ",\n    "
    yield "\n  }\n}\n"


def _head(answer: Marginals) -> dict[str, Any]:
    """Everything that is known but of the variables, in terms that JSON has."""
    about = answer.about
    return {
        "method": about.method,
        "reason": about.reason,
        "seconds": about.seconds,
        "seed": about.seed,
        "samples": about.samples,
        "chains": about.chains,
        "updates": about.updates,
        "updates_per_second": about.updates_per_second,
        "outcomes": dict(about.outcomes),
        "estimator": about.estimator,
        "log_z": None if about.log_z is None else _finite(about.log_z),
        "log_z_error": None if about.log_z is None else about.log_z_error,
        "converged": answer.converged,
        "verdict": verdict(answer),
        "interrupted": about.interrupted,
        "warnings": list(about.warnings),
        "moves": None if about.moves is None else dict(about.moves),
        "race": [_finite_price(price) for price in about.race],
        **({"errors_from": about.errors_from} if about.errors_from else {}),
    }


def _json_lines(piece: Columns) -> Iterator[str]:
    """A line for each variable of some."""
    lists = {column: _numbers(getattr(piece, column)) for column in MARGINAL_COLUMNS}
    rare, first = piece.rare.tolist(), piece.start.tolist()
    for place, name in enumerate(piece.names):
        rows = slice(first[place], first[place + 1])
        fields = {
            "values": piece.values[place],
            **{column: numbers[rows] for column, numbers in lists.items()},
            "verdict": VERDICTS[piece.verdict[place]],
            "rare": rare[rows],
        }
        yield f"{_dump(name)}: {_dump(fields)}"


def _finite_price(price: Mapping[str, Any]) -> dict[str, Any]:
    numbers = (int, float)
    return {
        key: _finite(float(value)) if isinstance(value, numbers) else value
        for key, value in price.items()
    }


def _numbers(array: Floats) -> list[float | None]:
    numbers: list[float | None] = array.tolist()
    for place in np.flatnonzero(~np.isfinite(array)):
        numbers[place] = None
    return numbers


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


COPY_BYTES = 2**20  # bytes that are copied at a time


def csv_lines(draws: Draws) -> Iterator[str]:
    """A line per state: its chain, its draw, the names of its values, and its log-weight."""
    yield _lines([("chain", "draw", *draws.names, "log_weight")])
    for piece in draws.words():
        yield _lines(piece)


def _lines(rows: list[tuple[Any, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def write_csv(draws: Draws, path: Path) -> None:
    write_pieces(path, csv_lines(draws))


def write_npz(draws: Draws, path: Path) -> None:
    """Write `values`, `log_weight`, `names`, and `domains` as JSON text, without pickles."""
    whole: dict[str, Any] = {
        "values": draws.values,
        "log_weight": draws.log_weight,
        "names": np.array(draws.names, dtype=np.str_),
        "domains": np.array(json.dumps(draws.value_names, ensure_ascii=False)),
    }
    _write(path, lambda file: np.savez(file, **whole))


def write_netcdf(draws: Draws, path: Path) -> None:
    """Write netCDF (version 3): `values[chain, draw, variable]`, `log_weight`, and names."""
    _write(path, lambda file: _fill(draws, file))


def _fill(draws: Draws, file: IO[bytes]) -> None:
    from scipy.io import netcdf_file

    names = [name.encode() for name in draws.names]
    sizes = (*draws.values.shape, max(map(len, names), default=1))
    with netcdf_file(_Unclosed(file), "w", version=2) as data:
        for title, size in zip(("chain", "draw", "variable", "letter"), sizes, strict=True):
            data.createDimension(title, size)
        data.createVariable("values", "i4", ("chain", "draw", "variable"))[:] = draws.values
        data.createVariable("log_weight", "f8", ("chain", "draw"))[:] = draws.log_weight
        letters = np.array(names, dtype=f"S{sizes[3]}").reshape(-1, 1).view("S1")
        data.createVariable("variable", "S1", ("variable", "letter"))[:] = letters
        data.domains = json.dumps(draws.value_names).encode()
        data.verdict = draws.verdict.encode()


class _Unclosed(io.BufferedIOBase):
    """A file that stays open when its writer is done."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.read, self.write = file.read, file.write  # type: ignore[method-assign, assignment]
        self.seek, self.tell = file.seek, file.tell  # type: ignore[method-assign]

    def flush(self) -> None:
        self.file.flush()


def _write(path: Path, fill: Callable[[IO[bytes]], Any]) -> None:
    """Let somebody fill a file that may be read only when it is whole."""
    with tempfile.TemporaryFile() as file:
        fill(file)
        file.seek(0)
        write_atomically(path, iter(lambda: file.read(COPY_BYTES), b""))


def json_text(draws: Draws) -> str:
    """One JSON object; values are places in the lists of `domains`."""
    about = draws.about
    fields = {
        "method": about.method,
        "reason": about.reason,
        "seconds": about.seconds,
        "seed": about.seed,
        "chains": about.chains,
        "samples": about.samples,
        "verdict": draws.verdict,
        "converged": draws.converged,
        "interrupted": about.interrupted,
        "warnings": list(about.warnings),
        "names": list(draws.names),
        "domains": [list(domain) for domain in draws.value_names],
        "values": draws.values.tolist(),
        "log_weight": _known_numbers(draws.log_weight),
    }
    return json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n"


def _known_numbers(table: Floats) -> list[list[float | None]]:
    """Rows of numbers; nothing in the place of those that are not known."""
    return [[None if math.isnan(number) else number for number in row] for row in table.tolist()]


WRITERS: dict[str, Callable[[Draws, Path], None]] = {
    ".csv": write_csv,
    ".npz": write_npz,
    ".nc": write_netcdf,
}


# How long it takes to write an answer, from how long a small one does.

MOST_VARIABLES_TRIED = 1000  # variables; models that are no larger are written in no time
USUAL = 0.123456789  # a number with as many digits as most


def writing_seconds(model: Model, pieces: Callable[[Marginals], Iterator[str]]) -> float:
    """How long all pieces of an answer to a model will take."""
    if model.graph.variables <= MOST_VARIABLES_TRIED:
        return 0.0
    small = _dummy_answer(model)
    begun = time.perf_counter()
    for _ in pieces(small):
        pass
    each = (time.perf_counter() - begun) / len(small.columns.probability)
    return float(each * model.graph.cardinality.sum(dtype=np.int64))


def _dummy_answer(model: Model) -> Marginals:
    """An answer for the first variables, of numbers that mean nothing."""
    values = model.values[:MOST_VARIABLES_TRIED]
    start = np.concatenate([[0], np.cumsum([len(words) for words in values])])
    numbers = {column: np.full(start[-1], USUAL) for column in MARGINAL_COLUMNS}
    rare, good = np.zeros(start[-1], np.bool_), np.full(len(values), CODE[GOOD], np.uint8)
    columns = Columns(
        model.names[:MOST_VARIABLES_TRIED],
        values,
        start,
        **numbers,
        rare=rare,
        verdict=good,
        part=no_parts(len(values)),
    )
    return Marginals(columns, About("gibbs", ""))
