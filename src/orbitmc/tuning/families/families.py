"""Families of jumps: what each one is, and for which models it makes sense.

A family is rebuilt from its name, so a recorded choice can be used again without any race.
"""

from collections.abc import Mapping

from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.kernels._clusters import clusters
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.families.exchange_families import (
    group_exchange,
    guessed_group_exchange,
    one_hot_groups,
)
from orbitmc.tuning.families.family import Family
from orbitmc.tuning.families.lattice_families import reflection_family
from orbitmc.tuning.families.network_families import forward_family
from orbitmc.tuning.families.value_families import (
    component_flips,
    flip,
    gauge_flips,
    guessed_component_flips,
    guessed_flip,
    guessed_gauge_flips,
    guessed_labels,
    labels,
)
from orbitmc.tuning.structure.generators import generator_family


def _clusters(model: Model, prepared: PreparedGraph) -> Kernel | None:
    known = prepared.conditionals
    pairwise = model.graph.variables and known.affine.all() and len(known.neighbour)
    return clusters(prepared) if pairwise else None


FORWARD = "forward draws"

FAMILIES: Mapping[str, Family] = {
    FORWARD: forward_family(),
    "flip": Family("all binary variables change their values at once", flip, True, guessed_flip),
    "component flips": Family(
        "all binary variables of one component change at once",
        component_flips,
        True,
        guessed_component_flips,
    ),
    "gauge flips": Family(
        "a part of strongly coupled variables changes at once",
        gauge_flips,
        True,
        guessed_gauge_flips,
    ),
    "labels": Family("two labels are exchanged everywhere", labels, True, guessed_labels),
    "reflections": reflection_family(),
    "generators": generator_family(),
    "one-hot": Family("of mutually exclusive variables, another one becomes 1", one_hot_groups),
    "group exchange": Family(
        "two groups of mutually exclusive variables exchange their values",
        group_exchange,
        guess=guessed_group_exchange,
    ),
    "clusters": Family(
        "clusters of agreeing variables change at once",
        _clusters,
        replaces=frozenset({"flip", "component flips", "gauge flips"}),
    ),
}
"""All of them, by name, in the order of their usual worth."""
