"""From blocks to flat elimination plans."""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import width_of
from orbitmc._util.arrays import (
    Bytes,
    Floats,
    Indices,
    Numbers,
    floats,
    indices,
    lengths,
    readonly,
    starts,
)
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.support import Domains
from orbitmc.kernels.block_gibbs.growth import Block

# Elimination plans of all blocks as flat arrays, and what a pack overwrites to follow them.

MESSAGE, TABLE, CLAUSE = range(3)
"""What a table is multiplied with: what an earlier step has left, or a factor of the graph."""


class Blocks(NamedTuple):
    """How to eliminate the variables of each block, one after the other.

    Block `b` has the steps `step_start[b]:step_start[b + 1]`. A step sums one `variable` out of a
    table over it and its `scope`, variables of the block that come later; the table has `outer`
    states of the scope, each with a row for every value of the variable. Rows of tables begin at
    `table_row`, what is left of them at `message_row`.

    A table is a product of operands `operand_start[s]:operand_start[s + 1]`. The entry of an
    operand is at `source`, plus `own_stride` times the value of the step's variable, plus
    `stride[stride_start[o] + d]` times the value of variable `d` of the scope. In factors the
    variables `outside` the block come in addition: in tables each with its `role` as stride; in
    clauses `gate` is added if any of them has its `role` as value. Of what a step has left, `gate`
    is the number of rows.

    Tables have only the possible values of a variable `v`, `value[value_start[v]:]` up to the next
    start; `number` says which of them a value is, from `number_start[v]` on. Factors are read by
    values, from the first possible one on; what steps have left by their numbers.

    `weight` has the exponentials of the graph's tables, the largest 1, and the clauses spelled
    out. `recorded` marks the steps in whose block a variable's probability is looked at: one step
    for each variable.
    """

    value_start: Indices
    value: Bytes
    number_start: Indices
    number: Bytes
    step_start: Indices
    variable: Indices
    outer: Indices
    table_row: Indices
    message_row: Indices
    scope_start: Indices
    scope: Indices
    operand_start: Indices
    kind: Bytes
    source: Indices
    own_stride: Indices
    stride_start: Indices
    stride: Indices
    outside_start: Indices
    outside: Indices
    role: Indices
    gate: Indices
    recorded: Bytes
    weight: Floats

    @property
    def total(self) -> int:
        return len(self.step_start) - 1


class BlockMemory(NamedTuple):
    """Tables of one block, a column for each lane, and where each operand is being read.

    `turn` is the block that comes next, `due` the steps that it is worth beyond those asked for.
    `last` has the values that were seen last by who records them, after `recorded` samples.
    """

    place: NDArray[np.uint32]
    base: NDArray[np.uint32]
    offset: Numbers
    digit: Numbers
    tables: Floats
    weights: Floats
    best: Floats
    picked: NDArray[np.uint32]
    turn: Numbers
    due: Numbers
    last: Bytes
    recorded: Numbers
    width: tuple[int, ...]


def block_memory(blocks: Blocks, most_values: int, lanes: int) -> BlockMemory:
    """Give the arrays that following the plans overwrites."""
    operands = int(np.diff(blocks.operand_start.astype(np.int64)).max(initial=0))
    depth = int(np.diff(blocks.scope_start.astype(np.int64)).max(initial=0))
    return BlockMemory(
        place=np.zeros(lanes, dtype=np.uint32),
        base=np.zeros((operands, lanes), dtype=np.uint32),
        offset=np.zeros(operands, dtype=np.int64),
        digit=np.zeros(depth, dtype=np.int64),
        tables=np.zeros((rows_of(blocks), lanes)),
        weights=np.zeros((most_values, lanes)),
        best=np.zeros(lanes),
        picked=np.zeros(lanes, dtype=np.uint32),
        turn=np.zeros(1, dtype=np.int64),
        due=np.zeros(1, dtype=np.int64),
        last=np.zeros((len(blocks.value_start) - 1, lanes), dtype=np.uint8),
        recorded=np.zeros(1, dtype=np.int64),
        width=width_of(lanes),
    )


def rows_of(blocks: Blocks) -> int:
    """How many rows the tables of the largest block have."""
    ends = blocks.message_row.astype(np.int64) + blocks.outer
    return int(ends.max(initial=0))


