"""Priors are chosen by data that were left out, and weights are scored on data held out."""

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.ascent import first_step, maximise
from orbitmc.mln.learning.learner import DEVIATIONS, LearningSettings, Task, learn, left_out_score
from orbitmc.mln.learning.objectives import CompositeLikelihood, prior
from orbitmc.mln.learning.quality import score
from orbitmc.mln.learning.worlds import changes, concatenate_changes, training_worlds
from orbitmc.mln.learning.writing import program_text
from tests.mln.learning.programs import FIRST_PAGES, PAGES, SECOND_PAGES
from tests.oracle import brute_force

COINS = "Heads(coin)\nHeads(c)\n"


def coins(*tosses):
    """Databases in which so many of ten coins show heads."""
    program = parse(COINS, learning=True)
    texts = [
        "".join(f"{'' if n < heads else '!'}Heads(C{n})\n" for n in range(10)) for heads in tosses
    ]
    return program, [parse_database(text, program) for text in texts]


def test_the_score_of_a_width_is_that_of_databases_left_out():
    """Ten coins each: by hand, the weight from one database scores the other."""
    program, databases = coins(9, 6)
    worlds = training_worlds(program, databases)
    for deviation in (0.1, 2.0):
        expected = 0.0
        for heads, others in ((9, 6), (6, 9)):
            grid = np.linspace(-3, 5, 800_001)
            odds = np.log1p(np.exp(grid))
            weight = grid[np.argmax(others * grid - 10 * odds - 0.5 * (grid / deviation) ** 2)]
            expected += heads * weight - 10 * np.log1p(np.exp(weight))
        found = left_out_score(worlds, [changes(world) for world in worlds], deviation)
        assert found == pytest.approx(expected, abs=1e-4)


def test_cross_validation_prefers_a_narrow_prior_for_noise_and_a_wide_one_for_signal():
    for tosses, wanted in (((3, 7, 4, 6), DEVIATIONS[0]), ((10, 9, 10, 10), DEVIATIONS[3:])):
        program, databases = coins(*tosses)
        learned = learn(program, databases, LearningSettings(deviation=None))
        chosen = learned.task.prior.deviation
        assert chosen in np.atleast_1d(wanted)
        fixed = learn(program, databases, LearningSettings(deviation=chosen))
        assert (learned.weights == fixed.weights).all()


def test_one_database_cannot_choose_a_prior():
    program, databases = coins(3)
    with pytest.raises(InputError, match="two databases at least"):
        learn(program, databases, LearningSettings(deviation=None))
    unknown = [parse_database("?Heads(C0)\n", program)] * 2
    with pytest.raises(InputError, match="give its width"):
        learn(program, unknown, LearningSettings(deviation=None, method="discriminative"))


def test_held_out_databases_are_scored_and_not_learned_from():
    program = parse(PAGES, learning=True)
    first, second = (parse_database(text, program) for text in (FIRST_PAGES, SECOND_PAGES))
    settings = LearningSettings(query=frozenset({"Topic"}))
    learned = learn(program, [first], settings, held_out=[second])
    task = learned.task
    together = learn(program, [first, second], settings)
    assert learned.weights.shape == together.weights.shape
    assert (learned.weights != together.weights).any()
    (world,) = task.held_out
    state, graph = world.values.tolist(), graph_of(world.ground, learned.weights)
    others = [
        np.log(brute_force.conditional(graph, state, variable)[value])
        for variable, value in enumerate(state)
    ]
    every, chances = np.array(brute_force.states(graph)), np.array(brute_force.distribution(graph))
    alone = [np.log(chances[every[:, v] == value].sum()) for v, value in enumerate(state)]
    found = score(task.held_out, task.prior, learned.weights)
    assert found.atoms == len(state)
    assert found.given_others == pytest.approx(np.mean(others), abs=1e-10)
    # 51,200 states: a probability above .05 is off by less than .01 but for a chance below 1e-6
    assert found.given_evidence == pytest.approx(np.mean(alone), abs=0.05)


