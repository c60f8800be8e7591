"""Keep a step of learning in a file, and read it again."""

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.files import write_atomically
from orbitmc.learn.learning import Settings
from orbitmc.learn.step import Step
from orbitmc.logic.database import Database
from orbitmc.logic.syntax import Program
from orbitmc.text import MEMORY, read_bytes

KEPT = "kept/"


def question(program: Program, databases: Sequence[Database], settings: Settings) -> str:
    """A hash of all that decides how learning goes on: a step belongs to one question."""
    digest = hashlib.sha256()
    same = (settings.objective, sorted(settings.query), settings.deviation)
    noise = (settings.seed, settings.optimiser) if same[0] == "discriminative" else ()
    digest.update(repr((same, noise, program.predicates, program.constants)).encode())
    for rule in program.rules:
        digest.update(repr((rule.formula, rule.weight, rule.per_constant, rule.fixed)).encode())
    for database in databases:
        for name, facts in database.facts.items():
            digest.update(repr((name, facts.columns, facts.truth.tolist())).encode())
        digest.update(repr(dict(database.constants)).encode())
    return digest.hexdigest()


def save(path: Path, step: Step, asked: str) -> None:
    """Write a step, whole or not at all."""
    content = io.BytesIO()
    numbers = [step.iteration, step.objective, step.slope]
    arrays: dict[str, Any] = {f"{KEPT}{name}": array for name, array in step.kept.items()}
    np.savez(
        content,
        question=np.frombuffer(asked.encode(), dtype=np.uint8),
        numbers=np.array(numbers, dtype=np.float64),
        weights=step.weights,
        **arrays,
    )
    write_atomically(path, [content.getvalue()])


def load(path: Path, asked: str, *, memory: int = MEMORY) -> Step:
    """Read a step; one that belongs to another question is refused."""
    try:
        found = _arrays(read_bytes(path, memory=memory))
        belongs = found["question"].tobytes().decode() == asked
        if belongs:
            return _step(found)
    except (ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
        raise InputError("this is no checkpoint of learning", source=str(path)) from None
    raise InputError(
        "this checkpoint belongs to another program, other databases or other settings; remove "
        "it, or name another file",
        source=str(path),
    )


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file, none larger than its own bytes; nothing in it is executed."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        for member in file.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(content):
                raise ValueError(member.filename)
            data = io.BytesIO(file.read(member))
            np.lib.format.read_magic(data)
            shape, columns_first, kind = np.lib.format.read_array_header_1_0(data)
            array = np.frombuffer(data.read(), dtype=kind)  # refuses objects
            order: Literal["C", "F"] = "F" if columns_first else "C"
            found[member.filename.removesuffix(".npy")] = array.reshape(shape, order=order).copy()
    return found


def _step(found: dict[str, NDArray[Any]]) -> Step:
    iteration, objective, slope = found["numbers"].tolist()
    kept = {
        name.removeprefix(KEPT): array for name, array in found.items() if name.startswith(KEPT)
    }
    return Step(int(iteration), found["weights"], objective, slope, kept=kept)
