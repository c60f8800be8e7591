"""Tables that are written line by line look like those made as a whole."""

import csv
import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from orbitmc.estimate.formatting import headings, plain_table, rows
from orbitmc.estimate.marginals import (
    MARGINAL_COLUMNS,
    About,
    Marginal,
    Marginals,
    certain_columns,
    concatenate_columns,
)
from orbitmc.estimate.verdicts import EXACT, FAIR, OBSERVED, RARE, UNMIXED
from orbitmc.report.answer_files import json_pieces
from orbitmc.report.terminal import csv_pieces, plain_pieces, show_answer
from tests.gathered import gathered

PROBABILITIES = [0.0, 1.0, 0.25, 1e-5, 3e-101, 1 - 1e-9, 0.99994, 9.95e-100, 1.0000001]


def answer(seed, variables=30, certain_too=True):
    rng = np.random.default_rng(seed)
    found = {}
    for k in range(variables):
        size = int(rng.integers(1, 5))
        p = rng.choice(PROBABILITIES, size) if k % 2 else rng.random(size)
        numbers = {
            column: rng.choice([0.0, 1.0, 1e-5, 1e-120, 0.3], size) for column in MARGINAL_COLUMNS
        }
        numbers |= {"probability": p, "ess": 10.0 ** rng.integers(0, 9, size)}
        numbers["r_hat"] = 1 + 10.0 ** rng.integers(-4, 3, size)
        rare = rng.random(size) < 0.5
        verdict = str(rng.choice([FAIR, RARE, UNMIXED]))
        values = tuple("v" * int(rng.integers(1, 9)) for _ in range(size))
        found["x\n" * (k % 3) + str(k)] = Marginal(values, **numbers, verdict=verdict, rare=rare)
    sure = certain_columns(
        ["seen", "forced"], [("a", "b"), ("c",)], np.array([0.0, 1.0, 1.0]), OBSERVED
    )
    parts = [gathered(found), sure] if certain_too else [gathered(found)]
    return Marginals(concatenate_columns(parts), About("gibbs", "why not", chains=4))


@pytest.mark.parametrize("seed", range(20))
def test_a_streamed_table_is_the_table_as_a_whole(seed):
    found = answer(seed, certain_too=seed % 2 == 0)
    pieces = list(plain_pieces(found, rows_at_a_time=7, lines_at_a_time=5))
    assert len(pieces) > 3
    assert "".join(pieces) == plain_table(headings(found), list(rows(found))) + "\n"


def test_an_exact_table_and_an_empty_one_are_streamed_too():
    sure = certain_columns(
        ["a", "bb"], [("no", "yes")] * 2, np.array([0.25, 0.75, 0.0, 1.0]), EXACT
    )
    found = Marginals(sure, About("exact", "cheap"))
    assert "".join(plain_pieces(found)) == plain_table(headings(found), list(rows(found))) + "\n"
    nothing = Marginals(gathered({}), About("gibbs", ""))
    assert "".join(plain_pieces(nothing)) == plain_table(headings(nothing), []) + "\n"


def test_a_long_table_is_plain_on_a_terminal():
    found = answer(1)
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=60)
    show_answer(found, console, most_coloured=10)
    assert file.getvalue() == "".join(plain_pieces(found))


@pytest.mark.parametrize("rows_at_a_time", [1, 7, 4096])
def test_streamed_numbers_are_all_there(rows_at_a_time):
    found = answer(3)
    whole = json.loads("".join(json_pieces(found, rows_at_a_time)))
    assert list(whole["variables"]) == list(found)
    lines = list(csv.DictReader(io.StringIO("".join(csv_pieces(found, rows_at_a_time)))))
    expected = []
    for name, own in found.items():
        held = whole["variables"][name]
        assert held["values"] == list(own.values)
        assert held["verdict"] == own.verdict
        assert held["rare"] == own.rare.tolist()
        for column in MARGINAL_COLUMNS:
            numbers = getattr(own, column).tolist()
            assert held[column] == [n if math.isfinite(n) else None for n in numbers]
        for k, value in enumerate(own.values):
            expected.append(
                (name, value, own.verdict, *(getattr(own, c)[k] for c in MARGINAL_COLUMNS))
            )
    read = [
        (
            line["variable"],
            line["value"],
            line["verdict"],
            *(float(line[c]) if line[c] else math.inf for c in MARGINAL_COLUMNS),
        )
        for line in lines
    ]
    assert read == expected
