"""Whichever way a sum of weights is found, it is the sum over all states."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.exact import contraction
from orbitmc.exact.contraction import eliminate_cheap_variables, marginals
from orbitmc.exact.groups import predict_marginals
from orbitmc.exact.plan import plan_holding, predict
from orbitmc.exact.problem import prepare
from orbitmc.exact.templates import Elimination, template
from orbitmc.graph.fringe import eliminate_fringe
from orbitmc.graph.model import Model
from tests.exact.random_graphs import force_large, random_graph
from tests.graph.test_relevance import random_network
from tests.oracle.enumeration import enumerate_states

GRAPHS = 60
NO_ROWS = np.zeros((0, 1), np.int64)


def eliminate(graph):
    return marginals(graph, plan=predict(graph)).log_z


def in_little_memory(graph):
    return marginals(graph, plan=predict(graph, memory=1), memory=2**30).log_z


def holding_two(graph):
    problem = prepare(graph)
    held = tuple(range(min(2, len(problem.sizes))))
    plan = plan_holding(problem, held, memory=2**30, seconds=0.0)
    return marginals(graph, plan=plan).log_z


def in_groups(graph):
    return marginals(graph, plan=predict_marginals(graph)).log_z


def by_rows(graph):
    problem = prepare(graph)
    return float(Elimination(template(problem, ())).upward(NO_ROWS).log_z()[0])


def without_fringe(graph):
    return enumerate_states(eliminate_fringe(graph).core).log_z


def without_cheap_variables(graph):
    return enumerate_states(eliminate_cheap_variables(graph, 8)).log_z


def asked(graph):
    names = tuple(f"x{v}" for v in range(graph.variables))
    values = tuple(tuple(map(str, range(size))) for size in graph.cardinality.tolist())
    model = Model(graph, names, values)
    log_z = float(om.log_z(model, method="exact"))
    assert om.marginals(model, method="exact").about.log_z == pytest.approx(log_z, abs=1e-11)
    return log_z


WAYS = (
    eliminate,
    in_little_memory,
    holding_two,
    in_groups,
    by_rows,
    without_fringe,
    without_cheap_variables,
    asked,
)


def graphs():
    rng = np.random.default_rng(0)
    for seed in range(GRAPHS):
        yield random_graph(seed, variables=7)
        yield random_network(rng, 7, zeros=0.2).graph


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_gives_the_sum_over_all_states(way, linear, monkeypatch):
    if not linear:
        monkeypatch.setattr(contraction, "MOST_SPAN", -1.0)
    compared = 0
    for number, graph in enumerate(graphs()):
        with monkeypatch.context() as patch:
            if number % 3:
                force_large(patch, matrices=number % 3 == 1)
            try:
                expected = enumerate_states(graph).log_z
            except ContradictionError:
                with pytest.raises(ContradictionError):
                    way(graph)
                continue
            assert way(graph) == pytest.approx(expected, abs=1e-11)
            compared += 1
    assert compared > GRAPHS
