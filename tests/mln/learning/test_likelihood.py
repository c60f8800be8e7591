"""Likelihood, hidden atoms and standard errors are what enumeration of all worlds says."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.ascent import expectation_maximisation, first_step, maximise, random_start
from orbitmc.mln.learning.expectations import Components, are_small
from orbitmc.mln.learning.learner import LearningSettings, Task, learn
from orbitmc.mln.learning.objectives import CompositeLikelihood, prior
from orbitmc.mln.learning.quality import standard_errors
from orbitmc.mln.learning.worlds import changes, concatenate_changes, training_worlds
from tests.mln.learning.programs import CASES, HARD, PAGES, PEOPLE, SMOKERS
from tests.oracle.brute_force import states
from tests.oracle.enumeration import log_weights_of_all

HIDDEN = {
    "a hidden predicate": (
        "Smokes(person)\nRisk(person)\nCancer(person)\nRisk(x) => Cancer(x)\n"
        "0.4 Smokes(x) => Risk(x)\nRisk(x)\n",
        ["Smokes(Anna)\nCancer(Anna)\n!Smokes(Bob)\nSmokes(Carl)\n", "Cancer(Dora)\n"],
        {"Smokes", "Cancer"},
        {"Risk"},
    ),
    "single unknown atoms": (
        SMOKERS,
        [PEOPLE + "?Cancer(Carl)\n?Smokes(Bob)\n"],
        {"Smokes", "Cancer"},
        set(),
    ),
    "a hidden block": (
        PAGES,
        ["Topic(P1,A)\nHas(Foo,P1)\nHas(Foo,P2)\nHas(Bar,P3)\nTopic(P3,B)\nLinkto(P1,P2)\n"],
        {"Topic"},
        {"Topic"},
    ),
    "a hard rule": (
        HARD,
        ["?Smokes(Anna)\n!Cancer(Anna)\nCancer(Bob)\n?Smokes(Carl)\nCancer(Carl)\n"],
        {"Smokes", "Cancer"},
        set(),
    ),
}
OPEN = {name: (*case, set()) for name, case in CASES.items() if name != "generative"}
EVERY = {**OPEN, **{f"hidden: {name}": case for name, case in HIDDEN.items()}}


def worlds_of(case):
    program, databases, explained, hidden = case
    read = parse(program, learning=True)
    known = [parse_database(text, read) for text in databases]
    return training_worlds(read, known, explained, hidden=hidden)


def likelihood_of(worlds, deviation=2.0):
    known = concatenate_changes([Components(world).changes() for world in worlds])
    return CompositeLikelihood(known, prior(worlds[0].ground, deviation=deviation))


def slow_log_likelihood(worlds, weights):
    """By definition: all worlds that agree with the data against all worlds."""
    total = 0.0
    for world in worlds:
        graph = graph_of(world.ground, weights)
        logs = log_weights_of_all(graph)
        every = np.array(states(graph))
        seen = ~world.hidden
        agree = (every[:, seen] == world.values[seen]).all(axis=1)
        total += np.logaddexp.reduce(logs[agree]) - np.logaddexp.reduce(logs)
    return float(total)


def slow_objective(worlds, weights, belief):
    away = (weights[belief.learned] - belief.mean[belief.learned]) / belief.deviation
    return slow_log_likelihood(worlds, weights) - 0.5 * float(away @ away)


def some_weights(objective, seed=1):
    learned = int(objective.prior.learned.sum())
    return objective.prior.complete(np.random.default_rng(seed).normal(size=learned))


@pytest.mark.parametrize("name", EVERY)
def test_the_likelihood_is_that_of_all_worlds(name):
    worlds = worlds_of(EVERY[name])
    objective = likelihood_of(worlds)
    for seed in range(3):
        weights = some_weights(objective, seed)
        expected = slow_objective(worlds, weights, objective.prior)
        assert objective.value_and_slope(weights)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", EVERY)
def test_its_gradient_agrees_with_finite_differences(name):
    worlds = worlds_of(EVERY[name])
    objective = likelihood_of(worlds)
    weights = some_weights(objective)
    _, slope = objective.value_and_slope(weights)
    for number in np.flatnonzero(objective.prior.learned):
        there, back = weights.copy(), weights.copy()
        there[number] += 1e-5
        back[number] -= 1e-5
        rise = slow_objective(worlds, there, objective.prior)
        rise -= slow_objective(worlds, back, objective.prior)
        assert slope[number] == pytest.approx(rise / 2e-5, rel=1e-5, abs=1e-7)
    assert not slope[~objective.prior.learned].any()


@pytest.mark.parametrize("name", EVERY)
def test_learned_weights_maximise_the_likelihood_by_brute_force(name):
    """From the maximum that learning found, a search in plain floats finds nothing better."""
    program, databases, explained, hidden = EVERY[name]
    read = parse(program, learning=True)
    settings = LearningSettings(
        method="discriminative", query=frozenset(explained or ()), hidden=frozenset(hidden)
    )
    learned = learn(read, [parse_database(text, read) for text in databases], settings)
    assert learned.converged
    worlds, belief = learned.task.worlds, learned.task.prior

    def downwards(free):
        return -slow_objective(worlds, belief.complete(free), belief)

    found = minimize(downwards, learned.weights[belief.learned], method="BFGS")
    assert learned.step.objective == pytest.approx(-found.fun, abs=1e-6)
    assert learned.weights[belief.learned] == pytest.approx(found.x, abs=2e-3)


@pytest.mark.parametrize("name", HIDDEN)
def test_no_iteration_of_em_goes_down(name):
    objective = likelihood_of(worlds_of(HIDDEN[name]))
    for seed in range(3):
        start = first_step(objective, random_start(objective.prior, seed))
        steps = [start, *expectation_maximisation(objective, start)]
        values = [step.objective for step in steps]
        assert all(after >= before - 1e-10 for before, after in itertools.pairwise(values))
        assert values[-1] > values[0]
        assert steps[-1].finished


def test_em_that_credits_the_data_with_wrong_atoms_goes_down():
    """The negative of the test above: expectations must come from the present weights."""
    objective = likelihood_of(worlds_of(HIDDEN["a hidden predicate"]))
    *_, best = maximise(objective, first_step(objective, random_start(objective.prior, 0)))
    wrong = objective.complete(best.weights + 5.0 * objective.prior.learned)
    *_, worse = maximise(wrong, first_step(wrong, best.weights))
    assert objective.value_and_slope(worse.weights)[0] < best.objective - 1e-3


def slow_information(function, weights, learned, step=1e-3):
    """Minus second differences."""
    places = np.flatnonzero(learned)
    found = np.zeros((len(places), len(places)))
    for (i, one), (j, two) in itertools.product(enumerate(places), repeat=2):
        for first, second in itertools.product((-1, 1), repeat=2):
            moved = weights.copy()
            moved[one] += first * step
            moved[two] += second * step
            found[i, j] -= first * second * function(moved) / (4 * step * step)
    return found


@pytest.mark.parametrize("name", ["given friends", "a hard rule", "hidden: a hidden predicate"])
def test_standard_errors_are_the_inverse_of_the_second_derivatives(name):
    program, databases, explained, hidden = EVERY[name]
    read = parse(program, learning=True)
    settings = LearningSettings(
        method="discriminative", query=frozenset(explained or ()), hidden=frozenset(hidden)
    )
    learned = learn(read, [parse_database(text, read) for text in databases], settings)
    task, weights = learned.task, learned.weights
    slow = slow_information(
        lambda moved: slow_objective(task.worlds, moved, task.prior), weights, task.prior.learned
    )
    expected = np.sqrt(np.diag(np.linalg.inv(slow)))
    found = standard_errors(task, weights)
    assert found[task.prior.learned] == pytest.approx(expected, rel=1e-3)
    assert not found[~task.prior.learned].any()


def test_errors_of_pseudo_likelihood_know_that_atoms_depend_on_each_other():
    """Against the exact sandwich: all worlds, each with the slope that it would have as data.

    Errors come from 512 states, nearly independent; ten of their standard errors (1 / sqrt(1024))
    are beyond any false alarm that matters. The curvature alone is outside that.
    """
    program = parse("X(p)\nL(p,p)\nL(x,y) => (X(x) <=> X(y))\n", learning=True)
    links = "L(A,B)\nL(C,D)\nL(E,F)\nL(G,H)\n"
    database = parse_database(f"{links}X(A)\nX(B)\nX(C)\n", program)
    task = Task(program, [database], LearningSettings(query=frozenset({"X"}), deviation=10.0))
    weights = np.array([0.5])
    (world,) = task.worlds
    graph = graph_of(world.ground, weights)
    logs = log_weights_of_all(graph)
    chances = np.exp(logs - np.logaddexp.reduce(logs))
    slopes = []
    for state in states(graph):
        as_data = type(world)(world.ground, np.array(state), world.hidden)
        own = CompositeLikelihood(changes(as_data), task.prior)
        slopes.append(own.value_and_slope(weights)[1] - task.prior.slope(weights))
    middle = np.einsum("s,si,sj->ij", chances, slopes, slopes) + 10.0**-2
    inverse = np.linalg.inv(task.pseudo_likelihood.information(weights))
    expected = np.sqrt(np.diag(inverse @ middle @ inverse))
    found = standard_errors(task, weights)
    tolerance = 10 / np.sqrt(2 * 512)
    assert found == pytest.approx(expected, rel=tolerance)
    assert (expected > (1 + tolerance) * np.sqrt(np.diag(inverse))).all()


def test_errors_from_chains_agree_with_those_by_listing_states():
    """Ten standard errors of an error from 512 states, as above."""
    program = parse(SMOKERS, learning=True)
    database = parse_database(PEOPLE, program)
    query = frozenset({"Smokes", "Cancer"})
    exact = Task(program, [database], LearningSettings(method="discriminative", query=query))
    noisy = Task(
        program,
        [database],
        LearningSettings(method="discriminative", query=query, optimiser="newton"),
    )
    weights = some_weights(exact.likelihood)
    expected, found = standard_errors(exact, weights), standard_errors(noisy, weights)
    assert found == pytest.approx(expected, rel=10 / np.sqrt(2 * 512))


def test_errors_of_too_many_weights_are_refused():
    program = parse(SMOKERS, learning=True)
    task = Task(program, [parse_database(PEOPLE, program)], LearningSettings())
    with pytest.raises(LimitError, match="up to 3 weights, and 4 are learned"):
        standard_errors(task, task.prior.mean, most_weights=3)


def test_large_components_are_not_listed(monkeypatch):
    worlds = [Components(world) for world in worlds_of(OPEN["given friends"])]
    assert are_small(worlds)
    monkeypatch.setattr("orbitmc.mln.learning.expectations.MOST_STATES", 8)
    assert not are_small(worlds)
    monkeypatch.undo()
    monkeypatch.setattr("orbitmc.mln.learning.expectations.MOST_TRUTHS", 10)
    assert not are_small(worlds)
    monkeypatch.undo()
    monkeypatch.setattr("orbitmc.mln.learning.expectations.MOST_COMPONENTS", 0)
    assert not are_small(worlds)


def test_chains_with_hidden_atoms_find_what_listing_states_finds():
    """The likelihood of both answers is nearly the same; noisy steps end a little lower."""
    program, databases, explained, hidden = HIDDEN["a hidden predicate"]
    read = parse(program, learning=True)
    known = [parse_database(text, read) for text in databases] * 5
    settings = LearningSettings(
        query=frozenset(explained), hidden=frozenset(hidden), deviation=1.0, seed=2
    )
    exact = learn(read, known, settings)
    assert exact.task.settings.objective == "discriminative"
    noisy = learn(read, known, LearningSettings(**{**vars(settings), "optimiser": "newton"}))
    assert np.isnan(noisy.step.objective)
    reached = exact.task.likelihood.value_and_slope(noisy.weights)[0]
    assert exact.step.objective - 0.05 < reached <= exact.step.objective + 1e-9


@pytest.mark.parametrize(
    ("text", "settings", "complaint"),
    [
        ("?Smokes(Anna)\n", {}, "leave atoms unknown: their pseudo-likelihood"),
        ("Smokes(Anna)\n", {"hidden": {"Cancer"}, "method": "pseudo"}, "pseudo cannot learn"),
        ("Smokes(Anna)\n", {"hidden": {"Canser"}}, "did you mean 'Cancer'"),
        ("?Smokes(Anna)\n", {"method": "discriminative", "query": {"Cancer"}}, "not explained"),
    ],
)
def test_hidden_atoms_that_cannot_be_learned_from_are_refused(text, settings, complaint):
    program = parse(SMOKERS, learning=True)
    chosen = {
        name: value if name == "method" else frozenset(value) for name, value in settings.items()
    }
    with pytest.raises(InputError, match=complaint):
        learn(program, [parse_database(text, program)], LearningSettings(**chosen))


def test_hidden_blocks_and_broken_rules_are_refused():
    with pytest.raises(InputError, match=r"block Topic\(P2,_\) is hidden, but the database lists"):
        worlds_of(
            (PAGES, ["Topic(P1,A)\nTopic(P3,B)\nHas(Foo,P2)\n!Topic(P2,A)\n"], {"Topic"}, {"Topic"})
        )
    worlds = worlds_of((HARD, ["?Smokes(Anna)\n!Smokes(Bob)\n!Cancer(Bob)\n"], None, set()))
    with pytest.raises(ContradictionError, match="whatever is hidden"):
        likelihood_of(worlds)
