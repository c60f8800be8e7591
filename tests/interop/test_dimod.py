"""Binary quadratic models of dimod, beside its own enumeration of all states."""

import math
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.interop.libraries import library

dimod = library("dimod")
testing = library("dimod.testing")

LABELS = ["z", "b", 10, ("x", 1), "a", 2, "m"]  # in no order that sorting would keep


def random_bqm(vartype, seed, labels=LABELS):
    rng = np.random.default_rng(seed)
    bqm = dimod.BinaryQuadraticModel(vartype)
    for label in labels:
        bqm.add_variable(label, rng.normal())
    for place, first in enumerate(labels):
        for second in labels[:place]:
            if rng.random() < 0.6:
                bqm.add_quadratic(first, second, rng.normal())
    bqm.offset = rng.normal()
    return bqm


def enumerated(bqm, beta):
    """Log Z, and how probable the larger number of each variable is, from all energies."""
    every = dimod.ExactSolver().sample(bqm)
    states, energies = every.record.sample, every.record.energy
    weights = np.exp(-beta * energies)
    high = {label: states[:, k] == 1 for k, label in enumerate(every.variables)}
    return math.log(weights.sum()), {v: weights[up].sum() / weights.sum() for v, up in high.items()}


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("seed", range(5))
def test_marginals_and_log_z_are_those_of_all_states(vartype, seed):
    bqm, beta = random_bqm(vartype, seed), 0.7
    log_z, wanted = enumerated(bqm, beta)
    model = om.from_dimod(bqm, beta)
    found = om.marginals(model, method="exact")
    assert list(found) == [str(label) for label in LABELS]
    for label, probability in wanted.items():
        assert found[str(label)].probability[1] == pytest.approx(probability, abs=1e-12)
    assert float(om.log_z(model)) == pytest.approx(log_z, abs=1e-10)


def test_values_are_called_as_dimod_counts():
    spin, binary = (om.from_dimod(random_bqm(kind, 1)) for kind in ("SPIN", "BINARY"))
    assert spin.values[0] == ("-1", "1")
    assert binary.values[0] == ("0", "1")
    assert om.marginals(spin, {"a": -1})["a"].probability.tolist() == [1.0, 0.0]
    assert om.marginals(binary, {"a": 1})["a"].probability.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_there_and_back_keeps_every_energy(vartype):
    bqm, beta = random_bqm(vartype, 3), 1.7
    back = om.to_dimod(om.from_dimod(bqm, beta), beta)
    assert back.vartype is bqm.vartype
    renamed = bqm.relabel_variables({label: str(label) for label in LABELS}, inplace=False)
    every = dimod.ExactSolver().sample(renamed)
    states = (every.record.sample, list(every.variables))
    np.testing.assert_allclose(back.energies(states), renamed.energies(states), atol=1e-12)


def test_energies_are_those_of_our_models():
    model = om.ising([0.3, -0.2, 0.0], [(0, 1), (1, 2)], [0.5, -0.7], names=["z", "a", "m"])
    bqm = om.to_dimod(model, vartype="BINARY")
    assert om.to_dimod(model).vartype.name == "SPIN"
    spins = {"z": 1, "a": -1, "m": 1}
    energy = -(0.3 + 0.2 - 0.5 + 0.7)
    assert om.to_dimod(model).energy(spins) == pytest.approx(energy, abs=1e-12)
    assert bqm.energy({"z": 1, "a": 0, "m": 1}) == pytest.approx(energy, abs=1e-12)


def test_evidence_stays_in_the_offset():
    model = om.ising([0.3, -0.2], [(0, 1)], 0.5, names=["z", "a"])
    bqm = om.to_dimod(model.given(z="up"))
    assert list(bqm.variables) == ["a"]
    assert bqm.energy({"a": 1}) == pytest.approx(-(0.3 - 0.2 + 0.5), abs=1e-12)


