"""How fast several samplers approach the truth, under equal conditions.

All start from the same states, run the same compiled code on one core, throw away equally many
iterations, and are charged for all they do (see `orbitmc.compare.samplers`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orbitmc._util.arrays import brief
from orbitmc._util.loading import drawing
from orbitmc.compare.reference import Reference
from orbitmc.compare.samplers import PreparedSampler
from orbitmc.estimate.divergences import Divergence, divergence
from orbitmc.estimate.statistics import values_of
from orbitmc.inference.answer import TALLIES
from orbitmc.sampling.run import Run
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import LANES, SWEEPS_PER_SAMPLE, Schedule

LEAST_SHARE = 0.25  # of the time belongs to the chains, however long a sampler prepares
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
        return drawing("plots.curves").plot_curve(self, ax)

    def __repr__(self) -> str:
        return brief(self)


def error_curve(
    one: PreparedSampler,
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
    >>> from orbitmc.compare import by_method, prepared_sampler, reference_of
    >>> grid = om.ising_grid(3, 3, 0.3)
    >>> ready = prepared_sampler(by_method(grid, "gibbs", seconds=0.1))
    >>> found = error_curve(ready, reference_of(grid, seconds=1.0), seconds=0.1, seed=1)
    >>> found.points[-1].error.of_estimate < 0.01
    True
    """
    variables = one.model.graph.variables
    spacing = max(1, round(sweeps * variables)) if variables else None
    run = sample(
        one.prepared,
        one.kernel,
        Schedule(
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
    points = tuple(_points(run, one, estimator, truth))
    return ErrorCurve(points, run.outcomes, run.interrupted)


def _points(run: Run, one: PreparedSampler, estimator: str, truth: Reference) -> Iterator[Point]:
    places = values_of(run.graph.cardinality)
    for seen in run.snapshots:
        yield Point(
            one.name,
            estimator,
            run.seed,
            iterations=run.warm_up_steps + seen.samples * run.spacing,
            updates=seen.updates,
            seconds=one.seconds + seen.seconds,
            error=divergence(
                truth.probability, places.probabilities(seen.probability), places.start
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
    >>> from orbitmc.compare import by_method, prepared_sampler, reference_of
    >>> grid = om.ising_grid(3, 3, 0.3)
    >>> ready = prepared_sampler(by_method(grid, "gibbs", seconds=0.1))
    >>> truth = reference_of(grid, seconds=1.0)
    >>> [one.name for one, curve in error_curves([ready], truth, seconds=0.1, seeds=[1, 2])]
    ['gibbs', 'gibbs']
    """
    racing = list(samplers)
    for seed in seeds:
        for one in racing:
            for estimator in estimators:
                left = max(seconds - one.seconds, LEAST_SHARE * seconds)
                found = error_curve(one, truth, seconds=left, seed=seed, estimator=estimator)
                yield one, found
                if found.interrupted:
                    return
