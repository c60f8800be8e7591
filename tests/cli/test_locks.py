"""One file of a run has one owner, and none when its owner is gone."""

import os
import subprocess
import sys
import time

import pytest

from orbitmc._util.files import lock_file
from orbitmc.errors import InputError
from tests.cli.commands import orbitmc, rain, start
from tests.mln.learning.programs import PEOPLE, SMOKERS

HOLD = """
import sys, time
from pathlib import Path
from orbitmc._util.files import lock_file
with lock_file(Path(sys.argv[1])):
    print("mine", flush=True)
    time.sleep(100)
"""


def holder(path):
    """A process that owns a file until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"mine\n"
    return process


def test_a_second_owner_is_refused_until_the_first_is_killed(tmp_path):
    path = tmp_path / "x.run"
    with holder(path) as process:
        for content in ("first", "second"):
            path.write_text(content)
            os.replace(path, tmp_path / "moved")  # the file is replaced, the lock stays
            with pytest.raises(InputError) as caught, lock_file(path):
                pass
        process.kill()
    assert f"x.run: another process ({process.pid}) is writing" in str(caught.value)
    with lock_file(path):
        pass
    assert os.listdir(tmp_path) == ["moved"]


def test_owners_in_turn_leave_nothing_behind(tmp_path):
    for _ in range(3):
        with lock_file(tmp_path / "x.run"), pytest.raises(InputError, match="is writing"):
            lock_file(tmp_path / "x.run").__enter__()
    assert os.listdir(tmp_path) == []


def test_many_at_once_are_never_two(tmp_path):
    """Each child owns the file many times; whoever does makes a folder that nobody else made."""
    contest = """
import sys
from pathlib import Path
from orbitmc.errors import InputError
from orbitmc._util.files import lock_file
path, had = Path(sys.argv[1]), 0
while had < 100:
    try:
        with lock_file(path):
            (path.parent / "one").mkdir()
            (path.parent / "one").rmdir()
            had += 1
    except InputError:
        pass
"""
    words = [sys.executable, "-c", contest, tmp_path / "x.run"]
    children = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(3)]
    assert [child.communicate()[1] for child in children] == [b""] * 3
    assert [child.returncode for child in children] == [0] * 3


def test_commands_refuse_a_run_that_another_process_writes(tmp_path):
    path, run = rain(tmp_path), tmp_path / "x.run"
    few = ("infer", path, "--method", "gibbs", "--samples", "30", "--checkpoint", run)
    with lock_file(run):
        done = orbitmc(*few)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{run}: another process" in done.stderr
        assert not run.exists()
    assert orbitmc(*few).returncode == 0
    kept = run.read_bytes()
    with lock_file(run):
        assert "another process" in orbitmc(*few).stderr
        assert "another process" in orbitmc("resume", run).stderr
        assert run.read_bytes() == kept
    assert orbitmc("resume", run).returncode == 0


def test_learning_refuses_a_file_that_another_process_writes(tmp_path):
    program, database, kept = tmp_path / "s.mln", tmp_path / "p.db", tmp_path / "kept"
    program.write_text(SMOKERS)
    database.write_text(PEOPLE)
    words = ("learn", program, database, "-o", tmp_path / "out.mln", "--checkpoint", kept)
    with lock_file(kept):
        done = orbitmc(*words)
        assert done.returncode == 2
        assert f"{kept}: another process" in done.stderr
    assert orbitmc(*words).returncode == 0
    assert kept.exists()


def test_a_killed_run_may_be_resumed_a_living_one_may_not(tmp_path):
    path, run = rain(tmp_path), tmp_path / "x.run"
    words = ("infer", path, "--method", "gibbs", "--seconds", "6", "--checkpoint", run)
    with start(*words, "--set", "checkpoint_every=0.05") as process:
        while not run.exists():
            assert process.poll() is None
            time.sleep(0.01)
        done = orbitmc("resume", run)
        assert done.returncode == 2
        assert f"another process ({process.pid}) is writing" in done.stderr
        process.kill()
    assert orbitmc("resume", run).returncode == 0


def test_a_run_that_nobody_can_write_needs_no_owner(tmp_path):
    missing = tmp_path / "nowhere" / "x.run"
    with lock_file(missing):
        pass
    done = orbitmc("resume", missing)
    assert done.returncode == 2
    assert "there is no such file" in done.stderr
