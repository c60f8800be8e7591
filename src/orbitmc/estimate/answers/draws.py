"""States of a model, drawn by chains or independently of each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.loading import Displayed, drawing, extra
from orbitmc.errors import InputError
from orbitmc.estimate.marginals import About
from orbitmc.estimate.verdicts import BELIEVED

ROWS = 4096  # states that are turned into words at a time


@dataclass(frozen=True, repr=False)
class Draws(Displayed):
    """States `values[chain, draw, variable]`, as places in the `domains` of the variables.

    `log_weight[chain, draw]` is the natural logarithm of what a state weighs. Draws of one chain
    depend on each other, unless the verdict is `exact`: then all are independent.
    """

    names: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    values: NDArray[Any]
    log_weight: Floats
    verdict: str
    about: About

    @property
    def converged(self) -> bool:
        """Whether the chains had forgotten their starts, as far as anybody can tell."""
        return self.verdict in BELIEVED

    def __len__(self) -> int:
        """How many states there are."""
        return int(self.log_weight.size)

    def __str__(self) -> str:
        chains, draws, variables = self.values.shape
        return (
            f"{chains} chains of {draws} draws of {variables} variables, verdict: {self.verdict}\n"
            f"{self.about.method}: {self.about.reason}"
        )

    def words(self) -> Iterator[list[tuple[Any, ...]]]:
        """States as words, some thousand at a time: chain, draw, value names, log-weight."""
        chains, draws, variables = self.values.shape
        flat = self.values.reshape(chains * draws, variables)
        chain, draw = (place.reshape(-1) for place in np.indices((chains, draws)))
        for first in range(0, len(flat), ROWS):
            now = slice(first, first + ROWS)
            columns = [
                np.array(domain, dtype=object)[flat[now, place]]
                for place, domain in enumerate(self.domains)
            ]
            weights = self.log_weight.reshape(-1)[now].tolist()
            yield list(zip(chain[now].tolist(), draw[now].tolist(), *columns, weights, strict=True))

    def plot(self, names: Sequence[str] | None = None) -> Any:
        """Draw autocorrelations and running means; needs the extra `plots`.

        They are those of the most probable value of each variable that is named, of up to four
        unless they are. Gives matplotlib's figure.
        """
        return drawing("plots.draws").plot_draws(self, names)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with a row per state; needs the extra `frames`.

        The index has the chain and the draw; columns hold the names of values.
        """
        pd = extra("pandas", "frames")
        chains, draws, variables = self.values.shape
        flat = self.values.reshape(chains * draws, variables)
        columns = {
            name: pd.Categorical.from_codes(flat[:, place].astype(np.int64), domain)
            for place, (name, domain) in enumerate(zip(self.names, self.domains, strict=True))
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

        That is its InferenceData, or a DataTree from ArviZ 1 on. Values are places in the domains.
        """
        arviz = extra("arviz", "arviz")
        taken = [name for name in self.names if name in ("chain", "draw")]
        if taken:
            raise InputError(f"ArviZ has a dimension called {taken[0]!r}: rename that variable")
        groups = {
            "posterior": {name: self.values[:, :, k] for k, name in enumerate(self.names)},
            "sample_stats": {"lp": self.log_weight},
        }
        old = int(arviz.__version__.split(".")[0]) < 1
        return arviz.from_dict(**groups) if old else arviz.from_dict(groups)
