"""Learn the tables of a Markov random field from rows of data, by likelihood or pseudo-likelihood.

The parameters are the logarithms of the entries of all tables; factors that share a table share
them, and entries of weight 0 stay there. The likelihood of a row is a ratio of two sums over
states, what the row says in one and everything in the other, and its slopes are differences of
expected counts in both. Where sums over all states are too large, every variable is explained given
all others instead (Besag 1975), which needs rows without holes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from orbitmc._numba.compile_log import require_time, time_limit
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import interruptible, stop_on_ctrl_c
from orbitmc._util.text import MEMORY, quote
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact.families import EvidenceRows, FamilyCounter, FamilyJoints
from orbitmc.exact.problem import Scope
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.inference._learn import read_evidence_rows, weigh_rows
from orbitmc.inference.query import Names, list_names

PRIOR = 1.0
TOLERANCE = 1e-8
MOST_ITERATIONS = 1000
NOISE = 0.1  # of the log-weights that learning begins with where variables may be hidden
MEMORY_OF_SLOPES = 20  # steps that L-BFGS remembers
MOST_PARAMETERS = 2048  # log-weights that may have errors
FLAT = 1e-9  # of the largest information: less is none
ROWS_TOGETHER = 512
LIKELIHOOD, PSEUDO = "likelihood", "pseudo-likelihood"

FieldMethod = Literal["likelihood", "pseudo-likelihood"]


class FieldStep(NamedTuple):
    """How learning goes: the mean objective of a row, prior included, and its largest slope."""

    iteration: int
    objective: float
    slope: float


@dataclass(frozen=True, repr=False)
class LearnedField(Model):
    """A Markov random field whose tables were learned from `rows`, by a `method`.

    `log_likelihood` is that of the rows, or their pseudo-log-likelihood; `objective` has the prior
    added. `slope` is the largest one of the objective of a row. Where the likelihood was summed up,
    the weights of all states sum to 1.
    """

    method: FieldMethod = "likelihood"
    log_likelihood: float = 0.0
    objective: float = 0.0
    slope: float = 0.0
    rows: int = 0
    iterations: int = 0
    converged: bool = False
    interrupted: bool = False
    seconds: float = 0.0
    prior: float = PRIOR
    complete: float = field(default=0.0, repr=False)

    @property
    def model(self) -> Model:
        """The field alone."""
        return self.with_graph(self.graph)

    @property
    def errors(self) -> list[Floats]:
        """The standard errors of the log-weights of each factor, shaped like its table.

        They come from the covariance of the counts, and are known for likelihoods of rows without
        holes. Changes of log-weights that change no probability are left out.
        """
        if self.method != LIKELIHOOD or not self.complete:
            raise InputError("errors are known for the likelihood of rows without holes")
        parameters = _Parameters(self.graph)
        if parameters.count > MOST_PARAMETERS:
            raise InputError(f"errors are known for up to {MOST_PARAMETERS:,} log-weights")
        information, along = np.linalg.eigh(self.complete * parameters.covariance())
        counts = information > FLAT * information.max(initial=0.0)
        variance = along[:, counts] ** 2 @ (1.0 / (information[counts] + self.prior))
        return parameters.log_tables(np.sqrt(variance), elsewhere=0.0)

    def __str__(self) -> str:
        end = "" if self.converged else ", not converged"
        return (
            f"LearnedField({self.graph.factors} factors from {self.rows:,} rows by {self.method}, "
            f"{self.iterations} iterations{end}, log-{self.method} {self.log_likelihood:,.6g})"
        )


@interruptible()
def learn_field(
    model: Model,
    data: Any,
    *,
    method: FieldMethod | None = None,
    prior: float = PRIOR,
    weights: ArrayLike | None = None,
    ignore: Names = (),
    shared: bool = False,
    start: str = "data",
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
    seconds: float | None = None,
    seed: int = 0,
    memory: int = MEMORY,
    watch: Callable[[FieldStep], None] | None = None,
) -> LearnedField:
    """Learn the tables of a Markov random field; what `om.learn` does for such models."""
    begun = time.perf_counter()
    _check(model, method, prior, tolerance, iterations, start)
    with time_limit(math.inf if seconds is None else seconds):
        every = read_evidence_rows(model, data, list_names(ignore))
        rows = weigh_rows(every, weights)
        parameters = _Parameters(model.graph if shared else _with_own_tables(model.graph))
        objective = _objective(parameters, rows, method, memory)
        first = parameters.values if start == "model" else np.zeros(parameters.count)
        if start == "data" and not objective.is_concave:
            first = NOISE * np.random.default_rng(seed).standard_normal(parameters.count)
        ascent = _Ascent(objective, float(rows.weight.sum()), prior, watch)
        with stop_on_ctrl_c(ascent.stop):
            ascent.climb(first, tolerance, iterations)
    learned = ascent.best
    if learned is None:
        raise LimitError("there was no time for one step of learning: more seconds may do")
    total = float(rows.weight.sum())
    return LearnedField(
        graph=parameters.graph_with(learned.values, learned.log_z),
        names=model.names,
        values=model.values,
        order=model.order,
        method=objective.method,
        log_likelihood=learned.log_likelihood,
        objective=learned.objective,
        slope=learned.slope,
        rows=len(every.weight),
        iterations=ascent.iterations,
        converged=learned.slope <= tolerance,
        interrupted=ascent.stopped,
        seconds=time.perf_counter() - begun,
        prior=prior,
        complete=total if objective.is_concave else 0.0,
    )


def _with_own_tables(graph: FactorGraph) -> FactorGraph:
    """The same graph with a table for each factor: files store equal ones once."""
    builder = Builder(graph.cardinality)
    builder.constant = graph.constant
    for factor in range(graph.factors):
        builder.add_factor(graph.scope_of(factor).tolist(), graph.table_values(factor))
    return builder.build()


def field_log_likelihoods(model: Model, rows: EvidenceRows, memory: int) -> Floats:
    """The log-probability of what each row says, under a model that is no Bayesian network."""
    _require_tables(model)
    parameters = _Parameters(model.graph)
    log_tables = parameters.log_tables(parameters.values)
    joints = FamilyJoints(parameters.sizes, parameters.scopes, log_tables, ())
    counter = FamilyCounter(parameters.sizes, parameters.scopes, rows, memory)
    return counter.counts(log_tables).log_likelihood - float(joints.of_rows((), 1)[1][0])


def _require_tables(model: Model) -> None:
    if model.observed:
        names = ", ".join(map(quote, model.observed))
        raise InputError(f"this needs the model without evidence, but {names} is observed")
    if model.graph.first_clause < model.graph.factors:
        raise InputError("the weights of clauses are learned for programs (.mln), not for models")


def _check(
    model: Model,
    method: str | None,
    prior: float,
    tolerance: float,
    iterations: int,
    start: str,
) -> None:
    _require_tables(model)
    if model.helpers:
        raise InputError(
            "noisy gates are not learned: learn tables in their place, of model.without_helpers()"
        )
    if method not in (None, LIKELIHOOD, PSEUDO):
        raise InputError(f"fields are learned by {LIKELIHOOD!r} or {PSEUDO!r}, not by {method!r}")
    if isinstance(prior, str) or prior is None or not 0 <= prior < math.inf:
        raise InputError(f"the prior of log-weights is 1 / variance, 0 or more, not {prior!r}")
    if not 0 < tolerance < 1 or iterations < 1:
        raise InputError("learning needs a tolerance between 0 and 1, and one iteration at least")
    if start not in ("data", "model"):
        raise InputError(f"learning starts from 'data' or from the 'model', not {start!r}")


class _Parameters:
    """The log-weights of a graph that are learned: finite entries of its tables, each once."""

    def __init__(self, graph: FactorGraph) -> None:
        self.graph = graph
        self.sizes = tuple(graph.cardinality.tolist())
        self.scopes: tuple[Scope, ...] = tuple(
            tuple(graph.scope_of(factor).tolist()) for factor in range(graph.factors)
        )
        self.shapes = [tuple(self.sizes[v] for v in scope) for scope in self.scopes]
        self.table_of = [int(number) for number in graph.table_of]
        used = sorted(set(self.table_of))
        tables = {
            number: graph.table[graph.table_start[number] : graph.table_start[number + 1]]
            for number in used
        }
        self.finite = {number: np.isfinite(table) for number, table in tables.items()}
        ends = np.cumsum([0, *(int(finite.sum()) for finite in self.finite.values())]).tolist()
        self.place = dict(zip(used, map(slice, ends[:-1], ends[1:]), strict=True))
        self.count = ends[-1]
        self.values = np.concatenate([np.zeros(0), *(tables[n][self.finite[n]] for n in used)])

    def tables(self, values: Floats, elsewhere: float = -math.inf) -> dict[int, Floats]:
        """The tables with these log-weights, flat, by their numbers."""
        flat = {}
        for number, finite in self.finite.items():
            flat[number] = np.full(len(finite), elsewhere)
            flat[number][finite] = values[self.place[number]]
        return flat

    def log_tables(self, values: Floats, elsewhere: float = -math.inf) -> list[Floats]:
        """The table of each factor, shaped by its scope."""
        flat = self.tables(values, elsewhere)
        return [
            flat[number].reshape(shape)
            for number, shape in zip(self.table_of, self.shapes, strict=True)
        ]

    def gather(self, counts: Sequence[Floats]) -> Floats:
        """Counts of each factor, [values of its scope, ...], summed by parameter."""
        more = counts[0].shape[len(self.shapes[0]) :] if counts else ()
        total = np.zeros((self.count, *more))
        for number, shape, count in zip(self.table_of, self.shapes, counts, strict=True):
            flat = count.reshape(math.prod(shape), *more)
            total[self.place[number]] += flat[self.finite[number]]
        return total

    def graph_with(self, values: Floats, log_z: float | None) -> FactorGraph:
        """The graph with these log-weights; they are normalised where log Z is known."""
        builder = Builder(self.sizes)
        builder.constant = 0.0 if log_z is None else -log_z
        numbers = {
            number: int(builder.add_tables(table[None])[0])
            for number, table in self.tables(values).items()
        }
        for scope, number in zip(self.scopes, self.table_of, strict=True):
            builder.add_factors([scope], numbers[number])
        return builder.build()

    def covariance(self) -> Floats:
        """The covariance of the counts of all parameters in a state of the graph."""
        seen = range(len(self.sizes))
        joints = FamilyJoints(self.sizes, self.scopes, self.log_tables(self.values), seen)
        plain = [np.zeros((size, 1)) for size in self.sizes]
        counts, _ = joints.of_rows(plain, 1)
        mean = self.gather(counts)
        total = np.zeros((self.count, self.count))
        for factor, (number, scope) in enumerate(zip(self.table_of, self.scopes, strict=True)):
            chances = np.asarray(counts[factor]).reshape(-1)
            place = np.arange(self.place[number].start, self.place[number].stop)
            cells = np.flatnonzero(self.finite[number])
            for first in range(0, len(cells), ROWS_TOGETHER):
                part = cells[first : first + ROWS_TOGETHER]
                given = self._given(scope, np.unravel_index(part, self.shapes[factor]))
                moved = self.gather(joints.of_rows(given, len(part))[0]) - mean
                total[place[first : first + len(part)]] += (chances[part] * moved).T
        return total

    def _given(self, scope: Scope, values: Sequence[Numbers]) -> list[Floats]:
        """Log-weights of all variables in rows that observe the values of a scope."""
        rows = len(values[0])
        weights = [np.zeros((size, rows)) for size in self.sizes]
        for variable, value in zip(scope, values, strict=True):
            weights[variable][:] = -np.inf
            weights[variable][value, np.arange(rows)] = 0.0
        return weights


class _Objective(Protocol):
    """What is maximised, and its slopes by all parameters, prior aside."""

    method: FieldMethod
    is_concave: bool
    log_z: float | None

    def stop(self) -> None:
        """Let the next evaluation end with a `KeyboardInterrupt`."""

    def evaluate(self, values: Floats) -> tuple[float, Floats]:
        """The log-likelihood of all rows, and its slopes."""


def _objective(
    parameters: _Parameters, rows: EvidenceRows, method: str | None, memory: int
) -> _Objective:
    """The likelihood where it is affordable; else the pseudo-likelihood of complete rows."""
    if method == PSEUDO:
        return _PseudoLikelihood(parameters, rows)
    try:
        return _Likelihood(parameters, rows, memory)
    except LimitError:
        if method == LIKELIHOOD:
            raise
        return _PseudoLikelihood(parameters, rows)


class _Likelihood:
    """The log-likelihood: sums over what each row leaves open, less sums over all states."""

    method: FieldMethod = "likelihood"

    def __init__(self, parameters: _Parameters, rows: EvidenceRows, memory: int) -> None:
        self.parameters, self.rows = parameters, rows
        self.order: tuple[int, ...] | None = None
        flat = parameters.log_tables(np.zeros(parameters.count))
        self.order = self._joints(flat).order  # refuses what is too wide
        self.counter = FamilyCounter(parameters.sizes, parameters.scopes, rows, memory)
        self.is_concave = self.counter.is_complete
        self.log_z: float | None = None
        self.stopped = False
        self.counts: Floats | None = None
        if self.is_concave:
            counts = [self.counter.complete_counts(k) for k in range(len(parameters.scopes))]
            _require_possible(parameters, counts)
            self.counts = parameters.gather(counts)

    def _joints(self, log_tables: Sequence[Floats]) -> FamilyJoints:
        sizes, scopes = self.parameters.sizes, self.parameters.scopes
        return FamilyJoints(sizes, scopes, log_tables, (), self.order)

    def stop(self) -> None:
        self.stopped = True
        self.counter.stop()

    def evaluate(self, values: Floats) -> tuple[float, Floats]:
        require_time()
        if self.stopped:
            raise KeyboardInterrupt
        log_tables = self.parameters.log_tables(values)
        joints, log_z = self._joints(log_tables).of_rows((), 1)
        self.log_z = float(log_z[0])
        expected = self.parameters.gather([joint[..., 0] for joint in joints])
        total = float(self.rows.weight.sum())
        if self.counts is not None:
            return float(values @ self.counts) - total * self.log_z, self.counts - total * expected
        counts = self.counter.counts(log_tables)
        chosen = self.rows.weight > 0
        if np.isneginf(counts.log_likelihood[chosen]).any():
            raise ContradictionError("some rows are impossible: the model gives them weight 0")
        likelihood = float(self.rows.weight[chosen] @ counts.log_likelihood[chosen])
        slopes = self.parameters.gather(counts.tables) - total * expected
        return likelihood - total * self.log_z, slopes


def _require_possible(parameters: _Parameters, counts: Sequence[Floats]) -> None:
    """Refuse rows to which the model gives weight 0."""
    for number, count in zip(parameters.table_of, counts, strict=True):
        if (count.reshape(-1)[~parameters.finite[number]] > 0).any():
            raise ContradictionError("some rows are impossible: the model gives them weight 0")


class _PseudoLikelihood:
    """The log-probability of every variable of every row, given all others of that row."""

    method: FieldMethod = "pseudo-likelihood"
    is_concave = True
    log_z: float | None = None

    def __init__(self, parameters: _Parameters, rows: EvidenceRows) -> None:
        self.parameters, self.weight, self.stopped = parameters, rows.weight, False
        sizes = parameters.sizes
        if len(rows.variables) < len(sizes) or (rows.value < 0).any():
            raise InputError(
                "the likelihood of this model needs tables that are too large, and its "
                "pseudo-likelihood needs rows without holes: fill them in, or leave rows out"
            )
        value, which = np.unique(rows.value, axis=1, return_inverse=True)
        self.weight = np.bincount(which.reshape(-1), weights=rows.weight).astype(np.float64)
        self.value = np.empty_like(value)
        self.value[list(rows.variables)] = value
        self.around: list[list[tuple[int, int]]] = [[] for _ in sizes]
        for factor, scope in enumerate(parameters.scopes):
            for axis, variable in enumerate(scope):
                self.around[variable].append((factor, axis))

    def stop(self) -> None:
        self.stopped = True

    def evaluate(self, values: Floats) -> tuple[float, Floats]:
        parameters = self.parameters
        tables = parameters.tables(values)
        slopes = {number: np.zeros(len(table)) for number, table in tables.items()}
        total = 0.0
        for variable, factors in enumerate(self.around):
            if self.stopped:
                raise KeyboardInterrupt
            require_time()
            places = [self._places(variable, *pair) for pair in factors]
            seen = [tables[parameters.table_of[factor]] for factor, _ in factors]
            scores = np.zeros((parameters.sizes[variable], len(self.weight)))
            for table, place in zip(seen, places, strict=True):
                scores = scores + table[place]
            top = scores.max(axis=0)
            chances = np.exp(scores - top)
            mass = chances.sum(axis=0)
            own = self.value[variable], np.arange(len(self.weight))
            if np.isneginf(scores[own][self.weight > 0]).any():
                raise ContradictionError("some rows are impossible: the model gives them weight 0")
            total += float(self.weight @ (scores[own] - top - np.log(mass)))
            missed = -chances / mass
            missed[own] += 1.0
            missed *= self.weight
            for (factor, _), place in zip(factors, places, strict=True):
                number = parameters.table_of[factor]
                slopes[number] += np.bincount(
                    place.reshape(-1), weights=missed.reshape(-1), minlength=len(slopes[number])
                )
        flat = [slopes[number][finite] for number, finite in parameters.finite.items()]
        return total, np.concatenate([np.zeros(0), *flat])

    def _places(self, variable: int, factor: int, axis: int) -> Numbers:
        """Entries of a factor's table [value, row], the other variables as in each row."""
        scope, shape = self.parameters.scopes[factor], self.parameters.shapes[factor]
        value = self.value[list(scope)]
        value[axis] = 0
        base = np.ravel_multi_index(tuple(value), shape)
        steps = math.prod(shape[axis + 1 :]) * np.arange(shape[axis])
        places: Numbers = base + steps[:, None]
        return places


