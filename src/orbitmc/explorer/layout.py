"""Where the boxes and arrows of a network stand: in layers, as a lattice, or by distance.

Layers are filled from below, each with a limited number of boxes (Coffman and Graham 1972). The
order within them is improved by the means of neighbours (Sugiyama, Tagawa and Toda 1981), and
places are the nearest ones to those means that keep boxes apart: an isotonic regression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc.report.svg import place_by_distance

Arrow = tuple[int, int]
Point = tuple[float, float]

WIDTH, HEADING, ROW, THIN_ROW, PADDING = 190, 25, 17, 6, 7  # pixels of a box and of its parts
MOST_ROWS = 8  # values that have a line of their own
APART, BETWEEN, LANE, MARGIN = 22, 46, 14, 24  # boxes, layers, arrows that pass a layer, the rim
SWEEPS, PASSES, PUSHES = 24, 40, 400
CLOSE = 0.85  # times the size of a box: neighbours of a field, before boxes are pushed apart
LEAST = 0.1  # pixels of a line
SHAPE = 1.5  # times the root of the number of boxes is how many a layer may have
LANE_WEIGHT = 4.0  # of a neighbour that only carries an arrow on: those become straight
CENTRE_WEIGHT = 0.12  # of the middle of the drawing, so that it does not drift to a side


@dataclass(frozen=True)
class Placed:
    """Boxes by their upper left corners, and a path for each line; all within a size."""

    corners: list[Point]
    paths: list[str]
    width: float
    height: float


def box_height(values: int) -> float:
    """How tall the box of a variable is."""
    rows = ROW * values if values <= MOST_ROWS else THIN_ROW * values + ROW
    return HEADING + rows + PADDING


def place_in_layers(heights: Sequence[float], arrows: Sequence[Arrow]) -> Placed:
    """Boxes in layers, so that all arrows point down."""
    if not heights:
        return Placed([], [], 2 * MARGIN, 2 * MARGIN)
    layer = assign_layers(len(heights), arrows)
    chains, layers = _with_lanes(layer, arrows)
    order = _reduce_crossings(layers, chains)
    across = _spread(order, chains, len(heights))
    return _draw(heights, arrows, layer, chains, across)


def assign_layers(count: int, arrows: Sequence[Arrow]) -> list[int]:
    """The layer of each box, 0 at the top; children lie below their parents.

    >>> assign_layers(4, [(0, 1), (1, 2), (0, 2)])
    [0, 1, 2, 2]
    """
    parents, children = _relations(count, arrows)
    depth = _depths(parents, children)
    most = max(3, math.ceil(SHAPE * math.sqrt(count)))
    level, size = [-1] * count, [0]
    left = set(range(count))
    while left:
        ready = [v for v in left if all(0 <= level[c] < len(size) - 1 for c in children[v])]
        chosen = sorted(ready, key=lambda v: (-depth[v], v))[:most]
        for v in chosen:
            level[v] = len(size) - 1
        size[-1] = len(chosen)
        left.difference_update(chosen)
        size.append(0)
    top = max(level)
    layer = [top - place for place in level]
    return _pull_down(layer, parents, children, most)


def _relations(count: int, arrows: Sequence[Arrow]) -> tuple[list[list[int]], list[list[int]]]:
    parents: list[list[int]] = [[] for _ in range(count)]
    children: list[list[int]] = [[] for _ in range(count)]
    for parent, child in arrows:
        parents[child].append(parent)
        children[parent].append(child)
    return parents, children


def _depths(parents: list[list[int]], children: list[list[int]]) -> list[int]:
    """How many arrows the longest way from a root has."""
    depth, open_parents = [0] * len(parents), [len(some) for some in parents]
    ready = [v for v, count in enumerate(open_parents) if not count]
    for v in ready:
        for child in children[v]:
            depth[child] = max(depth[child], depth[v] + 1)
            open_parents[child] -= 1
            if not open_parents[child]:
                ready.append(child)
    return depth


def _pull_down(
    layer: list[int], parents: list[list[int]], children: list[list[int]], most: int
) -> list[int]:
    """Put roots above their children where there is room, which makes arrows shorter."""
    taken = np.bincount(layer, minlength=max(layer) + 1)
    for v in sorted(range(len(layer)), key=lambda v: -layer[v]):
        if len(children[v]) <= len(parents[v]) or not children[v]:
            continue
        lowest = min(layer[child] for child in children[v]) - 1
        room = [place for place in range(lowest, layer[v], -1) if taken[place] < most]
        if room:
            taken[layer[v]] -= 1
            layer[v] = room[0]
            taken[room[0]] += 1
    used = {place: number for number, place in enumerate(sorted(set(layer)))}
    return [used[place] for place in layer]


def _with_lanes(
    layer: Sequence[int], arrows: Sequence[Arrow]
) -> tuple[list[list[int]], list[list[int]]]:
    """Each arrow as a chain from layer to layer, and what stands in each layer, lanes included.

    Arrows from the same parent share its lanes.
    """
    layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for v, place in enumerate(layer):
        layers[place].append(v)
    chains, lanes = [], dict[tuple[int, int], int]()
    for parent, child in arrows:
        chain = [parent]
        for place in range(layer[parent] + 1, layer[child]):
            if (parent, place) not in lanes:
                lanes[parent, place] = len(layer) + len(lanes)
                among = layers[place]  # in the middle: its boxes may all have the same parent
                among.insert(len(among) // 2, lanes[parent, place])
            chain.append(lanes[parent, place])
        chains.append([*chain, child])
    return chains, layers


def _reduce_crossings(layers: list[list[int]], chains: list[list[int]]) -> list[list[int]]:
    """Order layers by the means of their neighbours; gives the best order that was met."""
    above, below = _neighbours(chains)
    best, fewest = layers, _crossings(layers, below)
    order = [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        beside = above if down else below
        for place in range(len(order)) if down else reversed(range(len(order))):
            at = {v: k for other in order for k, v in enumerate(other)}
            middle = {v: _mean_place(v, beside, at) for v in order[place]}
            order[place] = sorted(order[place], key=lambda v: (middle[v], at[v]))
        crossings = _crossings(order, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in order], crossings
    return best


def _neighbours(chains: list[list[int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    steps = (pair for chain in chains for pair in pairwise(chain))
    for upper, lower in dict.fromkeys(steps):
        below.setdefault(upper, []).append(lower)
        above.setdefault(lower, []).append(upper)
    return above, below


def _mean_place(v: int, beside: Mapping[int, list[int]], at: Mapping[int, int]) -> float:
    near = beside.get(v)
    return sum(at[u] for u in near) / len(near) if near else at[v]


def _crossings(layers: list[list[int]], below: Mapping[int, list[int]]) -> int:
    """How many pairs of arrows cross."""
    total = 0
    for upper, lower in pairwise(layers):
        at = {v: k for k, v in enumerate(lower)}
        ends = [at[u] for v in upper for u in sorted(below.get(v, []), key=at.__getitem__)]
        places = np.array(ends)
        total += int(sum((places[:k] > end).sum() for k, end in enumerate(ends)))
    return total


def _spread(layers: list[list[int]], chains: list[list[int]], boxes: int) -> dict[int, float]:
    """The middle of each box and lane, left to right."""
    above, below = _neighbours(chains)
    across: dict[int, float] = {}
    for layer in layers:
        across |= dict(zip(layer, np.cumsum([0.0, *_gaps(layer, boxes)]), strict=True))
    for turn in range(PASSES):
        centre = sum(across.values()) / len(across)
        for layer in layers if turn % 2 == 0 else reversed(layers):
            wanted = [_wanted(v, above, below, across, boxes, centre) for v in layer]
            across |= dict(zip(layer, keep_apart(wanted, _gaps(layer, boxes)), strict=True))
    return across


def _gaps(layer: Sequence[int], boxes: int) -> list[float]:
    """How far the middles of neighbours in a layer must be apart."""
    half = [(WIDTH + APART) / 2 if v < boxes else LANE / 2 for v in layer]
    return [a + b for a, b in pairwise(half)]


def _wanted(
    v: int,
    above: Mapping[int, list[int]],
    below: Mapping[int, list[int]],
    across: Mapping[int, float],
    boxes: int,
    centre: float,
) -> float:
    near = [*above.get(v, []), *below.get(v, [])]
    weights = [LANE_WEIGHT if v >= boxes and u >= boxes else 1.0 for u in near]
    pulled = sum(w * across[u] for w, u in zip(weights, near, strict=True))
    return (pulled + CENTRE_WEIGHT * centre) / (sum(weights) + CENTRE_WEIGHT)


def keep_apart(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to those wanted, by least squares, that keep their order and gaps.

    >>> keep_apart([0.0, 0.0, 9.0], [2.0, 2.0])
    [-1.0, 1.0, 9.0]
    """
    offset = np.cumsum([0.0, *gaps])[: len(wanted)]
    means: list[float] = []
    sizes: list[int] = []
    for goal in (np.asarray(wanted, dtype=np.float64) - offset).tolist():
        means.append(goal)
        sizes.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mean, size = means.pop(), sizes.pop()
            means[-1] = (means[-1] * sizes[-1] + mean * size) / (sizes[-1] + size)
            sizes[-1] += size
    level: list[float] = (np.repeat(means, sizes) + offset).tolist()
    return level


