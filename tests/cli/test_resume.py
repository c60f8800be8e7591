"""A run that was stopped goes on as if nothing had happened, however it was stopped."""

import itertools
import json
import random
import shutil
import signal
import time

import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.sampling import checkpoint
from orbitmc.sampling.checkpoint import CheckpointWriter
from tests.cli.commands import answer_of, grid, orbitmc, rain, start

LONG = ("--method", "gibbs", "--samples", "12000", "--seed", "3", "--set", "threads=1")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A question that takes a second or two, and its answer when nothing disturbs it."""
    path = grid(tmp_path_factory.mktemp("asked"), side=16)
    evidence = ("-e", "s0_0=up")
    return path, evidence, answer_of("infer", path, *evidence, *LONG)


def killed(words, run, seconds):
    """Kill a command without warning some time after its first checkpoint."""
    with start(*words) as process:
        while not run.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(seconds)
        process.kill()


def survives(asked, folder, kills, seed):
    path, evidence, undisturbed = asked
    run, rng = folder / "x.run", random.Random(seed)
    keep = ("--set", "checkpoint_every=0.05")
    words = ("infer", path, *evidence, *LONG, "--checkpoint", run, *keep)
    for _ in range(kills):
        killed(words, run, rng.uniform(0.0, 0.4))
        words = ("resume", run, *keep, "--set", "threads=1")
    resumed = answer_of("resume", run, "--set", "threads=2")
    for name in ("samples", "updates", "seed", "variables"):
        assert resumed[name] == undisturbed[name]


def test_killed_runs_end_with_the_same_numbers(asked, tmp_path):
    survives(asked, tmp_path, kills=3, seed=1)


FLIPS = json.dumps({"base": "gibbs", "families": ["flip"], "period": 500})
WAYS = {
    "gibbs": ("--samples", "12000"),
    "lmh": ("--samples", "9000", "--set", f"moves={FLIPS}"),
    "auto": ("--samples", "1500", "--set", f"moves={FLIPS}"),
    "mcsat": ("--samples", "40"),
}


def question(folder, method):
    """A question that a method answers in a few seconds, by chains."""
    path = folder / "model.uai"
    if method == "auto":  # all spins with all: too wide for the exact answer
        pairs = list(itertools.combinations(range(90), 2))
        om.write(om.ising([0.1] * 90, pairs, 0.005), path)
    else:
        om.write(om.ising_grid(16, 16, 0.3, 0.1), path)
    return path, "--method", method, *WAYS[method], "--seed", "3"


@pytest.mark.slow
@pytest.mark.parametrize("method", WAYS)
@pytest.mark.parametrize("number", range(10))
def test_two_hundred_kills_at_any_moment_change_nothing(tmp_path, method, number):
    asked, run, rng = question(tmp_path, method), tmp_path / "x.run", random.Random(number)
    undisturbed = orbitmc("infer", *asked, "--json")
    raced = {"lmh", "gibbs"} if method in ("auto", "lmh") else set()
    assert json.loads(undisturbed.stdout)["method"] in {method} | raced
    keep = ("--set", "checkpoint_every=0.05", "--set", "threads=1")
    for _ in range(5):
        begun = ("resume", run) if run.exists() else ("infer", *asked, "--checkpoint", run)
        with start(*begun, *keep) as process:
            time.sleep(rng.uniform(0.0, 6.0))  # a second or two pass before the first step
            process.kill()
    begun = ("resume", run) if run.exists() else ("infer", *asked, "--checkpoint", run)
    resumed = orbitmc(*begun, "--json")
    assert resumed.returncode == undisturbed.returncode, resumed.stderr
    for name in ("samples", "updates", "seed", "variables", "converged"):
        assert json.loads(resumed.stdout)[name] == json.loads(undisturbed.stdout)[name]


def test_a_finished_run_answers_again_at_once(tmp_path):
    path, run = rain(tmp_path), tmp_path / "x.run"
    few = ("--method", "gibbs", "--samples", "300", "--seed", "1")
    first = answer_of("infer", path, *few, "--checkpoint", run)
    assert answer_of("resume", run)["variables"] == first["variables"]
    moved = tmp_path / "moved.json"
    shutil.move(path, moved)
    assert orbitmc("resume", run).returncode == 2
    assert answer_of("resume", run, "--model", moved)["variables"] == first["variables"]


@pytest.mark.parametrize("options", [("--set", "scan=random"), ("--set", "estimator=values")])
def test_soft_evidence_and_settings_are_remembered(tmp_path, options):
    path, run, seen = rain(tmp_path), tmp_path / "x.run", tmp_path / "seen.json"
    seen.write_text('{"mood": [0.1, 0.7, 0.3]}')
    few = ("--method", "gibbs", "--samples", "300", *options)
    first = answer_of("infer", path, *few, "-e", seen, "--checkpoint", run)
    seen.unlink()
    assert answer_of("resume", run)["variables"] == first["variables"]


def test_an_earlier_run_is_never_overwritten(tmp_path):
    path, run = rain(tmp_path), tmp_path / "x.run"
    words = ("infer", path, "--method", "gibbs", "--samples", "30", "--checkpoint", run)
    assert orbitmc(*words).returncode == 0
    kept = run.read_bytes()
    done = orbitmc(*words)
    assert done.returncode == 2
    assert "`orbitmc resume`" in done.stderr
    assert run.read_bytes() == kept


def test_a_run_of_another_model_is_refused(tmp_path):
    path, run = grid(tmp_path), tmp_path / "x.run"
    few = ("--method", "gibbs", "--samples", "50")
    orbitmc("infer", path, *few, "--checkpoint", run)
    om.write(om.ising_grid(6, 6, 0.31, 0.1), path)
    done = orbitmc("resume", run)
    assert done.returncode == 2
    assert "another model" in done.stderr


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "missing"])
def test_damaged_runs_are_refused(tmp_path, damage):
    path, run = grid(tmp_path), tmp_path / "x.run"
    orbitmc("infer", path, "--method", "gibbs", "--samples", "50", "--checkpoint", run)
    data = bytearray(run.read_bytes())
    data[len(data) // 2] ^= 1
    written = {"cut": data[:1000], "flipped": data, "foreign": b"MARKOV 1 2 0"}
    run.unlink()
    if damage in written:
        run.write_bytes(written[damage])
    done = orbitmc("resume", run)
    assert done.returncode == 2
    assert f"Z orbitmc: {run}: " in done.stderr.splitlines()[0]


def first_lines(process, words):
    """Read what a process says until it says some words."""
    while words not in process.stderr.readline():
        assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_gives_the_partial_answer_soon_and_keeps_the_run(tmp_path, number):
    path, run = grid(tmp_path), tmp_path / "x.run"
    words = ("infer", path, "--method", "gibbs", "--seconds", "60", "--checkpoint", run, "--json")
    process = start(*words, "--set", "checkpoint_every=0.1", "--set", "warm_up=9")
    first_lines(process, " samples, ")
    process.send_signal(number)
    printed, said = process.communicate(timeout=45)  # the run itself would go on for a minute
    assert process.returncode == 130
    answer = json.loads(printed)
    assert answer["interrupted"] is True
    assert abs(sum(answer["variables"]["s0_0"]["probability"]) - 1) < 1e-9
    assert "interrupted: " in said
    assert run.exists()


def test_ctrl_c_in_the_warm_up_gives_a_first_glimpse(tmp_path):
    path = grid(tmp_path, side=10)
    process = start(
        "infer", path, "--method", "gibbs", "--seconds", "60", "--set", "warm_up=99999999"
    )
    first_lines(process, "warming up")
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate()
    assert process.returncode == 130
    assert "s0_0" in printed
    assert "interrupted in the warm-up" in said


def no_room(path, pieces):
    raise InputError("cannot write it: No space left on device", source=str(path))


def test_a_full_disk_costs_neither_the_run_nor_its_answer(tmp_path, monkeypatch):
    path, run = rain(tmp_path), tmp_path / "x.run"
    few = ("--method", "gibbs", "--samples", "300", "--seed", "1")
    undisturbed = answer_of("infer", path, *few)
    monkeypatch.setattr("orbitmc.sampling.checkpoint.write_atomically", no_room)
    keep = ("--checkpoint", run, "--set", "checkpoint_every=0")
    done = orbitmc("infer", path, *few, *keep, "--json")
    assert done.returncode == 2
    assert f"the run was not saved: {run}: cannot write it: No space left on device" in done.stderr
    assert json.loads(done.stdout)["variables"] == undisturbed["variables"]


def test_a_checkpoint_that_cannot_be_written_is_not_tried_again_at_once(tmp_path, monkeypatch):
    tried = []
    monkeypatch.setattr(
        "orbitmc.sampling.checkpoint.save", lambda *_: tried.append(1) or no_room("x", [])
    )
    said = []
    keep = CheckpointWriter(tmp_path / "x.run", {}, every=0.0, tell=said.append)
    keep.every = None
    for _ in range(3):
        keep(None)
    assert len(tried) == len(said) == 1


def test_ctrl_c_while_the_run_is_being_kept_loses_nothing(tmp_path, monkeypatch):
    saved = checkpoint.save

    def slowly(*arguments):
        signal.raise_signal(signal.SIGINT)
        saved(*arguments)

    path, run = rain(tmp_path), tmp_path / "x.run"
    few = ("--method", "gibbs", "--samples", "300", "--seed", "1")
    monkeypatch.setattr("orbitmc.sampling.checkpoint.save", slowly)
    first = answer_of("infer", path, *few, "--checkpoint", run)
    assert answer_of("resume", run)["variables"] == first["variables"]
