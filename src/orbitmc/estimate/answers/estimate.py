"""One number with its error, and several of them by name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orbitmc._util.loading import Displayed, drawing, extra
from orbitmc.estimate.marginals import About
from orbitmc.estimate.text import plain_table
from orbitmc.estimate.verdicts import BELIEVED, EXACT

ESTIMATE_COLUMNS = ("value", "standard_error", "low", "high")


@dataclass(frozen=True, repr=False)
class Estimate(Displayed):
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
class Estimates(Displayed, Mapping[str, Estimate]):
    """Numbers by name, all found together."""

    found: Mapping[str, Estimate]
    about: About

    def __getitem__(self, name: str) -> Estimate:
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def converged(self) -> bool:
        """Whether all numbers may be believed within their errors."""
        return all(one.converged for one in self.found.values())

    def __str__(self) -> str:
        lines = [
            (name, f"{one.value:.6g}", f"{one.standard_error:.2g}", one.verdict)
            for name, one in self.found.items()
        ]
        table = plain_table(("variable", "value", "±", "verdict"), lines)
        return f"{table}\n{self.about.method}: {self.about.reason}"

    def plot(self, ax: Any = None) -> Any:
        """Draw the numbers with their intervals; needs the extra `plots`.

        Gives matplotlib's axes, those of `ax` if they are given.
        """
        return drawing("plots.answers").plot_estimates(self, ax)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row per name; needs the extra `frames`."""
        rows = [one.record() for one in self.found.values()]
        return extra("pandas", "frames").DataFrame(rows, index=list(self.found))

    def to_xarray(self) -> Any:
        """Give an xarray Dataset with an entry per name; needs the extra `xarray`."""
        every = list(self.found.values())
        columns = (*ESTIMATE_COLUMNS, "verdict")
        return extra("xarray", "xarray").Dataset(
            {column: ("variable", [getattr(one, column) for one in every]) for column in columns},
            coords={"variable": list(self.found)},
            attrs={"method": self.about.method, "reason": self.about.reason},
        )
