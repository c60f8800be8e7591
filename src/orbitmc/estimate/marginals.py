"""The answer: how probable each value of each variable is, and how sure we are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import LimitError
from orbitmc.estimate.columns import Columns, Marginal, Places, certain, joined
from orbitmc.estimate.statistics import Statistics, is_rare, values_of
from orbitmc.estimate.verdicts import (
    BELIEVED,
    CODE,
    EXACT,
    FAIR,
    FEW,
    FORCED,
    FROZEN,
    GOOD,
    MISSED,
    OBSERVED,
    RARE,
    SUSPECT,
    TIED,
    UNMIXED,
)
from orbitmc.graph.model import Model
from orbitmc.graph.possible.support import Domains
from orbitmc.machine.arrays import Bytes, Floats

GOOD_R_HAT, FAIR_R_HAT = 1.01, 1.05
GOOD_ESS, FAIR_ESS = 400.0, 100.0
FEWEST_SAMPLES = 8  # per chain: fewer say nothing about what chains forget


@dataclass(frozen=True)
class About:
    """How an answer was found; methods that are `ruled_out` cannot find it, or take too long."""

    method: str
    reason: str
    seconds: float = 0.0
    seed: int | None = None
    samples: int = 0
    chains: int = 0
    updates: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    log_z: float | None = None
    interrupted: bool = False
    moves: Mapping[str, Any] | None = None
    race: tuple[Mapping[str, Any], ...] = ()
    ruled_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def updates_per_second(self) -> float:
        return self.updates / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Marginals(Mapping[str, Marginal]):
    """Marginals by variable name, in the order of the model's author.

    `columns` has all their numbers in flat arrays.
    """

    columns: Columns
    about: About = field(default_factory=lambda: About("", ""))

    def __getitem__(self, name: str) -> Marginal:
        return self.columns.marginal(name)

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

    def __str__(self) -> str:
        """A table in plain text; long ones are cut short and say so."""
        from orbitmc.estimate.text import compact

        return compact(self)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row per value; needs the extra `frames`."""
        import pandas as pd

        columns = ("probability", "standard_error", "low", "high", "ess", "r_hat")
        rows = [
            (name, value, *(getattr(m, column)[k] for column in columns), m.verdict)
            for name, m in self.items()
            for k, value in enumerate(m.values)
        ]
        return pd.DataFrame(rows, columns=["variable", "value", *columns, "verdict"])


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
    found = certain(names, values, flat, EXACT)
    _require_numbers(found)
    return Marginals(_complete(model, found), about)


def sampled_marginals(
    model: Model,
    statistics: Statistics,
    domains: Domains | None,
    about: About,
    part_of: NDArray[np.int64],
    missed: NDArray[np.bool_] | None = None,
) -> Marginals:
    """Dress the statistics of a run as an answer; `domains` tells forced from frozen.

    `part_of` has the connected component of each variable.
    `missed` marks variables whose numbers are known to be wrong, because a mode was missed.
    """
    spread = values_of(model.graph.cardinality)
    probability = spread.probabilities(statistics.probability)
    low, high = spread.intervals(statistics.low, statistics.high)
    ess = spread.spread(statistics.ess, float(statistics.lanes))
    r_hat = spread.spread(statistics.r_hat, 1.0)
    rare = is_rare(probability, spread.spread(statistics.states, np.inf))
    unmixed = spread.spread(statistics.kept | statistics.drifts, False)
    quality = Quality(r_hat, ess, rare, unmixed, statistics.recorded)
    start = spread.start.astype(np.int64)
    found = Columns(
        model.names,
        model.values,
        start,
        probability,
        spread.spread(statistics.standard_error, 0.0),
        low,
        high,
        ess,
        r_hat,
        rare,
        _verdicts(model, statistics, domains, start, quality, part_of, missed),
    )
    _settle_forced(found, domains)
    _require_numbers(found)
    return Marginals(_complete(model, found), about)


class Quality(NamedTuple):
    """What verdicts are made of, one number per value; `recorded` samples in each chain."""

    r_hat: Floats
    ess: Floats
    rare: NDArray[np.bool_]
    unmixed: NDArray[np.bool_]
    recorded: int


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
    verdict = _own_verdicts(quality, start[:-1])
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


def _own_verdicts(quality: Quality, first: Places) -> Bytes:
    """One verdict per variable, from its worst value; R-hat and ESS of rare ones mean nothing."""
    r_hat = np.maximum.reduceat(np.where(quality.rare, 1.0, quality.r_hat), first)
    ess = np.minimum.reduceat(np.where(quality.rare, np.inf, quality.ess), first)
    unmixed = np.logical_or.reduceat(quality.unmixed, first) | (r_hat > FAIR_R_HAT)
    verdict = np.full(len(first), CODE[FAIR], dtype=np.uint8)
    verdict[(r_hat <= GOOD_R_HAT) & (ess >= GOOD_ESS)] = CODE[GOOD]
    verdict[np.logical_or.reduceat(quality.rare, first)] = CODE[RARE]
    verdict[(ess < FAIR_ESS) | (quality.recorded < FEWEST_SAMPLES)] = CODE[FEW]
    verdict[unmixed] = CODE[UNMIXED]
    return verdict


def _settle_forced(found: Columns, domains: Domains | None) -> None:
    """Variables with one value left are certain of it."""
    forced = np.repeat(found.verdict == CODE[FORCED], np.diff(found.start))
    left = np.ones(len(forced)) if domains is None else domains.allowed.astype(float)
    for column in (found.probability, found.low, found.high):
        column[forced] = left[forced]
    found.standard_error[forced], found.ess[forced], found.r_hat[forced] = 0.0, np.inf, 1.0
    found.rare[forced] = False


def _require_numbers(found: Columns) -> None:
    """Refuse to give a verdict on what is no number."""
    wrong = np.flatnonzero(~np.isfinite(found.probability))
    if len(wrong):
        place = int(np.searchsorted(found.start, wrong[0], side="right")) - 1
        p = found.probability[found.start[place] : found.start[place + 1]]
        raise LimitError(
            f"the probabilities of {found.names[place]!r} came out as {p.tolist()}: the weights of "
            "this model are beyond what sums of doubles can tell apart"
        )


def _complete(model: Model, found: Columns) -> Columns:
    """Put observed variables back in their places."""
    if model.order == tuple(found.names):
        return found
    seen = model.observed.values()
    indicators = [np.eye(len(one.values))[one.value] for one in seen]
    flat = np.concatenate([np.zeros(0), *indicators])
    observed = certain(list(model.observed), [one.values for one in seen], flat, OBSERVED)
    everything = joined([found, observed])
    known = [everything.index[name] for name in model.order if name in everything.index]
    return everything.taken(np.array(known, dtype=np.int64))


def with_warnings(found: Marginals, said: Iterable[str]) -> Marginals:
    """Put what must be said before what is said already."""
    return replace(found, about=replace(found.about, warnings=(*said, *found.about.warnings)))
