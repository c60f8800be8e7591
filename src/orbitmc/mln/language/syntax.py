"""What a Markov logic program says: types, predicates and weighted formulas, as plain values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from orbitmc.mln.language.scanner import NO_PLACE, Dialect, Notation, Place


@dataclass(frozen=True, slots=True)
class Constant:
    """A named individual; integers are constants with the digits as name."""

    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A logical variable; its type is in the rule's `types`."""

    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A built-in function of integers or strings.

    `function` is succ, plus, minus, times, dividedBy, mod or concat. A grounding whose result is
    no constant of the wanted type is dropped.
    """

    function: str
    arguments: tuple["Term", ...]


Term = Constant | Variable | Arithmetic


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms."""

    predicate: str
    arguments: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A relation of terms that grounding decides: = != < <= > >= substr, or precedes.

    A constant precedes another one of its type that was named later.
    """

    operator: str
    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Truth:
    """A formula whose truth is known."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    body: "Formula"


@dataclass(frozen=True, slots=True)
class And:
    """A conjunction."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """An implication."""

    left: "Formula"
    right: "Formula"


@dataclass(frozen=True, slots=True)
class Iff:
    """An equivalence."""

    left: "Formula"
    right: "Formula"


@dataclass(frozen=True, slots=True)
class Exist:
    """Some binding of the variables satisfies the body."""

    variables: tuple[str, ...]
    body: "Formula"


@dataclass(frozen=True, slots=True)
class Forall:
    """Every binding of the variables satisfies the body."""

    variables: tuple[str, ...]
    body: "Formula"


@dataclass(frozen=True, slots=True)
class Count:
    """How many of the parts hold, over all bindings of the variables, compared with a number."""

    variables: tuple[str, ...]
    parts: tuple["Formula", ...]
    operator: str
    number: int


Formula = Atom | Comparison | Truth | Not | And | Or | Implies | Iff | Exist | Forall | Count


@dataclass(frozen=True)
class Predicate:
    """A relation over typed arguments.

    Arguments marked `exclusive` are mutually exclusive and exhaustive: for every binding of the
    others, exactly one binding of them is true. `closed` is None unless the program itself says
    whether unlisted atoms are false.
    """

    name: str
    types: tuple[str, ...]
    exclusive: tuple[bool, ...]
    closed: bool | None = None
    place: Place = field(default=NO_PLACE, compare=False)

    @property
    def is_block(self) -> bool:
        return any(self.exclusive)


@dataclass(frozen=True, slots=True)
class Rule:
    """A formula with its weight; infinity makes it hard, None leaves it to learning.

    `types` gives the type of every variable, bound ones included; bound variables are renamed
    so that no name is bound twice. For every combination of constants of the variables in
    `per_constant` the rule is a copy of its own, with its own weight in learning. A `fixed`
    weight is not learned. If there is a `weight_variable`, it is the one in `per_constant`, its
    constants are numbers, and they are the weights.
    """

    formula: Formula
    weight: float | None
    types: Mapping[str, str]
    per_constant: tuple[str, ...] = ()
    fixed: bool = False
    place: Place = field(default=NO_PLACE, compare=False)
    text: str = field(default="", compare=False)
    weight_variable: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A probability that groundings of a rule must have, with the evidence or without it."""

    rule: int
    probability: float
    posterior: bool
    text: str


@dataclass(frozen=True)
class Program:
    """A Markov logic program: constants by type, predicates by name, rules in order.

    User functions have become closed predicates named after them (`functions` says which); the
    first argument of such a predicate is the function's value. Atoms of `fuzzy` predicates have
    degrees of truth, which evidence gives. `constraints` determine weights.
    """

    constants: Mapping[str, tuple[str, ...]]
    predicates: Mapping[str, Predicate]
    rules: tuple[Rule, ...]
    functions: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = "alchemy"
    warnings: tuple[str, ...] = ()
    marked: bool = False
    fuzzy: frozenset[str] = frozenset()
    constraints: tuple[Constraint, ...] = ()

    @property
    def notation(self) -> Notation:
        return Notation(self.dialect, self.marked)


def parts(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a formula is directly made of."""
    match formula:
        case And(found) | Or(found) | Count(_, found):
            return found
        case Implies(left, right) | Iff(left, right):
            return left, right
        case Not(body) | Exist(_, body) | Forall(_, body):
            return (body,)
    return ()


def with_parts(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The same formula made of changed parts; atoms and comparisons have none."""
    match formula:
        case And(found) | Or(found):
            return type(formula)(tuple(map(change, found)))
        case Implies(left, right) | Iff(left, right):
            return type(formula)(change(left), change(right))
        case Exist(variables, body) | Forall(variables, body):
            return type(formula)(variables, change(body))
        case Not(body):
            return Not(change(body))
        case Count(variables, found, operator, number):
            return Count(variables, tuple(map(change, found)), operator, number)
    return formula


def parts_of(formula: Formula) -> Iterator[Atom | Comparison]:
    """Every atom and comparison of a formula, from left to right, repetitions included."""
    if isinstance(formula, Atom | Comparison):
        yield formula
    for part in parts(formula):
        yield from parts_of(part)


def atoms_of(formula: Formula) -> Iterator[Atom]:
    """Every atom of a formula, from left to right, repetitions included."""
    return (part for part in parts_of(formula) if isinstance(part, Atom))


def free_variables(formula: Formula) -> tuple[str, ...]:
    """Names of the variables that no quantifier binds, in order of appearance."""
    return tuple(dict.fromkeys(_free(formula, frozenset())))


def _free(formula: Formula, bound: frozenset[str]) -> Iterator[str]:
    match formula:
        case Atom(_, arguments):
            yield from (name for term in arguments for name in variables(term) if name not in bound)
        case Comparison(_, left, right):
            named = (*variables(left), *variables(right))
            yield from (name for name in named if name not in bound)
        case Exist(names, _) | Forall(names, _) | Count(names, _, _, _):
            for part in parts(formula):
                yield from _free(part, bound | set(names))
        case _:
            for part in parts(formula):
                yield from _free(part, bound)


def variables(term: Term) -> Iterator[str]:
    """Names of the variables in a term, from left to right, repetitions included."""
    match term:
        case Variable(name):
            yield name
        case Arithmetic(_, arguments):
            for part in arguments:
                yield from variables(part)
