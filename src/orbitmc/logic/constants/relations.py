"""What is known about constants: tuples of them, wherever knowledge differs from the custom."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.logic.databases.database import FALSE
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.atoms import Atoms
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.logic.language.syntax import atoms_of


@dataclass(frozen=True)
class Relation:
    """The atoms of a predicate whose status is not the default, or that have soft evidence.

    `arguments` has a row of constants for each, numbered within their types (`kinds`).
    """

    name: str
    kinds: tuple[str, ...]
    arguments: Ints
    truth: NDArray[np.int8]
    log_odds: Floats

    @property
    def is_among_equals(self) -> bool:
        """Whether it relates two constants of one type."""
        return len(self.kinds) == 2 and self.kinds[0] == self.kinds[1]


def relations(ground: Ground) -> Iterator[Relation]:
    """What is known, predicate by predicate; those that no formula reads are left out."""
    read = {atom.predicate for rule in ground.program.rules for atom in atoms_of(rule.formula)}
    for name, atoms in ground.atoms.items():
        if name not in read and not atoms.variables:
            continue
        codes, log_odds = _told(ground, atoms)
        yield Relation(
            name=name,
            kinds=atoms.predicate.types,
            arguments=rows_of(ground, atoms, codes),
            truth=atoms.status(codes),
            log_odds=log_odds,
        )


def rows_of(ground: Ground, atoms: Atoms, codes: Ints) -> Ints:
    """The constants of atoms, a row each."""
    columns = atoms.arguments(codes, ground.universe)
    return np.stack(columns, axis=1) if columns else np.zeros((len(codes), 0), dtype=np.int64)


def soft_evidence(ground: Ground, atoms: Atoms) -> tuple[Ints, Floats]:
    """Codes of the atoms of a predicate with soft evidence, ascending, and their log-odds."""
    soft = ground.soft
    own = (soft.variable >= atoms.first) & (soft.variable < atoms.first + atoms.variables)
    if not own.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    codes = atoms.unknown()
    most = int(ground.cardinality.max())
    variable, value = atoms.literals(codes)
    # literals rise with codes, so this finds each atom again
    place = np.searchsorted(variable * most + value, soft.variable[own] * most + soft.value[own])
    order = np.argsort(place)
    return codes[place[order]], soft.log_odds[own][order]


def _told(ground: Ground, atoms: Atoms) -> tuple[Ints, Floats]:
    """Codes, ascending, of atoms that are not as usual, and their log-odds."""
    given = atoms.known
    if atoms.in_blocks:
        undecided = atoms.fixed[given // atoms.width] < 0
        excluded = given[(atoms.truth == FALSE) & undecided]
        given = np.concatenate([atoms.fixed[atoms.fixed >= 0], excluded])
    given = given[atoms.status(given) != atoms.default]
    doubted, doubts = soft_evidence(ground, atoms)
    codes = np.union1d(given, doubted)
    log_odds = np.zeros(len(codes))
    log_odds[np.searchsorted(codes, doubted)] = doubts
    return codes, log_odds
