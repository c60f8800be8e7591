"""MC-SAT's errors are honest: thousands of values against their exact truth."""

import numpy as np
import pytest
from scipy.stats import t

from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.statistics import values_of
from orbitmc.estimate.tally import ValueTally
from orbitmc.graph.builder import Builder
from orbitmc.graph.transforms import copy_factors
from orbitmc.kernels.mcsat.kernel import mc_sat
from orbitmc.kernels.mcsat.walks import SampleSAT, WithinSlice
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle import brute_force
from tests.oracle.random_models import random_clauses

PROGRAMS = 1300
PACKS, LANES, SAMPLES = 4, 32, 16
USUAL = 1.96
NORMAL_DEVIATES = 4.9  # of the number of values beyond: a false alarm has a chance of 5e-7
FLAVOURS = [
    {"variables": 4, "cardinalities": (2,)},
    {"variables": 4, "cardinalities": (2, 3)},
    {"variables": 4, "cardinalities": (2, 3), "zeros": 0.3},
    {"variables": 5, "cardinalities": (2,), "zeros": 0.3},
]


@pytest.fixture(scope="module")
def programs():
    return side_by_side(
        [random_clauses([n, 77], **FLAVOURS[n % len(FLAVOURS)]) for n in range(PROGRAMS)]
    )


def side_by_side(graphs):
    """Independent small models in one graph, their exact marginals, and whose each value is."""
    builder, first = Builder(np.concatenate([graph.cardinality for graph in graphs])), 0
    truth, owner = [], []
    for number, graph in enumerate(graphs):
        places = first + np.arange(graph.variables)
        copy_factors(graph, np.arange(graph.factors), builder, places)
        first += graph.variables
        truth += exact_marginals(graph)
        owner += [number] * int(graph.cardinality.sum())
    return builder.build(), np.concatenate(truth), np.array(owner)


def exact_marginals(graph):
    states, chances = np.array(brute_force.states(graph)), brute_force.distribution(graph)
    return [
        np.bincount(states[:, variable], weights=chances, minlength=int(size))
        for variable, size in enumerate(graph.cardinality)
    ]


def beyond(programs, kernel_on):
    """How many values lie beyond 1.96 errors, how many there are, and how many are expected.

    Also the standard deviation of that number, if values of a program all went together. Errors
    come from 32 columns of lanes, so they follow Student's distribution with 31 degrees of freedom.
    Values that are nearly certain are left out: their means are not normal after so few samples.
    """
    graph, truth, owner = programs
    schedule = Schedule(samples=SAMPLES, spacing=graph.variables, warm_up=SAMPLES)
    run = sample(
        prepare(graph),
        kernel_on(graph),
        schedule,
        seed=3,
        packs=PACKS,
        lanes=LANES,
        kind=ValueTally,
    )
    values, found = values_of(graph.cardinality), run.statistics()
    one_of_two = np.ones(len(truth), dtype=bool)
    one_of_two[values.start[:-1][graph.cardinality == 2]] = False
    usable = one_of_two & (truth > 0.05) & (truth < 0.95)
    off = values.probabilities(found.probability) - truth
    errors = values.expand(found.spread, 0.0)
    share = 2 * t.sf(USUAL, 8 * PACKS - 1)
    together = np.bincount(owner[usable])
    count = int((np.abs(off) > USUAL * errors)[usable].sum())
    deviation = float(np.sqrt((together**2).sum() * share * (1 - share)))
    return count, int(usable.sum()), share * usable.sum(), deviation


def test_as_many_values_lie_beyond_two_errors_as_should(programs):
    count, values, expected, deviation = beyond(programs, mc_sat)
    assert values > 5000
    assert abs(count - expected) < NORMAL_DEVIATES * deviation


def test_a_walk_within_slices_is_as_honest_where_it_can_go_anywhere():
    free = [random_clauses([n, 78], **FLAVOURS[n % 2]) for n in range(400)]
    walking = lambda graph: mc_sat(graph, most_nodes=0, large=WithinSlice(2))  # noqa: E731
    count, _, expected, deviation = beyond(side_by_side(free), walking)
    assert abs(count - expected) < NORMAL_DEVIATES * deviation


def test_sample_sat_is_found_out(programs):
    """The negative of the tests above: solutions that are found easily come too often."""
    sampling = lambda graph: mc_sat(graph, most_nodes=0, large=SampleSAT())  # noqa: E731
    count, _, expected, deviation = beyond(programs, sampling)
    assert count - expected > NORMAL_DEVIATES * deviation
