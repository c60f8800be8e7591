"""Total orders: draws of places keep the distribution, and connect all that zeros allow."""

from itertools import combinations, permutations

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import ContradictionError, InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.kernels import _order
from orbitmc.kernels._order import order, order_table
from orbitmc.kernels.protocol import start_states
from orbitmc.kernels.testing.exact import one_step, outcomes
from tests.kernels.test_mistakes import WRONG
from tests.kernels.test_transition_matrices import EXACT, residuals


def order_model(rng, items, *, known=0, both=False, extra=2, atoms=0, hard=0.4):
    """Items in order, with random fields and other factors; some pairs are known."""
    hidden = rng.permutation(items)
    first = np.zeros((items, items), dtype=np.uint8)
    for one, other in rng.permutation([*combinations(range(items), 2)])[:known]:
        ahead = hidden[one] < hidden[other]
        first[(one, other) if ahead else (other, one)] = 1
    ways = [*permutations(range(items), 2)] if both else [*combinations(range(items), 2)]
    pairs = [pair for pair in ways if not first[pair] and not first[pair[::-1]]]
    table = np.full((items, items), -1, dtype=np.int32)
    for variable, pair in zip(rng.permutation(len(pairs)), pairs, strict=True):
        table[pair] = variable
    builder = Builder([2] * (len(pairs) + atoms))
    for variable in range(len(pairs)):
        builder.add_factor([variable], rng.normal(0.0, 1.0, 2))
    for group in combinations(range(items), 3):
        add_rule(builder, table, first, group)
    for group in combinations(range(items), 2):
        add_rule(builder, table, first, group)
    for _ in range(extra):
        scope = rng.choice(len(pairs) + atoms, min(3, len(pairs) + atoms), replace=False)
        entries = rng.normal(size=(2,) * len(scope))
        if rng.random() < hard:
            entries[(1,) * len(scope)] = -np.inf
        builder.add_factor(scope, entries)
    return builder.build(), table, first


def add_rule(builder, table, first, group):
    """Allow orders of a few items only, and those that agree with what is known."""
    pairs = [pair for pair in permutations(group, 2) if table[pair] >= 0]
    if not pairs:
        return
    allowed = np.full((2,) * len(pairs), -np.inf)
    for arranged in permutations(group):
        place = {item: number for number, item in enumerate(arranged)}
        if all(place[one] < place[other] for one, other in permutations(group, 2)
               if first[one, other]):  # fmt: skip
            allowed[tuple(int(place[one] < place[other]) for one, other in pairs)] = 0.2
    builder.add_factor([int(table[pair]) for pair in pairs], allowed)


CASES = {
    "fields": {"items": 4, "extra": 0},
    "other factors": {"items": 4, "extra": 4},
    "both ways": {"items": 3, "both": True},
    "known pairs": {"items": 4, "known": 2, "extra": 1},
    "known pairs both ways": {"items": 4, "known": 3, "both": True, "extra": 1},
    "other atoms": {"items": 3, "atoms": 2, "extra": 4},
    "two items": {"items": 2, "extra": 0},
}


@pytest.mark.parametrize("case", CASES)
def test_a_step_keeps_the_distribution(case):
    for seed in range(4):
        rng = np.random.default_rng([seed, *case.encode()])
        graph, table, known = order_model(rng, **CASES[case])
        prepared = prepare_unrounded(graph)
        run = one_step(prepared, order_table(prepared.graph, table, known))
        assert residuals(graph, run)[0] <= EXACT, (case, seed)


@pytest.mark.parametrize("both", [False, True])
def test_rules_of_an_order_are_not_looked_at(both):
    graph, table, known = order_model(np.random.default_rng(1), 4, both=both, extra=0)
    kernel = order_table(graph, table, known)
    assert not len(kernel.factor)
    assert kernel.frees(graph).all()
    assert kernel.draws_well(graph).all()


def test_rules_that_ask_for_more_than_an_order_are_looked_at():
    names = ["a<b", "b<c", "a<c"]
    rules = np.ones((2, 2, 2))
    rules[1, 1, 0] = rules[0, 0, 1] = 0.0
    rules[1, 1, 1] = 0.0
    model = om.model({name: ["no", "yes"] for name in names}, [(names, rules)])
    kernel = order(prepare(model.graph), {("a", "b"): 0, ("b", "c"): 1, ("a", "c"): 2})
    assert len(kernel.factor)
    assert not kernel.frees(model.graph).any()


def test_forgetting_other_factors_is_wrong():
    graph, table, known = order_model(np.random.default_rng(2), 4, extra=4, hard=0.0)
    prepared = prepare_unrounded(graph)
    kernel = order_table(prepared.graph, table, known)
    without = kernel._replace(factor_end=kernel.factor_start)
    assert residuals(graph, one_step(prepared, kernel))[0] <= EXACT
    assert residuals(graph, one_step(prepared, without))[0] > WRONG


