"""A limit on the time of work in many steps: each step asks whether there is time for it.

The limit holds for all that is called below, so that what is far down needs no clock of its own.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from orbitmc._numba.compile_log import working_time
from orbitmc.errors import LimitError

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


def require_time(seconds: float = 0.0) -> None:
    """Refuse to go on where less time than that is left."""
    if working_time() + seconds > _UNTIL.get():
        raise LimitError("there was no time for it; more seconds may be enough")


def timed(steps: Iterable[T]) -> Iterator[T]:
    """The same steps, as long as there is time for them."""
    for step in steps:
        require_time()
        yield step
