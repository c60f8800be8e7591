"""Weights that give formulas wanted probabilities, by iterative proportional fitting.

`P(f) = p` is about the program without evidence, `R(f) = p` about the program with it. The
probability of a formula with variables is the average over its groundings. One weight after the
other is moved by the difference of the log-odds, by less where that overshoots, until all
probabilities are right. They are computed by elimination, so no error of sampling is fitted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact.contraction import marginals
from orbitmc.graph.transforms import Factor, extend
from orbitmc.mln.data.database import Database, universe
from orbitmc.mln.grounding.ground_features import ClauseFeatures, Features
from orbitmc.mln.grounding.ground_model import graph_of
from orbitmc.mln.grounding.grounding import Ground, World, ground
from orbitmc.mln.language.syntax import Constraint, Program, free_variables

FIT_TOLERANCE = 1e-8
MOST_FIT_ROUNDS = 1000
MOST_WEIGHT = 300.0
MOST_ATOMS = 16  # of one grounding


@dataclass(frozen=True)
class FitResult:
    """A program with the weights that were found, and remarks that say so."""

    program: Program
    remarks: tuple[str, ...]


def fit_constraint_weights(
    program: Program, known: Database, world: World, memory: int
) -> FitResult:
    """Give rules the weights that the constraints of a program determine."""
    if not program.constraints:
        return FitResult(program, ())
    return _Fit(program, known, world, memory).result()


class _Fit:
    """Weights while they are fitted."""

    def __init__(self, program: Program, known: Database, world: World, memory: int) -> None:
        self.program, self.memory = program, memory
        self.weights = {
            constraint.rule: program.rules[constraint.rule].weight or 0.0
            for constraint in self._all
        }
        empty = Database({}, universe(program, [known]).constants)
        open_world = replace(world, closed=frozenset())
        questions = {False: (empty, open_world), True: (known, world)}
        self.grounds = {
            posterior: ground(program, *questions[posterior], memory=memory)
            for posterior in {constraint.posterior for constraint in self._all}
        }

    @property
    def _all(self) -> Sequence[Constraint]:
        return self.program.constraints

    def result(self) -> FitResult:
        rounds = 0
        while max(self._move(constraint) for constraint in self._all) > FIT_TOLERANCE:
            rounds += 1
            if rounds == MOST_FIT_ROUNDS or max(map(abs, self.weights.values())) > MOST_WEIGHT:
                raise InputError(f"{self._words()}: no weights give these probabilities")
        rules = list(self.program.rules)
        for number, weight in self.weights.items():
            rules[number] = replace(rules[number], weight=weight)
        fitted = replace(self.program, rules=tuple(rules), constraints=())
        return FitResult(
            fitted, tuple(self._remark(constraint, rounds) for constraint in self._all)
        )

    def _move(self, constraint: Constraint) -> float:
        """Bring one probability to its value, as far as one step does; gives how far it was off."""
        now = self._probability(constraint)
        off = abs(now - constraint.probability)
        if off <= FIT_TOLERANCE:
            return off
        step, before = (
            _log_odds(constraint.probability) - _log_odds(now),
            self.weights[constraint.rule],
        )
        for _ in range(50):
            self.weights[constraint.rule] = before + step
            if abs(self._probability(constraint) - constraint.probability) < off:
                return off
            step /= 2
        raise InputError(f"{constraint.text}: no weight gives this probability")

    def _probability(self, constraint: Constraint) -> float:
        grounded = self.grounds[constraint.posterior]
        weights = grounded.weights.copy()
        for rule, weight in self.weights.items():
            weights[grounded.first_weight[rule]] = weight
        number = int(grounded.first_weight[constraint.rule])
        features = [part for part in grounded.features if (part.weight == number).any()]
        try:
            true, count = _expected_count(grounded, features, number, weights, self.memory)
        except LimitError as error:
            raise LimitError(
                f"{constraint.text}: weights are fitted to exact probabilities, which cost too "
                f"much here ({error}); write a weight instead"
            ) from None
        decided = int(grounded.decided[number])
        total = self._groundings(grounded, constraint)
        if not count and not decided and not total:
            raise InputError(f"{constraint.text}: the formula has no groundings")
        return min(max((true + decided) / total, 0.0), 1.0)

    def _groundings(self, grounded: Ground, constraint: Constraint) -> int:
        rule = self.program.rules[constraint.rule]
        names = free_variables(rule.formula)
        return math.prod(grounded.universe.size(rule.types[name]) for name in names)

    def _words(self) -> str:
        return ", ".join(constraint.text for constraint in self._all)

    def _remark(self, constraint: Constraint, rounds: int) -> str:
        which = "given the evidence" if constraint.posterior else "before evidence"
        return (
            f"{constraint.text}: weight {self.weights[constraint.rule]:.6g}, fitted {which} by "
            f"iterative proportional fitting ({rounds} rounds)"
        )


def _log_odds(probability: float) -> float:
    inside = min(max(probability, 1e-12), 1 - 1e-12)
    return math.log(inside) - math.log1p(-inside)


def _expected_count(
    grounded: Ground, features: Sequence[Features], number: int, weights: Floats, memory: int
) -> tuple[float, int]:
    """How many undecided groundings of one weight are true on average, and how many there are."""
    graph = graph_of(grounded, weights)
    factors: list[Factor] = []
    for part in features:
        for row in np.flatnonzero(part.weight == number).tolist():
            truth = _truth(part, row, grounded)
            scope = (*part.scope[row].tolist(), graph.variables + len(factors))
            allowed = truth[..., None] == np.array([False, True])
            factors.append((scope, np.where(allowed, 0.0, -np.inf)))
    if not factors:
        return 0.0, 0
    larger = extend(graph, factors, [2] * len(factors))
    helpers = range(graph.variables, graph.variables + len(factors))
    try:
        answer = marginals(larger, memory=memory, wanted=list(helpers))
    except ContradictionError:
        raise ContradictionError("no state is possible, so no weight can be fitted") from None
    return float(sum(marginal[1] for marginal in answer.marginals)), len(factors)


def _truth(part: Features, row: int, grounded: Ground) -> NDArray[np.bool_]:
    if not isinstance(part, ClauseFeatures):
        return part.truth
    sizes = tuple(int(grounded.cardinality[variable]) for variable in part.scope[row])
    if len(sizes) > MOST_ATOMS:
        raise LimitError(f"a grounding has {len(sizes)} atoms")
    grid = np.indices(sizes)
    met = [grid[place] == value for place, value in enumerate(part.satisfying[row])]
    return np.asarray(np.logical_or.reduce(met) == part.holds)