class _End(NamedTuple):
    """Where a search is: the log-weights, and what is known of them."""

    values: Floats
    log_likelihood: float
    objective: float
    slope: float
    log_z: float | None


class _Ascent:
    """Climbs by L-BFGS; knows the best place so far."""

    def __init__(
        self,
        objective: _Objective,
        total: float,
        prior: float,
        watch: Callable[[FieldStep], None] | None,
    ) -> None:
        self.objective, self.total, self.prior, self.watch = objective, total, prior, watch
        self.best: _End | None = None
        self.iterations, self.stopped = 0, False

    def stop(self) -> None:
        """Let the search end with what it has."""
        self.objective.stop()

    def climb(self, first: Floats, tolerance: float, iterations: int) -> None:
        """Go up until all slopes of the mean objective are below the tolerance."""
        limits: dict[str, Any] = {
            "maxiter": iterations,
            "maxfun": 20 * iterations,
            "maxcor": MEMORY_OF_SLOPES,
            "gtol": tolerance,
            "ftol": 0.0,
        }
        try:
            minimize(
                self._descend, first, jac=True, method="L-BFGS-B", callback=self._step,
                options=limits,
            )  # fmt: skip
        except (LimitError, KeyboardInterrupt):
            self.stopped = True

    def _descend(self, values: Floats) -> tuple[float, Floats]:
        likelihood, slopes = self.objective.evaluate(values)
        value = likelihood - 0.5 * self.prior * float(values @ values)
        slope = (slopes - self.prior * values) / self.total
        largest = float(np.abs(slope).max(initial=0.0))
        if self.best is None or value >= self.best.objective:
            self.best = _End(values.copy(), likelihood, value, largest, self.objective.log_z)
        return -value / self.total, -slope

    def _step(self, values: Floats) -> None:
        self.iterations += 1
        if self.watch is not None and self.best is not None:
            best = self.best
            self.watch(FieldStep(self.iterations, best.objective / self.total, best.slope))