def plans(graph: FactorGraph, domains: Domains, blocks: Sequence[Block]) -> Blocks:
    """Plan the elimination of each block, the newest member first."""
    writer = Writer(graph, domains)
    for block in blocks:
        writer.write(block)
    return writer.plans(_mark_recorded(blocks))


class Writer:
    """Writes plans one block after the other."""

    def __init__(self, graph: FactorGraph, domains: Domains) -> None:
        self.graph = graph
        self.cardinality = graph.cardinality.tolist()
        self.scope, self.scope_start = graph.scope.tolist(), graph.scope_start.tolist()
        self.stride, self.satisfying = graph.stride.tolist(), graph.satisfying.tolist()
        self.table_of, self.table_start = graph.table_of.tolist(), graph.table_start.tolist()
        self.first = [int(np.flatnonzero(domains.of(v))[0]) for v in range(graph.variables)]
        self.sizes = [int(domains.of(v).sum()) for v in range(graph.variables)]
        self.domains = domains
        self.weights = [_weights(graph)]
        self.weight_end = len(self.weights[0])
        self.clauses: dict[tuple[object, ...], int] = {}
        self.steps_of: list[int] = []
        self.steps: list[tuple[int, ...]] = []  # variable, outer, rows, scopes, operands
        self.operands: list[tuple[int, ...]] = []  # kind, source, strides, outsides, gate
        self.scopes: list[int] = []
        self.strides: list[int] = []
        self.outsides: list[int] = []
        self.roles: list[int] = []

    def write(self, block: Block) -> None:
        """Write the steps of a block."""
        order = block.order[::-1]
        scopes = {v: block.scope_of(v) for v in order}
        factors = self._assign_factors(block)
        left: dict[int, list[tuple[int, list[int]]]] = {v: [] for v in order}
        row = 0
        for v in order:
            outer = prod(self.sizes[u] for u in scopes[v])
            message = row + outer * self.sizes[v]
            operands = len(left[v]) + len(factors[v])
            self.steps.append((v, outer, row, message, len(scopes[v]), operands))
            self.scopes += scopes[v]
            for source, read in left[v]:
                self._message(source, read, v, scopes[v])
            for factor in factors[v]:
                self._factor(factor, block, v, scopes[v])
            row = message + outer
            if scopes[v]:
                left[scopes[v][-1]].append((message, scopes[v]))
        self.steps_of.append(len(order))

    def _assign_factors(self, block: Block) -> dict[int, list[int]]:
        """The factors of each member: those in which it is eliminated first."""
        factors: dict[int, list[int]] = {v: [] for v in block.place}
        start, incident = self.graph.incident_start, self.graph.incident
        taken: set[int] = set()
        for v in sorted(block.place, key=block.place.__getitem__, reverse=True):
            for factor in incident[start[v] : start[v + 1]].tolist():
                if factor not in taken:
                    taken.add(factor)
                    factors[v].append(factor)
        return factors

    def _message(self, source: int, read: list[int], v: int, scope: list[int]) -> None:
        sizes = [self.sizes[u] for u in read]
        strides = {u: prod(sizes[k + 1 :]) for k, u in enumerate(read)}
        self.operands.append((MESSAGE, source, strides[v], len(scope), 0, prod(sizes)))
        self.strides += [strides.get(u, 0) for u in scope]

    def _factor(self, factor: int, block: Block, v: int, scope: list[int]) -> None:
        """Write a factor as operand; its first entry is that of the first possible values."""
        edges = range(self.scope_start[factor], self.scope_start[factor + 1])
        inside = {self.scope[edge]: edge for edge in edges if self.scope[edge] in block.place}
        outside = [edge for edge in edges if self.scope[edge] not in block.place]
        if factor < self.graph.first_clause:
            kind, gate, roles = TABLE, 0, self.stride
            strides = {u: self.stride[edge] for u, edge in inside.items()}
            source = self.table_start[self.table_of[factor]]
        else:
            kind, roles = CLAUSE, self.satisfying
            source, strides = self._clause(factor, inside)
            gate = prod(self.cardinality[u] for u in inside)
        source += sum(stride * self.first[u] for u, stride in strides.items())
        self.operands.append((kind, source, strides[v], len(scope), len(outside), gate))
        self.strides += [strides.get(u, 0) for u in scope]
        self.outsides += [self.scope[edge] for edge in outside]
        self.roles += [roles[edge] for edge in outside]

    def _clause(self, factor: int, inside: dict[int, int]) -> tuple[int, dict[int, int]]:
        """Where a clause is spelled out over its members in a block, and how it is read there.

        The first half says what it weighs if nothing outside satisfies it, the second if it does.
        """
        sizes = [self.cardinality[u] for u in inside]
        wanted = [self.satisfying[edge] for edge in inside.values()]
        table = self.table_of[factor]
        key = (table, *sizes, *wanted)
        if key not in self.clauses:
            low, high = self.weights[0][self.table_start[table] : self.table_start[table + 1]]
            spelled = np.full((2, *sizes), high)
            rejected = [[k for k in range(n) if k != w] for n, w in zip(sizes, wanted, strict=True)]
            spelled[np.ix_([0], *rejected)] = low
            self.clauses[key] = self.weight_end
            self.weights.append(spelled.reshape(-1))
            self.weight_end += spelled.size
        return self.clauses[key], {u: prod(sizes[k + 1 :]) for k, u in enumerate(inside)}

    def plans(self, recorded: NDArray[np.uint8]) -> Blocks:
        step = np.array(self.steps, np.int64).reshape(-1, 6).T
        operand = np.array(self.operands, np.int64).reshape(-1, 6).T
        domains = self.domains
        sizes = lengths(domains.value_start)
        numbers = np.cumsum(domains.allowed) - 1
        first = np.repeat(np.cumsum(self.sizes) - self.sizes, sizes)
        value = np.arange(len(domains.allowed)) - np.repeat(domains.value_start[:-1], sizes)
        return Blocks(
            value_start=starts(np.array(self.sizes, dtype=np.int64)),
            value=readonly(value[domains.allowed].astype(np.uint8)),
            number_start=domains.value_start,
            number=readonly(np.where(domains.allowed, numbers - first, 0).astype(np.uint8)),
            step_start=starts(np.array(self.steps_of, dtype=np.int64)),
            variable=indices(step[0]),
            outer=indices(step[1]),
            table_row=indices(step[2]),
            message_row=indices(step[3]),
            scope_start=starts(step[4]),
            scope=indices(np.array(self.scopes, np.int64)),
            operand_start=starts(step[5]),
            kind=readonly(operand[0].astype(np.uint8)),
            source=indices(operand[1]),
            own_stride=indices(operand[2]),
            stride_start=starts(operand[3]),
            stride=indices(np.array(self.strides, np.int64)),
            outside_start=starts(operand[4]),
            outside=indices(np.array(self.outsides, np.int64)),
            role=indices(np.array(self.roles, np.int64)),
            gate=indices(operand[5]),
            recorded=readonly(recorded),
            weight=floats(np.concatenate(self.weights)),
        )


