"""The best states of models and programs: proven, in order, or the best that was found."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import orbitmc as om
from orbitmc._numba.jit import Stopwatch
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact.map import Neighbourhoods
from orbitmc.graph.model import Model
from orbitmc.inference import _best as asking
from orbitmc.inference import cache
from orbitmc.sampling.initialization import cool_states
from tests.oracle.brute_force import log_weight, states
from tests.oracle.random_models import random_graph


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(f"x{k}" for k in range(n)) for n in graph.cardinality))


def by_listing(model):
    """Log-weights of all possible states, heaviest first."""
    every = (log_weight(model.graph, state) for state in states(model.graph))
    return sorted((weight for weight in every if weight > -np.inf), reverse=True)


def weight_of(model, state):
    return log_weight(model.graph, numbers_of(model, state))


@pytest.fixture(params=["kept", "anew"])
def way(request, monkeypatch):
    """Small models are prepared once and kept; all others are planned anew."""
    if request.param == "anew":
        monkeypatch.setattr(asking, "_solve_from_cache", lambda *question: None)
    return request.param


@pytest.mark.parametrize("block", range(6))
def test_proven_states_are_those_of_an_exhaustive_search(block, way):
    for seed in range(50 * block, 50 * (block + 1)):
        model = named(random_graph(seed, variables=(2, 7), zeros=0.25 * (seed % 2)))
        expected = by_listing(model)
        k = (1, 3, 10**6)[seed % 3]
        found = om.best(model, k=k)
        assert found.proven
        assert len(found) == min(k, len(expected))
        np.testing.assert_allclose([one.log_weight for one in found], expected[:k], atol=1e-9)
        assert found.bound == found[0].log_weight
        assert len({tuple(one.items()) for one in found}) == len(found)
        for one in found[:20]:
            assert weight_of(model, one) == pytest.approx(one.log_weight, abs=1e-9)


def test_ties_come_in_the_order_of_their_values_and_none_is_left_out(way):
    """Weights are whole numbers, so that many states weigh exactly the same."""
    tied = 0
    for seed in range(300):
        model = named(with_whole_weights(seed))
        every = sorted((-log_weight(model.graph, s), tuple(s)) for s in states(model.graph))
        possible = [(weight, state) for weight, state in every if weight < np.inf]
        found = om.best(model, k=10**6)
        told = [(-one.log_weight, numbers_of(model, one)) for one in found]
        assert told == possible
        few = om.best(model, k=4)
        assert [-one.log_weight for one in few] == [weight for weight, _ in possible[:4]]
        ranked = [(-one.log_weight, numbers_of(model, one)) for one in few]
        assert ranked == sorted(ranked)
        assert set(ranked) <= set(possible)
        tied += len({weight for weight, _ in possible[:4]}) < len(possible[:4])
    assert tied > 200


def with_whole_weights(seed):
    """A graph whose log-weights are small whole numbers, and some of them are forbidden."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=int(rng.integers(2, 6)))
    builder = om.graph.builder.Builder(sizes)
    for _ in range(int(rng.integers(1, 6))):
        scope = rng.permutation(len(sizes))[:2]
        table = rng.integers(-1, 2, size=sizes[scope]).astype(float)
        table[rng.random(table.shape) < 0.1] = -np.inf
        table.flat[0] = 0.0
        builder.add_factor(scope.tolist(), table)
    return builder.build()


def numbers_of(model, state):
    pairs = zip(model.names, model.values, strict=True)
    return tuple(values.index(state[name]) for name, values in pairs)


