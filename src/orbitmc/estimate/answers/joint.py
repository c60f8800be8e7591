"""The answer to a question about several variables together."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.loading import Displayed, drawing, extra
from orbitmc.estimate.marginals import About
from orbitmc.estimate.text import MOST_ROWS, plain_table
from orbitmc.estimate.text import probability as in_words
from orbitmc.estimate.verdicts import BELIEVED

JOINT_COLUMNS = ("probability", "standard_error", "low", "high")


@dataclass(frozen=True, repr=False)
class Joint(Displayed):
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
            for row in itertools.islice(self.rows(), MOST_ROWS)
        ]
        left_out = self.probability.size - len(lines)
        more = f"\n… and {left_out:,} more rows" if left_out else ""
        table = plain_table((*self.names, *titles), lines, self.names)
        return f"{table}{more}\n{self.about.method}: {self.about.reason}; {self.verdict}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the probabilities, as a heat map if there are two names; needs the extra `plots`.

        Gives matplotlib's axes, those of `ax` if they are given.
        """
        return drawing("plots.answers").plot_joint(self, ax)

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
