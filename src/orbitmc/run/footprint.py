"""How much memory a run takes at its peak, known before any of it is taken.

Everything counts: the model, its conditionals, the search for modes, the packs, the statistics and
the answer. What an interpreter with all its code takes comes on top.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS
from orbitmc._util.arrays import Floats, lengths
from orbitmc.conditionals.classify import MOST_BITS, MOST_LIMITS, MOST_NEIGHBOURS
from orbitmc.conditionals.layout import LONG
from orbitmc.estimate.statistics import lanes_to_look_at
from orbitmc.estimate.tally import PARTS, rows_of
from orbitmc.graph.factor_graph import FactorGraph

NAME = 256  # bytes of a variable's name, of its place in tuples, and of what reading leaves
NEIGHBOUR, LIMIT = 24, 4  # bytes that stay of a neighbour and of a limit
GROUPED = 8  # bytes that stay of a neighbour of which there is no list
WHILE_MADE = 3  # times as much, in double precision and rounded, until conditionals are made
FEWEST_LIMITS = 8  # of a variable that has any
COUNT = 4  # bytes of a long clause in a lane: the kernel and the tally have two each
OF_VARIABLE = 32  # bytes of what conditionals know of each variable
STATISTICS, COLUMN = 100, 90  # bytes of a row of statistics and of a value of the answer
IN_COLUMNS = 6  # arrays of columns at the end: chances, values, what is subtracted, and the like
WHILE_SECANTS = 2**28  # bytes of log-weights at a time
OVERHEAD = 2**24  # bytes of small objects, and of what is written at a time


class Shape(NamedTuple):
    """What decides the size of a run.

    The kernel takes `shared` bytes for all packs and `extra` bytes for each of them.
    """

    packs: int
    lanes: int
    shared: int = 0
    extra: int = 0


def run_bytes(graph: FactorGraph, shape: Shape) -> int:
    """The peak: while modes are searched for, or when the answer of all packs is made."""
    prepared = conditionals_bytes(graph)
    started = shape.packs * graph.variables * shape.lanes
    searching = started + search_bytes(graph, shape.lanes) + WHILE_MADE * prepared
    answering = shape.packs * pack_bytes(graph, shape) + answer_bytes(graph, shape)
    standing = model_bytes(graph) + prepared + shape.shared + OVERHEAD
    return standing + max(searching, answering)


def control_bytes(graph: FactorGraph, packs: int) -> int:
    """What control variates take on top: sums of values, secants, and columns at the end."""
    from orbitmc.estimate.control_variates import secant_bytes

    rows = int(rows_of(graph.cardinality).sum())
    columns = IN_COLUMNS * 8 * rows * COLUMNS * packs
    secants = secant_bytes(graph) + WHILE_SECANTS
    return int(8 * PARTS * rows * COLUMNS * packs + columns + secants)


def model_bytes(graph: FactorGraph) -> int:
    return held_bytes(graph) + NAME * graph.variables


def pack_bytes(graph: FactorGraph, shape: Shape) -> int:
    """What one pack takes: its states, what is tallied, and what its kernel overwrites."""
    rows = int(rows_of(graph.cardinality).sum())
    states = 1 + int(graph.has_zeros())
    long = int((lengths(graph.scope_start)[graph.first_clause :] >= LONG).sum())
    counts = COUNT * shape.lanes * long
    tallied = 8 * PARTS * rows * COLUMNS
    return states * graph.variables * shape.lanes + tallied + counts + shape.extra


def conditionals_bytes(graph: FactorGraph) -> int:
    """About what the conditionals of a graph take."""
    others = int((lengths(graph.scope_start)[_factor_of(graph)].astype(np.int64) - 1).sum())
    listed = int(_listed_neighbours(graph).sum())
    near = NEIGHBOUR * listed + GROUPED * (others - listed)
    return near + LIMIT * int(_most_limits(graph).sum()) + OF_VARIABLE * graph.variables


def _listed_neighbours(graph: FactorGraph) -> NDArray[np.int64]:
    """How many neighbours each variable keeps a list of, at most; see `paths`."""
    others = lengths(graph.scope_start)[_factor_of(graph)].astype(np.int64) - 1
    reached = np.bincount(graph.scope, others, minlength=graph.variables).astype(np.int64)
    widest = np.zeros(graph.variables, dtype=np.int64)
    np.maximum.at(widest, graph.scope, others)
    return np.where((widest > 1) & (reached > MOST_NEIGHBOURS), 0, reached)


def search_bytes(graph: FactorGraph, lanes: int) -> int:
    """What the search for modes takes: states, and what lanes should begin with."""
    return 3 * graph.variables * lanes + graph.table.nbytes


def answer_bytes(graph: FactorGraph, shape: Shape) -> int:
    """What statistics and the answer take, and the states in which log-weights are looked at."""
    rows = int(rows_of(graph.cardinality).sum())
    values = int(graph.cardinality.sum(dtype=np.int64))
    looked_at = graph.variables * lanes_to_look_at(graph, shape.packs * shape.lanes)
    return STATISTICS * rows + COLUMN * values + looked_at


def held_bytes(holder: Any, seen: set[int] | None = None) -> int:
    """What the arrays in a tuple, and in the tuples within it, take; each counts once."""
    seen = set() if seen is None else seen
    if isinstance(holder, np.ndarray):
        fresh = id(holder) not in seen
        seen.add(id(holder))
        return holder.nbytes if fresh else 0
    return sum(held_bytes(part, seen) for part in holder) if isinstance(holder, tuple) else 0


def _factor_of(graph: FactorGraph) -> Any:
    return np.repeat(np.arange(graph.factors), lengths(graph.scope_start))


def _most_limits(graph: FactorGraph) -> Floats:
    """About how many limits each variable has: one for each state of its neighbours.

    A neighbour in two factors counts twice. Variables that would have too many have none, unless
    they are binary and their neighbours are fewer than they seem.
    """
    logs = np.log(np.maximum(graph.cardinality, 1))
    factor_of = _factor_of(graph)
    of_factor = np.bincount(factor_of, logs[graph.scope], minlength=graph.factors)
    others = of_factor[factor_of] - logs[graph.scope]
    states = np.bincount(graph.scope, others, minlength=graph.variables)
    few = np.maximum(states + np.log(np.maximum(graph.cardinality, 2) - 1), np.log(FEWEST_LIMITS))
    many = np.where(graph.cardinality == 2, 2.0**MOST_BITS, FEWEST_LIMITS)
    return np.where(few <= np.log(MOST_LIMITS) + 1e-9, np.exp(np.minimum(few, 30.0)), many)
