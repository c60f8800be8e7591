"""Errors of corrected estimates are honest, and estimates that cannot gain lose little.

Every run has a fixed seed, so nothing here is left to chance. Of n independent intervals, the share
that contains the truth is within five standard errors of 95 % but for one case in a million.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import stdtrit

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.sampling import estimator_trial as settling
from orbitmc.sampling import estimator_trial as trying
from orbitmc.sampling import sampler
from orbitmc.sampling.estimator_trial import TrialOutcome
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule

PACKS = 2
QUANTILE = stdtrit(8 * PACKS - 1, 0.975)


@pytest.fixture
def always(monkeypatch):
    """Runs use control variates without a trial, with four looks for each sample."""
    monkeypatch.setattr(sampler, "FEWEST_SWEEPS", 0)
    monkeypatch.setattr(settling, "_why_not", lambda run, sweeps: "")
    monkeypatch.setattr(trying, "run_estimator_trial", lambda run, samples: {})
    monkeypatch.setattr(trying, "is_slow", lambda trial: False)
    monkeypatch.setattr(trying, "choose_weight", lambda *settings: TrialOutcome(4, 10.0))


def truth_of(model):
    answer = om.marginals(model, method="exact")
    found = [answer[name].probability for name in model.names]
    return np.concatenate([p[1:] if len(p) == 2 else p for p in found])


def runs_of(model, seeds, samples, kernel):
    prepared = prepare(model.graph)
    for seed in range(seeds):
        schedule = Schedule(samples=samples)
        run = sample(prepared, kernel, schedule, seed=seed, packs=PACKS, controlled=True)
        assert run.choice.terms > 0
        yield run


def plain(run):
    """What the same records say without control variates."""
    return replace(run, choice=replace(run.choice, terms=0, controls=None)).statistics()


def grid(side, coupling, fields=0.3):
    drawn = np.random.default_rng(1).uniform(-fields, fields, (side, side))
    return om.ising_grid(side, side, coupling, drawn)


def glass(side):
    rng = np.random.default_rng(2)
    couplings = rng.choice([-1.0, 1.0], 2 * side * (side - 1))
    return om.ising_grid(side, side, couplings, rng.uniform(-0.2, 0.2, (side, side)))


MIXING = {
    "spins": (lambda: grid(5, 0.25), SystematicScan(), 10.0),
    "spins, random scan": (lambda: grid(4, 0.3), RandomScan(), 5.0),
    "labels": (
        lambda: om.potts_grid(3, 3, 3, 0.3, np.random.default_rng(3).normal(size=(3, 3, 3))),
        SystematicScan(),
        5.0,
    ),
    "network": (lambda: om.read("examples/sprinkler.bif"), SystematicScan(), 1.0),
}


@pytest.mark.parametrize("name", MIXING)
def test_intervals_contain_the_truth_and_are_narrow(always, name):
    make, kernel, gain = MIXING[name]
    model = make()
    truth = truth_of(model)
    inside, reported, errors = [], [], []
    for run in runs_of(model, 30, 60, kernel):
        known = run.statistics()
        inside.append(np.abs(known.probability - truth) <= QUANTILE * known.spread)
        reported.append((known.low <= truth) & (truth <= known.high))
        errors.append([np.mean((one.probability - truth) ** 2) for one in (plain(run), known)])
    count = np.size(inside)
    assert np.mean(inside) >= 0.95 - 5.0 * np.sqrt(0.95 * 0.05 / count)
    assert np.mean(reported) >= 0.95 - 5.0 * np.sqrt(0.95 * 0.05 / count)
    before, after = np.mean(errors, axis=0)
    assert before > gain * after


@pytest.mark.parametrize(
    "make", [lambda: glass(6), lambda: grid(8, 0.4407, 0.02)], ids=["glass", "critical"]
)
def test_where_they_cannot_help_they_do_little_harm(always, make):
    model = make()
    truth = truth_of(model)
    errors = [
        [np.mean((one.probability - truth) ** 2) for one in (plain(run), run.statistics())]
        for run in runs_of(model, 12, 60, SystematicScan())
    ]
    before, after = np.mean(errors, axis=0)
    assert before >= 0.9 * after


def test_what_verdicts_are_made_of_is_not_corrected(always):
    (run,) = runs_of(grid(5, 0.25), 1, 60, SystematicScan())
    known, before = run.statistics(), plain(run)
    for name in ("r_hat", "states", "persists", "drifts", "open_lanes"):
        np.testing.assert_array_equal(getattr(known, name), getattr(before, name))
    assert (known.spread < before.spread).mean() > 0.9
    floor = np.maximum(known.probability, 1.0 - known.probability) / known.states
    assert (known.standard_error >= floor).all()
