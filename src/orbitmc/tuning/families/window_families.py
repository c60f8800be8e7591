"""Turned windows of a lattice, in several sizes, and the lattice as a whole."""

from collections.abc import Callable
from functools import partial

import numpy as np

from orbitmc.graph.conditionals.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.kernels.jumps.windows import windows
from orbitmc.kernels.kernel import Kernel
from orbitmc.machine.arrays import Bytes, Numbers
from orbitmc.tuning.families.family import Family, Propose, remembered
from orbitmc.tuning.structure.lattice import lattice

SIZES = (2, 3, 4, 8)

TURNED: tuple[Callable[[Numbers], Numbers], ...] = (
    np.fliplr,
    np.flipud,
    lambda window: np.rot90(window, 2),
    np.transpose,
    lambda window: np.rot90(window, 2).T,
)
STRAIGHT = 3  # turns that keep rows and columns apart come first


def window_families() -> dict[str, Family]:
    """A family for each size, the smallest first."""
    return {
        f"windows of {size}": Family(
            f"a window of {size} x {size} neighbours is reflected or turned",
            partial(_build, size=(size, size)),
            guess=partial(_guess, size=(size, size)),
        )
        for size in SIZES
    }


def reflection_family() -> Family:
    """Reflections of all sites: they lead from one sublattice to the other if sides are even."""
    return Family("the whole lattice is reflected or turned", _build, True, _guess)


def _build(
    model: Model, prepared: Conditionals, size: tuple[int, int] | None = None
) -> Kernel | None:
    sites = _sites(model, size)
    if sites is None:
        return None
    height, width = size or sites.shape
    return windows(model.graph, prepared, sites, size=(height, width))


def _guess(model: Model, size: tuple[int, int] | None = None) -> Propose | None:
    sites = _sites(model, size)
    if sites is None:
        return None
    height, width = size or sites.shape
    turned = TURNED if height == width else TURNED[:STRAIGHT]

    def propose(values: Bytes, rng: np.random.Generator) -> Bytes:
        top = rng.integers(len(sites) - height + 1)
        left = rng.integers(sites.shape[1] - width + 1)
        window = sites[top : top + height, left : left + width]
        after = values.copy()
        after[window] = values[turned[rng.integers(len(turned))](window)]
        return after

    return propose


def _sites(model: Model, size: tuple[int, int] | None) -> Numbers | None:
    """The lattice of a model, if there is one and it has windows of this size."""
    sites = _lattice(model)
    fits = sites is not None and (size is None or max(size) <= min(sites.shape))
    return sites if fits else None


@remembered
def _lattice(model: Model) -> Numbers | None:
    return lattice(model.graph)
