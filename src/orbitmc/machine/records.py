"""JSON that we have written ourselves: every field is what it was then, or all of it is refused."""

from collections.abc import Callable, Mapping
from typing import Any

from orbitmc.errors import InputError
from orbitmc.machine.text import MOST

Check = Callable[[Any], bool]

CANNOT_GO_ON = "this run cannot go on: "


def is_count(found: object) -> bool:
    return type(found) is int and 0 <= found <= MOST


def is_positive(found: object) -> bool:
    return is_count(found) and found != 0


def is_number(found: object) -> bool:
    return type(found) in (int, float) and 0 <= found <= MOST  # type: ignore[operator]


def is_text(found: object) -> bool:
    return isinstance(found, str)


def is_truth(found: object) -> bool:
    return isinstance(found, bool)


def is_object(found: object) -> bool:
    return isinstance(found, dict)


def list_of(check: Check) -> Check:
    return lambda found: isinstance(found, list) and all(map(check, found))


def one_of(*words: str) -> Check:
    return lambda found: isinstance(found, str) and found in words


def or_none(check: Check) -> Check:
    return lambda found: found is None or check(found)


def checked(found: object, checks: Mapping[str, Check], name: str) -> dict[str, Any]:
    """Give an object whose fields are exactly these, each as its check wants it."""
    if not isinstance(found, dict) or found.keys() != checks.keys():
        raise InputError(f"its {name} has other fields than {', '.join(checks)}")
    for field, check in checks.items():
        if not check(found[field]):
            raise InputError(f"the field {field!r} of its {name} is not what it should be")
    return found
