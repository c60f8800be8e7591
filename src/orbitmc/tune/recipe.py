"""What a race has chosen: enough to build the same kernel again without it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orbitmc.errors import InputError
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.kernels.alternation import alternation
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.kernels.mixture import mixture
from orbitmc.kernels.tempering import tempering
from orbitmc.kernels.trading_tempering import trading_tempering
from orbitmc.text import suggestion
from orbitmc.tune.families import FAMILIES

GIBBS, TEMPERING, TRADES = "gibbs", "tempering", "tempering with trades"
FIELDS = ("base", "families", "period", "betas")


@dataclass(frozen=True)
class Recipe:
    """A base chain, and families of jumps, one of them after every `period` of its steps.

    No families mean the base chain alone. It is Gibbs, tempered if there are `betas`; then lanes
    may trade parts on the cold rungs.
    """

    families: tuple[str, ...] = ()
    period: int = 1
    betas: tuple[float, ...] = ()
    trades: bool = False

    @property
    def base(self) -> str:
        return (TRADES if self.trades else TEMPERING) if self.betas else GIBBS

    @property
    def alpha(self) -> float:
        """The share of base steps among all steps."""
        return self.period / (self.period + 1) if self.families else 1.0

    @property
    def words(self) -> str:
        """Base chain and families by name."""
        parts = [*self.families, *([self.base] if self.betas else [])]
        return " + ".join(parts) or "Gibbs alone"

    def record(self) -> dict[str, Any]:
        """The recipe in terms that JSON has."""
        found = {"base": self.base, "families": list(self.families), "period": self.period}
        return {**found, "betas": list(self.betas)} if self.betas else found

    def kernel(self, model: Model, prepared: Conditionals) -> Kernel:
        """Build the kernel; the same recipe and model give the same kernel."""
        base = base_chain(model.graph, prepared, self.betas, self.trades)
        jumps = [_jump(name, model, prepared) for name in self.families]
        return alternation(base, combined(jumps), period=self.period) if jumps else base


def base_chain(
    graph: FactorGraph, prepared: Conditionals, betas: Sequence[float], trades: bool = False
) -> Kernel:
    """Gibbs, tempered if there are betas, with trades between lanes or without."""
    if not betas:
        return SystematicScan(prepared)
    tempered = tempering(graph, prepared, betas)
    return trading_tempering(tempered) if trades else tempered


def combined(jumps: Sequence[Kernel]) -> Kernel:
    """All jumps equally often."""
    found = jumps[-1]
    for done, jump in enumerate(jumps[-2::-1], start=1):
        found = mixture(jump, found, weight=1.0 / (done + 1))
    return found


def recipe_from(record: Mapping[str, Any]) -> Recipe:
    """Read a recorded recipe; what is wrong with it is said."""
    for name in record:
        if name not in FIELDS:
            raise InputError(f"moves have no {name!r}{suggestion(str(name), FIELDS)}")
    families, period = record.get("families"), record.get("period")
    if not isinstance(families, Sequence) or isinstance(families, str):
        raise InputError('the moves need a list "families"')
    if not isinstance(period, int) or isinstance(period, bool) or period < 1:
        raise InputError(f'the moves need a whole number "period" above 0, not {period!r}')
    for name in families:
        if name not in FAMILIES:
            near = suggestion(str(name), FAMILIES)
            raise InputError(f"there is no family of moves {name!r}{near}")
    return Recipe(tuple(families), period, _betas(record), record.get("base") == TRADES)


def _betas(record: Mapping[str, Any]) -> tuple[float, ...]:
    base, betas = record.get("base", GIBBS), record.get("betas", ())
    if base not in (GIBBS, TEMPERING, TRADES):
        near = suggestion(str(base), (GIBBS, TEMPERING, TRADES))
        raise InputError(f"moves have no base {base!r}{near}")
    listed = isinstance(betas, Sequence) and all(isinstance(beta, (int, float)) for beta in betas)
    if not listed or bool(betas) != (base != GIBBS):
        raise InputError(f'a list of numbers "betas" belongs to the base {TEMPERING!r} only')
    return tuple(float(beta) for beta in betas)


def _jump(name: str, model: Model, prepared: Conditionals) -> Kernel:
    found = FAMILIES[name].build(model, prepared)
    if found is None:
        raise InputError(f"the moves {name!r} make no sense for this model")
    return found
