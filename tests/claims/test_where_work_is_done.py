"""The numbers of a run depend on its seed alone: not on threads, executors or who writes them."""

import csv
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import orbitmc as om
from tests.cli.commands import grid, orbitmc

SETTINGS = {"method": "gibbs", "samples": 30, "seed": 4}


def numbers(answer):
    return {name: answer[name].probability.tolist() for name in answer}


@pytest.fixture(scope="module")
def model():
    return om.ising_grid(3, 3, 0.3, 0.1)


@pytest.fixture(scope="module")
def expected(model):
    return numbers(om.marginals(model, **SETTINGS, threads=1))


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing(model, expected, threads):
    assert numbers(om.marginals(model, **SETTINGS, threads=threads)) == expected


def test_an_executor_changes_nothing(model, expected):
    with ThreadPoolExecutor(2) as executor:
        assert numbers(om.marginals(model, **SETTINGS, executor=executor)) == expected


@pytest.mark.parametrize("suffix", [".json", ".csv", ".MAR"])
def test_files_hold_the_numbers_of_the_answer(tmp_path, suffix):
    path, out = grid(tmp_path, 3), tmp_path / f"answer{suffix}"
    words = [word for key, value in SETTINGS.items() for word in (f"--{key}", str(value))]
    done = orbitmc("infer", path, *words, "-o", out, "--quiet")
    assert done.returncode in (0, 3), done.stderr
    answer = om.marginals(om.read(path), **SETTINGS)
    wanted = [p for name in answer for p in answer[name].probability.tolist()]
    assert read_numbers(out) == pytest.approx(wanted, abs=1e-6 if suffix == ".MAR" else 0.0)


def read_numbers(path):
    """The probabilities in a file, value by value."""
    text = path.read_text()
    if path.suffix == ".json":
        return [p for one in json.loads(text)["variables"].values() for p in one["probability"]]
    if path.suffix == ".csv":
        return [float(row["probability"]) for row in csv.DictReader(text.splitlines())]
    words = text.split()[1:]  # after MAR: how many variables, then for each how many values
    count, place, found = int(words[0]), 1, []
    for _ in range(count):
        size = int(words[place])
        found += map(float, words[place + 1 : place + 1 + size])
        place += 1 + size
    return found
