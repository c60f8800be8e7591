"""Hold a few variables at each of their values in turn: more time for less memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from orbitmc.exact.orders.tree import Tree
from orbitmc.exact.problem import Problem
from orbitmc.machine.arrays import Floats


def most_relieving(tree: Tree) -> int:
    """The variable without which all tables together would be smallest."""
    relief = np.zeros(len(tree.sizes))
    for variable, shared in enumerate(tree.shared):
        entries = tree.table_entries(variable)
        for member in (variable, *shared):
            relief[member] += entries * (1 - 1 / tree.sizes[member])
    return int(relief.argmax())


def hold(problem: Problem, values: Mapping[int, int]) -> Problem:
    """Fix variables at values; they stay, with one value each, but no factor reads them."""
    if not values:
        return problem
    sizes = [1 if variable in values else size for variable, size in enumerate(problem.sizes)]
    scopes, tables, constant = [], [], problem.constant
    for scope, table in zip(problem.scopes, problem.tables, strict=True):
        table = np.asarray(table[tuple(values.get(variable, slice(None)) for variable in scope)])
        if table.ndim:
            scopes.append(tuple(variable for variable in scope if variable not in values))
            tables.append(table)
        else:
            constant += float(table)
    return replace(
        problem, sizes=tuple(sizes), scopes=tuple(scopes), tables=tuple(tables), constant=constant
    )


@dataclass(frozen=True)
class Part:
    """The answer while some variables are held."""

    held: Mapping[int, int]
    log_z: float
    marginals: list[Floats]


def mixed(parts: Sequence[Part], sizes: Sequence[int]) -> tuple[float, list[Floats]]:
    """Put the answers for all held values together, each by its share of the weight."""
    log_z = float(np.logaddexp.reduce([part.log_z for part in parts]))
    total = [np.zeros(size) for size in sizes]
    for part in parts:
        share = np.exp(part.log_z - log_z)
        for variable, marginal in enumerate(part.marginals):
            if variable in part.held:
                total[variable][part.held[variable]] += share
            else:
                total[variable] += share * marginal
    return log_z, total
