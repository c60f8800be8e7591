"""From the tree of a formula's tokens to the formula that it means, every name looked up."""

from collections.abc import Sequence

from lark import Token, Tree

from orbitmc.logic.checking import variables
from orbitmc.logic.grammar import Sentence, token_of, tree_of, trees_of
from orbitmc.logic.scopes import Scope
from orbitmc.logic.syntax import (
    And,
    Atom,
    Comparison,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Truth,
)
from orbitmc.logic.terms import Terms, Vocabulary
from orbitmc.text import quoted, suggestion

COMPARISONS = {
    "lessThan": "<",
    "lessThanEq": "<=",
    "greaterThan": ">",
    "greaterThanEq": ">=",
    "substr": "substr",
}
OPERATORS = {"=/=": "!=", "<>": "!="}
MOST_NESTED = 100
NESTING = {"iff", "implies", "sum", "product"}  # chains of these nest, one in the other


class Conversion:
    """A formula while it is read: `signs` says which starred atoms are affirmed."""

    def __init__(
        self, sentence: Sentence, vocabulary: Vocabulary, signs: Sequence[bool] = ()
    ) -> None:
        _require_shallow(sentence)
        self.vocabulary, self.signs, self.stars = vocabulary, signs, 0
        self.terms = Terms(sentence, vocabulary)
        root = Scope()
        self.formula = root.close(self._formula(sentence.tree, root), "FORALL")
        self.types = self.terms.settled_types()

    def _formula(self, tree: Tree[Token], scope: Scope) -> Formula:
        children = tree.children
        match tree.data:
            case "iff" | "implies":
                return self._chain(tree, scope)
            case "or":
                return Or(self._formulas(tree, scope))
            case "and":
                return And(self._formulas(tree, scope))
            case "not":
                if tree_of(children[1]).data == "starred":
                    self.terms.complain(tree, "an atom with * cannot be negated")
                return Not(self._formula(tree_of(children[1]), scope))
            case "quantified":
                return self._quantified(tree, scope)
            case "comparison":
                left, operator, right = children
                return self._comparison(
                    OPERATORS.get(str(operator), str(operator)),
                    tree_of(left),
                    tree_of(right),
                    scope,
                )
            case "starred":
                return self._starred(tree_of(children[1]), scope)
            case "name" | "application":
                return self._atom(tree, scope)
            case "product" if tree_of(children[0]).data in ("name", "application"):
                self.terms.complain(
                    token_of(children[1]),
                    "formulas multiplied with numbers (hybrid features) are not supported",
                )
            case _:
                self.terms.complain(tree, "expected an atom or a comparison, found a term")
        return Truth(True)

    def _formulas(self, tree: Tree[Token], scope: Scope) -> tuple[Formula, ...]:
        return tuple(self._formula(part, scope) for part in trees_of(tree))

    def _chain(self, tree: Tree[Token], scope: Scope) -> Formula:
        connective = Iff if tree.data == "iff" else Implies
        first, *others = self._formulas(tree, scope)
        if len(others) > 1 and self.vocabulary.dialect == "pracmln":
            self.terms.complain(token_of(tree.children[3]), "put one of them in parentheses")
        for other in others:
            first = connective(first, other)
        return first

    def _quantified(self, tree: Tree[Token], scope: Scope) -> Formula:
        quantifier, named, body = tree.children
        inner = Scope(scope.depth + 1, scope)
        for name in tree_of(named).children:
            self.terms.check_variable(token_of(name))
            inner.names[str(name)] = self.terms.fresh(str(name))
        return inner.close(self._formula(tree_of(body), inner), str(quantifier).upper())

    def _starred(self, tree: Tree[Token], scope: Scope) -> Formula:
        affirmed = self.signs[self.stars] if self.stars < len(self.signs) else True
        self.stars += 1
        atom = self._atom(tree, scope)
        return atom if affirmed else Not(atom)

    def _atom(self, tree: Tree[Token], scope: Scope) -> Formula:
        token, arguments = token_of(tree.children[0]), trees_of(tree)
        name = str(token)
        predicate = self.vocabulary.predicates.get(name)
        if predicate is None and name in COMPARISONS:
            if self.terms.has(token, len(arguments), 2):
                return self._comparison(COMPARISONS[name], arguments[0], arguments[1], scope)
            return Truth(True)
        if predicate is None:
            self._undeclared(token)
            return Truth(True)
        if not self.terms.has(token, len(arguments), len(predicate.types)):
            return Truth(True)
        terms = map(self.terms.term, arguments, [scope] * len(arguments), predicate.types)
        return Atom(name, tuple(terms), self.terms.place(token))

    def _undeclared(self, token: Token) -> None:
        name, known = str(token), self.vocabulary
        if name in known.functions:
            message = f"{name} is a function, so it is no formula; compare its value"
        else:
            message = f"the predicate {quoted(name)} is not declared"
            message += suggestion(name, known.predicates)
        self.terms.complain(token, message)

    def _comparison(
        self, operator: str, left: Tree[Token], right: Tree[Token], scope: Scope
    ) -> Formula:
        first, second = self.terms.term(left, scope), self.terms.term(right, scope)
        self.terms.typing.alike((*variables(first), *variables(second)))
        return Comparison(operator, first, second)


def _require_shallow(sentence: Sentence) -> None:
    """Refuse formulas that are nested deeper than anyone writes them."""
    waiting = [(sentence.tree, 1)]
    while waiting:
        tree, depth = waiting.pop()
        depth += len(tree.children) // 2 if tree.data in NESTING else 1
        if depth > MOST_NESTED:
            raise sentence.statement.error(0, f"the formula is nested more than {MOST_NESTED} deep")
        waiting += [(child, depth) for child in trees_of(tree)]
