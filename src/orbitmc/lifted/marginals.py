"""Exact answers by counting: log Z, and how probable atoms are.

`lift` finds groups, classes and coordinates of a program and says what counting will cost;
`Lifting.count` counts. Constants with the same group and the same evidence have one profile: their
atoms have equal probabilities.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError
from orbitmc.lifted.cells import (
    Add,
    PairField,
    PairTable,
    Propositions,
    SortCells,
    UnaryEvidence,
    build_cells,
    build_pair_tables,
    constant_weight,
    log_sum,
    unary_evidence,
    visible_fields,
    written_keys,
)
from orbitmc.lifted.coordinates import (
    ConstantClass,
    Coordinates,
    EffectiveCells,
    Group,
    ObservedPairs,
    PairKnown,
    Relations,
    correct_pair_weights,
    find_classes,
    find_coordinates,
    find_observed_pairs,
    kind_weights,
    merge_cells,
    relate_groups,
)
from orbitmc.lifted.counts import (
    SECONDS_PER_STATE,
    CountMoments,
    CountProblem,
    count_states,
    sum_counts,
)
from orbitmc.lifted.evidence import (
    Field,
    Known,
    count_different,
    find_links,
    group_twins,
    read_known,
    require_few_pairs,
)
from orbitmc.lifted.fragment import (
    Fragment,
    NotLiftableError,
    describe_rules,
    find_fragment,
)
from orbitmc.lifted.tree import IMPOSSIBLE, Link, TreeMoments, TreeProblem, sum_tree
from orbitmc.mln.data.database import TRUE, UNKNOWN, Ints
from orbitmc.mln.grounding.atoms import given_atom
from orbitmc.mln.grounding.grounding import AtomTables
from orbitmc.mln.language.syntax import Program, atoms_of

MOST_PROPOSITIONS = 1024  # joint values of atoms without elements
MOST_GROUPS = 64
SECONDS_PER_RULE = 3e-5  # and case, until a program is prepared
PATIENCE = 8.0  # times the expected work
FEW_STATES = 1e9  # that take seconds

Law = Callable[[tuple[int, ...]], Floats]
"""The probabilities of the values of a field, for atoms that are alike."""


class PatternlessError(NotLiftableError):
    """Observed pairs tell too many constants apart to count them in groups of twins."""

    def with_width(self, width: int) -> "PatternlessError":
        """The same, if eliminating the constants in turn takes too much, too."""
        return PatternlessError(f"{str(self).removesuffix(')')}, width {width})")


class Profile(NamedTuple):
    """Constants of a group with one kind of evidence: all their atoms are equally probable."""

    group: int
    kind: int
    size: int


@dataclass(frozen=True)
class Setting:
    """All that counting needs beside the values of atoms without elements.

    `profile_of[s]` gives the profile of each member of sort s, a number in `profiles`. If pairs
    are `observed` without a pattern, they are told by sorts; their constants have profiles of their
    own, in order.
    """

    fragment: Fragment
    known: Mapping[Field, Known]
    groups: tuple[Group, ...]
    evidence: tuple[UnaryEvidence, ...]
    profiles: tuple[Profile, ...]
    profile_of: tuple[Ints, ...]
    observed: Mapping[tuple[int, int], ObservedPairs] = field(default_factory=dict)

    @cached_property
    def linked(self) -> tuple[Ints, ...]:
        """The kinds of constants of each sort that have observed pairs."""
        places: list[list[Ints]] = [[] for _ in self.evidence]
        for (s, t), pairs in self.observed.items():
            places[s].append(pairs.first)
            places[t].append(pairs.second)
        return tuple(
            np.unique(np.concatenate([evidence.kind_of[:0], *(evidence.kind_of[p] for p in some)]))
            for evidence, some in zip(self.evidence, places, strict=True)
        )

    @cached_property
    def way_of(self) -> Mapping[tuple[int, int], int]:
        """The way in which each pair of profiles is observed, in order."""
        return {
            (one, two): way
            for (s, t), pairs in self.observed.items()
            for one, two, way in zip(
                self.profile_of[s][pairs.first].tolist(),
                self.profile_of[t][pairs.second].tolist(),
                pairs.pattern.tolist(),
                strict=True,
            )
        }

    def sort_of(self, profile: int) -> int:
        """The sort of the constants of a profile."""
        return self.groups[self.profiles[profile].group].sort


@dataclass(frozen=True)
class Case:
    """The count problems for one choice of values of atoms without elements."""

    log_weight: float
    propositions: Propositions
    cells: tuple[SortCells, ...]
    tables: Mapping[tuple[int, int], tuple[PairTable, ...]]
    relations: Relations
    effective: tuple[EffectiveCells, ...]
    classes: tuple[ConstantClass, ...]
    coordinates: Coordinates


@dataclass(frozen=True)
class Lifting:
    """A program that can be counted, and about how many `states` that takes."""

    setting: Setting
    cases: tuple[Case, ...]
    states: float

    @property
    def seconds(self) -> float:
        """About how long counting takes."""
        return SECONDS_PER_STATE * self.states

    @property
    def preparation(self) -> float:
        """About how many seconds it took to prepare: each case weighs all rules."""
        return SECONDS_PER_RULE * len(self.cases) * len(self.setting.fragment.rules)

    @property
    def most_cells(self) -> int:
        """The most effective cells that a group has."""
        sizes = [len(e.leader) for case in self.cases for e in case.effective]
        return max(sizes, default=0)

    @property
    def width(self) -> int:
        """How many constants with observed pairs have to be looked at together, at most."""
        problems = [problem for case in self.cases for problem in case.coordinates.problems]
        return max((p.width for p in problems if isinstance(p, TreeProblem)), default=0)

    def count(self) -> "Counted":
        """Count; the answer knows all marginals. What takes far more than expected is refused."""
        most = PATIENCE * max(self.states, FEW_STATES)
        counted = []
        for case in self.cases:
            try:
                moments = tuple(_add_up(problem, most) for problem in case.coordinates.problems)
            except ContradictionError:
                continue
            counted.append(CountedCase(self.setting, case, moments))
        if not counted:
            raise ContradictionError(IMPOSSIBLE)
        return Counted(self.setting, tuple(counted))


def _add_up(problem: CountProblem | TreeProblem, most_states: float) -> CountMoments | TreeMoments:
    if isinstance(problem, TreeProblem):
        return sum_tree(problem)
    return sum_counts(problem, most_states=most_states)


def _count_work(problem: CountProblem | TreeProblem) -> float:
    """About how many terms a problem adds up."""
    if isinstance(problem, TreeProblem):
        return problem.seconds / SECONDS_PER_STATE
    return count_states(problem)


def lift(program: Program, tables: AtomTables) -> Lifting:
    """Prepare counting, without any grounding; a program that is not in the fragment is refused.

    Constants are counted in groups of twins; if observed pairs have no pattern, or one with many
    groups, their constants are eliminated one after the other, where that takes less time.
    """
    fragment = find_fragment(program, tables)
    known = read_known(fragment)
    refusal: NotLiftableError | None = None
    liftings: list[Lifting] = []
    try:
        liftings.append(lift_setting(_setting(fragment, known)))
    except NotLiftableError as error:
        refusal = error
    if refusal is not None or liftings[0].states > FEW_STATES:
        try:
            if observed := _observe(fragment, known):
                liftings.append(lift_setting(_link_setting(fragment, known, observed)))
        except NotLiftableError as error:
            refusal = refusal or error
    if refusal is not None and not any(math.isfinite(lifting.states) for lifting in liftings):
        if liftings and isinstance(refusal, PatternlessError):
            raise refusal.with_width(liftings[0].width)
        raise refusal
    return min(liftings, key=lambda lifting: lifting.states)


def find_setting(program: Program, tables: AtomTables) -> Setting:
    """The constants of a program in groups and profiles, whatever its weights are."""
    fragment = find_fragment(program, tables)
    return _setting(fragment, read_known(fragment))


def reweigh(setting: Setting, weights: Floats) -> Setting:
    """The same setting with other weights of the program's rules, one each."""
    rules = tuple(
        rule._replace(weight=float(weights[rule.number]) * rule.times)
        for rule in setting.fragment.rules
    )
    return replace(setting, fragment=replace(setting.fragment, rules=rules))


