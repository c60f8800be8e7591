"""Which suffix means which format: one line each."""

import importlib
import math
from pathlib import Path
from typing import Any, NamedTuple

from orbitmc._util.text import MEMORY, quote, read_bytes, suffix
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.model import Model


class Format(NamedTuple):
    """Who reads and who writes one kind of file, and how its text begins; some are only read.

    Functions are named as `module:function`, and loaded when a file asks for them.
    """

    reader: str
    writer: str
    beginnings: tuple[str, ...]


def _load(name: str) -> Any:
    module, function = name.split(":")
    return getattr(importlib.import_module(f"orbitmc.formats.{module}"), function)


UAI = Format("uai:read_uai", "uai:write_uai", ("markov", "bayes"))
BIF = Format("bif:read_bif", "bif:write_bif", ("network", "variable", "//", "/*"))
XMLBIF = Format("xml_networks:read_xmlbif", "xml_networks:write_xmlbif", ("<",))
JSON = Format("json_model:read_json_model", "json_model:write_json_model", ("{",))

NET = Format("net:read_net", "", ("net\n", "net{", "net "))
XDSL = Format("xml_networks:read_xdsl", "", ())
COO = Format("quadratic:read_coo", "", ("# vartype",))
COUPLINGS = Format("quadratic:read_ising", "", ())
BQM = Format("quadratic:read_bqm", "", ("dimodbqm",))

FORMATS = {
    ".uai": UAI,
    ".bif": BIF,
    ".xmlbif": XMLBIF,
    ".xml": XMLBIF,
    ".json": JSON,
    ".net": NET,
    ".xdsl": XDSL,
    ".coo": COO,
    ".ising": COUPLINGS,
    ".bqm": BQM,
}


def suffixes() -> tuple[str, ...]:
    """The endings of file names that `read` and `write` know; `.gz` may follow each."""
    return tuple(FORMATS)


def read(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a model; its suffix says the format, or else its first word does.

    Nothing in the file is executed, and what it announces is checked against its size and
    `memory` (bytes) before it is believed.
    """
    chosen = FORMATS.get(suffix(path)) or _by_beginning(path, memory)
    if chosen is None:
        raise _unknown(path)
    model: Model = _load(chosen.reader)(path, memory=memory)
    return model


def require_writer(path: str | Path) -> Format:
    """The format that a suffix says, if files of it are written."""
    chosen = FORMATS.get(suffix(path))
    if chosen is None:
        raise _unknown(path)
    if not chosen.writer:
        suffixes = ", ".join(name for name, entry in FORMATS.items() if entry.writer)
        raise InputError(
            f"files {suffix(path)} are read, not written; write {suffixes}", source=str(path)
        )
    return chosen


def write(model: Model, path: str | Path) -> None:
    """Write a model whole or not at all; the suffix says the format, `.gz` packs it.

    A format that cannot hold the model refuses it and says which one can. Noisy gates are written
    as they are in `.json`, as tables elsewhere.

    >>> import tempfile
    >>> import orbitmc as om
    >>> path = tempfile.mkdtemp() + "/grid.uai.gz"
    >>> om.write(om.ising_grid(2, 2, 0.3), path)
    >>> om.read(path).graph.variables
    4
    """
    chosen = require_writer(path)
    model.require_all_factors()
    if math.isnan(model.graph.constant):
        raise InputError(
            "what evidence adds to the log-weights is beyond the largest double: no file holds it",
            source=str(path),
        )
    _load(chosen.writer)(model if chosen is JSON else _as_tables(model, path), path)


def _as_tables(model: Model, path: str | Path) -> Model:
    """The model with tables for its noisy gates, which only our own format can hold as they are."""
    try:
        return model.without_helpers()
    except LimitError as error:
        raise LimitError(f"{path}: {error}; write .json instead") from None


def _by_beginning(path: str | Path, memory: int) -> Format | None:
    head = read_bytes(path, memory=memory)[:1000].decode("utf-8-sig", errors="replace")
    start = head.lstrip().lower()
    return next((entry for entry in FORMATS.values() if start.startswith(entry.beginnings)), None)


def _unknown(path: str | Path) -> InputError:
    known = ", ".join(FORMATS)
    return InputError(
        f"unknown suffix {quote(suffix(path))}; known are {known}, each also with .gz",
        source=str(path),
    )
