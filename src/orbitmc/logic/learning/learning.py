"""Learn the weights of a program from databases, by any of three objectives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import heed, listening
from orbitmc._util.text import MEMORY
from orbitmc.errors import InputError, is_interrupt
from orbitmc.logic.databases.database import Database
from orbitmc.logic.grounding.grounding import MOST_GROUNDINGS, Ground
from orbitmc.logic.language.syntax import Program
from orbitmc.logic.learning.chains import Chains
from orbitmc.logic.learning.changes import changes, joined
from orbitmc.logic.learning.components import Components, are_small
from orbitmc.logic.learning.meaning import Meaning, with_meaning
from orbitmc.logic.learning.objectives.ascent import ITERATIONS, first_step, maximise
from orbitmc.logic.learning.objectives.composite_likelihood import CompositeLikelihood
from orbitmc.logic.learning.objectives.discriminative import SAMPLED_ITERATIONS as NOISY_ITERATIONS
from orbitmc.logic.learning.objectives.discriminative import (
    ConditionalLikelihood,
    climb,
    observed_counts,
)
from orbitmc.logic.learning.objectives.expectation_maximisation import (
    expectation_maximisation,
    random_start,
)
from orbitmc.logic.learning.objectives.optimisers import Adam, DiagonalNewton
from orbitmc.logic.learning.objectives.prior import DEVIATION, Prior, prior
from orbitmc.logic.learning.step import Step, require_like
from orbitmc.logic.learning.worlds import TrainingWorld, training_worlds

Method = Literal["pseudo", "conditional", "discriminative"]
OptimiserName = Literal["newton", "adam"]


@dataclass(frozen=True)
class Settings:
    """How to learn.

    `pseudo` explains all atoms, `conditional` those of the `query` predicates given the rest, both
    by pseudo-likelihood; `discriminative` explains either by likelihood. Without a method, a query
    makes it conditional, and hidden predicates make it discriminative. `deviation` is the prior's;
    without one it is chosen by cross-validation. An `optimiser` is for noisy slopes of the
    likelihood; without one, worlds of small components are summed up instead. `meaning` says what
    a weight counts for: a whole formula, or each of its clauses, as in Alchemy.
    """

    method: Method | None = None
    query: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    deviation: float | None = DEVIATION
    seed: int = 0
    iterations: int | None = None
    seconds: float | None = None
    optimiser: OptimiserName | None = None
    meaning: Meaning = "formula"
    max_groundings: int = MOST_GROUNDINGS
    memory: int = MEMORY

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in get_args(Method):
            raise InputError(f"there is no method {self.method!r}; see pseudo and conditional")
        if self.objective == "pseudo" and self.query:
            raise InputError("pseudo explains all predicates; with a query, say conditional")
        if self.objective == "conditional" and not self.query:
            raise InputError("say which predicates to predict: conditional needs a query")
        if self.objective != "discriminative" and self.hidden:
            raise InputError(f"{self.objective} cannot learn from hidden atoms: {HIDDEN_ADVICE}")
        for name in ("iterations", "seconds"):
            number = getattr(self, name)
            if number is not None and not number > 0:
                raise InputError(f"{name} must be above 0, not {number}")

    @property
    def objective(self) -> Method:
        usual: Method = "conditional" if self.query else "pseudo"
        return self.method or ("discriminative" if self.hidden else usual)


HIDDEN_ADVICE = "their pseudo-likelihood is not known; say discriminative"


class Task:
    """A program and its training worlds, ready to learn; `held_out` worlds are not learned from."""

    def __init__(
        self,
        program: Program,
        databases: Sequence[Database],
        settings: Settings,
        held_out: Sequence[Database] = (),
    ) -> None:
        self.settings = settings
        every = [*databases, *held_out]
        worlds: tuple[TrainingWorld, ...] = training_worlds(
            with_meaning(program, every, settings.meaning),
            every,
            settings.query or None,
            hidden=settings.hidden,
            max_groundings=settings.max_groundings,
            memory=settings.memory,
        )
        self.worlds, self.held_out = worlds[: len(databases)], worlds[len(databases) :]
        if self.is_hidden and settings.objective != "discriminative":
            raise InputError(f"the databases leave atoms unknown: {HIDDEN_ADVICE}")
        self.prior: Prior = prior(self.ground, deviation=self._deviation())

    def _deviation(self) -> float:
        if self.settings.deviation is not None:
            return self.settings.deviation
        from orbitmc.logic.learning.quality.cross_validation import best_deviation

        return best_deviation(self.worlds)

    @property
    def ground(self) -> Ground:
        """One of the worlds: all number weights alike."""
        return self.worlds[0].ground

    @property
    def is_hidden(self) -> bool:
        """Whether some atoms are hidden."""
        return any(world.hidden.any() for world in self.worlds)

    @cached_property
    def pseudo_likelihood(self) -> CompositeLikelihood:
        return CompositeLikelihood(joined([changes(world) for world in self.worlds]), self.prior)

    @cached_property
    def likelihood(self) -> CompositeLikelihood | None:
        """The likelihood, where all states of all components can be listed."""
        found = [Components(world) for world in self.worlds]
        if not are_small(found):
            return None
        return CompositeLikelihood(joined([world.changes() for world in found]), self.prior)

    @cached_property
    def exact(self) -> CompositeLikelihood | None:
        """What is maximised, unless its slopes are noisy."""
        if self.settings.objective != "discriminative":
            return self.pseudo_likelihood
        return self.likelihood if self.settings.optimiser is None else None

    def first(self) -> Step:
        """Where learning begins; hidden atoms need weights that are not all alike."""
        weights = random_start(self.prior, self.settings.seed) if self.is_hidden else None
        if self.exact is not None:
            return first_step(self.exact, weights)
        if weights is None:
            return first_step(self.pseudo_likelihood)
        return Step(0, weights, np.nan, np.nan)

    def steps(self, start: Step | None = None) -> Iterator[Step]:
        """Learn step by step, from the beginning or from a step that was kept."""
        if start is not None:
            require_like({"weights": start.weights}, {"weights": self.prior.mean})
        if self.exact is None:
            return self._noisy_steps(start)
        wanted = self.settings.iterations or ITERATIONS
        climbing = expectation_maximisation if self.is_hidden else maximise
        return climbing(self.exact, start or self.first(), iterations=wanted)

    def _noisy_steps(self, start: Step | None) -> Iterator[Step]:
        seed, count = self.settings.seed, len(self.worlds)
        free = [Chains(world, seed=seed, number=n) for n, world in enumerate(self.worlds)]
        given = [
            Chains(world, seed=seed, number=count + number, given=True)
            for number, world in enumerate(self.worlds)
            if world.hidden.any()
        ]
        proxy = None if self.is_hidden else self.pseudo_likelihood
        observed = observed_counts(self.worlds)
        objective = ConditionalLikelihood(observed, free, self.prior, proxy, given)
        weights = len(self.prior.mean)
        optimiser = Adam(weights) if self.settings.optimiser == "adam" else DiagonalNewton()
        wanted = self.settings.iterations or NOISY_ITERATIONS
        return climb(objective, optimiser, start or self._beginning(), iterations=wanted)

    def _beginning(self) -> Step:
        """Where the pseudo-likelihood is largest, which is near already."""
        if self.is_hidden:
            return self.first()
        *_, last = maximise(self.pseudo_likelihood)
        return replace(last, iteration=0, finished=False)


@dataclass(frozen=True)
class Learned:
    """A program's weights, numbered as in `ground`, and how learning went."""

    task: Task
    step: Step
    seconds: float
    interrupted: bool = False

    @property
    def ground(self) -> Ground:
        return self.task.ground

    @property
    def weights(self) -> Floats:
        return self.step.weights

    @property
    def converged(self) -> bool:
        """Whether nothing better is near; noisy steps never know."""
        return self.task.exact is None or self.step.finished


Watch = Callable[[Step], None]


@listening()
def learn(
    program: Program,
    databases: Sequence[Database],
    settings: Settings | None = None,
    *,
    held_out: Sequence[Database] = (),
    start: Step | None = None,
    watch: Watch | None = None,
) -> Learned:
    r"""Learn weights; `watch` hears of every step. Compiling takes none of the seconds given.

    Databases that are `held_out` are not learned from, but may name constants.

    Ctrl-C ends learning early: the weights found so far are returned, marked `interrupted`.

    >>> from orbitmc.logic.databases.evidence import parse_database
    >>> from orbitmc.logic.language.parser import parse
    >>> program = parse("Smokes(person)\nSmokes(x)\n", learning=True)
    >>> database = parse_database("Smokes(Anna)\nSmokes(Bob)\n!Smokes(Carl)\n", program)
    >>> learn(program, [database]).weights.round(2).tolist()  # ln 2, drawn to 0 by the prior
    [0.51]
    """
    with Stopwatch() as preparing:
        task = Task(program, databases, settings or Settings(), held_out)
        step = start or task.first()
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
    return Learned(task, step, seconds, interrupted)
