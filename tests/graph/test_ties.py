"""The factor that keeps a variable from changing alone is found, and no other one."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.graph.feasibility import find_tie


def random_ties(seed):
    """A few variables, tables with zeros and hard clauses, and a state that they allow."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=4)
    state = (rng.random(4) * sizes).astype(np.uint8)
    builder = Builder(sizes)
    for _ in range(4):
        scope = rng.choice(4, 2, replace=False)
        if rng.random() < 0.5:
            table = np.where(rng.random(sizes[scope]) < 0.6, -np.inf, 0.0)
            table[tuple(state[scope])] = 0.3
            builder.add_factor(scope, table)
        else:
            satisfying = state[scope].copy()
            if rng.random() < 0.5:
                satisfying[1] = (satisfying[1] + 1) % sizes[scope[1]]
            builder.add_clause(scope, satisfying, np.inf)
    return builder.build(), state


@pytest.mark.parametrize("seed", range(300))
def test_a_tie_forbids_every_other_value_and_is_found_if_there_is_one(seed):
    graph, state = random_ties(seed)
    for variable in range(graph.variables):
        forbids = []
        for factor in graph.factors_of(variable).tolist():
            scope, table = graph.scope_of(factor).tolist(), graph.full_table(factor)
            entry = [state[v] for v in scope]
            others = []
            for value in set(range(graph.cardinality[variable])) - {int(state[variable])}:
                entry[scope.index(variable)] = value
                others.append(table[tuple(entry)])
            if np.isneginf(others).all():
                forbids.append(factor)
        tie = find_tie(graph, variable, state[:, None])
        assert tie in forbids if forbids else tie is None


def test_an_answer_says_what_freezes_a_variable_and_what_would_free_it():
    model = om.model(
        {"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]},
        [(["a"], [1, 2]), (["a", "b"], [[1, 0], [0, 1]]), (["b", "c"], [[1, 2], [3, 1]])],
    )
    answer = om.marginals(model, kernel=om.kernels.gibbs(), samples=20, seed=1)
    words = "a cannot change alone: the constraint on (a, b) forbids it"
    assert [remark for remark in answer.about.warnings if remark.startswith(words)]
    free = om.marginals(model, kernel=om.kernels.low_width(model.graph), samples=20, seed=1)
    assert not [remark for remark in free.about.warnings if "alone" in remark]
