"""How many groundings of each rule are true: to be expected, and in data.

What is expected is the derivative of log Z by the weight of the rule. Data are counted by the
cells of constants; only pairs that the data list are looked at one by one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError
from orbitmc.lifted.cells import (
    Bools,
    PairField,
    PairReader,
    UnaryReader,
    Uses,
    alone_uses,
    cell_truth,
    no_reader,
    pair_truth,
    pair_uses,
    pattern_of,
    rule_truth,
)
from orbitmc.lifted.evidence import Field, Known, combine_codes, read_known
from orbitmc.lifted.fragment import Fragment, SortedRule
from orbitmc.lifted.marginals import Counted, CountedCase, Setting, normalise
from orbitmc.mln.data.database import Ints
from orbitmc.mln.grounding.grounding import AtomTables

MOST_CONSTANTS = 2**31  # of a type: a pair of them has a code of 62 bits

# What is expected.


def expected_true_groundings(counted: Counted) -> Floats:
    """The expected number of true groundings of each rule of the program."""
    rules = len(counted.setting.fragment.program.rules)
    total = np.zeros(rules)
    for share, case in zip(counted.shares, counted.cases, strict=True):
        counts = [np.zeros(rules)]
        for number, times, expected in _expected_in_case(case):
            counts.append(np.zeros(rules))
            counts[-1][number] = times * expected
        total += share * np.sum(counts, axis=0)
    return total


def _expected_in_case(case: CountedCase) -> Iterator[tuple[int, int, float]]:
    """The number of a rule, how many times it counts, and what is expected of its groundings."""
    fragment, given = case.setting.fragment, case.case.propositions
    for rule in fragment.rules:
        if not rule.elements:
            truth = rule_truth(fragment, rule, {}, given, (), no_reader, no_reader)
            yield rule.number, rule.times, float(truth)
    for sort in range(len(fragment.sorts)):
        for uses in alone_uses(fragment, sort):
            yield uses.rule.number, uses.rule.times, _expect_alone(case, sort, uses)
    for first, second in case.case.tables:
        for uses in pair_uses(fragment, first, second):
            expected = _expect_pairs(case, (first, second), uses)
            yield uses.rule.number, uses.rule.times, expected


def _expect_alone(case: CountedCase, sort: int, uses: Uses) -> float:
    """How many constants of a sort a rule is expected to hold for."""
    cells = case.case.cells[sort]
    tied = {field for _, field in uses.unary} - set(cells.fields)
    part = next((part for part in cells.summed if tied & set(part.fields)), None)
    fields = () if part is None else part.fields
    values = np.zeros((1, 0), np.int64) if part is None else part.values
    truth = cell_truth(
        case.setting.fragment, uses, cells.fields, cells.values, fields, values, _given(case)
    )
    total = 0.0
    for number, profile in enumerate(case.setting.profiles):
        if case.setting.groups[profile.group].sort == sort:
            holds = truth[:, 0]
            if part is not None:
                joint = normalise(cells.joint(part, np.array([profile.kind]))[0])
                holds = (joint * truth).sum(axis=1)
            total += profile.size * float(case.cell_law(number) @ holds)
    return total


def _given(case: CountedCase) -> Mapping[Field, int]:
    return case.case.propositions


def _expect_pairs(case: CountedCase, sorts: tuple[int, int], uses: Uses) -> float:
    """How many pairs of different constants of two sorts a rule is expected to hold for."""
    setting, groups = case.setting, case.setting.groups
    cells = case.case.cells[sorts[0]], case.case.cells[sorts[1]]
    tables = case.case.tables[sorts]
    place, table = next(
        (place, table)
        for place, table in enumerate(tables)
        if uses.between & set(table.fields) or not (uses.between or table.fields)
    )
    truth = pair_truth(setting.fragment, uses, table.fields, table.values, cells, _given(case))
    holds: dict[tuple[int, int, int], Floats] = {}
    total = 0.0
    for p, one in enumerate(setting.profiles):
        for q, two in enumerate(setting.profiles):
            if (groups[one.group].sort, groups[two.group].sort) != sorts:
                continue
            pairs = one.size * two.size if p != q else one.size * (one.size - 1) // 2
            if pairs == 0 or (sorts[0] == sorts[1] and p > q):
                continue
            between = one.group, two.group, setting.way_of.get((p, q), -1)
            if between not in holds:
                joint = normalise(table.given(case.known_between(p, q)[place]))
                holds[between] = (joint * truth).sum(axis=2)
            total += pairs * float((case.pair_law(p, q) * holds[between]).sum())
    return total


# What is true in data.


class ObservedGroundings(NamedTuple):
    """True groundings of each rule in data, and how many groundings it has."""

    true: Floats
    groundings: Floats


def observed_true_groundings(setting: Setting, data: AtomTables) -> ObservedGroundings:
    """Count in data that say of every atom whether it is true; nothing is ground."""
    fragment = setting.fragment
    known = read_known(replace(fragment, atoms=data.atoms, soft=data.soft))
    rules = len(fragment.program.rules)
    true, groundings = np.zeros(rules), np.zeros(rules)

    def add(rule: SortedRule, holds: float, number: float) -> None:
        true[rule.number] += rule.times * holds
        groundings[rule.number] += rule.times * number

    reader = _DataReader(fragment, known)
    for rule in fragment.rules:
        if not rule.elements:
            add(rule, reader.holds(rule), 1)
    for first, one in enumerate(fragment.sorts):
        for uses in alone_uses(fragment, first):
            add(uses.rule, reader.count_alone(first, uses), len(one.members))
        for second, two in enumerate(fragment.sorts[first:], start=first):
            same = first == second
            pairs = len(one.members) * (len(two.members) - same)
            for uses in pair_uses(fragment, first, second):
                # A pair of one sort is looked at from both sides, and each rule both ways.
                share = 0.5 if same else 1.0
                add(uses.rule, share * reader.count_pairs(first, second, uses), share * pairs)
    return ObservedGroundings(true, groundings)


class _DataReader:
    """The values of all fields in data."""

    def __init__(self, fragment: Fragment, known: Mapping[Field, Known]) -> None:
        self.fragment, self.known = fragment, known
        self._values: dict[tuple[int, Field], Ints] = {}
        self._pairs: dict[Field, tuple[Ints, Ints]] = {}
        self.propositions = {
            field: int(self._certain(field, np.array([*facts.pattern, 0])[:1])[0])
            for field, facts in known.items()
            if not fragment.schemas[field.predicate].elements
        }

    def _certain(self, field: Field, patterns: Ints) -> Ints:
        """The values that patterns leave; data must leave one each."""
        possible = np.isfinite(self.known[field].patterns)
        if (possible.sum(axis=1) != 1)[patterns].any():
            raise ContradictionError(
                f"the data do not say which atom of each block of {field.predicate} is true"
            )
        return np.asarray(np.argmax(possible, axis=1)[patterns])

    def holds(self, rule: SortedRule) -> float:
        """Whether a rule about no constant holds."""
        propositions = self.propositions
        truth = rule_truth(self.fragment, rule, {}, propositions, (), no_reader, no_reader)
        return float(truth)

    def values(self, sort: int, field: Field) -> Ints:
        """The value of a field for each member of a sort."""
        if (sort, field) not in self._values:
            patterns = pattern_of(self.fragment.sorts[sort], self.known[field])
            self._values[sort, field] = self._certain(field, patterns)
        return self._values[sort, field]

    def count_alone(self, sort: int, uses: Uses) -> float:
        """For how many members of a sort a rule holds."""

        def unary(side: int, field: Field, value: int) -> Bools:
            return np.asarray(self.values(sort, field) == value)

        shape = (len(self.fragment.sorts[sort].members),)
        return float(self._truth(uses, shape, unary, no_reader).sum())

    def count_pairs(self, first: int, second: int, uses: Uses) -> float:
        """For how many pairs (a, b) of different members of two sorts a rule holds."""
        cells = [self._cells(sort, side, uses) for side, sort in enumerate((first, second))]
        (rows, one, sizes), (columns, two, others) = cells
        defaults = {place: self._default(place) for place in uses.between}

        def unary(side: int, field: Field, value: int) -> Bools:
            if side == 0:
                return np.asarray(self.values(first, field)[rows] == value)[:, None]
            return np.asarray(self.values(second, field)[columns] == value)

        def usual(place: PairField, field: Field, value: int) -> Bools:
            return np.asarray(defaults[place] == value)

        truth = self._truth(uses, (len(rows), len(columns)), unary, usual)
        total = float(sizes @ truth @ others)
        if first == second:
            total -= float(np.count_nonzero(truth[one, two]))
        return total + self._correction(first, second, uses, defaults)

    def _cells(self, sort: int, side: int, uses: Uses) -> tuple[Ints, Ints, Ints]:
        """Members that a rule tells apart: one of each kind, the kind of each, and their sizes."""
        fields = sorted(field for place, field in uses.unary if place == side)
        codes = [self.values(sort, field) for field in fields]
        sizes = [self.fragment.schemas[field.predicate].size for field in fields]
        first, kind = combine_codes(codes, sizes, len(self.fragment.sorts[sort].members))
        return first, kind, np.bincount(kind, minlength=len(first))

    def _default(self, place: PairField) -> int:
        """The value of a field between constants that the data do not list, -1 if there is none."""
        possible = np.flatnonzero(np.isfinite(self.known[place.field].patterns[0]))
        return int(possible[0]) if len(possible) == 1 else -1

    def _correction(
        self, first: int, second: int, uses: Uses, defaults: Mapping[PairField, int]
    ) -> float:
        """What pairs that are listed add to the count, or take from it."""
        if not uses.between:
            return 0.0
        one, two = self._listed(first, second, uses)
        members = [self.fragment.sorts[sort].members for sort in (first, second)]
        if -1 in defaults.values():
            pairs = len(members[0]) * (len(members[1]) - (first == second))
            if len(one) < pairs:
                blocks = min(place.field.predicate for place in defaults if defaults[place] < 0)
                raise ContradictionError(
                    f"the data do not say which atom of each block of {blocks} is true"
                )

        def unary(side: int, field: Field, value: int) -> Bools:
            chosen = one if side == 0 else two
            return np.asarray(self.values((first, second)[side], field)[chosen] == value)

        def listed(place: PairField, field: Field, value: int) -> Bools:
            ends = members[0][one], members[1][two]
            left, right = ends if place.forward else ends[::-1]
            return np.asarray(self._values_between(place, left, right) == value)

        def usual(place: PairField, field: Field, value: int) -> Bools:
            return np.asarray(defaults[place] == value)

        true, before = (
            self._truth(uses, (len(one),), unary, between).sum() for between in (listed, usual)
        )
        return float(true) - float(before)

    def _listed(self, first: int, second: int, uses: Uses) -> tuple[Ints, Ints]:
        """Pairs of members of which the data list an atom that a rule reads, by their places."""
        members = [self.fragment.sorts[sort].members for sort in (first, second)]
        size = len(members[1])
        codes = [np.zeros(0, np.int64)]
        for place in uses.between:
            elements = self.known[place.field].elements
            pairs = elements if place.forward else elements[:, ::-1]
            inside = np.isin(pairs[:, 0], members[0]) & np.isin(pairs[:, 1], members[1])
            if first == second:
                inside &= pairs[:, 0] != pairs[:, 1]
            places = [np.searchsorted(members[side], pairs[inside, side]) for side in (0, 1)]
            codes.append(places[0] * size + places[1])
        listed = np.unique(np.concatenate(codes))
        return listed // size, listed % size

    def _values_between(self, place: PairField, left: Ints, right: Ints) -> Ints:
        """The values of a field between constants, given in the order of its arguments."""
        facts = self.known[place.field]
        size = 1 + max(facts.elements.max(initial=0), left.max(initial=0), right.max(initial=0))
        if place.field not in self._pairs:
            codes = facts.elements[:, 0] * MOST_CONSTANTS + facts.elements[:, 1]
            order = np.argsort(codes)
            self._pairs[place.field] = codes[order], facts.pattern[order]
        assert size < MOST_CONSTANTS
        codes, patterns = self._pairs[place.field]
        wanted = left * MOST_CONSTANTS + right
        where = np.minimum(np.searchsorted(codes, wanted), max(0, len(codes) - 1))
        hit = codes[where] == wanted if len(codes) else np.zeros(len(wanted), np.bool_)
        return self._certain(place.field, np.where(hit, patterns[where] if len(codes) else 0, 0))

    def _truth(
        self, uses: Uses, shape: tuple[int, ...], unary: UnaryReader, between: PairReader
    ) -> Bools:
        return rule_truth(
            self.fragment, uses.rule, uses.side_of, self.propositions, shape, unary, between
        )
