"""Effective samples are what theory says they are."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.tuning.panel import (
    COMBINED,
    FIRST_FEATURE,
    KINDS,
    AskedFeatures,
    effective_samples,
    harmonic_ess,
    panel,
    statistics_of,
    widen,
)

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


def wide_panel(features=None):
    graph = om.ising_grid(4, 4, 0.3).graph
    return graph, widen(panel(graph, 0), graph, 0, features)


def test_a_wide_panel_has_a_kind_for_each_row():
    asked = AskedFeatures(2, lambda values: np.stack([values.sum(axis=0), values[0]]))
    graph, watched = wide_panel(asked)
    values = np.random.default_rng(1).integers(0, 2, (16, LANES)).astype(np.uint8)
    series = watched.series([statistics_of(watched, graph, values)] * 3)
    assert series.shape[1] == len(watched.kind)
    named = [KINDS[min(kind, FIRST_FEATURE)] for kind in watched.kind.tolist()]
    assert [named.count(kind) for kind in KINDS] == [16, COMBINED, 8, 1, COMBINED - 1, 1, 2]
    assert len(set(watched.kind[watched.kind >= FIRST_FEATURE])) == 2
    features = series[0, watched.kind >= FIRST_FEATURE]
    assert features.tolist() == [values.sum(axis=0).tolist(), values[0].tolist()]


def test_squares_about_the_mean_do_not_change_with_a_flip_of_all():
    graph, watched = wide_panel()
    rng = np.random.default_rng(2)
    values = rng.integers(0, 2, (16, LANES)).astype(np.uint8)
    seen = [statistics_of(watched, graph, one) for one in (values, 1 - values)]
    series = watched.series(seen)
    squares = series[:, KINDS.index("the square of the sum of all variables") == watched.kind]
    assert squares[0] == pytest.approx(squares[1])
    assert squares.var() > 0


def test_a_wide_panel_is_judged_by_its_slowest_kind():
    """A mean over all statistics would hardly show the one that is slow."""
    _, watched = wide_panel()
    rng = np.random.default_rng(3)
    series = autoregressive(rng, 0.0, 72, len(watched.kind))
    slow = KINDS.index("the log-weight")
    series[:, watched.kind == slow] = autoregressive(rng, 0.95, 72, 1)
    effective = effective_samples(series)
    ess, kind = watched.slowest(series, effective)
    assert kind == "the log-weight"
    assert watched.ess(series, effective) == ess < 0.1 * 72 * LANES
    assert harmonic_ess(effective) > 4 * ess
