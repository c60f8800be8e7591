"""Small models with a good deal of symmetry, and the large ones that everybody talks about."""

import itertools

import numpy as np

from orbitmc.graph.builder import Builder

SHAPES = ("cycle", "complete", "star", "path", "two", "random")


def patterned(seed, *, sizes=(2, 3), zeros=False, clauses=False, most=5):
    """A pattern of pairs (and triples) of few kinds; the kinds decide what is symmetric."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, most + 1))
    cardinality = np.full(count, rng.choice(sizes))
    if rng.random() < 0.3:
        cardinality[-1] = rng.choice(sizes)
    builder = Builder(cardinality)
    tables = {}

    def add(scope):
        shape = tuple(int(cardinality[v]) for v in scope)
        kind = (int(rng.integers(2)) if rng.random() < 0.2 else 0, shape)
        if kind not in tables:
            tables[kind] = _table(rng, shape, zeros=zeros)
        builder.add_factor(scope, tables[kind])

    for pair in _pairs(SHAPES[seed % len(SHAPES)], count, rng):
        add(list(pair) if rng.random() < 0.9 else list(pair)[::-1])
    if rng.random() < 0.4:
        for triple in itertools.combinations(range(count), 3):
            add(list(rng.permutation(triple)) if rng.random() < 0.3 else list(triple))
    if rng.random() < 0.3:
        add([int(rng.integers(count))])
    if clauses:
        _add_clauses(builder, rng, cardinality, hard=zeros)
    return builder.build()


def _pairs(shape, count, rng):
    ring = [(k, (k + 1) % count) for k in range(count)]
    return {
        "cycle": ring,
        "complete": list(itertools.combinations(range(count), 2)),
        "star": [(0, k) for k in range(1, count)],
        "path": ring[:-1],
        "two": ring[::2],
        "random": [p for p in itertools.combinations(range(count), 2) if rng.random() < 0.5],
    }[shape]


def _table(rng, shape, *, zeros):
    """Symmetric, antisymmetric, Potts-like or any; sums of tenths, so that rounding matters."""
    table = rng.integers(-3, 4, size=shape) * 0.1
    kind = rng.integers(4)
    if len(set(shape)) == 1 and kind == 0:
        table = sum(table.transpose(order) for order in itertools.permutations(range(len(shape))))
    if len(set(shape)) == 1 and kind == 1:
        table = np.zeros(shape)
        table[(np.arange(shape[0]),) * len(shape)] = 0.7
    if len(shape) == 3 and kind == 2 and len(set(shape)) == 1:
        table = table + table.transpose(1, 2, 0) + table.transpose(2, 0, 1)
    if zeros:
        table = np.where(rng.random(shape) < 0.3, -np.inf, table)
        table[(0,) * len(shape)] = 0.0
    return table


def _add_clauses(builder, rng, cardinality, *, hard):
    count = len(cardinality)
    length = int(rng.integers(2, min(count, 4) + 1))
    table = builder.add_table([-np.inf if hard else 0.0, 0.0 if hard else 1.3])
    for scope in itertools.combinations(range(count), length):
        if rng.random() < 0.8:
            wanted = (rng.random(length) < 0.2).astype(int)
            builder.add_clauses([scope], [wanted], table)


def smokers(people):
    """Smokes(x) => Cancer(x), Friends(x, y) & Smokes(x) => Smokes(y), ground for x != y."""
    person = np.arange(people)
    builder = Builder(np.full(2 * people + people * people, 2))
    smokes, cancer, friends = person, people + person, 2 * people
    number = builder.add_table([0.0, 1.5])
    builder.add_clauses(np.stack([smokes, cancer], 1), np.tile([0, 1], (people, 1)), number)
    x, y = np.nonzero(~np.eye(people, dtype=bool))
    number = builder.add_table([0.0, 1.1])
    scopes = np.stack([friends + people * x + y, x, y], axis=1)
    builder.add_clauses(scopes, np.tile([0, 0, 1], (len(x), 1)), number)
    return builder.build()


def complete_edges(count):
    return np.stack(np.triu_indices(count, 1), axis=1)


def regular_edges(count, degree, seed):
    """Edges of a random regular graph: pair up half-edges until there are no loops or doubles."""
    rng = np.random.default_rng(seed)
    ends = rng.permutation(np.repeat(np.arange(count), degree)).reshape(-1, 2)
    while True:
        key = np.sort(ends, axis=1) @ np.array([count, 1])
        _, first = np.unique(key, return_index=True)
        bad = np.ones(len(ends), dtype=bool)
        bad[first] = False
        bad |= ends[:, 0] == ends[:, 1]
        if not bad.any():
            return np.sort(ends, axis=1)
        bad[rng.integers(len(ends), size=8 + int(bad.sum()))] = True
        ends[bad] = rng.permutation(ends[bad].reshape(-1)).reshape(-1, 2)


def renamed(graph, image):
    """The same model with variable i called image[i]; clauses keep their place."""
    builder = Builder(graph.cardinality[np.argsort(image)])
    for factor in range(graph.factors):
        scope = [int(image[v]) for v in graph.scope_of(factor)]
        if factor < graph.first_clause:
            builder.add_factor(scope, graph.table_values(factor))
        else:
            first, last = graph.scope_start[factor], graph.scope_start[factor + 1]
            number = builder.add_table(graph.table_values(factor))
            builder.add_clauses([scope], [graph.satisfying[first:last]], number)
    return builder.build()
