"""The line of JSON in a kept run: every field has the type it was written with, or is refused."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbitmc._util.files import (
    Check,
    checked,
    is_count,
    is_number,
    is_object,
    is_positive,
    is_text,
    is_truth,
    list_of,
    or_none,
)
from orbitmc._util.text import MOST
from orbitmc.errors import InputError
from orbitmc.run.control.choice import ControlChoice
from orbitmc.run.kept.choices import choice_from
from orbitmc.run.schedule import Schedule

KIND = re.compile(r"[<>|][buif][1248]")
MOST_DIMENSIONS = 32


def _is_seed(found: object) -> bool:
    return type(found) is int and found >= 0


def _is_snapshot(found: object) -> bool:
    if not isinstance(found, list) or len(found) != 3:
        return False
    return is_number(found[0]) and all(map(is_count, found[1:]))


COUNTS: Mapping[str, Check] = {
    "annealing": is_count,
    "warm_up_steps": is_count,
    "recorded": is_count,
    "wanted": or_none(is_count),
    "piloted": is_truth,
    "seconds": is_number,
    "preparing": is_number,
    "starting": is_number,
    "answering": is_number,
    "after": is_number,
    "skips_modes": is_truth,
    "controlled": is_truth,
    "room": or_none(is_count),
    "most_packs": is_positive,
}
"""How far a run has come: fields of `Run`."""

FIELDS: Mapping[str, Check] = {
    "question": is_object,
    "digest": is_text,
    "kernel": is_text,
    "schedule": is_object,
    "seed": _is_seed,
    "lanes": is_positive,
    "packs": is_positive,
    "tally": is_text,
    "choice": or_none(is_object),
    **COUNTS,
    "snapshots": list_of(_is_snapshot),
    "arrays": list_of(lambda found: True),
}

SCHEDULE: Mapping[str, Check] = {
    "samples": or_none(is_count),
    "seconds": or_none(is_number),
    "standard_error": or_none(is_number),
    "spacing": or_none(is_count),
    "warm_up": or_none(is_count),
    "snapshots": is_truth,
}


@dataclass(frozen=True)
class Entry:
    """An array that follows the header: its name, its type and its shape."""

    name: str
    kind: "np.dtype[Any]"
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.kind.itemsize


@dataclass(frozen=True)
class Header:
    """What a kept run says of itself: fields as JSON has them, its schedule, its arrays."""

    fields: Mapping[str, Any]
    schedule: Schedule
    choice: ControlChoice | None
    entries: tuple[Entry, ...]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


def header_from(line: bytes) -> Header:
    """Read the header; what is wrong with it is said."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError("its header is no JSON") from None
    fields = checked(found, FIELDS, "header")
    schedule = Schedule(**checked(fields["schedule"], SCHEDULE, "schedule"))
    choice = choice_from(fields["choice"])
    return Header(fields, schedule, choice, tuple(_entry(entry) for entry in fields["arrays"]))


def _entry(found: object) -> Entry:
    if isinstance(found, list) and len(found) == 3:
        name, kind, shape = found
        if is_text(name) and is_text(kind) and KIND.fullmatch(kind) and _is_shape(shape):
            try:
                return Entry(name, np.dtype(kind), tuple(shape))
            except TypeError:
                raise InputError(f"no array has the type {kind!r}") from None
    raise InputError("an entry of its list of arrays is not what it should be")


def _is_shape(found: object) -> bool:
    listed = isinstance(found, list) and len(found) <= MOST_DIMENSIONS and all(map(is_count, found))
    return listed and math.prod(max(length, 1) for length in found) <= MOST  # type: ignore[attr-defined]
