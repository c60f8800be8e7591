"""Models with distinct tables of any size: what grids and programs with shared tables do not show.

All are made with array operations, in time that grows with their size, and depend on their kind,
their size and a seed only.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import readonly
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model

Numbers = NDArray[np.int64]

HUB = 10_000  # neighbours of a hub
SIDE = 40  # of the grid that is too wide for elimination
MOST_VALUES = 200
OBSERVED = 100  # of so many variables, one is observed


def irregular(kind: str, variables: int, seed: int = 1) -> Model:
    """A model of some kind with about so many variables.

    >>> irregular("chain", 1000).graph.factors
    1999
    """
    return KINDS[kind](variables, np.random.default_rng(seed))


def _sparse(variables: int, rng: np.random.Generator) -> Model:
    """A sparse random Markov network: three pairs for two variables, two to four values."""
    sizes = rng.integers(2, 5, variables)
    builder = Builder(sizes)
    _add(builder, sizes, np.arange(variables)[:, None], rng)
    pairs = rng.integers(0, variables, (3 * variables // 2, 2))
    _add(builder, sizes, pairs[pairs[:, 0] != pairs[:, 1]], rng)
    return _named(builder, sizes)


def _network(variables: int, rng: np.random.Generator) -> Model:
    """A random Bayesian network: up to three parents from anywhere before, two to four values."""
    sizes = rng.integers(2, 5, variables)
    builder = Builder(sizes)
    own = np.arange(variables)
    parents = (rng.random((variables, 3)) * own[:, None]).astype(np.int64)
    parents.sort(axis=1)
    new = np.diff(parents, axis=1, prepend=-1) > 0
    new &= rng.integers(0, 4, variables)[:, None] > np.arange(3)
    new[0] = False
    for wanted in np.unique(new, axis=0):
        family = np.flatnonzero((new == wanted).all(axis=1))
        _add(builder, sizes, np.column_stack([parents[family][:, wanted], family]), rng, sums=True)
    return _named(builder, sizes)


def _zeros(variables: int, rng: np.random.Generator) -> Model:
    """A random Bayesian network; of each table a tenth is impossible."""
    model = _network(variables, rng)
    graph, table = model.graph, model.graph.table.copy()
    first = np.zeros(len(table), dtype=bool)
    first[graph.table_start[:-1]] = True  # where every variable has its first value
    table[(rng.random(len(table)) < 0.1) & ~first] = -np.inf
    return replace(model, graph=graph._replace(table=readonly(table)))


def _observed_network(variables: int, rng: np.random.Generator) -> Model:
    """A random Bayesian network of which one variable in a hundred is observed."""
    model = _network(variables, rng)
    seen = rng.choice(variables, max(1, variables // OBSERVED), replace=False).tolist()
    return model.given({model.names[variable]: model.values[variable][0] for variable in seen})


def _components(variables: int, rng: np.random.Generator) -> Model:
    """Components of three variables beside a grid that is too wide for elimination."""
    core = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    few = np.arange(max(1, (variables - core.size) // 3))[:, None] * 3 + core.size
    sizes = np.full(core.size + 3 * len(few), 2)
    builder = Builder(sizes)
    across, down = (core[:, :-1], core[:, 1:]), (core[:-1], core[1:])
    for pair in (across, down):
        _add(builder, sizes, np.column_stack([one.ravel() for one in pair]), rng)
    for places in ([0, 1], [1, 2], [0, 1, 2]):
        _add(builder, sizes, few + np.array(places), rng)
    return _named(builder, sizes)


def _hubs(variables: int, rng: np.random.Generator) -> Model:
    """Hubs with ten thousand neighbours each, and a chain through all others."""
    sizes = np.full(variables, 2)
    builder = Builder(sizes)
    hubs = max(1, variables // HUB)
    others = np.arange(hubs, variables)
    pairs = np.column_stack([np.arange(len(others)) % hubs, others])
    _add(builder, sizes, pairs, rng, spread=4.0 / np.sqrt(len(others) / hubs))
    _add(builder, sizes, np.column_stack([others[:-1], others[1:]]), rng)
    return _named(builder, sizes)


def _chain(variables: int, rng: np.random.Generator) -> Model:
    """A chain of ternary variables with fields."""
    sizes = np.full(variables, 3)
    builder = Builder(sizes)
    own = np.arange(variables)
    _add(builder, sizes, own[:, None], rng)
    _add(builder, sizes, np.column_stack([own[:-1], own[1:]]), rng)
    return _named(builder, sizes)


def _tree(variables: int, rng: np.random.Generator) -> Model:
    """A deep tree: each variable hangs on one of the ten before it."""
    sizes = rng.integers(2, 4, variables)
    builder = Builder(sizes)
    own = np.arange(1, variables)
    above = own - 1 - (rng.random(variables - 1) * np.minimum(own, 10)).astype(np.int64)
    _add(builder, sizes, np.column_stack([above, own]), rng)
    return _named(builder, sizes)


def _values(variables: int, rng: np.random.Generator) -> Model:
    """Binary variables in a sparse graph; on each hangs one of 1 to 200 values."""
    half = variables // 2
    many = np.exp(rng.uniform(0, np.log(MOST_VALUES + 1), half)).astype(np.int64)
    sizes = np.concatenate([np.full(half, 2), many])
    builder = Builder(sizes)
    own = np.arange(half)
    pairs = rng.integers(0, half, (3 * half // 2, 2))
    _add(builder, sizes, pairs[pairs[:, 0] != pairs[:, 1]], rng)
    _add(builder, sizes, np.column_stack([own, own + half]), rng)
    return _named(builder, sizes)


def _add(
    builder: Builder,
    sizes: Numbers,
    scopes: Numbers,
    rng: np.random.Generator,
    *,
    spread: float = 1.0,
    sums: bool = False,
) -> None:
    """Add factors with tables of their own; if they `sum` to one, probabilities of the last."""
    shapes, group = np.unique(sizes[scopes], axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(group.reshape(-1), minlength=len(shapes)))
    for shape, rows in zip(shapes.tolist(), np.split(scopes[order], ends[:-1]), strict=True):
        tables = rng.normal(0.0, spread, (len(rows), int(np.prod(shape))))
        if sums:
            weights = np.exp(tables).reshape(len(rows), -1, shape[-1])
            tables = np.log(weights / weights.sum(axis=2, keepdims=True)).reshape(len(rows), -1)
        builder.add_factors(rows, builder.add_tables(tables))


def _named(builder: Builder, sizes: Numbers) -> Model:
    from orbitmc.formats.uai import default_names

    return Model(builder.build(), *default_names(sizes.tolist()))


KINDS: dict[str, Callable[[int, np.random.Generator], Model]] = {
    "sparse": _sparse,
    "network": _network,
    "observed": _observed_network,
    "zeros": _zeros,
    "components": _components,
    "hubs": _hubs,
    "chain": _chain,
    "tree": _tree,
    "values": _values,
}
