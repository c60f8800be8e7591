"""What is known of constants and of pairs of them, and which constants it does not tell apart.

What is known of one field is a pattern: a log-weight for each of its values, 0 if it is open.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.lifted.fragment import Fragment, NotLiftableError, Schema
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN, Ints

Key = tuple[int, ...]
MOST_PAIRS = 100_000  # that are known: more have hardly ever a pattern


class Field(NamedTuple):
    """What can be said of an element, of a pair of them, or of none: atoms of one predicate.

    `key` are the constants that are written out.
    """

    predicate: str
    key: Key


@dataclass(frozen=True)
class Known:
    """What is known of the fields of one predicate and key.

    `patterns[0]` holds for all elements but the listed ones: `elements[k]`, whose constants are a
    row, has the pattern `pattern[k]`, which is another one.
    """

    patterns: Floats
    elements: Ints
    pattern: Ints


def read_known(fragment: Fragment) -> dict[Field, Known]:
    """What is known of every field."""
    fields = {}
    for name in fragment.program.predicates:
        kinds = fragment.program.predicates[name].types
        schema = fragment.schemas[name]
        ranges = [range(fragment.universe.size(kinds[place])) for place in schema.written]
        rows = _rows(fragment, name, schema)
        for key in itertools.product(*ranges):
            fields[Field(name, key)] = _known(fragment, name, schema, rows.get(key))
    return fields


Row = tuple[Ints, Ints, Ints, Floats]
"""Of atoms with evidence: elements, values, truth and log-odds."""


def _rows(fragment: Fragment, name: str, schema: Schema) -> dict[Key, Row]:
    """All atoms of a predicate with evidence, by what is written out in them."""
    atoms = fragment.atoms[name]
    soft_codes, soft_odds = fragment.soft[name]
    codes = atoms.known
    if not len(codes):
        return {}
    odds = np.zeros(len(codes))
    odds[np.searchsorted(codes, soft_codes)] = soft_odds
    columns = np.array(atoms.arguments(codes, fragment.universe)).reshape(-1, len(codes)).T
    value = codes % atoms.width if schema.values else np.ones(len(codes), np.int64)
    truth = atoms.truth.astype(np.int64)
    elements, keys = columns[:, list(schema.elements)], columns[:, list(schema.written)]
    if not schema.written:
        return {(): (elements, value, truth, odds)}
    unique, which = np.unique(keys, axis=0, return_inverse=True)
    rows = [which.reshape(-1) == number for number in range(len(unique))]
    return {
        tuple(key.tolist()): (elements[row], value[row], truth[row], odds[row])
        for key, row in zip(unique, rows, strict=True)
    }


def _known(fragment: Fragment, name: str, schema: Schema, rows: Row | None) -> Known:
    default = np.zeros(schema.size)
    if not schema.values and fragment.atoms[name].default == FALSE:
        default[1] = -np.inf
    nothing = np.zeros((0, len(schema.elements)), np.int64)
    if rows is None:
        return Known(default[None], nothing, np.zeros(0, np.int64))
    elements, patterns = (_of_blocks if schema.values else _of_atoms)(schema, rows)
    table, pattern = np.unique(np.vstack([default, patterns]), axis=0, return_inverse=True)
    pattern = pattern.reshape(-1)
    order = np.concatenate([pattern[:1], np.setdiff1d(np.arange(len(table)), pattern[:1])])
    place = np.argsort(order)[pattern[1:]]
    other = place > 0
    return Known(table[order], elements[other], place[other])


def _of_atoms(schema: Schema, rows: Row) -> tuple[Ints, Floats]:
    elements, _, truth, odds = rows
    patterns = np.zeros((len(truth), 2))
    patterns[truth == TRUE, 0] = -np.inf
    patterns[truth == FALSE, 1] = -np.inf
    unknown = truth == UNKNOWN
    patterns[unknown, 1] = odds[unknown]
    return elements, patterns


def _of_blocks(schema: Schema, rows: Row) -> tuple[Ints, Floats]:
    """Evidence on blocks: each of their atoms tells of one value."""
    elements, value, truth, odds = rows
    unique, which = np.unique(elements, axis=0, return_inverse=True)
    which = which.reshape(-1)
    if not elements.shape[1]:
        unique, which = elements[:1], np.zeros(len(elements), np.int64)
    patterns = np.zeros((len(unique), schema.size))
    true = truth == TRUE
    fixed = np.zeros(len(unique), np.bool_)
    fixed[which[true]] = True
    patterns[fixed] = -np.inf
    patterns[which[true], value[true]] = 0.0
    other = ~true & ~fixed[which]
    patterns[which[other], value[other]] = np.where(truth[other] == FALSE, -np.inf, odds[other])
    return unique, patterns


# Twins: constants that can be exchanged without a change of what is known of pairs.


class Link(NamedTuple):
    """What is known of a pair, as one of its constants sees it."""

    field: int
    place: int
    partner: tuple[str, int]
    pattern: int


def require_few_pairs(known: Mapping[Field, Known]) -> None:
    """Refuse observed pairs that are too many to be looked at one by one."""
    pairs_known = sum(
        len(facts.elements) for facts in known.values() if facts.elements.shape[1] == 2
    )
    if pairs_known > MOST_PAIRS:
        raise NotLiftableError(
            f"{pairs_known:,} pairs of constants are observed; twins are looked for among "
            f"{MOST_PAIRS:,}"
        )


def find_links(
    fragment: Fragment, known: Mapping[Field, Known]
) -> dict[tuple[str, int], set[Link]]:
    """All that is known of pairs of different constants, by constant (type and number)."""
    require_few_pairs(known)
    links: dict[tuple[str, int], set[Link]] = {}
    for number, (name, facts) in enumerate(known.items()):
        places = fragment.schemas[name.predicate].elements
        if len(places) != 2:
            continue
        first, second = (fragment.program.predicates[name.predicate].types[p] for p in places)
        pairs = zip(facts.elements.tolist(), facts.pattern.tolist(), strict=True)
        for (a, b), pattern in pairs:
            one, two = (first, a), (second, b)
            if one == two:
                continue
            links.setdefault(one, set()).add(Link(number, 0, two, pattern))
            links.setdefault(two, set()).add(Link(number, 1, one, pattern))
    return links


def count_different(fragment: Fragment, known: Mapping[Field, Known]) -> int:
    """How many constants are certainly no twins of each other: twins have as many links.

    It takes little time, and so tells what has no pattern before twins are looked for.
    """
    counts: dict[str, list[Ints]] = {kind: [] for kind in fragment.sort_of}
    for name, facts in known.items():
        places = fragment.schemas[name.predicate].elements
        if len(places) != 2:
            continue
        kinds = [fragment.program.predicates[name.predicate].types[place] for place in places]
        apart = (facts.elements[:, 0] != facts.elements[:, 1]) | (kinds[0] != kinds[1])
        for place, kind in enumerate(kinds):
            of_each = facts.elements[apart, place]
            counts[kind].append(np.bincount(of_each, minlength=fragment.universe.size(kind)))
    return sum(
        len(np.unique(np.column_stack(columns)[fragment.sort_of[kind] >= 0], axis=0))
        for kind, columns in counts.items()
        if columns
    )


def group_twins(members: Ints, kind: str, links: Mapping[tuple[str, int], set[Link]]) -> list[Ints]:
    """Constants of a sort in groups of twins; those of which no pair is known are the last."""
    linked = [number for number in members.tolist() if links.get((kind, number))]
    parent = {number: number for number in linked}

    def root(number: int) -> int:
        while parent[number] != number:
            number = parent[number]
        return number

    seen: dict[object, int] = {}
    for number in linked:
        for signature in _signatures((kind, number), links[kind, number]):
            other = seen.setdefault(signature, number)
            parent[root(number)] = root(other)
    groups: dict[int, list[int]] = {}
    for number in linked:
        groups.setdefault(root(number), []).append(number)
    free = np.setdiff1d(members, np.array(linked, dtype=np.int64))
    lists = [np.array(group, dtype=np.int64) for group in groups.values()]
    return [*lists, free] if len(free) else lists


def _signatures(constant: tuple[str, int], links: set[Link]) -> Iterator[object]:
    """What twins have in common: their links; or these and one to itself, if twins are linked.

    A link to itself is what they know of each other, which must be the same both ways.
    """
    yield frozenset(links)
    by_partner: dict[tuple[str, int], set[tuple[int, int, int]]] = {}
    for link in links:
        if link.partner[0] == constant[0]:
            by_partner.setdefault(link.partner, set()).add((link.field, link.place, link.pattern))
    mutual = {
        frozenset(known)
        for known in by_partner.values()
        if {(field, 1 - place, pattern) for field, place, pattern in known} == known
    }
    for known in mutual:
        to_itself = {Link(field, place, constant, pattern) for field, place, pattern in known}
        yield frozenset(links | to_itself), known


def combine_codes(codes: Sequence[Ints], sizes: Sequence[int], rows: int) -> tuple[Ints, Ints]:
    """Distinct rows of several columns of small numbers: one row of each, and which each has."""
    which, first = np.zeros(rows, np.int64), np.zeros(min(rows, 1), np.int64)
    for column, size in zip(codes, sizes, strict=True):
        _, first, which = np.unique(which * size + column, return_index=True, return_inverse=True)
    return first, which
