"""Learn the weights of a program from databases, by any of three objectives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

from orbitmc.errors import InputError, is_interrupt
from orbitmc.logic.databases.database import Database
from orbitmc.logic.grounding.grounding import MOST_GROUNDINGS, Ground
from orbitmc.logic.language.syntax import Program
from orbitmc.logic.learning.chains import Chains
from orbitmc.logic.learning.changes import changes, joined
from orbitmc.logic.learning.objectives.discriminative import ITERATIONS as NOISY_ITERATIONS
from orbitmc.logic.learning.objectives.discriminative import (
    ConditionalLikelihood,
    climb,
    observed_counts,
)
from orbitmc.logic.learning.objectives.optimisers import Adam, DiagonalNewton
from orbitmc.logic.learning.objectives.prior import DEVIATION, Prior, prior
from orbitmc.logic.learning.objectives.pseudo_likelihood import (
    ITERATIONS,
    PseudoLikelihood,
    first_step,
    maximise,
)
from orbitmc.logic.learning.step import Step, require_like
from orbitmc.logic.learning.worlds import TrainingWorld, training_worlds
from orbitmc.machine.arrays import Floats
from orbitmc.machine.compiling import Stopwatch
from orbitmc.machine.interrupts import heed, listening
from orbitmc.machine.text import MEMORY

Method = Literal["pseudo", "conditional", "discriminative"]
OptimiserName = Literal["newton", "adam"]


@dataclass(frozen=True)
class Settings:
    """How to learn.

    `pseudo` explains all atoms, the other methods those of the `query` predicates given the rest:
    `conditional` by pseudo-likelihood, `discriminative` by likelihood. Without a method, a query
    makes it conditional. `deviation` is the prior's.
    """

    method: Method | None = None
    query: frozenset[str] = frozenset()
    deviation: float = DEVIATION
    seed: int = 0
    iterations: int | None = None
    seconds: float | None = None
    optimiser: OptimiserName = "newton"
    max_groundings: int = MOST_GROUNDINGS
    memory: int = MEMORY

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in get_args(Method):
            raise InputError(f"there is no method {self.method!r}; see pseudo and conditional")
        if self.objective == "pseudo" and self.query:
            raise InputError("pseudo explains all predicates; with a query, say conditional")
        if self.objective != "pseudo" and not self.query:
            raise InputError(f"say which predicates to predict: {self.objective} needs a query")
        for name in ("iterations", "seconds"):
            number = getattr(self, name)
            if number is not None and not number > 0:
                raise InputError(f"{name} must be above 0, not {number}")

    @property
    def objective(self) -> Method:
        return self.method or ("conditional" if self.query else "pseudo")


class Task:
    """A program and its training worlds, ready to learn."""

    def __init__(self, program: Program, databases: Sequence[Database], settings: Settings) -> None:
        self.settings = settings
        self.worlds: tuple[TrainingWorld, ...] = training_worlds(
            program,
            databases,
            settings.query or None,
            max_groundings=settings.max_groundings,
            memory=settings.memory,
        )
        self.prior: Prior = prior(self.ground, deviation=settings.deviation)

    @property
    def ground(self) -> Ground:
        """One of the worlds: all number weights alike."""
        return self.worlds[0].ground

    @cached_property
    def pseudo_likelihood(self) -> PseudoLikelihood:
        return PseudoLikelihood(joined([changes(world) for world in self.worlds]), self.prior)

    def steps(self, start: Step | None = None) -> Iterator[Step]:
        """Learn step by step, from the beginning or from a step that was kept."""
        if start is not None:
            require_like({"weights": start.weights}, {"weights": self.prior.mean})
        if self.settings.objective == "discriminative":
            return self._noisy_steps(start)
        wanted = self.settings.iterations or ITERATIONS
        return maximise(self.pseudo_likelihood, start, iterations=wanted)

    def _noisy_steps(self, start: Step | None) -> Iterator[Step]:
        seed = self.settings.seed
        chains = [
            Chains(world.ground, seed=seed, number=number)
            for number, world in enumerate(self.worlds)
        ]
        objective = ConditionalLikelihood(
            observed_counts(self.worlds), chains, self.prior, self.pseudo_likelihood
        )
        weights = len(self.prior.mean)
        optimiser = Adam(weights) if self.settings.optimiser == "adam" else DiagonalNewton()
        wanted = self.settings.iterations or NOISY_ITERATIONS
        return climb(objective, optimiser, start or self._beginning(), iterations=wanted)

    def _beginning(self) -> Step:
        """Where the pseudo-likelihood is largest, which is near already."""
        *_, last = maximise(self.pseudo_likelihood)
        return replace(last, iteration=0, finished=False)


@dataclass(frozen=True)
class Learned:
    """A program's weights, numbered as in `ground`, and how learning went."""

    ground: Ground
    step: Step
    seconds: float
    interrupted: bool = False

    @property
    def weights(self) -> Floats:
        return self.step.weights


Watch = Callable[[Step], None]


@listening()
def learn(
    program: Program,
    databases: Sequence[Database],
    settings: Settings | None = None,
    *,
    start: Step | None = None,
    watch: Watch | None = None,
) -> Learned:
    r"""Learn weights; `watch` hears of every step. Compiling takes none of the seconds given.

    Ctrl-C ends learning early: the weights found so far are returned, marked `interrupted`.

    >>> from orbitmc.logic.databases.evidence import parse_database
    >>> from orbitmc.logic.language.parser import parse
    >>> program = parse("Smokes(person)\nSmokes(x)\n", learning=True)
    >>> database = parse_database("Smokes(Anna)\nSmokes(Bob)\n!Smokes(Carl)\n", program)
    >>> learn(program, [database]).weights.round(2).tolist()  # ln 2, drawn to 0 by the prior
    [0.51]
    """
    with Stopwatch() as preparing:
        task = Task(program, databases, settings or Settings())
        step = start or first_step(task.pseudo_likelihood)
        steps = task.steps(start)
    seconds, interrupted = preparing.seconds, False
    try:
        while task.settings.seconds is None or seconds < task.settings.seconds:
            with Stopwatch() as working:
                found = next(steps, None)
            seconds += working.seconds
            if found is None:
                break
            step = found
            if watch is not None:
                watch(step)
            heed()
    except (KeyboardInterrupt, SystemError) as stop:
        if not is_interrupt(stop):
            raise
        interrupted = True
    return Learned(task.ground, step, seconds, interrupted)
