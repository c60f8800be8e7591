"""Ising models on graphs of networkx."""

import itertools
import math

import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.interop.libraries import library

networkx = library("networkx")


def graph():
    found = networkx.Graph()
    found.add_node("z", h=0.4)
    found.add_node("a")
    found.add_node(3, h=-0.2)
    found.add_edge("a", 3, J=0.7)
    found.add_edge("z", 3)
    return found


def test_marginals_are_those_of_the_formula():
    model = om.from_networkx(graph(), coupling=-0.3, field=0.1, beta=0.5)
    weights = {}
    for z, a, c in itertools.product([-1, 1], repeat=3):
        weights[z, a, c] = math.exp(0.5 * (0.4 * z + 0.1 * a - 0.2 * c + 0.7 * a * c - 0.3 * z * c))
    found = om.marginals(model, method="exact")
    assert list(found) == ["z", "a", "3"]
    for place, name in enumerate(found):
        up = sum(weight for spins, weight in weights.items() if spins[place] == 1)
        assert found[name].probability[1] == pytest.approx(up / sum(weights.values()), abs=1e-12)


def test_parallel_edges_add_up():
    double, single = networkx.MultiGraph(), networkx.Graph()
    double.add_edge(0, 1, J=0.2)
    double.add_edge(1, 0, J=0.3)
    single.add_edge(0, 1, J=0.5)
    two, one = (om.joint(om.from_networkx(g), ["0", "1"]).probability for g in (double, single))
    assert two == pytest.approx(one, abs=1e-12)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (networkx.DiGraph([(0, 1)]), "couplings have no direction"),
        (networkx.Graph([(0, 0)]), "node 0 is coupled to itself"),
        (networkx.Graph([(0, 1, {"J": "strong"})]), "J of 0, 1 is a finite number, not 'strong'"),
    ],
)
def test_what_has_no_meaning_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        om.from_networkx(wrong)
