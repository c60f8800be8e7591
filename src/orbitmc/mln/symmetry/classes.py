"""Classes of constants that may be swapped, and the variables that speak of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, indices, readonly, starts
from orbitmc.errors import InputError
from orbitmc.groups._exchange_blocks import ConstantSwaps
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN, Ints, Universe
from orbitmc.mln.grounding.atoms import Atoms, PairAtoms
from orbitmc.mln.grounding.grounding import Ground
from orbitmc.mln.language.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Predicate,
    Program,
    Term,
    Variable,
    atoms_of,
    parts_of,
    variables,
)

Classes = Mapping[str, Ints]
"""For each type, the class of each constant. A type may be missing; -1 is nobody's class."""


@dataclass(frozen=True)
class _Family:
    """Variables of one predicate with the same values: which, their codes, and the digits."""

    variable: Ints
    code: Ints
    place_kind: Ints
    radix: Ints
    size: Ints


def constant_swaps(ground: Ground, classes: Classes) -> ConstantSwaps:
    """Let constants of one class be swapped.

    Constants at mutually exclusive places are values of variables: they stay. A class whose
    members no variable speaks of is left out, and so are constants that are one item with others.
    """
    universe = ground.universe
    kinds = list(universe.constants)
    sizes = np.array([universe.size(kind) for kind in kinds], dtype=np.int64)
    kind = np.repeat(np.arange(len(kinds)), sizes)
    digit = np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)])
    families, truth = _all_families(ground, kinds)
    constant, variable = _mentions(families, np.cumsum(sizes) - sizes)
    row = _row_of(classes, universe, value_kinds(ground))
    members, which, count = _members(np.where(_united(ground, kinds), -1, row), constant)
    wanted = np.isin(constant, members)
    return ConstantSwaps(
        start=starts(count),
        member=indices(members),
        class_of=indices(which),
        digit=readonly(digit),
        kind=indices(kind),
        mention_start=starts(np.bincount(constant[wanted], minlength=len(kind))),
        mention=indices(variable[wanted]),
        **_by_variable(families, len(ground.cardinality) + len(truth)),
        truth=readonly(truth),
    )


def value_kinds(ground: Ground) -> set[str]:
    """Types whose constants are values of some variable."""
    return {
        kind
        for atoms in ground.atoms.values()
        for kind, mark in zip(atoms.predicate.types, atoms.predicate.exclusive, strict=True)
        if mark and atoms.variables
    }


def _row_of(classes: Classes, universe: Universe, excluded: set[str]) -> Ints:
    """Classes of all constants in one row, numbered apart for each type."""
    row = [np.zeros(0, dtype=np.int64)]
    offset = 0
    for kind in universe.constants:
        class_of = classes.get(kind)
        if class_of is None or kind in excluded:
            class_of = np.full(universe.size(kind), -1)
        elif len(class_of) != universe.size(kind):
            raise InputError(f"{universe.size(kind)} constants of {kind} need a class each")
        row.append(np.where(class_of < 0, -1, class_of + offset))
        offset += int(class_of.max(initial=-1)) + 1
    return np.concatenate(row)


def _members(row: Ints, mentioned: Ints) -> tuple[Ints, Ints, Ints]:
    """Constants with company, class by class; the number of their class; sizes of classes."""
    spoken_of = np.zeros(len(row), dtype=bool)
    spoken_of[mentioned] = True
    usual = np.bincount(row[spoken_of & (row >= 0)], minlength=int(row.max(initial=-1)) + 1)
    large = np.bincount(row[row >= 0], minlength=len(usual)) > 1
    chosen = (row >= 0) & np.concatenate([(usual > 0) & large, [False]])[row]
    members = np.flatnonzero(chosen)
    members = members[np.argsort(row[members], kind="stable")]
    _, which, count = np.unique(row[members], return_inverse=True, return_counts=True)
    return members, which.reshape(-1), count


def _united(ground: Ground, kinds: list[str]) -> NDArray[np.bool_]:
    """Which constants, of all in one row, are one item with others of a relation."""
    united = {kind: np.zeros(ground.universe.size(kind), dtype=np.bool_) for kind in kinds}
    for atoms in ground.atoms.values():
        if isinstance(atoms, PairAtoms):
            united[atoms.predicate.types[0]] |= np.bincount(atoms.item_of)[atoms.item_of] > 1
    return np.concatenate([np.zeros(0, dtype=np.bool_), *united.values()])


