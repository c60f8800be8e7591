"""From the tree of a formula's tokens to the formula that it means, every name looked up."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from orbitmc._util.text import quoted, suggestion
from orbitmc.logic.language.formulas.scopes import Scope
from orbitmc.logic.language.formulas.terms import TermReader, Vocabulary
from orbitmc.logic.language.syntax import (
    And,
    Atom,
    Comparison,
    Count,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Rule,
    Truth,
    Variable,
    variables,
)
from orbitmc.logic.language.trees import Sentence, Tree
from orbitmc.logic.language.weights import Weighing

COMPARISONS = {
    "lessThan": "<",
    "lessThanEq": "<=",
    "greaterThan": ">",
    "greaterThanEq": ">=",
    "substr": "substr",
}
OPERATORS = {"=/=": "!=", "<>": "!=", "==": "="}
MOST_NESTED = 100
MOST_COPIES = 2**12  # of one formula


class Conversion:
    """A formula while it is read.

    Where it has alternatives, as an atom with * that is affirmed or denied, `options` says how
    many, and `chosen` which of them are taken.
    """

    def __init__(
        self, sentence: Sentence, vocabulary: Vocabulary, chosen: Sequence[int] = ()
    ) -> None:
        _require_shallow(sentence)
        self.vocabulary, self.chosen, self.options = vocabulary, chosen, list[int]()
        self.terms = TermReader(sentence, vocabulary)
        root = Scope()
        self.formula = root.close(self._formula(sentence.tree, root), "FORALL")
        self.types = self.terms.settled_types()

    def _formula(self, tree: Tree, scope: Scope) -> Formula:
        parts = tree.parts
        match tree.kind:
            case "name" | "application":
                return self._atom(tree, scope)
            case "or" | "and":
                joined = Or if tree.kind == "or" else And
                return joined(tuple([self._formula(part, scope) for part in parts]))
            case "implies" | "iff":
                arrow = Implies if tree.kind == "implies" else Iff
                return arrow(*(self._formula(part, scope) for part in parts))
            case "not":
                if parts[0].kind == "starred":
                    self.terms.complain(tree.start, "an atom with * cannot be negated")
                return Not(self._formula(parts[0], scope))
            case "quantified":
                return self._quantified(tree, scope)
            case "comparison":
                return self._comparison(OPERATORS.get(tree.word, tree.word), parts, scope)
            case "starred":
                return self._starred(parts[0], scope)
            case "count":
                return self._count(tree, scope)
            case "group":
                names = tree.word.split("|")
                return self._atom(tree._replace(word=names[self._choice(len(names))]), scope)
            case "product" if parts[0].kind in ("name", "application"):
                self.terms.complain(
                    tree.at, "formulas multiplied with numbers (hybrid features) are not supported"
                )
            case _:
                self.terms.complain(tree.start, "expected an atom or a comparison, found a term")
        return Truth(True)

    def _quantified(self, tree: Tree, scope: Scope) -> Formula:
        *named, body = tree.parts
        inner = Scope(scope.depth + 1, scope)
        for name in named:
            self.terms.check_variable(name)
            inner.names[name.word] = self.terms.fresh(name.word)
        return inner.close(self._formula(body, inner), tree.word.upper())

    def _count(self, tree: Tree, scope: Scope) -> Formula:
        *named, body = tree.parts
        inner = Scope(scope.depth + 1, scope)
        for name in named:
            self.terms.check_variable(name)
            inner.names[name.word] = self.terms.fresh(name.word)
        counted = self._formula(body, inner)
        for name in named:
            if inner.names[name.word] not in inner.used:
                self.terms.complain(name.start, f"{name.word} does not occur in what is counted")
        operator, number = tree.word.split()
        return Count(tuple(inner.used), (counted,), operator, int(number))

    def _starred(self, tree: Tree, scope: Scope) -> Formula:
        denied = self._choice(2)
        atom = self._atom(tree, scope)
        return Not(atom) if denied else atom

    def _choice(self, options: int) -> int:
        """Which of so many alternatives is taken."""
        self.options.append(options)
        place = len(self.options) - 1
        return self.chosen[place] if place < len(self.chosen) else 0

    def _atom(self, tree: Tree, scope: Scope) -> Formula:
        name, arguments = tree.word, tree.parts
        predicate = self.vocabulary.predicates.get(name)
        if predicate is None and name in COMPARISONS:
            if self.terms.has(tree, 2):
                return self._comparison(COMPARISONS[name], arguments, scope)
            return Truth(True)
        if predicate is None:
            self._undeclared(tree)
            return Truth(True)
        if not self.terms.has(tree, len(predicate.types)):
            return Truth(True)
        return Atom(name, self.terms.arguments(tree, scope, predicate.types))

    def _undeclared(self, tree: Tree) -> None:
        name, known = tree.word, self.vocabulary
        if name in known.functions:
            message = f"{name} is a function, so it is no formula; compare its value"
        else:
            message = f"the predicate {quoted(name)} is not declared"
            message += suggestion(name, known.predicates)
        self.terms.complain(tree.start, message)

    def _comparison(self, operator: str, parts: Sequence[Tree], scope: Scope) -> Formula:
        first, second = (self.terms.term(part, scope) for part in parts)
        self.terms.typing.alike((*variables(first), *variables(second)))
        return Comparison(operator, first, second)


def _require_shallow(sentence: Sentence) -> None:
    """Refuse formulas that are nested deeper than anyone writes them."""
    if len(sentence.statement.text) <= MOST_NESTED:
        return
    waiting = [(sentence.tree, 1)]
    while waiting:
        tree, depth = waiting.pop()
        if depth > MOST_NESTED:
            raise sentence.statement.error(0, f"the formula is nested more than {MOST_NESTED} deep")
        waiting += [(part, depth + 1) for part in tree.parts]


def conversions(sentence: Sentence, vocabulary: Vocabulary) -> list[Conversion]:
    """Read a formula once for every combination of its alternatives, as those of atoms with *."""
    first = Conversion(sentence, vocabulary)
    copies = math.prod(first.options)
    if copies > MOST_COPIES:
        raise sentence.statement.error(
            0,
            f"{len(first.options)} atoms with alternatives (*) make {copies:.3g} formulas; the "
            f"most is {MOST_COPIES}",
        )
    if first.terms.errors or copies == 1:
        return [first]
    return [
        Conversion(sentence, vocabulary, chosen)
        for chosen in itertools.product(*map(range, first.options))
    ]


def rule(conversion: Conversion, weighing: Weighing, unique: Sequence[str] = ()) -> Rule:
    """Put a formula and its weight together; the `unique` variables differ and have one order."""
    formula, marked = weighing.formula, tuple(conversion.terms.per_constant)
    found = Rule(
        Not(conversion.formula) if weighing.denied else conversion.formula,
        weighing.weight,
        conversion.types,
        (weighing.variable,) if weighing.variable else marked,
        weighing.fixed,
        formula.place(0),
        " ".join(formula.text.split()),
        weighing.variable,
    )
    before: dict[str, str] = {}
    pairs = []
    for name in unique:
        kind = found.types[name]
        if kind in before:
            pairs.append(Comparison("precedes", Variable(before[kind]), Variable(name)))
        before[kind] = name
    if not pairs or found.weight == math.inf:
        return found  # repetitions of what must hold add nothing
    return replace(found, formula=And((*pairs, found.formula)))
