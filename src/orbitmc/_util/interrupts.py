"""Ctrl-C for questions, in whatever thread they run.

In the main thread the first one is a request, so that it can strike at any time without losing
samples. Python raises `KeyboardInterrupt` there only, and only that thread may install handlers.
So a question in another thread looks, now and then, whether such an exception is on its way
through the main thread, has ended it, or has ended a question there. Whoever asks from a thread of
his own may also say when nobody waits for the answer any more.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Interrupts(threading.local):
    before: list[KeyboardInterrupt] | None = None
    is_over: Callable[[], bool] | None = None


_heard = _Interrupts()
_ended: list[KeyboardInterrupt] = []  # the last one that ended a question of the main thread
_stops: list[Callable[[], None]] = []  # of questions of the main thread, each within the last one


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a question of this thread be stopped by a Ctrl-C that comes from now on."""
    if _heard.before is not None:
        yield  # within a question that listens already
        return
    _heard.before = _interrupts()
    try:
        yield
    finally:
        _heard.before = None


@contextmanager
def stop_on_ctrl_c(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C stop a question of the main thread, and the next one raise as usual.

    A question within another is stopped together with it. A program that has a handler of its own
    keeps it.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, _stop_all):
        yield
        return
    _stops.append(stop)
    signal.signal(signal.SIGINT, _stop_all)
    try:
        yield
    finally:
        _stops.pop()
        if not _stops:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _stop_all(number: int, frame: object) -> None:
    """The handler of the first Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    forward_interrupt(KeyboardInterrupt())
    for stop in _stops:
        stop()


@contextmanager
def interrupt_when(is_over: Callable[[], bool]) -> Iterator[None]:
    """Let questions of this thread end as by Ctrl-C once nobody waits for their answer.

    >>> with interrupt_when(lambda: True):
    ...     was_interrupted()
    True
    """
    before = _heard.is_over
    _heard.is_over = is_over if before is None else lambda: is_over() or before()
    try:
        yield
    finally:
        _heard.is_over = before


def was_interrupted() -> bool:
    """Whether Ctrl-C has come since the question of this thread began to listen.

    False in the main thread, where Ctrl-C is an exception of its own. Also whether nobody waits for
    the answer any more.
    """
    if _heard.is_over is not None and _heard.is_over():
        return True
    before = _heard.before
    if before is None or threading.current_thread() is threading.main_thread():
        return False
    return any(all(interrupt is not old for old in before) for interrupt in _interrupts())


def check_interrupt() -> None:
    """Raise what the main thread got, where there is no part of an answer to give."""
    if was_interrupted():
        raise KeyboardInterrupt


def forward_interrupt(interrupt: KeyboardInterrupt) -> None:
    """Let an interrupt that ends a question end those of other threads too."""
    _ended[:] = [interrupt]


def _interrupts() -> list[KeyboardInterrupt]:
    """What the main thread is unwinding now, what it did not catch, what ended a question."""
    current = sys._current_exceptions().get(threading.main_thread().ident or 0)
    handled = current[1] if isinstance(current, tuple) else current  # a tuple before Python 3.12
    errors = (handled, getattr(sys, "last_value", None), *_ended)
    return [error for error in errors if isinstance(error, KeyboardInterrupt)]
