"""Lifted chains end to end: exact symmetries never reject, wrong ones never bias."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import LimitError
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.inference._marginals import marginals
from orbitmc.inference.lift import (
    by_approximate_symmetries,
    by_exact_symmetries,
    cheap_blocks,
    over_symmetric,
)
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels._mixture import lifted
from orbitmc.kernels._orbital import orbital_kernels
from orbitmc.kernels.exchange import shuffle
from orbitmc.models._ising import ising_grid
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from orbitmc.symmetry import approximations as low_rank_links
from orbitmc.symmetry._automorphisms import automorphisms
from orbitmc.symmetry.approximations import cluster_weights
from tests.oracle.random_models import random_graph, random_ising

FEW = Schedule(samples=300)


def test_an_exact_group_is_never_rejected():
    model = ising_grid(4, 4, 0.4)
    prepared = prepare(model.graph)
    group = automorphisms(model.graph).group
    for symmetric in (False, True):
        kernels = orbital_kernels(prepared, group, symmetric=symmetric)
        kernel = lifted(RandomScan(), kernels, alpha=0.5)
        found = sample(prepared, kernel, FEW, packs=1).outcomes
        assert found["accepted"] == found["proposals"] - found["null proposals"] > 10_000


def test_a_wrong_group_never_biases():
    inside, compared = 0, 0
    for seed in range(50):
        graph = random_graph([seed, 3], variables=(12, 13), cardinalities=(2,), clauses=False)
        prepared = prepare(graph)
        jumps = shuffle(prepared, exchange_blocks([np.arange(6), np.arange(6, 12)]))
        kernel = lifted(RandomScan(), [jumps], alpha=0.5)
        run = sample(prepared, kernel, Schedule(samples=500), seed=seed)
        known = run.statistics()
        if known.r_hat.max() > 1.01:
            continue
        exact = np.array([marginal[1] for marginal in eliminate(graph).marginals])
        errors = np.abs(known.probability - exact) / (known.standard_error + 1e-7)
        # Student's t with 31 degrees passes 9.5 about once in 1e10 draws; there are 600.
        assert errors.max() < 9.5, seed
        inside += (errors < 4).sum()
        compared += len(errors)
    assert compared > 400
    assert inside >= 0.99 * compared


def test_sampling_the_approximation_itself_is_biased():
    fields = np.random.default_rng(5).uniform(-1, 1, (4, 4))
    model = ising_grid(4, 4, 0.3, fields)
    approximation = cluster_weights(model, 2)
    exact = np.array([marginal[1] for marginal in eliminate(model.graph).marginals])
    found = marginals(approximation, method="gibbs", samples=300)
    far = [
        abs(found[name].probability[1] - truth) > 20 * found[name].standard_error[1]
        for name, truth in zip(model.names, exact, strict=True)
    ]
    assert sum(far) > len(far) / 2


def test_orbits_of_exact_symmetries_share_their_estimate():
    model = ising_grid(4, 4, 0.3, 0.1)
    found = marginals(model, method="lifted", samples=200, seed=2)
    corners = [found[name].probability[1] for name in ("s0_0", "s0_3", "s3_0", "s3_3")]
    assert len(set(corners)) == 1
    exact = dict(zip(model.names, eliminate(model.graph).marginals, strict=True))
    for name, marginal in found.items():
        # As above: 16 comparisons.
        bound = 9.5 * marginal.standard_error[1] + 1e-7
        assert abs(marginal.probability[1] - exact[name][1]) < bound
    assert "order 8" in found.about.reason


def test_without_symmetry_lifted_is_gibbs():
    graph = random_ising(7, variables=9, degree=2, equal=False)
    model = ising_grid(3, 3, 0.3, np.random.default_rng(1).normal(size=(3, 3)))
    prepared = prepare(model.graph)
    lifting = by_exact_symmetries(model, prepared)
    assert isinstance(lifting.kernel, RandomScan)
    assert lifting.pools is None
    assert graph.variables == model.graph.variables


def test_a_model_too_large_for_a_boolean_rank_keeps_its_links_and_says_so(monkeypatch):
    model = ising_grid(3, 3, 0.2, np.linspace(-0.3, 0.3, 9).reshape(3, 3))
    asked = {"method": "lmh", "clusters": 6, "samples": 20, "seed": 1}
    usual, unchanged = marginals(model, **asked), marginals(model, **asked, rank=0)
    monkeypatch.setitem(low_rank_links.low_rank.__kwdefaults__, "most_variables", 8)
    large = marginals(model, **asked)
    said = (
        "links keep their Boolean rank: low-rank links of 9 variables need matrices of 81 entries; "
        "the limit is 8 variables (rank 0 leaves links as they are); "
    )
    assert said + unchanged.about.reason.split("; ", 1)[1] in large.about.reason
    assert said not in usual.about.reason
    for name, marginal in large.items():
        assert np.array_equal(marginal.probability, unchanged[name].probability)
    with pytest.raises(LimitError, match="limit is 8 variables"):
        marginals(model, **asked, rank=5)


def test_approximate_symmetries_give_blocks_and_the_right_answer():
    fields = np.random.default_rng(6).uniform(-0.3, 0.3, (5, 5))
    model = ising_grid(5, 5, 0.2, fields)
    lifting = by_approximate_symmetries(model, prepare(model.graph), clusters=1, rank=0)
    assert "blocks" in lifting.about
    found = marginals(model, method="lmh", clusters=1, rank=None, samples=400, seed=3)
    exact = dict(zip(model.names, eliminate(model.graph).marginals, strict=True))
    assert found.about.method == "lmh"
    assert found.about.outcomes["accepted"] > 0
    for name, marginal in found.items():
        # 25 comparisons at 9.5 errors, as above.
        bound = 9.5 * marginal.standard_error[1] + 1e-7
        assert abs(marginal.probability[1] - exact[name][1]) < bound


def test_jumps_by_wrong_generators_of_people_keep_the_answer():
    fields = np.random.default_rng(7).uniform(-0.5, 0.5, (3, 3))
    model = ising_grid(3, 3, 0.3, fields)
    typed = ["(s0_0 s0_1 s1_2)", "(s1_1 s2_2)(s0_2 s2_0)"]
    found = marginals(model, method="lmh", generators=typed, samples=400, seed=4)
    exact = dict(zip(model.names, eliminate(model.graph).marginals, strict=True))
    assert found.about.outcomes["accepted"] > 0
    for name, marginal in found.items():
        # 9 comparisons at 9.5 errors, as above.
        bound = 9.5 * marginal.standard_error[1] + 1e-7
        assert abs(marginal.probability[1] - exact[name][1]) < bound


def test_a_wanted_acceptance_keeps_unlike_variables_apart():
    fields = np.random.default_rng(8).normal(0.0, 2.0, (6, 6))
    model = ising_grid(6, 6, 0.01, fields)
    symmetric = over_symmetric(model, clusters=1, rank=0).graph
    free, tight = (
        cheap_blocks(model, symmetric, max_moved=200, min_acceptance=share) for share in (None, 0.8)
    )
    assert max(len(tight.rows(block)) for block in range(tight.blocks)) < len(free.rows(0))


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5])
def test_the_share_of_the_base_chain_lies_between_zero_and_one(alpha):
    from orbitmc.errors import InputError

    with pytest.raises(InputError, match="between 0 and 1"):
        marginals(ising_grid(3, 3, 0.3), method="lifted", alpha=alpha, samples=1)
