"""What a question does not need can be left out: the rest gives the same answer."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.graph.builder import Builder
from orbitmc.graph.relevance import barren_variables, relevant
from tests.oracle.enumeration import enumerate_states, log_weights_of_all

NETWORKS = 250  # random networks of each kind of test


def random_network(rng, variables, *, zeros=0.0):
    """A network in which each variable has up to three parents among those before it."""
    sizes = rng.integers(2, 4, variables)
    names = {f"x{k}": [str(value) for value in range(size)] for k, size in enumerate(sizes)}
    factors = []
    for k in range(variables):
        parents = sorted(rng.permutation(k)[: rng.integers(0, 4)].tolist())
        shape = [int(sizes[p]) for p in parents] + [int(sizes[k])]
        table = rng.random(shape) * (rng.random(shape) >= zeros)
        table[..., 0] += table.sum(axis=-1) == 0
        table /= table.sum(axis=-1, keepdims=True)
        factors.append(([f"x{p}" for p in parents] + [f"x{k}"], table))
    return om.model(names, factors)


def random_evidence(rng, model):
    """Hard evidence for some variables, soft for others."""
    evidence = {}
    for name, values in zip(model.names, model.values, strict=True):
        kind = rng.random()
        if kind < 0.2:
            evidence[name] = values[rng.integers(len(values))]
        elif kind < 0.3:
            evidence[name] = rng.random(len(values)).tolist()
    return evidence


def by_enumeration(model):
    """Marginals of all free variables, or None if no state is possible."""
    if not model.names:
        return {}
    try:
        answer = enumerate_states(model.graph)
    except ContradictionError:
        return None
    return dict(zip(model.names, answer.marginals, strict=True))


@pytest.fixture
def planned(monkeypatch):
    """Small models are planned as large ones are."""
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_the_part_that_matters_gives_the_marginals_of_the_whole(zeros):
    rng, smaller = np.random.default_rng(11), 0
    for _ in range(NETWORKS):
        network = random_network(rng, int(rng.integers(3, 8)), zeros=zeros)
        try:
            model = network.given(random_evidence(rng, network))
        except ContradictionError:
            continue
        truth = by_enumeration(model)
        if truth is None or not model.names:
            continue
        targets = rng.permutation(len(model.names))[: rng.integers(1, 3)].tolist()
        part, _ = relevant(model, targets)
        smaller += len(part.names) < len(model.names)
        found = by_enumeration(part)
        for target in targets:
            name = model.names[target]
            assert found[name] == pytest.approx(truth[name], abs=1e-12)
    assert smaller > NETWORKS // 4


@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_questions_are_answered_from_the_part_that_matters(zeros, planned):
    rng, refused = np.random.default_rng(12), 0
    for _ in range(NETWORKS):
        network = random_network(rng, int(rng.integers(3, 8)), zeros=zeros)
        evidence = random_evidence(rng, network)
        name = network.names[rng.integers(len(network.names))]
        try:
            model = network.given(evidence)
            truth = by_enumeration(model)
        except ContradictionError:
            truth = None
        if truth is None:
            refused += 1
            with pytest.raises(ContradictionError):
                om.marginals(network, evidence, query=[name])
            continue
        answer = om.marginals(network, evidence, query=[name])[name].probability
        expected = truth[name] if name in truth else np.eye(len(answer))[model.observed[name].value]
        assert answer == pytest.approx(expected, abs=1e-12)
        event = om.probability(network, f"{name} == '0'", evidence)
        assert event.value == pytest.approx(expected[0], abs=1e-12)
        joint = om.joint(network, [name], evidence)
        assert joint.probability == pytest.approx(expected, abs=1e-12)
    assert (refused > 0) == (zeros > 0)


def test_a_sampled_answer_leaves_out_what_does_not_matter(planned):
    network = random_network(np.random.default_rng(5), 7)
    name = network.names[0]
    answer = om.marginals(network, query=[name], method="gibbs", samples=200, seed=1)
    assert "1 of 7 variables matter" in answer.about.reason
    assert answer.about.updates < 2 * 256 * 4 * (200 + 40)  # about as many as of one variable
    assert answer.about.log_z is None


def test_leaves_are_dropped_one_after_the_other():
    rng = np.random.default_rng(3)
    network = random_network(rng, 7)
    last = np.zeros(7, dtype=np.bool_)
    assert barren_variables(network.graph, last).all()
    last[0] = True
    assert barren_variables(network.graph, last).tolist() == [False] + [True] * 6


def test_a_leaf_that_says_something_is_not_dropped():
    names = {"a": ["0", "1"], "b": ["0", "1"]}
    uneven = om.model(names, [(["a"], [0.5, 0.5]), (["a", "b"], [[0.5, 0.5], [0.5, 0.25]])])
    part, _ = relevant(uneven, [0])
    assert part.names == ("a", "b")
    even = om.model(names, [(["a"], [0.5, 0.5]), (["a", "b"], [[0.5, 0.5], [0.25, 0.75]])])
    part, _ = relevant(even, [0])
    assert part.names == ("a",)


def test_a_clause_is_never_taken_for_a_table():
    builder = Builder([2] * 5)
    builder.add_clause([0, 1, 2], [1, 1, 0], 1.5)
    builder.add_factor([3, 4], np.log([[0.5, 0.5], [0.25, 0.75]]))
    graph = builder.build()
    assert graph.first_clause < graph.factors
    nobody = np.zeros(graph.variables, dtype=np.bool_)
    assert barren_variables(graph, nobody).tolist() == [False, False, False, True, True]


def test_what_is_left_out_must_be_possible(planned):
    names = {"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]}
    same, other = [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]
    impossible = om.model(
        names, [(["a"], [0.3, 0.7]), (["b", "c"], same), (["b", "c"], other), (["b"], [1.0, 2.0])]
    )
    with pytest.raises(ContradictionError):
        om.marginals(impossible, query=["a"])


def test_a_run_that_is_kept_keeps_all_variables(tmp_path, planned):
    network = random_network(np.random.default_rng(5), 7)
    run, name = tmp_path / "x.run", network.names[0]
    first = om.marginals(network, query=[name], method="gibbs", samples=50, seed=1, checkpoint=run)
    assert "matter" not in first.about.reason
    again = om.resume(run, network)
    assert again[name].probability.tolist() == first[name].probability.tolist()


def by_listing(model, holds):
    """How probable it is that a condition on a state holds, by listing all states."""
    logs = log_weights_of_all(model.graph)
    sizes = [len(values) for values in model.values]
    states = np.array(np.unravel_index(np.arange(len(logs)), sizes))
    weights = np.exp(logs - logs.max())
    return weights[holds(dict(zip(model.names, states, strict=True)))].sum() / weights.sum()


def test_what_is_given_is_part_of_what_matters(planned):
    rng, asked = np.random.default_rng(13), 0
    for _ in range(NETWORKS // 2):
        network = random_network(rng, int(rng.integers(4, 7)))
        first, second, third = rng.permutation(network.names)[:3].tolist()
        for given, holds in (
            (f"{second} == '1'", lambda s, b=second, c=third: s[b] == 1),
            (
                f"{second} == '1' or {third} == '0'",
                lambda s, b=second, c=third: (s[b] == 1) | (s[c] == 0),
            ),
        ):
            event = om.probability(network, f"{first} == '0'", given=given)
            both = by_listing(network, lambda s, h=holds, a=first: h(s) & (s[a] == 0))
            assert event.value == pytest.approx(both / by_listing(network, holds), abs=1e-12)
            asked += "matter" in event.about.reason
    assert asked > NETWORKS // 4
