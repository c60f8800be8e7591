"""Answers about a program are those of a list of its worlds, whichever method is asked for."""

import itertools
import math

import pytest

import orbitmc as om

PROGRAM = """
Friends(person, person)
Smokes(person)
Cancer(person)

1.5   Smokes(x) => Cancer(x)
1.1   Friends(x,y) ^ Smokes(x) => Smokes(y)
-1    Smokes(x)
-2    Cancer(x)
"""
FACTS = """
Friends(Anna, Bob)
Friends(Bob, Anna)
Friends(Bob, Cloe)
Smokes(Anna)
"""
PEOPLE = ("Anna", "Bob", "Cloe")
FRIENDS = {("Anna", "Bob"), ("Bob", "Anna"), ("Bob", "Cloe")}
SURELY = 6.0  # standard errors: a false alarm below 1e-7 for all numbers of this file


def log_weight(smokes, cancer):
    """The weights of all groundings that hold in a world."""
    total = 0.0
    for x in PEOPLE:
        total += 1.5 * (not smokes[x] or cancer[x]) - smokes[x] - 2.0 * cancer[x]
        for y in PEOPLE:
            total += 1.1 * (not ((x, y) in FRIENDS and smokes[x]) or smokes[y])
    return total


def worlds():
    for truths in itertools.product([False, True], repeat=2 * len(PEOPLE)):
        smokes = dict(zip(PEOPLE, truths[:3], strict=True))
        cancer = dict(zip(PEOPLE, truths[3:], strict=True))
        if smokes["Anna"]:
            yield smokes, cancer, math.exp(log_weight(smokes, cancer))


def chance(holds):
    every = list(worlds())
    return sum(w for s, c, w in every if holds(s, c)) / sum(w for _, _, w in every)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "smokers.mln").write_text(PROGRAM)
    (folder / "smokers.db").write_text(FACTS)
    return om.read(folder / "smokers.mln", folder / "smokers.db", query="Smokes,Cancer")


def test_atoms_exactly(program):
    answer = om.marginals(program, method="exact")
    for person in PEOPLE:
        for name, place in (("Smokes", 0), ("Cancer", 1)):
            expected = chance(lambda *world, p=place, who=person: world[p][who])
            found = answer[f"{name}({person})"].probability[-1]
            assert found == pytest.approx(expected, abs=1e-12)
    assert answer["Smokes(Anna)"].verdict == "observed"


def test_events_joints_and_best_worlds(program):
    event = om.probability(program, "Smokes(Bob) ^ !Cancer(Cloe)", method="exact")
    expected = chance(lambda smokes, cancer: smokes["Bob"] and not cancer["Cloe"])
    assert event.value == pytest.approx(expected, abs=1e-12)
    joint = om.joint(program, ["Smokes(Bob)", "Smokes(Cloe)"], method="exact").probability
    for bob, cloe in itertools.product(range(2), repeat=2):
        expected = chance(lambda s, _, b=bob, c=cloe: (s["Bob"], s["Cloe"]) == (b, c))
        assert joint[bob, cloe] == pytest.approx(expected, abs=1e-12)
    (best,) = om.best(program, k=1, method="exact")
    smokes, cancer, _ = max(worlds(), key=lambda world: world[2])
    assert {name for name in best if best[name] == "true" and "(" in name} >= {
        *(f"Smokes({who})" for who in PEOPLE if smokes[who] and who != "Anna"),
        *(f"Cancer({who})" for who in PEOPLE if cancer[who]),
    }


@pytest.mark.parametrize("method", ["gibbs", "mcsat", "lifted"])
def test_atoms_by_sampling(program, method):
    answer = om.marginals(program, method=method, samples=500, seed=1)
    assert answer.converged
    for person in ("Bob", "Cloe"):
        expected = chance(lambda smokes, _, who=person: smokes[who])
        found = answer[f"Smokes({person})"]
        error = float(found.standard_error[-1])
        assert abs(float(found.probability[-1]) - expected) < SURELY * error
