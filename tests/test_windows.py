"""What only Unix has is hidden: the package must be loaded, sample, save and resume without it.

This is no Windows, but all that was found to keep the package from running there is covered.
"""

import subprocess
import sys
from pathlib import Path

from orbitmc._util import files

ROOT = Path(__file__).parents[1]

HIDING = """
import os, signal, sys, types
import asyncio, multiprocessing, subprocess, tempfile  # what is not ours finds out where it is
import concurrent.futures.thread
import duckdb, numba, numpy, rich, scipy.sparse, scipy.special, typer

for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
hidden = "getuid geteuid getgid pread fork sched_getaffinity O_NOFOLLOW O_CLOEXEC fchmod"
for name in hidden.split():
    if hasattr(os, name):
        delattr(os, name)
for name in "pthread_kill SIGALRM SIGHUP SIGUSR1 SIGKILL setitimer alarm pause".split():
    delattr(signal, name)

owners = {}

def is_open(handle, key):
    try:
        return os.fstat(handle).st_ino == key
    except OSError:
        return False

def locking(handle, mode, count):
    key = os.fstat(handle).st_ino
    if owners.get(key, handle) != handle and is_open(owners[key], key):
        raise PermissionError("taken")  # until its owner closes the file, as on Windows
    owners[key] = handle

sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
"""


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", HIDING + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_module_is_loaded_without_unix():
    script = """
import importlib, pkgutil
import orbitmc
names = [one.name for one in pkgutil.walk_packages(orbitmc.__path__, "orbitmc.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
    assert int(run(script)) > 240


def test_a_run_is_sampled_saved_and_resumed_without_unix(tmp_path):
    script = """
import orbitmc as om
model, path = om.read("examples/ring.uai"), sys.argv[1]
whole = om.marginals(model, method="gibbs", samples=20, seed=1, checkpoint=path)
again = om.resume(path, model)
assert again["0"].probability.tolist() == whole["0"].probability.tolist()
assert [file.name for file in __import__("pathlib").Path(path).parent.iterdir()] == ["a.run"]
print(whole.about.samples)
"""
    assert run(script, tmp_path / "a.run").split() == ["20"]


def test_the_command_line_works_without_unix():
    script = """
from orbitmc.cli.main import app
app(["infer", "examples/ring.uai", "--method", "gibbs", "--samples", "400", "--quiet"])
"""
    assert "variable" in run(script)


def test_a_file_is_owned_once_without_unix(tmp_path):
    script = """
from pathlib import Path
from orbitmc.errors import InputError
from orbitmc._util.files import lock_file
path = Path(sys.argv[1])
with lock_file(path):
    try:
        with lock_file(path):
            print("twice")
    except InputError as error:
        print(error)
"""
    assert "is writing to this file" in run(script, tmp_path / "y.run")


def test_a_lock_that_cannot_be_removed_while_open_is_removed_later(tmp_path, monkeypatch):
    """As on Windows."""
    path, refused = tmp_path / "x.run", []
    unlink = Path.unlink

    def once(self, missing_ok=False):
        if not refused:
            refused.append(self)
            raise PermissionError("it is open")
        unlink(self, missing_ok=missing_ok)

    with files.lock_file(path):
        monkeypatch.setattr(Path, "unlink", once)
    assert refused
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    with files.lock_file(path):
        pass


def test_ctrl_c_is_asked_for_again_without_unix():
    script = """
import threading, time
from orbitmc.cli.session import _interrupt_main
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.05, _interrupt_main).start()
try:
    for _ in range(200):
        time.sleep(0.05)
    print("nothing")
except KeyboardInterrupt:
    print("heard")
"""
    assert run(script).split() == ["heard"]
