"""The tree of the package is that of the plan."""

from pathlib import Path

import orbitmc

ROOT = Path(orbitmc.__file__).parent
PLAN = {
    *("ask", "graph", "formats", "models", "logic", "groups", "symmetry", "kernels", "tuning"),
    *("run", "estimate", "exact", "compare", "report", "cli", "machine", "interop"),
}


def test_there_are_the_packages_of_the_plan_and_nothing_loose_beside_them():
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == PLAN
    loose = {path.name for path in ROOT.glob("*.py")}
    assert loose == {"__init__.py", "__main__.py", "errors.py", "version.py"}
