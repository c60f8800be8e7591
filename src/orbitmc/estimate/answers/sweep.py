"""What is known of a model at several temperatures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from orbitmc._util.loading import Displayed, drawing, extra
from orbitmc.estimate.answers.estimate import Estimate
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.text import plain_table

HEADINGS = ("beta", "energy", "±", "heat capacity", "±", "verdict")


@dataclass(frozen=True)
class Rung:
    """One inverse temperature: the mean energy, the heat capacity, and all marginals.

    The energy of a state is minus its log-weight at beta 1.
    """

    beta: float
    energy: Estimate
    heat_capacity: Estimate
    marginals: Marginals

    @property
    def verdict(self) -> str:
        """That of the energy, which depends on all variables."""
        return self.energy.verdict

    def record(self) -> dict[str, Any]:
        """The numbers in terms that JSON has, marginals apart."""
        return {
            "beta": self.beta,
            "energy": self.energy.record(),
            "heat_capacity": self.heat_capacity.record(),
        }


@dataclass(frozen=True, repr=False)
class Sweep(Displayed, Sequence[Rung]):
    """Temperatures in the order in which they were asked for."""

    rungs: tuple[Rung, ...]
    interrupted: bool = False

    @overload
    def __getitem__(self, place: int) -> Rung: ...
    @overload
    def __getitem__(self, place: slice) -> "Sequence[Rung]": ...
    def __getitem__(self, place: int | slice) -> "Rung | Sequence[Rung]":
        return self.rungs[place]

    def __len__(self) -> int:
        return len(self.rungs)

    def __iter__(self) -> Iterator[Rung]:
        return iter(self.rungs)

    @property
    def converged(self) -> bool:
        """Whether the energies may be believed at all temperatures."""
        return all(rung.energy.converged for rung in self.rungs)

    def __str__(self) -> str:
        return plain_table(HEADINGS, [row_in_words(rung) for rung in self.rungs])

    def plot(self) -> Any:
        """Draw energy and heat capacity against beta, with errors; needs the extra `plots`.

        Gives matplotlib's figure.
        """
        return drawing("plots.answers").plot_sweep(self)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row for each temperature; needs the extra `frames`."""
        rows = [
            {
                "energy": rung.energy.value,
                "energy_error": rung.energy.standard_error,
                "heat_capacity": rung.heat_capacity.value,
                "heat_capacity_error": rung.heat_capacity.standard_error,
                "verdict": rung.verdict,
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
        curves = xarray.Dataset.from_dataframe(self.to_frame().drop(columns="verdict"))
        return xarray.concat(every, dim=betas).merge(curves)


def row_in_words(rung: Rung) -> tuple[str, ...]:
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
