"""Directed networks in factor graphs: the same as a slow search finds, in linear time."""

import time

import numpy as np
import pytest

from orbitmc.graph.ancestral import _draw_order, network_of
from orbitmc.graph.builder import Builder
from tests.oracle.directed import drawn_by


def random_network(seed, variables, *, observed=0.0, loose=0.0):
    """Tables of variables given up to two before; some of them are observed, some are no tables."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, variables)
    builder = Builder(sizes)
    for variable in rng.permutation(variables).tolist():
        parents = rng.choice(variable, min(variable, int(rng.integers(0, 3))), replace=False)
        weights = rng.gamma(1.0, size=[*sizes[parents], sizes[variable]])
        if rng.random() >= loose:
            weights /= weights.sum(axis=-1, keepdims=True)
        scope, axes = np.array([*parents, variable]), rng.permutation(len(parents) + 1)
        builder.add_factor(scope[axes].tolist(), np.log(weights).transpose(axes))
        if rng.random() < observed:
            builder.add_factor([variable], rng.normal(size=sizes[variable]))
    return builder.build()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [{}, {"observed": 0.3}, {"loose": 0.3}])
def test_the_network_is_what_a_slow_search_finds(seed, kind):
    graph = random_network(seed, 30, **kind)
    slow, found = drawn_by(graph), network_of(graph)
    assert (found is None) == (len(slow) < graph.variables)
    if found is None:
        return
    assert found.order.tolist() == list(slow)
    for variable, factor in slow.items():
        assert factor in found.graph.factors_of(variable)
    used = set(found.graph.incident.tolist())
    assert used.isdisjoint(found.rest.tolist())
    assert used | set(found.rest.tolist()) == set(range(found.graph.factors))


def test_factors_that_are_drawn_and_left_over_multiply_to_the_model():
    """Up to a constant: networks drop it."""
    for seed in range(6):
        graph = random_network(seed, 8, loose=0.5)
        found, rng = network_of(graph), np.random.default_rng(seed)
        one, other = (rng.integers(0, graph.cardinality) for _ in range(2))
        gain = _log_weight(found, one) - _log_weight(found, other)
        wanted = [
            sum(_entry(graph, f, state) for f in range(graph.factors)) for state in (one, other)
        ]
        assert gain == pytest.approx(wanted[0] - wanted[1])


def _log_weight(found, values):
    """How likely a state is drawn, times what is left over."""
    graph = found.graph
    total = sum(_entry(graph, factor, values) for factor in found.rest.tolist())
    for variable in found.order.tolist():
        logs = np.zeros(int(graph.cardinality[variable]))
        for factor in graph.factors_of(variable).tolist():
            scope = graph.scope_of(factor).tolist()
            table = np.moveaxis(graph.table_values(factor), scope.index(variable), -1)
            logs += table[tuple(values[v] for v in scope if v != variable)]
        total += logs[values[variable]] - np.log(np.exp(logs).sum())
    return total


def _entry(graph, factor, values):
    return graph.table_values(factor)[tuple(values[graph.scope_of(factor)])]


def test_networks_that_leave_more_over_than_asked_for_are_none():
    graph = random_network(3, 30, observed=0.5)
    left = len(network_of(graph).rest)
    assert left > 0
    assert network_of(graph, left) is not None
    assert network_of(graph, left - 1) is None


def test_interpreted_and_compiled_searches_agree():
    graph = random_network(5, 40, loose=0.2)
    sums = np.random.default_rng(0).random(len(graph.scope)) < 0.5
    arguments = (graph.scope_start, graph.scope, graph.incident_start, graph.incident, sums)
    for one, other in zip(
        _draw_order.py_func(*arguments), _draw_order.dispatcher(*arguments), strict=True
    ):
        assert one.tolist() == other.tolist()


def test_a_network_is_found_in_linear_time():
    """A search that looks at all ready factors in every step takes minutes here."""
    variables = 30_000
    rng = np.random.default_rng(1)
    builder = Builder(np.full(variables, 2))
    firsts = np.arange(0, variables, 3)
    for places in ([0, 1], [1, 2], [0, 1, 2]):
        scopes = firsts[:, None] + np.array(places)
        builder.add_factors(
            scopes, builder.add_tables(rng.normal(size=(len(firsts), 2 ** len(places))))
        )
    builder.add_factors(firsts[:, None], builder.add_tables(rng.normal(size=(len(firsts), 2))))
    begun = time.process_time()
    assert len(network_of(builder.build()).order) == variables
    assert time.process_time() - begun < 20.0
