"""Improve a state by exact steps: hold some variables, and find the best values of all others.

Where single changes lead nowhere, because constraints tie variables together, many that change
together may. So few are held: those that large tables read, chosen by chance, until elimination is
cheap. Each step chooses others.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from orbitmc._util.arrays import Numbers
from orbitmc.errors import ContradictionError
from orbitmc.exact.best.enumeration import best_states
from orbitmc.exact.best.max_elimination import MaxElimination
from orbitmc.exact.orders.cutset import hold
from orbitmc.exact.orders.order import find_order
from orbitmc.exact.orders.tree import Tree, build_tree
from orbitmc.exact.problem import Problem

MOST_COST = 2.0**22
MORE, MOST_SHARE = 0.08, 0.95  # are held beforehand where no order is good enough to begin with


class Start(NamedTuple):
    """A problem of which some variables may be held, and an order for what is left."""

    problem: Problem
    order: Sequence[int]
    tree: Tree


class Neighbourhoods:
    """Steps to better states, each of which holds another choice of variables."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.share = problem, 0.0
        self.rng = np.random.default_rng(seed)
        self.numbers = [
            {int(value): number for number, value in enumerate(possible)}
            for possible in problem.possible
        ]
        self.start = _start(problem)

    def improved(self, state: Numbers) -> Numbers:
        """A state that is no worse: the best one with the values of the variables that are held."""
        pairs = enumerate(self.problem.place)
        known = {p: self.numbers[v][int(state[v])] for v, p in pairs if p >= 0}
        held = {place: known[place] for place in known if self.rng.random() < self.share}
        start = _start(hold(self.problem, held)) if self.share else self.start
        if start is None:
            self.share = min(MOST_SHARE, self.share + MORE)
            return state
        more = {place: known[place] for place in self._in_large_tables(start.tree, known)}
        some, held = hold(start.problem, more), held | more
        try:
            elimination = MaxElimination(some, build_tree(some, start.order))
        except ContradictionError:  # the state was impossible
            return state
        _, best = next(best_states(elimination))
        return self._over_all_variables([held.get(v, value) for v, value in enumerate(best)])

    def _in_large_tables(self, tree: Tree, known: Mapping[int, int]) -> list[int]:
        """Variables without which all tables together are small; the larger, the likelier."""
        members = [(variable, *shared) for variable, shared in enumerate(tree.shared)]
        table = np.repeat(np.arange(len(members)), list(map(len, members)))
        member = np.fromiter(itertools.chain.from_iterable(members), np.int64, len(table))
        sizes = np.array(tree.sizes, dtype=np.float64)
        entries = np.array(
            [tree.table_entries(variable) for variable in range(len(members))], float
        )
        relief = np.zeros(len(sizes))
        relief[list(known)] = 1.0 - 1.0 / sizes[list(known)]
        chosen: list[int] = []
        while entries.sum() > MOST_COST:
            weights = np.bincount(member, entries[table] * relief[member], len(sizes))
            chosen.append(int(self.rng.choice(len(sizes), p=weights / weights.sum())))
            entries[table[member == chosen[-1]]] /= sizes[chosen[-1]]
            relief[chosen[-1]] = 0.0
        return chosen

    def _over_all_variables(self, values: Sequence[int]) -> Numbers:
        pairs = zip(self.problem.possible, self.problem.place, strict=True)
        return np.array([own[values[place] if place >= 0 else 0] for own, place in pairs])


def _start(problem: Problem) -> Start | None:
    """A greedy order, which is the same every time; None if its tables are beyond any machine."""
    order = find_order(problem.scopes, problem.sizes, seconds=0.0).variables
    if len(order) < len(problem.sizes):
        return None
    return Start(problem, order, build_tree(problem, order))
