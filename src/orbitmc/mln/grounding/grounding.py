"""Replace every formula by those of its groundings that evidence leaves undecided."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.text import MEMORY, format_bytes, quote, suggestion
from orbitmc.errors import ContradictionError, InputError, LimitError, OrbitError
from orbitmc.mln.data.database import (
    FALSE,
    TRUE,
    UNKNOWN,
    Database,
    Ints,
    Universe,
    number_of,
    universe,
)
from orbitmc.mln.grounding import ground_features as patterns
from orbitmc.mln.grounding.atoms import (
    Atoms,
    atom_names,
    forest_atoms,
    known_atoms,
    matched_atoms,
    ordered_atoms,
    pair_atoms,
    possibly_equal,
)
from orbitmc.mln.grounding.bindings import NO_CONSTANT, BoundTerms, Tables, bindings
from orbitmc.mln.grounding.folding import COPY, Template, templates
from orbitmc.mln.grounding.ground_features import Features
from orbitmc.mln.grounding.relations import MATCHINGS, ORDERS, Relation
from orbitmc.mln.grounding.rewriting import conjuncts, guards, negation_normal, without_quantifiers
from orbitmc.mln.language.syntax import (
    Arithmetic,
    Comparison,
    Formula,
    Program,
    Rule,
    Term,
    Variable,
    atoms_of,
    free_variables,
    parts_of,
    variables,
)

# Ground one rule: bindings in, features out.

CHUNK = 2**20  # atoms at a time


class RuleGrounder:
    """Plans the grounding of a rule, so that its size is known before it is done."""

    def __init__(
        self,
        template: Template,
        universe: Universe,
        atoms: Mapping[str, Atoms],
        cardinality: Ints,
        tables: Tables,
    ) -> None:
        rule = template.rule
        self.rule, self.universe, self.atoms = rule, universe, atoms
        self.members = template.members
        self.cardinality = cardinality
        self.is_hard = rule.weight == np.inf
        self.formula = without_quantifiers(rule.formula, rule.types, universe)
        listed = template.constants
        self.sizes = {
            name: universe.size(rule.types[name]) if name != COPY else len(self.members)
            for name in dict.fromkeys((*free_variables(rule.formula), *rule.per_constant))
            if name not in listed
        }
        plans = [
            (side, bindings(guards(rule.formula, side), self.sizes, tables, listed))
            for side in ((True,) if self.is_hard else (True, False))
        ]
        self.pruned_is, self.bindings = min(plans, key=lambda plan: plan[1].count)
        whole = negation_normal(self.formula)
        self.clause = patterns.literals(whole)
        self.conjuncts = conjuncts(whole) if self.is_hard and self.clause is None else []
        read = whole if len(self.conjuncts) > 1 else self.formula
        self.parts: list[patterns.Part] = list(dict.fromkeys(parts_of(read)))
        if self.clause is not None:
            self.parts = [part for part, _ in self.clause[0]]
        self.width = len(self.parts)  # how many atoms a grounding has

    def ground(self) -> tuple[list[Features], Ints]:
        """Make all groundings: features, and for each copy how many are true already."""
        features: list[Features] = []
        copies = math.prod(self.sizes[name] for name in self.rule.per_constant)
        true = np.zeros(copies, dtype=np.int64)
        undecided = np.zeros(copies, dtype=np.int64)
        for bound, rows in self.bindings.chunks(max(1, CHUNK // max(1, self.width))):
            columns = self._columns(bound, rows)
            undecided += np.bincount(columns.weight, minlength=copies)
            for piece in self._features(columns):
                if not isinstance(piece, patterns.Decided):
                    features.append(piece)
                elif piece.holds:
                    true += np.bincount(piece.weight, minlength=copies)
                elif self.is_hard and len(piece.weight):
                    raise self._contradiction(piece.weight)
        if self.pruned_is and not self._has_arithmetic:
            true += math.prod(self.sizes.values()) // copies - undecided
        return features, true

    def _contradiction(self, copies: Ints) -> ContradictionError:
        """Say which formula evidence contradicts, the first if it is several."""
        first = self.members[copies.min() if len(self.members) > 1 else 0]
        count = (copies == copies.min()).sum() if len(self.members) > 1 else len(copies)
        return ContradictionError(
            f"{first.place}: evidence contradicts {count} groundings of this hard formula"
        )

    def _features(self, columns: patterns.Columns) -> Iterator[Features | patterns.Decided]:
        if len(self.conjuncts) > 1:
            return self._each_conjunct(columns)
        return self._features_of(columns, self.formula, self.clause, self.parts)

    def _features_of(
        self,
        columns: patterns.Columns,
        formula: Formula,
        clause: patterns.Clause | None,
        parts: Sequence[patterns.Part],
    ) -> Iterator[Features | patterns.Decided]:
        pairs = possibly_equal(parts, self.atoms)
        if clause is None:
            return patterns.table_features(columns, patterns.formula_truth(formula, parts), pairs)
        signs = [sign for _, sign in clause[0]]
        return patterns.clause_features(columns, signs, clause[1], pairs)

    def _each_conjunct(self, columns: patterns.Columns) -> Iterator[Features | patterns.Decided]:
        """Features of a hard formula that is a conjunction: each part must hold by itself."""
        place = {part: number for number, part in enumerate(self.parts)}
        for formula in self.conjuncts:
            clause = patterns.literals(formula)
            used = list(dict.fromkeys(parts_of(formula)))
            if clause is not None:
                used = [part for part, _ in clause[0]]
            part_columns = columns.of([place[part] for part in used])
            yield from self._features_of(part_columns, formula, clause, used)

    def _columns(self, bound: Mapping[str, Ints], rows: int) -> patterns.Columns:
        terms = BoundTerms(self.universe, self.rule.types, bound, rows)
        # Column after column in memory, as they are written and mostly read.
        status = np.full((self.width, rows), FALSE, dtype=np.int8).T
        variable, value, size = (np.zeros((self.width, rows), np.int64).T for _ in range(3))
        exists_all = np.ones(rows, dtype=bool)
        for column, part in enumerate(self.parts):
            if isinstance(part, Comparison):
                status[:, column] = np.where(terms.holds(part), TRUE, FALSE)
                continue
            atoms = self.atoms[part.predicate]
            pairs = zip(part.arguments, atoms.predicate.types, strict=True)
            arguments = [terms.numbers(term, kind) for term, kind in pairs]
            moves = any(_is_computed(term) for term in part.arguments)
            exists = np.ones(rows, dtype=bool)
            for term, numbers in zip(part.arguments, arguments, strict=True):
                if not isinstance(term, Variable):
                    exists &= numbers != NO_CONSTANT
            if moves:
                exists_all &= exists
            codes = atoms.codes([np.maximum(number, 0) for number in arguments], rows)
            truth = np.where(exists, atoms.status(codes), FALSE)
            status[:, column] = truth
            unknown: Any = truth == UNKNOWN
            if unknown.all():
                unknown = slice(None)
            variable[unknown, column], value[unknown, column] = atoms.literals(codes[unknown])
            size[unknown, column] = self.cardinality[variable[unknown, column]]
        weight = np.zeros(rows, dtype=np.int64)
        for name in self.rule.per_constant:
            weight = weight * self.sizes[name] + bound[name]
        columns = patterns.Columns(status, variable, value, size, weight)
        return columns if exists_all.all() else columns.take(exists_all)

    @cached_property
    def _has_arithmetic(self) -> bool:
        return any(_is_computed(term) for atom in atoms_of(self.formula) for term in atom.arguments)


def _is_computed(term: Term) -> bool:
    """Whether a term is computed from variables, so that it may have no result."""
    return isinstance(term, Arithmetic) and any(True for _ in variables(term))


MOST_GROUNDINGS = 10**8
BYTES_PER_LITERAL = 32  # of a grounding, while it is put together

CLOSING_DIALECTS = ("alchemy", "lomrf")  # dialects in which evidence closes a predicate

Watch = Callable[[Rule, int], None]


@dataclass(frozen=True)
class World:
    """Which predicates are open (what is not listed may be true) against their custom.

    Without a query, all atoms that are not known are asked about.
    """

    query: frozenset[str] | None = None
    opened: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Soft:
    """Soft evidence: what it adds to the log-weight of a variable's value.

    The `earned` log-odds are those of atoms that rules of a relation have made true.
    """

    variable: Ints
    value: Ints
    log_odds: Floats
    earned: Floats


@dataclass(frozen=True)
class NumberedWeights:
    """A program, its constants, and a number for each weight, as in `Ground`."""

    program: Program
    universe: Universe
    weights: Floats
    first_weight: Ints


@dataclass(frozen=True)
class Ground:
    """A program on its constants: variables, features, and a number for each weight.

    `first_weight[r]` is the first weight of rule `r`, whose copies are numbered by the constants
    of its `per_constant` variables, the last fastest. `decided` counts the groundings of each
    weight that evidence made true. The rules of `relations` are not ground.
    """

    program: Program
    universe: Universe
    atoms: Mapping[str, Atoms]
    cardinality: Ints
    features: tuple[Features, ...]
    soft: Soft
    weights: Floats
    first_weight: Ints
    decided: Ints
    relations: tuple[Relation, ...] = ()

    @property
    def groundings(self) -> int:
        """How many groundings evidence leaves undecided."""
        return sum(len(features.weight) for features in self.features)


class Spent(NamedTuple):
    """How many groundings there are so far, and how many atoms they have together."""

    groundings: int
    literals: int


def ground(
    program: Program,
    database: Database,
    world: World | None = None,
    *,
    max_groundings: int = MOST_GROUNDINGS,
    memory: int = MEMORY,
    watch: Watch | None = None,
    relations: Sequence[Relation] = (),
) -> Ground:
    """Ground a program on its constants, given evidence.

    A predicate with evidence is closed (unlisted atoms are false) unless it is asked about or
    opened; one without is open unless it is closed by name. In other dialects than Alchemy's,
    evidence closes nothing. `watch` hears of every rule with the number of its bindings, before
    they are made; of rules that differ only in constants, together.

    The rules of `relations` are not ground, so the features alone do not say that a predicate is
    one. What evidence and these rules decide is known. The two orders of a pair of an equivalence
    relation, or of a symmetric one, are one variable.
    """
    everything, atoms, soft_of = atom_tables(program, database, world)
    if relations:
        program = _without_rules(program, relations)
        atoms = {
            **atoms,
            **{each.predicate: related_atoms(each, atoms, everything) for each in relations},
        }
    atoms, soft = _number_variables(atoms, soft_of, memory)
    sizes = [atom_table.cardinality() for atom_table in atoms.values()]
    cardinality = np.concatenate([np.zeros(0, np.int64), *sizes])
    numbered = number_weights(program, everything)
    first_weight = numbered.first_weight
    decided = np.zeros(first_weight[-1], dtype=np.int64)
    tables = Tables(atoms, everything)
    features: list[Features] = []
    spent = Spent(0, 0)
    for template in templates(program.rules, first_weight, program.predicates, everything):
        try:
            grounder = RuleGrounder(template, everything, atoms, cardinality, tables)
            spent = _within_limits(grounder, spent, max_groundings, memory)
            if watch is not None:
                watch(template.rule, grounder.bindings.count)
            parts, true = grounder.ground()
        except OrbitError as error:
            raise _locate_error(error, template.rule) from None
        features += [replace(part, weight=template.weight_of[part.weight]) for part in parts]
        decided[template.weight_of] += true
    return Ground(
        program=program,
        universe=everything,
        atoms=atoms,
        cardinality=cardinality,
        features=tuple(features),
        soft=soft,
        weights=numbered.weights,
        first_weight=first_weight,
        decided=decided,
        relations=tuple(relations),
    )


def number_weights(program: Program, everything: Universe) -> NumberedWeights:
    """The weights of all rules and of their copies, which belong to constants of all worlds."""
    given = [weights_of_copies(rule, everything) for rule in program.rules]
    first = np.cumsum([0, *map(len, given)], dtype=np.int64)
    return NumberedWeights(program, everything, np.concatenate([np.zeros(0), *given]), first)


def weights_of_copies(rule: Rule, universe: Universe) -> Floats:
    """The weights of a rule's copies, as its text gives them or its data; not a number if none."""
    kinds = [rule.types[name] for name in rule.per_constant]
    if not rule.weight_variable:
        weight = np.nan if rule.weight is None else rule.weight
        return np.full(math.prod(map(universe.size, kinds)), weight)
    numbers = [number_of(name) for name in universe.constants[kinds[0]]]
    wrong = [
        n for n, value in zip(universe.constants[kinds[0]], numbers, strict=True) if value is None
    ]
    if wrong:
        raise rule.place.error(
            f"the weight {rule.weight_variable} is of type {kinds[0]}, which has the constant "
            f"{quote(wrong[0])}, which is no number"
        )
    return np.array(numbers, dtype=np.float64)