def _all_families(ground: Ground, kinds: list[str]) -> tuple[list[_Family], NDArray[np.uint8]]:
    """Families of all variables and of known atoms of relations, and which of these are true."""
    drawn = {each.predicate for each in ground.relations if each.kind != "symmetric"}
    families: list[_Family] = []
    truth = [np.zeros(0, dtype=np.uint8)]
    beyond = len(ground.cardinality)
    for name, atoms in ground.atoms.items():
        for family in _families(atoms, ground.universe, kinds):
            if name in drawn or isinstance(atoms, PairAtoms):
                family, known = _with_known(family, atoms, name in drawn, beyond)
                truth.append(known)
                beyond += len(known)
            families.append(family)
    return families, np.concatenate(truth)


def _with_known(
    family: _Family, atoms: Atoms, drawn: bool, beyond: int
) -> tuple[_Family, NDArray[np.uint8]]:
    """A family in all orders of its constants; of a relation that is drawn, also what is known."""
    code = atoms.distinct_codes()
    status = atoms.status(code)
    if not drawn:
        code, status = code[status == UNKNOWN], status[status == UNKNOWN]
    known = status != UNKNOWN
    variable = np.empty(len(code), dtype=np.int64)
    variable[~known] = atoms.literals(code[~known])[0]
    variable[known] = beyond + np.arange(known.sum())
    truth = (status[known] == TRUE).astype(np.uint8)
    return replace(family, variable=variable, code=code), truth


def _families(atoms: Atoms, universe: Universe, kinds: list[str]) -> Iterator[_Family]:
    if not atoms.variables:
        return
    predicate = atoms.predicate
    places = [place for place, mark in enumerate(predicate.exclusive) if not mark]
    kinds_of = [predicate.types[place] for place in places]
    variable = atoms.first + np.arange(atoms.variables)
    code = atoms.variable_codes()
    alike = _same_values(atoms, code)
    for number in np.unique(alike):
        yield _Family(
            variable=variable[alike == number],
            code=code[alike == number],
            place_kind=np.array([kinds.index(kind) for kind in kinds_of], dtype=np.int64),
            radix=atoms.radix[places],
            size=np.array([universe.size(kind) for kind in kinds_of], dtype=np.int64),
        )


def _same_values(atoms: Atoms, code: Ints) -> Ints:
    """Number variables by which values evidence excludes from their blocks."""
    numbers: dict[tuple[int, ...], int] = {(): 0}
    number_of = np.zeros(len(code), dtype=np.int64)
    for block, values in atoms.excluded_values().items():
        place = np.searchsorted(code, block * atoms.width)
        if place < len(code) and code[place] == block * atoms.width:
            number_of[place] = numbers.setdefault(tuple(values), len(numbers))
    return number_of


def _mentions(families: list[_Family], first: Ints) -> tuple[Ints, Ints]:
    """Pairs of a constant and a variable that speaks of it, each once, by constant."""
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for family in families:
        for kind, radix, size in zip(family.place_kind, family.radix, family.size, strict=True):
            constant = first[kind] + family.code // radix % size
            pairs.append(np.stack([constant, family.variable], axis=1))
    every = np.concatenate(pairs)
    most = int(every[:, 1].max(initial=0)) + 1
    keys = np.sort(every[:, 0] * most + every[:, 1])
    keys = keys[np.diff(keys, prepend=-1) > 0]  # much faster here than `unique`
    return keys // most, keys % most


def _by_variable(families: list[_Family], variables: int) -> dict[str, np.ndarray]:
    """Families as arrays; within each, codes rise."""
    nothing = [np.zeros(0, dtype=np.int64)]
    owner = np.concatenate(nothing + [family.variable for family in families])
    known = np.concatenate(nothing + [family.code for family in families])
    counts = np.array([len(family.variable) for family in families], dtype=np.int64)
    places = np.array([len(family.radix) for family in families], dtype=np.int64)
    code, number = np.zeros((2, variables), dtype=np.int64)
    code[owner], number[owner] = known, np.repeat(np.arange(len(families)), counts)
    return {
        "family": indices(number),
        "code": readonly(code),
        "place_start": starts(places),
        "place_kind": indices(np.concatenate(nothing + [part.place_kind for part in families])),
        "radix": readonly(np.concatenate(nothing + [part.radix for part in families])),
        "size": readonly(np.concatenate(nothing + [part.size for part in families])),
        "code_start": starts(counts),
        "known_code": readonly(known),
        "owner": indices(owner),
    }


# Which constants formulas tell apart, so that no renaming may move them.

Marks = dict[str, NDArray[np.bool_]]


