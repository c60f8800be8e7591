"""Every way of storing a conditional agrees with listing the states."""

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc._simd.neighbour_sums import exponential, logistic
from orbitmc.conditionals import factors as local_weights
from orbitmc.conditionals.classify import BITS, COUNT, FACTORS, FIELD, TABLE
from orbitmc.conditionals.draws import (
    CERTAINTY,
    add_limits,
    cumulative_probabilities,
    has_limits,
    scratch,
)
from orbitmc.conditionals.factors import local_log_weights
from orbitmc.conditionals.prepared import LARGEST_LIMIT, prepare
from orbitmc.graph.builder import Builder
from tests.kernels.catalogue import on_path
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph, random_ising

LIMIT_ERROR = 2.0**-31
FIELD_ERROR = 1e-6


@compiled
def chances_of(prepared, memory, values, variable):
    cumulative_probabilities(prepared, memory, values, variable)


@compiled
def sums_of(prepared, memory, values, variable, sums):
    add_limits(prepared, memory, values, variable, sums)


@compiled
def has_limits_of(prepared, variable):
    return has_limits(prepared, variable)


def stored(prepared, variable, states):
    """Chances of all values but the last, or less, for each of 64 states."""
    memory = scratch(prepared, 64)
    values = np.ascontiguousarray(np.array(states, dtype=np.uint8).T)
    chances_of(prepared, memory, values, variable)
    return memory.log_weights[: prepared.graph.cardinality[variable] - 1].copy()


def largest_error(prepared, seed):
    """Worst disagreement with brute force over possible states."""
    graph, rng = prepared.graph, np.random.default_rng(seed)
    possible = np.flatnonzero(brute_force.distribution(graph) > 0)
    every = brute_force.states(graph)
    states = [every[k] for k in rng.choice(possible, 64)]
    worst = 0.0
    for variable in range(graph.variables):
        found = stored(prepared, variable, states)
        for lane, state in enumerate(states):
            exact = np.cumsum(brute_force.conditional(graph, state, variable))[:-1]
            worst = max(worst, np.abs(found[:, lane] - exact).max(initial=0.0))
    return worst


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_limits_are_within_their_rounding(zeros):
    for seed in range(20):
        graph = random_graph(seed, variables=(3, 6), zeros=zeros)
        prepared = prepare(graph)
        assert set(prepared.conditionals.path) <= {COUNT, BITS, TABLE}
        assert largest_error(prepared, seed) <= LIMIT_ERROR


def test_where_limits_are_few_the_largest_tables_are_not_made_and_chances_stay():
    for seed in range(20):
        graph = random_graph(seed, variables=(4, 6), cardinalities=(2, 3, 4))
        every = prepare(graph)
        most = len(every.conditionals.limit) // 2
        some = prepare(graph, most_limits=most)
        before, after = every.conditionals.path, some.conditionals.path
        dropped = before != after
        assert set(before[dropped]) <= {TABLE}
        assert set(after[dropped]) <= {FACTORS}
        assert dropped.any() == (most < len(every.conditionals.limit) and TABLE in before)
        tables = len(some.conditionals.limit)
        assert tables <= most or TABLE not in after
        assert largest_error(some, seed) <= FIELD_ERROR


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_sums_over_factors_are_within_their_rounding(zeros):
    for seed in range(20):
        graph = random_graph(seed, variables=(3, 6), zeros=zeros)
        prepared = prepare(graph)
        prepared = on_path(prepared, prepared.conditionals.path >= 0, FACTORS)
        assert largest_error(prepared, seed) <= FIELD_ERROR


def test_fields_are_within_their_rounding():
    for seed in range(5):
        graph = random_ising(seed, variables=12, degree=10, equal=False)
        prepared = prepare(graph)
        assert (prepared.conditionals.path == FIELD).any()
        assert largest_error(prepared, seed) <= FIELD_ERROR


