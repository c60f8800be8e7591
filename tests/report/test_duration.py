"""How long writing takes is known from a small answer; the clock here is driven by the work."""

from types import SimpleNamespace

import numpy as np
import pytest

from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.report import answer_files as duration
from orbitmc.report.answer_files import MOST_VARIABLES_TRIED, json_pieces, writing_seconds
from orbitmc.report.terminal import csv_pieces, plain_pieces


def model(variables):
    sizes = 2 + np.arange(variables) % 2
    names = tuple(f"v{k}" for k in range(variables))
    return Model(Builder(sizes).build(), names, tuple(("a", "b", "c")[:size] for size in sizes))


@pytest.mark.parametrize("pieces", [json_pieces, csv_pieces, plain_pieces])
def test_a_value_costs_as_much_in_a_large_answer_as_in_a_small_one(monkeypatch, pieces):
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(duration, "time", clock)

    def slow(answer):
        yield from pieces(answer)
        clock.now += 3.0 * len(answer.columns.probability)

    asked = model(4 * MOST_VARIABLES_TRIED)
    assert writing_seconds(asked, slow) == pytest.approx(3.0 * 10 * MOST_VARIABLES_TRIED)
    assert clock.now == 3.0 * 2.5 * MOST_VARIABLES_TRIED


def test_small_answers_take_no_time():
    assert (
        writing_seconds(model(MOST_VARIABLES_TRIED), lambda answer: pytest.fail("nothing to try"))
        == 0.0
    )