def lift_setting(setting: Setting, add: Add = log_sum) -> Lifting:
    """The count problems of a setting, and what they cost; `log_max` is for the best state."""
    fragment, facts = setting.fragment, setting.known
    visible = visible_fields(fragment)
    cases = []
    for propositions, log_weight in find_propositions(fragment, facts):
        try:
            case = _case(setting, visible, propositions, log_weight, add)
        except ContradictionError:
            continue
        cases.append(case)
    if not cases:
        raise ContradictionError(IMPOSSIBLE)
    states = sum(_count_work(problem) for case in cases for problem in case.coordinates.problems)
    return Lifting(setting, tuple(cases), max(states, 1.0))


def _setting(fragment: Fragment, known: Mapping[Field, Known]) -> Setting:
    most = MOST_GROUPS + len(fragment.sorts)
    if (different := count_different(fragment, known)) > most:
        raise _patternless(known, f"at least {different:,}")
    links = find_links(fragment, known)
    groups: list[Group] = []
    for number, sort in enumerate(fragment.sorts):
        for members in group_twins(sort.members, sort.kind, links):
            groups.append(Group(number, np.searchsorted(sort.members, members)))
    if len(groups) > most:
        raise _patternless(known, f"{len(groups):,}")
    evidence = tuple(unary_evidence(fragment, sort, known) for sort in fragment.sorts)
    return _with_profiles(fragment, known, groups, evidence)


