"""The ground atoms of a predicate: which are known, and which variable the others are.

An atom is a number, its code: its constants' numbers as digits of a mixed radix. Atoms that are
not known become variables, in the order of their codes, so a variable's number is its atom's
rank, and no atom needs a place in memory. In a predicate with mutually exclusive arguments, the
digits of those come last: a block of consecutive codes is one variable, its atoms are values.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN, Facts, Ints, Universe
from orbitmc.mln.language.syntax import Atom, Comparison, Constant, Predicate

MOST_CODES = 2**62


@dataclass(frozen=True)
class Atoms:
    """The atoms of one predicate.

    `known` are the sorted codes whose truth differs from `default` or was given, with `truth`.
    `width` atoms form a block, exactly one of them true (1 if the predicate has no blocks; then
    atoms stand alone). `fixed` holds, for every block, the one true code, or -1.
    """

    predicate: Predicate
    radix: Ints
    size: int
    width: int
    known: Ints
    truth: NDArray[np.int8]
    default: int
    fixed: Ints
    first: int = 0

    @property
    def in_blocks(self) -> bool:
        return self.predicate.is_block

    @property
    def variables(self) -> int:
        """How many variables the unknown atoms are."""
        if self.in_blocks:
            return int((self.fixed < 0).sum())
        unknown = int((self.truth == UNKNOWN).sum())
        return unknown if self.default != UNKNOWN else self.size - len(self.known) + unknown

    def codes(self, arguments: Sequence[Ints], rows: int) -> Ints:
        """Codes of atoms, from the numbers of their constants, a column each."""
        total = np.zeros(rows, dtype=np.int64)
        for radix, column in zip(self.radix, arguments, strict=True):
            total += radix * column
        return total

    def arguments(self, codes: Ints, universe: Universe) -> list[Ints]:
        """Numbers of the constants of atoms, a column for each argument."""
        sizes = [universe.size(kind) for kind in self.predicate.types]
        return [codes // radix % size for radix, size in zip(self.radix, sizes, strict=True)]

    def status(self, codes: Ints) -> NDArray[np.int8]:
        """FALSE, TRUE or UNKNOWN for every code."""
        status = np.full(len(codes), self.default, dtype=np.int8)
        if len(self.known):
            place = np.searchsorted(self.known, codes)
            place[place == len(self.known)] = 0
            hit = self.known[place] == codes
            status[hit] = self.truth[place[hit]]
        if self.in_blocks:
            decided = self.fixed[codes // self.width]
            status[decided >= 0] = FALSE
            status[decided == codes] = TRUE
        return status

    def literals(self, codes: Ints) -> tuple[Ints, Ints]:
        """Variable and value that make each of these unknown atoms true."""
        if self.in_blocks:
            block = codes // self.width
            start = block * self.width
            before = np.searchsorted(self._false, codes) - np.searchsorted(self._false, start)
            return self.first + self._rank_of_block[block], codes - start - before
        if self.default == UNKNOWN:
            rank = codes - np.searchsorted(self._certain, codes)
        else:
            rank = np.searchsorted(self._unknown, codes)
        return self.first + rank, np.ones(len(codes), dtype=np.int64)

    @cached_property
    def _rank_of_block(self) -> Ints:
        """Which of the open blocks each block is."""
        return np.asarray(np.cumsum(self.fixed < 0) - 1)

    @cached_property
    def _false(self) -> Ints:
        return np.asarray(self.known[self.truth == FALSE])

    @cached_property
    def _certain(self) -> Ints:
        return np.asarray(self.known[self.truth != UNKNOWN])

    @cached_property
    def _unknown(self) -> Ints:
        return np.asarray(self.known[self.truth == UNKNOWN])

    def possible(self) -> Ints:
        """Codes of the atoms that are not false, ascending."""
        if self.default == FALSE:
            return np.asarray(self.known[self.truth != FALSE])
        codes = np.arange(self.size)
        return np.asarray(codes[self.status(codes) != FALSE])

    def possible_count(self) -> int:
        """How many atoms are not false."""
        if self.in_blocks:
            return int((self.fixed >= 0).sum()) + int(self.cardinality().sum())
        false = int((self.truth == FALSE).sum())
        return len(self.known) - false if self.default == FALSE else self.size - false

    def unknown(self) -> Ints:
        """Codes of the unknown atoms, ascending."""
        if self.default != UNKNOWN:
            return self._unknown
        codes = np.arange(self.size)
        return np.asarray(codes[self.status(codes) == UNKNOWN])

    def variable_codes(self) -> Ints:
        """The code of each variable, ascending; of a block, its first."""
        if self.in_blocks:
            return np.flatnonzero(self.fixed < 0) * self.width
        return self.unknown()

    def known_codes(self) -> Ints:
        """Codes of the atoms that are not as usual, or were given, ascending."""
        return self.known

    def distinct_codes(self) -> Ints:
        """The code of each atom, ascending; atoms of constants that are one item count once."""
        return np.arange(self.size)

    def excluded_values(self) -> dict[int, list[int]]:
        """For each block that evidence narrows, the values that it rules out, ascending."""
        values: dict[int, list[int]] = {}
        for code in self._false.tolist() if self.in_blocks else ():
            values.setdefault(code // self.width, []).append(code % self.width)
        return values

    def cardinality(self) -> Ints:
        """How many values each variable of this predicate has."""
        if not self.in_blocks:
            return np.full(self.variables, 2)
        excluded = np.bincount(self._false // self.width, minlength=len(self.fixed))
        return (self.width - excluded)[self.fixed < 0]


@dataclass(frozen=True)
class PairAtoms(Atoms):
    """The atoms of a symmetric predicate: R(a,b) and R(b,a) are one variable.

    Constants that are known to be the same are one item: `item_of` each constant. Pairs of items,
    the smaller first, are numbered in the order of their first atoms; `known` are such numbers
    here. Of an `equivalence` all pairs of an item with itself are true.
    """

    item_of: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    equivalence: bool = False

    @cached_property
    def items(self) -> int:
        return int(self.item_of.max(initial=-1)) + 1

    @cached_property
    def _first_constant(self) -> Ints:
        """The first constant of each item."""
        return np.unique(self.item_of, return_index=True)[1]

    def pairs(self, codes: Ints) -> Ints:
        """The pair of items of each atom."""
        count = len(self.item_of)
        return self._number(self.item_of[codes // count], self.item_of[codes % count])

    def pairs_of(self, items: Ints) -> Ints:
        """All pairs in which some items are."""
        one, other = np.meshgrid(items, np.arange(self.items), indexing="ij")
        return self._number(one.reshape(-1), other.reshape(-1))

    def _number(self, one: Ints, other: Ints) -> Ints:
        low, high = np.minimum(one, other), np.maximum(one, other)
        return np.asarray(low * (2 * self.items - low - 1) // 2 + high)

    def ends(self, pairs: Ints) -> tuple[Ints, Ints]:
        """The two items of each pair, the smaller first."""
        item = np.arange(self.items)
        start = item * (2 * self.items - item - 1) // 2 + item
        low = np.searchsorted(start, pairs, side="right") - 1
        return low, pairs - start[low] + low

    def status(self, codes: Ints) -> NDArray[np.int8]:
        return super().status(self.pairs(codes))

    def literals(self, codes: Ints) -> tuple[Ints, Ints]:
        return super().literals(self.pairs(codes))

    @property
    def variables(self) -> int:
        return self.items * (self.items + 1) // 2 - len(self._certain)

    def possible_count(self) -> int:
        return int((self.status(np.arange(self.size)) != FALSE).sum())

    def variable_pairs(self) -> Ints:
        """The pair of items that each variable is about."""
        pairs = np.arange(self.items * (self.items + 1) // 2)
        return np.delete(pairs, np.searchsorted(pairs, self._certain))

    def variable_codes(self) -> Ints:
        low, high = self.ends(self.variable_pairs())
        first = self._first_constant
        return np.asarray(first[low] * len(self.item_of) + first[high])

    def known_codes(self) -> Ints:
        return np.flatnonzero(self.status(np.arange(self.size)) != UNKNOWN)

    def distinct_codes(self) -> Ints:
        first = self._first_constant
        return np.asarray(first[:, None] * len(self.item_of) + first).reshape(-1)


def pair_atoms(
    atoms: Atoms, universe: Universe, *, equivalence: bool, partial: bool = False
) -> PairAtoms:
    """The atoms of an open predicate that hard rules make symmetric, or an equivalence relation.

    What is known of some pairs decides others; evidence that does not fit is a contradiction. Of a
    `partial` equivalence relation, what is not equivalent to itself is to nobody.
    """
    count = universe.size(atoms.predicate.types[0])
    one, other = atoms.known // count, atoms.known % count
    true, false = atoms.truth == TRUE, atoms.truth == FALSE
    item_of = np.arange(count)
    if equivalence or partial:
        links = coo_array((np.ones(true.sum()), (one[true], other[true])), shape=(count, count))
        _, labels = connected_components(links, directed=False)
        _, first, place = np.unique(labels, return_index=True, return_inverse=True)
        item_of = np.argsort(np.argsort(first))[place]
    pairs = _with_items(atoms, item_of, equivalence)
    decided = {FALSE: pairs.pairs(atoms.known[false]), TRUE: pairs.pairs(atoms.known[true])}
    if equivalence:
        diagonal = np.arange(count) * (count + 1)
        decided[TRUE] = np.union1d(decided[TRUE], pairs.pairs(diagonal))
    if partial:
        alone = np.unique(item_of[one[false & (one == other)]])
        every = pairs.pairs_of(alone)
        decided[FALSE] = np.union1d(decided[FALSE], every)
    both = np.isin(pairs.pairs(atoms.known), np.intersect1d(decided[FALSE], decided[TRUE]))
    if (both & false).any():
        raise ContradictionError(_why_not_together(atoms, universe, atoms.known[both & false][0]))
    known = np.concatenate([np.unique(decided[FALSE]), np.unique(decided[TRUE])])
    truth = np.repeat(
        np.array([FALSE, TRUE], np.int8), [len(np.unique(decided[value])) for value in decided]
    )
    order = np.argsort(known)
    return replace(pairs, known=known[order], truth=truth[order])


def _with_items(atoms: Atoms, item_of: Ints, equivalence: bool) -> PairAtoms:
    shared = {each.name: getattr(atoms, each.name) for each in fields(Atoms)}
    return PairAtoms(**shared, item_of=item_of, equivalence=equivalence)


def _why_not_together(atoms: Atoms, universe: Universe, code: int) -> str:
    name = atom_names(atoms, np.array([code]), universe)[0]
    return (
        f"evidence contradicts the hard rules about {atoms.predicate.name}: {name} is given as "
        "false, but other evidence and these rules make it true"
    )


def ordered_atoms(atoms: Atoms, universe: Universe, *, reflexive: bool) -> Atoms:
    """The atoms of an open predicate that hard rules make a total order.

    What is known of some pairs decides others; evidence that does not fit is a contradiction.
    """
    count = universe.size(atoms.predicate.types[0])
    certain = atoms.truth != UNKNOWN
    one, other, holds = (
        atoms.known[certain] // count, atoms.known[certain] % count, atoms.truth[certain] == TRUE,
    )  # fmt: skip
    alone = one == other
    wrong = atoms.known[certain][alone & (holds != reflexive)]
    if len(wrong):
        raise ContradictionError(_why_not(atoms, universe, wrong[0], "a total order"))
    before = np.zeros((count, count), dtype=np.bool_)
    before[np.where(holds, one, other)[~alone], np.where(holds, other, one)[~alone]] = True
    before = _close(before)
    circle = np.flatnonzero(before.diagonal())
    if len(circle):
        inside = atoms.known[certain][before[one, one] & before[other, other] & ~alone]
        raise ContradictionError(_why_not(atoms, universe, inside[0], "a total order"))
    known = before | before.T | np.eye(count, dtype=np.bool_)
    true = before | (np.eye(count, dtype=np.bool_) & reflexive)
    return _decide(atoms, known, true)


def _close(before: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """All pairs that follow from those that are known."""
    while True:
        steps = before.astype(np.float32)
        further = before | (steps @ steps > 0)
        if (further == before).all():
            return before
        before = further


def forest_atoms(atoms: Atoms, universe: Universe) -> Atoms:
    """The atoms of an open predicate that hard rules make "is an ancestor of" in a forest.

    What is known of some pairs decides others; evidence that does not fit is a contradiction.
    """
    count = universe.size(atoms.predicate.types[0])
    status = atoms.status(np.arange(atoms.size)).reshape(count, count)
    above = _close(status == TRUE)
    known = above | above.T | (status == FALSE) | np.eye(count, dtype=np.bool_)
    wrong = np.flatnonzero((above & ((status == FALSE) | above.T)) | np.diag(above.diagonal()))
    if len(wrong):
        raise ContradictionError(_why_not(atoms, universe, wrong[0], "a forest"))
    return _decide(atoms, known, above)


def matched_atoms(atoms: Atoms, universe: Universe, *, all_first: bool, all_second: bool) -> Atoms:
    """The atoms of an open predicate that hard rules make a matching of two sorts.

    A match leaves the others of its row and its column out; who needs a partner, and has but one
    left, gets it. Evidence that does not fit is a contradiction.
    """
    shape = tuple(map(universe.size, atoms.predicate.types))
    status = atoms.status(np.arange(atoms.size)).reshape(shape)
    true, false = status == TRUE, status == FALSE
    while True:
        twice = (true.sum(axis=1, keepdims=True) > 1) | (true.sum(axis=0, keepdims=True) > 1)
        lonely = false.all(axis=1, keepdims=True) & all_first
        lonely = lonely | (false.all(axis=0, keepdims=True) & all_second)
        wrong = np.flatnonzero((true & twice) | (lonely & np.ones(shape, dtype=np.bool_)))
        if len(wrong):
            raise ContradictionError(_why_not(atoms, universe, wrong[0], "a matching"))
        decided = true.any(axis=1, keepdims=True) | true.any(axis=0, keepdims=True)
        left_out = false | (decided & ~true)
        only = np.zeros(shape, dtype=np.bool_)
        if all_first:
            only |= (~left_out).sum(axis=1, keepdims=True) == 1
        if all_second:
            only |= (~left_out).sum(axis=0, keepdims=True) == 1
        matched = true | (only & ~left_out)
        if (left_out == false).all() and (matched == true).all():
            return _decide(atoms, true | false, true)
        true, false = matched, left_out


def _decide(atoms: Atoms, known: NDArray[np.bool_], true: NDArray[np.bool_]) -> Atoms:
    """The same atoms, those of some pairs known; matrices are `[first, second]`."""
    codes = np.flatnonzero(known)
    truth = np.where(true.reshape(-1)[codes], TRUE, FALSE).astype(np.int8)
    return replace(atoms, known=codes, truth=truth)


def _why_not(atoms: Atoms, universe: Universe, code: int, kind: str) -> str:
    name = atom_names(atoms, np.array([code]), universe)[0]
    return (
        f"evidence contradicts the hard rules that make {atoms.predicate.name} {kind}: see {name}"
    )


def atom_codes(predicate: Predicate, universe: Universe) -> tuple[Ints, int, int]:
    """Radix of each argument, number of atoms, and atoms in a block."""
    sizes = [universe.size(kind) for kind in predicate.types]
    order = sorted(range(len(sizes)), key=lambda place: predicate.exclusive[place])
    radix, size = np.ones(len(sizes), dtype=np.int64), 1
    for place in reversed(order):
        radix[place] = min(size, MOST_CODES)
        size *= sizes[place]
    if size > MOST_CODES:
        raise LimitError(f"{predicate.name} has {size:.3g} ground atoms, too many to number")
    exclusive = [size for size, mark in zip(sizes, predicate.exclusive, strict=True) if mark]
    return radix, size, int(np.prod(exclusive, dtype=np.int64))


def known_atoms(
    predicate: Predicate, facts: Facts | None, universe: Universe, *, closed: bool
) -> tuple[Atoms, Ints, Floats]:
    """The atoms of a predicate under evidence; and codes and log-odds of soft evidence."""
    radix, size, width = atom_codes(predicate, universe)
    codes, truth = np.zeros(0, np.int64), np.zeros(0, np.int8)
    log_odds = np.zeros(0)
    if facts is not None:
        codes = fact_codes(predicate, radix, facts, universe)
        order = np.argsort(codes)
        codes, truth, log_odds = codes[order], facts.truth[order], facts.log_odds[order]
    in_blocks = predicate.is_block
    default = FALSE if closed and not in_blocks else UNKNOWN
    fixed = np.zeros(0, np.int64)
    if in_blocks:
        fixed = _decided_atoms(predicate, codes, truth, size // width, width)
    atoms = Atoms(predicate, radix, size, width, codes, truth, default, fixed)
    soft = (log_odds != 0) & (atoms.status(codes) == UNKNOWN)
    return atoms, codes[soft], log_odds[soft]


def given_atom(atoms: Atoms, code: int, holds: bool) -> Atoms:
    """The same atoms, one more of them known."""
    rest = atoms.known != code
    codes = np.append(atoms.known[rest], code)
    truth = np.append(atoms.truth[rest], TRUE if holds else FALSE).astype(np.int8)
    order = np.argsort(codes)
    codes, truth, fixed = codes[order], truth[order], atoms.fixed
    if atoms.in_blocks:
        blocks = atoms.size // atoms.width
        fixed = _decided_atoms(atoms.predicate, codes, truth, blocks, atoms.width)
    return replace(atoms, known=codes, truth=truth, fixed=fixed)


def fact_codes(predicate: Predicate, radix: Ints, facts: Facts, universe: Universe) -> Ints:
    """Codes of the atoms that evidence is about."""
    codes = np.zeros(len(facts.truth), dtype=np.int64)
    for kind, weight, names in zip(predicate.types, radix, facts.columns, strict=True):
        number = universe.numbers[kind].__getitem__
        codes += weight * np.fromiter(map(number, names), np.int64, len(names))
    return codes


def _decided_atoms(
    predicate: Predicate, codes: Ints, truth: NDArray[np.int8], blocks: int, width: int
) -> Ints:
    """The true atom of every block that evidence decides."""
    fixed = np.full(blocks, -1, dtype=np.int64)
    true = codes[truth == TRUE]
    fixed[true // width] = true
    if len(np.unique(true // width)) < len(true):
        raise ContradictionError(f"two atoms of one block of {predicate.name} are given as true")
    false = codes[truth == FALSE]
    excluded = np.bincount(false // width, minlength=blocks)
    if (excluded[fixed < 0] == width).any():
        raise ContradictionError(
            f"all atoms of a block of {predicate.name} are given as false, but one must be true"
        )
    left = np.arange(blocks) * width * width + width * (width - 1) // 2  # sums of codes
    np.subtract.at(left, false // width, false)
    alone = (excluded == width - 1) & (fixed < 0)
    fixed[alone] = left[alone]
    return fixed


Pair = tuple[int, int]


def possibly_equal(parts: Sequence[Atom | Comparison], atoms: Mapping[str, Atoms]) -> list[Pair]:
    """Places of atoms that may be the same variable, the earlier first.

    Atoms that name different constants at the same places never are; but in a block, those that
    differ in exclusive arguments only, and in pairs, those that name them the other way round.
    """
    alike: dict[str, dict[tuple[str | None, ...], list[int]]] = {}
    for place, part in enumerate(parts):
        if isinstance(part, Atom):
            exclusive = atoms[part.predicate].predicate.exclusive
            in_pairs = isinstance(atoms[part.predicate], PairAtoms)
            named = tuple(
                term.name if isinstance(term, Constant) and not (mark or in_pairs) else None
                for term, mark in zip(part.arguments, exclusive, strict=True)
            )
            alike.setdefault(part.predicate, {}).setdefault(named, []).append(place)
    pairs_found: list[Pair] = []
    for groups in alike.values():
        shapes: dict[tuple[bool, ...], list[tuple[str | None, ...]]] = {}
        for named, places in groups.items():
            pairs_found += itertools.combinations(places, 2)
            shapes.setdefault(tuple(name is None for name in named), []).append(named)
        for first, second in itertools.combinations(shapes.values(), 2):
            for left, right in itertools.product(first, second):
                if all(
                    None in pair or pair[0] == pair[1] for pair in zip(left, right, strict=True)
                ):
                    pairs = itertools.product(groups[left], groups[right])
                    pairs_found += [(min(pair), max(pair)) for pair in pairs]
    return pairs_found


# How ground atoms, and the variables that they became, are written.

PLAIN_CONSTANT = re.compile(r"[A-Z0-9][\w'-]*|-?\d+", re.ASCII)
FORMULA_WORDS = {"exist", "forall", "and", "or", "not"}  # of formulas, in some dialect
STRING_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\b": "\\b", "\r": "\\r", "\f": "\\f"}
)
TRUTH_VALUES = ("false", "true")


def constant_text(name: str) -> str:
    """A constant as programs write it: in quotes unless it could be mistaken for nothing else.

    >>> constant_text("Anna"), constant_text("Mary Ann")
    ('Anna', '"Mary Ann"')
    """
    if PLAIN_CONSTANT.fullmatch(name) and name.lower() not in FORMULA_WORDS:
        return name
    return f'"{name.translate(STRING_ESCAPES)}"'


def atom_names(atoms: Atoms, codes: Ints, universe: Universe) -> list[str]:
    """The names of atoms."""
    columns = _columns(atoms, codes, universe)
    return _atom_texts(atoms.predicate.name, columns, len(codes))


def variable_names(atoms: Atoms, universe: Universe) -> list[str]:
    """Names of a predicate's variables: the atom, or the block with `_` for its values."""
    codes = atoms.variable_codes()
    columns = _columns(atoms, codes, universe)
    for place, exclusive in enumerate(atoms.predicate.exclusive):
        if exclusive:
            columns[place] = ["_"] * len(codes)
    return _atom_texts(atoms.predicate.name, columns, len(codes))


