"""Ctrl-C stops questions in whatever thread they run, and only those it was meant for."""

import signal
import subprocess
import sys
import threading

import pytest

import orbitmc as om
from orbitmc._util import interrupts
from orbitmc._util.interrupts import (
    check_interrupt,
    interrupt_when,
    interruptible,
    was_interrupted,
)
from orbitmc.cli.running import Stopping
from tests.cli.commands import orbitmc, rain

ASK = """
import asyncio, os, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor
import orbitmc as om

def going(run):
    if run.recorded:
        print(f"going in {threading.current_thread().name}\\n", end="", flush=True)

def ask(seconds=600):
    model = om.ising_grid(6, 6, 0.3)
    found = om.marginals(model, method="gibbs", seconds=seconds, warm_up=1, watchers=[going])
    print(f"interrupted {found.about.interrupted}\\n", end="", flush=True)

def in_thread():
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

def in_executor():
    with ThreadPoolExecutor() as pool:
        pool.submit(ask).result()

def without_waiting():
    ThreadPoolExecutor().submit(ask).result()

def in_asyncio():
    async def main():
        await asyncio.to_thread(ask)
    asyncio.run(main())

def while_the_program_ends():
    def answer():
        model = om.ising_grid(6, 6, 0.3)
        found = om.marginals(model, method="gibbs", samples=20000)
        print(f"{found.about.samples} samples\\n", end="", flush=True)
    threading.Thread(target=answer).start()

def beside_another():
    pool = ThreadPoolExecutor()
    future = pool.submit(ask)
    ask()
    future.result()

HOW()
"""


def interrupted_once_it_goes(how, questions=1):
    """Run a script, press Ctrl-C once its questions have begun; gives what it printed after."""
    script = [sys.executable, "-c", ASK.replace("HOW", how)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        try:
            begun = set()
            while len(begun) < questions:
                begun.add(one.stdout.readline())
                assert one.poll() is None
            one.send_signal(signal.SIGINT)
            printed, _ = one.communicate(timeout=120)  # the question would take ten minutes
        finally:
            one.kill()
    return printed


@pytest.mark.parametrize("how", ["in_executor", "without_waiting", "in_asyncio"])
def test_ctrl_c_stops_a_question_in_another_thread(how):
    printed = interrupted_once_it_goes(how)
    assert printed.count("interrupted True") == 1


def test_ctrl_c_ends_a_program_that_waits_for_a_thread():
    interrupted_once_it_goes("in_thread")  # some versions of Python do not wait for the thread


def test_a_question_goes_on_while_the_program_waits_for_its_end():
    script = [sys.executable, "-c", ASK.replace("HOW", "while_the_program_ends")]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("20000 samples\n", "")


def test_ctrl_c_stops_all_questions_at_once():
    assert interrupted_once_it_goes("beside_another", 2).count("interrupted True") == 2


def pressing(times):
    """A watcher that presses Ctrl-C after the first samples, wherever the run then is."""

    def press(run):
        if run.recorded:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    return press


def ask_pressing(times):
    model = om.ising_grid(4, 4, 0.3)
    return om.marginals(model, method="gibbs", samples=10**7, warm_up=1, watchers=[pressing(times)])


def test_ctrl_c_between_rounds_loses_no_samples():
    found = ask_pressing(1)
    assert found.about.interrupted
    assert found.about.samples > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_is_an_exception():
    with pytest.raises(KeyboardInterrupt):
        ask_pressing(2)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_stays():
    class OwnError(Exception):
        pass

    def own(number, frame):
        raise OwnError

    before = signal.signal(signal.SIGINT, own)
    try:
        with pytest.raises(OwnError):
            ask_pressing(1)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def in_a_thread(work):
    """What some work gives in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def pressed(monkeypatch):
    """Press Ctrl-C, as seen from other threads."""
    seen = []
    monkeypatch.setattr(interrupts, "_ended", seen)
    return lambda: seen.append(KeyboardInterrupt())


def test_an_earlier_ctrl_c_stops_no_later_question(pressed):
    def ask():
        with interruptible():
            return was_interrupted()

    pressed()
    assert in_a_thread(ask) is False


def test_what_listens_within_a_question_hears_all_that_the_question_does(pressed):
    def ask():
        with interruptible():
            pressed()
            with interruptible():
                return was_interrupted()

    assert in_a_thread(ask) is True


def test_the_main_thread_has_its_own_exception(pressed):
    with interruptible():
        pressed()
        assert not was_interrupted()


def test_elimination_and_races_heed(pressed):
    def ask(**settings):
        with interruptible():
            pressed()
            with pytest.raises(KeyboardInterrupt):
                om.marginals(om.ising_grid(6, 6, 0.3), **settings)
            return True

    assert in_a_thread(lambda: ask(method="exact"))
    assert in_a_thread(lambda: ask(method="lmh", seconds=1))


def test_nothing_is_heeded_without_a_question(pressed):
    pressed()
    check_interrupt()
    assert in_a_thread(check_interrupt) is None


def test_no_handler_is_touched_outside_the_main_thread(tmp_path):
    path = rain(tmp_path)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    def work():
        with Stopping():
            during = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        om.marginals(om.read(path), method="gibbs", samples=20)
        done = orbitmc("infer", path, "--method", "gibbs", "--samples", "300")
        return during, done.returncode

    assert in_a_thread(work) == (before, 0)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_question_ends_when_nobody_waits_for_its_answer():
    model = om.ising_grid(6, 6, 0.3)
    looked = []

    def is_over():
        looked.append(True)
        return len(looked) > 5

    with interrupt_when(is_over):
        found = om.marginals(model, method="gibbs", seconds=600)
    assert found.about.interrupted
    assert not was_interrupted()


def test_whoever_is_within_ends_with_whoever_is_around():
    over = []
    with interrupt_when(lambda: bool(over)):
        with interrupt_when(lambda: False):
            check_interrupt()
            over.append(True)
            with pytest.raises(KeyboardInterrupt):
                check_interrupt()
        assert was_interrupted()
    assert not was_interrupted()


def test_other_threads_are_not_interrupted():
    seen = []
    with interrupt_when(lambda: True):
        thread = threading.Thread(target=lambda: seen.append(was_interrupted()))
        thread.start()
        thread.join()
    assert seen == [False]
