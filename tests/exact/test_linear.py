"""Weights as they are, and logarithms where these differ by too much."""

import itertools
import math
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from orbitmc._numba.compile_log import time_limit
from orbitmc._numba.jit import Compiled
from orbitmc._numba.tiers import Tiered
from orbitmc.errors import ContradictionError, LimitError
from orbitmc.exact import blocks, contraction
from orbitmc.exact.blocks import Block, Run, plan_steps, slab_steps, steps_within
from orbitmc.exact.contraction import LINEAR, LOGARITHMIC, Passes, TooWideError, marginals
from orbitmc.exact.draws import independent_states
from orbitmc.exact.joints import joints, tie_scopes
from orbitmc.exact.plan import ELIMINATION_OVERHEAD, plan_holding, plan_in_order, predict
from orbitmc.exact.problem import prepare
from orbitmc.exact.tree import build_tree
from orbitmc.graph.builder import Builder
from orbitmc.graph.transforms import extend
from orbitmc.models._chimera import chimera
from orbitmc.models._ising import ising, ising_grid
from tests.exact.random_graphs import force_large, random_graph, wide_graph
from tests.oracle.enumeration import enumerate_states

MODES = {"small": None, "slabs": False, "matrices": True}


@pytest.fixture(params=MODES)
def mode(request, monkeypatch):
    """Buckets are worked off in one way."""
    if MODES[request.param] is not None:
        force_large(monkeypatch, matrices=MODES[request.param])
    return request.param


def both_ways(plan, arithmetic, steps=None):
    steps = steps or (plan.steps if arithmetic is LINEAR else slab_steps(plan.tree, regions(plan)))
    passes = Passes(plan.problem, plan.tree, steps, arithmetic)
    return passes.up(), passes.down(range(len(plan.problem.sizes)))


def regions(plan):
    return plan.steps.regions


def kinds(plan):
    return {type(step) for steps in plan.steps.of_region for step in steps}


