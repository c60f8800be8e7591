"""Training worlds: a program ground on what is given, and the data on what it explains."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.text import MEMORY, quote, suggestion
from orbitmc.errors import ContradictionError, InputError
from orbitmc.mln.data.database import TRUE, UNKNOWN, Database, Ints, Universe, universe
from orbitmc.mln.grounding.atoms import Atoms, fact_codes, variable_names
from orbitmc.mln.grounding.ground_features import (
    ClauseFeatures,
    Features,
    TableFeatures,
    take_features,
    truth_in,
)
from orbitmc.mln.grounding.grounding import MOST_GROUNDINGS, Ground, World, ground
from orbitmc.mln.language.syntax import Program, atoms_of


@dataclass(frozen=True)
class TrainingWorld:
    """A program on the constants of one database, and the value of each variable in the data.

    The data do not show the values of `hidden` variables; those in `values` mean nothing.
    """

    ground: Ground
    values: Ints
    hidden: NDArray[np.bool_]


def predicates_to_explain(program: Program) -> frozenset[str]:
    """Predicates that a generative program explains: all in its formulas, functions excepted."""
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule.formula)}
    closed = {name for name, predicate in program.predicates.items() if predicate.closed}
    return frozenset(used - closed - set(program.functions.values()))


def training_worlds(
    program: Program,
    databases: Sequence[Database],
    explained: Iterable[str] | None = None,
    *,
    hidden: Iterable[str] = (),
    max_groundings: int = MOST_GROUNDINGS,
    memory: int = MEMORY,
) -> tuple[TrainingWorld, ...]:
    r"""Ground a program on each database; the worlds are independent of each other.

    Atoms of the `explained` predicates (all, unless named) become variables, all others are
    evidence. What a database does not list is false; of `hidden` predicates it is not known, nor is
    an explained atom that the database marks as unknown. All worlds number weights alike.

    >>> from orbitmc.mln.data.reader import parse_database
    >>> from orbitmc.mln.language.parser import parse
    >>> program = parse("Smokes(person)\nSmokes(x)\n", learning=True)
    >>> database = parse_database("Smokes(Anna)\n!Smokes(Bob)\n", program)
    >>> [world.values.tolist() for world in training_worlds(program, [database])]
    [[1, 0]]
    """
    unseen = frozenset(hidden)
    names = explained_predicates(program, explained, unseen)
    worlds = []
    for database, evidence in zip(
        databases, evidence_of_databases(program, databases, names), strict=True
    ):
        world = explaining_world(program, names)
        grounded = ground(program, evidence, world, max_groundings=max_groundings, memory=memory)
        _require_decided(grounded, names)
        worlds.append(TrainingWorld(grounded, *_data_values(grounded, database, names, unseen)))
    return tuple(worlds)


def explained_predicates(
    program: Program, explained: Iterable[str] | None, unseen: frozenset[str]
) -> frozenset[str]:
    """The predicates whose atoms are explained; all that formulas have, unless they are named."""
    names = predicates_to_explain(program) if explained is None else frozenset(explained) | unseen
    _require_predicates(program, names | unseen)
    if not unseen <= names:
        raise InputError(f"no formula has the hidden predicate {min(unseen - names)}")
    return names


def explaining_world(program: Program, explained: frozenset[str]) -> World:
    """Atoms of explained predicates are open, all others are known."""
    return World(query=explained, closed=frozenset(program.predicates) - explained)


def evidence_of_databases(
    program: Program, databases: Sequence[Database], explained: frozenset[str]
) -> Iterator[Database]:
    """What is given in each database: its constants, and all that is not explained."""
    if not databases:
        raise InputError("learning needs a database at least")
    kinds = {rule.types[name] for rule in program.rules for name in rule.per_constant}
    everything = universe(program, databases).constants  # weights are numbered by these types
    shared = {kind: everything[kind] for kind in sorted(kinds)}
    for database in databases:
        _require_certain(database, explained)
        filled = replace(database, constants={**database.constants, **shared})
        facts = {name: facts for name, facts in database.facts.items() if name not in explained}
        yield Database(facts, universe(program, [filled]).constants)


def _require_predicates(program: Program, names: frozenset[str]) -> None:
    if not names:
        raise InputError("no formula has a predicate whose atoms could be explained")
    for name in sorted(names):
        if name not in program.predicates:
            near = suggestion(name, program.predicates)
            raise InputError(f"there is no predicate {quote(name)}{near}")
        if name in program.functions.values():
            raise InputError(f"{name} is a function; its values are given, never learned from")


def _require_certain(database: Database, explained: frozenset[str]) -> None:
    for name, facts in database.facts.items():
        if facts.log_odds.any():
            raise InputError(
                f"the database leaves atoms of {name} uncertain; to learn from it, say of each "
                "whether it is true, or that it is unknown"
            )
        if name not in explained and (facts.truth == UNKNOWN).any():
            raise InputError(
                f"the database leaves atoms of {name} unknown, which is given and not explained; "
                "name it in the query too"
            )


def _require_decided(grounded: Ground, explained: frozenset[str]) -> None:
    """Refuse blocks that are given, but without the value that they must have."""
    for name, atoms in grounded.atoms.items():
        if name not in explained and atoms.variables:
            which = variable_names(atoms, grounded.universe)[0]
            raise ContradictionError(f"the database makes no atom true in the block {which}")


def _data_values(
    grounded: Ground, database: Database, explained: frozenset[str], unseen: frozenset[str]
) -> tuple[Ints, NDArray[np.bool_]]:
    """The value of each variable, and whether it is hidden."""
    values = np.zeros(len(grounded.cardinality), dtype=np.int64)
    hidden = np.zeros(len(values), dtype=bool)
    for name in sorted(explained):
        atoms, facts = grounded.atoms[name], database.facts.get(name)
        codes, truth = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)
        if facts is not None:
            codes = fact_codes(atoms.predicate, atoms.radix, facts, grounded.universe)
            open_ = atoms.status(codes) == UNKNOWN  # a block of a single atom is decided
            codes, truth = codes[open_], facts.truth[open_]
        variables = slice(atoms.first, atoms.first + atoms.variables)
        listed, unknown = codes[truth != UNKNOWN], codes[truth == UNKNOWN]
        variable, value = atoms.literals(codes[truth == TRUE])
        hidden[variables] = name in unseen
        hidden[atoms.literals(unknown)[0]] = True
        if atoms.in_blocks:
            hidden[variable] = False
            _require_one_each(atoms, variable, hidden[variables], grounded.universe)
            _require_untouched(atoms, hidden, atoms.literals(listed)[0], grounded.universe)
        else:
            hidden[atoms.literals(listed)[0]] = False
        values[variable] = value
    return values, hidden


def _require_untouched(
    atoms: Atoms, hidden: NDArray[np.bool_], listed: Ints, everything: Universe
) -> None:
    """Refuse hidden blocks of which the data rule some atoms out."""
    wrong = listed[hidden[listed]]
    if len(wrong):
        which = variable_names(atoms, everything)[wrong[0] - atoms.first]
        raise InputError(
            f"the block {which} is hidden, but the database lists some of its atoms as false; "
            "leave them out, or say which atom is true"
        )


def _require_one_each(
    atoms: Atoms, variable: Ints, hidden: NDArray[np.bool_], everything: Universe
) -> None:
    """Refuse data that do not choose exactly one atom of every block, unless it is hidden."""
    count = np.bincount(variable - atoms.first, minlength=atoms.variables)
    wrong = np.flatnonzero((count != 1) & ~hidden)
    if len(wrong):
        which = variable_names(atoms, everything)[wrong[0]]
        count_true = "none" if count[wrong[0]] == 0 else str(count[wrong[0]])
        others = f" (and in {len(wrong) - 1} more blocks)" if len(wrong) > 1 else ""
        raise ContradictionError(
            f"exactly one atom of the block {which} must be true, but the database has {count_true}"
            f"{others}"
        )


# How many groundings of each weight are true, in many states at once.

BLOCK = 2**22  # numbers at a time


@dataclass(frozen=True)
class States:
    """True groundings of each weight (rows) in some states (columns), and the states' chances."""

    counts: Floats
    chances: Floats

    @property
    def mean(self) -> Floats:
        return np.asarray(self.counts @ self.chances)

    @property
    def variance(self) -> Floats:
        away = self.counts - self.mean[:, None]
        return np.asarray((away * away) @ self.chances)

    def variance_along(self, direction: Floats) -> float:
        """Variance of the counts' sum, weighted by a direction."""
        sums = direction @ self.counts
        away = sums - sums @ self.chances
        return float((away * away) @ self.chances)