def _draw(
    heights: Sequence[float],
    arrows: Sequence[Arrow],
    layer: Sequence[int],
    chains: list[list[int]],
    across: Mapping[int, float],
) -> Placed:
    tall = [0.0] * (max(layer) + 1)
    for v, place in enumerate(layer):
        tall[place] = max(tall[place], heights[v])
    top = (MARGIN + np.cumsum([0.0, *(h + BETWEEN for h in tall)])).tolist()
    lanes = [across[v] for v in across if v >= len(heights)]
    left = min([across[v] - WIDTH / 2 for v in range(len(heights))] + [x - LANE for x in lanes])
    right = max([across[v] + WIDTH / 2 for v in range(len(heights))] + [x + LANE for x in lanes])
    x = {v: middle - left + MARGIN for v, middle in across.items()}
    y = [top[place] + (tall[place] - heights[v]) / 2 for v, place in enumerate(layer)]
    paths = [
        _path(chain, x, y[parent] + heights[parent], y[child], layer[parent], top, tall)
        for (parent, child), chain in zip(arrows, chains, strict=True)
    ]
    corners = [(round(x[v] - WIDTH / 2, 1), round(y[v], 1)) for v in range(len(heights))]
    return Placed(corners, paths, right - left + 2 * MARGIN, top[-1] - BETWEEN + MARGIN)