@pytest.mark.parametrize("tens", range(20))
def test_all_ways_to_work_off_buckets_agree_with_the_sum_over_states(tens, mode):
    for seed in range(10 * tens, 10 * tens + 10):
        graph = random_graph(seed, variables=8, most_values=2 + seed % 3)
        try:
            expected = enumerate_states(graph)
        except ContradictionError:
            with pytest.raises(ContradictionError):
                marginals(graph)
            continue
        answer = marginals(graph)
        assert answer.log_z == pytest.approx(expected.log_z, abs=1e-11)
        for one, other in zip(answer.marginals, expected.marginals, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_the_ways_are_those_that_were_meant(mode):
    plan = predict(random_graph(3, variables=8))
    assert (Run in kinds(plan)) == (mode == "small")
    assert (Block in kinds(plan)) == (mode == "matrices")
    fused = [s for steps in plan.steps.of_region for s in steps if len(s.variables) > 1]
    assert bool(fused) == (mode != "slabs")


def test_joints_agree_with_the_sum_over_states(mode):
    rng = np.random.default_rng(0)
    for seed in range(60):
        scope = tuple(rng.permutation(7)[: rng.integers(1, 4)].tolist())
        graph = tie_scopes(random_graph(seed, variables=7), [scope])
        try:
            plan = predict(graph)
        except ContradictionError:
            continue
        try:
            expected = enumerate_states(graph)
        except ContradictionError:
            continue
        joint = joints(plan, [scope])[0]
        for axis, variable in enumerate(scope):
            others = tuple(other for other in range(len(scope)) if other != axis)
            exact = expected.marginals[variable]
            np.testing.assert_allclose(joint.sum(axis=others), exact, rtol=0, atol=1e-12)
        assert joint == pytest.approx(brute_joint(graph, scope), abs=1e-12)


def brute_joint(graph, scope):
    """The joint of some variables: each state of them is given as evidence."""
    shape = [int(graph.cardinality[v]) for v in scope]
    weights = np.zeros(shape)
    base = enumerate_states(graph).log_z
    for state in np.ndindex(*shape):
        only = np.full(shape, -np.inf)
        only[state] = 0.0
        with suppress(ContradictionError):
            weights[state] = math.exp(enumerate_states(extend(graph, [(scope, only)])).log_z - base)
    return weights


def wide_plans():
    for seed in range(300):
        try:
            plan = predict(wide_graph(seed))
            yield plan, both_ways(plan, LOGARITHMIC)
        except ContradictionError:
            continue


def error(one, other):
    """The largest difference of marginals or of log Z; infinite where there is no number."""
    pairs = [*zip(one[1], other[1], strict=True), (one[0], other[0])]
    differences = [float(np.abs(a - b).max()) for a, b in pairs]
    return max(differences) if np.isfinite(differences).all() else math.inf


def test_wide_ranges_are_right_or_given_to_logarithms(mode):
    given_up = answered = 0
    for plan, expected in wide_plans():
        try:
            answer = both_ways(plan, LINEAR)
        except TooWideError:
            given_up += 1
            continue
        answered += 1
        assert error(answer, expected) < 1e-9 * max(1.0, abs(expected[0]))
    assert given_up > 50
    assert answered > 100


def answer_or_error(graph):
    try:
        answer = marginals(graph)
    except ContradictionError as error:
        return str(error)
    return answer.log_z, *(marginal.tolist() for marginal in answer.marginals)


@pytest.mark.parametrize("tens", range(15))
def test_arrays_and_machine_code_give_the_same_bits(tens, mode, monkeypatch):
    for seed in range(10 * tens, 10 * tens + 10):
        for graph in (random_graph(seed, variables=8, most_values=2 + seed % 3), wide_graph(seed)):
            monkeypatch.setattr(Tiered, "__call__", lambda self, *given: self._interpreted(given))
            by_arrays = answer_or_error(graph)
            monkeypatch.setattr(Tiered, "__call__", Compiled.__call__)
            assert answer_or_error(graph) == by_arrays


def test_without_the_guard_wide_ranges_are_wrong(mode, monkeypatch):
    monkeypatch.setattr(contraction, "MOST_SPAN", math.inf)
    wrong = 0
    for plan, expected in wide_plans():
        try:
            with np.errstate(all="ignore"):
                answer = both_ways(plan, LINEAR)
        except (ContradictionError, ZeroDivisionError, ValueError, OverflowError):
            wrong += 1
            continue
        wrong += error(answer, expected) > 1e-9 * max(1.0, abs(expected[0]))
    assert wrong > 30


@pytest.mark.parametrize(("nats", "linear"), [(299.5, True), (300.5, False)])
def test_a_bucket_of_600_nats_is_where_logarithms_begin(nats, linear, mode):
    """Any variable that is eliminated first has two factors, each of so many nats."""
    builder = Builder([2, 2, 2])
    agree = builder.add_table([0.0, -nats, -nats, 0.0])
    builder.add_factors([[0, 1], [0, 2], [1, 2]], agree)
    graph = builder.build()
    plan = predict(graph)
    if linear or mode == "small":  # small buckets change to logarithms one by one
        both_ways(plan, LINEAR)
    else:
        with pytest.raises(TooWideError):
            both_ways(plan, LINEAR)
    np.testing.assert_allclose(marginals(graph, plan=plan).marginals, 0.5, atol=1e-14)


@pytest.mark.parametrize("leaves", [3, 2000])
def test_a_small_bucket_of_many_nats_is_summed_by_logarithms_alone(leaves):
    """A hub that its neighbours pull in both directions: the weights of its values underflow."""
    rng = np.random.default_rng(0)
    pulls = rng.normal(0, 250 if leaves == 3 else 5, (leaves, 2, 2))
    builder = Builder([2] * (leaves + 1))
    for leaf, table in enumerate(pulls):
        builder.add_factor([0, leaf + 1], table)
    plan = predict(builder.build())
    log_z, tables = both_ways(plan, LINEAR)
    of_hub = np.logaddexp.reduce(pulls, axis=2).sum(axis=0)
    np.testing.assert_allclose(log_z, np.logaddexp(*of_hub), rtol=1e-13)
    chances = np.exp(of_hub - np.logaddexp(*of_hub))
    given_hub = np.exp(pulls - np.logaddexp.reduce(pulls, axis=2)[:, :, None])
    expected = np.concatenate([chances[None], chances @ given_hub])
    np.testing.assert_allclose(tables, expected, atol=1e-12)
    states = independent_states(plan, 100, seed=0)
    assert set(states[0]) <= set(np.flatnonzero(chances > 1e-12))


def test_a_table_of_many_nats_is_given_to_logarithms():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], [[0.0, -800.0], [-800.0, -1600.0]])
    builder.add_factor([0], [0.0, 800.0])
    plan = predict(builder.build())
    with pytest.raises(TooWideError):
        both_ways(plan, LINEAR)
    np.testing.assert_allclose(marginals(builder.build()).marginals[0], 0.5, atol=1e-12)


