"""Where learning stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import InputError

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Step:
    """Weights after some iterations, the objective there, and the largest of its slopes.

    The objective is a log-likelihood with the logarithm of the prior; `kept` is what else is
    needed to go on as if nothing had happened.
    """

    iteration: int
    weights: Floats
    objective: float
    slope: float
    finished: bool = False
    kept: Arrays = field(default_factory=dict)


def require_like(found: Arrays, wanted: Arrays) -> None:
    """Refuse arrays that were kept unless names, shapes and types are those wanted.

    Numbers are finite where those wanted are, and the same elsewhere.
    """
    wrong = "" if found.keys() == wanted.keys() else f"it keeps {', '.join(found) or 'nothing'}"
    for name, array in () if wrong else wanted.items():
        one = found[name]
        if one.shape != array.shape or one.dtype != array.dtype:
            wrong = f"{name} has another shape or type"
        elif not np.where(np.isfinite(array), np.isfinite(one), one == array).all():
            wrong = f"{name} is not finite"
    if wrong:
        raise InputError(
            f"the checkpoint of learning does not fit this program and its databases: {wrong}; "
            "remove it, or name another file"
        )
