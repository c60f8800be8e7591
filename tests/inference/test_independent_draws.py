"""Where every recorded state is a draw of its own, their number decides what is believed."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.estimate.verdicts import BELIEVED, FAIR, FEW, GOOD, RARE
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._independence import Pause
from orbitmc.report.sentences import verdict
from orbitmc.tuning.record import Tuning

VARIABLES = 500
SURELY = 7.0  # standard errors that no number is off by: false alarms are below 1e-8
KERNEL = om.kernels.gibbs()


def tree(seed, variables=VARIABLES):
    """A network in which each variable has one parent: elimination knows its marginals."""
    rng = np.random.default_rng(seed)
    builder = Builder(np.full(variables, 2))
    for variable in range(variables):
        parents = [] if variable == 0 else [int(rng.integers(variable))]
        chance = rng.uniform(0.15, 0.85, size=2 ** len(parents))
        table = np.log(np.stack([1.0 - chance, chance], axis=-1))
        builder.add_factor([*parents, variable], table.reshape([2] * (len(parents) + 1)))
    names = tuple(f"v{k}" for k in range(variables))
    return Model(builder.build(), names, (("no", "yes"),) * variables)


@pytest.fixture(scope="module")
def model():
    return tree(1)


@pytest.fixture(scope="module")
def exact(model):
    found = om.marginals(model, method="exact")
    return np.array([found[name].probability[1] for name in model.names])


def drawn(model, samples, **settings):
    """An answer of `lmh`, which draws all variables anew where a model is a network."""
    return om.marginals(model, method="lmh", samples=samples, packs=1, **settings)


@pytest.mark.parametrize("seed", range(3))
def test_independent_draws_are_judged_by_their_number(model, exact, seed):
    found = drawn(model, 23, seed=seed)
    states = 23 * found.about.chains
    assert found.about.independent
    assert found.verdicts().keys() <= {GOOD, RARE}
    assert verdict(found) == f"converged: the {states:,} states are independent draws"
    assert (found.columns.r_hat == 1.0).all()
    p, error = found.columns.probability[1::2], found.columns.standard_error[1::2]
    assert np.allclose(found.columns.ess, states)
    assert np.allclose(error, np.sqrt(p * (1 - p) / states))
    assert (np.abs(p - exact) < SURELY * error).all()


def test_intervals_of_independent_draws_hold_what_they_promise(model, exact):
    found = drawn(model, 23, seed=8)
    low, high = found.columns.low[1::2], found.columns.high[1::2]
    assert ((low <= exact) & (exact <= high)).mean() >= 0.9


@pytest.mark.parametrize(("samples", "word"), [(1, FEW), (3, FAIR), (7, GOOD)])
def test_few_draws_are_called_few(model, samples, word):
    found = drawn(model, samples, lanes=64, seed=1)
    assert set(found.verdicts()) - {RARE} == {word}
    assert found.converged == (word in BELIEVED)


def test_there_are_no_sweeps_between_independent_draws(model):
    found = drawn(model, 20, lanes=64, seed=2)
    assert found.about.outcomes["proposals"] == 64 * (20 + 1)  # one of the warm-up
    assert "updates" not in found.about.outcomes
    assert found.about.estimator == "values are counted: states are independent draws"
    counts = found.columns.probability * 20 * 64
    assert counts == pytest.approx(np.round(counts), abs=1e-9)


def test_an_estimator_that_was_asked_for_stays(model):
    found = drawn(model, 20, lanes=64, seed=2, estimator="rao-blackwell")
    assert found.about.estimator == "rao-blackwell"
    counts = found.columns.probability * 20 * 64
    assert np.abs(counts - np.round(counts)).max() > 0.01


def test_a_run_of_independent_draws_goes_on_as_if_never_stopped(model, tmp_path):
    def stop(run):
        if run.recorded >= 500:
            run.stop()

    path = tmp_path / "draws.run"
    whole = drawn(model, 20_000, seed=3)
    part = drawn(model, 20_000, seed=3, checkpoint=path, watchers=[stop])
    assert 500 <= part.about.samples < 20_000
    resumed = om.resume(path, model)
    assert resumed.columns.probability.tolist() == whole.columns.probability.tolist()
    assert resumed.about.independent
    assert resumed.about.estimator == whole.about.estimator


def test_a_pause_between_draws_keeps_the_distribution():
    network = tree(3, variables=4)
    prepared = om.kernels.prepare(network.graph)
    kernel = Tuning(("forward draws",), 2).kernel(network, prepared)
    assert isinstance(kernel.base, Pause)
    report = om.testing.check_kernel(kernel, models=[network])
    assert report.stationary <= 1e-12
    observed = network.given({"v3": "yes"})  # something is left over: sweeps stay
    kernel = Tuning(("forward draws",), 2).kernel(observed, om.kernels.prepare(observed.graph))
    assert not isinstance(kernel.base, Pause)


def test_an_event_of_independent_draws_is_judged_by_their_number(model):
    found = om.probability(model, "v3=yes", method="lmh", samples=7, packs=1, seed=1)
    assert found.verdict == GOOD


def test_evidence_makes_states_depend_on_each_other(model):
    observed = model.given({f"v{VARIABLES - 1}": "yes"})
    assert not drawn(observed, 23, seed=1).about.independent


def test_draws_that_come_less_often_than_records_are_not_independent(model):
    prepared = om.kernels.prepare(model.graph)
    anew = om.kernels.independence(prepared)
    every = alternation(KERNEL, anew, period=4 * VARIABLES)
    seldom = alternation(KERNEL, anew, period=4 * VARIABLES + 1)
    mixed = om.kernels.mixture(anew, KERNEL, weight=0.5)
    for kernel, independent in [(every, True), (anew, True), (seldom, False), (mixed, False)]:
        found = om.marginals(model, kernel=kernel, samples=8, packs=1, seed=1)
        assert found.about.independent == independent
