"""What is known about ground atoms: evidence, as columns of constants."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats

FALSE, TRUE, UNKNOWN = 0, 1, 2


@dataclass(frozen=True)
class Facts:
    """Evidence on atoms of one predicate: no atom twice.

    `columns[k]` holds the names of the k-th arguments, aligned with `truth` (FALSE, TRUE or
    UNKNOWN) and `log_odds`, which soft evidence adds to an unknown atom.
    """

    columns: tuple[tuple[str, ...], ...]
    truth: NDArray[np.int8]
    log_odds: Floats


@dataclass(frozen=True)
class Database:
    """Evidence by predicate, and constants that are named without any atom, by type."""

    facts: Mapping[str, Facts]
    constants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
