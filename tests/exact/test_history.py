"""What was asked before changes no answer, as long as no order has to be searched for."""

import numpy as np

import orbitmc as om
from orbitmc.exact import order
from orbitmc.inference import cache as quick
from orbitmc.inference.cache import WeakCache
from tests.inference.questions.truth import hard_models


def forget(monkeypatch):
    order.REMEMBERED_ORDERS.clear()
    order.KEPT_OF_GRAPHS.clear()
    monkeypatch.setattr(quick, "KEPT", WeakCache(256))


def answers(model):
    """Numbers in full precision, drawn states, and the best ones."""
    yield om.marginals(model, method="exact")["A"].probability
    yield om.joint(model, ["B", "A"], method="exact").probability
    yield np.array(om.log_z(model, method="exact").value)
    yield om.draws(model, samples=20, chains=1, seed=3).values
    yield np.array([sorted(one.items()) for one in om.best(model, k=3)])


def test_answers_do_not_depend_on_earlier_questions(monkeypatch):
    for seed, model, truth in hard_models(20):
        forget(monkeypatch)
        fresh = [one.tobytes() for one in answers(model)]
        forget(monkeypatch)
        value = int(np.argmax(truth.sum(axis=(1, 2, 3, 4))))
        om.marginals(model, {"A": value}, method="exact")
        om.joint(model, ["A", "C"], {"B": None}, method="exact")
        om.best(model.at(0.5), k=2)
        om.log_z(model, {"A": value})
        assert [one.tobytes() for one in answers(model)] == fresh, seed


def test_a_cheap_order_ignores_hints():
    """An order of an earlier graph is looked at only where a search would begin."""
    scopes, sizes = [(k, k + 1) for k in range(9)], [2] * 10
    plain = order.find_order(scopes, sizes, seconds=1.0, seed=1)
    hint = order.Order(list(range(10))[::-1], plain.cost)
    assert order.find_order(scopes, sizes, seconds=1.0, seed=2, hint=hint) == plain
