"""How probable what each row says is, and its most probable state."""

import csv
import io
import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.graph.relevance import log_z_of_leaves
from orbitmc.inference import rows as answering
from tests.cli.commands import orbitmc
from tests.graph.test_relevance import random_network
from tests.inference.questions.test_predict import named, random_row
from tests.oracle.brute_force import log_weight, states
from tests.oracle.random_models import random_graph

SPRINKLER = "examples/sprinkler.bif"
DAYS = "examples/days.csv"


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])


def predicted(*arguments, **options):
    """The frame, with warnings about rows let pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return om.predict(*arguments, **options)


def list_row(model, row):
    """All possible states with a row, and what they weigh."""
    domains, weights = model.domains(), {}
    for state in states(model.graph):
        log = log_weight(model.graph, state)
        for name, seen in row.items():
            value = state[model.index[name]]
            if isinstance(seen, str):
                log = log if domains[name][value] == seen else -math.inf
            elif seen is not None:
                log += math.log(seen[value]) if seen[value] else -math.inf
        if log > -math.inf:
            weights[state] = log
    return weights


def require_row(model, row, likelihood, best, everything):
    weights = list_row(model, row)
    if not weights:
        assert likelihood == -math.inf
        assert best is None
        return False
    expected = np.logaddexp.reduce([*weights.values()]) - everything
    assert likelihood == pytest.approx(expected, abs=1e-9)
    numbers = tuple(model.values[model.index[n]].index(best[n]) for n in model.names)
    assert weights[numbers] == pytest.approx(max(weights.values()), abs=1e-9)
    return True


@pytest.mark.parametrize("block", range(4))
def test_rows_agree_with_a_list_of_all_states(block):
    possible, rows_asked = 0, 0
    for seed in range(75 * block, 75 * (block + 1)):
        rng = np.random.default_rng([seed, 7])
        model = named(random_graph(seed, variables=(3, 7), zeros=0.2 * (seed % 2)))
        rows = [random_row(model, rng) for _ in range(6)]
        frame = predicted(model, rows, query=model.names, explain=True)
        everything = np.logaddexp.reduce([*list_row(model, {}).values()])
        triples = zip(rows, frame.attrs["log_likelihood"], frame.attrs["best"], strict=True)
        possible += sum(require_row(model, *triple, everything) for triple in triples)
        rows_asked += len(rows)
    assert rows_asked > possible > rows_asked / 4


def test_a_part_of_a_network_is_enough_for_likelihoods_and_too_little_for_explanations():
    """A question that needs few variables leaves leaves out; the best state of all does not."""
    differ = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = random_network(rng, 7)
        name = str(rng.choice(model.names))
        row = {str(rng.choice(model.names)): 0}
        frame = predicted(model, [row], query=name, explain=True)
        value = frame.attrs["best"][0][name]
        assert value == om.best(model, row)[0][name]
        assert frame.attrs["log_likelihood"][0] == pytest.approx(
            float(om.log_z(model, row)), abs=1e-9
        )
        differ += value != om.best(model, row, over=name)[0][name]
    assert differ > 0


def test_evidence_that_holds_in_all_rows_is_given():
    model = om.read(SPRINKLER)
    frame = predicted(model, [{"grass": "wet"}], {"season": "rainy"}, query="rain")
    both, given = (om.log_z(model, seen) for seen in ({"season": "rainy", "grass": "wet"},
                                                      {"season": "rainy"}))  # fmt: skip
    assert frame.attrs["log_likelihood"] == pytest.approx([float(both) - float(given)])
    assert "best" not in frame.attrs


def test_learning_has_the_same_likelihoods():
    model = om.read(SPRINKLER)
    rows = [{"grass": "wet"}, {"season": "dry", "rain": "none"}, {}]
    frame = predicted(model, rows, query="sprinkler")
    np.testing.assert_allclose(
        frame.attrs["log_likelihood"], om.inference.log_likelihoods(model, rows), atol=1e-12
    )


def test_networks_need_no_elimination_for_their_sum(monkeypatch):
    for seed in range(40):
        model = random_network(np.random.default_rng(seed), 8)
        assert log_z_of_leaves(model.graph) == pytest.approx(0.0, abs=1e-9)
    assert log_z_of_leaves(om.ising_grid(2, 2, 0.3).graph) is None
    free = om.model({"a": ["x", "y", "z"], "b": ["x", "y"]}, [(["b"], [1, 3])])
    assert log_z_of_leaves(free.graph) == pytest.approx(math.log(12))


def test_rows_that_are_sampled_have_no_likelihood_and_say_so():
    grid = om.ising_grid(3, 3, 0.3, 0.1)
    rows = [{"s0_0": "up"}, {"s0_0": "down"}]
    how = {"query": "s0_1", "method": "gibbs", "samples": 20, "threads": 1}
    frame = predicted(grid, rows, explain=True, **how)
    assert np.isnan(frame.attrs["log_likelihood"]).all()
    assert frame.attrs["best"] == [None, None]
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        om.predict(grid, rows, explain=True, **how)
    assert any("2 rows are too wide to be explained" in str(one.message) for one in remarks)


def test_a_wrong_sum_would_be_noticed(monkeypatch):
    """The check above fails if the sum over all rows is forgotten."""
    monkeypatch.setattr(answering, "log_z_of_leaves", lambda graph: 0.0)
    with pytest.raises(AssertionError):
        test_rows_agree_with_a_list_of_all_states(0)


def test_on_the_command_line(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("day,grass,rain\nMon,wet,\nTue,dry,heavy\nWed,wett,\n")
    options = ("-q", "season", "--id", "day", "--explain")
    done = orbitmc("predict", SPRINKLER, rows, *options)
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [*lines[0]] == [
        "row", "day", "season=dry", "season=rainy", "log_likelihood", "best season"
    ]  # fmt: skip
    model = om.read(SPRINKLER)
    seen = [{"grass": "wet"}, {"grass": "dry", "rain": "heavy"}]
    for line, row in zip(lines, seen, strict=False):
        assert float(line["log_likelihood"]) == pytest.approx(float(om.log_z(model, row)), abs=1e-8)
        assert line["best season"] == om.best(model, row)[0]["season"]
    assert (lines[2]["log_likelihood"], lines[2]["best season"], lines[2]["day"]) == ("", "", "Wed")
    held = json.loads(orbitmc("predict", SPRINKLER, rows, *options, "--json").stdout)
    assert held["log_likelihood"][2] is None
    assert held["best"][2] is None
    assert held["best"][0] == {"season": lines[0]["best season"]}
    assert held["ids"] == {"day": ["Mon", "Tue", "Wed"]}


def test_impossible_rows_are_as_odd_as_can_be():
    model = om.model({"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[1, 0], [1, 2]])])
    frame = predicted(model, [{"a": "x", "b": "y"}, {"a": "x"}], query="b", explain=True)
    assert frame.attrs["log_likelihood"] == [-math.inf, pytest.approx(math.log(0.25))]
    assert frame.attrs["best"] == [None, {"b": "x"}]
    with pytest.raises(ContradictionError):
        om.best(model, {"a": "x", "b": "y"})


def test_helpers_of_noisy_gates_are_summed_out_of_explanations():
    """To maximise them, too, would say `no`."""
    yes = ["no", "yes"]
    parts = {"yes": [0.2, 0.5, 0.3]}, {"yes": [0.5, 0.3, 0.2]}, {"yes": [0.1, 0.2, 0.7]}
    gate = om.noisy_max("g", dict(zip("abc", parts, strict=True)))
    fields = [(["a"], [0.6, 0.4]), (["b"], [0.5, 0.5]), (["c"], [0.45, 0.55])]
    model = om.model({**dict.fromkeys("abc", yes), "g": ["0", "1", "2"]}, [*fields, gate])
    for value in ("0", "1", "2"):
        rows = om.predict(model, [{"g": value}], explain=True, query=["a", "b", "c"])
        best = om.best(model, {"g": value})[0]
        assert rows.attrs["best"] == [{name: best[name] for name in "abc"}]
