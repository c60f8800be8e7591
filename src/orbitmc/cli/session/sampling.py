"""What accompanies a run on the command line: progress, Ctrl-C, checkpoints."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from orbitmc.cli.session.exits import say
from orbitmc.cli.session.progress import Compiling, Display
from orbitmc.cli.session.stopping import Stopping
from orbitmc.errors import InputError
from orbitmc.inference.progress import Watching
from orbitmc.sampling.checkpoint import Checkpoints, save
from orbitmc.sampling.run import Run, Watcher


class Session:
    """Watches a run; whatever ends it, the last state is kept when a file was named.

    A file that cannot be written, say on a full disk, costs neither the run nor its answer;
    `exit_code` then says so.
    """

    exit_code = 0

    def __init__(
        self, quiet: bool, checkpoint: Path | None, every: float | None, question: Mapping[str, Any]
    ) -> None:
        self.quiet, self.checkpoint, self.question = quiet, checkpoint, dict(question)
        self.progress, self.stopping = Watching(None if quiet else Display()), Stopping()
        self.watchers: list[Watcher] = [self.stopping, self.progress]
        self.around = ExitStack()
        if checkpoint is not None:
            self.keep = Checkpoints(checkpoint, self.question, every=every)
            self.watchers.append(self._try_to_keep)

    def __enter__(self) -> Self:
        self.around.enter_context(Compiling(quiet=self.quiet))
        self.around.enter_context(self.stopping)
        return self

    def __exit__(self, *error: Any) -> None:
        with self.around:
            self.progress.close()
            if self.stopping.run is not None and self.checkpoint is not None:
                self._keep_at_last(self.stopping.run, self.checkpoint)

    def _try_to_keep(self, run: Run) -> None:
        try:
            self.keep(run)
        except InputError as error:
            say(f"warning: the run was not saved: {error}; it continues")

    def _keep_at_last(self, run: Run, path: Path) -> None:
        try:
            save(run, path, self.question)
        except InputError as error:
            say(f"the run was not saved: {error}")
            self.exit_code = error.exit_code
            return
        if run.interrupted or not self.quiet:
            say(f"the run is saved in {path}; `orbitmc resume` continues it")
