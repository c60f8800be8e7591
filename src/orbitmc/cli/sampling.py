"""What accompanies a run on the command line: progress, Ctrl-C, checkpoints."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from orbitmc.cli.exits import say
from orbitmc.cli.progress import Watching
from orbitmc.cli.stopping import Stopping
from orbitmc.compiled import cache_folder
from orbitmc.run.checkpoint import Checkpoints, save
from orbitmc.run.sampler import Watcher


class Session:
    """Watches a run; whatever ends it, the last state is kept when a file was named."""

    def __init__(
        self,
        quiet: bool,
        checkpoint: Path | None,
        every: float | None,
        question: Mapping[str, Any],
    ) -> None:
        self.quiet, self.checkpoint, self.question = quiet, checkpoint, dict(question)
        self.progress, self.stopping = Watching(quiet=quiet), Stopping()
        self.watchers: list[Watcher] = [self.stopping, self.progress]
        if checkpoint is not None:
            self.watchers.append(Checkpoints(checkpoint, self.question, every=every))

    def remember(self, **more: Any) -> None:
        """Add to what a checkpoint says of the question."""
        self.question.update(more)

    def __enter__(self) -> Self:
        if not self.quiet and not any(cache_folder().iterdir()):
            say("compiling for this machine, once; that takes about half a minute")
        self.stopping.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.display.close()
        self.stopping.__exit__(kind, error, trace)
        run = self.stopping.run
        if run is not None and self.checkpoint is not None:
            save(run, self.checkpoint, self.question)
            if run.interrupted or not self.quiet:
                say(f"the run is kept in {self.checkpoint}; `orbitmc resume` goes on with it")
