"""One question for each row of a table, all rows together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from orbitmc import inference
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import interruptible
from orbitmc._util.loading import extra
from orbitmc.errors import InputError
from orbitmc.estimate.marginals import About
from orbitmc.estimate.verdicts import BELIEVED, EXACT
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model
from orbitmc.inference.cache import needed_part
from orbitmc.inference.query import (
    Names,
    Program,
    list_names,
    require_program,
    resolve_query,
)
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options

if TYPE_CHECKING:
    from pandas import DataFrame

    from orbitmc.sampling.run import RunObserver


MOST_NAMED = 5  # rows in a remark; more would not be read


class Errors(NamedTuple):
    """The errors of the numbers of a row, and the ends of their intervals."""

    standard_error: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Predictions:
    """Probabilities [value, row] of the values of some variables, one variable after the other.

    `problems` says of rows that have no answer what is wrong with them; `sampled` are rows that
    chains answered, with the worst verdict of each, and `errors` those of their numbers. Settings
    that were `unheeded` because no row was sampled are the end of a reason. `doubts` are about the
    model and the table, `ids` columns that were copied from it. `log_likelihood` is how probable
    what a row says is: NaN where nobody knows. `best` are the values [name, row] of the most
    probable states of all variables, by their numbers: -1 where nobody knows.
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    probability: Floats = field(repr=False)
    problems: Mapping[int, str] = field(default_factory=dict)
    sampled: Mapping[int, str] = field(default_factory=dict)
    errors: Mapping[int, Errors] = field(default_factory=dict, repr=False)
    interrupted: bool = False
    seconds: float = 0.0
    unheeded: str = ""
    doubts: tuple[str, ...] = ()
    ids: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    log_likelihood: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    best: Numbers | None = field(default=None, repr=False)

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """Variable and value of each row of numbers."""
        pairs = zip(self.names, self.values, strict=True)
        return [(name, value) for name, values in pairs for value in values]

    def remarks(self) -> list[str]:
        """What must be said with the numbers."""
        remarks = list(self.doubts)
        if self.problems:
            rows = sorted(self.problems)
            problems = [f"row {row}: {self.problems[row]}" for row in rows[:MOST_NAMED]]
            more = f"; and {len(rows) - MOST_NAMED:,} more" if len(rows) > MOST_NAMED else ""
            remarks.append(
                f"{len(rows):,} of {self.rows:,} rows have no answer: {'; '.join(problems)}{more}"
            )
        if self.sampled:
            doubtful = sum(verdict not in BELIEVED for verdict in self.sampled.values())
            remarks.append(
                f"{len(self.sampled):,} rows were sampled, side by side; {doubtful:,} of them have "
                "not converged"
            )
        if self.best is not None and not self.interrupted:
            unknown = int((self.best < 0).any(axis=0).sum()) - len(self.problems)
            if unknown > 0:
                remarks.append(f"{unknown:,} rows are too wide to be explained by elimination")
        if self.interrupted:
            remarks.append("interrupted: rows without numbers were not reached")
        return remarks

    def best_of_row(self, row: int) -> dict[str, str] | None:
        """The most probable values of a row; None if nobody asked for them, or knows them."""
        if self.best is None or row in self.problems or (self.best[:, row] < 0).any():
            return None
        numbers = self.best[:, row].tolist()
        return {n: v[k] for n, v, k in zip(self.names, self.values, numbers, strict=True)}

    @property
    def about(self) -> About:
        """How the rows were answered."""
        exact = self.answered - len(self.sampled)
        idle = "" if self.sampled else self.unheeded
        return About(
            method="sampled" if self.sampled else "exact",
            reason=f"{exact:,} rows by elimination, {len(self.sampled):,} by sampling{idle}",
            seconds=self.seconds,
            interrupted=self.interrupted,
            warnings=tuple(self.remarks()),
        )

    @property
    def answered(self) -> int:
        """How many rows have an answer."""
        return int(np.isfinite(self.probability).all(axis=0).sum())

    @property
    def converged(self) -> bool:
        """Whether all numbers may be believed within their errors."""
        return BELIEVED.issuperset(self.sampled.values())

    def verdict(self, row: int) -> str:
        """What to think of a row; nothing if it has no answer."""
        return "" if row in self.problems else self.sampled.get(row, EXACT)

    @property
    def rows(self) -> int:
        return int(self.probability.shape[1])

    def to_frame(self, index: Any = None) -> DataFrame:
        """A pandas DataFrame with a row for each row, and a column for each variable and value."""
        pd = extra("pandas", "frames")
        if self.ids:
            index = pd.DataFrame(dict(self.ids)).set_index([*self.ids]).index
        columns = pd.MultiIndex.from_tuples(self.columns, names=["variable", "value"])
        frame: DataFrame = pd.DataFrame(
            self.probability.T, index=index, columns=columns, copy=False
        )
        frame.attrs = {
            "problems": dict(self.problems),
            "sampled": dict(self.sampled),
            "standard_error": {
                row: self.by_name(self.errors[row].standard_error.tolist()) for row in self.sampled
            },
            "interrupted": self.interrupted,
            "reason": self.about.reason,
            "log_likelihood": self.log_likelihood.tolist(),
        }
        if self.best is not None:
            frame.attrs["best"] = [self.best_of_row(row) for row in range(self.rows)]
        return frame

    def by_name(self, numbers: Sequence[float]) -> dict[str, dict[str, float]]:
        """The numbers of one row by variable and value."""
        by_name: dict[str, dict[str, float]] = {}
        for (name, value), number in zip(self.columns, numbers, strict=True):
            by_name.setdefault(name, {})[value] = number
        return by_name