def _with_profiles(
    fragment: Fragment,
    known: Mapping[Field, Known],
    groups: Sequence[Group],
    evidence: tuple[UnaryEvidence, ...],
) -> Setting:
    profiles: list[Profile] = []
    profile_of = [np.zeros(len(sort.members), np.int64) for sort in fragment.sorts]
    for number, group in enumerate(groups):
        kind_of = evidence[group.sort].kind_of[group.places]
        kinds, which, sizes = np.unique(kind_of, return_inverse=True, return_counts=True)
        profile_of[group.sort][group.places] = len(profiles) + which.reshape(-1)
        profiles += [
            Profile(number, kind, size)
            for kind, size in zip(kinds.tolist(), sizes.tolist(), strict=True)
        ]
    return Setting(fragment, known, tuple(groups), evidence, tuple(profiles), tuple(profile_of))


Observed = dict[tuple[int, int], ObservedPairs]


def _observe(fragment: Fragment, known: Mapping[Field, Known]) -> Observed:
    """All observed pairs, by sorts."""
    require_few_pairs(known)
    numbers = range(len(fragment.sorts))
    pairs = {
        sorts: find_observed_pairs(fragment, known, *sorts)
        for sorts in itertools.combinations_with_replacement(numbers, 2)
    }
    return {sorts: some for sorts, some in pairs.items() if len(some.first)}


def _link_setting(fragment: Fragment, known: Mapping[Field, Known], observed: Observed) -> Setting:
    """Constants of a sort are one group; those of observed pairs have profiles of their own."""
    groups = [
        Group(number, np.arange(len(sort.members)))
        for number, sort in enumerate(fragment.sorts)
        if len(sort.members)
    ]
    evidence = []
    for number, sort in enumerate(fragment.sorts):
        places = [pairs.first for (s, _), pairs in observed.items() if s == number]
        places += [pairs.second for (_, t), pairs in observed.items() if t == number]
        linked = np.unique(np.concatenate([np.zeros(0, np.int64), *places]))
        evidence.append(_tell_apart(unary_evidence(fragment, sort, known), linked))
    setting = _with_profiles(fragment, known, groups, tuple(evidence))
    return replace(setting, observed=observed)


def _tell_apart(evidence: UnaryEvidence, places: Ints) -> UnaryEvidence:
    """Give each of some constants a kind of its own."""
    kind_of = evidence.kind_of.copy()
    kind_of[places] = evidence.kinds + np.arange(len(places))
    same_as = np.concatenate([np.arange(evidence.kinds), evidence.kind_of[places]])
    patterns = {field: table[same_as] for field, table in evidence.patterns.items()}
    return UnaryEvidence(kind_of, patterns)


def _patternless(known: Mapping[Field, Known], groups: str) -> PatternlessError:
    pairs = {name: facts for name, facts in known.items() if facts.elements.shape[1] == 2}
    names = sorted({name.predicate for name, facts in pairs.items() if len(facts.elements)})
    linked = sum(len(facts.elements) for facts in pairs.values())
    return PatternlessError(
        f"observed {', '.join(names)} has {linked:,} pairs of constants without a pattern "
        f"({groups} groups)"
    )


