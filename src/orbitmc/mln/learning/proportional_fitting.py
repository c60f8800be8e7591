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

TOLERANCE = 1e-8
MOST_ROUNDS = 1000
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
        self.weights = {one.rule: program.rules[one.rule].weight or 0.0 for one in self._all}
        empty = Database({}, universe(program, [known]).constants)
        open_world = replace(world, closed=frozenset())
        asked = {False: (empty, open_world), True: (known, world)}
        self.grounds = {
            posterior: ground(program, *asked[posterior], memory=memory)
            for posterior in {one.posterior for one in self._all}
        }

    @property
    def _all(self) -> Sequence[Constraint]:
        return self.program.constraints

    def result(self) -> FitResult:
        rounds = 0
        while max(self._move(one) for one in self._all) > TOLERANCE:
            rounds += 1
            if rounds == MOST_ROUNDS or max(map(abs, self.weights.values())) > MOST_WEIGHT:
                raise InputError(f"{self._words()}: no weights give these probabilities")
        rules = list(self.program.rules)
        for number, weight in self.weights.items():
            rules[number] = replace(rules[number], weight=weight)
        found = replace(self.program, rules=tuple(rules), constraints=())
        return FitResult(found, tuple(self._remark(one, rounds) for one in self._all))

    def _move(self, one: Constraint) -> float:
        """Bring one probability to its value, as far as one step does; gives how far it was off."""
        now = self._probability(one)
        off = abs(now - one.probability)
        if off <= TOLERANCE:
            return off
        step, before = _log_odds(one.probability) - _log_odds(now), self.weights[one.rule]
        for _ in range(50):
            self.weights[one.rule] = before + step
            if abs(self._probability(one) - one.probability) < off:
                return off
            step /= 2
        raise InputError(f"{one.text}: no weight gives this probability")

    def _probability(self, one: Constraint) -> float:
        found = self.grounds[one.posterior]
        weights = found.weights.copy()
        for rule, weight in self.weights.items():
            weights[found.first_weight[rule]] = weight
        own = int(found.first_weight[one.rule])
        features = [part for part in found.features if (part.weight == own).any()]
        try:
            true, count = _expected(found, features, own, weights, self.memory)
        except LimitError as error:
            raise LimitError(
                f"{one.text}: weights are fitted to exact probabilities, which cost too much here "
                f"({error}); write a weight instead"
            ) from None
        decided = int(found.decided[own])
        total = self._groundings(found, one)
        if not count and not decided and not total:
            raise InputError(f"{one.text}: the formula has no groundings")
        return min(max((true + decided) / total, 0.0), 1.0)

    def _groundings(self, found: Ground, one: Constraint) -> int:
        rule = self.program.rules[one.rule]
        names = free_variables(rule.formula)
        return math.prod(found.universe.size(rule.types[name]) for name in names)

    def _words(self) -> str:
        return ", ".join(one.text for one in self._all)

    def _remark(self, one: Constraint, rounds: int) -> str:
        which = "given the evidence" if one.posterior else "before evidence"
        return (
            f"{one.text}: weight {self.weights[one.rule]:.6g}, fitted {which} by iterative "
            f"proportional fitting ({rounds} rounds)"
        )


def _log_odds(probability: float) -> float:
    inside = min(max(probability, 1e-12), 1 - 1e-12)
    return math.log(inside) - math.log1p(-inside)


def _expected(
    found: Ground, features: Sequence[Features], own: int, weights: Floats, memory: int
) -> tuple[float, int]:
    """How many undecided groundings of one weight are true on average, and how many there are."""
    graph = graph_of(found, weights)
    factors: list[Factor] = []
    for part in features:
        for row in np.flatnonzero(part.weight == own).tolist():
            truth = _truth(part, row, found)
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
    return float(sum(one[1] for one in answer.marginals)), len(factors)


def _truth(part: Features, row: int, found: Ground) -> NDArray[np.bool_]:
    if not isinstance(part, ClauseFeatures):
        return part.truth
    sizes = tuple(int(found.cardinality[variable]) for variable in part.scope[row])
    if len(sizes) > MOST_ATOMS:
        raise LimitError(f"a grounding has {len(sizes)} atoms")
    grid = np.indices(sizes)
    met = [grid[place] == value for place, value in enumerate(part.satisfying[row])]
    return np.asarray(np.logical_or.reduce(met) == part.holds)
