"""From the tree of a formula's tokens to the formula that it means, every name looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lark import Token, Tree

from orbitmc.errors import InputError
from orbitmc.logic.checking import Typing, variables
from orbitmc.logic.grammar import Sentence
from orbitmc.logic.scanner import error_at, unquoted
from orbitmc.logic.scopes import Scope, free_names
from orbitmc.logic.syntax import (
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Dialect,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Place,
    Predicate,
    Term,
    Truth,
    Variable,
)
from orbitmc.text import quoted, suggestion

COMPARISONS = {
    "lessThan": "<",
    "lessThanEq": "<=",
    "greaterThan": ">",
    "greaterThanEq": ">=",
    "substr": "substr",
}
OPERATORS = {"=/=": "!=", "<>": "!="}
FUNCTIONS = {"succ": 1, "plus": 2, "minus": 2, "times": 2, "dividedBy": 2, "mod": 2, "concat": 2}
INFIX = {"+": "plus", "-": "minus", "*": "times", "/": "dividedBy", "%": "mod"}
MOST_NESTED = 100
NESTING = {"iff", "implies", "sum", "product"}  # chains of these nest, one in the other


@dataclass(frozen=True)
class Vocabulary:
    """The names that formulas may use; `reserved` says what a name means that no variable has."""

    predicates: Mapping[str, Predicate]
    functions: Mapping[str, str]
    reserved: Mapping[str, str]
    dialect: Dialect


class Conversion:
    """A formula while it is read: `signs` says which starred atoms are affirmed."""

    def __init__(
        self, sentence: Sentence, vocabulary: Vocabulary, signs: Sequence[bool] = ()
    ) -> None:
        _require_shallow(sentence)
        self.statement, self.vocabulary, self.signs = sentence.statement, vocabulary, signs
        self.errors: list[InputError] = []
        self.constants: list[tuple[str, str]] = []
        self.per_constant: dict[str, None] = {}
        self.stars = 0
        self._typing = Typing()
        self._taken = set(free_names(sentence.tree))
        self._homes: dict[str, tuple[Scope, Place]] = {}
        root = Scope()
        self.formula = root.close(self._formula(sentence.tree, root), "FORALL")
        self.types = self._settled_types()

    def _settled_types(self) -> dict[str, str]:
        self._typing.settle()
        types = {name: self._typing.types.get(name, "") for name in self._homes}
        for name, kind in types.items():
            if not kind and not self.errors:
                place = self._homes[name][1]
                self._complain(place, f"the variable {name} stands in no atom, so it has no type")
        return types

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
                if _tree(children[1]).data == "starred":
                    self._complain(self._place(tree), "an atom with * cannot be negated")
                return Not(self._formula(_tree(children[1]), scope))
            case "quantified":
                return self._quantified(tree, scope)
            case "comparison":
                left, operator, right = children
                return self._comparison(
                    OPERATORS.get(str(operator), str(operator)), _tree(left), _tree(right), scope
                )
            case "starred":
                return self._starred(_tree(children[1]), scope)
            case "name" | "application":
                return self._atom(tree, scope)
            case "product" if _tree(children[0]).data in ("name", "application"):
                self._complain(
                    self._place(_token(children[1])),
                    "formulas multiplied with numbers (hybrid features) are not supported",
                )
            case _:
                self._complain(self._place(tree), "expected an atom or a comparison, found a term")
        return Truth(True)

    def _formulas(self, tree: Tree[Token], scope: Scope) -> tuple[Formula, ...]:
        return tuple(self._formula(part, scope) for part in _trees(tree))

    def _chain(self, tree: Tree[Token], scope: Scope) -> Formula:
        connective = Iff if tree.data == "iff" else Implies
        first, *others = self._formulas(tree, scope)
        if len(others) > 1 and self.vocabulary.dialect == "pracmln":
            self._complain(self._place(_token(tree.children[3])), "put one of them in parentheses")
        for other in others:
            first = connective(first, other)
        return first

    def _quantified(self, tree: Tree[Token], scope: Scope) -> Formula:
        quantifier, named, body = tree.children
        inner = Scope(scope.depth + 1, scope)
        for name in _tree(named).children:
            self._check_variable(_token(name))
            inner.names[str(name)] = self._fresh(str(name))
        return inner.close(self._formula(_tree(body), inner), str(quantifier).upper())

    def _fresh(self, name: str) -> str:
        """Give a variable name that nothing else in the formula has."""
        fresh, number = name, 1
        while fresh in self._taken:
            number += 1
            fresh = f"{name}_{number}"
        self._taken.add(fresh)
        return fresh

    def _starred(self, tree: Tree[Token], scope: Scope) -> Formula:
        affirmed = self.signs[self.stars] if self.stars < len(self.signs) else True
        self.stars += 1
        atom = self._atom(tree, scope)
        return atom if affirmed else Not(atom)

    def _atom(self, tree: Tree[Token], scope: Scope) -> Formula:
        token, arguments = _token(tree.children[0]), _trees(tree)
        name = str(token)
        predicate = self.vocabulary.predicates.get(name)
        if predicate is None and name in COMPARISONS:
            if self._has(token, len(arguments), 2):
                return self._comparison(COMPARISONS[name], arguments[0], arguments[1], scope)
            return Truth(True)
        if predicate is None:
            self._undeclared(token)
            return Truth(True)
        if not self._has(token, len(arguments), len(predicate.types)):
            return Truth(True)
        terms = map(self._term, arguments, [scope] * len(arguments), predicate.types)
        return Atom(name, tuple(terms), self._place(token))

    def _undeclared(self, token: Token) -> None:
        name, known = str(token), self.vocabulary
        if name in known.functions:
            message = f"{name} is a function, so it is no formula; compare its value"
        else:
            message = f"the predicate {quoted(name)} is not declared"
            message += suggestion(name, known.predicates)
        self._complain(self._place(token), message)

    def _has(self, token: Token, found: int, wanted: int) -> bool:
        if found != wanted:
            count = f"{wanted} argument{'s' if wanted != 1 else ''}"
            self._complain(self._place(token), f"{token} takes {count}, found {found}")
        return found == wanted

    def _comparison(
        self, operator: str, left: Tree[Token], right: Tree[Token], scope: Scope
    ) -> Formula:
        first, second = self._term(left, scope), self._term(right, scope)
        self._typing.alike((*variables(first), *variables(second)))
        return Comparison(operator, first, second)

    def _term(self, tree: Tree[Token], scope: Scope, kind: str = "") -> Term:
        """Read a term; `kind` is the type of the place where it stands, if known."""
        children = tree.children
        match tree.data:
            case "number" | "string":
                return self._constant(_token(children[0]), kind)
            case "name":
                name = _token(children[0])
                if name[0].isupper() or name[0].isdigit():
                    return self._constant(name, kind)
                return self._variable(name, scope, kind)
            case "per_constant":
                return self._marked(_token(children[1]), scope, kind)
            case "application":
                return self._function(_token(children[0]), _trees(tree), scope, kind)
            case "sum" | "product":
                terms = [self._term(part, scope) for part in _trees(tree)]
                term = terms[0]
                for operator, right in zip(children[1::2], terms[1:], strict=True):
                    term = Arithmetic(INFIX[str(operator)], (term, right))
                return self._calculated(term, kind)
        self._complain(self._place(tree), "expected a term, found a formula")
        return Constant("")

    def _constant(self, token: Token, kind: str) -> Constant:
        if token.type == "NUMBER" and not token.lstrip("-").isdigit():
            self._complain(self._place(token), f"the constant {token} is not a whole number")
        name = unquoted(str(token))
        if kind:
            self.constants.append((kind, name))
        return Constant(name)

    def _calculated(self, term: Term, kind: str) -> Term:
        for name in variables(term):
            if kind:
                self._typing.want(name, kind)
        self._typing.alike(variables(term))
        return term

    def _variable(self, token: Token, scope: Scope, kind: str) -> Variable:
        self._check_variable(token)
        holder = scope.holder(str(token))
        name = holder.names.setdefault(str(token), str(token))
        holder.used[name] = None
        return self._typed(name, holder, kind, self._place(token))

    def _typed(self, name: str, holder: Scope, kind: str, place: Place) -> Variable:
        self._homes.setdefault(name, (holder, place))
        error = self._typing.fix(name, kind, place) if kind else None
        if error:
            self.errors.append(error)
        return Variable(name)

    def _check_variable(self, token: Token) -> None:
        if token[0].isupper() or token[0].isdigit():
            self._complain(self._place(token), f"expected a variable, found the constant {token}")
        meaning = self.vocabulary.reserved.get(str(token))
        if meaning and self.vocabulary.dialect != "tuffy":
            self._complain(
                self._place(token),
                f"{token} is the name of a {meaning}, so no variable can have it; constants start "
                "with a capital",
            )

    def _marked(self, token: Token, scope: Scope, kind: str) -> Term:
        variable = self._variable(token, scope, kind)
        if scope.holder(str(token)).outer:
            self._complain(self._place(token), f"+{token}: a quantified variable cannot have +")
        self.per_constant[variable.name] = None
        return variable

    def _function(
        self, token: Token, arguments: Sequence[Tree[Token]], scope: Scope, kind: str
    ) -> Term:
        name, known = str(token), self.vocabulary
        if name in known.functions:
            return self._value(token, arguments, scope, kind)
        if name in FUNCTIONS:
            self._has(token, len(arguments), FUNCTIONS[name])
            terms = tuple(self._term(argument, scope) for argument in arguments)
            return self._calculated(Arithmetic(name, terms), kind)
        if name in known.predicates:
            message = f"{name} is a predicate, so it is no term"
        else:
            message = f"the function {quoted(name)} is not declared"
            message += suggestion(name, [*known.functions, *FUNCTIONS])
        self._complain(self._place(token), message)
        return Constant("")

    def _value(
        self, token: Token, arguments: Sequence[Tree[Token]], scope: Scope, kind: str
    ) -> Term:
        """Replace a function's value by a new variable that the function's predicate ties down."""
        predicate = self.vocabulary.predicates[self.vocabulary.functions[str(token)]]
        value, *types = predicate.types
        if not self._has(token, len(arguments), len(types)):
            return Constant("")
        terms = tuple(map(self._term, arguments, [scope] * len(arguments), types))
        holders = [self._homes[name][0] for term in terms for name in variables(term)]
        holder = max([scope.outermost(), *holders], key=lambda one: one.depth)
        for link, name in holder.links.items():
            if link.predicate == predicate.name and link.arguments[1:] == terms:
                return self._typed(name, holder, kind, self._place(token))
        fresh = self._typed(self._fresh("value"), holder, value, self._place(token))
        link = Atom(predicate.name, (fresh, *terms), self._place(token))
        holder.links[link] = fresh.name
        return self._typed(fresh.name, holder, kind, self._place(token))

    def _complain(self, place: Place, message: str) -> None:
        self.errors.append(error_at(place, message))

    def _place(self, piece: Tree[Token] | Token) -> Place:
        start = piece.start_pos if isinstance(piece, Token) else piece.meta.start_pos
        return self.statement.place(start or 0)


def _tree(child: Tree[Token] | Token) -> Tree[Token]:
    assert isinstance(child, Tree)
    return child


def _token(child: Tree[Token] | Token) -> Token:
    assert isinstance(child, Token)
    return child


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _require_shallow(sentence: Sentence) -> None:
    """Refuse formulas that are nested deeper than anyone writes them."""
    waiting = [(sentence.tree, 1)]
    while waiting:
        tree, depth = waiting.pop()
        depth += len(tree.children) // 2 if tree.data in NESTING else 1
        if depth > MOST_NESTED:
            raise sentence.statement.error(0, f"the formula is nested more than {MOST_NESTED} deep")
        waiting += [(child, depth) for child in _trees(tree)]
