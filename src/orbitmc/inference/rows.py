"""Answer rows of evidence, batch by batch; what elimination cannot afford is sampled."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from orbitmc._numba.compile_log import asked_before, spent_before
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import stop_on_ctrl_c
from orbitmc._util.text import format_bytes, join_words, quote, suggestion
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.verdicts import SEVEREST
from orbitmc.exact.templates import Batch, Elimination, Template, batches, chunks
from orbitmc.graph.evidence import Seen, is_missing, resolve
from orbitmc.graph.feasibility import possible_states
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import log_z_of_leaves, relevant
from orbitmc.inference._marginals import execute_plan, marginals
from orbitmc.inference._predict import Errors, Predictions
from orbitmc.inference.cache import find_maxima_of_rows, prepare_elimination
from orbitmc.inference.feature_sampling import join_models, split_marginals
from orbitmc.inference.plan import (
    MAX_BLOCK_GIBBS_VARIABLES,
    plan_marginals,
    plan_model,
    sampling_bytes,
)
from orbitmc.inference.progress import current_progress
from orbitmc.inference.settings import DEFAULT_SECONDS, ENDS, Settings, describe_unused_settings
from orbitmc.inference.table_files import Columns, Kinds, read_if_file
from orbitmc.sampling.budget import LEAST_SHARE
from orbitmc.sampling.executor import Sender, pack_shared, readonly_graph, workers_of
from orbitmc.sampling.run import RunObserver

if TYPE_CHECKING:
    from concurrent.futures import Executor


# Rows of evidence, as people have them, in numbers of values.

UNSEEN, WRONG, SOFT = -1, -2, -3
"""Instead of the number of a value: not observed, not understood, or weights of values."""

MOST_VALUES_OF_A_COLUMN = 1000

Domains = Mapping[str, tuple[str, ...]]
Cell = tuple[int, tuple[float, ...] | None, str]
"""The number of a value, the weights if it is soft, and what is wrong with it."""


@dataclass(frozen=True)
class Rows:
    """What rows say of the variables `names`: `value[k, row]`, and soft evidence by its place.

    `problems` says of rows, by number, what is wrong with them. `ids` are columns that are no
    evidence and belong to the answers.
    """

    names: tuple[str, ...]
    value: Numbers
    soft: Mapping[tuple[int, int], tuple[float, ...]]
    problems: Mapping[int, str]
    ids: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def likelihood(self, column: int, rows: Numbers, size: int) -> Floats:
        """Log-weights [value, row] of a variable in some rows: 0 for all values where unseen."""
        value = self.value[column, rows]
        weights = np.ones((size, len(rows)))
        seen = np.flatnonzero(value >= 0)
        weights[:, seen] = 0.0
        weights[value[seen], seen] = 1.0
        for place in np.flatnonzero(value == SOFT):
            weights[:, place] = self.soft[column, int(rows[place])]
        with np.errstate(divide="ignore"):
            return np.log(weights)


def read_rows(
    model: Model, table: Any, ignore: Sequence[str] = (), ids: Sequence[str] = ()
) -> Rows:
    """Understand a data frame, a CSV file, or mappings from names to what was seen, for each row.

    A cell is what evidence may be: a value, by name or by number, weights of the values, or None
    or NaN for nothing. A name that is no variable is refused, unless it is to be ignored, or one of
    the `ids`; a value that is none costs its row.
    """
    domains = model.domains()
    columns, count = _columns(read_if_file(table, domains, (*ignore, *ids)))
    copied = _take_out(columns, count, ignore, ids)
    for name in columns:
        if name not in domains:
            raise InputError(
                f"the rows have a column {quote(name)} that is no variable"
                f"{suggestion(str(name), domains)}; if it is not evidence, ignore it (--ignore, "
                "ignore=) or copy it to the answers (--id, id=)"
            )
    value = np.full((len(columns), count), UNSEEN, dtype=np.int64)
    soft: dict[tuple[int, int], tuple[float, ...]] = {}
    problems: dict[int, str] = {}
    for column, (name, cells) in enumerate(columns.items()):
        known: dict[Any, Cell] = {}
        if isinstance(cells, Kinds):
            looked_up = [_understood(name, kind, domains[name], known) for kind in cells.values]
            numbers = np.array([*(number for number, _, _ in looked_up), UNSEEN], dtype=np.int64)
            value[column] = numbers[np.asarray(cells.which, dtype=np.int64)]
            for row in np.flatnonzero(value[column] == WRONG).tolist():
                problems.setdefault(row, looked_up[cells.which[row]][2])
            continue
        for row, cell in cells:
            number, weights, wrong = _understood(name, cell, domains[name], known)
            value[column, row] = number
            if weights is not None:
                soft[column, row] = weights
            if wrong:
                problems.setdefault(row, wrong)
    rows = Rows(tuple(columns), value, soft, problems, copied)
    for column in range(len(columns)):
        _note_contradictions(model, column, rows, problems)
    return rows


def _take_out(
    columns: dict[str, Iterable[tuple[int, Any]]],
    count: int,
    ignore: Sequence[str],
    ids: Sequence[str],
) -> dict[str, list[Any]]:
    """Take columns out that are no evidence; gives those that are to be copied."""
    copied: dict[str, list[Any]] = {}
    for name in (*ids, *ignore):
        if name not in columns and name not in copied:
            near = suggestion(str(name), columns)
            raise InputError(f"the rows have no column {quote(name)}{near}")
        cells = columns.pop(name, ())
        if name in ids:
            copied.setdefault(name, [None] * count)
            for row, cell in cells:
                copied[name][row] = cell
    return copied


def _frame_cells(column: Any) -> Iterable[tuple[int, Any]]:
    """The cells of a column of a data frame; those of a plain kind are looked at once each.

    Among objects, those are plain that are all text: others may be equal and mean different things,
    such as 1 and True.
    """
    try:
        which, values = column.factorize()
    except TypeError:  # lists and mappings have no hash
        return enumerate(column.tolist())
    kinds = values.tolist()
    if column.dtype == object and not all(isinstance(kind, str) for kind in kinds):
        return enumerate(column.tolist())
    return Kinds(np.asarray(which, dtype=np.int64), kinds)


def _columns(table: Any) -> tuple[dict[str, Iterable[tuple[int, Any]]], int]:
    """The cells of each column with the numbers of their rows, and how many rows there are."""
    if isinstance(table, Columns):
        return dict(table.cells), table.count
    if hasattr(table, "columns") and hasattr(table, "iloc"):
        names = list(table.columns)
        if len(set(names)) < len(names):
            raise InputError("two columns of the rows have the same name")
        return {name: _frame_cells(table.iloc[:, k]) for k, name in enumerate(names)}, len(table)
    if isinstance(table, Mapping | str | bytes) or not isinstance(table, Iterable):
        raise InputError(
            "rows of evidence are a data frame, a list with a mapping for each row, or a CSV file"
        )
    columns: dict[str, list[tuple[int, Any]]] = {}
    rows = list(table)
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number} is no mapping from names to values: {quote(row)}")
        for name, cell in row.items():
            columns.setdefault(name, []).append((number, cell))
    return dict(columns), len(rows)


def values_in(table: Any, names: Sequence[str], ignore: Sequence[str] = ()) -> Domains:
    """The values that the cells of each column have, in order; whole numbers are no fractions.

    Every column must be one of the names, or ignored; a name without a column has no values.
    """
    columns, count = _columns(read_if_file(table, {}, ignore))
    _take_out(columns, count, ignore, ())
    domains: dict[str, tuple[str, ...]] = dict.fromkeys(names, ())
    for name, cells in columns.items():
        if name not in domains:
            raise InputError(
                f"the table has a column {quote(name)} that is no variable"
                f"{suggestion(str(name), domains)}; ignore it (--ignore, ignore=)"
            )
        kinds = cells.values if isinstance(cells, Kinds) else (cell for _, cell in cells)
        values = {_value_name(name, kind) for kind in kinds if not is_missing(kind)}
        if len(values) > MOST_VALUES_OF_A_COLUMN:
            raise InputError(
                f"column {quote(name)} has {len(values):,} different values, more than "
                f"{MOST_VALUES_OF_A_COLUMN:,}: put numbers into a few classes first, or ignore it"
            )
        domains[name] = tuple(sorted(values, key=_by_number))
    return domains


def _value_name(name: str, cell: Any) -> str:
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, str | int | float):
        return str(cell)
    raise InputError(
        f"column {quote(name)}: {quote(cell)} is no value, but a {type(cell).__name__}"
    )


def _by_number(word: str) -> tuple[float, str]:
    """Sorts numbers by size, before words."""
    try:
        return float(word), word
    except ValueError:
        return math.inf, word


def _understood(name: str, cell: Any, values: Sequence[str], known: dict[Any, Cell]) -> Cell:
    """What a cell says; equal cells of a column are looked at once."""
    key = (type(cell), cell)
    try:
        if key not in known:
            known[key] = _look_up(name, cell, values)
        return known[key]
    except TypeError:  # weights in a mapping or a list have no hash
        return _look_up(name, cell, values)


def _look_up(name: str, cell: Any, values: Sequence[str]) -> Cell:
    try:
        resolved = resolve({name: cell}, {name: values})
    except InputError as error:
        return WRONG, None, str(error)
    if name in resolved.soft:
        return SOFT, resolved.soft[name], ""
    return resolved.hard.get(name, UNSEEN), None, ""


def _note_contradictions(model: Model, column: int, rows: Rows, problems: dict[int, str]) -> None:
    """Note rows that contradict what is observed in all of them."""
    name, value = rows.names[column], rows.value[column]
    known = model.observed.get(name)
    if known is None:
        return
    was = known.values[known.value]
    for row in np.flatnonzero((value >= 0) & (value != known.value)).tolist():
        value_name = known.values[value[row]]
        problems.setdefault(
            row, f"{quote(name)} is already observed to be {quote(was)}, not {quote(value_name)}"
        )
    for row in np.flatnonzero(value == SOFT).tolist():
        if rows.soft[column, row][known.value] == 0:
            problems.setdefault(
                row,
                f"{quote(name)} is already observed to be {quote(was)}, which has weight 0 here",
            )


# Rows that elimination in batches cannot afford: exact one by one, or sampled side by side.

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


class SampledRows:
    """Kinds of rows that wait to be sampled; which are too wide is found out for each pattern."""

    def __init__(self, settings: Settings, names: tuple[str, ...]) -> None:
        self.settings, self.names = settings, names
        self.reasons: dict[Pattern, str] = {}
        self.kinds: list[Kind] = []
        self.sampled_kinds = 0

    def answer_or_keep(
        self, model: Model, evidence: dict[str, Seen], rows: list[int]
    ) -> Marginals | None:
        """Answer rows exactly, or keep them for later and give None."""
        seen = _part_about(model.given(evidence), self.names)
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
        if self.settings.method == "auto" and self._is_late():
            return "rows together cost too much, and there was no time to look at one alone"
        plan, reason = plan_marginals(model.graph, self.settings)
        return "" if plan is not None else reason

    def _is_late(self) -> bool:
        """Whether half of the seconds are over before an order for one row was looked for."""
        return self.settings.seconds is not None and 2 * spent_before() > self.settings.seconds

    def batches(self) -> Iterator[list[Kind]]:
        """Kinds that go into one run, as many as fit."""
        batch: list[Kind] = []
        variables = needed = 0
        for kind in self.kinds:
            graph = kind.model.graph
            most = MAX_BLOCK_GIBBS_VARIABLES if graph.has_zeros() else MOST_VARIABLES
            memory = sampling_bytes(graph, self.settings)
            variables, needed = variables + graph.variables, needed + memory
            if batch and (variables > most or 2 * needed > self.settings.memory):
                yield batch
                batch, variables, needed = [], graph.variables, memory
            batch.append(kind)
        if batch:
            yield batch

    def sampled(self, batch: Sequence[Kind], watchers: Iterable[RunObserver]) -> Iterator[Answer]:
        """Sample rows in one run; a row that is impossible is found by halving."""
        labels = [f"row {kind.rows[0]}" for kind in batch]
        models = [kind.model for kind in batch]
        reason = next(iter(self.reasons.values()))
        try:
            share = self._share(len(batch))
            with asked_before():
                plan = plan_model(join_models(models, labels), share, too_wide=reason)
                marginals = execute_plan(plan, watchers)
        except ContradictionError as error:
            if len(batch) == 1:
                yield str(error), batch[0].rows
                return
            half = len(batch) // 2
            for part in (batch[:half], batch[half:]):
                yield from self.sampled(part, watchers)
            return
        self.sampled_kinds += len(batch)
        for kind, answer in zip(batch, split_marginals(marginals, models), strict=True):
            yield answer.only(self.names), kind.rows

    def _share(self, kinds: int) -> Settings:
        """Settings of a run for so many kinds; seconds are for all of them together.

        What is left of the seconds that were asked for is for the kinds that wait.
        """
        ends = [end for end in ENDS if getattr(self.settings, end) is not None]
        if ends and ends != ["seconds"]:
            return self.settings
        if self.settings.seconds is None:
            usual = max(DEFAULT_SECONDS, LEAST_SECONDS * len(self.kinds))
            return replace(self.settings, seconds=usual * kinds / len(self.kinds))
        seconds = self.settings.seconds
        left = max(seconds - spent_before(), LEAST_SHARE * seconds)
        waiting = len(self.kinds) - self.sampled_kinds
        return replace(self.settings, seconds=left * kinds / max(kinds, waiting))


def _part_about(model: Model, names: Iterable[str]) -> Model:
    """The part of a model that says something about some variables, if any is not observed."""
    targets = [model.index[name] for name in names if name in model.index]
    if not targets:
        return model
    part, left_out = relevant(model, targets)
    if left_out is not None:
        possible_states(left_out, 1, np.random.SeedSequence(0))  # refuses what is impossible
    return part


IMPOSSIBLE = "its evidence is impossible: the model gives it probability 0"


RowTables = tuple[Floats, Floats]
"""Probabilities [value, row], and log Z of each row: minus infinity if it is impossible."""


class RowAnswerer:
    """The table of answers while it is filled.

    The model may be a part: what names and columns do not need makes no difference to sums. The
    best values of each row are those of the whole model that is to be `explained`, if any.
    """

    def __init__(
        self,
        model: Model,
        rows: Rows,
        settings: Settings,
        names: tuple[str, ...],
        watchers: Iterable[RunObserver] = (),
        explained: Model | None = None,
    ) -> None:
        domains = model.domains()
        self.model, self.rows, self.settings, self.names = model, rows, settings, names
        self.values = tuple(domains[name] for name in names)
        ends = np.cumsum([0, *map(len, self.values)]).tolist()
        self.start = dict(zip(names, ends, strict=False))
        _require_room(8 * ends[-1] * rows.value.shape[1], settings)
        self.probability: Floats = np.full((ends[-1], rows.value.shape[1]), np.nan)
        self.log_z: Floats = np.full(rows.value.shape[1], np.nan)
        self.explained = explained
        self.best: Numbers | None = None
        self.errors: dict[int, Errors] = {}
        self.watchers = tuple(watchers)
        self.problems = dict(rows.problems)
        self.sampled: dict[int, str] = {}
        self.progress = current_progress()
        self.stopped = False
        self.done = 0

    def answers(self) -> Predictions:
        """Go through all rows that make sense."""
        begun = time.perf_counter()
        with stop_on_ctrl_c(self._stop):
            try:
                self._all_batches()
                self._explain_rows()
            except KeyboardInterrupt:
                self.stopped = True
        self.probability[:, list(self.problems)] = np.nan
        return Predictions(
            names=self.names,
            values=self.values,
            probability=self.probability,
            problems=self.problems,
            sampled=self.sampled,
            errors=self.errors,
            log_likelihood=self._log_likelihoods(),
            best=self.best,
            interrupted=self.stopped,
            seconds=time.perf_counter() - begun,
            unheeded=describe_unused_settings(self.settings),
            doubts=(*self.model.doubts, *self._given_away()),
            ids=self.rows.ids,
        )

    def _log_likelihoods(self) -> Floats:
        """How probable what each row says is, as a logarithm; no number where nobody knows."""
        if np.isnan(self.log_z).all():
            return self.log_z
        log_z = log_z_of_leaves(self.model.graph)
        if log_z is None:
            elimination = prepare_elimination(self.model, (), (), self.settings)
            if elimination is None:
                return np.full_like(self.log_z, np.nan)
            log_z = float(elimination.upward(np.zeros((0, 1), np.int64)).log_z()[0])
        return self.log_z - log_z

    def _explain_rows(self) -> None:
        """Find the best values of all variables in each row that elimination affords."""
        if self.explained is None:
            return
        self.best = np.full((len(self.names), self.probability.shape[1]), UNSEEN, dtype=np.int64)
        good = np.setdiff1d(np.arange(self.probability.shape[1]), list(self.problems))
        for batch in self._by_pattern(good, few=None):
            if not self._explain(batch):
                for pattern in self._by_pattern(batch.rows, few=1):
                    self._explain(pattern)

    def _explain(self, batch: Batch) -> bool:
        """Explain rows of a batch by one elimination; false if that cannot be afforded."""
        model, best = self.explained, self.best
        assert model is not None
        assert best is not None
        chosen = find_maxima_of_rows(model, *self._observed(batch), self.settings)
        if chosen is None:
            return False
        template = chosen.template
        rows = self._numbers(template, batch)
        for part in chunks(chosen, len(batch.rows), self.settings.memory):
            if self.stopped:
                return True
            places = batch.rows[part]
            likelihoods = self._likelihoods(template, batch, places)
            state = chosen.best_of_rows(np.maximum(rows[:, part], 0), likelihoods)
            for number, name in enumerate(self.names):
                best[number, places] = self._values_of(name, model, template, batch, places, state)
        return True

    def _values_of(
        self,
        name: str,
        model: Model,
        template: Template,
        batch: Batch,
        places: Numbers,
        state: Mapping[int, Numbers],
    ) -> Numbers | int:
        """The values of a variable in the best states of some rows."""
        if name in model.observed:
            return model.observed[name].value
        variable = model.index[name]
        if variable in template.observed:
            seen: Numbers = self.rows.value[batch.hard[template.observed.index(variable)], places]
            return seen
        possible = template.problem.possible[variable]
        if variable not in template.place:
            return int(possible[0])
        values: Numbers = possible[state[template.place[variable]]]
        return values

    def _observed(self, batch: Batch) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of what rows of a batch observe, hard and soft."""
        hard, soft = (
            tuple(self.rows.names[k] for k in chosen) for chosen in (batch.hard, batch.soft)
        )
        return hard, soft

    def _numbers(self, template: Template, batch: Batch) -> Numbers:
        """Rows of a batch as numbers of possible values; -1 where a value is impossible."""
        columns = [self.rows.value[k, batch.rows] for k in batch.hard]
        pairs = zip(template.number, columns, strict=True)
        rows = np.array([new[old] for new, old in pairs], np.int64)
        return rows.reshape(len(batch.hard), len(batch.rows))

    def _likelihoods(self, template: Template, batch: Batch, places: Numbers) -> list[Floats]:
        """Log-weights of soft evidence in some rows, of possible values."""
        return [
            self.rows.likelihood(k, places, template.problem.cardinality[v])[
                template.problem.possible[v]
            ]
            for k, v in zip(batch.soft, template.soft, strict=True)
        ]

    def _given_away(self) -> Iterator[str]:
        """Say which columns tell what is asked for."""
        asked, known = {*self.names}, {}
        for name, value in zip(self.rows.names, self.rows.value, strict=True):
            if name in asked and (seen := int((value != UNSEEN).sum())):
                known[name] = seen
        if known:
            few = join_words(f"{quote(name)} (in {seen:,} rows)" for name, seen in known.items())
            yield (
                f"what is asked for is a column of the table: {few}. It counts as evidence, so the "
                "answers of these rows repeat it; to predict it, ignore it (--ignore, ignore=)"
            )

    def _stop(self) -> None:
        self.stopped = True

    def _all_batches(self) -> None:
        good = np.setdiff1d(np.arange(self.probability.shape[1]), list(self.problems))
        left: list[Batch] = []
        for batch in self._by_pattern(good, few=None):
            left += self._either(batch)
        apart = np.concatenate([np.zeros(0, np.int64), *(batch.rows for batch in left)])
        self._rest(np.sort(apart))

    def _by_pattern(self, rows: Numbers, few: int | None) -> list[Batch]:
        """Batches of some rows; variables that were observed before are no columns."""
        open_columns = np.array([name in self.model.index for name in self.rows.names], dtype=bool)
        value = self.rows.value[:, rows]
        seen, soft = (value >= 0) & open_columns[:, None], (value == SOFT) & open_columns[:, None]
        grouped = batches(seen | soft, soft) if few is None else batches(seen | soft, soft, few)
        return [replace(batch, rows=rows[batch.rows]) for batch in grouped]

    def _either(self, batch: Batch) -> list[Batch]:
        """Eliminate a batch, or its patterns one by one; gives those that cost too much."""
        if self._eliminate(batch):
            return []
        patterns = self._by_pattern(batch.rows, few=1)
        if len(patterns) == 1:
            return patterns
        return [pattern for pattern in patterns if not self._eliminate(pattern)]

    def _eliminate(self, batch: Batch) -> bool:
        """Answer rows of a batch by one elimination; false if that cannot be afforded."""
        elimination = prepare_elimination(self.model, *self._observed(batch), self.settings)
        if elimination is None:
            return False
        rows = self._numbers(elimination.template, batch)
        possible = (rows >= 0).all(axis=0)
        self._note(batch.rows[~possible])
        rows, answered = rows[:, possible], batch.rows[possible]
        first, which = distinct_rows(rows, bool(batch.soft))
        answers = np.full((len(self.probability), len(first)), np.nan)
        log_z = np.full(len(first), np.nan)
        try:
            for part, (probability, sums) in self._parts(elimination, batch, rows, answered, first):
                answers[:, part], log_z[part] = probability, sums
                impossible = np.arange(part.start, part.stop)[np.isneginf(sums)]
                self._note(answered[np.isin(which, impossible)])
                self._tell(self.done + round(len(answered) * part.stop / len(first)))
        finally:
            self.probability[:, answered] = answers[:, which]
            self.log_z[answered] = log_z[which]
        self.done += len(batch.rows)
        return True

    def _parts(
        self, elimination: Elimination, batch: Batch, rows: Numbers, places: Numbers, first: Numbers
    ) -> Iterator[tuple[slice, RowTables]]:
        """Answer distinct rows, part by part; with an executor, on its workers."""
        parts = list(chunks(elimination, len(first), self.settings.memory))
        if self.settings.executor is not None:
            work = [(rows[:, first[part]], places[first[part]]) for part in parts]
            yield from zip(parts, answer_on_workers(self, batch, work), strict=False)
            return
        for part in parts:
            if self.stopped:
                return
            chosen = first[part]
            yield part, self.answer(elimination, batch, rows[:, chosen], places[chosen])

    def _tell(self, done: int) -> None:
        if self.progress is not None:
            rows = self.probability.shape[1]
            self.progress.show(done / max(rows, 1), f"{done:,} of {rows:,} rows")

    def answer(
        self, elimination: Elimination, batch: Batch, rows: Numbers, places: Numbers
    ) -> RowTables:
        """Probabilities [value, row], and log Z of each row."""
        template, model = elimination.template, self.model
        upward = elimination.upward(rows, self._likelihoods(template, batch, places))
        free = [name for name in self.names if model.index.get(name, -1) in template.place]
        wanted = {name: template.place[model.index[name]] for name in free}
        tables = elimination.marginals(upward, wanted.values())
        answers = np.zeros((len(self.probability), rows.shape[1]))
        for name in self.names:
            start, variable = self.start[name], model.index.get(name, -1)
            if name in wanted:
                answers[start + template.problem.possible[variable]] = tables[wanted[name]]
            elif name in model.observed:
                answers[start + model.observed[name].value] = 1.0
            elif variable in template.observed:
                column = batch.hard[template.observed.index(variable)]
                answers[start + self.rows.value[column, places], np.arange(len(places))] = 1.0
            else:
                answers[start + template.problem.possible[variable]] = 1.0
        log_z = np.broadcast_to(upward.log_z(), rows.shape[1])
        first = list(self.start.values())
        total = np.add.reduceat(answers, first, axis=0)
        total[:, np.isneginf(log_z)] = 1.0
        answers /= np.repeat(total, list(map(len, self.values)), axis=0)
        return answers, log_z

    def _note(self, rows: Numbers) -> None:
        self.log_z[rows] = -np.inf
        for row in rows.tolist():
            self.problems[row] = IMPOSSIBLE

    def _rest(self, rows: Numbers) -> None:
        """Ask about each kind of row once: exactly one by one, or sampled side by side."""
        wide = SampledRows(self.settings, self.names)
        for evidence, alike in self._kinds(rows).items():
            if self.stopped:
                return
            try:
                marginals = wide.answer_or_keep(self.model, dict(evidence), alike)
            except ContradictionError as error:
                self.problems.update(dict.fromkeys(alike, str(error)))
                continue
            if marginals is not None:
                self._put(marginals, alike)
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

    def _put(self, marginals: Marginals, alike: list[int]) -> None:
        """Enter what was found into all rows that say the same."""
        columns = marginals.columns
        self.probability[:, alike] = columns.probability[:, None]
        if not marginals.about.is_exact:
            self.sampled.update(dict.fromkeys(alike, _worst(marginals)))
            errors = Errors(columns.standard_error, columns.low, columns.high)
            self.errors.update(dict.fromkeys(alike, errors))
        self.stopped = self.stopped or marginals.about.interrupted
        self.done += len(alike)
        self._tell(self.done)

    def _evidence(self, row: int) -> dict[str, Seen]:
        """What a row says, by names."""
        evidence: dict[str, Seen] = {}
        for column, name in enumerate(self.rows.names):
            value = int(self.rows.value[column, row])
            if value == SOFT:
                evidence[name] = self.rows.soft[column, row]
            elif value >= 0:
                evidence[name] = self.model.domains()[name][value]
        return evidence


