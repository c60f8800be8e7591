"""Replace every formula by those of its groundings that evidence leaves undecided."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.text import MEMORY, in_words, quoted, suggestion
from orbitmc.errors import InputError, LimitError, OrbitError
from orbitmc.logic.databases.database import Database
from orbitmc.logic.databases.universe import Ints, Universe, number_of, universe
from orbitmc.logic.grounding.atoms import Atoms, known_atoms
from orbitmc.logic.grounding.bindings import Tables
from orbitmc.logic.grounding.features import Features
from orbitmc.logic.grounding.folding import templates
from orbitmc.logic.grounding.rule_grounding import RuleGrounder
from orbitmc.logic.language.syntax import Program, Rule, atoms_of

MOST_GROUNDINGS = 10**8
BYTES_PER_LITERAL = 32  # of a grounding, while it is put together

CLOSING = ("alchemy", "lomrf")  # dialects in which evidence closes a predicate

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
    """Soft evidence: what it adds to the log-weight of a variable's value."""

    variable: Ints
    value: Ints
    log_odds: Floats


@dataclass(frozen=True)
class Ground:
    """A program on its constants: variables, features, and a number for each weight.

    `first_weight[r]` is the first weight of rule `r`, whose copies are numbered by the constants
    of its `per_constant` variables, the last fastest. `decided` counts the groundings of each
    weight that evidence made true.
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
) -> Ground:
    """Ground a program on its constants, given evidence.

    A predicate with evidence is closed (unlisted atoms are false) unless it is asked about or
    opened; one without is open unless it is closed by name. In other dialects than Alchemy's,
    evidence closes nothing. `watch` hears of every rule with the number of its bindings, before
    they are made; of rules that differ only in constants, together.
    """
    everything = universe(program, [database])
    atoms, soft = _all_atoms(program, database, everything, world or World(), memory)
    sizes = [own.cardinality() for own in atoms.values()]
    cardinality = np.concatenate([np.zeros(0, np.int64), *sizes])
    per_constant = [[rule.types[name] for name in rule.per_constant] for rule in program.rules]
    copies = np.array([math.prod(map(everything.size, kinds)) for kinds in per_constant], np.int64)
    first_weight = np.concatenate([np.zeros(1, np.int64), np.cumsum(copies)])
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
            found, true = grounder.ground()
        except OrbitError as error:
            raise _placed(error, template.rule) from None
        features += [replace(part, weight=template.weight_of[part.weight]) for part in found]
        decided[template.weight_of] += true
    written = [written_weights(rule, everything) for rule in program.rules]
    return Ground(
        program=program,
        universe=everything,
        atoms=atoms,
        cardinality=cardinality,
        features=tuple(features),
        soft=soft,
        weights=np.concatenate([np.zeros(0), *written]),
        first_weight=first_weight,
        decided=decided,
    )


def written_weights(rule: Rule, universe: Universe) -> Floats:
    """The weights of a rule's copies, as its text gives them or its data; not a number if none."""
    kinds = [rule.types[name] for name in rule.per_constant]
    if not rule.weight_variable:
        weight = np.nan if rule.weight is None else rule.weight
        return np.full(math.prod(map(universe.size, kinds)), weight)
    found = [number_of(name) for name in universe.constants[kinds[0]]]
    wrong = [
        n for n, value in zip(universe.constants[kinds[0]], found, strict=True) if value is None
    ]
    if wrong:
        raise rule.place.error(
            f"the weight {rule.weight_variable} is of type {kinds[0]}, which has the constant "
            f"{quoted(wrong[0])}, which is no number"
        )
    return np.array(found, dtype=np.float64)


def is_closed(name: str, program: Program, database: Database, world: World) -> bool:
    """Whether unlisted atoms of a predicate are false; evidence closes it in Alchemy only."""
    if name in (world.query or ()) or name in world.opened:
        return False
    if name in world.closed or name in program.functions.values():
        return True
    declared = program.predicates[name].closed
    if declared is not None:
        return declared
    return program.dialect in CLOSING and name in database.facts


def _all_atoms(
    program: Program, database: Database, everything: Universe, world: World, memory: int
) -> tuple[dict[str, Atoms], Soft]:
    asked = frozenset(program.predicates) if world.query is None else world.query
    for name in sorted({*asked, *world.opened, *world.closed}):
        if name not in program.predicates:
            near = suggestion(name, program.predicates)
            raise InputError(f"there is no predicate {quoted(name)}{near}")
    for name in sorted(world.opened & world.closed):
        raise InputError(f"{name} is to be opened and closed: leave one of them out")
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule.formula)}
    found: dict[str, Atoms] = {}
    soft: list[tuple[Ints, Ints, Floats]] = []
    first = 0
    for name, predicate in program.predicates.items():
        idle = name not in used and name not in asked
        closed = idle or is_closed(name, program, database, world)
        atoms, codes, log_odds = known_atoms(
            predicate, database.facts.get(name), everything, closed=closed
        )
        found[name] = replace(atoms, first=first)
        first += atoms.variables
        _require_room(name, first, memory)
        soft.append((*found[name].literals(codes), log_odds))
    nothing = (*np.zeros((2, 0), dtype=np.int64), np.zeros(0))
    return found, Soft(*(np.concatenate(parts) for parts in zip(nothing, *soft, strict=True)))


def _require_room(name: str, variables: int, memory: int) -> None:
    needed = variables * 256
    if needed > memory:
        raise LimitError(
            f"with {name} there are {variables:,} unknown atoms, which take about "
            f"{in_words(needed)}, over the memory limit of {in_words(memory)}; close predicates "
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
            f"the {count:,} groundings of this formula take about {in_words(needed)}, over the "
            f"memory limit of {in_words(memory)}"
        )
    return total


def _placed(error: OrbitError, rule: Rule) -> OrbitError:
    """The same error, with the place of the rule."""
    if isinstance(error, InputError) and error.source is None:
        return rule.place.error(error.message)
    if isinstance(error, LimitError):
        return LimitError(f"{rule.place}: {error}")
    return error
