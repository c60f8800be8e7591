"""What accompanies a run on the command line: progress, Ctrl-C, checkpoints."""

import sys
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from orbitmc import _numba, inference
from orbitmc.cli.session import handle_signals, print_remark

if TYPE_CHECKING:
    from rich.progress import Progress

    from orbitmc.inference import CheckpointWriter, Run, RunObserver


class Stopping:
    """A watcher that knows the run, and ends it when asked to.

    Before there is a run to end, being asked raises `KeyboardInterrupt` as usual.
    """

    def __init__(self) -> None:
        self.run: Run | None = None
        self.asked = False
        self._handled = handle_signals(self._ask)

    def __call__(self, run: "Run") -> None:
        self.run = run
        if self.asked:  # what is asked between two runs ends the next one
            run.stop()

    def __enter__(self) -> Self:
        self._handled.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._handled.__exit__(*error)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.run is None or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.run.stop()


BAR_SECONDS, LINE_SECONDS, GROWTH, MOST_SECONDS = 0.2, 2.0, 1.3, 30.0


class Display:
    """A bar where somebody watches, or plain lines, fewer and fewer of them."""

    def __init__(self) -> None:
        self.bar = _bar() if sys.stderr.isatty() else None
        self.seconds = LINE_SECONDS if self.bar is None else BAR_SECONDS  # until it shows more

    def show(self, fraction: float, words: str) -> None:
        if self.bar is None:
            print_remark(f"{fraction:4.0%} {words}")
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
        self._before = _numba.LOGGER.disabled
        _numba.LOGGER.disabled = self._before or self.quiet
        return self

    def __exit__(self, *error: Any) -> None:
        _numba.REMARKS.say_over()
        _numba.LOGGER.disabled = self._before


class Session:
    """Shows the progress of a run, and ends it early when asked to.

    `exit_code` says whether its last state could not be saved by the `writer` of a checkpoint.
    """

    exit_code = 0

    def __init__(self, quiet: bool, writer: "CheckpointWriter | None" = None) -> None:
        self.quiet, self.writer = quiet, writer
        self.progress, self.stopping = (
            inference.ProgressObserver(None if quiet else Display()),
            Stopping(),
        )
        self.watchers: list[RunObserver] = [self.stopping, self.progress]
        self.around = ExitStack()

    def __enter__(self) -> Self:
        self.around.enter_context(Compiling(quiet=self.quiet))
        self.around.enter_context(self.stopping)
        return self

    def __exit__(self, *error: Any) -> None:
        with self.around:
            self.progress.close()
            if self.writer is not None and self.stopping.run is not None:
                self._save(self.writer, self.stopping.run)

    def _save(self, writer: "CheckpointWriter", run: "Run") -> None:
        writer.close()
        if writer.error is not None:
            self.exit_code = writer.error.exit_code
        elif run.interrupted or not self.quiet:
            print_remark(f"the run is saved in {writer.path}; `orbitmc resume` continues it")
