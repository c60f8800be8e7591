"""Names that UAI cannot hold, in a JSON file beside the model.

`X.uai.json` beside `X.uai` (or `X.uai.gz`) has one entry per variable, in the order of the model:

    {"format": "orbitmc-names", "version": 1,
     "variables": [{"name": "Rain", "values": ["no", "yes"]}, ...]}

A JSON file of that name that says to be something else is left alone: neither read as names nor
overwritten.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from orbitmc._util.text import MEMORY, unpacked_name
from orbitmc.errors import InputError
from orbitmc.graph.model import Model

FORMAT = "orbitmc-names"

Names = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


def names_path(path: str | Path) -> Path:
    """Where the names of a UAI model are kept.

    >>> str(names_path("grid.uai.gz"))
    'grid.uai.json'
    """
    plain = unpacked_name(path)
    return plain.with_name(plain.name + ".json")


def read_names(path: str | Path, sizes: Sequence[int], *, memory: int = MEMORY) -> Names:
    """Read the names beside a model, or number its variables and values."""
    source = str(names_path(path))
    held = _held(names_path(path), memory)
    if held is None:
        return default_names(sizes)
    from orbitmc.formats.json.fields import require_header, variables

    held = require_header(held, FORMAT, source)
    names, values = variables(held.get("variables"), source)
    if [len(own) for own in values] != list(sizes):
        raise InputError(
            f"the names here are not those of {Path(path).name}: expected {len(sizes)} variables "
            "with as many values as there",
            source=source,
        )
    return names, values


def write_names(model: Model, path: str | Path) -> None:
    """Write names beside a model if they are not plain numbers, or if old ones are there."""
    beside = names_path(path)
    domains = model.domains()
    plain = default_names([len(values) for values in domains.values()])
    old = _held(beside, MEMORY)
    if (tuple(domains), tuple(domains.values())) == plain and old is None:
        return
    if beside.exists() and old is None:
        raise InputError(
            "this is no file of names, and theirs would replace it", source=str(beside)
        )
    held = [json.dumps({"name": name, "values": own}) for name, own in domains.items()]
    head = f'{{"format": "{FORMAT}", "version": 1,\n"variables": [\n'
    from orbitmc._util.files import write_text

    write_text(beside, head + ",\n".join(held) + "\n]}\n")


def _held(beside: Path, memory: int) -> object:
    """What a file of names holds; nothing if there is none, or if it is of another kind."""
    if not beside.is_file():
        return None
    from orbitmc.formats.json.fields import read_json

    held = read_json(beside, memory=memory)
    return held if isinstance(held, dict) and held.get("format") == FORMAT else None


def default_names(sizes: Sequence[int]) -> Names:
    """Count from zero, in words; variables of one cardinality share their value names."""
    shared = {size: _counted(size) for size in set(sizes)}
    return _counted(len(sizes)), tuple(shared[size] for size in sizes)


def _counted(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(count)))
