"""Answer a question about a feature by sampling, with all that marginals know of the run.

States of the variables that matter are kept until there are many of them; then features are
evaluated outside of compiled code, on all of them at once. Where a question allows it, one variable
is averaged over, by its probabilities given all others (Rao-Blackwell).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Bytes, Floats, Numbers, lengths
from orbitmc._util.text import format_bytes
from orbitmc.errors import LimitError
from orbitmc.estimate.features import (
    Conditional,
    column_means,
    empty_sums,
    features,
    part_of_time,
    ratio,
)
from orbitmc.estimate.marginals import About, Marginals, add_observed
from orbitmc.estimate.tally import PARTS, merge_parts, rows_of
from orbitmc.estimate.verdicts import VERDICTS
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import side_by_side
from orbitmc.inference.answer import run_chains, summarise_run
from orbitmc.inference.plan import Plan
from orbitmc.inference.settings import Settings
from orbitmc.sampling.run import partial_answer

if TYPE_CHECKING:
    from orbitmc.estimate.features import Features
    from orbitmc.estimate.statistics import Statistics
    from orbitmc.graph.factor_graph import FactorGraph
    from orbitmc.inference.query import Target, View
    from orbitmc.sampling.run import RunObserver


# Answer a question about a feature by sampling, with all that marginals know of the run.

EARLY = "interrupted in the warm-up: the chains may still remember their starts"


def variables_of(names: Iterable[Target]) -> tuple[int, ...]:
    """Places of the variables that names depend on, each once."""
    return tuple(dict.fromkeys(target.variable for target in names if target.known is None))


@dataclass(frozen=True)
class FeatureEstimate:
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
        return features(sums, self.recorded, self.lanes, self.known, self.rows)

    def ratio(self) -> Features:
        """The first row as a share of the second one, of a condition that was true at all."""
        if not any(sums[:, 1].any() for sums in self.sums):
            raise LimitError(
                f"what is given was true in none of {self.recorded} samples of each chain: "
                "nothing is known of the event then; sample longer, or ask for method exact"
            )
        return ratio(self.sums, self.recorded, self.lanes, self.known, self.rows)


def _require_memory(needed: int, settings: Settings) -> None:
    if needed > settings.memory:
        raise LimitError(
            f"notes of {settings.pack_count} packs need {format_bytes(needed)}, the limit is "
            f"{format_bytes(settings.memory)}; ask about fewer variables, or with fewer packs"
        )


def sample_feature(
    view: View,
    plan: Plan,
    feature: Feature,
    observers: Iterable[RunObserver],
    depends: Callable[[], Sequence[int]] | None = None,
) -> FeatureEstimate:
    """Run chains and sum a feature up; it `depends` on its variables, unless it says on which."""
    model = plan.model
    notes = FeatureSums(model.graph, feature, plan.settings.lane_count)
    _require_memory(notes.bytes * plan.settings.pack_count, plan.settings)
    run, chosen = run_chains(plan, observers, view.ground, notes=notes)
    hasty = run.interrupted and not run.recorded
    run = partial_answer(run) if hasty else run
    places = np.array(feature.variables if depends is None else depends(), dtype=np.int64)
    names = tuple(model.names[place] for place in places)
    marginals = summarise_run(run, replace(plan, query=names), chosen)
    warnings = (*plan.remarks, *((EARLY,) if hasty else ()), *marginals.about.warnings)
    parts = run.answered_parts
    touched = np.isin(parts, parts[places])
    return FeatureEstimate(
        sums=notes.sums,
        recorded=run.recorded,
        lanes=run.lanes,
        known=run.statistics(chosen.pools),
        rows=np.repeat(touched, rows_of(model.graph.cardinality)),
        verdicts=[
            VERDICTS[marginals.columns.verdict[marginals.columns.index[name]]] for name in names
        ],
        marginals=replace(marginals, about=replace(marginals.about, warnings=warnings)),
    )


STATES = 2**14  # in a batch, if their bytes are not too many
BYTES = 2**22
MOST_FACTORS = 256  # that read a variable which is averaged over
NOBODY = -1


class Feature(Protocol):
    """What is asked of states.

    `variables` are places in the graph; the one that is averaged over, if any, is `averaged`.
    """

    variables: Numbers
    averaged: int
    rows: int

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        """Add up each row over states `[variable, state]`, in eight columns.

        `chances[value, state]` are those of the variable that is averaged over.
        """

    def errors(self, means: Floats) -> Floats:
        """The errors of what is reported, from means of rows `[row, column]`."""


def choose_averaged_variable(model: Model, variables: Iterable[int]) -> int:
    """The variable with the most values, and then the fewest factors, if these are few enough.

    Pairs of an equivalence relation that no factor says are never averaged over.
    """
    graph, factors = model.graph, lengths(model.graph.incident_start)
    pairs = {v for relation in model.relations for v in relation.variables.tolist()}
    few = [v for v in variables if factors[v] <= MOST_FACTORS and v not in pairs]
    ranked = [
        (-int(graph.cardinality[variable]), int(factors[variable]), variable) for variable in few
    ]
    return min(ranked)[2] if ranked else NOBODY


class FeatureSums:
    """Keeps sums of a feature for each pack, in parts of time as tallies do."""

    def __init__(self, graph: FactorGraph, feature: Feature, lanes: int) -> None:
        self.feature, self.lanes = feature, lanes
        self.conditional = (
            None if feature.averaged == NOBODY else Conditional(graph, feature.averaged)
        )
        near = self.conditional.neighbours if self.conditional else []
        self.needed = np.concatenate([feature.variables, np.array(near, dtype=np.int64)])
        self.samples = max(1, min(STATES // lanes, BYTES // (max(len(self.needed), 1) * lanes)))
        self.packs: dict[int, _Batches] = {}

    @property
    def bytes(self) -> int:
        """What the notes of one pack take: states that wait, sums, and sums of a batch."""
        states = len(self.needed) * self.samples * self.lanes
        return 2 * states + 8 * COLUMNS * (PARTS + 3) * self.feature.rows

    def note(self, number: int, states: Bytes, recorded: int) -> None:
        if number not in self.packs or recorded == 0:
            self.packs[number] = _Batches(self)
        pack = self.packs[number]
        part, merges, ends = part_of_time(recorded)
        if merges:
            pack.flush()
            merge_parts(pack.sums)
        pack.add(states, part)
        if ends or pack.filled == self.samples or recorded == 0:
            pack.flush()  # after the first sample it is known what that takes

    @property
    def waiting(self) -> float:
        return sum(pack.waiting for pack in self.packs.values())

    def sum_up(self, states: Bytes) -> Floats:
        """Sums of the feature over states of all variables that are needed."""
        chances = None
        if self.conditional is not None:
            near = dict(zip(self.needed.tolist(), states, strict=True))
            chances = self.conditional.chances(near, states.shape[1])
        return self.feature.sums(states[: len(self.feature.variables)], chances)

    @property
    def sums(self) -> list[Floats]:
        """What was summed up so far, of each pack."""
        for pack in self.packs.values():
            pack.flush()
        return [self.packs[number].sums for number in sorted(self.packs)]

    def spread(self, recorded: int, lanes: int) -> Floats:
        return self.feature.errors(column_means(self.sums, recorded, lanes))


class _Batches:
    """The states of one pack that wait to be summed up, and the sums of earlier ones."""

    def __init__(self, notes: FeatureSums) -> None:
        self.notes, self.filled, self.part = notes, 0, 0
        self.last, self.seconds = 1, 0.0  # how many samples were summed up at last, and how long
        self.sums = empty_sums(notes.feature.rows)
        self.states = np.zeros((len(notes.needed), notes.samples, notes.lanes), dtype=np.uint8)

    def add(self, states: Bytes, part: int) -> None:
        self.states[:, self.filled] = states
        self.part = part
        self.filled += 1

    def flush(self) -> None:
        if self.filled:
            count = self.filled * self.notes.lanes
            states = self.states[:, : self.filled].reshape(len(self.states), count)
            begun = time.perf_counter()
            self.sums[self.part] += self.notes.sum_up(states)
            self.last, self.seconds = self.filled, time.perf_counter() - begun
            self.filled = 0

    @property
    def waiting(self) -> float:
        """Seconds to sum up what waits: in proportion, but no less than the last time."""
        return self.seconds * max(1.0, self.filled / self.last) if self.filled else 0.0


# Several models in one run: parts of one model that do not touch, each with its own verdicts.


def join_models(models: Sequence[Model], labels: Sequence[str]) -> Model:
    """One model of the free variables of several, whose names say which one they are from."""
    pairs = list(zip(models, labels, strict=True))
    return Model(
        graph=side_by_side([model.graph for model in models]),
        names=tuple(f"{name} ({label})" for model, label in pairs for name in model.names),
        values=tuple(values for model in models for values in model.values),
        doubts=tuple(dict.fromkeys(doubt for model in models for doubt in model.doubts)),
    )


def split_marginals(marginals: Marginals, models: Sequence[Model]) -> list[Marginals]:
    """What was found of each model, in its own names and with its observed variables."""
    parts, first = [], 0
    for model in models:
        part = marginals.columns.take(np.arange(first, first + len(model.names)))
        columns = add_observed(model, replace(part, names=model.names))
        parts.append(replace(marginals, columns=columns))
        first += len(model.names)
    return parts
