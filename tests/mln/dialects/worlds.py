"""Probabilities by listing all worlds, apart from the package; and what the package answers."""

import itertools
import math

from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse

IMPOSSIBLE = -math.inf


def by_worlds(atoms, log_weight):
    """The probability of each atom; `log_weight` is given the truth of all atoms by name."""
    total, true = 0.0, dict.fromkeys(atoms, 0.0)
    for values in itertools.product((False, True), repeat=len(atoms)):
        world = dict(zip(atoms, values, strict=True))
        weight = math.exp(log_weight(world))
        total += weight
        for atom in atoms:
            true[atom] += weight * world[atom]
    return {atom: weight / total for atom, weight in true.items()}


def asked(program, evidence="", *, dialect, query=None, **options):
    """Our reading of a program and its evidence."""
    read = parse(program, dialect=dialect)
    return ground_program(read, parse_database(evidence, read), query=query, **options)


def answered(program, evidence="", *, dialect, query=None, **options):
    """The exact probability of each atom, as the package gives it."""
    found = asked(program, evidence, dialect=dialect, query=query, **options)
    answer = found.marginals(method="exact")
    return {name: float(answer[name].probability[0]) for name in answer}
