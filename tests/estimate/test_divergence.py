"""Divergences are what their definitions say, and their expectation is met by random errors."""

import math

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.estimate.divergences import divergence, expected_divergence

START = np.array([0, 2, 3, 6])  # a binary variable, a decided one, one with three values
TRUTH = np.array([0.25, 0.75, 1.0, 0.2, 0.3, 0.5])
GUESS = np.array([0.5, 0.5, 1.0, 0.2, 0.5, 0.3])


def test_divergences_are_means_over_undecided_variables():
    found = divergence(TRUTH, GUESS, START, smoothing=0.0)
    of_estimate = [
        0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75),
        0.5 * math.log(0.5 / 0.3) + 0.3 * math.log(0.3 / 0.5),
    ]
    of_truth = [
        0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5),
        0.3 * math.log(0.3 / 0.5) + 0.5 * math.log(0.5 / 0.3),
    ]
    hellinger = [
        math.sqrt(1 - math.sqrt(0.5 * 0.25) - math.sqrt(0.5 * 0.75)),
        math.sqrt(1 - 0.2 - 2 * math.sqrt(0.15)),
    ]
    assert found.of_estimate == pytest.approx(sum(of_estimate) / 2)
    assert found.of_truth == pytest.approx(sum(of_truth) / 2)
    assert found.hellinger == pytest.approx(sum(hellinger) / 2)


def test_equal_marginals_are_not_apart():
    found = divergence(TRUTH, TRUTH, START)
    assert found.of_estimate == found.of_truth == found.hellinger == 0.0


def test_a_value_that_was_never_seen_costs_a_finite_amount():
    never, half = np.array([0.0, 1.0]), np.array([0.5, 0.5])
    found = divergence(half, never, np.array([0, 2]))
    s = 1e-9
    low, high = s / (1 + 2 * s), (1 + s) / (1 + 2 * s)
    assert found.of_truth == pytest.approx(0.5 * math.log(0.5 / low) + 0.5 * math.log(0.5 / high))
    assert found.hellinger == pytest.approx(math.sqrt(1 - math.sqrt(0.5)))


def test_random_errors_cost_what_is_expected():
    rng, draws, variables = np.random.default_rng(1), 40_000, 2_000
    up = rng.uniform(0.1, 0.9, variables)
    truth = np.stack([1 - up, up], axis=1).ravel()
    seen = rng.binomial(draws, up) / draws
    guess = np.stack([1 - seen, seen], axis=1).ravel()
    start = np.arange(0, 2 * variables + 1, 2)
    error = np.repeat(np.sqrt(up * (1 - up) / draws), 2)
    found, expected = divergence(truth, guess, start), expected_divergence(truth, error, start)
    assert expected.of_estimate == pytest.approx(1 / (2 * draws))
    # a chi-square per variable: its mean over 2,000 has the relative error sqrt(2 / 2000)
    assert found.of_estimate == pytest.approx(expected.of_estimate, rel=4 * math.sqrt(2 / 2000))
    assert found.of_truth == pytest.approx(expected.of_truth, rel=4 * math.sqrt(2 / 2000))
    # the mean of an absolute value is below the root of the mean square: sqrt(2 / pi) of it
    spread = 4 * math.sqrt((math.pi / 2 - 1) / 2000)
    assert found.hellinger == pytest.approx(math.sqrt(2 / math.pi) * expected.hellinger, rel=spread)


def test_lists_of_other_lengths_are_refused():
    with pytest.raises(InputError, match="expected 6 probabilities, got 2"):
        divergence(TRUTH, np.array([0.5, 0.5]), START)
