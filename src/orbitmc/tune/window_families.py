"""Turned windows of a lattice, in several sizes."""

from collections.abc import Callable

import numpy as np

from orbitmc.arrays import Bytes
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.windows import windows
from orbitmc.tune.family import Family, Propose, remembered
from orbitmc.tune.lattice import Numbers, lattice

SIZES = (2, 3, 4, 8)

TURNED: tuple[Callable[[Numbers], Numbers], ...] = (
    np.fliplr,
    np.flipud,
    lambda window: np.rot90(window, 2),
    np.transpose,
    lambda window: np.rot90(window, 2).T,
)


def window_families() -> dict[str, Family]:
    """A family for each size, the smallest first."""
    return {f"windows of {size}": _windows(size) for size in SIZES}


def _windows(size: int) -> Family:
    def build(model: Model, prepared: Conditionals) -> Kernel | None:
        sites = _sites(model, size)
        return None if sites is None else windows(model.graph, prepared, sites, size=size)

    def guess(model: Model) -> Propose | None:
        sites = _sites(model, size)
        return None if sites is None else _guessed(sites, size)

    words = f"a window of {size} x {size} neighbours is reflected or turned"
    return Family(words, build, guess=guess)


def _sites(model: Model, size: int) -> Numbers | None:
    """The lattice of a model, if there is one and it has windows of this size."""
    sites = _lattice(model)
    return sites if sites is not None and size <= min(sites.shape) else None


@remembered
def _lattice(model: Model) -> Numbers | None:
    return lattice(model.graph)


def _guessed(sites: Numbers, size: int) -> Propose:
    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        top, left = (rng.integers(side - size + 1) for side in sites.shape)
        window = sites[top : top + size, left : left + size]
        turned = values.copy()
        turned[window] = values[TURNED[rng.integers(len(TURNED))](window)]
        return turned

    return propose
