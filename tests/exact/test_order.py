import itertools
import time

import numpy as np
import pytest

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.tiers import compile_next
from orbitmc.errors import LimitError
from orbitmc.exact import blocks, plan
from orbitmc.exact import order as orders
from orbitmc.exact.order import Order, _eliminate_simplicial, eliminate, find_order, neighbours_of
from orbitmc.exact.order_search import reorder_stretch, search_order
from orbitmc.exact.plan import predict
from orbitmc.exact.problem import prepare
from orbitmc.exact.tree import build_tree, cut_regions
from orbitmc.graph.builder import Builder
from orbitmc.models._chimera import chimera, chimera_edges
from orbitmc.models._ising import grid_edges, ising, ising_grid
from tests.oracle.random_models import random_graph


@pytest.fixture(autouse=True, scope="module")
def _machine_code():
    """Let compiled code try orders, whether or not it is on the disk."""
    compile_next(reorder_stretch)
    search_order(np.array(grid_edges(3, 3)), np.ones(9), seconds=1.0, seed=0)


def renumbered(edges, seed):
    """The same graph with its variables in another order, so that numbers tell nothing."""
    edges = np.asarray(edges)
    image = np.random.default_rng(seed).permutation(edges.max() + 1)
    return ising(np.zeros(edges.max() + 1), image[edges], 0.3).graph


@pytest.mark.parametrize("side", [4, 8, 10, 11])
def test_a_small_grid_costs_less_than_a_sweep_without_any_search(side, monkeypatch):
    monkeypatch.setattr(orders, "search_order", no_search)
    found = predict(ising_grid(side, side, 0.3).graph)
    assert found.entries < side * side * 2 ** (side + 1)


def test_a_grid_whose_elimination_takes_long_is_searched(monkeypatch):
    monkeypatch.setattr(orders, "search_order", no_search)
    with pytest.raises(AssertionError, match="searched"):
        predict(ising_grid(15, 15, 0.3).graph)


def no_search(*arguments, **options):
    raise AssertionError("searched")


@pytest.mark.parametrize("times", [1, 1000])
def test_an_order_that_is_used_often_is_worth_a_search(times, monkeypatch):
    monkeypatch.setattr(orders, "search_order", no_search)
    problem = prepare(ising_grid(10, 10, 0.3).graph)
    found = []
    try:
        found = find_order(problem.scopes, problem.sizes, seconds=1.0, times=times).variables
    except AssertionError:
        assert times == 1000
    assert len(found) == (100 if times == 1 else 0)


def test_an_order_is_looked_for_once_and_only_for_the_very_same_graph(monkeypatch):
    found = []
    greedy = orders._greedy
    monkeypatch.setattr(orders, "_greedy", lambda *given: found.append(1) or greedy(*given))
    problem = prepare(ising_grid(3, 17, 0.3).graph)
    first = find_order(problem.scopes, problem.sizes, seconds=1.0)
    looked = len(found)
    first.variables.reverse()  # what is kept is nobody's to change
    again = find_order(problem.scopes, problem.sizes, seconds=1.0)
    assert len(found) == looked > 0
    assert again.variables == first.variables[::-1]
    larger = [3, *problem.sizes[1:]]
    assert find_order(problem.scopes, larger, seconds=1.0).cost > again.cost
    fewer = find_order(problem.scopes[:-1], problem.sizes, seconds=1.0)
    assert len(found) > looked
    assert sorted(fewer.variables) == sorted(again.variables)


def test_a_cheap_order_is_the_same_whenever_it_is_asked_for():
    problem = prepare(ising_grid(9, 9, 0.3).graph)
    orders = [find_order(problem.scopes, problem.sizes, seconds=s).variables for s in (1.0, 5.0)]
    assert orders[0] == orders[1]


def test_a_grid_has_the_width_of_its_side():
    assert predict(ising_grid(15, 15, 0.3).graph).width == 15


@pytest.mark.parametrize("seed", range(3))
def test_a_renumbered_grid_is_as_narrow(seed):
    assert predict(renumbered(grid_edges(15, 15), seed)).width == 15


