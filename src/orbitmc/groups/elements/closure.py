"""All elements of a small group, from its generators (Dimino's algorithm)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Indices


def closure(generators: Iterable[Indices], degree: int, *, most: int) -> NDArray[np.uint32] | None:
    """Everything that products of dense rows give, the identity first; None if above `most` rows.

    Each generator that is not there yet at least doubles the group, so that a large group is known
    to be large after a few generators.
    """
    rows = np.arange(degree, dtype=np.uint32)[None, :]
    known, used = {rows[0].tobytes()}, list[Indices]()
    for element in generators:
        if element.tobytes() in known:
            continue
        used.append(element)
        subgroup, cosets = rows, [rows]
        # The union of cosets `subgroup * row` is a group if no generator leads out of it.
        for coset in cosets:
            for factor in used:
                row = coset[0][factor]
                if row.tobytes() in known:
                    continue
                if len(known) + len(subgroup) > most:
                    return None
                cosets.append(subgroup[:, row])
                known.update(one.tobytes() for one in cosets[-1])
        rows = np.concatenate(cosets)
    return rows
