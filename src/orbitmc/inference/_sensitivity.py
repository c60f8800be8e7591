"""Which entries of a network's tables change an answer most, and how far one must move.

When an entry changes, the others of its row change in proportion, so that they still sum to one.
Then the probability of an event is a ratio of two linear functions of the entry (Castillo,
Gutiérrez and Hadi 1997), which its expected counts give: all numbers here are exact.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import interruptible
from orbitmc.errors import ContradictionError, InputError
from orbitmc.estimate.answers import Sensitivity, TableEntry
from orbitmc.exact.families import Family, FamilyJoints
from orbitmc.graph.evidence import Evidence, resolve
from orbitmc.graph.model import Model
from orbitmc.inference._learn import families_of_network
from orbitmc.inference.events import Constant, masks_of, read_event
from orbitmc.inference.query import Program, view_of

NEARLY = 1.0 - 1e-9  # of the way to 0 or 1, where the evidence may be impossible
ROUNDING = 1e-12  # of a count
STEP = 0.1  # of an entry, by which it is moved to see what the answer does


@interruptible()
def sensitivity(
    model: Model | Program,
    event: str,
    evidence: Evidence | None = None,
    *,
    threshold: float | None = None,
) -> Sensitivity:
    """Say which entries of a Bayesian network's tables change the probability of an event most.

    An event says of variables which values they have: `A == 'x' and B in ('u', 'v')`. Entries come
    first that change it most when they are a tenth smaller or larger; those that do not change it
    are left out. With a `threshold`, each says how far it must move for the answer to reach that.

    >>> import orbitmc as om
    >>> network = om.read("examples/sprinkler.bif")
    >>> found = om.sensitivity(network, "rain == 'heavy'", {"grass": "wet"}, threshold=0.3)
    >>> round(found.probability, 4), found[0].name, round(found[0].derivative, 4)
    (0.2426, 'P(rain=none | season=dry)', -0.2555)
    """
    begun = time.perf_counter()
    if threshold is not None and not 0 < threshold < 1:
        raise InputError(f"the threshold is a probability between 0 and 1, not {threshold!r}")
    if not isinstance(model, Model):
        raise InputError("the sensitivity is known for Bayesian networks, not for programs")
    model = model.without_helpers()
    families = families_of_network(model)
    asked = read_event(event, view_of(model), "event")
    masks = masks_of(asked)
    if isinstance(asked, Constant) or masks is None:
        raise InputError(
            "the sensitivity is known for events that say which values variables have, joined by "
            "'and'; not for 'or' between different variables, nor for variables that are compared"
        )
    findings = resolve(evidence or {}, model.domains())
    weights = {
        **{model.index[n]: np.eye(len(model.domains()[n]))[v] for n, v in findings.hard.items()},
        **{model.index[n]: np.asarray(w, np.float64) for n, w in findings.soft.items()},
    }
    counts, log_z = _count_with_and_without(model, families, weights, masks)
    if log_z[0] == -math.inf:
        raise ContradictionError("the evidence is impossible: the model gives it probability 0")
    answer = math.exp(log_z[1] - log_z[0])
    entries = [
        entry
        for variable, (family, table) in enumerate(zip(families, counts, strict=True))
        for entry in _entries(model, variable, family, table, answer, threshold)
    ]
    entries.sort(key=lambda entry: -abs(entry.high - entry.low))
    return Sensitivity(event, answer, threshold, tuple(entries), time.perf_counter() - begun)


def _count_with_and_without(
    model: Model,
    families: Sequence[Family],
    weights: dict[int, Floats],
    masks: dict[int, NDArray[np.bool_]],
) -> tuple[list[Floats], Floats]:
    """Counts [values of a family, row] given the evidence, and given the event as well."""
    seen = sorted({*weights, *masks})
    likelihoods = []
    for variable in seen:
        ones = np.ones(int(model.graph.cardinality[variable]))
        weight = weights.get(variable, ones)
        with np.errstate(divide="ignore"):
            both = np.stack([weight, weight * masks.get(variable, ones)], axis=-1)
            likelihoods.append(np.log(both))
    joints = FamilyJoints(
        model.graph.cardinality.tolist(),
        [family.scope for family in families],
        [model.graph.table_values(family.factor) for family in families],
        seen,
    )
    return joints.of_rows(likelihoods, 2)


def _entries(
    model: Model,
    variable: int,
    family: Family,
    counts: Floats,
    answer: float,
    threshold: float | None,
) -> Iterator[TableEntry]:
    """The entries of one table that are neither 0 nor 1, and change the answer."""
    table = np.moveaxis(np.exp(model.graph.table_values(family.factor)), family.axis, -1)
    counts = np.moveaxis(counts, family.axis, -2)
    total = counts.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # of N and D, each over itself: how it grows with the entry, the others in proportion
        others = (total - counts) / (1.0 - table[..., None])
        slopes = counts / table[..., None] - others
    names = [model.names[v] for k, v in enumerate(family.scope) if k != family.axis]
    values = [model.values[v] for k, v in enumerate(family.scope) if k != family.axis]
    for place in itertools.product(*map(range, table.shape)):
        entry = float(table[place])
        if not 0 < entry < 1:
            continue
        below, above = (float(slope) for slope in slopes[place])
        if abs(above - below) * min(entry, 1.0 - entry) <= ROUNDING:
            continue
        line = _Ratio(answer, below, above)
        low, high = (line.at(step * entry, entry) for step in (-STEP, STEP))
        yield TableEntry(
            variable=model.names[variable],
            value=model.values[variable][place[-1]],
            given=tuple(
                (name, own[k]) for name, own, k in zip(names, values, place[:-1], strict=True)
            ),
            probability=entry,
            derivative=answer * (above - below),
            low=low,
            high=high,
            needed=None if threshold is None else line.reach(threshold, entry),
        )


class _Ratio(NamedTuple):
    """The answer as a ratio of linear functions of what is added to an entry."""

    answer: float
    below: float
    above: float

    def at(self, step: float, entry: float) -> float:
        """The answer when so much is added to the entry, but not beyond 0 and 1."""
        step = min(max(step, -NEARLY * entry), NEARLY * (1.0 - entry))
        return self.answer * (1.0 + self.above * step) / (1.0 + self.below * step)

    def reach(self, threshold: float, entry: float) -> float | None:
        """What must be added for the answer to be the threshold; None if nothing will do."""
        slope = self.answer * self.above - threshold * self.below
        if slope == 0.0:
            return 0.0 if threshold == self.answer else None
        step = (threshold - self.answer) / slope
        return step if -entry <= step <= 1.0 - entry else None
