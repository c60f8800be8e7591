"""Settings as keywords of a question, with types, help and kind errors."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

from orbitmc.ask.settings import Approximation, Base, Estimator, Method, Scan, Settings, Slices
from orbitmc.machine.settings import listed, settings_of
from orbitmc.machine.text import suggestion

if TYPE_CHECKING:
    from orbitmc.kernels.kernel import Kernel
else:
    Kernel = tuple

KEYWORD = inspect.Parameter.KEYWORD_ONLY
P = ParamSpec("P")
R = TypeVar("R")


class Options(TypedDict, total=False):
    """The fields of `Settings` as keywords of a question."""

    method: Method
    base: Base | Kernel
    scan: Scan | None
    slices: Slices | None
    estimator: Estimator
    samples: int | None
    seconds: float | None
    standard_error: float | None
    warm_up: int | None
    spacing: int | None
    alpha: float | None
    approximation: Approximation | None
    clusters: int | None
    rank: int | None
    max_moved: int | None
    min_acceptance: float | None
    generators: Sequence[str]
    moves: Mapping[str, Any] | None
    seed: int
    packs: int
    lanes: int
    threads: int | None
    memory: int
    checkpoint: Path | str | None
    checkpoint_every: float | None


def with_options(settings: Settings | None, options: Options) -> Settings:
    """Settings with some of them changed."""
    return replace(settings or Settings(), **options)


def asks(question: Callable[P, R]) -> Callable[P, R]:
    """Let a question show all settings as keywords, in its signature and its docstring.

    It takes them as `**options: Unpack[Options]`. A keyword that does not exist raises a
    `TypeError` that says which one was probably meant.
    """
    own = inspect.signature(question)
    plain = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    shown = [
        inspect.Parameter(one.name, KEYWORD, default=one.default, annotation=one.kind)
        for one in settings_of(Settings).values()
    ]
    known = [one.name for one in (*plain, *shown)]

    @wraps(question)
    def asked(*arguments: P.args, **options: P.kwargs) -> R:
        for name in options:
            if name not in known:
                hint = suggestion(name, known)
                raise TypeError(f"{question.__name__}() has no setting {name!r}{hint}")
        return question(*arguments, **options)

    asked.__signature__ = own.replace(parameters=[*plain, *shown])  # type: ignore[attr-defined]
    asked.__doc__ = f"{inspect.cleandoc(question.__doc__ or '')}\n\nSettings:\n\n{listed(Settings)}"
    return asked
