"""Parts that hold together are found by their couplings, in all sizes."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.models._chimera import random_chimera
from orbitmc.models._ising import grid_edges, ising
from orbitmc.tuning.structure import strong_parts
from tests.tuning.models import named, one_hot_pages


def islands(count=4, size=5, *, bridge=0.2, seed=0):
    """Rings of strong couplings of either sign, weakly joined."""
    rng = np.random.default_rng(seed)
    spins = np.arange(count * size).reshape(count, size)
    inside = np.stack([spins, np.roll(spins, 1, axis=1)], axis=2).reshape(-1, 2)
    between = np.stack([spins[:-1, 0], spins[1:, 1]], axis=1)
    couplings = [2.0 * rng.choice([-1, 1], len(inside)), np.full(len(between), bridge)]
    fields = rng.normal(0.0, 0.1, spins.size)
    return spins, ising(fields, np.concatenate([inside, between]), np.concatenate(couplings))


def test_islands_are_parts():
    spins, model = islands()
    assert sorted(part.tolist() for part in strong_parts(model.graph)) == spins.tolist()


def test_cells_of_a_chimera_are_parts_though_all_couplings_are_equally_strong():
    found = strong_parts(random_chimera(2, 3, beta=0.6, field=0.05, seed=1).graph)
    assert sorted(part[0] for part in found) == list(range(0, 48, 8))
    assert all(np.array_equal(part, part[0] + np.arange(8)) for part in found)


def test_parts_have_many_sizes_and_weak_borders():
    rng = np.random.default_rng(4)
    edges = grid_edges(20, 20)
    couplings = rng.normal(0.0, 1.0, len(edges))
    fields = rng.normal(0.0, 0.1, 400)
    found = strong_parts(ising(fields, edges, couplings).graph)
    sizes = np.array([len(part) for part in found])
    assert len({size.bit_length() for size in sizes.tolist()}) >= 4
    for part in found:
        border = np.isin(edges, part).sum(axis=1) == 1
        variance = 4 * (couplings[border] ** 2).sum() + 4 * (fields[part] ** 2).sum()
        assert variance <= 2.5758293**2 * 4  # twice the quantile that 1 % of all exceed


def test_no_more_parts_are_found_than_may_be_used():
    rng = np.random.default_rng(4)
    edges = grid_edges(20, 20)
    model = ising(np.zeros(400), edges, rng.normal(0.0, 1.0, len(edges)))
    every = strong_parts(model.graph)
    some = strong_parts(model.graph, most=20)
    assert 5 <= len(some) <= 20 < len(every)
    assert {tuple(part) for part in some} <= {tuple(part) for part in every}


def triples():
    builder = Builder([2] * 6)
    builder.add_factor([0, 1, 2], np.random.default_rng(1).normal(size=(2, 2, 2)))
    return named(builder)


@pytest.mark.parametrize(
    "model",
    [
        om.ising_grid(6, 6, 0.4, 0.1),
        om.potts_grid(3, 3, 3, 0.5),
        triples(),
        one_hot_pages(hard=True),
        ising([0.1, 0.2, 0.3], np.zeros((0, 2)), []),
    ],
    ids=["even grid", "Potts", "triples", "hard", "no pairs"],
)
def test_models_without_parts_have_none(model):
    assert strong_parts(model.graph) == []
