"""Settings: fields of a dataclass, each with its type, its default and its help in one place."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from orbitmc.errors import InputError

KEY = "setting"


def setting(
    default: Any,
    help: str,
    *,
    unset: str = "",
    methods: Sequence[str] = (),
    least: int | None = None,
    kernel: bool = False,
) -> Any:
    """A field with a line of help.

    `unset` says what happens where nothing is set, `methods` which methods listen (all unless they
    are named), `least` is the smallest number that makes sense, and `kernel` marks what decides
    which kernel is used.
    """
    metadata = {"help": help, "unset": unset, "methods": tuple(methods), "least": least}
    return field(default=default, metadata={KEY: {**metadata, "kernel": kernel}})


@dataclass(frozen=True)
class Setting:
    """A field of settings: what it is called, what it may be, and what it is for."""

    name: str
    kind: Any
    default: Any
    help: str
    unset: str
    methods: tuple[str, ...]
    least: int | None
    kernel: bool

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types that a value may have; a union is taken apart."""
        union = get_origin(self.kind) in (Union, UnionType)
        return get_args(self.kind) if union else (self.kind,)

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that a value may be."""
        words = [get_args(kind) for kind in self.kinds if get_origin(kind) is Literal]
        return tuple(word for some in words for word in some)

    @property
    def expected(self) -> str:
        """What a value may be, in words."""
        kinds = [_describe_type(kind) for kind in self.kinds if kind is not NoneType]
        least = "" if self.least is None else f" of {self.least} or more"
        return " or ".join(kinds) + least

    @property
    def otherwise(self) -> str:
        """What holds where nothing is set, in words."""
        nothing = self.default is None or self.default is False or self.default == ()
        plain = "" if nothing else str(self.default)
        return self.unset or plain

    @property
    def about(self) -> str:
        """Help, which methods listen, and the default, in a line."""
        listeners = f"for {' and '.join(self.methods)}" if self.methods else ""
        default = f"default: {self.otherwise}" if self.otherwise else ""
        rest = "; ".join(part for part in (listeners, default) if part)
        return f"{self.help} [{rest}]" if rest else self.help

    def accepts(self, value: object) -> bool:
        fits = any(_is_of(value, kind) for kind in self.kinds)
        small = self.least is not None and isinstance(value, Real) and float(value) < self.least
        return fits and not small

    def refusal(self, value: object) -> InputError:
        """What to raise for a value that makes no sense."""
        return InputError(f"{self.name}: expected {self.expected}, not {value!r}")


@cache
def settings_of(kind: Any) -> Mapping[str, Setting]:
    """All settings of a dataclass, by name."""
    return {setting.name: setting for setting in _fields_with_help(kind)}


def _fields_with_help(kind: type) -> Iterator[Setting]:
    hints = get_type_hints(kind)
    for entry in fields(kind):
        if KEY in entry.metadata:
            default = None if entry.default is MISSING else entry.default
            yield Setting(entry.name, hints[entry.name], default, **entry.metadata[KEY])


def require_values(settings: Any) -> None:
    """Refuse values that are not what their fields may be."""
    kind: type = type(settings)
    for setting in settings_of(kind).values():
        value = getattr(settings, setting.name)
        if value is not setting.default and not setting.accepts(value):
            raise setting.refusal(value)


def format_settings(kind: type) -> str:
    """All settings of a dataclass with their help, one in each line, for docstrings."""
    return "\n".join(
        f"- `{setting.name}` ({_description(setting)}): {setting.help}"
        for setting in settings_of(kind).values()
    )


def _description(setting: Setting) -> str:
    """What a value may be, what holds where none is given, and which methods listen."""
    default = f"default: {setting.otherwise or 'none'}"
    listeners = f"for {' and '.join(setting.methods)}" if setting.methods else ""
    return "; ".join(part for part in (setting.expected, default, listeners) if part)


TYPE_WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "yes or no",
    str: "a word",
    Path: "a file",
    Executor: "an executor of concurrent.futures",
}


def _describe_type(kind: Any) -> str:
    if get_origin(kind) is Literal:
        *most, last = get_args(kind)
        return f"{', '.join(most)} or {last}"
    if get_origin(kind) in (Sequence, Mapping):
        return "a list of words" if get_origin(kind) is Sequence else "an object"
    return TYPE_WORDS.get(kind, "a kernel")


def _is_of(value: object, kind: Any) -> bool:
    """Whether a value has a type, as people mean it: whole numbers are numbers, truths are not."""
    origin = get_origin(kind)
    if origin is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if origin is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str)
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    return isinstance(value, origin or kind)
