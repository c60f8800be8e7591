"""Answers: numbers with errors, joints, draws, sweeps, best states."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.loading import HtmlRepr, extra, renderer
from orbitmc._util.text import suggestion
from orbitmc.errors import InputError
from orbitmc.estimate.formatting import MOST_COMPACT_ROWS, escape_unprintable, plain_table
from orbitmc.estimate.formatting import probability as in_words
from orbitmc.estimate.marginals import About, Marginals
from orbitmc.estimate.verdicts import BELIEVED, EXACT

if TYPE_CHECKING:
    from pandas import DataFrame


# One number with its error, and several of them by name.

ESTIMATE_COLUMNS = ("value", "standard_error", "low", "high")


@dataclass(frozen=True, repr=False)
class Estimate(HtmlRepr):
    """A number, its standard error, a 95 % interval, and a verdict in words.

    `float()` gives the number alone.

    >>> print(Estimate(0.25, 0.01, 0.23, 0.27, "good"), float(certain(0.5)))
    0.25 ± 0.01 (0.23…0.27), good 0.5
    """

    value: float
    standard_error: float
    low: float
    high: float
    verdict: str
    about: About = field(default_factory=lambda: About("", ""), repr=False, compare=False)

    def __float__(self) -> float:
        return self.value

    @property
    def converged(self) -> bool:
        """Whether the number may be believed within its error."""
        return self.verdict in BELIEVED

    def __str__(self) -> str:
        if self.standard_error == 0.0 and self.low == self.high:
            return f"{self.value:.6g}, {self.verdict}"
        return (
            f"{self.value:.6g} ± {self.standard_error:.2g} "
            f"({self.low:.6g}…{self.high:.6g}), {self.verdict}"
        )

    def record(self) -> dict[str, Any]:
        """The numbers and the verdict in terms that JSON has."""
        return {**{name: getattr(self, name) for name in ESTIMATE_COLUMNS}, "verdict": self.verdict}


def certain(value: float, about: About | None = None) -> Estimate:
    """A number without error."""
    number = float(value)
    return Estimate(number, 0.0, number, number, EXACT, about or About("exact", ""))


@dataclass(frozen=True, repr=False)
class Estimates(HtmlRepr, Mapping[str, Estimate]):
    """Numbers by name, all found together."""

    estimates: Mapping[str, Estimate]
    about: About

    def __getitem__(self, name: str) -> Estimate:
        return self.estimates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def converged(self) -> bool:
        """Whether all numbers may be believed within their errors."""
        return all(estimate.converged for estimate in self.estimates.values())

    def __str__(self) -> str:
        lines = [
            (name, f"{estimate.value:.6g}", f"{estimate.standard_error:.2g}", estimate.verdict)
            for name, estimate in self.estimates.items()
        ]
        table = plain_table(("variable", "value", "±", "verdict"), lines)
        return f"{table}\n{self.about.method}: {self.about.reason}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the numbers with their intervals; needs the extra `plots`.

        Gives matplotlib's axes, those of `ax` if they are given.
        """
        return renderer("plot_estimates")(self, ax)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row per name; needs the extra `frames`."""
        rows = [estimate.record() for estimate in self.estimates.values()]
        return extra("pandas", "frames").DataFrame(rows, index=list(self.estimates))

    def to_xarray(self) -> Any:
        """Give an xarray Dataset with an entry per name; needs the extra `xarray`."""
        every = list(self.estimates.values())
        columns = (*ESTIMATE_COLUMNS, "verdict")
        return extra("xarray", "xarray").Dataset(
            {
                column: ("variable", [getattr(estimate, column) for estimate in every])
                for column in columns
            },
            coords={"variable": list(self.estimates)},
            attrs={"method": self.about.method, "reason": self.about.reason},
        )


# The answer to a question about several variables together.

JOINT_COLUMNS = ("probability", "standard_error", "low", "high")


@dataclass(frozen=True, repr=False)
class Joint(HtmlRepr):
    """How probable each joint value is: arrays with an axis for each name.

    `values` has the names of the values along each axis; `rare` marks joint values that were seen
    too seldom to be known better than their intervals say.
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    probability: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    rare: NDArray[np.bool_]
    verdict: str
    about: About

    @property
    def converged(self) -> bool:
        """Whether every number may be believed within its error."""
        return self.verdict in BELIEVED

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row per joint value: the names of the values, then the numbers."""
        numbers = [getattr(self, column).reshape(-1).tolist() for column in JOINT_COLUMNS]
        for place, words in enumerate(itertools.product(*self.values)):
            yield (*words, *(column[place] for column in numbers))

    def __str__(self) -> str:
        wide, titles = len(self.names), ("P", "±") if self.standard_error.any() else ("P",)
        lines = [
            (*row[:wide], *map(in_words, row[wide : wide + len(titles)]))
            for row in itertools.islice(self.rows(), MOST_COMPACT_ROWS)
        ]
        left_out = self.probability.size - len(lines)
        more = f"\n… and {left_out:,} more rows" if left_out else ""
        table = plain_table((*self.names, *titles), lines, self.names)
        return f"{table}{more}\n{self.about.method}: {self.about.reason}; {self.verdict}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the probabilities, as a heat map if there are two names; needs the extra `plots`.

        Gives matplotlib's axes, those of `ax` if they are given.
        """
        return renderer("plot_joint")(self, ax)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row per joint value; needs the extra `frames`."""
        frame = extra("pandas", "frames").DataFrame(
            list(self.rows()), columns=[*self.names, *JOINT_COLUMNS]
        )
        return frame.set_index(list(self.names))

    def to_xarray(self) -> Any:
        """Give an xarray Dataset with an axis for each name; needs the extra `xarray`."""
        coordinates = {
            name: list(words) for name, words in zip(self.names, self.values, strict=True)
        }
        return extra("xarray", "xarray").Dataset(
            {column: (self.names, getattr(self, column)) for column in JOINT_COLUMNS},
            coords=coordinates,
            attrs={"verdict": self.verdict, "method": self.about.method},
        )


# What is known of a model at several temperatures.

HEADINGS = ("beta", "energy", "±", "heat capacity", "±", "verdict")
QUANTITY_HEADINGS = ("beta", "quantity", "value", "±", "verdict")


@dataclass(frozen=True)
class Rung:
    """One inverse temperature: the mean energy, the heat capacity, and all marginals.

    The energy of a state is minus its log-weight at beta 1.
    """

    beta: float
    energy: Estimate
    heat_capacity: Estimate
    marginals: Marginals
    observables: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """That of the energy."""
        return self.energy.verdict

    @property
    def quantities(self) -> dict[str, Estimate]:
        """The energy, the heat capacity, and what else was measured."""
        plain = {"energy": self.energy, "heat_capacity": self.heat_capacity}
        return {
            **plain,
            **{
                name: one
                for name, one in self.observables.items()
                if name.replace(" ", "_") not in plain
            },
        }

    def record(self) -> dict[str, Any]:
        """The numbers in terms that JSON has, marginals apart."""
        plain = {
            "beta": self.beta,
            "energy": self.energy.record(),
            "heat_capacity": self.heat_capacity.record(),
        }
        measured = {name: one.record() for name, one in self.observables.items()}
        return {**plain, "observables": measured} if measured else plain


@dataclass(frozen=True, repr=False)
class Sweep(HtmlRepr, Sequence[Rung]):
    """Temperatures in the order in which they were asked for."""

    rungs: tuple[Rung, ...]
    interrupted: bool = False

    @overload
    def __getitem__(self, place: int) -> Rung: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Rung]: ...
    def __getitem__(self, place: int | slice) -> Rung | Sequence[Rung]:
        return self.rungs[place]

    def __len__(self) -> int:
        return len(self.rungs)

    def __iter__(self) -> Iterator[Rung]:
        return iter(self.rungs)

    @property
    def converged(self) -> bool:
        """Whether energies, and what was measured beside, may be believed at all temperatures."""
        return all(
            rung.energy.converged and all(one.converged for one in rung.observables.values())
            for rung in self.rungs
        )

    @property
    def headings(self) -> tuple[str, ...]:
        """Titles of the columns that are printed."""
        return QUANTITY_HEADINGS if any(rung.observables for rung in self.rungs) else HEADINGS

    def rows(self) -> list[tuple[str, ...]]:
        """What is printed: a line for each temperature, or for each number that was measured."""
        if self.headings == HEADINGS:
            return [format_rung(rung) for rung in self.rungs]
        return [
            (
                f"{rung.beta:g}",
                name.replace("_", " "),
                f"{one.value:.6g}",
                f"{one.standard_error:.2g}",
                one.verdict,
            )
            for rung in self.rungs
            for name, one in rung.quantities.items()
        ]

    def __str__(self) -> str:
        return plain_table(self.headings, self.rows())

    def plot(self) -> Any:
        """Draw energy, heat capacity and observables against beta; needs the extra `plots`.

        Bars are intervals; a square is a number that is not to be believed.

        Gives matplotlib's figure.
        """
        return renderer("plot_sweep")(self)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row for each temperature; needs the extra `frames`."""
        rows = [
            {
                "energy": rung.energy.value,
                "energy_error": rung.energy.standard_error,
                "heat_capacity": rung.heat_capacity.value,
                "heat_capacity_error": rung.heat_capacity.standard_error,
                "verdict": rung.verdict,
                **_columns_of(rung.observables),
            }
            for rung in self.rungs
        ]
        pandas = extra("pandas", "frames")
        betas = pandas.Index([rung.beta for rung in self.rungs], name="beta")
        return pandas.DataFrame(rows, index=betas)

    def to_xarray(self) -> Any:
        """Give an xarray Dataset by temperature, marginals included; needs the extra `xarray`."""
        xarray = extra("xarray", "xarray")
        betas = xarray.IndexVariable("beta", [rung.beta for rung in self.rungs])
        every = [rung.marginals.to_xarray().drop_attrs() for rung in self.rungs]
        frame = self.to_frame()
        words = [column for column in frame.columns if column.endswith("verdict")]
        curves = xarray.Dataset.from_dataframe(frame.drop(columns=words))
        return xarray.concat(every, dim=betas).merge(curves)


