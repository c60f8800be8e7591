"""Elimination that is asked about some variables gives their marginals, and does no more."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.exact.contraction import marginals
from orbitmc.exact.plan import plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.models._ising import ising_grid
from tests.exact.random_graphs import force_large, random_graph
from tests.oracle.enumeration import enumerate_states


@pytest.mark.parametrize("memory", [2**30, 1])
@pytest.mark.parametrize("seed", range(20))
def test_wanted_marginals_agree_with_the_sum_over_states(seed, memory):
    graph = random_graph(seed, variables=7)
    try:
        expected = enumerate_states(graph)
    except ContradictionError:
        with pytest.raises(ContradictionError):
            marginals(graph, wanted=[0])
        return
    plan = predict(graph, memory=memory)
    for wanted in ([], [0], [6, 2], [3, 0, 5]):
        found = marginals(graph, plan=plan, memory=2**30, wanted=wanted)
        assert found.log_z == pytest.approx(expected.log_z, abs=1e-10)
        assert len(found.marginals) == len(wanted)
        for variable, marginal in zip(wanted, found.marginals, strict=True):
            np.testing.assert_allclose(marginal, expected.marginals[variable], atol=1e-10)


def test_wanted_marginals_with_held_variables_and_messages_computed_twice(monkeypatch):
    force_large(monkeypatch)
    graph = ising_grid(4, 5, 0.4, 0.2).graph
    plan = plan_holding(prepare(graph), (3, 7), memory=1, seconds=1)
    assert len(plan.steps.regions) > 1
    whole = marginals(graph, plan=plan)
    for wanted in ([3], [0, 19], [7, 8]):
        found = marginals(graph, plan=plan, wanted=wanted)
        assert found.log_z == whole.log_z
        for variable, marginal in zip(wanted, found.marginals, strict=True):
            assert (marginal == whole.marginals[variable]).all()
