"""A pilot finds the few variables that are stuck, and small blocks free them."""

import json

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.tuning import stuck as stuck_module
from orbitmc.tuning.race import run_race
from orbitmc.tuning.record import BLOCKS
from orbitmc.tuning.stuck import StuckSearch, find_slow, grow_groups
from orbitmc.tuning.trial import WINDOWS, TrialChain, opposite_starts
from tests.tuning.models import named, ordered_grid, weak_grid

pytestmark = pytest.mark.usefixtures("counted")
LANES, TRIPLES, VARIABLES = 64, 3, 60
SWEEP = 1e-5


def parity_triples(strength=13.0):
    """A chain of variables; in some places three are tied by parity, and two of these agree."""
    rng = np.random.default_rng(3)
    builder = Builder([2] * VARIABLES)
    for variable in range(VARIABLES):
        builder.add_factor([variable], rng.normal(0.0, 0.3, 2))
    for variable in range(1, VARIABLES):
        coupling = rng.normal(0.0, 0.2)
        builder.add_factor([variable - 1, variable], [coupling, 0.0, 0.0, coupling])
    even = [strength * (bin(state).count("1") % 2 == 0) for state in range(8)]
    for first in tied_places():
        builder.add_factor([first, first + 1, first + 2], even)
        builder.add_factor([first, first + 1], [strength, 0.0, 0.0, strength])
    return named(builder)


def tied_places():
    return range(4, 4 + 20 * TRIPLES, 20)


def search(model, **known):
    prepared = prepare(model.graph)
    return StuckSearch(prepared, opposite_starts(model.graph, LANES), sweep=SWEEP, **known)


def windows(series):
    """Means of `series[time, variable, lane]` in windows of time."""
    return series.reshape(WINDOWS, -1, *series.shape[1:]).mean(axis=1).astype(np.float32)


def persistent(memory, times, variables, rng):
    """Binary variables that keep their value for `memory` looks on average."""
    values = np.zeros((times, variables, LANES))
    values[0] = rng.random((variables, LANES)) < 0.5
    for time in range(1, times):
        drawn = rng.random((variables, LANES)) < 1.0 / memory
        values[time] = np.where(drawn, rng.random((variables, LANES)) < 0.5, values[time - 1])
    return values


def test_what_is_remembered_for_longer_than_a_window_is_slow_and_nothing_else():
    """A covariance that counts is 7 standard deviations of a quick variable: below 1e-9 for all."""
    rng = np.random.default_rng(1)
    graph = Builder([2] * 210).build()
    quick = persistent(1.5, WINDOWS * 160, 200, rng)
    slow = persistent(240.0, WINDOWS * 160, 10, rng)
    found = find_slow(graph, windows(np.concatenate([quick, slow], axis=1)))
    assert sorted(found.variables.tolist()) == list(range(200, 210))
    assert found.total == found.covariance.sum() > 10 * stuck_module.LEAST


def test_lanes_that_never_move_are_slow_and_variables_that_hardly_differ_are_not():
    graph = Builder([2, 3, 2, 2]).build()
    means = np.zeros((WINDOWS, 4, LANES), dtype=np.float32)
    means[:, 0, ::2] = 1.0
    means[:, 1, ::2] = 2.0
    means[:, 2, 0] = 0.1
    found = find_slow(graph, means)
    assert sorted(found.variables.tolist()) == [0, 1]
    assert found.covariance == pytest.approx([0.25, 0.25])


def test_short_windows_must_keep_more():
    rng = np.random.default_rng(2)
    graph = Builder([2] * 10).build()
    means = windows(persistent(20.0, WINDOWS * 20, 10, rng))
    assert len(find_slow(graph, means).variables) == 10
    assert len(find_slow(graph, means, kept=stuck_module._kept(20.0, 400.0)).variables) == 0


def test_groups_have_the_neighbours_that_differ_in_the_same_lanes():
    model = parity_triples()
    chain = TrialChain(prepare(model.graph), SystematicScan(), opposite_starts(model.graph, LANES))
    means = chain.watch(200.0)
    slow = find_slow(model.graph, means).variables
    tied = {first + k for first in tied_places() for k in range(2)}
    assert set(slow.tolist()) == tied
    groups = grow_groups(model.graph, means, slow, 4)
    for first in tied_places():
        assert (first, first + 1) in groups
    assert max(map(len, groups)) <= 4
    assert all(set(group) & tied for group in groups)


def test_blocks_free_what_is_stuck():
    result = search(parity_triples()).run(seconds=2e-2, forget=1e-3)
    tied = {first + k for first in tied_places() for k in range(2)}
    assert tied <= set(result.slow.tolist())
    assert tied.isdisjoint(result.left.tolist())
    assert result.gain > 1 / stuck_module.WON
    assert result.period >= 1
    assert "change seldom alone" in result.describe(parity_triples())


def test_blocks_that_are_no_help_are_not_drawn(monkeypatch):
    """Single variables as blocks are what Gibbs does anyhow."""
    alone = lambda graph, means, slow, most: tuple((v,) for v in slow.tolist())  # noqa: E731
    monkeypatch.setattr(stuck_module, "grow_groups", alone)
    model = parity_triples()
    result = search(model).run(seconds=2e-2, forget=1e-3)
    assert result.blocks == ()
    assert result.left.tolist() == result.slow.tolist()
    assert result.describe(model).endswith("small blocks are no help")


@pytest.mark.parametrize("build", [weak_grid, ordered_grid])
def test_where_nothing_or_almost_everything_is_slow_there_are_no_blocks(build):
    assert search(build()).run(seconds=2e-2, forget=1e-3) is None


def test_without_time_nobody_looks():
    assert search(parity_triples()).run(seconds=1e-6, forget=1e-3) is None


@pytest.fixture
def raced():
    model = parity_triples()
    return model, run_race(model, prepare(model.graph), seconds=0.2)


def test_the_race_chooses_blocks_and_names_what_they_free(raced):
    _, result = raced
    assert result.recipe.blocks
    (price,) = (price for price in result.prices if price.family == BLOCKS)
    assert price.verdict == "chosen"
    assert "change seldom alone" in result.about


def test_an_answer_with_blocks_is_right_and_repeated_by_its_record(raced):
    """Worst of 60 deviations below 6 errors: false alarms below 1e-6 with 64 columns."""
    model, result = raced
    options = {"method": "lmh", "samples": 1500, "seed": 4, "packs": 2, "threads": 1}
    moves = json.loads(json.dumps(result.recipe.record()))
    answer = om.marginals(model, moves=moves, **options)
    exact = om.marginals(model, method="exact")
    scores = [
        (answer[name].probability[1] - exact[name].probability[1]) / answer[name].standard_error[1]
        for name in model.names
    ]
    assert np.abs(scores).max() < 6.0
    assert answer.converged
    again = om.marginals(model, moves=answer.about.moves, **options)
    assert again.columns.probability.tolist() == answer.columns.probability.tolist()
    plain = om.marginals(model, moves={"families": [], "period": 1}, **options)
    assert not plain.converged
