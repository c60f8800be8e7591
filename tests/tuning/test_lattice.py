"""Lattices are recognised by their pairs alone, and nothing else is taken for one."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.models._chimera import random_chimera
from orbitmc.models._ising import grid_edges, ising
from orbitmc.tuning.structure import lattice
from tests.tuning.models import assignment


def edges_of(rows, columns, closed):
    """Pairs of a lattice whose rows, columns, both or none are closed to rings."""
    sites = np.arange(rows * columns).reshape(rows, columns)
    ends = [grid_edges(rows, columns)]
    if "rows" in closed:
        ends.append(np.stack([sites[:, -1], sites[:, 0]], axis=1))
    if "columns" in closed:
        ends.append(np.stack([sites[-1], sites[0]], axis=1))
    return np.concatenate(ends)


def shuffled(rng, edges, variables):
    """An Ising model with such pairs, its variables and pairs in any order."""
    renamed = rng.permutation(variables)[edges]
    rng.shuffle(renamed)
    return ising(rng.normal(size=variables), renamed, rng.normal(size=len(renamed))).graph


def neighbours(sites, closed):
    """Pairs of variables that an array of sites makes neighbours."""
    pairs = [(sites[:, :-1], sites[:, 1:]), (sites[:-1], sites[1:])]
    pairs += [(sites[:, -1:], sites[:, :1])] if closed[0] else []
    pairs += [(sites[-1:], sites[:1])] if closed[1] else []
    return {frozenset(two) for a, b in pairs for two in zip(a.flat, b.flat, strict=True)}


CLOSED = [(), ("rows",), ("columns",), ("rows", "columns")]


@pytest.mark.parametrize("closed", CLOSED, ids=["grid", "tube", "turned tube", "torus"])
@pytest.mark.parametrize("shape", [(3, 3), (3, 8), (4, 5), (4, 9), (7, 6), (20, 30)])
def test_lattices_are_found_whatever_their_sites_are_called(shape, closed):
    edges = edges_of(*shape, closed)
    graph = shuffled(np.random.default_rng(7), edges, shape[0] * shape[1])
    found = lattice(graph)
    assert sorted(found.shape) == sorted(shape)
    told = {frozenset(graph.scope_of(f).tolist()) for f in range(graph.factors)}
    told = {pair for pair in told if len(pair) == 2}
    turned = [(False, False), (True, False), (False, True), (True, True)]
    assert told in [neighbours(found, ends) for ends in turned]


def test_the_lattice_of_a_grid_is_the_grid():
    found = lattice(om.potts_grid(4, 6, 3, 0.5).graph)
    assert np.array_equal(found, np.arange(24).reshape(4, 6))


def with_a_pair_more():
    return np.concatenate([grid_edges(5, 5), [[0, 12]]])


def with_a_pair_less():
    return np.delete(grid_edges(5, 5), 17, axis=0)


def crossed():
    """A torus with two pairs that have exchanged ends."""
    edges = grid_edges(6, 6, periodic=True)
    edges[[3, 20], 1] = edges[[20, 3], 1]
    return edges


@pytest.mark.parametrize("edges", [with_a_pair_more, with_a_pair_less, crossed])
def test_what_is_nearly_a_lattice_is_none(edges):
    found = edges()
    assert lattice(shuffled(np.random.default_rng(1), found, int(found.max()) + 1)) is None


def cubic_lattice():
    cube = np.arange(27).reshape(3, 3, 3)
    steps = [(cube[:-1], cube[1:]), (cube[:, :-1], cube[:, 1:]), (cube[..., :-1], cube[..., 1:])]
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in steps])


def ring():
    return np.stack([np.arange(12), (np.arange(12) + 1) % 12], axis=1)


def random_regular():
    """Each of 60 variables in four pairs."""
    rng = np.random.default_rng(3)
    for _ in range(10_000):
        ends = rng.permutation(np.repeat(np.arange(60), 4)).reshape(-1, 2)
        if (ends[:, 0] != ends[:, 1]).all() and len(np.unique(np.sort(ends), axis=0)) == 120:
            return ends
    raise AssertionError("no such graph was found")


@pytest.mark.parametrize("edges", [cubic_lattice, ring, random_regular])
def test_other_graphs_are_no_lattices(edges):
    found = edges()
    assert lattice(shuffled(np.random.default_rng(2), found, int(found.max()) + 1)) is None


def test_other_models_are_no_lattices():
    for model in (assignment(4), random_chimera(2, 2, beta=0.5, seed=1)):
        assert lattice(model.graph) is None
    observed = om.ising_grid(4, 4, 0.3).given({"s1_1": "up"})
    assert lattice(observed.graph) is None


def test_sites_with_different_numbers_of_values_make_no_lattice():
    values = {f"v{k}": ["a", "b"] if k else ["a", "b", "c"] for k in range(9)}
    pairs = [(f"v{a}", f"v{b}") for a, b in grid_edges(3, 3)]
    sizes = {name: len(own) for name, own in values.items()}
    factors = [((a, b), np.full((sizes[a], sizes[b]), 2.0)) for a, b in pairs]
    assert lattice(om.model(values, factors).graph) is None
