"""Renamings of constants: found among constants, true of the ground model."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.mln.data.database import UNKNOWN, Database, Facts
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse
from orbitmc.mln.symmetry.renamings import induced_permutation, renamings
from orbitmc.models._friends import friends
from orbitmc.symmetry._automorphisms import automorphisms, changes_energy
from tests.oracle import brute_force
from tests.oracle.symmetries import as_image_and_maps

FRIENDS = """
person = {A, B, C, D}
Friends(person, person)
Smokes(person)
0.7 Smokes(x)
1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)
-0.4 Friends(x, y) ^ Friends(y, x)
"""
TOPICS = """
page = {P, Q, R}
class = {X, Y, Z}
Topic(page, class!)
Links(page, page)
1.3 Topic(p, c) ^ Links(p, q) => Topic(q, c)
0.4 Topic(p, c) ^ Topic(q, c) ^ p != q
"""
GIVING = """
person = {A, B, C}
thing = {T, U}
Gives(person, person, thing)
Rich(person)
1.2 Gives(x, y, t) => (Rich(x) v !Rich(y))
0.8 Rich(x)
"""
NAMED = FRIENDS + "0.9 Smokes(A)\n"
COMPARED = FRIENDS + "0.9 Smokes(x) ^ x != B\n"
COUNTED = """
time = {1, 2, 3}
On(time)
0.7 On(t) => On(t + 1)
0.2 On(t)
"""
CASES = {
    "nothing known": (FRIENDS, "", 24),
    "a smoker": (FRIENDS, "Smokes(A)", 6),
    "a smoker and another": (FRIENDS, "Smokes(A)\n!Smokes(B)", 2),
    "two smokers": (FRIENDS, "Smokes(A)\nSmokes(B)", 4),
    "a pair of friends": (FRIENDS, "Friends(A, B)", 2),
    "mutual friends": (FRIENDS, "Friends(A, B)\nFriends(B, A)", 4),
    "no friend of oneself": (FRIENDS, "!Friends(A, A)", 6),
    "a ring": (FRIENDS, "Friends(A,B)\nFriends(B,C)\nFriends(C,D)\nFriends(D,A)", 4),
    "a named constant": (NAMED, "", 6),
    "a compared constant": (COMPARED, "", 6),
    "numbers": (COUNTED, "", 1),
    "values that move": (TOPICS, "Links(P, Q)", 6),
    "an excluded value": (TOPICS, "Links(P, Q)\nLinks(Q, P)\n!Topic(P, X)\n!Topic(Q, Y)", 2),
    "a decided block": (TOPICS, "Links(P, Q)\nTopic(R, X)", 2),
    "three at once": (GIVING, "Gives(A, B, T)\nGives(B, A, U)", 2),
    "one twice": (GIVING, "Gives(A, A, T)\nGives(B, B, U)", 2),
}


def grounded(text, evidence, opened=("Friends", "Smokes", "Topic")):
    program = parse(text)
    known = parse_database(evidence, program)
    world = World(opened=frozenset(opened) & set(program.predicates))
    return ground(program, known, world)


def induced_generators(found):
    """What the generators of all renamings that change nothing do to variables."""
    group = renamings(found)
    return [induced_permutation(found, images) for images in (*group.swaps(), *group.others)]


def keeps_log_weights(graph, element, seed=0):
    """Whether random states and their images weigh the same, by adding up every factor."""
    rng = np.random.default_rng(seed)
    image, maps = as_image_and_maps(element, graph.cardinality)
    for _ in range(20):
        state = rng.integers(graph.cardinality)
        moved = np.zeros_like(state)
        for variable, value in enumerate(state):
            moved[image[variable]] = maps[variable][value]
        if not np.isclose(
            brute_force.log_weight(graph, state), brute_force.log_weight(graph, moved)
        ):
            return False
    return True


def all_renamings(found):
    """Every permutation of the constants within their types."""
    constants = found.universe.constants
    choices = [itertools.permutations(range(len(names))) for names in constants.values()]
    for chosen in itertools.product(*choices):
        yield dict(zip(constants, map(np.array, chosen), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_orders_are_as_counted_by_hand(case):
    text, evidence, order = CASES[case]
    found = renamings(grounded(text, evidence))
    assert found.complete
    assert found.order == order


@pytest.mark.parametrize("case", CASES)
def test_every_induced_permutation_keeps_the_distribution(case):
    text, evidence, _ = CASES[case]
    found = grounded(text, evidence)
    graph = model_of(found).graph
    elements = induced_generators(found)
    assert all(keeps_log_weights(graph, element) for element in elements)
    group = permutation_group(graph.variables, elements, cardinality=graph.cardinality)
    assert not changes_energy(graph, group).any()


@pytest.mark.parametrize(
    "case",
    [
        "a smoker and another",
        "a pair of friends",
        "a ring",
        "an excluded value",
        "numbers",
    ],
)
def test_no_renaming_is_missed_where_all_evidence_matters(case):
    text, evidence, order = CASES[case]
    found = grounded(text, evidence)
    graph = model_of(found).graph
    count = 0
    for images in all_renamings(found):
        try:
            element = induced_permutation(found, images)
        except InputError:
            continue
        count += keeps_log_weights(graph, element)
    assert count == order


def test_values_move_with_their_constants():
    found = grounded(TOPICS, "Links(P, Q)")
    assert any(element.maps_values for element in induced_generators(found))


@pytest.mark.parametrize("people", [3, 5])
def test_people_of_whom_nothing_is_known_are_interchangeable(people):
    found = ground(*friends(people))
    assert renamings(found).order == math.factorial(people)
    program, _ = friends(people)
    smoker = Facts((("P1",),), np.array([1], np.int8), np.zeros(1))
    database = Database({"Smokes": smoker}, {"person": tuple(f"P{k}" for k in range(people))})
    assert renamings(ground(program, database)).order == math.factorial(people - 1)


def test_soft_evidence_tells_people_apart():
    doubts = Facts((("A", "B", "C"),), np.full(3, UNKNOWN, np.int8), np.array([0.5, 0.5, 1.0]))
    found = ground(
        parse(FRIENDS), Database({"Smokes": doubts}), World(opened=frozenset({"Smokes"}))
    )
    assert renamings(found).order == 2


def test_weights_of_copies_tell_constants_apart():
    program = parse("kind = {A, B, C}\nOn(kind)\n0.5 On(+k)\n")
    found = ground(program, Database({}))
    assert len(found.weights) == 3
    assert renamings(found).order == 6
    assert renamings(replace(found, weights=np.array([0.5, 0.5, 0.7]))).order == 2


def test_renamings_are_among_all_symmetries():
    for seed in range(4):
        found = ground(*friends(6, open_world=False, friendships=2, smokers=0.3, seed=seed))
        graph = model_of(found).graph
        order = automorphisms(graph).order
        assert order % renamings(found).order == 0