def _require_room(needed: int, settings: Settings) -> None:
    if needed > settings.memory:
        raise LimitError(
            f"the answers need {format_bytes(needed)}, the limit is "
            f"{format_bytes(settings.memory)}; ask "
            "about fewer variables, or fewer rows at a time"
        )


def distinct_rows(rows: Numbers, soft: bool) -> tuple[Numbers, Numbers]:
    """The first of each kind of column, and which kind each column is."""
    if soft:
        return np.arange(rows.shape[1]), np.arange(rows.shape[1])
    if not len(rows):
        return np.arange(min(1, rows.shape[1])), np.zeros(rows.shape[1], dtype=np.int64)
    _, first, which = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def _worst(marginals: Marginals) -> str:
    """The worst of all verdicts; what is observed says nothing of the others."""
    return min(marginals.verdicts(), key=SEVEREST.index)


# Rows of a table, answered by the workers of an executor: the same numbers as here.

PIECES = 4  # of work for each worker: one that is slow holds up less
MOST_WORKERS = 2**10

Part = tuple[Numbers, Numbers]
"""Rows of numbers of values, and where they stand in the table."""


@dataclass(frozen=True)
class SharedRows:
    """What workers need: the model, the table, and how to answer."""

    model: Model
    rows: Rows
    settings: Settings
    names: tuple[str, ...]

    def open(self) -> RowAnswerer:
        """Rows that a worker answers by itself."""
        model = replace(self.model, graph=readonly_graph(self.model.graph))
        return RowAnswerer(model, self.rows, self.settings, self.names)


