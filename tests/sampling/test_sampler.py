"""Runs repeat themselves, keep to their schedule, and know what they cannot reach."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.tally import RaoBlackwellTally, ValueTally
from orbitmc.graph.builder import Builder
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.sampling.observers import next_snapshot
from orbitmc.sampling.run import partial_answer
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


def run(graph, schedule, *, scan=RandomScan, **settings):
    prepared = prepare(graph)
    return sample(prepared, scan(), schedule, **settings)


def numbers(found):
    return np.concatenate([pack.tally.sums.ravel() for pack in found.packs])


@pytest.mark.parametrize("scan", [RandomScan, SystematicScan])
def test_any_number_of_threads_gives_the_same_bytes(scan):
    graph = random_graph(3, variables=(8, 9))
    runs = [
        run(graph, Schedule(samples=101), scan=scan, seed=5, threads=threads)
        for threads in (1, 2, 8)
    ]
    for other in runs[1:]:
        assert numbers(other).tobytes() == numbers(runs[0]).tobytes()
        for one, two in zip(runs[0].packs, other.packs, strict=True):
            assert one.values.tobytes() == two.values.tobytes()
    different = run(graph, Schedule(samples=101), scan=scan, seed=6)
    assert numbers(different).tobytes() != numbers(runs[0]).tobytes()


def test_a_pack_depends_on_its_number_not_on_its_company():
    graph = random_graph(4, variables=(6, 7))
    few = run(graph, Schedule(samples=30), packs=2, seed=1)
    many = run(graph, Schedule(samples=30), packs=5, seed=1)
    for one, two in zip(few.packs, many.packs, strict=False):
        assert one.tally.sums.tobytes() == two.tally.sums.tobytes()


def test_long_preparations_leave_time_for_a_warm_up():
    found = run(random_graph(3), Schedule(seconds=0.4), spent=10.0)
    assert found.budget.preparing >= 10.0
    assert found.warm_up_steps > 0
    assert found.recorded > 0
    tenth = 0.04  # of what was asked for
    assert found.ends == pytest.approx(found.budget.preparing + tenth)


def test_samples_and_warm_up_are_counted_exactly():
    graph = random_graph(6, variables=(5, 6))
    found = run(graph, Schedule(samples=37, warm_up=11, spacing=4), packs=3, lanes=32)
    assert (found.recorded, found.warmed) == (37, 11)
    assert found.updates == (37 + 11) * 4 * 3 * 32
    assert found.chains == 96


@pytest.mark.parametrize("scan", [RandomScan, SystematicScan])
@pytest.mark.parametrize("kind", [RaoBlackwellTally, ValueTally])
@pytest.mark.parametrize("zeros", [0.0, 0.1])
def test_samples_follow_the_exact_marginals(scan, kind, zeros):
    for seed in range(12):
        graph = random_graph([seed, 77], variables=(5, 8), zeros=zeros)
        found = run(graph, Schedule(samples=400), scan=scan, kind=kind, seed=seed)
        known = found.statistics()
        exact = brute_force.marginals(graph)
        rows = np.concatenate([m[1:] if len(m) == 2 else m for m in exact])
        reached = np.ones(graph.variables, dtype=bool)
        if zeros:
            reached = known.open_lanes == known.lanes
            if not reached.all():
                continue
        # About 700 comparisons; 6.5 errors are passed by chance once in 1e7 such tests.
        bound = 6.5 * known.standard_error + 1e-6
        assert (np.abs(known.probability - rows) <= bound).all(), seed


def test_a_target_error_is_reached_without_favouring_luck():
    builder = Builder([2, 2])
    builder.add_factor([0], np.log([0.99, 0.01]))
    builder.add_factor([0, 1], np.log([[0.5, 0.5], [0.3, 0.7]]))
    graph = builder.build()
    target, estimates = 0.002, []
    for seed in range(60):
        found = run(
            graph,
            Schedule(standard_error=target, spacing=1),
            seed=seed,
            packs=1,
            lanes=32,
            kind=ValueTally,
        )
        known = found.statistics()
        assert found.recorded == found.wanted
        estimates.append(known.probability[0])
    estimates = np.array(estimates)
    # Five standard errors of the mean of 60 runs.
    assert abs(estimates.mean() - 0.01) < 5 * estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert estimates.std(ddof=1) < 1.5 * target


def test_snapshots_come_at_growing_numbers_of_samples():
    graph = random_graph(7, variables=(5, 6))
    found = run(graph, Schedule(samples=50, snapshots=True))
    counts = [shot.samples for shot in found.snapshots]
    assert counts == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
    assert [next_snapshot(count) for count in counts[:-1]] == counts[1:]
    shorter = run(graph, Schedule(samples=48, warm_up=found.warmed))
    assert found.snapshots[-1].probability.tolist() == shorter.statistics().probability.tolist()
    assert all(
        b.updates > a.updates for a, b in zip(found.snapshots, found.snapshots[1:], strict=False)
    )


def test_interruption_keeps_what_was_recorded():
    graph = random_graph(8, variables=(5, 6))

    def stop(found):
        if found.recorded > 20:
            found.stop()

    found = run(graph, Schedule(samples=10_000_000, warm_up=0), watchers=[stop])
    assert found.interrupted
    assert 20 < found.recorded < 10_000_000
    known = found.statistics()
    assert np.isfinite(known.probability).all()
    for pack in found.packs:
        assert pack.outcomes[0] == found.recorded * found.spacing


def test_a_glimpse_looks_at_chains_that_have_recorded_nothing():
    graph = random_graph(8, variables=(5, 6))

    def stop(found):
        found.stop()

    found = run(graph, Schedule(samples=1000, warm_up=1_000_000), watchers=[stop], packs=2)
    assert found.recorded == 0
    before = [pack.values.tobytes() for pack in found.packs]
    seen = partial_answer(found)
    assert seen.recorded > 0
    assert seen.interrupted
    assert np.isfinite(seen.statistics().probability).all()
    assert found.recorded == 0
    assert [pack.values.tobytes() for pack in found.packs] == before


def test_a_glimpse_compiles_nothing_anew():
    graph = random_graph(8, variables=(5, 6))

    def stop(found):
        found.stop()

    found = run(graph, Schedule(samples=1000, warm_up=1_000_000), watchers=[stop], packs=1)
    for own, seen in zip(found.packs, partial_answer(found).packs, strict=True):
        for name in vars(own):
            assert numba.typeof(getattr(own, name)) == numba.typeof(getattr(seen, name)), name


def test_a_run_can_go_on():
    graph = random_graph(9, variables=(5, 6))

    def stop(found):
        if found.recorded > 0 and not stopped:
            found.stop()
        if found.interrupted:
            stopped.append(found.recorded)

    stopped = []
    schedule = Schedule(samples=5000, warm_up=3)
    partial = run(graph, schedule, watchers=[stop], seed=4)
    assert partial.recorded < 5000
    whole = continue_sampling(replace(partial, interrupted=False))
    assert numbers(whole).tobytes() == numbers(run(graph, schedule, seed=4)).tobytes()


def test_equal_variables_are_frozen_for_gibbs():
    builder = Builder([2, 2, 2])
    builder.add_factor([0, 1], [[0.0, -np.inf], [-np.inf, 1.0]])
    builder.add_factor([1, 2], [[0.0, 0.5], [0.5, 0.0]])
    graph = builder.build()
    known = run(graph, Schedule(samples=50)).statistics()
    assert known.open_lanes.tolist() == [0, 0, known.lanes]


def test_contradictions_are_found_before_sampling():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], [[0.0, -np.inf], [-np.inf, 0.0]])
    builder.add_factor([0, 1], [[-np.inf, 0.0], [0.0, -np.inf]])
    with pytest.raises(ContradictionError):
        run(builder.build(), Schedule(samples=1))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"samples": 1, "seconds": 1.0},
        {"samples": 0},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"samples": 5, "warm_up": -1},
    ],
)
def test_schedules_that_mean_nothing_are_refused(wrong):
    with pytest.raises(InputError):
        Schedule(**wrong)


@pytest.mark.parametrize("lanes", [0, 16, 33])
def test_lanes_come_in_units(lanes):
    with pytest.raises(InputError, match="multiple of 32"):
        run(random_graph(1), Schedule(samples=1), lanes=lanes)


def test_too_many_values_are_refused():
    builder = Builder([300])
    builder.add_factor([0], np.zeros(300))
    with pytest.raises(LimitError, match="256"):
        run(builder.build(), Schedule(samples=1))


def test_without_variables_there_is_nothing_to_wait_for():
    found = run(Builder([]).build(), Schedule(samples=3))
    assert found.statistics().probability.tolist() == []
