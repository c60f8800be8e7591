"""Probing against all states: nothing possible is lost, what is decided is decided."""

import itertools

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.exact.contraction import marginals
from orbitmc.exact.draws import independent_states
from orbitmc.exact.joints import joints, tie_scopes
from orbitmc.exact.plan import predict
from orbitmc.exact.problem import _connected_to_deciders, prepare
from orbitmc.graph import probing
from orbitmc.graph.builder import Builder
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.probing import Decided, probe
from tests.exact.random_graphs import random_graph
from tests.oracle.enumeration import enumerate_states


def deterministic_graph(seed):
    """Variables that copy, negate, count or combine earlier ones, soft tables, and evidence."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, 7).tolist()
    builder = Builder(sizes)
    for child in range(2, 7):
        kind = rng.random()
        parents = rng.permutation(child)[: 1 if kind < 0.6 else 2].tolist()
        shape = [sizes[v] for v in parents]
        image = rng.integers(0, sizes[child], shape)
        table = np.full([*shape, sizes[child]], -np.inf)
        np.put_along_axis(table, image[..., None], rng.normal(size=(*shape, 1)), axis=-1)
        if kind > 0.85:
            table = rng.normal(size=table.shape)
        builder.add_factor([*parents, child], table)
    for v in range(7):
        builder.add_factor([v], rng.normal(size=sizes[v]))
    if rng.random() < 0.5:
        seen = int(rng.integers(7))
        table = np.full(sizes[seen], -np.inf)
        table[rng.integers(sizes[seen])] = 0.0
        builder.add_factor([seen], table)
    if rng.random() < 0.3:
        builder.add_clause([0, 3, 5], [1, 0, 1], np.inf)
    return builder.build()


def possible_states(graph):
    states = np.array(list(itertools.product(*map(range, graph.cardinality.tolist())))).T
    return states[:, np.isfinite(log_weight(graph, states.astype(np.uint8)))]


GRAPHS = {
    "random": lambda seed: random_graph(seed, zeros=0.3),
    "deterministic": deterministic_graph,
}


@pytest.mark.parametrize("interpreted", [True, False])
@pytest.mark.parametrize("kind", GRAPHS)
def test_what_is_probed_holds_in_all_possible_states(kind, interpreted, monkeypatch):
    if not interpreted:
        monkeypatch.setattr(probing, "_probe_all", probing._probe_all.dispatcher)
    decided = removed = 0
    for seed in range(150):
        graph = GRAPHS[kind](seed)
        states = possible_states(graph)
        try:
            domains, followers = probe(graph)
        except ContradictionError:
            assert states.shape[1] == 0
            continue
        for v in range(graph.variables):
            assert domains.of(v)[np.unique(states[v])].all()
            removed += int((~domains.of(v)).sum())
        for follower, (by, values) in followers.items():
            np.testing.assert_array_equal(states[follower], values[states[by]])
            assert by not in followers
            decided += 1
    assert removed > 100
    assert decided > (200 if kind == "deterministic" else 20)


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("tens", range(20))
def test_answers_are_those_of_the_sum_over_states(kind, tens):
    for seed in range(10 * tens, 10 * tens + 10):
        graph = GRAPHS[kind](seed)
        try:
            expected = enumerate_states(graph)
        except ContradictionError:
            with pytest.raises(ContradictionError):
                marginals(graph)
            continue
        answer = marginals(graph)
        assert answer.log_z == pytest.approx(expected.log_z, abs=1e-11)
        for mine, true in zip(answer.marginals, expected.marginals, strict=True):
            np.testing.assert_allclose(mine, true, atol=1e-12)


def test_joints_and_draws_know_variables_that_others_decide():
    compared = 0
    for seed in range(60):
        graph = deterministic_graph(seed)
        states = possible_states(graph)
        if not states.shape[1]:
            continue
        weights = np.exp(log_weight(graph, states.astype(np.uint8)))
        scopes = [(0, 2), (2, 3, 4), (6, 1)]
        plan = predict(tie_scopes(graph, scopes))
        for scope, table in zip(scopes, joints(plan, scopes), strict=True):
            expected = np.zeros(table.shape)
            np.add.at(expected, tuple(states[list(scope)]), weights / weights.sum())
            np.testing.assert_allclose(table, expected, atol=1e-12)
            compared += len(set(plan.problem.places_of(scope))) < len(scope)
        drawn = independent_states(plan, 50, seed=seed)
        assert np.isfinite(log_weight(graph, drawn.astype(np.uint8))).all()
    assert compared > 20


def copies(count):
    """Random bits, each copied along a path, all paths tied crosswise: wide unless copies go."""
    rng = np.random.default_rng(0)
    builder = Builder([2] * (count * count))
    same = builder.add_table([0.0, -np.inf, -np.inf, 0.0])
    number = np.arange(count * count).reshape(count, count)
    builder.add_factors(np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1), same)
    for column in range(count):
        for row in range(count - 1):
            pair = [int(number[row, column]), int(number[row + 1, column])]
            builder.add_factor(pair, rng.normal(size=(2, 2)))
    return builder.build()


def test_copies_make_a_lattice_a_chain():
    graph = copies(12)
    assert len(prepare(graph).sizes) == 144
    plan = predict(graph)
    assert len(plan.problem.sizes) == 12
    assert plan.width == 1
    assert plan.problem.followers == 132


def test_a_variable_with_fewer_values_than_who_decides_it_keeps_its_tables():
    """Five values decide a bit that many others read: to read the five instead takes more."""
    builder = Builder([5, 2, *[3] * 6])
    parity = np.full((5, 2), -np.inf)
    parity[np.arange(5), np.arange(5) % 2] = 0.0
    builder.add_factor([0, 1], parity)
    for reader in range(2, 8):
        builder.add_factor([1, reader], np.random.default_rng(reader).normal(size=(2, 3)))
    graph = builder.build()
    assert probe(graph).decided[1].by == 0
    assert prepare(graph, probe(graph)).sizes == (5, 2, *[3] * 6)


def test_variables_far_from_each_other_do_not_become_one():
    path = [(0, 1), (1, 2)]
    assert _connected_to_deciders(path, {2: 0}) == {0}
    assert _connected_to_deciders(path, {1: 0, 2: 0}) == {0, 1, 2}


def test_long_implications_end_after_the_looks_there_are():
    graph = copies(12)
    assert len(probe(graph, looks=0).decided) == 11  # of the first variable, then no more
    assert len(probe(graph).decided) == 132


def test_a_wrong_decision_would_be_noticed(monkeypatch):
    """What the comparison with all states is there for: a follower with its values exchanged."""
    graph = next(g for g in map(deterministic_graph, range(50)) if probe(g).decided)
    domains, decided = probe(graph)
    variable, (by, values) = next(iter(decided.items()))
    wrong = probing.Probed(domains, {variable: Decided(by, np.roll(values, 1))})
    monkeypatch.setattr("orbitmc.exact.plan.probe", lambda graph: wrong)
    try:
        answer = marginals(graph).marginals
    except ContradictionError:
        return
    expected = enumerate_states(graph).marginals
    assert max(np.abs(a - b).max() for a, b in zip(answer, expected, strict=True)) > 1e-3
