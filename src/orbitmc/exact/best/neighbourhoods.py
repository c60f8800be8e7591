"""Improve a state by exact steps: hold some variables, and find the best values of all others.

Where single changes lead nowhere, because constraints tie variables together, many that change
together may. Which ones are held is a matter of chance; as many as make elimination cheap.
"""

from collections.abc import Sequence

import numpy as np

from orbitmc.errors import ContradictionError
from orbitmc.exact.best.enumeration import best_states
from orbitmc.exact.best.max_elimination import MaxElimination
from orbitmc.exact.orders.cutset import hold
from orbitmc.exact.orders.order import find_order
from orbitmc.exact.orders.tree import build_tree
from orbitmc.exact.problem import Problem
from orbitmc.machine.arrays import Numbers

MOST_COST = 2.0**20
FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 0.3, 0.02, 0.95
MORE, FEWER = 0.08, 0.03  # how the share changes when a step costs too much, or does not


class Neighbourhoods:
    """Steps to better states, each of which lets another choice of variables go."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.share = problem, FIRST_SHARE
        self.rng = np.random.default_rng(seed)
        self.numbers = [
            {int(value): number for number, value in enumerate(possible)}
            for possible in problem.possible
        ]

    def improved(self, state: Numbers) -> Numbers:
        """A state that is no worse: the best one with the values of the variables that are held."""
        held = {
            place: self.numbers[variable][int(state[variable])]
            for variable, place in enumerate(self.problem.place)
            if place >= 0 and self.rng.random() < self.share
        }
        some = hold(self.problem, held)
        order = find_order(some.scopes, some.sizes, seconds=0.0, most=MOST_COST).variables
        if len(order) < len(some.sizes):
            self.share = min(MOST_SHARE, self.share + MORE)
            return state
        self.share = max(LEAST_SHARE, self.share - FEWER)
        try:
            elimination = MaxElimination(some, build_tree(some, order))
        except ContradictionError:  # the state was impossible
            return state
        _, best = next(best_states(elimination))
        return self._over_all_variables([held.get(v, value) for v, value in enumerate(best)])

    def _over_all_variables(self, values: Sequence[int]) -> Numbers:
        pairs = zip(self.problem.possible, self.problem.place, strict=True)
        return np.array([own[values[place] if place >= 0 else 0] for own, place in pairs])
