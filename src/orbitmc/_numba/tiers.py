"""Interpret first, compile later: compiling takes seconds, and most questions are small.

A tiered function gives the same results, bit for bit, whether it is interpreted or compiled. It
is interpreted until that would take longer than compiling does. What was compiled before, and is
on the disk, is used as soon as the work takes longer than loading it. Where whole arrays do the
same, they do it instead of the interpreter.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import orbitmc._numba as _numba
from orbitmc._numba.compile_log import Work, announce
from orbitmc._numba.jit import REGISTRATIONS, Compiled, load_numba

F = TypeVar("F", bound=Callable[..., Any])

STEP = 5e-6
"""Seconds that the interpreter needs for what it does with one element of an array."""

LOADING = 0.05
"""Seconds that loading machine code takes."""

LOADING_NUMBA = 0.5
"""Seconds that it takes in addition as long as Numba is not loaded."""

PATIENCE = 1.0
"""Seconds that all calls of one function may take before it is compiled."""


NO_MORE = float("inf")


def compile_everything() -> None:
    """Interpret nothing from now on in this process."""
    global PATIENCE
    PATIENCE = -1.0


def elements(argument: Any) -> int:
    """How many numbers an array has, or all arrays of a tuple."""
    if isinstance(argument, tuple):
        return sum(map(elements, argument))
    return argument.size if isinstance(argument, np.ndarray) else 1


def of_one(*arguments: Any) -> int:
    """The work of functions that do little at a time."""
    return 1


def of_first(*arguments: Any) -> int:
    """The work of functions that look at each element of their first argument."""
    return elements(arguments[0])


def of_all(*arguments: Any) -> int:
    """The work of functions that look at each element of all arguments."""
    return elements(arguments)


def tier(
    work: Callable[..., float], by_arrays: Callable[..., Any] | None = None
) -> Callable[[F], F]:
    """Make a function tiered; `work` says, from its arguments, about how many steps it takes.

    What operations on arrays do in its place, if there are some, gives the same bits.
    """
    return lambda function: Tiered(function, work, by_arrays)  # type: ignore[return-value]


def is_compiled(function: Any) -> bool:
    """Whether a tiered function is interpreted no more."""
    return bool(function._spent == NO_MORE or function.has_code)


def compile_next(function: Any) -> None:
    """Let a tiered function be compiled from the next call on, however short that is.

    Numba is loaded at once, so that the next call takes no longer than others.
    """
    function._spent = NO_MORE
    load_numba()


class Tiered(Compiled):
    """A function that is interpreted while that is sooner than compiling it."""

    interpreting = 0.0
    """Seconds of all of them before Numba was loaded."""

    def __init__(
        self,
        function: Callable[..., Any],
        work: Callable[..., float],
        by_arrays: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(function)
        self._work = work
        self._by_arrays = by_arrays
        self._spent = 0.0
        self._looked = False

    def __call__(self, *arguments: Any) -> Any:
        if self._is_sooner_interpreted(arguments):
            return self._interpreted(arguments)
        return self.dispatcher(*arguments)

    def _is_sooner_interpreted(self, arguments: tuple[Any, ...]) -> bool:
        if is_compiled(self):
            return False
        expected = STEP * self._work(*arguments)
        all_seconds = Tiered.interpreting + expected
        if not REGISTRATIONS.is_loaded and all_seconds < min(LOADING_NUMBA, PATIENCE):
            return True
        seconds = self._spent + expected
        if LOADING < seconds <= PATIENCE and not self._looked:
            self._looked = True
            if _numba.is_kept(self, arguments):
                return False
        return seconds <= PATIENCE

    def _interpreted(self, arguments: tuple[Any, ...]) -> Any:
        begun = time.thread_time()
        try:
            # compiled code says nothing of overflows either
            with announce(Work.INTERPRETING), np.errstate(all="ignore"):
                return (self._by_arrays or self.py_func)(*arguments)
        finally:
            spent = time.thread_time() - begun
            self._spent += spent
            if not REGISTRATIONS.is_loaded:
                Tiered.interpreting += spent
