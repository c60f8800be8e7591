"""Variables that others decide can be left out, and are known again given the rest."""

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.fringe import eliminate_fringe, join_fringes, merge_followers
from orbitmc.graph.probing import probe
from tests.oracle.enumeration import enumerate_states

GRAPHS = 400


def tied_graph(rng, *, binary):
    """Variables of which some are others under another name, some have one value left."""
    count = int(rng.integers(4, 8))
    sizes = np.full(count, 2) if binary else rng.integers(2, 4, count)
    builder = Builder(sizes)
    builder.constant = float(rng.normal())
    for _ in range(rng.integers(2, 6)):
        scope = rng.permutation(count)[: rng.integers(1, 4)]
        table = rng.normal(size=tuple(sizes[scope]))
        builder.add_factor(scope.tolist(), np.where(rng.random(table.shape) < 0.15, -np.inf, table))
    for _ in range(rng.integers(1, 4)):
        a, b = rng.permutation(count)[:2]
        same = np.eye(sizes[a], sizes[b])[rng.permutation(sizes[a])]
        with np.errstate(divide="ignore"):
            builder.add_factor([int(a), int(b)], np.log(same))
    for _ in range(rng.integers(0, 4)):
        scope = rng.permutation(count)[: rng.integers(1, count + 1)]
        weight = np.inf if rng.random() < 0.4 else float(rng.normal())
        builder.add_clause(scope.tolist(), rng.integers(sizes[scope]).tolist(), weight)
    return builder.build()


def recover(fringe, core):
    """Marginals of the whole graph from the exact joint of the core's values."""
    answer = {int(place): core.marginals[k] for k, place in enumerate(fringe.places)}
    for variable, given, chances in reversed(fringe.network):
        answer[variable] = chances @ answer[given[0]] if given else chances
    return answer


@pytest.mark.parametrize("binary", [True, False])
def test_a_core_without_followers_says_the_same(binary):
    rng, followed, fixed = np.random.default_rng(7), 0, 0
    for _ in range(GRAPHS):
        graph = tied_graph(rng, binary=binary)
        try:
            truth = enumerate_states(graph)
        except ContradictionError:
            continue
        fringe = merge_followers(graph, probe(graph))
        assert fringe.followers == len(fringe.network) == graph.variables - fringe.core.variables
        core = enumerate_states(fringe.core)
        assert core.log_z == pytest.approx(truth.log_z, abs=1e-10)
        for variable, marginal in recover(fringe, core).items():
            assert marginal == pytest.approx(truth.marginals[variable], abs=1e-10)
        followed += any(step.given for step in fringe.network)
        fixed += any(not step.given for step in fringe.network)
    assert followed > GRAPHS // 4
    assert fixed > GRAPHS // 10


def test_followers_that_are_taken_for_free_would_be_noticed(monkeypatch):
    rng, wrong = np.random.default_rng(7), 0
    monkeypatch.setattr(
        "orbitmc.graph.fringe.join_equal_axes", lambda read, table: ((), np.zeros(()))
    )
    for _ in range(60):
        graph = tied_graph(rng, binary=True)
        try:
            truth = enumerate_states(graph)
        except ContradictionError:
            continue
        core = enumerate_states(merge_followers(graph, probe(graph)).core)
        wrong += abs(core.log_z - truth.log_z) > 1e-3
    assert wrong > 10


def test_the_fringe_of_a_core_is_joined_with_its_followers():
    rng, both = np.random.default_rng(8), 0
    for _ in range(GRAPHS // 2):
        graph = tied_graph(rng, binary=False)
        try:
            truth = enumerate_states(graph)
        except ContradictionError:
            continue
        outer = merge_followers(graph, probe(graph))
        inner = eliminate_fringe(outer.core, most=4)
        fringe = join_fringes(outer, inner)
        gone = [step.variable for step in fringe.network]
        assert sorted([*gone, *fringe.places.tolist()]) == [*range(graph.variables)]
        assert fringe.followers == outer.followers
        both += 0 < outer.followers < len(gone)
        assert enumerate_states(fringe.core).log_z == pytest.approx(truth.log_z, abs=1e-10)
        for variable, given, chances in fringe.given_core():
            core = enumerate_states(fringe.core)
            if len(given) == 1:
                expected = chances @ core.marginals[given[0]]
                assert expected == pytest.approx(truth.marginals[variable], abs=1e-10)
    assert both > 10
