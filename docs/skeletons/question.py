"""How probable it is that some variables have the same value."""

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np

from orbitmc._util.interrupts import interruptible
from orbitmc.errors import InputError
from orbitmc.estimate.answers import Estimate, certain
from orbitmc.estimate.features import sums_by_column, worst_verdict
from orbitmc.estimate.statistics import standard_errors
from orbitmc.exact.joints import joints, tie_scopes
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference._joint import in_names
from orbitmc.inference.answer import answer, exact_about
from orbitmc.inference.feature_sampling import NOBODY, sample_feature, variables_of
from orbitmc.inference.plan import Plan, plan_model
from orbitmc.inference.query import Query, Target, View
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options


@accepts_settings
@interruptible()
def agreement(
    model: Model,
    names: Sequence[str],
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    watchers: Iterable[Any] = (),
    **options: Unpack[Options],
) -> Estimate:
    """Say how probable it is that variables have the same value, with its error."""
    query = Query(model, evidence, lambda view: AgreementQuestion(view, view.named(names)))
    return answer(query, merge_options(settings, options), watchers)


class AgreementQuestion:
    """The question in terms of one model: how elimination answers it, and how chains do."""

    can_resume = False

    def __init__(self, view: View, named: Sequence[Target]) -> None:
        if len({target.values for target in named}) != 1:
            raise InputError("variables that may agree have the same values")
        self.view, self.named, self.scope = view, named, variables_of(named)
        self.scopes = (self.scope,)
        self.needs = self.scope  # what the answer does not depend on is left out first

    def from_cache(self, row: Any, evidence: Evidence | None, settings: Settings) -> Estimate:
        return certain(self._trace(row.tables(self.scopes)[0]), row.about)

    def plan(self, settings: Settings) -> Plan:
        return plan_model(self.view.model, settings, lambda graph: tie_scopes(graph, self.scopes))

    def from_elimination(self, plan: Plan) -> Estimate:
        assert plan.elimination is not None
        return certain(self._trace(joints(plan.elimination, self.scopes)[0]), exact_about(plan))

    def _trace(self, table: Any) -> float:
        joint = in_names(table, self.scope, self.named)
        return float(sum(joint[(place,) * joint.ndim] for place in range(len(joint))))

    def from_chains(self, plan: Plan, observers: Iterable[Any]) -> Estimate:
        noted = sample_feature(self.view, plan, AgreementFeature(self.named), observers)
        estimates = noted.features()
        return Estimate(
            value=float(estimates.probability[0]),
            standard_error=float(estimates.standard_error[0]),
            low=float(estimates.low[0]),
            high=float(estimates.high[0]),
            verdict=worst_verdict(estimates.verdict(), noted.verdicts),
            about=noted.about,
        )


class AgreementFeature:
    """What is summed up over recorded states: one row, whether all values are the same."""

    averaged, rows = NOBODY, 1

    def __init__(self, named: Sequence[Target]) -> None:
        self.named = named
        self.variables = np.array(variables_of(named), dtype=np.int64)
        self.place = {variable: row for row, variable in enumerate(self.variables.tolist())}

    def sums(self, states: Any, chances: Any) -> Any:
        first, *others = (self._values(target, states) for target in self.named)
        agree = np.all([first == other for other in others], axis=0)
        return sums_by_column(np.broadcast_to(agree, (1, states.shape[1])).astype(np.float64))

    def _values(self, target: Target, states: Any) -> Any:
        if target.known is not None:
            return np.full(states.shape[1], target.known)
        return target.meaning[states[self.place[target.variable]]]

    def errors(self, means: Any) -> Any:
        return standard_errors(means)
