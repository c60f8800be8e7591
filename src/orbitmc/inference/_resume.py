"""Go on with a run that was kept, as if it had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

from orbitmc import inference
from orbitmc._util import files as records
from orbitmc._util.files import lock_file
from orbitmc._util.interrupts import interruptible
from orbitmc._util.settings import Setting, settings_of
from orbitmc._util.text import MEMORY, quote
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.estimate.marginals import Marginals
from orbitmc.graph.fringe import Fringe, eliminate_fringe, find_followers, join_fringes
from orbitmc.graph.hardening import harden
from orbitmc.graph.model import Model
from orbitmc.inference._marginals import marginals_query
from orbitmc.inference.answer import answer_plan, in_relations
from orbitmc.inference.plan import Plan
from orbitmc.inference.progress import Show, show_progress
from orbitmc.inference.query import Names, Program, resolve_query, view_of
from orbitmc.inference.settings import METHODS, Settings
from orbitmc.sampling.checkpoint import Checkpoint, CheckpointWriter, load, warn_user

if TYPE_CHECKING:
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.sampling.run import RunObserver


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
    progress: bool | Show | None = None,
    watchers: Iterable[RunObserver] = (),
) -> Marginals:
    """Go on with a run that `marginals(..., checkpoint=run)` has kept; its numbers are the same.

    The model, with its evidence, must be the one of the run; a run with a `kernel` or a `base` of
    one's own needs it again. An `executor` may be another one than before, or none. What was asked
    for is answered, or another `query`. The file is kept up to date. `progress` is shown as that of
    `marginals` is.

    >>> import tempfile
    >>> import orbitmc as om
    >>> model = om.ising_grid(3, 3, 0.3, 0.1)
    >>> run = tempfile.mkdtemp() + "/grid.run"
    >>> whole = om.marginals(model, method="gibbs", samples=20, checkpoint=run)
    >>> om.resume(run, model)["s0_0"].probability.tolist() == whole["s0_0"].probability.tolist()
    True
    """
    with resume_checkpoint(run, memory=memory, every=checkpoint_every) as (saved, writer):
        limits = Settings(threads=threads, executor=executor, memory=memory)
        with show_progress(progress):
            return answer_checkpoint(
                saved, model, limits, [*watchers, writer], kernel=kernel, base=base, query=query
            )


@contextmanager
def resume_checkpoint(
    path: str | Path,
    *,
    memory: int,
    every: float | None,
    tell: Callable[[str], None] = warn_user,
) -> Iterator[tuple[Checkpoint, CheckpointWriter]]:
    """Lock the file of a run, read it, and keep it up to date."""
    if not isinstance(path, str | Path):
        raise InputError(f"expected the name of a file, not {path!r}")
    path = Path(path)
    with lock_file(path):
        saved = load(path, memory=memory)
        with closing(CheckpointWriter(path, saved.question, every=every, tell=tell)) as writer:
            yield saved, writer


def answer_checkpoint(
    saved: Checkpoint,
    model: Model | Program,
    limits: Settings,
    observers: Iterable[RunObserver],
    *,
    kernel: Kernel | None = None,
    base: Kernel | None = None,
    query: Names | None = None,
    command: str = "",
) -> Marginals:
    """Continue a run within the threads, workers and memory of `limits`, and answer."""
    settings, ruled_out = saved_settings(saved.question, str(saved.path), kernel, base)
    if query is None and isinstance(model, Model):
        query = query_from_checkpoint(saved, model)
    asked = marginals_query(model, None, query, None, settings, command=command)
    within = replace(
        settings, threads=limits.threads, executor=limits.executor, memory=limits.memory
    )
    if settings.base == "counts" and not isinstance(asked.model, Model):
        inference.cells_view(asked.model)  # refuses a program that has no cells
        cells = inference.CellMarginals(asked.model)
        return answer_plan(cells, cells.resumed(saved, within), observers)
    asked = asked if settings.base != "relations" else in_relations(asked)
    question = asked.bind(view_of(asked.model))
    seen = asked.model if isinstance(asked.model, Model) else asked.model.model
    firm = harden(seen) if kernel is None and settings.base != "relations" else None
    plan = Plan(
        firm.model if firm else seen,
        within,
        f"a run resumed from {saved.path.name}",
        remarks=firm.remarks if firm else seen.doubts,
        ruled_out=ruled_out,
        kernel=kernel,
        query=resolve_query(query, seen) if isinstance(model, Model) else None,
        checkpoint=saved,
        fringe=_fringe(saved, firm.model if firm else seen),
    )
    return answer_plan(question, plan, observers)


def _fringe(saved: Checkpoint, model: Model) -> Fringe | None:
    """What the run has not sampled, found again."""
    collapsed, followed = (saved.question.get(key, False) for key in ("fringe", "followers"))
    with attribute_to_file(str(saved.path), records.CANNOT_GO_ON):
        if not records.is_truth(collapsed) or not records.is_truth(followed):
            raise InputError("it does not say whether it has a fringe")
    followers = find_followers(model.graph) if followed else None
    if followers is None or not collapsed:
        return eliminate_fringe(model.graph) if collapsed else followers
    return join_fringes(followers, eliminate_fringe(followers.core))


def saved_settings(
    record: Mapping[str, Any], source: str, kernel: Kernel | None = None, base: Kernel | None = None
) -> tuple[Settings, tuple[str, ...]]:
    """The settings that decide which kernel a run uses, and the methods that were ruled out."""
    with attribute_to_file(source, records.CANNOT_GO_ON):
        return _kernel_settings(record.get("kernel"), kernel, base), _ruled_out(record)


def query_from_checkpoint(saved: Checkpoint, model: Model) -> tuple[str, ...] | None:
    """The variables that the question of a run is about."""
    query = saved.question.get("query")
    with attribute_to_file(str(saved.path), records.CANNOT_GO_ON):
        if not records.or_none(records.list_of(records.is_text))(query):
            raise InputError("its query is not what it should be")
        return resolve_query(query, model)


def _kernel_settings(saved: object, kernel: Kernel | None, base: Kernel | None) -> Settings:
    record = dict(saved) if isinstance(saved, dict) else saved
    class_name = record.pop(OWN, None) if isinstance(record, dict) else None
    _require_known_kernel("kernel", class_name, kernel)
    named = record.get("base") if isinstance(record, dict) else None
    if isinstance(record, dict) and isinstance(named, dict) and named.keys() == {OWN}:
        _require_known_kernel("base", named[OWN], base)
        record["base"] = "gibbs"
    elif base is not None:
        raise InputError("it has no base of one's own: leave out the base")
    checks = {
        setting.name: _check(setting)
        for setting in settings_of(Settings).values()
        if setting.kernel
    }
    methods = METHODS if kernel is not None else METHODS[4:]
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
    methods = record.get("ruled_out", [])
    if not records.list_of(records.one_of(*METHODS[1:]))(methods):
        raise InputError("it rules out methods that we do not know")
    return tuple(methods)


def _check(setting: Setting) -> records.Check:
    """What a recorded value of a setting must be."""
    plain = next(kind for kind in setting.kinds if kind is not NoneType)
    numbers = {
        int: records.is_positive if setting.least else records.is_count,
        float: records.is_number,
    }
    check = (
        records.one_of(*setting.choices)
        if setting.choices
        else numbers.get(plain)
        or (records.list_of(records.is_text) if setting.default == () else records.is_object)
    )
    return records.or_none(check) if NoneType in setting.kinds else check
