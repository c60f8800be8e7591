"""Errors are honest: intervals cover, and stuck or drifting chains are seen."""

from functools import cache

import numpy as np
import pytest
from scipy.special import fdtrc

from orbitmc._simd.random import COLUMNS
from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.statistics import (
    _mean_squares,
    critical_ratio,
    effective_size,
    interval,
    is_rare,
    persistence,
    states_seen,
    statistics,
    values_of,
)
from orbitmc.estimate.tally import PARTS, RaoBlackwellTally, ValueTally, capacity
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph

LANES = 64


def tally_of(series):
    """A tally of `series[sample, lane]` of a binary variable, cut into parts as a run does."""
    samples, lanes = series.shape
    size = capacity(samples)
    sums = np.zeros((PARTS, 1, COLUMNS))
    for sample_number, values in enumerate(series):
        sums[sample_number // size, 0] += values.reshape(-1, COLUMNS).sum(axis=0)
    return RaoBlackwellTally(
        sums, np.array([0, 1], dtype=np.uint32), np.zeros((0, lanes), np.uint8)
    )


def summary(series):
    return statistics([tally_of(one) for one in series], series.shape[1], series.shape[2])


def test_independent_draws_have_their_textbook_error():
    rng = np.random.default_rng(1)
    found = summary((rng.random((16, 100, LANES)) < 0.3).astype(float))
    draws = 16 * 100 * LANES
    assert found.standard_error[0] == pytest.approx(np.sqrt(0.21 / draws), rel=0.3)
    assert found.ess[0] == pytest.approx(draws, rel=0.5)
    assert found.r_hat[0] < 1.02


def test_chains_stuck_in_two_modes_have_a_large_r_hat():
    rng = np.random.default_rng(2)
    modes = (rng.random((4, 1, LANES)) < 0.5) * np.ones((1, 100, 1))
    found = summary(modes)
    assert found.r_hat[0] > 1.3
    assert found.ess[0] < 3 * 4 * LANES


def test_a_common_drift_has_a_large_r_hat():
    rng = np.random.default_rng(3)
    chance = np.linspace(0.2, 0.8, 128)[None, :, None]
    found = summary((rng.random((4, 128, LANES)) < chance).astype(float))
    assert found.r_hat[0] > 1.1


def test_a_minority_of_stuck_lanes_is_seen_though_r_hat_is_small():
    """Six of 256 lanes sit in another mode."""
    rng = np.random.default_rng(5)
    series = (rng.random((4, 400, LANES)) < 0.5).astype(float)
    for pack, lane in ((0, 3), (0, 40), (1, 7), (2, 21), (2, 22), (3, 50)):
        series[pack, :, lane] = 1.0
    found = summary(series)
    assert found.r_hat[0] < 1.05
    assert found.persists[0]
    series[:, 200:] = rng.random((4, 200, LANES)) < 0.5
    assert not summary(series).persists[0]


def test_a_slight_common_drift_is_seen_though_r_hat_is_small():
    rng = np.random.default_rng(6)
    chance = np.linspace(0.45, 0.55, 400)[None, :, None]
    found = summary((rng.random((4, 400, LANES)) < chance).astype(float))
    assert found.r_hat[0] < 1.02
    assert found.drifts[0]
    assert not found.persists[0]


def test_forgetful_chains_are_rarely_accused():
    """The smallest of 4,000 p-values lies where chance puts it: alarms have the rate they claim.

    A correct rate fails this with a probability below 1e-6.
    """
    rng = np.random.default_rng(7)
    means = rng.gamma(2.0, size=(4, 4_000, 32))
    lengths = np.array([100.0, 100.0, 100.0, 30.0])
    means = 2.0 + (means - 2.0) / np.sqrt(lengths)[:, None, None]
    between, together, residual = _mean_squares(means, lengths)
    for ratio, degrees in ((between / residual, 31), (together / residual, 3)):
        smallest = fdtrc(degrees, 93, ratio).min()
        assert 4_000 * smallest > 1e-4
        assert 4_000 * smallest < 20
    assert not persistence(means, lengths, 1e-11, means.shape[1]).persists.any()
    assert not persistence(means, lengths, 1e-11, means.shape[1]).drifts.any()


@pytest.mark.parametrize(("first", "second"), [(7, 21), (31, 93), (3, 7)])
@pytest.mark.parametrize("level", [1e-3, 1e-6, 1e-13])
def test_critical_ratios_are_passed_as_often_as_they_say(first, second, level):
    found = critical_ratio(first, second, level)
    assert fdtrc(first, second, found) <= level
    assert fdtrc(first, second, found) == pytest.approx(level, rel=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_a_value_never_or_always_seen_has_an_interval_and_no_nan(constant):
    found = summary(np.full((4, 50, LANES), constant))
    numbers = [found.probability, found.low, found.high, found.ess, found.r_hat]
    assert np.isfinite(numbers).all()
    assert found.high[0] - found.low[0] > 0.01
    assert found.low[0] <= constant <= found.high[0]
    assert found.r_hat[0] == 1.0


def test_a_conditional_that_never_varies_may_still_change_in_states_not_seen():
    found = summary(np.full((4, 50, LANES), 0.25))
    states = 4 * (50 / 10) * LANES  # ten samples of a chain count as one state
    assert found.spread[0] == 0.0
    assert found.standard_error[0] == pytest.approx(0.75 / states)
    assert found.high[0] >= 0.25 + 0.75 * 2 / states
    assert found.low[0] <= 0.25 - 0.25 * 2 / states
    assert found.r_hat[0] == 1.0


def test_intervals_stay_between_zero_and_one_and_hold_their_estimate():
    probability = np.array([0.0, 1e-9, 1e-3, 0.5, 1 - 1e-9, 1.0])
    low, high = interval(probability, np.full(6, 50.0), np.full(6, 50.0), degrees=31)
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (low <= probability).all()
    assert (probability <= high).all()
    assert (high > low).all()


def test_effective_size_of_what_never_varied_is_the_number_of_chains():
    together = np.zeros(2, dtype=np.int64)
    states = states_seen(np.zeros(2), np.zeros(2), 256, 10, together)
    assert states.tolist() == [256, 256]
    assert effective_size(np.zeros(2), np.full(2, 0.1), states).tolist() == [256, 256]


def test_rare_rows_are_seen_as_often_as_the_least_seen_row_of_their_part():
    probability, spread = np.array([1e-9, 0.5, 0.5, 1e-9]), np.array([1e-12, 0.01, 0.0, 0.0])
    states = states_seen(probability, spread, 256, 100, np.array([0, 0, 1, 1]))
    assert states.tolist() == pytest.approx([2500, 2500, 2560, 2560])


def test_a_rare_value_is_not_known_better_than_states_were_seen():
    """A conditional of 1e-8 that is 1 in every millionth state, not seen yet."""
    rng = np.random.default_rng(4)
    common = (rng.random((4, 100, LANES)) < 0.4).astype(float)
    tiny = rng.normal(1e-8, 1e-11, common.shape)
    pair = [
        RaoBlackwellTally(
            np.concatenate([tally_of(one).sums, tally_of(other).sums], axis=1),
            np.array([0, 1, 2], dtype=np.uint32),
            np.zeros((0, LANES), np.uint8),
        )
        for one, other in zip(common, tiny, strict=True)
    ]
    found = statistics(pair, 100, LANES)
    assert found.high[1] > 3 / found.states[0]
    assert found.standard_error[1] == pytest.approx(1 / found.states[0])
    assert is_rare(found.probability, found.states).tolist() == [False, True]


def test_values_of_binary_variables_mirror_each_other():
    spread = values_of(np.array([2, 3, 1], dtype=np.uint32))
    found = spread.probabilities(np.array([0.3, 0.2, 0.5, 0.3]))
    assert found.tolist() == pytest.approx([0.7, 0.3, 0.2, 0.5, 0.3, 1.0])


def covered(kind, scan, models):
    """Share of 95 % intervals that hold the true probability, over random models.

    First those whose width is the spread of columns, then those that are as wide as what a run
    of this length cannot have seen.
    """
    inside, seen = [], []
    for seed in models:
        graph, exact = random_model(seed)
        run = sample(
            prepare(graph),
            scan(),
            Schedule(samples=40, warm_up=40),
            seed=seed,
            threads=1,
            kind=kind,
        )
        found = run.statistics()
        inside += ((found.low <= exact) & (exact <= found.high)).tolist()
        seen += (found.standard_error == found.spread).tolist()
    return np.array(inside)[seen], np.array(inside)[~np.array(seen)]


@cache
def random_model(seed):
    graph = random_graph([seed, 9], variables=(10, 17), cardinalities=(2,), clauses=False)
    return graph, _exact(graph)


def _exact(graph):
    logs = np.zeros(tuple(graph.cardinality.astype(int)))
    for factor in range(graph.factors):
        scope = graph.scope_of(factor).astype(int)
        order = np.argsort(scope)
        shape = np.ones(graph.variables, dtype=int)
        shape[scope] = graph.cardinality[scope]
        logs = logs + graph.table_values(factor).transpose(order).reshape(shape)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    return np.array(
        [
            weights.sum(axis=tuple(w for w in range(graph.variables) if w != v))[1]
            for v in range(graph.variables)
        ]
    )


def test_the_table_of_all_states_is_the_brute_force_one():
    graph = random_graph(1, variables=(4, 5), cardinalities=(2,), clauses=False)
    expected = [marginal[1] for marginal in brute_force.marginals(graph)]
    np.testing.assert_allclose(_exact(graph), expected, atol=1e-12)


@pytest.mark.parametrize("kind", [RaoBlackwellTally, ValueTally])
@pytest.mark.parametrize("scan", [RandomScan, SystematicScan])
def test_intervals_cover_the_truth_as_often_as_they_say(kind, scan):
    seen, unseen = covered(kind, scan, range(200))
    assert len(seen) > 1000
    assert 0.93 <= seen.mean() <= 0.97
    assert unseen.mean() >= 0.95
