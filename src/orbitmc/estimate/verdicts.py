"""What may be said of a number, in words; answers keep the words' places in `VERDICTS`."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Bytes, Floats, Numbers

GOOD, FAIR, RARE, FEW, UNMIXED, TIED, MISSED, FROZEN, SUSPECT, FORCED, OBSERVED, EXACT = (
    VERDICTS
) = (
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
SEVEREST = (FROZEN, SUSPECT, MISSED, UNMIXED, TIED, FEW, RARE, FAIR, GOOD, FORCED, EXACT, OBSERVED)
"""Verdicts, the worst first."""

CODE = {word: code for code, word in enumerate(VERDICTS)}

GOOD_R_HAT, FAIR_R_HAT = 1.01, 1.05
GOOD_ESS, FAIR_ESS = 400.0, 100.0
FEWEST_SAMPLES = 8  # per chain: fewer say nothing about what chains forget


class Quality(NamedTuple):
    """What verdicts are made of, one number per value; `recorded` samples in each chain.

    Few samples say nothing about what chains forget, unless they are `independent` draws.
    """

    r_hat: Floats
    ess: Floats
    rare: NDArray[np.bool_]
    unmixed: NDArray[np.bool_]
    recorded: int
    independent: bool = False


def variable_verdicts(quality: Quality, first: Numbers) -> Bytes:
    """One verdict per variable, from its worst value; R-hat and ESS of rare ones mean nothing."""
    r_hat = np.maximum.reduceat(np.where(quality.rare, 1.0, quality.r_hat), first)
    ess = np.minimum.reduceat(np.where(quality.rare, np.inf, quality.ess), first)
    unmixed = np.logical_or.reduceat(quality.unmixed, first) | (r_hat > FAIR_R_HAT)
    verdict = np.full(len(first), CODE[FAIR], dtype=np.uint8)
    verdict[(r_hat <= GOOD_R_HAT) & (ess >= GOOD_ESS)] = CODE[GOOD]
    verdict[np.logical_or.reduceat(quality.rare, first)] = CODE[RARE]
    short = quality.recorded < FEWEST_SAMPLES and not quality.independent
    verdict[(ess < FAIR_ESS) | short] = CODE[FEW]
    verdict[unmixed] = CODE[UNMIXED]
    return verdict
