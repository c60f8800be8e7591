"""Groups of variables with their ancestors, one after the other, give what one tree gives."""

import itertools
import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc._numba.compile_log import latest_time, time_limit, working_time
from orbitmc.errors import ContradictionError
from orbitmc.exact import groups
from orbitmc.exact.contraction import marginals
from orbitmc.exact.groups import GroupedPlan, plan_groups, predict_marginals
from orbitmc.exact.plan import predict
from orbitmc.graph import relevance
from orbitmc.graph.builder import Builder
from tests.graph.test_relevance import random_evidence, random_network
from tests.oracle.enumeration import enumerate_states

NETWORKS = 800  # random networks of each kind of test


@pytest.fixture(params=["once", "to the end"])
def split(request, monkeypatch):
    """Split all leaves in two groups, or until each leaf is alone, whatever that costs."""
    monkeypatch.setattr(groups._Splitting, "_is_worth_a_look", lambda splitting, group: True)
    if request.param == "to the end":
        monkeypatch.setattr(groups, "SECONDS_PER_COST", 0.0)
        monkeypatch.setattr(groups, "SECONDS_PER_VARIABLE", -1.0)


def random_graphs(seed, *, zeros):
    """Graphs of random networks with hard and soft evidence that some state fits, perhaps."""
    rng = np.random.default_rng(seed)
    for _ in range(NETWORKS):
        network = random_network(rng, int(rng.integers(3, 9)), zeros=zeros)
        try:
            model = network.given(random_evidence(rng, network))
        except ContradictionError:
            continue
        if model.names:
            yield model.graph


def unfair(graph, rng):
    """The graph with one entry of one table changed, so that it is no probability."""
    entry = int(rng.integers(len(graph.table)))
    table = graph.table.copy()
    table[entry] += 1.0
    return graph._replace(table=table)


def furthest(answer, truth):
    """How far marginals and log Z are from the true ones."""
    pairs = zip(answer.marginals, truth.marginals, strict=True)
    return max(abs(answer.log_z - truth.log_z), *(np.abs(a - b).max() for a, b in pairs))


@pytest.mark.parametrize("zeros", [0.0, 0.25])
def test_groups_give_the_marginals_and_the_sum_of_all_states(zeros, split):
    split_ones = refused = 0
    for graph in random_graphs(21, zeros=zeros):
        try:
            truth = enumerate_states(graph)
        except ContradictionError:
            refused += 1
            with pytest.raises(ContradictionError):
                marginals(graph, plan=plan_groups(graph) or predict(graph))
            continue
        plan = plan_groups(graph)
        if plan is None:
            continue
        split_ones += 1
        assert furthest(marginals(graph, plan=plan), truth) < 1e-12
        assert furthest(marginals(graph, plan=predict(graph)), truth) < 1e-12
    assert split_ones > 300
    assert (refused > 0) == (zeros > 0)


def test_tables_that_are_no_probabilities_are_not_left_out(split):
    rng, split_ones = np.random.default_rng(3), 0
    for graph in random_graphs(22, zeros=0.0):
        graph = unfair(graph, rng)
        plan = plan_groups(graph)
        if plan is not None:
            split_ones += 1
            assert furthest(marginals(graph, plan=plan), enumerate_states(graph)) < 1e-12
    assert split_ones > NETWORKS // 4


def test_groups_that_leave_such_tables_out_are_wrong(split, monkeypatch):
    monkeypatch.setattr(relevance, "SAME_SUM", math.inf)
    rng, wrong = np.random.default_rng(3), 0
    for graph in random_graphs(22, zeros=0.0):
        graph = unfair(graph, rng)
        plan = plan_groups(graph)
        if plan is not None:
            wrong += furthest(marginals(graph, plan=plan), enumerate_states(graph)) > 1e-3
    assert wrong > NETWORKS // 10


def test_only_what_is_wanted_is_given(split):
    rng = np.random.default_rng(4)
    for graph in itertools.islice(random_graphs(23, zeros=0.0), 60):
        plan = plan_groups(graph)
        if plan is not None:
            wanted = rng.permutation(graph.variables)[:2].tolist()
            some, every = marginals(graph, plan=plan, wanted=wanted), marginals(graph, plan=plan)
            assert some.log_z == every.log_z
            for variable, marginal in zip(wanted, some.marginals, strict=True):
                assert marginal == pytest.approx(every.marginals[variable], abs=1e-15)


