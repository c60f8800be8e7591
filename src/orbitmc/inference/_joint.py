"""How probable the joint values of a few variables are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from orbitmc import inference
from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import Joint
from orbitmc.estimate.features import worst_verdict
from orbitmc.estimate.marginals import About, Marginals
from orbitmc.estimate.statistics import standard_errors
from orbitmc.estimate.verdicts import EXACT, FORCED
from orbitmc.exact.joints import joints, tie_scopes
from orbitmc.exact.problem import MOST_JOINT_ENTRIES
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.feasibility import possible_states
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import relevant
from orbitmc.inference._marginals import MarginalsQuestion
from orbitmc.inference.answer import answer, exact_about, require_possible
from orbitmc.inference.feature_sampling import (
    choose_averaged_variable,
    sample_feature,
    variables_of,
)
from orbitmc.inference.plan import Plan, asked_at, plan_model
from orbitmc.inference.query import (
    NO_VARIABLE,
    Query,
    Target,
    View,
    has_learned_tables,
    list_names,
    view_of,
)
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options

ALL_KNOWN = "evidence decides all of them"

if TYPE_CHECKING:
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver


@accepts_settings
@interruptible()
def joint(
    model: Model | Program,
    names: Sequence[str],
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Joint:
    """Say how probable each joint value of some variables is, with its error.

    The arrays of the answer have an axis for each name. `method="auto"` answers exactly when that
    is affordable and samples otherwise, averaging over one of the variables. Of a program, names
    are ground atoms. Ctrl-C gives the partial answer.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> found = om.joint(model, ["sprinkler", "rain"], {"grass": "wet"})
    >>> found.probability.round(4).tolist()
    [[0.0156, 0.2132, 0.1947], [0.4497, 0.079, 0.0478]]
    """
    listed = _as_names(names)
    count = in_cells = None
    if not isinstance(model, Model):
        count = partial(inference.count_joint, model, names=listed)
        in_cells = partial(inference.CellJoint, model, listed)

    def bind(view: View) -> JointQuestion:
        return JointQuestion(view, view.named(listed))

    finish = inference.joint_errors(model, evidence) if has_learned_tables(model) else None
    query = Query(model, evidence, bind, count, bind, in_cells, finish)
    return answer(query, merge_options(settings, options), watchers)


def _as_names(names: Sequence[str]) -> list[str]:
    listed = list(list_names(names))
    if not listed:
        raise InputError("name at least one variable")
    return listed


def _require_few(named: Sequence[Target]) -> None:
    entries = math.prod(len(target.values) for target in named)
    if entries > MOST_JOINT_ENTRIES:
        raise LimitError(
            f"a joint table of these {len(named)} variables would have {entries:.3g} entries, the "
            f"limit is {MOST_JOINT_ENTRIES}; ask about fewer"
        )


class JointQuestion:
    """The joint values of some names."""

    can_resume = False

    def __init__(self, view: View, named: Sequence[Target]) -> None:
        _require_few(named)
        self.view, self.named, self.scope = view, named, variables_of(named)
        self.scopes = (self.scope,)
        self.needs = self.scope

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> Joint:
        return _exact(self.named, self.scope, row.tables(self.scopes)[0], row.about)

    def plan(self, settings: Settings) -> Plan:
        if not self.scope:
            return Plan(self.view.model, settings, ALL_KNOWN, None, begun=asked_at(settings))
        if (single := self._ask_marginal(settings)) is not None:
            return single.plan(settings)
        return plan_model(
            self.view.model,
            settings,
            lambda graph: tie_scopes(graph, self.scopes),
            collapses=True,
        )

    def _ask_marginal(self, settings: Settings) -> MarginalsQuestion | None:
        """The marginal that says all, where only one name is not decided; None elsewhere."""
        return None if settings.base == "relations" else self._single_marginal

    @cached_property
    def _single_marginal(self) -> MarginalsQuestion | None:
        free = [target for target in self.named if target.known is None]
        if len(free) != 1 or len({*free[0].meaning.tolist()}) < len(free[0].meaning):
            return None  # several names, or an atom that shares its variable with others
        model = self.view.model
        part, left_out = relevant(model, self.scope)
        if left_out is not None:
            possible_states(left_out, 1, np.random.SeedSequence(0))  # refuses what is impossible
        return MarginalsQuestion(view_of(part), (model.names[free[0].variable],), None, None)

    def from_elimination(self, plan: Plan) -> Joint:
        if (single := self._ask_marginal(plan.settings)) is not None:
            return self._from_marginal(single.from_elimination(plan))
        table = joints(plan.one_elimination, self.scopes)[0]
        return _exact(self.named, self.scope, table, exact_about(plan))

    def _from_marginal(self, marginals: Marginals) -> Joint:
        """The marginal of the one name that is not decided, where all others are what they are."""
        (marginal,) = marginals.values()
        columns = (
            marginal.probability,
            marginal.standard_error,
            marginal.low,
            marginal.high,
            marginal.rare.astype(np.float64),
        )
        verdict = EXACT if marginal.verdict == FORCED else marginal.verdict
        tables = [in_names(column, self.scope, self.named) for column in columns]
        return _joint(self.named, tables, verdict, marginals.about)

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Joint:
        if not self.scope:
            require_possible(plan)
            return _exact(self.named, (), np.array(1.0), exact_about(plan))
        if (single := self._ask_marginal(plan.settings)) is not None:
            return self._from_marginal(single.from_chains(plan, observers))
        graph = plan.model.graph
        averaged = choose_averaged_variable(plan.model, self.scope)
        feature = JointFeature(self.named, graph.cardinality.tolist(), averaged)
        noted = sample_feature(self.view, plan, feature, observers)
        estimates = noted.features()
        columns: list[NDArray[Any]] = [
            estimates.probability,
            estimates.standard_error,
            estimates.low,
            estimates.high,
            estimates.rare,
        ]
        verdict = worst_verdict(estimates.verdict(), noted.verdicts)
        shape = [len(target.values) for target in self.named]
        tables = [column.reshape(shape) for column in columns]
        return _joint(self.named, tables, verdict, noted.about)


def _exact(named: Sequence[Target], scope: Sequence[int], table: Floats, about: About) -> Joint:
    """The answer from a table of variables."""
    probability = in_names(table, scope, named)
    none = np.zeros_like(probability)
    return _joint(named, (probability, none, probability, probability, none), EXACT, about)


def in_names(table: Floats, scope: Sequence[int], named: Sequence[Target]) -> Floats:
    """Say a joint table of variables in terms of names that depend on them."""
    places = dict(zip(scope, np.indices(table.shape), strict=True))
    shape = [len(target.values) for target in named]
    flat = np.zeros(table.shape, dtype=np.int64)
    for target, stride in zip(named, strides_of(shape), strict=True):
        flat += stride * target.meaning[places.get(target.variable, 0)]
    total: NDArray[Any] = np.bincount(flat.reshape(-1), table.reshape(-1), math.prod(shape))
    return total.reshape(shape)


def strides_of(shape: Sequence[int]) -> list[int]:
    """How far a step along each axis goes in a flat table, last axis fastest."""
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


class JointFeature:
    """The indicator of every joint value; one of the variables may be averaged over."""

    def __init__(self, named: Sequence[Target], sizes: Sequence[int], averaged: int) -> None:
        self.named, self.averaged = named, averaged
        self.variables = np.array(variables_of(named), dtype=np.int64)
        self.shape = [len(target.values) for target in named]
        self.rows = math.prod(self.shape)
        self.offset = np.zeros(1 if averaged == NO_VARIABLE else sizes[averaged], dtype=np.int64)
        for target, stride in zip(named, strides_of(self.shape), strict=True):
            if target.known is None and target.variable == averaged:
                self.offset += stride * target.meaning

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        chances = np.ones((1, states.shape[1])) if chances is None else chances
        cells = self._cells(states) * COLUMNS + np.arange(states.shape[1]) % COLUMNS
        total = np.zeros(self.rows * COLUMNS)
        for offset, chance in zip(self.offset.tolist(), chances, strict=True):
            total += np.bincount(cells + offset * COLUMNS, chance, minlength=len(total))
        return total.reshape(self.rows, COLUMNS)

    def _cells(self, states: Bytes) -> Numbers:
        """The joint value of each state, as if those that are averaged over had their first."""
        place = {variable: row for row, variable in enumerate(self.variables.tolist())}
        cells = np.zeros(states.shape[1], dtype=np.int64)
        for target, stride in zip(self.named, strides_of(self.shape), strict=True):
            if target.known is not None:
                cells += stride * target.known
            elif target.variable != self.averaged:
                cells += stride * target.meaning[states[place[target.variable]]]
        return cells

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means)


def _joint(
    named: Sequence[Target], columns: Sequence[NDArray[Any]], verdict: str, about: About
) -> Joint:
    probability, error, low, high, rare = columns
    return Joint(
        names=tuple(target.name for target in named),
        values=tuple(target.values for target in named),
        probability=probability,
        standard_error=error,
        low=low,
        high=high,
        rare=rare.astype(np.bool_),
        verdict=verdict,
        about=about,
    )
