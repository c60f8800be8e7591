"""Average over orbits while sampling, each image weighed by the true model.

For any group, exact or not, the weighted average over the orbit of a state is the conditional
expectation given the orbit, so it has the right mean and never more variance. Without the weights
it would be biased for every group that is not an exact symmetry.
"""

from typing import Any, NamedTuple

import numpy as np

from orbitmc.errors import LimitError
from orbitmc.estimate.tallies import mark_open, record, rows_of, tally
from orbitmc.graph.conditionals.draws import cumulative_probabilities
from orbitmc.graph.conditionals.layout import Scratch
from orbitmc.graph.conditionals.local_weights import forget_clauses
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.graph.weights.potentials import log_potential
from orbitmc.groups.chains.stabilizer_chain import stabilizer_chain
from orbitmc.groups.elements.decomposition import ElementTable, element_table
from orbitmc.groups.pairs import value_of
from orbitmc.groups.permutation_groups import PermutationGroup
from orbitmc.machine.arrays import Bytes, Floats, Indices, counted
from orbitmc.machine.compiling import implementation, shared
from orbitmc.machine.lanes.random import COLUMNS, lanes_of

MOST_IMAGES = 64  # every sample costs as many log-weights


class OrbitTally(NamedTuple):
    """Sums of values over the images of each state, weighed; first fields as in `ValueTally`."""

    sums: Floats
    row_start: Indices
    open: Bytes
    table: ElementTable
    image: Bytes
    weight: Floats


def orbit_tally(graph: FactorGraph, lanes: int, group: PermutationGroup) -> OrbitTally:
    """Give an empty tally over the orbits of a small group."""
    chain = stabilizer_chain(group)
    if chain.order > MOST_IMAGES:
        raise LimitError(
            f"averaging over orbits is for groups of up to {MOST_IMAGES} elements, "
            f"this one has {chain.order}"
        )
    table = element_table(chain)
    plain = tally(graph, lanes)
    return OrbitTally(
        plain.sums,
        plain.row_start,
        plain.open,
        table,
        np.zeros((graph.variables, lanes), dtype=np.uint8),
        np.zeros((len(table.row), lanes)),
    )


@implementation(record, OrbitTally)
def _record_orbits(
    tally: OrbitTally, prepared: PreparedGraph, scratch: Scratch, values: Bytes, part: int
) -> None:
    graph = prepared.graph
    if len(tally.open) > 0:
        forget_clauses(scratch)
        for variable in range(len(graph.cardinality)):
            cumulative_probabilities(prepared, scratch, values, variable)
            mark_open(tally, scratch, variable, np.int64(graph.cardinality[variable]))
    elements = len(tally.table.row)
    for element in range(elements):
        _carry(tally, values, element, scratch)
        for lane in range(lanes_of(scratch)):
            total = 0.0
            for factor in range(len(graph.table_of)):
                total += log_potential(graph, factor, tally.image, lane)
            tally.weight[element, lane] = total
    _normalise(tally.weight, elements, scratch)
    for element in range(elements):
        _carry(tally, values, element, scratch)
        _add_values(tally, graph, part, element, scratch)


@shared
def _carry(tally: OrbitTally, values: Bytes, element: int, scratch: Scratch) -> None:
    """Fill `image` with what an element makes of the present states."""
    pairs, row = tally.table.pairs, tally.table.row[element]
    for variable in range(len(tally.image)):
        for lane in range(lanes_of(scratch)):
            tally.image[variable, lane] = values[variable, lane]
    for k in range(len(pairs.point)):
        target = pairs.point[pairs.owner[row[pairs.start[k]]]]
        source = pairs.point[k]
        for lane in range(lanes_of(scratch)):
            value = np.uint32(values[source, lane])
            tally.image[target, lane] = np.uint8(value_of(pairs, row, k, value))


@shared
def _normalise(weight: Floats, elements: int, scratch: Scratch) -> None:
    """Turn log-weights of the images into chances, lane by lane."""
    for lane in range(lanes_of(scratch)):
        best, total = -np.inf, 0.0
        for element in range(elements):
            best = max(best, weight[element, lane])
        for element in range(elements):
            weight[element, lane] = np.exp(weight[element, lane] - best)
            total += weight[element, lane]
        for element in range(elements):
            weight[element, lane] /= total


@shared
def _add_values(
    tally: OrbitTally, graph: FactorGraph, part: int, element: int, scratch: Scratch
) -> None:
    for variable in range(len(graph.cardinality)):
        row = np.int64(tally.row_start[variable])
        size = np.int64(graph.cardinality[variable])
        for lane in range(lanes_of(scratch)):
            value = np.int64(tally.image[variable, lane])
            weight = tally.weight[element, lane]
            if size == 2:
                tally.sums[part, row, lane % COLUMNS] += weight * np.float64(value)
            elif size > 2:
                tally.sums[part, row + value, lane % COLUMNS] += weight


def rows_of_orbits(cardinality: Indices, labels: Any) -> Any:
    """Number the tally rows that exact symmetries make equal: same orbit, same value.

    `labels` gives the orbit of each variable; only orbits of verified symmetries may be pooled.
    """
    rows = rows_of(cardinality)
    keys = np.stack([np.repeat(np.asarray(labels), rows), counted(rows)], axis=1)
    _, pools = np.unique(keys, axis=0, return_inverse=True)
    return pools.reshape(-1)
