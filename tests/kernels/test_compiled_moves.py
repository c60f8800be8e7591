"""Moves of many variables do, when compiled, what the interpreter does on the same stream."""

from itertools import combinations, permutations

import numpy as np
import pytest

from orbitmc._simd.random import generator
from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.kernels._clusters import clusters
from orbitmc.kernels._flips import Flips, flips
from orbitmc.kernels._one_hot import one_hot
from orbitmc.kernels._partition import partition
from orbitmc.kernels._relabelling import Relabelling, relabelling
from orbitmc.kernels._tempering import tempering
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.protocol import steps
from orbitmc.models._ising import potts_grid
from orbitmc.sampling.pack import start_values
from tests.kernels.catalogue import without_tables
from tests.kernels.test_compiled_code import compiled_steps
from tests.oracle.random_models import random_graph, random_ising
from tests.oracle.slow_generator import SlowGenerator

LANES, COUNT = 32, 40

GLASS = random_ising(3, variables=12, degree=3, equal=False)
EQUAL = random_ising(3, variables=12, degree=3, equal=True)
LABELS = potts_grid(3, 4, 3, 0.5, np.random.default_rng(2).normal(size=(3, 4, 3))).graph
LARGE = random_ising(4, variables=300, degree=3, equal=False)
MIXED = random_graph(6, variables=(6, 7), zeros=0.1)


def flips_of_spins():
    kernel = flips(prepare(GLASS), [[0, 1, 2], [3, 5], range(12), [7]])
    assert isinstance(kernel, Flips)
    return GLASS, kernel


def flips_of_bits():
    binary = np.flatnonzero(MIXED.cardinality == 2)
    kernel = flips(prepare(MIXED), [binary[:1], binary])
    assert isinstance(kernel, Relabelling)
    return MIXED, kernel


def labels():
    return MIXED, relabelling(MIXED, [[0], [1, 2], [3, 4, 5]], [(0, 1), (1, 0), (0, 1)])


def groups_by_tables():
    return GLASS, one_hot(prepare(GLASS), [[0, 1, 2], [3, 4], [11]])


def groups_by_fields():
    return GLASS, without_tables(prepare(GLASS), [[0, 1, 2], [3, 4], [11]])


def groups_by_factors():
    binary = np.flatnonzero(MIXED.cardinality == 2)
    return MIXED, without_tables(prepare(MIXED), [binary])


def items_of_clauses():
    pairs = list(combinations(range(5), 2))
    builder = Builder(np.full(len(pairs) + 1, 2))
    number = {pair: place for place, pair in enumerate(pairs)}
    for one, two, three in permutations(range(5), 3):
        scope = [number[tuple(sorted(pair))] for pair in ((one, two), (two, three), (one, three))]
        builder.add_clause(scope, [0, 0, 1], np.inf)
        builder.add_clause([scope[0], len(pairs)], [1, 0], 0.3 * one)
    graph = builder.build()
    return graph, partition(prepare(graph), number)


def rungs_of_spins():
    return GLASS, tempering(prepare(GLASS), [1.0, 0.7, 0.3])


def rungs_of_labels():
    return MIXED, tempering(prepare(MIXED), [1.0, 0.5])


def clusters_of_spins():
    return GLASS, clusters(prepare(GLASS))


def shuffled(graph, rows):
    blocks = exchange_blocks([range(5), range(5, 12)])
    return graph, shuffle(prepare(graph), blocks, rows=rows)


def shuffled_by_counts():
    return shuffled(EQUAL, rows=0)


def shuffled_by_fields():
    return shuffled(GLASS, rows=3)


def shuffled_by_curves():
    assert prepare(LABELS).conditionals.pairwise.all()
    return shuffled(LABELS, rows=2)


CASES = [
    shuffled_by_counts,
    shuffled_by_fields,
    shuffled_by_curves,
    clusters_of_spins,
    flips_of_spins,
    flips_of_bits,
    labels,
    groups_by_tables,
    groups_by_fields,
    groups_by_factors,
    items_of_clauses,
    rungs_of_spins,
    rungs_of_labels,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_same_stream_gives_the_same_trajectory(case):
    graph, kernel = case()
    prepared = prepare(graph)
    start = start_values(graph, LANES, np.random.SeedSequence(7))
    fast, slow = start.copy(), start.copy()
    counts = np.zeros((2, len(kernel.outcomes)), dtype=np.int64)
    memory = kernel.memory(prepared, LANES)
    compiled_steps(prepared, kernel, memory, fast, counts[0], generator(5, 1, LANES), COUNT)
    memory = kernel.memory(prepared, LANES)
    steps(prepared, kernel, memory, slow, counts[1], SlowGenerator(5, 1, LANES), COUNT)
    assert np.array_equal(fast, slow)
    assert np.array_equal(counts[0], counts[1])
    assert not np.array_equal(fast, start)
