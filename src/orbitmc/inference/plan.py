"""Which method answers a question, and why.

What a method needs is loaded when it is considered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc import conditionals, inference, kernels, sampling, tuning
from orbitmc import graph as graphs
from orbitmc._numba.compile_log import spent_before, time_limit, working_time
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import LANE_UNIT, MOST_VALUES, lengths, short_repr
from orbitmc._util.settings import settings_of
from orbitmc._util.text import format_bytes
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact.groups import GroupedPlan, predict_marginals
from orbitmc.exact.plan import SECONDS_PER_BUCKET, EliminationPlan, predict, require_fit
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.fringe import (
    MOST_VARIABLES_TO_ELIMINATE,
    Fringe,
    eliminate_fringe,
    find_followers,
    join_fringes,
)
from orbitmc.graph.hardening import harden
from orbitmc.graph.log_weights import WIDEST, large_factors
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components, select_component, select_variables
from orbitmc.graph.support import hard_factors, possible_values
from orbitmc.inference.settings import DEFAULT_SECONDS, Settings, describe_unused_settings
from orbitmc.sampling.schedule import GRACE_SECONDS, LANES, PACKS, SWEEPS_PER_SAMPLE, Schedule

if TYPE_CHECKING:
    from orbitmc.conditionals.prepared import PreparedGraph
    from orbitmc.exact.templates import Template
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.mln.grounding.grounding import Ground
    from orbitmc.sampling.budget import RunShape
    from orbitmc.sampling.checkpoint import Checkpoint
    from orbitmc.tuning.panel import AskedFeatures
    from orbitmc.tuning.race import RaceResult


EXACT_SECONDS = 20.0  # `auto` prefers an exact answer so long, or as long as the run may take
ENOUGH_SECONDS = 0.05  # of an elimination: to search an order takes as long
ORDER_SECONDS = 2.0  # how long `auto` looks for a good elimination order
MOST_ORDER_SECONDS = 60.0  # in a long run, where a better order might be affordable
NEAR = 256.0  # times as much memory or time as there is: so much less a better order may need
SECONDS_PER_EDGE = 2e-6  # at least, between a model and its first sample
SECONDS_PER_HARD_EDGE = 5e-6  # more, where states without zeros have to be found
ORDER_SHARE = 0.2  # of the time that was asked for, if that is less
MAX_BLOCK_GIBBS_VARIABLES = (
    4_000  # variables for which blocks are chosen unasked: more take minutes
)
BLOCK_SHARE = 0.2  # of a run goes into choosing blocks
BLOCK_SPEED = 3e6  # visits of factors in a second, about
UNTIMED_SECONDS = 60.0  # what a run that ends after samples may take, where work is limited
SYMMETRY_SHARE = 0.5  # of a run at most goes into looking for its symmetries
SECONDS_PER_ENTRY = 1e-6  # of a table, to write a model as a graph
NO_TIME_FOR_SYMMETRIES = "there is no time to look for symmetries in tables of this size"
SPLIT_SHARE = 0.7  # of the time that was asked for may be over when other components are answered
MOST_SAMPLED_COMPONENTS = 64  # the largest ones
FRINGE_SECONDS, FRINGE_SHARE = 1e-4, 0.15  # to sum out a variable; of the time that was asked for
FACTOR_WORK = 0.2  # to read a factor, of what it takes to sum out a variable
MOST_CORE, MOST_COST = 0.5, 0.7  # of the variables, and of the cost of a sweep, may be left
FOUND_IN_CORES = frozenset({"gauge flips"})  # jumps that are looked for anew
NO_RELATION = (
    "base=relations is for marginals, joints, events, means and draws of programs with a predicate "
    "that hard rules make an equivalence relation, a total order, a matching or a forest, and of "
    "which some atoms are unknown"
)
RACE_SHARE = 0.05  # of a run goes into finding out which jumps pay
SURELY = 0.25  # of the time that a sweep with zeros is expected to take, it takes at least

PricedPlan: TypeAlias = "EliminationPlan | GroupedPlan | Template"
PlanType = TypeVar("PlanType", EliminationPlan, EliminationPlan | GroupedPlan)
Eliminate = Callable[[FactorGraph, Settings], tuple[EliminationPlan | GroupedPlan | None, str]]


@dataclass(frozen=True)
class Plan:
    """How a question will be answered, and why; `settings` name a method that is not `auto`.

    An `elimination` answers exactly; without one, chains answer. `model` is what is asked about,
    with weights that can be added up; `remarks` say what that took. `prepared` is its graph, if
    the plan prepared it already. So many `seconds` have gone by since the question was asked,
    without compiling. `ruled_out` are methods that cannot answer, or take too long. A `kernel`
    that was given is used as it is, and a `checkpoint` is continued. `query` names the variables
    to report, if not all. A timed run leaves `reserve` seconds for what is done after it. The
    question does not need the variables that are `left_out`. The plan `beside` eliminates other
    components of the same model. With a `fringe` chains sample its core only, and `prepared` is the
    core's.
    """

    model: Model
    settings: Settings
    reason: str
    elimination: EliminationPlan | GroupedPlan | None = None
    choice: RaceResult | None = None
    prepared: PreparedGraph | None = None
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
    ruled_out: tuple[str, ...] = ()
    kernel: Kernel | None = None
    query: tuple[str, ...] | None = None
    checkpoint: Checkpoint | None = None
    reserve: float = 0.0
    left_out: int = 0
    beside: Plan | None = None
    fringe: Fringe | None = None
    begun: float = field(default_factory=working_time)

    def record(self) -> dict[str, Any]:
        """What a checkpoint needs to say, so that the same kernel can be built again."""
        ours = self.kernel is None or self.settings.base == "counts"
        own_kernel = {} if ours else {"own": type(self.kernel).__name__}
        return {
            "kernel": {**self.settings.kernel(), **own_kernel},
            "ruled_out": list(self.ruled_out),
            "query": None if self.query is None else list(self.query),
            "fringe": self.fringe is not None and len(self.fringe.network) > self.fringe.followers,
            "followers": self.fringe is not None and self.fringe.followers > 0,
        }

    @property
    def one_elimination(self) -> EliminationPlan:
        """The elimination of everything at once: questions about several variables need that."""
        assert isinstance(self.elimination, EliminationPlan)
        return self.elimination

    @property
    def sampled_model(self) -> Model:
        """What chains sample: the model, or its core."""
        return self.model if self.fringe is None else core_of(self.model, self.fringe)


def core_of(model: Model, fringe: Fringe) -> Model:
    """The variables of a model that are left when a fringe is summed out."""
    names = tuple(model.names[place] for place in fringe.places.tolist())
    return Model(
        graph=fringe.core,
        names=names,
        order=tuple(name for name in names if name not in model.helpers),
        values=tuple(model.values[place] for place in fringe.places.tolist()),
    )


def plan_for_kernel(model: Model, kernel: Kernel, settings: Settings) -> Plan:
    """Let a given kernel answer; settings that choose one have no meaning beside it."""
    if settings.method != "auto":
        raise InputError(f"the kernel is given: leave out the method {settings.method!r}")
    kernels.protocol.require_kernel(kernel)
    for setting in settings_of(Settings).values():
        if setting.methods and getattr(settings, setting.name) != setting.default:
            raise InputError(f"the kernel is given: leave out {setting.name}")
    settings.require_use()
    _require_few_values(model, "the exact method has no such limit")

    require_time_to_prepare(model.graph, settings)
    settings = fit_to_budget(model.graph, settings)
    require_memory(sampling_bytes(model.graph, settings), settings)
    reason = f"the kernel {type(kernel).__name__} was given"
    spent = seconds_spent(settings)
    return Plan(model, settings, reason, kernel=kernel, remarks=model.doubts, seconds=spent)


def seconds_spent(settings: Settings) -> float:
    """How much of the time that was asked for is over; none if nobody asked for any."""
    return 0.0 if settings.seconds is None else spent_before()


def asked_at(settings: Settings) -> float:
    """When the question was asked, on the clock that stands still while code compiles."""
    return working_time() - seconds_spent(settings)


def plan_model(
    model: Model,
    settings: Settings,
    extend: Callable[[FactorGraph], FactorGraph] = lambda graph: graph,
    *,
    too_wide: str = "",
    collapses: bool = False,
    eliminate: Eliminate | None = None,
    features: AskedFeatures | None = None,
) -> Plan:
    """Choose a method, and for Lifted Metropolis-Hastings the jumps, unless they are given.

    All that is chosen is in the plan's settings, so it can be executed again. `extend`
    gives the graph that an exact answer eliminates, if it needs more than the model has. What is
    known to be `too_wide` for elimination, in words, is sampled. A question that `collapses` is
    answered from chains of a core, where that pays. Other ways to `eliminate` than of everything at
    once may be given. A race watches the `features` that are asked for, too.
    """

    def sample(firm: Model, reason: str) -> Plan:
        if collapses:
            return _plan_part_to_sample(firm, settings, reason, features)
        return _plan_sampling(firm, settings, reason, features)

    def choose(firm: Model) -> Plan:
        if too_wide and settings.method == "auto":
            return sample(firm, too_wide)
        if settings.method == "auto":
            _require_time_for_either(firm.graph, settings)
        if settings.method in ("auto", "exact"):
            elimination, reason = (eliminate or plan_elimination)(extend(firm.graph), settings)
            if elimination is None:
                return sample(firm, reason)
            return Plan(firm, replace(settings, method="exact"), reason, elimination)
        _require_few_values(model, "the exact method has no such limit")
        if collapses and settings.method == "mcsat":
            return _leave_out_followers(firm, lambda part: _plan_as_requested(part, settings))
        return _plan_as_requested(firm, settings, features)

    return _plan_firm(model, settings, choose)


def plan_whole(model: Model, settings: Settings) -> Plan:
    """Choose one method for all marginals of a model."""
    return plan_model(model, settings, collapses=True, eliminate=plan_marginals)


def plan_components(model: Model, settings: Settings) -> Plan:
    """Let `auto` eliminate what it can: all components, or all but the largest ones.

    What makes a model too wide are mostly few of its components, and large ones. These are
    sampled; the plan `beside` eliminates the others.
    """
    return _plan_firm(model, settings, lambda firm: _plan_parts(firm, settings))


def _plan_firm(model: Model, settings: Settings, choose: Callable[[Model], Plan]) -> Plan:
    """Choose for a model whose weights can be added up, and say what that took."""
    begun, before = asked_at(settings), seconds_spent(settings)
    settings.require_use()
    refuse_counting(settings)
    if settings.method == "toulbar2":
        raise InputError("toulbar2 finds best states; it knows nothing of probabilities")
    seconds = settings.schedule().seconds  # refuses two ends
    latest = math.inf if seconds is None else seconds + GRACE_SECONDS - before
    if settings.approximation is not None:
        inference.program_of(model)  # refuses other models
    try:
        with time_limit(latest), Stopwatch() as planning:
            if settings.base == "relations":
                return _plan_relations(model, settings, begun)
            if settings.base == "counts":
                raise InputError(NO_CELLS)
            firm = harden(model)
            plan = choose(firm.model)
    except ContradictionError as error:
        raise graphs.explain_contradiction(model, error) from None
    chosen = with_block_work(plan.settings)
    spent = before + planning.seconds
    return replace(plan, settings=chosen, remarks=firm.remarks, seconds=spent, begun=begun)


NO_CELLS = (
    "base=counts is for marginals, joints and events of Markov logic programs: it samples cells of "
    "constants"
)


def refuse_counting(settings: Settings) -> None:
    """Refuse to count what is no program, or a question for which nobody counts."""
    if settings.method == "counting":
        raise InputError(
            "counting is for marginals, joints, events, log Z, draws, best states and numbers of "
            "true groundings of Markov logic programs"
        )


def _plan_parts(model: Model, settings: Settings) -> Plan:
    """Eliminate everything, unless the largest component is too wide already."""
    exact = replace(settings, method="exact")
    _require_time_for_either(model.graph, settings)
    part_of = components(model.graph)
    sizes = np.bincount(part_of, minlength=1)
    elimination, reason = None, ""
    if len(sizes) > 1:
        largest = select_component(model.graph, part_of == sizes.argmax())
        elimination, reason = plan_marginals(largest, settings)
    if len(sizes) == 1 or elimination is not None:
        elimination, reason = plan_marginals(model.graph, settings)
    if elimination is not None:
        return Plan(model, exact, reason, elimination)
    split = split_components(model, settings)
    if split is None:
        return _plan_part_to_sample(model, settings, reason)
    hard = replace(split.hard, observed={})
    beside = Plan(split.easy, exact, split.cost, split.elimination)
    return replace(_plan_part_to_sample(hard, settings, reason), beside=beside)


def _require_time_for_either(graph: FactorGraph, settings: Settings) -> None:
    """Refuse a graph at once that there is no time to eliminate, and none to sample."""
    if settings.seconds is None:
        return
    if SECONDS_PER_BUCKET * graph.variables > settings.seconds + GRACE_SECONDS:
        require_time_to_prepare(graph, settings)


class Split(NamedTuple):
    """Components that elimination affords together, at a cost in words, and the other ones."""

    easy: Model
    hard: Model
    elimination: EliminationPlan | GroupedPlan
    cost: str


def split_components(model: Model, settings: Settings) -> Split | None:
    """Set as few of the largest components apart as leave an affordable rest; None if none do."""
    part_of = components(model.graph)
    sizes = np.bincount(part_of, minlength=1)
    largest, count = np.argsort(-sizes, kind="stable"), 1
    while count < min(len(sizes), MOST_SAMPLED_COMPONENTS):
        apart = np.isin(part_of, largest[:count])
        if not _has_time_to_eliminate(int((~apart).sum()), settings):
            break
        easy = select_variables(model, np.flatnonzero(~apart))
        elimination, cost = plan_marginals(easy.graph, settings)
        if elimination is not None:
            hard = select_variables(model, np.flatnonzero(apart))
            return Split(easy, hard, elimination, cost)
        count *= 4
    return None


def _has_time_to_eliminate(variables: int, settings: Settings) -> bool:
    """Whether so many variables can be eliminated before most of the time is over."""
    needed = SECONDS_PER_BUCKET * variables
    if settings.seconds is None:
        return needed <= EXACT_SECONDS
    return seconds_spent(settings) + needed <= SPLIT_SHARE * settings.seconds


def with_block_work(settings: Settings) -> Settings:
    """Limit the work of choosing blocks by the time there is; a count, so it can be repeated."""
    if settings.base != "low-width" or settings.block_work is not None:
        return settings
    seconds = settings.seconds or UNTIMED_SECONDS
    return replace(settings, block_work=max(1, int(BLOCK_SHARE * seconds * BLOCK_SPEED)))


def _plan_as_requested(
    model: Model, settings: Settings, features: AskedFeatures | None = None
) -> Plan:
    """Sample by the method that was asked for."""
    require_time_to_prepare(model.graph, settings)
    settings, reason = fit_to_budget(model.graph, settings), f"{settings.method} was asked for"
    settings = _fit_slices_to_seconds(model.graph, settings)
    matched = _plan_structure(model, settings, reason) if settings.method == "lmh" else None
    in_blocks = matched or _plan_blocks_if_frozen(model, settings, reason)
    return in_blocks or _plan_with_race(model, settings, reason, features)


def _plan_relations(model: Model, settings: Settings, begun: float) -> Plan:
    """Sample equivalence relations, orders and matchings, whose rules are not ground."""
    if not model.relations:
        raise InputError(NO_RELATION)
    names = ", ".join(relation.name for relation in model.relations)
    if len(large_factors(model.graph)):
        raise LimitError(
            f"log-weights that range over more than {WIDEST:g} need the rules of {names} to be "
            "ground; the methods mcsat and gibbs do that"
        )
    require_time_to_prepare(model.graph, settings)
    automatic, settings = settings.method == "auto", fit_to_budget(model.graph, settings)
    settings = replace(settings, method="gibbs") if automatic else settings
    require_memory(sampling_bytes(model.graph, settings), settings)
    words = " and ".join(f"{relation.name} is {relation.kind}" for relation in model.relations)
    reason, prepared, choice = f"{words}, and rules that say so need no grounding", None, None
    if automatic:
        prepared = prepare_within(model.graph, settings.schedule())
        seconds = RACE_SHARE * (settings.schedule().seconds or DEFAULT_SECONDS)
        sweep = 1e-9 * LANE_UNIT * PARTITION_SWEEP * _sweep_nanoseconds(model.graph)
        choice = tuning.race_splits(model, prepared, seconds=seconds, least_sweep=sweep)
        reason = "; ".join(filter(None, [reason, choice.about]))
        if choice.recipe.families:
            settings = replace(settings, method="lmh", moves=choice.recipe.record())
    return Plan(
        model,
        settings,
        reason,
        choice=choice,
        prepared=prepared,
        remarks=model.doubts,
        seconds=seconds_spent(settings),
        ruled_out=("exact", *({"lmh"} - {settings.method}), "lifted", "mcsat"),
        begun=begun,
    )


def plan_elimination(graph: FactorGraph, settings: Settings) -> tuple[EliminationPlan | None, str]:
    """A plan of elimination and its price, or None and why it is not affordable."""
    return _plan_affordable(graph, settings, predict)


def plan_marginals(
    graph: FactorGraph, settings: Settings
) -> tuple[EliminationPlan | GroupedPlan | None, str]:
    """The same for all marginals, which groups of variables may have one after the other."""
    return _plan_affordable(graph, settings, predict_marginals)


def _plan_affordable(
    graph: FactorGraph, settings: Settings, predict: Callable[..., PlanType]
) -> tuple[PlanType | None, str]:
    within = math.inf if settings.method == "exact" else most_seconds(settings)
    begun = working_time() - spent_before()
    try:
        plan = predict(
            graph,
            memory=settings.memory,
            seconds=order_search_seconds(settings),
            within=within,
            enough=ENOUGH_SECONDS,
        )
        if settings.method == "exact":
            require_fit(plan.bytes, settings.memory)
        if settings.method == "auto" and (longer := _longer_order_search_seconds(plan, settings)):
            plan = predict(graph, memory=settings.memory, seconds=longer, within=within)
    except LimitError as error:
        if settings.method == "exact":
            raise
        return None, str(error)
    if settings.method == "exact" or is_affordable(plan, settings, working_time() - begun):
        return plan, f"{describe_cost(plan)}{describe_unused_settings(settings)}"
    return None, f"{describe_cost(plan)}, too much"


def order_search_seconds(settings: Settings) -> float:
    """How long to look for a good order; a short run cannot wait for it."""
    most = 5 * ORDER_SECONDS if settings.method == "exact" else ORDER_SECONDS
    return min(most, ORDER_SHARE * (settings.seconds or math.inf))


def _longer_order_search_seconds(plan: PricedPlan, settings: Settings) -> float:
    """How long to look on for an order where a better one may be affordable; 0 elsewhere.

    A long run can wait, and a longer search finds orders that need a fraction of memory and time.
    """
    longer = min(ORDER_SHARE * (settings.seconds or 0.0), MOST_ORDER_SECONDS)
    near = plan.bytes <= NEAR * settings.memory and plan.seconds <= NEAR * (settings.seconds or 0.0)
    return longer if near and longer > ORDER_SECONDS and not is_affordable(plan, settings) else 0.0


def _plan_sampling(
    model: Model, settings: Settings, reason: str, features: AskedFeatures | None = None
) -> Plan:
    """Sample, because exact elimination was ruled out."""
    _require_few_values(model, reason)

    require_time_to_prepare(model.graph, settings)
    settings = fit_to_budget(model.graph, settings)
    plain = replace(settings, method="gibbs")
    if settings.scan == "random" or settings.base == "low-width":
        chosen = Plan(model, plain, reason)
    elif matched := _plan_structure(model, replace(settings, method="lmh"), reason):
        chosen = matched
    elif in_blocks := _plan_blocks_if_frozen(model, plain, reason):
        chosen = in_blocks
    else:
        chosen = _plan_with_race(model, replace(settings, method="lmh"), reason, features)
    return replace(chosen, ruled_out=("exact",))


def _plan_structure(model: Model, settings: Settings, reason: str) -> Plan | None:
    """Draw orders, or rows of a matching, where hard factors make one of variables; else None."""
    if not model.graph.has_zeros() or settings.names_jumps:
        return None
    choice = tuning.tune_to_structure(model)
    if choice is None:
        return None
    require_memory(sampling_bytes(model.graph, settings), settings)
    prepared = prepare_within(model.graph, settings.schedule())
    moved = replace(settings, moves=choice.recipe.record())
    return Plan(model, moved, f"{reason}; {choice.about}", choice=choice, prepared=prepared)


def _plan_part_to_sample(
    model: Model, settings: Settings, reason: str, features: AskedFeatures | None = None
) -> Plan:
    """Sample what others do not decide, and of that the core, where it pays.

    Features are about all variables: a race on fewer does not watch them.
    """

    def sample(part: Model) -> Plan:
        watched = features if part is model else None
        return plan_core(_plan_sampling(part, settings, reason, watched))

    given = settings.moves or settings.generators or not isinstance(settings.base, str)
    return sample(model) if given or model.orders else _leave_out_followers(model, sample)


def _leave_out_followers(model: Model, sample: Callable[[Model], Plan]) -> Plan:
    """Plan to sample a model without variables that others decide, or that have one value."""
    fringe = find_followers(model.graph)
    if fringe is None:
        return sample(model)
    plan = sample(core_of(model, fringe))
    return replace(
        plan,
        model=model,
        fringe=fringe if plan.fringe is None else join_fringes(fringe, plan.fringe),
        reason="; ".join(filter(None, [_describe_followers(model, fringe), plan.reason])),
    )


def _describe_followers(model: Model, fringe: Fringe) -> str:
    """How many variables that people see need not be sampled."""
    seen = [step for step in fringe.network if model.names[step.variable] not in model.helpers]
    fixed = sum(not step.given for step in seen)
    words = [f"{fixed:,} variables have one possible value"] if fixed else []
    if fixed < len(seen):
        words.append(f"{len(seen) - fixed:,} variables follow from others")
    return "; ".join(words)


def plan_core(plan: Plan) -> Plan:
    """Let chains sample the core of a model only, where that pays; else the plan as it is.

    Symmetries of the model would be lost in the core: a plan that jumps along them stays.
    """
    if plan.choice is None or not FOUND_IN_CORES.issuperset(plan.choice.recipe.families):
        return plan
    fringe = find_fringe(plan.model.graph, plan.settings)
    if fringe is None:
        return plan
    reason = f"{_describe_fringe(plan.model, fringe)}; {plan.reason}"
    usual = replace(plan.settings, moves=None)
    sampled = _plan_with_race(core_of(plan.model, fringe), usual, reason)
    return replace(sampled, model=plan.model, fringe=fringe, ruled_out=plan.ruled_out)


def _describe_fringe(model: Model, fringe: Fringe) -> str:
    """How many variables that people see are summed out."""
    count = len(model.free_names)
    gone = count - len(core_of(model, fringe).free_names)
    return f"{gone:,} of {count:,} variables are summed out and exact given the others"


def find_fringe(graph: FactorGraph, settings: Settings) -> Fringe | None:
    """What is cheap to sum out of a graph, if chains of the rest are clearly faster.

    To sum variables out never makes chains slower to mix. So it pays where a sweep of what is left
    takes no longer. What is decided depends on the graph and on the time that was asked for.
    """
    work = FRINGE_SECONDS * (graph.variables + FACTOR_WORK * graph.factors)
    soon = work <= FRINGE_SHARE * (settings.seconds or math.inf)
    if not soon or graph.variables > MOST_VARIABLES_TO_ELIMINATE:
        return None
    fringe = eliminate_fringe(graph)
    if not 0 < fringe.core.variables <= MOST_CORE * graph.variables:
        return None
    return fringe if sweep_cost(fringe.core) <= MOST_COST * sweep_cost(graph) else None


def sweep_cost(graph: FactorGraph) -> float:
    """About what it costs to draw each variable once: more of its neighbours cost more."""
    others = (graph.arities - 1)[graph.factor_of_edge]
    near = np.bincount(graph.scope, others, minlength=graph.variables)
    return float((near + 1.0).sum())


def _plan_blocks_if_frozen(model: Model, settings: Settings, reason: str) -> Plan | None:
    """Draw blocks instead of single variables, where zeros freeze these; None elsewhere."""
    asked = settings.method == "gibbs" and settings.base == "gibbs" and settings.scan is None
    if (
        not asked
        or not model.graph.has_zeros()
        or model.graph.variables > MAX_BLOCK_GIBBS_VARIABLES
    ):
        return None

    prepared = prepare_within(model.graph, settings.schedule())
    frozen = count_frozen_by_single_site(prepared, settings)
    if frozen == 0:
        return None
    words = f"{frozen} variables are frozen if changed one at a time"
    chosen = _plan_with_race(model, replace(settings, base="low-width"), f"{reason}; {words}")
    return replace(chosen, prepared=prepared)


def _require_few_values(model: Model, otherwise: str) -> None:
    most = int(model.graph.cardinality.max(initial=1))
    if most > MOST_VALUES:
        raise LimitError(
            f"a variable has {most} values, sampling handles up to {MOST_VALUES}; {otherwise}"
        )


def _plan_with_race(
    model: Model, settings: Settings, reason: str, features: AskedFeatures | None = None
) -> Plan:
    """Let a race choose the jumps of Lifted Metropolis-Hastings, for `features` that are asked."""
    require_memory(sampling_bytes(model.graph, settings), settings)
    if settings.method != "lmh" or settings.names_jumps:
        return Plan(model, settings, reason)
    seconds = settings.schedule().seconds or DEFAULT_SECONDS

    prepared = prepare_within(model.graph, settings.schedule())
    choice = tuning.run_race(
        model,
        prepared,
        seconds=RACE_SHARE * seconds,
        features=features,
        least_sweep=_least_sweep(model.graph),
    )
    if choice.memory is not None:
        sparse = features is not None
        variables = model.graph.variables
        settings = fit_to_memory(settings, choice.memory, choice.step, variables, sparse=sparse)
    if choice.spacing is not None and settings.spacing is None:
        settings = replace(settings, spacing=choice.spacing)
    moved = replace(settings, moves=choice.recipe.record())
    return Plan(model, moved, f"{reason}; {choice.about}", choice=choice, prepared=prepared)


def _least_sweep(graph: FactorGraph) -> float:
    """Seconds that a sweep of a trial takes for sure, where starts are looked for around zeros."""
    if not graph.has_zeros():
        return 0.0
    return SURELY * 1e-9 * LANE_UNIT * _sweep_nanoseconds(graph)


def describe_cost(plan: PricedPlan) -> str:
    """What exact elimination costs, in words."""
    return (
        f"exact elimination takes about {format_bytes(plan.bytes)} and {plan.seconds:.2g} s "
        f"({plan.in_words})"
    )


def is_affordable(plan: PricedPlan, settings: Settings, spent: float = 0.0) -> bool:
    """Whether an exact answer fits into the memory and the time that there is.

    So many seconds are `spent` of those that were asked for.
    """
    left = most_seconds(settings) - (0.0 if settings.seconds is None else spent)
    return plan.bytes <= settings.memory and plan.seconds <= left


def most_seconds(settings: Settings) -> float:
    """How long an exact answer may take."""
    return EXACT_SECONDS if settings.seconds is None else settings.seconds


# Which kernel the settings of a question mean.
#
# Each method loads its own files, when it is asked for.


@dataclass(frozen=True)
class PlannedKernel:
    """A kernel, in words what its jumps are, and which tally rows are equal for sure.

    `pools` is None unless the symmetries are exact.
    """

    kernel: Kernel
    about: str
    pools: NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        return short_repr(self)


def choose_kernel(
    model: Model, prepared: PreparedGraph, settings: Settings, ground: Ground | None = None
) -> PlannedKernel:
    """The kernel that a method means; the same settings give the same kernel."""
    if settings.base == "relations":
        scan, about = kernels.relations.relation_scan(prepared, model.relations)
        if settings.method == "gibbs":
            return PlannedKernel(scan, about)
        if settings.moves is not None:
            return PlannedKernel(tuning.add_splits(settings.moves, scan), about)
        jumping = inference.lift_by_similar_evidence(
            model, prepared, settings, alpha=inference.base_weight(settings), base=scan
        )
        return replace(jumping, about=f"{about}; {jumping.about}")
    if settings.method == "lifted":
        return _lifted_kernel(model, prepared, settings, ground)
    if settings.method == "lmh":
        return _lmh_kernel(model, prepared, settings)
    if settings.method == "mcsat":
        return PlannedKernel(_mcsat(model, settings), "")
    if settings.base == "low-width":
        return _block_gibbs_kernel(model, settings)
    kernel = kernels.RandomScan() if settings.scan == "random" else kernels.SystematicScan()
    return PlannedKernel(kernel, "")


def _block_gibbs_kernel(model: Model, settings: Settings) -> PlannedKernel:
    """Gibbs that draws blocks of variables."""
    kernel = kernels.low_width(model.graph, most_work=settings.block_work or math.inf)
    return PlannedKernel(kernel, kernel.about)


def _lifted_kernel(
    model: Model, prepared: PreparedGraph, settings: Settings, ground: Ground | None
) -> PlannedKernel:
    """Jumps along exact symmetries; of a program, along renamings of its constants."""
    base = base_chain(model, settings)
    if settings.seconds is not None:
        looking = SECONDS_PER_ENTRY * len(model.graph.table)
        if looking > SYMMETRY_SHARE * settings.seconds:
            return PlannedKernel(base, NO_TIME_FOR_SYMMETRIES)
    if ground is not None:
        return inference.lift_by_renaming(
            ground, model, prepared, alpha=inference.base_weight(settings), base=base
        )

    return inference.by_exact_symmetries(
        model, prepared, alpha=inference.base_weight(settings), base=base
    )


def _lmh_kernel(model: Model, prepared: PreparedGraph, settings: Settings) -> PlannedKernel:
    """Lifted Metropolis-Hastings: recorded jumps, given generators, or blocks that are shuffled."""
    if settings.approximation is not None:
        base = base_chain(model, settings)
        return inference.lift_by_similar_evidence(
            model, prepared, settings, alpha=inference.base_weight(settings), base=base
        )
    if settings.moves is not None and not settings.generators:
        return PlannedKernel(tuning.tuning_from_record(settings.moves).kernel(model, prepared), "")

    base = base_chain(model, settings)
    if settings.generators:
        return inference.lift_by_generators(
            model, prepared, settings.generators, alpha=inference.base_weight(settings), base=base
        )
    if settings.by_pilot:
        return inference.by_pilot(prepared, alpha=inference.base_weight(settings), base=base)
    return inference.by_approximate_symmetries(
        model,
        prepared,
        alpha=inference.base_weight(settings),
        clusters=inference.CLUSTERS if settings.clusters is None else settings.clusters,
        rank=settings.rank,
        max_moved=settings.max_moved,
        min_acceptance=settings.min_acceptance,
        base=base,
    )


def base_chain(model: Model, settings: Settings) -> Kernel:
    """What jumps are mixed with: Gibbs, in blocks or not, MC-SAT, or a kernel that was given."""
    if settings.base == "mcsat":
        return _mcsat(model, settings)
    if settings.base == "low-width":
        return _block_gibbs_kernel(model, settings).kernel
    return kernels.RandomScan() if isinstance(settings.base, str) else settings.base


def _mcsat(model: Model, settings: Settings) -> Kernel:
    large = kernels.mcsat.SLICE_SAMPLERS[settings.slices or "walk"]
    return kernels.mc_sat(model.graph, large=large)


# Whether a run fits into the memory that it may take.


def require_memory(needed: int, settings: Settings) -> None:
    """Refuse a run that would not fit, with the figure, before any of it is allocated."""
    if needed > settings.memory:
        packs = "1 pack" if settings.pack_count == 1 else f"{settings.pack_count} packs"
        least = settings.pack_count == 1 and settings.lane_count == LANE_UNIT
        raise LimitError(
            f"{packs} of {settings.lane_count} chains need {format_bytes(needed)}, the limit "
            f"is {format_bytes(settings.memory)}; "
            + ("give it more memory" if least else "fewer packs or lanes need less")
        )


def sampling_bytes(graph: FactorGraph, settings: Settings) -> int:
    """How much memory a run takes, its model and its answer included, before there is a kernel."""
    shape = _shape(settings)
    if "mcsat" in (settings.method, settings.base):
        shape = shape._replace(extra=kernels.mcsat.slice_bytes(graph))
    if settings.base == "low-width":
        shape = shape._replace(extra=kernels.block_gibbs.block_bytes(graph, settings.lane_count))
    return sampling.budget.run_bytes(graph, shape)


def sampling_bytes_of(prepared: PreparedGraph, kernel: Kernel, settings: Settings) -> int:
    """How much memory a run of a kernel takes; what it holds of the graph counts once."""
    known: set[int] = set()
    sampling.budget.array_bytes(prepared, known)
    beside = sampling.budget.array_bytes(kernel, known)
    memory = sampling.budget.array_bytes(kernel.memory(prepared, settings.lane_count))
    return sampling.budget.run_bytes(
        prepared.graph, _shape(settings)._replace(shared=beside, extra=memory)
    )


def _shape(settings: Settings) -> RunShape:
    return sampling.budget.RunShape(settings.pack_count, settings.lane_count)


# How many chains and tables a large model gets: those for which memory and time are enough.
#
# What is chosen depends on the model and on what was asked for, not on the machine, so the same
# seed gives the same samples everywhere. What was asked for by name is never changed.

LARGE = 50_000  # variables; smaller models have the usual packs
ENOUGH = 24  # samples of each chain that a timed run should have
SHARE = 0.6  # of its time for them: the rest is for preparing, the warm-up and the answer
NANOSECONDS = 0.25  # of a sweep, for each lane and each variable that is or that a factor reads
NANOSECONDS_PER_VALUE = 1.0  # for each value of one that meets others than binary ones, and factor
MEMORIES = 200  # independent states of a chain that a timed run should have
LOOKS_PER_MEMORY, MOST_LOOKS = 4, 400  # samples while a slow chain forgets, and of it in all
RECORDING = 1.2  # sweeps that recording a sample takes
PARTITION_SWEEP = 4.0  # times as long as one of single variables, where pairs meet few factors
SLICE_NANOSECONDS = 23.0  # of a slice, for each lane and each entry of a table
FEWEST_SLICES = 2  # one of the warm-up, and one that is recorded
AT_ONCE = 2  # packs that most machines advance at the same time

PREPARING_SHARE = 0.1  # of its time for tables of conditionals
LIMITS_PER_SECOND = 1.6e7

WAYS = (
    (PACKS, LANES, SWEEPS_PER_SAMPLE),
    (AT_ONCE, LANES, SWEEPS_PER_SAMPLE),
    *((AT_ONCE, LANE_UNIT, sweeps) for sweeps in (SWEEPS_PER_SAMPLE, 2, 1)),
)
"""Packs, lanes, and sweeps between two samples, the best first.