class TrueCounts:
    """Counts the true groundings that evidence leaves undecided.

    What single variables decide is added up beforehand, value by value.
    """

    def __init__(self, ground: Ground) -> None:
        self.weights = len(ground.weights)
        self.begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(ground.cardinality)])
        self.several = [part for part in ground.features if not _is_single(part)]
        self.single = self._single(ground.features)

    def __call__(self, values: Bytes | Ints) -> Floats:
        """Counts [weight, state] in states that are columns [variable, state]."""
        counts = np.empty((self.weights, values.shape[1]))
        step = max(1, BLOCK // max(1, int(self.begin[-1])))
        for first in range(0, values.shape[1], step):
            counts[:, first : first + step] = self._counts(values[:, first : first + step])
        return counts

    def _counts(self, values: Bytes | Ints) -> Floats:
        states = values.shape[1]
        chosen = np.zeros((int(self.begin[-1]), states))
        chosen[self.begin[:-1, None] + values, np.arange(states)] = 1.0
        total = np.asarray(self.single @ chosen)
        for part in self.several:
            step = max(1, BLOCK // (states * part.scope.shape[1]))
            for first in range(0, len(part.weight), step):
                total += self._part(part, slice(first, first + step), values)
        return total

    def _part(self, part: Features, rows: slice, values: Bytes | Ints) -> Floats:
        truth = truth_in(take_features(part, rows), values.astype(np.int64))
        weight = part.weight[rows]
        adding = csr_array(
            (np.ones(len(weight)), (weight, np.arange(len(weight)))),
            shape=(self.weights, len(weight)),
        )
        return np.asarray(adding @ truth.astype(np.float64))

    def _single(self, features: tuple[Features, ...]) -> csr_array:
        weight, place = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for part in features:
            if isinstance(part, TableFeatures) and _is_single(part):
                for value in np.flatnonzero(part.truth):
                    weight.append(part.weight)
                    place.append(self.begin[part.scope[:, 0]] + value)
        where = np.concatenate(weight), np.concatenate(place)
        shape = (self.weights, int(self.begin[-1]))
        return csr_array((np.ones(len(where[0])), where), shape=shape)


def _is_single(part: Features) -> bool:
    return isinstance(part, TableFeatures) and part.truth.ndim == 1


# What one variable can change: true groundings gained or lost, all others as in the data.

Entries = tuple[Ints, Ints, Ints]  # rows, weights, and by how many their true groundings grow


@dataclass(frozen=True)
class Changes:
    """The other values that variables of the data, or blocks of them, could have.

    Row `first[v] + a` is about value `a` of variable `v`: by how many the true groundings of each
    weight grow (a column each), and whether hard formulas leave it possible. With hidden atoms,
    `shown` are the rows that agree with the data; otherwise only those that change nothing do.
    """

    growth: csr_array
    possible: NDArray[np.bool_]
    first: Ints
    shown: NDArray[np.bool_] | None = None


def changes(world: TrainingWorld) -> Changes:
    """Try every value of every variable; data that break a hard formula are refused."""
    ground = world.ground
    _require_possible(world)
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(ground.cardinality)])
    row, weight, grown = _all_entries(world, begin)
    hard = np.isposinf(ground.weights)[weight]
    possible = np.ones(begin[-1], dtype=bool)
    possible[row[hard & (grown < 0)]] = False
    soft = grown[~hard].astype(np.float64), (row[~hard], weight[~hard])
    growth = csr_array(soft, shape=(int(begin[-1]), len(ground.weights)))
    return Changes(growth, possible, begin[:-1])


