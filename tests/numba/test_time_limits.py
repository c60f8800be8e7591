"""Work in steps ends when its time is over, and only then."""

import pytest

from orbitmc._numba.compile_log import require_time, time_limit, timed
from orbitmc.errors import LimitError


def test_without_a_limit_there_is_always_time():
    require_time(1e300)
    assert list(timed(range(3))) == [0, 1, 2]


def test_steps_end_when_time_is_over():
    with time_limit(0.0), pytest.raises(LimitError, match="no time"):
        list(timed(range(3)))


def test_what_surely_takes_longer_is_not_begun():
    with time_limit(100.0):
        require_time(1.0)
        with pytest.raises(LimitError):
            require_time(1000.0)


def test_an_inner_limit_ends_with_its_block_and_never_extends_the_outer_one():
    with time_limit(100.0):
        with time_limit(0.0), pytest.raises(LimitError):
            require_time()
        require_time()
        with time_limit(10_000.0), pytest.raises(LimitError):
            require_time(1000.0)
