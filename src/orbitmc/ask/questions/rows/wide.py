"""Rows that elimination in batches cannot afford: exact one by one, or sampled side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from orbitmc.ask.answers import carry_out
from orbitmc.ask.marginals import marginals
from orbitmc.ask.method.decisions import MOST_IN_BLOCKS, decide, exact_plan
from orbitmc.ask.method.memory import sampling_bytes
from orbitmc.ask.questions.features.side_by_side import apart, together
from orbitmc.ask.settings import DEFAULT_SECONDS, ENDS, Settings
from orbitmc.errors import ContradictionError
from orbitmc.estimate.marginals import Marginals
from orbitmc.graph.evidence import Seen
from orbitmc.graph.model import Model
from orbitmc.sampling.run import Watcher

LEAST_SECONDS = 0.1  # of sampling for each kind of row, if nobody says how long
MOST_VARIABLES = 200_000
"""Of all rows in a run; more would take long to get going."""

Pattern = tuple[str, ...]
Answer = tuple[Marginals | str, list[int]]
"""What is known of some rows that say the same, or what is wrong with them."""


@dataclass(frozen=True)
class Kind:
    """Rows that say the same: the model that has it as evidence, and their numbers."""

    model: Model
    rows: list[int]


class WideRows:
    """Kinds of rows that wait to be sampled; which are too wide is found out for each pattern."""

    def __init__(self, settings: Settings, names: tuple[str, ...]) -> None:
        self.settings, self.names = settings, names
        self.reasons: dict[Pattern, str] = {}
        self.kinds: list[Kind] = []

    def answer_or_keep(
        self, model: Model, evidence: dict[str, Seen], rows: list[int]
    ) -> Marginals | None:
        """Answer rows exactly, or keep them for later and give None."""
        seen = model.given(evidence)
        pattern = tuple(evidence)
        if pattern not in self.reasons:
            self.reasons[pattern] = self._too_wide(seen)
        if not self.reasons[pattern]:
            return marginals(seen, query=list(self.names), settings=self.settings)
        self.kinds.append(Kind(seen, rows))
        return None

    def _too_wide(self, model: Model) -> str:
        """Why elimination cannot answer, in words; nothing if it can."""
        if self.settings.method not in ("auto", "exact"):
            return f"{self.settings.method} was asked for"
        plan, reason = exact_plan(model.graph, self.settings)
        return "" if plan is not None else reason

    def batches(self) -> Iterator[list[Kind]]:
        """Kinds that go into one run, as many as fit."""
        batch: list[Kind] = []
        variables = needed = 0
        for kind in self.kinds:
            graph = kind.model.graph
            most = MOST_IN_BLOCKS if graph.has_zeros() else MOST_VARIABLES
            own = sampling_bytes(graph, self.settings)
            variables, needed = variables + graph.variables, needed + own
            if batch and (variables > most or 2 * needed > self.settings.memory):
                yield batch
                batch, variables, needed = [], graph.variables, own
            batch.append(kind)
        if batch:
            yield batch

    def sampled(self, batch: Sequence[Kind], watchers: Iterable[Watcher]) -> Iterator[Answer]:
        """Sample rows in one run; a row that is impossible is found by halving."""
        labels = [f"row {kind.rows[0]}" for kind in batch]
        models = [kind.model for kind in batch]
        reason = next(iter(self.reasons.values()))
        try:
            decision = decide(together(models, labels), self._share(len(batch)), too_wide=reason)
            found = carry_out(decision, watchers)
        except ContradictionError as error:
            if len(batch) == 1:
                yield str(error), batch[0].rows
                return
            half = len(batch) // 2
            for part in (batch[:half], batch[half:]):
                yield from self.sampled(part, watchers)
            return
        for kind, own in zip(batch, apart(found, models), strict=True):
            yield own.only(self.names), kind.rows

    def _share(self, kinds: int) -> Settings:
        """Settings of a run for so many kinds; seconds are for all of them together."""
        ends = [end for end in ENDS if getattr(self.settings, end) is not None]
        if ends and ends != ["seconds"]:
            return self.settings
        usual = max(DEFAULT_SECONDS, LEAST_SECONDS * len(self.kinds))
        seconds = self.settings.seconds or usual
        return replace(self.settings, seconds=seconds * kinds / len(self.kinds))
