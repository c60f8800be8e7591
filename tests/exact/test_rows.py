"""One elimination for many rows gives each row what it would get alone."""

import itertools

import numpy as np
import pytest

from orbitmc.errors import ContradictionError
from orbitmc.exact import templates
from orbitmc.exact.problem import prepare
from orbitmc.exact.templates import Elimination, batches, rows_at_once, template
from orbitmc.graph.builder import Builder
from tests.exact.random_graphs import random_graph, wide_graph
from tests.oracle.brute_force import log_weight, states


def drawn(seed):
    """A graph, which variables are observed or have likelihoods, and rows of each."""
    graph = random_graph(seed, variables=6)
    rng = np.random.default_rng([seed, 1])
    kind = rng.integers(0, 3, size=graph.variables)  # free, observed, soft
    observed, soft = np.flatnonzero(kind == 1).tolist(), np.flatnonzero(kind == 2).tolist()
    sizes = graph.cardinality
    rows = np.array([rng.integers(0, sizes[v], size=5) for v in observed]).reshape(-1, 5)
    weights = [rng.random((sizes[v], 5)) * (rng.random((sizes[v], 5)) < 0.8) for v in soft]
    return graph, observed, soft, rows, weights


def by_listing(graph, observed, soft, row, weights):
    """Log Z and marginals of one row, by adding up all states that it allows."""
    logs, found = [], []
    for state in states(graph):
        if all(state[v] == value for v, value in zip(observed, row, strict=True)):
            likely = [weight[state[v]] for v, weight in zip(soft, weights, strict=True)]
            with np.errstate(divide="ignore"):
                logs.append(log_weight(graph, state) + np.log(likely).sum())
            found.append(state)
    log_z = np.logaddexp.reduce(logs)
    marginals = [np.zeros(int(size)) for size in graph.cardinality]
    for state, log in zip(found, logs, strict=True):
        for variable, value in enumerate(state):
            marginals[variable][value] += np.exp(log - log_z) if log_z > -np.inf else 0.0
    return log_z, marginals


def eliminated(graph, observed, soft, rows, weights):
    """The same for all rows at once; None if no state is possible at all."""
    try:
        problem = prepare(graph)
    except ContradictionError:
        return None
    plan = template(problem, observed, soft)
    numbers = np.array([own[row] for own, row in zip(plan.number, rows, strict=True)], np.int64)
    numbers = numbers.reshape(-1, rows.shape[1])
    impossible = (numbers < 0).any(axis=0)
    with np.errstate(divide="ignore"):
        likelihoods = [np.log(w)[problem.possible[v]] for v, w in zip(soft, weights, strict=True)]
    elimination = Elimination(plan)
    upward = elimination.upward(np.maximum(numbers, 0), likelihoods)
    log_z = np.broadcast_to(upward.log_z(), rows.shape[1]).copy()
    log_z[impossible] = -np.inf
    return plan, log_z, elimination.marginals(upward, plan.place.values())


@pytest.mark.parametrize("block", range(10))
def test_rows_agree_with_the_sum_over_all_states(block):
    compared = 0
    for seed in range(40 * block, 40 * (block + 1)):
        graph, observed, soft, rows, weights = drawn(seed)
        found = eliminated(graph, observed, soft, rows, weights)
        for k in range(rows.shape[1]):
            own = [weight[:, k] for weight in weights]
            log_z, marginals = by_listing(graph, observed, soft, rows[:, k], own)
            if found is None or log_z == -np.inf:
                assert log_z == -np.inf
                assert found is None or found[1][k] == -np.inf
                continue
            plan, logs, values = found
            assert logs[k] == pytest.approx(log_z, abs=1e-9)
            for variable, place in plan.place.items():
                p = np.broadcast_to(values[place], (len(values[place]), rows.shape[1]))[:, k]
                possible = plan.problem.possible[variable]
                np.testing.assert_allclose(p, marginals[variable][possible], atol=1e-9)
                compared += 1
    assert compared > 100


