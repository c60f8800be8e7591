"""Gibbs on equivalence relations."""

from itertools import combinations, permutations

import numpy as np
import pytest

import orbitmc as om
from orbitmc._simd.random import generator
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.transforms import condition
from orbitmc.kernels import _partition as module
from orbitmc.kernels._partition import partition
from orbitmc.kernels.protocol import freed_variables
from orbitmc.kernels.testing.exact import (
    change_given_shared,
    one_step,
    transition_matrix,
    transitive_closure,
)
from tests.kernels.test_compiled_code import compiled_steps
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force


def pairs_of(items):
    return {pair: place for place, pair in enumerate(combinations(range(items), 2))}


def add_transitivity(builder, items):
    """Hard clauses: of three pairs of three items, never exactly two are 1."""
    number = pairs_of(items)
    for one, two, three in permutations(range(items), 3):
        scope = [number[tuple(sorted(pair))] for pair in ((one, two), (two, three), (one, three))]
        builder.add_clause(scope, [0, 0, 1], np.inf)


def random_relation(seed, items, *, others=0, zeros=0.0):
    """A hard equivalence relation with random tables and clauses over pairs and other variables.

    With zeros, some tables forbid an entry; the state without pairs stays possible.
    """
    rng = np.random.default_rng([seed, items, others])
    count = len(pairs_of(items)) + others
    builder = Builder(np.full(count, 2))
    add_transitivity(builder, items)
    for variable in range(count):
        builder.add_factor([variable], rng.normal(size=2))
    for _ in range(count):
        scope = rng.choice(count, size=int(rng.integers(2, 4)), replace=False).tolist()
        table = rng.normal(size=(2,) * len(scope))
        if rng.random() < zeros:
            table.flat[rng.integers(1, table.size)] = -np.inf
        builder.add_factor(scope, table)
        builder.add_clause(scope, rng.integers(0, 2, size=len(scope)), rng.normal())
    return builder.build()


def require_exact(graph, kernel):
    """Stationary and reversible to rounding, also given the item that all lanes share."""
    run = one_step(prepare_unrounded(graph), kernel)
    assert max(residuals(graph, run)) <= EXACT
    assert change_given_shared(graph, run).max() <= EXACT


def with_gain(kernel, gain):
    """The same kernel with other gains of pairs."""
    usual, start, unusual = module._find_unusual(gain)
    return kernel._replace(gain=gain, usual=usual, unusual_start=start, unusual=unusual)


def is_irreducible(graph, kernel):
    possible = np.flatnonzero(brute_force.distribution(graph) > 0)
    matrix = transition_matrix(graph, one_step(prepare_unrounded(graph), kernel))
    return transitive_closure((matrix > 0)[np.ix_(possible, possible)]).all()


@pytest.mark.parametrize(("items", "seeds"), [(3, 6), (4, 6), (5, 2)])
def test_a_step_keeps_the_distribution_and_reaches_every_partition(items, seeds):
    for seed in range(seeds):
        graph = random_relation(seed, items)
        kernel = partition(prepare_unrounded(graph), pairs_of(items))
        require_exact(graph, kernel)
        assert is_irreducible(graph, kernel)
        assert kernel.frees(graph).all()


@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_other_variables_and_zeros_are_weighed(zeros):
    for seed in range(3):
        graph = random_relation(seed, 4, others=2, zeros=zeros)
        kernel = partition(prepare_unrounded(graph), pairs_of(4))
        require_exact(graph, kernel)
        assert not kernel.frees(graph)[-2:].any()


def fields_of_pairs(seed, items, usual, apart=()):
    """Hard relations whose pairs gain what is `usual`, but for every third one."""
    rng = np.random.default_rng([seed, items])
    builder = Builder(np.full(len(pairs_of(items)), 2))
    add_transitivity(builder, items)
    for variable in range(len(pairs_of(items))):
        builder.add_factor([variable], [0.0, usual if variable % 3 else rng.normal()])
    observed = {pairs_of(items)[pair]: 0 for pair in apart}
    return condition(builder.build(), observed)


