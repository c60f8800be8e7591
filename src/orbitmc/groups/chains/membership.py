"""Questions about whole groups: how large, does it contain, are they the same."""

import math
from collections.abc import Sequence

from orbitmc.errors import LimitError
from orbitmc.groups.elements.decomposition import Factor, Generated, decompose
from orbitmc.groups.permutation_groups import PermutationGroup


def group_order(group: PermutationGroup) -> int:
    """How many elements a group has, exactly; LimitError if counting costs too much."""
    return order_of_factors(decompose(group))


def order_of_factors(factors: Sequence[Factor]) -> int:
    for factor in factors:
        if isinstance(factor, Generated):
            raise LimitError(f"the order of the group is unknown: {factor.reason}")
    return math.prod(factor.order for factor in factors if not isinstance(factor, Generated))
