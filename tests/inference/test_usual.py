"""The usual questions reach the code that they are asked for."""

import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.inference.plan import choose_kernel
from orbitmc.inference.precompile import (
    MOVES,
    QUESTIONS,
    at_most_one,
    first_and_last,
    labels,
    network,
    spins,
    two_by_two,
)
from orbitmc.inference.settings import Settings
from orbitmc.kernels._alternation import Alternation
from orbitmc.kernels._clusters import Clusters
from orbitmc.kernels._flips import Flips
from orbitmc.kernels._matching import Matching
from orbitmc.kernels._one_hot import OneHot
from orbitmc.kernels._orbital import Orbital
from orbitmc.kernels._order import Order
from orbitmc.kernels._relabelling import Relabelling
from orbitmc.kernels._tempering import Tempering
from orbitmc.kernels.exchange import Shuffle

JUMPS = {
    "flip": (spins, Flips),
    "labels": (labels, Relabelling),
    "reflections": (spins, Orbital),
    "clusters": (spins, Clusters),
    "one-hot": (at_most_one, OneHot),
    "matchings": (two_by_two, Matching),
    "orders": (first_and_last, Order),
}


@pytest.mark.parametrize("name", JUMPS)
def test_each_family_compiles_its_own_kernel(name):
    make, kind = JUMPS[name]
    assert name in QUESTIONS
    found = chosen(make(), method="lmh", moves=MOVES[name])
    assert isinstance(found, Alternation)
    assert isinstance(found.jump, kind)


def test_tempering_is_compiled_alone():
    assert isinstance(chosen(spins(), method="lmh", moves=MOVES["tempering"]), Tempering)


def test_the_network_has_zeros_and_variables_to_exchange():
    assert network().graph.has_zeros()
    assert isinstance(chosen(network(), method="lifted").second, Shuffle)


def test_shuffles_are_compiled_with_lmh():
    assert isinstance(chosen(spins(), method="lmh", alpha=0.8).second, Shuffle)


def chosen(model, **settings):
    return choose_kernel(model, prepare(model.graph), Settings(**settings)).kernel
