"""What a trial of a chain shows."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels._clusters import Clusters
from orbitmc.tuning.families import FAMILIES
from orbitmc.tuning.panel import panel
from orbitmc.tuning.race import TrialBudget
from orbitmc.tuning.record import Tuning
from orbitmc.tuning.trial import Arm, Trial, TrialChain, opposite_starts, recorded_share
from tests.tuning import conftest

SAMPLE = 4  # sweeps


@pytest.mark.parametrize("seconds", [0.001, 0.003, 0.006, 0.012])
def test_flips_once_per_sample_are_seen_at_any_spacing(seconds):
    """An even number of samples apart, states that alternate would look as if they stood still."""
    fields = np.random.default_rng(3).normal(0.0, 0.01, (3, 3))
    model = om.ising_grid(3, 3, 2.0, fields)  # Gibbs keeps its mode for millions of sweeps
    graph, prepared = model.graph, prepare(model.graph)
    watched = panel(graph, 0)
    sample = SAMPLE * graph.variables
    lost, found = (
        TrialChain(prepared, recipe.kernel(model, prepared)).trial(watched, seconds)
        for recipe in (Tuning(), Tuning(("flip",), sample))
    )
    assert found.spacing <= SAMPLE or found.spacing % (2 * SAMPLE) == SAMPLE
    assert found.fresh > 5 * lost.fresh


def test_states_between_recorded_ones_are_not_counted():
    """A chain that is independent at every look still gives a run one sample per record."""
    assert recorded_share(1.0, 0.25) == 0.25
    assert recorded_share(1.5, 0.25) == 0.25


def test_slow_chains_are_judged_alike_however_often_one_looks():
    assert recorded_share(1e-4, 0.25) == pytest.approx(1e-4, rel=1e-4)


def test_an_autoregression_is_judged_as_its_recorded_states_would_be():
    correlation = 0.6
    fresh, recorded = ((1 - c) / (1 + c) for c in (correlation, correlation**4))
    assert recorded_share(fresh, 0.25) == pytest.approx(recorded / 4)
    assert recorded_share(recorded, 1.0) == recorded


def trial(spacing, fresh):
    return Trial(
        1.0, 1.0, 1.0, spacing=spacing, fresh=fresh, per_step=1.0, correlation=0.0, seconds=1.0
    )


class Scripted:
    """An arm whose trials are known beforehand."""

    def __init__(self, *trials):
        self.trials = list(trials)

    def trial(self, watched, seconds):
        return self.trials.pop(0)


@pytest.mark.parametrize(
    ("whole", "is_whole"),
    [
        (trial(20.0, 0.25), True),  # 80 sweeps, where a short lap saw 5
        (trial(20.0, 0.95), False),  # as good as independent at that distance
        (trial(4.0, 0.45), False),  # 9 sweeps: not much more
    ],
)
def test_a_whole_lap_counts_if_it_shows_what_chains_seldom_leave(whole, is_whole):
    laps = TrialBudget(panel(om.ising_grid(3, 3, 0.1).graph, 0), 1e6, 10, lambda: 0.0)
    short = trial(4.0, 0.8)
    seen = laps.first_look(Scripted(trial(20.0, 0.9), short, whole))
    assert seen is (whole if is_whole else short)
    assert laps.length == laps.first / 2  # later laps are short, whatever was seen


def test_families_that_take_turns_cost_what_each_of_them_costs(counted, monkeypatch):
    """To time one jump, and to keep the fastest call, gives the price of the cheapest family."""
    model = om.ising_grid(6, 6, 0.4)
    prepared = prepare(model.graph)
    dear, cheap = 1e-4, conftest.JUMP
    monkeypatch.setitem(conftest.JUMPS, Clusters, dear)
    jumps = {name: FAMILIES[name].build(model, prepared) for name in ("flip", "clusters")}
    start = opposite_starts(model.graph, 64)
    arm = Arm(model, prepared, jumps, (), start, conftest.STEP)
    arm.find_cost(1e-2, others=cheap / conftest.STEP)
    assert arm.cost * conftest.STEP == pytest.approx((dear + cheap) / 2)
