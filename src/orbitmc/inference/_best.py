"""The most probable states: proven by elimination, or the best that a search has found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from orbitmc import inference
from orbitmc._numba.compile_log import spent_before, time_limit
from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import MOST_VALUES, Bytes, Floats, Numbers
from orbitmc._util.interrupts import interruptible, stop_on_ctrl_c
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.answers import BestState, BestStates
from orbitmc.estimate.marginals import About
from orbitmc.exact.dual_bound import DualAscent
from orbitmc.exact.map import (
    Neighbourhoods,
    RowMaxima,
    best_states,
    map_bytes,
    solve_map,
    upper_bound,
)
from orbitmc.exact.plan import predict
from orbitmc.exact.problem import prepare
from orbitmc.exact.toulbar2 import Proof, Toulbar2, is_installed
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.feasibility import explain_contradiction
from orbitmc.graph.hardening import harden
from orbitmc.graph.log_weights import exact_log_weight, exact_sum, extremes
from orbitmc.graph.model import Model
from orbitmc.graph.probing import probe
from orbitmc.inference.answer import can_draw_relations, exact_in_time, prefers_relations
from orbitmc.inference.cache import (
    find_row,
    log_likelihoods_of,
    numbers_in,
    prepare_maxima,
)
from orbitmc.inference.plan import (
    describe_cost,
    most_seconds,
    order_search_seconds,
    refuse_counting,
    require_time_to_prepare,
)
from orbitmc.inference.progress import current_progress
from orbitmc.inference.query import Names, Program, resolve_query
from orbitmc.inference.settings import (
    DEFAULT_SECONDS,
    Options,
    Settings,
    accepts_settings,
    describe_unused_settings,
    merge_options,
)
from orbitmc.mln import data
from orbitmc.sampling.initialization import TopStates, cool_states
from orbitmc.sampling.schedule import GRACE_SECONDS

if TYPE_CHECKING:
    from orbitmc.exact.plan import EliminationPlan
    from orbitmc.exact.problem import Problem
    from orbitmc.exact.templates import Template
    from orbitmc.graph.evidence import ResolvedEvidence
    from orbitmc.inference.program import MarkovLogic
    from orbitmc.sampling.initialization import TopStates


METHODS = ("auto", "exact", "counting", "toulbar2", "gibbs")
EXACT_STEPS = 1e-4  # seconds for each variable, about, until exact steps are prepared
EXACT_STEPS_OF_FACTORS = 2e-5  # and for each factor
STEPS = 12  # exact ones in the first round of a search, twice as many in each later one
DUAL_SHARE = 0.25  # of a timed search may be over when weight is moved between tables no more
BUCKET_ENTRIES = (2**16, 2**19, 2**22)  # of the largest tables, as long as there is time
TABLES_AT_ONCE = 8  # that are as large, about
BOUND_SHARE = 0.5  # of a timed search may be over when its bound is found
LEAST_TOULBAR2 = 1.0  # seconds for which a solver is started
MOST_TOULBAR2_ENTRIES = 2**22  # of all tables that are written for it
SURE = 1e-9
"""A state this near to the bound is a best one."""


@accepts_settings
@interruptible()
def best(
    model: Model | Program,
    evidence: Evidence | None = None,
    *,
    k: int = 1,
    over: Names | None = None,
    query: Names | None = None,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> BestStates:
    """Find the `k` most probable states, of all variables together, heaviest first.

    With names to maximise `over`, find the most probable joint values of these, with their
    probabilities; everything else is summed out (marginal MAP). They are proven where an order that
    sums first is affordable. Elsewhere the most frequent values of one run are rated by a second
    one, with errors and a verdict; they are not proven.

    Where elimination is affordable states are proven, and those that weigh the same come in the
    order of their values. Elsewhere chains are cooled slowly and then climb, for as many `seconds`
    as there are, or for as many rounds as `samples` says; the answer is the best that was found,
    with a `bound` that no state exceeds. Items of relations that hard rules make equivalence
    relations, orders, matchings or forests are moved as a whole, and these rules are not ground.
    `packs` of chains cool side by side (one by default), on
    the workers of an `executor` if there is one. Impossible states are never given; if fewer than
    `k` states are possible, there are fewer. A `query` names variables to report, of states of all
    variables. A program is told in atoms that are true or false; where it is counted, one state is
    proven, and predicates with many atoms are told only if a query names them.

    >>> import orbitmc as om
    >>> found = om.best(om.read("examples/sprinkler.bif"), {"grass": "wet"}, k=2)
    >>> found[0]["sprinkler"], found.proven
    ('on', True)
    >>> seasons = om.best(om.read("examples/sprinkler.bif"), {"grass": "wet"}, over="season", k=2)
    >>> [(one["season"], round(one.probability, 3)) for one in seasons]
    [('dry', 0.584), ('rainy', 0.416)]
    """
    chosen = merge_options(settings, options)
    _require_sense(chosen, k)
    if over is not None:
        return _best_over(model, evidence, k, over, query, chosen)
    if isinstance(model, Model):
        refuse_counting(chosen)
        names = resolve_query(query, model)
        model.require_all_factors()
        incumbent = None if model.helpers else _solve_from_cache(model, evidence, chosen, k)
        if incumbent is None:
            seen = _as_tables(model.given(evidence))
            states = _in_names(seen, _solve(seen, chosen, k))
        else:
            states = _in_names(model, incumbent)
        return states if names is None else states.only(names)
    if evidence is not None and len(evidence):
        raise InputError("evidence of a program is a database: read(program, databases)")
    return best_of_program(model, chosen, k, query)


def _as_tables(model: Model) -> Model:
    """The model without helpers of noisy gates, which are summed out, not maximised."""
    try:
        return model.without_helpers()
    except LimitError as error:
        raise LimitError(f"{error}; name a few variables instead, over=[…] (best -q)") from None


def _best_over(
    model: Model | Program,
    evidence: Evidence | None,
    k: int,
    over: Names,
    query: Names | None,
    settings: Settings,
) -> BestStates:
    """The best joint values of some names; of all names, these are the best states."""
    if query is not None:
        raise InputError("over names what is reported, too: leave out the query")
    if settings.method == "counting":
        raise InputError("counting finds the best state of all atoms: it sums none out")
    if settings.method == "toulbar2":
        raise InputError("toulbar2 finds the best state of all variables: it sums none out")
    states = inference.find_best_over(model, evidence, over, settings, k)
    if states is not None:
        return states
    return best(model, evidence, k=k, query=over, settings=settings)


def best_of_program(
    program: MarkovLogic,
    settings: Settings,
    k: int,
    query: Names | None = None,
) -> BestStates:
    """The same for a program: which atoms are true."""
    if not hasattr(program, "asking"):
        raise InputError(
            f"a question is about a model or a program, not about a {type(program).__name__}: "
            "om.read(path) reads one"
        )
    asked = program.asking(query)
    if (counted := inference.count_best(asked, settings, k)) is not None:
        return counted
    if _searches_relations(program, settings) and asked.in_relations is not None:
        asked = asked.in_relations
        incumbent = _search_relations(asked.model, settings, k)
    else:
        try:
            incumbent = _solve_from_cache(program.model, None, settings, k) or _solve(
                program.model, settings, k
            )
        except ContradictionError as error:
            raise program.explain(error) from None
    return _to_best_states(incumbent, lambda state: _in_atoms(asked, state))


def _searches_relations(program: MarkovLogic, settings: Settings) -> bool:
    """Whether a search moves items of relations, whose rules are not ground."""
    if settings.method == "gibbs":
        return can_draw_relations(program)
    return prefers_relations(program, settings)


def _search_relations(model: Model, settings: Settings, k: int) -> _Incumbent:
    """Cool chains that stay in the relations of a model; what none exceeds is a loose bound."""
    words = " and ".join(f"{relation.name} is {relation.kind}" for relation in model.relations)
    reason = f"{words}: a search that never leaves such relations, which proves nothing"
    with Stopwatch() as watch:
        clock, champions = _Clock(settings, watch), TopStates(model.graph, k, decides=False)
        require_time_to_prepare(model.graph, settings)
        incumbent = _search_beside(model, settings, reason, clock, None, champions)
    about = replace(incumbent.about, seconds=watch.seconds, warnings=model.doubts)
    return replace(incumbent, about=about)


def _require_sense(settings: Settings, k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise InputError(f"k is how many states to find, at least 1, not {k!r}")
    if settings.method not in METHODS:
        raise InputError(
            f"the best states are found by {', '.join(METHODS)}, not by {settings.method}"
        )
    if settings.checkpoint is not None:
        raise InputError("a search for the best states is no run that could be saved")
    if settings.method == "toulbar2" and k != 1:
        raise InputError("toulbar2 proves one best state: leave out k")
    if settings.method == "toulbar2" and settings.samples is not None:
        raise InputError("toulbar2 takes no samples: say how many seconds it may take")
    settings.require_use()
    settings.schedule()  # refuses two ends


@dataclass(frozen=True)
class _Incumbent:
    """States of a model as numbers of values, and what is known of them."""

    states: Sequence[Numbers]
    weights: Sequence[float]
    proven: bool
    bound: float
    about: About
    precision: float = 0.0


# Small models whose elimination is kept, as for marginals.


@dataclass(frozen=True)
class _CachedMaxima:
    """One row of evidence, eliminated by maxima; `likelihoods` by variable, of all its values."""

    model: Model
    template: Template
    maxima: RowMaxima
    values: dict[int, int]
    likelihoods: Mapping[int, Floats]

    def states(self, count: int) -> list[tuple[float, Numbers]]:
        """The best states of all variables of the model, and what they weigh."""
        best = itertools.islice(best_states(self.maxima), count)
        return [self._weigh(state) for _, state in best]

    def _weigh(self, state: Sequence[int]) -> tuple[float, Numbers]:
        """A state of the tree as one of the model, with its exact log-weight."""
        possible, place = self.template.problem.possible, self.template.place
        whole = np.array(
            [
                self.values[v] if v in self.values else some[state[place[v]] if v in place else 0]
                for v, some in enumerate(possible)
            ],
            dtype=np.int64,
        )
        weight = exact_log_weight(self.model.graph, whole)
        if self.likelihoods:
            parts = (float(table[whole[v]]) for v, table in self.likelihoods.items())
            weight = exact_sum([weight, *parts])
        return weight, whole


def _find_maxima(
    model: Model, evidence: Evidence | None, settings: Settings
) -> _CachedMaxima | None:
    """Eliminate a small model with evidence by maxima; None where others must look at it."""
    row = find_row(model, evidence, settings)
    if row is None:
        return None
    maximising = prepare_maxima(model, row.observed, row.soft, settings)
    if maximising is None:
        return None
    chosen = maximising.template
    values = {variable: row.hard[variable] for variable in chosen.observed}
    numbers = numbers_in(chosen, values)
    if numbers is None:
        return None
    maxima = maximising.maximise(numbers, log_likelihoods_of(model, chosen, row.findings))
    if maxima is None:
        return None
    return _CachedMaxima(model, chosen, maxima, values, _all_likelihoods(model, row.findings))


def _all_likelihoods(model: Model, findings: ResolvedEvidence) -> dict[int, Floats]:
    with np.errstate(divide="ignore"):
        return {model.index[name]: np.log(np.array(w)) for name, w in findings.soft.items()}


def _solve_from_cache(
    model: Model, evidence: Evidence | None, settings: Settings, k: int
) -> _Incumbent | None:
    """The best states of a small model that is prepared already, or soon; None elsewhere."""
    if settings.method not in ("auto", "exact"):
        return None
    with Stopwatch() as watch, exact_in_time(settings):
        row = _find_maxima(model, evidence, settings)
        if row is None:
            return None
        ranked = sorted((-weight, state.tolist()) for weight, state in row.states(k))
    weights = [-negative for negative, _ in ranked]
    reason = f"{describe_cost(row.template)}{describe_unused_settings(settings)}"
    about = About("exact", reason, seconds=watch.seconds, warnings=model.doubts)
    states = [np.array(state) for _, state in ranked]
    incumbent = _Incumbent(states, weights, True, weights[0], about)
    return _warn_of_few(incumbent, k)


def _warn_of_few(incumbent: _Incumbent, k: int) -> _Incumbent:
    """Say so where fewer states are possible than were asked for."""
    if len(incumbent.states) >= k or not incumbent.proven:
        return incumbent
    words = f"only {len(incumbent.states)} states are possible"
    about = incumbent.about
    return replace(incumbent, about=replace(about, warnings=(*about.warnings, words)))


def _solve(model: Model, settings: Settings, k: int) -> _Incumbent:
    try:
        with exact_in_time(settings), Stopwatch() as watch:
            firm = harden(model)
            clock = _Clock(settings, watch)
            if settings.method == "toulbar2":
                incumbent = _prove_by_toulbar2(firm.model, clock)
            else:
                plan, reason = _plan(firm.model, settings)
                incumbent = (
                    _search(firm.model, settings, k, reason, clock)
                    if plan is None
                    else _proven(firm.model, plan, k, reason)
                )
    except ContradictionError as error:
        raise explain_contradiction(model, error) from None
    about = replace(
        incumbent.about,
        seconds=watch.seconds,
        warnings=(*firm.remarks, *incumbent.about.warnings),
    )
    return _warn_of_few(replace(incumbent, about=about), k)


def _plan(model: Model, settings: Settings) -> tuple[EliminationPlan | None, str]:
    """How to eliminate, or None and why not."""
    if settings.method == "gibbs":
        return None, "gibbs was asked for"

    forced = settings.method == "exact"
    try:
        within = math.inf if forced else most_seconds(settings)
        plan = predict(
            model.graph,
            memory=settings.memory,
            seconds=order_search_seconds(settings),
            within=within,
        )
    except LimitError as error:
        if forced:
            raise
        return None, str(error)
    affordable = forced or plan.seconds <= most_seconds(settings)
    if map_bytes(plan) <= settings.memory and affordable:
        return plan, f"{describe_cost(plan)}{describe_unused_settings(settings)}"
    if forced:
        raise LimitError(
            f"elimination by maxima would need {map_bytes(plan) / 2**30:.3g} GiB, the limit is "
            f"{settings.memory / 2**30:.3g} GiB"
        )
    return None, f"{describe_cost(plan)}, too much"


def _proven(model: Model, plan: EliminationPlan, k: int, reason: str) -> _Incumbent:
    states = solve_map(plan, k)
    ranked = sorted((-exact_log_weight(model.graph, state), state.tolist()) for state in states)
    weights = [-negative for negative, _ in ranked]
    about = About(method="exact", reason=reason)
    return _Incumbent([np.array(state) for _, state in ranked], weights, True, weights[0], about)


def _search(
    model: Model,
    settings: Settings,
    k: int,
    reason: str,
    clock: _Clock,
) -> _Incumbent:
    """Cool chains until the time is up, or a state is as heavy as any can be.

    The best of each round is improved by exact steps, which hold some of its variables, unless it
    takes too long to prepare them.
    """
    graph = model.graph
    most = int(graph.cardinality.max(initial=1))
    if most > MOST_VALUES:
        raise LimitError(f"a variable has {most} values, a search handles up to {MOST_VALUES}")
    require_time_to_prepare(graph, settings)
    preparing = EXACT_STEPS * graph.variables + EXACT_STEPS_OF_FACTORS * graph.factors
    problem = prepare(graph) if clock.has_time_for(preparing) else None
    champions = TopStates(graph, k)
    with _start_toulbar2(problem, settings, k, clock):
        return _search_beside(model, settings, reason, clock, problem, champions)


def _search_beside(
    model: Model,
    settings: Settings,
    reason: str,
    clock: _Clock,
    problem: Problem | None,
    champions: TopStates,
) -> _Incumbent:
    """Cool chains while a solver, if there is one, looks for a proof."""
    graph, k = model.graph, champions.count
    bound = _sum_of_maxima(graph) if problem is None else _find_bound(problem, clock)
    steps = None if problem is None else Neighbourhoods(problem, settings.seed)
    rounds, packs = 0, settings.packs or 1
    cooling = cool_states(
        graph,
        seed=settings.seed,
        lanes=settings.lane_count,
        packs=packs,
        executor=settings.executor,
        stopped=lambda: clock.stopped,
        is_over=lambda: clock.is_over(rounds),
        relations=model.relations,
    )
    try:
        with stop_on_ctrl_c(clock.stop), clock.time_to_start():
            for states in cooling:
                champions.consider(states)
                for _ in range(1 if steps is None else STEPS << rounds):
                    if clock.is_over(rounds):
                        break
                    if steps is not None:
                        champions.consider(_column(steps.improve(champions.states()[0])))
                    clock.show(rounds, lambda: _in_words(champions, bound))
                rounds += 1
                if clock.is_over(rounds) or (k == 1 and _is_sure(champions.rank()[0][0], bound)):
                    break
    except KeyboardInterrupt:
        if not champions.weights:
            raise
        clock.stop()
    except LimitError:
        if not champions.weights:
            raise
    proof = None if clock.stopped else clock.find_proof()
    if proof is not None and problem is not None and proof.state is not None:
        champions.consider(_column(problem.in_values(proof.state)))
    ranked = champions.rank()
    sure = k == 1 and _is_sure(ranked[0][0], bound)
    by_solver = proof is not None and proof.optimal and not sure
    if proof is not None:
        bound = min(bound, proof.bound)
    about = About(
        method="toulbar2" if by_solver else "annealing",
        reason=reason,
        seed=settings.seed,
        samples=rounds,
        chains=packs * settings.lane_count,
        interrupted=clock.stopped,
    )
    precision = proof.precision if by_solver and proof is not None else 0.0
    weights = [weight for weight, _ in ranked]
    bound = max(bound, weights[0])
    return _Incumbent(champions.states(), weights, sure or by_solver, bound, about, precision)


# Proofs by a solver that need not be there.


def _start_toulbar2(
    problem: Problem | None, settings: Settings, k: int, clock: _Clock
) -> AbstractContextManager[object]:
    """Let the solver work beside a timed search of `auto`, where it is installed."""
    left = clock.seconds - clock()
    wanted = settings.method == "auto" and k == 1 and clock.rounds is None
    if problem is None or not wanted or left < LEAST_TOULBAR2 or not is_installed():
        return nullcontext()
    if sum(table.size for table in problem.tables) > MOST_TOULBAR2_ENTRIES:
        return nullcontext()
    clock.solver = Toulbar2(problem, left)
    return clock.solver


def _prove_by_toulbar2(model: Model, clock: _Clock) -> _Incumbent:
    """The best state, proven to the precision of whole numbers; or the best that was found."""
    graph = model.graph
    problem = prepare(graph, probe(graph) if graph.has_zeros() else None)
    left = max(0.0, clock.seconds - clock())
    with Toulbar2(problem, left) as solver:

        def stop() -> None:
            clock.stop()
            solver.interrupt()

        with stop_on_ctrl_c(stop):
            proof = solver.wait(left)
    if proof is None or proof.state is None:
        raise LimitError(f"toulbar2 found no state in {clock.seconds:g} s")
    state = problem.in_values(proof.state)
    weight = exact_log_weight(graph, state)
    about = About("toulbar2", "toulbar2 was asked for", interrupted=clock.stopped)
    bound = max(proof.bound, weight)
    precision = proof.precision if proof.optimal else 0.0
    return _Incumbent([state], [weight], proof.optimal, bound, about, precision)


def _is_sure(weight: float, bound: float) -> bool:
    return weight >= bound - SURE * max(1.0, abs(bound))


def _in_words(champions: TopStates, bound: float) -> str:
    """How good the best state is, for those who wait."""
    weight = champions.rank()[0][0]
    return f"log weight {weight:.6g}, none is above {bound:.6g}"


class _Clock:
    """When a search ends: so many seconds after the question, or after some rounds."""

    def __init__(self, settings: Settings, watch: Stopwatch) -> None:
        self.rounds = settings.samples
        self.seconds = settings.seconds or DEFAULT_SECONDS
        self.watch = watch
        self.before = 0.0 if settings.seconds is None else spent_before() - watch.so_far()
        self.memory = settings.memory
        self.stopped = False
        self.solver: Toulbar2 | None = None
        self.progress = current_progress()

    def __call__(self) -> float:
        """Seconds since the question was asked, compiling aside."""
        return self.before + self.watch.so_far()

    def time_to_start(self) -> AbstractContextManager[None]:
        """Let a search for states to start from end with a timed search, or soon after."""
        left = self.seconds + GRACE_SECONDS - self()
        return time_limit(math.inf if self.rounds is not None else left)

    def has_time_for(self, seconds: float) -> bool:
        """Whether a timed search may spend so much on what makes it better."""
        return self.rounds is not None or self() + seconds <= BOUND_SHARE * self.seconds

    def affords_buckets(self, entries: int) -> bool:
        """Whether larger tables may be made for a bound: searches that count rounds need none."""
        return self.rounds is None and TABLES_AT_ONCE * 8 * entries <= self.memory

    def show(self, rounds: int, describe: Callable[[], str]) -> None:
        """Show how much of the search is over, if somebody looks."""
        if self.progress is not None:
            done = self() / self.seconds if self.rounds is None else rounds / self.rounds
            self.progress.show(min(1.0, done), describe())

    def stop(self) -> None:
        self.stopped = True

    def is_over(self, rounds: int) -> bool:
        if self.rounds is not None:
            return self.stopped or rounds >= self.rounds
        return self.stopped or self.is_proven() or self() > self.seconds

    def is_proven(self) -> bool:
        """Whether a solver beside the search has ended with a proof."""
        if self.solver is None or not self.solver.is_done:
            return False
        proof = self.solver.proof()
        if proof is None or not proof.optimal:
            self.solver = None
        return self.solver is not None

    def find_proof(self) -> Proof | None:
        """What a solver beside the search knows by now."""
        return None if self.solver is None else self.solver.wait(0.0)


def _column(state: Numbers) -> Bytes:
    """One state as those of a pack."""
    return state.astype(np.uint8)[:, None]


def _sum_of_maxima(graph: FactorGraph) -> float:
    """The simplest bound: every factor at its best."""
    return graph.constant + float(extremes(graph)[1][graph.table_of].sum())


def _find_bound(problem: Problem, clock: _Clock) -> float:
    """A log-weight that no state exceeds; a looser one if a good one takes too long.

    First weight is moved between tables, then these are maximised bucket by bucket.
    """

    def is_after(share: float) -> Callable[[], bool]:
        limit = share * clock.seconds if clock.rounds is None else math.inf

        def is_over() -> bool:
            clock.show(0, lambda: "looking for a bound")
            return clock.stopped or clock.is_proven() or clock() > limit

        return is_over

    ascent = DualAscent(problem)
    ascent.improve(is_after(DUAL_SHARE))
    moved, bound = ascent.moved(), math.inf
    for most in BUCKET_ENTRIES:
        if most > BUCKET_ENTRIES[0] and not clock.affords_buckets(most):
            break
        tighter = upper_bound(moved, most, is_over=is_after(BOUND_SHARE))
        if math.isnan(tighter) or tighter > bound - SURE * max(1.0, abs(bound)):
            break
        bound = tighter
    return bound


def _in_names(model: Model, incumbent: _Incumbent) -> BestStates:
    """States by the names of a model, observed variables included."""

    def name_values(state: Numbers) -> Mapping[str, str]:
        columns = zip(model.names, model.values, state.tolist(), strict=True)
        free = {name: values[value] for name, values, value in columns}
        seen = {
            name: observation.values[observation.value]
            for name, observation in model.observed.items()
        }
        return {name: free[name] if name in free else seen[name] for name in model.order}

    return _to_best_states(incumbent, name_values)


def _to_best_states(
    incumbent: _Incumbent, name_values: Callable[[Numbers], Mapping[str, str]]
) -> BestStates:
    pairs = zip(incumbent.states, incumbent.weights, strict=True)
    states = tuple(BestState(name_values(state), weight) for state, weight in pairs)
    return BestStates(
        states,
        incumbent.proven,
        incumbent.bound,
        incumbent.about,
        precision=incumbent.precision,
    )


def _in_atoms(program: MarkovLogic, state: Numbers) -> dict[str, str]:
    """Which atoms are true."""
    asked = program.asked
    known = asked.variable < 0
    holds = (
        np.where(
            known, asked.status == data.TRUE, state[np.maximum(asked.variable, 0)] == asked.value
        )
        if len(state)
        else asked.status == data.TRUE
    )
    words = ("false", "true")
    return {name: words[int(true)] for name, true in zip(asked.names, holds, strict=True)}
