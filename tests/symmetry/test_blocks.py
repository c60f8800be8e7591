"""Blocks are disjoint, alike, cheap to move, and nearly as good as brute force finds them."""

import itertools

import numpy as np
import pytest

from orbitmc._util.arrays import lengths
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.models._ising import ising, ising_grid, potts_grid
from orbitmc.symmetry.blocks import blocks, fields, moved
from orbitmc.symmetry.exchangeability import budget_for, links, table_kinds
from tests.oracle.brute_force import states
from tests.oracle.moved_factors import members_of, moved_by_definition
from tests.oracle.random_models import random_graph

GREEDY_GAP, MEAN_GAP = 2.0, 1.25
"""Brute force over all subsets found at most this many times more members per moved factor on these
models, and on average; nothing moved counts as one."""


def random_structured(seed, variables=8):
    """Binary variables with few kinds of fields and couplings, a symmetric clause and a table."""
    rng = np.random.default_rng(seed)
    builder = Builder(np.full(variables, 2))
    for variable in range(variables):
        if rng.random() < 0.6:
            builder.add_factor([variable], [0.0, rng.choice([-0.5, 0.3, 0.4])])
    for pair in itertools.combinations(range(variables), 2):
        if rng.random() < 0.35:
            builder.add_factor(pair, [0.5, -0.5, -0.5, 0.5])
    several = rng.choice(variables, size=4, replace=False).tolist()
    builder.add_clause(several, [1, 1, 1, 0], 1.0)
    builder.add_factor(several[:3], np.arange(4.0)[np.indices((2, 2, 2)).sum(axis=0)])
    return builder.build()


@pytest.mark.parametrize("seed", range(12))
def test_moved_factors_are_those_some_permutation_changes(seed):
    graph = random_graph(seed, variables=(3, 6), cardinalities=(2,) if seed % 2 else (3,))
    rng = np.random.default_rng(seed)
    members = rng.choice(graph.variables, size=int(rng.integers(1, 4)), replace=False).tolist()
    assert moved(graph, members).tolist() == moved_by_definition(graph, members)


@pytest.mark.parametrize("seed", range(12))
def test_symmetric_factors_that_hold_all_members_are_not_moved(seed):
    graph = random_structured(seed, variables=6)
    for size in (2, 3):
        for members in itertools.combinations(range(6), size):
            assert moved(graph, members).tolist() == moved_by_definition(graph, members)


def test_a_factor_that_ignores_a_variable_is_not_moved_by_it():
    builder = Builder([2, 2, 2])
    builder.add_factor([0, 1], [[0.0, 1.0], [0.0, 1.0]])
    builder.add_factor([0], [2.0, 2.0])
    builder.add_clause([0, 2], [1, 1], 0.0)
    graph = builder.build()
    assert moved(graph, [0, 2]).tolist() == []
    assert moved(graph, [0, 1]).tolist() == [0]
    assert members_of(blocks(graph, [0, 0, 0], max_moved=0)) == [[0, 2]]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [0, 3, 8, 100])
def test_blocks_are_disjoint_alike_and_move_few_factors(seed, most):
    graph = (
        random_structured(seed, variables=12) if seed % 2 else random_graph(seed, variables=(6, 12))
    )
    rng = np.random.default_rng(seed)
    orbits = rng.integers(-1, 3, graph.variables)
    found = members_of(blocks(graph, orbits, max_moved=most))
    everyone = [variable for block in found for variable in block]
    assert len(set(everyone)) == len(everyone)
    for block in found:
        assert len(block) >= 2
        assert len(set(orbits[block])) == 1
        assert orbits[block[0]] >= 0
        assert len(set(graph.cardinality[block])) == 1
        assert len(moved_by_definition(graph, block)) <= most


def best_ratio(graph, orbit, most):
    """Members per moved factor of the best subset, by trying all of them."""
    known = links(graph)
    counts = [
        (size, len(moved(graph, members, connections=known)))
        for size in range(2, len(orbit) + 1)
        for members in itertools.combinations(orbit, size)
    ]
    return max((size / max(1, count) for size, count in counts if count <= most), default=0.0)


