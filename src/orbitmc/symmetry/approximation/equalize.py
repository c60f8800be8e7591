"""Make chosen interactions equal: no fields, one coupling, or whatever a person names."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.machine.text import suggestion
from orbitmc.symmetry.approximation.cluster_weights import with_all_fields
from orbitmc.symmetry.approximation.terms import Terms, energy_of, rebuilt


def without_fields(model: Model) -> Model:
    """Drop what values earn by themselves, and keep all interactions: the bare structure."""
    energy = energy_of(model.graph)
    kept = tuple(term for term in energy.terms if not term.is_field)
    return rebuilt(model, replace(energy, terms=kept))


def one_coupling(model: Model) -> Model:
    """Replace all pairwise interactions by their mean; fields and all else stay.

    Pairs of variables with other numbers of values have a mean of their own.
    """
    energy = energy_of(model.graph)
    terms = tuple(_averaged(term, _is_pair) for term in energy.terms)
    return rebuilt(model, replace(energy, terms=terms))


def equalized(model: Model, scopes: Iterable[Sequence[str]]) -> Model:
    """Replace the interactions over the named sets of variables by their mean.

    A name alone means its field. Sets of different size, or of variables with other numbers of
    values, have means of their own.
    """
    wanted = {_numbered(model, names) for names in scopes}
    energy = with_all_fields(model.graph, energy_of(model.graph))
    known = {tuple(sorted(row)) for term in energy.terms for row in term.scopes.tolist()}
    for unknown in sorted(wanted - known):
        names = ", ".join(model.names[variable] for variable in unknown)
        raise InputError(f"there is no interaction over {names} to be made equal")

    def chosen(terms: Terms) -> NDArray[np.bool_]:
        rows = np.sort(terms.scopes, axis=1).tolist()
        return np.array([tuple(row) in wanted for row in rows], dtype=np.bool_)

    return rebuilt(
        model, replace(energy, terms=tuple(_averaged(term, chosen) for term in energy.terms))
    )


def _is_pair(terms: Terms) -> NDArray[np.bool_]:
    return np.full(len(terms.scopes), terms.is_coupling)


def _averaged(terms: Terms, chosen: Callable[[Terms], NDArray[np.bool_]]) -> Terms:
    which = chosen(terms)
    if terms.impossible or not which.any():
        return terms
    tables = terms.tables.copy()
    tables[which] = tables[which].mean(axis=0)
    return terms.with_tables(tables)


def _numbered(model: Model, names: Sequence[str]) -> tuple[int, ...]:
    if isinstance(names, str):
        raise InputError(f"expected a list of variable names, got the word {names!r}")
    for name in names:
        if name not in model.index:
            raise InputError(f"unknown variable {name!r}{suggestion(name, model.names)}")
    return tuple(sorted({model.index[name] for name in names}))
