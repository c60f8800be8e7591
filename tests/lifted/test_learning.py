"""Learning by counting: counts in data, slopes and weights are those of the ground program."""

import math

import numpy as np
import pytest

from orbitmc import lifted
from orbitmc.errors import ContradictionError, InputError
from orbitmc.lifted import true_groundings
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning import learner
from orbitmc.mln.learning.counted_likelihood import CountedLikelihood, count_worlds
from orbitmc.mln.learning.learner import LearningSettings, learn
from orbitmc.mln.learning.objectives import prior
from orbitmc.mln.learning.quality import standard_errors
from orbitmc.mln.learning.worlds import TrueCounts, predicates_to_explain, training_worlds
from tests.cli.commands import orbitmc
from tests.lifted.random_fragments import random_fragment
from tests.lifted.test_counting import read
from tests.mln.learning.programs import PEOPLE, SMOKERS
from tests.oracle.brute_force import states
from tests.oracle.enumeration import log_weights_of_all

MOST_STATES = 2**11  # of a program whose worlds are all listed


def expected_by_enumeration(logic):
    """True groundings of each rule, averaged over all worlds."""
    logs = log_weights_of_all(logic.model.graph)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    every = np.array(states(logic.model.graph)).T
    return TrueCounts(logic.ground)(every) @ chances + logic.ground.decided


