"""What was clicked, one step after the other, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Finding = str | tuple[float, ...]
"""A value, or a weight for each value of which the largest is 1."""

Findings = Mapping[str, Finding]


@dataclass(frozen=True)
class Step:
    """Evidence, and words about what was done to come to it."""

    words: str
    evidence: Findings


class History:
    """Steps from the beginning to the last one; `place` is the present one."""

    def __init__(self, evidence: Findings) -> None:
        self.steps = [Step("begin", dict(evidence))]
        self.place = 0

    @property
    def evidence(self) -> Findings:
        """What is known at present."""
        return self.steps[self.place].evidence

    def add(self, words: str, evidence: Findings) -> None:
        """Go on from the present step; what was undone is forgotten."""
        self.steps[self.place + 1 :] = [Step(words, dict(evidence))]
        self.place += 1

    def replace(self, words: str, evidence: Findings) -> None:
        """Say otherwise what the present step is: a bar is still being dragged."""
        self.steps[self.place :] = [Step(words, dict(evidence))]

    def go(self, place: int) -> bool:
        """Go to another step; gives whether there is one.

        >>> history = History({})
        >>> history.add("rain = heavy", {"rain": "heavy"})
        >>> history.go(0), history.evidence, history.go(7)
        (True, {}, False)
        """
        there = 0 <= place < len(self.steps)
        if there:
            self.place = place
        return there