def fixed_constants(program: Program, universe: Universe) -> Marks:
    """For each type, which constants are named in a formula, or compared by more than identity."""
    marks = {kind: np.zeros(len(names), bool) for kind, names in universe.constants.items()}
    for rule in program.rules:
        for part in parts_of(rule.formula):
            named = (
                _in_atom(part, program.predicates[part.predicate], rule.types)
                if isinstance(part, Atom)
                else _in_comparison(part, rule.types)
            )
            for kind, name in named:
                if name is None:
                    marks[kind][:] = True
                elif name in universe.numbers[kind]:
                    marks[kind][universe.numbers[kind][name]] = True
    return marks


Named = Iterator[tuple[str, str | None]]
"""Types with a name each; None stands for every constant of the type."""


def _in_atom(atom: Atom, predicate: Predicate, types: Mapping[str, str]) -> Named:
    for term, kind in zip(atom.arguments, predicate.types, strict=True):
        if isinstance(term, Constant):
            yield kind, term.name
        elif isinstance(term, Arithmetic):
            yield kind, None
            yield from _all_constants(term, types)


def _in_comparison(comparison: Comparison, types: Mapping[str, str]) -> Named:
    identity = comparison.operator in ("=", "!=")
    match comparison.left, comparison.right:
        case Variable(one), Variable(other) if identity and types[one] == types[other]:
            return
        case (Variable(one), Constant(name)) | (Constant(name), Variable(one)) if identity:
            yield types[one], name
        case left, right:
            yield from _all_constants(left, types)
            yield from _all_constants(right, types)


def _all_constants(term: Term, types: Mapping[str, str]) -> Named:
    return ((types[name], None) for name in variables(term))


# What is known about constants: tuples of them, wherever knowledge differs from the custom.


@dataclass(frozen=True)
class Relation:
    """The atoms of a predicate whose status is not the default, or that have soft evidence.

    `arguments` has a row of constants for each, numbered within their types (`kinds`).
    """

    name: str
    kinds: tuple[str, ...]
    arguments: Ints
    truth: NDArray[np.int8]
    log_odds: Floats

    @property
    def is_among_equals(self) -> bool:
        """Whether it relates two constants of one type."""
        return len(self.kinds) == 2 and self.kinds[0] == self.kinds[1]


def relations(ground: Ground) -> Iterator[Relation]:
    """What is known, predicate by predicate; those that no formula reads are left out."""
    read = {atom.predicate for rule in ground.program.rules for atom in atoms_of(rule.formula)}
    for name, atoms in ground.atoms.items():
        if name not in read and not atoms.variables:
            continue
        codes, log_odds = _unusual_atoms(ground, atoms)
        yield Relation(
            name=name,
            kinds=atoms.predicate.types,
            arguments=rows_of(ground, atoms, codes),
            truth=atoms.status(codes),
            log_odds=log_odds,
        )


def rows_of(ground: Ground, atoms: Atoms, codes: Ints) -> Ints:
    """The constants of atoms, a row each."""
    columns = atoms.arguments(codes, ground.universe)
    return np.stack(columns, axis=1) if columns else np.zeros((len(codes), 0), dtype=np.int64)


def soft_evidence(ground: Ground, atoms: Atoms) -> tuple[Ints, Floats]:
    """Codes of the atoms of a predicate with soft evidence, ascending, and their log-odds."""
    soft = ground.soft
    of_predicate = (soft.variable >= atoms.first) & (soft.variable < atoms.first + atoms.variables)
    if not of_predicate.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    codes = atoms.unknown() if atoms.in_blocks else atoms.variable_codes()
    most = int(ground.cardinality.max())
    variable, value = atoms.literals(codes)
    # literals rise with codes, so this finds each atom again
    place = np.searchsorted(
        variable * most + value, soft.variable[of_predicate] * most + soft.value[of_predicate]
    )
    order = np.argsort(place)
    return codes[place[order]], soft.log_odds[of_predicate][order]


def _unusual_atoms(ground: Ground, atoms: Atoms) -> tuple[Ints, Floats]:
    """Codes, ascending, of atoms that are not as usual, and their log-odds."""
    codes_given = atoms.known_codes()
    if atoms.in_blocks:
        undecided = atoms.fixed[codes_given // atoms.width] < 0
        excluded = codes_given[(atoms.truth == FALSE) & undecided]
        codes_given = np.concatenate([atoms.fixed[atoms.fixed >= 0], excluded])
    codes_given = codes_given[atoms.status(codes_given) != atoms.default]
    doubted, doubts = soft_evidence(ground, atoms)
    codes = np.union1d(codes_given, doubted)
    log_odds = np.zeros(len(codes))
    log_odds[np.searchsorted(codes, doubted)] = doubts
    return codes, log_odds