def is_closed(name: str, program: Program, database: Database, world: World) -> bool:
    """Whether unlisted atoms of a predicate are false; evidence closes it in Alchemy only."""
    if name in (world.query or ()) or name in world.opened:
        return False
    if name in world.closed or name in program.functions.values():
        return True
    declared = program.predicates[name].closed
    if declared is not None:
        return declared
    return program.dialect in CLOSING_DIALECTS and name in database.facts


class AtomTables(NamedTuple):
    """What is known of the atoms of each predicate; of soft evidence, codes and log-odds."""

    universe: Universe
    atoms: Mapping[str, Atoms]
    soft: Mapping[str, tuple[Ints, Floats]]

    def name_soft(self) -> dict[str, float]:
        """The log-odds of soft evidence, by the names of atoms."""
        return {
            atom: odds
            for name, (codes, log_odds) in self.soft.items()
            for atom, odds in zip(
                atom_names(self.atoms[name], codes, self.universe), log_odds.tolist(), strict=True
            )
        }


def atom_tables(program: Program, database: Database, world: World | None = None) -> AtomTables:
    """The atoms of each predicate, known or not, without any grounding."""
    world = world or World()
    everything = universe(program, [database])
    queried = frozenset(program.predicates) if world.query is None else world.query
    for name in sorted({*queried, *world.opened, *world.closed}):
        if name not in program.predicates:
            near = suggestion(name, program.predicates)
            raise InputError(f"there is no predicate {quote(name)}{near}")
    for name in sorted(world.opened & world.closed):
        raise InputError(f"{name} is to be opened and closed: leave one of them out")
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule.formula)}
    tables: dict[str, Atoms] = {}
    soft: dict[str, tuple[Ints, Floats]] = {}
    for name, predicate in program.predicates.items():
        idle = name not in used and name not in queried
        closed = idle or is_closed(name, program, database, world)
        tables[name], codes, log_odds = known_atoms(
            predicate, database.facts.get(name), everything, closed=closed
        )
        soft[name] = (codes, log_odds)
    return AtomTables(everything, tables, soft)


