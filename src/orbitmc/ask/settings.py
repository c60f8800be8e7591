"""How to answer a question: the method, how long, and what decides its kernel."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from orbitmc._util.settings import listed, require_values, setting, settings_of
from orbitmc._util.text import MEMORY
from orbitmc.sampling.schedule import LANES, PACKS, Schedule

if TYPE_CHECKING:
    from orbitmc.kernels.protocol import Kernel
else:
    Kernel = tuple  # kernels are NamedTuples; what they are made of is loaded when one is used

Method = Literal["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"]
Base = Literal["gibbs", "mcsat", "low-width"]
Slices = Literal["walk", "samplesat"]
Scan = Literal["systematic", "random"]
Estimator = Literal["control-variates", "rao-blackwell", "values"]
Approximation = Literal["rank", "evidence", "messages", "weights"]
Blocks = Literal["pilot", "paper"]

METHODS: tuple[str, ...] = get_args(Method)
DEFAULT_SECONDS = 10.0
ENDS = ("samples", "seconds", "standard_error")

PAPER_SHAPES = ("clusters", "rank", "max_moved", "min_acceptance")
"""What shapes the blocks of the paper."""

SHAPES = ("approximation", "blocks", *PAPER_SHAPES)
"""What decides the jumps of lmh."""

APPROXIMATIONS: Mapping[str, tuple[str, ...]] = {
    "rank": ("clusters", "rank"),
    "evidence": ("clusters",),
    "messages": ("clusters",),
    "weights": ("clusters", "max_moved", "min_acceptance"),
}
"""Relational approximations of programs, and what shapes each."""

LMH, LIFTED, BASED = ("lmh",), ("lifted", "lmh"), ("gibbs", "lifted", "lmh")


@dataclass(frozen=True)
class Settings:
    """How to answer; what is not set has a default that suits most models."""

    method: Method = setting(
        "auto",
        "auto is exact where that is affordable, and samples elsewhere; mcsat is for hard "
        "constraints and large weights; lifted jumps along exact symmetries, lmh along "
        "approximate ones.",
        kernel=True,
    )
    base: Base | Kernel = setting(
        "gibbs",
        "The chain that jumps are mixed with; from Python also a kernel. low-width draws blocks of "
        "variables at once, which the method gibbs does by itself where zeros freeze single ones. "
        "With any other than gibbs, lmh shuffles blocks, without a race.",
        methods=BASED,
        kernel=True,
    )
    block_work: int | None = setting(
        None,
        "Visits of factors while the blocks of low-width are chosen; more visits find more blocks.",
        unset="a fifth of the time",
        methods=BASED,
        least=1,
        kernel=True,
    )
    scan: Scan | None = setting(
        None,
        "The order in which variables are updated, one at a time.",
        unset="systematic",
        methods=("gibbs",),
        kernel=True,
    )
    slices: Slices | None = setting(
        None,
        "How MC-SAT samples a slice that is too large to count: walk is exact, samplesat is not.",
        unset="walk",
        methods=("mcsat",),
        kernel=True,
    )
    estimator: Estimator = setting(
        "control-variates",
        "Average conditional probabilities, with most of their noise subtracted where a trial "
        "shows that it pays, or without; or count values.",
        kernel=True,
    )
    samples: int | None = setting(None, "Record this many samples in every chain.")
    seconds: float | None = setting(
        None,
        "Answer after this many seconds; compiling is not counted.",
        unset=f"{DEFAULT_SECONDS:g}",
    )
    standard_error: float | None = setting(None, "Sample until standard errors are about this.")
    warm_up: int | None = setting(
        None, "Samples to discard first.", unset="a fifth of the run, at least 20", least=0
    )
    spacing: int | None = setting(
        None,
        "Steps between two samples.",
        unset="four for each variable, fewer if a large model has little time",
        least=1,
    )
    alpha: float | None = setting(
        None,
        "The probability of a base step; other steps are jumps. With alpha, approximation, blocks, "
        "clusters, rank, max_moved or min_acceptance, lmh shuffles or swaps, without a race.",
        unset="0.8",
        methods=LIFTED,
        kernel=True,
    )
    approximation: Approximation | None = setting(
        None,
        "How lmh makes a program symmetric: evidence of low Boolean rank, constants clustered by "
        "their evidence or by the messages of their atoms, or clustered rule weights.",
        unset="blocks decides",
        methods=LMH,
        kernel=True,
    )
    blocks: Blocks | None = setting(
        None,
        "Which variables lmh shuffles: those that a pilot run finds about equally probable, or "
        "those that the paper finds, by orbits of an approximation, degrees and fields.",
        unset="pilot, or paper with clusters, rank, max_moved or min_acceptance",
        methods=LMH,
        kernel=True,
    )
    clusters: int | None = setting(
        None,
        "How many different weights the approximation leaves.",
        unset="6",
        methods=LMH,
        least=1,
        kernel=True,
    )
    rank: int | None = setting(
        None,
        "Boolean rank of links in the approximation; 0 leaves links as they are.",
        unset="5, or 0 beyond 10,000 variables",
        methods=LMH,
        least=0,
        kernel=True,
    )
    max_moved: int | None = setting(
        None,
        "How many factors a jump may move.",
        unset="enough for 20 variables",
        methods=LMH,
        least=1,
        kernel=True,
    )
    min_acceptance: float | None = setting(
        None,
        "Exchange only variables whose fields alone would accept this share of jumps.",
        methods=LMH,
        kernel=True,
    )
    generators: Sequence[str] = setting(
        (),
        "Permutations of your own to jump by, as (A B)(C D); a wrong one does not bias the answer.",
        kernel=True,
    )
    moves: Mapping[str, Any] | None = setting(
        None,
        "The jumps that an earlier answer recorded, instead of a race.",
        unset="a race decides",
        methods=LMH,
        kernel=True,
    )
    seed: int = setting(0, "The same seed gives the same samples.", least=0)
    packs: int | None = setting(
        None,
        "Packs of chains; each is one task.",
        unset=f"{PACKS}, fewer if memory or time is short",
        least=1,
    )
    lanes: int | None = setting(
        None,
        "Chains in a pack, a multiple of 32.",
        unset=f"{LANES}, or 32 for a large model",
        least=1,
    )
    threads: int | None = setting(
        None, "Cores to use; results do not depend on it.", unset="all", least=1
    )
    executor: Executor | None = setting(
        None,
        "Where packs of chains advance: any concurrent.futures.Executor, of processes or of many "
        "machines; results do not depend on it.",
        unset="threads of this process",
    )
    memory: int = setting(MEMORY, "Refuse a run that needs more bytes.", unset="4 GiB", least=1)
    checkpoint: Path | str | None = setting(
        None, "Save the run to this file, so that it can be resumed."
    )
    checkpoint_every: float | None = setting(
        None,
        "Seconds between two saves of the run.",
        unset="30, less often if that is slow",
        least=0,
    )

    @property
    def pack_count(self) -> int:
        """How many packs there are: those that were asked for, or the usual number."""
        return PACKS if self.packs is None else self.packs

    @property
    def lane_count(self) -> int:
        """How many chains a pack has: those that were asked for, or the usual number."""
        return LANES if self.lanes is None else self.lanes

    def kernel(self) -> dict[str, object]:
        """The settings that decide which kernel is used, for those who build it again."""
        every = settings_of(Settings).values()
        found = {one.name: getattr(self, one.name) for one in every if one.kernel}
        own = None if isinstance(self.base, str) else {"own": type(self.base).__name__}
        return {**found, "base": own or self.base, "generators": list(self.generators)}

    def require_use(self) -> None:
        """Refuse values that make no sense, and settings that nothing would listen to."""
        require_values(self)
        from orbitmc.ask.method.consistency import require_consistent

        require_consistent(self)

    @property
    def by_pilot(self) -> bool:
        """Whether a pilot run finds the blocks of lmh; what shapes the paper's asks for those."""
        shaped = any(getattr(self, name) is not None for name in PAPER_SHAPES)
        return self.blocks == "pilot" or (self.blocks is None and not shaped)

    @property
    def names_jumps(self) -> bool:
        """Whether the jumps of lmh are settled, so that there is nothing to race for."""
        told = (self.alpha, self.moves, *(getattr(self, name) for name in SHAPES))
        settled = any(x is not None for x in told)
        return settled or bool(self.generators) or self.base != "gibbs"

    def schedule(self) -> Schedule:
        given = any(getattr(self, end) is not None for end in ENDS)
        return Schedule(
            samples=self.samples,
            seconds=self.seconds if given else DEFAULT_SECONDS,
            standard_error=self.standard_error,
            spacing=self.spacing,
            warm_up=self.warm_up,
        )


Settings.__doc__ = f"{Settings.__doc__}\n\n{listed(Settings)}\n"
