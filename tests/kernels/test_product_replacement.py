"""Jumps by product replacement are exact together with the state of the bag."""

import numpy as np

from orbitmc.conditionals.prepared import prepare_unrounded
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.groups.random_elements import ProductReplacement, product_replacement_step
from orbitmc.kernels._orbital import _propose_element, orbital_by_product_replacement
from orbitmc.kernels.metropolis import accept_reject
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import outcomes
from tests.groups.builders import from_row
from tests.oracle import brute_force
from tests.oracle.random_models import random_ising

GRAPH = random_ising(5, variables=3, degree=2, equal=False)
PREPARED = prepare_unrounded(GRAPH)
KERNEL = orbital_by_product_replacement(
    GRAPH, permutation_group(3, [from_row([1, 2, 0])]), slots=2, burn=0
)


def key(rattle):
    return rattle.forward.tobytes(), rattle.backward.tobytes()


def unpacked(packed):
    shape = KERNEL.bag.forward.shape
    return ProductReplacement(
        *(np.frombuffer(one, np.uint32).reshape(shape).copy() for one in packed)
    )


def with_coin(values, rng, packed):
    memory = KERNEL.memory(PREPARED, 1)._replace(bag=unpacked(packed))
    steps(PREPARED, KERNEL, memory, values, np.zeros(4, np.int64), rng, 1)
    return key(memory.bag)


def without_coin(values, rng, packed):
    rattle = unpacked(packed)
    product_replacement_step(rattle, rng)
    memory = KERNEL.memory(PREPARED, 1)._replace(bag=rattle)
    size = _propose_element(KERNEL.pairs, memory, values)
    accept_reject(PREPARED, memory.proposal, values, np.zeros(4, np.int64), rng, size)
    return key(rattle)


def drift(step, rounds):
    """How far the states leave their distribution while state and bag evolve together."""
    exact = dict(zip(brute_force.states(GRAPH), brute_force.distribution(GRAPH), strict=True))
    start = key(KERNEL.bag)
    joint = {(state, start): chance for state, chance in exact.items()}
    known = {}
    worst = 0.0
    for _ in range(rounds):
        after = {}
        for place, chance in joint.items():
            if place not in known:
                state, packed = place
                known[place] = outcomes(lambda v, r, p=packed: step(v, r, p), state)
            for end, share in known[place].items():
                after[end] = after.get(end, 0.0) + chance * share
        joint = after
        marginal = dict.fromkeys(exact, 0.0)
        for (state, _), chance in joint.items():
            marginal[state] += chance
        worst = max(worst, max(abs(marginal[state] - exact[state]) for state in exact))
    return worst


def test_states_keep_their_distribution_while_the_bag_evolves():
    assert drift(with_coin, 6) <= 1e-12


def test_without_the_coin_they_do_not():
    assert drift(without_coin, 6) > 1e-5
