"""All streams of random numbers: what has a seed in common must not share its numbers."""

from enum import IntEnum


class Stream(IntEnum):
    """Where the numbers of a stream begin; packs, rounds or groups count on from there.

    >>> Stream.BEST_STATES + 3 < Stream.ANNEALED_IMPORTANCE
    True
    """

    PACKS = 0
    BEST_STATES = 2**29
    ANNEALED_IMPORTANCE = 2**30
    ANNEALED_STARTS = 2**31
    ESTIMATOR_TRIAL = 2**31 + 2**30
