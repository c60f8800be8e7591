"""How buckets are worked off: small ones in a compiled loop, large ones as products of matrices.

A block eliminates variables R that follow each other in the tree, at once:

    message(shared) = sum over R of heavy(R, ...) * light(R, ...)

The heavy table is one large message or factor, the light one the product of everything else in
these buckets, and small. Put in the right order, both are stacks of matrices:

    heavy(batch, inner, columns)   light(summed, batch, inner, rows)   message(batch, rows, columns)

where `inner` are variables of R that the heavy table has, and `summed` those that it has not. What
the message is multiplied with on the way down goes back through the same matrices.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import compiled, has_code
from orbitmc._util.arrays import Floats, Numbers
from orbitmc.exact.problem import Scope
from orbitmc.exact.tree import (
    ENTRY,
    SMALL_TABLE,
    Group,
    Region,
    Tree,
    cut_regions,
    group_scopes,
    join_groups,
)

MOST_LIGHT = 2**16  # entries of a light table
MOST_LIGHT_ALONE = 2**22  # the same in a block of one variable
LEAST_HEAVY = 2**7  # entries of the table of a bucket that matrices might be made of
FUSING_WORTH = 4.0  # times what is best so far may take what might become better with more buckets

# Seconds of both passes together, measured on one core of 2020 or so.
MATRIX_OVERHEAD = 5e-5
MATRIX_TABLE = 2.2e-5  # for each table that a block reads, and each variable
MATRIX_OPERATION, SHORT_OPERATION = 3e-11, 2e-10  # the latter over the shortest side
MATRIX_CALL = 1.5e-6  # for each matrix of a stack
COPIED_ENTRY = 6e-9  # of a table that is copied in another order
MADE_ENTRY, MADE_TABLE = 1.2e-8, 2e-9  # of a heavy table that is a product, and for each table
LIGHT_ENTRY = 3e-9  # of the light table, for each table it is the product of
SLAB_OVERHEAD = 3.5e-4
SLAB_ENTRY = 1e-9  # for each table that a bucket reads, or tells its parent's beliefs
SMALL_OVERHEAD = 8e-6
SMALL_ENTRY = 5e-9  # for each table that a bucket reads
TWICE = 1.5  # as long, if messages are computed twice
BEGINNING = 2e-4  # whatever the model


class Layout(NamedTuple):
    """The variables of a block by their part in its matrices."""

    summed: Scope
    batch: Scope
    inner: Scope
    rows: Scope
    columns: Scope

    @property
    def heavy(self) -> Scope:
        return (*self.batch, *self.inner, *self.columns)

    @property
    def light(self) -> Scope:
        return (*self.summed, *self.batch, *self.inner, *self.rows)

    @property
    def message(self) -> Scope:
        return (*self.batch, *self.rows, *self.columns)


@dataclass(frozen=True)
class Block:
    """Variables that are eliminated at once, the last one nearest to the root."""

    variables: Scope
    heavy: Group
    heavy_scope: Scope
    lights: Group
    layout: Layout

    @property
    def top(self) -> int:
        return self.variables[-1]


class Slabs(NamedTuple):
    """A bucket that is worked off slab by slab."""

    top: int

    @property
    def variables(self) -> Scope:
        return (self.top,)


class Run(NamedTuple):
    """Small buckets with consecutive numbers."""

    first: int
    variables: Scope


Step = Block | Slabs | Run


@dataclass(frozen=True)
class Steps:
    """What is done for each region, children first; about how long that takes, both ways.

    `bytes` is the peak of memory beside the tables of factors.
    """

    regions: tuple[Region, ...]
    of_region: tuple[tuple[Step, ...], ...]
    small: Scope
    seconds: float
    bytes: int


Piece = tuple[Scope, Group]


class _Segment(NamedTuple):
    """Buckets along a path, each the heaviest child of the next, that are worked off together.

    `seconds` are those of the segment, `total` with the best of what is below on the path. If
    `heavy` is empty, there is one bucket, no product of matrices.
    """

    variables: Scope
    heavy: tuple[Piece, ...]
    lights: tuple[Piece, ...]
    seconds: float
    total: float
    small: bool = False


def steps_within(
    tree: Tree,
    memory: int,
    plan: Callable[[Tree, tuple[Region, ...]], Steps],
    *,
    until: float = math.inf,
) -> Steps:
    """Cut the tree into as few regions as keep the peak below `memory`, or as near as can be.

    Where one message alone is beyond any machine, no cut helps, nor where small buckets, whose
    tables are always there, take most of the memory. `until` is the working time after which no
    other cut is tried.
    """
    total = ENTRY * sum(tree.messages)
    budget = float(total)
    best: Steps | None = None
    in_vain = 0
    while True:
        regions = cut_regions(tree, budget)
        steps = plan(tree, regions)
        in_vain += 1
        if best is None or steps.bytes < best.bytes:
            best, in_vain = steps, 0
        if (
            steps.bytes <= memory
            or in_vain == MOST_IN_VAIN
            or len(steps.small) == len(tree.upward)
            or len(regions) >= len(tree.upward)
            or budget < total / MOST_CUTS
            or ENTRY * max(tree.messages, default=0) > LARGEST_MESSAGE
            or working_time() > until
        ):
            return best
        budget /= 2


def plan_steps(tree: Tree, regions: tuple[Region, ...], *, fuse: bool = True) -> Steps:
    """Choose how each bucket is worked off; `fuse` buckets where that takes less time."""
    region_of = {v: number for number, region in enumerate(regions) for v in region.buckets}
    best: dict[int, _Segment] = {}
    open_segments: dict[int, list[_Segment]] = {}
    for variable in tree.upward:
        child = _heaviest_child(tree, variable)
        below = best[child].total if child >= 0 else 0.0
        plain = _plain(tree, variable, below)
        segments = [] if plain.seconds < MATRIX_OVERHEAD else _matrices(tree, variable, below)
        if fuse and child >= 0 and region_of[child] == region_of[variable]:
            longer = (_extend(tree, s, variable, child) for s in open_segments[child])
            segments += [segment for segment in longer if segment.seconds < math.inf]
        best[variable] = min([plain, *segments], key=lambda segment: segment.total)
        worth = FUSING_WORTH * best[variable].total
        open_segments[variable] = [segment for segment in segments if segment.total < worth]
        open_segments.pop(child, None)
    chosen = _chosen(tree, best)
    small: list[int] = []
    upward = [tuple(_steps(tree, region, chosen, small)) for region in reversed(regions)]
    of_region = tuple(reversed(upward))
    seconds = BEGINNING + math.fsum(segment.seconds for segment in chosen.values())
    if len(regions) > 1:
        seconds *= TWICE
    peak = _peak_bytes(tree, regions, of_region)
    return Steps(regions, of_region, tuple(small), seconds, peak)


def single_steps(tree: Tree, regions: tuple[Region, ...]) -> Steps:
    """Choose how each bucket is worked off on its own."""
    return plan_steps(tree, regions, fuse=False)


def slab_steps(tree: Tree, regions: tuple[Region, ...]) -> Steps:
    """Work off every bucket slab by slab."""
    of_region = tuple(tuple(Slabs(variable) for variable in region.buckets) for region in regions)
    return Steps(regions, of_region, (), math.inf, _peak_bytes(tree, regions, of_region))


def _heaviest_child(tree: Tree, variable: int) -> int:
    """The child with the largest message; -1 if there is none."""
    return max(tree.children[variable], key=tree.message_entries, default=-1)


def _chosen(tree: Tree, best: Mapping[int, _Segment]) -> dict[int, _Segment]:
    """The segments of the best way, by their last variables."""
    chosen: dict[int, _Segment] = {}
    tops = [variable for variable, parent in enumerate(tree.parent) if parent < 0]
    while tops:
        top = tops.pop()
        chosen[top] = best[top]
        inside = best[top].variables
        tops += [c for variable in inside for c in tree.children[variable] if c not in inside]
    return chosen


def _steps(
    tree: Tree, region: Region, chosen: Mapping[int, _Segment], small: list[int]
) -> Iterator[Step]:
    run: list[int] = []
    for variable in region.buckets:
        segment = chosen.get(variable)
        if segment is None:
            continue
        if segment.small:
            run.append(variable)
            continue
        if run:
            yield Run(len(small), tuple(run))
            small += run
            run = []
        yield _block(tree, segment) if segment.heavy else Slabs(variable)
    if run:
        yield Run(len(small), tuple(run))
        small += run


def _block(tree: Tree, segment: _Segment) -> Block:
    heavy, lights = segment.heavy, segment.lights
    scope = _union(tree, segment.variables, heavy)
    layout = _layout(tree, segment.variables, scope, lights)
    groups = (join_groups([group for _, group in pieces]) for pieces in (heavy, lights))
    return Block(segment.variables, next(groups), layout.heavy, next(groups), layout)


def message_orders(
    tree: Tree, steps: Iterable[Iterable[Step]], small: Iterable[int]
) -> list[Scope]:
    """The axes of each message: as a block wants it that has it as its heavy table."""
    orders = list(tree.shared)
    left = frozenset(small)
    for step in itertools.chain.from_iterable(steps):
        if isinstance(step, Block) and not step.heavy.factors and len(step.heavy.children) == 1:
            child = step.heavy.children[0]
            orders[child] = orders[child] if child in left else step.heavy_scope
    return orders


def _union(tree: Tree, variables: Scope, pieces: Iterable[Piece]) -> Scope:
    """Variables that some pieces of a segment have, in elimination order."""
    members = {member for scope, _ in pieces for member in scope}
    return tuple(v for v in (*variables, *tree.shared[variables[-1]]) if v in members)


def _plain(tree: Tree, variable: int, below: float) -> _Segment:
    """One bucket in the loop over small ones, or slab by slab."""
    entries = tree.table_entries(variable)
    if entries <= SMALL_TABLE:
        terms = len(tree.factors[variable]) + len(tree.children[variable])
        seconds = SMALL_OVERHEAD + SMALL_ENTRY * (terms + 1) * entries
        return _Segment((variable,), (), (), seconds, below + seconds, small=True)
    groups = tree.groups(variable)
    passes = 2 * len(groups) + sum(bool(group.children) for _, group in groups) + 2
    seconds = SLAB_OVERHEAD + SLAB_ENTRY * passes * entries
    return _Segment((variable,), (), (), seconds, below + seconds)


def _matrices(tree: Tree, variable: int, below: float) -> list[_Segment]:
    """One bucket as a product of matrices, in all ways to share its tables out."""
    pieces = sorted(tree.pieces(variable), key=lambda piece: -_entries(tree, piece[0]))
    if not pieces or tree.table_entries(variable) < LEAST_HEAVY:
        return []
    segments = []
    for heavy, lights in dict.fromkeys(_shares(tree, pieces)):
        seconds = _matrix_seconds(tree, (variable,), heavy, lights)
        if seconds < math.inf:
            segments.append(_Segment((variable,), heavy, lights, seconds, below + seconds))
    return segments


def _shares(tree: Tree, pieces: Sequence[Piece]) -> Iterator[tuple[tuple[Piece, ...], ...]]:
    """Ways to share tables, the largest first, out to the heavy and the light one."""
    yield tuple(pieces[:1]), tuple(pieces[1:])
    for piece in pieces[:2]:  # what fits into the largest goes there; or into the next one
        whole = set(piece[0])
        inside = tuple(piece for piece in pieces if whole.issuperset(piece[0]))
        outside = tuple(piece for piece in pieces if not whole.issuperset(piece[0]))
        if outside:
            yield (inside, outside) if piece is pieces[0] else (outside, inside)
    heavy = len(pieces)
    members: set[int] = set()
    while heavy > 1 and _entries(tree, members.union(pieces[heavy - 1][0])) <= MOST_LIGHT_ALONE:
        heavy -= 1
        members.update(pieces[heavy][0])
    yield tuple(pieces[:heavy]), tuple(pieces[heavy:])


def _extend(tree: Tree, segment: _Segment, variable: int, child: int) -> _Segment:
    """A segment with one more variable, the parent of the last."""
    others = [piece for piece in tree.pieces(variable) if piece[1].children != (child,)]
    lights = (*segment.lights, *others)
    variables = (*segment.variables, variable)
    seconds = _matrix_seconds(tree, variables, segment.heavy, lights)
    total = segment.total - segment.seconds + seconds
    return segment._replace(variables=variables, lights=lights, seconds=seconds, total=total)


def _entries(tree: Tree, scope: Iterable[int]) -> int:
    return math.prod([tree.sizes[variable] for variable in scope])


def _layout(tree: Tree, variables: Scope, heavy: Scope, lights: Iterable[Piece]) -> Layout:
    light = {member for scope, _ in lights for member in scope}
    shared = tree.shared[variables[-1]]
    inside = set(heavy)
    return Layout(
        summed=tuple(v for v in variables if v not in inside),
        batch=tuple(v for v in shared if v in inside and v in light),
        inner=tuple(v for v in variables if v in inside),
        rows=tuple(v for v in shared if v not in inside),
        columns=tuple(v for v in shared if v in inside and v not in light),
    )


def _matrix_seconds(
    tree: Tree, variables: Scope, heavy: Sequence[Piece], lights: Sequence[Piece]
) -> float:
    """About how long both passes of a block take; infinite if its light table is too large."""
    most = MOST_LIGHT if len(variables) > 1 else MOST_LIGHT_ALONE
    scope, shared = _union(tree, variables, heavy), tree.shared[variables[-1]]
    layout = _layout(tree, variables, scope, lights)
    light = _entries(tree, layout.light)
    if light > most:
        return math.inf
    batch, inner, rows, columns = (_entries(tree, scope) for scope in layout[1:])
    heavy_entries, message = batch * inner * columns, batch * rows * columns
    is_message = len(heavy) == 1 and bool(heavy[0][1].children)
    copied = heavy_entries * (layout.heavy != scope) * (not is_message)
    copied += message * (layout.message != shared)
    product = heavy_entries * (MADE_ENTRY + MADE_TABLE * len(heavy)) if len(heavy) > 1 else 0.0
    operations = 6 * batch * inner * rows * columns
    return (
        MATRIX_OVERHEAD
        + MATRIX_TABLE * (len(lights) + len(variables))
        + operations * (MATRIX_OPERATION + SHORT_OPERATION / min(inner, rows, columns))
        + MATRIX_CALL * batch
        + COPIED_ENTRY * copied
        + product
        + LIGHT_ENTRY * light * (1 + len(lights))
    )


# How much memory is taken at once.

MOST_CUTS = 2**12  # regions so small that more of them save nothing
MOST_IN_VAIN = 4  # cuts, each of half the size, that save nothing
LARGEST_MESSAGE = 2**40  # bytes of a message


def _peak_bytes(tree: Tree, regions: Sequence[Region], of_region: Sequence[Sequence[Step]]) -> int:
    """Follow the messages of both passes and give the most bytes that are alive at once."""
    small = {v for steps in of_region for step in steps if isinstance(step, Run) for v in step[1]}
    entries = [0 if v in small else message for v, message in enumerate(tree.messages)]
    boundary = {child for region in regions for child in region.below}
    alive: set[int] = set()
    now = peak = 2 * sum(_pool_entries(tree, variable, small) for variable in small)

    def send(step: Step) -> None:
        nonlocal now, peak
        if isinstance(step, Run):
            return
        peak = max(peak, now + entries[step.top] + _extra_upward(tree, step))
        alive.add(step.top)
        now += entries[step.top]

    for steps in reversed(of_region):
        for step in steps:
            send(step)
            if len(regions) > 1:
                gone = alive.intersection(children_of(tree, step)) - boundary
                alive -= gone
                now -= sum(entries[child] for child in gone)
    for steps in of_region:
        for step in steps:
            if not isinstance(step, Run) and step.top not in alive:
                send(step)
        for step in reversed(steps):
            told = sum(entries[child] for child in children_of(tree, step))
            if isinstance(step, Run):
                now += told
                continue
            now -= entries[step.top]
            peak = max(peak, now + _extra_downward(tree, step, told))
            now += told - (entries[step.top] if tree.parent[step.top] >= 0 else 0)
    return ENTRY * peak


def _pool_entries(tree: Tree, variable: int, small: set[int]) -> int:
    """Of the tables that a small bucket reads and sends; small children count their own."""
    factors = sum(_entries(tree, tree.scopes[factor]) for factor in tree.factors[variable])
    messages = sum(tree.messages[c] for c in tree.children[variable] if c not in small)
    return factors + messages + tree.messages[variable]


def children_of(tree: Tree, step: Step) -> list[int]:
    """Buckets whose messages a step reads."""
    inside = set(step.variables)
    return [c for variable in inside for c in tree.children[variable] if c not in inside]


def _extra_upward(tree: Tree, step: Block | Slabs) -> int:
    """Entries of what is alive while a message is made, besides messages."""
    if isinstance(step, Slabs):
        return 0
    light, product, copy, message = _copies(tree, step)
    return 2 * light + product + max(copy, message)


def _extra_downward(tree: Tree, step: Block | Slabs, told: int) -> int:
    """Entries of what is alive while beliefs are told to children, besides messages."""
    if isinstance(step, Slabs):
        return told
    light, product, copy, message = _copies(tree, step)
    return max(message, 3 * light + product + copy, 2 * light + product + copy + told)


def _copies(tree: Tree, block: Block) -> tuple[int, int, int, int]:
    """Entries of the light table, of a heavy one that is made, and of copies in another order."""
    layout, shared = block.layout, tree.shared[block.top]
    light, heavy, message = (
        _entries(tree, scope) for scope in (layout.light, block.heavy_scope, shared)
    )
    is_made = len(block.heavy.factors) + len(block.heavy.children) > 1 or any(
        tree.scopes[factor] != block.heavy_scope for factor in block.heavy.factors
    )
    return light, heavy * is_made, 0, message * (layout.message != shared)


# Tables in other orders, and products of matrices.

LEAST_GATHERED = 2**22  # entries of a table that are copied more slowly than code is loaded
LEAST_LOADED = 2**16  # the same, once it is loaded
WIDE_ROW = 16  # entries that are added fast one row at a time
MOST_TILE = 2**12  # entries that are copied at once: they stay in the cache


def strides_of(scope: Scope, sizes: Sequence[int]) -> dict[int, int]:
    """How far a step of each variable moves in a flat table, last of its scope fastest."""
    strides, stride = {}, 1
    for member in reversed(scope):
        strides[member] = stride
        stride *= sizes[member]
    return strides


def offsets(shape: Sequence[int], strides: Sequence[int]) -> Numbers:
    """Where each entry, last axis fastest, is found in a table with these strides."""
    places = np.zeros(1, dtype=np.int64)
    for size, stride in zip(shape, strides, strict=True):
        places = (places[:, None] + stride * np.arange(size)).reshape(-1)
    return places


def permute(table: Floats, scope: Scope, to: Scope, sizes: Sequence[int]) -> Floats:
    """A flat table with its axes in another order; the table itself if that is the same."""
    if scope == to:
        return table
    runs = _runs(scope, to)
    shape = [math.prod([sizes[v] for v in run]) for run in runs]
    order = [runs.index(run) for run in sorted(runs, key=lambda run: to.index(run[0]))]
    least = LEAST_LOADED if has_code(gather) else LEAST_GATHERED
    if len(table) < least:
        return table.reshape(shape).transpose(order).reshape(-1)
    tile = _tile(scope, to, sizes)
    ordered = np.empty(len(table))
    places = []
    for part in ([v for v in to if v not in tile], [v for v in to if v in tile]):
        for strides in (strides_of(to, sizes), strides_of(scope, sizes)):
            places.append(offsets([sizes[v] for v in part], [strides[v] for v in part]))
    gather(ordered, table, *places)
    return ordered


def _tile(scope: Scope, to: Scope, sizes: Sequence[int]) -> set[int]:
    """The last axes of both orders: entries that are near each other in both tables."""
    tile: set[int] = set()
    entries = 1
    for pair in zip(reversed(scope), reversed(to), strict=True):
        for member in pair:
            if member not in tile and entries * sizes[member] > MOST_TILE:
                return tile
            entries *= 1 if member in tile else sizes[member]
            tile.add(member)
    return tile


def _runs(scope: Scope, to: Scope) -> list[Scope]:
    """The axes of a table, in its order, those in one run that stay together."""
    place = {member: axis for axis, member in enumerate(to)}
    runs: list[Scope] = []
    for member in scope:
        if runs and place[member] == place[runs[-1][-1]] + 1:
            runs[-1] = (*runs[-1], member)
        else:
            runs.append((member,))
    return runs


@compiled
def gather(
    ordered: Floats, table: Floats, tile_to: Numbers, tile: Numbers, to: Numbers, place: Numbers
) -> None:
    """Copy a table tile by tile: entry `place` of each tile goes to `to`."""
    for number in range(len(tile)):
        for entry in range(len(place)):
            ordered[tile_to[number] + to[entry]] = table[tile[number] + place[entry]]


def sum_onto(table: Floats, scope: Scope, onto: Scope, sizes: Sequence[int]) -> Floats:
    """Sum a flat table over the variables that are not in `onto`; gives a new one, in its order.

    The longest run of such variables goes first, because it leaves least.
    """
    runs: list[list[int]] = []  # entries, and whether they are left
    for member in scope:
        if runs and runs[-1][1] == (member in onto):
            runs[-1][0] *= sizes[member]
        else:
            runs.append([sizes[member], member in onto])
    total = table
    while len(runs) > sum(left for _, left in runs):
        longest = max((k for k, run in enumerate(runs) if not run[1]), key=lambda k: runs[k][0])
        before, after = (
            math.prod([run[0] for run in some]) for some in (runs[:longest], runs[longest + 1 :])
        )
        total = _sum_middle(total, before, runs.pop(longest)[0], after)
    kept = [member for member in scope if member in onto]
    shaped = total.reshape([sizes[member] for member in kept])
    return shaped.transpose([kept.index(member) for member in onto]).flatten()


def _sum_middle(table: Floats, before: int, entries: int, after: int) -> Floats:
    """Sum a table [before, entries, after] over its middle axis."""
    if before == 1 or after >= WIDE_ROW or entries * after > MOST_TILE:
        total: Floats = table.reshape(before, entries, after).sum(axis=1)
        return total.reshape(-1)
    same = np.tile(np.eye(after), (entries, 1))  # a product of matrices adds short rows faster
    summed: Floats = table.reshape(before, entries * after) @ same
    return summed.reshape(-1)


def multiply_tables(
    pieces: Sequence[tuple[Scope, Floats]], scope: Scope, sizes: Sequence[int]
) -> Floats:
    """The product of flat tables over some of the variables of a scope, small ones first."""
    whole = [sizes[member] for member in scope]
    products = []
    for read, members in group_scopes([some for some, _ in pieces], scope, sizes):
        product = functools.reduce(
            np.multiply, [spread(*pieces[number], read, sizes) for number in members]
        )
        products.append((read, np.broadcast_to(product, [sizes[v] for v in read])))
    products.sort(key=lambda entry: entry[1].size)
    shaped = [spread(read, product, scope, sizes) for read, product in products]
    total: Floats = functools.reduce(np.multiply, shaped, np.ones([1] * len(scope)))
    return np.broadcast_to(total, whole).reshape(-1)


def spread(scope: Scope, table: Floats, over: Scope, sizes: Sequence[int]) -> Floats:
    """A table with an axis for each variable of a larger scope, of length 1 where it is new."""
    place = {member: axis for axis, member in enumerate(over)}
    order = sorted(range(len(scope)), key=lambda axis: place[scope[axis]])
    shaped = table.reshape([sizes[member] for member in scope]).transpose(order)
    return shaped.reshape([sizes[member] if member in scope else 1 for member in over])


class Matrices:
    """The tables of a block, flat, as stacks of matrices; its message has axes in some `order`."""

    def __init__(self, block: Block, tree: Tree, order: Scope) -> None:
        self.block, self.tree, self.order = block, tree, order
        _, self.batch, self.inner, self.rows, self.columns = (
            _entries(tree, scope) for scope in block.layout
        )

    def message(self, heavy: Floats, light: Floats) -> Floats:
        """What a block sends."""
        product = self._light(light).transpose(0, 2, 1) @ self._heavy(heavy)
        layout, sizes = self.block.layout, self.tree.sizes
        return permute(product.reshape(-1), layout.message, self.order, sizes)

    def ratios(self, ratio: Floats) -> Floats:
        """What comes from above, [batch, rows, columns]."""
        ordered = permute(ratio, self.order, self.block.layout.message, self.tree.sizes)
        return ordered.reshape(self.batch, self.rows, self.columns)

    def light_beliefs(self, ratios: Floats, heavy: Floats, light: Floats) -> Floats:
        """How probable the entries of the light table are, in its order."""
        adjoint = self._heavy(heavy) @ ratios.transpose(0, 2, 1)
        shaped = light.reshape(-1, adjoint.size) * adjoint.reshape(-1)
        return shaped.reshape(-1)

    def heavy_adjoint(self, ratios: Floats, light: Floats) -> Floats:
        """What the heavy table is multiplied with, in its order."""
        adjoint = self._light(light) @ ratios
        return adjoint.reshape(-1)

    def _heavy(self, heavy: Floats) -> Floats:
        return heavy.reshape(self.batch, self.inner, self.columns)

    def _light(self, light: Floats) -> Floats:
        summed: Floats = light.reshape(-1, self.batch * self.inner * self.rows).sum(axis=0)
        return summed.reshape(self.batch, self.inner, self.rows)
