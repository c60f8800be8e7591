"""The scoreboard measures what is missing, and says which published answers are wrong."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orbitmc as om

ROOT = Path(__file__).parents[2]


def write_problem(folder, name, seed, published=None):
    """A chain of three variables as UAI files; gives its marginals, by adding up all states."""
    rng = np.random.default_rng(seed)
    tables = [rng.uniform(0.2, 1.0, size=(2, 2)) for _ in range(2)]
    model = om.model(
        {name: ["0", "1"] for name in "012"}, [(["0", "1"], tables[0]), (["1", "2"], tables[1])]
    )
    weights = np.einsum("ab,bc->abc", *tables)[:, :, 1]  # the last one is observed
    weights /= weights.sum()
    truth = [weights.sum(axis=1), weights.sum(axis=0), np.array([0.0, 1.0])]
    om.write(model, folder / f"{name}.uai")
    (folder / f"{name}.uai.evid").write_text("1 2 1\n")
    numbers = " ".join(f"2 {p[0]:.6g} {p[1]:.6g}" for p in (published or truth))
    (folder / f"{name}.uai.MAR").write_text(f"MAR\n3 {numbers}\n")


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uai") / "MAR"
    folder.mkdir()
    write_problem(folder, "Chain_1", 1)
    write_problem(folder, "Chain_2", 2, published=[np.array([0.5, 0.5])] * 2 + [np.array([0, 1])])
    return folder


def run(folder, *more):
    out, picture = folder / "board.json", folder / "board.svg"
    script = ROOT / "experiments" / "uai_scoreboard.py"
    command = [sys.executable, script, folder, "--out", out, "--picture", picture, *more]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text()), done.stderr


def test_exact_answers_score_one_and_wrong_published_ones_are_named(board):
    content, _ = run(board, "--seconds", "1")
    assert content["results"]["1"]["exact"] == content["results"]["1"]["problems"] == 2
    right, wrong = (content["problems"][f"Chain_{number}"]["1"] for number in (1, 2))
    assert right["hellinger"] < 1e-5
    assert right["score"] == pytest.approx(1.0, abs=1e-3)
    assert "checked" not in right
    assert wrong["hellinger"] > 1e-3
    assert wrong["checked"].startswith("confirmed")
    assert content["results"]["1"]["published answers that are wrong"] == ["Chain_2"]
    assert content["results"]["1"]["mean score without wrong published answers"] > 0.999
    assert (board / "board.svg").read_text().count("<svg") == 1


def test_problems_that_are_there_already_are_not_measured_again(board):
    before, _ = run(board, "--seconds", "1")
    after, said = run(board, "--seconds", "1", "2")
    assert " 1 s: exact" not in said
    assert before["problems"]["Chain_1"]["1"] == after["problems"]["Chain_1"]["2"]


def test_published_answers_beyond_what_neighbours_allow_are_named(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    import uai_scoreboard

    weights = np.array([[3.0, 1.0], [2.0, 4.0]])
    model = om.model(
        {name: ["0", "1"] for name in "abc"}, [(["a", "b"], weights), (["b", "c"], weights)]
    )
    odds = [given_a * given_c for given_a in (1 / 3, 2) for given_c in (2 / 3, 4)]
    lowest, highest = (bound(one / (1 + one) for one in odds) for bound in (min, max))
    for inside in (lowest + 1e-4, highest - 1e-4):
        found = uai_scoreboard.check_range(model, {}, "b", np.array([1 - inside, inside]))
        assert found.startswith("not confirmed")
    for outside in (lowest - 0.01, highest + 0.01):
        found = uai_scoreboard.check_range(model, {}, "b", np.array([1 - outside, outside]))
        assert found.startswith("confirmed")
