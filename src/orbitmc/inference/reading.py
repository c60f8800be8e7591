"""Read whatever a question can be asked about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbitmc import inference
from orbitmc._util.text import MEMORY, suffix
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.formats.registry import read as read_model
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.inference.program import MarkovLogic


PROGRAMS = (".mln", ".pracmln")


def read(
    path: str | Path,
    databases: str | Path | Sequence[str | Path] = (),
    *,
    memory: int = MEMORY,
    **program: Any,
) -> Model | MarkovLogic:
    """Read a model, or a Markov logic program with the databases that say what is known.

    The suffix says the format: .uai, .bif, .xmlbif, .json, .mln (all packed by gzip or not) or
    .pracmln. Programs take the settings of `read_logic` too, as in
    `read("x.mln", "x.db", query="Smokes")`.

    >>> import orbitmc as om
    >>> om.read("examples/sprinkler.bif").names
    ('season', 'sprinkler', 'rain', 'grass')
    """
    if not isinstance(path, str | Path):
        raise InputError(f"expected the name of a file, not {path!r}")
    if suffix(path) in PROGRAMS or ".pracmln:" in str(path):
        return inference.read_logic(path, databases, memory=memory, **program)
    if databases or program:
        named = "databases" if databases else next(iter(program))
        raise InputError(
            f"{named}: only Markov logic programs (.mln, .pracmln) have that", source=str(path)
        )
    model = read_model(path, memory=memory)
    if model.precision is not None:
        with attribute_to_file(str(path)):
            inference.free_entries(model)  # refuses what does not fit the tables
    return model
