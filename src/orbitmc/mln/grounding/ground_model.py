"""From features and weights to a model: what reads the same variables adds up."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, distinct_rows
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import WIDEST, exact_sum, large_rows
from orbitmc.graph.model import (
    Equivalence,
    ItemForest,
    ItemMatching,
    ItemOrder,
    Model,
    UngroundRelation,
)
from orbitmc.mln.data.database import TRUE, UNKNOWN, Ints
from orbitmc.mln.grounding.atoms import PairAtoms, value_names, variable_names
from orbitmc.mln.grounding.ground_features import ClauseFeatures, TableFeatures
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.grounding.relations import (
    MATCHINGS,
    ORDERS,
    Relation,
    recognise_relations,
)


@dataclass(frozen=True)
class GroundModel(Model):
    """A model whose variables are atoms, and the ground program that means it.

    Once more evidence has removed variables it is a model like any other.
    """

    ground: Ground = field(kw_only=True, repr=False)


def model_of(ground: Ground, weights: Floats | None = None) -> GroundModel:
    r"""The model that a ground program means, with the written weights or with others.

    >>> from orbitmc.mln.data.reader import parse_database
    >>> from orbitmc.mln.grounding.grounding import ground
    >>> from orbitmc.mln.language.parser import parse
    >>> program = parse("person = {Anna, Bob}\nSmokes(person)\n1.5 Smokes(x)\n")
    >>> model_of(ground(program, parse_database("", program))).names
    ('Smokes(Anna)', 'Smokes(Bob)')
    """
    every, universe = ground.atoms.values(), ground.universe
    names = tuple(chain.from_iterable(variable_names(atoms, universe) for atoms in every))
    values = tuple(chain.from_iterable(value_names(atoms, universe) for atoms in every))
    relations = tuple(
        _unground(relation, ground)
        for relation in ground.relations
        if relation.kind != "symmetric" and ground.atoms[relation.predicate].variables
    )
    orders = (
        _order(relation, ground)
        for relation in recognise_relations(ground.program)
        if relation.kind in ORDERS
    )
    return GroundModel(
        graph_of(ground, weights), names, values, relations=relations,
        orders=tuple(order for order in orders if len(order.variables)), ground=ground,
    )  # fmt: skip


def _unground(relation: Relation, ground: Ground) -> UngroundRelation:
    """What rules that are not ground make of a predicate."""
    if relation.kind in ORDERS:
        return _order(relation, ground)
    if relation.kind == "forest":
        return _forest(relation, ground)
    if relation.kind in MATCHINGS:
        return _matching(relation, ground)
    atoms = ground.atoms[relation.predicate]
    assert isinstance(atoms, PairAtoms)
    first, second = atoms.ends(atoms.variable_pairs())
    variables = atoms.first + np.arange(atoms.variables)
    return Equivalence(relation.predicate, atoms.items, variables, first, second)


def _order(relation: Relation, ground: Ground) -> ItemOrder:
    """A total order of the constants of a sort."""
    atoms = ground.atoms[relation.predicate]
    items = ground.universe.size(atoms.predicate.types[0])
    pairs = np.argwhere(np.ones((items, items)))
    codes = atoms.codes([*pairs.T], len(pairs))
    status, apart = atoms.status(codes), pairs[:, 0] != pairs[:, 1]
    free, alone = apart & (status == UNKNOWN), ~apart & (status == UNKNOWN)
    known = np.where((status == TRUE)[:, None], pairs, pairs[:, ::-1])[apart & ~free]
    return ItemOrder(
        relation.predicate,
        items,
        atoms.literals(codes[free])[0],
        pairs[free, 0],
        pairs[free, 1],
        known,
        relation.kind == "total order",
        np.stack([atoms.literals(codes[alone])[0], pairs[alone, 0]], axis=1),
    )


def _forest(relation: Relation, ground: Ground) -> ItemForest:
    """A forest of the constants of a sort."""
    atoms = ground.atoms[relation.predicate]
    items = ground.universe.size(atoms.predicate.types[0])
    pairs = np.argwhere(np.ones((items, items)))
    status = atoms.status(np.arange(atoms.size))
    first, second = pairs[status == UNKNOWN].T
    variables = atoms.first + np.arange(atoms.variables)
    return ItemForest(relation.predicate, items, variables, first, second, pairs[status == TRUE])


def _matching(relation: Relation, ground: Ground) -> ItemMatching:
    """A matching of the constants of two sorts; those that are matched already have no row."""
    atoms, sides = ground.atoms[relation.predicate], MATCHINGS[relation.kind]
    shape = tuple(map(ground.universe.size, atoms.predicate.types))
    status = atoms.status(np.arange(atoms.size)).reshape(shape)
    table = np.full(shape, -1, dtype=np.int32)
    table[status == UNKNOWN] = atoms.first + np.arange(atoms.variables)
    rows, columns = (table >= 0).any(axis=1), (table >= 0).any(axis=0)
    table = table[rows][:, columns]
    needed = [np.full(length, side, dtype=np.uint8)
              for length, side in zip(table.shape, sides, strict=True)]  # fmt: skip
    return ItemMatching(relation.predicate, table, *needed)


def graph_of(ground: Ground, weights: Floats | None = None) -> FactorGraph:
    """The factor graph that a ground program means."""
    chosen = ground.weights if weights is None else weights
    builder = Builder(ground.cardinality)
    builder.constant = _decided_weight(ground, chosen)
    _add_fields(builder, ground, chosen)
    wide = [part for part in ground.features if isinstance(part, TableFeatures)]
    for shape in sorted({part.truth.shape for part in wide if part.truth.ndim > 1}):
        _add_tables(builder, [part for part in wide if part.truth.shape == shape], chosen)
    for part in ground.features:
        if isinstance(part, ClauseFeatures):
            _add_clauses(builder, part, chosen)
    return builder.build()


def _decided_weight(ground: Ground, weights: Floats) -> float:
    """What groundings and atoms earn that evidence made true; not a number beyond doubles."""
    earning = np.isfinite(weights) & (ground.decided > 0)
    pairs = zip(ground.decided[earning].tolist(), weights[earning].tolist(), strict=True)
    earned = [count * weight for count, weight in pairs] + ground.soft.earned.tolist()
    return exact_sum(earned) if np.isfinite(earned).all() else np.nan


def _add_fields(builder: Builder, ground: Ground, weights: Floats) -> None:
    """Features of single variables, and soft evidence, as one factor for each variable.

    Weights in which others would be lost are factors of their own.
    """
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(ground.cardinality)])
    fields = np.zeros(start[-1])
    np.add.at(fields, start[ground.soft.variable] + ground.soft.value, ground.soft.log_odds)
    for part in ground.features:
        if isinstance(part, TableFeatures) and part.truth.ndim == 1:
            huge = np.isfinite(weights[part.weight]) & (np.abs(weights[part.weight]) > WIDEST)
            if huge.any():
                tables, which = distinct_rows(_gains(weights[part.weight[huge]], part.truth))
                builder.add_factors(part.scope[huge], builder.add_tables(tables)[which])
            for value in range(len(part.truth)):  # one by one: blocks may have many
                gain = _gains(weights[part.weight[~huge]], part.truth[[value]])[:, 0]
                np.add.at(fields, start[part.scope[~huge, 0]] + value, gain)
    places = np.searchsorted(start, np.flatnonzero(fields), side="right") - 1  # in order
    with_field = places[np.diff(places, prepend=-1) > 0]
    for size in np.unique(ground.cardinality[with_field]):
        variables = with_field[ground.cardinality[with_field] == size]
        tables, which = distinct_rows(fields[start[variables][:, None] + np.arange(size)])
        builder.add_factors(variables[:, None], builder.add_tables(tables)[which])


def _gains(weights: Floats, truth: NDArray[np.bool_]) -> Floats:
    """For every feature a row: what it earns in each entry of its truth table."""
    hard = np.isposinf(weights)[:, None]
    earned, lost = np.where(hard, 0.0, weights[:, None]), np.where(hard, -np.inf, 0.0)
    return np.where(truth.reshape(-1), earned, lost)


Stack = tuple[Ints, Floats, Ints]
"""Factors of one shape: rows of variables, ascending; tables; and which of them each has."""


def _add_tables(builder: Builder, parts: list[TableFeatures], weights: Floats) -> None:
    """Features over several variables; those over the same ones become one factor."""
    stacks: dict[tuple[int, ...], list[Stack]] = {}
    for part in parts:
        for shape, stack in _sort_scopes(part, weights):
            stacks.setdefault(shape, []).append(stack)
    for _, parts_of_shape in sorted(stacks.items()):
        scopes, entries, which = zip(*parts_of_shape, strict=True)
        first = np.cumsum([0, *map(len, entries[:-1])])
        entry_of = [number + start for number, start in zip(which, first, strict=True)]
        _add_merged(builder, *map(np.concatenate, (scopes, entries, entry_of)))


def _sort_scopes(part: TableFeatures, weights: Floats) -> Iterable[tuple[tuple[int, ...], Stack]]:
    """Bring the variables of every feature into ascending order, tables along with them."""
    orders = np.argsort(part.scope, axis=1, kind="stable")
    width = orders.shape[1]
    codes = orders[:, :-1] @ width ** np.arange(width - 1)[::-1]  # all but the last tell it
    for code, first in zip(*np.unique(codes, return_index=True), strict=True):
        rows, order = codes == code, orders[first]
        truth = part.truth.transpose(order)
        numbers, entry_of = np.unique(part.weight[rows], return_inverse=True)
        scope = part.scope[rows][:, order]
        yield truth.shape, (scope, _gains(weights[numbers], truth), entry_of)


def _add_merged(builder: Builder, scope: Ints, entries: Floats, entry_of: Ints) -> None:
    """Add factors over the same variables up; those in which others would be lost stay alone."""
    unique, group = distinct_rows(scope)
    large = large_rows(entries)[entry_of]
    count = np.bincount(group, weights=~large, minlength=len(unique))
    alone = large | (count[group] == 1)
    if alone.any():
        used, which = np.unique(entry_of[alone], return_inverse=True)
        numbers = builder.add_tables(entries[used])
        builder.add_factors(scope[alone], numbers[which])
    shared = np.flatnonzero(count > 1)
    if len(shared):
        sums, which = _sums(group[~alone], entries, entry_of[~alone])
        tables, table_of = distinct_rows(sums)
        builder.add_factors(unique[shared], builder.add_tables(tables)[table_of[which]])


def _sums(group: Ints, entries: Floats, entry_of: Ints) -> tuple[Floats, Ints]:
    """Sums of the tables in each group, equal sets of tables once; and which sum each group has."""
    order = np.lexsort((entry_of, group))
    members = np.bincount(group)
    members = members[members > 0]
    end = np.cumsum(members)
    sums, which, first = [], np.zeros(len(members), dtype=np.int64), 0
    for size in np.unique(members):
        alike = np.flatnonzero(members == size)
        rows = entry_of[order[(end[alike] - size)[:, None] + np.arange(size)]]
        distinct, number = distinct_rows(rows)
        sums.append(entries[distinct].sum(axis=1))
        which[alike] = first + number
        first += len(distinct)
    return np.concatenate(sums), which


def _add_clauses(builder: Builder, part: ClauseFeatures, weights: Floats) -> None:
    used, which = np.unique(part.weight, return_inverse=True)
    truth = np.array([not part.holds, part.holds])  # of a clause that is not satisfied, and is
    numbers = builder.add_tables(_gains(weights[used], truth))
    builder.add_clauses(part.scope, part.satisfying, numbers[which])
