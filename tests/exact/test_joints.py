"""Joint tables by elimination equal sums over all states."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, LimitError
from orbitmc.exact.joints import joints, mean_log_weight, tie_scopes
from orbitmc.exact.plan import plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from tests.inference.questions.truth import distribution, hard_models, over
from tests.oracle.enumeration import log_weights_of_all


@pytest.mark.parametrize("memory", [2**30, 1])
def test_joints_agree_with_the_sum_over_states(memory):
    for seed, model, truth in hard_models(300):
        rng = np.random.default_rng(seed)
        scopes = [tuple(rng.permutation(5)[: rng.integers(1, 4)].tolist()) for _ in range(2)]
        plan = predict(tie_scopes(model.graph, scopes), memory=memory)
        for scope, found in zip(scopes, joints(plan, scopes), strict=True):
            np.testing.assert_allclose(found, over(truth, scope), atol=1e-9, err_msg=f"{seed}")


def test_several_joints_share_one_elimination():
    graph = ising_grid(3, 3, 0.5, 0.3).graph
    scopes = [(0, other) for other in range(1, 9)]
    found = joints(predict(tie_scopes(graph, scopes)), scopes)
    for scope, table in zip(scopes, found, strict=True):
        np.testing.assert_allclose(table, over(distribution(graph), scope), atol=1e-12)


@pytest.mark.parametrize("cutset", [(3, 7), (0, 8), (0, 1, 8)])
@pytest.mark.parametrize("memory", [2**30, 1])
def test_held_variables_may_be_among_those_that_are_asked(cutset, memory):
    graph = tie_scopes(ising_grid(3, 3, 0.4, 0.2).graph, [(0, 8, 1)])
    plan = plan_holding(prepare(graph), cutset, memory=memory, seconds=1)
    truth = over(distribution(graph), (0, 8, 1))
    np.testing.assert_allclose(joints(plan, [(0, 8, 1)])[0], truth, atol=1e-12)


@pytest.mark.parametrize("memory", [2**30, 1])
def test_mean_log_weights_are_sums_over_all_states(memory):
    """With little memory, messages are made twice and variables are held."""
    for seed, model, _ in hard_models(30):
        logs = log_weights_of_all(model.graph)
        logs = logs[np.isfinite(logs)]
        chances = np.exp(logs - logs.max())
        found = mean_log_weight(predict(model.graph, memory=memory))
        assert found == pytest.approx(chances @ logs / chances.sum(), abs=1e-9), seed


def test_without_a_tie_variables_may_not_meet():
    """What ties variables is needed: a plan of the bare graph has no bucket with both ends."""
    with pytest.raises(StopIteration):
        joints(predict(ising_grid(1, 8, 0.4).graph), [(0, 7)])


def test_a_table_that_is_too_large_is_refused():
    with pytest.raises(LimitError, match="entries"):
        tie_scopes(Builder(np.full(30, 2)).build(), [tuple(range(30))])


def test_a_contradiction_is_refused():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], np.array([[0.0, -np.inf], [-np.inf, 0.0]]))
    builder.add_factor([0, 1], np.array([[-np.inf, 0.0], [0.0, -np.inf]]))
    graph = tie_scopes(builder.build(), [(0, 1)])
    with pytest.raises(ContradictionError):
        joints(predict(graph), [(0, 1)])


@pytest.mark.parametrize("memory", [2**30, 1])
def test_the_mean_log_weight_is_that_of_all_states(memory):
    for seed, model, truth in hard_models(300):
        logs, p = log_weights_of_all(model.graph), truth.reshape(-1)
        found = mean_log_weight(predict(model.graph, memory=memory))
        assert found == pytest.approx(p[p > 0] @ logs[p > 0], abs=1e-9), seed


def test_held_variables_share_in_the_mean_log_weight():
    graph = ising_grid(3, 4, 0.5, 0.2).graph
    logs = log_weights_of_all(graph)
    weights = np.exp(logs - logs.max())
    plan = plan_holding(prepare(graph), (3, 7), memory=2**30, seconds=1)
    expected = weights @ logs / weights.sum()
    assert mean_log_weight(plan) == pytest.approx(expected, abs=1e-9)
