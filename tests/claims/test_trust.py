"""Numbers that are believed are right, and where chains mix numbers are believed.

Right means: within what Student's distribution explains. A run is false if a believed number of
it is more than five reported errors from the truth, or a rare value as improbably beyond its
bound. Its chance is at most that of one number times
how many there are; runs have seeds of their own, so Chernoff's bound says how many false ones may
be, and Student's quantile how far the farthest may be. Both have a chance below 5e-7 to complain
of honest errors, together below 1e-6 for each test.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import orbitmc as om
from tests.benchmarks.trusting import false_runs_by_chance, farthest_by_chance, module

models, scores, trust = module("trust_models"), module("trust_scores"), module("trust")

case_of = cache(models.case_of)
RUNS = (("gibbs", 2), ("gibbs", 8), ("gibbs", 30), ("lifted", 30), ("mcsat", 8), ("mcsat", 20))


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("traps", 21),
        ("rare values", 20),
        ("multimodal", 14),
        ("deterministic", 10),
        ("nearly symmetric", 12),
        ("symmetric", 12),
    ],
)
def test_believed_numbers_are_right(kind, count):
    cases = [case_of(kind, number) for number in range(count)]
    require_right([trust.answer(case, *run) for case in cases for run in RUNS])


def test_a_seldom_entered_mode_is_slowly_left_and_stays_within_errors():
    """A circle of friends who all smoke: once in ten thousand states, and then for ten samples."""
    case = case_of("traps", 19)
    assert case.family == "known_people"
    one_run = [replace(case, number=seed) for seed in range(12)]
    require_right([trust.answer(run, "lifted", 400) for run in one_run])


def test_short_runs_forget_their_start_before_they_bound_rare_values():
    """A bound holds in 95 of 100 runs; so many misses have a chance below 1e-6 (binomial)."""
    cases = [case_of("rare values", number) for number in range(150)]
    causes = [case for case in cases if case.family == "rare_causes"]
    runs = [trust.answer(case, "mcsat", 8).scores for case in causes]
    held = [run.covered[run.rare][0] for run in runs if run.rare.any()]
    assert len(held) >= 15
    assert binom.sf(held.count(False) - 1, len(held), 0.05) >= 1e-6


@pytest.mark.parametrize(("method", "samples"), [("gibbs", 30), ("lifted", 100), ("mcsat", 8)])
def test_models_that_mix_keep_their_verdicts(method, samples):
    """At most one run in a hundred may lose its verdict, and believed numbers are right.

    A rule that takes the verdict of one good run in 20,000 takes that of three in 200 with a
    chance below 2e-7. That these models mix follows from how weak their factors are.
    """
    answers = [trust.answer(case_of("mixing", n), method, samples) for n in range(200)]
    lost = [one.number for one in answers if not one.scores.believed.all()]
    assert len(lost) <= 2, f"{method} lost the verdict of {lost}"
    require_right(answers)


def require_right(answers):
    found = scores.summary([one.scores for one in answers], trust.DEGREES)
    wrong = [trust.described(one) for one in trust.worst_runs(answers)]
    assert found.false_runs <= false_runs_by_chance(found.expected), wrong
    far = farthest_by_chance(found.believed, trust.DEGREES)
    for one in answers:
        sizes = np.abs(one.scores.z[one.scores.believed & ~one.scores.rare])
        assert sizes.max(initial=0.0) <= far, trust.described(one)


def test_a_lie_is_found_out():
    """A number that is believed and ten errors off makes the tests above fail."""
    honest = trust.answer(case_of("mixing", 0), "gibbs", 30)
    require_right([honest])
    z = honest.scores.z.copy()
    z[0] = 10.0
    liar = replace(honest, scores=replace(honest.scores, z=z))
    with pytest.raises(AssertionError):
        require_right([honest, liar])


def test_a_minority_of_stuck_lanes_is_seen():
    """One state of 2^20 weighs three times as much as all others; few chains find it."""
    table = np.zeros((2,) * 20)
    table[(1,) * 20] = np.log(3.0 * 2**20)
    require_no_belief(full_table(table), truth=0.875, samples=400)


def test_a_mode_that_no_chain_has_entered_is_seen():
    builder = om.graph.builder.Builder([2] * 40)
    builder.add_clause(range(40), [0] * 40, -29.0)  # a conjunction of weight 29
    truth = (2.0**39 + np.exp(29.0)) / (2.0**40 + np.exp(29.0))
    for method in ("gibbs", "mcsat", "lifted"):
        require_no_belief(named(builder), truth=truth, samples=100, method=method)


def test_moves_between_two_heavy_states_do_not_hide_what_all_others_weigh():
    """Turning all atoms trades opposite heavy states: marginals hardly tell them from free atoms.

    The chains still come to them slowly.
    """
    moves = {"base": "gibbs", "families": ["flip"], "period": 43}
    tables = [case_of("traps", number) for number in range(0, 140, 7)]
    assert {case.family for case in tables} == {"heavy_table"}
    require_right([trust.answer(case, "lmh tuned", 8, moves=moves) for case in tables])


def full_table(table):
    builder = om.graph.builder.Builder(table.shape)
    builder.add_factor(list(range(table.ndim)), table)
    return named(builder)


def named(builder):
    graph = builder.build()
    names = tuple(f"v{number}" for number in range(graph.variables))
    return om.Model(graph, names, (("no", "yes"),) * graph.variables)


def require_no_belief(model, *, truth, samples, method="gibbs"):
    found = om.marginals(model, method=method, samples=samples, seed=1, packs=4)
    exact = dict.fromkeys(found, np.array([1 - truth, truth]))
    total = scores.summary([scores.scores_of(found, exact, trust.DEGREES)], trust.DEGREES)
    assert total.off == 0
    assert total.lost + total.refused > 0 or total.believed == total.values
