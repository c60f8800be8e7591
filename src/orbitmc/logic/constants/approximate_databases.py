"""Databases with more symmetry than the one they approximate, about the same atoms.

Grounded and sampled they give biased answers: they are what lifted inference would answer if it
took the approximation for the truth. Atoms that were known stay known, and others do not become
so; evidence in blocks stays as it is.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import LimitError
from orbitmc.logic.constants.atom_cells import atom_cells
from orbitmc.logic.constants.boolean_relations import MOST_ENTRIES, covered
from orbitmc.logic.constants.constant_classes import Classes
from orbitmc.logic.constants.relations import relations, rows_of, soft_evidence
from orbitmc.logic.databases.database import FALSE, TRUE, UNKNOWN, Database, Facts
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.atoms import Atoms
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.machine.arrays import Floats

Truths = NDArray[np.int8]


def low_rank_database(ground: Ground, database: Database, rank: int = 5) -> Database:
    """Replace every relation of two constants by one of that Boolean rank.

    The relation of a constant to itself is kept.
    """
    facts = dict(database.facts)
    for relation in relations(ground):
        atoms = ground.atoms[relation.name]
        if len(relation.kinds) == 2 and relation.name in facts and not atoms.in_blocks:
            cover = covered(ground, relation, rank)

            def truth(
                codes: Ints, atoms: Atoms = atoms, cover: NDArray[np.bool_] = cover
            ) -> Truths:
                one, other = atoms.arguments(codes, ground.universe)
                return np.where(cover[one, other], TRUE, FALSE).astype(np.int8)

            facts[relation.name] = _facts(ground, atoms, truth, *soft_evidence(ground, atoms))
    return replace(database, facts=facts, constants=ground.universe.constants)


def voted_database(ground: Ground, database: Database, classes: Classes) -> Database:
    """Let atoms that classes of constants cannot tell apart vote on what is known of them.

    Known atoms become what most of them are (false if as many are true); soft evidence becomes
    the mean over unknown atoms.
    """
    facts = dict(database.facts)
    for name, atoms in ground.atoms.items():
        if name in facts and not atoms.in_blocks:

            def truth(codes: Ints, atoms: Atoms = atoms) -> Truths:
                cells = atom_cells(ground, atoms, codes, classes)
                votes = np.where(atoms.status(codes) == TRUE, 1, -1)
                return np.where(np.bincount(cells, votes)[cells] > 0, TRUE, FALSE).astype(np.int8)

            facts[name] = _facts(ground, atoms, truth, *_mean_doubts(ground, atoms, classes))
    return replace(database, facts=facts, constants=ground.universe.constants)


def _mean_doubts(ground: Ground, atoms: Atoms, classes: Classes) -> tuple[Ints, Floats]:
    """Soft evidence, averaged over unknown atoms that look alike."""
    doubted, doubts = soft_evidence(ground, atoms)
    if not len(doubted):
        return doubted, doubts
    codes = atoms.unknown()
    log_odds = np.zeros(len(codes))
    log_odds[np.searchsorted(codes, doubted)] = doubts
    cells = atom_cells(ground, atoms, codes, classes)
    return codes, (np.bincount(cells, log_odds) / np.bincount(cells))[cells]


def _facts(
    ground: Ground,
    atoms: Atoms,
    truth: Callable[[Ints], Truths],
    doubted: Ints,
    doubts: Floats,
) -> Facts:
    """Evidence on the same atoms as before, with another truth."""
    codes = _known(atoms)
    told = truth(codes)
    if atoms.default == FALSE:  # what is not listed is false
        codes, told = codes[told == TRUE], told[told == TRUE]
    unknown = np.union1d(doubted, atoms.known[atoms.truth == UNKNOWN])
    log_odds = np.zeros(len(unknown))
    log_odds[np.searchsorted(unknown, doubted)] = doubts
    rows = rows_of(ground, atoms, np.concatenate([codes, unknown]))
    names = [ground.universe.constants[kind] for kind in atoms.predicate.types]
    return Facts(
        tuple(
            tuple(words[number] for number in column)
            for words, column in zip(names, rows.T.tolist(), strict=True)
        ),
        np.concatenate([told, np.full(len(unknown), UNKNOWN, np.int8)]),
        np.concatenate([np.zeros(len(codes)), log_odds]),
    )


def _known(atoms: Atoms) -> Ints:
    """Codes of the atoms that are not unknown."""
    if atoms.default == UNKNOWN:
        return np.asarray(atoms.known[atoms.truth != UNKNOWN])
    if atoms.size > MOST_ENTRIES:
        raise LimitError(
            f"{atoms.predicate.name} has {atoms.size:,} atoms, too many to look at one by one"
        )
    return np.setdiff1d(np.arange(atoms.size), atoms.known[atoms.truth == UNKNOWN])
