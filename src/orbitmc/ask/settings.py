"""How to answer a question: the method, how long, and what decides its kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from orbitmc.errors import InputError
from orbitmc.machine.text import MEMORY
from orbitmc.run.schedule import LANES, PACKS, Schedule

Method = Literal["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"]
Slices = Literal["walk", "samplesat"]
Scan = Literal["systematic", "random"]
Estimator = Literal["rao-blackwell", "values", "orbits"]
Approximation = Literal["rank", "evidence", "messages", "weights"]

METHODS: tuple[str, ...] = get_args(Method)
DEFAULT_SECONDS = 10.0

SHAPES = ("approximation", "clusters", "rank", "max_moved", "min_acceptance")
"""What decides the jumps of lmh."""

APPROXIMATIONS: Mapping[str, tuple[str, ...]] = {
    "rank": ("clusters", "rank"),
    "evidence": ("clusters",),
    "messages": ("clusters",),
    "weights": ("clusters", "max_moved", "min_acceptance"),
}
"""Relational approximations of programs, and what shapes each."""

LISTENERS: Mapping[str, tuple[str, ...]] = {
    "scan": ("gibbs",),
    "slices": ("mcsat",),
    "alpha": ("lifted", "lmh"),
    **dict.fromkeys((*SHAPES, "moves"), ("lmh",)),
}
"""Which methods listen to a setting; `auto` may end up with any of them."""


@dataclass(frozen=True)
class Settings:
    """How to answer; what is not set has a default that suits most models.

    `approximation` says how lmh makes a program symmetric: evidence of low Boolean `rank`,
    `clusters` of constants by their evidence or by the messages of their atoms, or clusters of
    rule weights.
    """

    method: Method = "auto"
    scan: Scan | None = None
    slices: Slices | None = None
    estimator: Estimator = "rao-blackwell"
    samples: int | None = None
    seconds: float | None = None
    standard_error: float | None = None
    warm_up: int | None = None
    spacing: int | None = None
    snapshots: bool = False
    alpha: float | None = None
    approximation: Approximation | None = None
    clusters: int | None = None
    rank: int | None = None
    max_moved: int | None = None
    min_acceptance: float | None = None
    generators: Sequence[str] = ()
    moves: Mapping[str, Any] | None = None
    seed: int = 0
    packs: int = PACKS
    lanes: int = LANES
    threads: int | None = None
    memory: int = MEMORY

    def kernel(self) -> dict[str, object]:
        """The settings that decide which kernel is used, for those who build it again."""
        names = ("method", "scan", "slices", "estimator", "alpha", *SHAPES, "moves")
        found = {name: getattr(self, name) for name in names}
        return {**found, "generators": list(self.generators)}

    def require_use(self) -> None:
        """Refuse settings that nothing would listen to."""
        self._require_generators()
        for name, methods in LISTENERS.items():
            if getattr(self, name) is not None and self.method not in ("auto", *methods):
                raise InputError(f"{name} is for {' and '.join(methods)}, not for {self.method}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise InputError(f"alpha lies between 0 and 1, not at {self.alpha}")
        self._require_approximation()
        self._require_one_source()

    def _require_approximation(self) -> None:
        """Refuse shapes of jumps that the approximation does not have."""
        if self.approximation is None:
            return
        if self.approximation not in APPROXIMATIONS:
            known = ", ".join(APPROXIMATIONS)
            raise InputError(f"unknown approximation {self.approximation!r}; there are {known}")
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
        if self.moves is not None and (unheard := given + shaped + weighed):
            raise InputError(f"the recorded moves are all the jumps there are: no {unheard[0]}")
        if given and shaped:
            raise InputError(f"the given generators are all the jumps there are: no {shaped[0]}")

    @property
    def names_jumps(self) -> bool:
        """Whether the jumps of lmh are settled, so that there is nothing to race for."""
        told = (getattr(self, name) for name in ("alpha", "moves", *SHAPES))
        return bool(self.generators) or any(one is not None for one in told)

    def schedule(self) -> Schedule:
        ends = (self.samples, self.seconds, self.standard_error)
        seconds = DEFAULT_SECONDS if not any(end is not None for end in ends) else self.seconds
        return Schedule(
            samples=self.samples,
            seconds=seconds,
            standard_error=self.standard_error,
            spacing=self.spacing,
            warm_up=self.warm_up,
            snapshots=self.snapshots,
        )
