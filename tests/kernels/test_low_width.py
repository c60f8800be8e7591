"""Block Gibbs keeps the distribution, whatever the blocks, and moves what zeros tie together."""

import itertools

import numpy as np
import pytest

from orbitmc._simd.random import generator
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.errors import InputError
from orbitmc.graph.builder import Builder
from orbitmc.graph.support import all_values, possible_values
from orbitmc.graph.transforms import at_beta, side_by_side
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.block_gibbs import elimination
from orbitmc.kernels.block_gibbs.elimination import eliminate, sum_values, to_probabilities
from orbitmc.kernels.block_gibbs.growth import (
    MOST_BLOCK_ENTRIES,
    MOST_BLOCKS,
    TABLES,
    Neighbours,
    Work,
    elimination_order,
    grow_blocks,
)
from orbitmc.kernels.block_gibbs.kernel import chosen_blocks, low_width, low_width_of_copies
from orbitmc.kernels.protocol import steps
from orbitmc.kernels.testing.exact import one_step, outcomes
from orbitmc.sampling.pack import start_values
from tests.kernels.catalogue import block_kernels_on, one_block
from tests.kernels.test_compiled_code import compiled_steps
from tests.kernels.test_mistakes import WRONG
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph
from tests.oracle.slow_generator import SlowGenerator

FLAVOURS = {
    "binary": {"cardinalities": (2,)},
    "mixed": {"cardinalities": (2, 3), "variables": (2, 4)},
    "zeros": {"cardinalities": (2, 3), "zeros": 0.3, "variables": (3, 5)},
    "binary zeros": {"cardinalities": (2,), "zeros": 0.4, "variables": (3, 6)},
}


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_every_block_keeps_the_distribution_in_detailed_balance(flavour):
    seen = set()
    for seed in range(8):
        graph = random_graph([seed, 90, list(FLAVOURS).index(flavour)], **FLAVOURS[flavour])
        for name, run in block_kernels_on(graph).items():
            stationary, balance = residuals(graph, run)
            assert max(stationary, balance) <= EXACT, (flavour, seed, name)
            seen.add(name)
    assert len(seen) > 4


def test_a_hotter_kernel_keeps_the_distribution_of_the_hotter_model_only():
    for seed in range(4):
        graph = random_graph([seed, 91], variables=(4, 5), cardinalities=(2, 3), zeros=0.1)
        kernel, hot = low_width(graph, most_entries=6).at(0.4), at_beta(graph, 0.4)
        runs = [one_block(prepare_unrounded(hot), kernel, block) for block in range(kernel.blocks)]
        assert max(residuals(hot, run)[0] for run in runs) <= EXACT
        assert max(residuals(graph, run)[0] for run in runs) > 1e-3


def test_forgetting_the_values_outside_is_wrong(monkeypatch):
    graph = random_graph(3, variables=(4, 5), cardinalities=(2, 3), clauses=False)
    kernel = low_width(graph, most_entries=6)
    assert kernel.plans.total > 1
    right = one_block(prepare_unrounded(graph), kernel, 0)
    assert residuals(graph, right)[0] <= EXACT
    place = elimination._place_operands

    def forgetful(blocks, memory, values, step):
        place(blocks, memory, np.zeros_like(values), step)

    monkeypatch.setattr(elimination, "_place_operands", forgetful)
    assert residuals(graph, right)[0] > WRONG


def test_choosing_the_block_by_the_state_is_wrong():
    graph = random_graph(3, variables=(4, 5), cardinalities=(2, 3), clauses=False)
    prepared, kernel = prepare_unrounded(graph), low_width(graph, most_entries=6)
    assert kernel.plans.total > 1
    blocks = [one_block(prepared, kernel, block) for block in range(2)]

    def by_state(values, rng):
        blocks[int(values[0, 0] > 0)](values, rng)

    assert residuals(graph, by_state)[0] > WRONG


def test_chosen_blocks_beside_gibbs_keep_the_distribution():
    for seed in range(6):
        graph = random_graph([seed, 92], variables=(4, 5), cardinalities=(2,), zeros=0.2)
        kernel = chosen_blocks(graph, [(0, 2), (1, 2, 3)])
        beside = alternation(SystematicScan(), kernel, period=2)

        def cycle(values, rng, graph=graph, kernel=beside):
            prepared = prepare_unrounded(graph)
            memory = kernel.memory(prepared, 1)
            counts = np.zeros(len(kernel.outcomes), dtype=np.int64)
            steps(prepared, kernel, memory, values, counts, rng, 2)
            assert counts[-1] == 1

        assert residuals(graph, cycle)[0] <= EXACT


