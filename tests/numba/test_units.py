"""Units read from frames what they would get as arguments, and call each other by address."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import orbitmc as om
from orbitmc._numba.jit import compiled, unit
from orbitmc._numba.units import call_indirect, link, unpack_frame
from orbitmc._util.arrays import readonly
from orbitmc.errors import InputError
from orbitmc.kernels.protocol import _take_steps
from orbitmc.sampling import pack as packs
from orbitmc.sampling.pack import advance, start_pack, walk


class Content(NamedTuple):
    found: Any
    held: Any


@unit
def copy_number(frame, factor):
    content, _ = unpack_frame(frame)
    content.found[0] = content.held * factor


@unit
def copy_matrix(frame, factor):
    content, (rows, columns) = unpack_frame(frame)
    for row in range(rows):
        for column in range(columns):
            content.found[row, column] = content.held[row, column] * factor


@unit
def complain(frame, factor):
    (numbers,) = unpack_frame(frame)
    if factor > numbers[0]:
        raise ValueError("too large")


@compiled
def call(address, frame, number):
    call_indirect(address, frame, number)


def run(function, content, number):
    found = link(function, content)
    call(*found.unit, number)


@pytest.mark.parametrize(
    "number",
    [3, -5, 2.5, True, np.uint64(2**64 - 1), np.int32(-7), np.uint8(200), np.float32(0.1)],
)
def test_a_number_of_any_type_arrives(number):
    found = np.zeros(1, dtype=np.asarray(number).dtype if number is not True else np.int64)
    run(copy_number, (Content(found, number), ()), 1)
    assert found[0] == number


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "columns", "every second", "sealed"])
def test_an_array_of_any_type_and_layout_arrives(kind, layout):
    numbers = np.arange(24).reshape(4, 6).astype(kind)
    held = {
        "rows": numbers,
        "columns": np.asfortranarray(numbers),
        "every second": numbers[::2, ::3],
        "sealed": readonly(numbers.copy()),
    }[layout]
    found = np.zeros(held.shape, dtype=kind)
    run(copy_matrix, (Content(found, held), held.shape), 2)
    assert np.array_equal(found, 2 * held)


def test_what_is_neither_number_nor_array_is_refused_by_its_type():
    with pytest.raises(InputError, match="numbers, arrays and tuples of them, no unicode_type"):
        link(copy_number, (Content(np.zeros(1), "three"), ()))


def test_an_error_in_a_unit_reaches_python_through_its_caller():
    run(complain, (np.array([5]),), 5)
    with pytest.raises(ValueError, match="too large"):
        run(complain, (np.array([5]),), 6)


def compiled_units():
    return len(_take_steps.dispatcher.overloads), len(packs._record.dispatcher.overloads)


def test_known_kernels_in_a_new_combination_compile_nothing_but_the_combination():
    model = om.ising_grid(3, 3, 0.3)
    prepared = om.kernels.prepare(model.graph)
    flips, clusters = om.kernels.flips(prepared), om.kernels.clusters(prepared)
    gibbs = om.kernels.gibbs()
    for jump in (flips, clusters):  # each family once
        first = om.kernels.alternation(gibbs, jump, period=9)
        pack = start_pack(prepared, first, seed=1, number=0, lanes=64)
        advance(prepared, first, pack, recorded=0, samples=1, spacing=9)
    known = compiled_units()
    both = om.kernels.mixture(flips, clusters, weight=0.5)
    again = om.kernels.mixture(clusters, both, weight=0.5)
    for jump in (both, again):
        kernel = om.kernels.alternation(gibbs, jump, period=5)
        pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
        walk(prepared, kernel, pack, 20)
    new = compiled_units()
    assert new[0] - known[0] <= 1, "a mixture of linked parts is one more unit, however nested"
    assert new[1] == known[1]
