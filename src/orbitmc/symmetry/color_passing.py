"""Variables that look alike from nearby: colour passing, stopped early or not.

At first variables differ only by their number of values. In each round they tell their factors
their colour and hear the colours of the others, so after `k` rounds two variables share a colour
when all that is within `k` factors of them agrees. Fewer rounds give larger cells.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.bits import hash_integer
from orbitmc._util.arrays import Numbers, number_classes, snap
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.symmetry.terms import Energy, Terms, energy_of

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class Messages:
    """Which variable speaks to which factor, in which role, and the kinds of the factors."""

    variable: Numbers
    factor: Numbers
    role: Numbers
    kind: Hashes


def cells(model: Model, *, rounds: int | None = None) -> Numbers:
    """Number the cell of each variable after so many rounds; without it, when it is stable."""
    if rounds is not None and rounds < 0:
        raise InputError(f"colours are passed 0 or more times, got {rounds}")
    graph = model.graph
    messages = _messages(graph, energy_of(graph))
    colours = number_classes(graph.cardinality.astype(np.int64))
    for _ in range(graph.variables if rounds is None else rounds):
        finer = number_classes(_pass(messages, colours))
        if finer.max(initial=-1) == colours.max(initial=-1):
            break
        colours = finer
    return colours


def _messages(graph: FactorGraph, energy: Energy) -> Messages:
    """List who speaks to whom; factors that come to nothing are left out."""
    parts: list[tuple[Numbers, Numbers, Hashes]] = []
    for number, terms in enumerate(energy.terms):
        parts.append(_of_terms(terms, number))
    for number, clauses in enumerate(energy.clauses):
        weights = snap(clauses.weights)
        kinds = _labels(weights[:, None], len(energy.terms) + number)
        active = weights != 0
        parts.append((clauses.scopes[active], clauses.satisfying[active], kinds[active]))
    for clause in energy.hard_clauses:
        scope, roles = graph.scope_of(clause)[None], graph.satisfying_of(clause)[None]
        kinds = _labels(np.nan_to_num(graph.table_values(int(clause)))[None], scope.shape[1])
        parts.append((scope.astype(np.int64), roles.astype(np.int64), kinds))
    return _join_messages(parts)


def _of_terms(terms: Terms, number: int) -> tuple[Numbers, Numbers, Hashes]:
    rows = snap(terms.tables).reshape(len(terms.tables), -1)
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


def _join_messages(parts: list[tuple[Numbers, Numbers, Hashes]]) -> Messages:
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
    total = np.full(len(rows), hash_integer(np.array([salt + 1], np.uint64))[0])
    for column in bits.T:
        total = hash_integer(total + hash_integer(column))
    return total


def _pass(messages: Messages, colours: Numbers) -> Hashes:
    """One round: factors hear their variables, variables hear their factors."""
    role = hash_integer(messages.role.astype(np.uint64) + np.uint64(1))
    sent = hash_integer(hash_integer(colours.astype(np.uint64))[messages.variable] + role)
    gathered = messages.kind.copy()
    np.add.at(gathered, messages.factor, sent)
    returned = hash_integer(hash_integer(gathered)[messages.factor] + role)
    fresh = hash_integer(colours.astype(np.uint64))
    np.add.at(fresh, messages.variable, returned)
    return np.asarray(hash_integer(fresh))
