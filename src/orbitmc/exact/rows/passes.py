"""Up and down through a template, all rows at once; logarithms upward, probabilities downward.

Upward, each bucket leaves behind how probable its values are given what it shares with the bucket
above. Downward these are multiplied: nothing overflows, and what is lost is below the smallest
double.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import heed
from orbitmc.exact.problem import Scope
from orbitmc.exact.rows.template import Step, Template


@dataclass(frozen=True)
class Upward:
    """Per bucket the probabilities of its values given what it shares; and each row's log Z.

    The last axis of everything is rows, or has length 1 where rows make no difference. `parts`
    add up to log Z; it is minus infinity for rows that are impossible.
    """

    conditionals: dict[int, Floats]
    parts: list[Floats]

    def log_z(self) -> Floats:
        """What the parts add up to."""
        total = self.parts[0]
        for part in self.parts[1:]:
            total = total + part
        return total


class Elimination:
    """A template, with everything done that no row can change."""

    def __init__(self, template: Template) -> None:
        self.template = template
        self.messages: dict[int, Floats] = {}
        self.conditionals: dict[int, Floats] = {}
        live = []
        for step in template.steps:
            if _is_live(step, self.messages):
                live.append(step)
            else:
                self._send(step, self.messages, self.conditionals, np.zeros((0, 1), np.int64), ())
        self.live = tuple(live)

    @property
    def held_bytes(self) -> int:
        """What is kept for all rows."""
        pieces = (piece.table for step in self.template.steps for piece in step.pieces)
        tables = (*self.messages.values(), *self.conditionals.values(), *pieces)
        return sum(table.nbytes for table in tables)

    def upward(self, rows: Numbers, likelihoods: Sequence[Floats] = ()) -> Upward:
        """Eliminate everything, for rows of numbers of possible values, one column each [k, row].

        `likelihoods` are log-weights [value, row] of the possible values of soft variables.
        """
        messages, conditionals = dict(self.messages), dict(self.conditionals)
        for step in self.live:
            heed()
            self._send(step, messages, conditionals, rows, likelihoods)
        template = self.template
        roots = [v for v, above in enumerate(template.tree.parent) if above < 0]
        parts = [np.full(1, template.problem.constant), *(messages[root] for root in roots)]
        parts += [piece.of_rows(rows) for piece in template.decided]
        parts += [likelihoods[k][0] for k in template.decided_soft]
        return Upward(conditionals, parts)

    def _send(
        self,
        step: Step,
        messages: dict[int, Floats],
        conditionals: dict[int, Floats],
        rows: Numbers,
        likelihoods: Sequence[Floats],
    ) -> None:
        total: Floats | float = 0.0
        if step.likelihood >= 0:
            likelihood = likelihoods[step.likelihood]
            total = likelihood.reshape(len(likelihood), *(1 for _ in step.axes), -1)
        for child in step.children:
            total = total + messages[child.variable].reshape(*child.shape, -1)
        for piece in step.pieces:
            total = total + piece.of_rows(rows)
        conditionals[step.variable], messages[step.variable] = _summed(np.asarray(total), step)

    def marginals(self, upward: Upward, wanted: Iterable[int]) -> dict[int, Floats]:
        """Probabilities [value, row] of some variables of the tree; zeros in impossible rows."""
        found: dict[int, Floats] = {}
        for step, joint in self._downward(upward, frozenset(wanted)):
            found[step.variable] = joint.sum(axis=step.axes) if step.axes else joint
        return found

    def joints(self, upward: Upward, scopes: Sequence[Scope]) -> list[Floats]:
        """Joint probabilities [value, ..., row] of variables that are tied in the tree."""
        homes: dict[int, list[int]] = {}
        for number, scope in enumerate(scopes):
            homes.setdefault(self.template.tree.home_of(scope), []).append(number)
        found = [np.ones(1)] * len(scopes)
        for step, joint in self._downward(upward, frozenset(homes) - {-1}):
            axes = (step.variable, *self.template.tree.shared[step.variable])
            for number in homes[step.variable]:
                kept = [axis for axis in axes if axis in scopes[number]]
                others = tuple(place for place, axis in enumerate(axes) if axis not in kept)
                order = [kept.index(variable) for variable in scopes[number]]
                found[number] = joint.sum(axis=others).transpose(*order, len(kept))
        return found

    def likely_state(self, upward: Upward) -> dict[int, int]:
        """A possible state of the tree's variables in the first row, each likely given those above.

        Rows that are impossible have none.
        """
        state: dict[int, int] = {}
        for step in reversed(self.template.steps):
            shared = self.template.tree.shared[step.variable]
            place: Any = (slice(None), *(state[member] for member in shared), 0)
            state[step.variable] = int(upward.conditionals[step.variable][place].argmax())
        return state

    def _downward(self, upward: Upward, asked: Set[int]) -> Iterator[tuple[Step, Floats]]:
        """Buckets that are asked for, with the joint probabilities of all their axes."""
        needed = self.template.tree.above(asked)
        beliefs: dict[int, Floats] = {}
        for step in reversed(self.template.steps):
            if step.variable not in needed:
                continue
            heed()
            joint = upward.conditionals[step.variable]
            if step.variable in beliefs:
                joint = joint * beliefs.pop(step.variable)
            if step.variable in asked:
                yield step, joint
            for child in step.children:
                if child.variable in needed:
                    beliefs[child.variable] = joint.sum(axis=child.unknown)


def _is_live(step: Step, done: dict[int, Floats]) -> bool:
    """Whether rows make a difference to a bucket."""
    own = step.likelihood >= 0 or any(piece.columns for piece in step.pieces)
    return own or any(child.variable not in done for child in step.children)


def _summed(total: Floats, step: Step) -> tuple[Floats, Floats]:
    """Sum a bucket's variable out: its conditional probabilities, and the message."""
    top = total.max(axis=0)
    possible = bool(np.isfinite(top).all())
    shift = top if possible else np.where(np.isneginf(top), 0.0, top)
    conditional = np.exp(total - shift)
    mass = conditional.sum(axis=0)
    conditional /= mass if possible else np.where(mass == 0.0, 1.0, mass)
    with np.errstate(divide="ignore"):
        return conditional, np.log(mass) + shift
