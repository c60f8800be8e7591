"""Ctrl-C: the first one ends a run early and keeps its answer, the second ends the program."""

import signal
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from orbitmc.run.sampler import Run

SIGNALS = (signal.SIGINT, signal.SIGTERM)  # clusters send SIGTERM before they kill


class Stopping:
    """A watcher that knows the run, and ends it when asked to.

    Before there is a run to end, being asked raises `KeyboardInterrupt` as usual.
    """

    def __init__(self) -> None:
        self.run: Run | None = None
        self.asked = False
        self._before: dict[int, Any] = {}

    def __call__(self, run: "Run") -> None:
        self.run = run

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.run is None or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.run.interrupted = True