def find_propositions(
    fragment: Fragment, known: Mapping[Field, Known]
) -> Iterator[tuple[dict[Field, int], float]]:
    """All possible values of atoms without elements that rules read, with their evidence."""
    used = {
        Field(atom.predicate, fragment.key_of(atom)): rule.number
        for rule in fragment.rules
        for atom in atoms_of(rule.formula)
        if not fragment.schemas[atom.predicate].elements
    }
    fields = sorted(used)
    weights = [proposition_weights(known[name]) for name in fields]
    choices = [np.flatnonzero(np.isfinite(w)).tolist() for w in weights]
    count = math.prod(map(len, choices))
    if count > MOST_PROPOSITIONS:
        words = f"{len(fields)} atoms of no constant have {count:,} joint values; lifting needs at "
        words += f"most {MOST_PROPOSITIONS:,}: {describe_rules(fragment.program, used.values())}"
        # Where constants were written out for a rule, it is the rule that is in the way.
        raise NotLiftableError((*fragment.reasons, words)[0])
    for values in itertools.product(*choices):
        earned = math.fsum(w[value] for w, value in zip(weights, values, strict=True))
        yield dict(zip(fields, values, strict=True)), earned


def proposition_weights(known: Known) -> Floats:
    """What is known of a field that belongs to no constant."""
    return np.asarray(known.patterns[known.pattern[0] if len(known.pattern) else 0])


def _case(
    setting: Setting,
    visible: Sequence[set[Field]],
    values: dict[Field, int],
    earned: float,
    add: Add,
) -> Case:
    fragment = setting.fragment
    earned += constant_weight(fragment, values)
    if not math.isfinite(earned):
        raise ContradictionError(IMPOSSIBLE)
    numbers = range(len(fragment.sorts))
    cells = tuple(
        build_cells(fragment, number, visible[number], setting.evidence[number], values, add)
        for number in numbers
    )
    tables = {
        (first, second): build_pair_tables(fragment, first, second, cells, values)
        for first, second in itertools.combinations_with_replacement(numbers, 2)
    }
    pairs = PairKnown(setting.known, usual=bool(setting.observed))
    relations = relate_groups(setting.groups, cells, tables, pairs)
    corrections = {
        (s, t): correct_pair_weights(tables[s, t], (cells[s], cells[t]), setting.known, pairs)[1]
        for (s, t), pairs in setting.observed.items()
    }
    effective = merge_cells(setting.groups, cells, relations.log, corrections)
    classes, constant = find_classes(setting.groups, effective, cells, setting.linked)
    links = _links(setting, corrections, effective, classes)
    coordinates = find_coordinates(classes, effective, relations.log, add, links)
    unused = _unused_propositions(setting, values, add)
    return Case(
        math.fsum([earned, constant, coordinates.constant, unused]),
        values,
        cells,
        tables,
        relations,
        tuple(effective),
        tuple(classes),
        coordinates,
    )


def _links(
    setting: Setting,
    corrections: Mapping[tuple[int, int], Sequence[Floats]],
    effective: Sequence[EffectiveCells],
    classes: Sequence[ConstantClass],
) -> list[Link]:
    """Observed pairs as links of classes, with what they weigh more in each effective cell."""
    class_of = {
        (entry.group, kind): number
        for number, entry in enumerate(classes)
        for kind in entry.kinds.tolist()
    }
    group_of = {group.sort: number for number, group in enumerate(setting.groups)}
    links = []
    for (s, t), pairs in setting.observed.items():
        g, h = group_of[s], group_of[t]
        leaders = np.ix_(effective[g].leader, effective[h].leader)
        tables = [table[leaders] for table in corrections[s, t]]
        one, two = (
            setting.evidence[sort].kind_of[places].tolist()
            for sort, places in ((s, pairs.first), (t, pairs.second))
        )
        links += [
            Link(class_of[g, a], class_of[h, b], tables[way])
            for a, b, way in zip(one, two, pairs.pattern.tolist(), strict=True)
        ]
    return links


def _unused_propositions(setting: Setting, values: Mapping[Field, int], add: Add) -> float:
    """What atoms without elements weigh that no rule reads."""
    return math.fsum(
        float(add(proposition_weights(known), 0))
        for name, known in setting.known.items()
        if not setting.fragment.schemas[name.predicate].elements and name not in values
    )


