"""The same seed gives the same numbers, however a run is cut, and whoever asks."""

import json

import numpy as np
import pytest

import orbitmc as om
from tests.cli.commands import grid, orbitmc

KEYS = ("probability", "standard_error", "low", "high", "ess", "r_hat")
METHODS = ["gibbs", "lifted", "lmh"]


def numbers(answer):
    return {
        name: [np.asarray(getattr(answer[name], key)).tolist() for key in KEYS] for name in answer
    }


def printed(*words):
    done = orbitmc(*words, "--json", "--quiet")
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_says_everything(method):
    model = om.ising_grid(3, 3, 0.3, 0.1)
    settings = {"method": method, "samples": 30}
    if method == "lmh":  # a race looks at the clock, unless its moves are given
        settings["moves"] = {"base": "gibbs", "families": ["flip"], "period": 40}
    first, again, other = (om.marginals(model, seed=seed, **settings) for seed in (5, 5, 6))
    assert numbers(first) == numbers(again)
    assert numbers(first) != numbers(other)


def test_python_and_the_command_line_give_the_same_bytes(tmp_path):
    path = grid(tmp_path, 3)
    settings = {"method": "gibbs", "samples": 30, "seed": 4}
    answer = om.marginals(om.read(path), **settings)
    words = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    variables = printed("infer", path, *words)["variables"]
    assert list(variables) == list(answer)
    for name, entries in numbers(answer).items():
        assert [np.asarray(variables[name][key]).tolist() for key in KEYS] == entries
        assert variables[name]["verdict"] == answer[name].verdict


@pytest.mark.parametrize("cuts", [[1], [20, 21, 50]])
def test_a_run_that_was_cut_and_resumed_is_the_run_that_was_not(tmp_path, cuts):
    model, run = om.ising_grid(3, 3, 0.3, 0.1), tmp_path / "cut.run"
    settings = {"method": "gibbs", "samples": 60, "seed": 4}
    whole = om.marginals(model, **settings)
    todo = [*cuts]

    def stop(run):
        """Stands in for Ctrl-C."""
        if bool(todo) and run.recorded >= todo[0]:
            run.stop()

    answer = om.marginals(model, **settings, checkpoint=run, watchers=[stop])
    while answer.about.interrupted:
        todo = [cut for cut in todo if cut > answer.about.samples]
        answer = om.resume(run, model, watchers=[stop])
    assert numbers(answer) == numbers(whole)
    assert answer.about.samples == whole.about.samples == 60


def test_a_run_that_is_complete_prints_its_answer_again(tmp_path):
    path, run = grid(tmp_path, 3), tmp_path / "whole.run"
    whole = printed("infer", path, "--method", "gibbs", "--samples", "30", "--checkpoint", run)
    assert printed("resume", run)["variables"] == whole["variables"]
