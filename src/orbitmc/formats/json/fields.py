"""JSON as its standard says: no NaN, no key twice; and its values, one field at a time.

Errors name the place or the field.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from orbitmc._util.text import MEMORY, Text, quoted, read_text, require_memory
from orbitmc.errors import InputError

VERSION = 1

BYTES_PER_CHARACTER = 24
"""What a character takes as Python values, at most: `[],` is three and makes a list."""


def require_header(held: object, wanted: str, source: str) -> dict[str, object]:
    """Take the object at the top of a file if it says it is what was wanted."""
    if not isinstance(held, dict):
        raise wrong(source, "", "a JSON object", held)
    if held.get("format") != wanted:
        raise wrong(source, "format", f'"{wanted}"', held.get("format"))
    if held.get("version") is True or held.get("version") != VERSION:
        raise wrong(source, "version", f"{VERSION}", held.get("version"))
    return held


def variables(
    held: object, source: str, field: str = "variables"
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Read a list of `{"name": ..., "values": [...]}`; gives names and value names."""
    names: list[str] = []
    values: list[tuple[str, ...]] = []
    for number, one in enumerate(items(held, source, field)):
        place = f"{field}[{number}]"
        if not isinstance(one, dict):
            raise wrong(source, place, "an object", one)
        names.append(name(one.get("name"), source, f"{place}.name"))
        values.append(distinct_names(one.get("values"), source, f"{place}.values"))
        if not values[-1]:
            raise wrong(source, f"{place}.values", "one value name or more", [])
    require_distinct(names, source, field)
    return tuple(names), tuple(values)


def distinct_names(held: object, source: str, field: str) -> tuple[str, ...]:
    listed = items(held, source, field)
    names = [name(one, source, f"{field}[{number}]") for number, one in enumerate(listed)]
    require_distinct(names, source, field)
    return tuple(names)


def require_distinct(names: Sequence[str], source: str, field: str) -> None:
    seen: set[str] = set()
    for one in names:
        if one in seen:
            raise InputError(f"{field}: {quoted(one)} stands there twice", source=source)
        seen.add(one)


def name(held: object, source: str, field: str) -> str:
    if not isinstance(held, str):
        raise wrong(source, field, "a name in quotes", held)
    if not held.isascii() and held != held.encode(errors="replace").decode():
        raise wrong(source, field, "a name that UTF-8 can hold", held)
    return held


def items(held: object, source: str, field: str) -> list[object]:
    if not isinstance(held, list):
        raise wrong(source, field, "a list", held)
    return held


def integers(held: object, source: str, field: str) -> list[int]:
    """Read a list of whole numbers from 0 to 2**31."""
    listed = items(held, source, field)
    for number, one in enumerate(listed):
        if type(one) is not int or not 0 <= one < 2**31:
            raise wrong(source, f"{field}[{number}]", "a whole number, not negative", one)
    return listed  # type: ignore[return-value]


def finite(held: object) -> float | None:
    """A number that a float holds, or nothing."""
    if type(held) is not float and type(held) is not int:
        return None
    try:
        number = float(held)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def wrong(source: str, field: str, expected: str, found: object) -> InputError:
    place = f"{field}: " if field else ""
    return InputError(f"{place}expected {expected}, found {_kind(found)}", source=source)


def _kind(found: object) -> str:
    if found is None:
        return "nothing"
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else f"a list of {len(found)}"
    return quoted(str(found)) if isinstance(found, str) else quoted(str(found))[1:-1]


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
            raise ValueError(f"key {quoted(key)} stands twice in one object")
        made[key] = value
    return made


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")
