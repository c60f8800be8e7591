"""Rules that differ only in constants mean the same whether they are ground together or not."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.bindings import Tables
from orbitmc.mln.grounding.folding import templates
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import World, ground
from orbitmc.mln.language.parser import parse
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
    monkeypatch.setattr("orbitmc.mln.grounding.folding.FEWEST_RULES", 10**6)


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


@pytest.mark.parametrize(("fewest", "expected"), [(9, 1 + 1 + 1 + 1), (16, 1 + 9 + 1 + 1)])
def test_rules_are_folded_where_enough_are_alike(fewest, expected):
    program = weighted(RULES)
    found = ground(program, parse_database(DATA, program), QUERY)
    known = (program.rules, found.first_weight, program.predicates, found.universe)
    folded = list(templates(*known, fewest=fewest))
    assert len(folded) == expected
    used = np.concatenate([template.weight_of for template in folded])
    assert sorted(used.tolist()) == list(range(len(RULES)))


PEOPLE = [f"P{number}" for number in range(100)]
FRIENDS = f"person = {{{', '.join(PEOPLE)}}}\nFriends(person,person)\nSmokes(person)\n"


def both_ways(text, facts, monkeypatch, world=None):
    """A program ground with folded rules, and with every rule by itself."""
    program = parse(text)
    database = parse_database(facts, program)
    folded = ground(program, database, world)
    apart(monkeypatch)
    return folded, ground(program, database, world)


def test_a_few_among_many_constants_are_folded_without_the_others(monkeypatch):
    rules = "".join(f"0.{n + 1} Friends(P{n},P{n + 50}) => Smokes(P{n})\n" for n in range(20))
    rules += "".join(
        f"0.{n + 1} Friends(x,P{n}) ^ Friends(P{n},x) => Smokes(x)\n" for n in range(20)
    )
    facts = "Friends(P1,P51)\nFriends(P2,P52)\nFriends(P4,P3)\nFriends(P3,P4)\n?Friends(P7,P57)\n"
    watched = []
    program = parse(FRIENDS + rules)
    ground(program, parse_database(facts, program), watch=lambda *heard: watched.append(heard))
    assert [count for _, count in watched] == [3, 2]
    folded, alone = both_ways(FRIENDS + rules, facts, monkeypatch)
    assert folded.groundings == alone.groundings == 5
    assert (folded.decided == alone.decided).all()
    assert shown(folded) == shown(alone)


def shown(ground):
    """Variables, truth and weight of every feature, in an order of their own."""
    return sorted(
        (tuple(scope), weight, part.truth.tolist())
        for part in ground.features
        for scope, weight in zip(part.scope.tolist(), part.weight.tolist(), strict=True)
    )


def test_hard_rules_are_folded_and_a_contradiction_names_the_right_one(monkeypatch):
    hard = "".join(f"Friends(P{n},x) => Smokes(P{n}).\n" for n in range(20))
    facts = "Friends(P2,P9)\nFriends(P17,P1)\nFriends(P17,P3)\n"
    folded, alone = both_ways(FRIENDS + hard, facts, monkeypatch)
    assert shown(folded) == shown(alone)
    assert len(shown(folded)) == 3
    program = parse(FRIENDS + hard)
    monkeypatch.undo()
    database = parse_database(facts + "!Smokes(P17)\n", program)
    with pytest.raises(ContradictionError, match=r":21:1: evidence contradicts 2 groundings"):
        ground(program, database, World(query=frozenset({"Smokes"})))


def test_any_number_of_rules_asks_the_database_once(monkeypatch):
    """A shape is joined once, in one question where it has few groundings."""
    asked = []
    monkeypatch.setattr(
        "orbitmc.mln.grounding.bindings.Tables.ask",
        lambda tables, query, ask=Tables.ask: asked.append(query) or ask(tables, query),
    )
    for count in (20, 60):
        asked.clear()
        rules = "".join(f"0.{n + 1} Friends(P{n},x) => Smokes(P{n})\n" for n in range(count))
        program = parse(FRIENDS + rules)
        ground(program, parse_database("Friends(P2,P3)\n", program))
        assert len(asked) == 1


@pytest.mark.parametrize("most", [0, 2])
def test_joins_that_are_counted_first_are_the_same(monkeypatch, most):
    rules = "1.5 Friends(x,y) ^ Friends(y,z) => Friends(x,z) v Smokes(x)\n"
    facts = "".join(f"Friends(P{n},P{(7 * n + 1) % 10})\n" for n in range(10))
    program = parse(FRIENDS + rules)
    database = parse_database(facts, program)
    at_once = ground(program, database)
    monkeypatch.setattr("orbitmc.mln.grounding.bindings.MOST_UNCOUNTED", most)
    monkeypatch.setattr("orbitmc.mln.grounding.bindings.MOST_JOINED", 3)
    counted = ground(program, database)
    assert at_once.groundings > 3
    assert shown(counted) == shown(at_once)
    assert (counted.decided == at_once.decided).all()
