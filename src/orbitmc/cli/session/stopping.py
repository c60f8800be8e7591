"""Ctrl-C: the first one ends a run early and keeps its answer, the second ends the program."""

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from orbitmc.sampling.run import Run

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # clusters send SIGTERM before they kill
AGAIN_SECONDS = 0.05

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def handled_by(handler: Handler) -> Iterator[None]:
    """Let a handler hear of Ctrl-C and of polite requests to end, if this is the main thread.

    What is ignored stays so: shells let programs in the background ignore Ctrl-C.
    """
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


@contextmanager
def heard() -> Iterator[None]:
    """Turn requests to end into `KeyboardInterrupt`, also where Python drops exceptions.

    What was dropped there, as in what a compiler calls back, is asked for again a little later.
    """
    before, asking = sys.unraisablehook, list[threading.Timer]()

    def ask_again(dropped: "sys.UnraisableHookArgs") -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        later = threading.Timer(AGAIN_SECONDS, _interrupt_main)
        later.daemon = True
        later.start()
        asking.append(later)

    sys.unraisablehook = ask_again
    try:
        with handled_by(signal.default_int_handler):
            yield
    finally:
        sys.unraisablehook = before
        for later in asking:
            later.cancel()


def _interrupt_main() -> None:
    """Let the main thread hear a Ctrl-C; on Windows it does when it next runs Python code."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


class Stopping:
    """A watcher that knows the run, and ends it when asked to.

    Before there is a run to end, being asked raises `KeyboardInterrupt` as usual.
    """

    def __init__(self) -> None:
        self.run: Run | None = None
        self.asked = False
        self._handled = handled_by(self._ask)

    def __call__(self, run: "Run") -> None:
        self.run = run
        run.interrupted |= self.asked  # what is asked between two runs ends the next one

    def __enter__(self) -> Self:
        self._handled.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._handled.__exit__(*error)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.run is None or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.run.interrupted = True
