"""Words that look random, equal where what they stand for is equal."""

from typing import Any

import numpy as np

from orbitmc.machine.compiling import shared


@shared
def mixed(number: Any) -> Any:
    """Scatter an integer, or each of an array, over 64 bits (the finaliser of splitmix64).

    Sums of such words say which words were added.
    """
    bits = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
