"""Columns of marginals that tests make one by one."""

import numpy as np

from orbitmc.estimate.marginals import OF_VALUES, Columns, no_parts
from orbitmc.estimate.verdicts import CODE


def gathered(marginals, part=None):
    """Columns of marginals that were made one by one; `part` has their components."""
    each, none = list(marginals.values()), np.zeros(0)
    sizes = [len(one.values) for one in each]
    numbers = {
        column: np.concatenate([getattr(one, column) for one in each] or [none])
        for column in OF_VALUES
    }
    return Columns(
        list(marginals),
        [one.values for one in each],
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        **numbers,
        verdict=np.array([CODE[one.verdict] for one in each], dtype=np.uint8),
        part=no_parts(len(each)) if part is None else np.array(part),
    )
