"""What a race has chosen: enough to build the same kernel again without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orbitmc.errors import InputError
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.kernels.alternation import alternation
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.mixture import mixture
from orbitmc.text import suggestion
from orbitmc.tune.families import FAMILIES


@dataclass(frozen=True)
class Recipe:
    """A base chain, and families of jumps, one of them after every `period` of its steps.

    No families mean the base chain alone.
    """

    families: tuple[str, ...] = ()
    period: int = 1

    @property
    def alpha(self) -> float:
        """The share of base steps among all steps."""
        return self.period / (self.period + 1) if self.families else 1.0

    @property
    def words(self) -> str:
        """The families by name."""
        return " + ".join(self.families) or "Gibbs alone"

    def record(self) -> dict[str, Any]:
        """The recipe in terms that JSON has."""
        return {"families": list(self.families), "period": self.period}

    def kernel(self, model: Model, prepared: Conditionals) -> Kernel:
        """Build the kernel; the same recipe and model give the same kernel."""
        base = SystematicScan(prepared)
        jumps = [_jump(name, model, prepared) for name in self.families]
        if not jumps:
            return base
        combined = jumps[-1]
        for done, jump in enumerate(jumps[-2::-1], start=1):
            combined = mixture(jump, combined, weight=1.0 / (done + 1))
        return alternation(base, combined, period=self.period)


def recipe_from(record: Mapping[str, Any]) -> Recipe:
    """Read a recorded recipe; what is wrong with it is said."""
    families, period = record.get("families"), record.get("period")
    if not isinstance(families, Sequence) or isinstance(families, str):
        raise InputError('the moves need a list "families"')
    if not isinstance(period, int) or period < 1:
        raise InputError(f'the moves need a whole number "period" above 0, not {period!r}')
    for name in families:
        if name not in FAMILIES:
            near = suggestion(str(name), FAMILIES)
            raise InputError(f"there is no family of moves {name!r}{near}")
    return Recipe(tuple(families), period)


def _jump(name: str, model: Model, prepared: Conditionals) -> Kernel:
    found = FAMILIES[name].build(model, prepared)
    if found is None:
        raise InputError(f"the moves {name!r} make no sense for this model")
    return found
