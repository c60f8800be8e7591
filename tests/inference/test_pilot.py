"""Blocks from a pilot run: exact, the same each time, and asked for or not."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import prepare, prepare_unrounded
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.inference.lift import by_pilot, pilot_blocks, pilot_marginals
from orbitmc.inference.plan import choose_kernel
from orbitmc.inference.settings import Settings
from orbitmc.kernels._gibbs import RandomScan
from orbitmc.kernels.testing.exact import one_step, transition_matrix
from tests.oracle import brute_force
from tests.oracle.random_models import random_graph


def fields_on_a_grid():
    return om.ising_grid(6, 6, 0.2, np.random.default_rng(3).normal(size=(6, 6)))


@pytest.mark.parametrize("cardinalities", [(2,), (3,), (2, 3)])
def test_the_mixture_along_pilot_blocks_keeps_the_distribution(cardinalities):
    jumping = 0
    for seed in range(4):
        graph = random_graph([seed, 77], variables=(3, 4), cardinalities=cardinalities)
        prepared = prepare_unrounded(graph)
        kernel = by_pilot(prepared, members=3).kernel
        jumping += not isinstance(kernel, RandomScan)
        chances = brute_force.distribution(graph)
        matrix = transition_matrix(graph, one_step(prepared, kernel))
        assert np.abs(chances @ matrix - chances).max() <= 1e-12, seed
    assert jumping >= 2


def test_pilot_marginals_are_near_the_truth():
    graph = random_graph(5, variables=(8, 9), cardinalities=(2, 3))
    exact = np.concatenate(eliminate(graph).marginals)
    # 2,048 states, of which neighbours may be alike: 0.1 is more than five errors of 0.011 each
    assert np.abs(pilot_marginals(prepare(graph)) - exact).max() < 0.1


def test_the_same_model_gives_the_same_blocks():
    model = fields_on_a_grid()
    one, other = (pilot_blocks(prepare(model.graph), members=4) for _ in range(2))
    assert one.member.tolist() == other.member.tolist()
    assert one.blocks > 1


def test_pilot_is_the_default_and_paper_is_asked_for():
    model = fields_on_a_grid()
    prepared = prepare(model.graph)

    def blocks_with(**settings):
        kernel = choose_kernel(model, prepared, Settings(method="lmh", **settings)).kernel
        return kernel.second.blocks.member.tolist()

    pilot = pilot_blocks(prepared).member.tolist()
    assert blocks_with(alpha=0.7) == blocks_with(blocks="pilot") == pilot
    assert blocks_with(blocks="paper") == blocks_with(clusters=6) != pilot


@pytest.mark.parametrize("shape", ["clusters", "rank", "max_moved", "min_acceptance"])
def test_what_shapes_the_blocks_of_the_paper_is_refused_beside_a_pilot(shape):
    with pytest.raises(om.InputError, match=f"{shape} is for blocks=paper"):
        om.marginals(fields_on_a_grid(), method="lmh", blocks="pilot", samples=1, **{shape: 1})


def test_relational_approximations_have_no_such_blocks():
    with pytest.raises(om.InputError, match="the approximation rank has no blocks"):
        Settings(method="lmh", approximation="rank", blocks="pilot").require_use()


def test_a_kept_run_finds_its_blocks_again(tmp_path):
    model, kept = fields_on_a_grid(), tmp_path / "kept.run"
    options = {"method": "lmh", "blocks": "pilot", "samples": 60, "packs": 1, "seed": 3}
    whole = om.marginals(model, **options)

    def stop(run):
        if run.recorded > 0 or run.warm_up_steps > 40 * model.graph.variables:
            run.stop()

    om.marginals(model, checkpoint=kept, watchers=[stop], **options)
    resumed = om.resume(kept, model)
    names = model.names
    assert [resumed[n].probability.tobytes() for n in names] == [
        whole[n].probability.tobytes() for n in names
    ]


def test_a_model_without_variables_is_answered():
    model = om.ising_grid(1, 2, 0.3).given({"s0_0": 1, "s0_1": 1})
    assert len(om.marginals(model, method="lmh", blocks="pilot", samples=2).about.reason) > 0