def test_a_clause_of_two_variables_has_an_energy():
    from orbitmc.graph.builder import Builder
    from orbitmc.graph.model import Model

    builder = Builder([2, 2])
    builder.add_clause([0, 1], [1, 0], 1.5)
    model = Model(builder.build(), ("p", "q"), (("f", "t"),) * 2)
    energies = [om.to_dimod(model).energy({"p": p, "q": q}) for p in (0, 1) for q in (0, 1)]
    np.testing.assert_allclose(energies, [-1.5, 0.0, -1.5, -1.5], atol=1e-12)


@pytest.mark.parametrize(
    ("values", "factors", "message"),
    [
        ({"a": "xyz"}, [], "binary variables only, and 'a' has 3"),
        ({"a": "xy", "b": "xy", "c": "xy"}, [("abc", np.ones((2, 2, 2)))], "pairs of variables"),
        ({"a": "xy"}, [("a", [1, 0])], "finite energies only"),
    ],
)
def test_what_dimod_cannot_hold_is_refused(values, factors, message):
    with pytest.raises(InputError, match=message):
        om.to_dimod(om.model(values, factors))


def test_wrong_numbers_are_refused():
    with pytest.raises(InputError, match="beta is a number above 0"):
        om.to_dimod(om.ising_grid(2, 2, 0.1), beta=0.0)
    with pytest.raises(InputError, match="beta is a number, 0 or above"):
        om.from_dimod(random_bqm("SPIN", 0), -1.0)
    with pytest.raises(InputError, match="vartype is SPIN or BINARY"):
        om.to_dimod(om.ising_grid(2, 2, 0.1), vartype="SPINS")
    bqm = dimod.BinaryQuadraticModel({"a": math.inf}, {}, 0.0, "SPIN")
    with pytest.raises(InputError, match="the bias of 'a' is a finite number"):
        om.from_dimod(bqm)


def test_labels_that_read_alike_stay_apart():
    model = om.from_dimod(random_bqm("SPIN", 0, labels=[1, "1"]))
    assert model.names == ("1", "'1'")


def test_the_sampler_passes_the_tests_of_dimod():
    sampler = om.interop.DimodSampler()
    testing.assert_sampler_api(sampler)
    for vartype in ("SPIN", "BINARY"):
        bqm = random_bqm(vartype, 2)
        found = sampler.sample(bqm, num_reads=10, seed=3)
        testing.assert_response_energies(found, bqm)
        assert len(found) == 10
        assert found.vartype is bqm.vartype
    testing.assert_response_energies(
        sampler.sample_ising({"z": 0.1}, {("z", "a"): -1}),
        dimod.BinaryQuadraticModel.from_ising({"z": 0.1}, {("z", "a"): -1}),
    )
    assert len(sampler.sample(dimod.BinaryQuadraticModel("SPIN"), num_reads=2).variables) == 0
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning):
        sampler.sample(random_bqm("SPIN", 2), num_reads=2, chain_strength=2)
    with pytest.raises(InputError, match="num_reads is a whole number above 0"):
        sampler.sample(random_bqm("SPIN", 2), num_reads=0)


@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_the_sampler_draws_from_the_distribution(method):
    """Chains are independent; 6 standard errors for 14 numbers: a false alarm below 1e-7."""
    bqm, reads = random_bqm("SPIN", 4), 4096
    _, wanted = enumerated(bqm, 0.5)
    found = om.interop.DimodSampler().sample(bqm, num_reads=reads, beta=0.5, seed=5, method=method)
    for place, label in enumerate(found.variables):
        share = (found.record.sample[:, place] == 1).mean()
        error = math.sqrt(wanted[label] * (1 - wanted[label]) / reads)
        assert abs(share - wanted[label]) < 6 * error


def test_ctrl_c_before_the_first_state_stays_an_interrupt(monkeypatch):
    from orbitmc.interop import dimod_sampler

    bqm = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -1.0}, 0.0, "SPIN")
    whole = om.draws(om.from_dimod(bqm), samples=1, chains=3)
    nothing = replace(whole, values=whole.values[:, :0], log_weight=whole.log_weight[:, :0])
    monkeypatch.setattr(dimod_sampler, "draws", lambda *model, **options: nothing)
    with pytest.raises(KeyboardInterrupt):
        om.interop.DimodSampler().sample(bqm, num_reads=3)
