"""The answer: how probable each value of each variable is, and how sure we are."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from orbitmc import estimate
from orbitmc._util.arrays import Bytes, Floats, short_repr
from orbitmc._util.loading import HtmlRepr, extra, renderer
from orbitmc._util.text import join_words, suggestion
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.formatting import VARIABLES_AT_A_TIME, compact
from orbitmc.estimate.verdicts import (
    BELIEVED,
    CODE,
    EXACT,
    FAIR,
    FORCED,
    FROZEN,
    GOOD,
    MISSED,
    OBSERVED,
    RARE,
    SUSPECT,
    TIED,
    UNMIXED,
    VERDICTS,
    Quality,
    variable_verdicts,
)
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.estimate.statistics import CoursePoint, Statistics
    from orbitmc.graph.support import Domains

# Marginals of many variables in flat arrays: a column of numbers for each thing known.
#
# A million variables take six numbers per value here; a `Marginal` is made of them when one asks.

MARGINAL_COLUMNS = ("probability", "standard_error", "low", "high", "ess", "r_hat")
OF_VALUES = (*MARGINAL_COLUMNS, "rare")
MOST_SHOWN = 8  # values of a variable in a line
NO_PART = -1

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Marginal:
    """One variable: a number per value in each array, and a verdict in words.

    `rare` marks values that were seen too seldom to be known, and those that leave no more than
    that to all others.
    """

    values: tuple[str, ...]
    probability: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    ess: Floats
    r_hat: Floats
    verdict: str
    rare: NDArray[np.bool_]

    def __getitem__(self, value: str) -> float:
        """The probability of a value."""
        if value not in self.values:
            raise KeyError(
                f"there is no value {value!r}; the values are {join_words(self.values)}"
                f"{suggestion(str(value), self.values)}"
            )
        return float(self.probability[self.values.index(value)])

    def __repr__(self) -> str:
        shown = zip(self.values[:MOST_SHOWN], self.probability.tolist(), strict=False)
        more = f" and {left} more" if (left := len(self.values) - MOST_SHOWN) > 0 else ""
        return f"{', '.join(f'{word} {p:.5g}' for word, p in shown)}{more} ({self.verdict})"


@dataclass(frozen=True)
class Columns:
    """Variables in the order of `names`; those of variable `k` are at `start[k]:start[k + 1]`.

    `verdict` has a place in `VERDICTS` for each variable, and `part` the connected component that
    it belongs to, which is `NO_PART` where that is not known.
    """

    names: Sequence[str]
    values: Sequence[tuple[str, ...]]
    start: Places
    probability: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    ess: Floats
    r_hat: Floats
    rare: NDArray[np.bool_]
    verdict: Bytes
    part: Places

    def __repr__(self) -> str:
        return short_repr(self)

    def marginal(self, name: str) -> Marginal:
        """All that is known of one variable."""
        if name not in self.index:
            raise KeyError(f"there is no variable {name!r}{suggestion(str(name), self.index)}")
        place = self.index[name]
        numbers = self._numbers(slice(self.start[place], self.start[place + 1]))
        return Marginal(self.values[place], **numbers, verdict=VERDICTS[self.verdict[place]])

    def _numbers(self, places: Any) -> dict[str, Any]:
        return {column: getattr(self, column)[places] for column in OF_VALUES}

    def to_xarray(self, attrs: Mapping[str, Any]) -> Any:
        """Give an xarray Dataset `[variable, place of the value]`, padded where values are few."""
        sizes = np.diff(self.start)
        there = np.arange(sizes.max(initial=0)) < sizes[:, None]
        padded = {}
        for column in MARGINAL_COLUMNS:
            padded[column] = np.full(there.shape, np.nan)
            padded[column][there] = getattr(self, column)
        label = np.full(there.shape, "", dtype=object)
        label[there] = [value for words in self.values for value in words]
        by_value, by_variable = ("variable", "place"), ("variable",)
        return extra("xarray", "xarray").Dataset(
            {
                **{column: (by_value, numbers) for column, numbers in padded.items()},
                "verdict": (by_variable, [VERDICTS[code] for code in self.verdict]),
            },
            coords={"variable": list(self.names), "label": (by_value, label)},
            attrs=dict(attrs),
        )

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Where each variable stands."""
        return {name: place for place, name in enumerate(self.names)}

    def names_with(self, verdict: str, most: int) -> list[str]:
        """The first few variables with a verdict."""
        places = np.flatnonzero(self.verdict == CODE[verdict])
        return [self.names[place] for place in places[:most]]

    def counts(self) -> dict[str, int]:
        """How many variables got each verdict, in the order in which verdicts first appear."""
        codes, first, count = np.unique(self.verdict, return_index=True, return_counts=True)
        return {VERDICTS[codes[k]]: int(count[k]) for k in np.argsort(first)}

    def extremes(self) -> tuple[float, float]:
        """The largest R-hat and the smallest ESS of all sampled values."""
        sampled = np.isfinite(self.ess)
        r_hat = self.r_hat.max(initial=1.0, where=sampled)
        return float(r_hat), float(self.ess.min(initial=np.inf, where=sampled))

    def take(self, places: Places) -> Columns:
        """Some variables, in a new order."""
        sizes = np.diff(self.start)[places]
        start = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[places], sizes)
        return Columns(
            [self.names[place] for place in places],
            [self.values[place] for place in places],
            start,
            **self._numbers(rows),
            verdict=self.verdict[places],
            part=self.part[places],
        )

    def of_values(
        self, names: Sequence[str], places: Places, value: Places, word: tuple[str]
    ) -> Columns:
        """One value of each of some variables, under new names; `word` is what it is called."""
        rows = self.start[places] + value
        return Columns(
            names,
            [word] * len(names),
            np.arange(len(names) + 1),
            **self._numbers(rows),
            verdict=self.verdict[places],
            part=self.part[places],
        )

    def pieces(self, rows_at_a_time: int = VARIABLES_AT_A_TIME) -> Iterator[Columns]:
        """All variables, a few thousand at a time."""
        for first in range(0, len(self.names), rows_at_a_time):
            last = min(first + rows_at_a_time, len(self.names))
            start = self.start[first : last + 1]
            rows = slice(start[0], start[-1])
            yield Columns(
                self.names[first:last],
                self.values[first:last],
                start - start[0],
                **self._numbers(rows),
                verdict=self.verdict[first:last],
                part=self.part[first:last],
            )


