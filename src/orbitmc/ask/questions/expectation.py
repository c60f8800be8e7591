"""The mean of any function of a state."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import listening
from orbitmc.ask.keywords import Options, asks, with_options
from orbitmc.ask.method.decisions import Decision, decide
from orbitmc.ask.questions.features.answering import (
    exact_about,
    explained,
    require_no_checkpoint,
    sample_feature,
    variables_of,
)
from orbitmc.ask.questions.features.functions import (
    Asked,
    Function,
    FunctionFeature,
    Lookup,
    Table,
    Values,
    features_from,
)
from orbitmc.ask.questions.subject import Named, Subject, subject
from orbitmc.ask.settings import Settings
from orbitmc.estimate.answers import Estimate, Estimates, certain
from orbitmc.estimate.marginals import About
from orbitmc.estimate.verdicts import FEW
from orbitmc.exact.joints import joints, tied
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.ask.query import Program
    from orbitmc.sampling.run import Watcher

TRIED = 64  # states in which functions show what they depend on


@asks
@listening()
def expect(
    model: Model | Program,
    features: Mapping[str, Function | Table],
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    watchers: Iterable[Watcher] = (),
    **options: Unpack[Options],
) -> Estimates:
    """Say what functions of a state are on average, each with its error.

    A function gets a mapping from names to arrays, the places of values in many states, and gives
    an array with a number for each state: `lambda s: s["A"] + 2 * (s["B"] == 1)`. It must be
    elementwise. A feature may also be a table: `(["A", "B"], [[0, 1], [1, 2]])`. Answers are exact
    where elimination affords the joint of all names that a function looks at; sampled elsewhere.
    What a sampled function might be in states that were not seen is taken from its range in those
    that were; one that was the same in all of them is tried for all values that it may look at, and
    is not believed where these are too many. Ctrl-C gives the partial answer.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> wet = {"sources": lambda s: 1 * (s["rain"] > 0) + s["sprinkler"]}
    >>> print(om.expect(model, wet, {"grass": "wet"})["sources"])
    1.11127, exact
    """
    chosen = with_options(settings, options)
    require_no_checkpoint(chosen)
    plain = subject(model)
    found = _quickly_found(plain, features_from(features, plain), evidence, chosen)
    if found is not None:
        return found
    asked = subject(model, evidence)
    functions = features_from(features, asked)
    return explained(asked, lambda: _found(asked, functions, chosen, watchers))


def _quickly_found(
    plain: Subject, functions: Sequence[Asked], evidence: Evidence | None, settings: Settings
) -> Estimates | None:
    """Exact means where elimination is soon prepared; None elsewhere."""
    row = plain.quick_row(evidence, settings)
    if row is None:
        return None
    state = row.likely_state()
    used = _names_used(plain, functions, lambda one: np.array([state[one.variable]]), 1)
    while True:
        scopes = [variables_of(own.values()) for own in used]
        row = plain.quick_row(evidence, settings, scopes)
        if row is None:
            return None
        means = _means(plain, functions, used, scopes, row.tables(scopes))
        if means is not None:
            return _exact(functions, means, row.about)


def _found(
    asked: Subject, functions: Sequence[Asked], settings: Settings, watchers: Iterable[Watcher]
) -> Estimates:
    begun = time.perf_counter()
    decision = decide(asked.model, settings)
    if decision.plan is None:
        return _sampled(asked, functions, decision, watchers)
    used = _tried(asked, functions, decision)
    while True:
        scopes = [variables_of(own.values()) for own in used]
        decision = decide(asked.model, settings, lambda graph, s=scopes: tied(graph, s))  # type: ignore[misc]
        if decision.plan is None:
            return _sampled(asked, functions, decision, watchers)
        means = _means(asked, functions, used, scopes, joints(decision.plan, scopes))
        if means is not None:
            return _exact(functions, means, exact_about(decision, begun))


def _exact(functions: Sequence[Asked], means: Sequence[float], about: About) -> Estimates:
    pairs = zip(functions, means, strict=True)
    return Estimates({one.name: certain(mean, about) for one, mean in pairs}, about)


def _tried(
    asked: Subject, functions: Sequence[Asked], decision: Decision
) -> list[dict[str, Named]]:
    """The names that functions look at in some possible states."""
    from orbitmc.exact.draws import independent_states

    assert decision.plan is not None
    states = independent_states(decision.plan, TRIED, seed=decision.settings.seed)
    return _names_used(asked, functions, lambda one: states[one.variable], TRIED)


def _names_used(
    asked: Subject, functions: Sequence[Asked], lookup: Lookup, count: int
) -> list[dict[str, Named]]:
    """The names that each function looks at in so many states."""
    found = []
    for function in functions:
        values = Values(asked, lookup, count)
        function(values)
        found.append(values.used)
    return found


def _means(
    asked: Subject,
    functions: Sequence[Asked],
    used: Sequence[dict[str, Named]],
    scopes: Sequence[tuple[int, ...]],
    tables: Sequence[Floats],
) -> list[float] | None:
    """The means of functions; None if some look at other names, too, which are then `used`."""
    each = zip(functions, used, scopes, tables, strict=True)
    means = [_mean(asked, *one) for one in each]
    return None if None in means else [mean for mean in means if mean is not None]


def _mean(
    asked: Subject,
    function: Asked,
    used: dict[str, Named],
    scope: Sequence[int],
    table: Floats,
) -> float | None:
    """The mean of a function over a joint table; None if it looks at other names, too."""
    possible = np.flatnonzero(table.reshape(-1) > 0)
    places = np.unravel_index(possible, table.shape) if scope else ()
    states = dict(zip(scope, places, strict=True))
    values = Values(asked, lambda one: states.get(one.variable), len(possible))
    found = function(values)
    if not set(variables_of(values.used.values())) <= set(scope):
        used.update(values.used)
        return None
    return float(table.reshape(-1)[possible] @ found)


def _sampled(
    asked: Subject, functions: Sequence[Asked], decision: Decision, watchers: Iterable[Watcher]
) -> Estimates:
    from orbitmc.estimate.features import expectations, worst_verdict

    feature = FunctionFeature(functions, asked)
    noted = sample_feature(asked, decision, feature, watchers, feature.depends)
    ends = [feature.ends(place) for place in range(len(functions))]
    seen = list(zip(feature.low.tolist(), feature.high.tolist(), strict=True))
    pairs = [own or plain for own, plain in zip(ends, seen, strict=True)]
    low, high = np.array(pairs).T
    rows = (noted.sums, noted.recorded, noted.lanes, noted.known, noted.rows)
    every = expectations(*rows, (low, high))
    found = {}
    for place, function in enumerate(functions):
        own = every.row(place)
        if ends[place] is not None and low[place] == high[place]:  # the same in all states
            found[function.name] = certain(float(own.probability[0]), noted.about)
            continue
        found[function.name] = Estimate(
            value=float(own.probability[0]),
            standard_error=float(own.standard_error[0]),
            low=float(own.low[0]),
            high=float(own.high[0]),
            verdict=worst_verdict(own.verdict() if ends[place] else FEW, noted.verdicts),
            about=noted.about,
        )
    return Estimates(found, noted.about)