def value_names(atoms: Atoms, universe: Universe) -> list[tuple[str, ...]]:
    """Names of the values of a predicate's variables."""
    if not atoms.in_blocks:
        return [TRUTH_VALUES] * atoms.variables
    columns = _columns(atoms, np.arange(atoms.width), universe)
    chosen = itertools.compress(columns, atoms.predicate.exclusive)
    words = tuple(",".join(row) for row in zip(*chosen, strict=True))
    excluded = {block: set(values) for block, values in atoms.excluded_values().items()}
    return [
        tuple(word for value, word in enumerate(words) if value not in excluded[block])
        if block in excluded
        else words
        for block in np.flatnonzero(atoms.fixed < 0).tolist()
    ]


def _columns(atoms: Atoms, codes: Ints, universe: Universe) -> list[list[str]]:
    columns = []
    numbers = atoms.arguments(codes, universe)
    for kind, column in zip(atoms.predicate.types, numbers, strict=True):
        words = [constant_text(name) for name in universe.constants[kind]]
        columns.append([words[number] for number in column.tolist()])
    return columns


def _atom_texts(name: str, columns: list[list[str]], count: int) -> list[str]:
    if not columns:
        return [name] * count
    pattern = f"{name}({','.join(['%s'] * len(columns))})"
    return [pattern % row for row in zip(*columns, strict=True)]
