"""Runs with control variates: resumed as if never stopped, and never far behind plain averages."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.estimate.tally import ValueTally
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.block_gibbs.kernel import low_width
from orbitmc.kernels.protocol import link_kernel
from orbitmc.models._ising import ising_grid
from orbitmc.sampling import pack
from orbitmc.sampling.checkpoint import load, save
from orbitmc.sampling.estimator_trial import looks_of, run_estimator_trial
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import Schedule


def warm_grid():
    fields = np.random.default_rng(3).uniform(-0.2, 0.2, (6, 6))
    return ising_grid(6, 6, 0.2, fields).graph


def run_of(graph, schedule, *, after=10**9, **settings):
    def stop(found):
        if found.recorded + found.warmed > after:
            found.stop()

    return sample(
        prepare(graph), SystematicScan(), schedule, watchers=[stop], controlled=True, **settings
    )


@pytest.mark.parametrize("after", [0, 60, 500])
def test_a_stopped_run_goes_on_with_the_same_controls(tmp_path, after):
    graph, schedule = warm_grid(), Schedule(samples=2000)
    partial = run_of(graph, schedule, after=after, packs=2)
    assert partial.recorded < 2000
    save(partial, tmp_path / "half.run", {})
    resumed = continue_sampling(
        load(tmp_path / "half.run").restore(prepare(graph), SystematicScan())
    )
    whole = run_of(graph, schedule, packs=2)
    assert whole.choice.terms > 0
    assert resumed.choice.looks == whole.choice.looks == 4
    np.testing.assert_array_equal(resumed.choice.states, whole.choice.states)
    for name in ("probability", "spread", "standard_error", "low", "high", "r_hat"):
        one, two = (getattr(run.statistics(), name) for run in (resumed, whole))
        np.testing.assert_array_equal(one, two)


def test_threads_do_not_change_the_answer():
    graph, schedule = warm_grid(), Schedule(samples=2000)
    one, two = (run_of(graph, schedule, threads=threads) for threads in (1, 3))
    assert one.choice.terms > 0
    np.testing.assert_array_equal(one.statistics().probability, two.statistics().probability)


def test_a_spacing_of_ones_own_is_kept():
    run = run_of(warm_grid(), Schedule(samples=2000, spacing=100))
    assert run.looks == 1
    assert run.updates == run.chains * 100 * (run.recorded + run.warmed)


def test_counted_values_are_not_corrected():
    run = run_of(warm_grid(), Schedule(samples=2000), kind=ValueTally)
    assert run.choice is None


def test_blocks_are_not_corrected():
    graph = warm_grid()
    schedule = Schedule(samples=2000)
    run = sample(prepare(graph), low_width(graph), schedule, packs=1, controlled=True)
    assert run.choice.terms == 0
    assert "blocks" in run.choice.about


def test_a_short_run_says_that_it_is_too_short():
    run = run_of(warm_grid(), Schedule(samples=4))
    assert run.choice is None
    longer = run_of(warm_grid(), Schedule(samples=100))
    assert longer.choice.terms == 0
    assert "too short" in longer.choice.about


def test_a_run_without_room_says_so():
    run = run_of(warm_grid(), Schedule(samples=2000), room=1000)
    assert run.choice.terms == 0
    assert "memory" in run.choice.about


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("looks", 3), ("looks", 0), ("terms", 10**9), ("terms", -1), ("about", 1), ("radius", 1.5)],
)
def test_a_choice_that_no_run_makes_is_refused(tmp_path, field, wrong):
    run = run_of(warm_grid(), Schedule(samples=2000), packs=1)
    object.__setattr__(run.choice, field, wrong)
    save(run, tmp_path / "wrong.run", {})
    with pytest.raises(InputError, match=field):
        load(tmp_path / "wrong.run")


def test_states_that_no_chain_has_are_refused(tmp_path):
    run = run_of(warm_grid(), Schedule(samples=2000), packs=1)
    run.choice.states[3, 5] = 2
    save(run, tmp_path / "wrong.run", {})
    with pytest.raises(InputError, match="a value that its variable lacks"):
        load(tmp_path / "wrong.run").restore(prepare(warm_grid()), SystematicScan())


@pytest.fixture
def links(monkeypatch):
    """How often a pack is linked: that takes as long as some sweeps of a small model."""
    made = []

    def counted(part):
        made.append(part)
        return link_kernel(part)

    monkeypatch.setattr(pack, "link_kernel", counted)
    return made


def test_a_trial_links_its_packs_once(links):
    run = run_of(warm_grid(), Schedule(samples=10), packs=1)
    links.clear()
    run_estimator_trial(run, 50)
    assert len(links) == len(looks_of(run))
