"""Probabilities of events: against brute force and an independent evaluator."""

import itertools

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.inference._probability import EventFeature
from tests.inference.questions.events import holds, random_event
from tests.inference.questions.truth import hard_models, require_honest, soft_models

SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers"


@pytest.fixture
def sprinkler():
    return om.read(SPRINKLER)


@pytest.fixture(scope="module")
def smokers():
    return om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db", opened=["Smokes"], query="Smokes,Cancer")


def test_exact_probabilities_equal_brute_force(way):
    for seed, model, truth in hard_models(300):
        event = random_event(np.random.default_rng(seed), model)
        found = om.probability(model, event, method="exact")
        assert float(found) == pytest.approx(truth[holds(event, model)].sum(), abs=1e-9), event
        assert found.verdict == "exact"
        assert found.low == found.value == found.high


def test_exact_conditional_probabilities_equal_brute_force(way):
    impossible = 0
    for seed, model, truth in hard_models(300):
        rng = np.random.default_rng(seed)
        event, given = (random_event(rng, model, depth=2) for _ in range(2))
        when = holds(given, model)
        if truth[when].sum() == 0:
            impossible += 1
            with pytest.raises(ContradictionError):
                om.probability(model, event, given=given, method="exact")
            continue
        expected = truth[when & holds(event, model)].sum() / truth[when].sum()
        found = om.probability(model, event, given=given, method="exact")
        assert float(found) == pytest.approx(expected, abs=1e-9), (event, given)
    assert 0 < impossible < 150


def scores(models, ask):
    off, inside = [], []
    for seed, model, truth in models:
        event, given = ask(np.random.default_rng(seed), model)
        when = holds(given, model) if given else np.ones(truth.shape, dtype=bool)
        expected = truth[when & holds(event, model)].sum() / truth[when].sum()
        options = {"method": "gibbs", "samples": 60, "seed": seed, "threads": 1}
        found = om.probability(model, event, given=given, **options)
        if found.converged and found.standard_error > 0:
            off.append((found.value - expected) / found.standard_error)
            inside.append(found.low <= expected <= found.high)
    return np.array(off), np.array(inside)


def plain(rng, model):
    return random_event(rng, model, depth=2), None


def conditional(rng, model):
    """A condition that is no evidence, so that it needs a ratio, and not a rare one."""
    names, values = model.names, model.values
    given = f"{names[0]} == {values[0][0]!r} or {names[1]} != {values[1][0]!r}"
    return random_event(rng, model, depth=1), given


def evident(rng, model):
    """A condition that is evidence of some values."""
    place = int(np.argmax([len(values) for values in model.values]))
    return random_event(rng, model, depth=1), f"{model.names[place]} != 'a'"


@pytest.mark.parametrize("ask", [plain, conditional, evident])
@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_sampled_probabilities_lie_within_their_errors(ask, count):
    off, inside = scores(soft_models(count), ask)
    assert len(off) > 0.5 * count
    require_honest(off, inside)


def test_a_wrong_event_would_be_noticed(monkeypatch):
    """If the averaged variable kept its first value, scores would be far too large."""
    right = EventFeature._values
    monkeypatch.setattr(
        EventFeature, "_values", lambda self, states, value, one: right(self, states, 0, one)
    )
    off, _ = scores(soft_models(20), plain)
    assert np.abs(off).max() > 8


def test_a_condition_that_is_evidence_and_its_ratio_agree(sprinkler):
    """The same condition in other words is answered by a ratio instead."""
    event, options = "rain == heavy", {"method": "gibbs", "samples": 2000, "seed": 1}
    evidence = om.probability(sprinkler, event, given="grass == wet", **options)
    ratio = om.probability(sprinkler, event, given="grass == wet or grass == wet", **options)
    exact = om.probability(sprinkler, event, {"grass": "wet"})
    for found in (evidence, ratio):
        assert abs(found.value - exact.value) < 8 * found.standard_error
    assert "exact" in exact.verdict


def formulas(atoms):
    """Formulas of three atoms, and their truth in each world."""
    a, b, c = atoms
    return {
        f"{a} ^ !{b}": lambda x, y, z: x and not y,
        f"{a} v {b} ^ {c}": lambda x, y, z: x or (y and z),
        f"{a} => ({b} <=> {c})": lambda x, y, z: (not x) or (y == z),
        f"!({a} v {b}) v {c}": lambda x, y, z: not (x or y) or z,
        f"({a} <=> {b}) <=> {c}": lambda x, y, z: (x == y) == z,
    }


@pytest.mark.parametrize("number", range(5))
def test_formulas_of_programs_mean_what_they_say(smokers, number):
    atoms = ["Smokes(Bob)", "Cancer(Bob)", "Smokes(Cloe)"]
    text, meaning = list(formulas(atoms).items())[number]
    table = om.joint(smokers, atoms).probability
    worlds = itertools.product([0, 1], repeat=3)
    expected = sum(table[world] for world in worlds if meaning(*map(bool, world)))
    assert float(om.probability(smokers, text)) == pytest.approx(expected, abs=1e-12)
    sampled = om.probability(smokers, text, method="gibbs", samples=300, seed=1)
    assert abs(sampled.value - expected) < 8 * sampled.standard_error