def test_numbers_far_below_the_smallest_double_stay_apart():
    """Weights exp(-2000) in one part decide another: no exponential may be taken too early."""
    builder = Builder([2] * 4)
    for first, second in itertools.pairwise(range(4)):
        builder.add_factor([first, second], [[0.0, -2000.0], [-2000.0, -1.0]])
    builder.add_factor([3], [-900.0, 0.0])
    graph = builder.build()
    found = eliminated(graph, [0], [], np.array([[0, 1]]), [])
    for k in range(2):
        log_z, marginals = by_listing(graph, [0], [], [k], [])
        assert found[1][k] == pytest.approx(log_z, rel=1e-12)
        for variable in (1, 2, 3):
            np.testing.assert_allclose(
                found[2][found[0].place[variable]][:, k], marginals[variable], atol=1e-12
            )


def wide_rows(seed):
    """Rows of a graph whose weights differ by up to hundreds of nats; log Z, and all marginals."""
    graph = wide_graph(seed)
    rng = np.random.default_rng([seed, 1])
    observed, soft = [int(rng.integers(3, 6))], [int(rng.integers(6, 9))]
    sizes = graph.cardinality
    rows = rng.integers(0, sizes[observed[0]], size=(1, 4))
    weights = [np.exp(rng.normal(0, 200, (sizes[v], 4)).clip(-700, 700)) for v in soft]
    found = eliminated(graph, observed, soft, rows, weights)
    if found is None:
        return None
    tables = [np.broadcast_to(table, (len(table), 4)) for _, table in sorted(found[2].items())]
    return found[1], np.concatenate(tables)


def wrong_ranges():
    """How many of 300 graphs have rows that differ from those by logarithms alone."""
    wrong = compared = 0
    for seed in range(300):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(templates, "MOST_SPAN", -1.0)
            expected = wide_rows(seed)
        if expected is None:
            continue
        compared += 1
        with np.errstate(all="ignore"):
            log_z, tables = wide_rows(seed)
        possible = expected[0] > -np.inf
        far = np.abs(log_z[possible] - expected[0][possible]) > 1e-12 * np.abs(
            expected[0][possible]
        )
        apart = np.abs(tables - expected[1])[:, possible] > 1e-11
        same = np.array_equal(log_z > -np.inf, possible) and np.isfinite(tables[:, possible]).all()
        wrong += not same or far.any() or apart.any()
    assert compared > 200
    return wrong


def test_wide_ranges_are_right():
    assert wrong_ranges() == 0


def test_without_the_guard_wide_ranges_are_wrong(monkeypatch):
    monkeypatch.setattr(templates, "MOST_SPAN", np.inf)
    assert wrong_ranges() > 30


def test_a_long_chain_needs_no_logarithms(monkeypatch):
    """Forty variables in a row, each of which may make weights e^39 times smaller."""
    builder = Builder([2] * 41)
    for variable in range(40):
        builder.add_factor([variable, variable + 1], [[0.0, -20.0], [-20.0, -39.0]])
    plan = template(prepare(builder.build()), [], order=range(41))

    def log_z():
        return Elimination(plan).upward(np.zeros((0, 1), np.int64)).log_z()[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "MOST_SPAN", -1.0)
        expected = log_z()
    monkeypatch.setattr(templates, "_sum_logs", None)
    assert log_z() == pytest.approx(expected, rel=1e-13)
    monkeypatch.setattr(templates, "MOST_UNSCALED", np.inf)
    with pytest.raises(TypeError):
        log_z()


def test_rows_with_the_same_pattern_are_one_batch_and_rare_patterns_another():
    seen = np.zeros((3, 10), dtype=bool)
    seen[0] = True
    seen[1, :6] = True
    seen[2, 6] = True
    found = batches(seen, np.zeros_like(seen), few=4)
    assert sorted(np.concatenate([one.rows for one in found]).tolist()) == list(range(10))
    assert [one.hard for one in found] == [(0, 1), (0,)]
    assert [one.soft for one in found] == [(), (2,)]


def test_soft_evidence_is_never_taken_as_hard():
    seen = np.ones((2, 40), dtype=bool)
    soft = np.zeros((2, 40), dtype=bool)
    soft[1, 3] = True
    found = batches(seen, soft)
    assert sum(len(one.rows) for one in found) == 40
    assert all(3 not in one.rows or one.soft == (1,) for one in found)


def test_no_more_rows_at_once_than_fit_into_memory():
    graph, observed, *_ = drawn(3)
    plan = template(prepare(graph), observed)
    assert rows_at_once(plan, 2**30) > rows_at_once(plan, 4000) >= 1
    assert rows_at_once(plan, 4000) * 24 * plan.entries <= 4000
