"""Variables that are all joined in the same way are cheap to exchange."""

import itertools

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.kernels.exchange import relative_to_blocks
from orbitmc.models._ising import ising
from orbitmc.symmetry.blocks import blocks, moved
from tests.oracle.moved_factors import members_of, moved_by_definition


def clique(members):
    return list(itertools.combinations(members, 2))


def test_members_that_are_all_joined_by_equal_couplings_share_a_block():
    graph = ising(np.linspace(-1, 1, 20), clique(range(20)), 0.1).graph
    for most, sizes in [(400, [20]), (20, [20]), (19, [19]), (10, [10, 10]), (1, [])]:
        found = members_of(blocks(graph, np.zeros(20, int), max_moved=most))
        assert [len(block) for block in found] == sizes
        assert all(len(moved(graph, block)) == len(block) for block in found)  # the fields


def test_to_shuffle_a_clique_no_neighbour_is_looked_at():
    graph = ising(np.linspace(-1, 1, 20), clique(range(20)), 0.1).graph
    prepared = prepare(graph)
    found = blocks(graph, np.zeros(20, int), max_moved=20)
    assert len(prepared.conditionals.neighbour) == 20 * 19
    assert len(relative_to_blocks(prepared, found).neighbour) == 0


def test_a_few_links_between_two_cliques_do_not_cut_them():
    bridges = [(0, 20), (1, 21), (2, 39)]
    couplings = [*clique(range(20)), *clique(range(20, 40)), *bridges]
    graph = ising(np.linspace(-1, 1, 40), couplings, 0.1).graph
    found = members_of(blocks(graph, np.zeros(40, int), max_moved=400))
    assert sorted(sorted(block) for block in found) == [list(range(20)), list(range(20, 40))]
    assert [len(moved(graph, block)) for block in found] == [23, 23]


def test_a_pair_with_another_coupling_stays_out_of_the_clique():
    pairs = clique(range(20))
    couplings = [0.5 if pair == (3, 7) else 0.1 for pair in pairs]
    graph = ising(np.linspace(-1, 1, 20), pairs, couplings).graph
    found = members_of(blocks(graph, np.zeros(20, int), max_moved=400))
    others = [variable for variable in range(20) if variable not in (3, 7)]
    assert sorted(sorted(block) for block in found) == [others, [3, 7]]
    assert len(moved(graph, others)) == 18
    assert len(moved(graph, range(20))) == 20 + len(pairs)


@pytest.mark.parametrize("kind", ["clauses", "three values", "two kinds"])
def test_cliques_of_any_symmetric_factors_are_not_moved(kind):
    builder = Builder(np.full(6, 3 if kind == "three values" else 2))
    for pair in clique(range(6)):
        if kind == "clauses":
            builder.add_clause(pair, [0, 0], 2.0)
        elif kind == "three values":
            builder.add_factor(pair, np.diag([0.5, 0.2, 0.0]))
        else:
            builder.add_factor(pair, [0.5, -0.5, -0.5, 0.5])
            builder.add_factor(pair, [0.5, 0.0, 0.0, 0.0])
    graph = builder.build()
    assert moved(graph, range(6)).tolist() == moved_by_definition(graph, range(6)) == []
    found = members_of(blocks(graph, np.zeros(6, int), max_moved=0))
    assert [sorted(block) for block in found] == [list(range(6))]


def test_of_several_copies_only_those_that_others_lack_are_moved():
    builder = Builder(np.full(6, 2))
    for pair in [*clique(range(6)), (1, 0)]:
        builder.add_factor(pair, [0.5, 0.0, 0.0, 0.5])
    graph = builder.build()
    assert moved(graph, range(6)).tolist() == moved_by_definition(graph, range(6)) == [15]
    found = members_of(blocks(graph, np.zeros(6, int), max_moved=0))
    assert sorted(sorted(block) for block in found) == [[0, 1], [2, 3, 4, 5]]


def test_a_clique_of_one_way_factors_is_moved():
    builder = Builder([2, 2, 2])
    for pair in clique(range(3)):
        builder.add_factor(pair, [0.0, 0.4, -0.4, 0.0])
    graph = builder.build()
    assert moved(graph, range(3)).tolist() == moved_by_definition(graph, range(3)) == [0, 1, 2]
    # 0 and 1 look at 2 in the same way
    assert members_of(blocks(graph, np.zeros(3, int), max_moved=2)) == [[0, 1]]
