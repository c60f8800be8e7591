"""One column starts in heavy states, so that modes which random starts miss are seen."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc._simd.random import COLUMNS
from orbitmc.conditionals.prepared import prepare
from orbitmc.graph.builder import Builder
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.model import Model
from orbitmc.graph.relevance import components
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.initialization import (
    anneal_states,
    best_values,
    heaviest_states,
    hidden_factors,
    search_modes,
)
from orbitmc.sampling.pack import start_pack
from tests.oracle.random_models import random_graph


def named(builder, size):
    names = tuple(f"v{number}" for number in range(size))
    return Model(builder.build(), names, (("no", "yes"),) * size)


def conjunction(atoms, weight):
    """Only the state in which all atoms are true earns the weight."""
    builder = Builder([2] * atoms)
    builder.add_clause(list(range(atoms)), [0] * atoms, -weight)
    return named(builder, atoms)


def spike(atoms, odds):
    """One table; the state of all ones weighs as much as `odds` times all others together."""
    table = np.zeros((2,) * atoms)
    table[(1,) * atoms] = np.log(odds) + atoms * np.log(2)
    builder = Builder([2] * atoms)
    builder.add_factor(list(range(atoms)), table)
    return named(builder, atoms)


@pytest.mark.parametrize("model", [spike(20, 3.0), conjunction(40, 29.0)], ids=["table", "clause"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_heavy_state_that_single_steps_do_not_find_costs_the_verdict(model, seed):
    """Truths are 0.875 and 0.891; without annealed starts all chains agree on 0.5."""
    found = om.marginals(model, method="gibbs", samples=100, seed=seed)
    assert found["v0"].verdict == "not mixed"
    assert not found.converged


def test_without_annealed_starts_nobody_would_notice(monkeypatch):
    model = conjunction(40, 29.0)
    monkeypatch.setattr(
        "orbitmc.sampling.warmup.search_modes", lambda *_, **__: np.zeros(40, np.uint8)
    )
    found = om.marginals(model, method="gibbs", samples=100, seed=1)
    assert found.converged
    assert found["v0"].probability[1] == pytest.approx(0.5)


def test_hidden_factors_are_wide_and_gain_much():
    builder = Builder([2] * 6)
    builder.add_factor([0, 1], [9.0, 0.0, 0.0, 0.0])
    builder.add_factor([0, 1, 2], [0.0] * 7 + [0.5])
    builder.add_factor([3, 4, 5], [0.0] * 7 + [6.0])
    builder.add_factor([1, 2, 3], [0.0, 9.0] + [0.0] * 6)
    builder.add_clause([0, 1, 2, 3], [1, 1, 1, 1], 9.0)
    builder.add_clause([0, 1, 2, 3], [1, 0, 1, 0], -9.0)
    graph = builder.build()
    hidden = hidden_factors(graph)
    assert hidden.tolist() == [3, 2, 5]  # they gain 7.9, 5.2 and 4.5 over their mean entries
    wanted = best_values(graph, np.array([3, 2]), np.random.default_rng(1))
    assert wanted.tolist() == [-1, 0, 0, 1, 1, 1]
    wanted = best_values(graph, np.array([5, 3, 2]), np.random.default_rng(1))
    assert wanted[:4].tolist() == [0, 1, 0, 1]


def test_annealed_states_are_heavy_and_belong_to_the_seed():
    graph = random_graph([3, 9], variables=(10, 12), cardinalities=(2, 3), clauses=True)
    states = anneal_states(graph, seed=1, group=0, lanes=64)
    assert (states < graph.cardinality[:, None]).all()
    assert (states == anneal_states(graph, seed=1, group=0, lanes=64)).all()
    assert (states != anneal_states(graph, seed=2, group=0, lanes=64)).any()
    rng = np.random.default_rng(1)
    anywhere = (rng.random(states.shape) * graph.cardinality[:, None]).astype(np.uint8)
    assert log_weight(graph, states).mean() > log_weight(graph, anywhere).max()
    best = heaviest_states(graph, states, components(graph))
    assert log_weight(graph, best[:, None])[0] >= log_weight(graph, states).max() - 1e-9


def test_annealed_states_keep_hard_constraints():
    builder = Builder([2] * 5)
    for first in range(4):
        builder.add_factor([first, first + 1], [0.0, 0.0, 0.0, -np.inf])
    builder.add_factor([0, 2, 4], [0.0] * 7 + [9.0])
    graph = builder.build()
    states = anneal_states(graph, seed=1, group=0, lanes=32)
    assert np.isfinite(log_weight(graph, states)).all()
    assert (states[:, 2] == [1, 0, 1, 0, 1]).all()


def test_only_one_column_of_each_pack_is_annealed_whatever_the_number_of_packs():
    model = conjunction(12, 9.0)
    kernel = SystematicScan()

    def started(count):
        return tuple(
            start_pack(prepare(model.graph), kernel, seed=4, number=number, lanes=64)
            for number in range(count)
        )

    plain, few, many = started(3), started(3), started(9)
    part_of = components(model.graph)
    search_modes(model.graph, dict(enumerate(few)), 64, part_of, seed=4)
    best = search_modes(model.graph, dict(enumerate(many)), 64, part_of, seed=4)
    for before, after, again in zip(plain, few, many, strict=False):
        changed = (before.values != after.values).any(axis=0)
        assert not np.delete(changed, slice(None, None, COLUMNS)).any()
        assert (after.values == again.values).all()
    late = started(3)[2]
    search_modes(model.graph, {2: late}, 64, part_of, seed=4)
    assert (late.values == few[2].values).all()
    assert best.tolist() == [1] * 12
    assert (search_modes(model.graph, dict.fromkeys(range(9)), 64, part_of, seed=4) == best).all()
