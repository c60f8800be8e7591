"""States of a model: independent where elimination affords it, from chains elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from orbitmc import inference
from orbitmc._numba.compile_log import working_time
from orbitmc._util.arrays import Bytes, Floats, lengths
from orbitmc._util.interrupts import interruptible
from orbitmc._util.text import format_bytes
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import Draws
from orbitmc.estimate.marginals import About
from orbitmc.estimate.verdicts import BELIEVED, EXACT, FEW, GOOD
from orbitmc.exact.draws import independent_states, state_bytes
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.log_weights import log_weights_of_parts, partial_log_weight
from orbitmc.graph.model import Model
from orbitmc.inference.answer import answer, exact_about, run_chains, summarise_run
from orbitmc.inference.plan import Plan, describe_cost, plan_model
from orbitmc.inference.query import (
    Names,
    Query,
    Target,
    View,
    all_targets,
    require_program,
    resolve_query,
)
from orbitmc.inference.settings import (
    Options,
    Settings,
    accepts_settings,
    describe_unused_settings,
    merge_options,
)

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.graph.factor_graph import FactorGraph
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import Run, RunObserver


SAMPLES, CHAINS, LANES = 1000, 64, 32
LEAST_WARM_UP = 100  # samples: nobody averages over what is left of the starts
AT_ONCE = 4096  # states whose log-weights are added up together
LEAST_SAMPLES = 200  # fewer say little about mixing; of more samples than asked, the last are kept
NANOSECONDS = 50.0  # that an independent state takes, for each variable


@accepts_settings
@interruptible()
def draws(
    model: Model | Program,
    evidence: Evidence | None = None,
    *,
    chains: int = CHAINS,
    query: Names | None = None,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Draws:
    """Draw states: `samples` in each of `chains` (1000 in 64, unless set).

    Where exact elimination is affordable, all states are independent and exact. Elsewhere chains
    are sampled, `spacing` steps apart, after a warm-up that is not included; the verdict says
    whether they had mixed. A `query` names the variables to report; without one, all are, observed
    ones included. Of a program, atoms are drawn: those that it was read for, unless a query names
    others. If it is counted and not ground, predicates with many atoms are drawn only if they are
    named, and what a whole state weighs is not a number. What was drawn so far is the answer after
    Ctrl-C, and when the `seconds` are over, if any are given.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> drawn = om.draws(model, {"grass": "wet"}, samples=5, chains=2, seed=1)
    >>> drawn.values.shape, drawn.names, drawn.verdict
    ((2, 5, 4), ('season', 'sprinkler', 'rain', 'grass'), 'exact')
    """
    _require_chains(chains)
    given = merge_options(settings, options)
    names = resolve_query(query, model) if isinstance(model, Model) else None
    if not isinstance(model, Model) and query is not None:
        require_program(model)
        model = model.asking(query)
    samples = SAMPLES if given.samples is None else given.samples

    def bind(view: View) -> DrawsQuestion:
        return DrawsQuestion(view, samples, chains)

    count = (
        None if isinstance(model, Model) else partial(inference.count_draws, model, samples, chains)
    )
    asked = Query(model, evidence, bind, count, in_relations=bind)
    drawn = answer(asked, _settings(given, samples, chains), watchers)
    drawn = drawn if names is None else drawn.only(names)
    if not drawn.about.is_exact:
        return drawn
    reason = f"{drawn.about.reason}{describe_unused_settings(given, 'samples')}"
    return replace(drawn, about=replace(drawn.about, reason=reason))


def _require_chains(chains: int) -> None:
    if isinstance(chains, bool) or not isinstance(chains, int | np.integer) or chains < 1:
        raise InputError(f"chains is a number above 0, not {chains!r}")


def _settings(settings: Settings, samples: int, chains: int) -> Settings:
    """Let packs have enough lanes for all chains, and a warm-up that is never too short."""
    if settings.standard_error is not None:
        raise InputError("draws are counted: give samples or seconds, not standard_error")
    if settings.checkpoint is not None:
        raise InputError("draws are not kept in a checkpoint: leave it out")
    lanes = min(settings.lane_count, LANES * -(-chains // LANES))
    shaped = replace(settings, lanes=lanes, packs=-(-chains // lanes))
    counted = replace(shaped, samples=samples, seconds=None)
    usual = counted.schedule().warm_up_for(samples)  # refuses what is no number of samples
    if settings.seconds is not None:
        return replace(shaped, samples=None)
    warm_up = max(LEAST_WARM_UP, usual) if settings.warm_up is None else settings.warm_up
    return replace(counted, warm_up=warm_up)


class DrawsQuestion:
    """States, so many in each of so many chains."""

    can_resume = False
    scopes = None
    needs = None

    def __init__(self, view: View, samples: int, chains: int) -> None:
        self.view, self.samples, self.chains = view, samples, chains

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        return all_targets(self.view)

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> None:
        return None

    def plan(self, settings: Settings) -> Plan:
        room = self.chains * self.samples * (len(self.targets) * _dtype(self.targets).itemsize + 8)
        if room >= settings.memory:
            raise LimitError(
                f"{self.chains} chains of {self.samples} draws of {len(self.targets)} variables "
                f"need {format_bytes(room)}, the limit is {format_bytes(settings.memory)}; "
                "draw fewer"
            )
        return plan_model(
            self.view.model,
            replace(settings, memory=settings.memory - room),
            collapses=True,
        )

    def from_elimination(self, plan: Plan) -> Draws:
        elimination, settings = plan.one_elimination, plan.settings
        samples = self._affordable(plan)
        count = self.chains * samples
        needed = elimination.bytes + state_bytes(elimination, count)
        if needed > settings.memory:
            raise LimitError(
                f"{count} exact draws need {format_bytes(needed)}, the limit is "
                f"{format_bytes(settings.memory)}; draw fewer"
            )
        states = independent_states(elimination, count, seed=settings.seed)
        values = np.empty((self.chains, samples, len(self.targets)), dtype=_dtype(self.targets))
        flat = values.reshape(count, len(self.targets))
        for place, target in enumerate(self.targets):
            known = target.known
            flat[:, place] = target.meaning[states[target.variable]] if known is None else known
        weights = weigh_visible(plan.model, states).reshape(self.chains, samples)
        about = replace(
            exact_about(plan),
            reason=f"{describe_cost(elimination)}; draws are independent",
            seed=settings.seed,
            samples=samples,
            chains=self.chains,
            warnings=(*plan.remarks, *self._describe_missing(samples, self.chains)),
        )
        return _draws(self.targets, values, weights, EXACT, about)

    def _affordable(self, plan: Plan) -> int:
        """How many independent states there is time for in each chain; one at least."""
        if plan.settings.seconds is None:
            return self.samples
        spent = working_time() - plan.begun + plan.one_elimination.seconds
        each = 1e-9 * NANOSECONDS * self.chains * max(1, plan.model.graph.variables)
        return max(1, min(self.samples, int((plan.settings.seconds - spent) / each)))

    def _describe_missing(self, samples: int, chains: int) -> tuple[str, ...]:
        """Say how many states there was no time for, if any."""
        wanted, drawn = self.samples * self.chains, samples * chains
        if drawn == wanted:
            return ()
        return (f"there was time for {drawn:,} of {wanted:,} states; more seconds give more",)

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Draws:
        timed = plan.settings.seconds is not None
        longer = plan.settings
        if not timed:
            longer = replace(longer, samples=max(self.samples, LEAST_SAMPLES))
        recorder = _StateRecorder(self.targets, plan, self.samples, self.chains)
        run, chosen = run_chains(
            replace(plan, settings=longer),
            [*observers, self._end_when_drawn],
            self.view.ground,
            notes=recorder,
        )
        recorded = min(run.recorded, self.samples)
        chains = min(self.chains, run.chains)
        recorder.end(run.recorded)
        # what a partial answer after an early end shows is not kept
        run = replace(run, recording=replace(run.recording, notes=None))
        marginals = summarise_run(run, plan, chosen)
        missing = self._describe_missing(recorded, chains) if timed and recorded else ()
        early = () if recorded else ("interrupted in the warm-up: no state was drawn",)
        warnings = (*early, *marginals.about.warnings) if recorded else early
        about = replace(
            marginals.about,
            samples=recorded,
            chains=chains,
            warnings=(*plan.remarks, *missing, *warnings),
        )
        values = recorder.values[:chains, :recorded]
        weights = recorder.log_weight[:chains, :recorded]
        verdict = _worst(marginals) if recorded else FEW
        return _draws(self.targets, values, weights, verdict, about)

    def _end_when_drawn(self, run: Run) -> None:
        """End a timed run as soon as it has the states that were asked for, in all chains."""
        timed = run.schedule.seconds is not None and len(run.packs) >= run.most_packs
        if timed and run.recorded >= max(self.samples, LEAST_SAMPLES):
            run.end()


def _dtype(names: Sequence[Target]) -> np.dtype[Any]:
    most = max((len(target.values) for target in names), default=1)
    return np.dtype(np.uint8 if most <= 256 else np.uint32)


class _StateRecorder:
    """Notes that keep every state of the chains that were asked for."""

    needed = slice(None)  # the log-weight of a state depends on all variables

    def __init__(self, names: Sequence[Target], plan: Plan, samples: int, chains: int) -> None:
        self.lanes, self.chains = plan.settings.lane_count, chains
        self.model = plan.model
        self.values = np.zeros((chains, samples, len(names)), dtype=_dtype(names))
        self.log_weight = np.zeros((chains, samples))
        self.meaning = _meanings(names)
        free = [place for place, target in enumerate(names) if target.known is None]
        self.free = np.array(free, dtype=np.int64)
        self.variable = np.array([names[place].variable for place in free], dtype=np.int64)
        for place, target in enumerate(names):
            if target.known:
                self.values[:, :, place] = target.known

    @property
    def waiting(self) -> float:
        """States are kept as they are."""
        return 0.0

    def note(self, number: int, states: Bytes, recorded: int) -> None:
        first = number * self.lanes
        count = min(self.lanes, self.chains - first)
        rows, place = slice(first, first + count), recorded % self.values.shape[1]
        states = states[:, :count]
        self.log_weight[rows, place] = weigh_visible(self.model, states)
        drawn: NDArray[Any] = states[self.variable]
        if self.meaning is not None:
            drawn = np.take_along_axis(self.meaning, drawn.astype(np.int64), axis=1)
        record = self.values[rows, place]
        if len(self.free) == record.shape[1]:
            record[:] = drawn.T
        else:
            record[:, self.free] = drawn.T

    def end(self, recorded: int) -> None:
        """Put the last states into the order in which they were drawn."""
        samples = self.values.shape[1]
        if recorded > samples and recorded % samples:
            for record in (self.values, self.log_weight):
                record[:] = np.roll(record, -(recorded % samples), axis=1)

    def spread(self, recorded: int, lanes: int) -> Floats:
        return np.zeros(0)


def _meanings(names: Sequence[Target]) -> NDArray[np.int64] | None:
    """What each value of a variable means, a row for each free name; None if just itself."""
    free = [target.meaning for target in names if target.known is None]
    if all((meaning == np.arange(len(meaning))).all() for meaning in free):
        return None
    table = np.zeros((len(free), max(map(len, free))), dtype=np.int64)
    for row, meaning in zip(table, free, strict=True):
        row[: len(meaning)] = meaning
    return table


def weigh_states(graph: FactorGraph, states: NDArray[Any]) -> Floats:
    """The log-weight of each state `[variable, state]`."""
    whole = np.zeros(graph.variables, dtype=np.int64)
    alone = np.flatnonzero(lengths(graph.scope_start) == 0).tolist()
    constant = graph.constant + sum(graph.table_values(factor).item() for factor in alone)
    log_weights = [np.zeros(0)]
    for first in range(0, states.shape[1], AT_ONCE):
        by_part = log_weights_of_parts(graph, states[:, first : first + AT_ONCE], whole)
        log_weights.append(by_part.sum(axis=0) + constant)
    return np.concatenate(log_weights)


def weigh_visible(model: Model, states: NDArray[Any]) -> Floats:
    """The log-weight of each state, summed over helpers that nobody sees."""
    graph = model.graph
    if not model.helpers:
        return weigh_states(graph, states)
    helpers = [v for v, name in enumerate(model.names) if name in model.helpers]
    read = np.isin(graph.scope, helpers)
    touched = np.bincount(graph.factor_of_edge[read], minlength=graph.factors) > 0
    rest = np.flatnonzero(~touched).astype(np.uint32)
    values = np.ascontiguousarray(states, dtype=np.uint8)
    total: Floats = graph.constant + partial_log_weight(graph, rest, values)
    pieces = [_given_seen(graph, f, {*helpers}, states) for f in np.flatnonzero(touched).tolist()]
    for helper in helpers:
        together = [piece for piece in pieces if helper in piece[0]]
        pieces = [piece for piece in pieces if helper not in piece[0]]
        pieces.append(_sum_over(helper, together))
    return total + sum(table for _, table in pieces)


Piece = tuple[tuple[int, ...], Floats]
"""Helpers, and a log-potential for each of their joint values in each state."""


def _sum_over(helper: int, pieces: Sequence[Piece]) -> Piece:
    """What tables that read a helper sum to."""
    scope = tuple(dict.fromkeys(v for read, _ in pieces for v in read if v != helper))
    axes, product = (helper, *scope), np.zeros(1)
    for read, table in pieces:
        order = sorted(range(len(read)), key=lambda axis: axes.index(read[axis]))
        sizes = [table.shape[read.index(v)] if v in read else 1 for v in axes]
        product = product + table.transpose(*order, len(read)).reshape(*sizes, -1)
    return scope, np.logaddexp.reduce(product, axis=0)


def _given_seen(graph: FactorGraph, factor: int, helpers: set[int], states: NDArray[Any]) -> Piece:
    """A factor as a table of its helpers, with an entry for each state of the others."""
    scope = graph.scope_of(factor).tolist()
    axes = [axis for axis, v in enumerate(scope) if v in helpers]
    seen = [axis for axis, v in enumerate(scope) if v not in helpers]
    table = graph.full_table(factor).transpose(*axes, *seen)
    where = tuple(states[scope[axis]] for axis in seen)
    if not where:
        table = np.repeat(table[..., None], states.shape[1], axis=-1)
        return tuple(scope[axis] for axis in axes), table
    return tuple(scope[axis] for axis in axes), table[(..., *where)]


def _worst(marginals: Marginals) -> str:
    """The first verdict that is not to be believed, or that all is well."""
    doubted = [verdict for verdict in marginals.verdicts() if verdict not in BELIEVED]
    return doubted[0] if doubted else GOOD


def _draws(
    names: Sequence[Target], values: NDArray[Any], weights: Floats, verdict: str, about: About
) -> Draws:
    return Draws(
        names=tuple(target.name for target in names),
        value_names=tuple(target.values for target in names),
        values=values,
        log_weight=weights,
        verdict=verdict,
        about=about,
    )
