"""Warming up: scans where variables are picked at random, annealing where blocks are drawn."""

from dataclasses import replace

import numpy as np
import pytest

from orbitmc._simd.random import COLUMNS
from orbitmc.conditionals.prepared import prepare
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._flips import flips
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels._mixture import lifted
from orbitmc.kernels.block_gibbs.kernel import low_width
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.protocol import picks_at_random
from orbitmc.models._ising import ising, ising_grid
from orbitmc.sampling.budget import Budget, Clock
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from orbitmc.sampling.warmup import (
    STRETCH,
    affordable_annealing,
    affordable_spacing,
    annealing_steps,
    warm_up,
)

GRID = prepare(ising_grid(6, 6, 0.3, np.linspace(-1, 1, 36).reshape(6, 6)).graph)
STRETCHED = 36 * -(-STRETCH // 36)


def mixed(prepared):
    blocks = exchange_blocks([np.arange(prepared.graph.variables)])
    return lifted(RandomScan(), [shuffle(prepared, blocks)], alpha=0.5)


def warmed(kernel, *rounds):
    pack = start_pack(GRID, kernel, seed=4, number=0, lanes=32)
    taken = 0
    for steps in rounds:
        warm_up(GRID, kernel, pack, steps=steps, taken=taken)
        taken += steps
    return pack


@pytest.mark.parametrize("rounds", [(1, STRETCHED - 1, 2 * STRETCHED), (50,) * 246])
def test_the_length_of_rounds_changes_nothing(rounds):
    kernel = mixed(GRID)
    steps = sum(rounds)
    whole, cut = warmed(kernel, steps), warmed(kernel, *rounds)
    assert np.array_equal(whole.values, cut.values)
    assert whole.outcomes.tolist() == cut.outcomes.tolist()


def test_the_first_stretch_is_a_scan_and_the_second_is_not():
    kernel = mixed(GRID)
    first, second = warmed(kernel, STRETCHED), warmed(kernel, 2 * STRETCHED)
    named = [dict(zip(kernel.outcomes, pack.outcomes, strict=True)) for pack in (first, second)]
    assert named[0]["updates"] == STRETCHED
    assert named[0]["proposals"] == 0
    assert named[1]["updates"] - STRETCHED < STRETCHED
    assert named[1]["proposals"] > 0
    scanned = start_pack(GRID, SystematicScan(), seed=4, number=0, lanes=32)
    walk(GRID, SystematicScan(), scanned, STRETCHED)
    assert np.array_equal(first.values, scanned.values)


def test_other_kernels_warm_up_by_themselves():
    kernel = alternation(SystematicScan(), flips(GRID), period=36)
    assert not picks_at_random(kernel)
    assert picks_at_random(RandomScan())
    pack = start_pack(GRID, kernel, seed=4, number=0, lanes=32)
    walk(GRID, kernel, pack, 3 * STRETCHED)
    assert np.array_equal(warmed(kernel, 3 * STRETCHED).values, pack.values)


def test_a_hub_in_a_wrong_state_leaves_it_sooner():
    """A scan redraws the leaves before the hub, where random picks miss some of them.

    The hub is started against its field, and so are its leaves. Sixteen thousand chains; a share
    of wrong hubs that differs by ten standard errors cannot be chance.
    """
    leaves = 40
    fields = np.concatenate([np.full(leaves, 0.5), [0.5]])
    star = prepare(ising(fields, [(leaf, leaves) for leaf in range(leaves)], 0.2).graph)
    wrong = []
    for go in (warm_up, None):
        packs = []
        for number in range(256):
            pack = start_pack(star, RandomScan(), seed=1, number=number, lanes=64)
            pack.values[...] = 0
            if go is None:
                walk(star, RandomScan(), pack, 2 * (leaves + 1))
            else:
                go(star, RandomScan(), pack, steps=2 * (leaves + 1))
            packs.append(pack.values[leaves] == 0)
        wrong.append(float(np.mean(packs)))
    assert wrong[0] < wrong[1] - 10 * np.sqrt(0.25 / (256 * 64))


def blocks_of(graph, most_entries=16):
    return low_width(graph, most_entries=most_entries)


ORDERED = prepare(ising_grid(8, 8, 1.0, 0.1).graph)  # nearly all of the weight has spins up


def cooled(kernel, *rounds, annealing):
    pack, taken = start_pack(ORDERED, kernel, seed=1, number=0, lanes=64), 0
    for steps in rounds:
        warm_up(ORDERED, kernel, pack, steps=steps, taken=taken, annealing=annealing)
        taken += steps
    return pack


def test_annealed_blocks_leave_the_mode_of_little_weight():
    """A chain of blocks in the wrong mode stays there; annealed ones hardly enter it."""
    kernel, steps = blocks_of(ORDERED.graph), 320 * 64
    plain, annealed = (
        cooled(kernel, steps, annealing=annealing).values.mean(axis=0) > 0.5
        for annealing in (0, 240 * 64)
    )
    others = np.arange(64) % COLUMNS != 0
    assert plain[others].mean() < 0.9
    assert annealed[others].mean() > 0.97


def test_the_column_that_starts_in_modes_is_not_heated():
    kernel = blocks_of(ORDERED.graph)
    start = start_pack(ORDERED, kernel, seed=1, number=0, lanes=64).values
    annealed = cooled(kernel, 500, 500, annealing=1000).values
    same = (annealed == start).all(axis=0)
    assert same[::COLUMNS].all()
    assert same.sum() == 64 // COLUMNS


@pytest.mark.parametrize("rounds", [(1, 99, 900), (37,) * 27 + (1,)])
def test_the_length_of_rounds_changes_nothing_in_annealing(rounds):
    kernel = blocks_of(ORDERED.graph)
    whole, cut = (cooled(kernel, *some, annealing=750) for some in ((1000,), rounds))
    assert np.array_equal(whole.values, cut.values)


def test_annealing_ends_at_the_temperature_of_the_model():
    """Not one step later than it should: what follows are the steps of the kernel itself."""
    kernel = blocks_of(ORDERED.graph)
    hot = cooled(kernel, 700, annealing=700)
    walk(ORDERED, kernel, hot, 300)
    assert np.array_equal(hot.values, cooled(kernel, 1000, annealing=700).values)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Schedule(samples=100), 0.75 * 26 * 4 * 64),
        (Schedule(samples=100, warm_up=0), 0),
        (Schedule(samples=100, warm_up=8), 0.75 * 8 * 4 * 64),
        (Schedule(seconds=5, warm_up=8), 0.75 * 8 * 4 * 64),
    ],
)
def test_three_quarters_of_a_warm_up_are_annealed(schedule, expected):
    kernel = blocks_of(ORDERED.graph)
    run = sample(ORDERED, kernel, replace(schedule, seconds=None, samples=2), packs=1)
    assert annealing_steps(replace(run, schedule=schedule, spacing=4 * 64), 1) == expected


