"""Learn the tables of a Bayesian network from rows of data, with or without holes.

Where rows leave variables open, expectation maximisation: the expected counts of every family given
what each row says, then the tables that fit these counts best, and again. A Dirichlet prior adds
pseudo-counts. What is maximised, the log-likelihood of the rows and that of the prior, never falls.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from orbitmc import inference
from orbitmc._numba.compile_log import latest_time, require_time, time_limit, working_time
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import interruptible, stop_on_ctrl_c
from orbitmc._util.text import MEMORY, quote, suggestion
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact.families import (
    Counts,
    EvidenceRows,
    Family,
    FamilyCounter,
    FreeEntries,
    by_row_of_table,
    families_of,
)
from orbitmc.graph.builder import Builder
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model, TablePrecision
from orbitmc.inference.query import Names, list_names
from orbitmc.inference.rows import SOFT, distinct_rows, read_rows, values_in
from orbitmc.inference.table_errors import DIRICHLET, entry_errors, information_left

if TYPE_CHECKING:
    from orbitmc.inference._learn_field import FieldMethod, FieldStep, LearnedField
    from orbitmc.inference._learn_program import LearnedProgram, Paths
    from orbitmc.inference.query import Program
    from orbitmc.mln.language.scanner import Dialect
    from orbitmc.mln.learning.learner import Method, OptimiserName, WeightSemantics
    from orbitmc.mln.learning.objectives import Step

PRIOR = 1.0
TOLERANCE = 1e-6
MOST_ITERATIONS = 1000
SLACK = 1e-9  # of a log-likelihood: what rounding may take from it
SMOOTHING = 1.0  # pseudo-rows behind the tables that learning begins with
MOST_PARAMETERS = 3000  # entries of tables, learned from rows with holes, that have errors
MATRIX_SECONDS = 1e-9  # for the cube of their number
CLIMBING_SHARE = 0.8  # of the seconds; the rest is for finding out how sure tables are
FEWEST_DRAWS, DRAWS_PER_ENTRY = 100_000, 200  # of what rows leave open
FEW_CASES = 1.0  # rows that have all of a family: with fewer, its first table is drawn at random

Structure = Mapping[str, Sequence[str]]
"""The parents of each variable."""


class LearningStep(NamedTuple):
    """How learning goes: which start, which iteration, and the log-likelihood with its prior."""

    start: int
    iteration: int
    objective: float


@dataclass(frozen=True, repr=False)
class Learned(Model):
    """A network whose tables were learned from `rows`; questions about it have errors from them.

    `log_likelihood` is that of the rows, by natural logarithms and weights; `objective` has the
    prior added. `objectives` are what all starts reached; the best one is the answer. `counts` are
    expected numbers of rows by variable, [parents, value].
    """

    log_likelihood: float = 0.0
    objective: float = 0.0
    objectives: tuple[float, ...] = ()
    rows: int = 0
    iterations: int = 0
    converged: bool = False
    interrupted: bool = False
    seconds: float = 0.0
    prior: float = PRIOR
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    counts: Mapping[str, Floats] = field(default_factory=dict, repr=False)
    tables: Mapping[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def model(self) -> Model:
        """The network alone, which knows how sure its tables are."""
        return replace(self.with_graph(self.graph), precision=self.precision)

    @property
    def errors(self) -> dict[str, Floats]:
        """The standard errors of all entries of the tables."""
        if self.precision is None:
            raise InputError("; ".join(self.doubts) or "nobody knows how sure these tables are")
        return {
            name: entry_errors(self, v).reshape(self.tables[name].shape)
            for v, name in enumerate(self.names)
        }

    def __str__(self) -> str:
        holes = "in one pass" if self.iterations == 1 else f"{self.iterations} iterations"
        end = "" if self.converged else ", not converged"
        return (
            f"Learned({len(self.parents)} tables from {self.rows:,} rows, {holes}{end}, "
            f"log-likelihood {self.log_likelihood:,.6g})"
        )


@overload
def learn(
    model: Model | Structure,
    data: Any,
    *,
    prior: float = PRIOR,
    weights: ArrayLike | None = None,
    ignore: Names = (),
    fixed: Names = (),
    tied: Sequence[Sequence[str]] = (),
    start: str = "data",
    starts: int = 1,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
    seconds: float | None = None,
    seed: int = 0,
    memory: int = MEMORY,
    watch: Callable[[LearningStep], None] | None = None,
) -> Learned: ...
@overload
def learn(
    model: Model,
    data: Any,
    *,
    method: FieldMethod | None = None,
    prior: float = 1.0,
    weights: ArrayLike | None = None,
    ignore: Names = (),
    shared: bool = False,
    start: str = "data",
    tolerance: float = 1e-8,
    iterations: int = 1000,
    seconds: float | None = None,
    seed: int = 0,
    memory: int = MEMORY,
    watch: Callable[[FieldStep], None] | None = None,
) -> LearnedField: ...
@overload
def learn(
    model: str | Path | Program,
    data: Paths,
    *,
    method: Method | None = None,
    query: Names = (),
    hidden: Names = (),
    prior: float | Literal["auto"] = 2.0,
    held_out: Paths = (),
    errors: bool = False,
    optimiser: OptimiserName | None = None,
    iterations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    meaning: WeightSemantics = "formula",
    dialect: Dialect = "alchemy",
    max_groundings: int | None = None,
    memory: int = MEMORY,
    checkpoint: str | Path | None = None,
    watch: Callable[[Step], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> LearnedProgram: ...
def learn(model: Any, data: Any, **options: Any) -> Learned | LearnedField | LearnedProgram:
    """Learn from data: tables of a network or a Markov random field, or weights of a program.

    For a network: `model` is one, whose tables are learned anew, or the parents of each variable;
    then values are those that the data have. `data` is a data frame, a CSV file, or a list with a
    mapping for each row; None and NaN are holes, and a variable without a column is hidden.
    Complete rows are counted; others are learned from by expectation maximisation, until what is
    maximised changes by less than `tolerance` of itself.

    The `prior` is a Dirichlet prior worth so many rows, shared out evenly over the entries of
    each table; 0 gives maximum likelihood. Rows may have `weights`; columns that are no variables
    are named by `ignore`. Tables of `fixed` variables stay as they are; those of variables that are
    `tied` are the same. Learning begins with what rows say that have all of a family, and with
    random tables where there are no such rows, or with the tables of the model (`start="model"`);
    of several `starts` the best end is taken. Ctrl-C, or the end of the `seconds`, gives the tables
    learned so far.

    What is learned is a network. Its exact marginals, joint tables and events have errors that come
    from the rows.

    >>> import orbitmc as om
    >>> days = [{"season": "rainy", "rain": "heavy"}, {"season": "rainy"}, {"season": "dry"}]
    >>> learned = om.learn(om.read("examples/sprinkler.bif"), days * 20)
    >>> learned.tables["season"].round(3).tolist()
    [0.336, 0.664]
    >>> people = [{"smoke": True, "cough": True}] * 3 + [{"smoke": False, "cough": None}] * 2
    >>> people += [{"smoke": False, "cough": False}]
    >>> learned = om.learn({"smoke": [], "cough": ["smoke"]}, people, prior=0)
    >>> learned.model.domains()["cough"], learned.tables["cough"].round(3).tolist()
    (('false', 'true'), [[1.0, 0.0], [0.0, 1.0]])

    For a Markov random field, any model that is no Bayesian network: the logarithms of all weights
    but 0 are learned, those of each factor, or with `shared` once for all factors that share a
    table. The likelihood is maximised where sums over all states are affordable, the
    pseudo-likelihood elsewhere, which needs rows without holes; the result says which, and `method`
    chooses. The `prior` of log-weights is normal around 0 with variance 1 / `prior`; 0 gives
    maximum likelihood.

    >>> pair = om.model({"a": ["no", "yes"], "b": ["no", "yes"]}, [(["a", "b"], [[1, 1], [1, 1]]),
    ...                 (["a"], [1, 1]), (["b"], [1, 1])])
    >>> rows = [{"a": "yes", "b": "yes"}] * 3 + [{"a": "no", "b": "no"}] * 2 + [{"a": "no"}]
    >>> learned = om.learn(pair, rows, prior=0)
    >>> learned.method, round(om.marginals(learned)["a"]["yes"], 3)
    ('likelihood', 0.5)

    For a program: `model` is its file, whose formulas may have no weights, or what `read_logic`
    gives; `data` are files of databases, in which what is not listed is false. The `method` is
    `pseudo`, `conditional` on all but the `query`, or `discriminative`; atoms of `hidden`
    predicates that a database does not list are unknown. The `prior` is the width of a normal one,
    or `"auto"`. Databases that are `held_out` are scored, `errors` asks for standard errors, and a
    `checkpoint` keeps the last step: learning goes on from it.

    >>> learned = om.learn("examples/smokers.mln", "examples/smokers.db", query="Smokes")
    >>> learned.converged, len(learned.weights)
    (True, 4)

    `watch` is called with every step, and `tell` with what there is to say on the way.
    """
    if isinstance(model, Model) and not model.observed and families_of(model.graph) is None:
        _require_keywords("fields", options)
        return inference.learn_field(model, data, **options)
    if isinstance(model, Model | Mapping) or not inference.is_program(model):
        _require_keywords("networks", options)
        return learn_network(model, data, **options)
    _require_keywords("programs", options)
    return inference.learn_program(model, data, **options)


def _require_keywords(kind: str, options: Mapping[str, object]) -> None:
    """Refuse keywords of another kind of learning."""
    learners: dict[str, Callable[..., object]] = {
        "networks": learn_network,
        "fields": inference.learn_field,
        "programs": inference.learn_program,
    }
    keywords = {name: [*inspect.signature(f).parameters][2:] for name, f in learners.items()}
    for word in options:
        if word not in keywords[kind]:
            others = [name for name, words in keywords.items() if word in words]
            near = suggestion(word, keywords[kind])
            what = f"is for {others[0]}" if others else f"is no option of learning {kind}{near}"
            raise InputError(f"{word} {what}")


@interruptible()
def learn_network(
    model: Model | Structure,
    data: Any,
    *,
    prior: float = PRIOR,
    weights: ArrayLike | None = None,
    ignore: Names = (),
    fixed: Names = (),
    tied: Sequence[Sequence[str]] = (),
    start: str = "data",
    starts: int = 1,
    tolerance: float = TOLERANCE,
    iterations: int = MOST_ITERATIONS,
    seconds: float | None = None,
    seed: int = 0,
    memory: int = MEMORY,
    watch: Callable[[LearningStep], None] | None = None,
) -> Learned:
    """Learn the tables of a network; what `om.learn` does for networks."""
    begun = time.perf_counter()
    _check(prior, starts, tolerance, iterations, start)
    network = model if isinstance(model, Model) else _network(model, data, list_names(ignore))
    if network.helpers:
        raise InputError(
            "noisy gates are not learned: learn tables in their place, of model.without_helpers()"
        )
    every = read_evidence_rows(network, data, list_names(ignore))
    rows, count = weigh_rows(every, weights), len(every.weight)
    task = _Task(network, families_of_network(network), prior, list_names(fixed), tied)
    rng = np.random.default_rng(seed)
    with time_limit(math.inf if seconds is None else seconds - (time.perf_counter() - begun)):
        search = _Search(task, rows, count, tolerance, iterations, memory, watch, rng)
        with stop_on_ctrl_c(search.stop):
            with time_limit(CLIMBING_SHARE * (latest_time() - working_time())):
                search.run(start, starts)
            best = search.best()
    return replace(best, seconds=time.perf_counter() - begun)


def log_likelihoods(
    model: Model, table: Any, *, ignore: Names = (), memory: int = MEMORY
) -> Floats:
    """The log-probability of what each row of a table says, under a model.

    >>> import orbitmc as om
    >>> network = om.read("examples/sprinkler.bif")
    >>> om.inference.log_likelihoods(network, [{"season": "rainy"}, {}]).round(3).tolist()
    [-0.916, 0.0]
    """
    rows = read_evidence_rows(model, table, list_names(ignore))
    if families_of(model.graph) is None:
        return inference.field_log_likelihoods(model, rows, memory)
    families = families_of_network(model)
    scopes = [family.scope for family in families]
    counter = FamilyCounter(model.graph.cardinality.tolist(), scopes, rows, memory)
    tables = [model.graph.table_values(family.factor) for family in families]
    return counter.counts(tables).log_likelihood


def _check(prior: float, starts: int, tolerance: float, iterations: int, start: str) -> None:
    if isinstance(prior, str) or prior is None or not 0 <= prior < math.inf:
        raise InputError(f"a prior is worth some rows, a number of 0 or more, not {prior!r}")
    if starts < 1 or iterations < 1:
        raise InputError("learning needs one start and one iteration at least")
    if not 0 < tolerance < 1:
        raise InputError(f"the tolerance is between 0 and 1, not {tolerance!r}")
    if start not in ("data", "model"):
        raise InputError(f"learning starts from 'data' or from the 'model', not {start!r}")


def families_of_network(model: Model) -> tuple[Family, ...]:
    """The tables of a Bayesian network; another model is refused."""
    if model.observed:
        names = ", ".join(map(quote, model.observed))
        raise InputError(f"this needs the network without evidence, but {names} is observed")
    families = families_of(model.graph)
    if families is None:
        raise InputError(
            "this model is no Bayesian network: that has one factor for each variable, which holds "
            "its probabilities given its parents"
        )
    return families


def _network(structure: Structure, table: Any, ignore: Sequence[str]) -> Model:
    """A network with these parents, values from the data, and even tables."""
    if not isinstance(structure, Mapping):
        raise InputError(
            "tables are learned for a model, or for a mapping from variables to their parents, not "
            f"for {quote(structure)}"
        )
    parents = {name: list_names(given) for name, given in structure.items()}
    for name, given in parents.items():
        for parent in given:
            if parent not in parents:
                near = suggestion(parent, parents)
                raise InputError(
                    f"{quote(parent)}, a parent of {quote(name)}, is no variable{near}"
                )
        if len(set(given)) < len(given):
            raise InputError(f"{quote(name)} has a parent twice")
    try:
        tuple(TopologicalSorter(parents).static_order())
    except CycleError as error:
        circle = " -> ".join(map(str, reversed(error.args[1])))
        raise InputError(f"a variable is its own ancestor: {circle}") from None
    domains = values_in(table, tuple(parents), ignore)
    for name, values in domains.items():
        if len(values) < 2:
            said = f"only {quote(values[0])}" if values else "nothing"
            raise InputError(f"the table says {said} of {quote(name)}: a variable needs two values")
    names = tuple(parents)
    number = {name: variable for variable, name in enumerate(names)}
    builder = Builder([len(domains[name]) for name in names])
    for name, given in parents.items():
        scope = (*given, name)
        shape = [len(domains[member]) for member in scope]
        builder.add_factor([number[member] for member in scope], np.full(shape, -np.log(shape[-1])))
    return Model(builder.build(), names, tuple(domains[name] for name in names))


def read_evidence_rows(model: Model, table: Any, ignore: Sequence[str]) -> EvidenceRows:
    """What the rows of a table say, each with weight 1; rows that make no sense are refused."""
    rows = read_rows(model, table, ignore)
    count = rows.value.shape[1]
    for row, words in sorted(rows.problems.items())[:1]:
        more = f" (and {len(rows.problems) - 1:,} more rows)" if len(rows.problems) > 1 else ""
        raise InputError(f"row {row} of the table makes no sense{more}: {words}")
    if not count:
        raise InputError("the table has no rows")
    variables = tuple(model.index[name] for name in rows.names)
    sizes = [int(model.graph.cardinality[variable]) for variable in variables]
    return EvidenceRows(
        variables=variables,
        value=rows.value,
        soft=rows.value == SOFT,
        weight=np.ones(count),
        likelihood=lambda column, chosen: rows.likelihood(column, chosen, sizes[column]),
    )


def weigh_rows(rows: EvidenceRows, weights: ArrayLike | None) -> EvidenceRows:
    """Rows that say the same, once, with their weights."""
    count = len(rows.weight)
    weight = rows.weight if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != (count,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError(f"weights are {count:,} numbers, 0 or more, one for each row")
    if not weight.sum() > 0:
        raise InputError("all rows have weight 0: there is nothing to learn from")
    if rows.soft.any() or (rows.value >= 0).all():
        return replace(rows, weight=weight)
    first, which = distinct_rows(rows.value, soft=False)
    return EvidenceRows(
        variables=rows.variables,
        value=rows.value[:, first],
        soft=rows.soft[:, first],
        weight=np.bincount(which, weights=weight, minlength=len(first)).astype(np.float64),
        likelihood=lambda column, chosen: rows.likelihood(column, first[chosen]),
    )


class _Task:
    """A network to learn: which tables, the pseudo-counts of each, which are the same."""

    def __init__(
        self,
        model: Model,
        families: tuple[Family, ...],
        prior: float,
        fixed: Sequence[str],
        tied: Sequence[Sequence[str]],
    ) -> None:
        self.model, self.families, self.prior = model, families, prior
        self.sizes = tuple(model.graph.cardinality.tolist())
        self.scopes = tuple(family.scope for family in families)
        self.fixed = {self._variable(name, "fixed") for name in fixed}
        self.group = list(range(len(families)))  # a variable with the same table
        taken = set(self.fixed)
        for names in tied:
            if isinstance(names, str):
                raise InputError(f"tied is a list of lists of names, as in [[{names!r}, ...]]")
            members = [self._variable(name, "tied") for name in names]
            for member in members:
                self._require_alike(members[0], member)
                if member in taken:
                    raise InputError(
                        f"the table of {quote(model.names[member])} is tied twice, or fixed as well"
                    )
                taken.add(member)
            for member in members:
                self.group[member] = members[0]
        self.given = [model.graph.table_values(family.factor) for family in families]

    def _variable(self, name: str, what: str) -> int:
        if name not in self.model.index:
            near = suggestion(str(name), self.model.index)
            raise InputError(f"{quote(name)} cannot be {what}: it is no variable{near}")
        return self.model.index[name]

    def _shape(self, variable: int) -> tuple[int, ...]:
        return tuple(self.sizes[member] for member in self.scopes[variable])

    def _require_alike(self, first: int, second: int) -> None:
        axes = self.families[first].axis, self.families[second].axis
        if self._shape(first) != self._shape(second) or axes[0] != axes[1]:
            names = self.model.names
            raise InputError(
                f"{quote(names[first])} and {quote(names[second])} cannot have the same table: "
                f"{self._shape(first)} and {self._shape(second)} entries"
            )

    def pseudo_counts(self, variable: int) -> float:
        """What the prior adds to every entry of a table."""
        return self.prior / math.prod(self._shape(variable))

    def learned(self) -> list[int]:
        """Variables whose tables are learned, one of each group."""
        return [v for v, first in enumerate(self.group) if v == first and v not in self.fixed]

    def fit(self, counts: Sequence[Floats], before: Sequence[Floats]) -> list[Floats]:
        """The log-tables that fit expected counts and the prior best."""
        summed = {v: counts[v] + self.pseudo_counts(v) for v in self.learned()}
        for variable, first in enumerate(self.group):
            if first != variable:
                summed[first] = summed[first] + counts[variable]
        tables = list(before)
        for variable, first in enumerate(self.group):
            if first in summed:
                tables[variable] = _normalise(
                    summed[first], self.families[variable].axis, before[variable]
                )
        return tables

    def log_prior(self, log_tables: Sequence[Floats]) -> float:
        """The logarithm of the prior, less a constant."""
        if self.prior == 0:
            return 0.0
        return math.fsum(self.pseudo_counts(v) * float(log_tables[v].sum()) for v in self.learned())

    def by_child(self, variable: int, table: Floats) -> Floats:
        """A table with the variable itself last."""
        return np.moveaxis(table, self.families[variable].axis, -1)

    def build(self, log_tables: Sequence[Floats]) -> FactorGraph:
        """The network with these tables."""
        builder = Builder(self.sizes)
        owner = {family.factor: variable for variable, family in enumerate(self.families)}
        for factor in range(len(self.families)):
            variable = owner[factor]
            builder.add_factor(self.scopes[variable], log_tables[variable])
        return builder.build()

    def rows_behind(self, counts: Sequence[Floats]) -> tuple[Floats, ...]:
        """How many rows are behind each row of a table, those that its prior is worth included."""
        behind = {v: self.sizes[v] * self.pseudo_counts(v) + np.zeros(1) for v in self.learned()}
        for variable, first in enumerate(self.group):
            if first in behind:
                table = by_row_of_table(counts[variable], self.families[variable].axis)
                behind[first] = behind[first] + table.sum(axis=1)
        return tuple(behind.get(v, np.zeros(0)) for v in range(len(self.families)))

    @property
    def same_as(self) -> tuple[int, ...]:
        """The variable whose table each one has, -1 where it is fixed."""
        return tuple(-1 if first in self.fixed else first for first in self.group)


def _normalise(counts: Floats, axis: int, before: Floats) -> Floats:
    """Logarithms of shares along an axis; as before where nothing was counted."""
    total = counts.sum(axis=axis, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, np.log(counts) - np.log(total), before)


class _End(NamedTuple):
    """Where a start ended."""

    log_tables: list[Floats]
    counts: Counts
    objective: float
    iterations: int
    converged: bool


class _Search:
    """Climbs from several starts; knows the best end so far."""

    def __init__(
        self,
        task: _Task,
        rows: EvidenceRows,
        count: int,
        tolerance: float,
        iterations: int,
        memory: int,
        watch: Callable[[LearningStep], None] | None,
        rng: np.random.Generator,
    ) -> None:
        self.task, self.rows, self.count, self.rng = task, rows, count, rng
        self.tolerance, self.iterations, self.watch = tolerance, iterations, watch
        self.counter = FamilyCounter(task.sizes, task.scopes, rows, memory)
        self.ends: list[_End] = []
        self.stopped = False

    def stop(self) -> None:
        """Let the search end with what it has."""
        self.counter.stop()

    def first_tables(self, start: str, number: int) -> list[Floats]:
        """Tables to begin with: of the model, of complete families, or random ones."""
        task = self.task
        if start == "model" and number == 0:
            return list(task.given)
        counts = []
        for variable, family in enumerate(task.families):
            cases = self.counter.complete_counts(variable)
            if number > 0 or cases.sum() < FEW_CASES:
                shape = list(np.moveaxis(cases, family.axis, -1).shape)
                shares = self.rng.dirichlet(np.ones(shape[-1]), math.prod(shape[:-1]))
                cases = (1.0 + task.prior) * np.moveaxis(shares.reshape(shape), -1, family.axis)
            counts.append(cases + SMOOTHING / cases.size)
        return task.fit(counts, task.given)

    def fit_complete_rows(self) -> None:
        """Fit tables to rows that leave nothing open: one pass is enough."""
        tables = [self.counter.complete_counts(v) for v in range(len(self.task.families))]
        log_tables = self.task.fit(tables, self.task.given)
        counts = Counts(tables, self.counter.complete_log_likelihood(log_tables))
        self._require_possible(counts)
        self._end(0, 1, log_tables, counts, True)

    def run(self, start: str, starts: int) -> None:
        """Count complete rows, or climb from all starts."""
        if self.counter.is_complete:
            self.fit_complete_rows()
        else:
            for number in range(starts):
                self.climb(number, self.first_tables(start, number))

    def climb(self, number: int, log_tables: list[Floats]) -> None:
        """Improve tables until that does not pay; what is reached is one more end."""
        if self.stopped:
            return
        before = -math.inf
        for iteration in range(1, self.iterations + 1):
            try:
                counts = self.counter.counts(log_tables)
            except (LimitError, KeyboardInterrupt):
                self.stopped = True
                return
            self._require_possible(counts)
            objective = self._objective(counts, log_tables)
            if objective < before - SLACK * (1.0 + abs(before)):
                raise RuntimeError(
                    f"the likelihood fell from {before!r} to {objective!r}: please report this"
                )
            done = objective - before <= self.tolerance * abs(objective)
            self._end(number, iteration, log_tables, counts, done)
            if done:
                return
            before, log_tables = objective, self.task.fit(counts.tables, log_tables)

    def _objective(self, counts: Counts, log_tables: Sequence[Floats]) -> float:
        chosen = self.rows.weight > 0
        return float(
            self.rows.weight[chosen] @ counts.log_likelihood[chosen]
        ) + self.task.log_prior(log_tables)

    def _end(
        self, number: int, iteration: int, tables: list[Floats], counts: Counts, converged: bool
    ) -> None:
        end = _End(tables, counts, self._objective(counts, tables), iteration, converged)
        del self.ends[number:]
        self.ends.append(end)
        if self.watch is not None:
            self.watch(LearningStep(number + 1, iteration, end.objective))

    def _require_possible(self, counts: Counts) -> None:
        impossible = np.flatnonzero(np.isneginf(counts.log_likelihood) & (self.rows.weight > 0))
        if len(impossible):
            names = self.task.model.names
            row = self.rows.value[:, impossible[0]]
            said = ", ".join(
                f"{names[v]}={self.task.model.values[v][value]}"
                for v, value in zip(self.rows.variables, row.tolist(), strict=True)
                if value >= 0
            )
            raise ContradictionError(
                f"{len(impossible):,} different rows are impossible with the tables that learning "
                f"begins with, such as {said}: fix fewer tables, or begin with the data"
            )

    def _precision(self, end: _End) -> TablePrecision:
        """How sure the tables of an end are."""
        task = self.task
        behind = task.rows_behind(end.counts.tables)
        if self.counter.is_complete:
            return TablePrecision(self.count, task.same_as, behind)
        entries = FreeEntries(task.families, end.log_tables, task.same_as)
        if not entries.count:
            return TablePrecision(self.count, task.same_as, behind)
        if entries.count > MOST_PARAMETERS:
            raise LimitError(
                f"{entries.count:,} entries were learned from rows with holes, which is known for "
                f"up to {MOST_PARAMETERS:,}"
            )
        require_time(MATRIX_SECONDS * entries.count**3)
        complete = entries.information({v: behind[v] + DIRICHLET for v in task.learned()})
        draws = max(FEWEST_DRAWS, DRAWS_PER_ENTRY * entries.count)
        hidden = self.counter.hidden_covariance(entries, end.log_tables, draws, self.rng)
        information = information_left(complete, hidden)
        return TablePrecision(self.count, task.same_as, behind, information)

    def best(self) -> Learned:
        """The best end, with its names."""
        if not self.ends:
            raise LimitError("there was no time for one step of learning: more seconds may do")
        task = self.task
        end = max(self.ends, key=lambda end: end.objective)
        tables = {
            name: np.exp(task.by_child(v, end.log_tables[v]))
            for v, name in enumerate(task.model.names)
        }
        names = task.model.names
        precision: TablePrecision | None = None
        doubts: tuple[str, ...] = ()
        try:
            precision = self._precision(end)
        except (LimitError, KeyboardInterrupt) as error:
            why = "learning was stopped" if isinstance(error, KeyboardInterrupt) else error
            doubts = (f"how sure the tables are is not known: {why}",)
        parents = {
            name: tuple(names[member] for member in _without(task.scopes[v], task.families[v].axis))
            for v, name in enumerate(names)
        }
        return Learned(
            graph=task.build(end.log_tables),
            names=names,
            values=task.model.values,
            order=task.model.order,
            doubts=doubts,
            precision=precision,
            log_likelihood=end.objective - task.log_prior(end.log_tables),
            objective=end.objective,
            objectives=tuple(end.objective for end in self.ends),
            rows=self.count,
            iterations=end.iterations,
            converged=end.converged and not self.stopped,
            interrupted=self.stopped,
            prior=task.prior,
            parents=parents,
            counts={name: task.by_child(v, end.counts.tables[v]) for v, name in enumerate(names)},
            tables=tables,
        )


def _without(members: Sequence[Any], place: int) -> list[Any]:
    return [member for k, member in enumerate(members) if k != place]