def drawn_by_size(graph, items, apart=()):
    """The kernel of such a relation; sizes are drawn also where that hardly pays.

    Factors that are left of the rules of items kept apart say nothing more.
    """
    left = [pair for pair in pairs_of(items) if pair not in apart]
    pairs = {pair: place for place, pair in enumerate(left)}
    kernel = partition(prepare_unrounded(graph), pairs, dict.fromkeys(apart, False))
    return kernel._replace(by_size=np.ones_like(kernel.by_size))


@pytest.mark.parametrize(("items", "apart"), [(4, ()), (5, ()), (5, [(0, 3), (1, 4)])])
def test_sizes_are_drawn_before_blocks_where_pairs_gain_the_same(items, apart):
    for seed in range(2):
        graph = fields_of_pairs(seed, items, (-0.7, 0.4)[seed], apart)
        kernel = drawn_by_size(graph, items, apart)
        assert 0 < len(kernel.unusual) < items * (items - 1)
        require_exact(graph, kernel)
        assert is_irreducible(graph, kernel)
        plain = kernel._replace(by_size=np.zeros_like(kernel.by_size))
        one, other = (
            transition_matrix(graph, one_step(prepare_unrounded(graph), each))
            for each in (kernel, plain)
        )
        np.testing.assert_allclose(one, other, atol=EXACT)


@pytest.mark.parametrize("mistake", ["one block for each size", "unusual blocks twice"])
def test_a_size_weighs_as_much_as_all_its_blocks(mistake, monkeypatch):
    graph = fields_of_pairs(0, 4, -0.7)
    kernel = drawn_by_size(graph, 4)
    if mistake == "one block for each size":
        kernel = kernel._replace(log_of=np.minimum(kernel.log_of, 0.0))
    else:
        usual = module._weigh_unusual

        def count_all(kernel, memory, item):
            before = memory.number.copy()
            usual(kernel, memory, item)
            memory.number[:] = before

        monkeypatch.setattr(module, "_weigh_unusual", count_all)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > 1e-3


def test_sizes_are_drawn_first_where_few_pairs_are_unusual_and_nothing_else_matters():
    usual = partition(prepare_unrounded(fields_of_pairs(0, 5, -0.7)), pairs_of(5))
    assert usual.by_size.any()
    other = random_relation(0, 5)
    assert not partition(prepare_unrounded(other), pairs_of(5)).by_size.any()


def test_known_pairs_unite_items_or_keep_them_apart():
    for seed in range(4):
        observed = {(0, 1): 1, (2, 3): 0, (0, 4): 0}
        every = pairs_of(5)
        graph = condition(
            random_relation(seed, 5), {every[pair]: same for pair, same in observed.items()}
        )
        left = [pair for pair in every if pair not in observed]
        pairs = {pair: place for place, pair in enumerate(left)}
        kernel = partition(
            prepare_unrounded(graph), pairs, {pair: bool(same) for pair, same in observed.items()}
        )
        assert len(kernel.apart) == 4
        require_exact(graph, kernel)
        assert is_irreducible(graph, kernel)
        assert kernel.frees(graph).all()


def test_pairs_that_have_two_variables_are_set_together():
    rng = np.random.default_rng(4)
    pairs = {pair: place for place, pair in enumerate(permutations("abc", 2))}
    builder = Builder(np.full(6, 2))
    for one, two, three in permutations("abc"):
        scope = [pairs[one, two], pairs[two, three], pairs[one, three]]
        builder.add_clause(scope, [0, 0, 1], np.inf)
        builder.add_clause([pairs[one, two], pairs[two, one]], [0, 1], np.inf)
    for variable in range(6):
        builder.add_factor([variable], rng.normal(size=2))
    graph = builder.build()
    kernel = partition(prepare_unrounded(graph), pairs)
    require_exact(graph, kernel)
    assert is_irreducible(graph, kernel)