SURELY_ROUNDING = 1e-9  # a probability of what is impossible
RARE = 1e-6  # a probability that its own sum tells better: boxes that hold less may be left out


def count_joint(program: Program, tables: AtomTables, atoms: Sequence[tuple[str, int]]) -> Floats:
    """The log-probabilities that atoms are false and true together: an axis for each atom.

    An atom is a predicate and a code. Each is given to be false, then to be true, and the next
    one is counted anew.
    """
    return _count_joint(program, tables, atoms)[0]


def _count_joint(
    program: Program, tables: AtomTables, atoms: Sequence[tuple[str, int]]
) -> tuple[Floats, float]:
    """The same, and log Z."""
    counted = lift(program, tables).count()
    if not atoms:
        return np.zeros(()), counted.log_z
    (predicate, code), rest = atoms[0], atoms[1:]
    table = tables.atoms[predicate]
    status = int(table.status(np.array([code]))[0])
    chances = [float(status != TRUE), float(status == TRUE)]
    if status == UNKNOWN:
        two = [float(chance[0]) for chance in counted.chances(predicate, np.array([code]))]
        chances = [chance / math.fsum(two) for chance in two]
    law = np.full((2,) * len(atoms), -np.inf)
    for value, chance in enumerate(chances):
        is_rare = status == UNKNOWN and chance < RARE
        if not rest and not is_rare:
            law[value] = math.log(chance) if chance else -np.inf
        elif chance or is_rare:
            known = tables
            if status == UNKNOWN:
                known = _given(tables, predicate, code, holds=bool(value))
            try:
                given, log_z = _count_joint(program, known, rest)
            except ContradictionError:
                if chance > SURELY_ROUNDING:
                    raise
                continue
            if is_rare:  # its soft evidence is not in the sum that it is given to
                log_z += value * _soft_weight(tables, predicate, code)
            law[value] = given + (log_z - counted.log_z if is_rare else math.log(chance))
    return law, counted.log_z


def _soft_weight(tables: AtomTables, predicate: str, code: int) -> float:
    """What soft evidence adds where an atom is true."""
    codes, log_odds = tables.soft[predicate]
    return float(log_odds[codes == code].sum())


def _given(tables: AtomTables, predicate: str, code: int, *, holds: bool) -> AtomTables:
    codes, log_odds = tables.soft[predicate]
    other = codes != code
    return tables._replace(
        atoms={**tables.atoms, predicate: given_atom(tables.atoms[predicate], code, holds)},
        soft={**tables.soft, predicate: (codes[other], log_odds[other])},
    )


