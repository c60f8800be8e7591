"""Marginals of many variables in flat arrays: a column of numbers for each thing known.

A million variables take six numbers per value here; a `Marginal` is made of them when one asks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats, brief
from orbitmc._util.text import suggestion
from orbitmc.estimate.verdicts import CODE, VERDICTS

MARGINAL_COLUMNS = ("probability", "standard_error", "low", "high", "ess", "r_hat")
OF_VALUES = (*MARGINAL_COLUMNS, "rare")
MOST_SHOWN = 8  # values of a variable in a line
ROWS = 4096  # variables that are turned into words at a time
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
        return brief(self)

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
        from orbitmc._util.loading import extra

        sizes = np.diff(self.start)
        there = np.arange(sizes.max(initial=0)) < sizes[:, None]
        padded = {}
        for column in MARGINAL_COLUMNS:
            padded[column] = np.full(there.shape, np.nan)
            padded[column][there] = getattr(self, column)
        label = np.full(there.shape, "", dtype=object)
        label[there] = [value for own in self.values for value in own]
        two, one = ("variable", "place"), ("variable",)
        return extra("xarray", "xarray").Dataset(
            {
                **{column: (two, numbers) for column, numbers in padded.items()},
                "verdict": (one, [VERDICTS[code] for code in self.verdict]),
            },
            coords={"variable": list(self.names), "label": (two, label)},
            attrs=dict(attrs),
        )

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Where each variable stands."""
        return {name: place for place, name in enumerate(self.names)}

    def named(self, verdict: str, most: int) -> list[str]:
        """The first few variables with a verdict."""
        found = np.flatnonzero(self.verdict == CODE[verdict])
        return [self.names[place] for place in found[:most]]

    def counts(self) -> dict[str, int]:
        """How many variables got each verdict, in the order in which verdicts first appear."""
        codes, first, count = np.unique(self.verdict, return_index=True, return_counts=True)
        return {VERDICTS[codes[k]]: int(count[k]) for k in np.argsort(first)}

    def extremes(self) -> tuple[float, float]:
        """The largest R-hat and the smallest ESS of all sampled values."""
        sampled = np.isfinite(self.ess)
        r_hat = self.r_hat.max(initial=1.0, where=sampled)
        return float(r_hat), float(self.ess.min(initial=np.inf, where=sampled))

    def taken(self, places: Places) -> "Columns":
        """Some variables, in a new order."""
        sizes = np.diff(self.start)[places]
        start = np.concatenate([[0], np.cumsum(sizes)])
        own = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[places], sizes)
        return Columns(
            [self.names[place] for place in places],
            [self.values[place] for place in places],
            start,
            **self._numbers(own),
            verdict=self.verdict[places],
            part=self.part[places],
        )

    def of_values(
        self, names: Sequence[str], places: Places, value: Places, word: tuple[str]
    ) -> "Columns":
        """One value of each of some variables, under new names; `word` is what it is called."""
        own = self.start[places] + value
        return Columns(
            names,
            [word] * len(names),
            np.arange(len(names) + 1),
            **self._numbers(own),
            verdict=self.verdict[places],
            part=self.part[places],
        )

    def pieces(self) -> Iterator["Columns"]:
        """All variables, a few thousand at a time."""
        for first in range(0, len(self.names), ROWS):
            last = min(first + ROWS, len(self.names))
            start = self.start[first : last + 1]
            own = slice(start[0], start[-1])
            yield Columns(
                self.names[first:last],
                self.values[first:last],
                start - start[0],
                **self._numbers(own),
                verdict=self.verdict[first:last],
                part=self.part[first:last],
            )


def certain_columns(
    names: Sequence[str], values: Sequence[tuple[str, ...]], probability: Floats, verdict: str
) -> Columns:
    """Variables whose probabilities have no error; one flat array of them."""
    start = np.concatenate([[0], np.cumsum([len(own) for own in values], dtype=np.int64)])
    p = np.asarray(probability, dtype=np.float64)
    none, one, endless = np.zeros(len(p)), np.ones(len(p)), np.full(len(p), np.inf)
    never, codes = np.zeros(len(p), np.bool_), np.full(len(names), CODE[verdict], np.uint8)
    part = no_parts(len(names))
    return Columns(names, values, start, p, none, p, p, endless, one, never, codes, part)


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
        [own for part in parts for own in part.values],
        np.concatenate([*starts, ends[-1:]]),
        **together,
    )
