"""Keep the run of a question in a file, so that it can be resumed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orbitmc._util.files import owned
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.ask.method.decisions import Decision
    from orbitmc.sampling.run import Run


def record_of(decision: Decision) -> dict[str, Any]:
    """What a file needs to say, so that the same kernel can be built again."""
    own = {} if decision.kernel is None else {"own": type(decision.kernel).__name__}
    return {
        "kernel": {**decision.settings.kernel(), **own},
        "ruled_out": list(decision.ruled_out),
        "query": None if decision.query is None else list(decision.query),
    }


class Keeping:
    """A watcher that keeps a run in a file while it goes on, and when it ends.

    A file that cannot be written costs neither the run nor its answer: there is a warning.
    """

    def __init__(self, path: Path, question: Mapping[str, Any], *, every: float | None) -> None:
        from orbitmc.sampling.checkpoint import Checkpoints

        self.path, self.question = path, dict(question)
        self.watch = Checkpoints(path, self.question, every=every)
        self.run: Run | None = None

    def __call__(self, run: Run) -> None:
        self.run = run
        with _warned():
            self.watch(run)

    def end(self) -> None:
        """Write the last state."""
        from orbitmc.sampling.checkpoint import save

        if self.run is not None:
            with _warned():
                save(self.run, self.path, self.question)


@contextmanager
def _warned() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        warnings.warn(f"the run was not saved: {error}", stacklevel=2)


@contextmanager
def keeping(path: Path | str, every: float | None) -> Iterator[Keeping]:
    """Own a file for a run, which must be new."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r}", source=str(path))
    with owned(path):
        require_new_run(path)
        with ended(Keeping(path, {}, every=every)) as keep:
            yield keep


@contextmanager
def ended(keep: Keeping) -> Iterator[Keeping]:
    """Write the last state, whatever ends the run."""
    try:
        yield keep
    finally:
        keep.end()


def require_new_run(path: Path | None) -> None:
    """Refuse to write a run over an earlier one, or over anything else."""
    if path is not None and path.exists():
        raise InputError(
            "this file is there already: `orbitmc resume` goes on with a run that was kept, "
            "another name begins a new one",
            source=str(path),
        )