def test_formulas_can_be_given(smokers):
    table = om.joint(smokers, ["Smokes(Bob)", "Cancer(Bob)"]).probability
    found = om.probability(smokers, "Cancer(Bob)", given="Smokes(Bob)")
    assert float(found) == pytest.approx(table[1, 1] / table[1].sum(), abs=1e-12)
    either = om.probability(smokers, "Cancer(Bob)", given="Smokes(Bob) v Cancer(Bob)")
    assert float(either) == pytest.approx(table[:, 1].sum() / (1 - table[0, 0]), abs=1e-12)


def test_an_estimate_is_a_number_with_words(sprinkler):
    found = om.probability(sprinkler, "grass == wet", method="gibbs", samples=200, seed=1)
    assert isinstance(float(found), float)
    assert str(found).startswith(f"{found.value:.6g} ± ")
    assert str(found).endswith(found.verdict)
    assert found.about.method == "gibbs"


def test_a_long_event_stays_cheap():
    """A hundred thousand joint values of seventeen variables would be needed otherwise."""
    model = om.ising_grid(4, 5, 0.3)
    every = " and ".join(f"{name} == up" for name in model.names)
    some = " or ".join(f"{name} == down" for name in model.names)
    assert float(om.probability(model, every)) > 0
    total = float(om.probability(model, every)) + float(om.probability(model, some))
    assert total == pytest.approx(1, abs=1e-12)


def test_events_that_evidence_decides_are_certain(sprinkler):
    found = om.probability(sprinkler, "grass == wet", {"grass": "wet"})
    assert (found.value, found.verdict) == (1.0, "exact")
    assert float(om.probability(sprinkler, "grass == dry", given="grass == wet")) == 0.0


def test_rare_events_get_an_interval_that_admits_what_was_not_seen():
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A"], [1e-6, 1]), (["B"], [1, 1])])
    event = "A == x and B == x"
    found = om.probability(model, event, method="gibbs", samples=100, seed=1)
    assert found.verdict == "rare"
    assert found.low <= 5e-7 <= found.high


def test_frozen_variables_make_an_event_doubtful():
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A", "B"], [[0.5, 0], [0, 0.5]])])
    alone = {"method": "gibbs", "scan": "systematic", "samples": 100}
    found = om.probability(model, "A == x or B == y", **alone)
    assert found.verdict == "frozen"
    assert not found.converged


def test_a_condition_that_is_never_seen_is_refused():
    values = {name: ["x", "y"] for name in "ABC"}
    model = om.model(values, [([name], [1e-12, 1]) for name in "ABC"])
    with pytest.raises(LimitError, match="what is given was true in none"):
        om.probability(
            model,
            "A == x",
            given="B == x and C == x or C == x and B == x",
            method="gibbs",
            samples=20,
        )


def test_impossible_conditions_are_contradictions(sprinkler):
    for given in ("grass == wet and grass == dry", "grass == grass and not grass == grass"):
        with pytest.raises(ContradictionError, match="impossible"):
            om.probability(sprinkler, "rain == none", given=given)


def test_it_stops_at_a_standard_error(sprinkler):
    options = {"method": "gibbs", "standard_error": 0.001, "seed": 1}
    found = om.probability(sprinkler, "rain == none or grass == wet", **options)
    assert 0.0003 < found.standard_error < 0.002


def test_an_early_end_gives_what_is_known_so_far(sprinkler):
    def stop(run):
        if run.recorded > 20:
            run.stop()

    options = {"method": "gibbs", "samples": 10**6, "warm_up": 9, "watchers": [stop]}
    found = om.probability(sprinkler, "rain == none", **options)
    assert found.about.interrupted
    assert 0 < found.value < 1


def test_other_mistakes_are_refused(sprinkler):
    with pytest.raises(InputError, match="checkpoint"):
        om.probability(sprinkler, "rain == none", checkpoint="x.run")
    with pytest.raises(InputError, match="an event is text"):
        om.probability(sprinkler, 3)
    with pytest.raises(InputError, match="given:1:1"):
        om.probability(sprinkler, "rain == none", given="rian == none")


def test_an_event_that_evidence_decides_is_not_answered_where_no_state_is_possible():
    model = om.model(
        {"A": ["x", "y"], "B": ["x", "y"], "C": ["x", "y"]}, [(["A", "B", "C"], [0] * 8)]
    )
    model = model.given({"C": [0.5, 0.5]})
    with pytest.raises(ContradictionError):
        om.probability(model, "A == 'x' or A == 'y'", method="lmh", samples=20)
