"""What a kept run says of its question: checked, because anybody may have written it."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbitmc.cli.session.questions import LogicOptions, Question, logic_question
from orbitmc.errors import InputError
from orbitmc.machine.records import (
    Check,
    checked,
    is_count,
    is_number,
    is_object,
    is_positive,
    is_text,
    list_of,
    one_of,
    or_none,
)

if TYPE_CHECKING:
    from orbitmc.ask.settings import Settings

METHODS = ("exact", "gibbs", "mcsat", "lifted", "lmh")

KERNEL: Mapping[str, Check] = {
    "method": one_of(*METHODS[1:]),
    "scan": or_none(one_of("systematic", "random")),
    "slices": or_none(one_of("walk", "samplesat")),
    "estimator": one_of("rao-blackwell", "values", "orbits"),
    "alpha": or_none(is_number),
    "approximation": or_none(one_of("rank", "evidence", "messages", "weights")),
    "clusters": or_none(is_positive),
    "rank": or_none(is_count),
    "max_moved": or_none(is_positive),
    "min_acceptance": or_none(is_number),
    "moves": or_none(is_object),
    "generators": list_of(is_text),
}

LOGIC: Mapping[str, Check] = {
    "query": or_none(is_text),
    "opened": list_of(is_text),
    "closed": list_of(is_text),
    "dialect": is_text,
    "meaning": is_text,
    "max_groundings": or_none(is_positive),
}


def ask_again(record: Mapping[str, Any], moved: Path | None, memory: int, source: str) -> Question:
    """Read the question of a run once more, from its record."""
    path = Path(moved or _model(record, source))
    if "logic" in record:
        with _said_of(source):
            pieces, options = _pieces(record.get("pieces")), _logic_options(record["logic"])
        return logic_question(path, pieces, memory, options)
    with _said_of(source):
        evidence = _evidence(record.get("evidence"))
    from orbitmc.formats.registry import read

    return Question(read(path, memory=memory).given(evidence), record)


def kernel_settings(record: Mapping[str, Any], source: str) -> "Settings":
    """The settings that decide which kernel a run uses."""
    from orbitmc.ask.settings import Settings

    with _said_of(source):
        settings = Settings(**checked(record.get("kernel"), KERNEL, "way of sampling"))
        settings.require_use()
    return settings


def ruled_out_methods(record: Mapping[str, Any], source: str) -> tuple[str, ...]:
    """Methods that were found not to answer the question, or to take too long."""
    found = record.get("ruled_out", [])
    with _said_of(source):
        if not list_of(one_of(*METHODS))(found):
            raise InputError("it rules out methods that we do not know")
    return tuple(found)


@contextmanager
def _said_of(source: str) -> Iterator[None]:
    """Say which run cannot go on."""
    try:
        yield
    except InputError as error:
        raise InputError(f"this run cannot go on: {error.message}", source=source) from None


def _model(record: Mapping[str, Any], source: str) -> str:
    path = record.get("model")
    if not isinstance(path, str):
        raise InputError("this run does not say which model it belongs to", source=source)
    if not os.path.exists(path):
        raise InputError(
            f"its model is no longer at {path}; say --model where it is now", source=source
        )
    return path


def _logic_options(found: object) -> LogicOptions:
    return LogicOptions(**checked(found, LOGIC, "question"))


def _pieces(found: object) -> tuple[str, ...]:
    """Databases and atoms."""
    if not list_of(is_text)(found):
        raise InputError("its evidence is not what it should be")
    return tuple(found)  # type: ignore[arg-type]


def _evidence(found: object) -> Mapping[str, Any]:
    """A value, or weights of values, for each variable that was seen."""
    if not isinstance(found, dict) or not all(map(_is_seen, found.values())):
        raise InputError("its evidence is not what it should be")
    return found


def _is_seen(found: object) -> bool:
    if isinstance(found, dict):
        return all(map(_is_weight, found.values()))
    return is_text(found) or is_count(found) or list_of(_is_weight)(found)


def _is_weight(found: object) -> bool:
    return type(found) in (int, float) and 0 <= found <= sys.float_info.max  # type: ignore[operator]
