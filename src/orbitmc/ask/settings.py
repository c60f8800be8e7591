"""How to answer a question: the method, how long, and what decides its kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from orbitmc.errors import InputError
from orbitmc.machine.settings import listed, require_values, setting, settings_of
from orbitmc.machine.text import MEMORY
from orbitmc.run.schedule import LANES, PACKS, Schedule

if TYPE_CHECKING:
    from orbitmc.kernels.kernel import Kernel
else:
    Kernel = tuple  # kernels are NamedTuples; what they are made of is loaded when one is used

Method = Literal["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"]
Base = Literal["gibbs", "mcsat"]
Slices = Literal["walk", "samplesat"]
Scan = Literal["systematic", "random"]
Estimator = Literal["rao-blackwell", "values", "orbits"]
Approximation = Literal["rank", "evidence", "messages", "weights"]

METHODS: tuple[str, ...] = get_args(Method)
DEFAULT_SECONDS = 10.0
ENDS = ("samples", "seconds", "standard_error")

SHAPES = ("approximation", "clusters", "rank", "max_moved", "min_acceptance")
"""What decides the jumps of lmh."""

APPROXIMATIONS: Mapping[str, tuple[str, ...]] = {
    "rank": ("clusters", "rank"),
    "evidence": ("clusters",),
    "messages": ("clusters",),
    "weights": ("clusters", "max_moved", "min_acceptance"),
}
"""Relational approximations of programs, and what shapes each."""

LMH, LIFTED = ("lmh",), ("lifted", "lmh")


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
        "The chain that jumps are mixed with; from Python also a kernel. With any other than "
        "gibbs, lmh jumps as in the paper, without a race.",
        methods=LIFTED,
        kernel=True,
    )
    scan: Scan | None = setting(
        None,
        "The order in which variables are updated.",
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
        "rao-blackwell",
        "Average conditional probabilities, count values, or average each state over its orbit "
        "under the generators, weighted by the model (groups of up to 64).",
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
        None, "Steps between two samples.", unset="four for each variable", least=1
    )
    alpha: float | None = setting(
        None,
        "The probability of a base step; other steps are jumps. With alpha, approximation, "
        "clusters, rank, max_moved or min_acceptance, lmh jumps as in the paper, without a race.",
        unset="0.8",
        methods=LIFTED,
        kernel=True,
    )
    approximation: Approximation | None = setting(
        None,
        "How lmh makes a program symmetric: evidence of low Boolean rank, constants clustered by "
        "their evidence or by the messages of their atoms, or clustered rule weights.",
        unset="the blocks of the paper",
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
        "Permutations of your own, as (A B)(C D), to jump by with lmh, or to average over; a wrong "
        "one does not bias the answer.",
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
    packs: int = setting(PACKS, "Packs of chains; each is one task.", least=1)
    lanes: int = setting(LANES, "Chains in a pack, a multiple of 32.", least=1)
    threads: int | None = setting(
        None, "Cores to use; results do not depend on it.", unset="all", least=1
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

    def kernel(self) -> dict[str, object]:
        """The settings that decide which kernel is used, for those who build it again."""
        found = {name: getattr(self, name) for name in kernel_settings()}
        own = None if isinstance(self.base, str) else {"own": type(self.base).__name__}
        return {**found, "base": own or self.base, "generators": list(self.generators)}

    def require_use(self) -> None:
        """Refuse values that make no sense, and settings that nothing would listen to."""
        require_values(self)
        self._require_generators()
        self._require_listeners()
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise InputError(f"alpha lies between 0 and 1, not at {self.alpha}")
        self._require_lanes()
        self._require_approximation()
        self._require_one_source()

    def _require_listeners(self) -> None:
        """Refuse what the method does not listen to, nor MC-SAT where it is the base chain."""
        based = self.method in LIFTED and self.base == "mcsat"
        listening = {self.method, "mcsat"} if based else {self.method}
        for one in settings_of(Settings).values():
            unheard = one.methods and listening.isdisjoint(("auto", *one.methods))
            if unheard and getattr(self, one.name) != one.default:
                raise InputError(
                    f"{one.name} is for {' and '.join(one.methods)}, not for {self.method}"
                )

    def _require_lanes(self) -> None:
        if self.lanes != LANES:
            from orbitmc.machine.lanes.random import LANE_UNIT

            if self.lanes % LANE_UNIT:
                raise InputError(f"lanes are a multiple of {LANE_UNIT}, not {self.lanes}")

    def _require_approximation(self) -> None:
        """Refuse shapes of jumps that the approximation does not have."""
        if self.approximation is None:
            return
        heard = ("approximation", *APPROXIMATIONS[self.approximation])
        for name in SHAPES:
            if name not in heard and getattr(self, name) is not None:
                raise InputError(f"the approximation {self.approximation} has no {name}")

    def _require_generators(self) -> None:
        """Refuse generators that nothing would use, and averages over orbits of nothing."""
        averaging = self.estimator == "orbits"
        if averaging and not self.generators:
            raise InputError(
                "averages over orbits need a group: give its generators, as (A B)(C D)"
            )
        if self.generators and self.method != "lmh" and not averaging:
            raise InputError(
                f"generators are for the method lmh or the estimator orbits, not for {self.method}"
            )

    def _require_one_source(self) -> None:
        """Refuse jumps that are recorded, given and shaped at the same time."""
        given = ["generators"] if self.generators else []
        shaped = [name for name in SHAPES if getattr(self, name) is not None]
        weighed = ["alpha"] if self.alpha is not None else []
        other = ["base"] if self.base != "gibbs" else []
        if self.moves is not None and (unheard := given + shaped + weighed + other):
            raise InputError(f"the recorded moves are all the jumps there are: no {unheard[0]}")
        if given and shaped:
            raise InputError(f"the given generators are all the jumps there are: no {shaped[0]}")

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


def kernel_settings() -> tuple[str, ...]:
    """The names of settings that decide which kernel is used."""
    return tuple(one.name for one in settings_of(Settings).values() if one.kernel)


Settings.__doc__ = f"{Settings.__doc__}\n\n{listed(Settings)}\n"
