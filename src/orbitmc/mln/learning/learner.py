"""Learn the weights of a program from databases, by any of three objectives."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt, interruptible
from orbitmc._util.text import MEMORY
from orbitmc.errors import InputError, LimitError, is_interrupt
from orbitmc.lifted import NotLiftableError
from orbitmc.mln.data.database import Database, universe
from orbitmc.mln.grounding.grounding import MOST_GROUNDINGS, Ground, NumberedWeights
from orbitmc.mln.grounding.rewriting import split_into_clauses, types_to_expand
from orbitmc.mln.language.syntax import Program
from orbitmc.mln.learning.ascent import (
    ITERATIONS,
    Adam,
    ConditionalLikelihood,
    DiagonalNewton,
    climb,
    expectation_maximisation,
    first_step,
    maximise,
    observed_counts,
    random_start,
)
from orbitmc.mln.learning.ascent import SAMPLED_ITERATIONS as NOISY_ITERATIONS
from orbitmc.mln.learning.counted_likelihood import (
    CountedLikelihood,
    CountedWorlds,
    count_atoms,
    count_worlds,
)
from orbitmc.mln.learning.expectations import Chains, Components, are_small
from orbitmc.mln.learning.objectives import (
    DEVIATION,
    CompositeLikelihood,
    Prior,
    Step,
    prior,
    require_like,
)
from orbitmc.mln.learning.worlds import (
    Changes,
    TrainingWorld,
    changes,
    concatenate_changes,
    explained_predicates,
    training_worlds,
)

# What learned weights count for: whole formulas, or their clauses as in Alchemy.

WeightSemantics = Literal["formula", "alchemy"]


def apply_weight_semantics(
    program: Program, databases: Sequence[Database], meaning: WeightSemantics
) -> Program:
    """The program whose formulas have a weight each: its own, or the clauses of its formulas.

    Clauses name the constants that EXIST stands for, so these must be the same everywhere.
    """
    if meaning == "formula":
        return program
    everything = universe(program, databases)
    universes = [universe(program, [database]) for database in databases]
    for rule in program.rules:
        for kind in sorted(types_to_expand(rule)):
            if any(part.size(kind) < everything.size(kind) for part in universes):
                raise InputError(
                    f"{rule.place}: to split this formula into clauses, as Alchemy does, all "
                    f"databases must have the same constants of type {kind}; list them in the "
                    "program, or learn weights of whole formulas"
                )
    return split_into_clauses(program, everything)


Method = Literal["pseudo", "conditional", "discriminative"]
OptimiserName = Literal["newton", "adam"]


@dataclass(frozen=True)
class LearningSettings:
    """How to learn.

    `pseudo` explains all atoms, `conditional` those of the `query` predicates given the rest, both
    by pseudo-likelihood; `discriminative` explains either by likelihood. Without a method, a query
    makes it conditional, and hidden predicates make it discriminative; so does a program that is
    too large to be ground, if it can be counted. `deviation` is the prior's; without one it is
    chosen by cross-validation. An `optimiser` is for noisy slopes of the likelihood; without one,
    worlds of small components are summed up instead, and others are counted where that works.
    `meaning` says what a weight counts for: a whole formula, or each of its clauses, as in Alchemy.
    """

    method: Method | None = None
    query: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    deviation: float | None = DEVIATION
    seed: int = 0
    iterations: int | None = None
    seconds: float | None = None
    optimiser: OptimiserName | None = None
    meaning: WeightSemantics = "formula"
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


GROUND_AT_ONCE = 10_000  # atoms to explain: the likelihood of more is counted where that works
HIDDEN_ADVICE = "their pseudo-likelihood is not known; say discriminative"


class Task:
    """A program and its training worlds, ready to learn; `held_out` worlds are not learned from."""

    def __init__(
        self,
        program: Program,
        databases: Sequence[Database],
        settings: LearningSettings,
        held_out: Sequence[Database] = (),
    ) -> None:
        self.settings = settings
        every = [*databases, *held_out]
        self.program = apply_weight_semantics(program, every, settings.meaning)
        self.databases = databases
        self.worlds: tuple[TrainingWorld, ...] = ()
        self.held_out: tuple[TrainingWorld, ...] = ()
        if not self._counts_at_once(bool(held_out)):
            try:
                worlds = self._ground(every)
            except LimitError:
                if not self._counts_instead(bool(held_out)):
                    raise
            else:
                self.worlds, self.held_out = worlds[: len(databases)], worlds[len(databases) :]
        if self.is_hidden and settings.objective != "discriminative":
            raise InputError(f"the databases leave atoms unknown: {HIDDEN_ADVICE}")
        self.prior: Prior = prior(self.ground, deviation=self._deviation())

    def _ground(self, databases: Sequence[Database]) -> tuple[TrainingWorld, ...]:
        return training_worlds(
            self.program,
            databases,
            self.settings.query or None,
            hidden=self.settings.hidden,
            max_groundings=self.settings.max_groundings,
            memory=self.settings.memory,
        )

    def _counts_at_once(self, scores: bool) -> bool:
        """Whether a likelihood of many atoms is counted, so that no world is ground."""
        if scores or self.settings.objective != "discriminative" or self.settings.optimiser:
            return False
        if self.settings.hidden or self.settings.deviation is None:
            return False
        return self.explained_atoms > GROUND_AT_ONCE and self.counted is not None

    def _counts_instead(self, scores: bool) -> bool:
        """Whether the likelihood is counted, because what is too large to ground was to be learned.

        That is for learners who named no method.
        """
        if self.settings.method or self.settings.query or self.settings.hidden or scores:
            return False
        if self.settings.deviation is None or self.settings.optimiser or self.counted is None:
            return False
        self.settings = replace(self.settings, method="discriminative")
        return True

    @cached_property
    def explained_atoms(self) -> int:
        """How many atoms learning explains, in all databases together."""
        unseen = self.settings.hidden
        names = explained_predicates(self.program, self.settings.query or None, unseen)
        return count_atoms(self.program, self.databases, names)

    @cached_property
    def counted(self) -> CountedWorlds | None:
        """The worlds as counts, where they can be counted."""
        try:
            return count_worlds(self.program, self.databases, self.settings.query or None)
        except NotLiftableError:
            return None

    def _deviation(self) -> float:
        if self.settings.deviation is not None:
            return self.settings.deviation

        return best_deviation(self.worlds)

    @property
    def ground(self) -> Ground | NumberedWeights:
        """One of the worlds: all number weights alike. Where none is ground, that is all."""
        if self.worlds:
            return self.worlds[0].ground
        assert self.counted is not None
        return self.counted.numbered

    @property
    def is_hidden(self) -> bool:
        """Whether some atoms are hidden."""
        return any(world.hidden.any() for world in self.worlds)

    @cached_property
    def pseudo_likelihood(self) -> CompositeLikelihood:
        return CompositeLikelihood(
            concatenate_changes([changes(world) for world in self.worlds]), self.prior
        )

    @cached_property
    def likelihood(self) -> CompositeLikelihood | CountedLikelihood | None:
        """The likelihood, where all states of all components can be listed, or worlds counted."""
        components = [Components(world) for world in self.worlds]
        if not components or not are_small(components):
            if self.is_hidden or self.counted is None:
                return None
            return CountedLikelihood(self.counted, self.prior)
        return CompositeLikelihood(
            concatenate_changes([world.changes() for world in components]), self.prior
        )

    @cached_property
    def exact(self) -> CompositeLikelihood | CountedLikelihood | None:
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
        if isinstance(self.exact, CountedLikelihood):
            return self.exact.climb(start or self.first(), iterations=wanted)
        climbing = expectation_maximisation if self.is_hidden else maximise
        return climbing(self.exact, start or self.first(), iterations=wanted)

    def _noisy_steps(self, start: Step | None) -> Iterator[Step]:
        seed, count = self.settings.seed, len(self.worlds)
        free = [Chains(world, seed=seed, number=n) for n, world in enumerate(self.worlds)]
        conditioned = [
            Chains(world, seed=seed, number=count + number, given=True)
            for number, world in enumerate(self.worlds)
            if world.hidden.any()
        ]
        proxy = None if self.is_hidden else self.pseudo_likelihood
        observed = observed_counts(self.worlds)
        objective = ConditionalLikelihood(observed, free, self.prior, proxy, conditioned)
        weights = len(self.prior.mean)
        optimiser = Adam(weights) if self.settings.optimiser == "adam" else DiagonalNewton()
        wanted = self.settings.iterations or NOISY_ITERATIONS
        return climb(objective, optimiser, start or self._start(), iterations=wanted)

    def _start(self) -> Step:
        """Where the pseudo-likelihood is largest, which is near already."""
        if self.is_hidden:
            return self.first()
        *_, last = maximise(self.pseudo_likelihood)
        return replace(last, iteration=0, finished=False)


@dataclass(frozen=True)
class LearningResult:
    """A program's weights, numbered as in `ground`, and how learning went."""

    task: Task
    step: Step
    seconds: float
    interrupted: bool = False

    @property
    def ground(self) -> Ground | NumberedWeights:
        return self.task.ground

    @property
    def weights(self) -> Floats:
        return self.step.weights

    @property
    def converged(self) -> bool:
        """Whether nothing better is near; noisy steps never know."""
        return self.task.exact is None or self.step.finished


