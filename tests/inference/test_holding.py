"""`auto` eliminates with a few variables held where memory is short by little, if time allows."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.exact import order
from orbitmc.exact.plan import predict
from orbitmc.inference import plan as decisions
from orbitmc.inference.plan import plan_elimination, plan_model
from orbitmc.inference.settings import Settings

MODEL = om.ising_grid(12, 12, 0.3, 0.1)


@pytest.fixture(scope="module", autouse=True)
def _no_earlier_orders():
    """Orders that other tests have found would be used again."""
    order.REMEMBERED_ORDERS.clear()
    order.KEPT_OF_GRAPHS.clear()


@pytest.fixture(scope="module")
def tight():
    """Less memory than messages need that are made twice."""
    return int(0.9 * predict(MODEL.graph, memory=1).bytes)


def test_auto_holds_variables_where_memory_is_short_by_little(tight):
    settings = Settings(memory=tight, seconds=60.0)
    decision = plan_model(MODEL, settings)
    assert len(decision.elimination.cutset) > 0
    assert decision.elimination.bytes <= tight
    found = om.marginals(MODEL, settings=settings)
    assert found.about.method == "exact"
    ample = om.marginals(MODEL, method="exact")
    assert ample.about.reason != found.about.reason
    for name in MODEL.names:
        np.testing.assert_allclose(found[name].probability, ample[name].probability, atol=1e-11)


def test_auto_samples_where_holding_would_take_too_long(tight):
    needed = plan_model(MODEL, Settings(memory=tight, seconds=60.0)).elimination.seconds
    plan, reason = plan_elimination(MODEL.graph, Settings(memory=tight, seconds=0.5 * needed))
    assert plan is None
    assert "s (width" in reason or "s at least" in reason


@dataclass(frozen=True)
class Price:
    bytes: int
    seconds: float
    width: int = 30


NEARLY = Price(bytes=8 * 2**30, seconds=1000.0)


@pytest.mark.parametrize(
    ("price", "seconds", "expected"),
    [
        (NEARLY, 60.0, 12.0),
        (NEARLY, 10_000.0, decisions.MOST_ORDER_SECONDS),
        (NEARLY, 5.0, 0.0),
        (NEARLY, None, 0.0),
        (replace(NEARLY, bytes=2**41), 60.0, 0.0),
        (replace(NEARLY, seconds=1e6), 60.0, 0.0),
        (replace(NEARLY, bytes=2**20, seconds=1.0), 60.0, 0.0),
    ],
)
def test_a_long_run_looks_on_only_where_a_better_order_may_be_affordable(price, seconds, expected):
    assert decisions._longer_order_search_seconds(price, Settings(seconds=seconds)) == expected


def test_an_order_is_looked_for_again_only_where_there_is_more_time(monkeypatch):
    asked = []

    def found(scopes, sizes, seconds, *rest):
        asked.append(seconds)
        return order.Order([0, 1], 2.0 * order.EASY)

    monkeypatch.setattr(order, "_search_order", found)
    for seconds in (1.0, 1.0, 0.5, 4.0, 2.0):
        order.find_order([(0, 1)], [7, 5], seconds=seconds, seed=12345)
    assert asked == [1.0, 4.0]
