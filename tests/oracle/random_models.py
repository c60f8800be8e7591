"""Small models without symmetry: binary and ternary, with zeros, clauses and shared tables."""

import numpy as np

from orbitmc.graph.builder import Builder


def random_graph(seed, *, variables=(2, 5), cardinalities=(2, 3), zeros=0.0, clauses=True):
    """Draw a graph; a hidden state stays possible, whatever the zeros."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(*variables))
    sizes = rng.choice(cardinalities, size=count)
    hidden = rng.integers(0, sizes)
    builder = Builder(sizes)
    for variable in range(count):
        if rng.random() < 0.7:
            builder.add_factor([variable], _table(rng, sizes, [variable], hidden, zeros))
    for _ in range(int(rng.integers(1, 2 * count))):
        arity = int(rng.integers(1, min(count, 3) + 1))
        scope = rng.choice(count, size=arity, replace=False).tolist()
        builder.add_factor(scope, _table(rng, sizes, scope, hidden, zeros))
    _add_shared(builder, rng, sizes)
    if clauses:
        _add_clauses(builder, rng, sizes, hidden, hard=zeros > 0)
    return builder.build()


def random_ising(seed, *, variables, degree, equal):
    """Draw an Ising model with couplings of one size and random signs, or of any size."""
    rng = np.random.default_rng(seed)
    builder = Builder(np.full(variables, 2))
    pairs = {
        tuple(sorted(rng.choice(variables, 2, replace=False))) for _ in range(degree * variables)
    }
    for first, second in sorted(pairs):
        coupling = 0.7 * rng.choice([-1, 1]) if equal else rng.normal()
        builder.add_factor([first, second], [coupling, -coupling, -coupling, coupling])
    for variable in range(variables):
        field = rng.normal()
        builder.add_factor([variable], [-field, field])
    return builder.build()


def random_clauses(seed, *, variables=3, cardinalities=(2, 3), zeros=0.0):
    """Draw a table of one variable, one of a pair, and clauses of either sign: few factors.

    With zeros there are forbidden entries and a hard clause. Kernels that draw something for
    every factor have few enough outcomes here to go through them all.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.choice(cardinalities, size=variables)
    hidden = rng.integers(0, sizes)
    builder = Builder(sizes)
    for scope in ([0], [0, 1]):
        rounded = np.round(_table(rng, sizes, scope, hidden, zeros))
        builder.add_factor(scope, rounded)
    for weight in (rng.normal(), -1.3, np.inf if zeros else 2.0):
        scope = rng.permutation(variables)[: rng.integers(1, variables + 1)]
        wanted = rng.integers(0, sizes[scope])
        if np.isposinf(weight):
            wanted[0] = hidden[scope[0]]
        builder.add_clause(scope.tolist(), wanted.tolist(), weight)
    return builder.build()


def _table(rng, sizes, scope, hidden, zeros):
    table = rng.normal(size=sizes[scope])
    table[rng.random(table.shape) < zeros] = -np.inf
    table[tuple(hidden[scope])] = rng.normal()
    return table


def _add_shared(builder, rng, sizes):
    """One table for several pairs, some read the other way round."""
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        if len(same) >= 3:
            number = builder.add_table(rng.normal(size=size * size))
            builder.add_factors([same[[0, 1]], same[[2, 1]], same[[0, 2]]], number)


def _add_clauses(builder, rng, sizes, hidden, *, hard):
    for _ in range(int(rng.integers(0, 3))):
        length = int(rng.integers(1, len(sizes) + 1))
        scope = rng.choice(len(sizes), size=length, replace=False)
        wanted = rng.integers(0, sizes[scope])
        strict = hard and rng.random() < 0.5
        if strict:
            wanted[0] = hidden[scope[0]]
        builder.add_clause(scope.tolist(), wanted.tolist(), np.inf if strict else rng.normal())
