"""Round all log-weights, so that more of them are equal and the model has more symmetries.

An approximation only proposes: jumps are accepted by the true model, so any function from a model
to a model of the same variables is safe.
"""

from dataclasses import replace

import numpy as np

from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.symmetry.approximations import energy_of, rebuild_model


def round_weights(model: Model, unit: float = 0.5) -> Model:
    """A model whose log-weights are multiples of a unit; impossible states stay impossible."""
    if not unit > 0:
        raise InputError(f"the unit must be positive, not {unit}")
    energy = energy_of(model.graph)
    terms = [term.with_tables(unit * np.round(term.tables / unit)) for term in energy.terms]
    return rebuild_model(model, replace(energy, terms=tuple(terms)))