def test_a_block_that_is_too_wide_is_split(monkeypatch):
    """A chain of ten variables, 100 nats each: one block is too wide, no bucket is."""
    force_large(monkeypatch, matrices=True)
    builder = Builder([2] * 10)
    table = builder.add_table([0.0, -100.0, -100.0, -1.0])
    builder.add_factors([[v, v + 1] for v in range(9)], table)
    graph = builder.build()
    plan = predict(graph)
    assert max(len(s.variables) for steps in plan.steps.of_region for s in steps) > 7
    answer = both_ways(plan, LINEAR)
    assert error(answer, both_ways(plan, LOGARITHMIC)) < 1e-12


def test_logarithms_take_about_the_memory_that_was_planned(monkeypatch):
    graph = ising_grid(17, 17, 0.3).graph
    plan = plan_in_order(prepare(graph), range(17 * 17), memory=2**30)
    plain = marginals(graph, plan=plan)
    monkeypatch.setattr(contraction, "MOST_SPAN", 0.0)
    marginals(graph, plan=plan)  # machine code is there
    tracemalloc.start()
    try:
        by_logarithms = marginals(graph, plan=plan)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    steps = steps_within(plan.tree, plan.steps.bytes, slab_steps)
    assert len(steps.regions) > 1
    assert steps.bytes < 1.2 * plan.bytes
    assert peak < 1.2 * (steps.bytes + ELIMINATION_OVERHEAD)
    np.testing.assert_allclose(by_logarithms.marginals, plain.marginals, atol=1e-12)


@pytest.mark.parametrize("held", [(), (3, 40)])
def test_a_deadline_ends_elimination(held, mode):
    graph = ising_grid(8, 8, 0.3).graph
    plan = plan_holding(prepare(graph), held, memory=2**30, seconds=1)
    with time_limit(-1.0), pytest.raises(LimitError, match="not over in the time"):
        marginals(graph, plan=plan)
    with time_limit(-1.0), pytest.raises(LimitError, match="not over in the time"):
        joints(plan, [(0,)])


def test_draws_are_the_same_with_logarithms(mode, monkeypatch):
    graph = random_graph(3, variables=8)
    plan = predict(graph)
    plain = independent_states(plan, 500, seed=1)
    monkeypatch.setattr(contraction, "MOST_SPAN", -1.0)
    np.testing.assert_array_equal(independent_states(plan, 500, seed=1), plain)


def pairwise(values, pairs, seed=0):
    """Random tables over pairs of variables with so many values each."""
    rng = np.random.default_rng(seed)
    builder = Builder([values] * (1 + max(map(max, pairs))))
    for pair in pairs:
        builder.add_factor(pair, rng.normal(0, 0.5, (values, values)))
    return builder.build()


