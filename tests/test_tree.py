"""The tree of the package stays easy to see: few packages, few files in each, no long ones."""

from pathlib import Path

import pytest

import orbitmc

ROOT = Path(orbitmc.__file__).parent
LONGEST, MOST_FILES = 300, 12
PACKAGES = [path.parent for path in sorted(ROOT.rglob("__init__.py"))]
PLAN = {
    *("ask", "graph", "formats", "models", "logic", "groups", "symmetry", "kernels", "tuning"),
    *("run", "estimate", "exact", "compare", "report", "cli", "machine", "interop"),
}


def test_there_are_the_packages_of_the_plan_and_nothing_loose_beside_them():
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == PLAN
    loose = {path.name for path in ROOT.glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "errors.py", "version.py"}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_has_few_files_and_none_is_long(package):
    files = [path for path in package.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES
    lines = {path.name: len(path.read_text().splitlines()) for path in package.glob("*.py")}
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}
