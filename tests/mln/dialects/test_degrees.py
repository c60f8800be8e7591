"""Degrees of truth against fuzzy logic by its definition, world by world."""

import itertools

import pytest

from orbitmc.errors import InputError
from orbitmc.inference.program import ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.mln.dialects.worlds import IMPOSSIBLE, answered, by_worlds

TEXT = "#fuzzy\nlike(thing, kind)\nuse(thing)\nthing = {cup, mug}\nkind = {box, jar}\n"
EVIDENCE = "0.3 like(cup, box)\n0.8 like(mug, box)\nlike(cup, jar)\n!like(mug, jar)\n"
DEGREE = {("cup", "box"): 0.3, ("mug", "box"): 0.8, ("cup", "jar"): 1.0, ("mug", "jar"): 0.0}
ATOMS = ['use("cup")', 'use("mug")']
EVERY = list(itertools.product(("cup", "mug"), ("box", "jar")))


def used(world, thing):
    return float(world[f'use("{thing}")'])


FORMULAS = {
    "1.7 like(?t,?k) ^ use(?t)": lambda d, u: min(d, u),
    "1.7 like(?t,?k) v use(?t)": lambda d, u: max(d, u),
    "1.7 !like(?t,?k) ^ use(?t)": lambda d, u: min(1 - d, u),
    "1.7 like(?t,?k) => use(?t)": lambda d, u: max(1 - d, u),
    "1.7 use(?t) => like(?t,?k)": lambda d, u: max(1 - u, d),
    "1.7 like(?t,?k) <=> use(?t)": lambda d, u: min(max(1 - d, u), max(d, 1 - u)),
    "-0.6 !(like(?t,?k) v !use(?t))": lambda d, u: min(1 - d, u),
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_weight_counts_by_the_degree_of_the_formula(formula):
    weight, degree = float(formula.split()[0]), FORMULAS[formula]

    def log_weight(world):
        return sum(weight * degree(DEGREE[t, k], used(world, t)) for t, k in EVERY)

    found = answered(TEXT + formula + "\n", EVIDENCE, dialect="pracmln")
    assert found == pytest.approx(by_worlds(ATOMS, log_weight), abs=1e-10)


def test_a_hard_formula_must_hold_to_the_full_degree():
    text = TEXT + "0.4 use(?t)\nuse(?t) => like(?t,box).\n"

    def log_weight(world):
        met = all(max(1 - used(world, t), DEGREE[t, "box"]) == 1 for t in ("cup", "mug"))
        return 0.4 * sum(world.values()) if met else IMPOSSIBLE

    found = answered(text, EVIDENCE, dialect="pracmln")
    assert found == pytest.approx(by_worlds(ATOMS, log_weight), abs=1e-12)


def test_unlisted_atoms_have_degree_zero():
    def log_weight(world):
        return 1.5 * 0.3 * used(world, "cup")

    found = answered(
        TEXT + "1.5 like(?t,?k) ^ use(?t)\n", "0.3 like(cup, box)\n", dialect="pracmln"
    )
    assert found == pytest.approx(by_worlds(ATOMS, log_weight), abs=1e-10)


def test_fuzzy_predicates_have_no_blocks():
    with pytest.raises(InputError, match="fuzzy"):
        parse("#fuzzy\nlike(thing, kind!)\n", dialect="pracmln")


def test_everything_but_the_query_may_be_closed():
    text = TEXT + "other(none)\n1.5 like(?t,?k) ^ use(?t)\n"
    usual = answered(text, EVIDENCE, dialect="pracmln", query="use")
    closed = answered(text, EVIDENCE, dialect="pracmln", query="use", closed=["like", "other"])
    assert closed == usual


def test_no_query_is_about_degrees():
    text = "word = {a, b}\n#fuzzy\nZ(word)\nX(word)\n1 Z(?w) => X(?w)"
    program = parse(text, dialect="pracmln")
    with pytest.raises(InputError, match="Z is fuzzy: its atoms have the degrees of truth"):
        ground_program(program, parse_database("0.4 Z(a)", program), query="Z(a)")
