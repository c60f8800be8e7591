"""Training worlds: a program ground on what is given, and the data on what it explains."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import MEMORY, quoted, suggestion
from orbitmc.errors import ContradictionError, InputError
from orbitmc.logic.databases.database import TRUE, UNKNOWN, Database
from orbitmc.logic.databases.names import variable_names
from orbitmc.logic.databases.universe import Ints, Universe, universe
from orbitmc.logic.grounding.atoms import Atoms, fact_codes
from orbitmc.logic.grounding.grounding import MOST_GROUNDINGS, Ground, World, ground
from orbitmc.logic.language.syntax import Program, atoms_of


@dataclass(frozen=True)
class TrainingWorld:
    """A program on the constants of one database, and the value of each variable in the data.

    The data do not show the values of `hidden` variables; those in `values` mean nothing.
    """

    ground: Ground
    values: Ints
    hidden: NDArray[np.bool_]


def explained_predicates(program: Program) -> frozenset[str]:
    """Predicates that a generative program explains: all in its formulas, functions excepted."""
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule.formula)}
    given = {name for name, one in program.predicates.items() if one.closed}
    return frozenset(used - given - set(program.functions.values()))


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

    >>> from orbitmc.logic.databases.evidence import parse_database
    >>> from orbitmc.logic.language.parser import parse
    >>> program = parse("Smokes(person)\nSmokes(x)\n", learning=True)
    >>> database = parse_database("Smokes(Anna)\n!Smokes(Bob)\n", program)
    >>> [world.values.tolist() for world in training_worlds(program, [database])]
    [[1, 0]]
    """
    unseen = frozenset(hidden)
    names = explained_predicates(program) if explained is None else frozenset(explained) | unseen
    _require_predicates(program, names | unseen)
    if not unseen <= names:
        raise InputError(f"no formula has the hidden predicate {min(unseen - names)}")
    if not databases:
        raise InputError("learning needs a database at least")
    kinds = {rule.types[name] for rule in program.rules for name in rule.per_constant}
    everything = universe(program, databases).constants  # weights are numbered by these types
    shared = {kind: everything[kind] for kind in sorted(kinds)}
    worlds = []
    for database in databases:
        _require_certain(database, names)
        filled = replace(database, constants={**database.constants, **shared})
        facts = {name: facts for name, facts in database.facts.items() if name not in names}
        given = Database(facts, universe(program, [filled]).constants)
        world = World(query=names, closed=frozenset(program.predicates) - names)
        found = ground(program, given, world, max_groundings=max_groundings, memory=memory)
        _require_decided(found, names)
        worlds.append(TrainingWorld(found, *_data_values(found, database, names, unseen)))
    return tuple(worlds)


def _require_predicates(program: Program, names: frozenset[str]) -> None:
    if not names:
        raise InputError("no formula has a predicate whose atoms could be explained")
    for name in sorted(names):
        if name not in program.predicates:
            near = suggestion(name, program.predicates)
            raise InputError(f"there is no predicate {quoted(name)}{near}")
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


def _require_decided(found: Ground, explained: frozenset[str]) -> None:
    """Refuse blocks that are given, but without the value that they must have."""
    for name, atoms in found.atoms.items():
        if name not in explained and atoms.variables:
            which = variable_names(atoms, found.universe)[0]
            raise ContradictionError(f"the database makes no atom true in the block {which}")


def _data_values(
    found: Ground, database: Database, explained: frozenset[str], unseen: frozenset[str]
) -> tuple[Ints, NDArray[np.bool_]]:
    """The value of each variable, and whether it is hidden."""
    values = np.zeros(len(found.cardinality), dtype=np.int64)
    hidden = np.zeros(len(values), dtype=bool)
    for name in sorted(explained):
        atoms, facts = found.atoms[name], database.facts.get(name)
        codes, truth = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)
        if facts is not None:
            codes = fact_codes(atoms.predicate, atoms.radix, facts, found.universe)
            open_ = atoms.status(codes) == UNKNOWN  # a block of a single atom is decided
            codes, truth = codes[open_], facts.truth[open_]
        own = slice(atoms.first, atoms.first + atoms.variables)
        listed, unknown = codes[truth != UNKNOWN], codes[truth == UNKNOWN]
        variable, value = atoms.literals(codes[truth == TRUE])
        hidden[own] = name in unseen
        hidden[atoms.literals(unknown)[0]] = True
        if atoms.in_blocks:
            hidden[variable] = False
            _require_one_each(atoms, variable, hidden[own], found.universe)
            _require_untouched(atoms, hidden, atoms.literals(listed)[0], found.universe)
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
        found = "none" if count[wrong[0]] == 0 else str(count[wrong[0]])
        others = f" (and in {len(wrong) - 1} more blocks)" if len(wrong) > 1 else ""
        raise ContradictionError(
            f"exactly one atom of the block {which} must be true, but the database has {found}"
            f"{others}"
        )
