"""Numba's private interface: in one file, replaced where it is missing, used for us alone."""

import ast
import gc
import json
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event

import orbitmc
from orbitmc._numba import internals

ROOT = Path(orbitmc.__file__).parent
SURELY = 7.0
"""Standard errors; a false alarm in one of 24 numbers has a chance below 1e-10."""

AVAILABLE = internals.parts()
NAMES = sorted({path for paths in internals.NEEDED.values() for path in paths})

ASK = """
import importlib, json, sys, types
import numba

hidden, version = json.loads(sys.argv[1])
views = {}
for path in hidden:
    words = path.split(".")
    module = importlib.import_module(".".join(words[:3]))
    view = views.setdefault(module.__name__, types.SimpleNamespace(**vars(module)))
    vars(view).pop(words[3], None)
import_module = importlib.import_module
importlib.import_module = lambda name, *more: views.get(name) or import_module(name, *more)
if version:
    numba.__version__ = version

import orbitmc as om
from orbitmc._numba import internals

model = om.ising_grid(2, 2, 0.4, 0.3)
exact = om.marginals(model, method="exact")
answers = [[float(exact[name].probability[1]) for name in model.names]]
if "sample" in sys.argv:
    gibbs = om.marginals(model, method="gibbs", samples=2000, seed=1)
    answers.append([float(gibbs[name].probability[1]) for name in model.names])
    answers.append([float(gibbs[name].standard_error[1]) for name in model.names])
print(json.dumps([internals.parts(), answers]))
"""
"""Ask, where orbitmc cannot see some names of Numba's while Numba itself can."""


def answer(hidden, *more, version=""):
    command = [sys.executable, "-c", ASK, json.dumps([hidden, version]), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    parts, answers = json.loads(done.stdout)
    return set(parts), *map(np.array, answers)


def test_one_file_has_all_that_is_private():
    users = {
        str(file.relative_to(ROOT))
        for file in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if _is_private(node)
    }
    assert users == {"_numba/internals.py"}


def _is_private(node):
    """Whether a line imports from Numba's inside, names it, or reads the store of a function."""
    if isinstance(node, ast.Import):
        names = [name.name for name in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        names = [node.value]
    else:
        return isinstance(node, ast.Attribute) and node.attr == "_cache"
    return any(name.startswith(("numba.core", "numba.np")) for name in names)


@pytest.mark.parametrize("hidden", NAMES)
def test_a_name_that_is_missing_switches_off_the_parts_that_need_it(monkeypatch, hidden):
    look_up = internals.look_up
    monkeypatch.setattr(
        internals, "look_up", lambda path: internals.Absent if path == hidden else look_up(path)
    )
    internals.has_part.cache_clear()
    try:
        expected = {part for part in AVAILABLE if hidden not in internals.NEEDED[part]}
        assert set(internals.parts()) == expected
        options = internals.outer_options() | internals.inner_options() | internals.unit_options()
        assert ("pipeline_class" in options) == ("compiler" in expected)
        assert ("_nrt" in options) == ("options" in expected)
        function = numba.njit(lambda number: number)
        assert internals.attach_store(function, object()) == ("store" in expected)
    finally:
        internals.has_part.cache_clear()


def test_an_attribute_that_is_missing_is_noticed():
    path = "numba.core.codegen.JITCodeLibrary"
    assert internals.look_up(f"{path}.finalize") is not internals.Absent
    assert internals.look_up(f"{path}.a_part_that_no_numba_has") is internals.Absent
    assert internals.look_up(f"{path}That.NoNumbaHas") is internals.Absent
    assert internals.look_up("numba.core.unheard_of.Name") is internals.Absent


@pytest.mark.parametrize("hidden", sorted({".".join(path.split(".")[:4]) for path in NAMES}))
def test_the_package_answers_without_a_name(hidden):
    parts, exact = answer([hidden])
    assert parts == {
        part
        for part in AVAILABLE
        if not any(path.startswith(hidden) for path in internals.NEEDED[part])
    }
    assert exact == pytest.approx(answer([])[1], abs=1e-12)


@pytest.mark.parametrize(
    "part",
    ["compiler", "store", "options", pytest.param("addresses", marks=pytest.mark.slow)],
)
def test_the_package_samples_without_a_part(part):
    parts, exact, sampled, error = answer(internals.NEEDED[part], "sample")
    assert part not in parts
    assert np.all(abs(sampled - exact) < SURELY * error)


@pytest.mark.slow
def test_the_package_samples_without_any_part():
    parts, exact, sampled, error = answer(NAMES, "sample")
    assert parts == set()
    assert np.all(abs(sampled - exact) < SURELY * error)


def test_a_version_nobody_has_seen_is_compiled_by_numbas_own_compiler():
    parts, exact, sampled, error = answer([], "sample", version="0.999.0")
    assert parts == set(AVAILABLE) - {"compiler"}
    assert np.all(abs(sampled - exact) < SURELY * error)


def test_an_error_in_a_step_is_an_error_without_addresses_too():
    done = subprocess.run(
        [sys.executable, "-c", FAILING], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "compiled code failed"


FAILING = """
import numpy as np
from orbitmc._numba import internals
internals.NEEDED["addresses"] = ("numba.core.callconv.CPUCallConv.no_such_name",)
from orbitmc._numba.jit import compiled, unit
from orbitmc._numba.units import call_indirect, link, unpack_frame

@unit
def complain(frame, factor):
    (numbers,) = unpack_frame(frame)
    if factor > numbers[0]:
        raise ValueError("too large")

@compiled
def call(address, frame, number):
    call_indirect(address, frame, number)

linked = link(complain, (np.array([5]),))
call(*linked.unit, 5)
try:
    call(*linked.unit, 6)
except RuntimeError as error:
    print(error)
"""


def test_importing_us_changes_nothing_for_functions_of_others():
    done = subprocess.run(
        [sys.executable, "-c", OTHERS], capture_output=True, text=True, check=True
    )
    before, after, compiled_before, compiled_after = json.loads(done.stdout)
    assert before == after
    assert compiled_before == compiled_after


OTHERS = """
import gc, json, sys
import numba
from numba.core import config, event
from numba.core.registry import cpu_target

def state():
    settings = {name: repr(getattr(config, name)) for name in dir(config) if name.isupper()}
    listeners = {kind: len(found) for kind, found in event._registered.items() if found}
    return {"gc": [gc.isenabled(), gc.get_threshold()], "settings": settings,
            "listeners": listeners, "hooks": [repr(sys.excepthook), repr(sys.unraisablehook)],
            "compiler": repr(numba.njit(lambda x: x)._compiler.pipeline_class)}

def compile_one():
    seen = []

    def abs_twice(number): ...

    @numba.extending.overload(abs_twice)
    def overload(number):
        seen.append([gc.isenabled(), state()["listeners"]])
        return lambda number: 2 * abs(number)

    assert numba.njit(lambda x: abs_twice(x))(-3) == 6
    return seen[0]

before, alone = state(), compile_one()
import orbitmc as om
om.marginals(om.ising_grid(2, 2, 0.4), method="gibbs", samples=20)
after = state()
print(json.dumps([before, after, alone, compile_one()]))
"""


def test_our_functions_are_told_of_and_others_are_not():
    heard = []

    class Ear(event.Listener):
        def on_start(self, noticed):
            heard.append(gc.isenabled())

        def on_end(self, noticed):
            heard.append(gc.isenabled())

    with event.install_listener("numba:compile", Ear()):
        assert numba.njit(lambda x: x + 4)(1) == 5
    assert heard == [True, True]
