"""Go on with a run that was kept, as if it had never stopped."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from orbitmc._util import files as records
from orbitmc._util.files import lock_file
from orbitmc._util.interrupts import interruptible
from orbitmc._util.settings import Setting, settings_of
from orbitmc._util.text import MEMORY, quote
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.estimate.marginals import Marginals, Provenance, with_warnings
from orbitmc.graph.hardening import harden
from orbitmc.graph.model import Model
from orbitmc.inference.answer import naming, observe_run, summarise_run
from orbitmc.inference.plan import Decision, PlannedKernel, choose_kernel, prepared_for
from orbitmc.inference.query import Names, Program, resolve_query
from orbitmc.inference.settings import METHODS, Settings
from orbitmc.sampling.checkpoint import Checkpoint, load
from orbitmc.sampling.sampler import continue_sampling

if TYPE_CHECKING:
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.mln.grounding.grounding import Ground
    from orbitmc.sampling.run import Run, RunObserver


# Keep the run of a question in a file, so that it can be resumed.


def plan_record(decision: Decision) -> dict[str, Any]:
    """What a file needs to say, so that the same kernel can be built again."""
    own = {} if decision.kernel is None else {"own": type(decision.kernel).__name__}
    return {
        "kernel": {**decision.settings.kernel(), **own},
        "ruled_out": list(decision.ruled_out),
        "query": None if decision.query is None else list(decision.query),
    }


class CheckpointWriter:
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
        with _warn_if_unwritable():
            self.watch(run)

    def end(self) -> None:
        """Write the last state."""
        from orbitmc.sampling.checkpoint import save

        if self.run is not None:
            with _warn_if_unwritable():
                save(self.run, self.path, self.question)


@contextmanager
def _warn_if_unwritable() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        warnings.warn(f"the run was not saved: {error}", stacklevel=2)


@contextmanager
def checkpoint_writer(path: Path | str, every: float | None) -> Iterator[CheckpointWriter]:
    """Own a file for a run, which must be new."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {str(path.parent)!r}", source=str(path))
    with lock_file(path):
        require_new_run(path)
        with write_at_end(CheckpointWriter(path, {}, every=every)) as keep:
            yield keep


@contextmanager
def write_at_end(keep: CheckpointWriter) -> Iterator[CheckpointWriter]:
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


OWN = "own"  # a kernel that is not ours, by the name of its type


@interruptible()
def resume(
    run: str | Path,
    model: Model | Program,
    *,
    kernel: Kernel | None = None,
    base: Kernel | None = None,
    query: Names | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    memory: int = MEMORY,
    checkpoint_every: float | None = None,
    watchers: Iterable[RunObserver] = (),
) -> Marginals:
    """Go on with a run that `marginals(..., checkpoint=run)` has kept; its numbers are the same.

    The model, with its evidence, must be the one of the run; a run with a `kernel` or a `base` of
    one's own needs it again. An `executor` may be another one than before, or none. What was asked
    for is answered, or another `query`. The file is kept up to date.

    >>> import tempfile
    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3, 0.1)
    >>> run = tempfile.mkdtemp() + "/grid.run"
    >>> whole = om.marginals(model, method="gibbs", samples=20, checkpoint=run)
    >>> om.resume(run, model)["s0_0"].probability.tolist() == whole["s0_0"].probability.tolist()
    True
    """
    path = Path(run)
    with lock_file(path):
        kept = load(path, memory=memory)
        with write_at_end(CheckpointWriter(path, kept.question, every=checkpoint_every)) as keep:
            plain, ground = (
                (model, None) if isinstance(model, Model) else (model.model, model.ground)
            )
            found = continue_run(
                kept, plain, ground, kernel=kernel, base=base, threads=threads, executor=executor,
                memory=memory, watchers=[*watchers, keep],
            )  # fmt: skip
    settings = vars(settings_from_checkpoint(kept.question, str(path), kernel, base)[0])
    if not isinstance(model, Model):
        asked = Provenance(model.model, None, settings, in_atoms=model.in_atoms)
        return replace(model.in_atoms(found), asked=asked)
    names = resolve_query(query, model)
    answer = found.only(names or query_from_checkpoint(kept, model))
    return replace(answer, asked=Provenance(model, None, settings))


