"""Rules that differ only in constants mean the same whether they are ground together or not."""

import numpy as np
import pytest

from orbitmc.logic.databases.evidence import parse_database
from orbitmc.logic.grounding.assembly import graph_of
from orbitmc.logic.grounding.folding import templates
from orbitmc.logic.grounding.grounding import World, ground
from orbitmc.logic.language.parser import parse
from tests.oracle.brute_force import distribution

CLASSES, WORDS = "ABC", ("Foo", "Bar", "Baz", "Qux", "Quux", "Corge")
RULES = [
    *(f"Has({w},p) => Topic(p,{c})" for w in WORDS[:5] for c in CLASSES),
    *(f"Topic(p,{c}) ^ Linkto(p,q) => Topic(q,{d})" for c in CLASSES for d in CLASSES),
    *(f"EXIST p (Topic(p,{c}) ^ Has({w},p))" for c in CLASSES for w in WORDS),
    "Topic(p,A)",
    "Has(Foo,p) => Topic(p,A)",
]
DECLARED = "Topic(page,class!)\nHas(word,page)\nLinkto(page,page)\n"
DATA = "Has(Foo,P1)\nHas(Bar,P2)\nHas(Corge,P2)\nHas(Baz,P3)\nLinkto(P1,P2)\nLinkto(P2,P2)\n"
QUERY = World(query=frozenset({"Topic"}))


def weighted(rules):
    """A program in which every rule has a weight of its own, and an order of its own."""
    rng = np.random.default_rng(3)
    lines = [f"{rng.normal():.6f} {rules[number]}" for number in rng.permutation(len(rules))]
    return parse(DECLARED + "\n".join(lines) + "\n")


def apart(monkeypatch):
    monkeypatch.setattr("orbitmc.logic.grounding.folding.FEWEST", 10**6)


def test_ground_together_or_apart_the_model_is_the_same(monkeypatch):
    program = weighted(RULES)
    database = parse_database(DATA, program)
    together = ground(program, database, QUERY)
    apart(monkeypatch)
    alone = ground(program, database, QUERY)
    assert (together.decided == alone.decided).all()
    assert (together.weights == alone.weights).all()
    assert together.groundings == alone.groundings
    one, other = distribution(graph_of(together)), distribution(graph_of(alone))
    assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize(("fewest", "expected"), [(9, 1 + 1 + 1 + 1 + 1), (16, 15 + 9 + 1 + 2)])
def test_rules_are_folded_where_enough_are_alike(monkeypatch, fewest, expected):
    monkeypatch.setattr("orbitmc.logic.grounding.folding.FEWEST", fewest)
    program = weighted(RULES)
    found = ground(program, parse_database(DATA, program), QUERY)
    folded = list(templates(program.rules, found.first_weight, program.predicates, found.universe))
    assert len(folded) == expected
    used = np.concatenate([template.weight_of for template in folded])
    assert sorted(used[used >= 0].tolist()) == list(range(len(RULES)))


def test_a_few_among_many_constants_stay_apart():
    people = ", ".join(f"P{number}" for number in range(100))
    text = f"person = {{{people}}}\nSmokes(person)\n"
    text += "".join(f"0.{number + 1} Smokes(P{number})\n" for number in range(20))
    program = parse(text)
    found = ground(program, parse_database("", program))
    folded = list(templates(program.rules, found.first_weight, program.predicates, found.universe))
    assert len(folded) == 20
