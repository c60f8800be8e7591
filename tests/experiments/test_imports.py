"""The experiments use public names only, and these are documented."""

import ast
import re
from pathlib import Path

import pytest

import orbitmc as om
from orbitmc import compare

ROOT = Path(__file__).parents[2]
READERS = {"webkb_files.py", "coupling_from_the_past.py"}  # parts of the package once
EXPERIMENTS = [
    path for path in sorted((ROOT / "experiments").glob("*.py")) if path.name not in READERS
]
COMPARED = {name for name in dir(compare) if not name.startswith("_")}
PUBLIC = {
    "orbitmc": set(om.__all__),
    "orbitmc.compare": COMPARED,
    "orbitmc.exact.contraction": {"marginals"},
    "orbitmc.mln.learning.learner": {"LearningSettings"},
}


def names_of_homes():
    """The names that `orbitmc.compare` offers, without its files and what it is made of."""
    files = {path.stem for path in Path(compare.__file__).parent.glob("*.py")}
    return COMPARED - files


def imported(tree):
    """Pairs of a module of ours and a name taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("orbitmc"):
            yield from ((node.module, name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (name.name, "__all__") for name in node.names if name.name.startswith("orbitmc.")
            )
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "om":
            yield "orbitmc", node.attr


@pytest.mark.parametrize("script", EXPERIMENTS, ids=lambda path: path.stem)
def test_experiments_use_public_names_only(script):
    for module, name in imported(ast.parse(script.read_text())):
        assert module in PUBLIC, f"{script.name} reaches into {module}"
        assert name in PUBLIC[module], f"{module} does not offer {name}"


def test_some_experiment_compares_samplers():
    found = [pair for path in EXPERIMENTS for pair in imported(ast.parse(path.read_text()))]
    assert ("orbitmc.compare", "reference_of") in found


def test_what_compares_samplers_is_documented_name_by_name():
    page = (ROOT / "docs" / "reference" / "compare.md").read_text()
    assert names_of_homes() == {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