@accepts_settings
@interruptible()
def predict(
    model: Model | Program,
    rows: Any,
    evidence: Evidence | None = None,
    *,
    query: Names | None = None,
    ignore: Names = (),
    id: Names = (),
    explain: bool = False,
    settings: Settings | None = None,
    **options: Unpack[Options],
) -> DataFrame:
    """Say, for each row of a table, how probable the values of other variables are.

    `rows` is a data frame with a column for each observed variable, a CSV file, or a list with a
    mapping for each row; None and NaN mean that a row does not observe that variable. `evidence`
    holds in all rows. A `query` names the variables to report; without one, those without a column.
    The answer has the index of the rows, and a column (variable, value) for each number. Columns to
    `ignore` are no evidence, nor are those of `id`, which become the index of the answer. What is
    asked for should be no column: where it is, it counts as evidence, and a warning says so.

    Rows that observe the same variables are eliminated together. A row that makes no sense, or is
    impossible, has NaN; a warning says which, and why, and so do `attrs["problems"]`. Rows that
    elimination cannot afford are sampled side by side, many in a run; `seconds` are for all of them
    together. Their verdicts are `attrs["sampled"]`, their errors `attrs["standard_error"]`.

    `attrs["log_likelihood"]` has the logarithm of the probability of what each row says, given the
    `evidence`: the lowest rows are the oddest. It is NaN for rows that are sampled. With `explain`,
    `attrs["best"]` has for each row the most probable state of all variables together, told of
    those that are reported; None where elimination cannot afford it.

    >>> import orbitmc as om
    >>> model = om.read("examples/sprinkler.bif")
    >>> rows = [{"grass": "wet"}, {"grass": "wet", "season": "rainy"}, {}]
    >>> om.predict(model, rows, query="rain")["rain", "heavy"].round(3).tolist()
    [0.243, 0.448, 0.13]
    """
    answers = predictions(
        model,
        rows,
        evidence,
        query=query,
        ignore=ignore,
        ids=id,
        explain=explain,
        settings=merge_options(settings, options),
    )
    for remark in answers.remarks():
        warnings.warn(remark, stacklevel=4)
    return answers.to_frame(getattr(rows, "index", None) if hasattr(rows, "iloc") else None)


def predictions(
    model: Model | Program,
    rows: Any,
    evidence: Evidence | None = None,
    *,
    query: Names | None = None,
    ignore: Names = (),
    ids: Names = (),
    explain: bool = False,
    settings: Settings,
    watchers: Iterable[RunObserver] = (),
) -> Predictions:
    """The same, as plain arrays."""
    settings.require_use()
    settings.schedule()  # refuses two ends
    if settings.checkpoint is not None:
        raise InputError("many rows are no run that could be saved: leave out the checkpoint")
    chosen = model_in(model).given(evidence)
    table = inference.read_rows(chosen, rows, list_names(ignore), list_names(ids))
    names = _resolve_targets(model, query, chosen) or _others(chosen, table.names)
    part = needed_part(chosen, (*names, *table.names))
    explained = chosen.without_helpers() if explain else None
    rows_left = inference.RowAnswerer(part, table, settings, names, watchers, explained)
    return rows_left.answers()


def _resolve_targets(
    source: Model | Program, query: Names | None, model: Model
) -> tuple[str, ...] | None:
    """The variables that a query names; of a program, it may name predicates."""
    if query is None or isinstance(source, Model):
        return resolve_query(query, model)
    known = {*model.order}
    return tuple(name for name in source.atoms_in(query) if name in known)


def model_in(source: Model | Program) -> Model:
    """A model, or that of a program, whose variables are its atoms."""
    if isinstance(source, Model):
        return source
    require_program(source)
    return source.model


def _others(model: Model, columns: Sequence[str]) -> tuple[str, ...]:
    """All variables without a column; all, if each has one."""
    known = {*columns, *model.observed}
    return tuple(name for name in model.order if name not in known) or model.order