def network():
    """A random network in which each variable has up to three parents among the ten before it."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(3, 6, 60)
    builder = Builder(sizes)
    for variable in range(60):
        near = np.arange(max(0, variable - 10), variable)
        parents = rng.choice(near, min(3, len(near)), replace=False).tolist()
        scope = [*parents, variable]
        builder.add_factor(scope, rng.normal(0, 1, sizes[scope]))
    return builder.build()


def lattice(rows, columns):
    """Pairs of neighbours."""
    cell = np.arange(rows * columns).reshape(rows, columns)
    across = zip(cell[:, :-1].ravel().tolist(), cell[:, 1:].ravel().tolist(), strict=True)
    down = zip(cell[:-1].ravel().tolist(), cell[1:].ravel().tolist(), strict=True)
    return [*across, *down]


CLIQUE = list(itertools.combinations(range(6), 2))
TWO_LARGE_MESSAGES = [
    *((a, b) for a, b in CLIQUE if (a, b) != (4, 5)),
    *((variable, 6) for variable in (0, 1, 2, 3, 4)),
    *((variable, 7) for variable in (0, 1, 2, 3, 5)),
]

MODELS = {
    "chimera": lambda: chimera(4, 4, 0.2, 0.1).graph,
    "grid": lambda: ising_grid(17, 17, 0.3, 0.1).graph,
    "three values": lambda: pairwise(3, lattice(9, 30)),
    "clique of thirteen values": lambda: pairwise(13, CLIQUE),
    "network": network,
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("memory", [2**30, 2**24])
def test_memory_is_predicted_within_a_fifth(name, memory):
    graph = MODELS[name]()
    require_predicted_memory(graph, predict(graph, memory=memory))


def test_memory_of_two_large_messages_is_predicted_within_a_fifth():
    graph = pairwise(12, TWO_LARGE_MESSAGES)
    order = [6, 7, 0, 1, 2, 3, 4, 5]
    require_predicted_memory(graph, plan_in_order(prepare(graph), order, memory=2**30))


def require_predicted_memory(graph, plan):
    marginals(graph, plan=plan, memory=2**30)  # machine code is there
    tracemalloc.start()
    try:
        marginals(graph, plan=plan, memory=2**30)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert plan.bytes / 1.2 < peak < plan.bytes * 1.2


def test_messages_that_are_both_large_are_multiplied_as_matrices(monkeypatch):
    problem = prepare(pairwise(8, TWO_LARGE_MESSAGES))
    order = [6, 7, 0, 1, 2, 3, 4, 5]
    plan = plan_in_order(problem, order, memory=2**30)

    def reads_two(plan):
        steps = itertools.chain.from_iterable(plan.steps.of_region)
        blocks = (step for step in steps if isinstance(step, Block))
        return any(block.heavy.children and block.lights.children for block in blocks)

    assert reads_two(plan)
    slabs = both_ways(plan, LINEAR, slab_steps(plan.tree, regions(plan)))
    assert error(both_ways(plan, LINEAR), slabs) < 1e-12
    monkeypatch.setattr(blocks, "MOST_LIGHT_ALONE", 2**10)
    assert not reads_two(plan_in_order(problem, order, memory=2**30))


def test_blocks_are_as_exact_as_slabs():
    plan = predict(ising_grid(12, 12, 0.3, 0.1).graph)
    assert Block in kinds(plan)
    slabs = both_ways(plan, LINEAR, slab_steps(plan.tree, regions(plan)))
    assert error(both_ways(plan, LINEAR), slabs) < 1e-12
    singles = plan_steps(plan.tree, regions(plan), fuse=False)
    assert error(both_ways(plan, LINEAR, singles), slabs) < 1e-12


def test_a_plan_is_not_made_anew_for_cuts_that_save_nothing():
    """Tables of small buckets are always there, however the tree is cut."""
    hub = ising([0.1] * 500, [(0, leaf) for leaf in range(1, 500)], 0.3)
    problem = prepare(hub.graph)
    tree = build_tree(problem, [*range(1, 500), 0])
    made = []

    def plan(tree, regions):
        made.append(len(regions))
        return plan_steps(tree, regions)

    steps = steps_within(tree, 1, plan)
    assert steps.bytes > 1
    assert made == [1]


def test_what_no_machine_can_do_is_not_planned_in_blocks():
    """To look for the fastest way takes longer than to search an order of such a lattice."""
    lattice = ising_grid(34, 34, 0.3).graph
    plan = predict(lattice, seconds=0.0)
    assert plan.bytes > 2**42
    assert all(
        len(step.variables) == 1
        for steps in plan.steps.of_region
        for step in steps
        if isinstance(step, Block)
    )
