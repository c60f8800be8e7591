"""Classes of rows and numbers are what comparing each with each says, however they are found."""

import numpy as np
import pytest

from orbitmc._util.arrays import distinct, number_classes, row_classes

LARGE = 2**62  # columns of such numbers cannot be joined


def random_rows(seed):
    rng = np.random.default_rng(seed)
    most = (2, 5, LARGE)[seed % 3]
    rows = rng.integers(-most, most, (rng.integers(0, 30), rng.integers(0, 5)))
    rows = rows[rng.integers(0, len(rows), len(rows))] if seed % 2 and len(rows) else rows
    if seed % 5:
        return rows
    return np.where(rng.random(rows.shape) < 0.2, -np.inf, rows.astype(np.float64))


@pytest.mark.parametrize("hundreds", range(3))
def test_rows_are_told_apart_in_lexicographic_order(hundreds):
    for seed in range(100 * hundreds, 100 * hundreds + 100):
        rows = [tuple(row) for row in random_rows(seed).tolist()]
        first, which = row_classes(random_rows(seed))
        in_order = sorted(set(rows))
        assert [rows[place] for place in first] == in_order
        assert first.tolist() == [rows.index(row) for row in in_order]
        assert which.tolist() == [in_order.index(row) for row in rows]


@pytest.mark.parametrize(("least", "most"), [(0, 3), (0, 40), (-5, 5), (0, LARGE)])
def test_classes_are_numbered_as_they_appear(least, most):
    rng = np.random.default_rng(most % 1000)
    for _ in range(100):
        classes = rng.integers(least, most, rng.integers(0, 30))
        first_seen = list(dict.fromkeys(classes.tolist()))
        assert number_classes(classes).tolist() == list(map(first_seen.index, classes.tolist()))
        natural = np.abs(classes)
        assert distinct(natural).tolist() == sorted(set(natural.tolist()))
