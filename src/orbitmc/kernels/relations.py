"""Gibbs where some variables are pairs of items in relations that no factor says.

Of equivalence relations items are drawn in turn, each into one of the blocks of the others or into
its own, then all other variables, one at a time. Of orders, matchings and forests items are drawn
once in a while. So states stay relations of their kind, and no rule that says so is ever looked at.
Chains start in such states; what the graph alone would allow is never visited.

Exact because each draw is from a conditional distribution, and the turn never looks at the state.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import implementation
from orbitmc._util.arrays import Bytes, Indices, Numbers, indices, readonly, short_repr
from orbitmc.conditionals.draws import draw_sequentially, scratch
from orbitmc.conditionals.factors import forget_clauses
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.feasibility import possible_states
from orbitmc.graph.model import (
    Equivalence,
    ItemForest,
    ItemMatching,
    ItemOrder,
    UngroundRelation,
)
from orbitmc.graph.support import hard_factors
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._forest import draw_forest
from orbitmc.kernels._gibbs import GibbsMemory
from orbitmc.kernels._matching import match_table
from orbitmc.kernels._mixture import mixture
from orbitmc.kernels._order import draw_order
from orbitmc.kernels._partition import (
    MOST_ITEMS,
    NOBODY,
    PARTITION_OUTCOMES,
    Partition,
    PartitionMemory,
    assemble,
    draw_item,
    read_blocks,
)
from orbitmc.kernels.protocol import ROWS, Kernel, fill_in, steps

ROW_DRAWS = 2  # times that a row of a matching asks for a column, in a sweep of variables
GREEDY_EVERY = 8  # one lane of so many starts where each item likes it best


class PartitionScanMemory(NamedTuple):
    """Memory of the items' draws, scratch for single variables, whose turn it is, and steps due."""

    items: PartitionMemory
    scratch: Scratch
    turn: Numbers
    due: Numbers