def concatenate_changes(parts: Sequence[Changes]) -> Changes:
    """The changes of independent worlds, one after the other."""
    rows = np.cumsum([0] + [part.growth.shape[0] for part in parts])
    shown = [part.shown for part in parts if part.shown is not None]
    return Changes(
        csr_array(vstack([part.growth for part in parts], format="csr")),
        np.concatenate([part.possible for part in parts]),
        np.concatenate([part.first + row for part, row in zip(parts, rows[:-1], strict=True)]),
        np.concatenate(shown) if shown else None,
    )


def _require_possible(world: TrainingWorld) -> None:
    ground = world.ground
    for part in ground.features:
        hard = np.isposinf(ground.weights[part.weight])
        broken = hard & ~truth_in(part, world.values)
        if broken.any():
            number = np.searchsorted(ground.first_weight, part.weight[broken][0], side="right") - 1
            rule = ground.program.rules[number]
            where = rule.place if rule.place.source else rule.text
            raise ContradictionError(f"{where}: the database breaks this hard formula")


def _all_entries(world: TrainingWorld, begin: Ints) -> Entries:
    pieces = [(np.zeros(0, dtype=np.int64),) * 3]
    for part in world.ground.features:
        if isinstance(part, ClauseFeatures):
            pieces += _clause_entries(part, world.values, begin)
        else:
            pieces += _table_entries(part, world.values, begin)
    row, weight, grown = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return row, weight, grown


def _table_entries(part: TableFeatures, values: Ints, begin: Ints) -> Iterator[Entries]:
    places = [values[column] for column in part.scope.T]
    now = part.truth[tuple(places)].astype(np.int64)
    for axis, size in enumerate(part.truth.shape):
        for value in range(size):
            moved = [*places[:axis], np.full(len(now), value), *places[axis + 1 :]]
            grown = part.truth[tuple(moved)] - now
            some = np.flatnonzero(grown)
            yield begin[part.scope[some, axis]] + value, part.weight[some], grown[some]


def _clause_entries(part: ClauseFeatures, values: Ints, begin: Ints) -> Iterator[Entries]:
    """Only where no other literal satisfies the clause, its variables can change it."""
    satisfied = values[part.scope] == part.satisfying
    count = satisfied.sum(axis=1)
    sign = 1 if part.holds else -1
    sizes = np.diff(begin)
    for axis in range(part.scope.shape[1]):
        variable, wanted = part.scope[:, axis], part.satisfying[:, axis]
        won = np.flatnonzero(count == 0)
        yield begin[variable[won]] + wanted[won], part.weight[won], np.full(len(won), sign)
        alone = satisfied[:, axis] & (count == 1)
        for value in range(int(sizes[variable[alone]].max(initial=0))):
            lost = np.flatnonzero(alone & (value < sizes[variable]) & (value != wanted))
            yield begin[variable[lost]] + value, part.weight[lost], np.full(len(lost), -sign)
