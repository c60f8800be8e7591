"""The one place that decides how Python becomes machine code.

`compiled` marks outermost loops. `shared` marks functions that run both inside them and, for
tests, in the interpreter. `generic` functions let the type of one argument choose the
implementation while compiling, which costs nothing at run time.

None of them needs Numba, which takes longer to load than most small questions to answer: it is
loaded when the first function is compiled, and then hears of all that was marked before.
"""

import functools
import importlib
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Self, TypeVar

import orbitmc._numba as _numba
from orbitmc._numba.compile_log import Work, announce, listen, stop_listening

F = TypeVar("F", bound=Callable[..., Any])

IMPLEMENTATIONS: list[dict[type, Callable[..., Any]]] = []
"""What every generic function does for each type."""


def compiled(function: F) -> F:
    """Compile a function, keep the machine code on disk, and release the GIL while it runs."""
    return Compiled(function, "outer_dispatcher")  # type: ignore[return-value]


def unit(function: F) -> F:
    """Compile a function `(frame, number)`, that others call by address; it allocates nothing."""
    return Compiled(function, "unit_dispatcher")  # type: ignore[return-value]


class Compiled:
    """A function that Numba gets when it is first called, or when other compiled code calls it."""

    def __init__(self, function: Callable[..., Any], kind: str = "outer_dispatcher") -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._kind = kind

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The function as Numba has it."""
        load_numba()
        return getattr(_numba, self._kind)(self.py_func)

    @property
    def has_code(self) -> bool:
        """Whether there is machine code of it, for arguments of some types."""
        return "dispatcher" in vars(self) and bool(getattr(self.dispatcher, "overloads", ()))

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)


def has_code(function: Any) -> bool:
    """Whether there is machine code of a compiled function, for arguments of some types."""
    return bool(function.has_code)


def as_written(function: F) -> F:
    """A compiled function before it was compiled."""
    return function.py_func  # type: ignore[attr-defined, no-any-return]


class Registrations:
    """What Numba has to know of functions; it waits until Numba is loaded."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[str, tuple[Any, ...]]] = deque()
        self._home: Any = None

    @property
    def is_loaded(self) -> bool:
        """Whether Numba is there."""
        return self._home is not None

    def add(self, name: str, *about: Any) -> None:
        """Let Numba know: `name` is the function of the home of dispatchers that does it."""
        self._waiting.append((name, about))
        self._tell()

    def load(self, home: Any) -> None:
        """Let Numba know all that waits, and from now on everything at once."""
        self._home = home
        self._tell()

    def _tell(self) -> None:
        while self._waiting and self._home is not None:
            name, about = self._waiting.popleft()
            getattr(self._home, name)(*about)


REGISTRATIONS = Registrations()


def load_numba() -> bool:
    """Load Numba, so that code on the disk may be used soon; false if it was there already."""
    if REGISTRATIONS.is_loaded:
        return False
    with announce(Work.LOADING, "Numba"):
        importlib.import_module("orbitmc._numba.dispatchers")
    return True


def shared(function: F) -> F:
    """Let compiled code call a function that stays plain Python for everybody else."""
    REGISTRATIONS.add("register_shared", function)
    return function


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

        dispatch.implementations = implementations  # type: ignore[attr-defined]
        REGISTRATIONS.add("register_generic", dispatch, position)
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
