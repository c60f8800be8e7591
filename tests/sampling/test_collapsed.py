"""What is recorded of a core tells all of the whole graph."""

from dataclasses import replace

import numpy as np
import pytest

from orbitmc.estimate.control_variates import joint_sensitivities
from orbitmc.estimate.tally import count_joints, joint_tally, rows_of
from orbitmc.graph.fringe import eliminate_fringe
from orbitmc.sampling.collapsed import RecoveredStates, draw_network, network_of, recovery_of
from tests.exact.random_graphs import random_graph
from tests.inference.questions.truth import distribution, over

MODELS = 300


def possible_graphs(count=MODELS, variables=7):
    for seed in range(count):
        graph = random_graph(seed, variables=variables)
        truth = distribution(graph)
        if truth is not None:
            yield seed, graph, truth


def rows_in(truth):
    """Rows that a tally has of each variable, from the probabilities of all states."""
    marginals = [over(truth, [axis]) for axis in range(truth.ndim)]
    shown = [m[1:] if len(m) == 2 else m if len(m) > 2 else m[:0] for m in marginals]
    return np.concatenate([np.zeros(0), *shown])


def recovered(fringe):
    """Rows of the whole, from what a core would show if it were sampled forever."""
    recovery = recovery_of(fringe)
    core = distribution(fringe.core)
    groups = [over(core, group).reshape(-1) for group in recovery.groups]
    parts = [rows_in(core)[:, None], np.concatenate([np.zeros(0), *groups])[:, None]]
    return recovery.columns(1.0, parts)[:, 0]


@pytest.mark.parametrize("most", [4, 8, 32])
def test_the_map_gives_all_marginals_from_those_of_core_and_groups(most):
    with_groups = 0
    for seed, graph, truth in possible_graphs():
        fringe = eliminate_fringe(graph, most)
        assert np.abs(recovered(fringe) - rows_in(truth)).max(initial=0.0) <= 1e-12, seed
        with_groups += bool(recovery_of(fringe).groups)
    assert with_groups > (0 if most == 4 else 10)


def test_a_map_of_another_table_would_be_noticed():
    wrong, tried = 0, 0
    for _, graph, truth in possible_graphs(100):
        fringe = eliminate_fringe(graph, 8)
        uneven = [s for s in fringe.network if np.abs(s.chances - s.chances[::-1]).min() > 0.1]
        if not uneven:
            continue
        turned = uneven[-1]._replace(chances=uneven[-1].chances[::-1])
        network = tuple(turned if step is uneven[-1] else step for step in fringe.network)
        tried += 1
        far = np.abs(recovered(replace(fringe, network=network)) - rows_in(truth)).max()
        wrong += far > 1e-6
    assert wrong == tried > 10


def test_variables_that_depend_on_nothing_sampled_are_known():
    seen = set()
    for _, graph, _ in possible_graphs(100):
        recovery = recovery_of(eliminate_fringe(graph, 8))
        alone = ~np.isin(recovery.part_of, recovery.part_of[recovery.fringe.places])
        assert (recovery.known == alone).all()
        seen.update(recovery.known.tolist())
    assert seen == {False, True}


def test_joint_values_are_counted_in_columns():
    rng = np.random.default_rng(3)
    sizes = np.array([2, 3, 2, 4], dtype=np.uint32)
    groups = [(0, 1), (1, 2, 3), (0, 3)]
    values = (rng.random((4, 32)) * sizes[:, None]).astype(np.uint8)
    joints = joint_tally(sizes, groups, 32)
    count_joints(joints, values, 2)
    count_joints(joints, values, 2)
    for group, first in zip(groups, joints.row_start.tolist(), strict=False):
        shape = sizes[list(group)]
        expected = np.zeros((*shape, 8))
        for lane in range(32):
            expected[(*values[list(group), lane], lane % 8)] += 2
        counted = joints.sums[2, first : first + int(shape.prod())]
        assert (counted == expected.reshape(-1, 8)).all()
    assert not joints.sums[[0, 1, 3]].any()


def test_changes_of_joint_values_are_those_of_their_mean():
    """With one variable free and the others as in the states, counts change as the matrix says."""
    rng = np.random.default_rng(4)
    sizes = np.array([2, 3, 2], dtype=np.uint32)
    states = (rng.random((3, 32)) * sizes[:, None]).astype(np.uint8)
    joints = joint_tally(sizes, [(0, 1, 2)], 32)
    matrix = joint_sensitivities(joints, sizes, states).toarray()

    def mean(variable, value):
        changed = states.copy()
        changed[variable] = value
        counts = np.zeros(sizes)
        np.add.at(counts, tuple(changed.astype(np.int64)), 1 / 32)
        return counts.reshape(-1)

    assert matrix.shape == (12, rows_of(sizes).sum())
    np.testing.assert_allclose(matrix[:, 0], mean(0, 1) - mean(0, 0), atol=1e-12)
    middle = sum(mean(1, value) for value in range(3)) / 3
    for value in range(3):
        np.testing.assert_allclose(matrix[:, 1 + value], mean(1, value) - middle, atol=1e-12)
    np.testing.assert_allclose(matrix[:, 4], mean(2, 1) - mean(2, 0), atol=1e-12)


def draw_whole(fringe, truth, count, seed):
    """Draw exact states of the core, and the fringe given each."""
    rng = np.random.default_rng(seed)
    whole = np.zeros((fringe.whole.variables, count), dtype=np.uint8)
    core = over(truth, fringe.places.tolist())
    if core.ndim:
        numbers = rng.choice(core.size, count, p=core.reshape(-1))
        whole[fringe.places] = np.array(np.unravel_index(numbers, core.shape))
    network = network_of(fringe.network[::-1], fringe.whole.cardinality.tolist())
    draw_network(network, rng.random((len(network.variable), count)), whole)
    return whole


def test_a_fringe_is_drawn_as_the_whole_has_it():
    """Scores of 6 happen in 2e-9 of cases; there are a few thousand states.

    Rare states, whose counts are not normal, may be off by four.
    """
    count, far = 100_000, 0.0
    for seed, graph, truth in possible_graphs(20, variables=6):
        whole = draw_whole(eliminate_fringe(graph, 8), truth, count, seed)
        seen = np.zeros(truth.shape)
        np.add.at(seen, tuple(whole.astype(np.int64)), 1 / count)
        off = (seen - truth) / np.sqrt(truth * (1 - truth) / count + (4 / count) ** 2)
        far = max(far, float(np.abs(off).max()))
        assert not seen[truth == 0].any()
    assert 1 < far < 6


class Noted:
    """Notes that keep what they are shown."""

    waiting = 0.0

    def __init__(self, needed):
        self.needed, self.seen = needed, []

    def note(self, number, states, recorded):
        self.seen.append(states)


def test_notes_see_what_they_need_and_the_same_again():
    fringe = eliminate_fringe(random_graph(7, variables=7), 8)
    sizes = fringe.core.cardinality[:, None]
    states = (np.random.default_rng(1).random((fringe.core.variables, 32)) * sizes).astype(np.uint8)
    every, some, again = Noted(slice(None)), Noted(np.array([6, 0])), Noted(slice(None))
    for notes in (every, some, again):
        seen = RecoveredStates(notes, fringe, seed=5)
        seen.note(2, states[seen.needed], 9)
    assert (every.seen[0] == again.seen[0]).all()
    assert (every.seen[0][fringe.places] == states).all()
    assert some.seen[0].shape == (2, 32)
