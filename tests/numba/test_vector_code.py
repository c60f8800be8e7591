"""Vector code does what the plain function that it stands for says."""

import inspect

import numpy as np
import pytest

from orbitmc._numba.jit import compiled
from orbitmc._simd import neighbour_sums as neighbour_rows
from orbitmc._simd import neighbour_sums as vectors
from orbitmc._simd import random as random_vectors
from orbitmc._simd import row_operations as rows
from orbitmc._simd.random import generator, width_of

LANES = 96
WIDTH = width_of(LANES)


def uniform(seed, *shape, below):
    return np.random.default_rng(seed).integers(below, size=shape)


def bits(seed, *shape):
    return uniform(seed, *shape, below=2).astype(np.uint8)


def singles(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def counts(seed, below=5):
    return uniform(seed, LANES, below=below).astype(np.uint32)


def limits():
    return uniform(31, 16, below=2**32).astype(np.uint32)


def streams():
    return generator(4, 0, LANES).streams


def row_pair():
    return bits(1, 7, LANES), 3, bits(2, 5, LANES), 4


def three_values(seed, rows_):
    return uniform(seed, rows_, LANES, below=3).astype(np.uint8)


CASES = {
    rows.rows_differ: lambda: [*row_pair()],
    rows.exchange_rows: lambda: [*row_pair()],
    rows.copy_row: lambda: [*row_pair()],
    rows.choose_by_coins: lambda: [bits(1, 5, LANES), 2, bits(2, 7, LANES), 1, 6, bits(3, LANES)],
    rows.keep_accepted: lambda: [*row_pair(), bits(3, LANES), bits(4, LANES)],
    rows.count_both: lambda: [bits(1, LANES), bits(2, LANES)],
    rows.add_rise: lambda: [singles(1, LANES), singles(2, LANES), *row_pair()],
    rows.add_curved_rise: lambda: [
        *(singles(seed, LANES) for seed in range(3)),
        *(three_values(8, 7), 3, three_values(9, 5), 4),
    ],
    rows.add_counted_rise: lambda: [
        *(singles(1, LANES), counts(2, 7)[:9], bits(3, 9).astype(np.uint32), 2, 9),
        *(np.float32(-0.7), np.float32(0.3), *row_pair()),
    ],
    vectors.add_by_eight: lambda: [limits(), 5, bits(1, LANES) * 3, np.arange(20.0), 7],
    vectors.add_row_by_eight: lambda: [bits(1, 7, LANES), 3, np.arange(20.0), 7],
    vectors.add_sextet: lambda: [
        *(singles(1, LANES), singles(2, 40), 9),
        *(bits(3, 12, LANES), np.arange(12, dtype=np.uint32)[::-1].copy(), 5),
    ],
    random_vectors.fill_random: lambda: [streams(), counts(1)],
    random_vectors.flip_by_eight: lambda: [
        *(streams(), limits(), 6, counts(1, 8).astype(np.uint8), bits(2, 5, LANES), 3),
    ],
    random_vectors.toss_lanes: lambda: [streams(), bits(1, LANES)],
    random_vectors.accept_lanes: lambda: [
        *(streams(), singles(1, LANES).astype(np.float64) - 0.5, bits(2, LANES)),
    ],
    neighbour_rows.count_agreeing_rows: lambda: [
        *(counts(1).astype(np.uint8), counts(2, 7)[:9], bits(3, 9).astype(np.uint32), 2, 9),
        bits(4, 7, LANES),
    ],
    neighbour_rows.bits_of_rows: lambda: [
        *(counts(1).astype(np.uint8), counts(2, 7)[:9], bits(3, 9).astype(np.uint32), 2, 9),
        bits(4, 7, LANES),
    ],
    neighbour_rows.places_of_rows: lambda: [
        *(counts(1), counts(2, 7)[:9], counts(3)[:9], 2, 9, three_values(4, 7), 100),
    ],
    random_vectors.choose_of_three: lambda: [
        *(streams(), np.sort(limits()), counts(1, 15), three_values(2, 5), 3),
    ],
    neighbour_rows.fetch_row: lambda: [bits(1, 7, LANES), 3],
}
HINTS = {neighbour_rows.fetch_row}  # change nothing but the time that it takes


@compiled
def all_compiled(cases):
    differ = rows.rows_differ(*cases[0])
    rows.exchange_rows(*cases[1])
    rows.copy_row(*cases[2])
    rows.choose_by_coins(*cases[3])
    kept = rows.keep_accepted(*cases[4])
    both = rows.count_both(*cases[5])
    rows.add_rise(*cases[6])
    rows.add_curved_rise(*cases[7])
    rows.add_counted_rise(*cases[8])
    vectors.add_by_eight(*cases[9])
    vectors.add_row_by_eight(*cases[10])
    vectors.add_sextet(*cases[11])
    random_vectors.fill_random(*cases[12])
    random_vectors.flip_by_eight(*cases[13])
    random_vectors.toss_lanes(*cases[14])
    random_vectors.accept_lanes(*cases[15])
    neighbour_rows.count_agreeing_rows(*cases[16])
    neighbour_rows.bits_of_rows(*cases[17])
    neighbour_rows.places_of_rows(*cases[18])
    random_vectors.choose_of_three(*cases[19])
    neighbour_rows.fetch_row(*cases[20])
    return differ, kept, both


RETURNING = [rows.rows_differ, rows.keep_accepted, rows.count_both]


@pytest.fixture(scope="module")
def compiled_cases():
    """Arguments of every call after it, and what it returned."""
    cases = tuple((*arguments(), WIDTH) for arguments in CASES.values())
    results = dict(zip(RETURNING, all_compiled(cases), strict=True))
    return {plain: (case, results.get(plain)) for plain, case in zip(CASES, cases, strict=True)}


@pytest.mark.parametrize("plain", CASES, ids=lambda plain: plain.__name__)
def test_vector_code_does_what_the_plain_function_does(plain, compiled_cases):
    arguments = CASES[plain]()
    result = plain(*arguments, WIDTH)
    found, returned = compiled_cases[plain]
    assert result == returned
    for mine, theirs in zip(arguments, found[:-1], strict=True):
        if np.asarray(mine).dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)
        else:
            assert np.array_equal(mine, theirs)


def test_every_operation_on_lanes_has_a_case():
    modules = (rows, vectors, random_vectors, neighbour_rows)
    functions = {f for module in modules for f in vars(module).values() if inspect.isfunction(f)}
    on_lanes = {f for f in functions if [*inspect.signature(f).parameters][-1:] == ["width"]}
    assert on_lanes == set(CASES)


@pytest.mark.parametrize("plain", CASES, ids=lambda plain: plain.__name__)
def test_every_case_changes_something_or_returns_something(plain):
    before, after = CASES[plain](), CASES[plain]()
    result = plain(*after, WIDTH)
    same = all(np.array_equal(*pair) for pair in zip(before, after, strict=True))
    assert bool(result or not same) is (plain not in HINTS)


def test_exponentials_in_the_interpreter_are_those_of_numpy():
    numbers = np.linspace(-80, 80, 33).astype(np.float32)
    found = [vectors.exponential(number) for number in numbers]
    np.testing.assert_allclose(found, np.exp(numbers.astype(np.float64)), rtol=1e-5)
    assert vectors.exponential(np.float32(-90)) == 0
