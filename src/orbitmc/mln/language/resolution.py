"""From the tree of a formula's tokens to the formula that it means, every name looked up."""

import itertools
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from orbitmc._util.text import quote, suggestion
from orbitmc.errors import MOST_ERRORS, InputError, ManyInputError
from orbitmc.mln.language.grammar import COUNTS_HINT, Sentence, Tree
from orbitmc.mln.language.scanner import Notation, Statement, unquote
from orbitmc.mln.language.syntax import (
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    Exist,
    Forall,
    Formula,
    Iff,
    Implies,
    Not,
    Or,
    Predicate,
    Rule,
    Term,
    Truth,
    Variable,
    variables,
)
from orbitmc.mln.language.weights import WeightedText

# Which variable a name means: quantifiers bind names, and no two bind the same one.

NAME_KINDS = ("name", "application", "per_constant")


@dataclass
class Scope:
    """Names that one quantifier binds, or all free names.

    `links` define the names of functions' values, `values` finds them by function and arguments.
    """

    depth: int = 0
    outer: "Scope | None" = None
    names: dict[str, str] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    links: dict[Atom, str] = field(default_factory=dict)
    values: dict[tuple[str, tuple[Term, ...]], str] = field(default_factory=dict)

    def holder(self, name: str) -> "Scope":
        """Give the scope that a name belongs to: the innermost that binds it, or the outermost."""
        if name in self.names or self.outer is None:
            return self
        return self.outer.holder(name)

    def outermost(self) -> "Scope":
        return self if self.outer is None else self.outer.outermost()

    def close(self, body: Formula, quantifier: str) -> Formula:
        """Bind what the body uses. Where a function has no value, it says nothing."""
        names = (*self.used, *self.links.values())
        links = tuple(self.links)
        if quantifier == "EXIST":
            return Exist(names, And((*links, body)) if links else body) if names else body
        negated = tuple(map(Not, links))
        rest = body.parts if isinstance(body, Or) else (body,)
        body = Or((*negated, *rest)) if links else body
        return Forall(names, body) if names and self.outer else body