def _without_rules(program: Program, relations: Sequence[Relation]) -> Program:
    """The program without the rules that make predicates relations."""
    gone = {number for relation in relations for number in relation.rules}
    rules = [rule for number, rule in enumerate(program.rules) if number not in gone]
    return replace(program, rules=tuple(rules))


def related_atoms(relation: Relation, tables: Mapping[str, Atoms], universe: Universe) -> Atoms:
    """The atoms of a predicate that is a relation of some kind, and what is known of them."""
    atoms, kind = tables[relation.predicate], relation.kind
    if kind in ORDERS:
        return ordered_atoms(atoms, universe, reflexive=kind == "total order")
    if kind == "forest":
        return forest_atoms(atoms, universe)
    if kind in MATCHINGS:
        first, second = MATCHINGS[kind]
        return matched_atoms(atoms, universe, all_first=first, all_second=second)
    equivalence, partial = kind == "equivalence", kind == "partial equivalence"
    return pair_atoms(atoms, universe, equivalence=equivalence, partial=partial)


def _number_variables(
    tables: Mapping[str, Atoms], soft: Mapping[str, tuple[Ints, Floats]], memory: int
) -> tuple[dict[str, Atoms], Soft]:
    """Number the variables of all predicates; too many are refused."""
    atoms: dict[str, Atoms] = {}
    parts: list[tuple[Ints, Ints, Floats, Floats]] = []
    first = 0
    for name, table in tables.items():
        atoms[name] = replace(table, first=first)
        first += table.variables
        _require_room(name, first, memory)
        codes, log_odds = soft[name]
        status = table.status(codes)  # rules of a relation may have decided it
        open_still, true = status == UNKNOWN, status == TRUE
        literals = atoms[name].literals(codes[open_still])
        parts.append((*literals, log_odds[open_still], log_odds[true]))
    nothing = (*np.zeros((2, 0), dtype=np.int64), *np.zeros((2, 0)))
    return atoms, Soft(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


def _require_room(name: str, variables: int, memory: int) -> None:
    needed = variables * 256
    if needed > memory:
        raise LimitError(
            f"with {name} there are {variables:,} unknown atoms, which take about "
            f"{format_bytes(needed)}, over the memory limit of {format_bytes(memory)}; "
            "close predicates "
            "that are known, give their evidence, or ask about other predicates only"
        )


def _within_limits(grounder: RuleGrounder, spent: Spent, max_groundings: int, memory: int) -> Spent:
    """What groundings a rule adds; refused if that is too many."""
    count = grounder.bindings.count
    if spent.groundings + count > max_groundings:
        raise LimitError(
            f"this formula has {count:,} groundings that evidence does not rule out, and "
            f"{spent.groundings:,} come from those before it: over the limit of {max_groundings:,}"
        )
    total = Spent(spent.groundings + count, spent.literals + count * grounder.width)
    needed = total.literals * BYTES_PER_LITERAL
    if needed > memory:
        raise LimitError(
            f"the {count:,} groundings of this formula take about {format_bytes(needed)}, over the "
            f"memory limit of {format_bytes(memory)}"
        )
    return total


def _locate_error(error: OrbitError, rule: Rule) -> OrbitError:
    """The same error, with the place of the rule."""
    if isinstance(error, InputError) and error.source is None:
        return rule.place.error(error.message)
    if isinstance(error, LimitError):
        return LimitError(f"{rule.place}: {error}")
    return error
