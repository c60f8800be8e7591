"""What a race has chosen: enough to build the same kernel again without it."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orbitmc import kernels
from orbitmc._util.text import suggestion
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels._mixture import mixture
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.ladder import MOST_RUNGS
from orbitmc.tuning.families import FAMILIES

GIBBS, TEMPERING = "gibbs", "tempering"
BASES = (GIBBS, TEMPERING)
FIELDS = ("base", "families", "period", "betas")
LONGEST = 2**62  # steps between jumps: compiled code counts them in 64 bits


@dataclass(frozen=True)
class Tuning:
    """A base chain, and families of jumps, one of them after every `period` of its steps.

    No families mean the base chain alone. It is Gibbs, tempered if there are `betas`.
    """

    families: tuple[str, ...] = ()
    period: int = 1
    betas: tuple[float, ...] = ()

    @property
    def base(self) -> str:
        return TEMPERING if self.betas else GIBBS

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
        fields = {"base": self.base, "families": list(self.families), "period": self.period}
        return {**fields, "betas": list(self.betas)} if self.betas else fields

    def kernel(self, model: Model, prepared: PreparedGraph) -> Kernel:
        """Build the kernel; the same recipe and model give the same kernel."""
        base = base_chain(prepared, self.betas)
        jumps = [_jump(name, model, prepared) for name in self.families]
        return alternation(base, combine_jumps(jumps), period=self.period) if jumps else base


def base_chain(prepared: PreparedGraph, betas: Sequence[float]) -> Kernel:
    """Gibbs, tempered if there are betas."""
    return kernels.tempering(prepared, betas) if betas else SystematicScan()


def combine_jumps(jumps: Sequence[Kernel]) -> Kernel:
    """All jumps equally often."""
    kernel = jumps[-1]
    for done, jump in enumerate(jumps[-2::-1], start=1):
        kernel = mixture(jump, kernel, weight=1.0 / (done + 1))
    return kernel


def tuning_from_record(record: object) -> Tuning:
    """Read a recorded recipe; what is wrong with it is said."""
    if not isinstance(record, Mapping):
        raise InputError(f"moves are an object with families and period, not {_shorten(record)}")
    for name in record:
        if name not in FIELDS:
            raise InputError(f"moves have no {_shorten(name, FIELDS)}")
    base = record.get("base", GIBBS)
    if not isinstance(base, str) or base not in BASES:
        raise InputError(f"moves have no base {_shorten(base, BASES)}")
    return Tuning(_families(record), _period(record), _betas(record, base))


def _families(record: Mapping[str, Any]) -> tuple[str, ...]:
    families = record.get("families")
    if not isinstance(families, list | tuple):
        raise InputError('the moves need a list "families"')
    for name in families:
        if not isinstance(name, str) or name not in FAMILIES:
            raise InputError(f"there is no family of moves {_shorten(name, FAMILIES)}")
    if len(set(families)) < len(families):
        raise InputError("the moves name a family twice; once is enough, all come equally often")
    return tuple(families)


def _period(record: Mapping[str, Any]) -> int:
    period = record.get("period")
    if not isinstance(period, int) or isinstance(period, bool) or not 0 < period <= LONGEST:
        demand = 'the moves need a whole number "period" above 0'
        raise InputError(f"{demand}, not {_shorten(period)}; it is at most 2^62")
    return period


def _betas(record: Mapping[str, Any], base: str) -> tuple[float, ...]:
    betas = record.get("betas", ())
    if not isinstance(betas, list | tuple) or bool(betas) != (base != GIBBS):
        raise InputError(f'a list of numbers "betas" belongs to the base {TEMPERING!r} only')
    for beta in betas:
        if type(beta) not in (int, float) or not 0 < beta <= 1:
            raise InputError(f"betas are numbers above 0 and at most 1, not {_shorten(beta)}")
    if len(betas) > MOST_RUNGS:
        raise InputError(f"a ladder has at most {MOST_RUNGS} betas, not {len(betas):,}")
    return tuple(float(beta) for beta in betas)


def _shorten(value: object, known: Iterable[str] = ()) -> str:
    """What was found, shortened if it is long, and what was probably meant."""
    try:
        shown = reprlib.repr(value)
    except ValueError:  # Python writes no numbers of many thousand digits
        shown = f"such a long {type(value).__name__}"
    return shown + (suggestion(value, known) if isinstance(value, str) else "")


def _jump(name: str, model: Model, prepared: PreparedGraph) -> Kernel:
    jump = FAMILIES[name].build(model, prepared)
    if jump is None:
        raise InputError(f"the moves {name!r} make no sense for this model")
    return jump