def continue_run(
    kept: Checkpoint,
    model: Model,
    ground: Ground | None = None,
    *,
    kernel: Kernel | None = None,
    base: Kernel | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    memory: int = MEMORY,
    watchers: Iterable[RunObserver] = (),
) -> Marginals:
    """Go on with a run, and say what it has learned of every variable."""
    source = str(kept.path)
    settings, ruled_out = settings_from_checkpoint(kept.question, source, kernel, base)
    firm = harden(model) if kernel is None else None
    asked = firm.model if firm else model
    prepared = prepared_for(asked.graph, kept.header.schedule)
    chosen = (
        choose_kernel(asked, prepared, settings, ground)
        if kernel is None
        else PlannedKernel(kernel, "")
    )
    going = kept.restore(prepared, chosen.kernel, memory=memory)
    with observe_run(watchers) as watching, naming(asked):
        done = continue_sampling(going, threads=threads, executor=executor, watchers=watching)
    reason = f"a run resumed from {kept.path.name}"
    decision = Decision(asked, settings, reason, ruled_out=ruled_out, kernel=kernel)
    return with_warnings(
        summarise_run(done, decision, chosen), firm.remarks if firm else model.doubts
    )


def settings_from_checkpoint(
    record: Mapping[str, Any], source: str, kernel: Kernel | None = None, base: Kernel | None = None
) -> tuple[Settings, tuple[str, ...]]:
    """The settings that decide which kernel a run uses, and the methods that were ruled out."""
    with attribute_to_file(source, records.CANNOT_GO_ON):
        return _kernel_settings(record.get("kernel"), kernel, base), _ruled_out(record)


def query_from_checkpoint(kept: Checkpoint, model: Model) -> tuple[str, ...] | None:
    """The variables that the question of a run is about."""
    query = kept.question.get("query")
    with attribute_to_file(str(kept.path), records.CANNOT_GO_ON):
        if not records.or_none(records.list_of(records.is_text))(query):
            raise InputError("its query is not what it should be")
        return resolve_query(query, model)


def _kernel_settings(found: object, kernel: Kernel | None, base: Kernel | None) -> Settings:
    record = dict(found) if isinstance(found, dict) else found
    own = record.pop(OWN, None) if isinstance(record, dict) else None
    _require_known_kernel("kernel", own, kernel)
    named = record.get("base") if isinstance(record, dict) else None
    if isinstance(record, dict) and isinstance(named, dict) and named.keys() == {OWN}:
        _require_known_kernel("base", named[OWN], base)
        record["base"] = "gibbs"
    elif base is not None:
        raise InputError("it has no base of one's own: leave out the base")
    checks = {one.name: _check(one) for one in settings_of(Settings).values() if one.kernel}
    methods = METHODS if kernel is not None else METHODS[2:]
    checks["method"] = records.one_of(*methods)
    settings = Settings(**records.check_fields(record, checks, "way of sampling"))
    settings = settings if base is None else replace(settings, base=base)
    settings.require_use()
    return settings


def _require_known_kernel(what: str, name: object, given: Kernel | None) -> None:
    """Refuse a run whose kernel we cannot build, unless it is given again."""
    if name is None and given is not None:
        raise InputError(f"it has no {what} of one's own: leave out the {what}")
    if name is not None and given is None:
        shown = quote(str(name))
        raise InputError(
            f"its {what} {shown} is none of ours; in Python, om.resume(run, model, {what}=...) "
            "goes on with it"
        )


def _ruled_out(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Methods that were found not to answer the question, or to take too long."""
    found = record.get("ruled_out", [])
    if not records.list_of(records.one_of(*METHODS[1:]))(found):
        raise InputError("it rules out methods that we do not know")
    return tuple(found)


def _check(one: Setting) -> records.Check:
    """What a recorded value of a setting must be."""
    plain = next(kind for kind in one.kinds if kind is not NoneType)
    numbers = {
        int: records.is_positive if one.least else records.is_count,
        float: records.is_number,
    }
    check = (
        records.one_of(*one.choices)
        if one.choices
        else numbers.get(plain)
        or (records.list_of(records.is_text) if one.default == () else records.is_object)
    )
    return records.or_none(check) if NoneType in one.kinds else check
