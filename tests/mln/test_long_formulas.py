"""Formulas too long to be worked with: refused while they are read, in words that fit."""

import cProfile

import pytest

from orbitmc.errors import LimitError
from orbitmc.mln.language.grammar import MOST_PARTS
from orbitmc.mln.language.parser import parse
from tests.cli.commands import orbitmc_alone

LONG = {
    "disjunction": "A" + " v A" * MOST_PARTS,
    "negations": "!" * MOST_PARTS + "A",
    "brackets": "(" * MOST_PARTS + "A",
    "implications": "A => " * MOST_PARTS + "A",
}


@pytest.mark.parametrize("name", LONG)
def test_a_formula_of_too_many_parts_is_refused_by_its_length(name):
    with pytest.raises(LimitError, match="2:1: this formula has more than 200,000 atoms, neg"):
        parse(f"A\n{LONG[name]}.\n")


def test_what_follows_in_a_formula_that_is_too_long_is_not_read(monkeypatch):
    """As many calls for a formula ten times as long as it may be as for twice as long."""
    monkeypatch.setattr("orbitmc.mln.language.grammar.MOST_PARTS", 1000)

    long, longer = (calls_until_refused("A\n1 A" + " v A" * n + "\n") for n in (2_000, 10_000))
    assert longer <= long * 1.05


def calls_until_refused(text):
    profile = cProfile.Profile()
    with pytest.raises(LimitError):
        profile.runcall(parse, text)
    return sum(entry.callcount for entry in profile.getstats())


def test_quantifiers_that_make_a_formula_long_are_named(tmp_path):
    program = tmp_path / "long.mln"
    program.write_text("t = {1, ..., 700}\nR(t,t)\n1 (EXIST x,y R(x,y)) => (FORALL x,y R(x,y))\n")
    done = orbitmc_alone("infer", program)
    assert done.returncode == 5
    assert "replacing the quantifiers of this formula gives 980,000 atoms" in done.stderr


def test_a_refusal_comes_without_warnings_of_numpy(tmp_path):
    program = tmp_path / "wide.mln"
    program.write_text("t={1,...,400}\nR(t,t)\n1 EXIST x FORALL y R(x,y)\n")
    done = orbitmc_alone("infer", program, "--quiet")  # there, warnings are errors
    assert done.returncode == 5
    assert "is a table over 160000 unknown atoms" in done.stderr
    assert len(done.stderr.splitlines()) == 1
