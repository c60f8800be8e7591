"""Means of functions: exact ones equal brute force, sampled ones lie within their errors."""

from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.inference.expectation import FunctionFeature
from orbitmc.inference.feature_sampling import FeatureSums
from orbitmc.sampling.budget import Budget
from orbitmc.sampling.run import Recording
from tests.inference.questions.truth import hard_models, over, require_honest, soft_models

SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers"


@pytest.fixture
def sprinkler():
    return om.read(SPRINKLER)


def random_function(seed, model, count=3):
    """A function of a few variables, its table, and the places of these variables."""
    rng = np.random.default_rng(seed)
    axes = rng.permutation(len(model.names))[:count].tolist()
    table = rng.normal(size=[len(model.values[axis]) for axis in axes])
    names = [model.names[axis] for axis in axes]
    return (lambda s: table[tuple(s[name] for name in names)]), (names, table), axes


def test_exact_means_equal_brute_force(way):
    for seed, model, truth in hard_models(300):
        function, table, axes = random_function(seed, model)
        features = {"function": function, "table": table}
        found = om.expect(model, features, method="exact")
        expected = (over(truth, axes) * table[1]).sum()
        for one in found.values():
            assert float(one) == pytest.approx(expected, abs=1e-9)
            assert one.verdict == "exact"


def test_a_function_that_looks_at_more_in_some_states_is_exact_too(way):
    """What it looks at where C is c is found out, even if no state that was tried has it."""
    model = om.model(
        {"C": ["a", "c"], "D": ["x", "y"]}, [(["C"], [1, 1e-7]), (["D"], [0.25, 0.75])]
    )

    def function(s):
        return np.where(s["C"] == 1, 1e7 * s["D"] if (s["C"] == 1).any() else 0, 0.0)

    expected = 1e-7 / (1 + 1e-7) * 1e7 * 0.75
    assert float(om.expect(model, {"f": function})["f"]) == pytest.approx(expected, rel=1e-9)


def scores(models):
    off, inside = [], []
    for seed, model, truth in models:
        function, table, axes = random_function(seed, model)
        options = {"method": "gibbs", "samples": 60, "seed": seed, "threads": 1}
        found = om.expect(model, {"f": function}, **options)["f"]
        expected = (over(truth, axes) * table[1]).sum()
        if found.converged:
            off.append((found.value - expected) / found.standard_error)
            inside.append(found.low <= expected <= found.high)
    return np.array(off), np.array(inside)


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_sampled_means_lie_within_their_errors(count):
    off, inside = scores(soft_models(count))
    assert len(off) > 0.7 * count
    require_honest(off, inside)


def test_wrong_sums_would_be_noticed(monkeypatch):
    right = FunctionFeature.sums
    monkeypatch.setattr(
        FunctionFeature, "sums", lambda self, states, chances: 1.1 * right(self, states, chances)
    )
    off, _ = scores(soft_models(20))
    assert np.abs(off).max() > 8


def test_errors_do_not_depend_on_units(sprinkler):
    options = {"method": "gibbs", "samples": 200, "seed": 1}
    plain = om.expect(sprinkler, {"f": lambda s: s["rain"]}, **options)["f"]
    scaled = om.expect(sprinkler, {"f": lambda s: 1000 - 7 * s["rain"]}, **options)["f"]
    assert scaled.value == pytest.approx(1000 - 7 * plain.value)
    assert scaled.standard_error == pytest.approx(7 * plain.standard_error)
    assert scaled.low == pytest.approx(1000 - 7 * plain.high)
    assert scaled.verdict == plain.verdict


def test_an_indicator_agrees_with_the_probability_of_its_event(sprinkler):
    options = {"method": "gibbs", "samples": 2000, "seed": 1}
    mean = om.expect(sprinkler, {"f": lambda s: s["rain"] == 0}, **options)["f"]
    exact = om.probability(sprinkler, "rain == none")
    assert abs(mean.value - exact.value) < 8 * mean.standard_error
    assert mean.low <= exact.value <= mean.high


def test_programs_give_atoms_as_zeros_and_ones():
    program = om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db")
    smoke = {"ill": lambda s: sum(s[name] for name in s)}
    single = om.marginals(program, method="exact")
    expected = sum(float(one.probability[0]) for one in single.values())
    assert float(om.expect(program, smoke)["ill"]) == pytest.approx(expected, abs=1e-9)
    sampled = om.expect(program, smoke, method="gibbs", samples=300, seed=1)["ill"]
    assert abs(sampled.value - expected) < 8 * sampled.standard_error


def test_an_array_has_the_rows_of_its_names(sprinkler):
    """Observed names are known, and values of others mean themselves or not."""
    evidence = {"grass": "wet"}
    names = ["sprinkler", "grass", "rain"]
    features = {
        "one by one": lambda s: s["sprinkler"] + 3 * s["grass"] + 10 * s["rain"],
        "together": lambda s: np.array([1, 3, 10]) @ s.array(names),
        "all": lambda s: s.array().sum(axis=0),
        "none": lambda s: s.array([]).sum(axis=0) + s["rain"],
    }
    for options in ({}, {"method": "gibbs", "samples": 50, "seed": 1}):
        found = om.expect(sprinkler, features, evidence, **options)
        assert found["together"].value == found["one by one"].value
        by_name = om.expect(
            sprinkler, {"all": lambda s: sum(s[name] for name in s)}, evidence, **options
        )
        assert found["all"].value == by_name["all"].value


def test_an_array_of_atoms_has_those_that_are_known():
    program = om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db")
    features = {
        "array": lambda s: s.array().sum(axis=0),
        "one by one": lambda s: sum(s[name] for name in s),
    }
    sampled = om.expect(program, features, method="gibbs", samples=30, seed=1)
    assert sampled["array"].value == sampled["one by one"].value


