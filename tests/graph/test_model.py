"""Conditioning is what the sum over states says, and evidence is understood or refused kindly."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.model import Model, model
from orbitmc.graph.transforms import condition, merge_factors
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    values = tuple(tuple(f"a{k}" for k in range(size)) for size in graph.cardinality)
    return Model(graph, names, values)


def log_sum(graph):
    logs = [brute_force.log_weight(graph, state) for state in brute_force.states(graph)]
    return np.logaddexp.reduce(logs)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_conditioning_keeps_the_weights_of_agreeing_states(zeros):
    rng = np.random.default_rng(4)
    for seed in range(40):
        graph = random_graph(seed, variables=(3, 6), zeros=zeros)
        observed = {
            int(v): int(rng.integers(graph.cardinality[v]))
            for v in rng.choice(graph.variables, int(rng.integers(0, 3)), replace=False)
        }
        free = [v for v in range(graph.variables) if v not in observed]
        agreeing = {
            tuple(state[v] for v in free): brute_force.log_weight(graph, state)
            for state in brute_force.states(graph)
            if all(state[v] == value for v, value in observed.items())
        }
        try:
            found = condition(graph, observed)
        except ContradictionError:
            assert np.isneginf(list(agreeing.values())).all()
            continue
        for state, expected in agreeing.items():
            assert brute_force.log_weight(found, state) == pytest.approx(expected, abs=1e-9)


def test_factors_over_the_same_variables_become_one():
    graph = random_graph(7, variables=(4, 5), clauses=False)
    once = merge_factors(graph)
    scopes = [frozenset(once.scope_of(f).tolist()) for f in range(once.factors)]
    assert len(scopes) == len(set(scopes))
    for state in brute_force.states(graph):
        assert brute_force.log_weight(once, state) == pytest.approx(
            brute_force.log_weight(graph, state), abs=1e-9
        )
    assert merge_factors(once) is once


def test_soft_evidence_is_a_likelihood():
    weather = model(
        {"rain": ["no", "yes"], "grass": ["dry", "wet"]},
        [(["rain"], [0.8, 0.2]), (["rain", "grass"], [[0.9, 0.1], [0.2, 0.8]])],
    )
    seen = weather.given({"grass": {"wet": 0.9, "dry": 0.3}})
    exact = brute_force.marginals(seen.graph)[0]
    prior = np.array([0.8, 0.2])
    likelihood = np.array([0.9 * 0.3 + 0.1 * 0.9, 0.2 * 0.3 + 0.8 * 0.9])
    expected = prior * likelihood / (prior * likelihood).sum()
    np.testing.assert_allclose(exact, expected, atol=1e-12)
    assert log_sum(seen.graph) == pytest.approx(np.log((prior * likelihood).sum()), abs=1e-12)


def test_observed_variables_are_remembered_in_order():
    graph = named(random_graph(3, variables=(5, 6)))
    seen = graph.given({"v1": "a0"}).given({"v3": 1})
    assert seen.order == graph.order
    assert set(seen.observed) == {"v1", "v3"}
    assert seen.names == tuple(n for n in graph.names if n not in seen.observed)
    assert seen.domains() == graph.domains()
    assert seen.given({"v1": "a0"}).names == seen.names
    with pytest.raises(ContradictionError, match=r"v1.*already observed to be 'a0'"):
        seen.given({"v1": "a1"})


def test_impossible_evidence_names_the_factor():
    pair = model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a", "b"], [[1, 0], [1, 1]])])
    with pytest.raises(ContradictionError, match="factor over a, b"):
        pair.given({"a": "0", "b": "1"})


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"HRPB": "LOW"}, "unknown variable 'HRPB'; did you mean 'HRBP'"),
        ({"HRBP": "HIHG"}, "values are LOW, NORMAL, HIGH; did you mean 'HIGH'?"),
        ({"hrbp": "LOW"}, "did you mean 'HRBP'"),
        ({"HRBP": 7}, "its values are LOW, NORMAL, HIGH"),
        ({"HRBP": [0.2, 0.8]}, "needs 3 weights, got 2"),
        ({"HRBP": [0.0, 0.0, 0.0]}, "not all 0"),
        ({"HRBP": [1.0, -1.0, 0.0]}, "not negative"),
        ({"HRBP": {"LOW": float("nan")}}, "finite"),
        ({"zzz": "LOW"}, "unknown variable 'zzz'$"),
    ],
)
def test_evidence_that_is_not_understood_gets_a_hint(evidence, message):
    heart = model({"HRBP": ["LOW", "NORMAL", "HIGH"]}, [(["HRBP"], [1, 1, 1])])
    with pytest.raises(InputError, match=message):
        heart.given(evidence)


def test_values_that_are_called_by_numbers_have_no_other_numbers():
    """Else 0 and 1 would both be the first face of a die, and nobody would notice."""
    dice = model({"die": ["1", "2", "3"], "coin": ["1", "tails"]}, [(["die"], [1, 1, 1])])
    assert dice.given({"die": 1}).observed["die"].value == 0
    assert dice.given({"coin": 0}).observed["coin"].value == 0
    with pytest.raises(InputError, match="unknown value 0 of variable 'die'; its values are 1, 2"):
        dice.given({"die": 0})


def test_two_values_of_one_name_are_refused():
    with pytest.raises(InputError, match="two values of variable 'a' are called 'x'"):
        model({"a": ["x", "y", "x"]}, [])


def test_names_must_fit_the_graph():
    graph = random_graph(3, variables=(3, 4), cardinalities=(2,))
    with pytest.raises(InputError, match="as many names"):
        Model(graph, ("a",), (("0", "1"),) * 3)
    with pytest.raises(InputError, match="two variables are called 'a'"):
        Model(graph, ("a", "b", "a"), (("0", "1"),) * 3)
    with pytest.raises(InputError, match="'b' has 2 values but 1 names"):
        Model(graph, ("a", "b", "c"), (("0", "1"), ("0",), ("0", "1")))
