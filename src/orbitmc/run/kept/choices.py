"""How a kept run estimates: in its header, and beside it the states that secants are made of."""

from collections.abc import Mapping
from typing import Any

from orbitmc._util.files import Check, checked, is_count, is_number, is_text
from orbitmc.estimate.control_variates import LARGEST, terms_for
from orbitmc.run.control.choice import LOOKS, ControlChoice

SECANT_STATES = "secant states"


def _is_looks(found: object) -> bool:
    return is_count(found) and found in LOOKS


def _is_terms(found: object) -> bool:
    return is_count(found) and found <= terms_for(LARGEST)  # type: ignore[operator]


def _is_radius(found: object) -> bool:
    return is_number(found) and 0.0 <= found <= LARGEST  # type: ignore[operator]


CHOICE: Mapping[str, Check] = {
    "looks": _is_looks,
    "terms": _is_terms,
    "about": is_text,
    "radius": _is_radius,
}


def choice_record(choice: ControlChoice | None) -> dict[str, Any] | None:
    """What the header says of a choice."""
    return None if choice is None else {name: getattr(choice, name) for name in CHOICE}


def choice_from(record: object) -> ControlChoice | None:
    """The choice that a header tells of, its states still missing; what is wrong is said."""
    return None if record is None else ControlChoice(**checked(record, CHOICE, "choice"))
