"""Files that other libraries write, beside their objects."""

import numpy as np
import pytest

import orbitmc as om
from tests.interop.libraries import library


def same(one, other):
    """Two models with equal joint distributions, whatever order they are in."""
    names = sorted(one.names)
    assert names == sorted(other.names)
    first, second = (om.joint(model, names, method="exact") for model in (one, other))
    for axis, (own, values) in enumerate(zip(first.values, second.values, strict=True)):
        assert sorted(own) == sorted(values)
        order = [list(values).index(value) for value in own]
        second_probability = second.probability.take(order, axis=axis)
        second = type(second)(**{**vars(second), "probability": second_probability})
    np.testing.assert_allclose(first.probability, second.probability, atol=1e-6)


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_models_that_dimod_saves(tmp_path, vartype):
    coo = library("dimod.serialization.coo")
    from tests.interop.test_dimod import random_bqm

    bqm = random_bqm(vartype, 1)
    with bqm.to_file() as saved:
        (tmp_path / "m.bqm").write_bytes(saved.read())
    read, taken = om.read(tmp_path / "m.bqm"), om.from_dimod(bqm)
    same(read, taken)
    assert float(om.log_z(read)) == pytest.approx(float(om.log_z(taken)), abs=1e-12)
    numbered = random_bqm(vartype, 2, labels=range(6))
    numbered.offset = 0.0
    text = coo.dumps(numbered, vartype_header=True)
    (tmp_path / "m.coo").write_text(text)
    same(om.read(tmp_path / "m.coo"), om.from_dimod(numbered))


@pytest.mark.parametrize("suffix", [".bif", ".net", ".xdsl"])
def test_networks_that_pgmpy_writes(tmp_path, suffix):
    readwrite = library("pgmpy.readwrite")
    from tests.interop.test_pgmpy import bayesian

    network = bayesian()
    for cpd in network.get_cpds():  # its writers take texts only
        cpd.state_names = {v: list(map(str, own)) for v, own in cpd.state_names.items()}
    network = _renamed(network)
    writer = {".bif": "BIFWriter", ".net": "NETWriter", ".xdsl": "XDSLWriter"}[suffix]
    path = tmp_path / f"m{suffix}"
    getattr(readwrite, writer)(network).write(str(path))
    same(om.read(path), om.from_pgmpy(network))


def _renamed(network):
    """The same network with texts as names."""
    discrete = library("pgmpy.factors.discrete")
    models = library("pgmpy.models")
    found = models.DiscreteBayesianNetwork([(str(a), str(b)) for a, b in network.edges])
    for cpd in network.get_cpds():
        names = {str(v): own for v, own in cpd.state_names.items()}
        child, *parents = map(str, cpd.variables)
        found.add_cpds(
            discrete.TabularCPD(
                child, 3, cpd.get_values(), evidence=parents, evidence_card=[3] * len(parents),
                state_names=names,
            )
        )  # fmt: skip
    return found


@pytest.mark.parametrize("suffix", [".bif", ".net"])
def test_networks_that_pyagrum_writes(tmp_path, suffix):
    gum = library("pyagrum")
    from tests.interop.test_pyagrum import bayesian

    network = bayesian()
    gum.saveBN(network, str(tmp_path / f"m{suffix}"))
    same(om.read(tmp_path / f"m{suffix}"), om.from_pyagrum(network))
