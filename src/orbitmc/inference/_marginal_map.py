"""The most probable values of some variables, when all others are summed out (marginal MAP)."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orbitmc import inference
from orbitmc._numba.compile_log import working_time
from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc._util.text import format_bytes, quote, suggestion
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import BestState, BestStates, Joint
from orbitmc.estimate.features import worst_verdict
from orbitmc.estimate.marginals import About
from orbitmc.estimate.statistics import standard_errors
from orbitmc.estimate.verdicts import FEW
from orbitmc.exact.contraction import OutOfTimeError
from orbitmc.exact.map import (
    map_bytes,
    marginal_map_seconds,
    plan_marginal_map,
    solve_marginal_map,
)
from orbitmc.exact.templates import Elimination, chunks
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.inference.answer import ELIMINATION_SHARE, answer, exact_about
from orbitmc.inference.cache import prepare_elimination
from orbitmc.inference.feature_sampling import sample_feature, variables_of
from orbitmc.inference.plan import (
    Plan,
    most_seconds,
    order_search_seconds,
    plan_model,
    seconds_spent,
)
from orbitmc.inference.query import (
    NO_VARIABLE,
    Names,
    Query,
    Target,
    View,
    list_names,
    require_program,
    view_of,
)
from orbitmc.inference.settings import DEFAULT_SECONDS, Settings, describe_unused_settings

if TYPE_CHECKING:
    from orbitmc.exact.plan import EliminationPlan
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver

MOST_LISTED = 2**12  # joint values that are listed with their probabilities, and sorted
TIE = 1e-12  # probabilities that differ by less, relatively, are the same: sums are rounded
CANDIDATES = 64  # values that are rated, at least; four for each that is asked for
MOST_COUNTED = 2**18  # different values that are counted while chains run
FIRST_SHARE = 0.4  # of the time there is for sampling, to find candidates
CLIMB_SHARE = 0.5  # of what is left after that, to improve them
MOST_ROW_SECONDS = 0.05  # to weigh one of them
MOST_NEIGHBOURS = 2**12  # that are weighed at a time
NOT_DECIDED = "atoms that share a variable are summed and maximised only in a small joint table"


def find_best_over(
    model: Model | Program,
    evidence: Evidence | None,
    over: Names,
    settings: Settings,
    k: int,
) -> BestStates | None:
    """The best values of some names; None if nothing is to be summed, and a search must find them.

    So it is where names decide all variables, elimination is not affordable, and no number of
    samples was asked for.
    """
    if not isinstance(model, Model):
        _require_groundable(model)
    view = view_of(model, evidence)
    names = _resolve_names(model, view, over)
    targets = view.named(names)
    free = [target.name for target in targets if target.known is None]
    whole = settings.samples is None and _decides_all(view, targets)
    if whole and settings.method == "gibbs":
        return None
    if math.prod(len(target.values) for target in targets if target.known is None) <= MOST_LISTED:
        asked = free or names[:1]
        joint = inference.joint(model, asked, evidence, settings=settings)
        states = _rank_joint(joint, k)
    else:

        def bind(view: View) -> MarginalMap:
            return MarginalMap(view, view.named(free), k, whole)

        try:
            states = answer(Query(model, evidence, bind, in_relations=bind), settings)
        except _NothingToSumError:
            return None
    known = {t.name: t.values[t.known] for t in targets if t.known is not None}
    return _with_known(states, names, known, k)


def _require_groundable(program: Program) -> None:
    """Refuse a program that is only ever counted."""
    require_program(program)
    if program.prefers_cells:
        raise LimitError(
            f"a program with {program.source.unknown_atoms:,} unknown atoms is too large to be "
            "ground and to have atoms summed out; --tell NAMES (query=) reports some atoms of the "
            "best state of all"
        )


def _resolve_names(model: Model | Program, view: View, over: Names) -> tuple[str, ...]:
    """The names, each once; of a program, a query may mean many atoms."""
    listed = list_names(over)
    if not listed:
        raise InputError("over is empty: name at least one variable")
    if not isinstance(model, Model):
        atoms = tuple(model.atoms_in(over))
        if not atoms:
            raise InputError(f"over means no atom: {quote(' '.join(map(str, listed)))}")
        return atoms
    for name in listed:
        if name not in view.known:
            raise InputError(
                f"over names an unknown variable {quote(name)}"
                f"{suggestion(str(name), view.model.order)}"
            )
    return tuple(dict.fromkeys(listed))


def _decides_all(view: View, targets: Sequence[Target]) -> bool:
    """Whether nothing is left to be summed out."""
    scope = variables_of(targets)
    return len(scope) == len(view.model.names) > 0 and _decide_their_variables(targets)


def _decide_their_variables(targets: Sequence[Target]) -> bool:
    """Whether the values of names tell those of the variables behind them."""
    meanings: dict[int, list[Numbers]] = {}
    for target in targets:
        if target.variable != NO_VARIABLE:
            meanings.setdefault(target.variable, []).append(target.meaning)
    return all(
        len(np.unique(np.stack(columns), axis=1).T) == len(columns[0])
        for columns in meanings.values()
    )


def _with_known(
    states: BestStates, names: Sequence[str], known: Mapping[str, str], k: int
) -> BestStates:
    """Add what is known, all names in their order."""
    whole = tuple(
        replace(state, chosen={n: known[n] if n in known else state[n] for n in names})
        for state in states
    )
    about = states.about
    if len(whole) < k and states.proven:
        words = f"only {len(whole)} joint values are possible"
        about = replace(about, warnings=(*about.warnings, words))
    return replace(states, states=whole, about=about)


# A joint table that is small enough to be listed.


def _rank_joint(joint: Joint, k: int) -> BestStates:
    """The most probable entries of a joint table."""
    chances, errors = joint.probability.reshape(-1), joint.standard_error.reshape(-1)
    order = [place for place in rank(chances)[:k].tolist() if chances[place] > 0.0]
    shape = joint.probability.shape
    states = []
    for place in order:
        values = zip(joint.values, np.unravel_index(place, shape), strict=True)
        chosen = dict(zip(joint.names, (words[v] for words, v in values), strict=True))
        states.append(_state(chosen, float(chances[place]), float(errors[place])))
    proven = joint.about.is_exact
    bound = states[0].log_weight if proven else 0.0
    return BestStates(
        tuple(states), proven, bound, joint.about, sampled="" if proven else joint.verdict
    )


def rank(chances: Floats) -> NDArray[np.int64]:
    """Places of numbers, largest first; those that are the same but for rounding in order.

    >>> rank(np.array([0.1, 0.3 + 1e-16, 0.3, 0.3 + 2e-16])).tolist()
    [1, 2, 3, 0]
    """
    order = np.argsort(-chances, kind="stable")
    ranked = chances[order]
    apart = np.concatenate([[False], ranked[1:] < ranked[:-1] * (1.0 - TIE)])
    return order[np.lexsort((order, np.cumsum(apart)))]


def _state(chosen: Mapping[str, str], chance: float, error: float = 0.0) -> BestState:
    log = math.log(chance) if chance > 0.0 else -math.inf
    return BestState(chosen, log, chance, error)


def _describe_cost(plan: EliminationPlan) -> str:
    return (
        f"exact elimination, sums first, takes about {format_bytes(map_bytes(plan))} and "
        f"{marginal_map_seconds(plan):.2g} s ({plan.in_words})"
    )


class _NothingToSumError(Exception):
    """A search for the best states of all variables does better than samples."""


class MarginalMap:
    """Names whose joint values are too many to be listed: which are the most probable?

    If they are the `whole` model, only elimination is to answer.
    """

    can_resume = False
    scopes = None

    def __init__(self, view: View, named: Sequence[Target], k: int, whole: bool) -> None:
        self.view, self.named, self.k, self.whole = view, named, k, whole
        self.scope = variables_of(named)
        self.needs = self.scope

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> BestStates | None:
        return None

    def plan(self, settings: Settings) -> Plan:
        return plan_model(self.view.model, settings, collapses=True, eliminate=self._plan)

    def _plan(self, graph: FactorGraph, settings: Settings) -> tuple[EliminationPlan | None, str]:
        plan, reason = self._plan_elimination(graph, settings)
        if plan is None and self.whole:
            raise _NothingToSumError
        return plan, reason

    def _plan_elimination(
        self, graph: FactorGraph, settings: Settings
    ) -> tuple[EliminationPlan | None, str]:
        """An order that sums before it maximises, or None and why it is not affordable."""
        forced = settings.method == "exact"
        most = math.inf if forced else most_seconds(settings)
        try:
            if not _decide_their_variables(self.named):
                raise LimitError(NOT_DECIDED)
            plan = plan_marginal_map(
                graph,
                self.scope,
                memory=settings.memory,
                seconds=order_search_seconds(settings),
                within=most,
            )
            cost = _describe_cost(plan)
            if forced and map_bytes(plan) > settings.memory:
                raise LimitError(f"{cost}, too much")
        except LimitError as error:
            if forced:
                raise
            return None, str(error)
        share = 1.0 if settings.seconds is None or forced else ELIMINATION_SHARE
        if map_bytes(plan) <= settings.memory and marginal_map_seconds(plan) <= share * most:
            return plan, f"{cost}{describe_unused_settings(settings)}"
        return None, f"{cost}, too much"

    def from_elimination(self, plan: Plan) -> BestStates:
        try:
            best = solve_marginal_map(plan.one_elimination, self.scope, self.k)
        except LimitError as error:
            if self.whole:
                raise _NothingToSumError from None
            raise OutOfTimeError(str(error)) from None
        best.sort(key=lambda entry: entry[1].tolist())
        logs = np.array([log for log, _ in best])
        states = tuple(
            BestState(self._words(best[place][1]), best[place][0], math.exp(best[place][0]))
            for place in rank(np.exp(logs - logs.max()))
        )
        return BestStates(states, True, states[0].log_weight, exact_about(plan))

    def _words(self, values: Numbers) -> dict[str, str]:
        """What the values of variables mean for the names."""
        value_of = dict(zip(self.scope, values.tolist(), strict=True))
        return {t.name: t.values[t.meaning[value_of[t.variable]]] for t in self.named}

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> BestStates:
        """Count values in one run, and rate the most frequent ones in another one.

        A second run, because the most frequent of many values were lucky in the first. Where all
        else can be summed out once the names are known, ratios of probabilities are exact: then
        the best values are improved, and the second run only says how probable all are together.
        """
        observers = list(observers)
        counted = CountedValues(self.named)
        first = sample_feature(self.view, self._first(plan), counted, observers)
        candidates = counted.most_frequent(max(CANDIDATES, 4 * self.k))
        seen = len(counted.counts)
        if first.about.interrupted:
            chances = np.array([count for _, count in candidates]) / counted.states
            errors = np.sqrt(chances * (1.0 - chances) / counted.states)
            codes = [value for value, _ in candidates]
            return self._answer(codes, chances, errors, FEW, first.about)
        weights = ConditionalWeights.of(plan, self.named)
        if weights is None:
            return self._rate(plan, observers, [value for value, _ in candidates], seen)
        return self._improve(plan, observers, [value for value, _ in candidates], weights)

    def _rate(
        self, plan: Plan, observers: Iterable[RunObserver], codes: list[bytes], seen: int
    ) -> BestStates:
        """Let a second run say how probable each candidate is."""
        rating = RatedValues(self.named, {value: row for row, value in enumerate(codes)})
        rated = sample_feature(self.view, self._second(plan), rating, observers)
        estimates = rated.features()
        verdict = worst_verdict(estimates.verdict(), rated.verdicts)
        words = (
            f"the {len(codes):,} most frequent of {seen:,} joint values were rated by a second run"
        )
        about = replace(rated.about, reason=f"{rated.about.reason}; {words}")
        chances, errors = estimates.probability, estimates.standard_error
        return self._answer(codes, chances, errors, verdict, about)

    def _improve(
        self,
        plan: Plan,
        observers: Iterable[RunObserver],
        codes: list[bytes],
        weights: ConditionalWeights,
    ) -> BestStates:
        """Climb from the candidates by exact weights; a second run tells their probability."""
        ranked = weights.climb(codes, max(CANDIDATES, 4 * self.k), self._has_time_to_climb(plan))
        codes = [value for value, _ in ranked]
        rating = RatedValues(self.named, dict.fromkeys(codes, 0))
        rated = sample_feature(self.view, self._second(plan), rating, observers)
        estimates = rated.features()
        logs = np.array([log for _, log in ranked])
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        verdict = worst_verdict(estimates.verdict(), rated.verdicts)
        words = (
            f"{len(weights.known):,} joint values were weighed exactly; a second run says how "
            "probable the best ones are"
        )
        about = replace(rated.about, reason=f"{rated.about.reason}; {words}")
        chance, error = float(estimates.probability[0]), float(estimates.standard_error[0])
        return self._answer(codes, shares * chance, shares * error, verdict, about, shares)

    def _answer(
        self,
        codes: Sequence[bytes],
        chances: Floats,
        errors: Floats,
        verdict: str,
        about: About,
        shares: Floats | None = None,
    ) -> BestStates:
        """The best of some values, by their probabilities, or by exact shares of these."""
        order = rank(chances if shares is None else shares)[: self.k].tolist()
        states = [
            _state(self._named_values(codes[n]), float(chances[n]), float(errors[n])) for n in order
        ]
        return BestStates(tuple(states), False, 0.0, about, sampled=verdict)

    def _has_time_to_climb(self, plan: Plan) -> Callable[[], bool]:
        settings = plan.settings
        if settings.samples is not None or settings.standard_error is not None:
            return lambda: True
        now = working_time()
        left = plan.begun + (settings.seconds or DEFAULT_SECONDS) - now
        return lambda: working_time() < now + CLIMB_SHARE * left

    def _first(self, plan: Plan) -> Plan:
        settings = plan.settings
        if settings.samples is not None or settings.standard_error is not None:
            return plan
        seconds = settings.seconds or DEFAULT_SECONDS
        left = max(0.0, seconds - plan.seconds)
        return replace(plan, settings=replace(settings, seconds=plan.seconds + FIRST_SHARE * left))

    def _second(self, plan: Plan) -> Plan:
        settings = replace(plan.settings, seed=plan.settings.seed + 1)
        return replace(plan, settings=settings, seconds=seconds_spent(settings))

    def _named_values(self, codes: bytes) -> dict[str, str]:
        pairs = zip(self.named, codes, strict=True)
        return {target.name: target.values[code] for target, code in pairs}


# Joint values in samples: counted, or compared with some.


class _JointValues:
    """The joint values of names in states, as bytes, one for each name."""

    averaged = NO_VARIABLE
    rows = 1

    def __init__(self, named: Sequence[Target]) -> None:
        self.named = named
        self.variables = np.array(variables_of(named), dtype=np.int64)
        self.row_of = {variable: row for row, variable in enumerate(self.variables.tolist())}

    def codes(self, states: Bytes) -> NDArray[Any]:
        """One item of bytes for each state."""
        codes = np.empty((states.shape[1], len(self.named)), dtype=np.uint8)
        for column, target in enumerate(self.named):
            codes[:, column] = target.meaning[states[self.row_of[target.variable]]]
        return codes.view(np.dtype((np.void, codes.shape[1]))).reshape(-1)

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means)


class CountedValues(_JointValues):
    """Counts which joint values occur; those that are rare are forgotten when there are many."""

    def __init__(self, named: Sequence[Target]) -> None:
        super().__init__(named)
        self.counts: Counter[bytes] = Counter()
        self.states, self._lock = 0, threading.Lock()

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        values, counts = np.unique(self.codes(states), return_counts=True)
        with self._lock:
            self.states += states.shape[1]
            for value, count in zip(values, counts.tolist(), strict=True):
                self.counts[value.tobytes()] += count
            if len(self.counts) > MOST_COUNTED:
                self.counts = Counter(dict(self.counts.most_common(MOST_COUNTED // 2)))
        return np.zeros((1, COLUMNS))

    def most_frequent(self, count: int) -> list[tuple[bytes, int]]:
        """The most frequent values; those as frequent in the order of their values."""
        return sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:count]


class RatedValues(_JointValues):
    """How often some joint values occur, each counted in its row."""

    def __init__(self, named: Sequence[Target], place: Mapping[bytes, int]) -> None:
        super().__init__(named)
        self.place = place
        self.rows = max(place.values()) + 1

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        values, which = np.unique(self.codes(states), return_inverse=True)
        rows = np.array([self.place.get(value.tobytes(), self.rows) for value in values])
        cells = rows[which.reshape(-1)] * COLUMNS + np.arange(states.shape[1]) % COLUMNS
        total = np.bincount(cells, minlength=(self.rows + 1) * COLUMNS).astype(np.float64)
        return total[: self.rows * COLUMNS].reshape(self.rows, COLUMNS)


# Weights of joint values, where elimination affords to sum all else out once they are known.


class ConditionalWeights:
    """The exact log-weights of joint values, all on the same scale."""

    def __init__(self, elimination: Elimination, named: Sequence[Target], memory: int) -> None:
        self.elimination, self.named, self.memory = elimination, named, memory
        self.known: dict[bytes, float] = {}
        self.values = _value_tables(named)

    @classmethod
    def of(cls, plan: Plan, named: Sequence[Target]) -> ConditionalWeights | None:
        """None where that is not affordable, or names do not decide their variables."""
        model, settings = plan.model, replace(plan.settings, method="auto")
        if model.relations or not _decide_their_variables(named):
            return None
        names = tuple(model.names[variable] for variable in variables_of(named))
        elimination = prepare_elimination(model, names, (), settings)
        if elimination is None or elimination.template.seconds > MOST_ROW_SECONDS:
            return None
        return cls(elimination, named, settings.memory)

    def weigh(self, codes: Iterable[bytes]) -> None:
        """Work out weights that are not known yet, many at once."""
        new = [value for value in dict.fromkeys(codes) if value not in self.known]
        if not new:
            return
        numbers = self.elimination.template.number
        states = self._states(new)
        rows = np.array([number[column] for number, column in zip(numbers, states, strict=True)])
        possible: NDArray[np.bool_] = np.asarray((rows >= 0).all(axis=0))
        for part in chunks(self.elimination, len(new), self.memory):
            upward = self.elimination.upward(np.maximum(rows[:, part], 0))
            logs = np.broadcast_to(upward.log_z(), part.stop - part.start)
            logs = np.where(possible[part], logs, -np.inf)
            self.known.update(zip(new[part], logs.tolist(), strict=True))

    def _states(self, codes: Sequence[bytes]) -> Numbers:
        """Values of the variables [variable, joint value]."""
        typed = np.array([list(value) for value in codes], dtype=np.int64)
        columns = []
        for places, table in self.values:
            key = np.zeros(len(codes), dtype=np.int64)
            for place in places:
                key = key * len(self.named[place].values) + typed[:, place]
            columns.append(np.array([table.get(k, -1) for k in key.tolist()], dtype=np.int64))
        return np.array(columns)

    def climb(
        self, codes: Sequence[bytes], count: int, has_time: Callable[[], bool]
    ) -> list[tuple[bytes, float]]:
        """Change the best joint value, one variable at a time, while that helps; gives the best."""
        self.weigh(codes)
        while has_time():
            best, log = max(self.known.items(), key=lambda item: (item[1], item[0]))
            near = self._neighbours(best)
            if len(near) > MOST_NEIGHBOURS:
                break
            self.weigh(near)
            if max((self.known[value] for value in near), default=-math.inf) <= log:
                break
        ranked = sorted(self.known.items(), key=lambda item: (-item[1], item[0]))
        return [(value, log) for value, log in ranked[:count] if log > -math.inf]

    def _neighbours(self, code: bytes) -> list[bytes]:
        """Joint values that differ in one variable."""
        near = []
        for places, table in self.values:
            for key in table:
                changed = bytearray(code)
                for place in reversed(places):
                    key, value = divmod(key, len(self.named[place].values))
                    changed[place] = value
                if changed != code:
                    near.append(bytes(changed))
        return near


def _value_tables(named: Sequence[Target]) -> list[tuple[list[int], dict[int, int]]]:
    """Of each variable: the names that it decides, and its value for each of their joint values."""
    tables = []
    for variable in variables_of(named):
        places = [place for place, target in enumerate(named) if target.variable == variable]
        keys = np.zeros(len(named[places[0]].meaning), dtype=np.int64)
        for place in places:
            keys = keys * len(named[place].values) + named[place].meaning
        tables.append((places, {key: value for value, key in enumerate(keys.tolist())}))
    return tables
