"""Interpret first, compile later: compiling takes seconds, and most questions are small.

A tiered function gives the same results, bit for bit, whether it is interpreted or compiled. It
is interpreted until that would take longer than compiling does. What was compiled before, and is
on the disk, is used as soon as the work takes longer than loading it.
"""

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba.extending import typeof_impl

from orbitmc._numba.compile_log import Work, announce
from orbitmc._numba.internals import is_stored
from orbitmc._numba.jit import compiled

F = TypeVar("F", bound=Callable[..., Any])

STEP = 5e-6
"""Seconds that the interpreter needs for what it does with one element of an array."""

LOADING = 0.05
"""Seconds that loading machine code takes."""

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


def tier(work: Callable[..., float]) -> Callable[[F], F]:
    """Make a function tiered; `work` says, from its arguments, about how many steps it takes."""
    return lambda function: Tiered(function, work)  # type: ignore[return-value]


def is_compiled(function: Any) -> bool:
    """Whether a tiered function is interpreted no more."""
    return function._spent == NO_MORE or bool(function.dispatcher.signatures)


def compile_next(function: Any) -> None:
    """Let a tiered function be compiled from the next call on, however short that is."""
    function._spent = NO_MORE


class Tiered:
    """A function that is interpreted while that is sooner than compiling it."""

    def __init__(self, function: Callable[..., Any], work: Callable[..., float]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.dispatcher: Any = compiled(function)
        self._work = work
        self._spent = 0.0
        self._looked = False

    def __call__(self, *arguments: Any) -> Any:
        if self._is_sooner_interpreted(arguments):
            return self._interpreted(arguments)
        return self.dispatcher(*arguments)

    def _is_sooner_interpreted(self, arguments: tuple[Any, ...]) -> bool:
        if is_compiled(self):
            return False
        seconds = self._spent + STEP * self._work(*arguments)
        if LOADING < seconds <= PATIENCE and not self._looked:
            self._looked = True
            if self._is_kept(arguments):
                return False
        return seconds <= PATIENCE

    def _is_kept(self, arguments: tuple[Any, ...]) -> bool:
        """Whether machine code for such arguments is on the disk."""
        return is_stored(self.dispatcher, tuple(map(numba.typeof, arguments)))

    def _interpreted(self, arguments: tuple[Any, ...]) -> Any:
        begun = time.thread_time()
        try:
            # compiled code says nothing of overflows either
            with announce(Work.INTERPRETING), np.errstate(all="ignore"):
                return self.py_func(*arguments)
        finally:
            self._spent += time.thread_time() - begun


@typeof_impl.register(Tiered)  # type: ignore[untyped-decorator]
def _type_of_tiered(function: Tiered, context: Any) -> Any:
    """Let compiled code call what is compiled."""
    return typeof_impl(function.dispatcher, context)
