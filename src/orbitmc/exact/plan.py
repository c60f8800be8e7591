"""What exact elimination will cost, known before any of it is spent."""

from dataclasses import dataclass, field

import numpy as np

from orbitmc.errors import LimitError
from orbitmc.exact.neighbourhood import require_hope
from orbitmc.exact.order import find_order
from orbitmc.exact.problem import Problem, prepare
from orbitmc.exact.tree import Tree, build_tree
from orbitmc.graph.factor_graph import FactorGraph

MEMORY = 4 * 2**30
"""Bytes that exact elimination may take unless told otherwise."""

COMFORT = 2**29
"""Bytes for which nobody needs to compute messages twice."""

OVERHEAD = 2**21
"""Bytes of slabs, views and small objects, whatever the model."""

ENTRY = 8  # bytes


@dataclass(frozen=True)
class Region:
    """Buckets, children first, whose messages are alive together on the way down.

    `below` are children outside: their messages are kept from the way up, all others are
    computed a second time.
    """

    buckets: tuple[int, ...]
    below: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """An order of elimination with its price.

    `width` is the most neighbours a variable has when it is eliminated, `largest` and `entries`
    count table entries (of the largest table, of all), `bytes` is the peak of memory, `flops`
    about how many additions, exponentials and logarithms are made.
    """

    width: int
    largest: int
    entries: int
    bytes: int
    flops: int
    order: tuple[int, ...] = field(repr=False)
    problem: Problem = field(repr=False)
    tree: Tree = field(repr=False)
    regions: tuple[Region, ...] = field(repr=False)

    @property
    def seconds(self) -> float:
        """About how long elimination takes on one core of 2020 or so."""
        return self.flops / FLOPS_PER_SECOND + SECONDS_PER_BUCKET * len(self.order)


FLOPS_PER_SECOND = 6e8
SECONDS_PER_BUCKET = 2e-4


def predict(graph: FactorGraph, *, memory: int = MEMORY, seconds: float = 5.0) -> Plan:
    """Find an order within `seconds` and say what it costs; allocates nothing big.

    When all messages together would not fit into `memory`, the plan computes some twice. A graph
    for which no order below 2^60 table entries is found is refused here.
    """
    require_hope(graph)
    problem = prepare(graph)
    order = find_order(problem.scopes, problem.sizes, seconds=seconds).variables
    if len(order) < len(problem.sizes):
        raise LimitError(
            "exact elimination would need tables of more than 1e+18 entries for these "
            f"{len(problem.sizes)} variables"
        )
    tree = build_tree(problem, order)
    regions, peak = _regions_within(tree, min(memory, COMFORT))
    if peak > memory:
        regions, peak = _regions_within(tree, memory)
    entries = [tree.table_entries(variable) for variable in order]
    passes = 2 if len(regions) == 1 else 3
    return Plan(
        width=tree.width,
        largest=max(entries, default=1),
        entries=sum(entries),
        bytes=peak + ENTRY * sum(table.size for table in problem.tables) + OVERHEAD,
        flops=passes * sum(n * _terms(tree, v) for n, v in zip(entries, order, strict=True)),
        order=tuple(order),
        problem=problem,
        tree=tree,
        regions=regions,
    )


def _terms(tree: Tree, variable: int) -> int:
    """Operations per table entry: one per message or group of factors, three for exp and log."""
    return len(tree.children[variable]) + len(tree.factors[variable]) + 3


def _regions_within(tree: Tree, memory: int) -> tuple[tuple[Region, ...], int]:
    """Cut the tree into as few regions as keep the peak below `memory`, or as near as can be."""
    total = ENTRY * sum(tree.message_entries(variable) for variable in tree.upward)
    budget = float(total)
    best: tuple[tuple[Region, ...], int] | None = None
    while True:
        regions = cut(tree, budget)
        peak = peak_bytes(tree, regions)
        if best is None or peak < best[1]:
            best = regions, peak
        if peak <= memory or len(regions) >= len(tree.upward) or budget < total / MOST_CUTS:
            return best
        budget /= 2


MOST_CUTS = 2**12


def cut(tree: Tree, budget: float) -> tuple[Region, ...]:
    """Cut a region off whenever its messages take more than `budget` bytes; roots come first."""
    carried = np.zeros(len(tree.sizes))
    top = set()
    for variable in tree.upward:
        carried[variable] += ENTRY * tree.message_entries(variable)
        above = tree.parent[variable]
        if above < 0 and budget >= ENTRY * sum(map(tree.message_entries, tree.upward)):
            continue
        if above < 0 or carried[variable] > budget:
            top.add(variable)
        else:
            carried[above] += carried[variable]
    if not top:
        return (Region(tree.upward, ()),)
    return _regions(tree, top)


def _regions(tree: Tree, top: set[int]) -> tuple[Region, ...]:
    home: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for variable in reversed(tree.upward):
        home[variable] = variable if variable in top else home[tree.parent[variable]]
        members.setdefault(home[variable], []).append(variable)
        if variable in top and tree.parent[variable] >= 0:
            below.setdefault(home[tree.parent[variable]], []).append(variable)
    return tuple(
        Region(tuple(reversed(buckets)), tuple(below.get(root, ())))
        for root, buckets in members.items()
    )


def peak_bytes(tree: Tree, regions: tuple[Region, ...]) -> int:
    """Follow the messages of both passes and give the most bytes that are alive at once."""
    size = {variable: ENTRY * tree.message_entries(variable) for variable in tree.upward}
    kept = {child for region in regions for child in region.below}
    alive: set[int] = set()
    now = peak = 0
    for region in reversed(regions):
        for variable in region.buckets:
            alive.add(variable)
            now += size[variable]
            peak = max(peak, now)
            if len(regions) > 1:
                gone = [child for child in tree.children[variable] if child not in kept]
                alive.difference_update(gone)
                now -= sum(size[child] for child in gone)
    for region in regions:
        fresh = [variable for variable in region.buckets if variable not in alive]
        alive.update(fresh)
        now += sum(size[variable] for variable in fresh)
        for variable in reversed(region.buckets):
            now += sum(size[child] for child in tree.children[variable])
            peak = max(peak, now)
            now -= 2 * size[variable] if tree.parent[variable] >= 0 else size[variable]
    return peak
