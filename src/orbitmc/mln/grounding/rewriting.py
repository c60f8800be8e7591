"""Rewrite formulas: replace quantifiers by their bindings, push negations, find guards."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import LimitError
from orbitmc.mln.data.database import FALSE, TRUE, Database, Facts, Universe, empty_types
from orbitmc.mln.language.declarations import SMALL_LETTER_DIALECTS
from orbitmc.mln.language.grammar import MOST_PARTS
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
    Program,
    Rule,
    Term,
    Truth,
    Variable,
    atoms_of,
    free_variables,
    parts,
    parts_of,
    with_parts,
)

OPPOSITE_COMPARISON = {"=": "!=", "!=": "=", "<=": ">", ">": "<=", ">=": "<", "<": ">="}


@dataclass(frozen=True)
class Guard:
    """An atom or comparison, and the truth it needs for the formula to be undecided."""

    part: Atom | Comparison
    needed: bool


def without_quantifiers(formula: Formula, types: Mapping[str, str], universe: Universe) -> Formula:
    """Replace EXIST by a disjunction and FORALL by a conjunction over all constants."""
    size = _expansion_size(formula, types, universe)
    if size > MOST_PARTS:
        raise LimitError(
            f"{_why_so_many(formula)} {size:,.0f} atoms in each grounding, over the limit of "
            f"{MOST_PARTS:,}"
        )
    return _expand(formula, types, universe, {})


def _why_so_many(formula: Formula) -> str:
    """What makes a formula long: what it says of all constants, or its own atoms."""
    if sum(1 for _ in parts_of(formula)) > MOST_PARTS:
        return "this formula has"
    return "replacing the quantifiers of this formula gives"


def _expansion_size(formula: Formula, types: Mapping[str, str], universe: Universe) -> float:
    match formula:
        case Exist(variables, body) | Forall(variables, body):
            copies = math.prod(universe.size(types[name]) for name in variables)
            return copies * _expansion_size(body, types, universe)
        case Count(variables, found, _, _):
            copies = math.prod(universe.size(types[name]) for name in variables)
            return copies * sum(_expansion_size(part, types, universe) for part in found)
        case Atom() | Comparison() | Truth():
            return 1.0
    return sum(_expansion_size(part, types, universe) for part in parts(formula))


def _expand(
    formula: Formula, types: Mapping[str, str], universe: Universe, bound: Mapping[str, Constant]
) -> Formula:
    match formula:
        case Exist(variables, body):
            return Or(tuple(_instances(variables, body, types, universe, bound)))
        case Forall(variables, body):
            return And(tuple(_instances(variables, body, types, universe, bound)))
        case Count(variables, found, operator, number):
            each = [_instances(variables, part, types, universe, bound) for part in found]
            return Count((), tuple(itertools.chain(*each)), operator, number)
        case Atom():
            return replace(
                formula, arguments=tuple(_substitute(term, bound) for term in formula.arguments)
            )
        case Comparison(operator, left, right):
            return Comparison(operator, _substitute(left, bound), _substitute(right, bound))
    return with_parts(formula, lambda part: _expand(part, types, universe, bound))


def _instances(
    variables: tuple[str, ...],
    body: Formula,
    types: Mapping[str, str],
    universe: Universe,
    bound: Mapping[str, Constant],
) -> Iterator[Formula]:
    constants = [map(Constant, universe.constants[types[name]]) for name in variables]
    for chosen in itertools.product(*constants):
        inner = {**bound, **dict(zip(variables, chosen, strict=True))}
        yield _expand(body, types, universe, inner)


def substitute(formula: Formula, bound: Mapping[str, Constant]) -> Formula:
    """A formula without quantifiers, with constants for some of its variables."""
    return _expand(formula, {}, Universe({}), bound)


def _substitute(term: Term, bound: Mapping[str, Constant]) -> Term:
    match term:
        case Variable(name):
            return bound.get(name, term)
        case Arithmetic(function, arguments):
            return Arithmetic(function, tuple(_substitute(part, bound) for part in arguments))
    return term


def negation_normal(formula: Formula, wanted: bool = True) -> Formula:
    """Push negations down to atoms; implications and equivalences become and, or."""
    match formula:
        case Not(body):
            return negation_normal(body, not wanted)
        case And(parts) | Or(parts):
            pushed = tuple(negation_normal(part, wanted) for part in parts)
            conjunction = isinstance(formula, And) == wanted
            return _flatten(And if conjunction else Or, pushed)
        case Implies(left, right):
            return negation_normal(Or((Not(left), right)), wanted)
        case Iff(left, right):
            both = And((Or((Not(left), right)), Or((left, Not(right)))))
            return negation_normal(both, wanted)
        case Exist(variables, body) | Forall(variables, body):
            some = isinstance(formula, Exist) == wanted
            return (Exist if some else Forall)(variables, negation_normal(body, wanted))
        case Truth(holds):
            return Truth(holds == wanted)
        case Count(variables, found, operator, number):
            inner = tuple(negation_normal(part) for part in found)
            return Count(
                variables, inner, operator if wanted else OPPOSITE_COMPARISON[operator], number
            )
        case Comparison("!=", first, second):
            return negation_normal(Comparison("=", first, second), not wanted)
    return formula if wanted else Not(formula)


def _flatten(kind: type[And] | type[Or], parts: tuple[Formula, ...]) -> Formula:
    flat: list[Formula] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else (part,)
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def guards(formula: Formula, decided: bool) -> list[Guard]:
    """What must hold for the formula to be anything but `decided`."""
    match formula:
        case Atom() | Comparison():
            return [Guard(formula, not decided)]
        case Not(body):
            return guards(body, not decided)
        case Implies(left, right):
            return guards(left, False) + guards(right, True) if decided else []
        case Or(parts) if decided:
            return [guard for part in parts for guard in guards(part, True)]
        case And(parts) if not decided:
            return [guard for part in parts for guard in guards(part, False)]
        case Or((part,)) | And((part,)):
            return guards(part, decided)
    return []


# What a weight means to Alchemy: formulas are split into clauses, which share the weight.
#
# A formula becomes a conjunction of clauses; those of a single literal are joined into one negated
# clause with the opposite weight; the weight is divided by the number of clauses. Then tautologies
# go, with their shares, and clauses that stand there several times get several shares. Each clause
# is grounded over its own variables. Hard formulas mean the same either way and stay whole.

MOST_CLAUSES_PER_RULE = 2**12

Clause = tuple[Formula, ...]


def split_into_clauses(program: Program, universe: Universe) -> Program:
    """The program with every soft formula split as Alchemy does."""
    rules = [clause for rule in program.rules for clause in _split_rule(rule, universe)]
    return replace(program, rules=tuple(rules))


def meanings_differ(rule: Rule) -> bool:
    """Whether splitting a formula into clauses changes what its weight means."""
    if rule.weight == np.inf:
        return False
    formula = negation_normal(rule.formula)
    return _contains(formula, Forall) or not _is_simple(formula)


def types_to_expand(rule: Rule) -> set[str]:
    """Types of the variables whose constants a split writes out."""
    if rule.weight == np.inf:
        return set()
    return {
        rule.types[name] for name in quantified_names(drop_forall(negation_normal(rule.formula)))
    }


def quantified_names(formula: Formula) -> Iterator[str]:
    """Names of the variables that quantifiers bind."""
    match formula:
        case Exist(variables, body) | Forall(variables, body):
            yield from variables
            yield from quantified_names(body)
            return
    for part in parts(formula):
        yield from quantified_names(part)


def _is_simple(formula: Formula) -> bool:
    """Whether it is a disjunction, perhaps under EXIST, or a conjunction of literals."""
    match formula:
        case And(found) | Or(found):
            return not any(parts(part) and not isinstance(part, Not) for part in found)
        case Exist(_, body):
            return (isinstance(body, Or | Exist) and _is_simple(body)) or not parts(body)
    return True


def _contains(formula: Formula, kind: type) -> bool:
    return isinstance(formula, kind) or any(_contains(part, kind) for part in parts(formula))


def _split_rule(rule: Rule, universe: Universe) -> Iterator[Rule]:
    if rule.weight == np.inf:
        yield rule
        return
    formula = drop_forall(negation_normal(rule.formula))
    formula = negation_normal(without_quantifiers(formula, rule.types, universe))
    clauses = [_without_repetitions(clause) for clause in _distribute(formula, rule)]
    units = tuple(dict.fromkeys(clause[0] for clause in clauses if len(clause) == 1))
    longer = [clause for clause in clauses if len(clause) > 1]
    count = len(longer) + bool(units)
    for clause, times in _count_repetitions(longer):
        yield replace(rule, formula=Or(clause), weight=_share_of(rule.weight, times, count))
    if units:
        joined = units[0] if len(units) == 1 else And(units)
        yield replace(rule, formula=joined, weight=_share_of(rule.weight, 1, count))


def _share_of(weight: float | None, times: int, count: int) -> float | None:
    """Some shares of a weight that so many clauses share; a weight to be learned is none yet."""
    return None if weight is None else weight * times / count


def _without_repetitions(clause: Clause) -> Clause:
    """A clause with every literal once; what is false adds nothing to it."""
    return tuple(dict.fromkeys(part for part in clause if part != Truth(False))) or (Truth(False),)


def _count_repetitions(clauses: Iterable[Clause]) -> Iterable[tuple[Clause, int]]:
    """Each clause that is no tautology, and how often it stands there."""
    first: dict[frozenset[Formula], Clause] = {}
    times = Counter[frozenset[Formula]]()
    for clause in clauses:
        literals = frozenset(clause)
        if Truth(True) not in literals and literals.isdisjoint(
            negation_normal(part, False) for part in clause
        ):
            first.setdefault(literals, clause)
            times[literals] += 1
    return [(clause, times[literals]) for literals, clause in first.items()]


def drop_forall(formula: Formula) -> Formula:
    """Leave FORALL out where its variables can become free."""
    match formula:
        case Forall(_, body):
            return drop_forall(body)
        case And() | Or():
            return with_parts(formula, drop_forall)
    return formula


def _distribute(formula: Formula, rule: Rule) -> list[Clause]:
    match formula:
        case And(found):
            return [clause for part in found for clause in _distribute(part, rule)]
        case Or(found):
            products: list[Clause] = [()]
            for part in found:
                clauses = _distribute(part, rule)
                if len(products) * len(clauses) > MOST_CLAUSES_PER_RULE:
                    raise LimitError(
                        f"{rule.place}: splitting this formula gives more than "
                        f"{MOST_CLAUSES_PER_RULE} clauses; the weight meaning `formula` "
                        "needs no splitting"
                    )
                products = [left + right for left in products for right in clauses]
            return products
    return [(formula,)]


# Counts that must hold as clauses: of any n + 1 atoms one is false, if at most n are true.

MAX_COUNT_CLAUSES = 2**17


def conjuncts(formula: Formula) -> list[Formula]:
    """Formulas that hold together where a formula in negation normal form holds.

    Counts become clauses, unless those are too many.
    """
    match formula:
        case And(parts):
            return [conjunct for part in parts for conjunct in conjuncts(part)]
        case Count():
            return list(_count_clauses(formula)) if _affordable(formula) else [formula]
        case Or(parts):
            counts = [part for part in parts if isinstance(part, Count)]
            if len(counts) == 1 and _affordable(counts[0]):
                rest = tuple(part for part in parts if part is not counts[0])
                return [
                    negation_normal(Or((*rest, clause))) for clause in _count_clauses(counts[0])
                ]
    return [formula]


def _bounds(count: Count) -> tuple[int, int]:
    """The least and the most parts that may hold."""
    number, most = count.number, len(count.parts)
    return {
        "=": (number, number),
        "<=": (0, number),
        "<": (0, number - 1),
        ">=": (number, most),
        ">": (number + 1, most),
    }.get(count.operator, (-1, -1))


def _affordable(count: Count) -> bool:
    low, high = _bounds(count)
    size = len(count.parts)
    if count.operator == "!=":
        return False
    if low > size or high < 0:
        return True
    above = math.comb(size, high + 1)
    below = math.comb(size, size - low + 1) if low else 0
    return above + below <= MAX_COUNT_CLAUSES


def _count_clauses(count: Count) -> Iterator[Formula]:
    low, high = _bounds(count)
    size = len(count.parts)
    if low > size or high < 0:
        yield Truth(False)
        return
    denied = [negation_normal(part, False) for part in count.parts]
    for some in itertools.combinations(denied, high + 1):
        yield negation_normal(Or(some))
    for some in itertools.combinations(count.parts, size - low + 1) if low else ():
        yield negation_normal(Or(some))


# Degrees of truth without fuzzy logic: a formula at each level that degrees reach.
#
# In pracmln's fuzzy logic, a conjunction has the least degree of its parts, a disjunction the
# greatest, and a negation what is missing to 1. The degree of a formula is the integral, over
# levels from 0 to 1, of whether it reaches the level. And it reaches a level exactly where the
# ordinary formula holds whose atoms say whether they reach it. So a formula of weight w is a sum of
# ordinary ones, each with w times the distance between two levels.

MOST_RULES = 2**16


def remove_degrees(program: Program, database: Database) -> tuple[Program, Database]:
    """The same distribution in a program and a database without fuzzy predicates."""
    if not program.fuzzy:
        return program, database
    levels = _Levels(program, database)
    rules = [level for rule in program.rules for level in levels.rules(rule)]
    if len(rules) > MOST_RULES:
        raise LimitError(
            f"degrees of truth make {len(rules):,} formulas of this program, the most is "
            f"{MOST_RULES:,}; give fewer different degrees"
        )
    ordinary = {
        n: predicate for n, predicate in program.predicates.items() if n not in program.fuzzy
    }
    return (
        replace(
            program,
            predicates={
                **ordinary,
                **{level.predicate.name: level.predicate for level in levels.predicates},
            },
            rules=tuple(rules),
            fuzzy=frozenset(),
        ),
        levels.database(),
    )


@dataclass(frozen=True)
class _Reached:
    """A predicate that says which atoms reach a level, and the atoms that do."""

    predicate: Predicate
    facts: Facts


class _Levels:
    """The ordinary predicates that levels of fuzzy ones need, made when they are first used."""

    def __init__(self, program: Program, known: Database) -> None:
        self.program, self.known = program, known
        self.degree = {
            name: _degrees(known.facts[name]) if name in known.facts else np.zeros(0)
            for name in program.fuzzy
        }
        self._predicates: dict[str, _Reached] = {}

    @property
    def predicates(self) -> list[_Reached]:
        return list(self._predicates.values())

    def rules(self, rule: Rule) -> Iterator[Rule]:
        """A rule at each level; what must hold must hold to the full degree."""
        if not any(atom.predicate in self.program.fuzzy for atom in atoms_of(rule.formula)):
            yield rule
            return
        formula = negation_normal(rule.formula)
        reached = sorted({*self._thresholds(formula), 1.0})
        if rule.weight == math.inf:
            reached = [1.0]
        for below, level in zip([0.0, *reached], reached, strict=False):
            weight = rule.weight
            if weight is not None and weight != math.inf:
                weight *= level - below
            yield replace(rule, formula=self._at(formula, level), weight=weight)

    def _thresholds(self, formula: Formula) -> Iterator[float]:
        match formula:
            case Not(Atom(name, _)) if name in self.degree:
                yield from (1 - self.degree[name][self.degree[name] < 1]).tolist()
            case Atom(name, _) if name in self.degree:
                yield from self.degree[name][self.degree[name] > 0].tolist()
            case _:
                for part in parts(formula):
                    yield from self._thresholds(part)

    def _at(self, formula: Formula, level: float) -> Formula:
        """Whether a formula in negation normal form reaches a level."""
        match formula:
            case Not(Atom(name, arguments)) if name in self.degree:
                missing = 1 - self.degree[name] < level
                return Not(Atom(self._name(f"{name} < 1 - {level!r}", name, missing), arguments))
            case Atom(name, arguments) if name in self.degree:
                enough = self.degree[name] >= level
                return Atom(self._name(f"{name} >= {level!r}", name, enough), arguments)
        return with_parts(formula, lambda part: self._at(part, level))

    def _name(self, name: str, fuzzy: str, chosen: NDArray[np.bool_]) -> str:
        if name not in self._predicates:
            predicate = replace(self.program.predicates[fuzzy], name=name, closed=True)
            columns: tuple[tuple[str, ...], ...] = tuple(() for _ in predicate.types)
            if chosen.any():
                rows = np.flatnonzero(chosen).tolist()
                before = self.known.facts[fuzzy].columns
                columns = tuple(tuple(column[row] for row in rows) for column in before)
            count = int(chosen.sum())
            facts = Facts(columns, np.full(count, TRUE, np.int8), np.zeros(count))
            self._predicates[name] = _Reached(predicate, facts)
        return name

    def database(self) -> Database:
        """What is known without degrees; constants stay known that only had degrees."""
        facts: Mapping[str, Facts] = {
            name: entries
            for name, entries in self.known.facts.items()
            if name not in self.program.fuzzy
        }
        constants = {kind: dict.fromkeys(entries) for kind, entries in self.known.constants.items()}
        for name in self.program.fuzzy & self.known.facts.keys():
            kinds = self.program.predicates[name].types
            for kind, column in zip(kinds, self.known.facts[name].columns, strict=True):
                constants.setdefault(kind, {}).update(dict.fromkeys(column))
        entries = {
            level.predicate.name: level.facts for level in self.predicates if len(level.facts.truth)
        }
        named = {kind: tuple(words) for kind, words in constants.items()}
        return replace(self.known, facts={**facts, **entries}, constants=named)


def _degrees(facts: Facts) -> Floats:
    """Degrees of truth, from what the database says of atoms: true, false or a probability."""
    with np.errstate(over="ignore"):
        degree = 1 / (1 + np.exp(-facts.log_odds))
    degree[facts.truth == TRUE] = 1.0
    degree[facts.truth == FALSE] = 0.0
    return np.asarray(np.round(degree, 12))


# Types without constants, as pracmln and Tuffy allow them: nothing about them is ground.


def remove_empty_types(
    program: Program, known: Database, queried: frozenset[str]
) -> tuple[Program, tuple[str, ...]]:
    """Leave out what has no groundings, and say so; in other dialects types must have constants."""
    empty = (
        empty_types(program, [known])
        if program.dialect in SMALL_LETTER_DIALECTS
        else frozenset[str]()
    )
    numbers = [
        number
        for number, rule in enumerate(program.rules)
        if not any(rule.types[name] in empty for name in free_variables(rule.formula))
    ]
    used = queried | {
        atom.predicate for n in numbers for atom in atoms_of(program.rules[n].formula)
    }
    idle = [
        n
        for n, predicate in program.predicates.items()
        if {*predicate.types} & empty and n not in used
    ]
    if not idle or len(idle) == len(program.predicates) or program.constraints:
        return program, ()
    remark = (
        f"no constant of type {', '.join(sorted(empty))} is known, so {', '.join(idle)} and "
        f"{len(program.rules) - len(numbers)} formulas have no groundings"
    )
    predicates = {
        name: predicate for name, predicate in program.predicates.items() if name not in idle
    }
    rules = tuple(program.rules[number] for number in numbers)
    return replace(program, predicates=predicates, rules=rules), (remark,)
