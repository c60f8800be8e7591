"""Drawn states: their shape, their law, their log-weights, and what is refused."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import chi2

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.model import Model
from orbitmc.inference import _draws as drawing
from tests.oracle.brute_force import distribution, log_weight, states
from tests.oracle.random_models import random_graph

SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers"
FALSE_ALARM = 1e-7


@pytest.fixture
def sprinkler():
    return om.read(SPRINKLER)


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(map(str, range(c))) for c in graph.cardinality))


def test_exact_draws_are_independent_states_with_all_variables(sprinkler):
    drawn = om.draws(sprinkler, {"grass": "wet"}, samples=50, chains=3, seed=1)
    assert drawn.names == sprinkler.order
    assert drawn.values.shape == (3, 50, 4)
    assert drawn.values.dtype == np.uint8
    assert (drawn.verdict, drawn.converged, drawn.about.method) == ("exact", True, "exact")
    assert "independent" in drawn.about.reason
    assert (drawn.values[:, :, 3] == drawn.domains()["grass"].index("wet")).all()
    assert len(drawn) == 150


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_log_weights_are_those_of_the_states(method):
    graph = random_graph(3, clauses=True)
    drawn = om.draws(named(graph), samples=20, chains=4, method=method, seed=2)
    for chain in range(4):
        for draw in range(20):
            expected = log_weight(graph, drawn.values[chain, draw].tolist())
            assert drawn.log_weight[chain, draw] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("samples", [3, 120])
@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_draws_of_chains_follow_the_distribution(samples, count):
    """Means of chains are independent; Student's scores of all models, squared and added."""
    scores = []
    for seed in range(count):
        graph = random_graph(seed, zeros=0.0)
        drawn = om.draws(named(graph), samples=samples, chains=64, method="gibbs", seed=seed)
        feature = np.random.default_rng(seed).uniform(-1, 1, size=len(states(graph)))
        places = np.moveaxis(drawn.values.astype(int), 2, 0)
        means = feature[np.ravel_multi_index(tuple(places), tuple(graph.cardinality))].mean(axis=1)
        expected = distribution(graph) @ feature
        scores.append((means.mean() - expected) / (means.std(ddof=1) / 8))
        assert drawn.verdict == "good"
    assert sum(score**2 for score in scores) < 1.1 * chi2.isf(FALSE_ALARM, len(scores))


def test_of_a_short_run_the_last_samples_are_kept_in_order(sprinkler):
    """More samples are taken than asked for; what is kept ends where a longer answer ends."""
    every = om.draws(sprinkler, samples=200, chains=32, method="gibbs", warm_up=100, seed=4)
    last = om.draws(sprinkler, samples=7, chains=32, method="gibbs", warm_up=100, seed=4)
    assert (last.values == every.values[:, -7:]).all()
    assert (last.log_weight == every.log_weight[:, -7:]).all()


def test_any_number_of_chains_gives_the_first_of_as_many_lanes(sprinkler):
    few = om.draws(sprinkler, samples=60, chains=70, method="gibbs", seed=1)
    assert few.values.shape == (70, 60, 4)
    assert len(np.unique(few.values.reshape(70, -1), axis=0)) == 70


def test_the_warm_up_is_not_among_the_draws(sprinkler):
    """With another warm-up, the same seed continues the same chains."""
    short = om.draws(sprinkler, samples=210, chains=32, method="gibbs", warm_up=100, seed=1)
    longer = om.draws(sprinkler, samples=200, chains=32, method="gibbs", warm_up=110, seed=1)
    assert (short.values[:, 10:] == longer.values).all()


def test_chains_that_cannot_move_are_said_to_be_frozen():
    equal = [[0.5, 0.0], [0.0, 0.5]]
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A", "B"], equal)])
    drawn = om.draws(model, samples=100, chains=32, method="gibbs", scan="systematic")
    assert drawn.verdict == "frozen"
    assert not drawn.converged
    assert drawn.about.warnings
    assert om.draws(model, samples=100, chains=32).verdict == "exact"


def test_programs_are_drawn_in_atoms():
    program = om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db")
    drawn = om.draws(program, samples=2000, chains=2, seed=1)
    known = om.marginals(program, method="exact")
    assert drawn.names == tuple(known)
    assert set(drawn.domains().values()) == {("false", "true")}
    for place, name in enumerate(drawn.names):
        p = float(known[name].probability[0])
        error = np.sqrt(p * (1 - p) / 4000)
        assert abs(drawn.values[:, :, place].mean() - p) < 6 * error  # 1e-8 each


def test_frames_have_a_row_per_state(sprinkler):
    drawn = om.draws(sprinkler, samples=4, chains=2, seed=1)
    frame = drawn.to_frame()
    assert frame.shape == (8, 4)
    assert frame.index.names == ["chain", "draw"]
    for place, name in enumerate(drawn.names):
        words = [drawn.value_names[place][value] for value in drawn.values[:, :, place].reshape(-1)]
        assert frame[name].tolist() == words


@pytest.mark.parametrize("method", ["to_xarray", "to_arviz", "to_frame"])
def test_a_missing_library_is_named_with_its_extra(sprinkler, method, monkeypatch):
    library, extra = {
        "to_xarray": ("xarray", "xarray"),
        "to_arviz": ("arviz", "arviz"),
        "to_frame": ("pandas", "frames"),
    }[method]
    monkeypatch.setitem(sys.modules, library, None)
    drawn = om.draws(sprinkler, samples=2, chains=1)
    with pytest.raises(InputError, match=rf"{library}: pip install 'orbitmc\[{extra}\]'"):
        getattr(drawn, method)()


