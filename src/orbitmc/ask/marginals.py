"""The main job: a model and evidence go in, marginals with their errors come out."""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from orbitmc.ask.lifting import Lifting, typed_group
from orbitmc.ask.methods import kernel_for
from orbitmc.ask.settings import DEFAULT_SECONDS, METHODS, Settings, require_memory
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.marginals import About, Marginals, exact_marginals, sampled_marginals
from orbitmc.estimate.orbit_tally import OrbitTally
from orbitmc.estimate.statistics import Statistics
from orbitmc.estimate.tallies import RaoBlackwellTally, ValueTally
from orbitmc.estimate.verdicts import FROZEN, MISSED, UNMIXED
from orbitmc.exact.elimination import marginals as eliminate
from orbitmc.exact.plan import Plan, predict
from orbitmc.graph.conditionals.conditionals import Conditionals, conditionals
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.graph.possible.conflict import explained
from orbitmc.graph.possible.support import possible_values
from orbitmc.graph.weights.hardening import hardened
from orbitmc.groups.permutation_groups import PermutationGroup
from orbitmc.kernels.base.mcsat.mc_sat import BY_SAMPLE_SAT, MCSat, slices_in_words
from orbitmc.kernels.base.mcsat.slice_reach import surely_reached
from orbitmc.kernels.kernel import Kernel
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.machine.compiling import Stopwatch
from orbitmc.machine.interrupts import listening
from orbitmc.machine.text import in_words
from orbitmc.run.missing import missed_by
from orbitmc.run.pack import MOST_VALUES
from orbitmc.run.run import Run, Watcher
from orbitmc.run.sampler import glimpse, sample
from orbitmc.tuning.race import Choice, race

EXACT_SECONDS = 20.0  # `auto` prefers an exact answer so long, or as long as the run may take
ORDER_SECONDS = 2.0  # how long `auto` looks for a good elimination order
ORDER_SHARE = 0.2  # of the time that was asked for, if that is less
RACE_SHARE = 0.05  # of a run goes into finding out which jumps pay

TALLIES: Mapping[str, type] = {
    "rao-blackwell": RaoBlackwellTally,
    "values": ValueTally,
    "orbits": OrbitTally,
}
HURRY = "no time to look for modes that chains may have missed"
AVERAGES = "averages over what the given generators make of each state, weighed by the model"


@listening()
def marginals(
    model: Model,
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    kernel: Kernel | None = None,
    watchers: Iterable[Watcher] = (),
    **changes: object,
) -> Marginals:
    """Say how probable each value of each variable is, with its error.

    `method="auto"` answers exactly when that is affordable and samples otherwise; the answer
    says which and why. Settings may be given one by one: `marginals(model, seconds=5, seed=1)`.
    A `kernel` of one's own samples instead; it belongs to the model with its evidence.
    """
    chosen = replace(settings or Settings(), **changes)  # type: ignore[arg-type]
    seen = model.given(evidence or {})
    decision = decide(seen, chosen) if kernel is None else decide_for(seen, kernel, chosen)
    return carry_out(decision, watchers)


@dataclass(frozen=True)
class Decision:
    """How a question will be answered, and why; `settings` name a method that is not `auto`.

    `model` is what is asked about, with weights that can be added up; `remarks` say what that
    took. `prepared` are its conditionals, if the decision needed them already. It took so many
    `seconds`, without compiling. `ruled_out` are methods that cannot answer, or take too long.
    A `kernel` that was given is used as it is.
    """

    model: Model
    settings: Settings
    reason: str
    plan: Plan | None = None
    choice: Choice | None = None
    prepared: Conditionals | None = None
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
    ruled_out: tuple[str, ...] = ()
    kernel: Kernel | None = None


def decide_for(model: Model, kernel: Kernel, settings: Settings) -> Decision:
    """Let a given kernel answer; settings that choose one have no meaning beside it."""
    if settings.method != "auto":
        raise InputError(f"the kernel is given: leave out the method {settings.method!r}")
    settings.require_use()
    _require_few_values(model, "the exact method has no such limit")
    require_memory(model.graph, settings)
    reason = f"the kernel {type(kernel).__name__} was given"
    return Decision(model, settings, reason, kernel=kernel)


def decide(model: Model, settings: Settings) -> Decision:
    """Choose a method, and for Lifted Metropolis-Hastings the jumps, unless they are given.

    All that is chosen is in the decision's settings, so it can be carried out again.
    """
    if settings.method not in METHODS:
        raise InputError(f"unknown method {settings.method!r}; there are {', '.join(METHODS)}")
    settings.require_use()
    try:
        with Stopwatch() as deciding:
            firm = hardened(model)
            if settings.method in ("auto", "exact"):
                decision = _exact_or_sampled(firm.model, settings)
            else:
                _require_few_values(model, "the exact method has no such limit")
                decision = _tuned(firm.model, settings, f"{settings.method} was asked for")
    except ContradictionError as error:
        raise explained(model, error) from None
    return replace(decision, remarks=firm.remarks, seconds=deciding.seconds)