def test_chosen_blocks_have_the_members_that_were_named_and_fit():
    graph = random_graph([1, 93], variables=(5, 6), cardinalities=(2,))
    kernel = chosen_blocks(graph, [(4, 0), (1, 2, 3)])
    start = kernel.plans.step_start.tolist()
    members = [set(kernel.plans.variable[a:b].tolist()) for a, b in itertools.pairwise(start)]
    assert members == [{0, 4}, {1, 2, 3}]
    dense = Builder([2, 2, 2])
    dense.add_factor([0, 1, 2], np.arange(8.0))
    small = chosen_blocks(dense.build(), [(2, 0, 1)], most_entries=4)
    assert sorted(small.plans.variable.tolist()) == [0, 2]


@pytest.mark.parametrize(
    ("groups", "words"),
    [([(0, 0)], "a variable twice"), ([(0, 9)], "no variable 9"), ([(-1,)], "no variable -1")],
)
def test_groups_that_make_no_sense_are_refused(groups, words):
    with pytest.raises(InputError, match=words):
        chosen_blocks(equal_coins(), groups)


def equal_coins():
    builder = Builder([2, 2, 2])
    with np.errstate(divide="ignore"):
        builder.add_factor([0, 1], np.log([[3.0, 0.0], [0.0, 1.0]]))
        builder.add_factor([1, 2], np.log([[1.0, 0.0], [0.0, 1.0]]))
    return builder.build()


def test_what_zeros_tie_together_moves_together():
    graph = equal_coins()
    found = one_block(prepare_unrounded(graph), low_width(graph), 0)
    assert outcomes(found, (0, 0, 0)) == {(0, 0, 0): 0.75, (1, 1, 1): 0.25}


def test_weights_lost_in_rounding_leave_the_present_value():
    builder = Builder([2, 2])
    for _ in range(2):
        builder.add_factor([0], [-800.0, 0.0])
        builder.add_factor([0], [0.0, -800.0])
    builder.add_factor([0, 1], [0.1, 0.2, 0.3, 0.5])
    graph = builder.build()
    run = one_block(prepare_unrounded(graph), low_width(graph), 0)
    assert max(residuals(graph, run)) <= EXACT


def test_probabilities_given_the_outside_are_those_of_brute_force():
    compared = 0
    for seed in range(12):
        graph = random_graph([seed, 91], variables=(4, 6), zeros=0.2 * (seed % 2))
        kernel = low_width(graph, most_entries=(6, 12, 1000)[seed % 3])
        joint = brute_force.distribution(graph).reshape(graph.cardinality)
        state = np.array(brute_force.states(graph)[int(joint.argmax())], dtype=np.uint8)
        memory = kernel.memory(prepare_unrounded(graph), 1)
        for block in range(kernel.plans.total):
            eliminate(kernel.plans, memory, state[:, None], block)
            to_probabilities(kernel.plans, memory, block)
            first, end = kernel.plans.step_start[block : block + 2]
            members = kernel.plans.variable[first:end].tolist()
            given = tuple(slice(None) if v in members else state[v] for v in range(len(state)))
            inside = joint[given] / joint[given].sum()
            for step in range(first, end):
                variable = int(kernel.plans.variable[step])
                sum_values(kernel.plans, memory, state[:, None], step)
                axis = sorted(members).index(variable)
                others = tuple(k for k in range(len(members)) if k != axis)
                left = kernel.plans.value[slice(*kernel.plans.value_start[variable : variable + 2])]
                wanted = inside.sum(axis=others)
                assert np.allclose(memory.weights[: len(left), 0], wanted[left], atol=1e-13)
                assert wanted[left].sum() == pytest.approx(1.0)
                compared += 1
    assert compared > 40


