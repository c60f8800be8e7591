"""Errors of tuned runs are honest: deviations from exact answers are as large as they say.

False alarms: below 3e-7 for each call of `honest`, if column means are normal.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.inference._marginals import execute_plan
from orbitmc.inference.plan import plan_model
from orbitmc.inference.settings import Settings
from tests.tuning.models import assignment, named, one_hot_pages, ordered_grid
from tests.tuning.scores import Runs, deviation, honest, normal_scores, scores
from tests.tuning.test_family_kernels import grid, turning_ring, two_triangles

RUNS = Runs()
BETAS = [1.0, 0.6, 0.35]


def moves(*families, period=40, betas=()):
    found = {"families": list(families), "period": period}
    return {**found, "base": "tempering", "betas": list(betas)} if betas else found


def glass():
    return om.random_chimera(1, 1, beta=0.8, field=0.2, seed=5)


def islands(number=4):
    """Squares of spins that hold together for a while; nothing couples the squares."""
    builder = Builder([2] * (4 * number))
    rng = np.random.default_rng(number)
    for first in range(0, 4 * number, 4):
        for one, other in ((0, 1), (1, 2), (2, 3), (3, 0)):
            builder.add_factor([first + one, first + other], [2.4, 0.0, 0.0, 2.4])
        builder.add_factor([first], [0.0, rng.normal(0.0, 0.4)])
    return named(builder)


def potts():
    fields = np.random.default_rng(1).normal(0.0, 0.2, (2, 3, 3))
    return om.potts_grid(2, 3, 3, 1.0, fields)


QUICK = {
    "Gibbs": (glass, moves()),
    "flip": (lambda: ordered_grid(3), moves("flip")),
    "flip, tempered": (glass, moves("flip", period=32, betas=BETAS)),
}
MORE = {
    "tempering": (islands, moves(betas=BETAS)),
    "clusters": (lambda: ordered_grid(4), moves("clusters")),
    "clusters and flip": (glass, moves("clusters", "flip")),
    "component flips": (islands, moves("component flips")),
    "labels": (potts, moves("labels", period=24)),
    "one-hot": (one_hot_pages, moves("one-hot")),
    "group exchange": (assignment, moves("group exchange", period=16)),
    "gauge flips": (two_triangles, moves("gauge flips", period=12)),
    "generators": (turning_ring, moves("generators", period=8)),
    "reflections": (grid, moves("reflections", period=9)),
}


def test_errors_of_recorded_moves_are_honest():
    found = {
        name: scores(build(), recorded, range(80)) for name, (build, recorded) in QUICK.items()
    }
    assert honest(found.values()), {name: one.var() for name, one in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*QUICK, *MORE])
def test_errors_of_every_family_are_honest(name):
    build, recorded = {**QUICK, **MORE}[name]
    assert honest([scores(build(), recorded, range(1000, 2000))])


def test_errors_of_raced_runs_are_honest():
    found = [_raced(model, range(100)) for model in (ordered_grid(4), glass())]
    assert honest(found), [one.var() for one in found]


@pytest.mark.slow
@pytest.mark.parametrize("build", [potts, one_hot_pages, assignment, islands])
def test_errors_of_more_raced_runs_are_honest(build):
    assert honest([_raced(build(), range(1000, 2000))])


def _raced(model, seeds):
    """Scores of runs whose moves a race has chosen; its states are not theirs."""
    exact = om.marginals(model, method="exact")
    decision = plan_model(model, Settings(method="lmh", samples=RUNS.samples, packs=2, lanes=32))
    return normal_scores(
        [deviation(_carried_out(model, decision, seed), seed, exact) for seed in seeds], RUNS
    )


def _carried_out(model, decision, seed):
    settings = replace(decision.settings, seed=seed, threads=1)
    return execute_plan(replace(decision, settings=settings))


def test_the_judge_believes_the_truth_and_no_less():
    rng = np.random.default_rng(1)
    truth = student.rvs(RUNS.degrees, size=480, random_state=rng)
    assert honest([normal_scores(truth, RUNS)])
    for wrong in (1.5 * truth, truth / 1.5, truth + 0.4):
        assert not honest([normal_scores(wrong, RUNS)])
