"""The dual bound is never below the best weight, and often as low as that."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.exact import dual_bound
from orbitmc.exact.dual_bound import DualAscent
from orbitmc.exact.map import upper_bound
from orbitmc.exact.problem import prepare
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising_grid
from tests.exact.random_graphs import random_graph
from tests.oracle.brute_force import log_weight, states


def never():
    return False


def small_problems(seeds):
    """Problems with the weight of their best state, by listing all."""
    for seed in seeds:
        graph = random_graph(seed, variables=5 + seed % 3, zeros=0.15 * (seed % 3))
        best = max(log_weight(graph, state) for state in states(graph))
        if best == -np.inf:
            continue
        try:
            yield prepare(graph), best
        except ContradictionError:
            continue


def test_no_state_exceeds_the_bound_at_any_time():
    """Exactly: what rounding may lose is added."""
    compared, tight, helped = 0, 0, 0
    for problem, best in small_problems(range(400)):
        ascent = DualAscent(problem)
        first = ascent.bound
        assert first >= best
        for passes in (1, 3):
            looks = iter(range(10**6))
            ascent.improve(lambda looks=looks, passes=passes: next(looks) >= 3 * passes)
            assert ascent.bound >= best
        bound = ascent.improve(never)
        assert first >= bound >= best
        compared += 1
        tight += bound <= best + 1e-6
        helped += bound < first - 1e-3
    assert compared > 300
    assert tight > compared / 2
    assert helped > compared / 2


def test_moved_weights_are_those_of_the_same_states():
    for problem, _ in small_problems(range(40)):
        ascent = DualAscent(problem)
        ascent.improve(never)
        moved = ascent.moved()
        assert all(table.max() == 0.0 for table in moved.tables)
        rng = np.random.default_rng(1)
        differences = []
        for _ in range(20):
            state = [int(rng.integers(size)) for size in problem.sizes]
            before, after = (
                sum(t[tuple(state[v] for v in s)] for s, t in zip(p.scopes, p.tables, strict=True))
                + p.constant
                for p in (problem, moved)
            )
            assert np.isneginf(before) == np.isneginf(after)
            if before > -np.inf:
                differences.append(after - before)
        np.testing.assert_allclose(differences, 0.0, atol=1e-9)


@pytest.mark.parametrize("most", [1, 4, 16])
def test_buckets_of_moved_weights_bound_no_worse_and_still_bound(most):
    better = 0
    for problem, best in small_problems(range(120)):
        plain = upper_bound(problem, most)
        ascent = DualAscent(problem)
        ascent.improve(never)
        bound = upper_bound(ascent.moved(), most)
        assert best - 1e-9 <= bound <= ascent.bound + 1e-9
        better += bound < plain - 1e-6
    assert better > 0


def test_values_that_become_impossible_when_tables_are_joined_do_no_harm():
    """Each of two tables of a pair supports all values; together they do not."""
    compared = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        builder = Builder([3, 3, 2])
        for scope in ((0, 1), (0, 1), (1, 2), (0, 2)):
            table = rng.normal(size=[(3, 3, 2)[v] for v in scope])
            table[rng.random(table.shape) < 0.45] = -np.inf
            builder.add_factor(scope, table)
        graph = builder.build()
        best = max(log_weight(graph, state) for state in states(graph))
        try:
            problem = prepare(graph)
        except ContradictionError:
            continue
        ascent = DualAscent(problem)
        bound = ascent.improve(never)
        assert bound >= best
        assert upper_bound(ascent.moved()) >= best - 1e-9
        compared += best > -np.inf
    assert compared > 20


def test_weight_that_gets_lost_on_the_way_would_be_noticed(monkeypatch):
    """What factors gave away must be counted where it went, or the bound is below the truth."""
    tops = dual_bound._tops

    def forgetful(graph, message, of_variables, of_factors):
        lost = graph._replace(incident_start=np.zeros_like(graph.incident_start))
        tops(lost, message, of_variables, of_factors)

    monkeypatch.setattr(dual_bound, "_tops", forgetful)
    with pytest.raises(AssertionError):
        test_no_state_exceeds_the_bound_at_any_time()


def test_trees_are_tight():
    rng = np.random.default_rng(3)
    names = {f"n{k}": ["a", "b", "c"] for k in range(30)}
    edges = [
        ([f"n{k}", f"n{int(rng.integers(k))}"], rng.uniform(0.1, 2.0, (3, 3))) for k in range(1, 30)
    ]
    model = om.model(names, edges)
    ascent = DualAscent(prepare(model.graph))
    assert ascent.improve(never) == pytest.approx(om.best(model)[0].log_weight, abs=1e-6)


def test_a_grid_too_wide_for_one_elimination_is_proven():
    """Fields that all point one way: the bound meets the best state."""
    rng = np.random.default_rng(0)
    grid = ising_grid(20, 20, 0.3, rng.uniform(0.1, 1.0, size=(20, 20)))
    answer = om.best(grid, method="gibbs", samples=1)
    assert answer.proven
    assert set(answer[0].values()) == {"up"}


def test_time_that_is_over_stops_the_ascent():
    problem = prepare(ising_grid(6, 6, 0.4, 0.1).graph)
    ascent = DualAscent(problem)
    looks = []

    def is_over():
        looks.append(1)
        return len(looks) >= 4

    before = ascent.bound
    assert ascent.improve(is_over) <= before
    assert len(looks) <= 5
