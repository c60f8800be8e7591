"""Tiered functions give the same bits interpreted and compiled, and are compiled when that pays."""

import copy
import sys

import numba
import numpy as np
import pytest

from orbitmc._numba import tiers
from orbitmc._numba.tiers import Tiered, elements, of_all, of_one, tier
from orbitmc._util.arrays import starts
from orbitmc.conditionals.prepared import prepare
from orbitmc.exact.blocks import slab_steps
from orbitmc.exact.contraction import LINEAR, LOGARITHMIC, Passes
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.exact.dual_bound import DualAscent
from orbitmc.exact.order_search import search_order
from orbitmc.exact.plan import predict
from orbitmc.graph.ancestral import forward_draws, network_of
from orbitmc.graph.feasibility import contradicts, possible_states, walk_to_state
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import relevant
from orbitmc.graph.support import possible_values
from orbitmc.inference._marginals import marginals
from orbitmc.inference.symmetries import symmetry_overview
from orbitmc.models._ising import ising, ising_grid, potts_grid
from orbitmc.sampling.initialization import ascend, weight_gains
from orbitmc.symmetry._automorphisms import automorphisms
from orbitmc.symmetry.encoding import variable_graph
from orbitmc.symmetry.refinement import ball_cells, equitable_cells
from orbitmc.symmetry.terms import energy_form
from tests.graph.test_network import random_network
from tests.oracle.random_models import random_graph, random_ising
from tests.symmetry.models import patterned, regular_edges


