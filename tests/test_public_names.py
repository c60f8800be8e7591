"""What `import orbitmc as om` promises."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orbitmc as om

ROOT = Path(__file__).parents[1]
RING = ROOT / "examples" / "ring.uai"
ROOMS = (
    "kernels",
    "models",
    "groups",
    "symmetry",
    "sampling",
    "estimate",
    "exact",
    "compare",
    "interop",
    "testing",
)


@pytest.mark.parametrize("room", ["", "testing", *ROOMS])
def test_public_names_are_listed_and_documented(room):
    place = getattr(om, room) if room else om
    names = om.__all__ if not room else [name for name in dir(place) if not name.startswith("_")]
    assert names
    for name in names:
        found = getattr(place, name)
        assert name in dir(place)
        if inspect.isroutine(found) or inspect.isclass(found):
            assert found.__doc__ or issubclass(found, Exception), f"{room}.{name} says nothing"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'marginal_'"):
        om.marginal_  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'gibs'"):
        om.kernels.gibs  # noqa: B018


def test_rooms_list_their_names_before_anything_is_loaded():
    script = (
        "import sys, orbitmc as om\n"
        "assert 'lifted' in dir(om.kernels) and 'check_kernel' in dir(om.testing)\n"
        "assert 'numba' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_room_holds_its_files():
    import orbitmc.exact.contraction

    assert om.exact.contraction is orbitmc.exact.contraction


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_has_the_name_of_something_public(room):
    """The import system would put the file in the place of what has its name."""
    place = getattr(om, room)
    files = {path.stem for path in Path(place.__file__).parent.iterdir()}
    listed = {name for name in dir(place) if not inspect.ismodule(getattr(place, name))}
    assert not files & listed


@pytest.mark.parametrize(("method", "most"), [("exact", 100), ("gibbs", 100)])
def test_a_question_about_a_model_loads_only_what_it_uses(method, most):
    """No parser of logic, no database, no tuning, no search for symmetries."""
    budget = {} if method == "exact" else {"samples": 8}
    script = (
        "import sys, orbitmc as om\n"
        f"om.marginals(om.read({str(RING)!r}), method={method!r}, **{budget})\n"
        "print(*(name for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    own = [name for name in loaded if name.split(".")[0] == "orbitmc"]
    print(f"{method}: {len(own)} files of orbitmc are loaded")
    assert len(own) < most
    assert not {"duckdb", "matplotlib", "pandas"} & set(loaded)
    rooms = {name.split(".")[1] for name in own if name.count(".") > 1}  # with code of theirs
    assert not {"logic", "tuning", "symmetry", "report", "cli", "compare"} & rooms


def test_the_reference_lists_every_public_name():
    pages = (ROOT / "docs" / "reference" / "python").glob("*.md")
    page = "\n".join(page.read_text() for page in pages)
    listed = [
        getattr(importlib.import_module(module), name)
        for module, name in re.findall(r"^\.\. auto\w+:: ([\w.]+)\.(\w+)$", page, re.MULTILINE)
    ]
    for place in (om, *(getattr(om, room) for room in ROOMS if room != "compare")):
        names = om.__all__ if place is om else [name for name in dir(place) if name[0] != "_"]
        for name in names:
            found = getattr(place, name)
            if inspect.isroutine(found) or inspect.isclass(found):
                assert any(found is one for one in listed), f"{place.__name__}.{name}"
