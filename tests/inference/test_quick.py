"""Prepared eliminations are kept, and never used for another model or other evidence."""

import gc
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.graph.model import Model
from orbitmc.inference import cache as quick
from orbitmc.inference.cache import WeakCache
from tests.exact.random_graphs import random_graph


@pytest.fixture
def planned(monkeypatch):
    """How often an elimination was planned; nothing is known from before."""
    found = []
    plan = quick.template

    def counted(*arguments, **options):
        found.append(arguments)
        return plan(*arguments, **options)

    monkeypatch.setattr(quick, "template", counted)
    monkeypatch.setattr(quick, "KEPT", WeakCache(256))
    return found


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(map(str, range(n))) for n in graph.cardinality))


def in_full(model, evidence, **options):
    """The answer of the way that keeps nothing, or None if there is none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
        try:
            return om.marginals(model, evidence, method="exact", **options)
        except ContradictionError:
            return None


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name in found:
        assert found[name].values == expected[name].values
        assert found[name].verdict == expected[name].verdict
        np.testing.assert_allclose(found[name].probability, expected[name].probability, atol=1e-12)
    assert found.about.log_z == pytest.approx(expected.about.log_z, abs=1e-10)


def random_evidence(model, rng):
    found = {}
    for name, values in model.domains().items():
        kind = rng.integers(0, 5)
        if kind == 0:
            found[name] = str(rng.integers(len(values)))
        elif kind == 1:
            found[name] = rng.random(len(values)).tolist()
    return found


@pytest.mark.parametrize("block", range(4))
def test_a_kept_elimination_gives_the_answer_of_a_fresh_one(block, planned):
    answered = 0
    for seed in range(40 * block, 40 * (block + 1)):
        rng = np.random.default_rng([seed, 2])
        model = named(random_graph(seed))
        for evidence in (random_evidence(model, rng), {}):
            expected = in_full(model, evidence)
            for _ in range(2):
                if expected is None:
                    with pytest.raises(ContradictionError):
                        om.marginals(model, evidence, method="exact")
                else:
                    assert_same(om.marginals(model, evidence, method="exact"), expected)
                    answered += 1
    assert answered > 40
    assert len(planned) < answered


def alarm_like():
    return om.read("examples/sprinkler.bif")


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    from pathlib import Path

    monkeypatch.chdir(Path(__file__).parents[2])


def test_the_same_variables_are_planned_once_whatever_their_values(planned):
    model = alarm_like()
    for grass in ("wet", "dry", "wet"):
        found = om.marginals(model, {"grass": grass}, method="exact")
        assert_same(found, in_full(model, {"grass": grass}))
    assert len(planned) == 1
    om.marginals(model, {"season": "rainy"}, method="exact")
    om.marginals(model, {"grass": {"wet": 2, "dry": 1}}, method="exact")
    assert len(planned) == 3


def test_a_query_shares_the_plan_and_not_the_answer(planned):
    model = alarm_like()
    whole = om.marginals(model, {"grass": "wet"}, method="exact")
    part = om.marginals(model, {"grass": "wet"}, method="exact", query=["rain"])
    assert list(part) == ["rain"]
    assert (part["rain"].probability == whole["rain"].probability).all()
    assert len(planned) == 1


def edited(model):
    """The same structure and names with other weights."""
    graph = model.graph
    return replace(model, graph=graph._replace(table=graph.table * 0.5))


def test_an_edited_model_never_gets_the_old_plan(planned):
    model = alarm_like()
    before = om.marginals(model, {"grass": "wet"}, method="exact")
    after = om.marginals(edited(model), {"grass": "wet"}, method="exact")
    assert_same(after, in_full(edited(model), {"grass": "wet"}))
    assert abs(after["rain"].probability - before["rain"].probability).max() > 0.01


def test_this_would_be_seen_if_plans_were_kept_by_names_only(planned, monkeypatch):
    def forgetful(self, owner, key, make, size_of=None):
        return self.__dict__.setdefault("all", {}).setdefault(key, make())

    monkeypatch.setattr(WeakCache, "of", forgetful)
    with pytest.raises(AssertionError):
        test_an_edited_model_never_gets_the_old_plan(planned)


def test_what_belongs_to_an_object_that_is_gone_is_never_given_to_its_successor():
    kept = WeakCache(4)

    class Owner:
        pass

    first = Owner()
    kept.of(first, "key", lambda: "of the first")
    place = (id(first), "key")
    del first
    gc.collect()
    second = Owner()
    kept._found[id(second), "key"] = kept._found.pop(place)  # as if it had the same address
    assert kept.of(second, "key", lambda: "of the second") == "of the second"


def test_only_so_many_things_are_kept():
    kept = WeakCache(3)
    model = alarm_like()
    for key in range(10):
        kept.of(model, key, lambda key=key: key)
    assert len(kept) == 3
    assert kept.of(model, 9, lambda: "made again") == 9
    assert kept.of(model, 0, lambda: "made again") == "made again"


def test_no_more_is_kept_than_fits():
    kept = WeakCache(100, most_bytes=1000)
    model = alarm_like()
    for key in range(10):
        kept.of(model, key, lambda key=key: key, lambda made: 300)
    assert len(kept) == 3
    kept.of(model, "large", lambda: "large", lambda made: 5000)
    assert kept.of(model, "large", lambda: "made again") == "large"


def test_models_that_are_gone_are_forgotten_first():
    kept = WeakCache(2)
    model = alarm_like()
    kept.of(model, "stays", lambda: 1)
    kept.of(alarm_like(), "goes", lambda: 2)
    gc.collect()
    kept.of(model, "new", lambda: 3)
    assert kept.of(model, "stays", lambda: "made again") == 1


def test_impossible_evidence_is_explained_as_ever(planned):
    model = om.model(
        {"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[1, 0], [0, 1]]), (["a"], [1, 2])]
    )
    for _ in range(2):
        with pytest.raises(ContradictionError, match="impossible"):
            om.marginals(model, {"a": "x", "b": "y"}, method="exact")
    assert om.marginals(model, {"a": "x"}, method="exact")["b"].probability.tolist() == [1, 0]
