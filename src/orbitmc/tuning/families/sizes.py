"""Which size of a jump takes part in a race: the boldest one that is accepted often enough."""

from orbitmc.graph.model import Model
from orbitmc.machine.arrays import Bytes
from orbitmc.tuning.arm import guessed_acceptance
from orbitmc.tuning.families.family import Family

OFTEN = 0.25  # accepted about so often, a jump whose size can be chosen gets furthest


def chosen_size(model: Model, sizes: dict[str, Family], values: Bytes) -> str:
    """The name of the largest jump that states like these accept often enough.

    If none is, it is the one that is accepted oftenest. `sizes` have the smallest jump first.
    """
    accepted: dict[str, float] = {}
    for name, family in reversed(sizes.items()) if len(sizes) > 1 else ():
        propose = family.guess(model) if family.guess is not None else None
        if propose is not None:
            accepted[name] = guessed_acceptance(model, propose, values)
            if accepted[name] >= OFTEN:
                return name
    return max(accepted or sizes, key=lambda name: accepted.get(name, 0.0))
