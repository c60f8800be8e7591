"""What to do next: never what was just done or ruled out."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.estimate.marginals import About, Marginal, Marginals
from orbitmc.estimate.verdicts import BELIEVED, FROZEN, MISSED, UNMIXED, VERDICTS
from orbitmc.inference.answer import _ruled_out
from orbitmc.inference.plan import Plan
from orbitmc.inference.settings import Settings
from orbitmc.report.sentences import verdict
from orbitmc.tuning.record import Tuning
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
        (FROZEN, "mcsat", (), "try --method exact"),
        (FROZEN, "Mixture", (), "try --method auto or mcsat"),
        (FROZEN, "mcsat", ("exact",), "no other method here can do better"),
        (UNMIXED, "gibbs", (), "run longer, or try --method auto"),
        (UNMIXED, "lmh", ("exact",), "run longer"),
        (MISSED, "gibbs", (), "run longer, or try --method auto or lmh"),
        (MISSED, "gibbs", ("exact", "lmh"), "run longer"),
        (MISSED, "lmh", (), "run longer, or try --method exact"),
        (MISSED, "mcsat", ("exact",), "run longer"),
        (MISSED, "lmh", ("exact",), "run longer"),
    ],
)
def test_nothing_is_advised_that_was_done_or_ruled_out(found, method, ruled_out, words):
    assert advice(found, method, ruled_out) == words


def advised(method, ruled_out):
    """All methods that any verdict on an answer can advise."""
    doubted = set(VERDICTS) - BELIEVED
    said = [advice(word, method, ruled_out).partition("--method ")[2] for word in doubted]
    return {name for words in said if words for name in words.split(" or ")}


def answers_of(asked):
    """What can become of a method that is asked for: the method used, and what was ruled out.

    `auto` has ruled elimination out if it samples; Gibbs may be the outcome of a race of `lmh`.
    """
    if asked == "auto":
        return [("gibbs", ("exact",)), ("gibbs", ("exact", "lmh")), ("lmh", ("exact",))]
    if asked == "lmh":
        raced = [("gibbs", ("lmh",)), ("gibbs", ("lmh", "exact"))]
        return [*raced, ("lmh", ()), ("lmh", ("exact",))]
    return [] if asked == "exact" else [(asked, ()), (asked, ("exact",))]


def test_advice_never_leads_back():
    def follow(asked, before):
        for method, ruled_out in answers_of(asked):
            for name in advised(method, ruled_out):
                assert name not in before, (*before, name)
                follow(name, (*before, name))

    for asked in ("auto", "gibbs", "lifted", "lmh", "mcsat"):
        follow(asked, (asked,))


def grid(sides):
    """A square of binary variables with random couplings."""
    rng = np.random.default_rng(1)
    names = {f"v{r}_{c}": ["0", "1"] for r in range(sides) for c in range(sides)}
    factors = []
    for r in range(sides):
        for c in range(sides):
            for other in ((r, c + 1), (r + 1, c)):
                if max(other) < sides:
                    table = np.exp(rng.normal(size=4))
                    factors.append(([f"v{r}_{c}", f"v{other[0]}_{other[1]}"], table.tolist()))
    return om.model(names, factors)


@pytest.mark.parametrize(("memory", "words"), [(2**30, True), (2**20, False)])
def test_elimination_is_advised_after_mcsat_only_where_it_is_affordable(memory, words):
    decision = Plan(grid(12), Settings(method="mcsat", memory=memory), "")
    assert _ruled_out(decision) == (() if words else ("exact",))


def test_a_race_that_ends_with_gibbs_has_tried_jumps():
    settings = Settings(method="lmh", memory=2**20, moves=Tuning().record())
    assert _ruled_out(Plan(grid(12), settings, "")) == ("lmh", "exact")


def test_an_answer_of_gibbs_has_ruled_nothing_out():
    assert _ruled_out(Plan(grid(12), Settings(method="gibbs", memory=2**20), "")) == ()
