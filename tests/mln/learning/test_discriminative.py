"""Conditional likelihood: the slopes are right, chains estimate them, and climbing gets up."""

import numpy as np
import pytest
from scipy.optimize import minimize

from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.grounding.ground_features import truth_in
from orbitmc.mln.language.parser import parse
from orbitmc.mln.learning.ascent import (
    Adam,
    ConditionalLikelihood,
    DiagonalNewton,
    climb,
    first_step,
    observed_counts,
)
from orbitmc.mln.learning.expectations import Chains
from orbitmc.mln.learning.learner import LearningSettings, Task
from orbitmc.mln.learning.objectives import CompositeLikelihood, prior
from orbitmc.mln.learning.worlds import TrueCounts, changes, concatenate_changes
from tests.mln.learning.enumerated import Enumerated
from tests.mln.learning.programs import CASES, PEOPLE, SMOKERS, worlds_of

WEIGHTS = np.array([0.5, 0.8, -0.4, -1.0, 0.3])
SMALL = ["given friends", "blocks, + weights and two worlds", "a hard rule"]


def exact_objective(worlds):
    expecting = [Enumerated(world.ground) for world in worlds]
    belief = prior(worlds[0].ground)
    proxy = CompositeLikelihood(concatenate_changes([changes(world) for world in worlds]), belief)
    return ConditionalLikelihood(observed_counts(worlds), expecting, belief, proxy)


def log_likelihood(objective, weights):
    """By definition: the data's log-weight less the logarithm of the normalising constants."""
    finite = np.where(np.isinf(weights), 0.0, weights)
    value = float(objective.observed @ finite) + objective.prior.log_density(weights)
    return value - sum(one.log_z(weights) for one in objective.expecting)


def random_weights(objective):
    learned = int(objective.prior.learned.sum())
    return objective.prior.complete(np.random.default_rng(1).normal(size=learned))


@pytest.mark.parametrize("case", CASES)
def test_true_groundings_are_counted(case):
    """Feature by feature and state by state, in plain Python."""
    for world in worlds_of(*CASES[case]):
        rng = np.random.default_rng(1)
        sizes = world.ground.cardinality
        states = rng.integers(0, sizes[:, None], size=(len(sizes), 5))
        expected = np.zeros((len(world.ground.weights), 5))
        for part in world.ground.features:
            for place in range(5):
                np.add.at(expected[:, place], part.weight, truth_in(part, states[:, place]))
        assert (TrueCounts(world.ground)(states) == expected).all()


@pytest.mark.parametrize("case", SMALL)
def test_slopes_agree_with_finite_differences_of_the_likelihood(case):
    objective = exact_objective(worlds_of(*CASES[case]))
    weights = random_weights(objective)
    slope, _ = objective.slope(weights)
    step = 1e-5
    for number in np.flatnonzero(objective.prior.learned):
        there, back = weights.copy(), weights.copy()
        there[number] += step
        back[number] -= step
        rise = log_likelihood(objective, there) - log_likelihood(objective, back)
        assert slope[number] == pytest.approx(rise / (2 * step), rel=1e-6, abs=1e-8)
    assert not slope[~objective.prior.learned].any()


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("name", ["newton", "adam"])
def test_climbing_with_exact_slopes_reaches_the_largest_likelihood(case, name):
    objective = exact_objective(worlds_of(*CASES[case]))
    belief = objective.prior
    found = minimize(
        lambda learned: -log_likelihood(objective, belief.complete(learned)),
        belief.mean[belief.learned],
    )
    optimiser = DiagonalNewton() if name == "newton" else Adam(len(belief.mean))
    *_, last = climb(objective, optimiser, first_step(objective.proxy), iterations=200)
    assert log_likelihood(objective, last.weights) == pytest.approx(-found.fun, abs=2e-3)


def test_chains_estimate_the_expected_counts():
    """Within five standard errors of the exact ones, for every weight."""
    (world,) = worlds_of(*CASES["given friends"])
    weights = WEIGHTS
    exact = Enumerated(world.ground).sample(weights, sweeps=0)
    chains = Chains(world, seed=1, number=0)
    chains.sample(weights, sweeps=50)
    means = np.array([chains.sample(weights, sweeps=10).mean for _ in range(40)])
    error = np.sqrt(exact.variance / (40 * chains.lanes))
    assert (np.abs(means.mean(axis=0) - exact.mean) <= 5 * error).all()
    assert exact.variance[[0, 1, 4]].min() > 0


def test_the_spread_along_a_direction_is_the_variance_of_the_sum():
    (world,) = worlds_of(*CASES["given friends"])
    states = Enumerated(world.ground).sample(WEIGHTS, sweeps=0)
    for number in range(5):
        assert states.variance_along(np.eye(5)[number]) == pytest.approx(states.variance[number])


@pytest.mark.parametrize("name", ["newton", "adam"])
def test_a_climb_that_was_stopped_goes_on_as_if_it_never_stopped(name):
    program = parse(SMOKERS, learning=True)
    databases = [parse_database(PEOPLE, program)] * 2
    settings = LearningSettings(
        method="discriminative",
        query=frozenset({"Smokes", "Cancer"}),
        optimiser=name,
        iterations=6,
        seed=3,
    )
    steps = list(Task(program, databases, settings).steps())
    again = list(Task(program, databases, settings).steps(steps[2]))
    assert [step.iteration for step in again] == [4, 5, 6]
    assert (again[-1].weights == steps[-1].weights).all()
    assert all((again[-1].arrays[name] == kept).all() for name, kept in steps[-1].arrays.items())