def certain_columns(
    names: Sequence[str],
    values: Sequence[tuple[str, ...]],
    probability: Floats,
    verdict: str | Bytes,
) -> Columns:
    """Variables whose probabilities have no error; one flat array of them."""
    start = np.array([*itertools.accumulate(map(len, values), initial=0)], dtype=np.int64)
    p = np.asarray(probability, dtype=np.float64)
    none, ones, endless = np.zeros(len(p)), np.ones(len(p)), np.full(len(p), np.inf)
    never, part = np.zeros(len(p), np.bool_), no_parts(len(names))
    codes = np.full(len(names), CODE[verdict], np.uint8) if isinstance(verdict, str) else verdict
    return Columns(names, values, start, p, none, p, p, endless, ones, never, codes, part)


def no_parts(variables: int) -> Places:
    """Components of variables of which nobody knows them."""
    return np.full(variables, NO_PART, dtype=np.int64)


def concatenate_columns(parts: Sequence[Columns]) -> Columns:
    """The variables of several columns, one after the other."""
    ends = np.cumsum([0, *(part.start[-1] for part in parts)])
    starts = [part.start[:-1] + end for part, end in zip(parts, ends, strict=False)]
    together: dict[str, Any] = {
        column.name: np.concatenate([getattr(part, column.name) for part in parts])
        for column in fields(Columns)[3:]
    }
    return Columns(
        [name for part in parts for name in part.names],
        [words for part in parts for words in part.values],
        np.concatenate([*starts, ends[-1:]]),
        **together,
    )


LAST_RESORTS = frozenset({"lmh", "mcsat"})
"""Methods after which `auto` helps only if elimination is affordable: it has no other ones."""


@dataclass(frozen=True, repr=False)
class GroupTexts:
    """A group of symmetries: its generators in names, its orbits as places of variables.

    `order` is None where it was not counted; `how` says where the group comes from.
    """

    order: int | None
    generators: Sequence[str]
    orbits: Sequence[Sequence[int]]
    complete: bool
    how: str


