"""What the benchmark of trust compares, how it counts, and that its models are what they claim."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import bdtrc, stdtr

import orbitmc as om
from orbitmc.estimate.marginals import About, Marginal, Marginals
from orbitmc.estimate.verdicts import FAIR, FEW, FORCED, GOOD, RARE
from orbitmc.sampling.executor import digest
from tests.benchmarks.trusting import (
    BENCHMARKS,
    DOUBT,
    false_runs_by_chance,
    farthest_by_chance,
    module,
)
from tests.gathered import gathered

models, families, traps = module("trust_models"), module("trust_families"), module("trust_traps")
scores, trust = module("trust_scores"), module("trust")


def said(probability, error, verdict, ess=500.0, high=None):
    """An answer for one binary variable; with `high`, `yes` is rare and has that bound."""
    p = np.array([1 - probability, probability])
    ones, rare = np.ones(2), np.full(2, high is not None)
    low, above = p - 2.04 * error, p + 2.04 * error
    if high is not None:
        low, above = np.array([1 - high, 0.0]), np.array([1.0, high])
    return Marginal(("no", "yes"), p, error * ones, low, above, ess * ones, ones, verdict, rare)


def scored(**variables):
    """Scores of answers, each given with the true probability of its value `yes`."""
    found = Marginals(gathered({name: one for name, (one, _) in variables.items()}), About("", ""))
    truth = {name: np.array([1 - p, p]) for name, (_, p) in variables.items()}
    return scores.scores_of(found, truth, 31)


def test_one_value_of_a_binary_variable_is_counted_in_reported_errors():
    found = scored(a=(said(0.30, 0.01, GOOD), 0.32), b=(said(0.30, 0.01, FEW), 0.24))
    assert found.z == pytest.approx([-2.0, 6.0])
    assert found.believed.tolist() == [True, False]
    assert found.covered.tolist() == [True, False]
    assert found.within.tolist() == [True, False]


def test_a_wrong_number_without_an_error_is_infinitely_off():
    found = scored(a=(said(0.5, 0.0, GOOD), 0.89), b=(said(0.5, 0.0, GOOD), 0.5))
    assert found.z.tolist() == [-np.inf, 0.0]
    total = scores.summary([found], 31)
    assert (total.believed, total.off, total.beyond, total.false_runs) == (2, 1, 1, 1)


def test_what_is_certain_counts_only_if_it_is_wrong():
    right = scored(a=(said(1.0, 0.0, FORCED, ess=np.inf), 1.0))
    wrong = scored(a=(said(1.0, 0.0, FORCED, ess=np.inf), 0.7))
    assert len(right.z) == 0
    assert scores.summary([right, wrong], 31).off == 1


def test_a_rare_value_is_held_to_its_bound():
    """A bound of 0.03 says that 100 states did not show the value: exp(-100 p) is its chance."""
    cases = {0.02: (0, 1.0), 0.09: (0, 0.0), 0.12: (1, 0.0)}  # five errors are exp(-10.7)
    for truth, (off, coverage) in cases.items():
        found = scores.summary([scored(a=(said(0.0, 1e-3, RARE, high=0.03), truth))], 31)
        assert (found.rare, found.off, found.coverage) == (1, off, coverage)
        assert found.beyond == off
    assert scores.stretch_of_bounds(31) * 3 == pytest.approx(10.75, abs=0.02)


def test_a_rare_value_without_a_verdict_is_not_believed():
    found = scores.summary([scored(a=(said(0.0, 1e-3, FEW, high=0.03), 0.5))], 31)
    assert (found.believed, found.rare, found.off, found.refused) == (0, 0, 0, 1)


def test_an_interval_may_hold_what_the_error_does_not():
    close = said(0.3, 1e-5, FAIR)
    wide = replace(close, low=close.probability - 0.02, high=close.probability + 0.02)
    found = scores.summary([scored(a=(wide, 0.31))], 31)
    assert (found.off, found.beyond, found.coverage) == (1, 0, 1.0)


def test_right_numbers_that_are_not_believed_are_the_price():
    runs = [
        scored(a=(said(0.30, 0.01, FEW), 0.31), b=(said(0.30, 0.01, FEW), 0.34)),
        scored(a=(said(0.30, 0.01, FEW), 0.40), b=(said(0.30, 0.01, GOOD), 0.31)),
    ]
    found = scores.summary(runs, 31)
    assert (found.values, found.believed, found.lost, found.refused) == (4, 1, 1, 1)


def test_honest_errors_have_the_expected_scores():
    """200,000 draws of Student's distribution, in columns as a run has them."""
    rng = np.random.default_rng(5)
    columns = rng.normal(0.3, 0.01, (200_000, 32))
    mean, error = columns.mean(axis=1), columns.std(axis=1, ddof=1) / np.sqrt(32)
    z = scores.z_scores(mean, error, np.full(len(mean), 0.3))
    every = np.ones(len(z), dtype=bool)
    flags = (every, ~every, every, every)
    found = scores.summary([scores.Scores(z, *flags)], 31)
    assert found.expected == pytest.approx(200_000 * 2 * stdtr(31, -5.0))
    assert found.expected == pytest.approx(4.29, abs=0.01)
    assert found.off <= 20  # of a Poisson number with mean 4.3: more have a chance below 1e-8
    assert found.sd_z == pytest.approx(np.sqrt(31 / 29), abs=0.01)  # 5 errors of a spread: 0.008
    shifted = scores.z_scores(mean + 6 * error, error, np.full(len(mean), 0.3))
    spoiled = scores.summary([scores.Scores(shifted, *flags)], 31)
    assert spoiled.off > 100_000


