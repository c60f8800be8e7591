"""Small groups, element by element."""

from typing import NamedTuple

import numpy as np

from orbitmc.errors import LimitError
from orbitmc.groups.chains.stabilizer_chain import StabilizerChain
from orbitmc.groups.pairs import Pairs, element_of
from orbitmc.groups.permutation import Permutation
from orbitmc.machine.arrays import Indices, indices, sealed
from orbitmc.machine.compiling import compiled

MAX_ORDER = 5000
MAX_ENTRIES = 50_000_000  # 200 MB


class ElementTable(NamedTuple):
    """All elements of a group: dense rows, the identity first, and where their inverses are."""

    pairs: Pairs
    row: Indices
    inverse: Indices


@compiled
def _products(rows: Indices, factors: Indices) -> Indices:
    """All products of a factor after a row."""
    count, degree = rows.shape
    result = np.empty((count * len(factors), degree), dtype=np.uint32)
    for k in range(len(result)):
        for pair in range(degree):
            result[k, pair] = factors[k // count, rows[k % count, pair]]
    return result


def element_table(chain: StabilizerChain, *, max_order: int = MAX_ORDER) -> ElementTable:
    """List the elements of a group; LimitError if there are too many."""
    order, degree = chain.order, len(chain.pairs.owner)
    if order > max_order or order * degree > MAX_ENTRIES:
        raise LimitError(f"a group of order {order} is too large to list its elements")
    rows = np.arange(degree, dtype=np.uint32)[None, :]
    for level in range(len(chain.base)):
        rows = _products(rows, chain.back[chain.start[level] : chain.start[level + 1]])
    number = {row.tobytes(): k for k, row in enumerate(rows)}
    inverses = np.argsort(rows, axis=1).astype(np.uint32)
    where = indices([number[row.tobytes()] for row in inverses])
    return ElementTable(chain.pairs, sealed(rows), where)


def elements(table: ElementTable) -> tuple[Permutation, ...]:
    return tuple(element_of(table.pairs, row) for row in table.row)
