"""Terms: constants, variables with their types, arithmetic, and the values of functions."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from orbitmc._util.text import quoted, suggestion
from orbitmc.errors import MOST_ERRORS, InputError, ManyInputError
from orbitmc.logic.language.complaints import COUNTS
from orbitmc.logic.language.formulas.checking import Typing
from orbitmc.logic.language.formulas.scopes import Scope, free_names
from orbitmc.logic.language.notation import Notation
from orbitmc.logic.language.scanner import unquoted
from orbitmc.logic.language.syntax import (
    Arithmetic,
    Atom,
    Constant,
    Predicate,
    Term,
    Variable,
    variables,
)
from orbitmc.logic.language.trees import Sentence, Tree

FUNCTIONS = {"succ": 1, "plus": 2, "minus": 2, "times": 2, "dividedBy": 2, "mod": 2, "concat": 2}
INFIX = {"+": "plus", "-": "minus", "*": "times", "/": "dividedBy", "%": "mod"}
GROUPS = "; groups of predicates X|Y(?x) are pracmln's, where variables begin with ?"
BACKWARDS = "{} is the name of a variable; to go back by one, see dialect lomrf or write i - 1"


class Vocabulary(NamedTuple):
    """The names that a formula may use; `meanings` says what names mean, and from when on."""

    predicates: Mapping[str, Predicate]
    functions: Mapping[str, str]
    meanings: Mapping[str, tuple[str, int]]
    order: int
    notation: Notation

    def reserved(self, name: str) -> str:
        """Say what a name means that no variable of the formula can have, or nothing."""
        meaning, since = self.meanings.get(name, ("", 0))
        strict = self.notation.dialect == "alchemy"
        return meaning if since < self.order and strict else ""


class TermReader:
    """The terms of one formula while it is read, and what is wrong with them."""

    def __init__(self, sentence: Sentence, vocabulary: Vocabulary) -> None:
        self.sentence, self.statement, self.vocabulary = sentence, sentence.statement, vocabulary
        self.errors: list[InputError] = []
        self.constants: list[tuple[str, str]] = []
        self.per_constant: dict[str, None] = {}
        self.typing = Typing(sentence.statement)
        self._homes: dict[str, tuple[Variable, Scope, int]] = {}
        self._copies: dict[str, int] = {}

    def settled_types(self) -> dict[str, str]:
        self.typing.settle()
        types = {name: self.typing.types.get(name, "") for name in self._homes}
        for name, kind in types.items():
            if not kind and not self.errors:
                message = f"the variable {name} stands in no atom, so it has no type"
                self.complain(self._homes[name][2], message)
        return types

    def arguments(self, tree: Tree, scope: Scope, kinds: Sequence[str]) -> tuple[Term, ...]:
        """Read the terms that a predicate or function is applied to."""
        return tuple(
            [self.term(part, scope, kind) for part, kind in zip(tree.parts, kinds, strict=True)]
        )

    def term(self, tree: Tree, scope: Scope, kind: str = "") -> Term:
        """Read a term; `kind` is the type of the place where it stands, if known."""
        match tree.kind:
            case "name":
                if self.vocabulary.notation.is_variable(tree.word):
                    return self._variable(tree, scope, kind)
                return self._constant(tree, kind)
            case "number" | "string":
                return self._constant(tree, kind)
            case "per_constant":
                return self._marked(tree, scope, kind)
            case "application":
                return self._function(tree, scope, kind)
            case "sum" | "product":
                left, right = (self.term(part, scope) for part in tree.parts)
                return self._calculated(Arithmetic(INFIX[tree.word], (left, right)), kind)
        self.complain(tree.start, "expected a term, found a formula")
        return Constant("")

    def _constant(self, tree: Tree, kind: str) -> Constant:
        real = self.vocabulary.notation.dialect in ("tuffy", "pracmln")
        if tree.kind == "number" and not real and not tree.word.lstrip("-").isdigit():
            self.complain(tree.start, f"the constant {tree.word} is not a whole number")
        name = unquoted(tree.word)
        if kind:
            self.constants.append((kind, name))
        return Constant(name)

    def _calculated(self, term: Term, kind: str) -> Term:
        self.typing.alike(variables(term), kind)
        return term

    def _variable(self, tree: Tree, scope: Scope, kind: str) -> Variable:
        word = tree.word
        holder = scope.holder(word)
        if word not in holder.names:
            self.check_variable(tree)
            holder.names[word] = word
        name = holder.names[word]
        holder.used[name] = None
        return self._typed(name, holder, kind, tree.start)

    def _typed(self, name: str, holder: Scope, kind: str, offset: int) -> Variable:
        home = self._homes.get(name)
        if home is None:
            home = self._homes[name] = Variable(name), holder, offset
        if kind:
            complaint = self.typing.fix(name, kind, offset)
            if complaint:
                self.complain(offset, complaint)
        return home[0]

    def check_variable(self, tree: Tree) -> None:
        word = tree.word
        if not self.vocabulary.notation.is_variable(word):
            self.complain(tree.start, f"expected a variable, found the constant {word}")
        if word.endswith("--") and self.vocabulary.notation.dialect != "lomrf":
            self.sentence.remarks.append((tree.start, BACKWARDS.format(word)))
        meaning = self.vocabulary.reserved(word)
        if meaning:
            self.complain(
                tree.start,
                f"{word} is the name of a {meaning}, so no variable can have it; constants start "
                "with a capital",
            )

    @cached_property
    def _taken(self) -> set[str]:
        return set(free_names(self.sentence.tree))

    def fresh(self, name: str) -> str:
        """Give a variable name that nothing else in the formula has."""
        fresh = name
        while fresh in self._taken:
            self._copies[name] = self._copies.get(name, 1) + 1
            fresh = f"{name}_{self._copies[name]}"
        self._taken.add(fresh)
        return fresh

    def _marked(self, tree: Tree, scope: Scope, kind: str) -> Term:
        variable = self._variable(tree, scope, kind)
        if scope.holder(tree.word).outer:
            self.complain(tree.start, f"+{tree.word}: a quantified variable cannot have +")
        self.per_constant[variable.name] = None
        return variable

    def _function(self, tree: Tree, scope: Scope, kind: str) -> Term:
        name, known = tree.word, self.vocabulary
        if name in known.functions:
            return self._value(tree, scope, kind)
        if name in FUNCTIONS:
            self.has(tree, FUNCTIONS[name])
            terms = tuple(self.term(argument, scope) for argument in tree.parts)
            return self._calculated(Arithmetic(name, terms), kind)
        if name in known.predicates:
            message = f"{name} is a predicate, so it is no term"
        else:
            message = f"the function {quoted(name)} is not declared"
            message += suggestion(name, [*known.functions, *FUNCTIONS])
            message += f"; {COUNTS}" if name.lower() == "count" else ""
        self.complain(tree.start, message)
        return Constant("")

    def _value(self, tree: Tree, scope: Scope, kind: str) -> Term:
        """Replace a function's value by a new variable that the function's predicate ties down."""
        predicate = self.vocabulary.predicates[self.vocabulary.functions[tree.word]]
        value, *types = predicate.types
        if not self.has(tree, len(types)):
            return Constant("")
        terms = self.arguments(tree, scope, types)
        holders = [self._homes[name][1] for term in terms for name in variables(term)]
        holder = max([scope.outermost(), *holders], key=lambda one: one.depth)
        key = predicate.name, terms
        if key not in holder.values:
            fresh = self._typed(self.fresh("value"), holder, value, tree.start)
            holder.links[Atom(predicate.name, (fresh, *terms))] = fresh.name
            holder.values[key] = fresh.name
        return self._typed(holder.values[key], holder, kind, tree.start)

    def has(self, tree: Tree, wanted: int) -> bool:
        """Say whether a predicate or function has as many arguments as it takes."""
        found = len(tree.parts)
        if found != wanted:
            count = f"{wanted} argument{'s' if wanted != 1 else ''}"
            end = tree.start + len(tree.word)
            group = not found and self.statement.text[end:].startswith("|")
            self.complain(
                tree.start, f"{tree.word} takes {count}, found {found}{GROUPS if group else ''}"
            )
        return found == wanted

    def complain(self, offset: int, message: str) -> None:
        self.errors.append(self.statement.error(offset, message))
        if len(self.errors) >= MOST_ERRORS:
            raise ManyInputError(self.errors)
