"""Answer a question about a feature by sampling, with all that marginals know of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.text import in_words
from orbitmc.ask.method.decisions import Decision
from orbitmc.ask.settings import Settings
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.marginals import About, Marginals
from orbitmc.estimate.verdicts import VERDICTS

if TYPE_CHECKING:
    from orbitmc._util.arrays import Floats
    from orbitmc.ask.questions.features.noting import Feature
    from orbitmc.ask.questions.subject import Named, Subject
    from orbitmc.estimate.features import Features
    from orbitmc.estimate.statistics import Statistics
    from orbitmc.sampling.run import Watcher

Answer = TypeVar("Answer")
EARLY = "interrupted in the warm-up: the chains may still remember their starts"


def require_no_checkpoint(settings: Settings) -> None:
    """Refuse to keep a run: a file of it would not hold what was asked."""
    if settings.checkpoint is not None:
        raise InputError("a checkpoint keeps marginals only: leave it out of other questions")


def explained(asked: Subject, answer: Callable[[], Answer]) -> Answer:
    """Answer, and say contradictions in terms of whoever asked."""
    try:
        return answer()
    except ContradictionError as error:
        raise asked.explained(error) from None


def require_possible(decision: Decision) -> None:
    """Refuse a model without any possible state, where an answer would not notice."""
    graph = decision.model.graph
    if decision.plan is None:
        from orbitmc.sampling.pack import start_values

        start_values(graph, 1, np.random.SeedSequence(0))
        return
    from orbitmc.exact.contraction import marginals

    marginals(graph, memory=decision.settings.memory, plan=decision.plan, wanted=[])


def variables_of(names: Iterable[Named]) -> tuple[int, ...]:
    """Places of the variables that names depend on, each once."""
    return tuple(dict.fromkeys(one.variable for one in names if one.known is None))


def exact_about(decision: Decision, begun: float) -> About:
    """What to say of an answer by elimination."""
    return About(
        method="exact",
        reason=decision.reason,
        seconds=time.perf_counter() - begun,
        warnings=decision.remarks,
    )


@dataclass(frozen=True)
class Noted:
    """Sums of a feature over a run, and what its marginals say of the variables behind it."""

    sums: list[Floats]
    recorded: int
    lanes: int
    known: Statistics
    rows: NDArray[np.bool_]
    verdicts: list[str]
    marginals: Marginals

    @property
    def about(self) -> About:
        return self.marginals.about

    def features(self) -> Features:
        return self.over(self.sums)

    def over(self, sums: list[Floats]) -> Features:
        """What is known of some of the sums."""
        from orbitmc.estimate.features import features

        return features(sums, self.recorded, self.lanes, self.known, self.rows)

    def ratio(self) -> Features:
        from orbitmc.estimate.features import ratio

        return ratio(self.sums, self.recorded, self.lanes, self.known, self.rows)


def _require_memory(needed: int, settings: Settings) -> None:
    if needed > settings.memory:
        raise LimitError(
            f"notes of {settings.pack_count} packs need {in_words(needed)}, the limit is "
            f"{in_words(settings.memory)}; ask about fewer variables, or with fewer packs"
        )


def sample_feature(
    asked: Subject,
    decision: Decision,
    feature: Feature,
    watchers: Iterable[Watcher],
    depends: Callable[[], Sequence[int]] | None = None,
) -> Noted:
    """Run chains and sum a feature up; it `depends` on its variables, unless it says on which."""
    from orbitmc.ask.answers import answer, sampled
    from orbitmc.ask.questions.features.noting import FeatureNotes
    from orbitmc.estimate.tally import rows_of
    from orbitmc.sampling.run import glimpse

    model = decision.model
    notes = FeatureNotes(model.graph, feature, decision.settings.lane_count)
    _require_memory(notes.bytes * decision.settings.pack_count, decision.settings)
    run, chosen = sampled(decision, watchers, asked.ground, notes=notes)
    hasty = run.interrupted and not run.recorded
    run = glimpse(run) if hasty else run
    places = np.array(feature.variables if depends is None else depends(), dtype=np.int64)
    names = tuple(model.names[place] for place in places)
    found = answer(run, replace(decision, query=names), chosen)
    said = (*decision.remarks, *((EARLY,) if hasty else ()), *found.about.warnings)
    touched = np.isin(run.part_of, run.part_of[places])
    return Noted(
        sums=notes.sums,
        recorded=run.recorded,
        lanes=run.lanes,
        known=run.statistics(chosen.pools),
        rows=np.repeat(touched, rows_of(model.graph.cardinality)),
        verdicts=[VERDICTS[found.columns.verdict[found.columns.index[name]]] for name in names],
        marginals=replace(found, about=replace(found.about, warnings=said)),
    )
