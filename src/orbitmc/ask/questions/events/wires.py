"""An event as helper variables of a graph, so that elimination finds its probability.

A helper says whether a part of the event holds; a factor over it, and over what it depends on,
allows nothing else. Each joins two others, so tables stay small however long the event is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc.ask.questions.events.expressions import Condition, Event, Joined
from orbitmc.graph.transforms import Factor

TRUE = np.array([False, True])


class Signal(NamedTuple):
    """A variable, and those of its values that mean yes."""

    variable: int
    yes: NDArray[np.bool_]


class Wires:
    """Helper variables behind those of a graph, with their `sizes` and `factors`."""

    def __init__(self, variables: int) -> None:
        self.variables = variables
        self.sizes: list[int] = []
        self.factors: list[Factor] = []

    def signal(self, event: Event) -> Signal:
        """Where it can be seen whether an event, which is not settled, holds."""
        if isinstance(event, Condition):
            return self._condition(event)
        assert isinstance(event, Joined)
        found = self.signal(event.parts[0])
        for part in event.parts[1:]:
            found = self._join(event.kind, found, self.signal(part))
        return found

    def require(self, event: Event) -> None:
        """Make an event certain."""
        variable, yes = self.signal(event)
        self._add((variable,), yes)

    def _condition(self, event: Condition) -> Signal:
        first = event.named[0]
        if len(event.named) == 1:
            return Signal(first.variable, event.holds[first.meaning])
        second = event.named[1]
        holds = event.holds[np.ix_(first.meaning, second.meaning)]
        if first.variable == second.variable:
            return Signal(first.variable, holds.diagonal())
        return self._helper((first.variable, second.variable), holds)

    def _join(self, kind: str, left: Signal, right: Signal) -> Signal:
        if left.variable == right.variable:
            return Signal(left.variable, _both(kind, left.yes, right.yes))
        holds = _both(kind, left.yes[:, None], right.yes[None, :])
        return self._helper((left.variable, right.variable), holds)

    def _helper(self, scope: Sequence[int], holds: NDArray[np.bool_]) -> Signal:
        helper = self.variables + len(self.sizes)
        self.sizes.append(2)
        self._add((*scope, helper), holds[..., None] == TRUE)
        return Signal(helper, TRUE)

    def _add(self, scope: tuple[int, ...], allowed: NDArray[np.bool_]) -> None:
        self.factors.append((scope, np.where(allowed, 0.0, -np.inf)))


def _both(kind: str, left: NDArray[np.bool_], right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (
        left & right if kind == "and" else left | right if kind == "or" else left == right
    )
    return found
