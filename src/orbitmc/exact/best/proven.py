"""The best states of a graph, by elimination: in order, and for sure."""

import itertools

from orbitmc._util.arrays import Numbers
from orbitmc.exact.best.enumeration import best_states
from orbitmc.exact.best.max_elimination import MaxElimination, State, message_bytes
from orbitmc.exact.plan import Plan
from orbitmc.exact.problem import Problem


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

    def best_of(held: dict[int, int], problem: Problem) -> list[tuple[float, State]]:
        best = itertools.islice(best_states(MaxElimination(problem, plan.tree)), count)
        return [
            (weight + problem.constant, [held.get(v, value) for v, value in enumerate(state)])
            for weight, state in best
        ]

    found = [one for some in plan.by_conditioning(best_of) for one in some]
    found.sort(key=lambda one: -one[0])
    return [plan.problem.in_values(state) for _, state in found[:count]]
