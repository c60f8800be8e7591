"""Whole states of a program that is counted: independent draws, and the best one.

Counts of cells come first, then constants are dealt to cells, then each constant chooses what its
cell leaves open. Atoms of pairs are chosen last, and only those that somebody asks about: given
the cells of both constants, a pair depends on nothing else.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError
from orbitmc.lifted.cells import PairField, log_max
from orbitmc.lifted.counts import CountMoments, best_counts, draw_counts
from orbitmc.lifted.evidence import Field
from orbitmc.lifted.fragment import Fragment
from orbitmc.lifted.marginals import (
    Case,
    Counted,
    CountedCase,
    Setting,
    lift_setting,
    proposition_weights,
)
from orbitmc.lifted.tree import IMPOSSIBLE, TreeProblem, best_tree, draw_tree
from orbitmc.mln.data.database import Ints

Bools = NDArray[np.bool_]
NUMBERS_AT_A_TIME = 2**22
MOST_STATES = 1e9  # that a search for the best counts may take

Choose = Callable[[Floats, Ints], Ints]
"""Chooses a column for each row that is named of a table of log-weights."""
AtomCodes = Sequence[tuple[str, Ints]]
"""Predicates and the codes of some of their atoms."""


def draw_atoms(
    counted: Counted, atoms: AtomCodes, rng: np.random.Generator, count: int
) -> list[Bools]:
    """Whether atoms are true in independent states: a table [state, atom] for each entry."""
    choose, shuffle = _drawing(rng), partial(rng.permuted, axis=1)
    reader = _AtomReader(counted.setting, counted.cases[0].case, atoms)
    truth = [np.zeros((count, len(codes)), np.bool_) for _, codes in atoms]
    case_of = np.searchsorted(np.cumsum(counted.shares)[:-1], rng.random(count), side="right")
    for number, case in enumerate(counted.cases):
        states = np.flatnonzero(case_of == number)
        at_a_time = max(1, NUMBERS_AT_A_TIME // reader.size)
        for first in range(0, len(states), at_a_time):
            some = states[first : first + at_a_time]
            counts = _draw_class_counts(case, rng, len(some))
            cells = _deal(counted.setting, case.case, len(some), counts, choose, shuffle)
            atoms_of = reader.read(case.case, len(some), cells, choose)
            for table, part in zip(truth, atoms_of, strict=True):
                table[some] = part
            check_interrupt()
    return truth


def best_atoms(setting: Setting, atoms: AtomCodes) -> tuple[list[Bools], float]:
    """Whether atoms are true in a state that no other one exceeds, and its log-weight."""
    best: tuple[float, Case, list[Ints]] | None = None
    for case in lift_setting(setting, log_max).cases:
        try:
            counts, weight = _best_class_counts(case)
        except ContradictionError:
            continue
        if best is None or weight > best[0]:
            best = weight, case, counts
    if best is None:
        raise ContradictionError(IMPOSSIBLE)
    weight, case, counts = best
    cells = _deal(setting, case, 1, counts, _choose_largest, _leave_in_order)
    truth = _AtomReader(setting, case, atoms).read(case, 1, cells, _choose_largest)
    return [table[0] for table in truth], weight


def _drawing(rng: np.random.Generator) -> Choose:
    """Choose by chance."""

    def draw(log: Floats, rows: Ints) -> Ints:
        top = log.max(axis=1, keepdims=True, initial=-np.inf)
        sums = np.cumsum(np.exp(log - np.where(np.isfinite(top), top, 0.0)), axis=1)
        total = np.where(sums[:, -1:] > 0, sums[:, -1:], 1.0)
        steps = sums / total + np.arange(len(log))[:, None]  # row after row on one line
        last = np.argmax(sums == sums[:, -1:], axis=1)  # that has a weight
        places = np.searchsorted(steps.ravel(), rows + rng.random(rows.shape), side="right")
        return np.asarray(np.minimum(places - rows * log.shape[1], last[rows]))

    return draw


def _choose_largest(log: Floats, rows: Ints) -> Ints:
    return np.asarray(np.argmax(log, axis=1)[rows])


def _leave_in_order(table: Ints) -> Ints:
    return table


# Counts of classes.


def _draw_class_counts(case: CountedCase, rng: np.random.Generator, count: int) -> list[Ints]:
    """Counts of the effective cells of each class, [state, cell]."""
    where = case.case.coordinates
    drawn = []
    for problem, moments in zip(where.problems, case.moments, strict=True):
        if isinstance(problem, TreeProblem):
            drawn.append(draw_tree(problem, rng, count))
        else:
            assert isinstance(moments, CountMoments)
            drawn.append(draw_counts(problem, moments, rng.random(count)))
    return [_class_counts(case.case, number, drawn, count) for number in _classes(case.case)]


def _best_class_counts(case: Case) -> tuple[list[Ints], float]:
    """The counts of a largest state, and its log-weight."""
    largest, weights = [], [case.log_weight]
    for problem in case.coordinates.problems:
        if isinstance(problem, TreeProblem):
            counts, weight = best_tree(problem)
        else:
            counts, weight = best_counts(problem, most_states=MOST_STATES)
        largest.append(counts[None])
        weights.append(weight)
    return [_class_counts(case, n, largest, 1) for n in _classes(case)], math.fsum(weights)


def _classes(case: Case) -> range:
    return range(len(case.classes))


def _class_counts(case: Case, number: int, states: Sequence[Ints], count: int) -> Ints:
    """The counts of one class, from states of all problems."""
    entry, where = case.classes[number], case.coordinates
    counts = np.zeros((count, len(entry.log_h)), np.int64)
    if where.sure[number] >= 0:
        counts[:, where.sure[number]] = entry.size
        return counts
    state, places = states[where.problem_of[number]], where.places[number]
    if isinstance(where.problems[where.problem_of[number]], TreeProblem):
        counts[:] = state[:, places[0], : counts.shape[1]]
    else:
        counts[:, where.choices[number]] = state[:, places]
    return counts


def _deal(
    setting: Setting,
    case: Case,
    states: int,
    counts: Sequence[Ints],
    choose: Choose,
    shuffle: Callable[[Ints], Ints],
) -> list[Ints]:
    """The cell of each member of each sort, [state, member]."""
    cells = [np.zeros((states, len(part.sort.members)), np.int64) for part in case.cells]
    for number, entry in enumerate(case.classes):
        group, effective = setting.groups[entry.group], case.effective[entry.group]
        kind_of = case.cells[group.sort].evidence.kind_of[group.places]
        members = np.flatnonzero(np.isin(kind_of, entry.kinds))
        row = np.tile(np.arange(counts[number].shape[1]), states)
        dealt = np.repeat(row, counts[number].ravel()).reshape(states, len(members))
        dealt = shuffle(dealt)
        for kind in entry.kinds.tolist():
            chosen = np.flatnonzero(kind_of[members] == kind)
            inside = effective.cell_of == np.arange(len(effective.leader))[:, None]
            log = np.where(inside, case.cells[group.sort].log_u[kind] + effective.gain, -np.inf)
            places = group.places[members[chosen]]
            cells[group.sort][:, places] = choose(log, dealt[:, chosen])
    return cells


# Atoms.


class _Single(NamedTuple):
    """Atoms about one constant each: its place in a sort, and the value that makes them true."""

    columns: Ints
    sort: int
    field: Field
    places: Ints
    value: Ints


class _Pairs(NamedTuple):
    """Atoms about pairs: which of the pairs of a table, its column, and the value."""

    columns: Ints
    table: tuple[int, int, int]
    pairs: Ints
    column: int
    value: Ints


@dataclass
class _TablePairs:
    """All pairs that are asked of a table: places of both constants in their sorts, by code."""

    codes: Ints
    first: Ints
    second: Ints


class _AtomReader:
    """Reads atoms from the cells of constants; pairs that several atoms share are chosen once."""

    def __init__(self, setting: Setting, case: Case, atoms: AtomCodes) -> None:
        self.setting, self.atoms = setting, atoms
        self.fragment: Fragment = setting.fragment
        self.singles: list[list[_Single]] = []
        self.pairs: list[list[_Pairs]] = []
        self.group_of = self._groups()
        codes: dict[tuple[int, int, int], list[Ints]] = {}
        waiting: list[list[tuple[Ints, tuple[int, int, int], Ints, int, Ints]]] = []
        for predicate, numbers in atoms:
            self.singles.append(list(self._find_singles(predicate, numbers)))
            waiting.append(list(self._find_pairs(case, predicate, numbers)))
            for _, table, pair_codes, _, _ in waiting[-1]:
                codes.setdefault(table, []).append(pair_codes)
        self.tables = {table: self._table_pairs(table, parts) for table, parts in codes.items()}
        for rows in waiting:
            self.pairs.append(
                [
                    _Pairs(columns, table, np.searchsorted(self.tables[table].codes, c), place, v)
                    for columns, table, c, place, v in rows
                ]
            )

    @property
    def size(self) -> int:
        """How many numbers a state has while it is read."""
        members = sum(len(sort.members) for sort in self.fragment.sorts)
        pairs = sum(len(table.codes) for table in self.tables.values())
        return max(1, members + pairs + sum(len(codes) for _, codes in self.atoms))

    def _groups(self) -> list[Ints]:
        groups = [np.zeros(len(sort.members), np.int64) for sort in self.fragment.sorts]
        for number, group in enumerate(self.setting.groups):
            groups[group.sort][group.places] = number
        return groups

    def _columns(self, predicate: str, codes: Ints) -> tuple[list[Ints], list[Ints], Ints]:
        """The elements of atoms, what is written out in them, and their values."""
        schema, atoms = self.fragment.schemas[predicate], self.fragment.atoms[predicate]
        columns = atoms.arguments(codes, self.fragment.universe)
        values = codes % atoms.width if schema.values else np.ones(len(codes), np.int64)
        return (
            [columns[place] for place in schema.elements],
            [columns[place] for place in schema.written],
            values,
        )

    def _kinds(self, predicate: str) -> list[str]:
        types = self.fragment.program.predicates[predicate].types
        return [types[place] for place in self.fragment.schemas[predicate].elements]

    def _by_key(
        self, predicate: str, keys: Sequence[Ints], rows: Ints
    ) -> Iterator[tuple[Field, Ints]]:
        """Atoms of one field each."""
        if not keys:
            yield Field(predicate, ()), rows
            return
        table = np.array(keys)[:, rows].T
        unique, which = np.unique(table, axis=0, return_inverse=True)
        for number, key in enumerate(unique.tolist()):
            yield Field(predicate, tuple(key)), rows[which.reshape(-1) == number]

    def _find_singles(self, predicate: str, codes: Ints) -> Iterator[_Single]:
        elements, keys, values = self._columns(predicate, codes)
        kinds = self._kinds(predicate)
        rows = np.arange(len(codes))
        if len(elements) == 2:
            rows = rows[(elements[0] == elements[1]) & (kinds[0] == kinds[1])]
        for field, columns in self._by_key(predicate, keys, rows):
            if not elements:
                yield _Single(columns, -1, field, columns, values[columns])
                continue
            sort_of = self.fragment.sort_of[kinds[0]][elements[0][columns]]
            for sort in np.unique(sort_of).tolist():
                some = columns[sort_of == sort]
                places = np.searchsorted(self.fragment.sorts[sort].members, elements[0][some])
                yield _Single(some, sort, field, places, values[some])

    def _find_pairs(
        self, case: Case, predicate: str, codes: Ints
    ) -> Iterator[tuple[Ints, tuple[int, int, int], Ints, int, Ints]]:
        elements, keys, values = self._columns(predicate, codes)
        if len(elements) < 2:
            return
        kinds = self._kinds(predicate)
        rows = np.flatnonzero((elements[0] != elements[1]) | (kinds[0] != kinds[1]))
        for field, columns in self._by_key(predicate, keys, rows):
            sorts = [
                self.fragment.sort_of[kind][element[columns]]
                for kind, element in zip(kinds, elements, strict=True)
            ]
            places = [self._places(sorts[side], elements[side][columns]) for side in (0, 1)]
            # A pair of one sort is in the order of its places.
            forward = np.where(sorts[0] == sorts[1], places[0] < places[1], sorts[0] < sorts[1])
            for one, two, way in np.unique([*sorts, forward], axis=1).T.tolist():
                some = np.flatnonzero((sorts[0] == one) & (sorts[1] == two) & (forward == way))
                first, second = (one, two) if way else (two, one)
                a, b = (places[0], places[1]) if way else (places[1], places[0])
                place = PairField(field, bool(way))
                number, table = next(
                    (number, table)
                    for number, table in enumerate(case.tables[first, second])
                    if place in table.fields
                )
                pair_codes = a[some] * len(self.fragment.sorts[second].members) + b[some]
                column = table.fields.index(place)
                key = (first, second, number)
                yield columns[some], key, pair_codes, column, values[columns[some]]

    def _places(self, sorts: Ints, members: Ints) -> Ints:
        places = np.zeros(len(members), np.int64)
        for sort in np.unique(sorts).tolist():
            here = sorts == sort
            places[here] = np.searchsorted(self.fragment.sorts[sort].members, members[here])
        return places

    def _table_pairs(self, table: tuple[int, int, int], parts: Sequence[Ints]) -> _TablePairs:
        codes = np.unique(np.concatenate(parts))
        size = len(self.fragment.sorts[table[1]].members)
        return _TablePairs(codes, codes // size, codes % size)

    def read(self, case: Case, states: int, cells: Sequence[Ints], choose: Choose) -> list[Bools]:
        """Whether atoms are true, in states given by the cells of all constants."""
        chosen = {
            key: self._choose_pairs(case, key, pairs, cells, choose)
            for key, pairs in self.tables.items()
        }
        summed: dict[tuple[int, int], Ints] = {}
        nothing: dict[Field, Ints] = {}
        truth = []
        for (_, codes), singles, pairs in zip(self.atoms, self.singles, self.pairs, strict=True):
            table = np.zeros((states, len(codes)), np.bool_)
            for one in singles:
                values = self._values(case, one, cells, choose, summed, nothing, states)
                table[:, one.columns] = values == one.value
            for part in pairs:
                values = case.tables[part.table[:2]][part.table[2]].values[:, part.column]
                table[:, part.columns] = values[chosen[part.table][:, part.pairs]] == part.value
            truth.append(table)
        return truth

    def _values(
        self,
        case: Case,
        one: _Single,
        cells: Sequence[Ints],
        choose: Choose,
        summed: dict[tuple[int, int], Ints],
        nothing: dict[Field, Ints],
        states: int,
    ) -> Ints:
        """The values of a field of some constants, or of none."""
        if one.sort < 0:
            if one.field not in nothing:
                nothing[one.field] = self._proposition(case, one.field, choose, states)
            return np.repeat(nothing[one.field][:, None], len(one.columns), axis=1)
        part = case.cells[one.sort]
        if one.field in part.fields:
            column = part.values[:, part.fields.index(one.field)]
            return np.asarray(column[cells[one.sort][:, one.places]])
        number = next(n for n, each in enumerate(part.summed) if one.field in each.fields)
        if (one.sort, number) not in summed:
            summed[one.sort, number] = self._choose_summed(
                case, one.sort, number, cells[one.sort], choose
            )
        together = part.summed[number]
        column = together.values[:, together.fields.index(one.field)]
        return np.asarray(column[summed[one.sort, number][:, one.places]])

    def _proposition(self, case: Case, field: Field, choose: Choose, states: int) -> Ints:
        if field in case.propositions:
            return np.full(states, case.propositions[field])
        log = proposition_weights(self.setting.known[field])
        return choose(log[None], np.zeros(states, np.int64))

    def _choose_summed(
        self, case: Case, sort: int, number: int, cells: Ints, choose: Choose
    ) -> Ints:
        """What fields that no pair reads are, for all members of a sort."""
        part = case.cells[sort]
        values = np.zeros_like(cells)
        for kind in range(part.evidence.kinds):
            members = np.flatnonzero(part.evidence.kind_of == kind)
            log = part.joint(part.summed[number], np.array([kind]))[0]
            values[:, members] = choose(log, cells[:, members])
        return values

    def _choose_pairs(
        self,
        case: Case,
        key: tuple[int, int, int],
        pairs: _TablePairs,
        cells: Sequence[Ints],
        choose: Choose,
    ) -> Ints:
        """The joint values of a table, for all pairs that are asked."""
        first, second, number = key
        table = case.tables[first, second][number]
        one, two = self.group_of[first][pairs.first], self.group_of[second][pairs.second]
        way = self._ways(first, second, pairs.codes)
        values = np.zeros((len(cells[first]), len(pairs.codes)), np.int64)
        for g, h, seen in sorted({*zip(one.tolist(), two.tolist(), way.tolist(), strict=True)}):
            some = np.flatnonzero((one == g) & (two == h) & (way == seen))
            known = case.relations.known[g, h]
            if seen >= 0:
                observed = self.setting.observed[first, second]
                known = observed.of_tables(seen, case.tables[first, second])
            log = table.given(known[number])
            rows = cells[first][:, pairs.first[some]] * len(case.cells[second].values)
            rows = rows + cells[second][:, pairs.second[some]]
            values[:, some] = choose(log.reshape(-1, len(table.values)), rows)
        return values

    def _ways(self, first: int, second: int, codes: Ints) -> Ints:
        """The way in which each pair of two sorts is observed by itself; -1 if it is not."""
        pairs = self.setting.observed.get((first, second))
        if pairs is None:
            return np.full(len(codes), -1)
        seen = pairs.first * len(self.fragment.sorts[second].members) + pairs.second
        place = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
        return np.where(seen[place] == codes, pairs.pattern[place], -1)
