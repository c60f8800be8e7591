"""Observed pairs without a pattern: constants are eliminated in turn, and counted on the way."""

import math
from collections import Counter

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.lifted import coordinates, marginals, tree
from tests.lifted.random_fragments import random_fragment
from tests.lifted.test_count_gibbs import linked_fragment
from tests.lifted.test_counting import SMOKERS, people, read
from tests.lifted.test_learning import expected_deviation
from tests.lifted.test_states import weight_of

CLOSE = 1e-10


@pytest.fixture
def only_links(monkeypatch):
    """No groups of twins: all constants with observed pairs are eliminated."""
    monkeypatch.setattr(marginals, "MOST_GROUPS", -10)


def linked_program(seed):
    """A random program with observed pairs, by elimination and by counting; None elsewhere."""
    written = linked_fragment(seed) if seed % 2 else random_fragment(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        exact = om.marginals(logic, method="exact")
    except (ContradictionError, InputError):
        return None
    if isinstance(logic.source.lifting, str):
        return None
    return logic, exact


def deviation(seed):
    """How far counting is from elimination; None if a program has no observed pairs."""
    if (pair := linked_program(seed)) is None:
        return None
    logic, exact = pair
    counted = om.marginals(logic, method="counting")
    assert list(counted) == list(exact)
    gap = abs(counted.about.log_z - float(om.log_z(logic, method="exact")))
    return max(gap, float(np.abs(counted.columns.probability - exact.columns.probability).max()))


@pytest.mark.parametrize("first", range(9000, 9320, 80))
def test_random_programs_are_counted_as_they_are_eliminated(first, only_links):
    deviations = [deviation(seed) for seed in range(first, first + 80)]
    assert sum(gap is not None for gap in deviations) >= 40
    assert max(filter(None, deviations)) < CLOSE


def test_links_that_are_forgotten_would_be_seen(only_links, monkeypatch):
    monkeypatch.setattr(marginals, "_links", lambda *given: [])
    assert max(filter(None, map(deviation, range(9000, 9040)))) > 1e-3


def test_links_that_are_read_from_the_wrong_side_would_be_seen(only_links, monkeypatch):
    links = marginals._links

    def turned(*given):
        return [link._replace(log=link.log.T) for link in links(*given) if link.log.size == 4]

    monkeypatch.setattr(marginals, "_links", turned)
    assert max(filter(None, map(deviation, range(9001, 9081, 2)))) > 1e-3


def test_cells_that_observed_pairs_tell_apart_must_not_be_joined(only_links, monkeypatch):
    monkeypatch.setattr(coordinates, "_are_equal", lambda *rows: True)
    with pytest.raises(AssertionError):
        assert max(filter(None, map(deviation, range(9000, 9080)))) < CLOSE


def test_best_states_and_joint_laws_are_those_of_elimination(only_links):
    outcomes = Counter()
    for seed in range(9400, 9480):
        if (pair := linked_program(seed)) is None:
            continue
        logic, exact = pair
        best, counted = om.best(logic, method="exact"), om.best(logic, method="counting")
        assert counted.proven
        assert counted[0].log_weight == pytest.approx(best[0].log_weight, abs=1e-9)
        assert weight_of(logic, counted[0]) == pytest.approx(best[0].log_weight, abs=1e-9)
        names = np.random.default_rng(seed).permutation(list(exact))[:2].tolist()
        law = om.joint(logic, names, method="counting").probability
        assert law == pytest.approx(om.joint(logic, names, method="exact").probability, abs=CLOSE)
        outcomes["compared"] += 1
    assert outcomes["compared"] >= 40


def test_draws_have_the_marginals(only_links):
    """Frequencies of 400 states: Bernstein's bound, for a chance of 1e-9 of all comparisons."""
    compared, samples = 0, 400
    for seed in range(9500, 9530):
        if (pair := linked_program(seed)) is None:
            continue
        logic, exact = pair
        drawn = om.draws(logic, samples=samples, chains=1, method="counting", seed=seed)
        values = np.asarray(drawn.values).reshape(samples, -1)
        for name, frequency in zip(drawn.names, values.mean(axis=0), strict=True):
            p, slack = exact[name].probability[0], 28.0 / samples
            bound = math.sqrt(2 * p * (1 - p) * slack) + slack
            assert abs(frequency - p) <= bound
            compared += 1
    assert compared > 200


def test_expected_true_groundings_are_those_of_all_worlds(only_links):
    deviations = []
    for seed in range(3000, 3120):
        written = random_fragment(seed)
        try:
            logic = read(written.program, written.database, opened=written.opened)
            refused = isinstance(logic.source.lifting, str)
        except (ContradictionError, InputError):
            continue
        if not refused:
            deviations.append(expected_deviation(seed))
    assert sum(gap is not None for gap in deviations) > 15
    assert max(filter(None, deviations)) < CLOSE


def circle(count, weight=0.02):
    """People who each know the next one, and everybody may know everybody."""
    facts = "\n".join(f"Friends(P{n},P{(n + 1) % count})" for n in range(count))
    facts += "\nSmokes(P0)\n0.7 Smokes(P3)"
    rules = SMOKERS.replace("0.3", repr(weight)) + "0.1 Smokes(x)\n"
    return read(people(count) + rules, facts, opened=["Friends", "Smokes"])


def test_a_circle_of_friends_is_counted_by_auto():
    logic = circle(9)
    exact = om.marginals(logic, method="exact")
    counted = om.marginals(logic, method="counting")
    assert np.abs(counted.columns.probability - exact.columns.probability).max() < CLOSE
    large = circle(300)
    assert not large.is_ground
    answer = om.marginals(large, query="Smokes;Friends(P1,P9)")
    assert answer.about.method == "counting"
    assert "constants of observed pairs are eliminated (width 3)" in answer.about.reason
    assert answer["Smokes(P1)"].probability[0] > answer["Smokes(P150)"].probability[0]
    either = om.probability(large, "Smokes(P1) v Friends(P1,P9)")
    law = om.joint(large, ["Smokes(P1)", "Friends(P1,P9)"]).probability
    assert either.value == pytest.approx(1 - law[0, 0], abs=1e-12)
    assert law[1].sum() == pytest.approx(answer["Smokes(P1)"].probability[0], abs=1e-11)
    assert not large.is_ground


def test_observed_pairs_of_large_width_are_refused_with_the_width(monkeypatch):
    rng = np.random.default_rng(1)
    pairs = {tuple(sorted(rng.choice(150, 2, replace=False).tolist())) for _ in range(500)}
    facts = "\n".join(f"Friends(P{a},P{b})" for a, b in sorted(pairs))
    logic = read(people(150) + SMOKERS, facts, opened=["Friends"])
    words = r"observed Friends has .* pairs of constants without a pattern \(.*groups, width 1\d"
    with pytest.raises(InputError, match=words):
        om.marginals(logic, method="counting")
    monkeypatch.setattr(tree, "MOST_ENTRIES", 10)
    with pytest.raises((InputError, LimitError)):
        om.marginals(circle(300), method="counting")
