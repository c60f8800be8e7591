"""What permutations within sets of variables can change: fields relative to what a set shares.

A permutation keeps how many members of a set are 1. So what every member gets from an outside
neighbour by the same coupling does not change, nor do equal couplings of all pairs in a set. With
the coupling that most of them have as the new zero, only the others are left to look at.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, lengths, readonly, starts
from orbitmc.conditionals.classify import FIELD, TRIPLET, fill_sextets
from orbitmc.conditionals.layout import Conditionals
from orbitmc.conditionals.prepared import PreparedGraph, fields_in_double

Numbers = NDArray[np.int64]

NEGLIGIBLE_COUPLING = 1e-12  # a difference of couplings that is rounding
WORTHWHILE, FOR_SUMS = 0.5, 0.9  # of what was to be looked at: with more left, nothing is gained


class Entries(NamedTuple):
    """Couplings one by one: whose field, which neighbour, how strong."""

    owner: Numbers
    neighbour: Numbers
    coupling: Floats


class Sets(NamedTuple):
    """Disjoint sets: the number of each variable's (negative: none), and all members in order."""

    of: Numbers
    member: Numbers
    start: Numbers

    @property
    def sizes(self) -> Numbers:
        return np.diff(self.start)


def relative_fields(prepared: PreparedGraph, set_of: Numbers, block_of: Numbers) -> Conditionals:
    """Conditionals whose fields are right up to a number that is the same in a whole set.

    They serve steps that permute values within sets, and nothing else. `set_of` numbers the set
    of each variable (negative: none); variables of equal `block_of` may change in the same step,
    and a set lies in one block.
    """
    graph, usual = prepared
    sets = _sets(np.where(usual.affine != 0, set_of, -1))
    coupling, _ = fields_in_double(prepared)
    owner = np.repeat(np.arange(graph.variables), lengths(usual.neighbour_start))
    known = Entries(owner, usual.neighbour.astype(np.int64), coupling)
    shifts = [_shift_outside(known, sets, block_of), _shift_inside(known, sets)]
    relative = _sum([known, *shifts], graph.variables)
    shorter = _shorter(known, relative, sets, usual.path == FIELD)
    return _with_couplings(usual, relative, shorter) if shorter.any() else usual