def test_each_variable_is_answered_by_one_part(split):
    for graph in itertools.islice(random_graphs(24, zeros=0.0), 60):
        plan = plan_groups(graph)
        if plan is not None:
            answered = [variable for part in plan.parts for variable in part.variables]
            assert sorted(answered) == [*range(graph.variables)]


def pairs(roots, values):
    """A leaf below each pair of roots: each marries two, one tree all of them."""
    rng, words = np.random.default_rng(roots), [str(value) for value in range(values)]
    names = {f"r{root}": words for root in range(roots)}
    factors = [([name], rng.dirichlet(np.ones(values))) for name in names]
    for first, second in itertools.combinations(range(roots), 2):
        leaf = f"leaf{first}.{second}"
        names[leaf] = ["0", "1"]
        factors.append(([f"r{first}", f"r{second}", leaf], rng.dirichlet([1, 1], [values] * 2)))
    return om.model(names, factors)


def test_leaves_that_share_little_are_cheaper_in_groups(monkeypatch):
    monkeypatch.setattr(groups, "WORTH_GROUPS", 0.0)
    graph = pairs(6, 9).graph
    plan = predict_marginals(graph)
    assert isinstance(plan, GroupedPlan)
    assert furthest(marginals(graph, plan=plan), marginals(graph, plan=predict(graph))) < 1e-12


def test_one_tree_stays_where_groups_would_cost_more(monkeypatch):
    monkeypatch.setattr(groups, "WORTH_GROUPS", 0.0)
    names, step = ["root", *(f"leaf{k}" for k in range(8))], [[0.7, 0.3], [0.2, 0.8]]
    star = om.model(
        {name: ["0", "1"] for name in names},
        [(["root"], [0.5, 0.5]), *((["root", leaf], step) for leaf in names[1:])],
    )
    assert not isinstance(predict_marginals(star.graph), GroupedPlan)


def test_evidence_on_every_leaf_leaves_one_group(split):
    network = pairs(3, 3)
    graph = network.given(dict.fromkeys(network.names[3:], "1")).graph
    assert plan_groups(graph) is None


def test_evidence_below_one_root_is_heard_below_the_other(split):
    network = pairs(3, 3)
    graph = network.given({"leaf0.1": "1"}).graph
    plan = plan_groups(graph)
    before = marginals(network.graph, plan=plan_groups(network.graph))
    after = marginals(graph, plan=plan)
    assert furthest(after, marginals(graph, plan=predict(graph))) < 1e-12
    assert np.abs(after.marginals[0] - before.marginals[0]).max() > 1e-3


def test_a_graph_with_clauses_is_no_network():
    builder = Builder([2, 2])
    builder.add_clause([0, 1], [1, 1], 1.5)
    assert plan_groups(builder.build()) is None


def test_the_answer_says_that_there_are_groups(monkeypatch):
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
    monkeypatch.setattr(groups, "WORTH_GROUPS", 0.0)
    network, evidence = pairs(6, 9), {"leaf0.1": "0"}
    answer = om.marginals(network, evidence)
    assert "groups of variables" in answer.about.reason
    one_tree = marginals(network.given(evidence).graph)
    assert answer.about.log_z == pytest.approx(one_tree.log_z, abs=1e-12)
    assert answer["r0"].probability == pytest.approx(one_tree.marginals[0], abs=1e-12)


def test_no_groups_are_looked_for_when_the_time_of_an_exact_answer_is_over(monkeypatch):
    """An exact answer has no share of the time for its plan, but all of it has an end."""
    ends: list[float] = []
    plan = groups.plan_groups

    def note(graph, cost, *, memory, until):
        ends.append(until)
        return plan(graph, cost, memory=memory, until=until)

    monkeypatch.setattr(groups, "WORTH_GROUPS", 0.0)
    monkeypatch.setattr(groups, "plan_groups", note)
    graph = om.read("examples/sprinkler.bif").graph
    with time_limit(3.0):
        groups.predict_marginals(graph, seconds=100.0)
        assert ends.pop() <= latest_time()
    before = working_time()
    groups.predict_marginals(graph, seconds=5.0)
    assert before + 5.0 <= ends.pop() <= working_time() + 5.0
