"""Classes of nearly equal constants, and clusters of the weights of rules."""

from dataclasses import replace

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.mln.data.database import UNKNOWN, Database, Facts
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse
from orbitmc.mln.symmetry.approximate_classes import (
    classes_by_boolean_rank,
    classes_by_evidence,
    classes_by_messages,
    cluster_rule_weights,
)
from orbitmc.mln.symmetry.renamings import renamings
from orbitmc.models._friends import friends
from orbitmc.symmetry.approximations import cluster_weights
from orbitmc.symmetry.clustering import clusters_of_numbers

LINKS = """
page = {A, B, C, D, E, F}
Links(page, page)
Good(page)
0.3 Good(p)
0.8 Good(p) ^ Links(p, q) => Good(q)
"""
# A, B and C link to D and E; A links to itself
HUBS = "\n".join(f"Links({one}, {other})" for one in "ABC" for other in "DE") + "\nLinks(A, A)"


def grounded(text, evidence):
    program = parse(text)
    return ground(program, parse_database(evidence, program))


def partition(classes):
    """Classes as sets of letters."""
    numbers = classes.tolist()
    return {
        "".join(letter for letter, own in zip("ABCDEF", numbers, strict=True) if own == number)
        for number in numbers
        if number >= 0
    }


@pytest.mark.parametrize(("rank", "expected"), [(1, {"A", "BC", "DE", "F"}), (0, {"A", "BCDEF"})])
def test_rectangles_tell_hubs_from_leaves_and_links_to_oneself_count_apart(rank, expected):
    found = grounded(LINKS, HUBS)
    assert partition(classes_by_boolean_rank(found, rank)["page"]) == expected


def test_named_constants_have_no_class():
    found = grounded(LINKS + "1.0 Good(B)\n", HUBS)
    for classes in (
        classes_by_boolean_rank(found, 1),
        classes_by_evidence(found, 2),
        classes_by_messages(found, model_of(found), rounds=1),
    ):
        assert classes["page"][1] == -1
        assert (np.delete(classes["page"], 1) >= 0).all()


def test_clusters_join_pages_with_similar_links():
    found = grounded(LINKS, HUBS)
    assert partition(classes_by_evidence(found, 6)["page"]) == {"A", "BC", "DE", "F"}
    assert len(partition(classes_by_evidence(found, 2)["page"])) == 2
    assert partition(classes_by_evidence(found, 1)["page"]) == {"ABCDEF"}
    with pytest.raises(InputError, match="at least one cluster"):
        classes_by_evidence(found, 0)


def test_more_rounds_of_messages_tell_more_pages_apart_until_all_that_differ_are():
    found = grounded(LINKS, "Links(A,B)\nLinks(B,C)\nLinks(C,D)\nLinks(D,E)\nLinks(E,F)")
    model = model_of(found)
    counts = [len(partition(classes_by_messages(found, model, rounds=k)["page"])) for k in range(5)]
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[4] == 6


def test_messages_about_cluster_rule_weights_ignore_small_differences():
    program = parse(LINKS)
    doubts = Facts(
        (tuple("ABCDEF"),),
        np.full(6, UNKNOWN, np.int8),
        np.array([1, 1.01, 0.99, -1, -0.99, -1.02]),
    )
    known = Database({"Good": doubts, **parse_database("Links(A, A)", program).facts})
    found = ground(program, known, World(opened=frozenset({"Good"})))
    model = model_of(found)
    assert len(partition(classes_by_messages(found, model)["page"])) == 6
    rough = classes_by_messages(found, cluster_weights(model, 2))["page"]
    assert partition(rough) == {"ABC", "DEF"}


def test_interchangeable_people_always_share_a_class():
    for seed in range(5):
        found = ground(*friends(6, open_world=False, friendships=1, smokers=0.3, seed=seed))
        exact = renamings(found).classes["person"]
        for classes in (
            classes_by_evidence(found, 6),
            classes_by_messages(found, model_of(found), rounds=6),
        ):
            for number in np.unique(exact):
                assert len(np.unique(classes["person"][exact == number])) == 1


def test_weights_of_copies_are_clustered_rule_by_rule():
    text = "kind = {A, B, C, D}\nOn(kind)\nOff(kind)\n0.5 On(+k)\n0.7 Off(+k)\nOn(A) v Off(A).\n"
    found = ground(parse(text), Database({}))
    weights = np.array([0.1, 0.2, 0.9, 1.0, -3.0, -3.2, 5.0, 5.0, np.inf])
    rough = cluster_rule_weights(replace(found, weights=weights), 2)
    assert np.allclose(rough, [0.15, 0.15, 0.95, 0.95, -3.1, -3.1, 5.0, 5.0, np.inf])


def test_equal_weights_make_constants_interchangeable():
    found = ground(parse("kind = {A, B, C, D}\nOn(kind)\n0.5 On(+k)\n"), Database({}))
    found = replace(found, weights=np.array([0.1, 0.2, 0.9, 1.0]))
    assert renamings(found).order == 1
    assert renamings(replace(found, weights=cluster_rule_weights(found, 2))).order == 4


def test_rules_that_differ_in_their_constants_only_are_copies():
    text = "kind = {A, B, C}\nOn(kind)\n0.1 On(A)\n0.3 On(B)\n2.0 On(C)\n-1.0 !On(C)\n"
    found = ground(parse(text), Database({}))
    assert np.allclose(cluster_rule_weights(found, 2), [0.2, 0.2, 2.0, -1.0])
    assert clusters_of_numbers(found.weights[:3], 2).tolist() == [0, 0, 1]
