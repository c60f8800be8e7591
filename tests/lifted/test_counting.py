"""Counting gives what elimination of the ground program gives, and a list of all worlds."""

import dataclasses
import math
import re
from collections import Counter
from decimal import Decimal, localcontext

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.inference.program import MarkovLogic, ground_program
from orbitmc.lifted import cells, coordinates, counts, evidence, fragment, marginals, tree
from orbitmc.lifted.fragment import NotLiftableError
from orbitmc.lifted.tree import sum_tree
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding import rewriting
from orbitmc.mln.grounding.grounding import World, atom_tables
from orbitmc.mln.language.parser import parse
from tests.lifted.random_fragments import random_fragment
from tests.mln.questions import question
from tests.oracle.random_programs import random_case

CLOSE = 1e-10
SMOKERS = """
Smokes(person)
Cancer(person)
Friends(person, person)
1.5 Smokes(x) => Cancer(x)
0.3 Friends(x,y) => (Smokes(x) <=> Smokes(y))
"""


def read(program: str, database: str = "", **world) -> MarkovLogic:
    spoken = parse(program)
    return ground_program(spoken, parse_database(database, spoken), **world)


def people(count: int) -> str:
    return f"person = {{{', '.join(f'P{number}' for number in range(count))}}}\n"


def count_fragment(seed: int) -> str:
    """Compare both exact answers of a random program; says what became of it."""
    written = random_fragment(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
    except (ContradictionError, InputError):
        return "decided by evidence"
    try:
        exact = om.marginals(logic, method="exact")
    except ContradictionError:
        with pytest.raises(ContradictionError):
            om.marginals(logic, method="counting")
        return "contradiction"
    counted = om.marginals(logic, method="counting")
    log_z = float(om.log_z(logic, method="exact"))
    assert counted.about.log_z == pytest.approx(log_z, abs=CLOSE, rel=1e-13)
    assert float(om.log_z(logic, method="counting")) == counted.about.log_z
    assert list(counted) == list(exact)
    assert np.abs(counted.columns.probability - exact.columns.probability).max() < CLOSE
    return "counted"


@pytest.mark.parametrize("first", range(0, 320, 40))
def test_random_programs_are_counted_as_they_are_eliminated(first):
    outcomes = Counter(count_fragment(seed) for seed in range(first, first + 40))
    assert outcomes["counted"] >= 30


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_trees_of_classes_give_the_same(first, monkeypatch):
    sums = []
    monkeypatch.setattr(marginals, "sum_tree", lambda problem: sums.append(1) or sum_tree(problem))
    monkeypatch.setattr(coordinates, "SECONDS_PER_STATE", math.inf)
    outcomes = Counter(count_fragment(seed) for seed in range(first, first + 40))
    assert outcomes["counted"] >= 30
    assert sums


def test_trees_of_all_groups_that_meet_give_the_same(monkeypatch):
    monkeypatch.setattr(coordinates, "MOST_CLASSES", -1)
    outcomes = Counter(count_fragment(seed) for seed in range(200, 260))
    assert outcomes["counted"] >= 45


def test_people_with_evidence_of_their_own_are_counted(monkeypatch):
    """Everybody has another probability of smoking, and of being a friend of the first."""
    facts = "\n".join(f"{0.05 + 0.13 * n:.3f} Smokes(P{n})" for n in range(7))
    program = people(7) + SMOKERS + "0.4 Friends(x,y) => Friends(y,x)\n0.7 x != y => !Smokes(x)\n"
    logic = read(program, facts, opened=["Smokes"])
    exact = om.marginals(logic, method="exact")
    for most_classes in (0, 64):
        monkeypatch.setattr(coordinates, "MOST_CLASSES", most_classes)
        again = read(program, facts, opened=["Smokes"])
        counted = om.marginals(again, method="counting")
        assert counted.about.log_z == pytest.approx(
            float(om.log_z(again, method="exact")), abs=CLOSE
        )
        assert np.abs(counted.columns.probability - exact.columns.probability).max() < CLOSE
        few = om.marginals(again, query="Friends(x,P3)", method="counting")
        for name, marginal in few.items():
            assert marginal.probability[0] == pytest.approx(exact[name].probability[0], abs=CLOSE)


def test_a_thousand_people_with_evidence_of_their_own_are_counted():
    """Whoever is more likely to smoke by evidence, is so in the end."""
    facts = "\n".join(f"{0.2 + 0.6 * n / 1000:.4f} Smokes(P{n})" for n in range(1000))
    program = "Smokes(person)\nFriends(person, person)\n0.7 Friends(x,y)\n"
    logic = read(
        people(1000) + program + "0.0001 Friends(x,y) ^ Smokes(x) ^ Smokes(y)\n",
        facts,
        opened=["Smokes"],
    )
    answer = om.marginals(logic)
    assert answer.about.method == "counting"
    assert answer.about.warnings == ("name atoms of Friends to see them: they are too many",)
    assert len(answer) == 1000
    probabilities = answer.columns.probability
    assert (np.diff(probabilities) > 0).all()
    some = om.marginals(logic, query="Friends(P3,x);Smokes(P3)")
    assert len(some) == 1001
    assert some["Smokes(P3)"].probability[0] == pytest.approx(probabilities[3], abs=1e-12)


def lifted_case(seed: int) -> bool:
    """Compare a random program of any kind with the list of its worlds; whether it was counted."""
    case, answers = random_case(seed)
    try:
        logic = question(case, seed)
    except (ContradictionError, InputError):
        return False
    if isinstance(logic.source.lifting, str) if not answers.contradiction else True:
        return False
    counted = om.marginals(logic, method="counting")
    for atom, probability in answers.probability.items():
        if str(atom) in counted:
            assert counted[str(atom)].probability[0] == pytest.approx(probability, abs=CLOSE)
    return True


@pytest.mark.parametrize("first", range(0, 300, 60))
@pytest.mark.parametrize("written_out", [0, fragment.MOST_WRITTEN_OUT])
def test_programs_of_any_kind_are_counted_right_or_refused(first, written_out, monkeypatch):
    monkeypatch.setattr(fragment, "MOST_WRITTEN_OUT", written_out)
    assert sum(map(lifted_case, range(first, first + 60))) >= 20


def worst_deviation(seeds: range) -> float:
    """How far counting is from elimination, over some random programs."""
    worst = 0.0
    for seed in seeds:
        written = random_fragment(seed)
        try:
            logic = read(written.program, written.database, opened=written.opened)
            exact = om.marginals(logic, method="exact").columns.probability
            counted = om.marginals(logic, method="counting").columns.probability
        except (ContradictionError, InputError):
            continue
        worst = max(worst, float(np.abs(counted - exact).max()))
    return worst


def test_cells_merged_without_their_gain_would_be_seen(monkeypatch):
    merge = coordinates._merge_group

    def merge_without_gain(*arguments):
        effective = merge(*arguments)
        return dataclasses.replace(effective, gain=np.zeros_like(effective.gain))

    monkeypatch.setattr(coordinates, "_merge_group", merge_without_gain)
    assert worst_deviation(range(40)) > 1e-3


def test_groundings_of_a_constant_with_itself_counted_twice_would_be_seen(monkeypatch):
    alone = cells.alone_uses
    monkeypatch.setattr(cells, "alone_uses", lambda *given: alone(*given) + alone(*given))
    assert worst_deviation(range(40)) > 1e-3


def test_evidence_of_pairs_on_one_side_only_would_be_seen(monkeypatch):
    of_tables = coordinates.PairKnown.of_tables

    def one_side(self, tables, first, second):
        known = of_tables(self, tables, first, second)
        return (
            known
            if first < second
            else tuple(tuple(np.zeros_like(pattern) for pattern in fields) for fields in known)
        )

    monkeypatch.setattr(coordinates.PairKnown, "of_tables", one_side)
    assert worst_deviation(range(80)) > 1e-3


def test_constants_that_are_no_twins_in_one_group_would_be_seen(monkeypatch):
    monkeypatch.setattr(evidence, "_signatures", lambda constant, links: [constant[0]])
    assert worst_deviation(range(80)) > 1e-3


# Numbers that are known otherwise.


def test_models_of_a_sentence_are_counted_as_integers_say():
    """Friends only among those who agree: the sum over k of C(n, k) 2^(k² + (n - k)²)."""
    for people_count in (5, 60, 1024):
        logic = read(
            people(people_count) + "S(person)\nF(person, person)\nF(x,y) => (S(x) <=> S(y)).\n"
        )
        n = people_count
        worlds = sum(math.comb(n, k) << (k * k + (n - k) ** 2) for k in range(n + 1))
        digits = worlds.bit_length() - 60
        expected = (
            math.log(worlds >> digits) + digits * math.log(2) if digits > 0 else math.log(worlds)
        )
        assert float(om.log_z(logic, method="counting")) == pytest.approx(expected, rel=1e-13)


def test_ten_thousand_people_are_counted_to_all_digits():
    """The same sum over how many people smoke, in sixty digits."""
    n, weight = 10_000, "0.0002"
    logic = read(
        people(n)
        + "Smokes(person)\nFriends(person, person)\n0.1 Smokes(x)\n"
        + f"{weight} Friends(x,y) => (Smokes(x) <=> Smokes(y))\n",
        query="Smokes(P0);Friends(P0,P1)",
    )
    with localcontext() as context:
        context.prec = 60
        w = Decimal(weight)
        alike, apart = 2 * w.exp(), w.exp() + 1
        log_alike, log_apart = alike.ln(), apart.ln()
        total, smokes, befriended = Decimal(0), Decimal(0), Decimal(0)
        log_binomial = Decimal(0)
        terms = []
        for k in range(n + 1):
            pairs = k * k + (n - k) ** 2
            terms.append(
                log_binomial + pairs * log_alike + (n * n - pairs) * log_apart + k * Decimal("0.1")
            )
            if k < n:
                log_binomial += Decimal(n - k).ln() - Decimal(k + 1).ln()
        top = max(terms)
        for k, term in enumerate(terms):
            share = (term - top).exp()
            total += share
            smokes += share * k / n
            same = Decimal(k * (k - 1) + (n - k) * (n - k - 1)) / (n * (n - 1))
            befriended += share * (same / 2 + (1 - same) / apart)
        log_z = top + total.ln()
    counted = om.marginals(logic, method="counting")
    assert counted.about.log_z == pytest.approx(float(log_z), rel=1e-14)
    assert counted["Smokes(P0)"].probability[0] == pytest.approx(float(smokes / total), abs=1e-11)
    assert counted["Friends(P0,P1)"].probability[0] == pytest.approx(
        float(befriended / total), abs=1e-11
    )


def random_problem(rng: np.random.Generator, scale: float) -> counts.CountProblem:
    sizes = rng.integers(2, 4, size=rng.integers(1, 3))
    block = np.repeat(np.arange(len(sizes)), sizes)
    total = rng.integers(1, 7, size=len(sizes))
    quad = rng.normal(scale=scale, size=(len(block), len(block)))
    quad = quad + quad.T
    apart = rng.random(quad.shape) < 0.1
    apart |= apart.T
    quad[apart] = 0.0
    return counts.CountProblem(block, total, rng.normal(size=len(block)), quad, apart)


def list_states(problem: counts.CountProblem):
    """All states with their log-weights."""
    for state in np.ndindex(*(problem.total[problem.block] + 1)):
        state = np.array(state)
        if (np.bincount(problem.block, weights=state) != problem.total).any():
            continue
        excluded = problem.apart & ~np.eye(len(state), dtype=bool)
        if (state[:, None] * state * excluded).any() or (state[np.diag(problem.apart)] > 1).any():
            continue
        log_weight = problem.linear @ state + 0.5 * state @ problem.quad @ state
        log_weight -= sum(math.lgamma(count + 1) for count in state)
        yield state, log_weight + sum(math.lgamma(total + 1) for total in problem.total)


@pytest.mark.parametrize("leaf", [0.0, counts.LEAF])
@pytest.mark.parametrize("seed", range(12))
def test_boxes_add_up_to_all_states(seed, leaf):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale=rng.choice([0.02, 0.3, 2.0]))
    listed = list(list_states(problem))
    if not listed:
        with pytest.raises(ContradictionError):
            counts.sum_counts(problem, leaf=leaf)
        return
    states, logs = np.array([state for state, _ in listed]), np.array([log for _, log in listed])
    weights = np.exp(logs - logs.max())
    law = weights / weights.sum()
    moments = counts.sum_counts(problem, leaf=leaf)
    assert moments.log_sum == pytest.approx(logs.max() + math.log(weights.sum()), abs=1e-11)
    assert moments.mean == pytest.approx(law @ states, abs=1e-10)
    assert moments.second == pytest.approx((states * law[:, None]).T @ states, abs=1e-9)


