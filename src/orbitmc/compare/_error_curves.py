"""How fast samplers approach the truth, and what the truth is taken from."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, stdtr, stdtrit

import orbitmc as om
from orbitmc._numba.jit import Stopwatch
from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats, Indices, lengths, short_repr
from orbitmc._util.text import MEMORY
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.divergences import Divergence, divergence, expected_divergence
from orbitmc.estimate.statistics import LIMIT_ROUNDING, values_of
from orbitmc.estimate.tally import TALLIES
from orbitmc.inference import (
    LANES,
    METHODS,
    PACKS,
    SWEEPS_PER_SAMPLE,
    PlannedKernel,
    PreparedGraph,
    Settings,
    by_approximate_symmetries,
    choose_kernel,
    plan_model,
)

# Samplers that are compared, and what it costs to get them ready.
#
# They are charged for all they do: finding symmetries, approximating, racing. Only compiling is
# free.


@dataclass(frozen=True)
class Sampler:
    """A sampler: its name, and how its kernel is made, which is timed.

    `model` is what it samples: the one in question, or an approximation of it.
    """

    name: str
    model: om.Model
    make: Callable[[om.Model, PreparedGraph], PlannedKernel]

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True)
class PreparedSampler:
    """A sampler that may start: its kernel, and the seconds that went into it."""

    name: str
    model: om.Model
    prepared: PreparedGraph
    kernel: om.kernels.Kernel
    seconds: float
    about: str

    def __repr__(self) -> str:
        return short_repr(self)


def by_method(model: om.Model, method: str, *, seconds: float, memory: int = MEMORY) -> Sampler:
    """What a method of `orbitmc infer` would do in so many seconds.

    >>> import orbitmc as om
    >>> by_method(om.ising_grid(3, 3, 0.3), "gibbs", seconds=1.0).name
    'gibbs'
    """
    sampling = [name for name in METHODS if name not in ("auto", "exact", "counting")]
    if method not in sampling:
        raise InputError(f"unknown method {method!r}; there are {', '.join(sampling)}")
    settings = Settings(method=method, seconds=seconds, memory=memory)  # type: ignore[arg-type]

    def make(model: om.Model, prepared: PreparedGraph) -> PlannedKernel:
        plan = plan_model(model, settings)
        planned = choose_kernel(model, prepared, plan.settings)
        about = plan.choice.about if plan.choice else planned.about
        return PlannedKernel(planned.kernel, about, planned.pools)

    return Sampler(method, om.graph.harden(model).model, make)


def prepare_sampler(sampler: Sampler) -> PreparedSampler:
    """Make the kernel of a sampler, and note how long that takes.

    It is made twice, because the first time also loads machine code; only the second is timed.

    >>> import orbitmc as om
    >>> ready = prepare_sampler(by_method(om.ising_grid(3, 3, 0.3), "gibbs", seconds=1.0))
    >>> type(ready.kernel).__name__, ready.seconds < 1.0
    ('SystematicScan', True)
    """
    sampler.make(sampler.model, om.kernels.prepare(sampler.model.graph))
    with Stopwatch() as watch:
        prepared = om.kernels.prepare(sampler.model.graph)
        planned = sampler.make(sampler.model, prepared)
    return PreparedSampler(
        sampler.name, sampler.model, prepared, planned.kernel, watch.seconds, planned.about
    )


TRUTH_SECONDS = 60.0  # the truth may cost as much
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
        return short_repr(self)


def reference_of(
    model: om.Model,
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
    model = om.graph.harden(model).model
    try:
        plan = om.exact.predict(model.graph, memory=memory, seconds=2.0)
        if plan.bytes <= memory and plan.seconds <= TRUTH_SECONDS:
            exact = om.exact.marginals(model.graph, memory=memory, plan=plan)
            nothing = Divergence(0.0, 0.0, 0.0)
            return Reference(np.concatenate([np.zeros(0), *exact.marginals]), nothing, "exact")
    except LimitError:
        pass  # a price that cannot be told is too high
    gibbs = by_method(model, "gibbs", seconds=seconds, memory=memory)
    both = samplers or [gibbs, _with_some_jumps(model, seconds, memory)]
    ready = map(prepare_sampler, both)
    runs = [_long_run(sampler, seconds, seed + number) for number, sampler in enumerate(ready)]
    start = values_of(model.graph.cardinality).start
    return combine_if_agreeing(runs, start, [sampler.name for sampler in both])


def _with_some_jumps(model: om.Model, seconds: float, memory: int) -> Sampler:
    """Lifted Metropolis-Hastings that never is Gibbs alone if the model allows for any jumps."""
    settings = Settings(method="lmh", seconds=seconds, memory=memory)

    def make(model: om.Model, prepared: PreparedGraph) -> PlannedKernel:
        raced = plan_model(model, settings).settings
        if raced.moves is not None and not raced.moves["families"]:
            return by_approximate_symmetries(model, prepared)
        return choose_kernel(model, prepared, raced)

    return Sampler("lmh", model, make)


@dataclass(frozen=True)
class Estimate:
    """One number per value, its error, and the part of it that columns of chains show.

    The rest of the error is for what no chain may have seen.
    """

    probability: Floats
    standard_error: Floats
    spread: Floats


def _long_run(sampler: PreparedSampler, seconds: float, seed: int) -> Estimate:
    schedule = om.Schedule(seconds=seconds)
    run = om.sample(sampler.prepared, sampler.kernel, schedule, seed=seed)
    if run.interrupted:
        raise KeyboardInterrupt("before the truth was known")
    places, statistics = values_of(sampler.model.graph.cardinality), run.statistics()
    return Estimate(
        places.probabilities(statistics.probability),
        places.expand(statistics.standard_error, 0.0),
        places.expand(statistics.spread, 0.0),
    )


def combine_if_agreeing(
    runs: Sequence[Estimate], start: Indices, names: Sequence[str]
) -> Reference:
    """The mean of two independent estimates, if they agree within their errors.

    No more differences may be beyond four errors than chance would explain, and none may be
    larger than the largest of so many would be. Chance is that of Student's distribution for
    independent variables: samplers that agree are refused about twice in ten thousand times. Groups
    of variables that move together stray together, each about as seldom; at three errors, the
    regions of a large magnet would be refused far too often.
    """
    first, second = runs
    error = np.hypot(first.standard_error, second.standard_error)
    known = np.maximum(error, LIMIT_ROUNDING)  # smaller errors are given as zero
    apart = (np.abs(first.probability - second.probability) / known)[_free_values(start)]
    strays, allowed = int((apart > AGREEMENT).sum()), strays_by_chance(len(apart))
    farthest = float(stdtrit(DEGREES, 1 - DOUBT / (2 * max(1, len(apart)))))
    far = int((apart > max(AGREEMENT, farthest)).sum())
    share = f"{strays} of {len(apart)} probabilities are more than {AGREEMENT:g} errors apart"
    if strays > allowed or far:
        raise LimitError(
            f"{names[0]} and {names[1]} do not agree: {share} ({allowed} may be), and {far} more "
            f"than {farthest:.1f}, so nobody knows the truth; give it more seconds"
        )
    middle = (first.probability + second.probability) / 2
    floor = expected_divergence(middle, np.hypot(first.spread, second.spread) / 2, start)
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


# How fast several samplers approach the truth, under equal conditions.
#
# All start from the same states, run the same compiled code on one core, throw away equally many
# iterations, and are charged for all they do (see `orbitmc.compare._error_curves`).

LEAST_CHAIN_SHARE = 0.25  # of the time belongs to the chains, however long a sampler prepares
WARM_UP = 32  # sweeps that every sampler throws away


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
class ErrorCurve:
    """All points of one run, what its steps came to, and whether Ctrl-C ended it."""

    points: tuple[Point, ...]
    outcomes: dict[str, int]
    interrupted: bool = False

    def plot(self, ax: Any = None) -> Any:
        """Draw the error against seconds; needs the extra `plots`.

        Gives matplotlib's axes, those of `ax` if they are given.
        """
        return importlib.import_module("orbitmc.compare.figures").plot_curve(self, ax)

    def __repr__(self) -> str:
        return short_repr(self)


def error_curve(
    sampler: PreparedSampler,
    truth: Reference,
    *,
    seconds: float | None = None,
    samples: int | None = None,
    seed: int,
    estimator: str = "rao-blackwell",
    lanes: int = LANES,
    sweeps: float = SWEEPS_PER_SAMPLE,
) -> ErrorCurve:
    """Run one sampler once, and compare its growing sample with the truth.

    It samples for so many seconds, or takes so many samples; what went into getting it ready comes
    before, on its clock. A sample is taken after so many `sweeps`, or after a part of one; few show
    how soon a chain forgets, and cost more.

    >>> import orbitmc as om
    >>> from orbitmc.compare import by_method, prepare_sampler, reference_of
    >>> grid = om.ising_grid(3, 3, 0.3)
    >>> ready = prepare_sampler(by_method(grid, "gibbs", seconds=0.1))
    >>> found = error_curve(ready, reference_of(grid, seconds=1.0), seconds=0.1, seed=1)
    >>> found.points[-1].error.of_estimate < 0.01
    True
    """
    variables = sampler.model.graph.variables
    spacing = max(1, round(sweeps * variables)) if variables else None
    run = om.sample(
        sampler.prepared,
        sampler.kernel,
        om.Schedule(
            samples=samples,
            seconds=seconds,
            warm_up=round(WARM_UP / sweeps),
            spacing=spacing,
            snapshots=True,
        ),
        seed=seed,
        packs=1,
        lanes=lanes,
        threads=1,
        kind=TALLIES[estimator],
    )
    points = tuple(_points(run, sampler, estimator, truth))
    return ErrorCurve(points, run.outcomes, run.interrupted)


def _points(
    run: om.Run, sampler: PreparedSampler, estimator: str, truth: Reference
) -> Iterator[Point]:
    places = values_of(run.graph.cardinality)
    for snapshot in run.snapshots:
        yield Point(
            sampler.name,
            estimator,
            run.seed,
            iterations=run.warm_up_steps + snapshot.samples * run.spacing,
            updates=snapshot.updates,
            seconds=sampler.seconds + snapshot.seconds,
            error=divergence(
                truth.probability, places.probabilities(snapshot.probability), places.start
            ),
        )


def error_curves(
    samplers: Iterable[PreparedSampler],
    truth: Reference,
    *,
    seconds: float,
    seeds: Sequence[int],
    estimators: Sequence[str] = ("rao-blackwell",),
) -> Iterator[tuple[PreparedSampler, ErrorCurve]]:
    """Let samplers take turns, seed by seed; ends early when one of them is interrupted.

    So many seconds are for getting ready and sampling; a share is left for chains in any case.

    >>> import orbitmc as om
    >>> from orbitmc.compare import by_method, prepare_sampler, reference_of
    >>> grid = om.ising_grid(3, 3, 0.3)
    >>> ready = prepare_sampler(by_method(grid, "gibbs", seconds=0.1))
    >>> truth = reference_of(grid, seconds=1.0)
    >>> [one.name for one, curve in error_curves([ready], truth, seconds=0.1, seeds=[1, 2])]
    ['gibbs', 'gibbs']
    """
    racing = list(samplers)
    for seed in seeds:
        for sampler in racing:
            for estimator in estimators:
                left = max(seconds - sampler.seconds, LEAST_CHAIN_SHARE * seconds)
                curve = error_curve(sampler, truth, seconds=left, seed=seed, estimator=estimator)
                yield sampler, curve
                if curve.interrupted:
                    return
