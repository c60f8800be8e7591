"""Warming up: every other stretch is a systematic scan where variables are picked at random."""

import numpy as np
import pytest

from orbitmc.graph.prepared import prepare
from orbitmc.groups.block_groups import exchange_blocks
from orbitmc.kernels.base.gibbs import RandomScan, SystematicScan
from orbitmc.kernels.combine.alternation import alternation
from orbitmc.kernels.combine.mixture import lifted
from orbitmc.kernels.jumps.exchange import shuffle
from orbitmc.kernels.jumps.flips import flips
from orbitmc.models.ising_models import ising, ising_grid
from orbitmc.run.pack import start_pack, walk
from orbitmc.run.starts.warming import STRETCH, picks_at_random, warm_up

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
