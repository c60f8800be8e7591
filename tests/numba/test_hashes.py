"""One function scatters integers, one by one and in arrays, as splitmix64 does."""

import numpy as np

from orbitmc._numba.jit import compiled
from orbitmc._simd.bits import hash_integer

# the first numbers that splitmix64 gives from seed 0, and the states before them
STATES = np.array([0, 0x9E3779B97F4A7C15], np.uint64)
PUBLISHED = np.array([0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4], np.uint64)


@compiled
def mixed_one_by_one(numbers, found):
    for place in range(len(numbers)):
        found[place] = hash_integer(numbers[place])


def test_words_are_those_of_splitmix64_in_arrays_and_in_compiled_loops():
    np.testing.assert_array_equal(hash_integer(STATES), PUBLISHED)
    found = np.zeros(2, np.uint64)
    mixed_one_by_one(STATES, found)
    np.testing.assert_array_equal(found, PUBLISHED)
