"""Which settings go together: what nothing would listen to is refused."""

from orbitmc._util.settings import settings_of
from orbitmc.ask.settings import APPROXIMATIONS, LIFTED, PAPER_SHAPES, SHAPES, Settings
from orbitmc.errors import InputError

SAMPLED = (
    "estimator",
    "samples",
    "standard_error",
    "warm_up",
    "spacing",
    "generators",
    "packs",
    "lanes",
    "checkpoint",
)
"""Beside what only some methods listen to: settings that mean nothing to an exact answer."""


def unheeded(settings: Settings, *heeded: str) -> str:
    """Say which settings an exact answer had no use for, as the end of a reason."""
    known = settings_of(Settings).values()
    idle = [
        one.name
        for one in known
        if (one.methods or one.name in SAMPLED)
        and one.name not in heeded
        and getattr(settings, one.name) != one.default
    ]
    return f"; only sampling would use {', '.join(idle)}" if idle else ""


def require_consistent(settings: Settings) -> None:
    """Refuse values that make no sense together, and settings that nothing would listen to."""
    _require_generators(settings)
    _require_listeners(settings)
    if settings.alpha is not None and not 0 < settings.alpha < 1:
        raise InputError(f"alpha lies between 0 and 1, not at {settings.alpha}")
    _require_lanes(settings)
    _require_base(settings)
    _require_approximation(settings)
    _require_paper(settings)
    _require_one_source(settings)


def _require_listeners(settings: Settings) -> None:
    """Refuse what the method does not listen to, nor MC-SAT where it is the base chain."""
    based = settings.method in LIFTED and settings.base == "mcsat"
    listening = {settings.method, "mcsat"} if based else {settings.method}
    for one in settings_of(Settings).values():
        unheard = one.methods and listening.isdisjoint(("auto", *one.methods))
        if unheard and getattr(settings, one.name) != one.default:
            raise InputError(
                f"{one.name} is for {' and '.join(one.methods)}, not for {settings.method}"
            )


def _require_lanes(settings: Settings) -> None:
    if settings.lanes is not None:
        from orbitmc._simd.random import LANE_UNIT

        if settings.lanes % LANE_UNIT:
            raise InputError(f"lanes are a multiple of {LANE_UNIT}, not {settings.lanes}")


def _require_base(settings: Settings) -> None:
    """Refuse a base that Gibbs is not, and an order of single variables for blocks."""
    if settings.method == "gibbs" and settings.base not in ("gibbs", "low-width"):
        raise InputError("such a base is for lifted and lmh, not for gibbs")
    if settings.base == "low-width" and settings.scan is not None:
        raise InputError("scan is for variables one at a time, base=low-width draws blocks")


def _require_approximation(settings: Settings) -> None:
    """Refuse shapes of jumps that the approximation does not have."""
    if settings.approximation is None:
        return
    heard = ("approximation", *APPROXIMATIONS[settings.approximation])
    for name in SHAPES:
        if name not in heard and getattr(settings, name) is not None:
            raise InputError(f"the approximation {settings.approximation} has no {name}")


def _require_paper(settings: Settings) -> None:
    """Refuse shapes of the paper's blocks beside those of a pilot run."""
    for name in PAPER_SHAPES if settings.blocks == "pilot" else ():
        if getattr(settings, name) is not None:
            raise InputError(f"{name} is for blocks=paper, a pilot run needs none")


def _require_generators(settings: Settings) -> None:
    """Refuse generators that nothing would use."""
    if settings.generators and settings.method != "lmh":
        raise InputError(f"generators are for the method lmh, not for {settings.method}")


def _require_one_source(settings: Settings) -> None:
    """Refuse jumps that are recorded, given and shaped at the same time."""
    given = ["generators"] if settings.generators else []
    shaped = [name for name in SHAPES if getattr(settings, name) is not None]
    weighed = ["alpha"] if settings.alpha is not None else []
    other = ["base"] if settings.base != "gibbs" else []
    if settings.moves is not None and (unheard := given + shaped + weighed + other):
        raise InputError(f"the recorded moves are all the jumps there are: no {unheard[0]}")
    if given and shaped:
        raise InputError(f"the given generators are all the jumps there are: no {shaped[0]}")
