"""Exact answers are found in two ways, and both must be right."""

import pytest

from orbitmc.inference import _log_z as shrinking


@pytest.fixture(params=["kept", "planned"])
def way(request, monkeypatch):
    """By an elimination that is kept for the next question, or by one that is planned anew."""
    if request.param == "planned":
        monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
    return request.param


@pytest.fixture
def all_sampled(monkeypatch):
    """Small models are not summed out before they are sampled."""
    monkeypatch.setattr(shrinking, "eliminate_cheap_variables", lambda graph: graph)
