"""Say that machine code is being made: without a word, that looks like a hang."""

from types import TracebackType
from typing import Self

from numba.core.event import Event, Listener, register, unregister

from orbitmc.cli.session.exits import say


class Compiling(Listener):  # type: ignore[misc]
    """Says so when something is compiled in a `with` block, once."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.said = quiet

    def __enter__(self) -> Self:
        register("numba:compile", self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        unregister("numba:compile", self)

    def on_start(self, event: Event) -> None:
        if not self.said:
            self.said = True
            say("compiling for this machine, once; that takes up to half a minute")

    def on_end(self, event: Event) -> None:
        pass
