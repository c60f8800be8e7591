"""Random elements of a group by product replacement, in rattle form (Leedham-Green & Murray 2002).

A bag of elements that generate the group is stirred: one of them is multiplied by another, and
the result by an accumulator, which is the random element. Everything is in two arrays, so it can
live in the memory of a kernel. Elements are nearly uniform, and correlated: propose an element or
its inverse with equal chances, never the element alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, shared
from orbitmc._simd.random import Generator, bernoulli, generator, integer
from orbitmc._util.arrays import Indices
from orbitmc.errors import InputError

FEWEST_SLOTS = 10  # ten or more, as usual for product replacement (Celler et al. 1995)
MORE_SLOTS = 5  # than generators
FEWEST_STEPS = 50  # before the elements are used; ten for each slot, if that is more
STEPS_PER_SLOT = 10


class ProductReplacement(NamedTuple):
    """Elements and their inverses as dense rows; row 0 is the random element, the rest the bag."""

    forward: NDArray[np.uint32]
    backward: NDArray[np.uint32]


@shared
def product_replacement_step(replacement: ProductReplacement, rng: Generator) -> None:
    """Make row 0 a new random element, in place."""
    slots = len(replacement.forward) - 1
    first = integer(rng, slots)
    second = integer(rng, slots - 1)
    if second >= first:
        second += 1
    inverted = bernoulli(rng, 0.5)
    multiply_row(replacement, first + 1, second + 1, inverted, bernoulli(rng, 0.5))
    multiply_row(replacement, 0, first + 1, False, bernoulli(rng, 0.5))


@shared
def multiply_row(
    replacement: ProductReplacement, target: int, by: int, inverted: bool, on_the_left: bool
) -> None:
    """Multiply one row by another row, or by its inverse, on either side.

    The side that is a mere renaming of images is done in place, its inverse follows from it.
    """
    if on_the_left:
        if inverted:
            _rename(replacement.forward, target, replacement.backward, by, replacement.backward)
        else:
            _rename(replacement.forward, target, replacement.forward, by, replacement.backward)
    elif inverted:
        _rename(replacement.backward, target, replacement.forward, by, replacement.forward)
    else:
        _rename(replacement.backward, target, replacement.backward, by, replacement.forward)


@shared
def _rename(rows: Indices, target: int, factors: Indices, by: int, inverses: Indices) -> None:
    """Set row `target` of `rows` to `factors[by]` after it, and of `inverses` to the inverse."""
    for pair in range(rows.shape[1]):
        image = factors[by, rows[target, pair]]
        rows[target, pair] = image
        inverses[target, image] = pair


@compiled
def burn_in(replacement: ProductReplacement, rng: Generator, steps: int) -> None:
    for _ in range(steps):
        product_replacement_step(replacement, rng)


def product_replacement(
    rows: Indices, *, slots: int | None = None, burn: int | None = None, seed: int = 0
) -> ProductReplacement:
    """Fill the bag with generators, given as dense rows, and stir it `burn` times."""
    count, size = rows.shape
    slots = max(FEWEST_SLOTS, count + MORE_SLOTS) if slots is None else slots
    if slots < max(2, count):
        raise InputError(f"{count} generators need at least {max(2, count)} slots, got {slots}")
    rng = generator(seed, 0, 32)
    bag = _bag(rows, slots, rng)
    forward = np.concatenate([np.arange(size, dtype=np.uint32)[None, :], bag])
    replacement = ProductReplacement(forward, np.argsort(forward, axis=1).astype(np.uint32))
    burn_in(replacement, rng, max(FEWEST_STEPS, STEPS_PER_SLOT * slots) if burn is None else burn)
    return replacement


def _bag(rows: Indices, slots: int, rng: Generator) -> Indices:
    """All generators, then some of them again; identities if there are none."""
    count, size = rows.shape
    if count == 0:
        return np.tile(np.arange(size, dtype=np.uint32), (slots, 1))
    again = [_draw(rng, count) for _ in range(slots - count)]
    return np.concatenate([rows, rows[np.array(again, dtype=np.int64)]])


@compiled
def _draw(rng: Generator, bound: int) -> int:
    return integer(rng, bound)