def test_observed_names_have_their_value(sprinkler):
    found = om.expect(
        sprinkler, {"f": lambda s: s["grass"]}, {"grass": "wet"}, method="gibbs", samples=9
    )
    assert float(found["f"]) == 1.0


def test_what_is_the_same_for_all_values_is_certain(sprinkler):
    options = {"method": "gibbs", "samples": 100, "seed": 1}
    features = {"three": lambda s: 3, "same": lambda s: 0 * s["rain"]}
    found = om.expect(sprinkler, features, **options)
    assert (found["three"].value, found["three"].verdict) == (3.0, "exact")
    assert (found["same"].value, found["same"].verdict) == (0.0, "exact")


def test_what_was_the_same_in_all_states_may_differ_in_others():
    """No chain will see A true, but 13 variables have too many values to try all of them."""
    names = ["A", *(f"B{k}" for k in range(12))]
    model = om.model({name: ["no", "yes"] for name in names}, [(["A"], [1, 1e-9])])
    features = {
        "few": lambda s: 5.0 * s["A"],
        "fails": lambda s: s["A"] / (1 - s["A"]),
        "many": lambda s: sum(s[name] for name in names) * s["A"],
    }
    found = om.expect(model, features, method="gibbs", samples=20, packs=1, lanes=32)
    few = found["few"]
    assert (few.value, few.verdict) == (0.0, "rare")
    assert few.low < 0 < few.standard_error < few.high < 1
    assert found["fails"].verdict == found["many"].verdict == "too few samples"


def test_frozen_variables_make_a_mean_doubtful_only_if_it_depends_on_them():
    equal, loose = [[0.5, 0], [0, 0.5]], [[2.0, 1], [1, 2]]
    values = {name: ["x", "y"] for name in "ABCD"}
    model = om.model(values, [(["A", "B"], equal), (["C", "D"], loose)])
    features = {"f": lambda s: s["A"] + s["C"]}
    alone = {"method": "gibbs", "scan": "systematic", "samples": 100}
    assert om.expect(model, features, **alone)["f"].verdict == "frozen"
    other = om.expect(model, {"f": lambda s: s["C"]}, **alone)["f"]
    assert other.converged


def test_it_stops_at_a_standard_error(sprinkler):
    options = {"method": "gibbs", "standard_error": 0.01, "seed": 1}
    found = om.expect(sprinkler, {"f": lambda s: 10 * s["rain"]}, **options)["f"]
    assert 0.003 < found.standard_error < 0.02


def test_an_early_end_gives_what_is_known_so_far(sprinkler):
    def stop(run):
        if run.recorded > 20:
            run.stop()

    options = {"method": "gibbs", "samples": 10**6, "warm_up": 9, "watchers": [stop]}
    found = om.expect(sprinkler, {"f": lambda s: s["rain"]}, **options)
    assert found.about.interrupted
    assert 0 < found["f"].value < 2


def test_answers_are_tables_and_frames(sprinkler):
    found = om.expect(sprinkler, {"f": lambda s: s["rain"], "g": (["rain"], [1, 2, 3])})
    assert list(found) == ["f", "g"]
    assert len(found) == 2
    assert found.to_frame().loc["g", "value"] == pytest.approx(found["f"].value + 1)
    assert str(found).splitlines()[1].split()[0] == "f"
    assert found.converged


@pytest.mark.parametrize("method", ["exact", "gibbs"])
@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"f": lambda s: s["rian"]}, "did you mean 'rain'"),
        ({"f": lambda s: np.zeros(3)}, "of shape"),
        ({"f": lambda s: np.full(s["rain"].shape, np.inf)}, "not a finite number"),
        ({"f": lambda s: np.full(s["rain"].shape, "x")}, "not a finite number"),
        ({"f": (["rain"], [1, 2])}, "expected \\(3,\\)"),
        ({"f": (["rian"], [1, 2])}, "did you mean 'rain'"),
        ({"f": 3}, "neither a function"),
        ({}, "expected a mapping"),
        (None, "expected a mapping"),
    ],
)
def test_mistakes_are_explained(sprinkler, features, said, method):
    options = {} if method == "exact" else {"samples": 9}
    with pytest.raises(InputError, match=said):
        om.expect(sprinkler, features, method=method, **options)


def test_what_waits_to_be_summed_up_counts_as_time_of_the_run(monkeypatch):
    """A function that takes a second for each state leaves less time to a run while states wait."""
    clock = [0.0]
    monkeypatch.setattr("orbitmc.inference.feature_sampling.time.perf_counter", lambda: clock[0])

    class Slow:
        variables, averaged, rows = np.arange(4), -1, 1

        def sums(self, states, chances):
            clock[0] += states.shape[1]
            return np.zeros((1, 8))

    graph = om.ising_grid(2, 2, 0.3).graph
    notes = FeatureSums(graph, Slow(), lanes=32)
    states = np.zeros((4, 32), dtype=np.uint8)
    notes.note(0, states, 0)
    assert (clock[0], notes.waiting) == (32.0, 0.0)  # the first sample shows what it takes
    recorded = 16  # the first of a longer part of time
    notes.note(0, states, recorded)
    assert notes.waiting == 32.0
    run = om.sample(om.kernels.prepare(graph), om.kernels.gibbs(), om.Schedule(samples=1), packs=1)
    run = replace(run, budget=Budget(100.0))
    noting = replace(run, recording=Recording(notes=notes))
    assert noting.ends == pytest.approx(run.ends - 32.0)
