"""Rectangles recover what was planted, and more of them never do worse."""

import itertools

import numpy as np
import pytest

from orbitmc._numba.compile_log import time_limit
from orbitmc._simd.bits import pack_bits, unpack_bits
from orbitmc.errors import InputError, LimitError
from orbitmc.symmetry import boolean_rank
from orbitmc.symmetry.boolean_rank import factorise, factorise_links


def planted(seed, rows=30, columns=70, rank=3):
    rng = np.random.default_rng(seed)
    left, right = rng.random((rows, rank)) < 0.35, rng.random((rank, columns)) < 0.35
    return (left.astype(int) @ right.astype(int)) > 0


def random_matrix(seed):
    rng = np.random.default_rng(seed)
    return rng.random((int(rng.integers(1, 25)), int(rng.integers(1, 80)))) < rng.uniform(0.1, 0.6)


def errors(matrix, found):
    return int((found.cover() != matrix).sum())


def signatures(found):
    """What members of a symmetric matrix are known by: rows of equal bits are alike."""
    return np.hstack([found.rows, found.columns])


def communities(seed, noise=0.0):
    """Two groups linked within, two linked with each other, and a lonely one."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(5), 8)
    linked = np.zeros((5, 5), dtype=bool)
    linked[0, 0] = linked[1, 1] = linked[2, 3] = linked[3, 2] = True
    links = np.triu(linked[group][:, group] ^ (rng.random((40, 40)) < noise), 1)
    return group, links | links.T


@pytest.mark.parametrize("shape", [(1, 1), (3, 64), (5, 65), (4, 200)])
def test_packing_rows_loses_nothing(shape):
    matrix = np.random.default_rng(0).random(shape) < 0.5
    np.testing.assert_array_equal(unpack_bits(pack_bits(matrix), shape[1]), matrix)


@pytest.mark.parametrize("seed", range(10))
def test_a_planted_rank_of_three_is_recovered(seed):
    matrix = planted(seed)
    assert errors(matrix, factorise(matrix, 3)) == 0


@pytest.mark.parametrize("seed", range(10))
def test_more_rectangles_never_make_more_errors(seed):
    matrix = random_matrix(seed)
    found = [errors(matrix, factorise(matrix, rank)) for rank in range(8)]
    assert found[0] == matrix.sum()
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))
    assert found[-1] < found[0]


def least_errors(matrix):
    """Errors of the best single rectangle, by trying every set of columns."""
    best = matrix.sum()
    for columns in itertools.product([False, True], repeat=matrix.shape[1]):
        chosen = np.array(columns)
        gain = (matrix & chosen).sum(axis=1) - (~matrix & chosen).sum(axis=1)
        best = min(best, matrix.sum() - np.maximum(gain, 0).sum())
    return best


def test_one_rectangle_is_nearly_the_best_there_is():
    gaps = []
    for seed in range(20):
        matrix = np.random.default_rng(seed).random((6, 8)) < 0.5
        gaps.append(errors(matrix, factorise(matrix, 1)) - least_errors(matrix))
    assert min(gaps) >= 0
    assert max(gaps) <= 2
    assert np.mean(gaps) <= 0.5


def test_isolated_rows_are_in_no_rectangle():
    matrix = planted(1)
    matrix[[4, 9]] = False
    assert not factorise(matrix, 4).rows[[4, 9]].any()
    group, links = communities(0)
    assert not signatures(factorise_links(links, 3))[group == 4].any()


def test_links_within_and_between_groups_need_one_rectangle_each():
    group, links = communities(0)
    found = factorise_links(links, 3)
    assert found.symmetric
    others = ~np.eye(len(links), dtype=bool)
    np.testing.assert_array_equal(found.cover()[others], links[others])
    kinds = [tuple(bits) for bits in signatures(found)]
    assert len(set(zip(group.tolist(), kinds, strict=True))) == 5
    assert len(set(kinds)) == 5


def test_noise_does_not_hide_the_groups():
    group, links = communities(1, noise=0.03)
    kinds = [tuple(bits) for bits in signatures(factorise_links(links, 3))]
    assert len(set(zip(group.tolist(), kinds, strict=True))) == 5


def test_links_that_go_one_way_stay_so():
    links = np.zeros((12, 12), dtype=bool)
    links[:4, 4:9] = True
    np.testing.assert_array_equal(factorise_links(links, 1).cover(), links)


@pytest.mark.parametrize("seed", range(5))
def test_symmetric_errors_never_grow_either(seed):
    rng = np.random.default_rng(seed)
    links = np.triu(rng.random((30, 30)) < 0.25, 1)
    links |= links.T
    others = ~np.eye(30, dtype=bool)
    found = [int((factorise_links(links, rank).cover() ^ links)[others].sum()) for rank in range(7)]
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))
    assert found[-1] < found[0]


def test_empty_matrices_have_empty_rectangles():
    for shape in ((0, 3), (3, 0), (4, 4)):
        found = factorise(np.zeros(shape, dtype=bool), 2)
        assert not found.cover().any()
        assert found.rows.shape == (shape[0], 2)


def test_malformed_questions_are_refused():
    with pytest.raises(InputError, match="0 or more"):
        factorise(planted(0), -1)
    with pytest.raises(InputError, match="truth values"):
        factorise(np.ones((2, 2)), 1)
    with pytest.raises(InputError, match="are a square"):
        factorise_links(np.ones((2, 3), dtype=bool), 1)


@pytest.mark.parametrize("cover", [factorise, factorise_links])
def test_nothing_is_covered_when_no_time_is_left(cover):
    with time_limit(0.0), pytest.raises(LimitError, match="no time"):
        cover(np.ones((4, 4), np.bool_), 2)


def test_the_clock_is_looked_at_whenever_a_rectangle_grows(monkeypatch):
    foreseen = []
    monkeypatch.setattr(boolean_rank, "require_time", lambda seconds=0.0: foreseen.append(seconds))

    def foresee(matrix):
        foreseen.clear()
        factorise(matrix, 1)
        whole, *steps = (seconds for seconds in foreseen if seconds)
        assert len(steps) > 1
        return whole, max(steps)

    few, many = (foresee(np.tri(side, dtype=np.bool_)) for side in (40, 400))
    assert many[0] == pytest.approx(100 * few[0])
    assert many[1] > 200 * few[1]  # seven words for one there was, and a hundred times the places
