"""What samplers are compared with: exact marginals, or two long runs that agree."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, stdtr, stdtrit

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats, Indices, brief, lengths
from orbitmc._util.text import MEMORY
from orbitmc.compare.samplers import PreparedSampler, Sampler, by_method, prepared_sampler
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import LimitError
from orbitmc.estimate.divergences import Divergence, expected_divergence
from orbitmc.estimate.statistics import ROUNDING, values_of
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.exact.plan import predict
from orbitmc.graph.hardening import hardened
from orbitmc.graph.model import Model
from orbitmc.inference.lift import by_approximate_symmetries
from orbitmc.inference.plan import PlannedKernel, decide, kernel_for
from orbitmc.inference.settings import Settings
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import PACKS, Schedule

EXACT_SECONDS = 60.0  # the truth may cost as much
AGREEMENT = 4.0  # standard errors between two samplers that agree, but for strays
DOUBT = 1e-4  # the chance of refusing samplers that agree, for each of two reasons
DEGREES = PACKS * COLUMNS - 1  # of freedom, of a standard error


@dataclass(frozen=True)
class Reference:
    """Marginals to be compared with, one number per value, and how far off they may be.

    Exact ones have a floor of zero. `how` says where they come from.
    """

    probability: Floats
    floor: Divergence
    how: str

    def __repr__(self) -> str:
        return brief(self)


def reference_of(
    model: Model,
    *,
    seconds: float,
    seed: int = 0,
    samplers: Sequence[Sampler] = (),
    memory: int = MEMORY,
) -> Reference:
    """Exact marginals where they are affordable, else long runs of two samplers that must agree.

    The two samplers are Gibbs and Lifted Metropolis-Hastings, unless others are given; each runs
    for so many seconds. Jumps are raced, and where Gibbs alone wins the race they are those of the
    paper: two runs of one sampler that miss the same values would agree, too.

    >>> import orbitmc as om
    >>> reference_of(om.ising_grid(3, 3, 0.3), seconds=1.0).how
    'exact'
    """
    model = hardened(model).model
    try:
        plan = predict(model.graph, memory=memory, seconds=2.0)
        if plan.bytes <= memory and plan.seconds <= EXACT_SECONDS:
            found = eliminate(model.graph, memory=memory, plan=plan)
            nothing = Divergence(0.0, 0.0, 0.0)
            return Reference(np.concatenate([np.zeros(0), *found.marginals]), nothing, "exact")
    except LimitError:
        pass  # a price that cannot be told is too high
    gibbs = by_method(model, "gibbs", seconds=seconds, memory=memory)
    both = samplers or [gibbs, _with_some_jumps(model, seconds, memory)]
    ready = map(prepared_sampler, both)
    runs = [_long_run(one, seconds, seed + number) for number, one in enumerate(ready)]
    start = values_of(model.graph.cardinality).start
    return agreed(runs, start, [one.name for one in both])


def _with_some_jumps(model: Model, seconds: float, memory: int) -> Sampler:
    """Lifted Metropolis-Hastings that never is Gibbs alone if the model allows for any jumps."""
    settings = Settings(method="lmh", seconds=seconds, memory=memory)

    def make(model: Model, prepared: PreparedGraph) -> PlannedKernel:
        raced = decide(model, settings).settings
        if raced.moves is not None and not raced.moves["families"]:
            return by_approximate_symmetries(model, prepared)
        return kernel_for(model, prepared, raced)

    return Sampler("lmh", model, make)


@dataclass(frozen=True)
class Estimate:
    """One number per value, its error, and the part of it that columns of chains show.

    The rest of the error is for what no chain may have seen.
    """

    probability: Floats
    standard_error: Floats
    spread: Floats


def _long_run(one: PreparedSampler, seconds: float, seed: int) -> Estimate:
    schedule = Schedule(seconds=seconds)
    run = sample(one.prepared, one.kernel, schedule, seed=seed)
    if run.interrupted:
        raise KeyboardInterrupt("before the truth was known")
    places, found = values_of(one.model.graph.cardinality), run.statistics()
    return Estimate(
        places.probabilities(found.probability),
        places.spread(found.standard_error, 0.0),
        places.spread(found.spread, 0.0),
    )


def agreed(runs: Sequence[Estimate], start: Indices, names: Sequence[str]) -> Reference:
    """The mean of two independent estimates, if they agree within their errors.

    No more differences may be beyond four errors than chance would explain, and none may be
    larger than the largest of so many would be. Chance is that of Student's distribution for
    independent variables: samplers that agree are refused about twice in ten thousand times. Groups
    of variables that move together stray together, each about as seldom; at three errors, the
    regions of a large magnet would be refused far too often.
    """
    one, two = runs
    error = np.hypot(one.standard_error, two.standard_error)
    known = np.maximum(error, ROUNDING)  # smaller errors are given as zero
    apart = (np.abs(one.probability - two.probability) / known)[_free_values(start)]
    strays, allowed = int((apart > AGREEMENT).sum()), strays_by_chance(len(apart))
    farthest = float(stdtrit(DEGREES, 1 - DOUBT / (2 * max(1, len(apart)))))
    far = int((apart > max(AGREEMENT, farthest)).sum())
    share = f"{strays} of {len(apart)} probabilities are more than {AGREEMENT:g} errors apart"
    if strays > allowed or far:
        raise LimitError(
            f"{names[0]} and {names[1]} do not agree: {share} ({allowed} may be), and {far} more "
            f"than {farthest:.1f}, so nobody knows the truth; give it more seconds"
        )
    middle = (one.probability + two.probability) / 2
    floor = expected_divergence(middle, np.hypot(one.spread, two.spread) / 2, start)
    return Reference(middle, floor, f"long runs of {names[0]} and {names[1]}; {share}")


def strays_by_chance(count: int) -> int:
    """How many of so many differences may be beyond four errors before one must doubt them."""
    chance = 2 * float(stdtr(DEGREES, -AGREEMENT))
    return next(k for k in range(count + 1) if bdtrc(k, max(count, 1), chance) <= DOUBT)


def _free_values(start: Indices) -> NDArray[np.bool_]:
    """All but the first value of each variable: its probability follows from the others."""
    free = np.ones(int(start[-1]), dtype=np.bool_)
    free[start[:-1][lengths(start) > 0]] = False
    return free
