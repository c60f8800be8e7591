"""What a command shows while it works: a bar or lines, and remarks about compiling."""

import sys
from typing import TYPE_CHECKING, Any, Self

from orbitmc._numba.compile_log import LOGGER, REMARKS
from orbitmc.cli.session.exits import say

if TYPE_CHECKING:
    from rich.progress import Progress


BAR_SECONDS, LINE_SECONDS, GROWTH, MOST_SECONDS = 0.2, 2.0, 1.3, 30.0


class Display:
    """A bar where somebody watches, or plain lines, fewer and fewer of them."""

    def __init__(self) -> None:
        self.bar = _bar() if sys.stderr.isatty() else None
        self.seconds = LINE_SECONDS if self.bar is None else BAR_SECONDS  # until it shows more

    def show(self, fraction: float, words: str) -> None:
        if self.bar is None:
            say(f"{fraction:4.0%} {words}")
            self.seconds = min(MOST_SECONDS, self.seconds * GROWTH)
        else:
            self.bar.update(self.bar.task_ids[0], completed=fraction, description=words)
            self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(bar_width=24), TaskProgressColumn(), words)
    bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    bar.add_task("preparing", total=1.0)
    bar.start()
    bar.refresh()
    return bar


class Compiling:
    """Lets the library say in a `with` block what it compiles, and at the end how long it took."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet

    def __enter__(self) -> Self:
        self._before = LOGGER.disabled
        LOGGER.disabled = self._before or self.quiet
        return self

    def __exit__(self, *error: Any) -> None:
        REMARKS.say_over()
        LOGGER.disabled = self._before
