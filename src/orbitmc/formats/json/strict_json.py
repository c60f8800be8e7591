"""JSON as its standard says: no NaN, no key twice, and errors that name the place."""

import json
from pathlib import Path
from typing import NoReturn

from orbitmc.errors import InputError
from orbitmc.machine.text import MEMORY, Text, read_text, require_memory

BYTES_PER_CHARACTER = 24
"""What a character takes as Python values, at most: `[],` is three and makes a list."""


def read_json(path: str | Path, *, memory: int = MEMORY) -> object:
    """Read a JSON file into plain Python values."""
    return parse_json(read_text(path, memory=memory), memory=memory)


def parse_json(text: Text, *, memory: int) -> object:
    require_memory(text.source, BYTES_PER_CHARACTER * len(text.content), memory)
    try:
        return json.loads(
            text.content, object_pairs_hook=_without_repetition, parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        message = error.msg[:1].lower() + error.msg[1:]
        raise text.error(error.pos, f"this is not JSON: {message}") from None
    except RecursionError:
        raise InputError("the JSON is nested too deeply", source=text.source) from None
    except ValueError as error:
        raise InputError(f"this is not JSON we read: {error}", source=text.source) from None


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made: dict[str, object] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"key {key!r} stands twice in one object")
        made[key] = value
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")
