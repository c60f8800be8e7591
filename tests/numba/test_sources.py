"""Machine code belongs to exactly the sources it was made from."""

import importlib
import sys

import pytest

from orbitmc._util.digests import are_as_imported, digest_of, source_files


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write modules, import the first of them, and forget them afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(**modules):
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        importlib.import_module(next(iter(modules)))
        return tmp_path

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_the_code_of_a_pack_depends_on_kernels_and_conditionals_but_on_no_command_line():
    found = source_files({"orbitmc.sampling.pack", "orbitmc.kernels._gibbs"})
    assert {
        "orbitmc.kernels._gibbs",
        "orbitmc.conditionals.prepared",
        "orbitmc._simd.random",
    } <= set(found)
    assert not any(
        name.startswith(("orbitmc.cli", "orbitmc.mln", "orbitmc.report")) for name in found
    )


def test_installed_packages_and_the_interpreter_are_left_out():
    assert all(name.startswith("orbitmc.") for name in source_files({"orbitmc.sampling.pack"}))


@pytest.mark.parametrize(
    "line",
    [
        "import near_helper",
        "from near_helper import COUNT",
        "from near_helper import (\n    COUNT,\n)",
        "import math, near_helper as other",
        "def late():\n    from near_helper import COUNT",
    ],
)
def test_a_change_in_an_imported_file_changes_the_digest(written, line):
    folder = written(near_main=f"{line}\nimport near_helper", near_helper="COUNT = 1\n")
    before = digest_of({"near_main"})
    assert digest_of({"near_main"}) == before
    (folder / "near_helper.py").write_text("COUNT = 12\n")
    assert digest_of({"near_main"}) != before


def test_a_change_elsewhere_leaves_the_digest_alone(written):
    folder = written(far_main="import math\n", far_other="COUNT = 1\n")
    importlib.import_module("far_other")
    before = digest_of({"far_main"})
    (folder / "far_other.py").write_text("COUNT = 12\n")
    assert digest_of({"far_main"}) == before


def test_what_was_typed_at_a_prompt_has_no_digest():
    assert digest_of({"orbitmc.sampling.pack", "a_module_without_file"}) is None


def test_relative_imports_are_followed(tmp_path, monkeypatch, written):
    package = tmp_path / "near_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from . import two\nfrom .three import COUNT\n")
    (package / "two.py").write_text("")
    (package / "three.py").write_text("COUNT = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    importlib.import_module("near_package.one")
    assert {"near_package.two", "near_package.three"} <= set(source_files({"near_package.one"}))


def test_code_from_a_string_has_no_sources():
    """Its functions may belong to no module; whatever the order of a set, that is no error."""
    names = {}
    exec("def function(): pass", names)
    assert names["function"].__module__ is None
    assert digest_of([None, "orbitmc.version"]) is None
    assert digest_of(["orbitmc.version", None]) is None
    assert are_as_imported([None])
