"""What a family of jumps is."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

import numpy as np

from orbitmc._util.arrays import Bytes
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.kernels.protocol import Kernel

T = TypeVar("T")

Propose = Callable[[Bytes, np.random.Generator], Bytes]
"""Propose one jump from the states of some lanes, as a family would."""


@dataclass(frozen=True)
class Family:
    """One kind of jump.

    `build` gives its kernel, or None where it does not apply. A family that `switches` connects
    modes that no local step connects, so it is kept even if a short race cannot show its worth.
    Families that it `replaces` do a part of what it does, so it is tried without them.
    A `guess` proposes such jumps, to tell before anything is compiled how often they will be
    accepted; it is None where the family does not apply.
    """

    words: str
    build: Callable[[Model, PreparedGraph], Kernel | None]
    switches: bool = False
    guess: Callable[[Model], Propose | None] | None = None
    replaces: frozenset[str] = frozenset()


def remembered(find: Callable[[Model], T]) -> Callable[[Model], T]:
    """Find something in a model once, as long as the model is there.

    Several families look for the same things.
    """
    known: dict[int, T] = {}

    @wraps(find)
    def found(model: Model) -> T:
        key = id(model)
        if key not in known:
            known[key] = find(model)
            weakref.finalize(model, known.pop, key, None)
        return known[key]

    return found
