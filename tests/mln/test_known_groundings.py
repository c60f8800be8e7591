"""Nine groundings that Alchemy 2 ships as its own tests, equal up to the numbers of atoms."""

import numpy as np
import pytest

from orbitmc.mln.data.database import Database
from orbitmc.mln.grounding.ground_features import TableFeatures
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.syntax import atoms_of
from tests.mln.alchemy_grounding import NUMBERS, case

igraph = pytest.importorskip("igraph")


@pytest.mark.parametrize("number", NUMBERS)
def test_groundings_are_those_of_alchemy(number):
    known = case(number)
    found = _clauses(known)
    expected = [_simplified(clauses) for clauses in known.expected.clauses]
    assert [len(clauses) for clauses in found] == [len(clauses) for clauses in expected]
    ours = _drawn(found, _true_atoms(known))
    theirs = _drawn(expected, set(known.expected.true_atoms))
    assert _same(ours, theirs)


def test_a_clause_more_or_less_would_be_noticed():
    known = case(4)
    found = _clauses(known)
    changed = [[*found[0][:-1], found[0][0]], *found[1:]]
    truth = _true_atoms(known)
    assert not _same(_drawn(found, truth), _drawn(changed, truth))


def _same(one, other):
    return one[0].isomorphic_vf2(other[0], color1=one[1], color2=other[1])


def _simplified(clauses):
    """Literals as (atom from 0, sign), each once, without clauses that are always true."""
    return [
        tuple((abs(literal) - 1, literal > 0) for literal in dict.fromkeys(clause))
        for clause in clauses
        if not any(-literal in clause for literal in clause)
    ]


def _clauses(known):
    """Ground without evidence, everything open: each formula's clauses, by atom and sign."""
    program = known.program
    universe = Database({}, _constants(known))
    found = ground(program, universe, _used(program))
    clauses = [[] for _ in program.rules]
    for features in found.features:
        for row, weight in enumerate(features.weight):
            scope = features.scope[row].tolist()
            if isinstance(features, TableFeatures):
                ((*unsatisfied,),) = np.argwhere(~features.truth)
                signs = [value == 0 for value in unsatisfied]
            else:
                signs = [value == 1 for value in features.satisfying[row]]
            rule = int(np.searchsorted(found.first_weight, weight, side="right")) - 1
            clauses[rule].append(tuple(zip(scope, signs, strict=True)))
    return clauses


def _used(program):
    """Ask about all that formulas speak of; Alchemy leaves out other predicates too."""
    return World(
        frozenset(atom.predicate for rule in program.rules for atom in atoms_of(rule.formula))
    )


def _constants(known):
    names = {}
    for predicate, facts in known.database.facts.items():
        kinds = known.program.predicates[predicate].types
        for kind, column in zip(kinds, facts.columns, strict=True):
            names.setdefault(kind, {}).update(dict.fromkeys(column))
    return {kind: tuple(found) for kind, found in names.items()}


def _true_atoms(known):
    found = ground(
        known.program,
        Database({}, _constants(known)),
        _used(known.program),
    )
    true = set()
    for predicate, facts in known.database.facts.items():
        atoms = found.atoms[predicate]
        kinds = known.program.predicates[predicate].types
        numbers = [
            np.array([found.universe.numbers[kind][name] for name in column])
            for kind, column in zip(kinds, facts.columns, strict=True)
        ]
        if atoms.variables:
            true |= set((atoms.first + atoms.codes(numbers, len(facts.truth))).tolist())
    return true


def _drawn(formulas, true_atoms):
    """A coloured graph: atoms by truth, clauses by formula, a vertex between for each sign."""
    atoms = 1 + max(atom for clauses in formulas for clause in clauses for atom, _ in clause)
    colors = [int(atom in true_atoms) for atom in range(atoms)]
    edges = []
    for formula, clauses in enumerate(formulas):
        for clause in clauses:
            hub = len(colors)
            colors.append(4 + formula)
            for atom, sign in clause:
                edges += [(hub, len(colors)), (len(colors), atom)]
                colors.append(2 + int(sign))
    return igraph.Graph(n=len(colors), edges=edges), colors