class PartsWork(NamedTuple):
    """Parts of a batch, one after the other."""

    batch: Batch
    parts: Sequence[Part]


def answer_on_workers(
    asked: RowAnswerer, batch: Batch, parts: Sequence[Part]
) -> Iterator[RowTables]:
    """Answer parts of a batch on workers; ends early if nobody waits for them."""
    executor = _executor(asked)
    each = -(-len(parts) // (PIECES * workers_of(executor, MOST_WORKERS)))
    small = replace(batch, rows=np.zeros(0, dtype=np.int64))
    work = [PartsWork(small, parts[k : k + each]) for k in range(0, len(parts), max(each, 1))]
    pieces = Sender(executor).all(
        _answer_parts, pack_shared(_bytes_needed(asked)), work, lambda: asked.stopped
    )
    asked.stopped = asked.stopped or pieces is None
    for answers in pieces or ():
        yield from answers


def _executor(asked: RowAnswerer) -> Executor:
    assert asked.settings.executor is not None
    return asked.settings.executor


def _bytes_needed(asked: RowAnswerer) -> SharedRows:
    alone = replace(asked.settings, executor=None, threads=1)
    return SharedRows(asked.model, asked.rows, alone, asked.names)


def _answer_parts(asked: RowAnswerer, work: PartsWork) -> list[RowTables]:
    names = asked.rows.names
    hard, soft = (
        tuple(names[k] for k in columns) for columns in (work.batch.hard, work.batch.soft)
    )
    elimination = prepare_elimination(asked.model, hard, soft, asked.settings)
    assert elimination is not None  # where it was prepared first, it was affordable
    return [asked.answer(elimination, work.batch, *part) for part in work.parts]
