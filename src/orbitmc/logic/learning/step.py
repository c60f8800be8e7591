"""Where learning stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.machine.arrays import Floats

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
    if found.keys() != wanted.keys():
        raise _other(f"it keeps {', '.join(found) or 'nothing'}")
    for name, array in wanted.items():
        one = found[name]
        if one.shape != array.shape or one.dtype != array.dtype:
            raise _other(f"{name} has another shape or type")
        if not np.where(np.isfinite(array), np.isfinite(one), one == array).all():
            raise _other(f"{name} is not finite")


def _other(why: str) -> InputError:
    return InputError(
        f"the checkpoint of learning does not fit this program and its databases: {why}; remove "
        "it, or name another file"
    )
