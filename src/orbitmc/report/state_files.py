"""Drawn states as files: CSV for people, arrays for NumPy, netCDF for xarray."""

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from orbitmc._util.files import write_atomically, write_pieces
from orbitmc.estimate.answers import Draws

PIECE = 2**20  # bytes that are copied at a time


def csv_lines(drawn: Draws) -> Iterator[str]:
    """A line per state: its chain, its draw, the names of its values, and its log-weight."""
    yield _lines([("chain", "draw", *drawn.names, "log_weight")])
    for piece in drawn.words():
        yield _lines(piece)


def _lines(rows: list[tuple[Any, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def write_csv(drawn: Draws, path: Path) -> None:
    write_pieces(path, csv_lines(drawn))


def write_npz(drawn: Draws, path: Path) -> None:
    """Write `values`, `log_weight`, `names`, and `domains` as JSON text, without pickles."""
    whole: dict[str, Any] = {
        "values": drawn.values,
        "log_weight": drawn.log_weight,
        "names": np.array(drawn.names, dtype=np.str_),
        "domains": np.array(json.dumps(drawn.domains, ensure_ascii=False)),
    }
    _write(path, lambda file: np.savez(file, **whole))


def write_netcdf(drawn: Draws, path: Path) -> None:
    """Write netCDF (version 3): `values[chain, draw, variable]`, `log_weight`, and names."""
    _write(path, lambda file: _fill(drawn, file))


def _fill(drawn: Draws, file: IO[bytes]) -> None:
    from scipy.io import netcdf_file

    names = [name.encode() for name in drawn.names]
    sizes = (*drawn.values.shape, max(map(len, names), default=1))
    with netcdf_file(_Unclosed(file), "w", version=2) as data:
        for title, size in zip(("chain", "draw", "variable", "letter"), sizes, strict=True):
            data.createDimension(title, size)
        data.createVariable("values", "i4", ("chain", "draw", "variable"))[:] = drawn.values
        data.createVariable("log_weight", "f8", ("chain", "draw"))[:] = drawn.log_weight
        letters = np.array(names, dtype=f"S{sizes[3]}").reshape(-1, 1).view("S1")
        data.createVariable("variable", "S1", ("variable", "letter"))[:] = letters
        data.domains = json.dumps(drawn.domains).encode()
        data.verdict = drawn.verdict.encode()


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
        write_atomically(path, iter(lambda: file.read(PIECE), b""))


def json_text(drawn: Draws) -> str:
    """One JSON object; values are places in the lists of `domains`."""
    about = drawn.about
    held = {
        "method": about.method,
        "reason": about.reason,
        "seconds": about.seconds,
        "seed": about.seed,
        "chains": about.chains,
        "samples": about.samples,
        "verdict": drawn.verdict,
        "converged": drawn.converged,
        "interrupted": about.interrupted,
        "warnings": list(about.warnings),
        "names": list(drawn.names),
        "domains": [list(domain) for domain in drawn.domains],
        "values": drawn.values.tolist(),
        "log_weight": drawn.log_weight.tolist(),
    }
    return json.dumps(held, ensure_ascii=False, allow_nan=False) + "\n"


WRITERS: dict[str, Callable[[Draws, Path], None]] = {
    ".csv": write_csv,
    ".npz": write_npz,
    ".nc": write_netcdf,
}