def test_hidden_atoms_of_held_out_databases_are_not_scored():
    program = parse("A(p)\nH(p)\nH(x) => A(x)\nH(x)\nA(x)\n", learning=True)
    databases = [parse_database(text, program) for text in ("A(P)\n!A(Q)\n", "A(R)\n")]
    settings = LearningSettings(hidden=frozenset({"H"}))
    learned = learn(program, databases[:1], settings, held_out=databases[1:])
    found = score(learned.task.held_out, learned.task.prior, learned.weights)
    (world,) = learned.task.held_out
    graph = graph_of(world.ground, learned.weights)
    every, chances = np.array(brute_force.states(graph)), np.array(brute_force.distribution(graph))
    shown = int(np.flatnonzero(~world.hidden)[0])
    expected = np.log(chances[every[:, shown] == 1].sum())
    assert found.atoms == 1
    assert np.isnan(found.given_others)
    assert found.given_evidence == pytest.approx(expected, abs=0.05)  # as above
    nothing = learn(program, databases[:1], settings, held_out=[parse_database("?A(S)\n", program)])
    with pytest.raises(InputError, match="no atom that could be scored"):
        score(nothing.task.held_out, nothing.task.prior, nothing.weights)


def test_a_flat_objective_ends_though_its_slope_is_above_the_tolerance(monkeypatch):
    """With no slope small enough, only the gain of whole rounds can end the climb."""
    ascent = "orbitmc.mln.learning.ascent"
    program = parse(PAGES, learning=True)
    worlds = training_worlds(
        program, [parse_database(text, program) for text in (FIRST_PAGES, SECOND_PAGES)], {"Topic"}
    )
    known = concatenate_changes([changes(world) for world in worlds])
    objective = CompositeLikelihood(known, prior(worlds[0].ground, deviation=2.0))
    *_, best = maximise(objective)
    monkeypatch.setattr(f"{ascent}.ROUND", 2)
    monkeypatch.setattr(f"{ascent}.SMALLEST_SLOPE", 0.0)
    *_, last = maximise(objective)
    assert last.finished
    assert last.iteration < 200
    assert best.objective - last.objective < 1e-5
    monkeypatch.setattr(f"{ascent}.FLAT", -1.0)
    *_, restless = maximise(objective, iterations=60)
    assert restless.iteration == 60 or restless.finished


def test_weights_of_clauses_are_learned_apart():
    """Alchemy splits formulas; each clause gets a weight of its own."""
    text = "X(p)\nY(p)\nX(x) <=> Y(x)\n"
    program = parse(text, learning=True)
    database = parse_database("X(A)\nY(A)\nX(B)\n!Y(C)\n", program)
    whole = learn(program, [database], LearningSettings())
    split = learn(program, [database], LearningSettings(meaning="alchemy"))
    clauses = parse("X(p)\nY(p)\n!X(x) v Y(x)\nX(x) v !Y(x)\n", learning=True)
    expected = learn(clauses, [parse_database("X(A)\nY(A)\nX(B)\n!Y(C)\n", clauses)])
    assert (len(whole.weights), len(split.weights)) == (1, 2)
    assert split.weights == pytest.approx(expected.weights, abs=1e-6)
    again = parse(program_text(split.ground, split.weights))
    assert [rule.weight for rule in again.rules] == split.weights.tolist()


def test_written_weights_are_shared_out_among_clauses():
    program = parse("X(p)\nY(p)\n3 X(x) <=> Y(x)\n", learning=True)
    task = Task(program, [parse_database("X(A)\n", program)], LearningSettings(meaning="alchemy"))
    assert task.prior.mean.tolist() == [1.5, 1.5]


def test_clauses_that_would_name_the_constants_of_one_database_only_are_refused():
    program = parse("X(p)\nF(p,p)\nX(x) ^ (EXIST y F(x,y))\n", learning=True)
    databases = [parse_database(f"X({name})\nF({name},{name})\n", program) for name in "AB"]
    with pytest.raises(InputError, match=r"<text>:3:1: to split .* constants of type p"):
        learn(program, databases, LearningSettings(meaning="alchemy"))
    learn(program, databases[:1], LearningSettings(meaning="alchemy"))


def test_errors_are_comments_that_the_parser_leaves_out():
    program, databases = coins(7)
    learned = learn(program, databases)
    text = program_text(learned.ground, learned.weights, errors=np.array([0.123]))
    assert "// ± 0.12" in text
    assert [rule.weight for rule in parse(text).rules] == learned.weights.tolist()


def test_the_first_step_of_hidden_predicates_is_not_at_a_saddle():
    program = parse("A(p)\nH(p)\nH(x) => A(x)\nH(x)\n", learning=True)
    task = Task(
        program, [parse_database("A(P)\n!A(Q)\n", program)], LearningSettings(hidden=frozenset("H"))
    )
    assert (task.first().weights != task.prior.mean).all()
    assert first_step(task.exact).weights.tolist() == [0.0, 0.0]