def test_xarray_and_arviz_are_given_what_they_take(sprinkler, monkeypatch):
    """The libraries are stood in for: they get arrays by chain and draw."""
    given = {}
    monkeypatch.setitem(
        sys.modules, "xarray", SimpleNamespace(Dataset=lambda data, **more: {**data, **more})
    )
    arviz = SimpleNamespace(from_dict=lambda **groups: given.update(groups), __version__="0.20.0")
    monkeypatch.setitem(sys.modules, "arviz", arviz)
    drawn = om.draws(sprinkler, samples=3, chains=2)
    data = drawn.to_xarray()
    assert data["values"] == (("chain", "draw", "variable"), drawn.values)
    assert data["coords"] == {"variable": list(sprinkler.order)}
    drawn.to_arviz()
    assert given["posterior"]["rain"].shape == (2, 3)
    assert (given["posterior"]["rain"] == drawn.values[:, :, 2]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"standard_error": 0.1}, "give samples"),
        ({"checkpoint": "x.run"}, "checkpoint"),
        ({"chains": 0}, "chains is a number above 0"),
        ({"chains": True}, "chains is a number above 0"),
        ({"samples": 0}, "samples must be above 0"),
    ],
)
def test_what_makes_no_sense_is_refused(sprinkler, options, said):
    with pytest.raises(InputError, match=said):
        om.draws(sprinkler, **options)


def test_a_wrong_keyword_and_a_wrong_name_get_a_suggestion(sprinkler):
    with pytest.raises(TypeError, match="did you mean 'samples'"):
        om.draws(sprinkler, sampels=3)
    with pytest.raises(InputError, match="did you mean 'grass'"):
        om.draws(sprinkler, {"gras": "wet"})


def test_impossible_evidence_is_a_contradiction():
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A", "B"], [[1, 0], [0, 1]])])
    with pytest.raises(ContradictionError):
        om.draws(model, {"A": "x", "B": "y"})


def test_too_many_draws_are_refused_before_memory_is_taken(sprinkler):
    with pytest.raises(LimitError, match="GiB"):
        om.draws(sprinkler, samples=10**9, chains=64)
    with pytest.raises(LimitError, match="exact draws need"):
        om.draws(sprinkler, samples=100_000, chains=10, memory=18 * 10**6)


def test_an_early_end_gives_what_was_drawn_so_far(sprinkler):
    def stop(run):
        if run.recorded > 3:
            run.stop()

    drawn = om.draws(sprinkler, samples=10**5, chains=1, method="gibbs", watchers=[stop])
    assert drawn.about.interrupted
    assert 3 < drawn.values.shape[1] < 10**5
    assert drawn.values.shape[1] == drawn.log_weight.shape[1] == drawn.about.samples


def test_an_end_in_the_warm_up_gives_no_states(sprinkler):
    def stop(run):
        run.stop()

    drawn = om.draws(
        sprinkler, samples=10, chains=2, method="gibbs", warm_up=10**7, watchers=[stop]
    )
    assert drawn.values.shape == (2, 0, 4)
    assert not drawn.converged
    assert drawn.about.warnings == ("interrupted in the warm-up: no state was drawn",)


def test_more_than_a_byte_of_values_is_drawn_exactly():
    model = om.model({"A": [str(k) for k in range(300)]}, [(["A"], np.arange(300))])
    drawn = om.draws(model, samples=200, chains=1)
    assert drawn.values.max() > 255
    assert drawn.values.min() > 0


def test_the_states_of_a_run_do_not_depend_on_threads(sprinkler):
    ways = [
        om.draws(sprinkler, samples=60, chains=128, method="gibbs", seed=3, threads=threads)
        for threads in (1, 2)
    ]
    assert (ways[0].values == ways[1].values).all()
    assert drawing.SAMPLES == 1000


def test_a_timed_run_gives_the_states_that_there_was_time_for(sprinkler):
    many = 10**7
    drawn = om.draws(sprinkler, samples=many, chains=1, method="gibbs", seconds=0.3, memory=2**32)
    assert 0 < drawn.values.shape[1] < many
    assert drawn.about.samples == drawn.values.shape[1] == drawn.log_weight.shape[1]
    assert any(f"of {many:,} states" in warning for warning in drawn.about.warnings)
    assert not drawn.about.interrupted


def test_a_timed_run_ends_when_all_states_are_drawn(sprinkler):
    drawn = om.draws(sprinkler, samples=50, chains=64, method="gibbs", seconds=600)
    assert drawn.values.shape == (64, 50, 4)
    assert drawn.about.warnings == ()
    assert drawn.about.samples == 50


def test_independent_states_are_as_many_as_there_is_time_for():
    chain = om.ising([0.1] * 300, [(k, k + 1) for k in range(299)], 0.5)
    drawn = om.draws(chain, samples=10**5, chains=10, seconds=1.0, memory=2**32)
    assert drawn.verdict == "exact"
    assert 0 < drawn.values.shape[1] < 10**5
    assert any("of 1,000,000 states" in warning for warning in drawn.about.warnings)


def test_domains_are_those_of_the_model():
    model = om.read("examples/sprinkler.bif")
    drawn = om.draws(model, {"grass": "wet"}, samples=5, chains=2, seed=1)
    assert drawn.domains() == model.domains()
    assert drawn.only(["rain"]).domains() == {"rain": model.domains()["rain"]}
