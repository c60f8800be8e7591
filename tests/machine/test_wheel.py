"""A wheel with machine code samples without compiling."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orbitmc.machine.code import store

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE")
ORBITMC = ("-m", "orbitmc")
SPRINKLER, RING = (str(ROOT / "examples" / name) for name in ("sprinkler.bif", "ring.uai"))
SAMPLED = ("--method", "gibbs", "--samples", "100")
COMMANDS = {
    "gibbs": ("infer", SPRINKLER, *SAMPLED),
    "lmh": ("infer", RING, "--method", "lmh", "--samples", "100"),
    "symmetry": ("symmetry", RING),
    "exact": ("infer", RING),
    "best": ("best", RING),
    "joint": ("joint", SPRINKLER, "rain", "grass", *SAMPLED),
    "draw": ("draw", SPRINKLER, "-n", "5"),
}


def run(*words, folder, **environment):
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with an installation from a wheel that has the code of the usual commands."""
    folder = tmp_path_factory.mktemp("wheel")
    place = folder / "installed"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", place, wheel(folder))
    assert run(*install, folder=folder).returncode == 0
    return place


def wheel(tmp_path):
    if not store.has_level():
        pytest.skip(f"this processor is none of level {store.LEVEL[0]}")
    tools = tmp_path / "tools"
    install = ("-m", "pip", "install", "--quiet", "--target", tools, "hatchling>=1.25")
    if run(*install, folder=tmp_path).returncode:
        pytest.skip("hatchling cannot be installed here")
    project = tmp_path / "project"
    project.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, project / name)
    built = run(
        *("-m", "hatchling", "build", "-t", "wheel"),
        folder=project,
        PYTHONPATH=str(tools),
        ORBITMC_MACHINE_CODE=store.LEVEL[0],
    )
    assert built.returncode == 0, built.stderr
    (found,) = (project / "dist").glob("*.whl")
    return found


def ask(words, sources, cache):
    """Run a command from some sources; gives what it says, and what it compiled."""
    done = run(
        *(*ORBITMC, *words), folder=cache, PYTHONPATH=str(sources), NUMBA_CACHE_DIR=str(cache)
    )
    assert done.returncode in (0, 3), done.stderr
    kept = sorted(file.name for file in cache.rglob("orbitmc.*"))
    return done.stdout, [name for name in kept if not name.endswith("-seconds")]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fresh_installation_from_a_wheel_answers_without_compiling(installed, tmp_path, name):
    said, compiled = ask(COMMANDS[name], installed, tmp_path)
    assert said
    assert compiled == []


@pytest.mark.slow
def test_code_of_a_wheel_gives_the_numbers_of_code_for_this_very_processor(installed, tmp_path):
    words = (*COMMANDS["gibbs"], "--json")
    (tmp_path / "own").mkdir()
    (tmp_path / "empty").mkdir()
    shipped, _ = ask(words, installed, tmp_path / "empty")
    own, compiled = ask(words, ROOT / "src", tmp_path / "own")
    assert compiled  # without the wheel
    assert '"values"' in shipped or "probabilities" in shipped
    assert without_seconds(shipped) == without_seconds(own)


def without_seconds(answer):
    return "\n".join(line for line in answer.splitlines() if "second" not in line)
