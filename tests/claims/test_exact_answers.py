"""Exact answers are those of a list of all states; every question agrees with it."""

import itertools
import math

import numpy as np
import pytest

import orbitmc as om

VALUES = {"rain": ["no", "yes"], "grass": ["dry", "wet"], "mood": ["bad", "fair", "good"]}
NAMES = list(VALUES)
FACTORS = [
    (["rain"], np.array([1.6, 0.4])),
    (["rain", "grass"], np.array([[0.9, 0.1], [0.2, 0.8]])),
    (["grass", "mood"], np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.0]])),
]
STATES = list(itertools.product(*(range(len(values)) for values in VALUES.values())))


def weight(state):
    places = dict(zip(NAMES, state, strict=True))
    return math.prod(
        float(table[tuple(places[name] for name in scope)]) for scope, table in FACTORS
    )


WEIGHTS = np.array([weight(state) for state in STATES])


def chance(condition, given=lambda state: True):
    """The probability of what a function of the state says, by adding up."""
    kept = [(w, state) for w, state in zip(WEIGHTS, STATES, strict=True) if given(state)]
    return sum(w for w, state in kept if condition(state)) / sum(w for w, _ in kept)


@pytest.fixture(scope="module")
def model():
    return om.model(VALUES, FACTORS)


def is_wet(state):
    return state[1] == 1


@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("evidence", [{}, {"grass": "wet"}])
def test_marginals(model, method, evidence):
    answer = om.marginals(model, evidence, method=method)
    given = is_wet if evidence else lambda state: True
    for place, name in enumerate(NAMES):
        expected = [
            chance(lambda state, p=place, v=v: state[p] == v, given)
            for v in range(len(VALUES[name]))
        ]
        np.testing.assert_allclose(answer[name].probability, expected, atol=1e-12)
        assert answer[name].verdict in ("exact", "observed", "forced")
        assert not np.any(answer[name].standard_error)


def test_joint(model):
    answer = om.joint(model, ["mood", "rain"], {"grass": "wet"})
    for mood, rain in itertools.product(range(3), range(2)):
        expected = chance(lambda s, m=mood, r=rain: (s[2], s[0]) == (m, r), is_wet)
        assert answer.probability[mood, rain] == pytest.approx(expected, abs=1e-12)


def test_events_and_means(model):
    event = om.probability(model, "rain == 'yes' or mood == 'good'", {"grass": "wet"})
    expected = chance(lambda state: state[0] == 1 or state[2] == 2, is_wet)
    assert event.value == pytest.approx(expected, abs=1e-12)
    mean = om.expect(model, {"f": lambda state: 2.0 * state["rain"] + state["mood"]})["f"].value
    listed = WEIGHTS @ [2.0 * rain + mood for rain, _, mood in STATES] / WEIGHTS.sum()
    assert mean == pytest.approx(listed, abs=1e-12)


def test_the_logarithm_of_the_sum_of_weights(model):
    assert om.log_z(model).value == pytest.approx(math.log(WEIGHTS.sum()), abs=1e-12)
    wet = sum(w for w, state in zip(WEIGHTS, STATES, strict=True) if is_wet(state))
    assert om.log_z(model, {"grass": "wet"}).value == pytest.approx(math.log(wet), abs=1e-12)


def test_the_most_probable_states(model):
    states = om.best(model, k=4)
    expected = sorted(WEIGHTS, reverse=True)[:4]
    np.testing.assert_allclose([state.log_weight for state in states], np.log(expected), atol=1e-12)
    for state in states:
        places = tuple(VALUES[name].index(state[name]) for name in NAMES)
        assert math.log(weight(places)) == pytest.approx(state.log_weight, abs=1e-12)


def test_information_is_that_of_the_joint_table(model):
    table = np.array(
        [[chance(lambda s, r=r, m=m: (s[0], s[2]) == (r, m)) for m in range(3)] for r in range(2)]
    )
    outer = np.outer(table.sum(axis=1), table.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.nansum(table * np.log2(table / outer))
    answer = om.information(model, "rain", ["mood"])
    assert answer["mood"].value == pytest.approx(expected, abs=1e-12)


def test_predictions_are_marginals_of_each_row(model):
    rows = [{"grass": "wet"}, {"mood": "good"}, {}]
    numbers = om.predict(model, rows, query=["rain"]).to_numpy()
    expected = [om.marginals(model, row)["rain"].probability for row in rows]
    np.testing.assert_allclose(numbers, expected, atol=1e-12)
    first = chance(lambda state: state[0] == 1, is_wet)
    assert numbers[0][1] == pytest.approx(first, abs=1e-12)


def test_a_temperature_raises_weights_to_a_power(model):
    (rung,) = om.sweep(model, [0.5])
    powers = WEIGHTS**0.5
    expected = sum(w for w, state in zip(powers, STATES, strict=True) if is_wet(state))
    assert rung.marginals["grass"].probability[1] == pytest.approx(
        expected / powers.sum(), abs=1e-12
    )


def test_exact_draws_are_states_with_weight(model):
    """Counts of 4,000 independent draws are within six deviations: false alarms below 1e-7."""
    draws = om.draws(model, samples=4000, chains=1, seed=3).to_frame()
    wet = float((draws["grass"] == "wet").mean())
    expected = chance(is_wet)
    assert abs(wet - expected) < 6 * (expected * (1 - expected) / 4000) ** 0.5
    assert not ((draws["grass"] == "wet") & (draws["mood"] == "good")).any()
