"""What one variable can change: true groundings gained or lost, all others as in the data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from orbitmc.errors import ContradictionError
from orbitmc.logic.databases.universe import Ints
from orbitmc.logic.grounding.features import ClauseFeatures, TableFeatures, truth_in
from orbitmc.logic.learning.worlds import TrainingWorld

Entries = tuple[Ints, Ints, Ints]
"""Rows, weights, and by how many their true groundings grow."""


@dataclass(frozen=True)
class Changes:
    """The other values that variables of the data, or blocks of them, could have.

    Row `first[v] + a` is about value `a` of variable `v`: by how many the true groundings of each
    weight grow (a column each), and whether hard formulas leave it possible. With hidden atoms,
    `shown` are the rows that agree with the data; otherwise only those that change nothing do.
    """

    growth: csr_array
    possible: NDArray[np.bool_]
    first: Ints
    shown: NDArray[np.bool_] | None = None


def changes(world: TrainingWorld) -> Changes:
    """Try every value of every variable; data that break a hard formula are refused."""
    ground = world.ground
    _require_possible(world)
    begin = np.concatenate([np.zeros(1, np.int64), np.cumsum(ground.cardinality)])
    row, weight, grown = _all_entries(world, begin)
    hard = np.isposinf(ground.weights)[weight]
    possible = np.ones(begin[-1], dtype=bool)
    possible[row[hard & (grown < 0)]] = False
    soft = grown[~hard].astype(np.float64), (row[~hard], weight[~hard])
    growth = csr_array(soft, shape=(int(begin[-1]), len(ground.weights)))
    return Changes(growth, possible, begin[:-1])


def joined(parts: Sequence[Changes]) -> Changes:
    """The changes of independent worlds, one after the other."""
    rows = np.cumsum([0] + [part.growth.shape[0] for part in parts])
    shown = [part.shown for part in parts if part.shown is not None]
    return Changes(
        csr_array(vstack([part.growth for part in parts], format="csr")),
        np.concatenate([part.possible for part in parts]),
        np.concatenate([part.first + row for part, row in zip(parts, rows[:-1], strict=True)]),
        np.concatenate(shown) if shown else None,
    )


def _require_possible(world: TrainingWorld) -> None:
    ground = world.ground
    for part in ground.features:
        hard = np.isposinf(ground.weights[part.weight])
        broken = hard & ~truth_in(part, world.values)
        if broken.any():
            number = np.searchsorted(ground.first_weight, part.weight[broken][0], side="right") - 1
            rule = ground.program.rules[number]
            where = rule.place if rule.place.source else rule.text
            raise ContradictionError(f"{where}: the database breaks this hard formula")


def _all_entries(world: TrainingWorld, begin: Ints) -> Entries:
    pieces = [(np.zeros(0, dtype=np.int64),) * 3]
    for part in world.ground.features:
        if isinstance(part, ClauseFeatures):
            pieces += _clause_entries(part, world.values, begin)
        else:
            pieces += _table_entries(part, world.values, begin)
    row, weight, grown = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return row, weight, grown


def _table_entries(part: TableFeatures, values: Ints, begin: Ints) -> Iterator[Entries]:
    places = [values[column] for column in part.scope.T]
    now = part.truth[tuple(places)].astype(np.int64)
    for axis, size in enumerate(part.truth.shape):
        for value in range(size):
            moved = [*places[:axis], np.full(len(now), value), *places[axis + 1 :]]
            grown = part.truth[tuple(moved)] - now
            some = np.flatnonzero(grown)
            yield begin[part.scope[some, axis]] + value, part.weight[some], grown[some]


def _clause_entries(part: ClauseFeatures, values: Ints, begin: Ints) -> Iterator[Entries]:
    """Only where no other literal satisfies the clause, its variables can change it."""
    satisfied = values[part.scope] == part.satisfying
    count = satisfied.sum(axis=1)
    sign = 1 if part.holds else -1
    sizes = np.diff(begin)
    for axis in range(part.scope.shape[1]):
        variable, wanted = part.scope[:, axis], part.satisfying[:, axis]
        won = np.flatnonzero(count == 0)
        yield begin[variable[won]] + wanted[won], part.weight[won], np.full(len(won), sign)
        alone = satisfied[:, axis] & (count == 1)
        for value in range(int(sizes[variable[alone]].max(initial=0))):
            lost = np.flatnonzero(alone & (value < sizes[variable]) & (value != wanted))
            yield begin[variable[lost]] + value, part.weight[lost], np.full(len(lost), -sign)
