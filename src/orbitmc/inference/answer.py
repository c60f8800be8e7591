"""The way from a query to its answer: plan, then eliminate or run chains, then say what is known.

Every question, every door and every resumed run goes through `answer` or `answer_plan`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from orbitmc import estimate, exact, inference, kernels, sampling, tuning
from orbitmc import graph as graphs
from orbitmc._numba.compile_log import spent_before, time_limit, working_time
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.settings import settings_of
from orbitmc._util.text import first_few
from orbitmc.errors import ContradictionError, InputError, LimitError, OutOfRangeError
from orbitmc.estimate.marginals import (
    LAST_RESORTS,
    About,
    Marginals,
    exact_marginals,
    sampled_marginals,
    with_warnings,
)
from orbitmc.estimate.verdicts import FROZEN, MISSED, SUSPECT, TIED, UNMIXED
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import relevant
from orbitmc.graph.support import possible_values
from orbitmc.inference.cache import find_elimination
from orbitmc.inference.plan import (
    NO_RELATION,
    Plan,
    PlannedKernel,
    choose_kernel,
    is_affordable,
    plan_elimination,
    prepare_within,
    require_memory,
    sampling_bytes_of,
)
from orbitmc.inference.progress import current_progress
from orbitmc.inference.query import (
    Answer,
    Query,
    Question,
    View,
    has_learned_tables,
    narrow,
    require_plain,
    require_program,
    view_of,
)
from orbitmc.inference.settings import Settings

if TYPE_CHECKING:
    from orbitmc.estimate.statistics import Statistics
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.mln.grounding.grounding import Ground
    from orbitmc.sampling.checkpoint import CheckpointWriter
    from orbitmc.sampling.observers import Observer
    from orbitmc.sampling.run import Run, RunObserver


HURRY = "no time to look for modes that chains may have missed"
TOO_SHORT = "no control variates: the run is too short to find out whether they pay"
TOO_SLOW = "exact elimination took longer than expected and was given up"
ELIMINATION_SHARE = 0.3  # of the seconds that are left, for elimination that takes unusually long
LOOK_SECONDS, LOOK_SHARE = 0.5, 0.02  # to see whether elimination is worth advising
MOST_LOOKED_AT = 20_000  # variables for which that is enough time


def answer(
    query: Query[Answer],
    settings: Settings,
    observers: Iterable[RunObserver] = (),
    *,
    reserve: float = 0.0,
    checkpoint: CheckpointWriter | None = None,
) -> Answer:
    """Answer a query: by counting, from what is eliminated already, by elimination, or by chains.

    A timed run leaves `reserve` seconds for what is done after it. It is saved by the writer of a
    `checkpoint`, or where settings say.
    """
    if not isinstance(query.model, Model):
        require_program(query.model)
        require_plain(query.evidence, None)
    if query.count is not None and (counted := query.count(settings)) is not None:
        return counted
    if (cells := _ask_in_cells(query, settings)) is not None:
        by_counts = replace(settings, base="counts")
        if settings.method != "lmh":
            by_counts = replace(by_counts, method="gibbs")
        return _answer_view(cells, cells_of(query), by_counts, observers, reserve, checkpoint)
    if (pairs := _ask_in_relations(query, settings)) is not None:
        by_partitions = replace(settings, base="relations")
        view = view_of(pairs.model)
        if not pairs.bind(view).can_resume:
            require_no_checkpoint(settings)
        return _answer_view(pairs, view, by_partitions, observers, reserve, checkpoint)
    plain = query.bind(view_of(query.model))
    if not plain.can_resume:
        require_no_checkpoint(settings)
    if (result := _answer_from_cache(query, plain, settings)) is None:
        view = view_of(query.model, query.evidence)
        result = _answer_view(query, view, settings, observers, reserve, checkpoint)
    if query.finish is not None:
        return query.finish(result, settings)
    return _without_table_errors(result, query.model)


def _without_table_errors(result: Answer, model: object) -> Answer:
    """Say of an answer about a learned network that errors of its tables are not in it."""
    if not has_learned_tables(model) or model.precision is None:
        return result
    about: About = result.about  # type: ignore[attr-defined]
    words = f"errors of tables that were learned from {model.precision.rows:,} rows are not in it"
    told = replace(about, reason=f"{about.reason}; {words}")
    return replace(result, about=told)  # type: ignore[type-var]


def _answer_view(
    query: Query[Answer],
    view: View,
    settings: Settings,
    observers: Iterable[RunObserver],
    reserve: float,
    checkpoint: CheckpointWriter | None,
) -> Answer:
    """Plan and answer a question about a view."""
    saving = _writer(settings, checkpoint)
    with explain_contradictions(view), exact_in_time(settings), saving as writer:
        question, left_out = _bind(query, view, settings)
        plan = replace(question.plan(settings), reserve=reserve, left_out=left_out)
        if left_out:
            plan = replace(plan, reason=f"{_describe_part(plan)}; {plan.reason}")
        if plan.elimination is not None and settings.method == "auto":
            try:
                with _elimination_in_time(plan.elimination.seconds, settings):
                    return answer_plan(question, plan, observers)
            except exact.contraction.OutOfTimeError:
                plan = question.plan(replace(settings, method="gibbs"))
                plan = replace(plan, reason=TOO_SLOW, reserve=reserve, left_out=left_out)
        if writer is None:
            return answer_plan(question, plan, observers)
        writer.record.update(plan.record())
        return answer_plan(question, plan, [*observers, writer])


def _ask_in_relations(query: Query[Answer], settings: Settings) -> Query[Answer] | None:
    """The question about partitions, where samples of these answer it; None elsewhere.

    They do where that is asked for, and for `auto` where elimination is not affordable.
    """
    program = query.model
    if isinstance(program, Model) or query.in_relations is None or program.in_relations is None:
        return None
    asked = settings.base == "relations"
    return in_relations(query) if asked or prefers_relations(program, settings) else None


def _ask_in_cells(query: Query[Answer], settings: Settings) -> Query[Answer] | None:
    """The question about cells of constants, where samples of these answer it; None elsewhere.

    They do where that is asked for, and for `auto` where a program is too large to be ground.
    """
    program, bind = query.model, query.in_cells
    if isinstance(program, Model) or bind is None:
        return None
    asked = settings.method in ("gibbs", "lmh") and settings.base == "counts"
    if not asked and (_wants_other_kernels(settings) or not program.prefers_cells):
        return None
    return replace(query, bind=lambda view: bind(), count=None)


def cells_of(query: Query[Answer]) -> View:
    """The cells of the program that a query is about."""
    assert not isinstance(query.model, Model)
    return inference.cells_view(query.model)


def _wants_other_kernels(settings: Settings) -> bool:
    """Whether settings name a method, or shape one."""
    known = settings_of(Settings)
    return settings.method != "auto" or any(known[name].methods for name in settings.changes)


def in_relations(query: Query[Answer]) -> Query[Answer]:
    """The same question about a program whose equivalence relations are not ground."""
    program = query.model
    if isinstance(program, Model) or query.in_relations is None or program.in_relations is None:
        raise InputError(NO_RELATION)
    return replace(query, model=program.in_relations, bind=query.in_relations, count=None)


def can_draw_relations(program: MarkovLogic) -> bool:
    """Whether a program has relations whose rules need no grounding, and no weights beyond that."""
    if program.in_relations is None:
        return False
    model = program.in_relations.model
    large = len(graphs.log_weights.large_factors(model.graph))
    return not large and kernels.relations.are_drawn(model.graph, model.relations)


def prefers_relations(program: MarkovLogic, settings: Settings) -> bool:
    """Whether `auto` samples partitions: nothing else is wanted, and elimination too expensive."""
    if _wants_other_kernels(settings) or not can_draw_relations(program):
        return False
    if program.source.is_too_wide:
        return True
    elimination, _ = plan_elimination(program.model.graph, settings)
    return elimination is None


def _elimination_in_time(seconds: float, settings: Settings) -> AbstractContextManager[None]:
    """Let elimination end that takes much longer than the expected `seconds`; `auto` can sample."""
    if settings.seconds is None:
        return nullcontext()
    left = settings.seconds - spent_before()
    return time_limit(min(left, max(ELIMINATION_SHARE * left, 2.0 * seconds)))


def require_no_checkpoint(settings: Settings) -> None:
    """Refuse to save a run: a file of it would not hold what was asked."""
    if settings.checkpoint is not None:
        raise InputError("a checkpoint keeps marginals only: leave it out of other questions")


def _bind(query: Query[Answer], view: View, settings: Settings) -> tuple[Question[Answer], int]:
    """A question about as much of the model as it needs, and how many variables it does not need.

    What names variables itself, a program, and a run that may be asked more later keep all of it.
    """
    question = query.bind(view)
    asked_whole = settings.checkpoint is not None or bool(settings.generators)
    if question.needs is None or view.program is not None or asked_whole:
        return question, 0
    part, left_out = relevant(view.model, question.needs)
    if left_out is not None:
        graphs.possible_states(left_out, 1, np.random.SeedSequence(0))  # refuses what is impossible
    if part is view.model:
        return question, 0
    return query.bind(narrow(view, part)), len(view.model.free_names) - len(part.free_names)


def _describe_part(plan: Plan) -> str:
    count = len(plan.model.free_names)
    return f"{count:,} of {count + plan.left_out:,} variables matter"


def answer_plan(
    question: Question[Answer], plan: Plan, observers: Iterable[RunObserver] = ()
) -> Answer:
    """Answer as planned."""
    try:
        if plan.elimination is not None:
            return question.from_elimination(plan)
        return question.from_chains(plan, observers)
    except ContradictionError as error:
        raise graphs.explain_contradiction(plan.model, error) from None


def _answer_from_cache(
    query: Query[Answer], question: Question[Answer], settings: Settings
) -> Answer | None:
    """The answer of a small model that is eliminated already, or soon; None elsewhere."""
    if question.scopes is None or settings.method not in ("auto", "exact"):
        return None
    if not isinstance(query.model, Model) and query.evidence:
        return None
    model = query.model if isinstance(query.model, Model) else query.model.model
    row = find_elimination(model, query.evidence, settings, question.scopes)
    return None if row is None else question.from_cache(row, query.evidence, settings)


@contextmanager
def explain_contradictions(view: View) -> Iterator[None]:
    """Say contradictions in terms of whoever asked."""
    try:
        yield
    except ContradictionError as error:
        raise view.explain(error) from None


def _writer(
    settings: Settings, checkpoint: CheckpointWriter | None
) -> AbstractContextManager[CheckpointWriter | None]:
    """What saves the run, if it is to be saved."""
    if checkpoint is not None or settings.checkpoint is None:
        return nullcontext(checkpoint)
    return inference.open_checkpoint(settings.checkpoint, settings.checkpoint_every)


def exact_in_time(settings: Settings) -> AbstractContextManager[None]:
    """Let an exact answer that was asked for be refused when its seconds are over.

    `auto` eliminates only what it expects to end in time.
    """
    if settings.method != "exact" or settings.seconds is None:
        return nullcontext()
    return time_limit(settings.seconds - spent_before())


def exact_about(plan: Plan) -> About:
    """What to say of an answer by elimination."""
    return About(
        method="exact",
        reason=plan.reason,
        seconds=working_time() - plan.begun,
        warnings=plan.remarks,
    )


def require_possible(plan: Plan) -> None:
    """Refuse a model without any possible state, where an answer would not notice."""
    graph = plan.model.graph
    if plan.elimination is None:
        sampling.pack.start_values(graph, 1, np.random.SeedSequence(0))
    else:
        exact.marginals(graph, memory=plan.settings.memory, plan=plan.elimination, wanted=[])


# Run chains, and say what they have learned.


def run_chains(
    plan: Plan,
    observers: Iterable[RunObserver],
    ground: Ground | None,
    *,
    notes: Observer | None = None,
) -> tuple[Run, PlannedKernel]:
    """Run chains as planned, or continue those of a checkpoint; `notes` are taken of samples."""
    model, settings, saved = plan.sampled_model, plan.settings, plan.checkpoint
    with Stopwatch() as preparing:
        recovery = None if plan.fringe is None else sampling.collapsed.recovery_of(plan.fringe)
        schedule = settings.schedule() if saved is None else saved.header.schedule
        prepared = plan.prepared or prepare_within(model.graph, schedule)
        chosen = (
            choose_kernel(model, prepared, settings, ground)
            if plan.kernel is None
            else PlannedKernel(plan.kernel, "")
        )
        if saved is not None:
            resumed = saved.restore(
                prepared, chosen.kernel, memory=settings.memory, recovery=recovery
            )
        else:
            needed = sampling_bytes_of(prepared, chosen.kernel, settings)
            needed += 0 if recovery is None else recovery.bytes(settings.pack_count)
            require_memory(needed, settings)
    progress = current_progress()
    watching = [*observers, *(() if progress is None else (progress,))]
    with naming(model):
        if saved is not None:
            run = sampling.sampler.continue_sampling(
                resumed,
                threads=settings.threads,
                executor=settings.executor,
                watchers=watching,
            )
            return run, chosen
        run = sampling.sample(
            prepared,
            chosen.kernel,
            schedule,
            seed=settings.seed,
            packs=settings.pack_count,
            lanes=settings.lane_count,
            threads=settings.threads,
            executor=settings.executor,
            kind=_tally_of(settings, chosen.kernel),
            controlled=not _why_no_control_variates(settings),
            room=settings.memory - needed,
            watchers=watching,
            notes=notes,
            spent=plan.seconds + preparing.seconds,
            after=plan.reserve,
            recovery=recovery,
        )
    return run, chosen


def _tally_of(settings: Settings, kernel: Kernel) -> type:
    """What a run counts; to count values of independent draws is cheaper than to average."""
    tallies = estimate.tally.TALLIES
    if _counts_draws(settings, kernel):
        return tallies["values"]
    return tallies.get(settings.estimator, tallies["rao-blackwell"])


def _counts_draws(settings: Settings, kernel: Kernel) -> bool:
    """Whether states are independent draws, and no estimator was asked for."""
    alone = kernels.protocol.independent_after(kernel) is not None
    return alone and settings.estimator == "control-variates" and settings.spacing is None


@contextmanager
def naming(model: Model) -> Iterator[None]:
    """Name the variable that a kernel has given a value which it does not have."""
    try:
        yield
    except OutOfRangeError as error:
        raise error.with_name(model.names[error.variable]) from None


def summarise_run(run: Run, plan: Plan, chosen: PlannedKernel) -> Marginals:
    """Say what a run has learned, and what must be said with it."""
    with Stopwatch() as answering:
        marginals = _summarise(run, plan, chosen)
    seconds = run.seconds + answering.seconds
    return replace(marginals, about=replace(marginals.about, seconds=seconds))


def _summarise(run: Run, plan: Plan, chosen: PlannedKernel) -> Marginals:
    model, settings, choice = plan.model, plan.settings, plan.choice
    hasty = run.interrupted and not run.recorded
    if hasty:
        run = sampling.run.partial_answer(run)
    graph, recovery = run.answered_graph, run.recording.recovery
    domains = possible_values(graph) if graph.has_zeros() else None
    remark, approximate = kernels.protocol.remarks_on(run.kernel, run.outcomes)
    constrained = kernels.protocol.constrained_variables(run.kernel)
    searchable = not run.independent and constrained is None
    hurry = HURRY if run.heaviest is None and searchable else ""
    about = About(
        method=_method_used(plan),
        reason="; ".join(part for part in (plan.reason, chosen.about, remark, hurry) if part),
        seconds=run.seconds,
        seed=run.seed,
        samples=run.recorded,
        chains=run.chains,
        updates=run.updates,
        outcomes=run.outcomes,
        estimator=_estimator_used(run, settings),
        interrupted=run.interrupted,
        moves=settings.moves if plan.fringe is None else None,
        race=tuple(asdict(price) for price in choice.prices) if choice else (),
        ruled_out=plan.ruled_out,
        course=tuple(run.course),
    )
    known = _statistics(run, chosen)
    missed = run.missed(known)
    exact = None if recovery is None else recovery.known
    marginals = sampled_marginals(model, known, domains, about, run.answered_parts, missed, exact)
    early = ("interrupted in the warm-up: the chains may still remember their starts",)
    asked = marginals.only(plan.query)
    warnings = (
        (early if hasty else ())
        + _warnings(asked)
        + _describe_ties(plan.sampled_model, run, asked)
        + _describe_missed_mode(plan.sampled_model, run, marginals)
        + approximate
    )
    ruled_out = about.ruled_out if asked.converged else _ruled_out(plan)
    return replace(
        marginals, about=replace(marginals.about, warnings=warnings, ruled_out=ruled_out)
    )


def _ruled_out(plan: Plan) -> tuple[str, ...]:
    """Methods beside the one used that nobody should be advised to try.

    They were tried on the way here (`lmh`, where a race has ended with Gibbs), or cost too much.
    """
    used, asked = _method_used(plan), plan.settings.method
    beaten = () if plan.kernel is not None or asked == used else (asked,)
    methods = (*plan.ruled_out, *beaten)
    known = "exact" in methods or LAST_RESORTS.isdisjoint({used, *beaten})
    return methods if known or _affords_elimination(plan) else (*methods, "exact")


def _affords_elimination(plan: Plan) -> bool:
    """Whether elimination is affordable, as far as a short look can tell."""
    graph, settings = plan.model.graph, plan.settings
    if graph.variables > MOST_LOOKED_AT:
        return False

    seconds = min(LOOK_SECONDS, LOOK_SHARE * (settings.seconds or math.inf))
    try:
        return is_affordable(
            exact.predict(graph, memory=settings.memory, seconds=seconds), settings
        )
    except LimitError:
        return False


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
    if _counts_draws(settings, run.kernel):
        return "values are counted: states are independent draws"
    return TOO_SHORT if run.recording.controlled else _why_no_control_variates(settings)


def _method_used(plan: Plan) -> str:
    """What the answer is called after: a method, or the type of a given kernel.

    Where the race has found that Gibbs alone does best, it is Gibbs.
    """
    if plan.kernel is not None:
        return type(plan.kernel).__name__
    method, moves = plan.settings.method, plan.settings.moves
    if method == "lmh" and moves is not None:
        method = "gibbs" if tuning.tuning_from_record(moves) == tuning.Tuning() else method
    return method if method in ("mcsat", "lifted", "lmh") else "gibbs"


def _statistics(run: Run, chosen: PlannedKernel) -> Statistics:
    """What a run knows; variables that its kernel surely moves are not frozen."""
    known = run.statistics(chosen.pools)
    if not run.answered_graph.has_zeros():
        return known
    if run.drawn_anew:
        return replace(known, open_lanes=np.full_like(known.open_lanes, known.lanes))
    freed, recovery = (
        kernels.protocol.freed_variables(run.kernel, run.graph),
        run.recording.recovery,
    )
    if freed is None:
        return known
    freed = freed if recovery is None else recovery.spread(freed)
    return replace(known, open_lanes=np.where(freed, known.lanes, known.open_lanes))


def _describe_missed_mode(model: Model, run: Run, marginals: Marginals) -> tuple[str, ...]:
    """Name the state of what was sampled that must be probable and that no chain has been in."""
    count = marginals.verdicts().get(MISSED, 0)
    if not count or run.heaviest is None:
        return ()
    named = marginals.columns.names_with(MISSED, count)
    places = [model.index[name] for name in named if name in model.index][:4]
    state = [f"{model.names[v]}={model.values[v][run.heaviest[v]]}" for v in places]
    return (
        f"a mode was missed: if these numbers were right, the state {first_few(state)} would be "
        f"probable, but none of the {run.chains} chains is there; the numbers of the "
        f"{count} variables connected to it are wrong",
    )


def _describe_ties(model: Model, run: Run, marginals: Marginals) -> tuple[str, ...]:
    """Say what keeps a frozen variable from changing, and what would free it."""
    _, names = _find_doubted(marginals, FROZEN, SUSPECT)
    for name in names:
        variable = model.index.get(name)
        states = run.packs[0].values
        factor = None if variable is None else graphs.find_tie(run.graph, variable, states)
        if factor is not None:
            read = [model.names[v] for v in run.graph.scope_of(factor)]
            scope = first_few([name for name in read if name not in model.helpers])
            return (
                f"{name} cannot change alone: the constraint on ({scope}) forbids it. Evidence "
                "about one of them, a finite weight of that rule, or a kernel that changes them "
                "together (om.kernels.chosen_blocks) would free it",
            )
    return ()


def _warnings(marginals: Marginals) -> tuple[str, ...]:
    """Name the variables that have not mixed or are frozen, asked for or only tied to those."""
    warnings = []
    count, names = _find_doubted(marginals, FROZEN, SUSPECT)
    if count:
        warnings.append(
            f"{count} variables are frozen in some chains ({first_few(names)}): zeros "
            "in the model keep the chains from changing them, so the numbers of everything "
            "connected to them may be wrong"
        )
    count, names = _find_doubted(marginals, UNMIXED, TIED)
    if count:
        warnings.append(
            f"{count} variables have not mixed ({first_few(names)}): the chains "
            "disagree more than their errors allow; run longer"
        )
    return tuple(warnings)


def _find_doubted(marginals: Marginals, verdict: str, tied: str) -> tuple[int, Sequence[str]]:
    """How many variables have a verdict, and some of them; else those that others are tied to."""
    counts = marginals.verdicts()
    if verdict in counts:
        return counts[verdict], marginals.columns.names_with(verdict, 4)
    causes = marginals.causes(tied) if tied in counts else []
    return len(causes), causes


# Marginals, by elimination.


def finish_marginals(marginals: Marginals, plan: Plan) -> Marginals:
    """Say what a plan had to change, and report what was asked for."""
    return with_warnings(marginals, plan.remarks).only(plan.query)


def eliminate_marginals(plan: Plan) -> Marginals:
    """Marginals by elimination; those that no query names are not computed."""
    model, query = plan.model, plan.query
    wanted = [*model.index.values()] if query is None else _free(model, query)
    result = exact.marginals(
        model.graph, memory=plan.settings.memory, plan=plan.elimination, wanted=wanted
    )
    finite = math.isfinite(result.log_z)
    log_z = result.log_z if finite and not plan.left_out else None
    about = replace(exact_about(plan), log_z=log_z, warnings=())
    marginals = exact_marginals(model, result.marginals, about, wanted)
    too_large = [] if finite else ["log Z is beyond the largest double"]
    return with_warnings(marginals, too_large)


def _free(model: Model, query: Sequence[str]) -> list[int]:
    """The places of those variables of a query that are not observed."""
    return [model.index[name] for name in query if name in model.index]
