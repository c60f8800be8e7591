"""Terms: constants, variables with their types, arithmetic, and the values of functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lark import Token, Tree

from orbitmc.errors import InputError
from orbitmc.logic.checking import Typing, variables
from orbitmc.logic.grammar import Sentence, start_of, token_of, trees_of
from orbitmc.logic.scanner import error_at, unquoted
from orbitmc.logic.scopes import Scope, free_names
from orbitmc.logic.syntax import (
    Arithmetic,
    Atom,
    Constant,
    Dialect,
    Place,
    Predicate,
    Term,
    Variable,
)
from orbitmc.text import quoted, suggestion

FUNCTIONS = {"succ": 1, "plus": 2, "minus": 2, "times": 2, "dividedBy": 2, "mod": 2, "concat": 2}
INFIX = {"+": "plus", "-": "minus", "*": "times", "/": "dividedBy", "%": "mod"}


@dataclass(frozen=True)
class Vocabulary:
    """The names that a formula may use; `meanings` says what names mean, and from when on."""

    predicates: Mapping[str, Predicate]
    functions: Mapping[str, str]
    meanings: Mapping[str, tuple[str, int]]
    order: int
    dialect: Dialect

    def reserved(self, name: str) -> str:
        """Say what a name means that no variable of the formula can have, or nothing."""
        meaning, since = self.meanings.get(name, ("", 0))
        return meaning if since < self.order and self.dialect != "tuffy" else ""


class Terms:
    """The terms of one formula while it is read, and what is wrong with them."""

    def __init__(self, sentence: Sentence, vocabulary: Vocabulary) -> None:
        self.statement, self.vocabulary = sentence.statement, vocabulary
        self.errors: list[InputError] = []
        self.constants: list[tuple[str, str]] = []
        self.per_constant: dict[str, None] = {}
        self.typing = Typing()
        self._taken = set(free_names(sentence.tree))
        self._homes: dict[str, tuple[Scope, Place]] = {}

    def settled_types(self) -> dict[str, str]:
        self.typing.settle()
        types = {name: self.typing.types.get(name, "") for name in self._homes}
        for name, kind in types.items():
            if not kind and not self.errors:
                place = self._homes[name][1]
                message = f"the variable {name} stands in no atom, so it has no type"
                self.errors.append(error_at(place, message))
        return types

    def term(self, tree: Tree[Token], scope: Scope, kind: str = "") -> Term:
        """Read a term; `kind` is the type of the place where it stands, if known."""
        children = tree.children
        match tree.data:
            case "number" | "string":
                return self._constant(token_of(children[0]), kind)
            case "name":
                name = token_of(children[0])
                if name[0].isupper() or name[0].isdigit():
                    return self._constant(name, kind)
                return self._variable(name, scope, kind)
            case "per_constant":
                return self._marked(token_of(children[1]), scope, kind)
            case "application":
                return self._function(token_of(children[0]), trees_of(tree), scope, kind)
            case "sum" | "product":
                terms = [self.term(part, scope) for part in trees_of(tree)]
                term = terms[0]
                for operator, right in zip(children[1::2], terms[1:], strict=True):
                    term = Arithmetic(INFIX[str(operator)], (term, right))
                return self._calculated(term, kind)
        self.complain(tree, "expected a term, found a formula")
        return Constant("")

    def _constant(self, token: Token, kind: str) -> Constant:
        if token.type == "NUMBER" and not token.lstrip("-").isdigit():
            self.complain(token, f"the constant {token} is not a whole number")
        name = unquoted(str(token))
        if kind:
            self.constants.append((kind, name))
        return Constant(name)

    def _calculated(self, term: Term, kind: str) -> Term:
        for name in variables(term):
            if kind:
                self.typing.want(name, kind)
        self.typing.alike(variables(term))
        return term

    def _variable(self, token: Token, scope: Scope, kind: str) -> Variable:
        holder = scope.holder(str(token))
        if not holder.outer:
            self.check_variable(token)
        name = holder.names.setdefault(str(token), str(token))
        holder.used[name] = None
        return self._typed(name, holder, kind, self.place(token))

    def _typed(self, name: str, holder: Scope, kind: str, place: Place) -> Variable:
        self._homes.setdefault(name, (holder, place))
        error = self.typing.fix(name, kind, place) if kind else None
        if error:
            self.errors.append(error)
        return Variable(name)

    def check_variable(self, token: Token) -> None:
        if token[0].isupper() or token[0].isdigit():
            self.complain(token, f"expected a variable, found the constant {token}")
        meaning = self.vocabulary.reserved(str(token))
        if meaning:
            self.complain(
                token,
                f"{token} is the name of a {meaning}, so no variable can have it; constants start "
                "with a capital",
            )

    def fresh(self, name: str) -> str:
        """Give a variable name that nothing else in the formula has."""
        fresh, number = name, 1
        while fresh in self._taken:
            number += 1
            fresh = f"{name}_{number}"
        self._taken.add(fresh)
        return fresh

    def _marked(self, token: Token, scope: Scope, kind: str) -> Term:
        variable = self._variable(token, scope, kind)
        if scope.holder(str(token)).outer:
            self.complain(token, f"+{token}: a quantified variable cannot have +")
        self.per_constant[variable.name] = None
        return variable

    def _function(
        self, token: Token, arguments: Sequence[Tree[Token]], scope: Scope, kind: str
    ) -> Term:
        name, known = str(token), self.vocabulary
        if name in known.functions:
            return self._value(token, arguments, scope, kind)
        if name in FUNCTIONS:
            self.has(token, len(arguments), FUNCTIONS[name])
            terms = tuple(self.term(argument, scope) for argument in arguments)
            return self._calculated(Arithmetic(name, terms), kind)
        if name in known.predicates:
            message = f"{name} is a predicate, so it is no term"
        else:
            message = f"the function {quoted(name)} is not declared"
            message += suggestion(name, [*known.functions, *FUNCTIONS])
        self.complain(token, message)
        return Constant("")

    def _value(
        self, token: Token, arguments: Sequence[Tree[Token]], scope: Scope, kind: str
    ) -> Term:
        """Replace a function's value by a new variable that the function's predicate ties down."""
        predicate = self.vocabulary.predicates[self.vocabulary.functions[str(token)]]
        value, *types = predicate.types
        if not self.has(token, len(arguments), len(types)):
            return Constant("")
        terms = tuple(map(self.term, arguments, [scope] * len(arguments), types))
        holders = [self._homes[name][0] for term in terms for name in variables(term)]
        holder = max([scope.outermost(), *holders], key=lambda one: one.depth)
        for link, name in holder.links.items():
            if link.predicate == predicate.name and link.arguments[1:] == terms:
                return self._typed(name, holder, kind, self.place(token))
        fresh = self._typed(self.fresh("value"), holder, value, self.place(token))
        link = Atom(predicate.name, (fresh, *terms), self.place(token))
        holder.links[link] = fresh.name
        return self._typed(fresh.name, holder, kind, self.place(token))

    def has(self, token: Token, found: int, wanted: int) -> bool:
        if found != wanted:
            count = f"{wanted} argument{'s' if wanted != 1 else ''}"
            self.complain(token, f"{token} takes {count}, found {found}")
        return found == wanted

    def complain(self, piece: Tree[Token] | Token, message: str) -> None:
        self.errors.append(error_at(self.place(piece), message))

    def place(self, piece: Tree[Token] | Token) -> Place:
        return self.statement.place(start_of(piece))