Watch = Callable[[Step], None]


@interruptible()
def learn(
    program: Program,
    databases: Sequence[Database],
    settings: LearningSettings | None = None,
    *,
    held_out: Sequence[Database] = (),
    start: Step | None = None,
    watch: Watch | None = None,
) -> LearningResult:
    r"""Learn weights; `watch` hears of every step. Compiling takes none of the seconds given.

    Databases that are `held_out` are not learned from, but may name constants.

    Ctrl-C ends learning early: the weights found so far are returned, marked `interrupted`.

    >>> from orbitmc.mln.data.reader import parse_database
    >>> from orbitmc.mln.language.parser import parse
    >>> program = parse("Smokes(person)\nSmokes(x)\n", learning=True)
    >>> database = parse_database("Smokes(Anna)\nSmokes(Bob)\n!Smokes(Carl)\n", program)
    >>> learn(program, [database]).weights.round(2).tolist()  # ln 2, drawn to 0 by the prior
    [0.51]
    """
    with Stopwatch() as preparing:
        task = Task(program, databases, settings or LearningSettings(), held_out)
        step = start or task.first()
        steps = task.steps(start)
    seconds, interrupted = preparing.seconds, False
    try:
        while task.settings.seconds is None or seconds < task.settings.seconds:
            with Stopwatch() as working:
                following = next(steps, None)
            seconds += working.seconds
            if following is None:
                break
            step = following
            if watch is not None:
                watch(step)
            check_interrupt()
    except (KeyboardInterrupt, SystemError) as stop:
        if not is_interrupt(stop):
            raise
        interrupted = True
    return LearningResult(task, step, seconds, interrupted)