def free_names(tree: Tree) -> Iterator[str]:
    """Give all names that stand for terms or atoms outside the quantifiers that bind them."""
    waiting: list[tuple[Tree, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, bound = waiting.pop()
        parts = node.parts
        if node.kind == "quantified":
            *named, body = parts
            bound, parts = bound | {name.word for name in named}, (body,)
        elif node.kind in NAME_KINDS and node.word not in bound:
            yield node.word
        waiting += [(part, bound) for part in parts]


# Find the type of every variable of a formula, and the variables that have two.


class Typing:
    """What is known about the types of variables while a formula is read.

    An argument of a predicate fixes a variable's type. Where a variable stands in none, what it
    is compared or calculated with may tell.
    """

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        self.types: dict[str, str] = {}
        self._first: dict[str, int] = {}
        self._wanted: dict[str, str] = {}
        self._alike: list[tuple[str, ...]] = []

    def fix(self, variable: str, kind: str, offset: int) -> str:
        """Note the type of a variable; say what is wrong if it has another one already."""
        known = self.types.setdefault(variable, kind)
        self._first.setdefault(variable, offset)
        if known == kind:
            return ""
        first = self.statement.place(self._first[variable])
        return (
            f"the variable {variable} is of type {kind} here, but of type {known} in line "
            f"{first.line}, column {first.column}; use two variables"
        )

    def alike(self, variables: Iterable[str], kind: str = "") -> None:
        """Note that variables are compared or calculated with: one type may do, say that wanted."""
        self._alike.append(tuple(variables))
        for variable in self._alike[-1] if kind else ():
            self._wanted.setdefault(variable, kind)

    def settle(self) -> None:
        """Give types to variables that stand in no predicate, as far as possible."""
        for variable, kind in self._wanted.items():
            self.types.setdefault(variable, kind)
        groups: dict[str, list[tuple[str, ...]]] = {}
        for group in self._alike:
            for variable in group:
                groups.setdefault(variable, []).append(group)
        waiting = deque(self._alike)
        while waiting:
            for variable in self._share_type(waiting.popleft()):
                waiting.extend(groups.pop(variable))

    def _share_type(self, group: tuple[str, ...]) -> list[str]:
        """Give variables without type the type of the first that has one; say which."""
        known = next((self.types[name] for name in group if name in self.types), None)
        new = [name for name in dict.fromkeys(group) if known and name not in self.types]
        self.types.update(dict.fromkeys(new, known or ""))
        return new


FUNCTION_ARITIES = {
    "succ": 1,
    "plus": 2,
    "minus": 2,
    "times": 2,
    "dividedBy": 2,
    "mod": 2,
    "concat": 2,
}
INFIX = {"+": "plus", "-": "minus", "*": "times", "/": "dividedBy", "%": "mod"}
GROUPS_HINT = "; groups of predicates X|Y(?x) are pracmln's, where variables begin with ?"
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

    def settle_types(self) -> dict[str, str]:
        self.typing.settle()
        types = {name: self.typing.types.get(name, "") for name in self._homes}
        for name, kind in types.items():
            if not kind and not self.errors:
                message = f"the variable {name} stands in no atom, so it has no type"
                self.add_error(self._homes[name][2], message)
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
                return self._plus_variable(tree, scope, kind)
            case "application":
                return self._function(tree, scope, kind)
            case "sum" | "product":
                left, right = (self.term(part, scope) for part in tree.parts)
                return self._typed_term(Arithmetic(INFIX[tree.word], (left, right)), kind)
        self.add_error(tree.start, "expected a term, found a formula")
        return Constant("")

    def _constant(self, tree: Tree, kind: str) -> Constant:
        real = self.vocabulary.notation.dialect in ("tuffy", "pracmln")
        if tree.kind == "number" and not real and not tree.word.lstrip("-").isdigit():
            self.add_error(tree.start, f"the constant {tree.word} is not a whole number")
        name = unquote(tree.word)
        if kind:
            self.constants.append((kind, name))
        return Constant(name)

    def _typed_term(self, term: Term, kind: str) -> Term:
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
        return self._typed_variable(name, holder, kind, tree.start)

    def _typed_variable(self, name: str, holder: Scope, kind: str, offset: int) -> Variable:
        home = self._homes.get(name)
        if home is None:
            home = self._homes[name] = Variable(name), holder, offset
        if kind:
            complaint = self.typing.fix(name, kind, offset)
            if complaint:
                self.add_error(offset, complaint)
        return home[0]

    def check_variable(self, tree: Tree) -> None:
        word = tree.word
        if not self.vocabulary.notation.is_variable(word):
            self.add_error(tree.start, f"expected a variable, found the constant {word}")
        if word.endswith("--") and self.vocabulary.notation.dialect != "lomrf":
            self.sentence.remarks.append((tree.start, BACKWARDS.format(word)))
        meaning = self.vocabulary.reserved(word)
        if meaning:
            self.add_error(
                tree.start,
                f"{word} is the name of a {meaning}, so no variable can have it; constants start "
                "with a capital",
            )

    @cached_property
    def _used_names(self) -> set[str]:
        return set(free_names(self.sentence.tree))

    def fresh(self, name: str) -> str:
        """Give a variable name that nothing else in the formula has."""
        fresh = name
        while fresh in self._used_names:
            self._copies[name] = self._copies.get(name, 1) + 1
            fresh = f"{name}_{self._copies[name]}"
        self._used_names.add(fresh)
        return fresh

    def _plus_variable(self, tree: Tree, scope: Scope, kind: str) -> Term:
        variable = self._variable(tree, scope, kind)
        if scope.holder(tree.word).outer:
            self.add_error(tree.start, f"+{tree.word}: a quantified variable cannot have +")
        self.per_constant[variable.name] = None
        return variable

    def _function(self, tree: Tree, scope: Scope, kind: str) -> Term:
        name, known = tree.word, self.vocabulary
        if name in known.functions:
            return self._value(tree, scope, kind)
        if name in FUNCTION_ARITIES:
            self.has(tree, FUNCTION_ARITIES[name])
            terms = tuple(self.term(argument, scope) for argument in tree.parts)
            return self._typed_term(Arithmetic(name, terms), kind)
        if name in known.predicates:
            message = f"{name} is a predicate, so it is no term"
        else:
            message = f"the function {quote(name)} is not declared"
            message += suggestion(name, [*known.functions, *FUNCTION_ARITIES])
            message += f"; {COUNTS_HINT}" if name.lower() == "count" else ""
        self.add_error(tree.start, message)
        return Constant("")

    def _value(self, tree: Tree, scope: Scope, kind: str) -> Term:
        """Replace a function's value by a new variable that the function's predicate ties down."""
        predicate = self.vocabulary.predicates[self.vocabulary.functions[tree.word]]
        value, *types = predicate.types
        if not self.has(tree, len(types)):
            return Constant("")
        terms = self.arguments(tree, scope, types)
        holders = [self._homes[name][1] for term in terms for name in variables(term)]
        holder = max([scope.outermost(), *holders], key=lambda scope_of: scope_of.depth)
        key = predicate.name, terms
        if key not in holder.values:
            fresh = self._typed_variable(self.fresh("value"), holder, value, tree.start)
            holder.links[Atom(predicate.name, (fresh, *terms))] = fresh.name
            holder.values[key] = fresh.name
        return self._typed_variable(holder.values[key], holder, kind, tree.start)

    def has(self, tree: Tree, wanted: int) -> bool:
        """Say whether a predicate or function has as many arguments as it takes."""
        count_given = len(tree.parts)
        if count_given != wanted:
            count = f"{wanted} argument{'s' if wanted != 1 else ''}"
            end = tree.start + len(tree.word)
            group = not count_given and self.statement.text[end:].startswith("|")
            self.add_error(
                tree.start,
                f"{tree.word} takes {count}, found {count_given}{GROUPS_HINT if group else ''}",
            )
        return count_given == wanted

    def add_error(self, offset: int, message: str) -> None:
        self.errors.append(self.statement.error(offset, message))
        if len(self.errors) >= MOST_ERRORS:
            raise ManyInputError(self.errors)


# From the tree of a formula's tokens to the formula that it means, every name looked up.

COMPARISONS = {
    "lessThan": "<",
    "lessThanEq": "<=",
    "greaterThan": ">",
    "greaterThanEq": ">=",
    "substr": "substr",
}
COMPARISON_SYNONYMS = {"=/=": "!=", "<>": "!=", "==": "="}
MOST_NESTED = 100
MOST_FORMULA_COPIES = 2**12  # of one formula


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
        self.types = self.terms.settle_types()

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
                    self.terms.add_error(tree.start, "an atom with * cannot be negated")
                return Not(self._formula(parts[0], scope))
            case "quantified":
                return self._quantifier(tree, scope)
            case "comparison":
                return self._comparison(COMPARISON_SYNONYMS.get(tree.word, tree.word), parts, scope)
            case "starred":
                return self._either_sign(parts[0], scope)
            case "count":
                return self._count(tree, scope)
            case "group":
                names = tree.word.split("|")
                return self._atom(tree._replace(word=names[self._choice(len(names))]), scope)
            case "product" if parts[0].kind in ("name", "application"):
                self.terms.add_error(
                    tree.at, "formulas multiplied with numbers (hybrid features) are not supported"
                )
            case _:
                self.terms.add_error(tree.start, "expected an atom or a comparison, found a term")
        return Truth(True)

    def _quantifier(self, tree: Tree, scope: Scope) -> Formula:
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
                self.terms.add_error(name.start, f"{name.word} does not occur in what is counted")
        operator, number = tree.word.split()
        return Count(tuple(inner.used), (counted,), operator, int(number))

    def _either_sign(self, tree: Tree, scope: Scope) -> Formula:
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
            self._report_undeclared(tree)
            return Truth(True)
        if not self.terms.has(tree, len(predicate.types)):
            return Truth(True)
        return Atom(name, self.terms.arguments(tree, scope, predicate.types))

    def _report_undeclared(self, tree: Tree) -> None:
        name, known = tree.word, self.vocabulary
        if name in known.functions:
            message = f"{name} is a function, so it is no formula; compare its value"
        else:
            message = f"the predicate {quote(name)} is not declared"
            message += suggestion(name, known.predicates)
        self.terms.add_error(tree.start, message)

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
    if copies > MOST_FORMULA_COPIES:
        raise sentence.statement.error(
            0,
            f"{len(first.options)} atoms with alternatives (*) make {copies:.3g} formulas; the "
            f"most is {MOST_FORMULA_COPIES}",
        )
    if first.terms.errors or copies == 1:
        return [first]
    return [
        Conversion(sentence, vocabulary, chosen)
        for chosen in itertools.product(*map(range, first.options))
    ]


def rule(conversion: Conversion, weighing: WeightedText, unique: Sequence[str] = ()) -> Rule:
    """Put a formula and its weight together; the `unique` variables differ and have one order."""
    formula, marked = weighing.formula, tuple(conversion.terms.per_constant)
    result = Rule(
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
        kind = result.types[name]
        if kind in before:
            pairs.append(Comparison("precedes", Variable(before[kind]), Variable(name)))
        before[kind] = name
    if not pairs or result.weight == math.inf:
        return result  # repetitions of what must hold add nothing
    return replace(result, formula=And((*pairs, result.formula)))
