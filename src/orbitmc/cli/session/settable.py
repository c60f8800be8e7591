"""`--set NAME=VALUE`: settings that have no option of their own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_origin

from orbitmc._util.settings import Setting, settings_of
from orbitmc._util.text import suggestion
from orbitmc.cli.session.questions import LogicOptions, read_moves
from orbitmc.errors import InputError

OPTIONS = {
    "method": "--method",
    "generators": "-g",
    "samples": "--samples",
    "seconds": "--seconds",
    "standard_error": "--error",
    "seed": "--seed",
    "memory": "--memory",
    "checkpoint": "--checkpoint",
    "executor": "--cluster",
}
"""Settings that have an option of their own on the command line."""

QUESTIONS = ("ask", "joint", "draw", "predict", "sweep")
"""Verbs that ask something else than marginals; all settings that decide how are theirs."""

TRUTHS = {"yes": True, "true": True, "no": False, "false": False}

Kind = TypeVar("Kind")


def settable(verb: str) -> Mapping[str, Setting]:
    """What `--set` may set for a verb, by name."""
    from orbitmc.inference.settings import Settings

    how, reading = settings_of(Settings), settings_of(LogicOptions)
    plain = {name: one for name, one in how.items() if name not in OPTIONS}
    asking = {name: one for name, one in plain.items() if name != "checkpoint_every"}
    return {
        "infer": {**plain, **reading},
        **{question: {**asking, **reading} for question in QUESTIONS},
        "best": {**_some(how, "samples", "lanes"), **reading},
        "resume": _some(how, "threads", "checkpoint_every"),
        "compare": {"estimator": replace(how["estimator"], default="rao-blackwell"), **reading},
        "learn": _some(reading, "dialect", "meaning", "max_groundings"),
    }.get(verb, reading)


def of_programs(verb: str) -> set[str]:
    """Settings of a verb that are about programs; they may be written as options, too."""
    return settable(verb).keys() & settings_of(LogicOptions).keys()


def assigned(verb: str, pieces: Iterable[str] | None) -> dict[str, Any]:
    """Read all `NAME=VALUE` that were given to a verb."""
    known, found = settable(verb), dict[str, Any]()
    for piece in pieces or ():
        name, equals, text = piece.partition("=")
        name = name.strip()
        if not equals:
            raise InputError(f"--set {piece}: expected NAME=VALUE")
        if name not in known:
            raise InputError(f"--set {name}: {_unknown(name, known)}")
        value = _read(known[name], text.strip())
        if name in found and not isinstance(value, tuple):
            raise InputError(f"--set {name}: it is set twice; set it once")
        found[name] = (*found[name], *value) if name in found else value
    return found


def part_of(found: Mapping[str, Any], kind: type[Kind]) -> dict[str, Any]:
    """The settings that are fields of a dataclass."""
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    return {name: value for name, value in found.items() if name in names}


def _some(found: Mapping[str, Setting], *names: str) -> dict[str, Setting]:
    return {name: found[name] for name in names}


def _unknown(name: str, known: Mapping[str, Setting]) -> str:
    dashed = name.replace("-", "_")
    if dashed in OPTIONS:
        return f"it has an option of its own, {OPTIONS[dashed]}"
    near = suggestion(dashed, known) or ";"
    return f"there is no such setting{near} --help-all lists them"


def _read(one: Setting, text: str) -> Any:
    """Turn text into what a setting may be."""
    try:
        value = _value(one, text)
    except ValueError:
        value = None
    if value is None or not one.accepts(value):
        raise InputError(f"--set {one.name}: expected {expected(one)}, not {text!r}")
    return value


def _value(one: Setting, text: str) -> Any:
    if one.choices:
        return text
    plain = next(kind for kind in one.kinds if kind is not NoneType)
    origin = get_origin(plain)
    if origin is Sequence:
        return tuple(word for part in text.split(",") if (word := part.strip()))
    if origin is Mapping:
        return read_moves(text)
    return TRUTHS.get(text.lower()) if plain is bool else plain(text)


def expected(one: Setting) -> str:
    """What may be typed for a setting, in words."""
    if one.choices:
        return f"{', '.join(one.choices[:-1])} or {one.choices[-1]}"
    if Path in one.kinds or get_origin(one.kind) is Sequence:
        return "words with commas between"
    return one.expected


def metavar(one: Setting) -> str:
    """What may be typed for a setting, in few letters."""
    if one.choices:
        return "|".join(one.choices)
    kinds = [kind for kind in one.kinds if kind is not NoneType]
    letters = {int: "N", float: "X", bool: "yes|no"}
    return letters.get(kinds[0], "FILE" if get_origin(kinds[0]) is Mapping else "WORDS")