def unequal(one, other):
    """Whether two results, or what two calls left in their arguments, differ in some bit."""
    if isinstance(one, tuple):
        return len(one) != len(other) or any(map(unequal, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype and one.ndim:
        return True
    return one.shape != other.shape or not np.array_equal(
        one, other, equal_nan=one.dtype.kind == "f"
    )


class BothWays:
    """Lets every tiered function run both ways, and notes those that differ, and those met."""

    def __init__(self, monkeypatch):
        self.met, self.differing = set(), set()
        monkeypatch.setattr(Tiered, "__call__", lambda function, *given: self.run(function, given))

    def run(self, function, given):
        shadow = copy.deepcopy(given)
        for original, copied in zip(arrays(given), arrays(shadow), strict=True):
            copied.flags.writeable = original.flags.writeable
        self.met.add(function)
        expected = function.dispatcher(*shadow)
        found = function._interpreted(given)
        if unequal(found, expected) or unequal(given, shadow):
            self.differing.add(function.__qualname__)
        return expected


def arrays(held):
    if isinstance(held, np.ndarray):
        yield held
    elif isinstance(held, tuple):
        for part in held:
            yield from arrays(part)


def ask_everything(graph):
    """Call most of what is tiered: conditionals, starts, orders, symmetries, approximations."""
    prepare(graph)
    states = possible_states(graph, 2, np.random.SeedSequence(1))
    ascend(graph, states.copy())
    start = starts(graph.cardinality)
    weight_gains(graph, states[:, :1].copy(), start, np.zeros(int(start[-1])))
    contradicts(graph, np.arange(graph.factors))
    pairs = np.array(np.triu_indices(graph.variables, 1)).T[::2].astype(np.int64)
    search_order(pairs, np.log2(graph.cardinality.astype(float)), seconds=0.0, seed=1)
    names = tuple(f"v{variable}" for variable in range(graph.variables))
    values = tuple(tuple(map(str, range(size))) for size in graph.cardinality)
    symmetry_overview(Model(graph, names, values), seconds=600.0)
    marginals(Model(graph, names, values), method="exact")
    relevant(Model(graph, names, values), [0])
    eliminate(graph)
    plan = predict(graph)
    for arithmetic in (LINEAR, LOGARITHMIC):
        steps = slab_steps(plan.tree, plan.steps.regions)
        passes = Passes(plan.problem, plan.tree, steps, arithmetic)
        passes.up()
        passes.down(plan.order)
    looks = iter(range(10))
    DualAscent(plan.problem).improve(lambda: next(looks) >= 6)
    automorphisms(graph, values=True)
    drawn = variable_graph(energy_form(graph))
    ball_cells(drawn, equitable_cells(drawn), reach=5)
    walk_to_state(graph, possible_values(graph), np.random.default_rng(1))


def models():
    for seed in range(4):
        yield random_graph(seed, zeros=0.3 * (seed % 2))
        yield patterned(seed, zeros=seed % 2 == 1, clauses=seed > 1, most=6)
    yield random_graph(9, variables=(12, 13), cardinalities=(2, 3, 4), zeros=0.2)
    yield ising_grid(4, 4, 0.3).graph
    yield potts_grid(3, 3, 3, 0.7).graph
    yield ising(np.zeros(14), regular_edges(14, 3, 5), 0.3).graph


def test_interpreted_and_compiled_functions_give_the_same_bits(monkeypatch):
    both = BothWays(monkeypatch)
    for graph in models():
        ask_everything(graph)
    for seed in range(3):
        network = network_of(random_network(seed, 20, observed=0.3))
        forward_draws(network, 3, np.random.default_rng(seed))
    assert not both.differing
    loaded = [own for name, own in sys.modules.items() if name.startswith("orbitmc.")]
    every = {one for own in loaded for one in vars(own).values() if isinstance(one, Tiered)}
    ours = {one for one in every if one.__module__.startswith("orbitmc.")}
    assert {one.__qualname__ for one in ours - both.met} == set()


@pytest.mark.parametrize("seed", range(20))
def test_limits_are_the_same_bits_for_all_sizes_of_couplings(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    both = BothWays(monkeypatch)
    for size in (1.0, 30.0, 900.0):
        fields = size * rng.normal(size=(4, 4))
        prepare(ising_grid(4, 4, size * float(rng.normal()), fields).graph)
    prepare(random_graph(seed, variables=(4, 9), cardinalities=(2, 3, 4), zeros=0.2))
    prepare(random_ising(seed, variables=20, degree=3, equal=seed % 2 == 0))
    assert not both.differing


def test_a_function_that_differs_is_noticed(monkeypatch):
    @tier(of_one)
    def differs(numbers):
        numbers[0] = numbers[0] - np.uint32(1) - 1  # wraps in the interpreter only

    both = BothWays(monkeypatch)
    differs(np.zeros(1, dtype=np.uint32).astype(np.uint32))
    differs.py_func = lambda numbers: numbers.fill(7)
    differs(np.zeros(1, dtype=np.uint32))
    assert both.differing == {differs.__qualname__}


def count_calls(function, given, times):
    for _ in range(times):
        function(given)
    return len(function.dispatcher.signatures)


def doubled(work):
    @tier(work)
    def double(numbers):
        for place in range(len(numbers)):
            numbers[place] *= 2.0

    return double


def test_small_work_is_interpreted_and_large_work_compiled():
    small, large = doubled(of_all), doubled(lambda numbers: 10 * tiers.PATIENCE / tiers.STEP)
    for function, signatures in ((small, 0), (large, 1)):
        numbers = np.arange(3.0)
        assert count_calls(function, numbers, 2) == signatures
        assert numbers.tolist() == [0.0, 4.0, 8.0]


def test_many_small_calls_are_compiled_in_the_end(monkeypatch):
    function = doubled(of_one)
    assert count_calls(function, np.zeros(2), 3) == 0
    monkeypatch.setattr(tiers, "PATIENCE", 0.0)
    assert count_calls(function, np.zeros(2), 1) == 1


def test_what_is_on_the_disk_is_loaded_rather_than_interpreted(monkeypatch):
    function = doubled(lambda numbers: 2 * tiers.LOADING / tiers.STEP)
    monkeypatch.setattr(function.dispatcher._cache, "has", lambda *about: True)
    assert count_calls(function, np.zeros(2), 1) == 1


def test_compiled_code_can_call_a_tiered_function():
    double = doubled(of_one)

    @numba.njit
    def quadruple(numbers):
        double(numbers)
        double(numbers)

    numbers = np.ones(2)
    quadruple(numbers)
    assert numbers.tolist() == [4.0, 4.0]


def test_elements_of_nested_tuples_are_counted():
    assert elements((np.zeros((2, 3)), (np.zeros(4), 1.0))) == 11
