"""A contradiction is explained by the constraints that make it, and by no others."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.feasibility import conflict, contradicts
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


def pigeons(count, bystanders):
    """More pigeons than holes, each in a hole, none together; other constraints around them."""
    builder = Builder([count - 1] * count + [2] * bystanders)
    different = np.where(np.eye(count - 1) > 0, -np.inf, 0.0)
    for variable in range(count, count + bystanders - 1):
        builder.add_clause([variable, variable + 1], [1, 1], np.inf)
    for first in range(count):
        for second in range(first):
            builder.add_factor([first, second], different)
    return builder.build()


def test_only_the_constraints_that_clash_are_named():
    graph = pigeons(4, 30)
    core = conflict(graph)
    assert len(core) == 6
    assert {variable for factor in core for variable in graph.scope_of(factor)} == {0, 1, 2, 3}


def test_a_part_that_is_too_hard_does_not_hide_or_fake_a_conflict():
    clash = pigeons(4, 0)
    builder = Builder([11] * 12 + [2, 2] + [3] * 4)
    different = np.where(np.eye(11) > 0, -np.inf, 0.0)
    for first in range(12):
        for second in range(first):
            builder.add_factor([first, second], different)
    builder.add_clause([12, 13], [1, 1], np.inf)
    hard = 12 * 11 // 2
    assert conflict(builder.build()) is None
    for factor in range(clash.factors):
        scope = [14 + int(variable) for variable in clash.scope_of(factor)]
        builder.add_factor(scope, clash.table_values(factor))
    core = conflict(builder.build())
    assert core.tolist() == list(range(hard, hard + 6))


def test_no_constraint_of_a_conflict_can_be_left_out():
    found = 0
    for seed in range(60):
        graph = with_unit_clauses(random_graph([seed, 2], variables=(3, 5), zeros=0.3), seed)
        impossible = not any(
            np.isfinite(brute_force.log_weight(graph, state)) for state in brute_force.states(graph)
        )
        core = conflict(graph)
        assert (core is not None) == impossible
        if core is not None:
            found += 1
            assert contradicts(graph, core)
            for factor in core:
                assert not contradicts(graph, core[core != factor])
    assert 10 < found < 60


def with_unit_clauses(graph, seed):
    """Force two variables to random values."""
    rng = np.random.default_rng(seed)
    builder = Builder(graph.cardinality)
    for factor in range(graph.first_clause):
        builder.add_factor(graph.scope_of(factor).tolist(), graph.table_values(factor))
    for variable in rng.choice(graph.variables, 2, replace=False):
        builder.add_clause([variable], [rng.integers(graph.cardinality[variable])], np.inf)
    return builder.build()


@pytest.mark.parametrize("method", ["exact", "gibbs", "mcsat"])
def test_answers_say_which_constraints_contradict(method):
    equal, differ = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    model = om.model(
        {name: ["0", "1"] for name in "abcd"},
        [(["a", "b"], equal), (["b", "c"], equal), (["c", "d"], equal), (["a", "c"], differ)],
    )
    with pytest.raises(ContradictionError) as caught:
        om.marginals(model, method=method, samples=10)
    assert "the constraints on (a, b); (b, c); (a, c) contradict each other" in str(caught.value)
