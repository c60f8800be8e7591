"""The modules of `benchmarks/trust.py`, and how many wrong numbers chance explains."""

import importlib
import math
import sys
from pathlib import Path

from scipy.special import stdtrit

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DOUBT = 1e-6


def module(name):
    """Import a module of the benchmarks, which stand beside each other in no package."""
    if str(BENCHMARKS) not in sys.path:
        sys.path.append(str(BENCHMARKS))
    return importlib.import_module(name)


def false_runs_by_chance(mean):
    """The fewest runs `k` such that more than `k` false ones have a chance below `DOUBT / 2`.

    Runs are independent, and `mean` bounds how many of them are expected to be false, so Chernoff's
    bound holds: at least `m` are false with a chance of at most exp(m - mean) (mean / m)^m.
    """
    k = 0
    while k + 1 - mean + (k + 1) * math.log(max(mean, 1e-300) / (k + 1)) > math.log(DOUBT / 2):
        k += 1
    return k


def farthest_by_chance(values, degrees):
    """How many errors none of so many right values exceeds, but for a chance of `DOUBT / 2`."""
    return float(stdtrit(degrees, 1 - DOUBT / (4 * max(values, 1))))
