"""Which method answers a question, and why.

What a method needs is loaded when it is considered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.settings import settings_of
from orbitmc._util.text import in_words
from orbitmc.ask.settings import DEFAULT_SECONDS, Settings
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.factor_graph import MOST_VALUES, FactorGraph
from orbitmc.graph.hardening import hardened
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.exact.plan import Plan
    from orbitmc.exact.templates import Template
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.tuning.race import Choice

EXACT_SECONDS = 20.0  # `auto` prefers an exact answer so long, or as long as the run may take
ORDER_SECONDS = 2.0  # how long `auto` looks for a good elimination order
MOST_ORDER_SECONDS = 60.0  # in a long run, where a better order might be affordable
NEAR = 256.0  # times as much memory or time as there is: so much less a better order may need
ORDER_SHARE = 0.2  # of the time that was asked for, if that is less
MOST_IN_BLOCKS = 4_000  # variables for which blocks are chosen unasked: more take minutes
BLOCK_SHARE = 0.2  # of a run goes into choosing blocks
BLOCK_SPEED = 3e6  # visits of factors in a second, about
UNTIMED_SECONDS = 60.0  # what a run that ends after samples may take, where work is limited
RACE_SHARE = 0.05  # of a run goes into finding out which jumps pay


@dataclass(frozen=True)
class Decision:
    """How a question will be answered, and why; `settings` name a method that is not `auto`.

    `model` is what is asked about, with weights that can be added up; `remarks` say what that
    took. `prepared` is its graph, if the decision prepared it already. It took so many
    `seconds`, without compiling. `ruled_out` are methods that cannot answer, or take too long.
    A `kernel` that was given is used as it is. `query` names the variables to report, if not all.
    """

    model: Model
    settings: Settings
    reason: str
    plan: Plan | None = None
    choice: Choice | None = None
    prepared: PreparedGraph | None = None
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
    ruled_out: tuple[str, ...] = ()
    kernel: Kernel | None = None
    query: tuple[str, ...] | None = None


def decide_for(model: Model, kernel: Kernel, settings: Settings) -> Decision:
    """Let a given kernel answer; settings that choose one have no meaning beside it."""
    if settings.method != "auto":
        raise InputError(f"the kernel is given: leave out the method {settings.method!r}")
    if not hasattr(kernel, "memory"):
        raise InputError(
            f"a kernel is a value such as om.kernels.gibbs(), not a {type(kernel).__name__}"
        )
    for one in settings_of(Settings).values():
        if one.methods and getattr(settings, one.name) != one.default:
            raise InputError(f"the kernel is given: leave out {one.name}")
    settings.require_use()
    _require_few_values(model, "the exact method has no such limit")
    from orbitmc.ask.method.fitting import fitted
    from orbitmc.ask.method.memory import require_memory, sampling_bytes

    settings = fitted(model.graph, settings)
    require_memory(sampling_bytes(model.graph, settings), settings)
    reason = f"the kernel {type(kernel).__name__} was given"
    return Decision(model, settings, reason, kernel=kernel, remarks=model.doubts)


def decide(
    model: Model,
    settings: Settings,
    eliminated: Callable[[FactorGraph], FactorGraph] = lambda graph: graph,
    *,
    too_wide: str = "",
) -> Decision:
    """Choose a method, and for Lifted Metropolis-Hastings the jumps, unless they are given.

    All that is chosen is in the decision's settings, so it can be carried out again. `eliminated`
    gives the graph that an exact answer eliminates, if it needs more than the model has. What is
    known to be `too_wide` for elimination, in words, is sampled.
    """
    settings.require_use()
    settings.schedule()  # refuses two ends
    if settings.approximation is not None:
        from orbitmc.ask.method.relational_lifting import program_of

        program_of(model)  # refuses other models
    try:
        with Stopwatch() as deciding:
            firm = hardened(model)
            if too_wide and settings.method == "auto":
                decision = _sampled(firm.model, settings, too_wide)
            elif settings.method in ("auto", "exact"):
                decision = _exact_or_sampled(firm.model, settings, eliminated)
            else:
                _require_few_values(model, "the exact method has no such limit")
                decision = _as_asked(firm.model, settings)
    except ContradictionError as error:
        from orbitmc.graph.feasibility import explained

        raise explained(model, error) from None
    chosen = with_block_work(decision.settings)
    return replace(decision, settings=chosen, remarks=firm.remarks, seconds=deciding.seconds)


def with_block_work(settings: Settings) -> Settings:
    """Limit the work of choosing blocks by the time there is; a count, so it can be repeated."""
    if settings.base != "low-width" or settings.block_work is not None:
        return settings
    seconds = settings.seconds or UNTIMED_SECONDS
    return replace(settings, block_work=max(1, int(BLOCK_SHARE * seconds * BLOCK_SPEED)))


def _as_asked(model: Model, settings: Settings) -> Decision:
    """Sample by the method that was asked for."""
    from orbitmc.ask.method.fitting import fitted

    settings, reason = fitted(model.graph, settings), f"{settings.method} was asked for"
    return _unfrozen(model, settings, reason) or _tuned(model, settings, reason)


def _exact_or_sampled(
    model: Model, settings: Settings, eliminated: Callable[[FactorGraph], FactorGraph]
) -> Decision:
    plan, reason = exact_plan(eliminated(model.graph), settings)
    if plan is None:
        return _sampled(model, settings, reason)
    return Decision(model, replace(settings, method="exact"), reason, plan)


def exact_plan(graph: FactorGraph, settings: Settings) -> tuple[Plan | None, str]:
    """A plan of elimination and its price, or None and why it is not affordable."""
    from orbitmc.exact.plan import predict, require_fit

    within = math.inf if settings.method == "exact" else most_seconds(settings)
    begun = working_time()
    try:
        plan = predict(graph, memory=settings.memory, seconds=patience(settings), within=within)
        if settings.method == "exact":
            require_fit(plan, settings.memory)
        if settings.method == "auto" and (longer := _more_patience(plan, settings)):
            plan = predict(graph, memory=settings.memory, seconds=longer, within=within)
    except LimitError as error:
        if settings.method == "exact":
            raise
        return None, str(error)
    if settings.method == "exact" or affordable(plan, settings, working_time() - begun):
        from orbitmc.ask.method.consistency import unheeded

        return plan, f"{price(plan)}{unheeded(settings)}"
    return None, f"{price(plan)}, too much"


def patience(settings: Settings) -> float:
    """How long to look for a good order; a short run cannot wait for it."""
    if settings.method == "exact":
        return 5 * ORDER_SECONDS
    return min(ORDER_SECONDS, ORDER_SHARE * (settings.seconds or math.inf))


def _more_patience(plan: Plan | Template, settings: Settings) -> float:
    """How long to look on for an order where a better one may be affordable; 0 elsewhere.

    A long run can wait, and a longer search finds orders that need a fraction of memory and time.
    """
    longer = min(ORDER_SHARE * (settings.seconds or 0.0), MOST_ORDER_SECONDS)
    near = plan.bytes <= NEAR * settings.memory and plan.seconds <= NEAR * (settings.seconds or 0.0)
    return longer if near and longer > ORDER_SECONDS and not affordable(plan, settings) else 0.0


def _sampled(model: Model, settings: Settings, reason: str) -> Decision:
    """Sample, because exact elimination was ruled out."""
    _require_few_values(model, reason)
    from orbitmc.ask.method.fitting import fitted

    settings = fitted(model.graph, settings)
    plain = replace(settings, method="gibbs")
    if settings.scan == "random" or settings.base == "low-width":
        chosen = Decision(model, plain, reason)
    elif in_blocks := _unfrozen(model, plain, reason):
        chosen = in_blocks
    else:
        chosen = _tuned(model, replace(settings, method="lmh"), reason)
    return replace(chosen, ruled_out=("exact",))


def _unfrozen(model: Model, settings: Settings, reason: str) -> Decision | None:
    """Draw blocks instead of single variables, where zeros freeze these; None elsewhere."""
    asked = settings.method == "gibbs" and settings.base == "gibbs" and settings.scan is None
    if not asked or not model.graph.has_zeros() or model.graph.variables > MOST_IN_BLOCKS:
        return None
    from orbitmc.ask.method.fitting import prepared_for
    from orbitmc.ask.method.freezing import frozen_alone

    prepared = prepared_for(model.graph, settings.schedule())
    frozen = frozen_alone(prepared, settings)
    if frozen == 0:
        return None
    words = f"{frozen} variables are frozen if changed one at a time"
    chosen = _tuned(model, replace(settings, base="low-width"), f"{reason}; {words}")
    return replace(chosen, prepared=prepared)


def _require_few_values(model: Model, otherwise: str) -> None:
    most = int(model.graph.cardinality.max(initial=1))
    if most > MOST_VALUES:
        raise LimitError(
            f"a variable has {most} values, sampling handles up to {MOST_VALUES}; {otherwise}"
        )


def _tuned(model: Model, settings: Settings, reason: str) -> Decision:
    """Let a race choose the jumps of Lifted Metropolis-Hastings."""
    from orbitmc.ask.method.memory import require_memory, sampling_bytes

    require_memory(sampling_bytes(model.graph, settings), settings)
    if settings.method != "lmh" or settings.names_jumps:
        return Decision(model, settings, reason)
    seconds = settings.schedule().seconds or DEFAULT_SECONDS
    from orbitmc.ask.method.fitting import prepared_for
    from orbitmc.tuning.race import race

    prepared = prepared_for(model.graph, settings.schedule())
    choice = race(model, prepared, seconds=RACE_SHARE * seconds)
    moved = replace(settings, moves=choice.recipe.record())
    return Decision(model, moved, f"{reason}; {choice.about}", choice=choice, prepared=prepared)


def price(plan: Plan | Template) -> str:
    """What exact elimination costs, in words."""
    return (
        f"exact elimination takes about {in_words(plan.bytes)} and {plan.seconds:.2g} s "
        f"(width {plan.width})"
    )


def affordable(plan: Plan | Template, settings: Settings, spent: float = 0.0) -> bool:
    """Whether an exact answer fits into the memory and the time that there is.

    So many seconds are `spent` of those that were asked for.
    """
    left = most_seconds(settings) - (0.0 if settings.seconds is None else spent)
    return plan.bytes <= settings.memory and plan.seconds <= left


def most_seconds(settings: Settings) -> float:
    """How long an exact answer may take."""
    return EXACT_SECONDS if settings.seconds is None else settings.seconds