def test_rules_of_an_equivalence_are_not_weighed():
    builder = Builder(np.full(6, 2))
    add_transitivity(builder, 4)
    graph = builder.build()
    assert len(partition(prepare_unrounded(graph), pairs_of(4)).factor) == 0


def test_what_one_pair_gains_is_summed_beforehand_and_must_be_right():
    builder = Builder(np.full(6, 2))
    add_transitivity(builder, 4)
    for variable in range(6):
        builder.add_factor([variable], [0.5, 0.3 * variable])
        builder.add_clause([variable], [0], 0.2)
    graph = builder.build()
    kernel = partition(prepare_unrounded(graph), pairs_of(4))
    assert len(kernel.factor) == 0
    for (one, other), variable in pairs_of(4).items():
        assert kernel.gain[one, other] == pytest.approx(0.3 * variable - 0.7, abs=EXACT)
    require_exact(graph, kernel)
    wrong = with_gain(kernel, kernel.gain * 1.1)
    assert residuals(graph, one_step(prepare_unrounded(graph), wrong))[0] > 1e-3


def test_a_rule_that_is_almost_transitivity_is_weighed():
    builder = Builder(np.full(6, 2))
    add_transitivity(builder, 4)
    builder.add_clause([0, 1, 3], [0, 0, 0], np.inf)
    graph = builder.build()
    kernel = partition(prepare_unrounded(graph), pairs_of(4))
    assert set(kernel.factor) == {graph.factors - 1}
    require_exact(graph, kernel)


def test_what_other_zeros_may_tie_is_not_said_to_be_free():
    builder = Builder(np.full(3, 2))
    add_transitivity(builder, 3)
    builder.add_clause([0, 1], [1, 1], np.inf)  # one of two pairs must be 1
    graph = builder.build()
    kernel = partition(prepare_unrounded(graph), pairs_of(3))
    require_exact(graph, kernel)
    assert not kernel.frees(graph).any()


def test_states_that_are_no_relation_are_left_alone(monkeypatch):
    rng = np.random.default_rng(1)
    builder = Builder(np.full(3, 2))
    builder.add_factor([0, 1, 2], rng.normal(size=(2, 2, 2)))
    graph = builder.build()
    kernel = partition(prepare_unrounded(graph), pairs_of(3))
    require_exact(graph, kernel)
    usual = module.read_blocks

    def believe(kernel, memory, values):
        usual(kernel, memory, values)
        memory.whole[:] = 1

    monkeypatch.setattr(module, "read_blocks", believe)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > 1e-3


def test_a_factor_that_counts_twice_is_wrong(monkeypatch):
    """Where two pairs of a factor lead to one block, it changes once."""
    graph = random_relation(0, 4)
    kernel = partition(prepare_unrounded(graph), pairs_of(4))
    usual = module._aim

    def forget(graph, kernel, memory, item, factor, edge):
        usual(graph, kernel, memory, item, factor, edge)
        memory.repeated[:] = 0

    monkeypatch.setattr(module, "_aim", forget)
    assert residuals(graph, one_step(prepare_unrounded(graph), kernel))[0] > 1e-3


def test_items_that_are_known_apart_stay_apart_without_a_rule():
    builder = Builder([2, 2])
    builder.add_factor([0, 1], np.random.default_rng(3).normal(size=(2, 2)))
    graph = builder.build()
    kernel = partition(prepare_unrounded(graph), {(0, 2): 0, (1, 2): 1}, {(0, 1): False})
    require_exact(graph, kernel)
    nobody = np.zeros_like(kernel.apart)
    careless = with_gain(kernel, nobody.astype(float))._replace(apart=nobody)
    assert residuals(graph, one_step(prepare_unrounded(graph), careless))[0] > 1e-3


