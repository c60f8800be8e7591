"""Small random graphs with everything that graphs may have."""

import numpy as np

from orbitmc.exact import blocks
from orbitmc.graph.builder import Builder


def force_large(monkeypatch, *, matrices=False):
    """Let small buckets be worked off like large ones: slab by slab, or as products of matrices."""
    monkeypatch.setattr(blocks, "SMALL_TABLE", 0)
    monkeypatch.setattr(blocks, "LEAST_HEAVY", 0)
    monkeypatch.setattr(blocks, "SLAB_OVERHEAD", 1.0)
    monkeypatch.setattr(blocks, "MATRIX_OVERHEAD", 0.1 if matrices else 10.0)


def random_graph(seed, *, variables=6, most_values=3, zeros=0.15):
    """Tables with zeros, shared tables, clauses, soft and hard, scopes of length 0, loners."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1 if seed % 5 == 0 else 2, most_values + 1, size=variables)
    builder = Builder(sizes)
    builder.constant = float(rng.normal())
    for _ in range(rng.integers(1, 2 * variables)):
        scope = rng.permutation(variables)[: rng.integers(0, 4)]
        builder.add_factor(scope.tolist(), _log_table(rng, sizes[scope], zeros))
    _add_shared(rng, builder, sizes, zeros)
    for _ in range(rng.integers(0, 4)):
        scope = rng.permutation(variables)[: rng.integers(1, variables + 1)]
        weight = np.inf if rng.random() < 0.2 else float(rng.normal())
        builder.add_clause(scope.tolist(), rng.integers(sizes[scope]).tolist(), weight)
    return builder.build()


def _log_table(rng, shape, zeros):
    table = rng.normal(size=tuple(shape))
    return np.where(rng.random(tuple(shape)) < zeros * (len(shape) > 0), -np.inf, table)


def _add_shared(rng, builder, sizes, zeros):
    """Two or three factors over pairs of binary variables that read one table."""
    binary = np.flatnonzero(sizes == 2)
    if len(binary) < 3:
        return
    table = builder.add_table(_log_table(rng, (2, 2), zeros))
    pairs = [rng.permutation(binary)[:2] for _ in range(rng.integers(2, 4))]
    builder.add_factors(np.array(pairs), table)


def wide_graph(seed):
    """Random weights that differ by up to hundreds of nats, a tenth of them 0."""
    rng = np.random.default_rng(seed)
    deviation = rng.choice([1, 30, 100, 300])
    sizes = rng.integers(2, 4, 9).tolist()
    builder = Builder(sizes)
    for _ in range(13):
        scope = rng.choice(9, 2, replace=False).tolist()
        table = rng.normal(0, deviation, [sizes[v] for v in scope])
        table[rng.random(table.shape) < 0.1] = -np.inf
        builder.add_factor(scope, table)
    builder.add_factor([0, 1, 2], rng.normal(0, deviation, sizes[:3]))
    return builder.build()