def test_a_long_grid_costs_no_more_than_a_sweep_along_it():
    assert predict(ising_grid(60, 6, 0.3).graph).entries <= 60 * 6 * 2**7


def test_chimera_has_width_16():
    assert predict(chimera(4, 4, 0.3).graph).width == 16


@pytest.mark.parametrize("seed", range(3))
def test_a_renumbered_chimera_is_as_narrow(seed):
    assert predict(renumbered(chimera_edges(4, 4), seed)).width == 16


@pytest.mark.parametrize(
    ("edges", "width"),
    [
        ([(v, (v - 1) // 3) for v in range(1, 60)], 1),
        ([(v, (v + 1) % 30) for v in range(30)], 2),
        (list(itertools.combinations(range(9), 2)), 8),
        ([(v, 12 + w) for v in range(12) for w in range(12)], 12),
    ],
    ids=["tree", "cycle", "clique", "bipartite"],
)
def test_known_widths(edges, width):
    assert predict(renumbered(edges, 1)).width == width


def test_large_variables_are_kept_apart():
    """A star of large leaves: the small centre goes last, although it has most neighbours."""
    builder = Builder([2] + [50] * 6)
    table = builder.add_table(np.zeros(100))
    builder.add_factors([[0, leaf] for leaf in range(1, 7)], table)
    assert predict(builder.build()).largest == 100


def brute_force_cost(scopes, sizes):
    """The least sum of tables over all orders."""
    best = np.inf
    for order in itertools.permutations(range(len(sizes))):
        neighbours = neighbours_of(len(sizes), scopes)
        total = 0
        for variable in order:
            near = eliminate(neighbours, variable)
            total += sizes[variable] * np.prod([sizes[member] for member in near])
        best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(10))
def test_small_graphs_get_nearly_the_best_of_all_orders(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, size=7).tolist()
    scopes = [tuple(rng.permutation(7)[:2].tolist()) for _ in range(10)]
    order = find_order(scopes, sizes, seconds=1).variables
    assert sorted(order) == list(range(7))
    neighbours = neighbours_of(7, scopes)
    total = 0
    for variable in order:
        near = eliminate(neighbours, variable)
        total += sizes[variable] * np.prod([sizes[member] for member in near])
    assert total <= 1.5 * brute_force_cost(scopes, sizes)


def test_the_cost_counts_the_tables():
    """A path of three: tables of 4, 4 and 2 entries, and sixteen times the largest."""
    assert find_order([(0, 1), (1, 2)], [2, 2, 2], seconds=1).cost == 10 + 16 * 4


def test_a_hopeless_graph_is_refused_at_once():
    with pytest.raises(LimitError, match="2000 of these 1000000 variables"):
        predict(ising_grid(1000, 1000, 0.4).graph)


def test_where_every_first_table_is_too_large_no_table_is_made(monkeypatch):
    edges = list(itertools.combinations(range(150), 2))
    monkeypatch.setattr(plan, "prepare", None)
    with pytest.raises(LimitError, match="the first of these 150 variables, whichever it is"):
        predict(ising(np.zeros(150), edges, 0.01).graph)


def test_the_first_table_is_no_larger_than_the_largest():
    for seed in range(30):
        graph = random_graph(seed, variables=(8, 12))
        assert plan._first_entries(graph) <= predict(graph).largest
    builder = Builder([2] * 40)
    builder.add_clause(range(40), [1] * 40, 0.5)  # becomes a chain of small tables
    long = builder.build()
    assert plan._first_entries(long) <= predict(long).largest < 100


def test_a_large_tree_is_not_refused():
    edges = np.array([(v, (v - 1) // 2) for v in range(1, 30_000)])
    assert predict(ising(np.zeros(30_000), edges, 0.3).graph).width == 1


def test_a_dense_graph_beyond_any_machine_is_refused():
    edges = list(itertools.combinations(range(80), 2))
    with pytest.raises(LimitError, match="80 variables"):
        predict(ising(np.zeros(80), edges, 0.01).graph)


def star_with_ring(leaves):
    """A hub, and others in a ring around it."""
    hub = [(0, 1 + leaf) for leaf in range(leaves)]
    return hub + [(1 + leaf, 1 + (leaf + 1) % leaves) for leaf in range(leaves)]


def test_a_hub_is_ordered_in_linear_time():
    """Where the neighbours of the hub are counted whenever one goes, this takes minutes."""
    begun = time.process_time()
    found = find_order(star_with_ring(40_000), [2] * 40_001, seconds=0.0)
    assert found.cost < 2.0**20
    assert time.process_time() - begun < 20.0
    shaved = _eliminate_simplicial(
        neighbours_of(40_001, star_with_ring(40_000)[:-1]), np.ones(40_001)
    )
    assert len(shaved) == 40_001  # without the link that closes the ring
    assert time.process_time() - begun < 40.0


def test_a_search_that_comes_too_late_finds_nothing_and_is_not_remembered():
    scopes, sizes = star_with_ring(200), [2] * 201
    assert find_order(scopes, sizes, seconds=0.5, until=working_time() - 1.0).variables == []
    assert len(find_order(scopes, sizes, seconds=0.5).variables) == 201


def test_orders_beyond_any_machine_are_no_orders():
    """In a random graph with 30 neighbours each, tables have hundreds of variables."""
    rng = np.random.default_rng(0)
    scopes = [tuple(pair) for pair in rng.integers(0, 1000, (15_000, 2)).tolist()]
    scopes = [pair for pair in scopes if pair[0] != pair[1]]
    assert find_order(scopes, [2] * 1000, seconds=0.2) == Order([], np.inf)


def test_elimination_that_takes_longer_than_allowed_is_refused_at_once(monkeypatch):
    graph = ising_grid(2, 50_000, 0.3).graph
    monkeypatch.setattr(plan, "prepare", None)  # nothing may be prepared
    with pytest.raises(LimitError, match=r"take 4 s at least for these 100000 variables"):
        plan.predict(graph, within=1.0)


def test_zeros_are_not_looked_at_where_that_alone_takes_too_long(monkeypatch):
    places = np.arange(99_999)
    builder = Builder([2] * 100_000)
    table = builder.add_table(np.array([[0.0, 0.5], [0.2, -np.inf]]))
    builder.add_factors(np.stack([places, places + 1], axis=1), table)
    monkeypatch.setattr(plan, "prepare", None)  # nothing may be prepared
    with pytest.raises(LimitError, match=r"take 2 s at least for these 100000 variables"):
        plan.predict(builder.build(), within=1.0)


def test_a_plan_without_an_order_in_time_is_refused():
    graph = ising_grid(30, 30, 0.3).graph
    with pytest.raises(LimitError, match="no order to eliminate these 900 variables"):
        plan.plan_holding(
            plan.prepare(graph), (), memory=2**30, seconds=0.1, until=working_time() - 1.0
        )


def test_regions_are_not_looked_for_where_one_message_is_too_large(monkeypatch):
    cuts = []
    monkeypatch.setattr(
        blocks, "cut_regions", lambda *given: cuts.append(given) or cut_regions(*given)
    )
    for side, wanted in ((38, 1), (20, 2)):
        problem = plan.prepare(ising_grid(side, side, 0.3).graph)
        tree = build_tree(problem, range(side * side))
        assert max(tree.messages) == 2**side
        cuts.clear()
        blocks.steps_within(tree, 2**10, blocks.slab_steps)
        assert min(len(cuts), 2) == wanted


def test_no_other_cut_is_tried_when_it_is_too_late():
    problem = plan.prepare(ising_grid(20, 20, 0.3).graph)
    tree = build_tree(problem, range(400))
    tried = []

    def plan_slabs(tree, regions):
        tried.append(len(regions))
        return blocks.slab_steps(tree, regions)

    blocks.steps_within(tree, 2**10, plan_slabs, until=working_time() - 1.0)
    assert tried == [1]
    blocks.steps_within(tree, 2**10, plan_slabs)
    assert len(tried) > 2
