"""Thousands of small weights cancel to the last digits."""

import random
from fractions import Fraction

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.log_weights import exact_sum, sum_of_tables
from orbitmc.graph.model import model


def odds(pairs):
    """The probability of the first value, by integers."""
    first = second = 1
    for one, other in pairs:
        first, second = first * one, second * other
    return float(Fraction(first, first + second))


def cancelling(count, seed):
    """Ratios of small integers, each with its inverse but for one, in any order."""
    draw = random.Random(seed)
    pairs = [(draw.randint(1, 9), draw.randint(1, 9)) for _ in range(count // 2)]
    pairs += [(other, one) for one, other in pairs] + [(3, 4)]
    draw.shuffle(pairs)
    return pairs


def test_thousands_of_tiny_factors_of_one_variable_cancel():
    pairs = [(1, 2), (2, 1)] * 2500
    coin = model(
        {"coin": ["a", "b"]}, [(["coin"], [1e-100 * one, 1e-100 * other]) for one, other in pairs]
    )
    found = om.marginals(coin, method="exact")["coin"].probability
    assert odds(pairs) == 0.5
    np.testing.assert_allclose(found, 0.5, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-100, 1.0, 1e100, 1e300])
def test_thousands_of_factors_give_what_integers_give(scale):
    pairs = cancelling(5000, seed=1)
    coin = model({"coin": ["a", "b"]}, [(["coin"], [scale * a, scale * b]) for a, b in pairs])
    found = om.marginals(coin, method="exact")["coin"].probability
    np.testing.assert_allclose(found[0], odds(pairs), rtol=0, atol=1e-12)


def test_hundreds_of_neighbours_cancel():
    pairs = cancelling(600, seed=2)
    leaves = {f"leaf{number}": ["a", "b"] for number in range(len(pairs))}
    star = model(
        {"centre": ["a", "b"], **leaves},
        [
            (["centre", leaf], np.array([[one, 0.0], [0.0, other]]) * 1e-100)
            for leaf, (one, other) in zip(leaves, pairs, strict=True)
        ],
    )
    found = om.marginals(star, method="exact")
    np.testing.assert_allclose(found["centre"].probability[0], odds(pairs), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found["leaf7"].probability[0], odds(pairs), rtol=0, atol=1e-12)


def test_evidence_joins_factors_without_loss():
    pairs = cancelling(3000, seed=3)
    factors = [
        (["coin", "seen"], np.array([[one, 1], [other, 1]]) * 1e-100) for one, other in pairs
    ]
    both = model({"coin": ["a", "b"], "seen": ["a", "b"]}, factors)
    found = om.marginals(both, {"seen": "a"}, method="exact")["coin"].probability
    np.testing.assert_allclose(found[0], odds(pairs), rtol=0, atol=1e-12)


def test_sums_of_tables_keep_what_a_plain_sum_loses():
    tables = [np.array([large, -np.inf]) for large in [1e16, 1.0, -1e16] * 4]
    np.testing.assert_array_equal(sum_of_tables(tables), [4.0, -np.inf])
    assert sum(table[0] for table in tables) != 4.0  # so the compensation is needed


def test_sums_beyond_doubles_are_not_numbers():
    assert np.isnan(exact_sum([1e308, 1e308]))
    assert exact_sum([1e308, -1e308, 1.0]) == 1.0
    assert exact_sum([-np.inf, 1.0]) == -np.inf