def test_forgetting_what_turns_round_is_wrong(monkeypatch):
    graph, table, known = order_model(np.random.default_rng(3), 3, extra=0)
    prepared = prepare_unrounded(graph)
    run = one_step(prepared, order_table(prepared.graph, table, known))
    assert residuals(graph, run)[0] <= EXACT
    monkeypatch.setattr(_order, "potential_in_lane", lambda *given: 0.0)
    turned = order_table(prepared.graph, table, known)
    doubled = one_step(prepared, turned._replace(lead=2 * turned.lead))
    assert residuals(graph, doubled)[0] > WRONG


def named(graph):
    names = tuple(f"m{number}" for number in range(graph.variables))
    return Model(graph, names, (("no", "yes"),) * graph.variables)


@pytest.mark.parametrize("known", [0, 4])
def test_marginals_of_seven_items_are_those_of_all_orders(known):
    """Off by 6.5 errors in less than 1e-8 of all seeds, if chains mix."""
    graph, table, first = order_model(np.random.default_rng(4), 7, known=known, extra=0)
    model = named(graph)
    kernel = order_table(graph, table, first)
    sampled = om.marginals(model, kernel=kernel, samples=400, seed=1)
    weights, sums = 0.0, np.zeros(graph.variables)
    field = {v: kernel.lead[pair[::-1]] for pair, v in np.ndenumerate(table) if v >= 0}
    for arranged in permutations(range(7)):
        place = np.argsort(arranged)
        if (first & (place[:, None] > place)).any():
            continue
        true = {v: place[pair[0]] < place[pair[1]] for pair, v in np.ndenumerate(table) if v >= 0}
        weight = np.exp(sum(field[v] for v, holds in true.items() if holds))
        weights += weight
        for v, holds in true.items():
            sums[v] += weight * holds
    for variable, name in enumerate(model.names):
        marginal = sampled[name]
        off = abs(marginal.probability[1] - sums[variable] / weights)
        assert off <= 6.5 * marginal.standard_error[1] + 1e-9
    assert sampled.converged


def test_starts_are_orders_that_agree_with_what_is_known():
    graph, table, known = order_model(np.random.default_rng(5), 6, known=5, both=True, extra=0)
    kernel = order_table(graph, table, known)
    values = start_states(kernel, graph, 64, np.random.SeedSequence(1))
    before = np.broadcast_to(known[:, :, None], (6, 6, 64)).copy()
    for pair, variable in np.ndenumerate(table):
        if variable >= 0:
            before[pair] = values[variable]
    assert (np.sort(before.sum(axis=0), axis=0) == np.arange(6)[:, None]).all()
    assert len(np.unique(values, axis=1).T) > 10


def test_what_is_no_order_is_left_alone():
    names = ["a<b", "b<c", "a<c"]
    model = om.model({name: ["no", "yes"] for name in names}, [(names, np.ones((2, 2, 2)))])
    prepared = prepare_unrounded(model.graph)
    kernel = order(prepared, {("a", "b"): 0, ("b", "c"): 1, ("a", "c"): 2})
    circle = (1, 1, 0)
    stays = outcomes(one_step(prepared, kernel), circle)
    assert [*stays] == [circle]
    assert len(outcomes(one_step(prepared, kernel), (1, 1, 1))) > 1


@pytest.mark.parametrize(
    ("pairs", "known", "words"),
    [
        ({("a", "a"): 0}, {}, "two different ones"),
        ({}, {}, "no pairs of items"),
        ({("a", "b"): 0, ("b", "c"): 1}, {}, "neither a variable nor known"),
        ({("a", "b"): 3}, {}, "binary variables; variable 3 is not"),
        ({("a", "b"): 9}, {}, "distinct variables from 0 to 3"),
    ],
)
def test_pairs_that_make_no_order_are_refused(pairs, known, words):
    sizes = {"x": ["0", "1"], "y": ["0", "1"], "z": ["0", "1"], "w": ["0", "1", "2"]}
    prepared = prepare(om.model(sizes, []).graph)
    with pytest.raises(InputError, match=words):
        order(prepared, pairs, known)


def test_known_pairs_in_a_circle_are_refused():
    prepared = prepare(om.model({"x": ["0", "1"]}, []).graph)
    circle = {("b", "c"): True, ("c", "d"): True, ("b", "d"): False}
    others = {("a", "c"): True, ("a", "d"): True}
    with pytest.raises(ContradictionError, match="goes round in a circle"):
        order(prepared, {("a", "b"): 0}, {**circle, **others})
    with pytest.raises(InputError, match="at least one item"):
        order(prepared, {("a", "b"): 0}, draws=0)
