"""Every example in a docstring runs, and every public function has one."""

import doctest
import importlib
import inspect
from pathlib import Path

import pytest

import orbitmc as om
from tests.test_public_names import ROOMS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
WITH_EXAMPLES = [
    str(path.relative_to(SOURCES))
    for path in sorted(SOURCES.rglob("*.py"))
    if ">>> " in path.read_text() and path.parent.name != "interop"  # tests/interop has those
]


def functions(place, names):
    found = {name: getattr(place, name) for name in names}
    return {name: one for name, one in found.items() if inspect.isroutine(one)}


def without_example(place, names):
    every = functions(place, names)
    assert every
    return sorted(name for name, one in every.items() if ">>> " not in (one.__doc__ or ""))


@pytest.mark.parametrize("source", WITH_EXAMPLES)
def test_examples_in_docstrings_run(source, monkeypatch):
    monkeypatch.chdir(ROOT)
    module = importlib.import_module(".".join(Path(source).with_suffix("").parts))
    ran = doctest.testmod(module)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_every_public_function_of_the_package_has_an_example():
    assert without_example(om, om.__all__) == []


@pytest.mark.parametrize("room", ROOMS)
def test_public_functions_of_packages_have_examples(room):
    place = getattr(om, room)
    missing = without_example(place, [name for name in dir(place) if not name.startswith("_")])
    assert missing == []


def test_an_example_that_fails_is_found_out():
    parsed = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    failed = doctest.DocTestRunner(verbose=False).run(parsed, out=lambda words: None)
    assert failed.failed == 1
