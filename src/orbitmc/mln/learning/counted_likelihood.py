"""The likelihood of data by counting: exact, and nothing is ground.

Its slope is how many groundings of each rule are true in the data, less what is expected. Both are
counted (see `orbitmc.lifted`), so the likelihood of ten thousand people takes seconds. It is
concave, and Newton's method climbs it; second derivatives are differences of exact slopes.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbitmc import lifted
from orbitmc._util.arrays import Floats
from orbitmc._util.interrupts import check_interrupt
from orbitmc.errors import ContradictionError
from orbitmc.mln.data.database import UNKNOWN, Database, Ints, universe
from orbitmc.mln.grounding.grounding import (
    AtomTables,
    NumberedWeights,
    World,
    atom_tables,
    number_weights,
)
from orbitmc.mln.grounding.rewriting import substitute
from orbitmc.mln.language.syntax import Constant, Exist, Forall, Formula, Program, Rule, parts
from orbitmc.mln.learning.objectives import Prior, Step
from orbitmc.mln.learning.worlds import (
    evidence_of_databases,
    explained_predicates,
    explaining_world,
)

MOST_COPIES = 512  # of rules: each slope is a sum of its own
MOST_SECONDS = 20.0  # that a likelihood may take
PROBE = 0.01  # how far from 0 weights are taken to see what counting costs
FIRST_ITERATIONS = 100
ENOUGH = 1e-14  # of log-likelihood that a step gains: weights are within 1e-7 of their errors
SHORTEST = 2.0**-30  # of a step of Newton
LEAST_GAIN = 1e-4  # of what the slope promises (Armijo)
ROUNDING = 1e-13  # of the sums whose difference the likelihood is
DIFFERENCE, WIDEST = 0.01, 0.3  # of a weight, times the spread of its count
SMALLEST = 1e-12  # difference of weights that slopes can tell
FLAT = 1e-6  # of log-likelihood: weights are within a thousandth of their errors


@dataclass(frozen=True)
class CountedWorlds:
    """Training worlds that are counted: groups of constants, and true groundings in the data."""

    numbered: NumberedWeights
    settings: tuple[lifted.Setting, ...]
    observed: Floats
    groundings: Floats


def count_worlds(
    program: Program, databases: Sequence[Database], explained: Iterable[str] | None
) -> CountedWorlds:
    """Count true groundings in databases; refused where a world cannot be counted."""
    names = explained_predicates(program, explained, frozenset())
    numbered = number_weights(program, universe(program, databases))
    written = _write_copies(numbered)
    settings, observed, groundings = [], [], []
    for database, evidence in zip(
        databases, evidence_of_databases(program, databases, names), strict=True
    ):
        if any((facts.truth == UNKNOWN).any() for facts in database.facts.values()):
            raise lifted.NotLiftableError("data with hidden atoms are not counted")
        tables = atom_tables(written, evidence, explaining_world(written, names))
        setting = lifted.find_setting(written, tables)
        counts = lifted.observed_true_groundings(setting, _data(written, database, evidence))
        _require_true(written, counts)
        settings.append(setting)
        observed.append(counts.true)
        groundings.append(counts.groundings)
    worlds = CountedWorlds(
        numbered, tuple(settings), np.sum(observed, axis=0), np.sum(groundings, axis=0)
    )
    seconds = _seconds(worlds)
    if seconds > MOST_SECONDS:
        raise lifted.NotLiftableError(f"counting takes about {seconds:.2g} s for each step")
    return worlds


def count_atoms(program: Program, databases: Sequence[Database], explained: frozenset[str]) -> int:
    """How many atoms are explained in all databases together."""
    total = 0
    for evidence in evidence_of_databases(program, databases, explained):
        everything = universe(program, [evidence])
        for name in explained:
            total += math.prod(map(everything.size, program.predicates[name].types))
    return total


def _data(program: Program, database: Database, evidence: Database) -> AtomTables:
    """All atoms of a database; what it does not list is false."""
    known = Database(database.facts, evidence.constants)
    return atom_tables(program, known, World(frozenset(), closed=frozenset(program.predicates)))


def _write_copies(numbered: NumberedWeights) -> Program:
    """The program with a rule for each weight."""
    if len(numbered.weights) > MOST_COPIES:
        raise lifted.NotLiftableError(
            f"{len(numbered.weights):,} weights are to be learned; counting takes {MOST_COPIES}"
        )
    rules: list[Rule] = []
    for number, rule in enumerate(numbered.program.rules):
        if rule.per_constant and _has_quantifier(rule.formula):
            raise lifted.NotLiftableError(f"rule {number + 1} has + and a quantifier")
        constants = [numbered.universe.constants[rule.types[name]] for name in rule.per_constant]
        for chosen in itertools.product(*constants):
            bound = dict(zip(rule.per_constant, map(Constant, chosen), strict=True))
            weight = float(np.nan_to_num(numbered.weights[len(rules)], posinf=math.inf))
            formula = substitute(rule.formula, bound) if bound else rule.formula
            rules.append(
                replace(rule, formula=formula, weight=weight, per_constant=(), weight_variable="")
            )
    return replace(numbered.program, rules=tuple(rules))


def _has_quantifier(formula: Formula) -> bool:
    return isinstance(formula, Exist | Forall) or any(map(_has_quantifier, parts(formula)))


def _require_true(program: Program, counts: lifted.ObservedGroundings) -> None:
    """Refuse data that break hard rules."""
    for number, rule in enumerate(program.rules):
        if rule.weight == math.inf and counts.true[number] < counts.groundings[number]:
            where = rule.place if rule.place.source else rule.text
            raise ContradictionError(f"{where}: the database breaks this hard formula")


def _seconds(worlds: CountedWorlds) -> float:
    """About how long a likelihood takes, at weights that are not all 0."""
    rng = np.random.default_rng(0)
    weights = np.nan_to_num(worlds.numbered.weights, posinf=math.inf)
    weights = weights + PROBE * rng.normal(size=len(weights))
    liftings = [lifted.lift_setting(lifted.reweigh(each, weights)) for each in worlds.settings]
    return sum(lifting.seconds for lifting in liftings)


@dataclass(frozen=True)
class CountedLikelihood:
    """The logarithm of the likelihood of data, with a prior on the weights."""

    worlds: CountedWorlds
    prior: Prior

    def value_and_slope(self, weights: Floats) -> tuple[float, Floats]:
        """The objective and its gradient, which is 0 for weights that are not learned."""
        finite = np.where(np.isinf(weights), 0.0, weights)
        terms, slope = (finite * self.worlds.observed).tolist(), self.worlds.observed.copy()
        for setting in self.worlds.settings:
            counted = lifted.lift_setting(lifted.reweigh(setting, weights)).count()
            terms.append(-counted.log_z)
            slope -= lifted.expected_true_groundings(counted)
            check_interrupt()
        slope = np.where(self.prior.learned, slope, 0.0)
        value = math.fsum([*terms, self.prior.log_density(weights)])
        return value, slope + self.prior.slope(weights)

    def information(self, weights: Floats) -> Floats:
        """Minus the second derivatives in the learned weights, those of the prior included."""
        learned = np.flatnonzero(self.prior.learned)
        matrix = np.array([self._change(weights, number, learned) for number in learned.tolist()])
        return np.asarray((matrix + matrix.T) / 2)

    def _change(self, weights: Floats, number: int, learned: Ints) -> Floats:
        """How slopes fall with one weight.

        Where two modes meet, they do so within a small distance: then a smaller one is tried.
        """
        distance = DIFFERENCE / max(10.0, math.sqrt(self.worlds.groundings[number]))
        while True:
            slopes = []
            for sign in (1.0, -1.0):
                moved = weights.copy()
                moved[number] += sign * distance
                slopes.append(self.value_and_slope(moved)[1])
            change = (slopes[1] - slopes[0]) / (2 * distance)
            spread = math.sqrt(max(float(change[number]), 0.0))
            if distance * spread <= WIDEST or distance < SMALLEST * abs(weights[number]):
                return np.asarray(change[learned])
            distance = DIFFERENCE / spread

    def climb(self, start: Step, *, iterations: int | None = None) -> Iterator[Step]:
        """Steps of Newton's method, shortened until the likelihood rises."""
        step = start
        while not step.finished and step.iteration < (iterations or FIRST_ITERATIONS):
            following = self._step(step)
            yield following
            if following.weights is step.weights:
                return
            step = following

    def _step(self, step: Step) -> Step:
        learned = self.prior.learned
        value, slope = self.value_and_slope(step.weights)
        direction = np.zeros(len(slope))
        direction[learned] = np.linalg.lstsq(self.information(step.weights), slope[learned])[0]
        promised = float(slope @ direction)
        number, steepest = step.iteration + 1, float(np.abs(slope).max(initial=0.0))
        finite = np.where(np.isinf(step.weights), 0.0, step.weights)
        rounding = ROUNDING * float(np.abs(finite * self.worlds.observed).sum())
        length = 1.0 if promised > ENOUGH else 0.0
        while length >= SHORTEST:
            weights = np.where(learned, step.weights + length * direction, step.weights)
            following, slope = self.value_and_slope(weights)
            if following >= value + LEAST_GAIN * length * promised - rounding:
                steepest = float(np.abs(slope).max(initial=0.0))
                return Step(number, weights, following, steepest)
            length /= 2
        return Step(number, step.weights, value, steepest, finished=promised < FLAT)
