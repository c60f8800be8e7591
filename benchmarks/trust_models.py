"""The models of `trust.py`: each class has some families, and any number of models of each.

A model depends on its class and its number only, so a surprise can be looked at again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import trust_families as families
import trust_traps as traps
from numpy.typing import NDArray

import orbitmc as om

Family = Callable[[np.random.Generator], Any]  # gives a model, or a model and its marginals

CLASSES: Mapping[str, tuple[Family, ...]] = {
    "sparse": (families.sparse_tables, families.grid_with_tails),
    "components": (families.grid_beside_components,),
    "mixing": (families.weak_tables, families.weak_spins, families.warm_grid),
    "multimodal": (
        families.cold_grid,
        families.magnet,
        families.glass,
        families.cold_labels,
        families.strong_tables,
    ),
    "deterministic": (
        families.tables_with_zeros,
        families.hard_clauses,
        families.hard_colouring,
        families.exactly_one,
        families.gates,
    ),
    "rare values": (traps.rare_neighbours, traps.rare_causes, traps.rare_values),
    "nearly symmetric": (
        families.nearly_exchangeable,
        families.nearly_ring,
        families.nearly_two_sides,
    ),
    "symmetric": (families.exchangeable, families.ring, families.two_sides, families.people),
    "lifted, two modes": (families.towns,),
    "lifted, hard rules": (families.led_town, families.united_town, families.parted_town),
    "partitions": (
        families.close_items,
        families.far_items,
        families.two_groups,
        families.some_items,
    ),
    "matchings": (families.matched, families.perfectly_matched),
    "orders": (families.loose_order, families.tight_order),
    "unground relations": (
        families.loose_order,
        families.tight_order,
        families.some_forest,
        families.some_matching,
        families.full_matching,
    ),
    "stuck places": (families.tied_by_parity, families.one_of_some),
    "traps": (
        traps.heavy_table,
        traps.heavy_conjunction,
        traps.switch,
        traps.crowd,
        traps.forced_slices,
        traps.known_people,
        traps.rare_neighbours,
    ),
}


@dataclass(frozen=True)
class Case:
    """A model and the true probability of each value of each variable; of a program, of atoms."""

    kind: str
    number: int
    family: str
    model: om.Model | om.MarkovLogic
    truth: Mapping[str, NDArray[np.float64]]


def case_of(kind: str, number: int) -> Case:
    """Draw one model of a class; families take turns."""
    family = CLASSES[kind][number % len(CLASSES[kind])]
    drawn = family(np.random.default_rng([*kind.encode(), number]))
    model, truth = drawn if isinstance(drawn, tuple) else (drawn, exact_truth(drawn))
    return Case(kind, number, family.__name__, model, truth)


def exact_truth(model: om.Model) -> dict[str, NDArray[np.float64]]:
    found = om.marginals(model, method="exact")
    return {name: marginal.probability for name, marginal in found.items()}
