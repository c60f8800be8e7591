"""What is asked: about which model, given what evidence, and which question.

A `View` finds names in a model: variables, or atoms of a program. A `Question` is bound to a view
and knows how elimination answers it, and how chains do. `inference.answer.answer` asks it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

import orbitmc as om
from orbitmc._util.arrays import Numbers
from orbitmc._util.text import quote, suggestion
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.evidence import Evidence, resolve
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.plan import Plan
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.inference.settings import Settings
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.mln.grounding.grounding import Ground
    from orbitmc.mln.grounding.queries import QueryAtoms
    from orbitmc.sampling.run import RunObserver

Answer = TypeVar("Answer")
AnswerCo = TypeVar("AnswerCo", covariant=True)
Item = TypeVar("Item")
Scope = tuple[int, ...]


Names = Sequence[str] | str
"""One name, or several."""

Program: TypeAlias = "MarkovLogic"
"""A ground Markov logic program; its files are loaded when one is read."""


def list_names(names: Names) -> tuple[str, ...]:
    """All of several names; a single one may stand alone."""
    return tuple(list_items(names, "names"))


def list_items(items: str | Iterable[str | Item], what: str) -> list[str | Item]:
    """All that is listed; a single word may stand alone."""
    if isinstance(items, str):
        return [items]
    if not isinstance(items, Iterable):
        raise InputError(f"expected a list of {what}, or one of them, not {items!r}")
    return list(items)


def resolve_query(query: Names | None, model: Model) -> tuple[str, ...] | None:
    """The variables that a query names, each once; None where all are asked about."""
    if query is None:
        return None
    named = list_names(query)
    if not named:
        raise InputError("the query is empty: name at least one variable")
    known = set(model.order)
    for name in named:
        if name not in known:
            raise InputError(
                f"the query names an unknown variable {quote(name)}"
                f"{suggestion(str(name), model.order)}"
            )
    return tuple(dict.fromkeys(named))


def names_in(typed: Names, model: Model | Program) -> list[str]:
    """Take a typed query, or several, apart at commas, but not the name of one variable.

    Of a program, they are the atoms that the query means.
    """
    if not isinstance(model, Model):
        return list(model.atoms_in(typed))
    texts = list_names(typed)
    return [name for text in texts for name in _names_in(text, model)]


def _names_in(text: str, model: Model) -> list[str]:
    if text in model.order:
        return [text]
    return [name for part in text.split(",") if (name := part.strip())]


def has_learned_tables(model: object) -> TypeGuard[Model]:
    """Whether it is a network of which it is known how sure its tables are."""
    return isinstance(model, Model) and model.precision is not None


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


# What a question is about: names, their values, and which variables of a model say them.
#
# A name is a variable of a model, free or observed, or a ground atom of a program, known or not.

NO_VARIABLE = -1  # in the place of a variable: what is known needs none
TRUTHS = ("false", "true")


@dataclass(frozen=True)
class Target:
    """A name: `meaning[value of the variable]` is the place of its own value in `values`.

    What is known has no `variable`, and one meaning.
    """

    name: str
    values: tuple[str, ...]
    variable: int
    meaning: Numbers

    @property
    def known(self) -> int | None:
        """Its value, if that is decided."""
        return int(self.meaning[0]) if self.variable == NO_VARIABLE else None


@dataclass(frozen=True)
class View:
    """A model that evidence is built into, or the model of a program, and how to find names."""

    model: Model
    names: Sequence[str]
    find: Callable[[str], Target]
    program: MarkovLogic | None = None

    @cached_property
    def known(self) -> frozenset[str]:
        """All names of a model."""
        return frozenset(self.names)

    @property
    def ground(self) -> Ground | None:
        """The program that the model means, if there is one."""
        return None if self.program is None else self.program.ground

    def explain(self, error: ContradictionError) -> ContradictionError:
        """Say a contradiction in terms of whoever asked."""
        return error if self.program is None else self.program.explain(error)

    def decided_by(self, evidence: Evidence | None) -> Collection[str]:
        """Variables of which evidence tells the value."""
        observations = {} if evidence is None else dict(evidence.items())
        return resolve(observations, self.model.domains()).hard.keys()

    def render(self, marginals: Marginals) -> Marginals:
        """Marginals of variables in terms of whoever asked."""
        return marginals if self.program is None else self.program.in_atoms(marginals)

    def named(self, names: Sequence[str]) -> tuple[Target, ...]:
        """Find several names, each given once."""
        targets = tuple(self.find(name) for name in names)
        for place, target in enumerate(targets):
            if any(target.name == earlier.name for earlier in targets[:place]):
                raise InputError(f"{quote(target.name)} is named twice")
        return targets


def view_of(model: Model | Program, evidence: Evidence | None = None) -> View:
    """What can be asked about a model with evidence, or about a program."""
    if isinstance(model, Model):
        model.require_all_factors()
        seen = model.given(evidence)
        return View(seen, seen.order, lambda name: _variable(seen, name))
    require_program(model)
    require_plain(evidence, None)
    return _atoms(model)


def _variable(model: Model, name: str) -> Target:
    if name in model.index and name not in model.helpers:
        place = model.index[name]
        values = model.values[place]
        return Target(name, values, place, np.arange(len(values)))
    if name in model.observed:
        seen = model.observed[name]
        return Target(name, seen.values, NO_VARIABLE, np.array([seen.value]))
    raise InputError(f"unknown variable {quote(name)}{suggestion(str(name), model.order)}")


def _atoms(program: MarkovLogic) -> View:
    return View(program.model, program.asked.names, lambda name: _atom(program, name), program)


def _atom(program: MarkovLogic, name: str) -> Target:
    atoms = om.mln.grounding.query_atoms(
        program.ground, om.mln.grounding.read_query(name, program.ground.program)
    )
    if len(atoms.names) != 1:
        some = f", such as {atoms.names[0]}" if atoms.names else ""
        raise InputError(f"{quote(name)} fits {len(atoms.names)} atoms: name one ground atom{some}")
    return atom_targets(program, atoms)[0]


def atom_targets(program: MarkovLogic, atoms: QueryAtoms) -> list[Target]:
    """Atoms as names that are false or true."""
    size = program.model.graph.cardinality
    return [
        Target(name, TRUTHS, NO_VARIABLE, np.array([int(status == om.mln.data.TRUE)]))
        if variable < 0
        else Target(name, TRUTHS, variable, (np.arange(size[variable]) == value).astype(np.int64))
        for name, status, variable, value in zip(
            atoms.names,
            atoms.status.tolist(),
            atoms.variable.tolist(),
            atoms.value.tolist(),
            strict=True,
        )
    ]


def all_targets(asked: View) -> tuple[Target, ...]:
    """All names, in the order of whoever wrote the model; of a program, what it was read for."""
    if asked.program is not None:
        return tuple(atom_targets(asked.program, asked.program.asked))
    return tuple(asked.find(name) for name in asked.names)


def restrict(asked: View, masks: Mapping[int, NDArray[np.bool_]]) -> View:
    """The same subject, given that some variables have only some of their values."""
    before = asked.model
    evidence = {
        before.names[v]: _mask_evidence(before.values[v], mask) for v, mask in masks.items()
    }
    after = before.given(evidence)
    return View(after, asked.names, lambda name: reindex(asked.find(name), before, after))


def narrow(view: View, part: Model) -> View:
    """The same subject, about a part of its model; names outside of it do not matter."""

    def find(name: str) -> Target:
        target = view.find(name)
        if target.known is not None:
            return target
        place = part.index.get(view.model.names[target.variable], NO_VARIABLE)
        return replace(
            target,
            variable=place,
            meaning=target.meaning[:1] if place == NO_VARIABLE else target.meaning,
        )

    return View(part, view.names, find)


def _mask_evidence(values: Sequence[str], mask: NDArray[np.bool_]) -> str | list[float]:
    """Evidence for one value, or for several alike."""
    return values[int(mask.argmax())] if mask.sum() == 1 else mask.astype(float).tolist()


def reindex(target: Target, before: Model, after: Model) -> Target:
    """A name in terms of a model that has more evidence."""
    if target.known is not None:
        return target
    name = before.names[target.variable]
    if name in after.index:
        return replace(target, variable=after.index[name])
    value = after.observed[name].value
    return replace(target, variable=NO_VARIABLE, meaning=target.meaning[[value]])


class Question(Protocol[AnswerCo]):
    """A question in terms of one view: how elimination answers it, and how chains do.

    `scopes` are the variables whose joint tables answer it; None if no few tables do. It `needs`
    some variables, or all if None. Only what `can_resume` is kept in a checkpoint.
    """

    @property
    def scopes(self) -> Sequence[Scope] | None: ...

    @property
    def can_resume(self) -> bool: ...

    @property
    def needs(self) -> Sequence[int] | None: ...

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> AnswerCo | None:
        """The answer from a small model that is eliminated already; None if it cannot tell."""

    def plan(self, settings: Settings) -> Plan:
        """Choose how to answer."""

    def from_elimination(self, plan: Plan) -> AnswerCo:
        """The exact answer, as planned."""

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> AnswerCo:
        """The sampled answer, as planned."""


@dataclass(frozen=True)
class Query(Generic[Answer]):
    """A model or a program, what is known of it, and a question that `bind` puts to a view.

    Of a program, `count` answers without grounding, or gives None if that is not wanted. A question
    that looks at nothing but samples may be put to a program whose equivalence relations are not
    ground; `in_relations` binds it. `in_cells` samples the cells of a program that is not ground.
    `finish` adds to the answer what follows from the model as it was given.
    """

    model: Model | Program
    evidence: Evidence | None
    bind: Callable[[View], Question[Answer]]
    count: Callable[[Settings], Answer | None] | None = None
    in_relations: Callable[[View], Question[Answer]] | None = None
    in_cells: Callable[[], Question[Answer]] | None = None
    finish: Callable[[Answer, Settings], Answer] | None = None
