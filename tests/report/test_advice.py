"""What to do next: never what was just done or ruled out."""

import numpy as np
import pytest

from orbitmc.estimate.columns import Marginal
from orbitmc.estimate.marginals import About, Marginals
from orbitmc.estimate.verdicts import FROZEN, MISSED, UNMIXED
from orbitmc.report.words import verdict
from tests.gathered import gathered


def advice(found, method, ruled_out):
    half, one = np.full(2, 0.5), np.ones(2)
    never = np.zeros(2, dtype=bool)
    marginal = Marginal(("no", "yes"), half, half, half, half, one, one, found, never)
    about = About(method, "why not", 2.0, 7, 100, 256, 10**9, ruled_out=ruled_out)
    return verdict(Marginals(gathered({"v": marginal}), about)).rpartition("; ")[2]


@pytest.mark.parametrize(
    ("found", "method", "ruled_out", "words"),
    [
        (FROZEN, "gibbs", (), "try --method auto or mcsat"),
        (FROZEN, "lmh", ("exact",), "try --method mcsat"),
        (FROZEN, "mcsat", (), "try --method auto"),
        (FROZEN, "mcsat", ("exact",), "no other method here can do better"),
        (UNMIXED, "gibbs", (), "run longer, or try --method auto"),
        (UNMIXED, "lmh", ("exact",), "run longer"),
        (MISSED, "gibbs", (), "run longer, or try --method auto or lmh"),
        (MISSED, "lmh", (), "run longer, or try --method auto"),
        (MISSED, "lmh", ("exact",), "run longer"),
    ],
)
def test_nothing_is_advised_that_was_done_or_ruled_out(found, method, ruled_out, words):
    assert advice(found, method, ruled_out) == words