def test_models_stay_the_same_and_differ_from_each_other():
    for kind in models.CLASSES:
        one, same, other = (models.case_of(kind, number) for number in (4, 4, 3))
        assert digest(graph_of(one.model)) == digest(graph_of(same.model))
        assert digest(graph_of(one.model)) != digest(graph_of(other.model))


def graph_of(model):
    """The graph of a model; of a program, that of its cells, or the ground one."""
    if isinstance(model, om.Model):
        return model.graph
    cells = model.source.cells
    return model.model.graph if isinstance(cells, str) else cells.model.graph


@pytest.mark.parametrize("family", ["close_items", "far_items", "two_groups"])
def test_partitions_have_their_true_marginals(family):
    """All rules ground, and all states summed up, where these are few."""
    compared = 0
    for seed in range(40):
        program, truth = getattr(families, family)(np.random.default_rng(seed))
        if len(truth) <= 30:
            compared += 1
            exact = om.marginals(program, method="exact")
            for name, chance in truth.items():
                assert exact[name].probability == pytest.approx(chance, abs=1e-9)
    assert compared >= 2


def test_partitions_have_a_method_of_their_own():
    assert trust.methods_for("partitions", ["gibbs", "relations"]) == ["relations"]
    assert trust.methods_for("traps", ["gibbs", "relations"]) == ["gibbs"]


def test_every_class_takes_turns_with_its_families():
    for kind, members in models.CLASSES.items():
        drawn = {models.case_of(kind, number).family for number in range(len(members))}
        assert drawn == {family.__name__ for family in members}


@pytest.mark.parametrize("family", ["heavy_table", "heavy_conjunction", "crowd"])
def test_closed_forms_are_the_truth(family):
    compared = 0
    for seed in range(60):
        model, truth = getattr(traps, family)(np.random.default_rng(seed))
        if model.graph.variables <= 13:
            compared += 1
            for name, exact in models.exact_truth(model).items():
                assert truth[name] == pytest.approx(exact, abs=1e-9)
    assert compared >= 3


def test_a_heavy_state_has_the_share_that_its_weight_buys():
    """20 free atoms and a state that weighs three times as much as all of them."""
    truth = traps.heavy_truth(np.zeros(20), np.ones((1, 20), dtype=int), np.log([3.0 * 2**20]))
    assert truth["v0"][1] == pytest.approx(0.875, abs=1e-6)


def test_influence_bounds_how_far_neighbours_move_a_variable():
    rng = np.random.default_rng(3)
    for _ in range(20):
        sizes = rng.integers(2, 4, 4)
        scopes = [[0, 1], [1, 2, 3], [0, 3]]
        tables = [(scope, rng.normal(size=sizes[scope])) for scope in scopes]
        true = dobrushin(tables, sizes)
        assert 0 < true <= families.influence(tables, 4)
    strong = [([0, 1], 5.0 * np.eye(2))]
    assert families.influence(strong, 2) > 1


def dobrushin(tables, sizes):
    """The largest sum, over neighbours, of how far each alone moves a variable."""
    sums = []
    for one in range(len(sizes)):
        moved = np.zeros(len(sizes))
        for state in product(*map(range, sizes)):
            for other in set(range(len(sizes))) - {one}:
                for value in range(sizes[other]):
                    changed = (*state[:other], value, *state[other + 1 :])
                    apart = conditional(tables, sizes, one, state) - conditional(
                        tables, sizes, one, changed
                    )
                    moved[other] = max(moved[other], np.abs(apart).sum() / 2)
        sums.append(moved.sum())
    return max(sums)


def conditional(tables, sizes, one, state):
    logs = np.zeros(sizes[one])
    for value in range(sizes[one]):
        full = (*state[:one], value, *state[one + 1 :])
        logs[value] = sum(table[tuple(full[v] for v in scope)] for scope, table in tables)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def test_allowances_are_no_larger_than_chance_explains():
    for mean in (0.001, 0.05, 0.5, 3.0):
        allowed = false_runs_by_chance(mean)
        assert bdtrc(allowed, 10_000, mean / 10_000) <= DOUBT / 2
        assert allowed < 10 * mean + 4
    far = farthest_by_chance(2_000, 31)
    assert 2_000 * 2 * stdtr(31, -far) == pytest.approx(DOUBT / 2, rel=1e-6)


def test_it_runs_and_writes_what_it_found(tmp_path):
    script = BENCHMARKS / "trust.py"
    options = ["--quick", "--models", "2", "--method", "gibbs", "--class", "mixing", "traps"]
    command = [sys.executable, script, *options, "--results", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "trust.json").read_text())
    rows = {tuple(row["of"]): row for row in written["results"]["by class"]}
    assert rows.keys() == {("mixing",), ("traps",)}
    assert all(row["runs"] == 4 for row in rows.values())  # two models, two lengths
    assert "are believed; per 100,000 of them" in done.stdout