def _exact_or_sampled(model: Model, settings: Settings) -> Decision:
    patience = _patience(settings)
    try:
        plan = predict(model.graph, memory=settings.memory, seconds=patience)
    except LimitError as error:
        if settings.method == "exact":
            raise
        return _sampled(model, settings, str(error))
    if settings.method == "exact" or _affordable(plan, settings):
        return Decision(model, replace(settings, method="exact"), price(plan), plan)
    return _sampled(model, settings, f"{price(plan)}, too much")


def _patience(settings: Settings) -> float:
    """How long to look for a good order; a short run cannot wait for it."""
    if settings.method == "exact":
        return 5 * ORDER_SECONDS
    return min(ORDER_SECONDS, ORDER_SHARE * (settings.seconds or math.inf))


def _sampled(model: Model, settings: Settings, reason: str) -> Decision:
    """Sample, because exact elimination was ruled out."""
    _require_few_values(model, reason)
    if settings.scan == "random":
        chosen = Decision(model, replace(settings, method="gibbs"), reason)
    else:
        chosen = _tuned(model, replace(settings, method="lmh"), reason)
    return replace(chosen, ruled_out=("exact",))


def _require_few_values(model: Model, otherwise: str) -> None:
    most = int(model.graph.cardinality.max(initial=1))
    if most > MOST_VALUES:
        raise LimitError(
            f"a variable has {most} values, sampling handles up to {MOST_VALUES}; {otherwise}"
        )


def _tuned(model: Model, settings: Settings, reason: str) -> Decision:
    """Let a race choose the jumps of Lifted Metropolis-Hastings."""
    require_memory(model.graph, settings)
    if settings.method != "lmh" or settings.names_jumps:
        return Decision(model, settings, reason)
    seconds = settings.schedule().seconds or DEFAULT_SECONDS
    prepared = conditionals(model.graph)
    choice = race(model, prepared, seconds=RACE_SHARE * seconds)
    moved = replace(settings, moves=choice.recipe.record())
    return Decision(model, moved, f"{reason}; {choice.about}", choice=choice, prepared=prepared)


def carry_out(
    decision: Decision,
    watchers: Iterable[Watcher] = (),
    ground: Ground | None = None,
    *,
    after: float = 0.0,
) -> Marginals:
    """Answer as decided; `ground` is the program that the model means, if there is one.

    A timed run leaves so many seconds for what is done with its answer `after` it.
    """
    try:
        found = _answered(decision, watchers, ground, after)
    except ContradictionError as error:
        raise explained(decision.model, error) from None
    return with_warnings(found, decision.remarks)


def _answered(
    decision: Decision, watchers: Iterable[Watcher], ground: Ground | None, after: float
) -> Marginals:
    if decision.plan is not None:
        return answer_exactly(decision.model, decision.settings, decision.plan)
    return answer_by_sampling(decision, watchers, ground, after)


def answer_exactly(model: Model, settings: Settings, plan: Plan) -> Marginals:
    """Answer by elimination."""
    begun = time.perf_counter()
    answer = eliminate(model.graph, memory=settings.memory, plan=plan)
    seconds = time.perf_counter() - begun
    log_z = answer.log_z if math.isfinite(answer.log_z) else None
    about = About(method="exact", reason=price(plan), seconds=seconds, log_z=log_z)
    found = exact_marginals(model, answer.marginals, about)
    return with_warnings(found, ["log Z is beyond the largest double"] if log_z is None else [])


def with_warnings(found: Marginals, said: Iterable[str]) -> Marginals:
    """Put what must be said before what is said already."""
    return replace(found, about=replace(found.about, warnings=(*said, *found.about.warnings)))


def answer_by_sampling(
    decision: Decision, watchers: Iterable[Watcher], ground: Ground | None, after: float = 0.0
) -> Marginals:
    """Answer by running chains."""
    model, settings = decision.model, decision.settings
    with Stopwatch() as preparing:
        prepared = conditionals(model.graph) if decision.prepared is None else decision.prepared
        lifting = (
            kernel_for(model, prepared, settings, ground)
            if decision.kernel is None
            else Lifting(decision.kernel, "")
        )
        require_memory(model.graph, settings, lifting.kernel)
    run = sample(
        model.graph,
        lifting.kernel,
        settings.schedule(),
        seed=settings.seed,
        packs=settings.packs,
        lanes=settings.lanes,
        threads=settings.threads,
        kind=TALLIES[settings.estimator],
        group=averaged_group(model, settings),
        prepared=prepared,
        watchers=watchers,
        spent=decision.seconds + preparing.seconds,
        after=after,
    )
    return answer(run, decision, lifting)


