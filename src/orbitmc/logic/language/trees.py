"""Formulas as trees of their words, and what waits while one is read."""

from dataclasses import dataclass
from typing import NamedTuple

from orbitmc.logic.language.scanner import Statement


class Tree(NamedTuple):
    """A word of a formula, where its text begins, and the parts that it joins or is applied to.

    `kind` is iff, implies, or, and, not, quantified (variables, then the body), count (likewise),
    comparison, sum, product, number, string, name, application, group (an application of
    alternative predicates), per_constant or starred. `at` is where the operator between parts
    stands.
    """

    kind: str
    start: int
    word: str = ""
    parts: tuple["Tree", ...] = ()
    at: int = 0


@dataclass(slots=True)
class Pending:
    """What waits for its last operand: an operator, a prefix, or an open bracket.

    `first` is the number of its first operand.
    """

    power: int
    kind: str
    start: int
    first: int
    word: str = ""
    at: int = 0
    variables: tuple[Tree, ...] = ()


class Sentence(NamedTuple):
    """A formula as a tree, the statement that it stands in, and remarks with their places."""

    statement: Statement
    tree: Tree
    remarks: list[tuple[int, str]]
