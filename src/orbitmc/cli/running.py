"""What accompanies a run on the command line: progress, Ctrl-C, checkpoints."""

import logging
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from orbitmc import _numba, inference
from orbitmc.cli.session import handle_signals, print_remark

if TYPE_CHECKING:
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


class Compiling:
    """Lets the library say in a `with` block what it compiles, and at the end how long it took."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet, self.handler = quiet, _RemarkHandler()

    def __enter__(self) -> Self:
        self._before = _numba.LOGGER.disabled
        _numba.LOGGER.disabled = self._before or self.quiet
        _numba.LOGGER.addHandler(self.handler)
        return self

    def __exit__(self, *error: Any) -> None:
        _numba.REMARKS.say_over()
        _numba.LOGGER.removeHandler(self.handler)
        _numba.LOGGER.disabled = self._before


class _RemarkHandler(logging.Handler):
    """Prints what the library says as the command line says everything."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        print_remark(record.getMessage().removeprefix("orbitmc: "))


class Session:
    """Shows the progress of a run, and ends it early when asked to.

    `exit_code` says whether its last state could not be saved by the `writer` of a checkpoint.
    """

    exit_code = 0

    def __init__(self, quiet: bool, writer: "CheckpointWriter | None" = None) -> None:
        self.quiet, self.writer, self.stopping = quiet, writer, Stopping()
        self.watchers: list[RunObserver] = [self.stopping]
        self.around, self.shown = ExitStack(), ExitStack()

    def __enter__(self) -> Self:
        self.around.enter_context(Compiling(quiet=self.quiet))
        self.around.enter_context(self.stopping)
        self.shown.enter_context(inference.show_progress(not self.quiet))
        return self

    def __exit__(self, *error: Any) -> None:
        with self.around:
            self.shown.close()
            if self.writer is not None and self.stopping.run is not None:
                self._save(self.writer, self.stopping.run)

    def _save(self, writer: "CheckpointWriter", run: "Run") -> None:
        writer.close()
        if writer.error is not None:
            self.exit_code = writer.error.exit_code
        elif run.interrupted or not self.quiet:
            print_remark(f"the run is saved in {writer.path}; `orbitmc resume` continues it")
