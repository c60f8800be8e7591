"""Networks of pyAgrum, beside its own inference; all variables have the same number of labels."""

import itertools

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.interop.libraries import library

gum = library("pyagrum")
library("pyagrum.markov_random_field")  # its first use warns, and a warning that raises crashes it
library("pyagrum.influence_diagram")

NAMES = ["z", "b", "m", "a"]
LABELS = {
    "z": ["lo", "mid", "hi"],
    "b": ["hi", "lo", "mid"],
    "m": ["1", "2", "0"],
    "a": list("xyz"),
}


def variable(name):
    return gum.LabelizedVariable(name, name, LABELS[name])


def bayesian():
    rng = np.random.default_rng(3)
    net = gum.BayesNet()
    for name in ["m", "a", "z", "b"]:
        net.add(variable(name))
    for arc in [("z", "b"), ("b", "m"), ("z", "m"), ("m", "a"), ("b", "a")]:
        net.addArc(*arc)
    for name in NAMES:
        size = net.cpt(name).domainSize() // 3
        net.cpt(name).fillWith(rng.dirichlet(np.ones(3), size=size).reshape(-1).tolist())
    return net


def markov():
    rng = np.random.default_rng(4)
    net = gum.MarkovRandomField()
    for name in ["m", "a", "z", "b"]:
        net.add(variable(name))
    for scope in [["z", "b"], ["a", "m", "b"], ["m"]]:
        net.addFactor(scope).fillWith(rng.random(3 ** len(scope)).tolist())
    return net


def product(tensors):
    """The joint distribution over NAMES, entry by entry through pyAgrum's own instantiations."""
    joint = np.ones((3,) * 4)
    for place in itertools.product(range(3), repeat=4):
        state = dict(zip(NAMES, place, strict=True))
        for tensor in tensors:
            at = gum.Instantiation(tensor)
            for one in tensor.names:
                at.chgVal(one, state[one])
            joint[place] *= tensor.get(at)
    return joint / joint.sum()


def tensors_of(net):
    if hasattr(net, "cpt"):
        return [net.cpt(node) for node in net.nodes()]
    return [net.factor(scope) for scope in net.factors()]


@pytest.mark.parametrize("build", [bayesian, markov])
def test_marginals_are_those_of_the_product_of_tensors(build):
    net = build()
    joint = product(tensors_of(net))
    found = om.marginals(om.from_pyagrum(net), method="exact")
    for axis, name in enumerate(NAMES):
        others = tuple(k for k in range(4) if k != axis)
        assert found[name].values == tuple(LABELS[name])
        np.testing.assert_allclose(found[name].probability, joint.sum(axis=others), atol=1e-12)


@pytest.mark.parametrize(
    ("build", "solver"), [(bayesian, "LazyPropagation"), (markov, "ShaferShenoyMRFInference")]
)
@pytest.mark.parametrize("seen", [{}, {"m": "0"}, {"m": 0}, {"z": [0.2, 0.5, 0.9], "a": "y"}])
def test_posteriors_are_those_of_pyagrum(build, solver, seen):
    net = build()
    own, ours = getattr(gum, solver)(net), om.interop.PyAgrumInference(net, method="exact")
    own.setEvidence(seen)
    ours.setEvidence(seen)
    own.makeInference()
    ours.makeInference()
    for name in NAMES:
        found, wanted = ours.posterior(name), own.posterior(name)
        assert [one.name() for one in found.variablesSequence()] == [name]
        np.testing.assert_allclose(found.toarray(), wanted.toarray(), atol=1e-12)
    node = net.idFromName("b")
    assert ours.posterior(node).toarray().tolist() == ours.posterior("b").toarray().tolist()


def test_a_joint_posterior_has_every_entry_where_pyagrum_has_it():
    net = bayesian()
    ours = om.interop.PyAgrumInference(net)
    ours.setEvidence({"m": "2"})
    found = ours.jointPosterior(["b", "z", "a"])
    joint = product(tensors_of(net))[:, :, 1, :]
    joint = joint / joint.sum()
    for z, b, a in itertools.product(range(3), repeat=3):
        at = gum.Instantiation(found)
        at.chgVal("z", z).chgVal("b", b).chgVal("a", a)
        assert found.get(at) == pytest.approx(joint[z, b, a], abs=1e-12)


def test_evidence_is_added_changed_and_erased():
    ours = om.interop.PyAgrumInference(bayesian())
    before = ours.posterior("a").toarray().tolist()
    ours.addEvidence("m", "2")
    changed = ours.posterior("a").toarray().tolist()
    ours.chgEvidence("m", 1)  # the label at place 1 is "2"
    assert ours.posterior("a").toarray().tolist() == changed != before
    with pytest.raises(InputError, match="observed already"):
        ours.addEvidence("m", "0")
    ours.eraseEvidence("m")
    assert ours.posterior("a").toarray().tolist() == before
    with pytest.raises(InputError, match="not observed"):
        ours.chgEvidence("m", "0")
    with pytest.raises(InputError, match="labels 0 to 2, not 3"):
        ours.addEvidence("m", 3)
    with pytest.raises(InputError, match="unknown variable 'y'"):
        ours.posterior("y")


def test_a_network_with_decisions_is_refused():
    with pytest.raises(InputError, match="expected a BayesNet or a MarkovRandomField"):
        om.from_pyagrum(gum.InfluenceDiagram())


def test_probabilities_that_do_not_sum_to_one_are_said():
    net = bayesian()
    assert om.from_pyagrum(net).doubts == ()
    net.cpt("b")[{"z": "mid"}] = [0.2, 0.3, 0.4]
    said = r"those of b given z=mid sum to 0\.9\."
    (doubt,) = om.from_pyagrum(net).doubts
    assert om.marginals(om.from_pyagrum(net)).about.warnings == (doubt,)
    with pytest.warns(UserWarning, match=said):
        om.interop.PyAgrumInference(net)