def _columns_of(observables: Mapping[str, Estimate]) -> dict[str, Any]:
    """Columns of a frame: each number, its error and its verdict."""
    columns: dict[str, Any] = {}
    for name, one in observables.items():
        columns |= {
            name: one.value,
            f"{name}_error": one.standard_error,
            f"{name}_verdict": one.verdict,
        }
    return columns


def format_rung(rung: Rung) -> tuple[str, ...]:
    """A line of a table."""
    energy, heat = rung.energy, rung.heat_capacity
    return (
        f"{rung.beta:g}",
        f"{energy.value:.6g}",
        f"{energy.standard_error:.2g}",
        f"{heat.value:.6g}",
        f"{heat.standard_error:.2g}",
        rung.verdict,
    )


# States of a model, drawn by chains or independently of each other.

STATES_AT_A_TIME = 4096  # states that are turned into words at a time


@dataclass(frozen=True, repr=False)
class Draws(HtmlRepr):
    """States `values[chain, draw, variable]`, as places in the `value_names` of the variables.

    `log_weight[chain, draw]` is the natural logarithm of what a state weighs; it is not a number if
    only a part of each state was drawn, as of a program that is not ground. Draws of one chain
    depend on each other, unless the verdict is `exact`: then all are independent.
    """

    names: tuple[str, ...]
    value_names: tuple[tuple[str, ...], ...]
    values: NDArray[Any]
    log_weight: Floats
    verdict: str
    about: About

    @property
    def converged(self) -> bool:
        """Whether the chains had forgotten their starts, as far as anybody can tell."""
        return self.verdict in BELIEVED

    def domains(self) -> dict[str, tuple[str, ...]]:
        """Value names of every variable that was drawn, as those of a model."""
        return dict(zip(self.names, self.value_names, strict=True))

    def __len__(self) -> int:
        """How many states there are."""
        return int(self.log_weight.size)

    def __str__(self) -> str:
        chains, draws, variables = self.values.shape
        return (
            f"{chains} chains of {draws} draws of {variables} variables, verdict: {self.verdict}\n"
            f"{self.about.method}: {self.about.reason}"
        )

    def only(self, names: Sequence[str]) -> Draws:
        """The same states, told of some variables only."""
        places = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            value_names=tuple(self.value_names[place] for place in places),
            values=self.values[:, :, places],
        )

    def words(self) -> Iterator[list[tuple[Any, ...]]]:
        """States as words, some thousand at a time: chain, draw, value names, log-weight."""
        chains, draws, variables = self.values.shape
        flat = self.values.reshape(chains * draws, variables)
        chain, draw = (place.reshape(-1) for place in np.indices((chains, draws)))
        for first in range(0, len(flat), STATES_AT_A_TIME):
            now = slice(first, first + STATES_AT_A_TIME)
            columns = [
                np.array(domain, dtype=object)[flat[now, place]]
                for place, domain in enumerate(self.value_names)
            ]
            weights = self.log_weight.reshape(-1)[now].tolist()
            yield list(zip(chain[now].tolist(), draw[now].tolist(), *columns, weights, strict=True))

    def plot(self, names: Sequence[str] | None = None) -> Any:
        """Draw autocorrelations and running means; needs the extra `plots`.

        They are those of the most probable value of each variable that is named, of up to four
        unless they are. Gives matplotlib's figure.
        """
        return renderer("plot_draws")(self, names)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row per state; needs the extra `frames`.

        The index has the chain and the draw; columns hold the names of values.
        """
        pd = extra("pandas", "frames")
        chains, draws, variables = self.values.shape
        flat = self.values.reshape(chains * draws, variables)
        columns = {
            name: pd.Categorical.from_codes(flat[:, place].astype(np.int64), domain)
            for place, (name, domain) in enumerate(zip(self.names, self.value_names, strict=True))
        }
        index = pd.MultiIndex.from_product([range(chains), range(draws)], names=["chain", "draw"])
        return pd.DataFrame(columns, index=index)

    def to_xarray(self) -> Any:
        """Give an xarray Dataset of `values` and `log_weight`; needs the extra `xarray`."""
        xarray = extra("xarray", "xarray")
        return xarray.Dataset(
            {
                "values": (("chain", "draw", "variable"), self.values),
                "log_weight": (("chain", "draw"), self.log_weight),
            },
            coords={"variable": list(self.names)},
            attrs={"verdict": self.verdict, "method": self.about.method},
        )

    def to_arviz(self) -> Any:
        """Give what ArviZ looks at, a variable for each name; needs the extra `arviz`.

        That is its InferenceData, or a DataTree from ArviZ 1 on. Values are places, from 0.
        """
        arviz = extra("arviz", "arviz")
        reserved = [name for name in self.names if name in ("chain", "draw")]
        if reserved:
            raise InputError(f"ArviZ has a dimension called {reserved[0]!r}: rename that variable")
        groups = {
            "posterior": {name: self.values[:, :, k] for k, name in enumerate(self.names)},
            "sample_stats": {"lp": self.log_weight},
        }
        old = int(arviz.__version__.split(".")[0]) < 1
        return arviz.from_dict(**groups) if old else arviz.from_dict(groups)


MOST_PRINTED = 40  # variables that are printed
MOST_COLUMNS = 6  # states that are printed


@dataclass(frozen=True)
class BestState(Mapping[str, str]):
    """A value for each variable, by name, and the logarithm of the state's weight.

    The weight is not normalised: the probability is exp(log_weight - log Z). Of values of some
    variables, where all others are summed out, it is: there is a `probability`, of which the
    log-weight is the logarithm, and its `standard_error` if it was sampled.
    """

    chosen: Mapping[str, str]
    log_weight: float
    probability: float | None = None
    standard_error: float = 0.0

    def __getitem__(self, name: str) -> str:
        if name not in self.chosen:
            raise KeyError(f"there is no variable {name!r}{suggestion(str(name), self.chosen)}")
        return self.chosen[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.chosen)

    def __len__(self) -> int:
        return len(self.chosen)


@dataclass(frozen=True, repr=False)
class BestStates(HtmlRepr, Sequence[BestState]):
    """States, heaviest first.

    If `proven`, no other state is heavier than any of them. No state at all has a log-weight above
    `bound`. If probabilities are `sampled`, that is the verdict on them. A proof with rounded
    weights has a `precision`: no state is heavier by more than that.
    """

    states: tuple[BestState, ...]
    proven: bool
    bound: float
    about: About = field(default_factory=lambda: About("", ""))
    sampled: str = ""
    precision: float = 0.0

    @overload
    def __getitem__(self, place: int) -> BestState: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[BestState, ...]: ...

    def __getitem__(self, place: int | slice) -> BestState | tuple[BestState, ...]:
        return self.states[place]

    def __len__(self) -> int:
        return len(self.states)

    def verdict(self) -> str:
        """What is known of these states, in words."""
        if self.proven:
            exactly = f", to {self.precision:.1g} in the log weight" if self.precision else ""
            return f"proven{exactly}"
        if self.sampled:
            return f"best found; probabilities are sampled: {self.sampled}"
        gap = self.bound - self.states[0].log_weight
        return f"best found; none is more than exp({gap:.3g}) times as heavy"

    @property
    def converged(self) -> bool:
        """Whether probabilities, where they are sampled, may be believed within their errors."""
        return not self.sampled or self.sampled in BELIEVED

    def only(self, names: Sequence[str]) -> BestStates:
        """The same states, told of some variables only."""
        states = (
            replace(state, chosen={name: state[name] for name in names}) for state in self.states
        )
        return replace(self, states=tuple(states))

    def weight_rows(self, most: int = MOST_COLUMNS) -> list[tuple[str, ...]]:
        """What the first states weigh, or how probable they are, a row for each number."""
        shown = self.states[:most]
        if shown[0].probability is None:
            return [("log weight", *(f"{state.log_weight:.6g}" for state in shown))]
        rows = [("probability", *(f"{state.probability:.6g}" for state in shown))]
        if self.sampled:
            rows.append(("standard error", *(f"{state.standard_error:.2g}" for state in shown)))
        return rows

    def __str__(self) -> str:
        """A table with a column for each state; long ones are cut short and say so."""
        shown = self.states[:MOST_COLUMNS]
        titles = ("variable", *(str(rank) for rank in range(1, len(shown) + 1)))
        names = list(self.states[0])
        rows = self.weight_rows()
        for name in names[:MOST_PRINTED]:
            rows.append(
                (escape_unprintable(name), *(escape_unprintable(state[name]) for state in shown))
            )
        lines = [plain_table(titles, rows)]
        if len(names) > MOST_PRINTED:
            lines.append(f"and {len(names) - MOST_PRINTED:,} more variables")
        if len(self.states) > MOST_COLUMNS:
            lines.append(f"and {len(self.states) - MOST_COLUMNS:,} more states")
        return "\n".join([*lines, f"{self.about.method}: {self.about.reason}; {self.verdict()}"])

    def to_frame(self) -> DataFrame:
        """A pandas DataFrame with a row for each state: its log-weight, and all values."""
        pd = extra("pandas", "frames")
        rows = [{**_numbers_of(state), **state} for state in self.states]
        frame: DataFrame = pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="rank"))
        return frame

    def to_json(self) -> str:
        """One JSON object."""
        fields: dict[str, Any] = {
            "proven": self.proven,
            "bound": self.bound if math.isfinite(self.bound) else None,
            "states": [
                {
                    name: number if math.isfinite(number) else None
                    for name, number in _numbers_of(state).items()
                }
                | {"values": dict(state)}
                for state in self.states
            ],
            "method": self.about.method,
            "reason": self.about.reason,
            "seconds": self.about.seconds,
            "seed": self.about.seed,
            "interrupted": self.about.interrupted,
            "warnings": list(self.about.warnings),
        }
        if self.sampled:
            fields["verdict"] = self.sampled
        if self.precision:
            fields["precision"] = self.precision
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False)

    def to_csv(self) -> str:
        """A line for each state, after a line of titles."""
        import csv
        import io

        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["rank", *_numbers_of(self.states[0]), *self.states[0]])
        for rank, state in enumerate(self.states, 1):
            numbers = map(repr, _numbers_of(state).values())
            writer.writerow([rank, *numbers, *state.values()])
        return text.getvalue()


def _numbers_of(state: BestState) -> dict[str, float]:
    """What is known of a state beside its values."""
    numbers = {"log_weight": state.log_weight}
    if state.probability is not None:
        numbers |= {"probability": state.probability, "standard_error": state.standard_error}
    return numbers


# What an answer depends on.

SHOWN_ENTRIES = 20


class TableEntry(NamedTuple):
    """One probability of a table, and how the answer depends on it.

    `derivative` is that of the answer by this entry. `low` and `high` are the answer when the entry
    is a tenth smaller and larger. `needed` is what must be added to the entry for the answer to
    reach the threshold; None if no entry from 0 to 1 does that.
    """

    variable: str
    value: str
    given: tuple[tuple[str, str], ...]
    probability: float
    derivative: float
    low: float
    high: float
    needed: float | None

    @property
    def name(self) -> str:
        """As people write it: P(lung=yes | smoke=yes)."""
        parents = ", ".join(f"{name}={value}" for name, value in self.given)
        return f"P({self.variable}={self.value}{' | ' if parents else ''}{parents})"


@dataclass(frozen=True, repr=False)
class Sensitivity:
    """Entries of tables, those that change the answer most first."""

    event: str
    probability: float
    threshold: float | None
    entries: tuple[TableEntry, ...]
    seconds: float = 0.0

    def __iter__(self) -> Iterator[TableEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: int) -> TableEntry:
        return self.entries[place]

    def rows(self) -> list[list[str]]:
        """What is printed of each entry."""
        return [
            [
                entry.name,
                f"{entry.probability:.6g}",
                f"{entry.derivative:+.4g}",
                f"{entry.low:.6g}",
                f"{entry.high:.6g}",
                *(() if self.threshold is None else (_describe_needed(entry),)),
            ]
            for entry in self.entries
        ]

    @property
    def headings(self) -> tuple[str, ...]:
        """Titles of the columns."""
        needed = () if self.threshold is None else (f"change to reach {self.threshold:g}",)
        return ("entry", "now", "derivative", "10 % less", "10 % more", *needed)

    def __str__(self) -> str:
        rows = self.rows()
        more = (
            f"\n{len(rows) - SHOWN_ENTRIES:,} more entries\n" if len(rows) > SHOWN_ENTRIES else ""
        )
        title = f"P({self.event}) = {self.probability:.6g}\n"
        return title + plain_table(self.headings, rows[:SHOWN_ENTRIES]) + more

    def __repr__(self) -> str:
        return str(self)

    @property
    def about(self) -> About:
        """How it was found."""
        return About("exact", "derivatives by one elimination, both ways", seconds=self.seconds)

    def plot(self, ax: Any = None) -> Any:
        """Draw a tornado: what the answer does when an entry is a tenth smaller or larger."""
        return renderer("plot_sensitivity")(self, ax)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row for each entry; needs the extra `frames`."""
        frame = extra("pandas", "frames").DataFrame(
            [{**entry._asdict(), "given": dict(entry.given)} for entry in self.entries]
        )
        frame.attrs = {"event": self.event, "probability": self.probability}
        return frame


def _describe_needed(entry: TableEntry) -> str:
    if entry.needed is None:
        return "never"
    return f"{entry.needed:+.4g} (to {entry.probability + entry.needed:.4g})"
