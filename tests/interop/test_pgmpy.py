"""Networks of pgmpy, beside its own elimination; all variables have the same number of states."""

import itertools

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from tests.interop.libraries import library

discrete = library("pgmpy.factors.discrete")
models = library("pgmpy.models")
inference = library("pgmpy.inference")

STATES = {
    "z": ["lo", "mid", "hi"],
    "a": ["mid", "hi", "lo"],
    7: [2, 0, 1],
    "m": [True, False, "unknown"],
}
PARENTS = {"z": [], "a": ["z"], 7: ["z", "a"], "m": ["a", 7]}


def bayesian(seed=1):
    rng = np.random.default_rng(seed)
    network = models.DiscreteBayesianNetwork()
    network.add_nodes_from(["m", 7, "a", "z"])
    network.add_edges_from([(p, child) for child, every in PARENTS.items() for p in every])
    for child, every in PARENTS.items():
        table = rng.dirichlet(np.ones(3), size=3 ** len(every)).T
        names = {one: STATES[one] for one in [child, *every]}
        network.add_cpds(
            discrete.TabularCPD(
                child, 3, table, evidence=every, evidence_card=[3] * len(every), state_names=names
            )
        )
    return network


def factors(seed=2):
    rng = np.random.default_rng(seed)
    scopes = [["a", "z"], ["m", "z"], [7, "a", "m"], [7]]
    return [
        discrete.DiscreteFactor(
            scope, [3] * len(scope), rng.random(3 ** len(scope)),
            state_names={one: STATES[one] for one in scope},
        )
        for scope in scopes
    ]  # fmt: skip


def markov():
    network = models.DiscreteMarkovNetwork()
    for factor in factors():
        network.add_edges_from(itertools.combinations(factor.variables, 2))
        network.add_factors(factor)
    return network


def factor_graph():
    graph = models.FactorGraph()
    every = factors()
    graph.add_nodes_from(STATES)
    graph.add_factors(*every)
    graph.add_nodes_from(every)
    graph.add_edges_from([(one, factor) for factor in every for one in factor.variables])
    return graph


def product(every):
    """The joint distribution as one array over STATES, from tables by the names of states."""
    joint = np.ones((3,) * len(STATES))
    names = list(STATES)
    for place in itertools.product(range(3), repeat=len(names)):
        state = {one: STATES[one][k] for one, k in zip(names, place, strict=True)}
        for factor in every:
            numbers = [
                factor.state_names[one].index(state[one])
                if not isinstance(state[one], bool)
                else next(k for k, s in enumerate(factor.state_names[one]) if s is state[one])
                for one in factor.variables
            ]
            joint[place] *= factor.values[tuple(numbers)]
    return joint / joint.sum()


def tables_of(network):
    if hasattr(network, "get_cpds"):
        return [cpd.to_factor() for cpd in network.get_cpds()]
    return network.get_factors()


@pytest.mark.parametrize("build", [bayesian, markov, factor_graph])
def test_marginals_are_those_of_the_product_of_tables(build):
    network = build()
    joint = product(tables_of(network))
    found = om.marginals(om.from_pgmpy(network), method="exact")
    for axis, (name, states) in enumerate(STATES.items()):
        others = tuple(k for k in range(4) if k != axis)
        assert found[str(name)].values == tuple(map(str, states))
        np.testing.assert_allclose(found[str(name)].probability, joint.sum(axis=others), atol=1e-12)


@pytest.mark.parametrize("build", [bayesian, markov])
@pytest.mark.parametrize(
    ("asked", "seen"),
    [(["m", "z"], {7: 0}), ([7, "a", "m"], {}), (["a"], {"m": "unknown", 7: 1})],
)
def test_queries_are_those_of_variable_elimination(build, asked, seen):
    network = build()
    own = inference.VariableElimination(network).query(asked, seen, show_progress=False)
    own.normalize()
    found = om.interop.PgmpyInference(network).query(asked, seen, show_progress=False)
    assert list(found.variables) == asked
    for place in itertools.product(range(3), repeat=len(asked)):
        state = {one: STATES[one][k] for one, k in zip(asked, place, strict=True)}
        assert (
            found.get_value(**_words(state))
            == pytest.approx(own.get_value(**_words(state)), abs=1e-12)
            if all(isinstance(one, str) for one in asked)
            else True
        )
        numbers = tuple(own.state_names[one].index(state[one]) for one in own.variables)
        here = tuple(found.state_names[one].index(state[one]) for one in found.variables)
        assert found.values[here] == pytest.approx(own.values[numbers], abs=1e-12)


def _words(state):
    return {one: value for one, value in state.items() if isinstance(one, str)}


@pytest.mark.parametrize("seed", range(12))
def test_the_best_values_of_some_are_those_of_a_map_query(seed):
    network = bayesian(seed)
    theirs = inference.VariableElimination(network).map_query(
        ["m", "z"], evidence={7: 0}, show_progress=False
    )
    ours = om.best(om.from_pgmpy(network), {"7": "0"}, over=["m", "z"])[0]
    assert dict(ours) == {name: str(theirs[name]) for name in ("m", "z")}


