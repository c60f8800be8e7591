"""Columns say of every variable what marginals made one by one would say."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.estimate.marginals import (
    MARGINAL_COLUMNS,
    OF_VALUES,
    Marginal,
    certain_columns,
    concatenate_columns,
)
from orbitmc.estimate.verdicts import EXACT, GOOD, OBSERVED, UNMIXED
from tests.gathered import gathered

RNG = np.random.default_rng(3)


def marginal(size, verdict=GOOD):
    numbers = {column: RNG.random(size) for column in MARGINAL_COLUMNS}
    rare = RNG.random(size) < 0.5
    return Marginal(tuple(f"v{k}" for k in range(size)), **numbers, verdict=verdict, rare=rare)


def some(count, first=0):
    return {f"x{first + k}": marginal(1 + k % 4, (GOOD, UNMIXED)[k % 3 == 0]) for k in range(count)}


def same(one, two):
    assert (one.values, one.verdict) == (two.values, two.verdict)
    for column in OF_VALUES:
        assert getattr(one, column).tolist() == getattr(two, column).tolist()


def test_what_is_gathered_is_found_again():
    each = some(9)
    found = gathered(each)
    assert list(found.names) == list(each)
    for name, own in each.items():
        same(found.marginal(name), own)


def test_joined_and_taken_columns_keep_variables_whole():
    first, second = some(7), some(5, first=7)
    everything = {**first, **second}
    order = RNG.permutation(12)
    found = concatenate_columns([gathered(first), gathered(second)]).take(order)
    assert list(found.names) == [f"x{k}" for k in order]
    for name, own in everything.items():
        same(found.marginal(name), own)


def test_pieces_are_the_whole():
    each = some(11)
    pieces = list(gathered(each).pieces(rows_at_a_time=4))
    assert [len(piece.names) for piece in pieces] == [4, 4, 3]
    for piece in pieces:
        for name in piece.names:
            same(piece.marginal(name), each[name])


def test_a_value_of_a_variable_is_a_variable_of_its_own():
    each = {f"x{k}": marginal(2 + k) for k in range(5)}
    found = gathered(each).of_values(["a", "b"], np.array([3, 1]), np.array([4, 0]), ("true",))
    assert found.marginal("a").values == ("true",)
    for column in MARGINAL_COLUMNS:
        assert getattr(found.marginal("a"), column).tolist() == [getattr(each["x3"], column)[4]]
        assert getattr(found.marginal("b"), column).tolist() == [getattr(each["x1"], column)[0]]


def test_certain_values_are_no_extremes():
    sure = certain_columns(["s"], [("no", "yes")], np.array([0.25, 0.75]), EXACT)
    assert sure.extremes() == (1.0, np.inf)
    each = some(6)
    found = concatenate_columns([sure, gathered(each)])
    assert found.extremes() == (
        max(1.0, *(own.r_hat.max() for own in each.values())),
        min(own.ess.min() for own in each.values()),
    )
    assert found.counts() == {EXACT: 1, UNMIXED: 2, GOOD: 4}
    assert found.names_with(UNMIXED, 1) == ["x0"]


def test_observed_and_forced_variables_stand_where_the_author_put_them():
    values = dict.fromkeys(("a", "seen", "b", "forced"), ("no", "yes"))
    values["three"] = ("r", "g", "b")
    factors = [(["a", "b"], [[1, 2], [3, 1]]), (["forced"], [0, 5]), (["three"], np.ones(3))]
    model = om.model(values, factors).given({"seen": "yes"})
    for method in ("exact", "gibbs"):
        found = om.marginals(model, method=method, samples=50 if method == "gibbs" else None)
        assert list(found) == ["a", "seen", "b", "forced", "three"]
        assert found["seen"].verdict == OBSERVED
        assert found["seen"].probability.tolist() == [0.0, 1.0]
        assert found["forced"].probability.tolist() == [0.0, 1.0]
        assert np.isinf(found["forced"].ess).all()
        assert found["three"].values == ("r", "g", "b")
        assert found["three"].probability.sum() == 1.0
        assert found.verdicts()[OBSERVED] == 1


def test_a_number_is_found_by_variable_and_value():
    answer = om.marginals(om.read("examples/sprinkler.bif"), {"grass": "wet"})
    number = answer["rain"].probability[2]
    assert answer["rain"]["heavy"] == answer["rain", "heavy"] == number
    assert answer.probability("rain", "heavy") == number
    with pytest.raises(KeyError, match="no value 'strong'; the values are none, light, heavy"):
        answer["rain", "strong"]
    with pytest.raises(KeyError, match="no variable"):
        answer["rain", "heavy", "now"]
    assert ("rain", "strong") not in answer
    assert ("rain", "heavy") in answer


def test_a_variable_among_the_settings_is_called_evidence():
    words = (
        r"'rain' is a variable: evidence is a mapping, as in marginals\(model, {'rain': 'heavy'}"
    )
    with pytest.raises(TypeError, match=words):
        om.marginals(om.read("examples/sprinkler.bif"), rain="heavy")
