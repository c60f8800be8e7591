"""Compiled code calls other compiled code by its address."""

from typing import NamedTuple

import numpy as np
import pytest

from orbitmc.machine.calls import address_of, call_at, packed, unpacked
from orbitmc.machine.compiling import compiled, modules_of, shared


@compiled
def add(place, kind, times):
    _add(place, kind, times)


@shared
def _add(place, kind, times):
    numbers, pair = unpacked(place, kind)
    for k in range(len(numbers)):
        numbers[k] += times * pair[0][k] - pair[1]


@compiled
def subtract(place, kind, times):
    _add(place, kind, -times)


@compiled
def fail(place, kind, times):
    if times > 0:
        raise IndexError


@compiled
def call_often(address, numbers, pair, times, often):
    place = packed((numbers, pair))
    for _ in range(often):
        call_at(address, place, times)


@compiled
def look(place, kind, number):
    pass


class One(NamedTuple):
    numbers: np.ndarray
    number: int


class Other(NamedTuple):
    numbers: np.ndarray
    number: int


PAIR = (np.array([1.0, 2.0]), 0.5)


@pytest.mark.parametrize(("function", "expected"), [(add, [7.5, 16.5]), (subtract, [-10.5, -19.5])])
def test_one_caller_calls_several_functions(function, expected):
    numbers = np.zeros(2)
    call_often(address_of(function, (numbers, PAIR)), numbers, PAIR, 3, 3)
    assert numbers.tolist() == expected
    assert len(call_often.signatures) == 1


def test_what_a_called_function_raises_is_raised():
    numbers = np.zeros(2)
    address = address_of(fail, (numbers, PAIR))
    with pytest.raises(IndexError):
        call_often(address, numbers, PAIR, 1, 1)


def test_a_sealed_array_or_another_kind_of_tuple_has_another_address():
    sealed = np.zeros(2)
    sealed.flags.writeable = False
    addresses = {
        address_of(look, pair)
        for pair in (
            (np.zeros(2), 1),
            (np.zeros(2, dtype=np.float32), 1),
            (sealed, 1),
            (One(np.zeros(2), 1), 1),
            (Other(np.zeros(2), 1), 1),
        )
    }
    assert len(addresses) == 5


def test_the_code_depends_on_the_files_of_packed_types():
    address_of(look, (One(np.zeros(2), 1), 2))
    assert {__name__} in [modules_of(signature) for signature in look.signatures]


def test_arrays_live_on_after_many_calls():
    numbers, pair = np.zeros(2), (np.array([1.0, 2.0]), 0.5)
    address = address_of(add, (numbers, pair))
    for _ in range(100):
        call_often(address, numbers, pair, 1, 10)
    del address
    assert numbers.tolist() == [500.0, 1500.0]
    assert pair[0].tolist() == [1.0, 2.0]