def test_single_answers_and_virtual_evidence():
    network = bayesian()
    virtual = [
        discrete.TabularCPD("z", 3, [[0.2], [0.5], [0.3]], state_names={"z": ["hi", "lo", "mid"]})
    ]
    found = om.interop.PgmpyInference(network).query(
        ["a", "m"], {7: 2}, virtual_evidence=virtual, joint=False
    )
    joint = product(tables_of(network))[:, :, 0, :]  # 7 is 2
    weighed = joint * np.array([0.5, 0.3, 0.2])[:, None, None]  # lo, mid, hi
    weighed /= weighed.sum()
    np.testing.assert_allclose(found["a"].values, weighed.sum(axis=(0, 2)), atol=1e-12)
    np.testing.assert_allclose(found["m"].values, weighed.sum(axis=(0, 1)), atol=1e-12)


def test_a_transposed_table_is_another_network():
    """With equal cardinalities nothing but the numbers can tell, so they must."""
    network = bayesian()
    right = om.joint(om.from_pgmpy(network), ["z", "a"]).probability
    cpd = network.get_cpds("a")
    cpd.values = cpd.values.T
    wrong = om.joint(om.from_pgmpy(network), ["z", "a"]).probability
    assert abs(right - wrong).max() > 0.01


def test_factors_may_list_states_in_any_order():
    every = factors()
    moved = every[0].copy()
    moved.values = moved.values[[2, 0, 1]]
    moved.state_names = {**moved.state_names, "a": [STATES["a"][k] for k in (2, 0, 1)]}
    network = markov()
    network.remove_factors(*network.get_factors())
    network.add_factors(*every[1:], moved)
    again = om.joint(om.from_pgmpy(network), ["z", "a"], method="exact")
    joint = product(every).sum(axis=(2, 3))
    order = [list(again.values[1]).index(state) for state in STATES["a"]]
    rows = [list(again.values[0]).index(state) for state in STATES["z"]]
    np.testing.assert_allclose(again.probability[rows][:, order], joint, atol=1e-12)


def test_what_is_incomplete_or_disagrees_is_refused():
    network = bayesian()
    network.remove_cpds("m")
    with pytest.raises(InputError, match="'m' has no table"):
        om.from_pgmpy(network)
    every = factors()
    every[1].state_names = {**every[1].state_names, "z": ["lo", "mid", "high"]}
    other = models.DiscreteMarkovNetwork()
    other.add_edges_from([("a", "z"), ("m", "z")])
    other.add_factors(*every[:2])
    with pytest.raises(InputError, match="disagree about the states of 'z'"):
        om.from_pgmpy(other)


@pytest.mark.parametrize(
    ("asked", "seen", "message"),
    [
        ([], {}, "one at least"),
        (["a", "a"], {}, "each variable once"),
        (["b"], {}, "unknown variable 'b'"),
        (["a"], {"a": "lo"}, "asked for and observed"),
        (["a"], {"z": "low"}, "unknown state 'low' of variable 'z'; it has 'lo', 'mid', 'hi'"),
        (["a"], {7: True}, "unknown state True"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(asked, seen, message):
    with pytest.raises(InputError, match=message):
        om.interop.PgmpyInference(bayesian()).query(asked, seen)


def test_a_sampled_query_is_near_and_says_so():
    """Errors are 6 standard errors of the answer for 9 numbers: a false alarm below 1e-7."""
    network = bayesian()
    solver = om.interop.PgmpyInference(network, method="gibbs", samples=2000, seed=1)
    found = solver.query(["m", "z"], {7: 0})
    exact = om.interop.PgmpyInference(network, method="exact").query(["m", "z"], {7: 0})
    assert solver.about.method == "gibbs"
    assert solver.converged
    np.testing.assert_allclose(found.values, exact.values, atol=6 * 0.5 / np.sqrt(256 * 500))


def test_virtual_evidence_of_other_states_is_refused():
    states = {"z": ["hi", "lo", "medium"]}
    virtual = [discrete.TabularCPD("z", 3, [[0.2], [0.5], [0.3]], state_names=states)]
    inference = om.interop.PgmpyInference(bayesian())
    with pytest.raises(InputError, match="other states of 'z' than the network"):
        inference.query(["a"], virtual_evidence=virtual)


def test_probabilities_that_do_not_sum_to_one_are_said():
    network = bayesian()
    cpd = network.get_cpds("a")
    cpd.values[:, 1] *= 0.9  # of a given z=mid
    said = r"those of a given z=mid sum to 0\.9\."
    assert om.from_pgmpy(bayesian()).doubts == ()
    (doubt,) = om.from_pgmpy(network).doubts
    assert om.marginals(om.from_pgmpy(network)).about.warnings == (doubt,)
    with pytest.warns(UserWarning, match=said):
        om.interop.PgmpyInference(network)