def _weights(graph: FactorGraph) -> Floats:
    """The exponentials of all tables, each relative to its largest entry."""
    sizes = lengths(graph.table_start)
    best = np.zeros(len(sizes))
    some = np.flatnonzero(sizes)
    if len(some):
        best[some] = np.maximum.reduceat(graph.table, graph.table_start[some].astype(np.int64))
    weights: Floats = np.exp(graph.table - np.repeat(np.where(np.isfinite(best), best, 0.0), sizes))
    return weights


def _mark_recorded(blocks: Sequence[Block]) -> NDArray[np.uint8]:
    """Mark one step for each variable, in few blocks: in the interior of one, if there is any."""
    inside = _cover([block.interior for block in blocks])
    home = _cover([block.place.keys() - inside.keys() for block in blocks]) | inside
    marks = [
        home[v] == number for number, block in enumerate(blocks) for v in reversed(block.order)
    ]
    return np.array(marks, dtype=np.uint8)


def _cover(sets: Sequence[set[int]]) -> dict[int, int]:
    """Give each element the number of a set that has it: always the one with most of the rest."""
    cover = dict[int, int]()
    waiting = [(-len(elements), number) for number, elements in enumerate(sets)]
    heapify(waiting)
    while waiting:
        size, number = heappop(waiting)
        rest = sets[number] - cover.keys()
        if len(rest) < -size:  # others have taken some since it was counted
            heappush(waiting, (-len(rest), number))
        else:
            cover.update(dict.fromkeys(rest, number))
    return cover
