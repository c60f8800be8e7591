"""How fast several samplers approach the truth, under equal conditions.

All start from the same states, run the same compiled code on one core, and are charged for all
they do: finding symmetries, approximating, racing, warming up. Only compiling is free.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from orbitmc.arrays import Floats, Indices
from orbitmc.choice import kernel_for
from orbitmc.compiled import Stopwatch
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.divergence import Divergence, divergence, expected_divergence
from orbitmc.estimate.statistics import ROUNDING, values_of
from orbitmc.estimate.tallies import ChanceTally, ValueTally
from orbitmc.exact.elimination import marginals as eliminate
from orbitmc.exact.plan import MEMORY, predict
from orbitmc.graph.conditionals import Conditionals, conditionals
from orbitmc.graph.model import Model
from orbitmc.inference import decide
from orbitmc.kernels.kernel import Kernel
from orbitmc.lifting import Lifting, by_approximate_symmetries
from orbitmc.random import COLUMNS
from orbitmc.run.sampler import LANES, PACKS, Run, sample
from orbitmc.run.schedule import Schedule
from orbitmc.settings import METHODS, Settings

EXACT_SECONDS = 60.0  # the truth may cost as much
AGREEMENT = 3.0  # standard errors between two samplers that agree
STRAYS = 0.01  # of all probabilities may differ by more, by chance
DOUBT = 1e-4  # the chance of refusing samplers that agree, for the largest difference of all
DEGREES = PACKS * COLUMNS - 1  # of freedom, of a standard error
WARM_UP = 8  # samples that every contestant throws away
ESTIMATORS = {"values": ValueTally, "chances": ChanceTally}


@dataclass(frozen=True)
class Truth:
    """Marginals to be compared with, one number per value, and how far off they may be.

    Exact ones have a floor of zero. `how` says where they come from.
    """

    probability: Floats
    floor: Divergence
    how: str


@dataclass(frozen=True)
class Entrant:
    """A sampler in the contest: its name, and how its kernel is made, which is timed.

    `model` is what it samples: the one in question, or an approximation of it.
    """

    name: str
    model: Model
    make: Callable[[Model, Conditionals], Lifting]


@dataclass(frozen=True)
class Ready:
    """An entrant that may start: its kernel, and the seconds that went into it."""

    name: str
    model: Model
    prepared: Conditionals
    kernel: Kernel
    seconds: float
    about: str


@dataclass(frozen=True)
class Point:
    """How far off one run was after so many iterations of each chain, updates, and seconds."""

    method: str
    estimator: str
    seed: int
    iterations: int
    updates: int
    seconds: float
    error: Divergence


@dataclass(frozen=True)
class Course:
    """All points of one run, what its steps came to, and whether Ctrl-C ended it."""

    points: tuple[Point, ...]
    outcomes: dict[str, int]
    interrupted: bool = False


def by_method(model: Model, method: str, *, seconds: float, memory: int = MEMORY) -> Entrant:
    """What a method of `orbitmc infer` would do in so many seconds."""
    sampling = [name for name in METHODS if name not in ("auto", "exact")]
    if method not in sampling:
        raise InputError(f"unknown method {method!r}; there are {', '.join(sampling)}")
    settings = Settings(method=method, seconds=seconds, memory=memory)  # type: ignore[arg-type]

    def make(model: Model, prepared: Conditionals) -> Lifting:
        decision = decide(model, settings)
        found = kernel_for(model, prepared, decision.settings)
        about = decision.choice.about if decision.choice else found.about
        return Lifting(found.kernel, about, found.pools)

    return Entrant(method, model, make)


def ready(entrant: Entrant) -> Ready:
    """Make the kernel of an entrant, and note how long that takes.

    It is made twice, because the first time also loads machine code; only the second is timed.
    """
    entrant.make(entrant.model, conditionals(entrant.model.graph))
    with Stopwatch() as watch:
        prepared = conditionals(entrant.model.graph)
        found = entrant.make(entrant.model, prepared)
    return Ready(entrant.name, entrant.model, prepared, found.kernel, watch.seconds, found.about)


def course(
    one: Ready,
    truth: Truth,
    *,
    seconds: float,
    seed: int,
    estimator: str = "chances",
    lanes: int = LANES,
) -> Course:
    """Run one entrant once, and compare its growing sample with the truth."""
    run = sample(
        one.model.graph,
        one.kernel,
        Schedule(seconds=seconds, warm_up=WARM_UP, snapshots=True),
        seed=seed,
        packs=1,
        lanes=lanes,
        threads=1,
        kind=ESTIMATORS[estimator],
        prepared=one.prepared,
        spent=one.seconds,
    )
    points = tuple(_points(run, one.name, estimator, truth))
    return Course(points, run.outcomes, run.interrupted)


def _points(run: Run, method: str, estimator: str, truth: Truth) -> Iterator[Point]:
    places = values_of(run.graph.cardinality)
    for seen in run.snapshots:
        yield Point(
            method,
            estimator,
            run.seed,
            iterations=(run.warmed + seen.samples) * run.spacing,
            updates=seen.updates,
            seconds=seen.seconds,
            error=divergence(
                truth.probability, places.probabilities(seen.probability), places.start
            ),
        )


def truth_of(
    model: Model,
    *,
    seconds: float,
    seed: int = 0,
    samplers: Sequence[Entrant] = (),
    memory: int = MEMORY,
    threads: int | None = None,
) -> Truth:
    """Exact marginals where they are affordable, else long runs of two samplers that must agree.

    The two samplers are Gibbs and Lifted Metropolis-Hastings, unless others are given; each runs
    for so many seconds. Jumps are raced, and where Gibbs alone wins the race they are those of the
    paper: two runs of one sampler that miss the same values would agree, too.
    """
    try:
        plan = predict(model.graph, memory=memory, seconds=2.0)
        if plan.bytes <= memory and plan.seconds <= EXACT_SECONDS:
            found = eliminate(model.graph, memory=memory, plan=plan)
            nothing = Divergence(0.0, 0.0, 0.0)
            return Truth(np.concatenate([np.zeros(0), *found.marginals]), nothing, "exact")
    except LimitError:
        pass  # a price that cannot be told is too high
    gibbs = by_method(model, "gibbs", seconds=seconds, memory=memory)
    both = samplers or [gibbs, _with_some_jumps(model, seconds, memory)]
    runs = [
        _long_run(ready(one), seconds, seed + number, threads) for number, one in enumerate(both)
    ]
    start = values_of(model.graph.cardinality).start
    return agreed(runs, start, [one.name for one in both])


def _with_some_jumps(model: Model, seconds: float, memory: int) -> Entrant:
    """Lifted Metropolis-Hastings that never is Gibbs alone if the model allows for any jumps."""
    settings = Settings(method="lmh", seconds=seconds, memory=memory)

    def make(model: Model, prepared: Conditionals) -> Lifting:
        raced = decide(model, settings).settings
        if raced.moves is not None and not raced.moves["families"]:
            return by_approximate_symmetries(model, prepared)
        return kernel_for(model, prepared, raced)

    return Entrant("lmh", model, make)


@dataclass(frozen=True)
class Estimate:
    """One number per value, and its error."""

    probability: Floats
    standard_error: Floats


def _long_run(one: Ready, seconds: float, seed: int, threads: int | None) -> Estimate:
    run = sample(
        one.model.graph,
        one.kernel,
        Schedule(seconds=seconds),
        seed=seed,
        prepared=one.prepared,
        threads=threads,
    )
    if run.interrupted:
        raise KeyboardInterrupt("before the truth was known")
    places, found = values_of(one.model.graph.cardinality), run.statistics()
    return Estimate(
        places.probabilities(found.probability), places.spread(found.standard_error, 0.0)
    )


def agreed(runs: Sequence[Estimate], start: Indices, names: Sequence[str]) -> Truth:
    """The mean of two independent estimates, if they agree within their errors.

    At most one difference in a hundred may be beyond three errors, and none may be larger than
    the largest of so many that chance would explain.
    """
    one, two = runs
    apart = np.abs(one.probability - two.probability)
    error = np.hypot(one.standard_error, two.standard_error)
    known = np.maximum(error, ROUNDING)  # smaller errors are given as zero
    beyond = apart > AGREEMENT * known
    farthest = float(stdtrit(DEGREES, 1 - DOUBT / (2 * max(1, len(apart)))))
    far = apart > max(AGREEMENT, farthest) * known
    if beyond.mean() > STRAYS or far.any():
        raise LimitError(
            f"{names[0]} and {names[1]} do not agree: {beyond.mean():.1%} of all probabilities "
            f"differ by more than {AGREEMENT:g} standard errors, and {int(far.sum())} by more than "
            f"{farthest:.1f}, so nobody knows the truth; give it more seconds"
        )
    middle = (one.probability + two.probability) / 2
    floor = expected_divergence(middle, error / 2, start)
    how = f"long runs of {names[0]} and {names[1]}, {beyond.mean():.2%} beyond {AGREEMENT:g} errors"
    return Truth(middle, floor, how)


def contest(
    entrants: Iterable[Ready],
    truth: Truth,
    *,
    seconds: float,
    seeds: Sequence[int],
    estimators: Sequence[str] = ("chances",),
    lanes: int = LANES,
) -> Iterator[tuple[Ready, Course]]:
    """Let entrants take turns, seed by seed; ends early when one of them is interrupted."""
    racing = list(entrants)
    for seed in seeds:
        for one in racing:
            for estimator in estimators:
                found = course(
                    one, truth, seconds=seconds, seed=seed, estimator=estimator, lanes=lanes
                )
                yield one, found
                if found.interrupted:
                    return
