"""Variables that look alike from nearby: colour passing, stopped early or with a tolerance.

At first variables differ only by their number of values. In each round they tell their factors
their colour and hear the colours of the others, so after `k` rounds two variables share a colour
when all that is within `k` factors of them agrees. Fewer rounds give larger cells.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.machine.arrays import Numbers
from orbitmc.machine.equal_numbers import row_classes, snapped
from orbitmc.machine.hashes import mixed
from orbitmc.symmetry.approximation.cluster_weights import with_all_fields
from orbitmc.symmetry.approximation.kmeans import cluster_means
from orbitmc.symmetry.approximation.terms import Clauses, Energy, Terms, energy_of, rebuilt

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Messages:
    """Which variable speaks to which factor, in which role, and the kinds of the factors."""

    variable: Numbers
    factor: Numbers
    role: Numbers
    kind: Hashes


def colour_passing(model: Model, *, rounds: int = 1, tolerance: float = 0.0) -> Model:
    """The model whose interactions are averaged over the cells of early-stopped colour passing."""
    return averaged(model, cells(model, rounds=rounds, tolerance=tolerance))


def cells(model: Model, *, rounds: int | None = None, tolerance: float = 0.0) -> Numbers:
    """Number the cell of each variable after so many rounds; without a number, when it is stable.

    With a tolerance, log-potentials count as equal if they round to the same multiple of it.
    """
    if rounds is not None and rounds < 0:
        raise InputError(f"colours are passed 0 or more times, got {rounds}")
    if not (tolerance >= 0 and np.isfinite(tolerance)):
        raise InputError(f"a tolerance is 0 or more, got {tolerance}")
    graph = model.graph
    messages = _messages(graph, energy_of(graph), tolerance)
    colours = _numbered(graph.cardinality.astype(np.int64))
    for _ in range(graph.variables if rounds is None else rounds):
        finer = _numbered(_pass(messages, colours))
        if finer.max(initial=-1) == colours.max(initial=-1):
            break
        colours = finer
    return colours


def averaged(model: Model, cells: ArrayLike) -> Model:
    """Replace each interaction by the mean of all those between the same cells."""
    numbers = np.asarray(cells)
    if numbers.shape != (model.graph.variables,) or numbers.dtype.kind not in "iu":
        raise InputError(f"{model.graph.variables} variables need the number of a cell each")
    energy = with_all_fields(model.graph, energy_of(model.graph))
    return rebuilt(
        model,
        replace(
            energy,
            terms=tuple(_averaged_terms(term, numbers) for term in energy.terms),
            clauses=tuple(_averaged_clauses(some, numbers) for some in energy.clauses),
        ),
    )


def _averaged_terms(terms: Terms, cells: Numbers) -> Terms:
    if terms.impossible or not len(terms.scopes):
        return terms
    around = cells[terms.scopes]
    if _symmetric(terms).all():
        around = np.sort(around, axis=1)
    labels = row_classes(around)[1]
    vectors = terms.tables.reshape(len(labels), -1)
    means = cluster_means(vectors, labels, int(labels.max()) + 1)[labels]
    return terms.with_tables(means.reshape(terms.tables.shape))


def _averaged_clauses(clauses: Clauses, cells: Numbers) -> Clauses:
    literals = np.sort(cells[clauses.scopes] * (clauses.satisfying.max() + 1) + clauses.satisfying)
    labels = row_classes(literals)[1]
    means = cluster_means(clauses.weights[:, None], labels, int(labels.max()) + 1)
    return replace(clauses, weights=means[labels, 0])


def _messages(graph: FactorGraph, energy: Energy, tolerance: float) -> Messages:
    """List who speaks to whom; factors that are nothing within the tolerance are left out."""
    parts: list[tuple[Numbers, Numbers, Hashes]] = []
    for number, terms in enumerate(energy.terms):
        parts.append(_of_terms(terms, number, tolerance))
    for number, clauses in enumerate(energy.clauses):
        weights = snapped(clauses.weights, grid=tolerance)
        kinds = _labels(weights[:, None], len(energy.terms) + number)
        active = weights != 0
        parts.append((clauses.scopes[active], clauses.satisfying[active], kinds[active]))
    for clause in energy.hard_clauses:
        first, last = graph.scope_start[clause], graph.scope_start[clause + 1]
        scope, roles = graph.scope[None, first:last], graph.satisfying[None, first:last]
        kinds = _labels(np.nan_to_num(graph.table_values(int(clause)))[None], last - first)
        parts.append((scope.astype(np.int64), roles.astype(np.int64), kinds))
    return _joined(parts)


def _of_terms(terms: Terms, number: int, tolerance: float) -> tuple[Numbers, Numbers, Hashes]:
    rows = snapped(terms.tables, grid=tolerance).reshape(len(terms.tables), -1)
    active = (rows != 0).any(axis=1)
    places = np.broadcast_to(np.arange(1, 1 + terms.scopes.shape[1]), terms.scopes.shape)
    roles = np.where(
        _symmetric(terms.with_tables(rows.reshape(terms.tables.shape)))[:, None], 0, places
    )
    return terms.scopes[active], roles[active], _labels(rows, number)[active]


def _symmetric(terms: Terms) -> NDArray[np.bool_]:
    """Whether each table is the same for every order of its variables."""
    alike = np.full(len(terms.tables), len(set(terms.shape)) == 1)
    for axis in range(1, len(terms.shape) if alike.all() else 0):
        turned = np.swapaxes(terms.tables, axis, axis + 1)
        same = np.isclose(terms.tables, turned, rtol=1e-9, atol=1e-12)
        alike &= same.reshape(len(alike), -1).all(axis=1)
    return alike


def _joined(parts: list[tuple[Numbers, Numbers, Hashes]]) -> Messages:
    nothing = np.zeros(0, np.int64)
    counts = [np.full(len(scopes), scopes.shape[1]) for scopes, _, _ in parts]
    sizes = np.concatenate([nothing, *counts])
    return Messages(
        variable=np.concatenate([nothing, *(scopes.reshape(-1) for scopes, _, _ in parts)]),
        factor=np.repeat(np.arange(len(sizes)), sizes),
        role=np.concatenate([nothing, *(roles.reshape(-1) for _, roles, _ in parts)]),
        kind=np.concatenate([nothing.astype(np.uint64), *(kinds for _, _, kinds in parts)]),
    )


def _labels(rows: NDArray[np.float64], salt: int) -> Hashes:
    """A hash of each row of numbers; those of different salt differ."""
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)  # minus zero becomes zero
    total = np.full(len(rows), mixed(np.array([salt + 1], np.uint64))[0])
    for column in bits.T:
        total = mixed(total + mixed(column))
    return total


def _pass(messages: Messages, colours: Numbers) -> Hashes:
    """One round: factors hear their variables, variables hear their factors."""
    role = mixed(messages.role.astype(np.uint64) + np.uint64(1))
    said = mixed(mixed(colours.astype(np.uint64))[messages.variable] + role)
    heard = messages.kind.copy()
    np.add.at(heard, messages.factor, said)
    told = mixed(mixed(heard)[messages.factor] + role)
    fresh = mixed(colours.astype(np.uint64))
    np.add.at(fresh, messages.variable, told)
    return np.asarray(mixed(fresh))


def _numbered(colours: NDArray[np.int64] | Hashes) -> Numbers:
    """Number colours in the order in which they first appear."""
    _, first, which = np.unique(colours, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which.reshape(-1)]
