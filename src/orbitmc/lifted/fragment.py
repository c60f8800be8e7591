"""Which programs can be lifted: rules of at most two logical variables, over sorts of constants.

A sort is a set of constants that rules do not tell apart: a type without the constants that rules
name, or one such constant. An argument that is no element of a sort is written out: the value of
a block (`!`), or a constant of a tiny type. Whatever stands in the way is said in words.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import LimitError
from orbitmc.mln.data.database import Ints, Universe
from orbitmc.mln.grounding.atoms import Atoms
from orbitmc.mln.grounding.grounding import AtomTables, weights_of_copies
from orbitmc.mln.grounding.rewriting import (
    drop_forall,
    negation_normal,
    substitute,
    without_quantifiers,
)
from orbitmc.mln.language.scanner import Place
from orbitmc.mln.language.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Count,
    Exist,
    Forall,
    Formula,
    Predicate,
    Program,
    Rule,
    Term,
    Truth,
    Variable,
    free_variables,
    parts,
    parts_of,
    with_parts,
)

MOST_WRITTEN_OUT = 6  # constants of a type that is written out because rules need it
MOST_VALUES = 64  # of a block
MOST_COPIES = 4096  # of a rule, for constants that are written out
MOST_NAMED = 8  # constants of a type that rules name
NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six"}

Element = Variable | Constant
"""A logical variable, or a constant that a rule names."""


class NotLiftableError(Exception):
    """Why a program cannot be answered by counting, in words."""


@dataclass(frozen=True)
class Sort:
    """Constants of a type that rules do not tell apart, by their numbers in the type."""

    kind: str
    members: Ints


class Schema(NamedTuple):
    """What the arguments of a predicate are: elements, written out, or values of a block.

    Its atoms are `size` values of a field: false and true, or the values of a block.
    """

    elements: tuple[int, ...]
    written: tuple[int, ...]
    values: tuple[int, ...]
    size: int


class SortedRule(NamedTuple):
    """A rule whose elements are of certain sorts; `number` counts the rules of the program.

    Each of its groundings counts so many `times`; the weight is that of all of them.
    """

    number: int
    times: int
    weight: float
    formula: Formula
    elements: tuple[Element, ...]
    sorts: tuple[int, ...]


@dataclass(frozen=True)
class Fragment:
    """A program that can be lifted, as far as its rules decide that.

    `atoms` says what is known of each predicate; `reasons` are why tiny types are written out.
    Nothing is ground.
    """

    program: Program
    universe: Universe
    atoms: Mapping[str, Atoms]
    soft: Mapping[str, tuple[Ints, Floats]]
    schemas: Mapping[str, Schema]
    sorts: tuple[Sort, ...]
    rules: tuple[SortedRule, ...]
    reasons: tuple[str, ...]

    @cached_property
    def sort_of(self) -> Mapping[str, Ints]:
        """The sort of each constant of a type."""
        numbers = {
            kind: np.full(self.universe.size(kind), -1, np.int64)
            for kind in {sort.kind for sort in self.sorts}
        }
        for number, sort in enumerate(self.sorts):
            numbers[sort.kind][sort.members] = number
        return numbers

    def key_of(self, atom: Atom) -> tuple[int, ...]:
        """The numbers of the constants that are written out in an atom."""
        schema, kinds = self.schemas[atom.predicate], self.program.predicates[atom.predicate].types
        return tuple(
            self.universe.numbers[kinds[place]][_name(atom.arguments[place])]
            for place in schema.written
        )

    def value_of(self, atom: Atom) -> int:
        """The value of its field with which an atom is true."""
        schema, predicate = (
            self.schemas[atom.predicate],
            self.program.predicates[atom.predicate],
        )
        if not schema.values:
            return 1
        value = 0
        for place in schema.values:
            numbers = self.universe.numbers[predicate.types[place]]
            value = value * len(numbers) + numbers[_name(atom.arguments[place])]
        return value


def _name(term: Term) -> str:
    assert isinstance(term, Constant)
    return term.name


def find_fragment(program: Program, tables: AtomTables) -> Fragment:
    """The sorts, fields and rules of a program; what cannot be lifted is refused."""
    everything = tables.universe
    _require_plain(program)
    written, reasons = _written_types(program, everything)
    schemas = {name: _schema(program, name, written, everything) for name in program.predicates}
    copies = [
        (number, *copy)
        for number, rule in enumerate(program.rules)
        for copy in _copies(number, rule, program, everything, written)
    ]
    named = _named_constants(copies, program, written)
    sorts = _sorts(program, everything, written, named)
    rules = tuple(
        sorted_rule
        for number, times, weight, rule in copies
        for sorted_rule in _sorted_rules(
            number, times, weight, rule, program, everything, sorts, schemas
        )
    )
    return Fragment(program, everything, tables.atoms, tables.soft, schemas, sorts, rules, reasons)


def describe_rule(number: int, rule: Rule) -> str:
    """A rule as refusals name it."""
    return f"rule {number + 1}{_where(rule.place)}"


def describe_rules(program: Program, numbers: Iterable[int]) -> str:
    """Some rules as refusals name them: the first two, and how many more there are."""
    chosen = sorted(set(numbers))
    words = [describe_rule(number, program.rules[number]) for number in chosen[:2]]
    if len(chosen) > 2:
        return f"{', '.join(words)} and {len(chosen) - 2:,} more"
    return " and ".join(words)


def _describe_predicate(predicate: Predicate) -> str:
    return f"predicate {predicate.name}{_where(predicate.place)}"


def _where(place: Place) -> str:
    return f" ({place})" if place.source else ""


def _require_plain(program: Program) -> None:
    """Refuse what no sort can stand for: functions, arithmetic, an order of constants."""
    functions = set(program.functions.values())
    for number, rule in enumerate(program.rules):
        where = describe_rule(number, rule)
        for part in parts_of(rule.formula):
            terms = part.arguments if isinstance(part, Atom) else (part.left, part.right)
            if any(isinstance(term, Arithmetic) for term in terms):
                raise NotLiftableError(f"{where} has functions, which cannot be lifted")
            if isinstance(part, Atom) and part.predicate in functions:
                raise NotLiftableError(f"{where} has functions, which cannot be lifted")
            if isinstance(part, Comparison) and part.operator not in ("=", "!="):
                raise NotLiftableError(
                    f"{where} uses an order of constants (<, succ), which cannot be lifted"
                )
        if rule.weight is None and not rule.weight_variable:
            raise NotLiftableError(f"{where} has no weight")


# What is written out: values of blocks, and types so small that rules may name their constants.


def _written_types(
    program: Program, everything: Universe
) -> tuple[frozenset[str], tuple[str, ...]]:
    """The types that are written out, and what would be in the way if tiny ones were not."""
    written: set[str] = set()
    for predicate in program.predicates.values():
        for kind, exclusive in zip(predicate.types, predicate.exclusive, strict=True):
            if not exclusive:
                continue
            if everything.size(kind) > MOST_VALUES:
                raise NotLiftableError(
                    f"{_describe_predicate(predicate)} has one of {everything.size(kind):,} "
                    f"values; lifting needs at most {MOST_VALUES}"
                )
            written.add(kind)
    reasons: list[str] = []
    while (more := _next_written(program, everything, written)) is not None:
        written.add(more[0])
        reasons.append(more[1])
    return frozenset(written), tuple(reasons)


def _next_written(
    program: Program, everything: Universe, written: set[str]
) -> tuple[str, str] | None:
    """A tiny type that must be written out as well, and why; None if all is well."""
    for predicate in program.predicates.values():
        left = [kind for kind in predicate.types if kind not in written]
        if len(left) > 2:
            return _tiny_type(
                left,
                everything,
                f"{_describe_predicate(predicate)} has {_count(len(left))} arguments; "
                "lifting needs at most two",
            )
    for number, rule in enumerate(program.rules):
        where, formula = describe_rule(number, rule), _free_hard(rule)
        for word, name in _bound_variables(formula):
            if rule.types[name] not in written:
                reason = f"{where}: {word} cannot be lifted here (it would need negative weights)"
                return _tiny_type([rule.types[name]], everything, reason)
        kinds = {name: rule.types[name] for name in free_variables(formula)}
        variables = [name for name in kinds if kinds[name] not in written]
        kinds |= {constant.name: kind for constant, kind in constants_of(rule, program)}
        names = [name for name in kinds if kinds[name] not in written]
        if len(names) > 2:
            what = "variables" if len(variables) == len(names) else "variables or constants"
            return _tiny_type(
                [kinds[name] for name in names],
                everything,
                f"{where} has {_count(len(names))} {what} ({', '.join(names)}); "
                "lifting needs at most two",
            )
    return None


def _tiny_type(kinds: Iterable[str], everything: Universe, reason: str) -> tuple[str, str]:
    smallest = min(kinds, key=everything.size)
    if everything.size(smallest) > MOST_WRITTEN_OUT:
        raise NotLiftableError(reason)
    return smallest, reason


def _count(number: int) -> str:
    return NUMBERS.get(number, str(number))


def _free_hard(rule: Rule) -> Formula:
    """The formula; what a hard one says of all constants, it says with free variables."""
    if rule.weight != math.inf or not any(True for _ in _bound_variables(rule.formula)):
        return rule.formula
    return drop_forall(negation_normal(rule.formula))


def _bound_variables(formula: Formula) -> Iterator[tuple[str, str]]:
    """Variables that are not free, each with what binds it."""
    match formula:
        case Exist(names, _) | Forall(names, _) | Count(names, _, _, _):
            word = {Exist: "EXIST", Forall: "FORALL", Count: "a count"}[type(formula)]
            yield from ((word, name) for name in names)
    for part in parts(formula):
        yield from _bound_variables(part)


def _schema(program: Program, name: str, written: frozenset[str], everything: Universe) -> Schema:
    predicate = program.predicates[name]
    values = tuple(place for place, mark in enumerate(predicate.exclusive) if mark)
    others = [place for place, mark in enumerate(predicate.exclusive) if not mark]
    size = math.prod(everything.size(predicate.types[place]) for place in values)
    if size > MOST_VALUES:
        raise NotLiftableError(
            f"{_describe_predicate(predicate)} has one of {size:,} values; lifting needs at most "
            f"{MOST_VALUES}"
        )
    return Schema(
        elements=tuple(place for place in others if predicate.types[place] not in written),
        written=tuple(place for place in others if predicate.types[place] in written),
        values=values,
        size=size if values else 2,
    )


def _copies(
    number: int, rule: Rule, program: Program, everything: Universe, written: frozenset[str]
) -> Iterator[tuple[int, float, Rule]]:
    """The rule with all that is written out, once for each binding of such variables.

    Before it, how many copies look the same, and what they weigh together.
    """
    formula = _free_hard(rule)
    names = [name for name in free_variables(formula) if rule.types[name] in written]
    if rule.weight_variable and rule.weight_variable not in names:
        names.append(rule.weight_variable)
    sizes = [everything.size(rule.types[name]) for name in names]
    if math.prod(sizes) > MOST_COPIES:
        raise NotLiftableError(
            f"{describe_rule(number, rule)} has {math.prod(sizes):,} copies when constants are "
            f"written out; lifting needs at most {MOST_COPIES:,}"
        )
    free = {*free_variables(formula), rule.weight_variable}
    elsewhere = [rule.types[name] for name in rule.per_constant if name not in free]
    times = math.prod(map(everything.size, elsewhere))  # copies that look the same
    weights = weights_of_copies(rule, everything) if rule.weight_variable else None
    try:
        formula = without_quantifiers(formula, rule.types, everything)
    except LimitError as error:
        raise NotLiftableError(f"{describe_rule(number, rule)}: {error}") from None
    for chosen in itertools.product(*(everything.constants[rule.types[n]] for n in names)):
        bound = dict(zip(names, map(Constant, chosen), strict=True))
        weight = rule.weight
        if weights is not None:
            kind = rule.types[rule.weight_variable]
            weight = float(weights[everything.numbers[kind][bound[rule.weight_variable].name]])
        assert weight is not None
        yield times, weight * times, replace(rule, formula=substitute(formula, bound))


# Sorts: each type without the constants that rules name, and each of these by itself.


def _named_constants(
    copies: Iterable[tuple[int, int, float, Rule]], program: Program, written: frozenset[str]
) -> dict[str, dict[str, int]]:
    """Of each type, the constants that rules name, each with the first rule that does."""
    named: dict[str, dict[str, int]] = {}
    for number, _, _, rule in copies:
        for constant, kind in constants_of(rule, program):
            if kind not in written:
                named.setdefault(kind, {}).setdefault(constant.name, number)
    return named


def constants_of(rule: Rule, program: Program) -> Iterator[tuple[Constant, str]]:
    """Every constant of a rule with its type; one that is compared has that of the other side."""
    for part in parts_of(rule.formula):
        if isinstance(part, Atom):
            kinds = program.predicates[part.predicate].types
            pairs = zip(part.arguments, kinds, strict=True)
            yield from ((term, kind) for term, kind in pairs if isinstance(term, Constant))
        else:
            for term, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(term, Constant) and isinstance(other, Variable):
                    yield term, rule.types[other.name]


def _sorts(
    program: Program,
    everything: Universe,
    written: frozenset[str],
    named: Mapping[str, Mapping[str, int]],
) -> tuple[Sort, ...]:
    kinds = {kind for predicate in program.predicates.values() for kind in predicate.types}
    kinds |= {rule.types[name] for rule in program.rules for name in free_variables(rule.formula)}
    sorts = []
    for kind in sorted(kinds - written):
        numbers = everything.numbers[kind]
        alone = sorted(numbers[name] for name in named.get(kind, ()) if name in numbers)
        if len(alone) > MOST_NAMED:
            raise NotLiftableError(
                f"rules name {len(alone)} constants of type {kind}; lifting needs at most "
                f"{MOST_NAMED}: {describe_rules(program, named[kind].values())}"
            )
        rest = np.setdiff1d(np.arange(len(numbers)), np.array(alone, dtype=np.int64))
        if len(rest):
            sorts.append(Sort(kind, rest))
        sorts += [Sort(kind, np.array([number], dtype=np.int64)) for number in alone]
    return tuple(sorts)


def _sorted_rules(
    number: int,
    times: int,
    weight: float,
    rule: Rule,
    program: Program,
    everything: Universe,
    sorts: tuple[Sort, ...],
    schemas: Mapping[str, Schema],
) -> Iterator[SortedRule]:
    """A rule for each choice of sorts of its elements."""
    kind_of: dict[Element, str] = {}
    for name in free_variables(rule.formula):
        kind_of[Variable(name)] = rule.types[name]
    here = {sort.kind for sort in sorts}
    for constant, kind in constants_of(rule, program):
        exists = kind in here and constant.name in everything.numbers[kind]
        if exists and kind_of.setdefault(constant, kind) != kind:
            raise NotLiftableError(
                f"{describe_rule(number, rule)} names {constant.name} in two types"
            )
    formula = _decide(number, rule, program, everything)
    elements = tuple(element for element, kind in kind_of.items() if kind in here)
    assert len(elements) <= 2, "types of further ones are written out, or refused"
    choices = [_sorts_of(element, kind_of[element], everything, sorts) for element in elements]
    for chosen in itertools.product(*choices):
        yield SortedRule(number, times, weight, formula, elements, chosen)


def _sorts_of(
    element: Element, kind: str, everything: Universe, sorts: tuple[Sort, ...]
) -> list[int]:
    if isinstance(element, Variable):
        return [number for number, sort in enumerate(sorts) if sort.kind == kind]
    place = everything.numbers[kind][element.name]
    return [
        number
        for number, sort in enumerate(sorts)
        if sort.kind == kind and len(sort.members) == 1 and sort.members[0] == place
    ]


def _decide(
    number: int,
    rule: Rule,
    program: Program,
    everything: Universe,
) -> Formula:
    """The formula without what constants alone decide."""

    def decide(formula: Formula) -> Formula:
        if isinstance(formula, Atom):
            kinds = program.predicates[formula.predicate].types
            for term, kind in zip(formula.arguments, kinds, strict=True):
                if isinstance(term, Constant) and term.name not in everything.numbers[kind]:
                    return Truth(False)
        if isinstance(formula, Comparison):
            return _decide_comparison(number, rule, formula, everything)
        if isinstance(formula, Exist | Forall):
            raise AssertionError("quantifiers are replaced before")
        return with_parts(formula, decide)

    return decide(rule.formula)


def _decide_comparison(
    number: int, rule: Rule, comparison: Comparison, everything: Universe
) -> Formula:
    left, right = comparison.left, comparison.right
    equal = comparison.operator == "="
    if left == right:
        return Truth(equal)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Truth(not equal)
    match left, right:
        case (Constant(name), Variable(other)) | (Variable(other), Constant(name)):
            exists = name in everything.numbers[rule.types[other]]
            return comparison if exists else Truth(not equal)
        case Variable(one), Variable(other) if rule.types[one] != rule.types[other]:
            raise NotLiftableError(f"{describe_rule(number, rule)} compares constants of two types")
    return comparison
