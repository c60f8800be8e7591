"""Rungs for a tempered chain, in the time that a race has left."""

from collections.abc import Callable

from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.sampling.ladder import SWEEPS, choose_ladder

LADDER_SHARE, ROUNDS = 0.4, 3  # of the time that is left, and how often a ladder is mended
COST, LEAST_SWEEPS = 250.0, 10  # plain sweeps for each sweep of a ladder, and how few help


def ladder_within(
    prepared: PreparedGraph, *, sweep: float, left: float, clock: Callable[[], float]
) -> tuple[float, ...] | None:
    """Rungs, found in a share of the seconds that are left; None if these are too few.

    `sweep` is how long the plain chain takes to visit each variable once.
    """
    sweeps = max(LEAST_SWEEPS, int(LADDER_SHARE * left / (COST * sweep)))
    if sweeps * COST * sweep > left:
        return None
    return choose_ladder(
        prepared,
        rounds=ROUNDS,
        sweeps=min(sweeps, SWEEPS),
        seconds=LADDER_SHARE * left,
        clock=clock,
    )
