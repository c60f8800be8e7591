"""Settings as keywords of a question, with types, help and kind errors."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypedDict, TypeVar

from orbitmc._util.settings import listed, settings_of
from orbitmc._util.text import suggestion
from orbitmc.ask.settings import (
    Approximation,
    Base,
    Blocks,
    Estimator,
    Kernel,
    Method,
    Scan,
    Settings,
    Slices,
)

KEYWORD = inspect.Parameter.KEYWORD_ONLY
P = ParamSpec("P")
R = TypeVar("R")


PARAMETERS: Mapping[str, str] = {
    "model": "`Model` or `MarkovLogic`: what is asked about",
    "evidence": "mapping; default: none: a value, or weights of the values, for each observed name",
    "query": "names; default: all: the variables or atoms to report",
    "kernel": "`Kernel`; default: that of the method: samples the model with its evidence",
    "settings": "`Settings`; default: the usual ones: keywords beside them change them",
    "watchers": "functions of a `Run`; default: none: called after every round of sampling",
    "names": "list of names: the variables or atoms whose joint values are asked for",
    "event": "text: an expression such as `rain != 'none' and grass == 'wet'`",
    "given": "text; default: nothing: an event that is known to have happened",
    "features": "mapping: a function of states, or a table, for each name",
    "rows": "DataFrame or list of mappings: evidence, one question for each row",
    "ignore": "names; default: none: columns of the rows that are no evidence",
    "id": "names; default: none: columns that are no evidence and become the index of the answer",
    "progress": "function of a share and words; default: none: called while rows are answered",
    "target": "name: the variable or atom that one wants to know",
    "candidates": "names; default: all others: what might be observed",
    "betas": "list of numbers above 0: inverse temperatures",
    "chains": "whole number; default: 64: how many chains are drawn from",
    "k": "whole number; default: 1: how many states",
}
"""What questions take beside settings: the type, the default and the meaning."""


class Options(TypedDict, total=False):
    """The fields of `Settings` as keywords of a question."""

    method: Method
    base: Base | Kernel
    block_work: int | None
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
    blocks: Blocks | None
    clusters: int | None
    rank: int | None
    max_moved: int | None
    min_acceptance: float | None
    generators: Sequence[str]
    moves: Mapping[str, Any] | None
    seed: int
    packs: int | None
    lanes: int | None
    threads: int | None
    executor: Executor | None
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
    said = inspect.cleandoc(question.__doc__ or "")
    own_lines = "\n".join(_line(one.name) for one in plain if one.name in PARAMETERS)
    asked.__doc__ = f"{said}\n\nParameters:\n\n{own_lines}\n\nSettings:\n\n{listed(Settings)}"
    return asked


def _line(name: str) -> str:
    """A parameter in a line of a docstring."""
    kind, _, meaning = PARAMETERS[name].rpartition(": ")
    return f"- `{name}` ({kind}): {meaning}"
