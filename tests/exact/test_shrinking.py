"""Summing variables out leaves the sum of all weights as it was."""

import numpy as np
import pytest

from orbitmc.exact.contraction import eliminate_cheap_variables, marginals
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from tests.inference.questions.truth import hard_models
from tests.oracle.enumeration import log_weights_of_all


@pytest.mark.parametrize("most", [1, 6, 20, 1000])
def test_log_z_stays(most):
    left = []
    for seed, model, _ in hard_models(300):
        graph = eliminate_cheap_variables(model.graph, most)
        expected = np.logaddexp.reduce(log_weights_of_all(model.graph))
        found = np.logaddexp.reduce(log_weights_of_all(graph))
        assert found == pytest.approx(expected, abs=1e-9), seed
        left.append(graph.variables)
    assert (max(left) == 0) == (most == 1000)


def test_no_table_is_larger_than_allowed():
    graph = eliminate_cheap_variables(ising_grid(12, 12, 0.3, 0.1).graph, 2**8)
    assert 20 < graph.variables < 80
    assert np.diff(graph.scope_start).max() <= 7  # one was summed out of a table of eight
    whole = marginals(ising_grid(12, 12, 0.3, 0.1).graph, wanted=[])
    assert marginals(graph, wanted=[]).log_z == pytest.approx(whole.log_z, rel=1e-12)


def test_long_clauses_are_left_alone():
    builder = Builder([2] * 9)
    builder.add_clause(range(9), [1] * 9, 1.5)
    graph = builder.build()
    assert eliminate_cheap_variables(graph) is graph