@dataclass(frozen=True)
class CountedCase:
    """One case, counted."""

    setting: Setting
    case: Case
    moments: tuple[CountMoments | TreeMoments, ...]
    _pairs: dict[tuple[int, int], Floats] = field(default_factory=dict, repr=False, compare=False)

    @property
    def log_z(self) -> float:
        return math.fsum([self.case.log_weight, *(part.log_sum for part in self.moments)])

    @cached_property
    def _class_of(self) -> dict[tuple[int, int], int]:
        return {
            (entry.group, kind): number
            for number, entry in enumerate(self.case.classes)
            for kind in entry.kinds.tolist()
        }

    def _class(self, profile: int) -> int:
        group, kind, _ = self.setting.profiles[profile]
        return self._class_of[group, kind]

    def _effective_law(self, number: int) -> Floats:
        """How probable the effective cells of a constant of a class are."""
        entry, where = self.case.classes[number], self.case.coordinates
        law = np.zeros(len(entry.log_h))
        if where.sure[number] >= 0:
            law[where.sure[number]] = 1.0
        else:
            mean = self.moments[where.problem_of[number]].mean[where.places[number]]
            chances = mean.reshape(-1) / entry.size
            law[where.choices[number]] = chances[: len(where.choices[number])]
        return law

    def _effective_joint(self, first: int, second: int) -> Floats:
        """How probable the effective cells of two different constants of classes are."""
        where, classes = self.case.coordinates, self.case.classes
        problem = where.problem_of[first]
        if problem < 0 or problem != where.problem_of[second]:
            return np.outer(self._effective_law(first), self._effective_law(second))
        one, two = where.places[first], where.places[second]
        moments = self.moments[problem]
        if isinstance(moments, TreeMoments):
            return moments.pair_law(int(one[0]), int(two[0]))
        products = moments.second[np.ix_(one, two)]
        pairs = classes[first].size * classes[second].size
        if first == second:
            products = products - np.diag(moments.mean[one])
            pairs -= classes[first].size
        law = np.zeros((len(classes[first].log_h), len(classes[second].log_h)))
        law[np.ix_(where.choices[first], where.choices[second])] = products / pairs
        return np.maximum(law, 0.0)

    def _inner(self, profile: int) -> Floats:
        """How probable each cell is, given its effective cell; 0 for impossible ones."""
        return self._inner_laws[profile]

    @cached_property
    def _inner_laws(self) -> list[Floats]:
        laws: dict[tuple[int, int], Floats] = {}
        for number, group in enumerate(self.setting.groups):
            cells, effective = self.case.cells[group.sort], self.case.effective[number]
            kinds, log_h = kind_weights(group, effective, cells)
            possible = effective.cell_of >= 0
            for row, kind in enumerate(kinds.tolist()):
                log = cells.log_u[kind] + effective.gain
                top = np.where(possible, log_h[row][effective.cell_of], 0.0)
                usable = possible & np.isfinite(top)
                law = np.zeros(len(log))
                law[usable] = np.exp(log[usable] - top[usable])
                laws[number, kind] = law
        return [laws[profile.group, profile.kind] for profile in self.setting.profiles]

    def cell_law(self, profile: int) -> Floats:
        """How probable each cell of a constant is."""
        effective = self.case.effective[self.setting.profiles[profile].group]
        law = self._effective_law(self._class(profile))
        return np.where(effective.cell_of >= 0, law[effective.cell_of], 0.0) * self._inner(profile)

    def pair_law(self, first: int, second: int) -> Floats:
        """How probable the cells of two different constants are."""
        if (first, second) not in self._pairs:
            one, two = (
                self.case.effective[self.setting.profiles[p].group].cell_of for p in (first, second)
            )
            law = self._effective_joint(self._class(first), self._class(second))
            inner = np.outer(self._inner(first), self._inner(second))
            self._pairs[first, second] = law[np.ix_(one, two)] * inner
        return self._pairs[first, second]

    def field_law(self, profile: int, name: Field) -> Floats:
        """How probable the values of a field of a constant are."""
        group, kind, _ = self.setting.profiles[profile]
        cells = self.case.cells[self.setting.groups[group].sort]
        size = self.setting.fragment.schemas[name.predicate].size
        law = self.cell_law(profile)
        if name in cells.fields:
            column = cells.values[:, cells.fields.index(name)]
            return np.asarray(np.bincount(column, weights=law, minlength=size), np.float64)
        part = next(part for part in cells.summed if name in part.fields)
        joint = normalise(cells.joint(part, np.array([kind]))[0])
        column = part.values[:, part.fields.index(name)]
        return np.asarray(np.bincount(column, weights=law @ joint, minlength=size), np.float64)

    def known_between(self, first: int, second: int) -> tuple[tuple[Floats, ...], ...]:
        """What is known of the fields between two constants of profiles in order, by table."""
        setting = self.setting
        if (way := setting.way_of.get((first, second))) is not None:
            sorts = setting.sort_of(first), setting.sort_of(second)
            return setting.observed[sorts].of_tables(way, self.case.tables[sorts])
        groups = setting.profiles[first].group, setting.profiles[second].group
        return self.case.relations.known[groups]

    def pair_field_law(self, first: int, second: int, place: PairField) -> Floats:
        """How probable the values of a field between two different constants are."""
        sorts = self.setting.sort_of(first), self.setting.sort_of(second)
        if sorts[0] > sorts[1] or (second, first) in self.setting.way_of:
            return self.pair_field_law(second, first, PairField(place.field, not place.forward))
        size = self.setting.fragment.schemas[place.field.predicate].size
        tables = self.case.tables[sorts]
        number, table = next((n, t) for n, t in enumerate(tables) if place in t.fields)
        joint = normalise(table.given(self.known_between(first, second)[number]))
        weights = np.einsum("ij,ijw->w", self.pair_law(first, second), joint)
        column = table.values[:, table.fields.index(place)]
        return np.asarray(np.bincount(column, weights=weights, minlength=size), np.float64)