@pytest.mark.parametrize("most", [4, 8, 30])
def test_the_first_block_is_nearly_the_best_of_all_subsets(most):
    gaps = []
    for seed in range(20):
        graph = random_structured(seed)
        best = best_ratio(graph, range(8), most)
        found = members_of(blocks(graph, np.zeros(8, int), max_moved=most, slack=0))
        ratios = [len(block) / max(1, len(moved(graph, block))) for block in found]
        gaps.append(best / max(ratios) if best else 1.0)
    assert min(gaps) >= 1 - 1e-12
    assert max(gaps) <= GREEDY_GAP
    assert np.mean(gaps) <= MEAN_GAP


@pytest.mark.parametrize("seed", range(5))
def test_slack_buys_larger_blocks_at_nearly_the_best_ratio(seed):
    rng = np.random.default_rng(seed)
    edges = np.unique(np.sort(rng.integers(0, 200, (1500, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    graph = ising(rng.normal(size=200), edges, rng.normal(size=len(edges))).graph
    strict, loose = (
        members_of(blocks(graph, np.zeros(200, int), max_moved=300, slack=slack))
        for slack in (0, 0.2)
    )
    # both begin with the same variable and grow in the same way
    first, larger = strict[0], loose[0]
    assert larger[: len(first)] == first
    ratios = [len(block) / len(moved(graph, block)) for block in (first, larger)]
    assert ratios[1] >= 0.8 * ratios[0]
    assert len(loose) < len(strict)


def test_a_budget_follows_from_the_acceptance():
    # a normal table: 2 * Phi(-1 / 2) = 0.6170751, 2 * Phi(-1) = 0.3173105
    assert budget_for(0.6170751) == pytest.approx(4, rel=1e-6)
    assert budget_for(0.3173105) == pytest.approx(16, rel=1e-6)
    assert budget_for(1) == 0
    for wrong in (0, 1.1):
        with pytest.raises(InputError, match="acceptance"):
            budget_for(wrong)


def test_a_pair_moves_all_its_factors_but_the_one_between():
    pairs = list(itertools.combinations(range(6), 2))
    clique = ising(np.zeros(6), pairs, np.linspace(0.4, 0.6, 15)).graph
    assert len(moved(clique, [0, 1])) == 8
    assert members_of(blocks(clique, np.zeros(6, int), max_moved=7)) == []
    assert [len(block) for block in members_of(blocks(clique, np.zeros(6, int), max_moved=15))] == [
        6
    ]
    joined = ising(np.zeros(2), [[0, 1]], 0.5).graph
    assert members_of(blocks(joined, [0, 0], max_moved=0)) == [[0, 1]]


def test_variables_with_equal_couplings_to_the_same_neighbours_share_a_block():
    """Two kinds of leaves, mixed, on two hubs; all have the same degree and fields of their own."""
    fields = np.linspace(0.0, 0.1, 14)
    kind = np.array([0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0])
    links = [(2 + leaf, hub) for leaf, hub in enumerate(kind.tolist())]
    graph = ising(fields, links, 0.5).graph
    orbit = np.array([-1, -1] + [0] * 12)
    found = members_of(blocks(graph, orbit, max_moved=6))
    assert sorted(sorted(block) for block in found) == [
        (2 + np.flatnonzero(kind == one)).tolist() for one in (0, 1)
    ]
    assert [len(moved(graph, block)) for block in found] == [6, 6]  # the fields


def test_one_symmetric_clause_over_everybody_is_never_moved():
    variables = 300
    builder = Builder(np.full(variables, 2))
    builder.add_clause(list(range(variables)), [1] * variables, 2.0)
    graph = builder.build()
    found = members_of(blocks(graph, np.zeros(variables, int), max_moved=0))
    assert [sorted(block) for block in found] == [list(range(variables))]
    assert len(moved(graph, range(variables))) == 0


def test_ties_go_to_the_nearest_field():
    graph = ising([0.1, 5.0, 0.2, 5.1, 0.3, 4.9], np.zeros((0, 2)), 0.0).graph
    found = members_of(blocks(graph, np.zeros(6, int), max_moved=3))
    assert [set(block) for block in found] == [{0, 2, 4}, {1, 3, 5}]


def test_at_equal_cost_and_field_the_first_variable_wins():
    graph = ising(np.full(5, 0.5), np.zeros((0, 2)), 0.0).graph
    assert members_of(blocks(graph, np.zeros(5, int), max_moved=0)) == [[0, 1, 2, 3, 4]]


def test_the_budget_bounds_the_mean_square_of_a_shuffle():
    rng = np.random.default_rng(3)
    graph = ising(rng.normal(size=60), np.zeros((0, 2)), 0.0).graph
    free = members_of(blocks(graph, np.zeros(60, int), max_moved=60))
    tight = members_of(blocks(graph, np.zeros(60, int), max_moved=60, budget=4.0))
    earned, start = fields(graph)
    log_odds = (earned[start[:-1] + 1] - earned[start[:-1]]) / np.sqrt(2)
    mean_squares = [2 * ((log_odds[block] - log_odds[block].mean()) ** 2).sum() for block in tight]
    assert len(free) == 1
    assert len(tight) > 1
    assert max(mean_squares) <= 4.0 + 1e-9
    assert min(mean_squares) < max(mean_squares)


@pytest.mark.parametrize("seed", range(12))
def test_fields_are_centred_averages_over_everything_else(seed):
    graph = random_graph(seed, cardinalities=(1, 2, 3))
    earned, start = fields(graph)
    everything = np.array(states(graph))
    weights = np.zeros(len(everything))
    for factor in range(graph.factors):
        table = graph.full_table(factor)
        weights += table[tuple(everything[:, graph.scope_of(factor)].T)]
    for variable in range(graph.variables):
        values = range(int(graph.cardinality[variable]))
        means = np.array([weights[everything[:, variable] == value].mean() for value in values])
        own = earned[start[variable] : start[variable + 1]]
        np.testing.assert_allclose(own, np.sqrt(2) * (means - means.mean()), atol=1e-9)


def test_blocks_of_a_potts_model_have_several_values():
    rng = np.random.default_rng(0)
    graph = potts_grid(4, 4, 3, 0.7, rng.normal(size=(4, 4, 3))).graph
    found = blocks(graph, np.zeros(16, int), max_moved=12)
    assert found.blocks >= 4
    assert all(len(moved_by_definition(graph, block)) <= 12 for block in members_of(found))


def test_the_same_question_has_the_same_answer():
    graph = ising_grid(8, 8, 0.4, np.random.default_rng(1).normal(size=(8, 8))).graph
    one, two = (blocks(graph, np.zeros(64, int), max_moved=15, budget=2.0) for _ in range(2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


def test_large_graphs_keep_the_bound():
    rng = np.random.default_rng(2)
    edges = rng.integers(0, 5_000, (20_000, 2))
    edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
    graph = ising(rng.normal(size=5_000), edges, 0.3).graph
    found = blocks(graph, np.arange(5_000) % 3, max_moved=60)
    assert lengths(found.start).min() >= 2
    assert len(found.member) > 4_000
    known = links(graph)
    assert max(len(moved(graph, block, connections=known)) for block in members_of(found)) <= 60


def test_no_variables_no_blocks():
    assert blocks(Builder([]).build(), []).blocks == 0
    assert blocks(Builder([2, 3]).build(), [0, 0]).blocks == 0
    assert blocks(Builder([2, 2]).build(), [-1, -1]).blocks == 0


@pytest.mark.parametrize(
    ("question", "remark"),
    [
        ({"orbits": [0, 0]}, "need an orbit number each"),
        ({"orbits": [0.5, 0.5, 0.5, 0.5]}, "need an orbit number each"),
        ({"max_moved": -1}, "cannot move -1 factors"),
        ({"budget": -0.1}, "budget must be 0 or more"),
        ({"budget": float("nan")}, "budget must be 0 or more"),
    ],
)
def test_malformed_questions_are_refused(question, remark):
    graph = ising_grid(2, 2, 0.3).graph
    with pytest.raises(InputError, match=remark):
        blocks(graph, **{"orbits": [0, 0, 0, 0], **question})


def test_unknown_members_are_refused():
    with pytest.raises(InputError, match="variables are 0 to 3"):
        moved(ising_grid(2, 2, 0.3).graph, [0, 4])


@pytest.mark.parametrize("variables", [3, 12])
def test_tables_of_any_size_are_numbered_by_what_is_in_them(variables):
    """Tables of many entries are not sorted: that takes minutes, or fails."""
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, *(2,) * variables))
    one[(0,) * variables] = 0.0
    again = one.copy()
    again[(0,) * variables] = -0.0
    builder = Builder([2] * variables)
    for table in (one, other, again):
        builder.add_factor(range(variables), table)
    kinds = table_kinds(builder.build()).tolist()
    assert kinds[0] == kinds[2]
    assert kinds[1] != kinds[0]