def _path(
    chain: Sequence[int],
    x: Mapping[int, float],
    start: float,
    end: float,
    first: int,
    top: Sequence[float],
    tall: Sequence[float],
) -> str:
    """A line that is bent between layers only, and passes boxes of a layer straight."""
    pieces = [f"M{x[chain[0]]:.1f} {start:.1f}V{top[first] + tall[first]:.1f}"]
    for number, (a, b) in enumerate(pairwise(chain), first):
        low, high = top[number] + tall[number], top[number + 1]
        middle = (low + high) / 2
        pieces.append(f"C{x[a]:.1f} {middle:.1f} {x[b]:.1f} {middle:.1f} {x[b]:.1f} {high:.1f}")
        last = number + 1 == first + len(chain) - 1
        down = end if last else high + tall[number + 1]
        if down > high + LEAST:  # what has no length would turn the tip of the arrow
            pieces.append(f"V{down:.1f}")
    return "".join(pieces)


def place_apart(heights: Sequence[float], edges: Sequence[Arrow]) -> Placed:
    """Boxes by their distances in the graph, none upon another; lines are straight."""
    count = len(heights)
    size = np.array([[WIDTH + 2 * APART, height + 2 * APART] for height in heights])
    places = place_by_distance(count, list(edges)) * size.mean(axis=0).max() * CLOSE
    room = (size[:, None] + size[None]) / 2
    for _ in range(PUSHES):
        between = places[:, None] - places[None]
        over = room - np.abs(between)
        together = (over > 0).all(axis=2)
        np.fill_diagonal(together, False)
        if not together.any():
            break
        sideways = over[:, :, 0] < over[:, :, 1]
        sign = np.where(between >= 0, 1.0, -1.0)
        sign[np.tril_indices(count)] = -np.swapaxes(sign, 0, 1)[np.tril_indices(count)]
        push = np.stack([sideways, ~sideways], axis=2) * together[:, :, None] * sign * over
        places = places + push.sum(axis=1) / 3
    corners = places - size / 2 + APART
    corners += MARGIN - corners.min(axis=0)
    middles = corners + np.array([[WIDTH / 2, height / 2] for height in heights])
    paths = [
        f"M{middles[a, 0]:.1f} {middles[a, 1]:.1f}L{middles[b, 0]:.1f} {middles[b, 1]:.1f}"
        for a, b in edges
    ]
    width, height = ((corners + size - 2 * APART).max(axis=0) + MARGIN).tolist()
    rounded = [(round(x, 1), round(y, 1)) for x, y in corners.tolist()]
    return Placed(rounded, paths, width, height)


def find_lattice(count: int, edges: Sequence[Arrow]) -> Floats | None:
    """The row and column of each variable of a rectangular lattice; None if it is no lattice.

    Ways from a corner, and from another one in its row, say where a variable stands.

    >>> find_lattice(4, [(0, 1), (2, 3), (0, 2), (1, 3)]).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    corners = [v for v in range(count) if len(near[v]) == 2]
    if len(corners) != 4:
        return None
    first = _distances(near, corners[0])
    if (first < 0).any():
        return None
    for other in corners[1:]:
        second, wide = _distances(near, other), first[other]
        places = np.stack([(first + second - wide) / 2, (first - second + wide) / 2], axis=1)
        if _is_lattice(places, edges):
            return places
    return None


def _is_lattice(places: Floats, edges: Sequence[Arrow]) -> bool:
    rows, columns = (places.max(axis=0) + 1).tolist()
    steps = np.array([np.abs(places[a] - places[b]).sum() for a, b in edges])
    whole = (places == np.floor(places)).all() and (places >= 0).all()
    apart = len({tuple(place) for place in places.tolist()}) == len(places) == rows * columns
    lines = rows * (columns - 1) + columns * (rows - 1)
    return bool(whole and apart and (steps == 1).all() and len(edges) == lines)


def _distances(near: list[list[int]], start: int) -> Floats:
    """How many edges lie between one variable and each other; -1 if no way leads there."""
    distance = np.full(len(near), -1.0)
    distance[start] = 0
    reached = [start]
    for v in reached:
        for u in near[v]:
            if distance[u] < 0:
                distance[u] = distance[v] + 1
                reached.append(u)
    return distance