def _shorter(
    known: Entries, relative: Entries, sets: Sets, summed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Variables whose set has less to look at than before.

    It must be much less, unless all have been `summed` one by one anyway: other ways are faster.
    """
    inside = sets.of >= 0
    count = len(sets.sizes)
    before, after = (
        np.bincount(sets.of[entries.owner[inside[entries.owner]]], minlength=count)
        for entries in (known, relative)
    )
    others = np.bincount(sets.of[inside & ~summed], minlength=count)
    chosen = (before > 0) & (after <= np.where(others > 0, WORTHWHILE, FOR_SUMS) * before)
    return inside & np.append(chosen, np.False_)[sets.of]


def _sets(of: Numbers) -> Sets:
    inside = np.flatnonzero(of >= 0)
    member = inside[np.argsort(of[inside], kind="stable")]
    return Sets(of, member, starts(np.bincount(of[inside])).astype(np.int64))


def _shift_outside(known: Entries, sets: Sets, block_of: Numbers) -> Entries:
    """Take from all members of a set what most of them get from a neighbour outside."""
    variables = len(sets.of)
    number = sets.of[known.owner]
    outside = (number >= 0) & (block_of[known.owner] != block_of[known.neighbour])
    key = number[outside] * variables + known.neighbour[outside]
    pairs, usual = _majority_couplings(key, known.coupling[outside], sets.sizes, variables)
    owner, place = _members(sets, pairs // variables)
    return Entries(owner, (pairs % variables)[place], -usual[place])


def _shift_inside(known: Entries, sets: Sets) -> Entries:
    """Take from all pairs of a set the coupling that most of them have."""
    number = sets.of[known.owner]
    inside = (number >= 0) & (number == sets.of[known.neighbour])
    pairs = sets.sizes * (sets.sizes - 1)
    numbers, usual = _majority_couplings(number[inside], known.coupling[inside], pairs, 1)
    owner, place = _members(sets, numbers)
    other, pair = _members(sets, numbers[place])
    different = owner[pair] != other
    return Entries(owner[pair][different], other[different], -usual[place][pair][different])


def _majority_couplings(
    key: Numbers, coupling: Floats, places: Numbers, keys_each: int
) -> tuple[Numbers, Floats]:
    """Keys with a coupling that is more frequent than none at all, and that coupling.

    Key `k` has room for `places[k // keys_each]` couplings; missing ones are 0.
    """
    rounded = np.round(coupling / NEGLIGIBLE_COUPLING) * NEGLIGIBLE_COUPLING
    order = np.lexsort((rounded, key))
    key, rounded = key[order], rounded[order]
    new = np.ones(len(key), dtype=np.bool_)
    new[1:] = (np.diff(key) != 0) | (np.diff(rounded) != 0)
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(key)))
    best = np.lexsort((-count, key[first]))
    best = best[np.unique(key[first][best], return_index=True)[1]]
    keys = key[first][best]
    missing = places[keys // keys_each] - np.bincount(
        np.searchsorted(keys, key), minlength=len(keys)
    )
    wins = count[best] > missing
    return keys[wins], coupling[order][first[best]][wins]


def _members(sets: Sets, numbers: Numbers) -> tuple[Numbers, Numbers]:
    """All members of some sets one after the other, and whose turn each of them is in."""
    sizes = sets.sizes[numbers]
    place = np.repeat(np.arange(len(numbers)), sizes)
    within = np.arange(len(place)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return sets.member[sets.start[numbers][place] + within], place


def _sum(parts: list[Entries], variables: int) -> Entries:
    """Add up what concerns the same pair, and leave out what is nothing."""
    key = np.concatenate([part.owner * variables + part.neighbour for part in parts])
    pair, which = np.unique(key, return_inverse=True)
    coupling = np.concatenate([part.coupling for part in parts])
    total = np.bincount(which.reshape(-1), coupling).astype(np.float64)
    nonzero = np.abs(total) > NEGLIGIBLE_COUPLING
    return Entries(pair[nonzero] // variables, pair[nonzero] % variables, total[nonzero])


def _with_couplings(
    usual: Conditionals, relative: Entries, changed: NDArray[np.bool_]
) -> Conditionals:
    """Fields of some variables from other couplings, summed one by one; limits are left behind."""
    owner = np.repeat(np.arange(len(changed)), lengths(usual.neighbour_start))
    unchanged, new = np.flatnonzero(~changed[owner]), np.flatnonzero(changed[relative.owner])
    owners = np.concatenate([owner[unchanged], relative.owner[new]])
    order = np.argsort(owners, kind="stable")
    neighbour = np.concatenate(
        [usual.neighbour[unchanged], relative.neighbour[new].astype(np.uint32)]
    )
    role = np.concatenate([usual.role[unchanged], np.zeros(len(new), dtype=np.uint32)])
    rounded = relative.coupling[new].astype(usual.coupling.dtype)
    coupling = np.concatenate([usual.coupling[unchanged], rounded])[order]
    start = starts(np.bincount(owners, minlength=len(changed)))
    sextet_start = starts(np.where(usual.affine, lengths(start) // 6 * 2 * TRIPLET, 0))
    sextet = np.zeros(int(sextet_start[-1]))
    fill_sextets(start, coupling.astype(np.float64), sextet_start, sextet)
    return usual._replace(
        path=readonly(np.where(changed, FIELD, usual.path).astype(np.uint8)),
        neighbour_start=start,
        neighbour=readonly(neighbour[order]),
        role=readonly(role[order]),
        coupling=readonly(coupling),
        sextet_start=sextet_start,
        sextet=readonly(sextet.astype(np.float32)),
    )
