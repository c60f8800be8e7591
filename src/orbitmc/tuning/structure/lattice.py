"""Find out whether the variables of a model are the sites of a square lattice.

Nobody has to say so: the graph of its pairs shows it. A first row is found at the border, or on a
torus by going straight on; then each site knows all its neighbours but the one below.
"""

from itertools import pairwise

import numpy as np

from orbitmc._util.arrays import Numbers, lengths
from orbitmc.graph.factor_graph import FactorGraph

LEAST_SIDE = 3
NOWHERE = 0  # sites are numbered from 1 here

Near = list[set[int]]


def lattice(graph: FactorGraph) -> Numbers | None:
    """The variables as an array [row, column] whose neighbours alone are coupled, or None.

    Grids, cylinders and tori with sides of three or more are found if no pair of neighbours is
    missing (a torus of four by four is not: each direction looks like every other one).
    """
    pairs = _pairs(graph)
    if pairs is None or (graph.cardinality != graph.cardinality[0]).any():
        return None
    ends = pairs.reshape(-1)
    degree = np.bincount(ends, minlength=graph.variables + 1)
    if degree[1:].min() < 2 or degree.max() > 4:
        return None
    near: Near = [set() for _ in range(graph.variables + 1)]
    for one, other in pairs.tolist():
        near[one].add(other)
        near[other].add(one)
    first = _first_rows(near, degree)
    found = None if first is None else _all_rows(*first, pairs, graph.variables)
    return found if found is not None and _fits(found, pairs) else None


def _pairs(graph: FactorGraph) -> Numbers | None:
    """Coupled pairs, each once, numbered from 1; None if they are too many, or factors larger."""
    arity = lengths(graph.scope_start)
    if graph.variables < LEAST_SIDE**2 or arity.max(initial=0) != 2:
        return None
    place = graph.scope_start[np.flatnonzero(arity == 2)].astype(np.int64)
    if len(place) < graph.variables:
        return None
    ends = np.stack([graph.scope[place], graph.scope[place + 1]], axis=1).astype(np.int64)
    base = graph.variables + 1
    keys = np.unique((ends.min(axis=1) + 1) * base + ends.max(axis=1) + 1)
    return np.stack([keys // base, keys % base], axis=1) if len(keys) <= 2 * base else None


def _first_rows(near: Near, degree: Numbers) -> tuple[Numbers, Numbers] | None:
    """A row of sites, and the row above it (nowhere, at a border)."""
    corners = np.flatnonzero(degree == 2)
    border = np.flatnonzero(degree == 3)
    if len(corners):
        row = _along_border(near, degree, int(corners[0]))
    elif len(border):
        row = _along_border(near, degree, int(border[0]))
    else:
        return _straight_rows(near)
    return None if row is None else (np.array(row), np.full(len(row), NOWHERE))


def _along_border(near: Near, degree: Numbers, start: int) -> list[int] | None:
    """Walk along sites of few neighbours, to the next corner or around."""
    row, before, here = [start], NOWHERE, start
    while len(row) < len(near):
        ahead = sorted(site for site in near[here] if degree[site] < 4 and site != before)
        if not ahead:
            return None
        before, here = here, ahead[0]
        if here == start:
            return row
        row.append(here)
        if degree[here] == 2:
            return row
    return None


def _straight_rows(near: Near) -> tuple[Numbers, Numbers] | None:
    """A row around a torus, and the row above it."""
    for second in sorted(near[1]):
        row = [1, second]
        while (ahead := _straight_on(near, row[-2], row[-1])) != 1:
            if ahead == NOWHERE or len(row) > len(near):
                break
            row.append(ahead)
        else:
            above = _beside(near, row)
            return None if above is None else (np.array(row), above)
    return None


def _straight_on(near: Near, before: int, here: int) -> int:
    """The neighbour that has no other neighbour in common with the site before; else nowhere."""
    ahead = [s for s in near[here] if s != before and len(near[s] & near[before]) == 1]
    return ahead[0] if len(ahead) == 1 else NOWHERE


def _beside(near: Near, row: list[int]) -> Numbers | None:
    """One of the two rows beside a row: each pair of neighbours in both is a square."""
    found = [min(near[row[0]] - {row[1], row[-1]})]
    for before, here in pairwise(row):
        corner = (near[found[-1]] & near[here]) - {before}
        if len(corner) != 1:
            return None
        found.append(corner.pop())
    return np.array(found)


def _all_rows(row: Numbers, above: Numbers, pairs: Numbers, sites: int) -> Numbers | None:
    """Go down: of the neighbours of a site, only the one below is in no row so far."""
    columns = len(row)
    if sites % columns or min(columns, sites // columns) < LEAST_SIDE:
        return None
    every = np.zeros(sites + 1, dtype=np.int64)  # neighbours, all in one number
    np.bitwise_xor.at(every, pairs[:, 0], pairs[:, 1])
    np.bitwise_xor.at(every, pairs[:, 1], pairs[:, 0])
    around = bool((np.sort(pairs, axis=1) == np.sort(row[[0, -1]])).all(axis=1).any())
    ends = (row[-1], row[0]) if around else (NOWHERE, NOWHERE)
    found = [row]
    for _ in range(sites // columns - 1):
        left, right = np.roll(row, 1), np.roll(row, -1)
        left[0], right[-1] = ends
        below = every[row] ^ left ^ right ^ above
        if below.min() < 1 or below.max() > sites:
            return None
        row, above = below, row
        ends = (row[-1], row[0]) if around else ends
        found.append(row)
    return np.array(found) - 1


def _fits(found: Numbers, pairs: Numbers) -> bool:
    """Whether every site is there once, and every pair joins neighbours."""
    rows, columns = found.shape
    if not np.array_equal(np.sort(found.reshape(-1)), np.arange(found.size)):
        return False
    place = np.empty(found.size, dtype=np.int64)
    place[found.reshape(-1)] = np.arange(found.size)
    one, other = place[pairs[:, 0] - 1], place[pairs[:, 1] - 1]
    down, right = abs(one // columns - other // columns), abs(one % columns - other % columns)
    beside = (down == 0) & ((right == 1) | (right == columns - 1))
    below = (right == 0) & ((down == 1) | (down == rows - 1))
    return bool((beside | below).all())
