"""Couplings as text and saved models of dimod, and what each mistake is told."""

import itertools
import json
import math
import random
import struct

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError, OrbitError
from orbitmc.formats import read
from orbitmc.graph.model import Model
from tests.answers import MEMORY, answered
from tests.formats.samples import COO, ISING


@pytest.fixture
def written(tmp_path):
    def write(content, suffix):
        path = tmp_path / f"m{suffix}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def joint(energy, numbers, count):
    """Weights exp(-E) of all states, normalised, last variable fastest."""
    states = itertools.product(numbers, repeat=count)
    weights = np.array([math.exp(-energy(*state)) for state in states]).reshape((2,) * count)
    return weights / weights.sum()


def exact(model):
    return om.joint(model, list(model.names), method="exact").probability


def test_coo_holds_energies_of_numbered_variables(written):
    model = read(written(COO, ".coo"))
    assert model.names == ("0", "1", "3")
    assert model.values[0] == ("0", "1")
    wanted = joint(lambda a, b, d: 0.5 * a - 1.25 * a * d + 0.75 * b * d - 2 * b, (0, 1), 3)
    np.testing.assert_allclose(exact(model), wanted, atol=1e-12)


def test_couplings_of_spins_count_from_one_or_from_zero(written):
    model = read(written(ISING, ".ising"))
    assert model.names == ("1", "2", "3", "4")
    wanted = joint(
        lambda a, b, c, d: 1.5 * a * b - 0.5 * b * c + 0.25 * a + 0.1 * a * c, (-1, 1), 4
    )
    np.testing.assert_allclose(exact(model), wanted, atol=1e-12)
    assert read(written("2 1\n0 1 1.0\n", ".ising")).names == ("0", "1")
    assert read(written("7 5 1.0\n", ".ising")).names == ("5", "7")


def test_what_stands_twice_adds_up(written):
    once = read(written("0 1 0.75\n0 0 -2\n", ".ising"))
    twice = read(written("0 1 0.25\n0 1 0.5\n0 0 1\n0 0 -3\n", ".ising"))
    np.testing.assert_allclose(exact(twice), exact(once), atol=1e-12)
    as_dimod = read(written("# vartype=SPIN\n0 1 0.25\n1 0 0.5\n0 0 -2\n", ".coo"))
    np.testing.assert_allclose(exact(as_dimod), exact(once), atol=1e-12)


def test_all_entries_of_a_symmetric_matrix_are_refused(written):
    with pytest.raises(InputError, match="3:1: the coupling of 0 and 1 is there in both orders"):
        read(written("2 2\n0 1 0.5\n1 0 0.5\n", ".ising"))


@pytest.mark.parametrize(
    ("suffix", "content", "message"),
    [
        (".coo", "0 1 1.0\n", ":1:1: expected a first line '# vartype=SPIN'"),
        (".coo", "# vartype=QUBIT\n0 1 1.0\n", ":1:11: expected SPIN or BINARY, found 'QUBIT'"),
        (".coo", "# vartype=SPIN\n", ":2:1: expected lines 'i j bias', found none"),
        (".ising", "", ":1:1: expected lines 'i j bias', found none"),
        (".ising", "0 1 1\n 0 1\n", ":2:2: expected 'i j bias', found 2 words"),
        (".ising", "0 1 x\n", ":1:1: expected a finite bias, found 'x'"),
        (".ising", "0 1 inf\n", "expected a finite bias, found 'inf'"),
        (".ising", "0 1 1_0\n", "expected a finite bias, found '1_0'"),
        (".ising", "a 1 1\n", "expected the number of a variable, found 'a'"),
        (".ising", "-1 1 1\n", "expected the number of a variable, found '-1'"),
        (".ising", f"{'9' * 30} 1 1\n", "expected the number of a variable"),
        (".ising", "2 1\n1 3 1.0\n", "2 spins are announced, but there is a spin 3"),
        (".ising", "99999999999 1\n1 2 1.0\n", "spins are announced, but only 1 lines follow"),
        (".ising", "4 3\n1 2 1\n2 3 1\n", ":1:1: 3 couplings are announced, but 2 follow"),
    ],
)
def test_mistakes_in_couplings_are_named_with_their_place(written, suffix, content, message):
    path = written(content, suffix)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_more_lines_than_memory_holds_are_refused(written):
    with pytest.raises(LimitError, match="over the memory limit"):
        read(written("0 1 1\n" * 1000, ".ising"), memory=100_000)
    with pytest.raises(LimitError, match="over the memory limit"):
        read(written("9999 10\n" + "1 2 1\n" * 10, ".ising"), memory=1_000_000)


