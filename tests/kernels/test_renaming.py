"""Swaps of constants do to variables what renaming the constants means."""

import itertools

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.groups._exchange_blocks import NO_OWNER, swap_image
from orbitmc.kernels.renaming import renaming
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse
from orbitmc.mln.symmetry.classes import constant_swaps
from orbitmc.mln.symmetry.renamings import induced_permutation

TEXT = """
person = {A, B, C, D}
thing = {T, U}
colour = {Red, Green, Blue}
Friends(person, person)
Gives(person, thing, person)
Likes(person, colour!)
0.3 Friends(x, y) ^ Gives(x, t, y)
0.2 Gives(x, t, y) ^ Likes(x, c) => Likes(y, c)
"""


def grounded(evidence):
    program = parse(TEXT)
    world = World(opened=frozenset({"Friends", "Gives", "Likes"}))
    return ground(program, parse_database(evidence, program), world)


def images_of(swaps, one, other):
    """Where a swap carries the variables that speak of either constant and move."""
    found = {}
    for constant, partner in ((one, other), (other, one)):
        begin, end = swaps.mention_start[constant], swaps.mention_start[constant + 1]
        for variable in swaps.mention[begin:end].tolist():
            image, both = swap_image(swaps, variable, constant, partner)
            assert both == (variable in mentions(swaps, partner))
            if image not in (NO_OWNER, variable):
                found[variable] = int(image)
    return found


def mentions(swaps, constant):
    return set(swaps.mention[swaps.mention_start[constant] : swaps.mention_start[constant + 1]])


@pytest.mark.parametrize("kind", ["person", "thing"])
def test_swaps_are_renamings_where_nothing_is_known(kind):
    found = grounded("")
    size = found.universe.size(kind)
    swaps = constant_swaps(found, {kind: np.zeros(size, dtype=np.int64)})
    first = int(swaps.member.min())
    for one, other in itertools.combinations(range(size), 2):
        images = np.arange(size)
        images[[one, other]] = other, one
        element = induced_permutation(found, {kind: images})
        expected = dict(zip(element.point.tolist(), element.image.tolist(), strict=True))
        assert images_of(swaps, first + one, first + other) == expected


def test_swaps_undo_themselves_and_leave_alone_what_has_no_partner():
    found = grounded(
        "Friends(A, B)\n!Gives(A, T, C)\n!Likes(A, Red)\n!Likes(B, Red)\nLikes(D, Red)"
    )
    names = model_of(found).names
    swaps = constant_swaps(found, {"person": np.zeros(4, dtype=np.int64)})
    seen = {}
    for one, other in itertools.combinations(swaps.member.tolist(), 2):
        images = images_of(swaps, one, other)
        assert all(images[image] == variable for variable, image in images.items())
        sizes = found.cardinality
        assert all(sizes[variable] == sizes[image] for variable, image in images.items())
        pairs = {(names[variable], names[image]) for variable, image in images.items()}
        seen[one, other] = pairs
    a, b, c, _ = sorted(swaps.member.tolist())
    assert ("Likes(A,_)", "Likes(B,_)") in seen[a, b]
    assert not any(name.startswith("Likes") for name, _ in seen[a, c])
    assert "Friends(B,A)" not in dict(seen[a, b])
    assert ("Friends(B,A)", "Friends(B,C)") in seen[a, c]
    assert ("Gives(A,U,C)", "Gives(C,U,A)") in seen[a, c]
    assert "Gives(C,T,A)" not in dict(seen[a, c])


def test_values_and_strangers_stay():
    found = grounded("")
    classes = {"colour": np.zeros(3, dtype=np.int64)}
    swaps = constant_swaps(found, classes)
    assert swaps.classes == 0
    graph = model_of(found).graph
    with pytest.raises(InputError, match="no two constants"):
        renaming(graph, swaps)
    with pytest.raises(InputError, match="need a class each"):
        constant_swaps(found, {"person": np.zeros(3, dtype=np.int64)})
