"""From cells to coordinates of counts: groups of twins, effective cells, classes.

Cells whose weights against every group are proportional are one effective cell: what they differ
in is moved to the weight of each constant. Constants of a group whose effective cells weigh the
same are one class. Coordinates are the effective cells of classes that have a choice.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError
from orbitmc.lifted.cells import (
    Add,
    PairField,
    PairTable,
    SortCells,
    log_max,
    pair_fields,
)
from orbitmc.lifted.counts import SECONDS_PER_STATE, CountProblem, count_states
from orbitmc.lifted.evidence import Field, Known
from orbitmc.lifted.fragment import Fragment, NotLiftableError
from orbitmc.lifted.tree import IMPOSSIBLE, Link, TreeProblem
from orbitmc.mln.data.database import Ints

TOLERANCE = 1e-9  # of the log-odds that merged cells may be wrong by, for all constants together
DECIMALS = 14  # of log-weights that tell classes apart
MOST_CLASSES = 64  # whose counts may be coordinates
MOST_PATTERNS = 4096  # of what is observed of pairs


@dataclass(frozen=True)
class Group:
    """Constants of a sort that are twins, by their places in the sort."""

    sort: int
    places: Ints


@dataclass(frozen=True)
class Relations:
    """Log-weights of pairs: `log[g, h][i, j]` of cells i and j of constants of groups g and h.

    `known[g, h]` has what is known of the fields of such a pair, by table; only for sorts in order.
    """

    log: Mapping[tuple[int, int], Floats]
    known: Mapping[tuple[int, int], tuple[tuple[Floats, ...], ...]]


@dataclass(frozen=True)
class EffectiveCells:
    """Effective cells of a group: `leader` of each, `cell_of[i]` for cell i, -1 if impossible.

    `gain[i]` is what cell i earns with all partners more than its leader does.
    """

    leader: Ints
    cell_of: Ints
    gain: Floats


@dataclass(frozen=True)
class ConstantClass:
    """Constants of a group whose effective cells weigh the same, by kind of evidence.

    `log_h` are the weights of the effective cells, the largest 0.
    """

    group: int
    size: int
    kinds: Ints
    log_h: Floats


class PairKnown:
    """What is known of each pair of constants; if `usual`, of those that were not observed."""

    def __init__(self, known: Mapping[Field, Known], *, usual: bool) -> None:
        self.known, self.usual = known, usual
        self._pattern_of: dict[Field, dict[tuple[int, ...], int]] = {}

    def pattern(self, field: Field, first: int, second: int) -> Floats:
        """Log-weights of the values of a field between two constants."""
        facts = self.known[field]
        if field not in self._pattern_of:
            pairs = zip(map(tuple, facts.elements.tolist()), facts.pattern.tolist(), strict=True)
            self._pattern_of[field] = dict(pairs)
        return np.asarray(facts.patterns[self._pattern_of[field].get((first, second), 0)])

    def of_tables(
        self, tables: Sequence[PairTable], first: int, second: int
    ) -> tuple[tuple[Floats, ...], ...]:
        """What is known of all fields of tables, between two constants."""
        if self.usual:
            return usual_of_tables(self.known, tables)
        return tuple(
            tuple(
                self.pattern(place.field, first, second)
                if place.forward
                else self.pattern(place.field, second, first)
                for place in table.fields
            )
            for table in tables
        )


Tables = Mapping[tuple[int, int], tuple[PairTable, ...]]


class ObservedPairs(NamedTuple):
    """Pairs of constants with observed atoms: places in two sorts, and what is known of each.

    `ways[pattern[k]]` has what is known of each field between the constants of pair k; pairs are in
    order, by their first constants.
    """

    first: Ints
    second: Ints
    pattern: Ints
    ways: tuple[Mapping[PairField, Floats], ...]

    def of_tables(self, way: int, tables: Sequence[PairTable]) -> tuple[tuple[Floats, ...], ...]:
        """What is known of all fields of tables, between two constants."""
        known = self.ways[way]
        return tuple(tuple(known[place] for place in table.fields) for table in tables)


def usual_of_tables(
    known: Mapping[Field, Known], tables: Sequence[PairTable]
) -> tuple[tuple[Floats, ...], ...]:
    """What is known of pairs of which nothing was observed."""
    return tuple(
        tuple(known[place.field].patterns[0] for place in table.fields) for table in tables
    )


def find_observed_pairs(
    fragment: Fragment, known: Mapping[Field, Known], *sorts: int
) -> ObservedPairs:
    """All pairs of two sorts of which something is known beyond the usual."""
    first, second = (fragment.sorts[number] for number in sorts)
    fields = pair_fields(fragment, first, second)
    codes, columns, patterns = [], [], []
    for column, place in enumerate(fields):
        facts = known[place.field]
        ends = facts.elements if place.forward else facts.elements[:, ::-1]
        inside = np.isin(ends[:, 0], first.members) & np.isin(ends[:, 1], second.members)
        if sorts[0] == sorts[1]:
            inside &= ends[:, 0] < ends[:, 1]  # a pair of one sort is in the order of its places
        a = np.searchsorted(first.members, ends[inside, 0])
        b = np.searchsorted(second.members, ends[inside, 1])
        codes.append(a * len(second.members) + b)
        columns.append(np.full(len(a), column))
        patterns.append(facts.pattern[inside])
    if not codes:
        nothing = np.zeros(0, np.int64)
        return ObservedPairs(nothing, nothing, nothing, ())
    unique, which = np.unique(np.concatenate(codes), return_inverse=True)
    seen = np.zeros((len(unique), len(fields)), np.int64)
    seen[which.reshape(-1), np.concatenate(columns)] = np.concatenate(patterns)
    rows, pattern = np.unique(seen, axis=0, return_inverse=True)
    if len(rows) > MOST_PATTERNS:
        raise NotLiftableError(
            f"pairs are observed in {len(rows):,} ways; at most {MOST_PATTERNS:,} are taken"
        )
    ways = tuple(
        {
            place: known[place.field].patterns[number]
            for place, number in zip(fields, row, strict=True)
        }
        for row in rows.tolist()
    )
    size = len(second.members)
    return ObservedPairs(unique // size, unique % size, pattern.reshape(-1), ways)


def correct_pair_weights(
    tables: Sequence[PairTable],
    cells: tuple[SortCells, SortCells],
    known: Mapping[Field, Known],
    pairs: ObservedPairs,
) -> tuple[Floats, list[Floats]]:
    """What usual pairs weigh in each two cells, and what observed ones weigh more, by their way."""
    shape, add = (len(cells[0].values), len(cells[1].values)), cells[0].add

    def weigh(given: Sequence[Sequence[Floats]]) -> Floats:
        return np.broadcast_to(log_pair_weights(tables, given, add), shape)

    usual = weigh(usual_of_tables(known, tables))
    corrections = []
    for way in range(len(pairs.ways)):
        log, never = weigh(pairs.of_tables(way, tables)), np.isneginf(usual)
        if (never & ~np.isneginf(log)).any():
            raise NotLiftableError(
                "observed pairs allow cells that hard rules forbid to all others"
            )
        corrections.append(np.where(never, 0.0, log - np.where(never, 0.0, usual)))
    return usual, corrections


def log_pair_weights(
    tables: Sequence[PairTable], known: Sequence[Sequence[Floats]], add: Add
) -> Floats | float:
    """The log-weight of a pair in each two cells, the fields between them summed out."""
    parts = [add(table.given(fields), 2) for table, fields in zip(tables, known, strict=True)]
    return sum(parts, 0.0)


def relate_groups(
    groups: Sequence[Group], cells: Sequence[SortCells], tables: Tables, pairs: PairKnown
) -> Relations:
    """What constants of each two groups do to each other."""
    log, known = {}, {}
    for g, one in enumerate(groups):
        for h, two in enumerate(groups):
            between = tables.get((one.sort, two.sort), ())
            if one.sort > two.sort or not between or (g == h and len(one.places) < 2):
                continue
            members = cells[one.sort].sort.members, cells[two.sort].sort.members
            first = int(members[0][one.places[0]])
            second = int(members[1][two.places[1 if g == h else 0]])
            known[g, h] = pairs.of_tables(between, first, second)
            shape = len(cells[one.sort].values), len(cells[two.sort].values)
            log[g, h] = np.broadcast_to(
                log_pair_weights(between, known[g, h], cells[one.sort].add), shape
            )
            if one.sort != two.sort:
                log[h, g] = log[g, h].T
    return Relations(log, known)


# Effective cells.


def merge_cells(
    groups: Sequence[Group],
    cells: Sequence[SortCells],
    log: Mapping[tuple[int, int], Floats],
    corrections: Mapping[tuple[int, int], Sequence[Floats]],
) -> list[EffectiveCells]:
    """Join the cells of each group that all groups treat alike, up to a factor.

    The `corrections` of observed pairs, by sorts, must not tell them apart either.
    """
    possible = [
        np.asarray(np.isfinite(_rows(group, cells[group.sort])).any(axis=0)) for group in groups
    ]
    told: list[list[Floats]] = [[] for _ in groups]
    for number, group in enumerate(groups):
        for (s, t), tables in corrections.items():
            told[number] += [table for table in tables if s == group.sort]
            told[number] += [table.T for table in tables if t == group.sort]
    return [
        _merge_group(number, groups, possible, log, told[number]) for number in range(len(groups))
    ]


def _rows(group: Group, cells: SortCells) -> Floats:
    """The weights of cells for each kind of evidence in a group."""
    kinds = np.unique(cells.evidence.kind_of[group.places])
    return np.asarray(cells.log_u[kinds])


def _merge_group(
    g: int,
    groups: Sequence[Group],
    possible: Sequence[NDArray[np.bool_]],
    log: Mapping[tuple[int, int], Floats],
    told: Sequence[Floats],
) -> EffectiveCells:
    partners = [h for h in range(len(groups)) if (g, h) in log]
    number = sum(len(group.places) for group in groups)
    cell_of, gain = np.full(len(possible[g]), -1), np.zeros(len(possible[g]))
    leaders: list[int] = []
    for cell in np.flatnonzero(possible[g]).tolist():
        for place, leader in enumerate(leaders):
            factors = [
                _proportion(log[g, h][cell][possible[h]], log[g, h][leader][possible[h]], number)
                for h in partners
            ]
            alike = all(_are_equal(table[cell], table[leader]) for table in told)
            if alike and None not in factors:
                cell_of[cell] = place
                gain[cell] = math.fsum(
                    factor * (len(groups[h].places) - (g == h))
                    for factor, h in zip(factors, partners, strict=True)
                    if factor is not None
                )
                break
        else:
            cell_of[cell] = len(leaders)
            leaders.append(cell)
    return EffectiveCells(np.array(leaders, np.int64), cell_of, gain)


def _are_equal(row: Floats, other: Floats) -> bool:
    return bool(np.isclose(row, other, rtol=1e-15, atol=TOLERANCE * 1e-3).all())


def _proportion(row: Floats, leader: Floats, constants: int) -> float | None:
    """The log of the factor between two rows of weights; None if they are not proportional."""
    finite = np.isfinite(row)
    if not (finite == np.isfinite(leader)).all():
        return None
    if not finite.any():
        return 0.0
    gap = row[finite] - leader[finite]
    rounding = 1e-15 * float(np.abs(row[finite]).max())
    return float(gap[0]) if np.ptp(gap) <= TOLERANCE / constants + rounding else None


# Classes.


def kind_weights(group: Group, effective: EffectiveCells, cells: SortCells) -> tuple[Ints, Floats]:
    """Kinds of evidence in a group, and the log-weights of its effective cells for each."""
    kinds = np.unique(cells.evidence.kind_of[group.places])
    weights = cells.log_u[kinds] + effective.gain
    columns = [
        cells.add(weights[:, effective.cell_of == place], 1)
        for place in range(len(effective.leader))
    ]
    return kinds, np.array(columns).reshape(len(columns), len(kinds)).T


def find_classes(
    groups: Sequence[Group],
    effective: Sequence[EffectiveCells],
    cells: Sequence[SortCells],
    linked: Sequence[Ints],
) -> tuple[list[ConstantClass], float]:
    """All classes, and what their constants weigh beside.

    The `linked` kinds of a sort are one constant each, and classes of their own.
    """
    classes: list[ConstantClass] = []
    constant: list[float] = []
    for number, group in enumerate(groups):
        kinds, log_h = kind_weights(group, effective[number], cells[group.sort])
        top = log_h.max(axis=1, initial=-np.inf)
        if not np.isfinite(top).all():
            raise ContradictionError(IMPOSSIBLE)
        sizes = np.bincount(cells[group.sort].evidence.kind_of[group.places])[kinds]
        constant += (sizes * top).tolist()
        relative = log_h - top[:, None]
        alone = np.where(np.isin(kinds, linked[group.sort]), kinds, -1)
        shape = np.column_stack([alone, np.round(relative, DECIMALS) + 0.0])
        _, first, which = np.unique(shape, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(which.reshape(-1), kind="stable")
        ends = np.cumsum(np.bincount(which.reshape(-1)))[:-1]
        for row, members in zip(first.tolist(), np.split(order, ends), strict=True):
            size = int(sizes[members].sum())
            classes.append(ConstantClass(number, size, kinds[members], relative[row]))
    return classes, math.fsum(constant)


@dataclass(frozen=True)
class Coordinates:
    """Classes that are sure of their cell, and problems about the others.

    `sure[c]` is the only cell of class c, or -1. `places[c]` are the coordinates of class c, with
    the effective cells `choices[c]`, in the problem `problem_of[c]`; of a tree, its number there.
    `constant` is what is sure.
    """

    sure: Ints
    choices: tuple[Ints, ...]
    problem_of: Ints
    places: tuple[Ints, ...]
    problems: tuple[CountProblem | TreeProblem, ...]
    constant: float


def find_coordinates(
    classes: Sequence[ConstantClass],
    effective: Sequence[EffectiveCells],
    log: Mapping[tuple[int, int], Floats],
    add: Add,
    links: Sequence[Link] = (),
) -> Coordinates:
    """Turn classes into problems about counts, one for each set of classes that meet.

    The `links` of observed pairs are between classes, too.

    If weights are not summed, the number of ways to deal constants does not count.
    """
    weights = {
        pair: table[np.ix_(effective[pair[0]].leader, effective[pair[1]].leader)]
        for pair, table in log.items()
    }
    linear = [entry.log_h.copy() for entry in classes]
    sure = np.full(len(classes), -1)
    constant: list[float] = []
    waiting = list(range(len(classes)))
    links_of: dict[int, list[tuple[int, Floats]]] = {}
    for one, two, table in links:
        links_of.setdefault(one, []).append((two, table))
        links_of.setdefault(two, []).append((one, table.T))
    while settled := [c for c in waiting if np.isfinite(linear[c]).sum() <= 1]:
        told = {entry.group: np.zeros(len(entry.log_h)) for entry in classes}
        for c in settled:
            linear[c] = linear[c] + told[classes[c].group]
            _settle(c, classes, linear, sure, weights, constant, told)
            for other, table in links_of.get(c, ()):
                linear[other] = linear[other] + table[sure[c]]
        waiting = [c for c in waiting if sure[c] < 0]
        for c in waiting:
            linear[c] = linear[c] + told[classes[c].group]
    open_links = [link for link in links if max(sure[link.one], sure[link.two]) < 0]
    entropy = 0.0 if add is log_max else 1.0
    return _problems(classes, waiting, linear, sure, weights, constant, entropy, open_links)


def _settle(
    c: int,
    classes: Sequence[ConstantClass],
    linear: list[Floats],
    sure: Ints,
    weights: Mapping[tuple[int, int], Floats],
    constant: list[float],
    told: dict[int, Floats],
) -> None:
    """Put all constants of a class into their only cell; `told` is what others hear, by group."""
    if not np.isfinite(linear[c]).any():
        raise ContradictionError(IMPOSSIBLE)
    cell = int(np.argmax(linear[c]))
    sure[c] = cell
    size, group = classes[c].size, classes[c].group
    constant.append(size * float(linear[c][cell]))
    itself = weights.get((group, group))
    if itself is not None and size > 1:
        constant.append(_times(size * (size - 1) / 2, float(itself[cell, cell])))
    for other in told:
        table = weights.get((other, group))
        if table is not None:
            told[other] = told[other] + size * table[:, cell]
    if not all(map(math.isfinite, constant)):
        raise ContradictionError(IMPOSSIBLE)


def _times(count: float, log_weight: float) -> float:
    return 0.0 if count == 0 else count * log_weight


def _problems(
    classes: Sequence[ConstantClass],
    waiting: Sequence[int],
    linear: Sequence[Floats],
    sure: Ints,
    weights: Mapping[tuple[int, int], Floats],
    constant: list[float],
    entropy: float,
    links: Sequence[Link],
) -> Coordinates:
    problem_of, problems = np.full(len(classes), -1), list[CountProblem | TreeProblem]()
    choices = [np.zeros(0, np.int64) for _ in classes]
    places = [np.zeros(0, np.int64) for _ in classes]
    for c in waiting:
        choices[c] = np.flatnonzero(np.isfinite(linear[c]))
    if len(waiting) <= MOST_CLASSES and not links:
        found = _problems_of_classes(classes, waiting, choices, linear, weights)
    else:
        found = _problems_of_groups(classes, waiting, linear, weights, links)
    for part, problem in found:
        start = np.cumsum([0, *(len(choices[c]) for c in part)])
        for number, c in enumerate(part):
            problem_of[c] = len(problems)
            places[c] = np.arange(start[number], start[number + 1])
            if isinstance(problem, TreeProblem):
                choices[c], places[c] = np.arange(len(linear[c])), np.array([number])
        if isinstance(problem, CountProblem):
            problem = problem._replace(entropy=entropy)
        problems.append(problem)
    return Coordinates(
        sure, tuple(choices), problem_of, tuple(places), tuple(problems), math.fsum(constant)
    )


Problems = Iterator[tuple[list[int], CountProblem | TreeProblem]]


def _problems_of_classes(
    classes: Sequence[ConstantClass],
    waiting: Sequence[int],
    choices: Sequence[Ints],
    linear: Sequence[Floats],
    weights: Mapping[tuple[int, int], Floats],
) -> Problems:
    """A problem for each set of classes that meet; a tree, where that is faster."""
    lines = {c: linear[c][choices[c]] for c in waiting}
    tables: dict[tuple[int, int], Floats] = {}
    for c in waiting:
        for other in waiting:
            table = weights.get((classes[c].group, classes[other].group))
            if table is not None and (c != other or classes[c].size > 1):
                tables[c, other] = table[np.ix_(choices[c], choices[other])]
    for c, other in [pair for pair in tables if pair[0] < pair[1]]:
        if (split := _separate(tables[c, other])) is not None:
            rows, columns = split
            lines[c] = lines[c] + classes[other].size * rows
            lines[other] = lines[other] + classes[c].size * columns
            del tables[c, other], tables[other, c]
    for part in _components(waiting, tables):
        problem = _problem(part, classes, choices, lines, tables)
        tree = _tree_of_part(part, classes, choices, lines, tables, weights)
        if tree is not None and tree.seconds < SECONDS_PER_STATE * count_states(problem):
            yield part, tree
        else:
            yield part, problem


def _tree_of_part(
    part: Sequence[int],
    classes: Sequence[ConstantClass],
    choices: Sequence[Ints],
    lines: Mapping[int, Floats],
    tables: Mapping[tuple[int, int], Floats],
    weights: Mapping[tuple[int, int], Floats],
) -> TreeProblem | None:
    """Classes that meet as a tree; None if some of their groups meet in part only."""
    meet: dict[tuple[int, int], set[bool]] = {}
    for c, other in itertools.combinations(part, 2):
        groups = classes[c].group, classes[other].group
        meet.setdefault((min(groups), max(groups)), set()).add((c, other) in tables)
    if len(part) < 2 or any(len(ways) > 1 for ways in meet.values()):
        return None
    together = {groups: weights[groups] for groups, ways in meet.items() if True in ways}
    if any((c, c) in tables and (classes[c].group,) * 2 not in together for c in part):
        return None
    log_h = {}
    for c in part:
        log_h[c] = np.full(len(classes[c].log_h), -np.inf)
        log_h[c][choices[c]] = lines[c]
    return _tree(part, classes, log_h, together)


def _tree(
    part: Sequence[int],
    classes: Sequence[ConstantClass],
    log_h: Mapping[int, Floats],
    weights: Mapping[tuple[int, int], Floats],
    links: Sequence[Link] = (),
) -> TreeProblem:
    """Some classes as a tree; `weights` are those of their groups, in order, that meet."""
    groups = sorted({classes[c].group for c in part})
    widths = {classes[c].group: len(classes[c].log_h) for c in part}
    first = dict(zip(groups, np.cumsum([0, *(widths[g] for g in groups)]).tolist(), strict=False))
    size = sum(widths.values())
    log_r = np.zeros((size, size))
    for (g, h), table in weights.items():
        rows, columns = slice(first[g], first[g] + widths[g]), slice(first[h], first[h] + widths[h])
        log_r[rows, columns] = table
        log_r[columns, rows] = table.T
    number = {c: place for place, c in enumerate(part)}
    log = np.full((len(part), max(widths.values())), -np.inf)
    for c, place in number.items():
        log[place, : len(log_h[c])] = log_h[c]
    return TreeProblem(
        sizes=np.array([classes[c].size for c in part], dtype=np.int64),
        group=np.array([groups.index(classes[c].group) for c in part], dtype=np.int64),
        log_h=log,
        widths=tuple(widths[g] for g in groups),
        log_r=log_r,
        links=tuple(
            Link(number[link.one], number[link.two], link.log)
            for link in links
            if link.one in number
        ),
    )


def _problems_of_groups(
    classes: Sequence[ConstantClass],
    waiting: Sequence[int],
    linear: Sequence[Floats],
    weights: Mapping[tuple[int, int], Floats],
    links: Sequence[Link],
) -> Problems:
    """A tree for each set of groups that meet; refused where that has too many coefficients."""
    members: dict[int, list[int]] = {}
    for c in waiting:
        members.setdefault(classes[c].group, []).append(c)
    extra = {group: np.zeros(len(linear[part[0]])) for group, part in members.items()}
    meet = {(classes[one].group, classes[two].group) for one, two, _ in links}
    together = {}
    for groups in itertools.combinations_with_replacement(sorted(members), 2):
        if (table := weights.get(groups)) is None:
            continue
        first, second = groups
        split = _separate(table) if first != second else None
        if split is None:
            together[groups] = table
            meet.add(groups)
            continue
        extra[first] += split[0] * sum(classes[c].size for c in members[second])
        extra[second] += split[1] * sum(classes[c].size for c in members[first])
    log_h = {c: linear[c] + extra[classes[c].group] for c in waiting}
    for component in _components(sorted(members), meet):
        part = [c for group in component for c in members[group]]
        inside = {pair: table for pair, table in together.items() if pair[0] in component}
        tree = _tree(part, classes, log_h, inside, links)
        if len(component) > 1 and not links and not math.isfinite(tree.seconds):
            raise NotLiftableError(
                f"{len(waiting):,} classes of constants with different evidence meet in "
                f"{len(component)} groups"
            )
        yield part, tree


def _separate(table: Floats) -> tuple[Floats, Floats] | None:
    """Rows and columns whose sum a table is; None if it is no such sum."""
    if not np.isfinite(table).all():
        return None
    rows, columns = table[:, 0], table[0] - table[0, 0]
    rest = table - rows[:, None] - columns
    scale = float(np.abs(table).max())
    return (rows, columns) if np.abs(rest).max() <= 4e-16 * scale else None


def _components(waiting: Sequence[int], pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Classes or groups that meet, directly or by others."""
    parts = [{c} for c in waiting]
    for c, other in pairs:
        touched = [part for part in parts if c in part or other in part]
        parts = [part for part in parts if part not in touched] + [set().union(*touched)]
    return sorted(sorted(part) for part in parts)


def _problem(
    part: Sequence[int],
    classes: Sequence[ConstantClass],
    choices: Sequence[Ints],
    lines: Mapping[int, Floats],
    tables: Mapping[tuple[int, int], Floats],
) -> CountProblem:
    start = np.cumsum([0, *(len(choices[c]) for c in part)])
    size = int(start[-1])
    places = {c: np.arange(start[n], start[n + 1]) for n, c in enumerate(part)}
    quad, apart = np.zeros((size, size)), np.zeros((size, size), np.bool_)
    for c in part:
        for other in part:
            if (c, other) in tables:
                spot = np.ix_(places[c], places[other])
                apart[spot] = np.isneginf(tables[c, other])
                quad[spot] = np.where(apart[spot], 0.0, tables[c, other])
    linear = np.concatenate([lines[c] for c in part]) - 0.5 * np.diag(quad)
    return CountProblem(
        block=np.concatenate([np.full(len(choices[c]), n) for n, c in enumerate(part)]),
        total=np.array([classes[c].size for c in part], dtype=np.int64),
        linear=linear,
        quad=quad,
        apart=apart,
    )