# Choose the width of the prior by what it predicts of databases that were left out.

DEVIATIONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_FOLDS = 10


def best_deviation(worlds: Sequence[TrainingWorld]) -> float:
    """The width under which databases are best predicted by weights learned on the others.

    Learning and scoring are by pseudo-likelihood, whatever the method is. Each database is left
    out once; of many, several at a time.
    """
    if len(worlds) < 2:
        raise InputError("to choose the prior by cross-validation, give two databases at least")
    if any(world.hidden.any() for world in worlds):
        raise InputError("a prior cannot be chosen with hidden atoms: give its width")
    known = [changes(world) for world in worlds]
    scores = [left_out_score(worlds, known, deviation) for deviation in DEVIATIONS]
    return DEVIATIONS[int(np.argmax(scores))]


def left_out_score(
    worlds: Sequence[TrainingWorld], known: Sequence[Changes], deviation: float
) -> float:
    """The pseudo-log-likelihood of all databases, each under weights from the other folds."""
    belief = prior(worlds[0].ground, deviation=deviation)
    fold = np.arange(len(known)) % MOST_FOLDS
    total = 0.0
    for number in np.unique(fold):
        rest = [changes for place, changes in enumerate(known) if fold[place] != number]
        held_out = [changes for place, changes in enumerate(known) if fold[place] == number]
        objective = CompositeLikelihood(concatenate_changes(rest), belief)
        *_, last = maximise(objective, first_step(objective))
        total += CompositeLikelihood(concatenate_changes(held_out), belief).without_prior(
            last.weights
        )
        check_interrupt()
    return total