def test_counts_serve_couplings_of_one_size_and_any_sign():
    graph = random_ising(4, variables=8, degree=2, equal=True)
    prepared = prepare(graph)
    assert (prepared.conditionals.path == COUNT).all()
    assert largest_error(prepared, 1) <= LIMIT_ERROR


def test_a_wrong_table_is_noticed():
    graph = random_graph(2, variables=(4, 5))
    prepared = prepare(graph)
    reversed_limits = prepared.conditionals.limit[::-1].copy()
    known = prepared.conditionals._replace(limit=reversed_limits)
    wrong = prepared._replace(conditionals=known)
    assert largest_error(wrong, 0) > 1e-3


def test_sums_of_limits_are_sums_of_chances():
    for graph in (
        random_ising(4, variables=8, degree=2, equal=True),
        random_ising(5, variables=8, degree=2, equal=False),
    ):
        prepared = prepare(graph)
        memory = scratch(prepared, 64)
        rng = np.random.default_rng(0)
        values = rng.integers(0, 2, (8, 64)).astype(np.uint8)
        for variable in range(8):
            assert has_limits_of(prepared, variable)
            sums = np.zeros(8)
            sums_of(prepared, memory, values, variable, sums)
            chances = 1 - stored(prepared, variable, values.T)[0]
            np.testing.assert_allclose(sums, chances.reshape(8, 8).sum(axis=0), atol=1e-12)


def test_the_largest_limit_means_certainty():
    assert LARGEST_LIMIT * CERTAINTY == 1.0


def test_long_clauses_are_not_expanded():
    builder = Builder(np.full(300, 2))
    builder.add_clause(list(range(300)), [1] * 300, 2.0)
    prepared = prepare(builder.build())
    assert (prepared.conditionals.path == FACTORS).all()
    assert len(prepared.conditionals.limit) == 0


def test_large_couplings_that_cancel_are_summed_in_double_precision():
    builder = Builder(np.full(21, 2))
    for other in range(1, 21):
        size = 5e3 if other % 2 else -5e3
        builder.add_factor([0, other], [size, -size, -size, size + 0.25])
    graph = builder.build()
    prepared = prepare(graph)
    assert prepared.conditionals.path[0] == FACTORS
    state = [0, *([1] * 20)]
    found = stored(prepared, 0, [state] * 64)
    assert np.abs(found[0] - brute_force.conditional(graph, state, 0)[0]).max() <= FIELD_ERROR


@compiled
def exponentials(inputs, outputs):
    for place in range(len(inputs)):
        outputs[place] = exponential(inputs[place])


@compiled
def logistics(inputs, outputs):
    for place in range(len(inputs)):
        outputs[place] = logistic(inputs[place])


def test_the_fast_exponential_is_as_good_as_its_type():
    inputs = np.linspace(-87, 87, 100_001).astype(np.float32)
    found = np.empty_like(inputs)
    exponentials(inputs, found)
    relative = found / np.exp(inputs.astype(np.float64)) - 1
    # Rounding |x| log2(e) to float32 dominates: relative error up to |x| 2^-23.
    assert (np.abs(relative) <= 3e-7 + np.abs(inputs) * 2.0**-23).all()
    exponentials(np.array([-np.inf, -200], dtype=np.float32), found)
    assert (found[:2] == 0).all()


def test_the_fast_logistic_is_within_its_bound():
    inputs = np.linspace(-40, 40, 200_001).astype(np.float32)
    found = np.empty_like(inputs)
    logistics(inputs, found)
    exact = 1 / (1 + np.exp(-inputs.astype(np.float64)))
    assert np.abs(found - exact).max() <= 2.5e-7


