"""Keep a step of learning in a file, and read it again."""

import hashlib
import io
import re
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.files import write_atomically
from orbitmc._util.text import MEMORY, read_bytes
from orbitmc.errors import InputError
from orbitmc.mln.data.database import Database
from orbitmc.mln.language.syntax import Program
from orbitmc.mln.learning.learner import LearningSettings
from orbitmc.mln.learning.objectives import Step

ARRAY_PREFIX = "kept/"
MOST_ITERATIONS = 2**53

ARRAY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<|][buif][1248])', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]*)\), \} *\n",
    re.DOTALL,
)

UNREADABLE = (
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
)
"""What reading zip files and arrays raises on bytes that are neither."""


def learning_record(
    program: Program, databases: Sequence[Database], settings: LearningSettings
) -> str:
    """A hash of all that decides how learning goes on: a step belongs to one question."""
    digest = hashlib.sha256()
    names = sorted(settings.query), sorted(settings.hidden)
    same = (settings.objective, names, settings.deviation, settings.meaning)
    noise = (settings.seed, settings.optimiser) if same[0] == "discriminative" else ()
    digest.update(repr((same, noise, program.predicates, program.constants)).encode())
    for rule in program.rules:
        digest.update(repr((rule.formula, rule.weight, rule.per_constant, rule.fixed)).encode())
    for database in databases:
        for name, facts in database.facts.items():
            digest.update(repr((name, facts.columns, facts.truth.tolist())).encode())
        digest.update(repr(dict(database.constants)).encode())
    return digest.hexdigest()


def save(path: Path, step: Step, question: str) -> None:
    """Write a step, whole or not at all."""
    content = io.BytesIO()
    numbers = [step.iteration, step.objective, step.slope]
    arrays: dict[str, Any] = {f"{ARRAY_PREFIX}{name}": array for name, array in step.arrays.items()}
    np.savez(
        content,
        question=np.frombuffer(question.encode(), dtype=np.uint8),
        numbers=np.array(numbers, dtype=np.float64),
        weights=step.weights,
        **arrays,
    )
    write_atomically(path, [content.getvalue()])


def load(path: Path, question: str, *, memory: int = MEMORY) -> Step:
    """Read a step; one that belongs to another question is refused."""
    try:
        arrays = _arrays(read_bytes(path, memory=memory))
        belongs = arrays["question"].tobytes() == question.encode()
        if belongs:
            return _step(arrays)
    except UNREADABLE:
        raise InputError(
            "this is no checkpoint of learning; remove it, or name another file", source=str(path)
        ) from None
    raise InputError(
        "this checkpoint belongs to another program, other databases or other settings; remove "
        "it, or name another file",
        source=str(path),
    )


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file, all together no larger than it; nothing in it is executed."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = file.infolist()
        if sum(member.file_size for member in members) > len(content):
            raise ValueError("members that are larger than their file, or lie in each other")
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(member.filename)
            arrays[member.filename.removesuffix(".npy")] = _array(file.read(member))
    return arrays


def _array(content: bytes) -> NDArray[Any]:
    """An array of numbers, written as numpy writes it and in no other way."""
    match = ARRAY.match(content)
    if match is None:
        raise ValueError("no array of numbers")
    shape = tuple(int(length) for length in match[3].split(b",") if length.strip())
    order: Literal["C", "F"] = "F" if match[2] == b"True" else "C"
    array = np.frombuffer(content, dtype=np.dtype(match[1].decode()), offset=match.end())
    return array.reshape(shape, order=order).copy()


def _step(arrays: dict[str, NDArray[Any]]) -> Step:
    if arrays["numbers"].dtype != np.float64:
        raise ValueError("numbers of another type")
    iteration, objective, slope = arrays["numbers"].tolist()
    if not 0 <= iteration <= MOST_ITERATIONS:
        raise ValueError("no number of iterations")
    own_arrays = {
        name.removeprefix(ARRAY_PREFIX): array
        for name, array in arrays.items()
        if name.startswith(ARRAY_PREFIX)
    }
    return Step(int(iteration), arrays["weights"], objective, slope, arrays=own_arrays)
