"""Blocks of variables with nearly equal marginals."""

import itertools

import numpy as np
import pytest

from orbitmc._util.arrays import indices
from orbitmc.errors import InputError
from orbitmc.symmetry.blocks import similar_marginal_blocks
from tests.oracle.moved_factors import members_of


def marginals_of(chances):
    """Marginals of binary variables, in the layout of all values."""
    chances = np.asarray(chances)
    return np.stack([1 - chances, chances], axis=1).ravel()


@pytest.mark.parametrize("members", [2, 3, 7, 50])
@pytest.mark.parametrize("variables", [2, 6, 7, 41])
def test_binary_variables_are_sorted_by_log_odds_and_cut(variables, members):
    chances = np.random.default_rng(variables).permutation(np.linspace(0.01, 0.99, variables))
    found = members_of(
        similar_marginal_blocks(indices([2] * variables), marginals_of(chances), members=members)
    )
    everyone = [variable for block in found for variable in block]
    assert len(set(everyone)) == len(everyone) >= variables - 1  # one alone exchanges nothing
    assert all(2 <= len(block) <= members for block in found)
    spans = sorted((chances[block].min(), chances[block].max()) for block in map(list, found))
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(spans))
    assert max(map(len, found)) - min(map(len, found)) <= 1 or variables < 2 * members


def test_variables_of_several_values_are_told_apart_by_all_of_them():
    kinds = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.3, 0.3]])
    which = np.array([0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 2, 3])
    found = members_of(similar_marginal_blocks(indices([3] * 12), kinds[which].ravel(), members=3))
    assert sorted(map(sorted, found)) == [[0, 7, 8], [1, 6, 9], [2, 5, 10], [3, 4, 11]]


def test_only_variables_with_equally_many_values_share_a_block():
    cardinality = indices([2, 3, 1, 2, 3])
    marginals = np.array([0.5, 0.5, 0.4, 0.3, 0.3, 1.0, 0.5, 0.5, 0.4, 0.3, 0.3])
    assert members_of(similar_marginal_blocks(cardinality, marginals)) == [[0, 3], [1, 4]]


def test_last_bits_decide_nothing():
    chances = np.full(8, 0.3)
    noisy = chances + np.array([0, 1, -1, 1, 0, -1, 1, 0]) * 1e-15
    one, other = (
        similar_marginal_blocks(indices([2] * 8), marginals_of(some), members=4)
        for some in (chances, noisy)
    )
    assert one.member.tolist() == other.member.tolist() == list(range(8))


def test_certain_values_and_no_variables_are_no_trouble():
    assert members_of(similar_marginal_blocks(indices([2, 2]), marginals_of([0.0, 1.0]))) == [
        [0, 1]
    ]
    assert similar_marginal_blocks(indices([]), np.zeros(0)).blocks == 0
    assert similar_marginal_blocks(indices([2]), marginals_of([0.5])).blocks == 0


def test_a_block_of_one_is_refused():
    with pytest.raises(InputError, match="at least two members, not 1"):
        similar_marginal_blocks(indices([2, 2]), marginals_of([0.5, 0.5]), members=1)
