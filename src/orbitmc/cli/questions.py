"""Read what a command is asked about: a model, pieces of evidence, generators."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.graph.evidence import Evidence
    from orbitmc.graph.model import Model


def read_question(
    path: Path, pieces: Sequence[str] | None, memory: int
) -> tuple["Model", "Evidence"]:
    """Give the model, and all pieces of evidence as one."""
    from orbitmc.formats.evidence import merged_evidence, read_evidence
    from orbitmc.formats.registry import read

    model = read(path, memory=memory)
    found = [read_evidence(piece, model, memory=memory) for piece in pieces or ()]
    return model, merged_evidence(found, model)


def read_generators(pieces: Sequence[str] | None) -> tuple[str, ...]:
    """Give all generators in cycle notation: what begins with a bracket is one, the rest files."""
    found: list[str] = []
    for piece in pieces or ():
        if piece.lstrip().startswith("("):
            found.append(piece.strip())
        else:
            found.extend(_lines(Path(piece)))
    return tuple(found)


def _lines(path: Path) -> list[str]:
    from orbitmc.formats.text import read_text

    text = read_text(path)
    lines = [line.strip() for line in text.content.splitlines()]
    wrong = [number for number, line in enumerate(lines, 1) if line and line[0] != "("]
    if wrong:
        raise InputError(
            "expected one generator in each line, as (A B)(C D)", source=str(path), line=wrong[0]
        )
    return [line for line in lines if line]
