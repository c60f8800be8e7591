"""Which constants of a program its approximations cannot tell apart, and what swaps are worth."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from orbitmc.ask.method.lifting import CLUSTERS, RANK
from orbitmc.ask.method.relational_lifting import CLASSES
from orbitmc.compare.jump_trials import Trials
from orbitmc.errors import LimitError
from orbitmc.groups.elements.constant_swaps import ConstantSwaps
from orbitmc.kernels.jumps.renaming import renaming
from orbitmc.logic.constants.approximate_classes import clustered_weights
from orbitmc.logic.constants.constant_classes import constant_swaps
from orbitmc.logic.databases.universe import Ints, Universe
from orbitmc.logic.grounding.assembly import graph_of
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.symmetry.detection.automorphisms import automorphisms, orbit_cells


@dataclass(frozen=True)
class ConstantClass:
    """Constants of one type that may be swapped."""

    type: str
    constants: tuple[str, ...]


@dataclass(frozen=True)
class RelationalApproximation:
    """What one approximation of a program makes exchangeable.

    `moved_variables` counts the unknown atoms that speak of a constant with a class.
    `acceptance` is the share of swaps that the model accepts in states of a short Gibbs run;
    None when every swap is null, or there is none.
    """

    name: str
    classes: tuple[ConstantClass, ...] = ()
    moved_variables: int = 0
    acceptance: float | None = None
    remark: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def rule_weight_orbits(ground: Ground, seconds: float) -> Ints:
    """Cells of atoms that are alike once the weights of rules are put into clusters."""
    symmetric = graph_of(ground, clustered_weights(ground, CLUSTERS))
    return orbit_cells(automorphisms(symmetric, seconds=seconds).group)


def relational_approximation(trials: Trials, ground: Ground, name: str) -> RelationalApproximation:
    """Try swaps of constants that an approximation of a program cannot tell apart."""
    graph = trials.model.graph
    try:
        swaps = constant_swaps(ground, CLASSES[name](ground, trials.model, CLUSTERS, RANK))
    except LimitError as error:
        return RelationalApproximation(name, remark=str(error))
    if not swaps.classes:
        return RelationalApproximation(name)
    accepted = trials.acceptance(renaming(graph, swaps))
    atoms = len(np.unique(swaps.mention))
    return RelationalApproximation(name, _classes(swaps, ground.universe), atoms, accepted)


def _classes(swaps: ConstantSwaps, universe: Universe) -> tuple[ConstantClass, ...]:
    """Classes by name, in the order of their first constants."""
    kinds = list(universe.constants)
    found = []
    for number in np.argsort(swaps.member[swaps.start[:-1]]):
        members = swaps.member[swaps.start[number] : swaps.start[number + 1]]
        kind = kinds[swaps.kind[members[0]]]
        names = universe.constants[kind]
        found.append(ConstantClass(kind, tuple(names[k] for k in swaps.digit[members])))
    return tuple(found)
