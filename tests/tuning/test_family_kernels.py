"""Families make kernels that keep the distribution, that do what was guessed, and come again."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.graph.builder import Builder
from orbitmc.graph.log_weights import log_weight
from orbitmc.kernels.testing.exact import one_step, outcomes
from orbitmc.models._ising import ising, ising_grid
from orbitmc.sampling.executor import digest
from orbitmc.tuning.families import FAMILIES
from orbitmc.tuning.record import Tuning
from tests.kernels.test_transition_matrices import EXACT, residuals
from tests.tuning.models import named

DRAWS = 4000


def two_triangles():
    """Two strong triangles of mixed signs, weakly joined; no two spins are alike."""
    edges = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [2, 3]]
    couplings = [1.5, -1.2, 1.4, 1.3, 1.6, -1.1, 0.2]
    return ising([0.1, -0.2, 0.05, 0.15, 0.1, -0.1], edges, couplings)


def grid():
    rng = np.random.default_rng(4)
    return ising_grid(3, 3, rng.normal(size=12), rng.normal(size=(3, 3)))


def turning_ring():
    """Each of four wants to be one ahead of the one before: only turns keep that, no reflection."""
    ahead = [[0.0, 1.2, 0.3], [0.3, 0.0, 1.2], [1.2, 0.3, 0.0]]
    builder = Builder([3] * 4)
    for variable, fields in enumerate(np.random.default_rng(6).normal(0.0, 0.3, (4, 3))):
        builder.add_factor([variable], fields)
        builder.add_factor([variable, (variable + 1) % 4], ahead)
    return named(builder)


SMALL = {
    "flip": two_triangles,
    "gauge flips": two_triangles,
    "reflections": grid,
    "generators": turning_ring,
}


@pytest.mark.parametrize("name", SMALL)
def test_families_keep_the_distribution(name):
    model = SMALL[name]()
    kernel = FAMILIES[name].build(model, prepare_unrounded(model.graph))
    assert max(residuals(model.graph, one_step(prepare_unrounded(model.graph), kernel))) <= EXACT


@pytest.mark.parametrize(
    ("name", "model"),
    [*SMALL.items(), ("reflections", lambda: ising_grid(3, 5, 0.3, 0.2))],
)
def test_families_do_what_was_guessed(name, model):
    model = model()
    graph = model.graph
    kernel = FAMILIES[name].build(model, prepare_unrounded(graph))
    propose = FAMILIES[name].guess(model)
    rng = np.random.default_rng(5)
    for _ in range(2):
        state = rng.integers(0, graph.cardinality).astype(np.uint8)
        guessed = {}
        before = log_weight(graph, state[:, None])[0]
        for _ in range(DRAWS):
            after = propose(state[:, None], rng)
            chance = np.exp(min(log_weight(graph, after)[0] - before, 0.0))
            end = tuple(after[:, 0].tolist())
            guessed[end] = guessed.get(end, 0.0) + chance / DRAWS
        found = outcomes(one_step(prepare_unrounded(graph), kernel), tuple(state))
        away = set(found) - {tuple(state)}
        assert set(guessed) - {tuple(state)} <= away
        for end in away:  # at most 40 ends, normal: below 1e-6 each
            error = np.sqrt(found[end] / DRAWS)
            assert abs(guessed.get(end, 0.0) - found[end]) <= 5.0 * error, (state, end)


@pytest.mark.parametrize("name", SMALL)
def test_a_family_is_the_same_whenever_it_is_built_from_its_name(name):
    kernels = []
    for _ in range(2):
        model = SMALL[name]()
        kernels.append(Tuning((name,), 5).kernel(model, prepare(model.graph)))
    assert digest(kernels[0]) == digest(kernels[1])
