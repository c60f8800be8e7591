"""Timed runs keep their time, whatever a step costs; the clock here is driven by the work.

Every step of a pack takes so many seconds of a made-up clock; two threads share them.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import orbitmc as om
from orbitmc._numba import tiers
from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling import budget as pace
from orbitmc.sampling import sampler
from orbitmc.sampling import warmup as starting
from orbitmc.sampling.budget import ENOUGH_SAMPLES, Costs, Pace, affordable_packs
from orbitmc.sampling.checkpoint import load, save
from orbitmc.sampling.pack import advance, arrays_of, start_pack
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import WARM_UP_SHARE, Schedule
from orbitmc.sampling.warmup import warm_up
from tests.oracle.random_models import random_graph

GRAPH = random_graph(5, variables=(8, 9))
SWEEP = GRAPH.variables
SPACING = 4 * SWEEP


class Workplace:
    """A clock that goes on when packs work: `step` seconds for a step, `start` to start a pack."""

    def __init__(self, monkeypatch, *, step, start=0.0, threads=2):
        self.now, self.step, self.start, self.threads = 0.0, step, start, threads
        monkeypatch.setattr(tiers, "PATIENCE", -1.0)  # what is interpreted or compiled is
        sample(prepare(GRAPH), SystematicScan(), Schedule(samples=1), lanes=32, packs=1)  # apart
        time = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr(pace, "time", time)
        monkeypatch.setattr("orbitmc._numba.jit.time", time)
        for module in (sampler, starting):
            monkeypatch.setattr(module, "warm_up", self.warm_up)
        monkeypatch.setattr("orbitmc.sampling.run.advance", self.advance)
        monkeypatch.setattr(starting, "start_pack", self.start_pack)

    def warm_up(self, *todo, steps, taken=0, annealing=0):
        self.now += self.step * steps / self.threads
        warm_up(*todo, steps=steps, taken=taken, annealing=annealing)

    def advance(self, *todo, recorded, samples, spacing, looks):
        self.now += self.step * samples * spacing / self.threads
        advance(*todo, recorded=recorded, samples=samples, spacing=spacing, looks=looks)

    def start_pack(self, *arguments, **settings):
        self.now += self.start
        return start_pack(*arguments, **settings)

    def sample(self, seconds, **settings):
        prepared = prepare(GRAPH)
        settings = {"packs": 4, "threads": self.threads, "seed": 3, **settings}
        schedule = Schedule(seconds=seconds, warm_up=settings.pop("warm_up", None))
        return sample(prepared, SystematicScan(), schedule, lanes=32, **settings)


def everything(run):
    pairs = [p for k, pack in enumerate(run.packs) for p in arrays_of(pack, str(k))]
    return {name: array.tobytes() for name, array in pairs if "scratch" not in name}


@pytest.mark.parametrize("samples", [1.2, 3.0, 11.3, 15.5])
def test_a_run_with_costly_samples_ends_in_time_with_fewer_packs(monkeypatch, samples):
    """One sample of one pack takes 40 s; there is no time for enough samples of four packs."""
    place = Workplace(monkeypatch, step=40.0 / SPACING)
    found = place.sample(40.0 * samples)
    assert len(found.packs) == 2
    assert found.chains == 64
    assert abs(place.now - 40.0 * samples) <= 20.0  # half a sample
    assert found.recorded == pytest.approx(samples * (1 - WARM_UP_SHARE), abs=1.0)


@pytest.mark.parametrize(("samples", "packs"), [(20.5, 2), (33.0, 2), (52.0, 4), (500.0, 4)])
def test_all_packs_run_where_each_gets_enough_samples(monkeypatch, samples, packs):
    place = Workplace(monkeypatch, step=40.0 / SPACING)
    found = place.sample(40.0 * samples)
    assert len(found.packs) == packs
    assert abs(place.now - 40.0 * samples) <= 20.0 * packs / 2
    assert packs == 2 or found.recorded >= ENOUGH_SAMPLES - 1


def test_a_run_that_has_no_time_for_a_sample_takes_one_after_fewer_steps(monkeypatch):
    """A usual sample takes 40 s, a sweep 10 s and a step of all chains 1.25 s."""
    place = Workplace(monkeypatch, step=40.0 / SPACING)
    found = place.sample(1.0)
    assert (len(found.packs), found.recorded) == (2, 1)
    assert (found.warm_up_steps, found.spacing) == (1, 1)
    assert place.now == pytest.approx(2.5)


def test_a_warm_up_is_cut_finer_than_samples(monkeypatch):
    place = Workplace(monkeypatch, step=40.0 / SPACING)
    found = place.sample(80.0)
    assert found.warm_up_steps * place.step == pytest.approx(WARM_UP_SHARE * 80.0, abs=5.0)
    assert found.warm_up_steps < SPACING


def test_packs_that_take_long_to_start_are_not_started(monkeypatch):
    """Without that price there is time for four packs with enough samples each."""
    cheap = Workplace(monkeypatch, step=1.0 / SPACING).sample(60.0)
    assert len(cheap.packs) == 4
    place = Workplace(monkeypatch, step=1.0 / SPACING, start=12.0)
    found = place.sample(60.0)
    assert len(found.packs) == 2
    assert place.now == pytest.approx(60.0, abs=1.0)
    assert found.budget.preparing == pytest.approx(24.0)


def test_time_for_the_answer_and_after_it_is_kept(monkeypatch):
    place = Workplace(monkeypatch, step=1.0 / SPACING)
    monkeypatch.setattr(sampler, "answering_seconds", lambda run: 10.0)
    found = place.sample(200.0, spent=30.0, after=25.0)
    assert len(found.packs) == 4
    assert found.seconds == pytest.approx(200.0 - 4 * 10.0 - 25.0, abs=1.0)
    assert found.seconds == pytest.approx(place.now + 30.0)


def test_chains_get_a_tenth_of_the_time_if_nothing_else_is_left(monkeypatch):
    place = Workplace(monkeypatch, step=1.0 / SPACING)
    found = place.sample(100.0, spent=95.0, after=50.0)
    assert found.seconds == pytest.approx(105.0, abs=1.0)
    assert found.recorded >= 7


def test_one_thread_needs_one_pack_only(monkeypatch):
    place = Workplace(monkeypatch, step=40.0 / SPACING, threads=1)
    found = place.sample(200.0)
    assert len(found.packs) == 1
    assert abs(place.now - 200.0) <= 20.0


def test_a_pack_that_came_later_is_where_it_would_be(monkeypatch):
    place = Workplace(monkeypatch, step=1.0 / SPACING)
    found = place.sample(100.0)
    assert len(found.packs) == 4
    counts = [pack.outcomes[0] for pack in found.packs]
    assert counts == [found.warm_up_steps + found.recorded * SPACING] * 4


@pytest.mark.parametrize("samples", [0, 3])
def test_packs_that_came_later_have_the_numbers_of_a_run_of_all_packs(monkeypatch, samples):
    place = Workplace(monkeypatch, step=1.0 / SPACING)
    found = place.sample(100.0, warm_up=samples)
    assert (len(found.packs), found.warm_up_steps) == (4, samples * SPACING)
    prepared = prepare(GRAPH)
    schedule = Schedule(samples=found.recorded, warm_up=samples)
    kernel = SystematicScan()
    together = sample(prepared, kernel, schedule, lanes=32, seed=3)
    assert everything(found) == everything(together)


@pytest.mark.parametrize("step", [40.0, 1.0])
def test_a_timed_run_that_was_stopped_goes_on_to_the_same_numbers(monkeypatch, tmp_path, step):
    place = Workplace(monkeypatch, step=step / SPACING)
    whole = place.sample(400.0)

    def stop(run):
        if run.recorded >= 4:
            run.stop()

    place.now = 0.0
    half = place.sample(400.0, watchers=[stop])
    assert 4 <= half.recorded < whole.recorded
    save(half, tmp_path / "half.orbit", {})
    prepared = prepare(GRAPH)
    kept = load(tmp_path / "half.orbit").restore(prepared, SystematicScan())
    place.now += 1000.0  # what passes between two sessions does not count
    done = continue_sampling(kept, threads=2)
    assert len(done.packs) == len(whole.packs)
    assert done.recorded == whole.recorded
    assert everything(done) == everything(whole)


def test_a_run_that_was_stopped_before_all_packs_were_there_adds_them(monkeypatch, tmp_path):
    place = Workplace(monkeypatch, step=1e-4 / SPACING)

    def stop(run):
        run.stop()

    half = place.sample(10.0, watchers=[stop])
    assert (len(half.packs), half.most_packs) == (2, 4)
    save(half, tmp_path / "half.orbit", {})
    prepared = prepare(GRAPH)
    kept = load(tmp_path / "half.orbit").restore(prepared, SystematicScan())
    done = continue_sampling(kept, threads=2)
    assert len(done.packs) == 4
    counts = [pack.outcomes[0] for pack in done.packs]
    assert counts == [done.warm_up_steps + done.recorded * SPACING] * 4


def test_a_timed_run_that_was_finished_records_no_more(monkeypatch, tmp_path):
    place = Workplace(monkeypatch, step=40.0 / SPACING)
    found = place.sample(210.0)
    assert found.seconds < 210.0
    save(found, tmp_path / "all.orbit", {})
    prepared = prepare(GRAPH)
    kept = load(tmp_path / "all.orbit").restore(prepared, SystematicScan())
    assert everything(continue_sampling(kept)) == everything(found)
    assert kept.recorded == found.recorded


def test_a_long_search_for_modes_is_left_out_of_a_short_run_only(monkeypatch):
    place = Workplace(monkeypatch, step=1e-3 / SPACING)
    monkeypatch.setattr(sampler, "search_seconds", lambda graph, lanes: 1.0)
    short, longer = place.sample(5.0), place.sample(30.0)
    assert short.heaviest is None
    assert short.heaviest is None
    assert longer.heaviest is not None
    assert longer.heaviest is not None
    untimed = sample(prepare(GRAPH), SystematicScan(), Schedule(samples=2))
    assert untimed.heaviest is not None


@pytest.mark.parametrize(
    ("most", "at_once", "costs", "packs"),
    [
        (4, 2, Costs(left=32.0, sample=1.0, pack=0.0), 4),
        (4, 2, Costs(left=31.9, sample=1.0, pack=0.0), 2),
        (4, 2, Costs(left=33.0, sample=1.0, pack=0.5), 4),
        (4, 2, Costs(left=33.0, sample=1.0, pack=0.6), 2),
        (4, 1, Costs(left=50.0, sample=1.0, pack=0.0), 3),
        (4, 4, Costs(left=0.0, sample=1.0, pack=9.0), 4),
        (3, 2, Costs(left=32.0, sample=1.0, pack=0.0), 3),
        (64, 2, Costs(left=-5.0, sample=1.0, pack=0.0), 2),
    ],
)
def test_packs_are_as_many_as_get_enough_samples(most, at_once, costs, packs):
    assert affordable_packs(most, at_once, min(most, at_once), costs) == packs


def test_rounds_grow_carefully_and_fit_into_the_time_left():
    pace_ = Pace()
    assert pace_.fitting(0.001) == 1
    pace_.learn(1, 1e-4)
    assert (pace_.units, pace_.fitting(100.0), pace_.fitting(2.1e-4)) == (4, 4, 2)
    pace_.learn(4, 4e-4)
    assert pace_.units == 16
    pace_.learn(1, 5.0)
    assert (pace_.units, pace_.fitting(0.0)) == (1, 1)
    assert np.isclose(pace_.each, 5.0)


def test_a_timed_run_times_steps_of_its_kernel_and_not_only_the_scan_before_them(monkeypatch):
    """Warm-up of a kernel that picks at random begins with a scan, which is much cheaper."""
    rounds: list[tuple[int, int]] = []
    advance = sampler.Threads.advance

    def note(workers, run, steps, samples):
        rounds.append((run.warm_up_steps, steps))
        return advance(workers, run, steps, samples)

    monkeypatch.setattr(sampler.Threads, "advance", note)
    coins = om.model({f"c{k}": ["0", "1"] for k in range(5000)}, [(["c0"], [1.0, 2.0])])
    om.marginals(coins, method="gibbs", scan="random", seconds=0.01, threads=1)
    part = 5000 // sampler.FIRST_ROUND
    assert rounds[:3] == [(0, part), (part, 5000 - part), (5000, part)]