def test_constants_of_a_tiny_type_beside_two_variables_are_written_out():
    rules = "Topic(person, topic)\nLink(person, person)\n"
    rules += (
        "0.7 Link(x,y) ^ Topic(x,T0) => Topic(y,T0)\n-0.4 Topic(x,T1) ^ Topic(y,T0) ^ Link(x,y)\n"
    )
    logic = read(people(3) + "topic = {T0, T1, T2}\n" + rules, "Topic(P0,T0)", opened=["Topic"])
    exact = om.marginals(logic, method="exact")
    counted = om.marginals(logic, method="counting")
    assert np.abs(counted.columns.probability - exact.columns.probability).max() < CLOSE


# What is refused, and in which words.

REFUSED = {
    "three variables": (
        "R(p,p)\n1 R(x,y) ^ R(y,z) => R(x,z)\n",
        r"rule 1 \(.*\) has three variables \(x, y, z\); lifting needs at most two",
    ),
    "three arguments": (
        "T(p,p,p)\nU(p)\n1 U(x)\n",
        r"predicate T \(.*:2:1\) has three arguments; lifting needs at most two",
    ),
    "exist": (
        "R(p,p)\nU(p)\n1 EXIST y R(x,y)\n",
        r"rule 1 \(.*\): EXIST cannot be lifted here \(it would need negative weights\)",
    ),
    "forall": (
        "R(p,p)\nU(p)\n1 FORALL y R(x,y)\n",
        r"rule 1 \(.*\): FORALL cannot be lifted here \(it would need negative weights\)",
    ),
    "constants": (
        "R(p,p)\nU(p)\n1 R(x,C1) ^ R(y,C1) => R(x,y)\n",
        r"rule 1 \(.*\) has three variables or constants \(x, y, C1\)",
    ),
    "order": (
        "n = {1,...,9}\nU(n)\n1 x < y => (U(x) => U(y))\n",
        r"rule 1 \(.*\) uses an order of constants \(<, succ\)",
    ),
    "arithmetic": (
        "n = {1,...,9}\nU(n)\n1 U(x) => U(x + 1)\n",
        r"rule 1 \(.*\) has functions, which cannot be lifted",
    ),
    "functions": (
        "p boss(p)\nU(p)\n1 U(boss(x)) => U(x)\n",
        r"rule 1 \(.*\) has functions, which cannot be lifted",
    ),
    "values": (
        f"v = {{{', '.join(f'V{n}' for n in range(70))}}}\nU(p,v!)\n1 U(x,V1)\n",
        r"predicate U \(.*:3:1\) has one of 70 values; lifting needs at most 64",
    ),
    "propositions": (
        "\n".join(f"A{n}" for n in range(12))
        + "\nU(p)\n"
        + "\n".join(f"1 A{n} => U(x)" for n in range(12))
        + "\n",
        "12 atoms of no constant have 4,096 joint values; lifting needs at most 1,024: "
        "rule 1 .* 10 more",
    ),
    "cells": (
        "\n".join(f"U{n}(p)" for n in range(11))
        + "\nR(p,p)\n"
        + "\n".join(f"1 R(x,y) => U{n}(x)" for n in range(11))
        + "\n",
        "rules about pairs read 11 unary predicates of type p: more than 1,024 cells "
        r"\(rule 1 \(.*:14:3\), rule 2 .* and 9 more\)",
    ),
    "pairs": (
        "\n".join(f"R{n}(p,p)" for n in range(8))
        + "\nU(p)\n1 U(x)\n1 "
        + " v ".join(f"R{n}(x,y) v R{n}(y,x)" for n in range(8))
        + "\n",
        r"rules tie 8 binary predicates of a pair together, in 1 and 1 cells: rule 2 \(.*:12:3\)$",
    ),
    "named": (
        "U(p)\n" + "\n".join(f"1 U(C{n})" for n in range(9)) + "\n",
        "rules name 9 constants of type p; lifting needs at most 8: "
        r"rule 1 \(.*:3:3\), rule 2 .* 7 more",
    ),
    "unary": (
        "\n".join(f"U{n}(p)" for n in range(24))
        + "\n1 "
        + " v ".join(f"U{n}(x)" for n in range(24))
        + "\n",
        r"rules tie 24 unary predicates of type p together: rule 1 \(.*:26:3\)$",
    ),
    "values of two arguments": (
        f"v = {{{', '.join(f'V{n}' for n in range(9))}}}\nU(p,v!,v!)\n1 U(x,V1,V2)\n",
        r"predicate U \(.*:3:1\) has one of 81 values; lifting needs at most 64",
    ),
    "copies": (
        f"v = {{{', '.join(f'V{n}' for n in range(20))}}}\nU(p,v!)\n"
        "1 U(C1,a) ^ U(C2,b) => U(C1,c) v (U(C2,c) ^ a != b)\n",
        r"rule 1 \(.*\) has 8,000 copies when constants are written out; lifting needs at most",
    ),
    "a name in two types": (
        "q = {C1, B2, B3, B4, B5, B6, B7, B8}\nU(p)\nW(q)\n1 U(C1) => W(C1)\n",
        r"rule 1 \(.*\) names C1 in two types",
    ),
    "two types": (
        "q = {A, B}\nU(p)\nW(q)\n1 x != y => (U(x) v W(y))\n",
        r"rule 1 \(.*\) compares constants of two types",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_counted_is_refused_with_the_rule(name):
    program, words = REFUSED[name]
    constants = f"p = {{{', '.join(f'C{n}' for n in range(12))}}}\n"
    facts = "C0 = boss(C1)\n" if name == "functions" else ""
    logic = read(constants + program, facts)
    with pytest.raises(InputError, match=f"this program cannot be counted: {words}"):
        om.marginals(logic, method="counting")


def test_evidence_without_a_pattern_is_refused():
    rng = np.random.default_rng(1)
    pairs = {tuple(sorted(rng.choice(150, 2, replace=False).tolist())) for _ in range(300)}
    facts = "\n".join(f"Friends(P{a},P{b})" for a, b in sorted(pairs))
    logic = read(people(150) + SMOKERS, facts, opened=["Friends"])
    words = r"observed Friends has .* pairs of constants without a pattern"
    with pytest.raises(InputError, match=words):
        om.marginals(logic, method="counting")


def test_twins_are_not_looked_for_where_numbers_of_links_tell_that_there_are_few(monkeypatch):
    """Every person has another number of friends."""
    facts = "\n".join(f"Friends(P{a},P{b})" for a in range(80) for b in range(a))
    logic = read(people(80) + SMOKERS, facts, opened=["Friends"])
    monkeypatch.setattr(marginals, "find_links", lambda *given: pytest.fail("was looked for"))
    with pytest.raises(InputError, match=r"3,160 pairs .* \(at least 80 groups, width 79\)"):
        om.marginals(logic, method="counting")


@pytest.mark.parametrize("seed", range(100))
def test_there_are_never_fewer_groups_than_constants_that_are_no_twins(seed):
    rng = np.random.default_rng(seed)
    known = rng.random((7, 7)) < rng.choice([0.1, 0.5, 0.9])
    if seed % 2:
        known |= known.T
    facts = "\n".join(
        f"{'' if rng.random() < 0.7 else '!'}Friends(P{a},P{b})" for a, b in np.argwhere(known)
    )
    program, world = parse(people(7) + SMOKERS), World(opened=frozenset({"Friends"}))
    tables = atom_tables(program, parse_database(facts, program), world)
    in_fragment = fragment.find_fragment(program, tables)
    facts_known = evidence.read_known(in_fragment)
    links = evidence.find_links(in_fragment, facts_known)
    groups = [
        group
        for sort in in_fragment.sorts
        for group in evidence.group_twins(sort.members, sort.kind, links)
    ]
    assert evidence.count_different(in_fragment, facts_known) <= len(groups)


def test_a_rule_without_a_weight_is_refused():
    program = parse("p = {A, B}\nU(p)\nU(x)\n", learning=True)
    tables = atom_tables(program, parse_database("", program))
    with pytest.raises(NotLiftableError, match=r"rule 1 \(.*\) has no weight"):
        fragment.find_fragment(program, tables)


def test_a_long_formula_that_is_written_out_is_refused(monkeypatch):
    monkeypatch.setattr(rewriting, "MOST_PARTS", 10)
    program = parse("p = {A, B}\nt = {T1, T2, T3, T4}\nR(p,t)\n1 EXIST y,z (R(x,y) ^ R(x,z))\n")
    tables = atom_tables(program, parse_database("", program))
    with pytest.raises(NotLiftableError, match=r"rule 1 \(.*\): .* 32 atoms in each grounding"):
        fragment.find_fragment(program, tables)


def test_many_observed_pairs_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr(evidence, "MOST_PAIRS", 2)
    facts = "Friends(P0,P1)\nFriends(P1,P2)\nFriends(P2,P3)\n"
    logic = read(people(5) + SMOKERS, facts, opened=["Friends"])
    words = "3 pairs of constants are observed; twins are looked for among 2"
    with pytest.raises(InputError, match=words):
        om.marginals(logic, method="counting")


def test_many_classes_in_several_groups_are_refused(monkeypatch):
    monkeypatch.setattr(coordinates, "MOST_CLASSES", 3)
    monkeypatch.setattr(tree, "MOST_COEFFICIENTS", 3)
    facts = "\n".join(f"{0.1 + 0.1 * n:.1f} Smokes(P{n})" for n in range(8))
    facts += "\nFriends(P0,P1)\nFriends(P1,P0)\n"
    logic = read(people(8) + SMOKERS, facts, opened=["Smokes", "Friends"])
    words = "8 classes of constants with different evidence meet in 2 groups"
    with pytest.raises(InputError, match=words):
        om.marginals(logic, method="counting")


def test_a_sum_that_takes_far_longer_than_expected_is_refused(monkeypatch):
    monkeypatch.setattr(marginals, "PATIENCE", 1e-9)
    logic = read(people(60) + SMOKERS)
    with pytest.raises(LimitError, match="counting takes more than the 1 states expected"):
        om.marginals(logic, method="counting")


def test_too_many_states_are_refused_with_their_number():
    labels = f"label = {{{', '.join(f'L{n}' for n in range(9))}}}\n"
    rules = "\n".join(
        f"{0.0003 + 0.00001 * n} F(x,y) ^ Label(x,L{n}) ^ Label(y,L{n})" for n in range(9)
    )
    logic = read(
        people(3000) + labels + "Label(person, label!)\nF(person, person)\n" + rules + "\n"
    )
    with pytest.raises(LimitError, match=r"counting would add up about .* states"):
        om.marginals(logic, method="counting")


def test_counting_is_for_some_questions_about_programs():
    words = (
        "counting is for marginals, joints, events, log Z, draws, best states and numbers of true "
        "groundings of Markov logic programs"
    )
    with pytest.raises(InputError, match=words):
        om.marginals(om.ising_grid(2, 2, 0.1), method="counting")
    with pytest.raises(InputError, match=words):
        om.joint(om.ising_grid(2, 2, 0.1), ["s0_0"], method="counting")
    with pytest.raises(InputError, match=words):
        om.log_z(om.ising_grid(2, 2, 0.1), method="counting")
    with pytest.raises(InputError, match=words):
        om.draws(om.ising_grid(2, 2, 0.1), method="counting")
    logic = read(people(3) + SMOKERS)
    with pytest.raises(InputError, match=words):
        om.marginals(logic, query="Smokes(x) ^ Cancer(x)", method="counting")


def joint_deviation(seed: int) -> float | None:
    """How far the joint law of some atoms is from that by elimination; None if there is none."""
    written = random_fragment(seed)
    rng = np.random.default_rng(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        names = list(om.marginals(logic, method="exact"))
        some = rng.permutation(names)[: rng.integers(2, 4)].tolist()
        exact = om.joint(logic, some, method="exact")
    except (ContradictionError, InputError):
        return None
    counted = om.joint(logic, some, method="counting")
    assert counted.names == exact.names
    assert counted.values == exact.values
    assert counted.verdict == "exact"
    return float(np.abs(counted.probability - exact.probability).max())


def test_joint_laws_of_atoms_are_counted_as_they_are_eliminated():
    deviations = [joint_deviation(seed) for seed in range(1000, 1080)]
    assert sum(deviation is not None for deviation in deviations) > 60
    assert max(filter(None, deviations)) < CLOSE


def test_a_joint_law_of_many_people_needs_no_groundings():
    logic = read(people(3000) + SMOKERS)
    law = om.joint(logic, ["Smokes(P1)", "Smokes(P2)", "Friends(P1,P2)"])
    assert law.about.method == "counting"
    assert not logic.is_ground
    marginals = om.marginals(logic, query="Smokes(P1);Friends(P1,P2)")
    assert law.probability.sum() == pytest.approx(1.0, abs=1e-12)
    assert law.probability[1].sum() == pytest.approx(
        marginals["Smokes(P1)"].probability[0], abs=1e-12
    )
    assert law.probability[:, :, 1].sum() == pytest.approx(
        marginals["Friends(P1,P2)"].probability[0], abs=1e-10
    )
    with pytest.raises(InputError, match="fits several atoms: name one ground atom"):
        om.joint(logic, ["Smokes"], method="counting")
    with pytest.raises(InputError, match="is named twice"):
        om.joint(logic, ["Smokes(P1)", "Smokes(P1)"], method="counting")


def event_deviation(seed: int) -> float | None:
    """How far the probability of an event is from that by elimination; None if there is none."""
    written = random_fragment(seed)
    rng = np.random.default_rng(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        names = list(om.marginals(logic, method="exact"))
        a, b, c = (str(name) for name in rng.choice(names, 3))  # may name an atom twice
        event = [f"{a} => !{b}", f"({a} v {b}) ^ !{c}", f"{a} <=> {b}"][seed % 3]
        given = [None, f"{c} v {b}"][seed // 3 % 2]
        exact = om.probability(logic, event, given=given, method="exact")
    except (ContradictionError, InputError):
        return None
    counted = om.probability(logic, event, given=given, method="counting")
    assert counted.verdict == "exact"
    return abs(counted.value - exact.value)


def test_events_are_counted_as_they_are_eliminated():
    deviations = [event_deviation(seed) for seed in range(2000, 2080)]
    assert sum(deviation is not None for deviation in deviations) > 50
    assert max(filter(None, deviations)) < CLOSE


def test_an_event_that_rounding_leaves_possible_has_no_chance(tmp_path):
    """Symmetry excludes F(B,A), but one less the sum that says so may miss 0."""
    (tmp_path / "x.mln").write_text(
        "t = {A, B}\nS(t)\nC(t)\nF(t, t)\nR\n-1.06 S(x) ^ C(y)\n0.97 F(x, y) => F(y, x)\n"
        "-0.83 R ^ S(x)\nF(x, y) => F(y, x).\nF(x, x).\n"
    )
    (tmp_path / "x.db").write_text("F(B, B)\n!F(A, B)\n")
    paths = tmp_path / "x.mln", tmp_path / "x.db"
    logic = om.read_logic(*paths, opened=["S", "C", "F", "R"])
    event = "F(B,A) v !F(B,B)"
    for given in (None, "F(A,A) v F(A,B)"):
        for method in ("exact", "counting"):
            assert om.probability(logic, event, given=given, method=method).value < 1e-12


def test_what_is_given_may_be_as_rare_as_it_likes():
    """Nobody leads or all do: that all do is left out of sums, and loses no digits given them."""
    rules = (
        "Leads(person)\nOld(person)\n-40 Leads(x)\n0.7 Leads(x) ^ Old(x)\nLeads(x) => Leads(y).\n"
    )
    logic = read(people(30) + rules)
    given = "Leads(P1) v Leads(P2)"
    all_lead = math.log1p(math.exp(0.7)) - 40
    for event, chance in (
        ("Leads(P3)", 1.0),
        ("Old(P1)", 1 / (1 + math.exp(-0.7))),
        ("!Leads(P1)", 0.0),
    ):
        answer = om.probability(logic, event, given=given, method="counting")
        assert answer.value == pytest.approx(chance, abs=1e-12)
    assert all_lead * 30 < -1000
    with pytest.raises(ContradictionError, match="what is given is impossible"):
        om.probability(logic, "Old(P1)", given="Leads(P1) ^ !Leads(P2)", method="counting")


def test_rare_values_keep_their_digits_beside_soft_evidence():
    """The sum that a rare value is given to has no soft evidence about it."""
    rules = (
        "Rich(person)\nTall(person)\n-30 Rich(x)\n0.5 Rich(x) ^ Rich(y)\n0.4 Rich(x) => Tall(y)\n"
    )
    logic = read(people(3) + rules, "0.7 Rich(P0)\n0.4 Rich(P1)\n", opened=["Rich"])
    names = ["Rich(P0)", "Rich(P1)", "Tall(P0)"]
    exact = om.joint(logic, names, method="exact").probability
    counted = om.joint(logic, names, method="counting").probability
    assert exact[1, 1].max() < 1e-20
    assert counted == pytest.approx(exact, rel=1e-9, abs=0.0)


def test_rare_values_keep_their_digits():
    """A chance of 1e-14 is not one less a chance of almost 1."""
    logic = read(people(3) + "Rich(person)\nTall(person)\n32 Rich(x)\n0.5 Rich(x) => Tall(x)\n")
    answer = om.probability(logic, "Tall(P1)", given="!Rich(P1)", method="counting")
    assert answer.value == pytest.approx(0.5, abs=1e-13)
    either = om.probability(logic, "!Rich(P1)", given="!Rich(P1) v !Rich(P2)", method="counting")
    p = math.exp(math.log(2) - 32) / (1 + math.exp(0.5)) * math.exp(0.5)
    p /= 1 + p
    assert either.value == pytest.approx(1 / (2 - p), abs=1e-12)


@pytest.mark.parametrize("verb", ["probability", "joint", "log_z", "draws", "expect", "best"])
def test_a_mapping_is_no_evidence_of_a_program(verb):
    """Counting must not answer as if nothing was said."""
    logic = read(people(3) + SMOKERS)
    asked = {
        "probability": ["Smokes(P1)"],
        "joint": [["Smokes(P1)"]],
        "expect": [{"a": "Smokes(x)"}],
    }
    ask = getattr(om, verb)
    with pytest.raises(InputError, match="evidence of a program is a database"):
        ask(logic, *asked.get(verb, []), {"Smokes(P0)": "true"}, method="counting")


def test_the_price_of_a_joint_law_holds_what_each_sum_needs_to_begin():
    """Many values of atoms of no constant are many cases, each of which weighs all rules."""
    atoms = "\n".join(f"A{n}" for n in range(7))
    rules = "\n".join(f"0.1 A{n} => (Smokes(x) <=> Cancer(x))" for n in range(7))
    logic = read(people(4) + SMOKERS + f"{atoms}\n{rules}\n")
    names = [f"{name}(P{n})" for name in ("Smokes", "Cancer") for n in range(4)]
    with pytest.raises(LimitError, match=r"takes 255 sums, about 8\.8 s$"):
        om.joint(logic, names, method="counting", seconds=2)
    cost = om.inference.counting_cost(logic)
    assert cost.seconds == pytest.approx(3e-5 * 128 * 9, rel=0.1)


def test_an_event_about_many_people_needs_no_groundings():
    logic = read(people(3000) + SMOKERS)
    either = om.probability(logic, "Smokes(P1) v Smokes(P2)")
    assert either.about.method == "counting"
    assert not logic.is_ground
    law = om.joint(logic, ["Smokes(P1)", "Smokes(P2)"]).probability
    assert either.value == pytest.approx(1 - law[0, 0], abs=1e-12)
    with pytest.raises(InputError, match="did you mean 'Smokes'"):
        om.probability(logic, "Smoks(P1)")
    with pytest.raises(ContradictionError, match="what is given is impossible"):
        om.probability(logic, "Smokes(P1)", given="Smokes(P2) ^ !Smokes(P2)")
    many = " v ".join(f"Smokes(P{k})" for k in range(9))
    with pytest.raises(LimitError, match="9 atoms together"):
        om.probability(logic, many, method="counting")


# What is read, asked and told.


def test_auto_counts_before_pairs_are_ground():
    logic = read(people(2000) + SMOKERS, "Smokes(P0)\n!Smokes(P1)\n", opened=["Smokes"])
    assert not logic.is_ground
    assert "4,003,998 unknown atoms, not ground yet" in str(logic)
    marginals = om.marginals(logic)
    assert marginals.about.method == "counting"
    assert "instead of 4,003,998 atoms" in marginals.about.reason
    assert not logic.is_ground
    assert marginals.converged


def test_an_answer_says_how_much_of_the_sum_was_left_out_at_most():
    """States are left out of large sums only, and no more than a bound proves to be negligible."""
    logic = read(people(50_000) + SMOKERS.replace("0.3", "0.00002") + "0.5 Smokes(x)\n")
    answer = om.marginals(logic, query="Smokes(P1)", method="counting")
    share = re.search(r"at most (\S+) of the sum was left out", answer.about.reason)
    assert share is not None
    assert 0 < float(share[1]) < 1e-15
    assert (
        "left out" not in om.marginals(read(people(20) + SMOKERS), method="counting").about.reason
    )


def test_auto_eliminates_small_programs_and_counts_wide_ones():
    assert om.marginals(read(people(4) + SMOKERS)).about.method == "exact"
    wide = read(people(60) + SMOKERS)
    assert wide.is_ground
    assert om.marginals(wide).about.method == "counting"


def test_many_equal_atoms_are_one_row_unless_they_are_named():
    logic = read(people(200) + SMOKERS, "Smokes(P0)\n!Smokes(P1)\n", opened=["Smokes"])
    marginals = om.marginals(logic)
    friends = [name for name in marginals if name.startswith("Friends")]
    assert "Friends(P2,P3) and 39,005 more" in friends
    known = {name: one for name, one in marginals.items() if name.startswith("Smokes")}
    assert len(known) == 200
    assert known["Smokes(P0)"].verdict == "observed"
    named = om.marginals(logic, query="Friends")
    assert len(named) == 40_000
    assert named["Friends(P7,P9)"].probability[0] == pytest.approx(
        marginals["Friends(P2,P3) and 39,005 more"].probability[0], abs=1e-15
    )
    total = sum(
        int(name.split(" and ")[1].split()[0].replace(",", "")) + 1 if " and " in name else 1
        for name in friends
    )
    assert total == 40_000


def test_classes_of_atoms_are_those_of_single_atoms():
    facts = "\n".join(["Smokes(P0)", "Friends(P1,P2)", "Friends(P2,P1)", "!Friends(P3,P3)"])
    logic = read(people(7) + SMOKERS, facts, opened=["Smokes", "Friends"])
    counted = logic.source.lifting.count()
    exact = om.marginals(logic, method="exact")
    for predicate, atoms in logic.source.atoms.atoms.items():
        classes = list(counted.atom_classes(predicate))
        assert sum(one.count for one in classes) == atoms.variables
        listed = sorted(
            round(exact[name].probability[0], 9)
            for name in exact
            if name.startswith(predicate) and exact[name].verdict == "exact"
        )
        repeated = sorted(round(p, 9) for one in classes for p in [one.probability] * one.count)
        assert repeated == listed
