"""What a race has chosen: enough to build the same kernel again without it."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orbitmc import kernels
from orbitmc._util.arrays import indices
from orbitmc._util.text import suggestion
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._gibbs import PartialScan, SystematicScan
from orbitmc.kernels._independence import Pause
from orbitmc.kernels._mixture import mixture
from orbitmc.kernels.protocol import Kernel, drawn_variables, independent_after
from orbitmc.sampling.ladder import MOST_RUNGS
from orbitmc.tuning.families import FAMILIES

GIBBS, TEMPERING, BLOCKS = "gibbs", "tempering", "blocks"
SPLITS = "splits"  # of whole blocks of relations that are not ground; no family of other models
BASES = (GIBBS, TEMPERING)
FIELDS = ("base", "families", "period", "betas", "blocks", "block_period")
MOST_DRAWN_ENTRIES = 2**10  # of a table of a block that is drawn beside Gibbs
LONGEST = 2**62  # steps between jumps: compiled code counts them in 64 bits


@dataclass(frozen=True)
class Tuning:
    """A base chain, and families of jumps, one of them after every `period` of its steps.

    No families mean the base chain alone. It is Gibbs, tempered if there are `betas`. With `blocks`
    it also draws these groups of variables as a whole, in turn: after every `block_period` of its
    steps it takes one of theirs (a block is worth as many as it has variables). Jumps that
    draw all variables by themselves need no steps in between: these pass.
    """

    families: tuple[str, ...] = ()
    period: int = 1
    betas: tuple[float, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()
    block_period: int = 1

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
        parts += [BLOCKS] if self.blocks else []
        return " + ".join(parts) or "Gibbs alone"

    def record(self) -> dict[str, Any]:
        """The recipe in terms that JSON has."""
        fields: dict[str, Any] = {
            "base": self.base,
            "families": list(self.families),
            "period": self.period,
        }
        if self.betas:
            fields |= {"betas": list(self.betas)}
        if self.blocks:
            fields |= {"blocks": [list(block) for block in self.blocks]}
            fields |= {"block_period": self.block_period}
        return fields

    def kernel(self, model: Model, prepared: PreparedGraph) -> Kernel:
        """Build the kernel; the same recipe and model give the same kernel."""
        jump = self.jump(model, prepared)
        if jump is not None and not self.betas and not self.blocks:
            return alternation(_base_beside(jump, prepared), jump, period=self.period)
        base = base_chain(prepared, self.betas, self.blocks, self.block_period)
        return base if jump is None else alternation(base, jump, period=self.period)

    def jump(self, model: Model, prepared: PreparedGraph) -> Kernel | None:
        """All families together; None if there are none."""
        jumps = [_jump(name, model, prepared) for name in self.families]
        return combine_jumps(jumps) if jumps else None


def _base_beside(jump: Kernel, prepared: PreparedGraph) -> Kernel:
    """Gibbs on the variables that jumps do not draw by themselves; none where they draw all."""
    if independent_after(jump) == 1:
        return Pause()
    drawn = drawn_variables(jump, prepared.graph)
    if drawn is None or not drawn.any():
        return SystematicScan()
    return Pause() if drawn.all() else PartialScan(indices(np.flatnonzero(~drawn)))


def base_chain(
    prepared: PreparedGraph,
    betas: Sequence[float] = (),
    blocks: Sequence[Sequence[int]] = (),
    block_period: int = 1,
) -> Kernel:
    """Gibbs, tempered if there are betas; blocks are drawn beside it."""
    if betas:
        return kernels.tempering(prepared, betas)
    if not blocks:
        return SystematicScan()
    drawn = kernels.chosen_blocks(prepared.graph, blocks, most_entries=MOST_DRAWN_ENTRIES)
    return alternation(SystematicScan(), drawn, period=block_period)


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
    blocks = _blocks(record, base)
    period = _period(record, "block_period") if blocks or "block_period" in record else 1
    return Tuning(_families(record), _period(record), _betas(record, base), blocks, period)


def _families(record: Mapping[str, Any]) -> tuple[str, ...]:
    families = record.get("families")
    if not isinstance(families, list | tuple):
        raise InputError('the moves need a list "families"')
    for name in families:
        if not isinstance(name, str) or name not in (*FAMILIES, SPLITS):
            raise InputError(f"there is no family of moves {_shorten(name, FAMILIES)}")
    if len(set(families)) < len(families):
        raise InputError("the moves name a family twice; once is enough, all come equally often")
    return tuple(families)


def _period(record: Mapping[str, Any], name: str = "period") -> int:
    period = record.get(name)
    if not isinstance(period, int) or isinstance(period, bool) or not 0 < period <= LONGEST:
        demand = f'the moves need a whole number "{name}" above 0'
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


def _blocks(record: Mapping[str, Any], base: str) -> tuple[tuple[int, ...], ...]:
    blocks = record.get("blocks", ())
    if not isinstance(blocks, list | tuple) or (blocks and base != GIBBS):
        raise InputError(f'a list "blocks" belongs to the base {GIBBS!r} only')
    for block in blocks:
        if not isinstance(block, list | tuple) or not all(type(v) is int for v in block):
            raise InputError(f"blocks are lists of numbers of variables, not {_shorten(block)}")
    return tuple(tuple(block) for block in blocks)


def _shorten(value: object, known: Iterable[str] = ()) -> str:
    """What was found, shortened if it is long, and what was probably meant."""
    try:
        shown = reprlib.repr(value)
    except ValueError:  # Python writes no numbers of many thousand digits
        shown = f"such a long {type(value).__name__}"
    return shown + (suggestion(value, known) if isinstance(value, str) else "")


def _jump(name: str, model: Model, prepared: PreparedGraph) -> Kernel:
    jump = None if name == SPLITS else FAMILIES[name].build(model, prepared)
    if jump is None:
        raise InputError(f"the moves {name!r} make no sense for this model")
    return jump
