"""What a table earns by each set of its variables, beyond what smaller sets earn (ANOVA)."""

import numpy as np
from numpy.typing import NDArray

from orbitmc.machine.arrays import Floats


def anova_term(tables: Floats, axes: tuple[int, ...]) -> Floats:
    """The part of each table that needs all variables of `axes`, and no others, to be known."""
    others = tuple(axis + 1 for axis in range(tables.ndim - 1) if axis not in axes)
    term = tables.mean(axis=others) if others else tables
    for axis in range(1, term.ndim):
        term = term - term.mean(axis=axis, keepdims=True)
    return term


def completed(tables: Floats, impossible: NDArray[np.bool_]) -> Floats:
    """Put the mean of the possible entries where entries are impossible."""
    if not impossible.any():
        return tables
    axes = tuple(range(1, tables.ndim))
    possible = np.maximum((~impossible).sum(axis=axes, keepdims=True), 1)
    means = np.where(impossible, 0.0, tables).sum(axis=axes, keepdims=True) / possible
    return np.where(impossible, means, tables)
