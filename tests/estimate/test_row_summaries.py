"""Statistics made chunk by chunk are those of all rows at once; pools share theirs."""

from dataclasses import fields

import numpy as np
import pytest

from orbitmc._simd.random import COLUMNS
from orbitmc.estimate import statistics as row_summaries
from orbitmc.estimate.statistics import Statistics, part_lengths, persistence, statistics
from orbitmc.estimate.tally import PARTS, RaoBlackwellTally

LANES, RECORDED = 64, 16
ALONE = ("lanes", "recorded", "independent")
NUMBERS = [field.name for field in fields(Statistics) if field.name not in ALONE]


def tallies(rows, *, packs=2, variables=0):
    rng = np.random.default_rng(rows)
    sums = LANES // COLUMNS * RECORDED / PARTS * rng.random((packs, PARTS, rows, COLUMNS))
    opened = rng.integers(0, 2, (packs, variables, LANES), dtype=np.uint8)
    start = np.zeros(1, dtype=np.uint32)
    return [RaoBlackwellTally(own, start, marks) for own, marks in zip(sums, opened, strict=True)]


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 23])
def test_chunks_change_nothing(rows):
    whole = statistics(tallies(rows, variables=5), RECORDED, LANES)
    found = statistics(tallies(rows, variables=5), RECORDED, LANES, rows_at_a_time=4)
    assert (found.lanes, found.recorded) == (whole.lanes, whole.recorded)
    for name in NUMBERS:
        assert getattr(found, name).tolist() == getattr(whole, name).tolist(), name


def test_rows_of_all_chunks_share_one_false_alarm_rate():
    rows, chunk, lengths = 23, 4, part_lengths(RECORDED)
    noise = tallies(rows, packs=1)[0]
    for strength in np.linspace(0.0, 8.0, 400):  # until columns differ so much that chunks matter
        sums = noise.sums.copy()
        sums[:, 5] += strength * np.arange(COLUMNS)
        means = sums / (lengths[:, None, None] * (LANES // COLUMNS))
        few = persistence(means, lengths, 0.0, chunk).persists[5]
        if few and not persistence(means, lengths, 0.0, rows).persists[5]:
            break
    else:
        pytest.fail("no strength tells the two rates apart")
    tally = noise._replace(sums=sums)
    assert not statistics([tally], RECORDED, LANES, rows_at_a_time=chunk).persists.any()


def test_rows_of_a_pool_are_averaged_and_share_all_numbers():
    pools = np.array([0, 1, 0, 2, 3, 3, 3])
    found = statistics(tallies(7), RECORDED, LANES, pools, rows_at_a_time=2)
    alone = statistics(tallies(7), RECORDED, LANES, rows_at_a_time=2)
    for members in ([0, 2], [4, 5, 6]):
        assert len(set(found.standard_error[members])) == 1
        mean = alone.probability[members].mean()
        assert found.probability[members] == pytest.approx(mean, abs=1e-14)
        # independent rows: their mean is surer than the surest of two or three like these
        assert found.standard_error[members[0]] < alone.standard_error[members].max()
    for row in (1, 3):
        for name in ("probability", "standard_error", "low", "high", "ess", "r_hat"):
            assert getattr(found, name)[row] == getattr(alone, name)[row]


def test_rounding_of_long_sums_is_no_drift():
    """Columns that add up the same number for very long differ between parts by rounding only."""
    recorded = 3 * 2**20 + 2**19
    lengths = part_lengths(recorded).astype(int) * (LANES // COLUMNS)
    sums = np.zeros((PARTS, 1, COLUMNS))
    for part, length in enumerate(lengths):
        sums[part] = np.cumsum(np.full(length, 0.7))[-1]
    means = sums[:, 0, 0] / lengths
    assert np.ptp(means) > row_summaries.LIMIT_ROUNDING
    found = row_summaries.row_summaries([RaoBlackwellTally(sums, None, None)], recorded, LANES)
    assert not found.drifts.any()
    assert not found.persists.any()


def test_columns_that_are_far_apart_have_a_large_r_hat_and_nothing_overflows():
    halves = np.array([[0.0, 1e10, 0.0, 1e10]])
    found = row_summaries._r_hat(np.array([0.0]), halves, 8)
    assert found == pytest.approx(np.sqrt(1 + 1e6))
