"""The answer: how probable each value of each variable is, and how sure we are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Floats
from orbitmc.errors import LimitError
from orbitmc.estimate.statistics import Statistics, is_rare, values_of
from orbitmc.estimate.text import compact
from orbitmc.graph.components import components
from orbitmc.graph.model import Model
from orbitmc.graph.support import Domains

GOOD, FAIR, RARE, FEW, UNMIXED, TIED, MISSED, FROZEN, SUSPECT, FORCED, OBSERVED, EXACT = (
    "good",
    "fair",
    "rare",
    "too few samples",
    "not mixed",
    "tied to not mixed",
    "missed mode",
    "frozen",
    "tied to frozen",
    "forced",
    "observed",
    "exact",
)
BELIEVED = frozenset({GOOD, FAIR, RARE, FORCED, OBSERVED, EXACT})
GOOD_R_HAT, FAIR_R_HAT = 1.01, 1.05
GOOD_ESS, FAIR_ESS = 400.0, 100.0
FEWEST_SAMPLES = 8  # per chain: fewer say nothing about what chains forget


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


@dataclass(frozen=True)
class About:
    """How an answer was found."""

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
    warnings: tuple[str, ...] = ()

    @property
    def updates_per_second(self) -> float:
        return self.updates / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Marginals(Mapping[str, Marginal]):
    """Marginals by variable name, in the order of the model's author."""

    variables: Mapping[str, Marginal]
    about: About = field(default_factory=lambda: About("", ""))

    def __getitem__(self, name: str) -> Marginal:
        return self.variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def converged(self) -> bool:
        """Whether every number may be believed within its error."""
        return all(marginal.verdict in BELIEVED for marginal in self.variables.values())

    def verdicts(self) -> dict[str, int]:
        """How many variables got each verdict."""
        found: dict[str, int] = {}
        for marginal in self.variables.values():
            found[marginal.verdict] = found.get(marginal.verdict, 0) + 1
        return found

    def __str__(self) -> str:
        """A table in plain text; long ones are cut short and say so."""
        return compact(self)

    def to_frame(self) -> Any:
        """Give a pandas DataFrame with one row per value; needs the extra `frames`."""
        import pandas as pd

        columns = ("probability", "standard_error", "low", "high", "ess", "r_hat")
        rows = [
            (name, value, *(getattr(m, column)[k] for column in columns), m.verdict)
            for name, m in self.variables.items()
            for k, value in enumerate(m.values)
        ]
        return pd.DataFrame(rows, columns=["variable", "value", *columns, "verdict"])


def exact_marginals(model: Model, probabilities: Mapping[str, Floats], about: About) -> Marginals:
    """Dress exact probabilities of the free variables as an answer."""
    _require_numbers(probabilities)
    found = {name: _certain(model, name, p, EXACT) for name, p in probabilities.items()}
    return Marginals(_complete(model, found), about)


def sampled_marginals(
    model: Model,
    statistics: Statistics,
    domains: Domains | None,
    about: About,
    missed: NDArray[np.bool_] | None = None,
) -> Marginals:
    """Dress the statistics of a run as an answer; `domains` tells forced from frozen.

    `missed` marks variables whose numbers are known to be wrong, because a mode was missed.
    """
    spread = values_of(model.graph.cardinality)
    probability = spread.probabilities(statistics.probability)
    low, high = spread.spread(statistics.low, 1.0), spread.spread(statistics.high, 1.0)
    low, high = (
        np.where(spread.mirrored, 1.0 - high, low),
        np.where(spread.mirrored, 1.0 - low, high),
    )
    error = spread.spread(statistics.standard_error, 0.0)
    ess = spread.spread(statistics.ess, float(statistics.lanes))
    r_hat = spread.spread(statistics.r_hat, 1.0)
    rare = is_rare(probability, spread.spread(statistics.states, np.inf))
    unmixed = spread.spread(statistics.kept | statistics.drifts, False)
    quality = Quality(r_hat, ess, rare, unmixed, statistics.recorded)
    verdicts = _verdicts(model, statistics, domains, spread.start, quality, missed)
    found = {}
    for variable, name in enumerate(model.names):
        if verdicts[variable] == FORCED:
            left = np.ones(1) if domains is None else domains.of(variable).astype(float)
            found[name] = _certain(model, name, left, FORCED)
            continue
        own = slice(spread.start[variable], spread.start[variable + 1])
        _require_numbers({name: probability[own]})
        found[name] = Marginal(
            model.values[variable],
            probability[own],
            error[own],
            low[own],
            high[own],
            ess[own],
            r_hat[own],
            verdicts[variable],
            rare[own],
        )
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
    start: NDArray[Any],
    quality: Quality,
    missed: NDArray[np.bool_] | None,
) -> list[str]:
    if not model.names:
        return []
    verdict = _own_verdicts(quality, start[:-1])
    part_of = components(model.graph)
    believed = np.isin(verdict, [GOOD, FAIR, RARE])
    verdict[believed & np.isin(part_of, part_of[verdict == UNMIXED])] = TIED
    if missed is not None:
        verdict[missed & believed] = MISSED
    if domains is not None:
        remaining = np.add.reduceat(domains.allowed.astype(np.int64), domains.value_start[:-1])
        frozen = (statistics.open_lanes < statistics.lanes) & (remaining > 1)
        verdict[np.isin(part_of, part_of[frozen])] = SUSPECT
        verdict[frozen] = FROZEN
        verdict[remaining == 1] = FORCED
    verdict[model.graph.cardinality == 1] = FORCED
    return list(verdict)


def _own_verdicts(quality: Quality, first: NDArray[Any]) -> NDArray[Any]:
    """One verdict per variable, from its worst value; R-hat and ESS of rare ones mean nothing."""
    r_hat = np.maximum.reduceat(np.where(quality.rare, 1.0, quality.r_hat), first)
    ess = np.minimum.reduceat(np.where(quality.rare, np.inf, quality.ess), first)
    unmixed = np.logical_or.reduceat(quality.unmixed, first) | (r_hat > FAIR_R_HAT)
    verdict = np.full(len(first), FAIR, dtype=object)
    verdict[(r_hat <= GOOD_R_HAT) & (ess >= GOOD_ESS)] = GOOD
    verdict[np.logical_or.reduceat(quality.rare, first)] = RARE
    verdict[(ess < FAIR_ESS) | (quality.recorded < FEWEST_SAMPLES)] = FEW
    verdict[unmixed] = UNMIXED
    return verdict


def _require_numbers(probabilities: Mapping[str, Floats]) -> None:
    """Refuse to give a verdict on what is no number."""
    for name, p in probabilities.items():
        if not np.isfinite(p).all():
            raise LimitError(
                f"the probabilities of {name!r} came out as {p.tolist()}: the weights of this "
                "model are beyond what sums of doubles can tell apart"
            )


def _certain(model: Model, name: str, probability: Floats, verdict: str) -> Marginal:
    values = model.domains_of(name)
    none, one = np.zeros(len(values)), np.ones(len(values))
    p = np.asarray(probability, dtype=np.float64)
    never = np.zeros(len(values), dtype=np.bool_)
    return Marginal(values, p, none, p, p, np.full(len(values), np.inf), one, verdict, never)


def _complete(model: Model, found: Mapping[str, Marginal]) -> dict[str, Marginal]:
    """Put observed variables back in their places."""
    everything = {}
    for name in model.order:
        if name in found:
            everything[name] = found[name]
        else:
            seen = model.observed[name]
            indicator = np.eye(len(seen.values))[seen.value]
            everything[name] = _certain(model, name, indicator, OBSERVED)
    return everything
