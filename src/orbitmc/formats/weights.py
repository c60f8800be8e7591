"""Logarithms back to weights, in as few digits as read back to the same logarithm."""

import numpy as np

from orbitmc.arrays import Floats
from orbitmc.errors import InputError

LARGEST_LOG = 700.0
"""Beyond this, a weight or its inverse does not fit in a floating-point number."""


def weight_texts(log_weights: Floats) -> list[str]:
    """Write weights so that their logarithms come back, to the bit wherever one has them."""
    logs = log_weights.reshape(-1)
    finite = logs[np.isfinite(logs)]
    if (np.abs(finite) > LARGEST_LOG).any():
        extreme = finite[np.abs(finite).argmax()]
        raise InputError(f"the format holds weights, and cannot hold exp({extreme:.6g})")
    weights = np.exp(logs)
    short = [f"{weight:.15g}" for weight in weights.tolist()]
    with np.errstate(divide="ignore"):
        enough = np.log(np.array(short, dtype=np.float64)) == logs
    exact = map(repr, weights.tolist())
    return [a if fits else b for a, fits, b in zip(short, enough, exact, strict=True)]