@dataclass(frozen=True)
class Checks:
    """What a page shows beside an answer: symmetries, exact marginals, or why there are none."""

    symmetries: GroupTexts | None
    no_symmetries: str
    exact: Marginals | None
    no_exact: str


@dataclass(frozen=True)
class Provenance:
    """A model, evidence about it, and settings that are not the usual ones: enough to ask again.

    `check` looks for what a page shows beside an answer. `command` is what was typed, if it was. A
    program says marginals of its model `in_atoms`.
    """

    model: Model
    check: Callable[[Marginals], Checks]
    evidence: Evidence | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""
    in_atoms: Callable[[Marginals], Marginals] | None = None

    @cached_property
    def conditioned_model(self) -> Model:
        """The model, given the evidence."""
        return self.model.given(self.evidence)


@dataclass(frozen=True)
class Culprits:
    """Variables on account of which others are doubted, and the component that each belongs to."""

    names: Sequence[str] = ()
    part: Places = field(default_factory=lambda: no_parts(0))

    def within(self, parts: Places) -> list[str]:
        """Those in some components; all, where a component is not known."""
        if NO_PART in parts:
            return list(self.names)
        return [self.names[place] for place in np.flatnonzero(np.isin(self.part, parts)).tolist()]


@dataclass(frozen=True)
class About:
    """How an answer was found; methods that are `ruled_out` cannot find it, or take too long.

    `log_z` is exact where its error is 0. `course` has standard errors on the way.
    `estimator` says what was averaged, and why, where nobody asked for it. `unmixed` and `frozen`
    are all variables with that verdict, also where the answer tells of others only. States may be
    `independent` draws of the model; then they need not mix. `errors_from` says what errors of an
    exact answer come from; otherwise it has none.
    """

    method: str
    reason: str
    seconds: float = 0.0
    seed: int | None = None
    samples: int = 0
    chains: int = 0
    updates: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    estimator: str = ""
    log_z: float | None = None
    log_z_error: float = 0.0
    interrupted: bool = False
    moves: Mapping[str, Any] | None = None
    race: tuple[Mapping[str, Any], ...] = ()
    ruled_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    course: tuple[CoursePoint, ...] = field(default=(), repr=False, compare=False)
    independent: bool = False
    errors_from: str = ""
    unmixed: Culprits = field(default_factory=Culprits, repr=False, compare=False)
    frozen: Culprits = field(default_factory=Culprits, repr=False, compare=False)

    @property
    def is_exact(self) -> bool:
        """Whether nothing was sampled."""
        return self.method in ("exact", "counting")

    @property
    def updates_per_second(self) -> float:
        return self.updates / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, repr=False)
