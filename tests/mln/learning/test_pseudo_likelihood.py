"""Pseudo-likelihood, its gradient and its maximum are what their definitions say."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.ascent import first_step, maximise
from orbitmc.mln.learning.learner import LearningSettings, learn
from orbitmc.mln.learning.objectives import CompositeLikelihood, prior
from orbitmc.mln.learning.worlds import changes, concatenate_changes
from tests.mln.learning.programs import CASES, FIRST_PAGES, HARD, HEALTH, PAGES, worlds_of
from tests.oracle import brute_force


def objective_of(worlds, deviation=2.0):
    return CompositeLikelihood(
        concatenate_changes([changes(world) for world in worlds]),
        prior(worlds[0].ground, deviation=deviation),
    )


def random_weights(objective, seed=1):
    """Weights away from the prior's mean, where they are learned."""
    rng = np.random.default_rng(seed)
    return objective.prior.complete(rng.normal(size=int(objective.prior.learned.sum())))


def slow_pseudo_likelihood(world, weights):
    """Every variable's chance of its value, by trying all its values."""
    graph = graph_of(world.ground, weights)
    state = world.values.tolist()
    return sum(
        np.log(brute_force.conditional(graph, state, variable)[value])
        for variable, value in enumerate(state)
    )


@pytest.mark.parametrize("case", CASES)
def test_pseudo_likelihood_is_the_product_of_all_conditionals(case):
    worlds = worlds_of(*CASES[case])
    objective = objective_of(worlds)
    weights = random_weights(objective)
    mean, learned = objective.prior.mean, objective.prior.learned
    expected = sum(slow_pseudo_likelihood(world, weights) for world in worlds)
    expected -= sum((weights[learned] - mean[learned]) ** 2) / (2 * 2.0**2)
    assert objective.value_and_slope(weights)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_agrees_with_finite_differences(case):
    objective = objective_of(worlds_of(*CASES[case]))
    weights = random_weights(objective)
    _, slope = objective.value_and_slope(weights)
    step = 1e-5
    for number in np.flatnonzero(objective.prior.learned):
        there, back = weights.copy(), weights.copy()
        there[number] += step
        back[number] -= step
        rise = objective.value_and_slope(there)[0] - objective.value_and_slope(back)[0]
        assert slope[number] == pytest.approx(rise / (2 * step), rel=1e-6, abs=1e-8)
    assert not slope[~objective.prior.learned].any()


@pytest.mark.parametrize("case", CASES)
def test_at_the_end_no_direction_leads_up(case):
    objective = objective_of(worlds_of(*CASES[case]))
    *_, last = maximise(objective)
    assert last.finished
    assert last.slope < 1e-5
    assert last.objective > first_step(objective).objective
    for seed in range(5):
        nearby = objective.prior.complete(
            last.weights[objective.prior.learned]
            + 0.01 * random_weights(objective, seed)[objective.prior.learned]
        )
        assert objective.value_and_slope(nearby)[0] < last.objective


def test_a_single_weight_is_found_by_hand():
    """Three of four smoke: without a prior to speak of, the weight is the log-odds."""
    program = parse("Smokes(person)\nperson = {D}\nSmokes(x)\n", learning=True)
    database = parse_database("Smokes(A)\nSmokes(B)\nSmokes(C)\n", program)
    learned = learn(program, [database], LearningSettings(deviation=1e4))
    assert learned.weights == pytest.approx([np.log(3)], abs=1e-5)


def test_the_prior_pulls_towards_written_weights():
    program = parse("Smokes(person)\n1.25 Smokes(x)\n", learning=True)
    database = parse_database("!Smokes(A)\n", program)
    strict = learn(program, [database], LearningSettings(deviation=1e-3)).weights[0]
    loose = learn(program, [database], LearningSettings(deviation=1.0)).weights[0]
    assert strict == pytest.approx(1.25, abs=1e-4)
    assert loose == pytest.approx(1.25 - 1 / (1 + np.exp(-loose)), abs=1e-5)


def test_fixed_and_hard_weights_stay():
    program = parse("P(t)\nQ(t)\n-1.5. P(x)\nP(x) v Q(x).\nP(x) => Q(x)\n", learning=True)
    database = parse_database("P(A)\nQ(A)\nQ(B)\n", program)
    weights = learn(program, [database]).weights
    assert weights[:2].tolist() == [-1.5, np.inf]
    assert weights[2] != 0


def test_databases_are_independent_worlds():
    """The same world twice counts as two, and no atom links one to the other."""
    once = objective_of(worlds_of(PAGES, [FIRST_PAGES], {"Topic"}), deviation=1e6)
    twice = objective_of(worlds_of(PAGES, [FIRST_PAGES] * 2, {"Topic"}), deviation=1e6)
    weights = random_weights(once)
    assert twice.value_and_slope(weights)[0] == pytest.approx(2 * once.value_and_slope(weights)[0])


def test_data_that_break_a_hard_formula_are_refused():
    with pytest.raises(ContradictionError, match=r"<text>:4:1: the database breaks"):
        objective_of(worlds_of(HARD, [HEALTH + "!Cancer(Emil)\n"]))


def test_a_round_depends_on_the_step_before_it_and_nothing_else(monkeypatch):
    monkeypatch.setattr("orbitmc.mln.learning.ascent.ROUND", 2)
    objective = objective_of(worlds_of(*CASES["blocks, + weights and two worlds"]))
    steps = list(maximise(objective))
    assert len(steps) > 2
    again = list(maximise(objective, steps[0]))
    assert [step.objective for step in again] == [step.objective for step in steps[1:]]
    assert (again[-1].weights == steps[-1].weights).all()


def plainly():
    raise KeyboardInterrupt


def inside_compiled_code():
    raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


@pytest.mark.parametrize("press", [plainly, inside_compiled_code])
def test_an_interruption_gives_the_weights_found_so_far(press):
    program = parse(PAGES, learning=True)
    databases = [parse_database(FIRST_PAGES, program)]
    settings = LearningSettings(query=frozenset({"Topic"}), iterations=2)
    seen = []

    def interrupt(step):
        seen.append(step)
        press()

    learned = learn(program, databases, settings, watch=interrupt)
    assert learned.interrupted
    assert learned.step is seen[0]
    assert not learned.step.finished
