"""Many questions in one process: at once or one after the other, none disturbs another."""

import gc
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from mmap import mmap
from pathlib import Path
from statistics import median_low

import pytest

import orbitmc as om

MOVES = {"base": "gibbs", "families": ["flip"], "period": 20}
WAYS = [
    {"method": "exact"},
    {"method": "gibbs", "samples": 40},
    {"method": "gibbs", "samples": 40, "scan": "random"},
    {"method": "mcsat", "samples": 10},
    {"method": "lifted", "samples": 40},
    {"method": "lmh", "samples": 40, "moves": MOVES},
    {"method": "auto"},
]
QUESTIONS = [(side, way, seed) for side in (2, 3) for way in WAYS for seed in (1, 2)]


def numbers(question):
    side, way, seed = question
    found = om.marginals(om.ising_grid(side, side, 0.3, 0.1), seed=seed, **way)
    return {name: one.probability.tobytes() for name, one in found.items()}


def test_questions_at_once_get_the_numbers_of_questions_in_turn():
    with ThreadPoolExecutor(6) as pool:
        at_once = list(pool.map(numbers, QUESTIONS * 2))
    in_turn = [numbers(question) for question in QUESTIONS]
    assert at_once == in_turn * 2
    assert len({str(one) for one in in_turn}) > len(QUESTIONS) // 2  # they are different questions


def test_reading_grounding_and_asking_at_once_gives_the_same(tmp_path):
    (tmp_path / "x.mln").write_text("A(p)\nB(p, p)\n0.7 A(x) => B(x, y)\n0.3 A(x)\n")
    (tmp_path / "x.db").write_text("B(P1, P2)\nB(P2, P3)\n")

    def ask(query):
        logic = om.read_logic(tmp_path / "x.mln", tmp_path / "x.db", query=query)
        found = logic.marginals(method="gibbs", samples=20, seed=3)
        return {name: one.probability.tolist() for name, one in found.items()}

    queries = ["A", "A(P1)", "A(P2)", "A(P3)"] * 3
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(ask, queries))
    assert at_once == [ask(query) for query in queries]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def left_behind(ask, calls):
    """Blocks, resident bytes, threads and open files that so many calls leave.

    The median of several times so many calls: what is made or freed once is no leak.
    """

    def counted():
        for number in range(calls):
            ask(number)
        gc.collect()
        files = len(os.listdir("/proc/self/fd"))
        return sys.getallocatedblocks(), resident_bytes(), threading.active_count(), files

    seen = [counted() for _ in range(BATCHES + 1)]
    growth = [[late - early for early, late in zip(*pair, strict=True)] for pair in pairwise(seen)]
    return [median_low(column) for column in zip(*growth, strict=True)]


needs_proc = pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="memory and open files are counted in /proc"
)
BATCHES = 11  # in some of the first ones machine code is read from the disk
SHORT = {"samples": 2, "packs": 1}


@needs_proc
@pytest.mark.parametrize(
    ("way", "calls"),
    [
        ({"method": "exact"}, 100),
        ({"method": "gibbs", **SHORT}, 50),
        ({"method": "mcsat", **SHORT}, 50),
        ({"method": "lmh", "moves": MOVES, **SHORT}, 50),
    ],
)
def test_many_calls_leave_nothing_behind(way, calls):
    model = om.ising_grid(2, 2, 0.3, 0.1)

    def ask(seed):
        om.marginals(model, {"s0_0": "up"}, seed=seed, **way)

    blocks, resident, threads, files = left_behind(ask, calls)
    assert blocks < calls  # not one object per call
    assert resident < 2**20
    assert (threads, files) == (0, 0)


@needs_proc
def test_what_each_call_leaves_behind_would_be_seen(tmp_path):
    (tmp_path / "x").touch()
    kept = []
    with ExitStack() as closing:

        def ask(number):
            closing.enter_context((tmp_path / "x").open())
            kept.append(mmap(-1, 2**17))  # pages of its own, not some that were freed
            kept[-1].write(bytes(2**17))

        blocks, resident, _, files = left_behind(ask, 50)
    assert blocks > 50
    assert resident > 2**20
    assert files == 50