class Marginals(HtmlRepr, Mapping[str, Marginal]):
    """Marginals by variable name, in the order of the model's author.

    `columns` has all their numbers in flat arrays; `asked` is the question.

    >>> import orbitmc as om
    >>> answer = om.marginals(om.read("examples/sprinkler.bif"))
    >>> round(answer["rain"]["heavy"], 3), round(answer["rain", "heavy"], 3)
    (0.13, 0.13)
    >>> round(answer.probability("rain", "heavy"), 3)
    0.13
    """

    columns: Columns
    about: About = field(default_factory=lambda: About("", ""))
    asked: Provenance | None = field(default=None, compare=False)

    @overload
    def __getitem__(self, name: str) -> Marginal: ...
    @overload
    def __getitem__(self, name: tuple[str, str]) -> float: ...
    def __getitem__(self, name: str | tuple[str, str]) -> Marginal | float:
        if isinstance(name, tuple) and len(name) == 2:
            variable, value = name
            return self.columns.marginal(variable)[value]
        return self.columns.marginal(name)

    def probability(self, name: str, value: str) -> float:
        """How probable a value of a variable is."""
        return self[name, value]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns.names)

    def __len__(self) -> int:
        return len(self.columns.names)

    @property
    def converged(self) -> bool:
        """Whether every number may be believed within its error."""
        return self.verdicts().keys() <= BELIEVED

    def verdicts(self) -> dict[str, int]:
        """How many variables got each verdict."""
        return self.columns.counts()

    def causes(self, verdict: str) -> list[str]:
        """The variables to which those with a verdict are tied, asked for or not."""
        culprits = {TIED: self.about.unmixed, SUSPECT: self.about.frozen}[verdict]
        return culprits.within(self.columns.part[self.columns.verdict == CODE[verdict]])

    def __str__(self) -> str:
        """A table in plain text; long ones are cut short and say so."""
        return compact(self)

    def only(self, names: Sequence[str] | None) -> Marginals:
        """The part of the answer about some variables, in the order of their names; None is all."""
        if names is None:
            return self
        places = np.array([self.columns.index[name] for name in names], dtype=np.int64)
        return replace(self, columns=self.columns.take(places))

    def plot(self, names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw probabilities with their intervals; needs the extra `plots`.

        Names the variables to draw, up to 40 values of them unless they are named. Gives
        matplotlib's axes, those of `ax` if they are given.
        """
        return renderer("plot_marginals")(self, names, ax)

    def report(self, path: Path | str) -> Path:
        """Write one HTML page that shows the answer, its errors, and how to get it again.

        It needs no network and no other file. Gives the path of the page.
        """
        if self.asked is None:
            raise InputError("a report needs the question, which this answer does not know")
        return Path(renderer("write_page")(self, Path(path)))

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row per value; needs the extra `frames`."""
        rows = [
            (name, value, *(getattr(m, column)[k] for column in MARGINAL_COLUMNS), m.verdict)
            for name, m in self.items()
            for k, value in enumerate(m.values)
        ]
        titles = ["variable", "value", *MARGINAL_COLUMNS, "verdict"]
        return extra("pandas", "frames").DataFrame(rows, columns=titles)

    def to_xarray(self) -> Any:
        """Give an xarray Dataset by variable and place of the value; needs the extra `xarray`.

        Variables with fewer values than others have NaN, and empty labels, in the places left.
        """
        attrs = {"method": self.about.method, "reason": self.about.reason}
        return self.columns.to_xarray(attrs)


def exact_marginals(
    model: Model,
    probabilities: Sequence[Floats],
    about: About,
    variables: Sequence[int] | None = None,
) -> Marginals:
    """Dress exact probabilities of some free variables, or of all in order, as an answer."""
    chosen = range(len(model.names)) if variables is None else variables
    flat = np.concatenate([np.zeros(0), *probabilities])
    names, values = [model.names[v] for v in chosen], [model.values[v] for v in chosen]
    columns = certain_columns(names, values, flat, EXACT)
    _require_numbers(columns)
    return Marginals(add_observed(model, columns), about)


def sampled_marginals(
    model: Model,
    statistics: Statistics,
    domains: Domains | None,
    about: About,
    part_of: NDArray[np.int64],
    missed: NDArray[np.bool_] | None = None,
    exact: NDArray[np.bool_] | None = None,
) -> Marginals:
    """Dress the statistics of a run as an answer; `domains` tells forced from frozen.

    `part_of` has the connected component of each variable.
    `missed` marks variables whose numbers are known to be wrong, because a mode was missed, and
    `exact` those that depend on nothing that was sampled.
    """
    layout = estimate.statistics.values_of(model.graph.cardinality)
    probability = layout.probabilities(statistics.probability)
    low, high = layout.intervals(statistics.low, statistics.high)
    ess = layout.expand(statistics.ess, float(statistics.lanes))
    r_hat = layout.expand(statistics.r_hat, 1.0)
    rare = estimate.statistics.is_rare(probability, layout.expand(statistics.states, np.inf))
    unmixed = layout.expand(statistics.persists | statistics.drifts, False)
    quality = Quality(r_hat, ess, rare, unmixed, statistics.recorded, statistics.independent)
    start = layout.start.astype(np.int64)
    columns = Columns(
        model.names,
        model.values,
        start,
        probability,
        layout.expand(statistics.standard_error, 0.0),
        low,
        high,
        ess,
        r_hat,
        rare,
        _verdicts(model, statistics, domains, start, quality, part_of, missed),
        np.asarray(part_of, dtype=np.int64),
    )
    if exact is not None:
        _set_exact(columns, exact)
    _set_forced(columns, domains)
    _require_numbers(columns)
    doubted = replace(
        about,
        unmixed=_culprits(columns, UNMIXED, model.helpers),
        frozen=_culprits(columns, FROZEN, model.helpers),
        independent=statistics.independent,
    )
    return Marginals(add_observed(model, columns), doubted)


def _culprits(columns: Columns, verdict: str, helpers: Collection[str]) -> Culprits:
    """The variables with a verdict; helpers are not named, only what is tied to them is."""
    places = np.flatnonzero(columns.verdict == CODE[verdict])
    if helpers:
        places = places[[columns.names[place] not in helpers for place in places.tolist()]]
    return Culprits([columns.names[place] for place in places.tolist()], columns.part[places])


def _verdicts(
    model: Model,
    statistics: Statistics,
    domains: Domains | None,
    start: Places,
    quality: Quality,
    part_of: NDArray[np.int64],
    missed: NDArray[np.bool_] | None,
) -> Bytes:
    """A code for each variable."""
    if not model.names:
        return np.zeros(0, dtype=np.uint8)
    verdict = variable_verdicts(quality, start[:-1])
    believed = np.isin(verdict, [CODE[GOOD], CODE[FAIR], CODE[RARE]])
    verdict[believed & np.isin(part_of, part_of[verdict == CODE[UNMIXED]])] = CODE[TIED]
    if missed is not None:
        verdict[missed & believed] = CODE[MISSED]
    if domains is not None:
        remaining = np.add.reduceat(domains.allowed.astype(np.int64), domains.value_start[:-1])
        frozen = (statistics.open_lanes < statistics.lanes) & (remaining > 1)
        verdict[np.isin(part_of, part_of[frozen])] = CODE[SUSPECT]
        verdict[frozen] = CODE[FROZEN]
        verdict[remaining == 1] = CODE[FORCED]
    verdict[model.graph.cardinality == 1] = CODE[FORCED]
    return verdict


def _set_exact(columns: Columns, exact: NDArray[np.bool_]) -> None:
    """Variables that were summed out without any that is sampled have no error."""
    columns.verdict[exact & (columns.verdict != CODE[FORCED])] = CODE[EXACT]
    rows = np.repeat(exact, np.diff(columns.start))
    for column in (columns.low, columns.high):
        column[rows] = columns.probability[rows]
    columns.standard_error[rows], columns.ess[rows], columns.r_hat[rows] = 0.0, np.inf, 1.0
    columns.rare[rows] = False


def _set_forced(columns: Columns, domains: Domains | None) -> None:
    """Variables with one value left are certain of it."""
    forced = np.repeat(columns.verdict == CODE[FORCED], np.diff(columns.start))
    left = np.ones(len(forced)) if domains is None else domains.allowed.astype(float)
    for column in (columns.probability, columns.low, columns.high):
        column[forced] = left[forced]
    columns.standard_error[forced], columns.ess[forced], columns.r_hat[forced] = 0.0, np.inf, 1.0
    columns.rare[forced] = False


def _require_numbers(columns: Columns) -> None:
    """Refuse to give a verdict on what is no number."""
    wrong = np.flatnonzero(~np.isfinite(columns.probability))
    if len(wrong):
        place = int(np.searchsorted(columns.start, wrong[0], side="right")) - 1
        p = columns.probability[columns.start[place] : columns.start[place + 1]]
        raise LimitError(
            f"the probabilities of {columns.names[place]!r} came out as {p.tolist()}: the weights "
            "of this model are beyond what sums of doubles can tell apart"
        )


def add_observed(model: Model, free: Columns) -> Columns:
    """What is known of free variables, with observed ones back in their places."""
    if model.order == tuple(free.names):
        return free
    observations = model.observed.values()
    indicators = [
        np.eye(len(observation.values))[observation.value] for observation in observations
    ]
    flat = np.concatenate([np.zeros(0), *indicators])
    observed = certain_columns(
        list(model.observed), [observation.values for observation in observations], flat, OBSERVED
    )
    everything = concatenate_columns([free, observed])
    known = [everything.index[name] for name in model.order if name in everything.index]
    return everything.take(np.array(known, dtype=np.int64))


def with_warnings(answer: Marginals, warnings: Iterable[str]) -> Marginals:
    """Put what must be said before what is said already."""
    return replace(
        answer, about=replace(answer.about, warnings=(*warnings, *answer.about.warnings))
    )
