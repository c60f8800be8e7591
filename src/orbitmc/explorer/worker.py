"""One thread that answers the newest question; an older one ends as by Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from orbitmc._numba.compile_log import LOGGER
from orbitmc._util.interrupts import interrupt_when

Message = dict[str, Any]
Job = Callable[[], Iterator[Message]]


class Worker:
    """Sends what the newest job has to say, as long as it is the newest."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._news = threading.Condition()
        self._job: Job | None = None
        self._number = 0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="orbitmc explore", daemon=True)
        self._thread.start()

    def start(self, job: Job) -> None:
        """Let go what is under way, and do this instead."""
        with self._news:
            self._job, self._number = job, self._number + 1
            self._news.notify()

    def stop(self) -> None:
        """Let go what is under way."""
        self.start(lambda: iter(()))

    def close(self) -> None:
        """End the thread as soon as it listens; what it works at is not sent any more."""
        with self._news:
            self._closed, self._number = True, self._number + 1
            self._news.notify()

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; gives whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._closed or self._job is not None)
                if self._closed:
                    return
                job, number, self._job = self._job, self._number, None
            assert job is not None
            self._do(job, number)

    def _do(self, job: Job, number: int) -> None:
        def is_over() -> bool:
            return self._number != number

        try:
            with interrupt_when(is_over):
                for message in job():
                    if is_over():
                        return
                    self._send(message)
        except KeyboardInterrupt:
            return
        except Exception as error:  # the thread lives on, and the page says what happened
            LOGGER.exception("orbitmc: this is a bug of orbitmc; please report it")
            words = f"this is a bug of orbitmc: {type(error).__name__}: {error}"
            self._send({"say": "trouble", "words": words})
