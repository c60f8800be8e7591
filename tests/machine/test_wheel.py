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
ASK = ("-m", "orbitmc", "infer", str(ROOT / "examples" / "sprinkler.bif"))


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


@pytest.fixture
def wheel(tmp_path):
    """A wheel of these sources, with machine code for what gibbs needs."""
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
        ORBITMC_MACHINE_CODE_FOR="gibbs",
    )
    assert built.returncode == 0, built.stderr
    (found,) = (project / "dist").glob("*.whl")
    return found


@pytest.mark.slow
def test_a_fresh_installation_from_a_wheel_samples_without_compiling(wheel, tmp_path):
    place, cache = tmp_path / "installed", tmp_path / "cache"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", place, wheel)
    assert run(*install, folder=tmp_path).returncode == 0
    words = (*ASK, "--method", "gibbs", "--samples", "100", "--json")
    answers = [
        run(*words, folder=tmp_path, PYTHONPATH=str(path), NUMBA_CACHE_DIR=str(tmp_path / own))
        for path, own in ((place, "cache"), (ROOT / "src", "other"))
    ]
    assert not list(cache.rglob("orbitmc.*"))
    assert list((tmp_path / "other").rglob("orbitmc.*"))  # without the wheel it is compiled
    shipped, compiled = (without_seconds(answer.stdout) for answer in answers)
    assert '"values"' in shipped or "probabilities" in shipped
    assert shipped == compiled


def without_seconds(answer):
    return "\n".join(line for line in answer.splitlines() if "second" not in line)