@pytest.mark.parametrize("zeros", [0.0, 0.2])
def test_the_same_stream_gives_the_same_trajectory(zeros):
    graph = random_graph(4, variables=(6, 7), zeros=zeros)
    prepared, kernel = prepare(graph), low_width(graph, most_entries=12)
    start = start_values(graph, 32, np.random.SeedSequence(7))
    fast, slow = start.copy(), start.copy()
    counts = np.zeros((2, 2), dtype=np.int64)
    memory = kernel.memory(prepared, 32)
    compiled_steps(prepared, kernel, memory, fast, counts[0], generator(5, 1, 32), 40)
    memory = kernel.memory(prepared, 32)
    steps(prepared, kernel, memory, slow, counts[1], SlowGenerator(5, 1, 32), 40)
    assert np.array_equal(fast, slow)
    assert np.array_equal(counts[0], counts[1])
    assert not np.array_equal(fast, start)


EQUAL = [1.0] * 49


def grid_with_zeros(side):
    """A grid in which neighbours are never both 1."""
    builder = Builder([2] * side * side)
    number = builder.add_table([0.0, 0.0, 0.0, -np.inf])
    cells = np.arange(side * side).reshape(side, side)
    builder.add_factors(np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()], axis=1), number)
    builder.add_factors(np.stack([cells[:-1].ravel(), cells[1:].ravel()], axis=1), number)
    return builder.build()


@pytest.mark.parametrize("most", [2, 8, 32])
def test_blocks_cover_all_variables_within_their_limits(most):
    graph = grid_with_zeros(7)
    blocks = grow_blocks(graph, all_values(graph), most)
    assert set().union(*(block.place for block in blocks)) == set(range(49))
    for block in blocks:
        assert max(block.entries) <= most
        assert block.total == sum(block.entries) <= TABLES * most
        for member, entries in zip(block.order, block.entries, strict=True):
            scope = block.scope_of(member)
            assert all(block.place[other] < block.place[member] for other in scope)
            assert entries == 2 ** (1 + len(scope))


def test_scopes_are_those_of_elimination_by_the_book():
    graph = grid_with_zeros(5)
    known = Neighbours(graph, all_values(graph))
    for block in grow_blocks(graph, all_values(graph), 64):
        near = {v: set() for v in block.place}
        for scope in known.scope:
            inside = set(scope) & near.keys()
            for v in inside:
                near[v] |= inside - {v}
        for v in reversed(block.order):
            assert near[v] == set(block.scope_of(v))
            for u in near[v]:
                near[u] |= near[v] - {u}
                near[u].discard(v)


def test_a_variable_is_inside_a_block_with_all_that_zeros_tie_it_to():
    graph = grid_with_zeros(7)
    known = Neighbours(graph, all_values(graph))
    blocks = grow_blocks(graph, all_values(graph), 64)
    for v in range(49):
        assert any(known.tied[v] <= block.place.keys() for block in blocks)


def test_variables_with_one_possible_value_are_in_no_block():
    builder = Builder([2, 3, 2])
    builder.add_factor([0], [0.0, -np.inf])
    builder.add_factor([0, 1], [[0.0, -np.inf, 0.3], [0.0, 0.0, 0.0]])
    builder.add_factor([1, 2], np.arange(6.0).reshape(3, 2))
    graph = builder.build()
    assert possible_values(graph).allowed.tolist() == [True, False, True, False, True, True, True]
    kernel = low_width(graph)
    assert sorted(kernel.plans.variable.tolist()) == [1, 2]
    assert max(residuals(graph, one_step(prepare_unrounded(graph), kernel))) <= EXACT


def test_a_model_without_choices_has_no_blocks():
    builder = Builder([2])
    builder.add_factor([0], [0.0, -np.inf])
    graph = builder.build()
    run = one_step(prepare_unrounded(graph), low_width(graph))
    assert residuals(graph, run)[0] <= EXACT


def test_a_table_without_entries_is_refused():
    with pytest.raises(InputError, match="at least 1 entry"):
        low_width(equal_coins(), most_entries=0)


def test_what_is_wanted_is_left_out_last():
    known = Neighbours(grid_with_zeros(7), all_values(grid_with_zeros(7)))
    wanted = {24, 17, 23, 25, 31}
    order, _ = elimination_order(known, wanted, 16, 10_000, EQUAL)
    assert wanted < set(order) < set(range(49))
    assert set(elimination_order(known, set(), 2**10, 10_000, EQUAL)[0]) == set(range(49))
    assert len(elimination_order(known, set(), 2**10, 300, EQUAL)[0]) < 49