def averaged_group(model: Model, settings: Settings) -> PermutationGroup | None:
    """The group over whose orbits a run averages, if it does."""
    return typed_group(model, settings.generators) if settings.estimator == "orbits" else None


def answer(run: Run, decision: Decision, lifting: Lifting) -> Marginals:
    """Say what a run has learned, and what must be said with it."""
    with Stopwatch() as answering:
        found = _said(run, decision, lifting)
    seconds = run.seconds + answering.seconds
    return replace(found, about=replace(found.about, seconds=seconds))


def _said(run: Run, decision: Decision, lifting: Lifting) -> Marginals:
    model, settings, choice = decision.model, decision.settings, decision.choice
    hasty = run.interrupted and not run.recorded
    run = glimpse(run) if hasty else run
    domains = possible_values(run.graph) if run.graph.has_zeros() else None
    slices = slices_in_words(run.outcomes) if isinstance(run.kernel, MCSat) else ""
    averages = AVERAGES if settings.estimator == "orbits" else ""
    hurry = HURRY if run.skips_modes else ""
    about = About(
        method=_method_used(decision),
        reason="; ".join(
            part for part in (decision.reason, lifting.about, averages, slices, hurry) if part
        ),
        seconds=run.seconds,
        seed=run.seed,
        samples=run.recorded,
        chains=run.chains,
        updates=run.updates,
        outcomes=run.outcomes,
        interrupted=run.interrupted,
        moves=settings.moves,
        race=tuple(asdict(price) for price in choice.prices) if choice else (),
        ruled_out=decision.ruled_out,
    )
    known = _statistics(run, lifting)
    missed = missed_by(run, known)
    found = sampled_marginals(model, known, domains, about, run.part_of, missed)
    early = ("interrupted in the warm-up: the chains may still remember their starts",)
    said = (early if hasty else ()) + _warnings(found) + _missed(model, run, found)
    if about.outcomes.get(BY_SAMPLE_SAT):
        said += (f"{slices}; slices by walk are exact",)
    return replace(found, about=replace(about, warnings=said))


def _method_used(decision: Decision) -> str:
    """What the answer is called after: a method, or the type of a given kernel."""
    if decision.kernel is not None:
        return type(decision.kernel).__name__
    method = decision.settings.method
    return method if method in ("mcsat", "lifted", "lmh") else "gibbs"


def _statistics(run: Run, lifting: Lifting) -> Statistics:
    """What a run knows; a variable that MC-SAT surely reaches is not frozen."""
    known = run.statistics(lifting.pools)
    if not isinstance(run.kernel, MCSat) or not run.graph.has_zeros():
        return known
    reached = surely_reached(run.graph, run.kernel)
    return replace(known, open_lanes=np.where(reached, known.lanes, known.open_lanes))


def _missed(model: Model, run: Run, found: Marginals) -> tuple[str, ...]:
    """Name the state that must be probable and that no chain has been in."""
    count = found.verdicts().get(MISSED, 0)
    if not count or run.heaviest is None:
        return ()
    names = found.columns.named(MISSED, 4)
    places = [model.index[name] for name in names]
    state = [f"{model.names[v]}={model.values[v][run.heaviest[v]]}" for v in places]
    return (
        f"a mode was missed: if these numbers were right, the state {_listed(state)} would be "
        f"probable, but none of the {run.chains} chains is there; the numbers of the "
        f"{count} variables connected to it are wrong",
    )


def price(plan: Plan) -> str:
    """What exact elimination costs, in words."""
    return (
        f"exact elimination takes about {in_words(plan.bytes)} and {plan.seconds:.2g} s "
        f"(width {plan.width})"
    )


def _affordable(plan: Plan, settings: Settings) -> bool:
    limit = EXACT_SECONDS if settings.seconds is None else settings.seconds
    return plan.bytes <= settings.memory and plan.seconds <= limit


def _warnings(found: Marginals) -> tuple[str, ...]:
    said, counts = [], found.verdicts()
    if FROZEN in counts:
        said.append(
            f"{counts[FROZEN]} variables are frozen in some chains ({_some(found, FROZEN)}): zeros "
            "in the model keep the chains from changing them one at a time, so the numbers of "
            "everything connected to them may be wrong"
        )
    if UNMIXED in counts:
        said.append(
            f"{counts[UNMIXED]} variables have not mixed ({_some(found, UNMIXED)}): the chains "
            "disagree more than their errors allow; run longer"
        )
    return tuple(said)


def _some(found: Marginals, verdict: str) -> str:
    return _listed(found.columns.named(verdict, 4))


def _listed(names: list[str]) -> str:
    """The first three, and whether there are more."""
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
