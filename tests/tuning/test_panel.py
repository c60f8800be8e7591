"""Effective samples are what theory says they are."""

import numpy as np
import pytest

from orbitmc.tuning.panel import effective_samples, harmonic_ess

LANES = 64


def autoregressive(rng, memory, times, statistics, lanes=LANES):
    """Independent series whose autocorrelation at lag k is `memory` to the power of k."""
    series = np.empty((times, statistics, lanes))
    series[0] = rng.normal(size=(statistics, lanes))
    for time in range(1, times):
        noise = rng.normal(size=(statistics, lanes))
        series[time] = memory * series[time - 1] + np.sqrt(1 - memory**2) * noise
    return series


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_autoregressive_series_have_the_effective_size_of_theory(memory):
    times, statistics = 1000, 60
    series = autoregressive(np.random.default_rng(1), memory, times, statistics)
    theory = times * LANES * (1 - memory) / (1 + memory)
    off = np.log(effective_samples(series) / theory)
    # statistics are independent, so their mean is normal: |z| > 4.5 has a chance below 1e-5;
    # cutting the sum of autocorrelations where noise begins may cost a few hundredths beside it
    assert abs(off.mean()) <= 4.5 * off.std(ddof=1) / np.sqrt(statistics) + 0.03
    assert off.std() < 0.15


def test_lanes_in_different_modes_are_worth_one_sample_each():
    rng = np.random.default_rng(2)
    modes = rng.choice([0.0, 10.0], (1, 5, LANES))
    series = modes + autoregressive(rng, 0.3, 72, 5)
    found = effective_samples(series)
    assert (found >= LANES).all()
    assert (found < 1.3 * LANES).all()


def test_constant_statistics_are_left_out():
    series = autoregressive(np.random.default_rng(5), 0.0, 72, 4)
    series[:, 1] = 3.0
    assert len(effective_samples(series)) == 3
    assert harmonic_ess(effective_samples(series[:, 1:2])) == np.inf


def test_the_worth_of_a_panel_is_that_of_its_mean_squared_error():
    assert harmonic_ess(np.array([10.0, 1000.0])) == pytest.approx(2 / (1 / 10 + 1 / 1000))
