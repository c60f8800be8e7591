"""Log-weights at the ends of parts of time show what marginals hide."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.tally import PARTS, capacity
from orbitmc.graph.builder import Builder
from orbitmc.graph.log_weights import log_weight
from orbitmc.graph.relevance import components
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.pack import (
    GROUPS,
    EnergyTrace,
    advance,
    energy_trace,
    start_pack,
    unmixed_variables,
)
from tests.oracle.random_models import random_graph


@pytest.mark.parametrize("samples", [1, 4, 5, 8, 11, 24, 40])
def test_what_is_kept_are_the_log_weights_when_each_part_was_full(samples):
    graph = random_graph(3, variables=(5, 6), clauses=True)
    prepared, one = prepare(graph), np.zeros(graph.variables, dtype=np.int64)
    kernel = SystematicScan()

    def started():
        return start_pack(prepared, kernel, seed=1, number=0, lanes=32, part_of=one)

    pack, other, seen = started(), started(), []
    advance(prepared, kernel, pack, recorded=0, samples=samples, spacing=7)
    for recorded in range(samples):
        advance(prepared, kernel, other, recorded=recorded, samples=1, spacing=7)
        seen.append(log_weight(graph, other.values) - graph.constant)
    size = capacity(samples)
    for part in range(samples // size):
        np.testing.assert_allclose(pack.ends.log_weights[part, 0], seen[(part + 1) * size - 1])
    assert (pack.ends.log_weights == other.ends.log_weights).all()


def noted(series):
    """Ends of parts of one group: `series[pack, part, lane]`."""
    one = np.zeros(3, dtype=np.int64)
    return [EnergyTrace(one, np.ascontiguousarray(pack[:, None])) for pack in series]


def test_chains_that_keep_their_log_weight_have_not_mixed():
    rng = np.random.default_rng(1)
    fresh = rng.normal(size=(4, PARTS, 64))
    kept = fresh + 2.0 * rng.normal(size=(4, 1, 64))
    drifting = fresh + np.linspace(0.0, 1.0, PARTS)[:, None]
    assert not unmixed_variables(noted(fresh), 100).any()
    assert unmixed_variables(noted(kept), 128).all()
    assert unmixed_variables(noted(drifting), 128).all()


def test_components_have_groups_of_their_own_and_small_ones_share_one():
    builder = Builder([2] * 300)
    for first in range(0, 290, 2):
        builder.add_factor([first, first + 1], np.zeros((2, 2)))
    builder.add_factor([0, 2], np.eye(2))
    graph = builder.build()
    ends = energy_trace(graph, 64, components(graph))
    groups = [set(np.flatnonzero(ends.group_of == number).tolist()) for number in range(GROUPS)]
    assert groups[0] == {0, 1, 2, 3}
    assert groups[1] == {4, 5}
    assert len(groups[-1]) == 300 - 4 - 2 * (GROUPS - 2)
    assert ends.log_weights.shape == (PARTS, GROUPS, 64)
