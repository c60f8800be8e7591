"""Solve (I - A) u = A d by its series u = A d + A A d + …, the same for every d.

A fixed number of terms is a fixed linear map, and that is all that an unbiased estimate needs.
"""

import math

import numpy as np
from scipy.sparse import csr_array

from orbitmc.machine.arrays import Floats

POWER_STEPS = 40  # to find the largest eigenvalue
LARGEST = 0.95  # eigenvalue of the matrix; a larger one is scaled down to it
STRETCHES = (1.0, 1.05, 1.1)  # of a matrix, that are tried out
SLOW = 0.6  # largest eigenvalues below it need no stretching
LEFT_OUT = 0.02  # of the slowest component, by ending the series


def radii_for(matrix: csr_array) -> list[float]:
    """Largest eigenvalues that a matrix may be scaled to, its own first unless its series diverges.

    Neighbours that change together change a variable by more than the sum of what each of them
    does alone; where many do, near a critical point, a larger matrix says better what follows.
    """
    own = min(spectral_radius(matrix), LARGEST)
    stretches = STRETCHES if own > SLOW else STRETCHES[:1]
    return sorted({min(own * stretch, LARGEST) for stretch in stretches})


def scaled(matrix: csr_array, radius: float) -> csr_array:
    """The same matrix with another largest eigenvalue."""
    own = spectral_radius(matrix)
    return matrix * (radius / own) if own > 0.0 else matrix


def spectral_radius(matrix: csr_array) -> float:
    """About the largest absolute eigenvalue, by powers of the matrix."""
    vector: Floats = np.random.default_rng(0).normal(size=matrix.shape[0])
    growth = []
    for _ in range(POWER_STEPS):
        size = float(np.linalg.norm(vector))
        if size == 0.0:
            return 0.0
        vector = matrix @ (vector / size)
        growth.append(float(np.linalg.norm(vector)))
    return float(np.exp(np.log(np.maximum(growth[POWER_STEPS // 2 :], 1e-300)).mean()))


def terms_for(radius: float) -> int:
    """How many terms of the series to add up."""
    if radius <= LEFT_OUT:
        return 1
    return math.ceil(math.log(LEFT_OUT) / math.log(radius))


def series(matrix: csr_array, start: Floats, terms: int) -> Floats:
    """Sum of so many powers of a matrix, from the first on, times each column of `start`."""
    total: Floats = matrix @ start
    for _ in range(terms - 1):
        total = matrix @ (start + total)
    return total
