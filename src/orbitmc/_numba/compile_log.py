"""Say that machine code is being made, and what took how long: silence looks like a hang.

Remarks go to the logger `orbitmc`, which writes to standard error unless a program has told it
otherwise; `logging.getLogger("orbitmc").setLevel("ERROR")` silences them.
"""

import atexit
import enum
import gc
import logging
import math
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from orbitmc.errors import LimitError

LOGGER = logging.getLogger("orbitmc")

LONG = 1.0
"""Seconds of compiling after which there is a remark."""

PAUSE = 2.0
"""Seconds without compiling after which it is over."""


class Work(enum.Enum):
    """What takes time besides the work itself."""

    COMPILING = "making machine code"
    LOADING = "reading machine code from the disk"
    INTERPRETING = "interpreting what could be compiled"


class Listener(Protocol):
    """Is told when our own functions are compiled, loaded or interpreted.

    Functions of other people are none of our business: nobody is told of them.
    """

    def on_start(self, about: str) -> None: ...

    def on_end(self) -> None: ...


_LISTENERS: dict[Work, list[Listener]] = {work: [] for work in Work}


def listen(listener: Listener, *kinds: Work) -> None:
    """Tell a listener of work of these kinds from now on."""
    for work in kinds:
        _LISTENERS[work].append(listener)


def stop_listening(listener: Listener, *kinds: Work) -> None:
    for work in kinds:
        _LISTENERS[work].remove(listener)


@contextmanager
def announce(work: Work, about: str = "") -> Iterator[None]:
    """Tell those who listen that such work begins, and that it is over."""
    listeners = tuple(_LISTENERS[work])
    for listener in listeners:
        listener.on_start(about)
    try:
        yield
    finally:
        for listener in listeners:
            listener.on_end()


class Remarks:
    """Hears of all our compiling in this process, counts its seconds, and speaks of long ones."""

    def __init__(self) -> None:
        self.seconds, self.functions = 0.0, 0
        self._depth, self._begun, self._name = 0, 0.0, ""
        self._said, self._told_seconds, self._told_functions = False, 0.0, 0
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()

    def on_start(self, about: str) -> None:
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._begun, self._name = time.monotonic(), about
            if not self._said:
                self._after(max(0.0, LONG - self._untold()), self._say_begun)
            else:
                self._stop_timer()

    def on_end(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            self.seconds += time.monotonic() - self._begun
            self.functions += 1
            self._stop_timer()
            if self._said:
                self._after(PAUSE, self.say_over)

    @property
    def compiling(self) -> str:
        """The function that is being compiled now, and not one that it calls; none if empty."""
        return self._name if self._depth else ""

    def say_over(self) -> None:
        """Say what compiling took since the last remark of this kind."""
        with self._lock:
            if not self._said or self._depth:
                return
            self._stop_timer()
            count = self.functions - self._told_functions
            LOGGER.warning(
                "orbitmc: compiled %d function%s in %.0f s; kept for the next time",
                count,
                "" if count == 1 else "s",
                self._untold(),
            )
            self._said = False
            self._told_seconds, self._told_functions = self.seconds, self.functions

    def _say_begun(self) -> None:
        with self._lock:
            if self._depth and not self._said:
                self._said = True
                LOGGER.warning(
                    "orbitmc: compiling for this machine, once (now %s); "
                    "`orbitmc warm` does that beforehand",
                    self._name,
                )

    def _untold(self) -> float:
        return self.seconds - self._told_seconds

    def _after(self, seconds: float, act: Any) -> None:
        self._stop_timer()
        self._timer = threading.Timer(seconds, act)
        self._timer.daemon = True
        self._timer.start()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class PausedCollection:
    """Switches Python's search for unreachable objects off while we compile.

    Compiling makes a million objects and frees most of them at once; to search them again and
    again took an eighth of its time.
    """

    def __init__(self) -> None:
        self._depth, self._was_enabled = 0, True
        self._lock = threading.Lock()

    def on_start(self, about: str) -> None:
        with self._lock:
            if self._depth == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._depth += 1

    def on_end(self) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._was_enabled:
                gc.enable()


REMARKS = Remarks()
listen(REMARKS, Work.COMPILING)
listen(PausedCollection(), Work.COMPILING)
atexit.register(REMARKS.say_over)


def working_time() -> float:
    """Seconds on a clock that stands still while this process compiles."""
    return time.monotonic() - REMARKS.seconds


T = TypeVar("T")


_UNTIL: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Let work below take no more than so many seconds, compiling aside.

    >>> with time_limit(10.0):
    ...     require_time()
    """
    before = _UNTIL.get()
    token = _UNTIL.set(min(before, working_time() + seconds))
    try:
        yield
    finally:
        _UNTIL.reset(token)


_BEGUN: ContextVar[float | None] = ContextVar("begun", default=None)


@contextmanager
def asked_before(seconds: float = 0.0) -> Iterator[None]:
    """Let a question below have been asked so many seconds ago, compiling aside.

    A timed answer takes what was done since then, such as grounding, from its time.

    >>> with asked_before(3.0):
    ...     spent_before() >= 3.0
    True
    """
    token = _BEGUN.set(working_time() - seconds)
    try:
        yield
    finally:
        _BEGUN.reset(token)


@contextmanager
def asked_now() -> Iterator[None]:
    """Let the time of a question run from now, unless it runs already."""
    with nullcontext() if _BEGUN.get() is not None else asked_before():
        yield


def spent_before() -> float:
    """Seconds since the present question was asked, compiling aside; 0 if nobody said when."""
    begun = _BEGUN.get()
    return 0.0 if begun is None else max(0.0, working_time() - begun)


def latest_time() -> float:
    """When work has to end, on the clock of `working_time`; infinite if nobody said when."""
    return _UNTIL.get()


def require_time(seconds: float = 0.0) -> None:
    """Refuse to go on where less time than that is left."""
    if working_time() + seconds > _UNTIL.get():
        raise LimitError("there was no time for it; more seconds may be enough")


def timed(steps: Iterable[T]) -> Iterator[T]:
    """The same steps, as long as there is time for them."""
    for step in steps:
        require_time()
        yield step
