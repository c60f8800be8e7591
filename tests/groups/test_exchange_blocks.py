"""Blocks say which rows may be exchanged."""

import math

import numpy as np
import pytest

from orbitmc.errors import InputError
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.groups.decomposition import group_order
from orbitmc.groups.permutation_groups import orbits
from tests.groups.group_questions import group_of, order_of
from tests.groups.slow_groups import closure_of


def test_blocks_hold_their_rows():
    blocks = exchange_blocks([[4, 2, 0], [[1, 5], [3, 6]]])
    assert blocks.blocks == 2
    assert blocks.rows(0).tolist() == [[4], [2], [0]]
    assert blocks.rows(1).tolist() == [[1, 5], [3, 6]]
    assert blocks.width.tolist() == [1, 2]


@pytest.mark.parametrize(
    "rows", [[[3, 0, 2]], [[[0, 1], [2, 3], [4, 5]]], [[0, 1], [[2, 3, 4], [5, 6, 7]]]]
)
def test_the_group_of_blocks_permutes_rows_in_every_way(rows):
    blocks = exchange_blocks(rows)
    every = closure_of(group_of(blocks, 8), 1)
    assert len(every) == order_of(blocks) == group_order(group_of(blocks, 8))
    for element in every:
        for block in range(blocks.blocks):
            moved = np.array(element)[blocks.rows(block)]
            assert sorted(moved.tolist()) == sorted(blocks.rows(block).tolist())


def test_large_blocks_are_one_orbit():
    blocks = exchange_blocks([np.arange(1000)])
    assert [len(orbit) for orbit in orbits(group_of(blocks, 1000))] == [1000]
    assert order_of(blocks) == math.factorial(1000)


def test_no_blocks_permit_nothing():
    blocks = exchange_blocks([])
    assert order_of(blocks) == 1
    assert group_of(blocks, 5).is_trivial


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([[0, 1], [1, 2]], "1 appears twice"),
        ([[0, 0]], "0 appears twice"),
        ([[0]], "at least two rows"),
        ([[]], "list or a matrix"),
        ([[[0, 1], [2, 9]]], "no point 9 among 5"),
        ([[-1, 2]], "no point -1"),
        ([[0.5, 1.0]], "list or a matrix of points"),
    ],
)
def test_malformed_blocks_are_refused(blocks, message):
    with pytest.raises(InputError, match=message):
        exchange_blocks(blocks, degree=5)


def test_blocks_must_fit_into_the_points():
    with pytest.raises(InputError, match="no point 4 among 3"):
        exchange_blocks([[0, 4]], degree=3)