@pytest.mark.parametrize("block", range(3))
def test_evidence_of_any_kind_is_weighed(block, way):
    """Asked three times of the same model: values differ, what is observed is the same."""
    impossible = 0
    for seed in range(40 * block, 40 * (block + 1)):
        rng = np.random.default_rng(seed)
        model = named(random_graph(seed, variables=(3, 7), zeros=0.25 * (seed % 2)))
        hard, soft = rng.permutation(model.graph.variables)[:2].tolist()
        for _ in range(3):
            value = int(rng.integers(model.graph.cardinality[hard]))
            weights = rng.random(int(model.graph.cardinality[soft]))
            evidence = {f"v{hard}": f"x{value}", f"v{soft}": weights.tolist()}
            expected = sorted(
                (
                    log_weight(model.graph, state) + math.log(weights[state[soft]])
                    for state in states(model.graph)
                    if state[hard] == value and log_weight(model.graph, state) > -np.inf
                ),
                reverse=True,
            )
            if not expected:
                impossible += 1
                with pytest.raises(ContradictionError):
                    om.best(model, evidence)
                continue
            found = om.best(model, evidence, k=3)
            assert found.proven
            weights_found = [one.log_weight for one in found]
            np.testing.assert_allclose(weights_found, expected[:3], atol=1e-9)
            for one in found:
                numbers = numbers_of(model, one)
                weight = log_weight(model.graph, numbers) + math.log(weights[numbers[soft]])
                assert weight == pytest.approx(one.log_weight, abs=1e-9)
                assert one[f"v{hard}"] == f"x{value}"
    assert impossible < 60


def test_the_same_question_again_plans_nothing(monkeypatch):
    model = named(random_graph(4, variables=(5, 6)))
    planned, plan = [], cache.template
    monkeypatch.setattr(cache, "template", lambda *a, **b: planned.append(a) or plan(*a, **b))
    for value in ("x0", "x1", "x0"):
        om.best(model, {"v1": value}, k=2)
    assert len(planned) == 1
    om.best(model, {"v2": "x0"})
    assert len(planned) == 2


def test_evidence_is_part_of_every_state():
    model = named(random_graph(4, variables=(5, 6)))
    found = om.best(model, {"v1": "x1"}, k=4)
    assert all(state["v1"] == "x1" for state in found)
    assert list(found[0]) == list(model.names)
    full = [log_weight(model.graph, state) for state in states(model.graph) if state[1] == 1]
    np.testing.assert_allclose(
        [one.log_weight for one in found], sorted(full, reverse=True)[:4], atol=1e-9
    )


def test_soft_evidence_counts():
    model = om.model({"a": ["x", "y"]}, [(["a"], [3, 1])])
    assert om.best(model)[0]["a"] == "x"
    assert om.best(model, {"a": {"x": 1, "y": 10}})[0]["a"] == "y"


def test_the_weight_and_log_z_give_the_probability():
    model = om.read("examples/sprinkler.bif")
    log_z = om.marginals(model, {"grass": "wet"}, method="exact").about.log_z
    every = om.best(model, {"grass": "wet"}, k=10**6)
    assert sum(math.exp(one.log_weight - log_z) for one in every) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(k, marks=pytest.mark.slow) for k in range(6, 300))]
)
def test_a_search_finds_what_elimination_proves_on_small_models(seed):
    model = named(random_graph(seed, variables=(4, 8), zeros=0.2 * (seed % 2)))
    proven = om.best(model, k=3)
    found = om.best(model, k=3, method="gibbs", samples=3, seed=seed)
    assert found.about.method == "annealing"
    assert found[0].log_weight == pytest.approx(proven[0].log_weight, abs=1e-9)
    assert found.bound >= proven[0].log_weight - 1e-9
    for one in found:
        assert weight_of(model, one) == pytest.approx(one.log_weight, abs=1e-9)
    weights = [one.log_weight for one in found]
    assert weights == sorted(weights, reverse=True)
    assert len({tuple(one.items()) for one in found}) == len(found) > 1


def test_a_search_is_repeatable_and_proves_what_reaches_the_bound():
    model = om.ising_grid(6, 6, 0.5, 0.1)
    first, again = (om.best(model, method="gibbs", samples=2, seed=3) for _ in range(2))
    assert first.states == again.states
    assert first.proven
    assert set(first[0].values()) == {"up"}