def test_longer_runs_anneal_longer_and_more_packs_share_the_time():
    kernel = blocks_of(ORDERED.graph)
    run = sample(ORDERED, kernel, Schedule(samples=2), packs=1)
    steps = [
        annealing_steps(replace(run, schedule=Schedule(seconds=s), most_packs=packs), 2)
        for s, packs in ((2, 2), (4, 2), (4, 4))
    ]
    assert steps[1] == pytest.approx(2 * steps[0], abs=2)
    assert steps[2] == pytest.approx(steps[0], abs=2)


def test_single_variables_and_one_block_of_all_are_not_annealed():
    for kernel in (SystematicScan(), blocks_of(GRID.graph, most_entries=2**9)):
        run = sample(GRID, kernel, Schedule(samples=2), packs=1)
        assert run.annealing == 0


def test_all_blocks_are_drawn_between_two_samples_unless_asked_otherwise():
    kernel = blocks_of(ORDERED.graph)
    assert kernel.record_every > 4 * 64
    run = sample(ORDERED, kernel, Schedule(samples=2), packs=1)
    assert run.spacing == kernel.record_every
    run = sample(ORDERED, kernel, Schedule(samples=2, spacing=7), packs=1)
    assert run.spacing == 7
    run = sample(ORDERED, SystematicScan(), Schedule(samples=2), packs=1)
    assert run.spacing == 4 * 64


def test_annealing_that_takes_longer_than_thought_is_shortened():
    """A sweep that takes two seconds leaves time for two more of them, before 15 s."""
    model = ising(J={("a", "b"): 0.4, ("b", "c"): 0.2})
    run = sample(prepare(model.graph), low_width(model.graph), Schedule(samples=1), packs=1)
    run = replace(
        run, schedule=Schedule(seconds=100.0), budget=Budget(100.0),
        warm_up_steps=5 * run.sweep, annealing=1000 * run.sweep,
    )  # fmt: skip
    clock = Clock(11.0, at_once=1)
    assert affordable_annealing(run, clock) == 1000 * run.sweep  # nothing is known yet
    clock.sweeps.each = 2.0
    assert 5 * run.sweep <= affordable_annealing(run, clock) <= 7 * run.sweep
    late = Clock(50.0, at_once=1)
    late.sweeps.each = 2.0
    assert affordable_annealing(run, late) == run.warm_up_steps


def at_the_end_of_warm_up(schedule, seconds):
    """A run of 10 s that has used some of them, with sweeps that take a second."""
    run = sample(GRID, SystematicScan(), Schedule(samples=1), packs=1)
    spacing = schedule.spacing_for(36)
    budget = Budget(10.0, seconds=seconds)
    run = replace(run, schedule=schedule, spacing=spacing, recorded=0, budget=budget)
    clock = Clock(seconds, at_once=1)
    clock.sweeps.each = 1.0
    return run, clock


@pytest.mark.parametrize(("seconds", "sweeps"), [(4.5, 4), (7.0, 2), (8.0, 1), (20.0, 1 / 16)])
def test_a_run_that_has_time_for_no_sample_takes_fewer_steps_to_it(seconds, sweeps):
    """A second is for recording, what is left for steps; there are a few in any case."""
    run, clock = at_the_end_of_warm_up(Schedule(seconds=10.0), seconds)
    assert sweeps * 36 - 2 <= affordable_spacing(run, clock) <= sweeps * 36


def test_a_spacing_that_was_asked_for_stays():
    run, clock = at_the_end_of_warm_up(Schedule(seconds=10.0, spacing=100), 9.5)
    assert affordable_spacing(run, clock) == 100


def test_samples_that_are_there_have_the_spacing_of_the_next_ones():
    run, clock = at_the_end_of_warm_up(Schedule(seconds=10.0), 9.5)
    assert affordable_spacing(replace(run, recorded=1), clock) == 4 * 36