Two packs of 64 chains have half as many sums as four packs of 32.
"""


def prepare_within(graph: FactorGraph, schedule: Schedule) -> PreparedGraph:
    """Prepare a graph in a share of the time that a run may take; all of it if that is open."""
    if schedule.seconds is None:
        return conditionals.prepare(graph)
    affordable = int(PREPARING_SHARE * schedule.seconds * LIMITS_PER_SECOND)
    return conditionals.prepare(graph, most_limits=max(affordable, conditionals.FEW_LIMITS))


def require_time_to_prepare(graph: FactorGraph, settings: Settings) -> None:
    """Refuse a model that cannot be made ready for sampling in the seconds that were asked for."""
    each = SECONDS_PER_EDGE + SECONDS_PER_HARD_EDGE * graph.has_zeros()
    needed = each * len(graph.scope)
    if settings.seconds is not None and needed > settings.seconds + GRACE_SECONDS:
        raise LimitError(
            f"to make {graph.variables:,} variables and {graph.factors:,} factors ready takes "
            f"about {needed:.2g} s: ask for more seconds"
        )


def fit_to_budget(graph: FactorGraph, settings: Settings) -> Settings:
    """Settings with as many packs, lanes and steps between samples as a large model can afford."""
    if graph.variables < LARGE:
        return settings
    timed = _fit_to_seconds(graph, settings)
    for packs, lanes in _shapes(timed, settings):
        chosen = replace(timed, packs=packs, lanes=lanes)
        if sampling_bytes(graph, chosen) <= settings.memory:
            break
    return chosen


def _fit_to_seconds(graph: FactorGraph, settings: Settings) -> Settings:
    """Fewer packs, lanes, then sweeps between samples, until there is time for enough samples."""
    seconds = settings.schedule().seconds
    if seconds is None:
        return settings
    for way in WAYS:
        chosen = _replace_shape(graph, settings, *way)
        if ENOUGH * sample_seconds(graph, chosen) <= SHARE * seconds:
            break
    return chosen


def fit_to_memory(
    settings: Settings, memory: float, step: float, variables: int, *, sparse: bool
) -> Settings:
    """Fewer and longer chains in a timed run whose chains forget slowly.

    A chain takes `memory` steps for an independent state, and a pack of the usual size `step`
    seconds for a step. Samples are further apart if they shall be `sparse`, because much is done
    with each; most variables forget sooner than the slowest. What was asked for stays.
    """
    seconds = settings.schedule().seconds
    if seconds is None:
        return settings
    at_once = min(settings.threads or AT_ONCE, AT_ONCE)
    steps = SHARE * seconds / step
    if settings.packs is None and settings.lanes is None:
        for packs, lanes in ((PACKS, LANES), (at_once, LANES), (at_once, LANE_UNIT)):
            steps = SHARE * seconds * at_once * LANES / (packs * lanes * step)
            if steps >= MEMORIES * memory:
                break
        settings = replace(settings, packs=packs, lanes=lanes)
    if sparse and settings.spacing is None:
        apart = int(min(memory / LOOKS_PER_MEMORY, steps / MOST_LOOKS))
        usual = SWEEPS_PER_SAMPLE * variables
        settings = replace(settings, spacing=max(usual, apart) if apart > usual else None)
    return settings


def _fit_slices_to_seconds(graph: FactorGraph, settings: Settings) -> Settings:
    """Fewer chains of MC-SAT where a slice of large tables takes long; refused where none fit."""
    if settings.seconds is None or "mcsat" not in (settings.method, settings.base):
        return settings
    sizes = lengths(graph.table_start)[graph.table_of[: graph.first_clause]]
    slices = 1e-9 * SLICE_NANOSECONDS * FEWEST_SLICES * float(sizes.sum())
    if slices * settings.lane_count <= settings.seconds:
        return settings
    lanes = settings.lanes or LANE_UNIT
    if slices * lanes > settings.seconds:
        raise LimitError(
            f"MC-SAT would take about {slices * lanes:.2g} s for the first sample of {lanes} "
            f"chains, because tables have {int(sizes.sum()):,} entries; give it more time, or try "
            "the method gibbs"
        )
    return replace(settings, packs=settings.packs or AT_ONCE, lanes=lanes)


def _replace_shape(
    graph: FactorGraph, settings: Settings, packs: int, lanes: int, sweeps: int
) -> Settings:
    usual = settings.spacing is not None or sweeps == SWEEPS_PER_SAMPLE
    spacing = settings.spacing if usual else sweeps * graph.variables
    packs, lanes = settings.packs or packs, settings.lanes or lanes
    return replace(settings, packs=packs, lanes=lanes, spacing=spacing)


def sample_seconds(graph: FactorGraph, settings: Settings) -> float:
    """About how long one sample of all packs takes."""
    sweep = 1e-9 * settings.lane_count * _sweep_nanoseconds(graph)
    if settings.base == "relations":
        sweep *= PARTITION_SWEEP
    spacing = settings.schedule().spacing_for(graph.variables)
    turns = -(-settings.pack_count // AT_ONCE)
    return turns * sweep * (spacing / graph.variables + RECORDING)


def _sweep_nanoseconds(graph: FactorGraph) -> float:
    """About how long a sweep of one lane takes."""
    degree = lengths(graph.incident_start)
    many = graph.cardinality[graph.scope] > 2
    factor_of = graph.factor_of_edge
    among_many = np.bincount(factor_of[many], minlength=graph.factors) > 0
    slow = np.bincount(graph.scope[among_many[factor_of]], minlength=graph.variables) > 0
    fast = NANOSECONDS * (1 + degree)
    return float(np.where(slow, NANOSECONDS_PER_VALUE * graph.cardinality * degree, fast).sum())


def _shapes(timed: Settings, asked: Settings) -> Iterator[tuple[int, int]]:
    """Numbers of packs and of lanes, the largest first; only those that nobody asked for vary."""
    fewer = (timed.lane_count, LANE_UNIT) if asked.lanes is None else (asked.lanes,)
    for lanes in dict.fromkeys(fewer):
        for packs in range(timed.pack_count, 0, -1) if asked.packs is None else (asked.packs,):
            yield packs, lanes


# Whether zeros keep chains from changing variables one at a time.

STARTS = 8  # different ones: to find one may take long; as many chains begin in each
PILOT = 16  # samples of each chain, a sweep apart


def count_frozen_by_single_site(prepared: PreparedGraph, settings: Settings) -> int:
    """How many variables never have a choice after some start, in a short pilot run of Gibbs.

    Values that are impossible anyhow do not count. Without a factor of several variables that has
    zeros there is no need to look.
    """
    graph = prepared.graph
    if not (graph.arities[hard_factors(graph)] > 1).any():
        return 0
    domains = possible_values(graph)
    kernel = kernels.SystematicScan()
    pack = sampling.pack.empty_pack(prepared, kernel, lanes=settings.lane_count)
    start = sampling.pack.start_values(graph, STARTS, np.random.SeedSequence(settings.seed))
    pack.values[...] = np.tile(start, settings.lane_count // STARTS)
    sampling.pack.advance(
        prepared, kernel, pack, recorded=0, samples=PILOT, spacing=graph.variables
    )
    left = np.add.reduceat(domains.allowed.astype(np.int64), domains.value_start[:-1])
    by_start = pack.tally.open.reshape(graph.variables, -1, STARTS).any(axis=1)
    return int(((left > 1) & ~by_start.all(axis=1)).sum())
