"""The one place that decides how Python becomes machine code.

`compiled` marks outermost loops. `shared` marks functions that run both inside them and, for
tests, in the interpreter. `generic` functions let the type of one argument choose the
implementation while compiling, which costs nothing at run time.
"""

import functools
import hashlib
import inspect
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import numba
from numba.core.event import Event, Listener, TimingListener, register, unregister
from numba.extending import overload, register_jitable

F = TypeVar("F", bound=Callable[..., Any])

INNER = {"error_model": "numpy", "_nrt": False, "forceinline": True, "fastmath": {"contract"}}
"""Options of functions that run inside compiled loops.

They never allocate, so they need no reference counts (whose atomic updates would cost more than
the work), and they are inlined, because passing a tuple of arrays costs one store per field.
"""


def compiled(function: F) -> F:
    """Compile a function, keep the machine code on disk, and release the GIL while it runs."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder())
    try:
        return numba.njit(nogil=True, cache=True, error_model="numpy")(function)  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


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
    """Measures the seconds of a `with` block, but for those that went into compiling."""

    seconds = 0.0

    def __enter__(self) -> Self:
        self._listener = TimingListener()
        register("numba:compile", self._listener)
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        spent = time.perf_counter() - self._begun
        unregister("numba:compile", self._listener)
        compiling = self._listener.duration if self._listener.done else 0.0
        self.seconds = max(0.0, spent - compiling)


class WorkClock(Listener):  # type: ignore[misc]
    """Tells the CPU seconds of this thread in a `with` block so far.

    To compile, or to read from the disk what was compiled before, does not count.
    """

    def __enter__(self) -> Self:
        self._thread, self._depth, self._compiling = threading.get_ident(), 0, 0.0
        register("numba:compiler_lock", self)
        self._begun = time.thread_time()
        return self

    def __exit__(self, *error: object) -> None:
        unregister("numba:compiler_lock", self)

    def __call__(self) -> float:
        return time.thread_time() - self._begun - self._compiling

    def on_start(self, event: Event) -> None:
        if threading.get_ident() == self._thread:
            if self._depth == 0:
                self._since = time.thread_time()
            self._depth += 1

    def on_end(self, event: Event) -> None:
        if threading.get_ident() == self._thread:
            self._depth -= 1
            if self._depth == 0:
                self._compiling += time.thread_time() - self._since


@functools.cache
def cache_folder() -> Path:
    """A folder for machine code that belongs to exactly these sources.

    Numba looks only at the file of the outermost function when it decides whether cached code is
    still valid, so the folder is named after a hash of all sources.
    """
    name = f"numba-{hash_of_sources(Path(__file__).parent)}"
    for base in _writable_places():
        try:
            (base / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(base / name, os.W_OK):
            return base / name
    return Path(tempfile.mkdtemp(prefix="orbitmc-"))


def hash_of_sources(folder: Path) -> str:
    """A short hash of every Python file below a folder, names included."""
    digest = hashlib.sha256()
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.relative_to(folder).as_posix().encode())
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _writable_places() -> list[Path]:
    asked = os.environ.get("NUMBA_CACHE_DIR")
    usual = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    places = [Path(usual) / "orbitmc", Path(tempfile.gettempdir()) / f"orbitmc-{os.getuid()}"]
    return [Path(asked), *places] if asked else places
