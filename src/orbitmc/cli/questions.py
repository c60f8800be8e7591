"""Read what a command is asked about: a model and all pieces of evidence."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
