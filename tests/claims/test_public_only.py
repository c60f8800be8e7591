"""Claims are about what users touch: these files import nothing else of ours."""

import ast
import re
from pathlib import Path

import pytest

FILES = sorted(Path(__file__).parent.glob("test_*.py"))
PACKAGES = ("kernels", "symmetry", "groups", "testing", "models", "errors")
PUBLIC = {"orbitmc", *(f"orbitmc.{name}" for name in PACKAGES)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_only_public_names_are_imported(file):
    tree = ast.walk(ast.parse(file.read_text()))
    modules = set()
    for node in tree:
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module)
    assert not re.search(r"\"orbitmc\.\w+\.[\w.]+\"", file.read_text()), "a name inside, as text"
    ours = {module for module in modules if module.partition(".")[0] == "orbitmc"}
    assert ours <= PUBLIC
