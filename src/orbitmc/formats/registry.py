"""Which suffix means which format: one line each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from orbitmc.errors import InputError
from orbitmc.formats.bif.bif import read_bif, write_bif
from orbitmc.formats.bif.xmlbif import read_xmlbif, write_xmlbif
from orbitmc.formats.json.json_model import read_json_model, write_json_model
from orbitmc.formats.uai.uai import read_uai
from orbitmc.formats.uai.uai_writing import write_uai
from orbitmc.graph.model import Model
from orbitmc.machine.text import MEMORY, read_bytes


class Reader(Protocol):
    """Reads a model from a file, taking no more memory than said."""

    def __call__(self, path: str | Path, *, memory: int = MEMORY) -> Model: ...


@dataclass(frozen=True)
class Format:
    """How to read and write one kind of file, and how its text begins."""

    read: Reader
    write: Callable[[Model, str | Path], None]
    beginnings: tuple[str, ...]


UAI = Format(read_uai, write_uai, ("markov", "bayes"))
BIF = Format(read_bif, write_bif, ("network", "variable", "//", "/*"))
XMLBIF = Format(read_xmlbif, write_xmlbif, ("<",))
JSON = Format(read_json_model, write_json_model, ("{",))

FORMATS = {".uai": UAI, ".bif": BIF, ".xmlbif": XMLBIF, ".xml": XMLBIF, ".json": JSON}


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
    return chosen.read(path, memory=memory)


def write(model: Model, path: str | Path) -> None:
    """Write a model whole or not at all; the suffix says the format, `.gz` packs it.

    A format that cannot hold the model refuses it and says which one can.
    """
    chosen = FORMATS.get(suffix(path))
    if chosen is None:
        raise _unknown(path)
    if math.isnan(model.graph.constant):
        raise InputError(
            "what evidence adds to the log-weights is beyond the largest double: no file holds it",
            source=str(path),
        )
    chosen.write(model, path)


def suffix(path: str | Path) -> str:
    """The suffix that says the format.

    >>> suffix("GRID.UAI.gz")
    '.uai'
    """
    plain = Path(path)
    plain = plain.with_suffix("") if plain.suffix.lower() == ".gz" else plain
    return plain.suffix.lower()


def _by_beginning(path: str | Path, memory: int) -> Format | None:
    head = read_bytes(path, memory=memory)[:1000].decode("utf-8-sig", errors="replace")
    start = head.lstrip().lower()
    return next((one for one in FORMATS.values() if start.startswith(one.beginnings)), None)


def _unknown(path: str | Path) -> InputError:
    known = ", ".join(FORMATS)
    return InputError(
        f"unknown suffix {suffix(path)!r}; known are {known}, each also with .gz",
        source=str(path),
    )
