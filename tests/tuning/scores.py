"""Are errors honest? Deviations from the truth in units of the errors that runs report.

A run with `d + 1` independent columns reports an error whose own noise makes deviations follow
Student's law with `d` degrees of freedom. `normal_scores` undoes that, so honest errors give
standard normal numbers, one for each run. Variables of one run depend on each other; a run is
therefore asked for one of them, drawn beforehand.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr
from scipy.stats import binom, chi2, norm

import orbitmc as om
from orbitmc._simd.random import COLUMNS

FALSE_ALARM = 1e-7  # of each of the three tests in `honest`, two-sided
COVERAGE = 0.9


@dataclass(frozen=True)
class Runs:
    """How long runs are, and in how many columns."""

    samples: int = 400
    packs: int = 2
    lanes: int = 32

    @property
    def degrees(self) -> int:
        return self.packs * COLUMNS - 1


def scores(model, moves, seeds, runs=Runs()):
    """One score for each seed, of runs that replay recorded moves."""
    exact = om.marginals(model, method="exact")
    settings = {"method": "lmh", "moves": moves, "threads": 1, "samples": runs.samples}
    found = [
        om.marginals(model, seed=seed, packs=runs.packs, lanes=runs.lanes, **settings)
        for seed in seeds
    ]
    return normal_scores([deviation(*pair, exact) for pair in zip(found, seeds, strict=True)], runs)


def deviation(found, seed, exact):
    """How far one random value of one random variable is off, in reported errors."""
    rng = np.random.default_rng([seed, 17])
    name = list(found)[rng.integers(len(found))]
    value = rng.integers(len(found[name].values))
    off = found[name].probability[value] - exact[name].probability[value]
    return off / found[name].standard_error[value]


def normal_scores(deviations, runs):
    """Numbers that are standard normal if the errors are honest."""
    return ndtri(stdtr(runs.degrees, np.array(deviations)))


def honest(found):
    """Whether scores may be standard normal: their mean, their variance, and the middle 90 %.

    Honest errors fail with a probability below 3e-7 in all. For about a thousand scores, the mean
    may be off by 0.17, and the variance by a quarter.
    """
    found = np.concatenate(list(found))
    count = len(found)
    inside = int((np.abs(found) <= norm.ppf(0.5 + COVERAGE / 2)).sum())
    chances = (
        norm.cdf(found.mean() * np.sqrt(count)),
        chi2.cdf((found**2).sum(), count),
        binom.cdf(inside, count, COVERAGE),
        binom.cdf(inside - 1, count, COVERAGE),
    )
    return all(FALSE_ALARM / 2 < chance < 1 - FALSE_ALARM / 2 for chance in chances)
