"""Counting on the command line: answers, prices and refusals."""

import json

import pytest

from tests.cli.commands import orbitmc

SMOKERS = """Smokes(person)
Cancer(person)
Friends(person, person)
1.5 Smokes(x) => Cancer(x)
0.001 Friends(x,y) => (Smokes(x) <=> Smokes(y))
"""
TRANSITIVE = SMOKERS + "0.1 Friends(x,y) ^ Friends(y,z) => Friends(x,z)\n"


@pytest.fixture
def program(tmp_path):
    def write(rules: str, people: int) -> str:
        path = tmp_path / "people.mln"
        constants = ", ".join(f"P{number}" for number in range(people))
        path.write_text(f"person = {{{constants}}}\n{rules}")
        return str(path)

    return write


def test_infer_counts_what_cannot_be_ground(program):
    path = program(SMOKERS, 6000)
    done = orbitmc("infer", path, "--query", "Smokes(P1);Friends(P1,P2)", "--json")
    answer = json.loads(done.stdout)
    assert answer["method"] == "counting"
    assert "instead of 36,012,000 atoms" in answer["reason"]
    assert answer["log_z"] > 0
    smokes, friends = answer["variables"]["Smokes(P1)"], answer["variables"]["Friends(P1,P2)"]
    assert smokes["verdict"] == friends["verdict"] == "exact"


def test_infer_says_which_rule_is_in_the_way(program):
    done = orbitmc("infer", program(TRANSITIVE, 8), "--method", "counting")
    assert done.returncode == 2
    assert "rule 3" in done.stderr
    assert "has three variables (x, y, z); lifting needs at most two" in done.stderr


def test_large_programs_that_are_ground_say_why(program):
    rules = "Likes(person, thing)\nOld(person)\n1 EXIST y Likes(x,y) => Old(x)\n"
    things = "thing = {" + ", ".join(f"T{n}" for n in range(7)) + "}\n"
    path = program(things + rules, 1500)
    done = orbitmc("infer", path, "--query", "Old(P0)", "--samples", "20")
    assert "all rules are ground, because counting cannot answer: rule 1" in done.stderr


def test_check_tells_the_price_without_grounding(program):
    done = orbitmc("check", program(SMOKERS, 6000))
    assert done.stdout.startswith("counting      about 6,001 states")
    assert "instead of 36,012,000 unknown atoms" in done.stdout
    record = json.loads(orbitmc("check", program(SMOKERS, 6000), "--json").stdout)
    assert record["counting"]["cells"] == 2
    assert record["counting"]["refusal"] is None


def test_check_tells_what_is_in_the_way(program):
    done = orbitmc("check", program(TRANSITIVE, 4))
    line = next(line for line in done.stdout.splitlines() if line.startswith("counting"))
    assert "no: rule 3" in line
    assert "has three variables (x, y, z)" in line


def test_infer_samples_cells_of_a_program_without_a_pattern(tmp_path, program):
    rules = "Smokes(person)\nFriends(person, person)\n-4 Friends(x,y)\n"
    path = program(rules + "0.2 Friends(x,y) => (Smokes(x) <=> Smokes(y))\n", 400)
    facts = tmp_path / "friends.db"
    links = {(n, (n * n + k) % 400) for n in range(400) for k in (1, 7, 30)}
    facts.write_text("".join(f"Friends(P{a},P{b})\n" for a, b in sorted(links) if a != b))
    question = ("infer", path, "-e", str(facts), "-q", "Smokes;Friends(P1,P5)", "--json")
    answer = json.loads(orbitmc(*question, "--samples", "40", "--set", "packs=1").stdout)
    assert answer["method"] == "gibbs"
    assert "cells of 400 constants" in answer["reason"]
    assert len(answer["variables"]) == 401
    refused = orbitmc(*question, "--method", "gibbs", "--set", "base=counts", "--samples", "0")
    assert refused.returncode == 2