def test_a_search_without_a_proof_says_so(monkeypatch):
    monkeypatch.setattr(asking, "_find_bound", lambda problem, clock: 1e6)
    found = om.best(om.ising_grid(4, 4, 0.5, 0.1), method="gibbs", samples=1)
    assert not found.proven
    assert found.bound == 1e6
    assert "best found" in str(found)


def test_too_large_a_model_is_searched_and_says_why():
    rng = np.random.default_rng(2)
    model = om.ising_grid(14, 14, 0.3, rng.normal(size=(14, 14)))
    found = om.best(model, samples=2, seconds=None, memory=2**18)
    assert found.about.method == "annealing"
    assert "exact elimination" in found.about.reason
    assert found.bound >= found[0].log_weight
    with pytest.raises(LimitError):
        om.best(model, method="exact", memory=2**18)


def test_hard_constraints_are_kept_by_a_search():
    pairs = [(a, b) for a in range(8) for b in range(a)]
    differ = 1.0 - np.eye(4)
    colours = {f"n{k}": ["r", "g", "b", "y"] for k in range(8)}
    edges = [(f"n{a}", f"n{b}") for a, b in pairs if a - b in (1, 3)]
    likes = [([f"n{k}"], [1 + k % 4, 1, 1, 2]) for k in range(8)]
    model = om.model(colours, [*[(list(edge), differ) for edge in edges], *likes])
    found = om.best(model, k=3, method="gibbs", samples=3)
    assert all(state[a] != state[b] for state in found for a, b in edges)
    assert found[0].log_weight == pytest.approx(om.best(model)[0].log_weight)


def test_a_search_crosses_constraints_that_tie_variables_together():
    """Copies of one coin must agree: no single change is possible, all together are."""
    names = {f"n{k}": ["x", "y"] for k in range(12)}
    ties = [([f"n{k}", f"n{k + 1}"], np.eye(2)) for k in range(11)]
    loops = [([f"n{k}", f"n{k + 3}"], [[2, 1], [1, 2]]) for k in range(9)]
    model = om.model(names, [*ties, *loops, *(([n], [1, 1 + k % 2]) for k, n in enumerate(names))])
    found = om.best(model, method="gibbs", samples=1)
    assert set(found[0].values()) == {"y"}
    assert found.proven


def test_a_contradiction_is_explained():
    model = om.model({"a": ["x", "y"]}, [(["a"], [1, 0]), (["a"], [0, 1])])
    for method in ("exact", "gibbs"):
        with pytest.raises(ContradictionError, match="constraint"):
            om.best(model, method=method)


def test_weights_beyond_sums_of_doubles_are_kept_as_hard():
    builder = om.graph.builder.Builder([2, 2])
    builder.add_factor([0, 1], [[0.0, 1e16], [0.0, 0.0]])
    builder.add_factor([0], [0.0, 1.0])
    found = om.best(named(builder.build()))
    assert dict(found[0]) == {"v0": "x0", "v1": "x1"}
    assert "too far apart" in found.about.warnings[0]


