"""Classes of equal rows come in lexicographic order, whatever numbers the rows have."""

import numpy as np
import pytest

from orbitmc._util.arrays import row_classes

RANGES = {
    "few": (-2, 3),
    "many": (0, 2**40),
    "negative": (-(2**62), -(2**62) + 3),
    "all": (-(2**63), 2**63 - 1),
}


@pytest.mark.parametrize("ranges", RANGES)
@pytest.mark.parametrize("width", [0, 1, 2, 7])
def test_rows_are_ordered_as_tuples_are(ranges, width):
    rng = np.random.default_rng([width, list(RANGES).index(ranges)])
    low, high = RANGES[ranges]
    distinct = rng.integers(low, high, (40, width), endpoint=True)
    rows = distinct[rng.integers(40, size=200)]
    first, which = row_classes(rows)
    tuples = [tuple(row) for row in rows.tolist()]
    expected = sorted(set(tuples))
    assert [expected[number] for number in which] == tuples
    assert first.tolist() == [tuples.index(row) for row in expected]
