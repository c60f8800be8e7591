"""Answer rows of evidence, batch by batch; what elimination cannot afford is sampled."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import stopped_by_ctrl_c
from orbitmc._util.text import in_words, listed, quoted
from orbitmc.ask.method.consistency import unheeded
from orbitmc.ask.method.quick import prepared_elimination
from orbitmc.ask.questions.predict import Errors, Predictions, Progress
from orbitmc.ask.questions.rows.reading import SOFT, UNSEEN, Rows
from orbitmc.ask.questions.rows.wide import WideRows
from orbitmc.ask.settings import Settings
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.verdicts import SEVEREST
from orbitmc.exact.templates import Batch, Elimination, batches, chunks
from orbitmc.graph.evidence import Seen
from orbitmc.graph.model import Model
from orbitmc.sampling.run import Watcher

IMPOSSIBLE = "its evidence is impossible: the model gives it probability 0"


Answered = tuple[Floats, NDArray[np.bool_]]
"""Probabilities [value, row], and which of the rows are possible."""


class Answering:
    """The table of answers while it is filled."""

    def __init__(
        self,
        model: Model,
        rows: Rows,
        settings: Settings,
        names: tuple[str, ...],
        watchers: Iterable[Watcher] = (),
    ) -> None:
        domains = model.domains()
        self.model, self.rows, self.settings, self.names = model, rows, settings, names
        self.values = tuple(domains[name] for name in names)
        ends = np.cumsum([0, *map(len, self.values)]).tolist()
        self.start = dict(zip(names, ends, strict=False))
        _require_room(8 * ends[-1] * rows.value.shape[1], settings)
        self.found: Floats = np.full((ends[-1], rows.value.shape[1]), np.nan)
        self.errors: dict[int, Errors] = {}
        self.watchers = tuple(watchers)
        self.problems = dict(rows.problems)
        self.sampled: dict[int, str] = {}
        self.progress: Progress | None = None
        self.stopped = False
        self.done = 0

    def answers(self, progress: Progress | None) -> Predictions:
        """Go through all rows that make sense."""
        self.progress, begun = progress, time.perf_counter()
        with stopped_by_ctrl_c(self._stop):
            try:
                self._all_batches()
            except KeyboardInterrupt:
                self.stopped = True
        self.found[:, list(self.problems)] = np.nan
        return Predictions(
            names=self.names,
            values=self.values,
            probability=self.found,
            problems=self.problems,
            sampled=self.sampled,
            errors=self.errors,
            interrupted=self.stopped,
            seconds=time.perf_counter() - begun,
            unheeded=unheeded(self.settings),
            doubts=(*self.model.doubts, *self._given_away()),
            ids=self.rows.ids,
        )

    def _given_away(self) -> Iterator[str]:
        """Say which columns tell what is asked for."""
        asked, known = {*self.names}, {}
        for name, value in zip(self.rows.names, self.rows.value, strict=True):
            if name in asked and (seen := int((value != UNSEEN).sum())):
                known[name] = seen
        if known:
            few = listed(f"{quoted(name)} (in {seen:,} rows)" for name, seen in known.items())
            yield (
                f"what is asked for is a column of the table: {few}. It counts as evidence, so the "
                "answers of these rows repeat it; to predict it, ignore it (--ignore, ignore=)"
            )

    def _stop(self) -> None:
        self.stopped = True

    def _all_batches(self) -> None:
        good = np.setdiff1d(np.arange(self.found.shape[1]), list(self.problems))
        left: list[Batch] = []
        for batch in self._sorted(good, few=None):
            left += self._either(batch)
        apart = np.concatenate([np.zeros(0, np.int64), *(batch.rows for batch in left)])
        self._rest(np.sort(apart))

    def _sorted(self, rows: Numbers, few: int | None) -> list[Batch]:
        """Batches of some rows; variables that were observed before are no columns."""
        open_columns = np.array([name in self.model.index for name in self.rows.names], dtype=bool)
        value = self.rows.value[:, rows]
        seen, soft = (value >= 0) & open_columns[:, None], (value == SOFT) & open_columns[:, None]
        found = batches(seen | soft, soft) if few is None else batches(seen | soft, soft, few)
        return [replace(batch, rows=rows[batch.rows]) for batch in found]

    def _either(self, batch: Batch) -> list[Batch]:
        """Eliminate a batch, or its patterns one by one; gives those that cost too much."""
        if self._eliminate(batch):
            return []
        patterns = self._sorted(batch.rows, few=1)
        if len(patterns) == 1:
            return patterns
        return [one for one in patterns if not self._eliminate(one)]

    def _eliminate(self, batch: Batch) -> bool:
        """Answer rows of a batch by one elimination; false if that cannot be afforded."""
        hard, soft = (tuple(self.rows.names[k] for k in own) for own in (batch.hard, batch.soft))
        elimination = prepared_elimination(self.model, hard, soft, self.settings)
        if elimination is None:
            return False
        number = elimination.template.number
        columns = [self.rows.value[k, batch.rows] for k in batch.hard]
        rows = np.array([own[one] for own, one in zip(number, columns, strict=True)], np.int64)
        rows = rows.reshape(len(batch.hard), len(batch.rows))
        possible = (rows >= 0).all(axis=0)
        self._note(batch.rows[~possible])
        rows, kept = rows[:, possible], batch.rows[possible]
        first, which = _distinct(rows, bool(batch.soft))
        answers = np.full((len(self.found), len(first)), np.nan)
        try:
            for part, (found, possible) in self._parts(elimination, batch, rows, kept, first):
                answers[:, part] = found
                self._note(kept[np.isin(which, np.arange(part.start, part.stop)[~possible])])
                self._tell(self.done + round(len(kept) * part.stop / len(first)))
        finally:
            self.found[:, kept] = answers[:, which]
        self.done += len(batch.rows)
        return True

    def _parts(
        self, elimination: Elimination, batch: Batch, rows: Numbers, places: Numbers, first: Numbers
    ) -> Iterator[tuple[slice, Answered]]:
        """Answer distinct rows, part by part; with an executor, on its workers."""
        parts = list(chunks(elimination, len(first), self.settings.memory))
        if self.settings.executor is not None:
            from orbitmc.ask.questions.rows.spreading import parts_elsewhere

            work = [(rows[:, first[part]], places[first[part]]) for part in parts]
            yield from zip(parts, parts_elsewhere(self, batch, work), strict=False)
            return
        for part in parts:
            if self.stopped:
                return
            chosen = first[part]
            yield part, self.answered(elimination, batch, rows[:, chosen], places[chosen])

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            self.progress(done, self.found.shape[1])

    def answered(
        self, elimination: Elimination, batch: Batch, rows: Numbers, places: Numbers
    ) -> Answered:
        """Probabilities [value, row], and which of the rows are possible."""
        template, model = elimination.template, self.model
        likelihoods = [
            self.rows.likelihood(k, places, template.problem.cardinality[v])[
                template.problem.possible[v]
            ]
            for k, v in zip(batch.soft, template.soft, strict=True)
        ]
        upward = elimination.upward(rows, likelihoods)
        free = [name for name in self.names if model.index.get(name, -1) in template.place]
        wanted = {name: template.place[model.index[name]] for name in free}
        found = elimination.marginals(upward, wanted.values())
        answers = np.zeros((len(self.found), rows.shape[1]))
        for name in self.names:
            start, variable = self.start[name], model.index.get(name, -1)
            if name in wanted:
                answers[start + template.problem.possible[variable]] = found[wanted[name]]
            elif name in model.observed:
                answers[start + model.observed[name].value] = 1.0
            elif variable in template.observed:
                column = batch.hard[template.observed.index(variable)]
                answers[start + self.rows.value[column, places], np.arange(len(places))] = 1.0
            else:
                answers[start + template.problem.possible[variable]] = 1.0
        possible = np.broadcast_to(upward.log_z(), rows.shape[1]) > -np.inf
        first = list(self.start.values())
        total = np.add.reduceat(answers, first, axis=0)
        total[:, ~possible] = 1.0
        answers /= np.repeat(total, list(map(len, self.values)), axis=0)
        return answers, possible

    def _note(self, rows: Numbers) -> None:
        for row in rows.tolist():
            self.problems[row] = IMPOSSIBLE

    def _rest(self, rows: Numbers) -> None:
        """Ask about each kind of row once: exactly one by one, or sampled side by side."""
        wide = WideRows(self.settings, self.names)
        for evidence, alike in self._kinds(rows).items():
            if self.stopped:
                return
            try:
                found = wide.answer_or_keep(self.model, dict(evidence), alike)
            except ContradictionError as error:
                self.problems.update(dict.fromkeys(alike, str(error)))
                continue
            if found is not None:
                self._put(found, alike)
        for batch in wide.batches():
            if self.stopped:
                return
            for answer, alike in wide.sampled(batch, self.watchers):
                if isinstance(answer, str):
                    self.problems.update(dict.fromkeys(alike, answer))
                else:
                    self._put(answer, alike)

    def _kinds(self, rows: Numbers) -> dict[tuple[tuple[str, Seen], ...], list[int]]:
        """Rows by what they say."""
        kinds: dict[tuple[tuple[str, Seen], ...], list[int]] = {}
        for row in rows.tolist():
            kinds.setdefault(tuple(self._evidence(row).items()), []).append(row)
        return kinds

    def _put(self, found: Marginals, alike: list[int]) -> None:
        """Enter what was found into all rows that say the same."""
        own = found.columns
        self.found[:, alike] = own.probability[:, None]
        if found.about.method != "exact":
            self.sampled.update(dict.fromkeys(alike, _worst(found)))
            errors = Errors(own.standard_error, own.low, own.high)
            self.errors.update(dict.fromkeys(alike, errors))
        self.stopped = self.stopped or found.about.interrupted
        self.done += len(alike)
        self._tell(self.done)

    def _evidence(self, row: int) -> dict[str, Seen]:
        """What a row says, by names."""
        said: dict[str, Seen] = {}
        for column, name in enumerate(self.rows.names):
            value = int(self.rows.value[column, row])
            if value == SOFT:
                said[name] = self.rows.soft[column, row]
            elif value >= 0:
                said[name] = self.model.domains()[name][value]
        return said


def _require_room(needed: int, settings: Settings) -> None:
    if needed > settings.memory:
        raise LimitError(
            f"the answers need {in_words(needed)}, the limit is {in_words(settings.memory)}; ask "
            "about fewer variables, or fewer rows at a time"
        )


def _distinct(rows: Numbers, soft: bool) -> tuple[Numbers, Numbers]:
    """The first of each kind of column, and which kind each column is."""
    if soft:
        return np.arange(rows.shape[1]), np.arange(rows.shape[1])
    if not len(rows):
        return np.arange(min(1, rows.shape[1])), np.zeros(rows.shape[1], dtype=np.int64)
    _, first, which = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def _worst(found: Marginals) -> str:
    """The worst of all verdicts; what is observed says nothing of the others."""
    return min(found.verdicts(), key=SEVEREST.index)
