"""Generic functions, and clocks that leave compiling out."""

import time

import pytest

from orbitmc._numba.jit import Stopwatch, WorkClock, compiled, generic, implementation


def test_a_type_without_implementation_is_an_error():
    @generic("one")
    def describe(one):
        raise NotImplementedError

    @implementation(describe, int)
    def _describe_integer(one):
        return "integer"

    assert describe(3) == "integer"
    with pytest.raises(KeyError):
        describe("three")


def not_yet_compiled():
    """A function whose first call takes much longer than all later ones."""
    start = 0.0  # a function that reads it is not kept on the disk

    @compiled
    def sum_of_roots(number):
        total = start
        for k in range(number):
            total += k**0.5 if k % 3 else k**1.5
        return total

    return sum_of_roots


def test_a_stopwatch_leaves_compiling_out():
    slow_to_compile = not_yet_compiled()
    with Stopwatch() as whole:
        begun = time.perf_counter()
        slow_to_compile(3)
        compiling = time.perf_counter() - begun
    assert whole.seconds < 0.5 * compiling
    with Stopwatch() as waiting:
        time.sleep(0.05)
    assert waiting.seconds >= 0.05


def test_a_work_clock_counts_work_but_neither_compiling_nor_waiting():
    sum_of_roots = not_yet_compiled()
    with WorkClock() as clock:
        begun = time.thread_time()
        sum_of_roots(3)
        compiling = time.thread_time() - begun
        assert clock() < 0.5 * compiling
        before = clock()
        time.sleep(0.05)
        assert clock() - before < 0.04
        before, begun = clock(), time.thread_time()
        while time.thread_time() < begun + 0.02:
            sum_of_roots(1000)
        assert clock() - before >= 0.02