def expected_deviation(seed):
    """How far expected counts are from those over all worlds; None if there are too many."""
    written = random_fragment(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        counted = logic.source.lifting.count()
    except (ContradictionError, InputError):
        return None
    if np.prod(logic.model.graph.cardinality.astype(float)) > MOST_STATES:
        return None
    expected = true_groundings.expected_true_groundings(counted)
    soft = np.isfinite(logic.ground.weights)  # of hard rules, parts of conjunctions are features
    return float(np.abs(expected - expected_by_enumeration(logic))[soft].max(initial=0.0))


def test_expected_true_groundings_are_those_of_all_worlds():
    deviations = [expected_deviation(seed) for seed in range(3000, 3200)]
    assert sum(deviation is not None for deviation in deviations) > 60
    assert max(filter(None, deviations)) < 1e-10


def test_pairs_of_a_constant_with_itself_left_out_would_be_seen(monkeypatch):
    monkeypatch.setattr(true_groundings, "alone_uses", lambda fragment, sort: [])
    deviations = [expected_deviation(seed) for seed in range(3000, 3040)]
    assert max(filter(None, deviations)) > 1e-3


def test_expected_true_groundings_are_slopes_of_log_z_for_many_people():
    program = (
        "Smokes(p)\nFriends(p,p)\n0.3 Smokes(x)\n0.002 Friends(x,y) => (Smokes(x) <=> Smokes(y))\n"
    )
    people = "p = {" + ", ".join(f"P{number}" for number in range(400)) + "}\n"
    logic = read(people + program, "Smokes(P3)\n0.7 Smokes(P4)\n", opened=["Smokes"])
    setting = lifted.find_setting(logic.source.program, logic.source.atoms)
    weights = np.array([0.3, 0.002])
    expected = lifted.expected_true_groundings(
        lifted.lift_setting(lifted.reweigh(setting, weights)).count()
    )
    for number, distance in enumerate((1e-5, 1e-6)):
        logs = []
        for sign in (1, -1):
            moved = weights.copy()
            moved[number] += sign * distance
            logs.append(lifted.lift_setting(lifted.reweigh(setting, moved)).count().log_z)
        slope = (logs[0] - logs[1]) / (2 * distance)
        assert expected[number] == pytest.approx(slope, rel=1e-6)


# Data.


def random_data(seed):
    """A random program and a database that says of every atom whether it is true."""
    rng = np.random.default_rng(seed)
    program = parse(random_fragment(seed).program, learning=True)
    sizes = {kind: list(names) for kind, names in program.constants.items()}
    lines = []
    for predicate in program.predicates.values():
        plain = [
            kind
            for kind, mark in zip(predicate.types, predicate.exclusive, strict=True)
            if not mark
        ]
        for place in np.ndindex(*(len(sizes[kind]) for kind in plain)):
            arguments = [sizes[kind][number] for kind, number in zip(plain, place, strict=True)]
            if predicate.is_block:
                arguments.append(str(rng.choice(sizes[predicate.types[-1]])))
            if predicate.is_block or rng.random() < 0.4:
                lines.append(
                    f"{predicate.name}({','.join(arguments)})" if arguments else predicate.name
                )
            elif rng.random() < 0.2:
                lines.append(
                    f"!{predicate.name}({','.join(arguments)})"
                    if arguments
                    else f"!{predicate.name}"
                )
    names = sorted(predicates_to_explain(program))
    explained = None if rng.random() < 0.5 else frozenset(names[: rng.integers(1, len(names) + 1)])
    return program, parse_database("\n".join(lines) + "\n", program), explained


def data_deviation(seed):
    """How far counts in data and the likelihood are from those of ground worlds."""
    try:
        program, database, explained = random_data(seed)
        (world,) = training_worlds(program, [database], explained)
        belief = prior(world.ground)
        components = learner.Components(world)
        if not learner.are_small([components]):
            return None
        listed = learner.CompositeLikelihood(components.changes(), belief)
    except (ContradictionError, InputError):
        return None
    counted = CountedLikelihood(count_worlds(program, [database], explained), belief)
    soft = np.isfinite(belief.mean)
    true = TrueCounts(world.ground)(world.values[:, None])[:, 0] + world.ground.decided
    assert np.array_equal(counted.worlds.observed[soft], true[soft])
    learned = np.random.default_rng(seed).normal(size=int(belief.learned.sum()))
    weights = belief.complete(learned)
    one, two = listed.value_and_slope(weights), counted.value_and_slope(weights)
    return max(abs(one[0] - two[0]), float(np.abs(one[1] - two[1]).max()))


def test_random_data_have_the_likelihood_of_ground_worlds():
    deviations = [data_deviation(seed) for seed in range(4000, 4250)]
    assert sum(deviation is not None for deviation in deviations) > 80
    assert max(filter(None, deviations)) < 1e-9


def test_data_that_break_a_hard_formula_are_refused():
    program = parse(
        "Smokes(p)\nFriends(p,p)\nFriends(x,y) => Smokes(y).\nSmokes(x)\n", learning=True
    )
    with pytest.raises(ContradictionError, match="the database breaks this hard formula"):
        count_worlds(program, [parse_database("Friends(A,B)\nSmokes(A)\n", program)], None)


def test_data_that_leave_a_block_open_are_refused():
    text = "class = {A, B}\nTopic(page, class!)\nLink(page, page)\n"
    text += "Topic(x,c) ^ Link(x,y) => Topic(y,c)\n"
    program = parse(text, learning=True)
    with pytest.raises(ContradictionError, match="which atom of each block of Topic is true"):
        count_worlds(program, [parse_database("Topic(P1,A)\nLink(P1,P2)\n", program)], None)
    pairs = parse(
        "class = {A, B}\nTie(page, page, class!)\nTie(x,y,c) => Tie(y,x,c)\n", learning=True
    )
    with pytest.raises(ContradictionError, match="which atom of each block of Tie is true"):
        count_worlds(pairs, [parse_database("Tie(P1,P2,A)\n", pairs)], None)


def test_hidden_atoms_and_many_copies_are_not_counted():
    program = parse(SMOKERS, learning=True)
    with pytest.raises(lifted.NotLiftableError, match="hidden atoms"):
        count_worlds(program, [parse_database(PEOPLE + "?Cancer(Carl)\n", program)], None)
    words = ", ".join(f"W{number}" for number in range(600))
    many = parse(
        f"word = {{{words}}}\nHas(page, word)\nGood(page)\nHas(p,+w) => Good(p)\n", learning=True
    )
    with pytest.raises(lifted.NotLiftableError, match="600 weights are to be learned"):
        count_worlds(many, [parse_database("Good(P1)\n", many)], None)
    some = parse("word = {A, B}\nHas(page, word)\nEXIST p Has(p,+w)\n", learning=True)
    with pytest.raises(lifted.NotLiftableError, match=r"rule 1 has \+ and a quantifier"):
        count_worlds(some, [parse_database("Has(P1,A)\n", some)], None)


# Weights.

CASES = {
    "smokers": (SMOKERS, [PEOPLE, "Smokes(Dora)\nFriends(Dora,Emil)\n"], frozenset()),
    "given friends": (SMOKERS, [PEOPLE], frozenset({"Smokes", "Cancer"})),
    "copies": (
        "class = {A, B}\nTopic(page, class!)\nLink(page, page)\n"
        "Topic(x,+c) ^ Link(x,y) => Topic(y,+d)\nTopic(x,+c)\n-0.5. Link(x,y)\n",
        ["Topic(P1,A)\nTopic(P2,B)\nTopic(P3,B)\nLink(P1,P2)\nLink(P2,P3)\n"],
        frozenset({"Topic", "Link"}),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_counted_weights_are_those_of_listed_worlds(name, monkeypatch):
    text, databases, query = CASES[name]
    program = parse(text, learning=True)
    known = [parse_database(each, program) for each in databases]
    settings = LearningSettings(method="discriminative", query=query)
    listed = learn(program, known, settings)
    monkeypatch.setattr(learner, "GROUND_AT_ONCE", 0)
    counted = learn(program, known, settings)
    assert isinstance(counted.task.exact, CountedLikelihood)
    assert counted.task.worlds == ()
    assert counted.converged
    slope = listed.task.exact.value_and_slope(counted.weights)[1]
    assert np.abs(slope).max() < 1e-7  # listed weights have slopes up to 1e-6
    assert np.abs(counted.weights - listed.weights)[counted.task.prior.learned].max() < 1e-5
    errors = standard_errors(listed.task, counted.weights)
    assert standard_errors(counted.task, counted.weights) == pytest.approx(errors, rel=1e-3)


def many_people(count, seed=0):
    """Data of a town whose smokers like each other."""
    rng = np.random.default_rng(seed)
    smokes = rng.random(count) < 0.3
    facts = {f"{'' if smokes[n] else '!'}Smokes(P{n})" for n in range(count)}
    for _ in range(5 * count):
        a, b = rng.integers(count, size=2)
        if smokes[a] == smokes[b] or rng.random() < 0.3:
            facts.add(f"Friends(P{a},P{b})")
    return "\n".join(sorted(facts)) + "\n"


TOWN = """Smokes(person)
Friends(person,person)
Smokes(x)
Friends(x,y)
Friends(x,y) => (Smokes(x) <=> Smokes(y))
"""


def test_weights_of_many_people_explain_what_is_seen():
    """At the maximum, expected counts are those of the data but for the prior."""
    program = parse(TOWN, learning=True)
    database = parse_database(many_people(600), program)
    learned = learn(program, [database], LearningSettings(method="discriminative"))
    assert learned.converged
    worlds = learned.task.counted
    setting = lifted.reweigh(worlds.settings[0], learned.weights)
    expected = lifted.expected_true_groundings(lifted.lift_setting(setting).count())
    pull = learned.task.prior.slope(learned.weights)
    assert expected - pull == pytest.approx(worlds.observed, abs=1e-4)


def test_without_a_method_what_cannot_be_ground_is_counted():
    program = parse(TOWN, learning=True)
    database = parse_database(many_people(40), program)
    small = LearningSettings(max_groundings=2000)
    learned = learn(program, [database], small)
    assert learned.task.settings.objective == "discriminative"
    exact = learn(program, [database], LearningSettings(method="discriminative"))
    assert learned.weights == pytest.approx(exact.weights, abs=1e-8)
    with pytest.raises(learner.LimitError):
        learn(program, [database], LearningSettings(method="pseudo", max_groundings=2000))
    with pytest.raises(learner.LimitError):
        learn(program, [database], small, held_out=[database])


def test_a_climb_that_was_stopped_goes_on_as_if_it_were_not(tmp_path):
    program = parse(TOWN, learning=True)
    database = parse_database(many_people(40), program)
    settings = LearningSettings(method="discriminative")
    steps = []
    learn(program, [database], settings, watch=steps.append)
    again = learn(program, [database], settings, start=steps[2])
    assert again.weights.tolist() == steps[-1].weights.tolist()
    assert again.step.iteration == steps[-1].iteration


def test_learn_tells_that_it_counted(tmp_path):
    (tmp_path / "town.mln").write_text(TOWN)
    (tmp_path / "town.db").write_text(many_people(120))
    done = orbitmc(
        *("learn", str(tmp_path / "town.mln"), str(tmp_path / "town.db")),
        *("--method", "discriminative", "--errors", "-o", str(tmp_path / "learned.mln")),
    )
    assert done.returncode == 0
    assert "counted, and nothing was ground: 14,520 atoms are explained" in done.stderr
    learned = (tmp_path / "learned.mln").read_text()
    assert "likelihood of all atoms" in learned
    assert learned.count("// ±") == 3
    weights = [float(line.split()[0]) for line in learned.splitlines() if "±" in line]
    assert all(map(math.isfinite, weights))
