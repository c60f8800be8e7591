"""How a run estimates: chosen once, when its warm-up is over."""

from dataclasses import dataclass, field, replace

import numpy as np

from orbitmc._util.arrays import Bytes
from orbitmc.estimate.tally import with_values
from orbitmc.run.pack import Pack

LOOKS = (1, 2, 4)  # for a sample of four sweeps
PLAIN, CONTROLLED = 1.6, 2.2  # what one look costs, in sweeps


def _none() -> Bytes:
    return np.zeros((0, 0), dtype=np.uint8)


@dataclass(frozen=True)
class ControlChoice:
    """So many `looks` are taken for a sample, so many `terms` of the series are added up.

    Without terms there are no control variates. `about` says why, in words. `states` are those
    of the end of the warm-up that secants are made of, `[variable, lane]`; their matrix is scaled
    to have `radius` as its largest eigenvalue.
    """

    looks: int
    terms: int
    about: str
    radius: float = 0.0
    states: Bytes = field(default_factory=_none)


def plainly(about: str) -> ControlChoice:
    """No control variates, for a reason."""
    return ControlChoice(1, 0, f"no control variates: {about}")


def with_controls(pack: Pack, choice: ControlChoice) -> Pack:
    """Let a pack record what an estimate needs."""
    if not choice.terms:
        return pack
    return replace(pack, tally=with_values(pack.tally))
