"""Read events about ground atoms: formulas of Markov logic, as in Smokes(Anna) ^ !Cancer(Bob)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from orbitmc._util.text import quoted, suggestion
from orbitmc.ask.questions.events.expressions import (
    MOST_DEPTH,
    Event,
    combine_events,
    condition,
    equivalent,
    negated,
)
from orbitmc.ask.questions.subject import atoms_named
from orbitmc.errors import InputError
from orbitmc.mln.grounding.queries import Pattern, query_atoms
from orbitmc.mln.language.grammar import Tree, parse_sentence
from orbitmc.mln.language.scanner import Source, Statement

if TYPE_CHECKING:
    from orbitmc.ask.programs import MarkovLogic

REFUSED = {
    "quantified": "an event is about ground atoms: quantifiers are not read here",
    "comparison": "an event is about ground atoms: comparisons of terms are not read here",
    "per_constant": "an event has no weights: leave out +",
    "starred": "an event is one formula: leave out *",
}


def read_formula(text: str, program: MarkovLogic, source: str) -> Event:
    """Read a formula of ground atoms, in the dialect of a program."""
    if not isinstance(text, str):
        raise InputError(f"{source}: an event is text such as Smokes(Anna), not {quoted(text)}")
    statement = Statement(Source(source, text), 0, text)
    tree = parse_sentence(statement, program.ground.program.notation).tree
    return _Meaning(statement, program).of(tree, 0)


class _Meaning:
    """What the parts of a formula mean in a program."""

    def __init__(self, statement: Statement, program: MarkovLogic) -> None:
        self.statement, self.program = statement, program

    def of(self, tree: Tree, depth: int) -> Event:
        if depth > MOST_DEPTH:
            raise self._wrong(tree, f"it is nested more than {MOST_DEPTH} deep; write it with less")
        if tree.kind in ("application", "name"):
            return self._atom(tree)
        if tree.kind not in ("and", "or", "not", "implies", "iff"):
            raise self._wrong(tree, REFUSED.get(tree.kind, "expected a ground atom"))
        parts = [self.of(part, depth + 1) for part in tree.parts]
        if tree.kind == "not":
            return negated(parts[0])
        if tree.kind == "implies":
            return combine_events("or", [negated(parts[0]), parts[1]])
        if tree.kind == "iff":
            return equivalent(parts[0], parts[1])
        return combine_events("and" if tree.kind == "and" else "or", parts)

    def _wrong(self, tree: Tree, message: str) -> InputError:
        return self.statement.error(tree.start, message)

    def _atom(self, tree: Tree) -> Event:
        ground = self.program.ground
        known = ground.program.predicates
        if tree.word not in known:
            near = suggestion(tree.word, known)
            raise self._wrong(tree, f"there is no predicate {quoted(tree.word)}{near}")
        arity = len(known[tree.word].types)
        if len(tree.parts) != arity:
            raise self._wrong(tree, f"{tree.word} takes {arity} arguments, not {len(tree.parts)}")
        words = tuple((self._constant(part), True) for part in tree.parts)
        try:
            atoms = query_atoms(ground, [Pattern(tree.word, words or None)])
        except InputError as error:
            raise self._wrong(tree, error.message.replace("the query names", "it names")) from None
        named = atoms_named(self.program, atoms)
        if len(named) != 1:
            raise self._wrong(
                tree, f"{len(named)} atoms fit {quoted(tree.word)}: name one ground atom"
            )
        return condition(named, np.array([False, True]))

    def _constant(self, tree: Tree) -> str:
        if tree.kind == "string":
            return re.sub(r"\\(.)", r"\1", tree.word[1:-1])
        if tree.kind not in ("name", "number"):
            raise self._wrong(tree, "expected a constant: an event is about ground atoms")
        return tree.word
