"""The store of machine code: right, private, whole, bounded, and safe for many processes."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orbitmc._numba import store
from orbitmc._util import digests as sources

KERNEL = """
from typing import NamedTuple
from orbitmc._numba.jit import implementation
from orbitmc.kernels.protocol import steps

class Stamp(NamedTuple):
    number: int
    outcomes = ("stamps",)

    def memory(self, prepared, lanes):
        return ()

@implementation(steps, Stamp)
def _stamp(prepared, kernel, memory, values, outcomes, rng, count):
    values[0, 0] = {number}
    outcomes[0] += count
"""
ASK = """
import numpy as np, orbitmc as om
from own_kernel import Stamp
from orbitmc.sampling.pack import start_pack, walk
prepared = om.kernels.prepare(om.read({model!r}).graph)
kernel = Stamp(1)
pack = start_pack(prepared, kernel, seed=1, number=0, lanes=32)
walk(prepared, kernel, pack, 1)
print(pack.values[0, 0])
"""
SPRINKLER = Path(__file__).parents[2] / "examples" / "sprinkler.bif"


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """A fresh folder of machine code for this process."""
    place = tmp_path / "store"
    place.mkdir(mode=0o700)
    monkeypatch.setattr(store, "folder", lambda: place)
    store._make_room.cache_clear()
    yield place
    store._make_room.cache_clear()


def test_an_edited_kernel_of_ones_own_takes_effect_at_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    script = tmp_path / "ask.py"
    script.write_text(ASK.format(model=str(SPRINKLER)))
    for number in (3, 4, 3):
        (tmp_path / "own_kernel.py").write_text(KERNEL.format(number=number))
        command = [sys.executable, str(script)]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert said.stdout.split() == [str(number)]


def test_what_was_written_is_read_again(empty_folder):
    store.write(empty_folder / "code", b"machine code")
    assert store.read(empty_folder / "code") == b"machine code"
    assert store.read(empty_folder / "other") is None
    assert [file.name for file in empty_folder.iterdir()] == ["code"]


@pytest.mark.parametrize("cut", [0, 10, 32, 40])
def test_a_file_that_is_not_whole_is_not_read(empty_folder, cut):
    file = empty_folder / "code"
    store.write(file, b"machine code")
    file.write_bytes(file.read_bytes()[:cut])
    assert store.read(file) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_read(empty_folder, mode):
    file = empty_folder / "code"
    store.write(file, b"machine code")
    file.chmod(mode)
    assert store.read(file) is None


def test_a_link_to_a_file_is_not_read(empty_folder, tmp_path):
    store.write(tmp_path / "elsewhere", b"machine code")
    (empty_folder / "code").symlink_to(tmp_path / "elsewhere")
    assert store.read(empty_folder / "code") is None


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Where a process would keep machine code: first the asked folder, last a temporary one."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "asked"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "usual"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store.folder.cache_clear()
    yield tmp_path
    store.folder.cache_clear()


def test_the_folder_is_made_for_the_user_alone(places):
    assert store.folder() == places / "asked" / "orbitmc"
    assert store.folder().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write_is_not_used(places, mode):
    asked = places / "asked" / "orbitmc"
    asked.mkdir(parents=True)
    asked.chmod(mode)
    assert store.folder() == places / "usual" / "orbitmc" / "machine-code"


def test_a_folder_of_somebody_else_is_not_used(places, monkeypatch):
    (places / "asked" / "orbitmc").mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.setattr(store, "ROOT", ())
    used = store.folder()
    assert used.parent == places
    assert used.name.startswith("orbitmc-")
    assert used not in {places / "asked" / "orbitmc", places / "orbitmc-54321"}


def test_a_link_is_no_folder(places):
    (places / "elsewhere").mkdir(mode=0o700)
    (places / "asked").mkdir()
    (places / "asked" / "orbitmc").symlink_to(places / "elsewhere")
    assert store.folder() == places / "usual" / "orbitmc" / "machine-code"


def test_what_was_not_used_for_longest_makes_room(empty_folder):
    for age, name in enumerate(["new", "older", "oldest"]):
        file = empty_folder / name
        file.write_bytes(bytes(100))
        os.utime(file, (1e9 - age, 1e9 - age))
    store.write(empty_folder / "code", b"x", most_bytes=250)
    assert sorted(file.name for file in empty_folder.iterdir()) == ["code", "new", "older"]


def test_an_unwritable_folder_costs_only_time(tmp_path):
    store.write(tmp_path / "missing" / "code", b"machine code")
    assert not (tmp_path / "missing").exists()


class HostCode:
    """A code generator for some processor."""

    def magic_tuple(self):
        return ("a-triple", "a-processor", "+everything")


def file_for(function, signature="(int64,)"):
    return store.MachineCode(function, lambda signature: set())._file(signature, HostCode())


def some_function():
    pass


def test_a_process_whose_sources_were_edited_since_it_began_keeps_and_finds_nothing(
    empty_folder, monkeypatch
):
    edited = Path(__file__).stat().st_mtime_ns
    monkeypatch.setattr(sources, "PROCESS_START", time.time_ns())
    assert file_for(some_function).parent == empty_folder
    monkeypatch.setattr(sources, "PROCESS_START", edited - 1)
    assert file_for(some_function) is None


def test_other_versions_have_other_files(empty_folder, monkeypatch):
    before = file_for(some_function)
    monkeypatch.setattr(store.numba, "__version__", "0.0.1")
    assert before.name != file_for(some_function).name


def test_what_was_looked_up_is_loaded_without_another_look(empty_folder, monkeypatch):
    class Target(HostCode):
        def codegen(self):
            return self

        def refresh(self):
            pass

    code, looks = store.MachineCode(some_function, lambda signature: set()), []
    digest = store.digest_of
    monkeypatch.setattr(store, "digest_of", lambda modules: (looks.append(1), digest(modules))[1])
    assert not code.has("(int64,)", Target())
    assert code.load_overload("(int64,)", Target()) is None
    assert len(looks) == 1
    assert code.load_overload("(int64,)", Target()) is None
    assert len(looks) == 2


def test_code_of_root_is_read_where_nothing_can_be_written(places, monkeypatch):
    asked = places / "asked" / "orbitmc"
    asked.mkdir(parents=True, mode=0o700)
    monkeypatch.setattr(os, "access", lambda place, how: False)
    assert store.folder() != asked  # there is nothing in it
    store.folder.cache_clear()
    store.write(asked / "code", b"machine code")
    monkeypatch.setattr(os, "getuid", lambda: asked.stat().st_uid + 54321)
    monkeypatch.setattr(store, "ROOT", (asked.stat().st_uid,))
    assert store.folder() == asked
    assert store.read(asked / "code") == b"machine code"


def test_old_code_is_read_from_a_file_system_that_nobody_writes_to(empty_folder, monkeypatch):
    file = empty_folder / "code"
    store.write(file, b"machine code")
    os.utime(file, (1e9, 1e9))

    def refuse(*where):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert store.read(file) == b"machine code"


READ_ONLY = 'mount -o remount,ro,bind / / && exec "$@"'


@pytest.mark.skipif(
    subprocess.run(["unshare", "-m", "sh", "-c", READ_ONLY, "sh", "true"], capture_output=True)
    .returncode != 0 if shutil.which("unshare") else True,
    reason="file systems cannot be made read-only here",
)  # fmt: skip
def test_a_container_without_a_home_and_a_place_to_write_answers():
    words = ["-m", "orbitmc", "infer", "examples/sprinkler.bif", "--method", "gibbs"]
    command = ["unshare", "-m", "sh", "-c", READ_ONLY, "sh", sys.executable, *words]
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    quick = {"TMPDIR": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "--samples", "20"], env={**kept, **quick}, capture_output=True, text=True
    )
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout.startswith("variable")
