"""Which variables meet in a factor, and how that changes when one is eliminated."""

from collections.abc import Iterable, Sequence

Neighbours = list[set[int]]


def neighbours_of(variables: int, scopes: Iterable[Sequence[int]]) -> Neighbours:
    """Which variables share a factor with each variable."""
    neighbours: Neighbours = [set() for _ in range(variables)]
    for scope in scopes:
        for variable in scope:
            neighbours[variable].update(scope)
    for variable, near in enumerate(neighbours):
        near.discard(variable)
    return neighbours


def eliminate(neighbours: Neighbours, variable: int) -> set[int]:
    """Join the neighbours of a variable and remove it; gives the neighbours."""
    near = neighbours[variable]
    for member in near:
        neighbours[member] |= near
        neighbours[member] -= {member, variable}
    return near
