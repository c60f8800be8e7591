"""Which variables of a model a question is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from orbitmc._util.text import quoted, suggestion
from orbitmc.errors import InputError
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.ask.programs import MarkovLogic
    from orbitmc.kernels.protocol import Kernel

Query = Sequence[str] | str
"""One name, or several."""


def asked_names(query: Query | None, model: Model) -> tuple[str, ...] | None:
    """The variables that a query names, each once; None where all are asked about."""
    if query is None:
        return None
    named = [query] if isinstance(query, str) else list(query)
    if not named:
        raise InputError("the query is empty: name at least one variable")
    known = set(model.order)
    for name in named:
        if name not in known:
            raise InputError(
                f"the query names an unknown variable {quoted(name)}"
                f"{suggestion(str(name), model.order)}"
            )
    return tuple(dict.fromkeys(named))


def names_in(typed: Query, model: Model) -> list[str]:
    """Take a typed query, or several, apart at commas, but not the name of one variable."""
    texts = [typed] if isinstance(typed, str) else typed
    return [name for text in texts for name in _names_in(text, model)]


def _names_in(text: str, model: Model) -> list[str]:
    if text in model.order:
        return [text]
    return [name for part in text.split(",") if (name := part.strip())]


Program: TypeAlias = "MarkovLogic"
"""A ground Markov logic program; its files are loaded when one is read."""


def require_program(model: object) -> None:
    """Refuse what is neither a model nor a program."""
    if not hasattr(model, "marginals"):
        raise InputError(
            f"a question is about a model or a program, not about a {type(model).__name__}: "
            "om.read(path) reads one"
        )


def require_plain(evidence: Evidence | None, kernel: Kernel | None) -> None:
    """Refuse what a program cannot be asked with."""
    if evidence is not None and len(evidence):
        raise InputError("evidence of a program is a database: read(program, databases)")
    if kernel is not None:
        raise InputError("a kernel belongs to a model: marginals(program.model, kernel=...)")
