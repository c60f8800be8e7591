"""How long a run is, and how often it looks at its chains."""

from dataclasses import dataclass

from orbitmc._util.text import MOST_COUNT
from orbitmc.errors import InputError

LANES = 64  # chains of a pack
PACKS = 4
SWEEPS_PER_SAMPLE = 4  # recording costs most of a sweep; more often adds little
WARM_UP_SHARE = 0.2
LEAST_WARM_UP = 20  # samples, however short the run: starts still show in rare values before
PILOT_SAMPLES = 400
SAFETY = 1.2  # the pilot's own error is a few per cent
GRACE_SECONDS = 1.0  # by which an answer may be late


@dataclass(frozen=True)
class Schedule:
    """Stop after `samples`, after `seconds`, or at a `standard_error`; exactly one is given.

    `spacing` steps lie between samples (four per variable unless set). `warm_up` samples are taken
    first and thrown away; unless set, they are a fifth of the run, and twenty at least where the
    number of samples is given.

    A standard error is reached in two stages: a pilot says how many samples are needed, then a
    run of that length is made and only its samples are used. Stopping when the error looks small
    would favour runs that happened to miss a rare value.

    With `snapshots` the run remembers its estimates at growing numbers of samples.
    """

    samples: int | None = None
    seconds: float | None = None
    standard_error: float | None = None
    spacing: int | None = None
    warm_up: int | None = None
    snapshots: bool = False

    def __post_init__(self) -> None:
        ends = [self.samples, self.seconds, self.standard_error]
        if sum(end is not None for end in ends) != 1:
            raise InputError("a schedule has one of samples, seconds and standard_error")
        for name in ("samples", "seconds", "standard_error", "spacing"):
            number = getattr(self, name)
            if number is not None and not 0 < number <= MOST_COUNT:
                raise InputError(f"{name} must be above 0 and at most 2^62, not {number}")
        if self.warm_up is not None and not 0 <= self.warm_up <= MOST_COUNT:
            raise InputError(f"warm_up must be between 0 and 2^62, not {self.warm_up}")

    def spacing_for(self, variables: int) -> int:
        """Steps between two samples."""
        return self.spacing or SWEEPS_PER_SAMPLE * variables if variables else 0

    def warm_up_for(self, samples: int) -> int:
        """Samples to throw away before that many are kept."""
        if self.warm_up is not None:
            return self.warm_up
        return max(LEAST_WARM_UP, int(samples * WARM_UP_SHARE / (1 - WARM_UP_SHARE)) + 1)