def test_fewer_states_than_asked_for_are_said():
    model = om.model({"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[1, 0], [0, 2]])])
    found = om.best(model, k=5)
    assert [dict(one) for one in found] == [{"a": "y", "b": "y"}, {"a": "x", "b": "x"}]
    assert found.about.warnings == ("only 2 states are possible",)


def test_nothing_free_leaves_one_state():
    model = om.model({"a": ["x", "y"]}, [(["a"], [1, 3])])
    found = om.best(model, {"a": "x"}, k=2)
    assert [dict(one) for one in found] == [{"a": "x"}]
    assert found[0].log_weight == pytest.approx(0.0)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_k_is_a_number_of_states(k):
    with pytest.raises(InputError, match="k is how many states"):
        om.best(om.ising_grid(2, 2, 0.3), k=k)


def test_what_makes_no_sense_is_refused():
    model = om.ising_grid(2, 2, 0.3)
    with pytest.raises(InputError, match="not by mcsat"):
        om.best(model, method="mcsat")
    with pytest.raises(InputError, match="did you mean 's0_0'"):
        om.best(model, query=["s0_0 "])
    with pytest.raises(KeyError, match="did you mean"):
        om.best(model)[0]["s0_O"]
    with pytest.raises(InputError, match="about a model or a program"):
        om.best("model.bif")


def test_a_query_reports_some_variables():
    found = om.best(om.ising_grid(2, 2, 0.3, 0.2), query=["s1_1", "s0_0"], k=2)
    assert list(found[0]) == ["s1_1", "s0_0"]


def test_answers_are_tables_frames_json_and_csv():
    found = om.best(om.read("examples/sprinkler.bif"), {"grass": "wet"}, k=2)
    frame = found.to_frame()
    assert frame["grass"].tolist() == ["wet", "wet"]
    assert frame["log_weight"].tolist() == [one.log_weight for one in found]
    held = json.loads(found.to_json())
    assert held["proven"] is True
    assert held["states"][1]["values"] == dict(found[1])
    lines = found.to_csv().splitlines()
    assert lines[0] == "rank,log_weight,season,sprinkler,rain,grass"
    assert lines[1].endswith(",wet")
    assert "log weight" in str(found)


def test_a_program_is_told_in_atoms():
    asked = om.read_logic("examples/smokers.mln", "examples/smokers.db", query="Smokes,Cancer")
    found = om.best(asked, k=2)
    plain = om.best(asked.model, k=2)
    assert [one.log_weight for one in found] == [one.log_weight for one in plain]
    assert set(found[0].values()) <= {"true", "false"}
    for name in set(found[0]) & set(plain[0]):
        assert found[0][name] == plain[0][name].lower()
    assert list(om.best(asked, query="Smokes(Bob)")[0]) == ["Smokes(Bob)"]


def test_ctrl_c_gives_the_best_states_so_far(monkeypatch):
    """Wherever it is heard: here, while a state is being improved."""

    def pressed(self, state):
        raise KeyboardInterrupt

    monkeypatch.setattr(Neighbourhoods, "improve", pressed)
    found = om.best(om.ising_grid(3, 3, 0.4, 0.1), k=2, method="gibbs", seconds=60)
    assert found.about.interrupted
    assert len(found) == 2


def test_a_search_ends_in_its_time_whatever_it_is_doing(monkeypatch):
    """Every look at the clock takes a second; planning and the bound count, too."""
    looks = []

    def so_far(watch):
        looks.append(watch)
        return float(len(looks))

    monkeypatch.setattr(Stopwatch, "so_far", so_far)
    monkeypatch.setattr(asking, "_find_bound", lambda problem, clock: 1e6)
    shown = []
    found = om.best(
        om.ising_grid(8, 8, 0.4, 0.1),
        method="gibbs",
        seconds=30,
        progress=lambda share, words: shown.append((share, words)),
    )
    assert not found.proven
    assert 30 <= len(looks) <= 60  # once every step of a search, and once before each it may skip
    assert all(0 <= share <= 1 for share, _ in shown)
    assert shown[-1][1].startswith("log weight ")


def test_chains_cool_no_further_when_time_is_over():
    graph = om.ising_grid(30, 30, 0.4, 0.1).graph
    looks = iter(range(10**6))
    cooled = cool_states(graph, seed=1, lanes=32, is_over=lambda: next(looks) >= 3)
    rounds = [next(cooled) for _ in range(12)]  # the last one would take 2 ** 11 sweeps nine times
    assert all(states.shape == (900, 32) for states in rounds)
    assert next(looks) < 3 + 9 * 12
