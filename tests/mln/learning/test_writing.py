"""A learned program is written so that reading it again gives the same model."""

import numpy as np
import pytest

from orbitmc.mln.data.database import TRUE, Database, Facts
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse, read_program
from orbitmc.mln.learning.worlds import training_worlds
from orbitmc.mln.learning.writing import program_text
from tests.mln.learning.programs import FIRST_PAGES, PAGES, SECOND_PAGES, worlds_of
from tests.oracle.brute_force import distribution

ALL_SORTS = """
person = {Anna, "Bob Miller", "EXIST", "say \\"hi\\""}
Smokes(person)
Age(person, number)
Rain
person MotherOf(person)
1.5. Smokes(MotherOf(x)) <=> Smokes(x)
-2e-7 Age(x,n) ^ n > 2 => EXIST m (Age(x, m + 1) ^ m < n)
0.25 *Smokes(x) v Rain
EXIST y Smokes(MotherOf(y)) ^ !(y = Anna)
Smokes(x) v FORALL y (Smokes(MotherOf(y)) v Rain)
!(Smokes(x) ^ Rain) v (Rain => Smokes(x))
Smokes(+x) => Rain
Smokes("Bob Miller") v Smokes("EXIST") v Rain.
"""
AGES = """
Age(Anna,2)
Age("Bob Miller",3)
Smokes(Anna)
Anna = MotherOf("Bob Miller")
"Bob Miller" = MotherOf("EXIST")
"""


def random_weights(found, seed=2):
    """Weights for whatever has none."""
    drawn = np.random.default_rng(seed).normal(size=len(found.weights))
    return np.where(np.isnan(found.weights), drawn, found.weights)


def models(text, data, query, dialect="alchemy"):
    """The model of a program with random weights, and of the text that is written of it."""
    program = parse(text, learning=True, dialect=dialect)
    found = ground(program, parse_database(data, program), World(query=query))
    weights = random_weights(found)
    written = program_text(found, weights, remarks="two\nremarks")
    again = parse(written, dialect=dialect)
    same = ground(again, parse_database(data, again), World(query=query))
    return model_of(found, weights), model_of(same), written


@pytest.mark.parametrize("dialect", ["alchemy", "pracmln", "tuffy"])
def test_everything_that_formulas_can_say_survives(dialect):
    text = ALL_SORTS if dialect == "alchemy" else ALL_SORTS.replace("*Smokes", "Smokes")
    if dialect == "pracmln":
        text = text.replace("EXIST y Smokes(MotherOf(y)) ^ !(y = Anna)", "EXIST y (Smokes(y))")
    first, second, _ = models(text, AGES, frozenset({"Smokes", "Rain"}), dialect)
    assert first.order == second.order
    assert distribution(second.graph) == pytest.approx(distribution(first.graph), rel=1e-12)


def test_copies_of_a_rule_are_written_out_below_their_template():
    pages = FIRST_PAGES.replace("Topic(P1,A)\n", "")
    first, second, written = models(PAGES, pages, frozenset({"Topic"}))
    lines = written.splitlines()
    assert lines[:2] == ["// two", "// remarks"]
    assert "Topic(page, class!)" in lines
    template = lines.index("// Topic(p1,+c1) ^ Linkto(p1,p2) => Topic(p2,+c2)")
    assert lines[template + 1].endswith(" Topic(p1,B) ^ Linkto(p1,p2) => Topic(p2,B)")
    assert lines[template + 2].endswith(" Topic(p1,B) ^ Linkto(p1,p2) => Topic(p2,C)")
    assert distribution(second.graph) == pytest.approx(distribution(first.graph), rel=1e-12)


def test_a_program_learned_on_two_databases_knows_the_constants_of_both(tmp_path):
    first, _ = worlds_of(PAGES, [FIRST_PAGES, SECOND_PAGES], {"Topic"})
    path = tmp_path / "learned.mln"
    path.write_text(program_text(first.ground, random_weights(first.ground)))
    again = read_program(path)
    assert len(again.rules) == 9 + 9 + 1 + 1
    assert set(again.constants["word"]) == {"Foo", "Bar", "Baz"}


def test_fixed_weights_stay_fixed_and_hard_rules_hard():
    first, _, written = models(ALL_SORTS, AGES, frozenset({"Smokes", "Rain"}))
    again = parse(written, learning=True)
    assert [rule.fixed for rule in again.rules].count(True) == 1
    assert next(rule.weight for rule in again.rules if rule.fixed) == 1.5
    assert again.rules[-1].weight == np.inf
    assert "-2e-07 Age(x,n)" in written
    assert first.graph.has_zeros()


def test_variables_get_other_names_where_theirs_mean_something():
    """A variable may be named as a type that is declared later; in one file it may not."""
    program = parse("P(t)\n1 P(page)\nQ(page)\n2 Q(x)\n")
    facts = {name: Facts((("A",),), np.array([TRUE], np.int8), np.zeros(1)) for name in "PQ"}
    (world,) = training_worlds(program, [Database(facts)])
    written = program_text(world.ground, world.ground.weights)
    assert "1.0 P(page_)" in written
    assert len(parse(written).rules) == 2
