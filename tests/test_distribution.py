"""Files around the package: they can be read, and say the same thing."""

import re
import tomllib
from pathlib import Path

import pytest

from orbitmc._numba.internals import TESTED
from orbitmc.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSIONS = ["3.11", "3.12", "3.13", "3.14"]


def text(name):
    return (ROOT / name).read_text()


def test_the_version_is_the_same_everywhere():
    assert re.findall(r"^ *version: (\S+)$", text("CITATION.cff"), re.MULTILINE) == [
        __version__,
        __version__,
    ]
    assert f'version: "{__version__}"' in text("conda/recipe.yaml")


def test_the_wheel_is_built_checked_and_tried_by_one_list_of_steps():
    makefile = text("Makefile")
    steps = re.search(r"^try-wheel: wheel.*?\n\n", makefile, re.MULTILINE | re.DOTALL)[0]
    assert "dist/*.whl" in steps
    assert steps.count("orbitmc infer") == 2
    assert "twine check --strict dist/*" in makefile
    assert "make try-wheel" in text(".github/workflows/test.yml")
    assert "make wheel" in text(".github/workflows/wheels.yml")


def test_versions_of_python_are_the_same_everywhere():
    classified = [
        one.rsplit(" ", 1)[1]
        for one in PROJECT["classifiers"]
        if re.fullmatch(r".*Python :: 3\.\d+", one)
    ]
    assert classified == VERSIONS
    assert PROJECT["requires-python"] == f">={VERSIONS[0]}"
    for name in ("test", "wheels"):
        listed = re.search(r"python: \[(.*)\]", text(f".github/workflows/{name}.yml"))
        assert re.findall(r"[\d.]+", listed[1]) == VERSIONS
    assert f"python >={VERSIONS[0]}" in text("conda/recipe.yaml")


def test_the_recipe_has_the_dependencies_of_the_package():
    renamed = {"duckdb": "python-duckdb"}
    for needed in PROJECT["dependencies"]:
        name, versions = needed.split(">=")
        assert f"- {renamed.get(name, name)} >={versions}\n" in text("conda/recipe.yaml")


def test_the_bounds_of_numba_are_the_versions_that_were_tested():
    (bounds,) = [needed for needed in PROJECT["dependencies"] if needed.startswith("numba")]
    least, last = TESTED[0], int(TESTED[-1].split(".")[1])
    assert bounds == f"numba>={least},<0.{last + 1}"
    page = text("docs/reference/dependencies.md")
    assert re.findall(r"^\| (0\.\d+) \|", page, re.MULTILINE) == list(TESTED)
    workflow = text(".github/workflows/test.yml")
    assert f"numba=={least}.*" in workflow
    assert f"numba<0.{last + 1}" in workflow
    assert "--pre numba" in workflow


def test_all_systems_are_tested():
    systems = re.search(r"os: \[(.*)\]", text(".github/workflows/test.yml"))[1]
    assert systems == "ubuntu-latest, macos-latest, windows-latest"


def test_every_extra_is_said_where_it_is_needed():
    """An error that names an extra names one that there is."""
    sources = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r'extra\("[\w.]+", "(\w+)"\)', sources))
    assert {"frames", "xarray", "arviz", "dimod", "pgmpy", "pyagrum", "cluster"} <= named
    assert named <= {*PROJECT["optional-dependencies"], "json"}


def test_the_paper_cites_what_its_bibliography_has():
    cited = set(re.findall(r"@(\w+)", text("paper/paper.md")))
    there = set(re.findall(r"^@\w+\{(\w+),", text("paper/paper.bib"), re.MULTILINE))
    assert cited == there


@pytest.mark.parametrize("name", ["Homepage", "Documentation", "Source", "Issues", "Changelog"])
def test_the_project_has_addresses(name):
    assert PROJECT["urls"][name].startswith("https://")


def test_files_in_yaml_are_yaml():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    files = [*(ROOT / ".github").rglob("*.yml"), ROOT / "CITATION.cff", ROOT / "conda/recipe.yaml"]
    files += [ROOT / ".readthedocs.yaml", ROOT / ".pre-commit-config.yaml"]
    assert len(files) == 11
    for file in files:
        assert isinstance(yaml.safe_load(file.read_text()), dict), file


def test_check_steps_are_written_once():
    """The Makefile says what a check runs; whoever checks calls it."""
    tools = re.compile(r"\b(ruff|mypy|lint-imports|pytest|sphinx-build) ")
    for name in (".ci/run", *map(str, (ROOT / ".github/workflows").glob("*.yml"))):
        lines = [line for line in text(name).splitlines() if not line.lstrip().startswith("#")]
        assert not [line for line in lines if tools.search(line)], name
        targets = re.findall(r"\bmake (?:--\S+ )*([\w -]+?)(?: [A-Z]+=.*)?$", text(name), re.M)
        for target in " ".join(targets).split():
            assert re.search(rf"^{target}:", text("Makefile"), re.MULTILINE), target
    assert "check" in text(".ci/run").splitlines()[-1].split()
    assert "make check-slow" in text(".github/workflows/slow.yml")


def test_hooks_need_no_folder_of_their_own():
    assert ".venv" not in text(".pre-commit-config.yaml")