class PartitionScan(NamedTuple):
    """Draw items in turn, then the `others`, variables that are no pairs.

    An item is `worth` as many steps as it has pairs, each of which belongs to two items: it is
    drawn at the first of them, and the others pass.
    """

    partition: Partition
    others: Indices
    worth: int

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates", *PARTITION_OUTCOMES)

    @property
    def about(self) -> str:
        """What is drawn, in words."""
        alone = f", and {len(self.others):,} other variables" if len(self.others) else ""
        return f"{len(self.partition.apart):,} items are moved between blocks{alone}"

    @property
    def constrained(self) -> Indices:
        """All variables but the others: pairs, and what other kernels draw."""
        return indices(np.delete(np.arange(len(self.partition.one)), self.others))

    def frees(self, graph: FactorGraph) -> NDArray[np.bool_]:
        return self.partition.frees(graph)

    def partition_plan(self, memory: PartitionScanMemory) -> tuple[Partition, PartitionMemory]:
        return self.partition, memory.items

    def memory(self, prepared: PreparedGraph, lanes: int) -> PartitionScanMemory:
        return PartitionScanMemory(
            self.partition.memory(prepared, lanes),
            scratch(prepared, lanes),
            np.zeros(1, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )

    def want_states(self, wanted: NDArray[np.int16], rng: np.random.Generator) -> None:
        """Partitions of few and of many blocks, and ones in which items like to be."""
        lanes = wanted.shape[1]
        labels = np.stack([self._start_labels(lane, rng) for lane in range(lanes)], axis=1)
        pairs = np.flatnonzero(self.partition.one != NOBODY)
        if self.partition.partial:
            self._leave_out(wanted, labels, rng)
        for first in range(0, len(pairs), ROWS):
            some = pairs[first : first + ROWS]
            one, other = self.partition.one[some], self.partition.other[some]
            wanted[some] = labels[one] == labels[other]

    def _leave_out(
        self, wanted: NDArray[np.int16], labels: Numbers, rng: np.random.Generator
    ) -> None:
        """Let some items be in no block, in each lane another share of those that may be."""
        inside = self.partition.inside
        items = np.flatnonzero(inside >= 0)
        out = rng.random((len(items), labels.shape[1])) < rng.random(labels.shape[1])
        wanted[inside[items]] = ~out
        nobodys = 2 * len(inside) + items  # labels that no other item has
        labels[items] = np.where(out, nobodys[:, None], labels[items])

    def starts(self, graph: FactorGraph, lanes: int, seed: np.random.SeedSequence) -> Bytes:
        """Partitions that the graph allows."""
        rng = np.random.default_rng(seed)
        wanted = np.full((graph.variables, lanes), -1, dtype=np.int16)
        self.want_states(wanted, rng)
        pairs = self.constrained
        if not graph.has_zeros():
            return fill_in(graph, wanted, rng)
        values = possible_states(graph, lanes, seed, wanted)
        elsewhere = (values[pairs] != wanted[pairs]).any(axis=0)
        if elsewhere.any():
            wanted[pairs] = 0
            alone = possible_states(graph, lanes, seed, wanted)
            values[:, elsewhere] = alone[:, elsewhere]
        if (values[pairs][:, elsewhere] != 0).any():
            raise LimitError(
                "no partition was found that hard rules allow to start from; the method mcsat "
                "grounds the rules of equivalence relations, and may find one"
            )
        return values

    def _start_labels(self, lane: int, rng: np.random.Generator) -> Numbers:
        """The block of each item."""
        apart, items = self.partition.apart, len(self.partition.apart)
        if lane % GREEDY_EVERY == 0:
            return _greedy_labels(self.partition.gain, rng)
        blocks = round(items ** rng.random())
        labels = rng.integers(blocks, size=items)
        for item in np.flatnonzero(apart.any(axis=1)):
            if (apart[item] & (labels == labels[item])).any():
                labels[item] = items + item
        return labels


@implementation(steps, PartitionScan)
def partition_scan_steps(
    prepared: PreparedGraph,
    kernel: PartitionScan,
    memory: PartitionScanMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    items, turn = len(kernel.partition.apart), memory.turn[0]
    drawn = outcomes[1:]
    memory.due[0] -= count
    if memory.due[0] < 0:
        read_blocks(kernel.partition, memory.items, values)
        forget_clauses(memory.scratch)
    while memory.due[0] < 0:
        if turn < items:
            draw_item(prepared, kernel.partition, memory.items, values, drawn, rng, turn)
            memory.due[0] += kernel.worth
            outcomes[0] += kernel.worth
            forget_clauses(memory.scratch)
        else:
            variable: Any = np.int64(kernel.others[turn - items])
            draw_sequentially(prepared, memory.scratch, values, variable, rng)
            memory.due[0] += 1
            outcomes[0] += 1
        turn += 1
        if turn == items + len(kernel.others):
            turn = 0
    memory.turn[0] = turn


class HeldScan(NamedTuple):
    """Update the variables in turn, but those that are `held`: others draw these.

    Which states of these are possible, the graph does not say.
    """

    held: Bytes

    @property
    def outcomes(self) -> tuple[str, ...]:
        return ("updates",)

    @property
    def constrained(self) -> Indices:
        return indices(np.flatnonzero(self.held))

    def memory(self, prepared: PreparedGraph, lanes: int) -> GibbsMemory:
        return GibbsMemory(scratch(prepared, lanes), np.zeros(1, dtype=np.int64))


@implementation(steps, HeldScan)
def held_scan_steps(
    prepared: PreparedGraph,
    kernel: HeldScan,
    memory: GibbsMemory,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    turn = memory.turn[0]
    forget_clauses(memory.scratch)
    for _ in range(count):
        if kernel.held[turn] == 0:
            variable: Any = np.int64(turn)
            draw_sequentially(prepared, memory.scratch, values, variable, rng)
        turn += 1
        if turn == len(kernel.held):
            turn = 0
    memory.turn[0] = turn
    outcomes[0] += count


def relation_scan(
    prepared: PreparedGraph, relations: Sequence[UngroundRelation]
) -> tuple[Kernel, str]:
    """Gibbs on a model with relations that its factors do not say, and what is drawn, in words.

    Items of orders and rows of matchings are drawn as often as variables are in a sweep.
    """
    graph = prepared.graph
    equivalences = [each for each in relations if isinstance(each, Equivalence)]
    others = [each for each in relations if not isinstance(each, Equivalence)]
    if not others:
        scan = partition_scan(prepared, equivalences)
        return scan, scan.about
    held = np.zeros(graph.variables, dtype=np.uint8)
    held[np.concatenate([each.variables for each in others])] = 1
    base: Kernel = HeldScan(readonly(held))
    words = []
    if equivalences:
        base = scan = partition_scan(prepared, equivalences, np.flatnonzero(held))
        words.append(scan.about)
    jump: Kernel | None = None
    for number, relation in enumerate(others):
        more, about = _kernel_of(graph, relation)
        words.append(about)
        jump = more if jump is None else mixture(jump, more, weight=number / (number + 1))
    assert jump is not None
    period = max(1, graph.variables // len(others))
    return alternation(base, jump, period=period), ", and ".join(words)


def _kernel_of(
    graph: FactorGraph, relation: ItemOrder | ItemMatching | ItemForest
) -> tuple[Kernel, str]:
    """The kernel that draws each item of a relation about once in a step."""
    if isinstance(relation, ItemMatching):
        rows = len(relation.table)
        needed = relation.rows_needed, relation.columns_needed
        kernel = match_table(graph, relation.table, ROW_DRAWS * rows, needed)
        return kernel, f"{rows:,} rows are matched anew"
    if isinstance(relation, ItemForest):
        return draw_forest(graph, relation), f"{relation.items:,} items get new parents"
    return draw_order(graph, relation), f"{relation.items:,} items are put in order anew"


def partition_scan(
    prepared: PreparedGraph,
    equivalences: Sequence[Equivalence],
    held: Numbers | Sequence[int] = (),
) -> PartitionScan:
    """Gibbs on a model with equivalence relations that its factors do not say.

    Items of different relations are kept apart, so one partition holds them all. Variables that are
    `held` are drawn by others.
    """
    graph = prepared.graph
    first_item = np.cumsum([0, *(relation.items for relation in equivalences)])
    items = int(first_item[-1])
    variables = np.concatenate([relation.variables for relation in equivalences])
    if not len(variables):
        raise InputError("evidence decides all pairs of items: none is left to be drawn")
    if not are_drawn(graph, equivalences):
        raise LimitError(
            "hard rules say which items are in no block of a partial equivalence relation; the "
            "method mcsat grounds its rules"
        )
    if items > MOST_ITEMS:
        raise LimitError(f"equivalence relations have up to {MOST_ITEMS:,} items, not {items:,}")
    ends = np.concatenate(
        [
            first + np.stack([relation.first, relation.second], axis=1)
            for first, relation in zip(first_item.tolist(), equivalences, strict=False)
        ]
    )
    apart = np.ones((items, items), dtype=np.uint8)
    apart[ends[:, 0], ends[:, 1]] = apart[ends[:, 1], ends[:, 0]] = 0
    np.fill_diagonal(apart, 0)
    alone = ends[:, 0] == ends[:, 1]
    inside = np.full(items, -1, dtype=np.int64) if alone.any() else None
    if inside is not None:
        inside[ends[alone, 0]] = variables[alone]
    free = np.ones(graph.variables, dtype=np.bool_)
    free[variables] = free[np.asarray(held, dtype=np.int64)] = False
    return PartitionScan(
        assemble(graph, variables[~alone], ends[~alone], readonly(apart), inside),
        indices(np.flatnonzero(free)),
        max(1, len(variables) // items),
    )


def are_drawn(graph: FactorGraph, relations: Sequence[UngroundRelation]) -> bool:
    """Whether kernels can draw relations: no other hard rule may say who is in no block of one."""
    equivalences = [each for each in relations if isinstance(each, Equivalence)]
    inside = [each.variables[each.first == each.second] for each in equivalences]
    if not any(map(len, inside)):
        return True
    tied = graph.scope[hard_factors(graph)[graph.factor_of_edge]]
    return not np.isin(np.concatenate(inside), tied).any()


def _greedy_labels(gain: NDArray[np.float64], rng: np.random.Generator) -> Numbers:
    """Blocks to which items were added, in random order, where that gains most."""
    items = len(gain)
    labels = np.full(items, -1, dtype=np.int64)
    for item in rng.permutation(items):
        placed, total = labels >= 0, np.zeros(items)
        np.add.at(total, labels[placed], gain[item, placed])
        best = int(total.argmax())
        labels[item] = best if total[best] > 0 else item
    return labels
