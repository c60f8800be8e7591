"""A library that is not there: its extra is named, and nothing else breaks."""

import subprocess
import sys

import pytest

import orbitmc as om
from orbitmc.errors import InputError

GRID = om.ising_grid(2, 2, 0.3)


@pytest.fixture
def without(monkeypatch):
    """Hide a library."""

    def hide(name):
        for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, name, None)

    return hide


def asked(question):
    with pytest.raises(InputError) as caught:
        question()
    return str(caught.value)


def test_dimod_is_named(without):
    without("dimod")
    assert "pip install 'orbitmc[dimod]'" in asked(lambda: om.to_dimod(GRID))
    assert "pip install 'orbitmc[dimod]'" in asked(om.interop.DimodSampler)


@pytest.mark.parametrize(
    ("library", "extra", "question"),
    [
        ("pandas", "frames", lambda: om.marginals(GRID, method="exact").to_frame()),
        ("pandas", "frames", lambda: om.best(GRID).to_frame()),
        ("pandas", "frames", lambda: om.predict(GRID, [{}])),
        ("xarray", "xarray", lambda: om.marginals(GRID, method="exact").to_xarray()),
        ("xarray", "xarray", lambda: om.draws(GRID, samples=2, chains=1).to_xarray()),
        ("pytoulbar2", "map", lambda: om.best(GRID, method="toulbar2")),
        ("arviz", "arviz", lambda: om.draws(GRID, samples=2, chains=1).to_arviz()),
    ],
)
def test_the_extra_of_an_answer_is_named(without, library, extra, question):
    without(library)
    assert f"pip install 'orbitmc[{extra}]'" in asked(question)


@pytest.mark.parametrize("build", [om.from_dimod, om.from_pgmpy, om.from_pyagrum, om.from_networkx])
def test_what_is_no_object_of_the_library_is_refused_without_it(build):
    assert asked(lambda: build({"a": 1})).startswith("expected a")


def test_no_library_is_loaded_before_it_is_needed():
    script = (
        "import sys, orbitmc as om\n"
        "om.from_pgmpy, om.from_dimod, om.from_pyagrum, om.from_networkx\n"
        "found = {'dimod', 'pgmpy', 'torch', 'pyagrum', 'networkx', 'pandas', 'xarray', 'arviz'}\n"
        "assert not found & set(sys.modules), found & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
