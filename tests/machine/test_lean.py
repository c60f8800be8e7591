"""Inner functions are not optimised by themselves, and nothing else changes."""

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

from orbitmc.machine.code import lean
from orbitmc.machine.compiling import COMPILERS, INNER


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


def test_the_installed_numba_has_all_that_the_lean_compilers_lean_on():
    assert lean.compiler_classes() == (lean.OuterCompiler, lean.InnerCompiler), (
        "Numba has changed inside: look at orbitmc/machine/code/lean.py; "
        "until then Numba's own compiler is used, which takes half as long again"
    )


@pytest.mark.parametrize("numbers", [[1.0, 4.0], [0.25], [0.0, 1.0]])
def test_the_numbers_are_those_of_numba(numbers):
    options = {key: value for key, value in INNER.items() if key != "pipeline_class"}
    plain = roots(options, {"error_model": "numpy"})
    leaner = roots(INNER, {"error_model": "numpy", "pipeline_class": COMPILERS.outer})
    assert leaner(np.array(numbers)) == plain(np.array(numbers))


def test_only_the_outermost_function_becomes_machine_code(monkeypatch):
    made = []
    finish = JITCodeLibrary._finalize_final_module
    monkeypatch.setattr(
        JITCodeLibrary,
        "_finalize_final_module",
        lambda library: (made.append(library.name), finish(library))[1],
    )
    leaner = roots(INNER, {"error_model": "numpy", "pipeline_class": COMPILERS.outer})
    leaner(np.ones(2))
    own = [name for name in made if name in {"reciprocal", "term", "total"} or "roots" in name]
    assert len(own) == 1


def test_a_numba_without_those_parts_compiles_in_its_own_way(monkeypatch):
    monkeypatch.setattr(lean, "LEANED_ON", ("a_part_that_no_numba_has",))
    assert lean.compiler_classes() == (numba.core.compiler.Compiler,) * 2
