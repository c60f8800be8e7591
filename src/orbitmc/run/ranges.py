"""Refuse states that no variable can have: a kernel of one's own may write anything."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from orbitmc.errors import OutOfRangeError
from orbitmc.run.run import Run


def require_values(run: Run) -> None:
    """Refuse a run in which a lane has a value that its variable does not have."""
    cardinality = run.graph.cardinality
    for pack in run.packs:
        largest = pack.values.max(axis=1)
        wrong = np.flatnonzero(largest >= cardinality)
        if len(wrong):
            variable = int(wrong[0])
            size, value = int(cardinality[variable]), int(largest[variable])
            raise OutOfRangeError(kernel_name(run.kernel), variable, value, size)


def kernel_name(kernel: Any) -> str:
    """What a kernel is called, and what the kernels in it are called.

    >>> import orbitmc as om
    >>> scan = om.kernels.gibbs()
    >>> kernel_name(scan), kernel_name(om.kernels.mixture(scan, scan, weight=0.5))
    ('SystematicScan', 'Mixture of SystematicScan and SystematicScan')
    """
    parts = [kernel_name(part) for part in _parts(kernel)]
    name = type(kernel).__name__
    return f"{name} of {' and '.join(parts)}" if parts else name


def _parts(kernel: Any) -> Iterator[Any]:
    return (part for part in kernel if hasattr(part, "memory") and hasattr(part, "outcomes"))