def saved(header=None, labels=("z", "a", 3), couplings=((1, 0, -1.0), (1, 2, 0.5)), version=2):
    """What dimod writes for biases 1.5, 0, -0.25 and an offset of 0.75."""
    said = {"dtype": "float64", "itype": "int32", "ntype": "int32", "shape": [3, len(couplings)]}
    said |= {"type": "BinaryQuadraticModel", "variables": labels is not None, "vartype": "SPIN"}
    line = json.dumps({**said, **(header or {})}).encode() + b"\n"
    near = {0: [], 1: [], 2: []}
    for first, second, bias in couplings:
        near[first].append((second, bias))
        near[second].append((first, bias))
    start, data = 0, struct.pack("<d", 0.75)
    for variable, bias in enumerate((1.5, 0.0, -0.25)):
        data += struct.pack("<id", start, bias)
        start += len(near[variable])
    for one in near.values():
        data += b"".join(struct.pack("<id", *pair) for pair in sorted(one))
    named = json.dumps(labels).encode() if labels is not None else b""
    tail = b"VARS" + struct.pack("<I", len(named)) + named if labels is not None else b""
    return b"DIMODBQM" + bytes([version, 0]) + struct.pack("<I", len(line)) + line + data + tail


def test_a_saved_model_has_its_labels_biases_and_offset(written):
    model = read(written(saved(), ".bqm"))
    assert model.names == ("z", "a", "3")
    wanted = joint(lambda z, a, c: 1.5 * z - 0.25 * c - z * a + 0.5 * a * c, (-1, 1), 3)
    np.testing.assert_allclose(exact(model), wanted, atol=1e-12)
    assert model.graph.constant == -0.75
    assert read(written(saved(labels=None), ".bqm")).names == ("0", "1", "2")
    tuples = read(written(saved(labels=(["x", 1], "a", 3)), ".bqm"))
    assert tuples.names[0] == "('x', 1)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a binary quadratic model"),
        (b"DIMODBQM", "expected version 2"),
        (saved(version=1), "expected version 2"),
        (saved()[:60], "the header is not JSON"),
        (saved()[:-20], "the labels of the variables are missing"),
        (saved(labels=None)[:-3], "the file ends before its last coupling"),
        (saved({"dtype": "object"}), "dtype is one of float32, float64"),
        (saved({"itype": "float64"}), "itype is one of"),
        (saved({"vartype": "QUBIT"}), "vartype is SPIN or BINARY"),
        (saved({"vartype": ["SPIN"]}), "vartype is SPIN or BINARY"),
        (saved({"shape": [3]}), "shape is two whole numbers"),
        (saved({"shape": [3, -1]}), "shape is two whole numbers"),
        (saved({"shape": [True, 2]}), "shape is two whole numbers"),
        (saved({"shape": [2**40, 2]}), "the file ends before"),
        (saved({"shape": [3, 2**40]}), "the file ends before"),
        (saved(labels=("z", "a")), "expected 3 labels"),
        (saved(labels={"z": 1}), "expected 3 labels"),
        (saved(labels=("z", "z", "a")), "two variables are called"),
        (saved(couplings=((0, 0, 1.0),)), "couplings do not stand there twice"),
        (saved(couplings=((0, 1, math.inf),)), "a bias is not a finite number"),
        (
            saved().replace(struct.pack("<id", 1, 0.5), struct.pack("<id", 1, 0.25)),
            "a coupling is not the same for both of its variables",
        ),
    ],
)
def test_a_damaged_saved_model_is_refused(written, content, message):
    path = written(content, ".bqm")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_any_saved_model_gives_a_model_or_our_error(tmp_path):
    draw, whole, read_ones = random.Random(1), saved(), 0
    path = tmp_path / "m.bqm"
    for _ in range(1500):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 3)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(bytes(data[: draw.choice([len(data), draw.randrange(len(data))])]))
        try:
            found = read(path, memory=MEMORY)
        except OrbitError:
            continue
        assert isinstance(found, Model)
        answered(found)
        read_ones += 1
    assert read_ones > 20
