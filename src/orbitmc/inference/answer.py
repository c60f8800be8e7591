"""Carry a decision out by sampling, and say what was learned."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.text import first_few
from orbitmc.errors import ContradictionError, LimitError, OutOfRangeError
from orbitmc.estimate.marginals import (
    LAST_RESORTS,
    About,
    Marginals,
    exact_marginals,
    sampled_marginals,
    with_warnings,
)
from orbitmc.estimate.statistics import Statistics
from orbitmc.estimate.tally import RaoBlackwellTally, ValueTally
from orbitmc.estimate.verdicts import FROZEN, MISSED, SUSPECT, TIED, UNMIXED
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.exact.plan import Plan
from orbitmc.graph.model import Model
from orbitmc.graph.support import possible_values
from orbitmc.inference.plan import (
    Decision,
    PlannedKernel,
    choose_kernel,
    prepared_for,
    require_memory,
    sampling_bytes_of,
)
from orbitmc.inference.settings import Settings
from orbitmc.sampling.observers import CourseObserver
from orbitmc.sampling.run import Run, RunObserver
from orbitmc.sampling.sampler import sample

if TYPE_CHECKING:
    from orbitmc.inference._resume import CheckpointWriter
    from orbitmc.kernels.mcsat.kernel import MCSat
    from orbitmc.mln.grounding.grounding import Ground
    from orbitmc.sampling.observers import Observer


TALLIES: Mapping[str, type] = {
    "rao-blackwell": RaoBlackwellTally,
    "values": ValueTally,
}
HURRY = "no time to look for modes that chains may have missed"
TOO_SHORT = "no control variates: the run is too short to find out whether they pay"
LOOK_SECONDS, LOOK_SHARE = 0.5, 0.02  # to see whether elimination is worth advising
MOST_LOOKED_AT = 20_000  # variables for which that is enough time


def execute_sampling(
    decision: Decision, watchers: Iterable[RunObserver], ground: Ground | None, after: float = 0.0
) -> Marginals:
    """Answer by running chains."""
    run, chosen = run_chains(decision, watchers, ground, after=after)
    return summarise_run(run, decision, chosen)


def run_chains(
    decision: Decision,
    watchers: Iterable[RunObserver],
    ground: Ground | None,
    *,
    notes: Observer | None = None,
    after: float = 0.0,
) -> tuple[Run, PlannedKernel]:
    """Run chains as decided; `notes` are taken of every sample."""
    model, settings = decision.model, decision.settings
    with Stopwatch() as preparing:
        prepared = decision.prepared or prepared_for(model.graph, settings.schedule())
        chosen = (
            choose_kernel(model, prepared, settings, ground)
            if decision.kernel is None
            else PlannedKernel(decision.kernel, "")
        )
        needed = sampling_bytes_of(prepared, chosen.kernel, settings)
        require_memory(needed, settings)
    with observe_run(watchers) as watching, naming(model):
        run = sample(
            prepared,
            chosen.kernel,
            settings.schedule(),
            seed=settings.seed,
            packs=settings.pack_count,
            lanes=settings.lane_count,
            threads=settings.threads,
            executor=settings.executor,
            kind=TALLIES.get(settings.estimator, RaoBlackwellTally),
            controlled=not _why_no_control_variates(settings),
            room=settings.memory - needed,
            watchers=watching,
            notes=notes,
            spent=decision.seconds + preparing.seconds,
            after=after,
        )
    return run, chosen


@contextmanager
def observe_run(watchers: Iterable[RunObserver]) -> Iterator[list[RunObserver]]:
    """The watchers of a run, and those that it has anyway: its course, and a bar in notebooks."""
    if not in_notebook():
        yield [*watchers, CourseObserver()]
        return
    from orbitmc.inference.progress import NotebookBar, ProgressObserver

    bar = ProgressObserver(NotebookBar())
    try:
        yield [*watchers, CourseObserver(), bar]
    finally:
        bar.close()


@contextmanager
def naming(model: Model) -> Iterator[None]:
    """Name the variable that a kernel has given a value which it does not have."""
    try:
        yield
    except OutOfRangeError as error:
        raise error.with_name(model.names[error.variable]) from None


def in_notebook() -> bool:
    """Whether a notebook asks: an IPython that has a kernel, not a terminal."""
    python = sys.modules.get("IPython")
    shell = None if python is None else python.get_ipython()
    return getattr(shell, "kernel", None) is not None


def summarise_run(run: Run, decision: Decision, chosen: PlannedKernel) -> Marginals:
    """Say what a run has learned, and what must be said with it."""
    with Stopwatch() as answering:
        found = _summarise(run, decision, chosen)
    seconds = run.seconds + answering.seconds
    return replace(found, about=replace(found.about, seconds=seconds))


def _summarise(run: Run, decision: Decision, chosen: PlannedKernel) -> Marginals:
    model, settings, choice = decision.model, decision.settings, decision.choice
    hasty = run.interrupted and not run.recorded
    if hasty:
        from orbitmc.sampling.run import partial_answer

        run = partial_answer(run)
    domains = possible_values(run.graph) if run.graph.has_zeros() else None
    kernel = _mcsat_kernel(run, decision)
    slices, approximate = _describe_slices(run, kernel)
    hurry = HURRY if run.skips_modes and not run.independent else ""
    about = About(
        method=_method_used(decision),
        reason="; ".join(part for part in (decision.reason, chosen.about, slices, hurry) if part),
        seconds=run.seconds,
        seed=run.seed,
        samples=run.recorded,
        chains=run.chains,
        updates=run.updates,
        outcomes=run.outcomes,
        estimator=_estimator_used(run, settings),
        interrupted=run.interrupted,
        moves=settings.moves,
        race=tuple(asdict(price) for price in choice.prices) if choice else (),
        ruled_out=decision.ruled_out,
        course=tuple(run.course),
    )
    known = _statistics(run, chosen, kernel)
    missed = run.missed(known)
    found = sampled_marginals(model, known, domains, about, run.part_of, missed)
    early = ("interrupted in the warm-up: the chains may still remember their starts",)
    asked = found.only(decision.query)
    said = (
        (early if hasty else ())
        + _warnings(asked)
        + _describe_missed_mode(model, run, found)
        + approximate
    )
    ruled_out = about.ruled_out if asked.converged else _ruled_out(decision)
    return replace(found, about=replace(found.about, warnings=said, ruled_out=ruled_out))


def _ruled_out(decision: Decision) -> tuple[str, ...]:
    """Methods beside the one used that nobody should be advised to try.

    They were tried on the way here (`lmh`, where a race has ended with Gibbs), or cost too much.
    """
    used, asked = _method_used(decision), decision.settings.method
    beaten = () if decision.kernel is not None or asked == used else (asked,)
    found = (*decision.ruled_out, *beaten)
    known = "exact" in found or LAST_RESORTS.isdisjoint({used, *beaten})
    return found if known or _affords_elimination(decision) else (*found, "exact")


def _affords_elimination(decision: Decision) -> bool:
    """Whether elimination is affordable, as far as a short look can tell."""
    graph, settings = decision.model.graph, decision.settings
    if graph.variables > MOST_LOOKED_AT:
        return False
    from orbitmc.exact.plan import predict
    from orbitmc.inference.plan import is_affordable

    seconds = min(LOOK_SECONDS, LOOK_SHARE * (settings.seconds or math.inf))
    try:
        return is_affordable(predict(graph, memory=settings.memory, seconds=seconds), settings)
    except LimitError:
        return False


def _mcsat_kernel(run: Run, decision: Decision) -> MCSat | None:
    """The kernel of a run or its base, if it is MC-SAT; its files are loaded where it may be."""
    named = (decision.settings.method, decision.settings.base)
    if "mcsat" not in named and decision.kernel is None:
        return None
    from orbitmc.kernels._mixture import Mixture
    from orbitmc.kernels.mcsat.kernel import MCSat

    base = run.kernel.first if isinstance(run.kernel, Mixture) else run.kernel
    return base if isinstance(base, MCSat) else None


def _describe_slices(run: Run, kernel: MCSat | None) -> tuple[str, tuple[str, ...]]:
    """How MC-SAT drew its slices, in words; and a warning if that was not exact."""
    if kernel is None:
        return "", ()
    from orbitmc.kernels.mcsat.kernel import BY_SAMPLE_SAT, describe_slices

    words = describe_slices(run.outcomes)
    inexact = run.outcomes[BY_SAMPLE_SAT] > 0
    return words, (f"{words}; slices by walk are exact",) if inexact else ()


def _why_no_control_variates(settings: Settings) -> str:
    """Why a run does not even try control variates, in words; nothing if it does."""
    if settings.estimator != "control-variates":
        return settings.estimator
    if settings.slices == "samplesat":
        return "no control variates: chains that SampleSAT moves leave no distribution as it is"
    return ""


def _estimator_used(run: Run, settings: Settings) -> str:
    """What was averaged, and why."""
    if run.choice is not None:
        return run.choice.about
    return TOO_SHORT if run.controlled else _why_no_control_variates(settings)


def _method_used(decision: Decision) -> str:
    """What the answer is called after: a method, or the type of a given kernel.

    Where the race has found that Gibbs alone does best, it is Gibbs.
    """
    if decision.kernel is not None:
        return type(decision.kernel).__name__
    method, moves = decision.settings.method, decision.settings.moves
    if method == "lmh" and moves is not None:
        from orbitmc.tuning.record import Tuning, tuning_from_record

        method = "gibbs" if tuning_from_record(moves) == Tuning() else method
    return method if method in ("mcsat", "lifted", "lmh") else "gibbs"


def _statistics(run: Run, chosen: PlannedKernel, kernel: MCSat | None) -> Statistics:
    """What a run knows; variables that MC-SAT surely reaches, or that are drawn anew, can move."""
    known = run.statistics(chosen.pools)
    if not run.graph.has_zeros():
        return known
    if run.drawn_anew:
        return replace(known, open_lanes=np.full_like(known.open_lanes, known.lanes))
    if kernel is None:
        return known
    from orbitmc.kernels.mcsat.kernel import reachable_variables

    reached = reachable_variables(run.graph, kernel)
    return replace(known, open_lanes=np.where(reached, known.lanes, known.open_lanes))


def _describe_missed_mode(model: Model, run: Run, found: Marginals) -> tuple[str, ...]:
    """Name the state that must be probable and that no chain has been in."""
    count = found.verdicts().get(MISSED, 0)
    if not count or run.heaviest is None:
        return ()
    names = found.columns.names_with(MISSED, 4)
    places = [model.index[name] for name in names]
    state = [f"{model.names[v]}={model.values[v][run.heaviest[v]]}" for v in places]
    return (
        f"a mode was missed: if these numbers were right, the state {first_few(state)} would be "
        f"probable, but none of the {run.chains} chains is there; the numbers of the "
        f"{count} variables connected to it are wrong",
    )


def _warnings(found: Marginals) -> tuple[str, ...]:
    """Name the variables that have not mixed or are frozen, asked for or only tied to those."""
    said = []
    count, names = _doubted(found, FROZEN, SUSPECT)
    if count:
        said.append(
            f"{count} variables are frozen in some chains ({first_few(names)}): zeros "
            "in the model keep the chains from changing them, so the numbers of everything "
            "connected to them may be wrong"
        )
    count, names = _doubted(found, UNMIXED, TIED)
    if count:
        said.append(
            f"{count} variables have not mixed ({first_few(names)}): the chains "
            "disagree more than their errors allow; run longer"
        )
    return tuple(said)


def _doubted(found: Marginals, verdict: str, tied: str) -> tuple[int, Sequence[str]]:
    """How many variables have a verdict, and some of them; else those that others are tied to."""
    counts = found.verdicts()
    if verdict in counts:
        return counts[verdict], found.columns.names_with(verdict, 4)
    causes = found.causes(tied) if tied in counts else []
    return len(causes), causes


def kept(settings: Settings) -> AbstractContextManager[CheckpointWriter | None]:
    """The file in which a run is kept, if settings name one."""
    if settings.checkpoint is None:
        return nullcontext()
    from orbitmc.inference._resume import checkpoint_writer

    return checkpoint_writer(settings.checkpoint, settings.checkpoint_every)


def answered(
    decision: Decision,
    watchers: Iterable[RunObserver],
    keep: CheckpointWriter | None,
    ground: Ground | None = None,
) -> Marginals:
    """Answer as decided, and keep the run if there is a file for it."""
    if keep is None:
        return carry_out(decision, watchers, ground)
    from orbitmc.inference._resume import plan_record

    keep.question.update(plan_record(decision))
    return carry_out(decision, [*watchers, keep], ground)


def carry_out(
    decision: Decision,
    watchers: Iterable[RunObserver] = (),
    ground: Ground | None = None,
    *,
    after: float = 0.0,
) -> Marginals:
    """Answer as decided; `ground` is the program that the model means, if there is one.

    A timed run leaves so many seconds for what is done around it, most of it `after` it.
    """
    try:
        found = _answered(decision, watchers, ground, after)
    except ContradictionError as error:
        from orbitmc.graph.feasibility import explain_contradiction

        raise explain_contradiction(decision.model, error) from None
    return with_warnings(found, decision.remarks).only(decision.query)


def _answered(
    decision: Decision, watchers: Iterable[RunObserver], ground: Ground | None, after: float
) -> Marginals:
    if decision.plan is not None:
        return execute_exact(decision, decision.plan)

    return execute_sampling(decision, watchers, ground, after)


# Carry a decision out by elimination.


def execute_exact(decision: Decision, plan: Plan) -> Marginals:
    """Answer by elimination; marginals that no query names are not computed."""
    begun, model, query = time.perf_counter(), decision.model, decision.query
    wanted = [*model.index.values()] if query is None else _free(model, query)
    answer = eliminate(model.graph, memory=decision.settings.memory, plan=plan, wanted=wanted)
    seconds = time.perf_counter() - begun
    log_z = answer.log_z if math.isfinite(answer.log_z) else None
    about = About(method="exact", reason=decision.reason, seconds=seconds, log_z=log_z)
    found = exact_marginals(model, answer.marginals, about, wanted)
    return with_warnings(found, ["log Z is beyond the largest double"] if log_z is None else [])


def _free(model: Model, query: Sequence[str]) -> list[int]:
    """The places of those variables of a query that are not observed."""
    return [model.index[name] for name in query if name in model.index]