def normalise(log: Floats) -> Floats:
    """Weights along the last axis that add up to one; zeros where there is none."""
    top = log.max(axis=-1, keepdims=True)
    weights = np.exp(log - np.where(np.isfinite(top), top, 0.0))
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))


@dataclass(frozen=True)
class AtomClass:
    """So many atoms that are equally probable, and the code of one of them."""

    code: int
    count: int
    probability: float


@dataclass(frozen=True)
class Counted:
    """All that counting has found out."""

    setting: Setting
    cases: tuple[CountedCase, ...]

    @cached_property
    def log_z(self) -> float:
        """The logarithm of the sum of all weights."""
        return float(np.logaddexp.reduce([case.log_z for case in self.cases]))

    @property
    def dropped(self) -> float:
        """No larger share of the sum was left out."""
        shares = [[part.dropped for part in case.moments] for case in self.cases]
        return max(map(sum, shares), default=0.0)

    @property
    def states(self) -> float:
        """How many states were added up."""
        return sum(part.states for case in self.cases for part in case.moments)

    @cached_property
    def shares(self) -> list[float]:
        """How probable each case is."""
        top = max(case.log_z for case in self.cases)
        weights = [math.exp(case.log_z - top) for case in self.cases]
        return [weight / math.fsum(weights) for weight in weights]

    def proposition_law(self, name: Field) -> Floats:
        """How probable the values of a field are that belongs to no constant."""
        if name not in self.cases[0].case.propositions:
            return normalise(proposition_weights(self.setting.known[name]))
        law = np.zeros(self.setting.fragment.schemas[name.predicate].size)
        for share, case in zip(self.shares, self.cases, strict=True):
            law[case.case.propositions[name]] += share
        return law

    def field_law(self, profile: int, name: Field) -> Floats:
        """How probable the values of a field of a constant are."""
        laws = [case.field_law(profile, name) for case in self.cases]
        return np.asarray(np.average(laws, axis=0, weights=self.shares))

    def pair_field_law(self, first: int, second: int, place: PairField) -> Floats:
        """How probable the values of a field between two different constants are."""
        laws = [case.pair_field_law(first, second, place) for case in self.cases]
        return np.asarray(np.average(laws, axis=0, weights=self.shares))

    def probabilities(self, predicate: str, codes: Ints) -> Floats:
        """How probable it is that atoms of a predicate are true, by their codes."""
        return self.chances(predicate, codes)[1]

    def chances(self, predicate: str, codes: Ints) -> tuple[Floats, Floats]:
        """How probable it is that atoms of a predicate are false, and that they are true."""
        kinds, law, values = self.classify(predicate, codes)
        unique, which = np.unique(kinds, axis=0, return_inverse=True)
        self._clamp_few(predicate, unique)
        laws = np.array([law(tuple(row)) for row in unique.tolist()])[which.reshape(-1)]
        others = np.arange(laws.shape[1]) != values[:, None]
        return laws.sum(axis=1, where=others), laws[~others]

    def _clamp_few(self, predicate: str, rows: Ints) -> None:
        """Of pairs in many classes, fix the side that has fewer of them first: that is cheaper."""
        if len(self.setting.fragment.schemas[predicate].elements) < 2:
            return
        pairs = rows[rows[:, 0] == 0]
        if len(pairs) and len(np.unique(pairs[:, 2])) < len(np.unique(pairs[:, 1])):
            for case in self.cases:
                for first, second in pairs[np.unique(pairs[:, 2], return_index=True)[1], 1:3]:
                    case.pair_law(int(second), int(first))

    def classify(self, predicate: str, codes: Ints) -> tuple[Ints, Law, Ints]:
        """For atoms: rows that are equal for equal ones, the law of such a row, and values."""
        fragment = self.setting.fragment
        atoms, schema = fragment.atoms[predicate], fragment.schemas[predicate]
        columns = atoms.arguments(codes, fragment.universe)
        keys = [columns[place] for place in schema.written]
        elements = [columns[place] for place in schema.elements]
        types = [fragment.program.predicates[predicate].types[place] for place in schema.elements]
        profiles = [
            self._profile_of[kind][column] for kind, column in zip(types, elements, strict=True)
        ]
        values = codes % atoms.width if schema.values else np.ones(len(codes), np.int64)
        if len(elements) < 2:
            rows = np.array([*profiles, *keys]).reshape(-1, len(codes)).T
            count = len(elements)

            def law(row: tuple[int, ...]) -> Floats:
                name = Field(predicate, row[count:])
                return self.field_law(row[0], name) if count else self.proposition_law(name)

            return rows, law, values
        same = (elements[0] == elements[1]) & (types[0] == types[1])
        rows = np.array([same.astype(np.int64), *profiles, *keys]).reshape(-1, len(codes)).T

        def pair_law(row: tuple[int, ...]) -> Floats:
            name = Field(predicate, row[3:])
            if row[0]:
                return self.field_law(row[1], name)
            return self.pair_field_law(row[1], row[2], PairField(name, True))

        return rows, pair_law, values

    def most_classes(self, predicate: str) -> int:
        """How many classes of elements, or of pairs of them, a predicate has at most."""
        fragment = self.setting.fragment
        kinds, schema = fragment.program.predicates[predicate].types, fragment.schemas[predicate]
        return math.prod(len(self._first_members[kinds[place]]) for place in schema.elements)

    def atom_classes(self, predicate: str) -> Iterator["AtomClass"]:
        """Atoms of a predicate that nobody knows, in classes of equally probable ones."""
        fragment = self.setting.fragment
        schema = fragment.schemas[predicate]
        types = [fragment.program.predicates[predicate].types[place] for place in schema.elements]
        first_of = self._first_members
        profiles = [first_of[kind] for kind in types]
        for chosen in itertools.product(*profiles):
            for members, count in self._members(types, chosen):
                for key in written_keys(fragment, predicate):
                    yield from self._class_values(predicate, key, members, count)

    def _members(
        self, types: Sequence[str], chosen: Sequence[int]
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        """Of constants with some profiles: examples, and how many there are; pairs with itself."""
        sizes = [self.setting.profiles[profile].size for profile in chosen]
        firsts = [self._first_members[kind][p] for kind, p in zip(types, chosen, strict=True)]
        if len(chosen) < 2 or chosen[0] != chosen[1]:
            yield tuple(first[0] for first in firsts), math.prod(sizes)
            return
        yield (firsts[0][0], firsts[0][0]), sizes[0]
        if sizes[0] > 1:
            yield (firsts[0][0], firsts[0][1]), sizes[0] * (sizes[0] - 1)

    def _class_values(
        self, predicate: str, key: tuple[int, ...], members: tuple[int, ...], count: int
    ) -> Iterator["AtomClass"]:
        """A class for each value of a field that is possible, if several are."""
        fragment = self.setting.fragment
        schema, atoms = fragment.schemas[predicate], fragment.atoms[predicate]
        code = sum(
            int(atoms.radix[place]) * number
            for place, number in zip(
                (*schema.elements, *schema.written), (*members, *key), strict=True
            )
        )
        codes = code + np.arange(schema.size) if schema.values else np.array([code])
        unknown = codes[atoms.status(codes) == UNKNOWN]
        if len(unknown):
            for one, probability in zip(
                unknown.tolist(), self.probabilities(predicate, unknown).tolist(), strict=True
            ):
                yield AtomClass(one, count, probability)

    @cached_property
    def _first_members(self) -> dict[str, dict[int, list[int]]]:
        """Up to two constants of each profile, by type."""
        members: dict[str, dict[int, list[int]]] = {}
        for kind, profiles in self._profile_of.items():
            order = np.argsort(profiles, kind="stable")
            unique, first = np.unique(profiles[order], return_index=True)
            members[kind] = {
                profile: order[place : place + 2].tolist()
                for profile, place in zip(unique.tolist(), first.tolist(), strict=True)
            }
        return members

    @cached_property
    def _profile_of(self) -> dict[str, Ints]:
        """The profile of each constant of a type."""
        fragment = self.setting.fragment
        tables = {
            sort.kind: np.zeros(fragment.universe.size(sort.kind), np.int64)
            for sort in fragment.sorts
        }
        for sort, profiles in zip(fragment.sorts, self.setting.profile_of, strict=True):
            tables[sort.kind][sort.members] = profiles
        return tables
