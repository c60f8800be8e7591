"""Whoever waits for machine code is told so, and told how long it took."""

import logging
import time
from typing import NamedTuple

import numba
import pytest

import orbitmc as om
from orbitmc._numba import compile_log as remarks
from orbitmc._numba import store
from orbitmc._numba.compile_log import REMARKS, working_time
from orbitmc._numba.jit import compiled
from orbitmc.cli.running import Compiling
from orbitmc.sampling.pack import start_pack, walk


@pytest.fixture
def said(monkeypatch, caplog):
    """Remarks that come at once, since no test can wait, and what they say."""
    monkeypatch.setattr(remarks, "LONG", 0.0)
    REMARKS.say_over()
    monkeypatch.setattr(REMARKS, "_told_functions", REMARKS.functions)
    caplog.clear()
    caplog.set_level(logging.WARNING, "orbitmc")

    def texts():
        found = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return found

    return texts


def slow():
    """A function that takes long enough to compile for a timer of no seconds to go off."""

    @compiled
    def sums_of_roots(numbers):
        return sum([number**0.5 for number in numbers])

    sums_of_roots.dispatcher._cache.disable()  # the next run of this test compiles it again
    return sums_of_roots


def test_compiling_is_said_when_it_happens_and_what_it_took_at_the_end(said):
    one, other = slow(), slow()
    with Compiling():
        assert said() == []
        assert one((1.0, 4.0)) + other((9.0,)) == 6.0
        (begun,) = said()
        assert "compiling for this machine, once (now " in begun
        assert "sums_of_roots" in begun
    (over,) = said()
    assert "compiled 2 functions in " in over
    with Compiling():
        one((1.0, 4.0))
    assert said() == []


def test_of_steps_and_recording_it_is_said_whose_they_are(said, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "folder", lambda: tmp_path)  # no earlier run has compiled them

    class Rest(NamedTuple):
        outcomes = ()

        def memory(self, prepared, lanes):
            return ()

    @om.kernels.step(Rest)
    def rest(prepared, kernel, memory, values, outcomes, rng):
        pass

    prepared, kernel = om.kernels.prepare(om.ising_grid(2, 2, 0.3).graph), Rest()
    with Compiling():
        walk(prepared, kernel, start_pack(prepared, kernel, seed=1, number=0, lanes=32), 1)
        assert "(now kernels.protocol._take_steps of Rest)" in "".join(said())


def test_quiet_compiling_is_not_said(said):
    with Compiling(quiet=True):
        assert slow()((1.0,)) == 1.0
    assert said() == []


def test_short_compiling_is_not_said(said, monkeypatch):
    monkeypatch.setattr(remarks, "LONG", 1e6)
    assert slow()((1.0, 1.0)) == 2.0
    REMARKS.say_over()
    assert said() == []


def test_functions_of_others_are_not_spoken_of(said):
    assert numba.njit(lambda x: x + 3)(1) == 4
    REMARKS.say_over()
    assert said() == []


def test_the_end_is_said_by_itself_after_a_pause(said, monkeypatch):
    monkeypatch.setattr(remarks, "PAUSE", 0.0)
    slow()((2.0, 2.0, 2.0))
    found, until = said(), time.monotonic() + 60
    while len(found) < 2 and time.monotonic() < until:
        time.sleep(0.01)
        found += said()
    assert "compiled 1 function in " in found[-1]


def test_the_clock_of_work_stands_still_while_compiling():
    begun, started = time.monotonic(), working_time()
    slow()((3.0, 3.0))
    assert working_time() - started < 0.5 * (time.monotonic() - begun)
