"""Inner functions are not optimised by themselves, and nothing else changes."""

import gc

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from orbitmc._numba import internals as lean
from orbitmc._numba.compile_log import Work, announce
from orbitmc._numba.dispatchers import INNER
from orbitmc._numba.internals import OuterCompiler
from orbitmc._numba.jit import compiled


def roots(inner_options, outer_options):
    """A loop around two nested inner functions, one of them with a division by zero."""

    @numba.extending.register_jitable(**inner_options)
    def reciprocal(number):
        return 1.0 / number

    @numba.extending.register_jitable(**inner_options)
    def term(numbers, place):
        return np.sqrt(numbers[place]) + reciprocal(numbers[place])

    @numba.njit(**outer_options)
    def total(numbers):
        found = 0.0
        for place in range(len(numbers)):
            found += term(numbers, place)
        return found

    return total


OLD = tuple(map(int, numba.__version__.split(".")[:2])) < (0, 63)
needs_lean_compiler = pytest.mark.skipif(OLD, reason="Numba's own compiler is used before 0.63")


def test_the_installed_numba_has_all_parts():
    expected = set(lean.NEEDED) - ({"compiler"} if OLD else set())
    assert set(lean.parts()) == expected, (
        "Numba has changed inside: look at orbitmc/_numba/internals.py; "
        "until then plain replacements are used, which take longer"
    )


@needs_lean_compiler
@pytest.mark.parametrize("numbers", [[1.0, 4.0], [0.25], [0.0, 1.0]])
def test_the_numbers_are_those_of_numba(numbers):
    options = {key: value for key, value in INNER.items() if key != "pipeline_class"}
    plain = roots(options, {"error_model": "numpy"})
    leaner = roots(INNER, {"error_model": "numpy", "pipeline_class": OuterCompiler})
    assert leaner(np.array(numbers)) == plain(np.array(numbers))


@needs_lean_compiler
def test_only_the_outermost_function_becomes_machine_code(monkeypatch):
    made = []
    finish = JITCodeLibrary._finalize_final_module
    monkeypatch.setattr(
        JITCodeLibrary,
        "_finalize_final_module",
        lambda library: (made.append(library.name), finish(library))[1],
    )
    leaner = roots(INNER, {"error_model": "numpy", "pipeline_class": OuterCompiler})
    leaner(np.ones(2))
    own = [name for name in made if name in {"reciprocal", "term", "total"} or "roots" in name]
    assert len(own) == 1


def test_garbage_is_collected_again_after_compiling_also_after_a_mistake():
    states = []

    @compiled
    def wrong(number):
        return number.unknown

    assert gc.isenabled()
    with pytest.raises(numba.TypingError):
        wrong(1.0)
    assert gc.isenabled()
    with announce(Work.COMPILING), announce(Work.COMPILING):
        states.append(gc.isenabled())
    assert states == [False]
    assert gc.isenabled()
    gc.disable()
    try:
        compiled(lambda number: number + 1.0)(2.0)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_flags_are_equal_where_numbas_own_are():
    plain, other = lean.Flags(), lean.Flags()
    plain.nrt = True
    flags = lean.LeanFlags(plain)
    assert flags == lean.LeanFlags(plain)
    assert hash(flags) == hash(plain)
    assert flags == plain
    assert flags != lean.LeanFlags(other)
    assert flags != other