def test_fields_of_many_neighbours_are_within_their_rounding():
    rng = np.random.default_rng(6)
    count = 500
    builder = Builder(np.full(count + 1, 2))
    couplings = rng.normal(size=count) / 4
    builder.add_factors(
        np.stack([np.zeros(count, dtype=int), np.arange(1, count + 1)], axis=1),
        builder.add_tables(np.outer(couplings, [1, -1, -1, 1])),
    )
    graph = builder.build()
    prepared = prepare(graph)
    assert prepared.conditionals.path[0] == FIELD
    states = rng.integers(0, 2, (64, count + 1))
    found = stored(prepared, 0, states)[0]
    fields = 2 * (2 * states[:, 1:] - 1) @ couplings
    assert np.abs(found - 1 / (1 + np.exp(fields))).max() <= FIELD_ERROR


def as_factors(prepared):
    """The same conditionals, summed up over factors."""
    return on_path(prepared, prepared.conditionals.path >= 0, FACTORS)


@pytest.mark.parametrize("place", range(3))
def test_tables_of_three_binary_variables_tell_values_apart(place):
    table = np.random.default_rng(place).normal(size=(2, 2, 2))
    builder = Builder(np.full(3, 2))
    builder.add_factor([0, 1, 2], table)
    prepared = prepare(builder.build())
    states = np.tile(np.array(list(np.ndindex(2, 2, 2))).T, 8).astype(np.uint8)
    memory = scratch(prepared, 64)
    local_log_weights(as_factors(prepared), memory, states, place)
    for lane, state in enumerate(states.T):
        low, high = (tuple(np.where(np.arange(3) == place, k, state)) for k in (0, 1))
        found = memory.log_weights[1, lane] - memory.log_weights[0, lane]
        assert found == pytest.approx(table[high] - table[low], abs=1e-14)


def test_impossible_entries_of_three_binary_variables_stay_impossible():
    builder = Builder(np.full(3, 2))
    table = np.zeros((2, 2, 2))
    table[1, 1, 0] = -np.inf
    builder.add_factor([0, 1, 2], table)
    prepared = prepare(builder.build())
    memory, states = scratch(prepared, 64), np.zeros((3, 64), dtype=np.uint8)
    states[1] = 1
    local_log_weights(as_factors(prepared), memory, states, 0)
    assert (memory.log_weights[1] == -np.inf).all()
    assert (memory.log_weights[0] == 0.0).all()


def with_shared_triples(place, seed=5):
    """Variable 0 at a place of eight equal tables of three, of two others, and of a clause."""
    rng = np.random.default_rng(seed)
    builder = Builder(np.full(10, 2))
    tables = [builder.add_table(entries) for entries in rng.normal(size=(3, 8))]
    builder.add_factor([0], [0.0, 0.3])
    builder.add_factor([4, 0], rng.normal(size=(2, 2)))
    builder.add_clause([0, 7, 9], [1, 0, 1], 0.8)
    for number in [0] * 8 + [1, 2]:
        scope = [0, *rng.choice(np.arange(1, 10), 2, replace=False).tolist()]
        scope[0], scope[place] = scope[place], scope[0]
        builder.add_factors([scope], tables[number])
    return builder.build()


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("near", [0, 2**19])
def test_shared_tables_of_three_are_counted_and_single_ones_are_read(place, near, monkeypatch):
    monkeypatch.setattr(local_weights, "CACHE_BYTES", near)  # rows are fetched early, or not
    graph = with_shared_triples(place)
    prepared = as_factors(prepare(graph))
    groups = prepared.conditionals.groups
    assert groups.rest_start[1] == 2  # those that are not shared
    states = np.random.default_rng(1).integers(0, 2, (10, 64)).astype(np.uint8)
    memory = scratch(prepared, 64)
    local_log_weights(prepared, memory, states, 0)
    for lane, state in enumerate(states.T):
        chance = brute_force.conditional(graph, state, 0)
        found = memory.log_weights[1, lane] - memory.log_weights[0, lane]
        assert found == pytest.approx(np.log(chance[1] / chance[0]), abs=1e-12)


def test_counted_tables_of_three_are_within_their_rounding():
    for place in range(3):
        assert largest_error(as_factors(prepare(with_shared_triples(place))), 3) <= FIELD_ERROR
