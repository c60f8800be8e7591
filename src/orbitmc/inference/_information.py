"""What knowing one variable says about another: their mutual information, in bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np
from scipy.special import xlogy

from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import InputError
from orbitmc.estimate.answers import Estimate, Estimates, certain
from orbitmc.estimate.features import column_means, half_width, jackknife, worst_verdict
from orbitmc.estimate.marginals import About
from orbitmc.estimate.statistics import standard_errors
from orbitmc.exact.joints import joints, tie_scopes
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference._joint import JointFeature, in_names
from orbitmc.inference.answer import answer, exact_about, require_possible
from orbitmc.inference.feature_sampling import (
    FeatureEstimate,
    choose_averaged_variable,
    sample_feature,
    variables_of,
)
from orbitmc.inference.plan import Plan, plan_model
from orbitmc.inference.query import Query, Target, View, all_targets, list_names
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options

if TYPE_CHECKING:
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver


@accepts_settings
@interruptible()
def information(
    model: Model | Program,
    target: str,
    candidates: Sequence[str] | None = None,
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Estimates:
    """Say how much each candidate would tell about a target, the most informative one first.

    The mutual information of two variables given the evidence, in bits: by how much observing one
    lowers the entropy of the other, on average. Unless `candidates` are named, all other variables
    that are not observed are. Of a program, names are ground atoms.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> found = om.information(model, "rain", evidence={"grass": "wet"})
    >>> [(name, round(float(one), 4)) for name, one in found.items()]
    [('sprinkler', 0.4648), ('season', 0.3549)]
    """

    def bind(view: View) -> InformationQuestion:
        wanted = view.find(target)
        return InformationQuestion(view, wanted, _candidates(view, wanted, candidates, evidence))

    return answer(Query(model, evidence, bind), merge_options(settings, options), watchers)


def _candidates(
    asked: View, target: Target, names: Sequence[str] | None, evidence: Evidence | None
) -> list[Target]:
    if names is None:
        seen = {target.name, *asked.decided_by(evidence)}
        return [
            candidate
            for candidate in all_targets(asked)
            if candidate.known is None and candidate.name not in seen
        ]
    listed = list_names(names)
    if not listed:
        raise InputError("name at least one candidate")
    return list(asked.named(listed))


class InformationQuestion:
    """What each candidate tells about a target."""

    can_resume = False

    def __init__(self, view: View, target: Target, candidates: Sequence[Target]) -> None:
        self.view, self.target, self.candidates = view, target, candidates
        self.scopes = [variables_of([target, candidate]) for candidate in candidates]
        self.needs = variables_of([target, *candidates])

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> Estimates:
        return self._exact(row.tables(self.scopes), row.about)

    def plan(self, settings: Settings) -> Plan:
        return plan_model(
            self.view.model,
            settings,
            lambda graph: tie_scopes(graph, self.scopes),
            collapses=True,
        )

    def from_elimination(self, plan: Plan) -> Estimates:
        if not self.candidates:
            return self._nothing_left(plan)
        return self._exact(joints(plan.one_elimination, self.scopes), exact_about(plan))

    def _exact(self, tables: Sequence[Floats], about: About) -> Estimates:
        """The answer from tables of the target and each candidate."""
        estimates = {
            other.name: certain(_information(in_names(table, scope, [self.target, other])), about)
            for other, scope, table in zip(self.candidates, self.scopes, tables, strict=True)
        }
        return Estimates(_sort_by_information(estimates), about)

    def _nothing_left(self, plan: Plan) -> Estimates:
        require_possible(plan)
        reason = "no other variable is left that could be observed"
        return Estimates({}, About("exact", reason, warnings=plan.remarks))

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Estimates:
        if not self.candidates:
            return self._nothing_left(plan)
        averaged = choose_averaged_variable(plan.model, variables_of([self.target]))
        feature = PairsFeature(self.target, self.candidates, plan.model, averaged)
        noted = sample_feature(self.view, plan, feature, observers)
        estimates, first = {}, 0
        for pair, other in zip(feature.pairs, self.candidates, strict=True):
            rows = slice(first, first + pair.rows)
            estimates[other.name] = _jackknife(noted, pair, rows, feature)
            first += pair.rows
        return Estimates(_sort_by_information(estimates), noted.about)


def _information(table: Floats) -> float:
    """The mutual information of the two axes of a table of probabilities, in bits."""
    apart = np.outer(table.sum(axis=1), table.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = xlogy(table, table / np.where(apart > 0, apart, 1.0))
    bits = float(logs.sum()) / LN_2
    return bits if bits > ROUNDING else 0.0


def _sort_by_information(estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    return dict(sorted(estimates.items(), key=lambda pair: -pair[1].value))


LN_2 = math.log(2.0)  # nats in a bit
ROUNDING = 1e-14  # bits: what is smaller is an error of sums


class PairsFeature:
    """The joint values of a target and each of several others, one pair after the other."""

    def __init__(
        self, target: Target, others: Sequence[Target], model: Model, averaged: int
    ) -> None:
        sizes = model.graph.cardinality.tolist()
        self.averaged = averaged
        self.pairs = [JointFeature([target, other], sizes, averaged) for other in others]
        self.variables = np.array(variables_of([target, *others]), dtype=np.int64)
        self.rows = sum(pair.rows for pair in self.pairs)
        place = {variable: row for row, variable in enumerate(self.variables.tolist())}
        self.places = [[place[v] for v in pair.variables.tolist()] for pair in self.pairs]

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        pairs = zip(self.pairs, self.places, strict=True)
        return np.concatenate([pair.sums(states[rows], chances) for pair, rows in pairs])

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means)


def _jackknife(
    noted: FeatureEstimate, pair: JointFeature, rows: slice, feature: PairsFeature
) -> Estimate:
    """The jackknife over columns: it takes off what noise alone would add, and gives an error."""
    pair_sums = [sums[:, rows] for sums in noted.sums]
    seen = noted.over(pair_sums)
    means = column_means(pair_sums, noted.recorded, noted.lanes)
    value, spread = jackknife(lambda sums: _information(_table(sums, pair)), means)
    value, error = max(0.0, value), max(spread, float((1.0 / seen.states).max()) / LN_2)
    half = half_width(error, means.shape[1])
    places = {v: k for k, v in enumerate(feature.variables.tolist())}
    verdicts = [noted.verdicts[places[v]] for v in pair.variables.tolist()]
    return Estimate(
        value=value,
        standard_error=error,
        low=max(0.0, value - half),
        high=value + half,
        verdict=worst_verdict(seen.verdict(), verdicts),
        about=noted.about,
    )


def _table(sums: Floats, pair: JointFeature) -> Floats:
    table: Floats = (sums / sums.sum()).reshape(pair.shape)
    return table
