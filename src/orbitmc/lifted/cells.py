"""Cells of one constant, and tables of a pair of constants.

A cell gives a value to each field of a constant that rules about pairs read; all other fields are
summed for each constant alone. A pair table has the log-weight of what rules say of a pair, for
the cells of both and for the values of the fields between them.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.lifted.evidence import Field, Known, combine_codes
from orbitmc.lifted.fragment import (
    Element,
    Fragment,
    NotLiftableError,
    Sort,
    SortedRule,
    describe_rules,
)
from orbitmc.mln.data.database import Ints
from orbitmc.mln.grounding.ground_features import evaluate
from orbitmc.mln.language.syntax import Atom, Comparison, parts_of

MOST_CELLS = 1024
MOST_ENTRIES = 2**23
MOST_PAIR_ATOMS = 14
ENTRIES_AT_A_TIME = 2**21

Bools = NDArray[np.bool_]
Propositions = Mapping[Field, int]
"""The values of fields that belong to no constant."""


class PairField(NamedTuple):
    """A field between two constants; `forward` if the first of the pair is its first argument."""

    field: Field
    forward: bool


UnaryReader = Callable[[int, Field, int], Bools]
"""Where a field of one side has a value."""
PairReader = Callable[[PairField, Field, int], Bools]
"""Where a field between both sides has a value."""


@dataclass(frozen=True)
class Summed:
    """Fields of a constant that rules tie together and no pair reads.

    `values[w]` are their values in joint value `w`, `log[i, w]` is its log-weight in cell `i`.
    """

    fields: tuple[Field, ...]
    values: Ints
    log: Floats


@dataclass(frozen=True)
class UnaryEvidence:
    """Constants of a sort in kinds of equal evidence about themselves.

    `kind_of[a]` is the kind of member `a`; `patterns[field]` has for each kind the log-weights of
    the field's values.
    """

    kind_of: Ints
    patterns: Mapping[Field, Floats]

    @property
    def kinds(self) -> int:
        """How many kinds there are."""
        return int(self.kind_of.max(initial=-1)) + 1


Add = Callable[[Floats, int], Floats]
"""What becomes of weights that are not told apart, along an axis: their sum, or the largest."""


@dataclass(frozen=True)
class SortCells:
    """The cells of a sort: `values[i]` are the values of `fields` in cell `i`."""

    sort: Sort
    fields: tuple[Field, ...]
    values: Ints
    log: Floats
    summed: tuple[Summed, ...]
    evidence: UnaryEvidence
    add: Add

    @cached_property
    def log_u(self) -> Floats:
        """The log-weight of each cell for a constant alone, by kind of evidence."""
        total = np.tile(self.log, (self.evidence.kinds, 1))
        for place, field in enumerate(self.fields):
            total = total + self.evidence.patterns[field][:, self.values[:, place]]
        for part in self.summed:
            at_a_time = max(1, ENTRIES_AT_A_TIME // part.log.size)
            for first in range(0, self.evidence.kinds, at_a_time):
                kinds = np.arange(first, min(first + at_a_time, self.evidence.kinds))
                total[kinds] += self.add(self.joint(part, kinds), 2)
        return total

    def joint(self, part: Summed, kinds: Ints) -> Floats:
        """Log-weights of the joint values of summed fields, by kind, cell and value."""
        known = np.zeros((len(kinds), len(part.values)))
        for place, field in enumerate(part.fields):
            known += self.evidence.patterns[field][kinds][:, part.values[:, place]]
        return np.asarray(part.log[None] + known[:, None])


@dataclass(frozen=True)
class PairTable:
    """Fields of a pair that rules tie together.

    `values[w]` are the values of `fields` in joint value `w`; `log[i, j, w]` its log-weight in
    cells `i` and `j`.
    """

    fields: tuple[PairField, ...]
    values: Ints
    log: Floats

    def given(self, known: Sequence[Floats]) -> Floats:
        """The log-weights, with what is known of each field."""
        evidence = np.zeros(len(self.values))
        for place, pattern in enumerate(known):
            evidence = evidence + pattern[self.values[:, place]]
        return np.asarray(self.log + evidence)


def log_max(table: Floats, axis: int) -> Floats:
    """The logarithm of the largest weight."""
    return np.asarray(np.max(table, axis=axis, initial=-np.inf))


def log_sum(table: Floats, axis: int) -> Floats:
    """The logarithm of a sum of weights; minus infinity if all are zero."""
    top = np.max(table, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(table - safe).sum(axis=axis))
    return np.asarray(total + np.squeeze(safe, axis=axis))


def constant_weight(fragment: Fragment, propositions: Propositions) -> float:
    """The log-weight of all rules that speak of no constant."""
    total = 0.0
    for rule in fragment.rules:
        if not rule.elements:
            truth = rule_truth(fragment, rule, {}, propositions, (), no_reader, no_reader)
            total += float(_earn(rule.weight, truth))
    return total


def no_reader(side: object, field: Field, value: int) -> Bools:
    raise AssertionError(f"{field} belongs to constants")


# What rules read of one constant and of a pair.


class Uses(NamedTuple):
    """A rule, which side each element is, and what it reads: of each side, and between them."""

    rule: SortedRule
    side_of: Mapping[Element, int]
    unary: frozenset[tuple[int, Field]]
    between: frozenset[PairField]


def _uses(fragment: Fragment, rule: SortedRule, side_of: Mapping[Element, int]) -> Uses:
    unary, between = set(), set()
    for atom in parts_of(rule.formula):
        if isinstance(atom, Comparison):
            continue
        sides = _sides(fragment, atom, side_of)
        field = Field(atom.predicate, fragment.key_of(atom))
        if len(sides) == 2 and sides[0] != sides[1]:
            between.add(PairField(field, sides == [0, 1]))
        elif sides:
            unary.add((sides[0], field))
    return Uses(rule, side_of, frozenset(unary), frozenset(between))


def _sides(fragment: Fragment, atom: Atom, side_of: Mapping[Element, int]) -> list[int]:
    places = fragment.schemas[atom.predicate].elements
    return [side_of[atom.arguments[place]] for place in places]  # type: ignore[index]


def rule_truth(
    fragment: Fragment,
    rule: SortedRule,
    side_of: Mapping[Element, int],
    propositions: Propositions,
    shape: tuple[int, ...],
    unary: UnaryReader,
    between: PairReader,
) -> Bools:
    """Whether a rule holds, in each entry of a table."""
    truth: dict[Atom | Comparison, Bools] = {}
    for part in parts_of(rule.formula):
        if isinstance(part, Comparison):
            equal = side_of[part.left] == side_of[part.right]  # type: ignore[index]
            truth[part] = np.full(shape, equal == (part.operator == "="))
            continue
        field, value = Field(part.predicate, fragment.key_of(part)), fragment.value_of(part)
        sides = _sides(fragment, part, side_of)
        if not sides:
            entries = np.asarray(propositions[field] == value)
        elif len(sides) == 2 and sides[0] != sides[1]:
            entries = between(PairField(field, sides == [0, 1]), field, value)
        else:
            entries = unary(sides[0], field, value)
        truth[part] = np.broadcast_to(entries, shape)
    return np.broadcast_to(evaluate(rule.formula, truth), shape)


def _earn(weight: float, holds: Bools) -> Floats:
    if math.isinf(weight):
        return np.where(holds == (weight > 0), 0.0, -np.inf)
    return np.asarray(weight * holds)


def alone_uses(fragment: Fragment, sort: int) -> list[Uses]:
    """What rules say of a single constant of a sort, pairs of it with itself included."""
    return [
        _uses(fragment, rule, dict.fromkeys(rule.elements, 0))
        for rule in fragment.rules
        if rule.elements and set(rule.sorts) == {sort}
    ]


def pair_uses(fragment: Fragment, first: int, second: int) -> list[Uses]:
    """What rules say of two different constants of two sorts: of one sort, both ways."""
    if first == second and len(fragment.sorts[first].members) < 2:
        return []
    uses = []
    for rule in fragment.rules:
        if len(rule.elements) == 2 and rule.sorts == (first, second):
            uses.append(_uses(fragment, rule, dict(zip(rule.elements, (0, 1), strict=True))))
        if len(rule.elements) == 2 and rule.sorts == (second, first):
            uses.append(_uses(fragment, rule, dict(zip(rule.elements, (1, 0), strict=True))))
    return uses


def visible_fields(fragment: Fragment) -> list[set[Field]]:
    """The fields of each sort that rules about pairs read."""
    visible: list[set[Field]] = [set() for _ in fragment.sorts]
    for first, second in itertools.combinations_with_replacement(range(len(fragment.sorts)), 2):
        for uses in pair_uses(fragment, first, second):
            for side, field in uses.unary:
                visible[(first, second)[side]].add(field)
    return visible


# The cells of a sort.


def fields_of_sort(fragment: Fragment, sort: Sort) -> list[Field]:
    """All fields of a constant: unary predicates, and binary ones of a constant with itself."""
    return [
        Field(name, key)
        for name, schema in fragment.schemas.items()
        if schema.elements
        and {fragment.program.predicates[name].types[place] for place in schema.elements}
        == {sort.kind}
        for key in written_keys(fragment, name)
    ]


def written_keys(fragment: Fragment, name: str) -> Iterable[tuple[int, ...]]:
    """All that can be written out in atoms of a predicate."""
    kinds, schema = fragment.program.predicates[name].types, fragment.schemas[name]
    return itertools.product(
        *(range(fragment.universe.size(kinds[place])) for place in schema.written)
    )


def unary_evidence(fragment: Fragment, sort: Sort, known: Mapping[Field, Known]) -> UnaryEvidence:
    """Constants of a sort by what is known of them alone."""
    fields = fields_of_sort(fragment, sort)
    codes = [pattern_of(sort, known[field]) for field in fields]
    sizes = [len(known[field].patterns) for field in fields]
    first, kind_of = combine_codes(codes, sizes, len(sort.members))
    patterns = {
        field: known[field].patterns[code[first]] for field, code in zip(fields, codes, strict=True)
    }
    return UnaryEvidence(kind_of, patterns)


def pattern_of(sort: Sort, known: Known) -> Ints:
    """Which pattern each member has; of a pair, with itself."""
    elements, pattern = known.elements, known.pattern
    same = (elements == elements[:, :1]).all(axis=1)
    numbers, pattern = elements[same, 0], pattern[same]
    place = np.minimum(np.searchsorted(sort.members, numbers), len(sort.members) - 1)
    inside = sort.members[place] == numbers
    codes = np.zeros(len(sort.members), np.int64)
    codes[place[inside]] = pattern[inside]
    return codes


def build_cells(
    fragment: Fragment,
    number: int,
    visible: set[Field],
    evidence: UnaryEvidence,
    propositions: Propositions,
    add: Add,
) -> SortCells:
    """The cells of a sort, with what rules say of one constant."""
    sort = fragment.sorts[number]
    fields = fields_of_sort(fragment, sort)
    seen = tuple(field for field in fields if field in visible)
    values = _possible_cells(fragment, seen, evidence, sort)
    alone = alone_uses(fragment, number)
    log = np.zeros(len(values))
    hidden: list[tuple[set[Field], list[Uses]]] = [
        ({field}, []) for field in fields if field not in visible
    ]
    for uses in alone:
        tied = {field for _, field in uses.unary} - visible
        if not tied:
            nothing = np.zeros((1, 0), np.int64)
            truth = cell_truth(fragment, uses, seen, values, (), nothing, propositions)
            log = log + _earn(uses.rule.weight, truth[:, 0])
            continue
        touched = [part for part in hidden if part[0] & tied]
        joined = (
            set().union(*(part[0] for part in touched)),
            [*itertools.chain(*(part[1] for part in touched)), uses],
        )
        hidden = [part for part in hidden if not part[0] & tied] + [joined]
    summed = tuple(_sum_fields(fragment, part, seen, values, propositions, sort) for part in hidden)
    return SortCells(sort, seen, values, log, summed, evidence, add)


def _possible_cells(
    fragment: Fragment, fields: Sequence[Field], evidence: UnaryEvidence, sort: Sort
) -> Ints:
    """All values of fields that are possible for some constant."""
    codes, sizes = [], []
    for field in fields:
        masks, which = np.unique(np.isfinite(evidence.patterns[field]), axis=0, return_inverse=True)
        codes.append(which.reshape(-1))
        sizes.append(len(masks))
    first, _ = combine_codes(codes, sizes, evidence.kinds)
    cells: dict[tuple[int, ...], None] = {}
    for kind in first.tolist():
        choices = [np.flatnonzero(np.isfinite(evidence.patterns[f][kind])) for f in fields]
        if len(cells) + math.prod(map(len, choices)) > 2 * MOST_CELLS:
            break
        cells.update(dict.fromkeys(itertools.product(*(c.tolist() for c in choices))))
    if len(cells) > MOST_CELLS or not cells:
        rules = describe_rules(fragment.program, _rules_of_pairs(fragment, sort))
        raise NotLiftableError(
            f"rules about pairs read {len(fields)} unary predicates of type {sort.kind}: more than "
            f"{MOST_CELLS:,} cells ({rules})"
        )
    return np.array(sorted(cells), dtype=np.int64).reshape(len(cells), len(fields))


def _rules_of_pairs(fragment: Fragment, sort: Sort) -> list[int]:
    """The numbers of rules about two constants, one of them of the type of a sort."""
    return [
        rule.number
        for rule in fragment.rules
        if len(rule.elements) == 2 and sort.kind in {fragment.sorts[s].kind for s in rule.sorts}
    ]


def _describe_uses(fragment: Fragment, uses: Sequence[Uses]) -> str:
    return describe_rules(fragment.program, (each.rule.number for each in uses))


def _sum_fields(
    fragment: Fragment,
    part: tuple[set[Field], list[Uses]],
    seen: Sequence[Field],
    cells: Ints,
    propositions: Propositions,
    sort: Sort,
) -> Summed:
    fields = tuple(sorted(part[0]))
    sizes = [fragment.schemas[field.predicate].size for field in fields]
    if math.prod(sizes) * len(cells) > MOST_ENTRIES:
        raise NotLiftableError(
            f"rules tie {len(fields)} unary predicates of type {sort.kind} together: "
            f"{_describe_uses(fragment, part[1])}"
        )
    values = np.indices(sizes).reshape(len(sizes), -1).T
    log = np.zeros((len(cells), len(values)))
    for uses in part[1]:
        truth = cell_truth(fragment, uses, seen, cells, fields, values, propositions)
        log = log + _earn(uses.rule.weight, truth)
    return Summed(fields, values, log)


def cell_truth(
    fragment: Fragment,
    uses: Uses,
    seen: Sequence[Field],
    cells: Ints,
    fields: Sequence[Field],
    values: Ints,
    propositions: Propositions,
) -> Bools:
    """Whether a rule holds for one constant, in each cell and for each value of summed fields."""

    def unary(side: int, field: Field, value: int) -> Bools:
        if field in seen:
            return np.asarray(cells[:, [seen.index(field)]] == value)
        return np.asarray(values[None, :, list(fields).index(field)] == value)

    shape = (len(cells), len(values))
    return rule_truth(fragment, uses.rule, uses.side_of, propositions, shape, unary, no_reader)


# Tables of pairs.


def pair_fields(fragment: Fragment, first: Sort, second: Sort) -> list[PairField]:
    """The fields between a constant of one sort and another one of a second sort."""
    fields = []
    for name, schema in fragment.schemas.items():
        if len(schema.elements) != 2:
            continue
        kinds = tuple(fragment.program.predicates[name].types[place] for place in schema.elements)
        for key in written_keys(fragment, name):
            if kinds == (first.kind, second.kind):
                fields.append(PairField(Field(name, key), True))
            if kinds == (second.kind, first.kind):
                fields.append(PairField(Field(name, key), False))
    return fields


def build_pair_tables(
    fragment: Fragment, first: int, second: int, cells: Sequence[SortCells], given: Propositions
) -> tuple[PairTable, ...]:
    """All tables between two sorts; one for each set of fields that rules tie together."""
    sorts = fragment.sorts[first], fragment.sorts[second]
    if first == second and len(sorts[0].members) < 2:
        return ()
    parts: list[tuple[set[PairField], list[Uses]]] = [
        ({field}, []) for field in pair_fields(fragment, *sorts)
    ]
    unread: tuple[set[PairField], list[Uses]] = (set(), [])
    for uses in pair_uses(fragment, first, second):
        touched = [part for part in parts if part[0] & uses.between]
        if not touched:
            unread[1].append(uses)
            continue
        joined = (
            set().union(*(part[0] for part in touched)),
            [*itertools.chain(*(part[1] for part in touched)), uses],
        )
        parts = [part for part in parts if not part[0] & uses.between] + [joined]
    if unread[1]:
        parts.append(unread)
    return tuple(
        _pair_table(fragment, part, (cells[first], cells[second]), given) for part in parts
    )


def _pair_table(
    fragment: Fragment,
    part: tuple[set[PairField], list[Uses]],
    cells: tuple[SortCells, SortCells],
    given: Propositions,
) -> PairTable:
    fields = tuple(sorted(part[0]))
    sizes = [fragment.schemas[field.field.predicate].size for field in fields]
    if len(fields) > MOST_PAIR_ATOMS or (
        math.prod(sizes) * len(cells[0].values) * len(cells[1].values) > MOST_ENTRIES
    ):
        names = {field.field.predicate for field in fields}
        raise NotLiftableError(
            f"rules tie {len(names)} binary predicates of a pair together, in "
            f"{len(cells[0].values)} and {len(cells[1].values)} cells: "
            f"{_describe_uses(fragment, part[1])}"
        )
    values = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), np.int64)
    shape = (len(cells[0].values), len(cells[1].values), len(values))
    log = np.zeros(shape if part[1] else (1, 1, len(values)))
    for uses in part[1]:
        truth = pair_truth(fragment, uses, fields, values, cells, given)
        log = log + _earn(uses.rule.weight, truth)
    return PairTable(fields, values, np.broadcast_to(log, shape))


def pair_truth(
    fragment: Fragment,
    uses: Uses,
    fields: Sequence[PairField],
    values: Ints,
    cells: tuple[SortCells, SortCells],
    given: Propositions,
) -> Bools:
    """Whether a rule holds for a pair, in each two cells and for each joint value of fields."""
    shape = (len(cells[0].values), len(cells[1].values), len(values))

    def unary(side: int, field: Field, value: int) -> Bools:
        column = cells[side].values[:, cells[side].fields.index(field)] == value
        return np.asarray(column[:, None, None] if side == 0 else column[None, :, None])

    def between(place: PairField, field: Field, value: int) -> Bools:
        return np.asarray(values[None, None, :, list(fields).index(place)] == value)

    return rule_truth(fragment, uses.rule, uses.side_of, given, shape, unary, between)
