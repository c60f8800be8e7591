"""The best states of a graph, by elimination: in order, and for sure."""

import itertools
from dataclasses import replace

import numpy as np

from orbitmc.errors import ContradictionError
from orbitmc.exact.best.enumeration import best_states
from orbitmc.exact.best.max_elimination import MaxElimination, State, message_bytes
from orbitmc.exact.orders.cutset import hold
from orbitmc.exact.plan import Plan
from orbitmc.exact.problem import Problem
from orbitmc.machine.arrays import Numbers


def needed_bytes(plan: Plan) -> int:
    """What an elimination by maxima takes: all its messages, and the tables."""
    return plan.bytes + message_bytes(plan.tree)


def proven_best(plan: Plan, count: int) -> list[Numbers]:
    """The best states in order, as value numbers; fewer if fewer are possible.

    >>> import orbitmc as om
    >>> from orbitmc.exact.plan import predict
    >>> plan = predict(om.ising_grid(2, 2, 0.5, 0.1).graph)
    >>> [state.tolist() for state in proven_best(plan, 2)]
    [[1, 1, 1, 1], [0, 0, 0, 0]]
    """
    problem = replace(plan.problem, constant=0.0)
    found: list[tuple[float, State]] = []
    for values in itertools.product(*(range(problem.sizes[v]) for v in plan.cutset)):
        held = dict(zip(plan.cutset, values, strict=True))
        some = hold(problem, held)
        if some.constant == -np.inf:
            continue
        try:
            elimination = MaxElimination(some, plan.tree)
        except ContradictionError:
            continue
        for weight, state in itertools.islice(best_states(elimination), count):
            whole = [held.get(variable, value) for variable, value in enumerate(state)]
            found.append((weight + some.constant, whole))
    if not found:
        raise ContradictionError("no state is possible: every state has weight 0")
    found.sort(key=lambda one: -one[0])
    return [_over_all_variables(plan.problem, state) for _, state in found[:count]]


def _over_all_variables(problem: Problem, state: State) -> Numbers:
    """Value numbers of the graph's variables; helpers are left out."""
    chosen = [
        possible[state[place]] if place >= 0 else possible[0]
        for possible, place in zip(problem.possible, problem.place, strict=True)
    ]
    return np.array(chosen, dtype=np.int64)