def test_what_weighs_much_is_left_out_first():
    known = Neighbours(grid_with_zeros(7), all_values(grid_with_zeros(7)))
    heavy = {8, 24, 40}
    weight = [100.0 if v in heavy else 1.0 for v in range(49)]
    order, _ = elimination_order(known, set(), 16, 10_000, weight)
    assert heavy.isdisjoint(order)
    assert not heavy.isdisjoint(elimination_order(known, set(), 16, 10_000, EQUAL)[0])


def test_variables_are_covered_several_times_with_others_outside():
    graph = grid_with_zeros(7)
    blocks = grow_blocks(graph, all_values(graph), 16)
    outside = [frozenset(set(range(49)) - block.place.keys()) for block in blocks]
    assert len(set(outside)) > len(outside) // 2
    assert len(blocks) <= MOST_BLOCKS
    for v in range(49):
        assert sum(known_inside(graph, block, v) for block in blocks) >= 3
    again = grow_blocks(graph, all_values(graph), 16)
    assert [block.order for block in again] == [block.order for block in blocks]


def known_inside(graph, block, v):
    return Neighbours(graph, all_values(graph)).tied[v] <= block.place.keys()


def test_a_block_of_everything_is_enough():
    graph = grid_with_zeros(4)
    assert len(grow_blocks(graph, all_values(graph), 2**10)) == 1


def equivalence(items):
    """Pairs that a hard rule makes transitive: none fits into a block with all it is tied to."""
    pair = {(i, j): i * items + j for i in range(items) for j in range(items)}
    builder = Builder([2] * len(pair))
    for i, j, k in itertools.product(range(items), repeat=3):
        if len({i, j, k}) == 3:
            builder.add_clause([pair[i, j], pair[j, k], pair[i, k]], [0, 0, 1], np.inf)
    return builder.build()


def test_choosing_blocks_ends_where_its_work_does(monkeypatch):
    graph, spent = equivalence(9), []
    spend = Work.spend

    def counted(work, visits):
        spent.append(visits)
        spend(work, visits)

    monkeypatch.setattr(Work, "spend", counted)
    whole = grow_blocks(graph, all_values(graph), MOST_BLOCK_ENTRIES)
    all_work = sum(spent)
    spent.clear()
    limit = all_work // 20
    blocks = grow_blocks(graph, all_values(graph), MOST_BLOCK_ENTRIES, limit)
    largest = all_work / len(whole) * 4  # the last block is finished
    assert sum(spent) < limit + largest < all_work / 2
    assert set().union(*(block.place for block in blocks)) == set(range(graph.variables))
    again = grow_blocks(graph, all_values(graph), MOST_BLOCK_ENTRIES, limit)
    assert [block.order for block in blocks] == [block.order for block in again]


def test_variables_that_no_block_has_are_drawn_alone():
    graph = random_graph(3, variables=(4, 5), cardinalities=(2, 3), clauses=False)
    kernel = low_width(graph, most_work=0)
    assert kernel.blocks == graph.variables
    for block in range(kernel.blocks):
        run = one_block(prepare_unrounded(graph), kernel, block)
        assert max(residuals(graph, run)) <= EXACT


def test_copies_have_the_blocks_of_one_of_them():
    """Blocks of one copy are those that are chosen for it alone, with its share of the work."""
    graph = random_graph(4, variables=(10, 11), cardinalities=(2,), zeros=0.3)
    copies = side_by_side([at_beta(graph, beta) for beta in (0.5, 0.8, 1.0)])
    for work in (50.0, np.inf):
        alone = low_width(graph, most_work=work).plans
        found = low_width_of_copies(graph, copies, most_work=3 * work).plans
        size = len(alone.variable)
        assert found.total == 3 * alone.total
        for k in range(3):
            own = found.variable[k * size : (k + 1) * size].astype(int) - k * graph.variables
            assert own.tolist() == alone.variable.tolist()


def test_blocks_of_copies_keep_the_distribution():
    graph = random_graph(7, variables=(3, 4), cardinalities=(2,), zeros=0.3)
    copies = side_by_side([graph, at_beta(graph, 0.5)])
    kernel = low_width_of_copies(graph, copies, most_work=np.inf)
    run = one_step(prepare_unrounded(copies), kernel)
    assert residuals(copies, run)[0] <= EXACT
