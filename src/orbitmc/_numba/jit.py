"""The one place that decides how Python becomes machine code.

`compiled` marks outermost loops. `shared` marks functions that run both inside them and, for
tests, in the interpreter. `generic` functions let the type of one argument choose the
implementation while compiling, which costs nothing at run time.
"""

import functools
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import numba
from numba.extending import overload, register_jitable

from orbitmc._numba import internals
from orbitmc._numba.compile_log import Work, announce, listen, name_compilation, stop_listening
from orbitmc._numba.store import MachineCode
from orbitmc._numba.units import FrameType

F = TypeVar("F", bound=Callable[..., Any])

INNER = {"error_model": "numpy", "fastmath": {"contract"}, **internals.inner_options()}
"""Options of functions that run inside compiled loops."""

IMPLEMENTATIONS: list[dict[type, Callable[..., Any]]] = []
"""What every generic function does for each type."""


def compiled(function: F) -> F:
    """Compile a function, keep the machine code on disk, and release the GIL while it runs."""
    return _compile_once(function, nogil=True, **internals.outer_options())


def unit(function: F) -> F:
    """Compile a function `(frame, number)`, that others call by address; it allocates nothing."""
    return _compile_once(function, **internals.unit_options())


def _compile_once(function: F, **options: Any) -> F:
    dispatcher = numba.njit(error_model="numpy", **options)(function)
    if dispatcher is not function:  # they are the same where Numba is switched off
        internals.attach_store(dispatcher, MachineCode(function, modules_of))
        _announce_compiling(dispatcher)
    return dispatcher  # type: ignore[no-any-return]


def _announce_compiling(dispatcher: Any) -> None:
    """Tell those who listen when this function, and no other, is compiled or loaded."""
    compile_signature = dispatcher.compile

    def compile_and_tell(signature: Any) -> Any:
        if signature in dispatcher.signatures:
            return compile_signature(signature)
        work = Work.LOADING if internals.is_stored(dispatcher, signature) else Work.COMPILING
        with announce(work, name_compilation(dispatcher.py_func, signature)):
            return compile_signature(signature)

    dispatcher.compile = compile_and_tell


def modules_of(signature: Any) -> set[str]:
    """The modules of the types in a signature, and of all that generic functions do for them."""
    classes = {part for kind in signature for part in _classes_in(kind)}
    bodies = {table[chosen] for table in IMPLEMENTATIONS for chosen in classes & table.keys()}
    return {thing.__module__ for thing in classes | bodies}


def _classes_in(kind: Any) -> Iterator[type]:
    """The NamedTuple classes that a type of Numba's is made of."""
    if isinstance(kind, FrameType):
        yield from _classes_in(kind.content)
    if isinstance(kind, numba.types.BaseTuple):
        yield from filter(None, [getattr(kind, "instance_class", None)])
        for part in kind:
            yield from _classes_in(part)


def shared(function: F) -> F:
    """Let compiled code call a function that stays plain Python for everybody else."""
    return register_jitable(**INNER)(function)  # type: ignore[no-any-return]


def generic(by: str) -> Callable[[F], F]:
    """Make a function whose implementation is chosen by the type of its argument `by`.

    Add implementations with `implementation(function, Type)`; the type is a NamedTuple class.
    """

    def decorate(stub: F) -> F:
        position = list(inspect.signature(stub).parameters).index(by)
        implementations: dict[type, Callable[..., Any]] = {}
        IMPLEMENTATIONS.append(implementations)

        @functools.wraps(stub)
        def dispatch(*arguments: Any) -> Any:
            return implementations[type(arguments[position])](*arguments)

        def choose(*types: Any) -> Callable[..., Any] | None:
            return implementations.get(getattr(types[position], "instance_class", None))  # type: ignore[arg-type]

        overload(dispatch, strict=False, jit_options=INNER)(choose)
        dispatch.implementations = implementations  # type: ignore[attr-defined]
        return dispatch  # type: ignore[return-value]

    return decorate


def implementation(function: Callable[..., Any], chosen_by: type) -> Callable[[F], F]:
    """Register how a generic function works for one type."""

    def register(body: F) -> F:
        function.implementations[chosen_by] = body  # type: ignore[attr-defined]
        return body

    return register


class Stopwatch:
    """Measures the seconds of a `with` block, but for those that went into compiling.

    What is interpreted instead of being compiled does not count either.
    """

    seconds = 0.0

    def __enter__(self) -> Self:
        self._left_out = _Timer()
        listen(self._left_out, Work.COMPILING, Work.INTERPRETING)
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = self.so_far()
        stop_listening(self._left_out, Work.COMPILING, Work.INTERPRETING)

    def so_far(self) -> float:
        """The seconds from the beginning of the block until now."""
        return max(0.0, time.perf_counter() - self._begun - self._left_out.seconds)


class _Timer:
    """Adds up the seconds of what it is told of; what happens at the same time counts once."""

    def __init__(self) -> None:
        self.seconds, self._depth = 0.0, 0

    def on_start(self, about: str) -> None:
        if self._depth == 0:
            self._since = time.perf_counter()
        self._depth += 1

    def on_end(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._since


class ThreadClock:
    """Tells the CPU seconds of this thread in a `with` block so far.

    To compile, or to read from the disk what was compiled before, does not count.
    """

    uncounted: tuple[Work, ...] = (Work.COMPILING, Work.LOADING)

    def __enter__(self) -> Self:
        self._thread, self._depth, self._compiling = threading.get_ident(), 0, 0.0
        listen(self, *self.uncounted)
        self._begun = time.thread_time()
        return self

    def __exit__(self, *error: object) -> None:
        stop_listening(self, *self.uncounted)

    def __call__(self) -> float:
        return time.thread_time() - self._begun - self._compiling

    def on_start(self, about: str) -> None:
        if threading.get_ident() == self._thread:
            if self._depth == 0:
                self._since = time.thread_time()
            self._depth += 1

    def on_end(self) -> None:
        if threading.get_ident() == self._thread:
            self._depth -= 1
            if self._depth == 0:
                self._compiling += time.thread_time() - self._since


class WorkClock(ThreadClock):
    """A clock of compiled work: what is interpreted instead does not count either."""

    uncounted = (Work.COMPILING, Work.LOADING, Work.INTERPRETING)
