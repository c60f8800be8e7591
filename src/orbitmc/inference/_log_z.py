"""The logarithm of the sum of all weights: exact, or by cooling chains down."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np

from orbitmc import inference
from orbitmc._numba.compile_log import time_limit, working_time
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import Estimate, certain
from orbitmc.estimate.marginals import About
from orbitmc.exact.contraction import eliminate_cheap_variables
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.hardening import harden
from orbitmc.graph.model import Model
from orbitmc.inference.answer import answer, exact_about
from orbitmc.inference.plan import (
    Plan,
    asked_at,
    plan_elimination,
    refuse_counting,
    require_memory,
    require_time_to_prepare,
    sampling_bytes,
)
from orbitmc.inference.progress import current_progress
from orbitmc.inference.query import Query, Scope, View
from orbitmc.inference.settings import (
    DEFAULT_SECONDS,
    Options,
    Settings,
    accepts_settings,
    merge_options,
)
from orbitmc.sampling.annealed_importance import PACKS, POPULATIONS, SIZE, sample_log_z
from orbitmc.sampling.budget import available_cores
from orbitmc.sampling.pack import check_lanes, start_values
from orbitmc.sampling.schedule import Schedule

if TYPE_CHECKING:
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver


METHODS = ("auto", "exact", "counting", "gibbs")
LATEST = 1.1  # times the seconds that were asked for, and a little more: then a pass is given up
MORE = 0.2  # seconds
VARIABLES_PER_SECOND = 2_000  # that may be summed out, in a fifth of the time
FACTORS_PER_SECOND = 5_000  # that may be read for that, likewise
NOTHING_LEFT = "nothing is left to sample once all variables are summed out that are cheap to"


@accepts_settings
@interruptible()
def log_z(
    model: Model | Program,
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> Estimate:
    """Give the natural logarithm of the sum of all weights, evidence built in.

    Of a Bayesian network it is the log-probability of the evidence. `method="auto"` answers exactly
    when that is affordable. Otherwise variables that are cheap to sum out are, and of the rest
    populations of chains are cooled down (annealed importance sampling): `samples` is the number of
    temperatures, `seconds` and `standard_error` end a run as they do for marginals. Ctrl-C gives
    what the last complete pass has found.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> print(om.log_z(model, {"grass": "wet"}))
    -0.668923, exact
    """
    chosen = merge_options(settings, options)
    if chosen.method not in METHODS:
        raise InputError(f"log Z is found by {', '.join(METHODS)}, not by {chosen.method!r}")
    count = None if isinstance(model, Model) else partial(inference.count_log_z, model)
    return answer(Query(model, evidence, LogZQuestion, count), chosen)


class LogZQuestion:
    """The logarithm of the sum of all weights."""

    can_resume = False
    scopes: Sequence[Scope] = ()
    needs = None

    def __init__(self, view: View) -> None:
        self.view = view

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> Estimate:
        return certain(row.log_z, row.about)

    def plan(self, settings: Settings) -> Plan:
        """Eliminate, or cool chains; no other kernel is considered."""
        settings.require_use()
        refuse_counting(settings)
        firm = harden(self.view.model)
        elimination, reason = None, "gibbs was asked for"
        if settings.method != "gibbs":
            elimination, reason = plan_elimination(firm.model.graph, settings)
        return Plan(
            firm.model,
            settings,
            reason,
            elimination,
            remarks=firm.remarks,
            begun=asked_at(settings),
        )

    def from_elimination(self, plan: Plan) -> Estimate:
        assert plan.elimination is not None
        memory = plan.elimination.bytes
        log_z = eliminate(plan.model.graph, memory=memory, plan=plan.elimination, wanted=[]).log_z
        if not math.isfinite(log_z):
            raise LimitError("log Z is beyond the largest double")
        return certain(log_z, exact_about(plan))

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Estimate:
        with time_limit(plan.begun + latest(_seconds(plan.settings)) - working_time()):
            estimate = _sample_log_z(plan.model.graph, plan.settings, exact_about(plan))
        seconds = working_time() - plan.begun
        return replace(estimate, about=replace(estimate.about, seconds=seconds))


def latest(seconds: float) -> float:
    """When work is given up that should have taken so many seconds."""
    return LATEST * seconds + MORE


def _sample_log_z(graph: FactorGraph, settings: Settings, about: About) -> Estimate:
    seconds = min(_seconds(settings), 1e6)
    soon = graph.variables <= VARIABLES_PER_SECOND * seconds
    soon &= graph.factors <= FACTORS_PER_SECOND * seconds
    if soon and not (graph := eliminate_cheap_variables(graph)).variables:
        return certain(graph.constant, replace(about, reason=f"{about.reason}; {NOTHING_LEFT}"))
    lanes = POPULATIONS * SIZE
    check_lanes(graph, lanes)
    require_memory(sampling_bytes(graph, replace(settings, lanes=lanes, packs=PACKS)), settings)
    require_time_to_prepare(graph, settings)
    start_values(graph, 1, np.random.SeedSequence(settings.seed))  # refuses what is impossible
    threads, progress = settings.threads or available_cores(), current_progress()
    sampled = sample_log_z(
        graph,
        _schedule(settings),
        seed=settings.seed,
        threads=threads,
        executor=settings.executor,
        show=None if progress is None else progress.show,
    )
    about_run = replace(
        about,
        method="annealed importance sampling",
        reason=f"{about.reason}; {sampled.rungs:,} temperatures, {graph.variables:,} variables",
        seed=settings.seed,
        samples=sampled.rungs,
        chains=sampled.chains,
        interrupted=sampled.interrupted,
    )
    return Estimate(
        sampled.value, sampled.standard_error, sampled.low, sampled.high, sampled.verdict, about_run
    )


def _seconds(settings: Settings) -> float:
    """How long it may take; no limit if another end was asked for."""
    return _schedule(settings).seconds or math.inf


def _schedule(settings: Settings) -> Schedule:
    """When to end: as was asked for, or after the usual time."""
    ends = (settings.samples, settings.seconds, settings.standard_error)
    if all(end is None for end in ends):
        return Schedule(seconds=DEFAULT_SECONDS)
    return Schedule(*ends)
