"""How far believed numbers are from the truth, in the errors that were reported with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

import orbitmc as om
from orbitmc.estimate.verdicts import BELIEVED

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FAR = 5.0  # errors: more is called off
NEAR = 3.0  # errors: less is called right
LEVEL = 0.95
ROUNDING = 2.0**-30  # a chance is the difference of two 32-bit limits, each within two units


@dataclass(frozen=True)
class Scores:
    """One entry per sampled value of a run, without the first value of each variable.

    `z` is in reported errors, and infinite for a wrong number with the error zero. `rare` marks
    believed values of which only a bound is told. `covered` says whether the interval holds the
    truth, `within` whether it does when it is stretched from its own level to that of `FAR`
    errors. What is said to be certain is here if it is wrong.
    """

    z: Floats
    believed: Flags
    rare: Flags
    covered: Flags
    within: Flags

    @property
    def off(self) -> Flags:
        """Believed values that are further from the truth than `FAR` errors, or their bounds."""
        wrong: Flags = np.where(self.rare, ~self.within, np.abs(self.z) > FAR)
        return self.believed & wrong


def scores_of(found: om.Marginals, truth: Mapping[str, Floats], degrees: int) -> Scores:
    """Compare an answer with the truth; errors come from so many degrees of freedom."""
    return joined([_of_variable(found[name], truth[name], degrees) for name in found])


def scores_of_atoms(found: om.Marginals, truth: Mapping[str, Floats], degrees: int) -> Scores:
    """The same for atoms, of which an answer tells how probable they are true."""
    return joined(
        [_of_variable(_both_ways(one), _rest(truth[name]), degrees) for name, one in found.items()]
    )


def _rest(p: Floats) -> Floats:
    return np.array([1.0 - p[0], p[0]])


def _both_ways(atom: om.Marginal) -> om.Marginal:
    """False and true, in the place of true alone."""
    twice = {
        name: np.repeat(getattr(atom, name), 2)
        for name in ("standard_error", "ess", "r_hat", "rare")
    }
    return replace(
        atom,
        values=("false", "true"),
        probability=_rest(atom.probability),
        low=np.array([1.0 - atom.high[0], atom.low[0]]),
        high=np.array([1.0 - atom.low[0], atom.high[0]]),
        **twice,
    )


def joined(parts: Sequence[Scores]) -> Scores:
    """The scores of several runs, one after the other."""
    if not parts:
        return Scores(np.zeros(0), *[np.zeros(0, dtype=np.bool_)] * 4)
    columns = [field.name for field in fields(Scores)]
    return Scores(*(np.concatenate([getattr(one, name) for one in parts]) for name in columns))


def _of_variable(said: om.Marginal, truth: Floats, degrees: int) -> Scores:
    z = z_scores(said.probability, said.standard_error, truth)
    stretch = np.where(said.rare, stretch_of_bounds(degrees), stretch_of_intervals(degrees))
    low = said.probability - stretch * (said.probability - said.low)
    high = said.probability + stretch * (said.high - said.probability)
    believed = np.full(len(z), said.verdict in BELIEVED)
    covered, within = _between(said.low, truth, said.high), _between(low, truth, high)
    counted = np.isfinite(said.ess) | np.isinf(z)
    counted[0] = False
    flags = (believed, believed & said.rare, covered, within)
    return Scores(z[counted], *(flag[counted] for flag in flags))


def stretch_of_intervals(degrees: int) -> float:
    """How many times wider `FAR` errors are than an interval, by Student's distribution."""
    return FAR / float(stdtrit(degrees, 0.5 + LEVEL / 2))


def stretch_of_bounds(degrees: int) -> float:
    """How many times as often as its bound a value must occur to be missed as seldom.

    What n states show never has a probability above x / n but for a chance of exp(-x).
    """
    return float(np.log(chance_beyond(FAR, degrees)) / np.log(1 - LEVEL))


def z_scores(probability: Floats, error: Floats, truth: Floats) -> Floats:
    """Differences in errors; a difference without an error is infinitely far off."""
    apart = probability - truth
    apart = np.where(np.abs(apart) <= ROUNDING, 0.0, apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(apart == 0.0, 0.0, apart / error)


def _between(low: Floats, truth: Floats, high: Floats) -> Flags:
    inside: Flags = (low - ROUNDING <= truth) & (truth <= high + ROUNDING)
    return inside


@dataclass(frozen=True)
class Summary:
    """One row of the table: numbers of values, but for those that say runs.

    Of `believed` values, `rare` have bounds only; `mean_z` and `sd_z` are of the others. `off`
    counts those further than `FAR` errors from the truth, or than their bounds, and `expected` how
    many Student's distribution would put there; `beyond` those that even stretched intervals miss.
    `false_runs` have at least one value that is off. `lost` counts values within `NEAR` errors
    that are not believed, `refused` those beyond `FAR` errors that are not.
    """

    runs: int
    values: int
    believed: int
    rare: int
    mean_z: float
    sd_z: float
    coverage: float
    off: int
    expected: float
    beyond: int
    false_runs: int
    lost: int
    refused: int


def summary(runs: Sequence[Scores], degrees: int) -> Summary:
    """Count the values of runs whose errors have so many degrees of freedom."""
    everything = joined(runs)
    size, believed = np.abs(everything.z), everything.believed
    z = everything.z[believed & ~everything.rare & np.isfinite(everything.z)]
    return Summary(
        runs=len(runs),
        values=len(size),
        believed=int(believed.sum()),
        rare=int(everything.rare.sum()),
        mean_z=float(z.mean()) if len(z) else 0.0,
        sd_z=float(z.std()) if len(z) else 0.0,
        coverage=float(everything.covered[believed].mean()) if believed.any() else 1.0,
        off=int(everything.off.sum()),
        expected=float(believed.sum()) * chance_beyond(FAR, degrees),
        beyond=int((believed & ~everything.within).sum()),
        false_runs=sum(bool(one.off.any()) for one in runs),
        lost=int((~believed & (size <= NEAR)).sum()),
        refused=int((~believed & (size > FAR)).sum()),
    )


def chance_beyond(errors: float, degrees: int) -> float:
    """How often a right number is further off than so many of its errors."""
    return 2.0 * float(stdtr(degrees, -errors))
