"""Keep a step of learning in a file, and read it again."""

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
    content = io.BytesIO(read_bytes(path, memory=memory))
    try:
        with np.load(content, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
        belongs = found["question"].tobytes().decode() == asked
        if belongs:
            return _step(found)
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile, AttributeError):
        raise InputError("this is no checkpoint of learning", source=str(path)) from None
    raise InputError(
        "this checkpoint belongs to another program, other databases or other settings; remove "
        "it, or name another file",
        source=str(path),
    )


def _step(found: dict[str, NDArray[Any]]) -> Step:
    iteration, objective, slope = found["numbers"].tolist()
    kept = {
        name.removeprefix(KEPT): array for name, array in found.items() if name.startswith(KEPT)
    }
    return Step(int(iteration), found["weights"], objective, slope, kept=kept)
