"""Which method answers a question, and why.

What a method needs is loaded when it is considered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orbitmc.ask.settings import DEFAULT_SECONDS, Settings
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.factor_graph import MOST_VALUES
from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph, prepare
from orbitmc.graph.weights.hardening import hardened
from orbitmc.machine.compiling import Stopwatch
from orbitmc.machine.settings import settings_of
from orbitmc.machine.text import in_words

if TYPE_CHECKING:
    from orbitmc.exact.plan import Plan
    from orbitmc.kernels.kernel import Kernel
    from orbitmc.tuning.race import Choice

EXACT_SECONDS = 20.0  # `auto` prefers an exact answer so long, or as long as the run may take
ORDER_SECONDS = 2.0  # how long `auto` looks for a good elimination order
ORDER_SHARE = 0.2  # of the time that was asked for, if that is less
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
    from orbitmc.ask.method.memory import require_memory, sampling_bytes

    require_memory(sampling_bytes(model.graph, settings), settings)
    reason = f"the kernel {type(kernel).__name__} was given"
    return Decision(model, settings, reason, kernel=kernel)


def decide(model: Model, settings: Settings) -> Decision:
    """Choose a method, and for Lifted Metropolis-Hastings the jumps, unless they are given.

    All that is chosen is in the decision's settings, so it can be carried out again.
    """
    settings.require_use()
    settings.schedule()  # refuses two ends
    if settings.approximation is not None:
        from orbitmc.ask.method.relational_lifting import program_of

        program_of(model)  # refuses other models
    try:
        with Stopwatch() as deciding:
            firm = hardened(model)
            if settings.method in ("auto", "exact"):
                decision = _exact_or_sampled(firm.model, settings)
            else:
                _require_few_values(model, "the exact method has no such limit")
                decision = _tuned(firm.model, settings, f"{settings.method} was asked for")
    except ContradictionError as error:
        from orbitmc.graph.possible.conflict import explained

        raise explained(model, error) from None
    return replace(decision, remarks=firm.remarks, seconds=deciding.seconds)


def _exact_or_sampled(model: Model, settings: Settings) -> Decision:
    from orbitmc.exact.plan import predict

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
    from orbitmc.ask.method.memory import require_memory, sampling_bytes

    require_memory(sampling_bytes(model.graph, settings), settings)
    if settings.method != "lmh" or settings.names_jumps:
        return Decision(model, settings, reason)
    seconds = settings.schedule().seconds or DEFAULT_SECONDS
    from orbitmc.tuning.race import race

    prepared = prepare(model.graph)
    choice = race(model, prepared, seconds=RACE_SHARE * seconds)
    moved = replace(settings, moves=choice.recipe.record())
    return Decision(model, moved, f"{reason}; {choice.about}", choice=choice, prepared=prepared)


def price(plan: Plan) -> str:
    """What exact elimination costs, in words."""
    return (
        f"exact elimination takes about {in_words(plan.bytes)} and {plan.seconds:.2g} s "
        f"(width {plan.width})"
    )


def _affordable(plan: Plan, settings: Settings) -> bool:
    limit = EXACT_SECONDS if settings.seconds is None else settings.seconds
    return plan.bytes <= settings.memory and plan.seconds <= limit