@pytest.mark.parametrize(
    ("pairs", "known", "words"),
    [
        ({}, {}, "no pairs"),
        ({(0, 0): 0}, {}, "two different"),
        ({(0, 1): 0, (0, 2): 1}, {}, "neither a variable nor known"),
        ({(0, 1): 0}, {(0, 1): True}, "both a variable and known"),
        ({(0, 1): 0, (0, 2): 0}, {(1, 2): True}, "distinct variables"),
        ({(0, 1): 3}, {}, "binary"),
        ({(0, 1): 9}, {}, "distinct variables"),
        (
            {(0, 1): 0},
            {(1, 2): True, (2, 3): True, (1, 3): False, (0, 2): True, (0, 3): True},
            "apart",
        ),
        ({(0, k): 0 for k in range(1, 8200)}, {}, "up to 8192 items"),
    ],
)
def test_unsuitable_pairs_are_refused(pairs, known, words):
    prepared = prepare_unrounded(Builder([2, 2, 2, 3]).build())
    with pytest.raises(InputError, match=words):
        partition(prepared, pairs, known)


def relation_model(items, seed):
    graph = random_relation(seed, items)
    names = tuple(f"same {one} {other}" for one, other in pairs_of(items))
    return om.Model(graph, names, (("no", "yes"),) * len(names))


@pytest.mark.parametrize("inside", [False, True])
def test_answers_know_that_pairs_are_not_frozen(inside):
    model = relation_model(4, 3)
    expected = brute_force.marginals(model.graph)
    kernel = partition(prepare(model.graph), pairs_of(4))
    used = om.kernels.alternation(om.kernels.gibbs(), kernel, period=1) if inside else kernel
    assert freed_variables(used, model.graph).all()
    answer = om.marginals(model, kernel=used, samples=400, seed=1)
    assert set(answer.verdicts()) == {"good"}
    frozen = om.marginals(model, kernel=om.kernels.gibbs(), samples=400, seed=1)
    assert "frozen" in frozen.verdicts()
    for place, name in enumerate(model.names):
        assert answer[name].standard_error[1] <= 0.003
        assert abs(answer[name].probability[1] - expected[place][1]) <= 0.02


LANES, PACKS, BURN, SAMPLES = 64, 8, 50, 150


def every_partition(items):
    """The values of all pairs in each partition, by labels."""
    found = set()
    for labels in np.ndindex(*(items,) * items):
        if all(label <= max(labels[:place], default=-1) + 1 for place, label in enumerate(labels)):
            found.add(tuple(int(labels[a] == labels[b]) for a, b in pairs_of(items)))
    return sorted(found)


def lane_means(prepared, kernel, pack):
    """Means of each lane over time; half of the lanes start with one block, half with seven."""
    values = np.zeros((prepared.graph.variables, LANES), dtype=np.uint8)
    values[:-1, ::2] = 1
    memory, rng = kernel.memory(prepared, LANES), generator(9, pack, LANES)
    counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
    total = np.zeros(values.shape)
    for sample in range(BURN + SAMPLES):
        compiled_steps(prepared, kernel, memory, values, counts, rng, 14)
        total += values * (sample >= BURN)
    return total / SAMPLES


def test_seven_items_have_the_marginals_of_all_877_partitions():
    """A false alarm comes in about 1e-8 of all seeds.

    Lanes are independent, so means of 512 of them are normal; 22 are within 6.5 errors.
    """
    graph = random_relation(5, 7, others=1)
    states = [(*state, other) for state in every_partition(7) for other in (0, 1)]
    assert len(states) == 2 * 877
    logs = np.array([brute_force.log_weight(graph, state) for state in states])
    weights = np.exp(logs - logs.max())
    expected = weights @ np.array(states) / weights.sum()
    prepared = prepare(graph)
    kernel = om.kernels.alternation(
        partition(prepared, pairs_of(7)), om.kernels.RandomScan(), period=1
    )
    means = np.concatenate([lane_means(prepared, kernel, pack) for pack in range(PACKS)], axis=1)
    errors = means.std(axis=1, ddof=1) / np.sqrt(means.shape[1])
    assert errors.max() < 0.01
    assert (np.abs(means.mean(axis=1) - expected) <= 6.5 * errors).all()
