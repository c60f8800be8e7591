"""A wheel has all that an answer needs, and nothing for one processor only."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE")
RING = str(ROOT / "examples" / "ring.uai")


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
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    tools, project = folder / "tools", folder / "project"
    install = ("-m", "pip", "install", "--quiet", "--target", tools, "hatchling>=1.25")
    if run(*install, folder=folder).returncode:
        pytest.skip("hatchling cannot be installed here")
    project.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, project / name)
    build = ("-m", "hatchling", "build", "-t", "wheel")
    built = run(*build, folder=project, PYTHONPATH=str(tools))
    assert built.returncode == 0, built.stderr
    (found,) = (project / "dist").glob("*.whl")
    return found


@pytest.mark.slow
def test_a_wheel_is_for_all_systems(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    kinds = {Path(name).suffix for name in zipfile.ZipFile(wheel).namelist()}
    assert kinds <= {".py", ".typed", "", ".txt"}


@pytest.mark.slow
def test_an_installation_from_a_wheel_answers(wheel, tmp_path):
    place = tmp_path / "installed"
    install = ("-m", "pip", "install", "--quiet", "--no-deps", "--target", place, wheel)
    assert run(*install, folder=tmp_path).returncode == 0
    words = ("-m", "orbitmc", "infer", RING, "--method", "gibbs", "--samples", "100", "--json")
    done = run(*words, folder=tmp_path, PYTHONPATH=str(place))
    assert done.returncode in (0, 3), done.stderr
    assert "probability" in done.stdout
