"""Parts of a binary model that hold together: strong couplings inside, weak ones to the rest.

All that flipping a part can change is its fields and the couplings at its border. Parts are found
by joining pairs, the closest first; a part is noted when it is about twice as large as what it
was made of, so there are parts of every size.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from orbitmc._util.arrays import Floats, Numbers, float_classes, lengths
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.symmetry.blocks import budget_for

MOST_SETS = 1000  # of variables that are flipped together
MOST_WALKS = 10**6  # of three steps: more take too long to count
MOST_OF_ALL = 2 / 3  # of a component: to flip more is much like flipping all of it
LEAST_ACCEPTANCE = 0.01  # that fields and border of a part let hope for


@dataclass(frozen=True)
class _Couplings:
    """Pairs of binary variables, each once, their couplings, and the fields beside them.

    In spins of -1 and 1 a pair earns a quarter of its `coupling`, a spin half of its `field`.
    """

    pair: Numbers
    coupling: Floats
    field: Floats


def strong_parts(graph: FactorGraph) -> list[Numbers]:
    """Sets of variables whose flips may be accepted; empty unless all factors are finite pairs.

    At most `MOST_SETS`, equally many of each size as far as there are.
    """
    found = _couplings(graph)
    if found is None or not len(found.pair):
        return []
    chosen: list[Numbers] = []
    budget = budget_for(LEAST_ACCEPTANCE)
    layers = _layers(graph.variables, found.pair, _closeness(graph.variables, found))
    for labels in layers:
        changes = _changes(found, labels)
        order = np.argsort(changes, kind="stable")
        good = order[changes[order] <= budget][: MOST_SETS // len(layers)]
        chosen += [np.flatnonzero(labels == part) for part in good]
    return chosen


def _couplings(graph: FactorGraph) -> _Couplings | None:
    arity = lengths(graph.scope_start)
    if not graph.variables or (graph.cardinality != 2).any() or arity.max(initial=0) > 2:
        return None
    if graph.first_clause < graph.factors or not np.isfinite(graph.table).all():
        return None
    start = graph.table_start[graph.table_of].astype(np.int64)
    first = graph.scope_start[:-1].astype(np.int64)
    alone, two = start[arity == 1], start[arity == 2]
    field = np.zeros(graph.variables)
    np.add.at(field, graph.scope[first[arity == 1]], graph.table[alone + 1] - graph.table[alone])
    tables = graph.table[two[:, None] + np.arange(4)]
    ends = graph.scope[first[arity == 2][:, None] + np.arange(2)].astype(np.int64)
    np.add.at(field, ends[:, 0], tables @ np.array([-0.5, -0.5, 0.5, 0.5]))
    np.add.at(field, ends[:, 1], tables @ np.array([-0.5, 0.5, -0.5, 0.5]))
    keys, which = np.unique(ends.min(1) * graph.variables + ends.max(1), return_inverse=True)
    coupling = np.zeros(len(keys))
    np.add.at(coupling, which.reshape(-1), tables @ np.array([1.0, -1.0, -1.0, 1.0]))
    pair = np.stack([keys // graph.variables, keys % graph.variables], axis=1)
    some = coupling != 0.0
    return _Couplings(pair[some], coupling[some], field)


def _closeness(variables: int, found: _Couplings) -> Numbers:
    """Rank pairs by their strength, times one more than the triangles and squares they are in."""
    one, other = found.pair.T
    ends = np.concatenate([found.pair, found.pair[:, ::-1]]).T
    near = csr_array((np.ones(len(ends[0])), (ends[0], ends[1])), shape=(variables, variables))
    degree = np.bincount(found.pair.reshape(-1), minlength=variables)
    cycles = np.zeros(len(found.pair))
    if degree[one] @ degree[other] <= MOST_WALKS:
        two_steps = near @ near
        cycles += two_steps[one, other]
        cycles += (two_steps @ near)[one, other] - degree[one] - degree[other] + 1
    return float_classes(np.abs(found.coupling) * (1.0 + cycles))


def _layers(variables: int, pair: Numbers, rank: Numbers) -> list[Numbers]:
    """Parts of about one size in each layer, disjoint: the number of each variable's, or -1."""
    cost = (rank.max() + 1 - rank).astype(np.float64)
    links = coo_array((cost, (pair[:, 0], pair[:, 1])), shape=(variables, variables))
    tree = minimum_spanning_tree(links.tocsr()).tocoo()
    order = np.argsort(tree.data, kind="stable")
    joined = np.stack([tree.row, tree.col], axis=1)[order].tolist()
    breaks = np.flatnonzero(np.diff(tree.data[order])) + 1
    forest = _Forest(variables)
    noted: dict[int, list[list[int]]] = {}
    bounds = [0, *breaks.tolist(), len(joined)]
    for begin, end in pairwise(bounds):
        for part in forest.grown(joined[begin:end]):
            noted.setdefault(len(part).bit_length(), []).append(part)
    whole = np.bincount(forest.roots(), minlength=variables)[forest.roots()]
    layers = [_labels(variables, parts, whole) for _, parts in sorted(noted.items())]
    return [labels for labels in layers if labels.max() >= 0]


def _labels(variables: int, parts: list[list[int]], whole: Numbers) -> Numbers:
    """Number the parts that leave enough of their component alone."""
    found = np.full(variables, -1)
    proper = [part for part in parts if len(part) <= MOST_OF_ALL * whole[part[0]]]
    for number, part in enumerate(proper):
        found[part] = number
    return found


class _Forest:
    """Parts that are joined step by step, each with its members."""

    def __init__(self, variables: int) -> None:
        self.part = [[variable] for variable in range(variables)]

    def grown(self, pairs: list[list[int]]) -> list[list[int]]:
        """Join pairs; gives copies of the parts that have grown to about twice their size."""
        before: dict[int, int] = {}
        for one, other in pairs:
            small, large = sorted((self.part[one], self.part[other]), key=len)
            most = max(before.pop(id(p), len(p).bit_length()) for p in (small, large))
            large += small
            for member in small:
                self.part[member] = large
            before[id(large)] = most
        parts = {id(self.part[one]): self.part[one] for one, _ in pairs}
        return [list(p) for key, p in parts.items() if len(p).bit_length() > before[key]]

    def roots(self) -> Numbers:
        return np.array([part[0] for part in self.part])


def _changes(found: _Couplings, labels: Numbers) -> Floats:
    """How much flips of the parts of a layer can change: squares of fields and border couplings."""
    count = int(labels.max()) + 1
    inside = labels >= 0
    total = np.bincount(labels[inside], 4.0 * found.field[inside] ** 2, count)
    one, other = labels[found.pair].T
    for part in (one, other):
        border = (one != other) & (part >= 0)
        total += np.bincount(part[border], found.coupling[border] ** 2, count)
    return np.asarray(total)
