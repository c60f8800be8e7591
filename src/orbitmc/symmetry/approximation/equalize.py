"""Make interactions equal: no fields, or one coupling."""

from dataclasses import replace

import numpy as np

from orbitmc.graph.model import Model
from orbitmc.symmetry.approximation.energy import energy_of, rebuilt
from orbitmc.symmetry.terms import Terms


def without_fields(model: Model) -> Model:
    """Drop what values earn by themselves, and keep all interactions: the bare structure.

    >>> import orbitmc as om
    >>> grid = om.ising([0.1, 0.2, 0.3], [(0, 1), (1, 2)], 0.4)
    >>> grid.graph.factors, without_fields(grid).graph.factors
    (5, 2)
    """
    energy = energy_of(model.graph)
    kept = tuple(term for term in energy.terms if not term.is_field)
    return rebuilt(model, replace(energy, terms=kept))


def one_coupling(model: Model) -> Model:
    """Replace all pairwise interactions by their mean; fields and all else stay.

    Pairs of variables with other numbers of values have a mean of their own.

    >>> import orbitmc as om
    >>> path = om.ising([0.0] * 3, [(0, 1), (1, 2)], [0.2, 0.4])
    >>> om.symmetry.automorphisms(path.graph).order
    1
    >>> om.symmetry.automorphisms(one_coupling(path).graph).order
    2
    """
    energy = energy_of(model.graph)
    terms = tuple(map(_averaged, energy.terms))
    return rebuilt(model, replace(energy, terms=terms))


def _averaged(terms: Terms) -> Terms:
    means = np.broadcast_to(terms.tables.mean(axis=0), terms.tables.shape)
    return terms.with_tables(means) if terms.is_coupling else terms
