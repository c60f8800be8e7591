"""Mutual information: exact ones equal brute force, sampled ones lie within their errors."""

import numpy as np
import pytest
from scipy.stats import binom

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.inference import _information as question
from tests.inference.questions.truth import FALSE_ALARM, hard_models, over, soft_models

SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers"


@pytest.fixture
def sprinkler():
    return om.read(SPRINKLER)


def entropy(table):
    p = table[table > 0]
    return float(-(p * np.log2(p)).sum())


def mutual(truth, first, second):
    """By entropies, another formula than ours."""
    pair = over(truth, [first, second])
    return entropy(pair.sum(axis=1)) + entropy(pair.sum(axis=0)) - entropy(pair)


def test_exact_information_equals_brute_force(way):
    for seed, model, truth in hard_models(300):
        found = om.information(model, "C", method="exact")
        values = [float(one) for one in found.values()]
        assert values == sorted(values, reverse=True)
        for name, one in found.items():
            expected = mutual(truth, 2, model.names.index(name))
            assert float(one) == pytest.approx(expected, abs=1e-9), seed
        assert set(found) == {"A", "B", "D", "E"}


def scores(models):
    off, inside = [], []
    for seed, model, truth in models:
        options = {"method": "gibbs", "samples": 100, "seed": seed, "threads": 1}
        found = om.information(model, "A", ["B"], **options)["B"]
        expected = mutual(truth, 0, 1)
        if found.converged:
            off.append((found.value - expected) / found.standard_error)
            inside.append(found.low <= expected <= found.high)
    return np.array(off), np.array(inside)


@pytest.mark.parametrize("count", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_sampled_information_lies_within_its_errors(count):
    """Near zero the score is not Student's: twice the usual bound for single ones."""
    off, inside = scores(soft_models(count))
    assert len(off) > 0.6 * count
    assert np.abs(off).max() < 16
    assert inside.sum() >= binom.ppf(FALSE_ALARM, len(inside), 0.95)


def test_noise_is_not_taken_for_information(monkeypatch):
    """Of independent variables the plain formula tells too much; the jackknife takes that off."""
    values = {"A": list("abcd"), "B": list("efgh")}
    model = om.model(values, [(["A"], [1, 2, 3, 4]), (["B"], [4, 3, 2, 1])])
    monkeypatch.setattr("orbitmc.inference.feature_sampling.MOST_FACTORS", -1)
    found = [
        om.information(model, "A", ["B"], method="gibbs", samples=20, seed=seed)["B"]
        for seed in range(10)
    ]
    noise = 9 / (2 * 20 * 256 * np.log(2))  # of 5120 independent states, to first order
    assert np.mean([one.value for one in found]) < 0.7 * noise
    assert all(one.low == 0.0 for one in found)


def test_a_wrong_table_would_be_noticed(monkeypatch):
    right = question._table
    monkeypatch.setattr(question, "_table", lambda sums, pair: right(sums**1.2, pair))
    off, _ = scores(soft_models(20))
    assert np.abs(off).max() > 16


def test_evidence_changes_what_is_informative(sprinkler):
    before = om.information(sprinkler, "rain", ["sprinkler"])["sprinkler"]
    after = om.information(sprinkler, "rain", ["sprinkler"], {"grass": "wet"})["sprinkler"]
    assert after.value > before.value
    assert "grass" not in om.information(sprinkler, "rain", evidence={"grass": "wet"})


def test_what_is_known_tells_nothing_and_a_variable_tells_all_about_itself(sprinkler):
    found = om.information(sprinkler, "rain", ["rain"])["rain"]
    single = om.marginals(sprinkler, method="exact")["rain"].probability
    assert found.value == pytest.approx(entropy(np.array(single)), abs=1e-12)
    known = om.information(sprinkler, "rain", ["grass"], {"grass": "wet"})["grass"]
    assert known.value == pytest.approx(0, abs=1e-12)


def test_programs_are_asked_in_atoms():
    program = om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db", opened=["Smokes"], query="Smokes,Cancer")
    exact = om.information(program, "Smokes(Bob)")
    assert next(iter(exact)) == "Cancer(Bob)"
    table = om.joint(program, ["Smokes(Bob)", "Cancer(Bob)"]).probability
    assert exact["Cancer(Bob)"].value == pytest.approx(mutual(table, 0, 1), abs=1e-12)
    sampled = om.information(program, "Smokes(Bob)", method="gibbs", samples=300, seed=1)
    for name, one in sampled.items():
        assert abs(one.value - exact[name].value) < 16 * one.standard_error


def test_frozen_variables_are_doubtful_and_others_are_not():
    equal, loose = [[0.5, 0], [0, 0.7]], [[2.0, 1], [1, 2]]
    values = {name: ["x", "y"] for name in "ABCD"}
    model = om.model(values, [(["A", "B"], equal), (["C", "D"], loose)])
    alone = {"method": "gibbs", "scan": "systematic", "samples": 200}
    found = om.information(model, "C", ["A", "D"], **alone)
    assert found["A"].verdict == "frozen"
    assert found["D"].converged
    assert not found.converged


@pytest.mark.parametrize(
    ("target", "candidates", "said"),
    [
        ("rian", None, "did you mean 'rain'"),
        ("rain", ["gras"], "did you mean 'grass'"),
        ("rain", [], "name at least one candidate"),
        ("rain", ["grass", "grass"], "named twice"),
    ],
)
def test_wrong_names_are_explained(sprinkler, target, candidates, said):
    with pytest.raises(InputError, match=said):
        om.information(sprinkler, target, candidates)


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_where_all_others_are_observed_there_is_nothing_to_say(sprinkler, method):
    seen = {"season": "dry", "rain": "none", "grass": "wet"}
    assert not om.information(sprinkler, "sprinkler", None, seen, method=method)


def test_what_is_independent_tells_nothing_at_all():
    """Sums of rounded numbers are not 0; what is told is."""
    rng = np.random.default_rng(3)
    sizes = {name: [str(value) for value in range(7)] for name in "abcdef"}
    model = om.model(sizes, [([name], rng.random(7)) for name in sizes])
    assert set(map(float, om.information(model, "a").values())) == {0.0}
