"""Whatever a file says it is, a run or our own error comes out, and little memory is taken."""

import copy
import hashlib
import json
import random
import tracemalloc

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError, LimitError, OrbitError
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.checkpoint import CHECKSUM, MAGIC, load, save
from orbitmc.sampling.sampler import Run, sample
from orbitmc.sampling.schedule import Schedule
from tests.mutated import mutated
from tests.oracle.random_models import random_graph

GRAPH = random_graph(3, variables=(4, 5))
QUESTION = {"model": "some.uai", "evidence": {"A": 1}}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The header of a short run, and the bytes of its arrays."""
    prepared = prepare(GRAPH)
    path = tmp_path_factory.mktemp("kept") / "x.run"
    schedule = Schedule(samples=9, snapshots=True)
    kernel = SystematicScan()
    run = sample(prepared, kernel, schedule, packs=2, lanes=32)
    save(run, path, QUESTION)
    line, _, body = path.read_bytes()[len(MAGIC) :].partition(b"\n")
    return json.loads(line), body[:-CHECKSUM]


def write(path, header, body):
    """A file whose checksum is right, whatever it holds."""
    data = MAGIC + json.dumps(header).encode() + b"\n" + body
    path.write_bytes(data + hashlib.blake2b(data, digest_size=CHECKSUM).digest())


def restored(path, **limits):
    prepared = prepare(GRAPH)
    return load(path).restore(prepared, SystematicScan(), **limits)


def test_what_was_written_by_hand_as_we_write_it_is_read(kept, tmp_path):
    write(tmp_path / "x.run", *kept)
    assert restored(tmp_path / "x.run").recorded == 9


def test_whatever_stands_in_a_header_only_our_error_comes_out(kept, tmp_path):
    header, body = kept
    rng, refusals = random.Random(1), []
    for _ in range(1500):
        write(tmp_path / "x.run", mutated(header, rng), body)
        try:
            assert isinstance(restored(tmp_path / "x.run"), Run)
        except OrbitError as error:
            refusals.append(str(error))
    assert all("x.run" in refusal for refusal in refusals)
    assert 1000 < len(refusals) < 1500  # a changed question or seed is as good as another


@pytest.mark.parametrize(
    "kind", ["O", "|O", "<U4", "|V8", "<M8", "<c16", "<f8,<f8", "<f1", ["<f8"]]
)
def test_arrays_hold_numbers_and_nothing_else(kept, tmp_path, kind):
    header = copy.deepcopy(kept[0])
    header["arrays"][0][1] = kind
    write(tmp_path / "x.run", header, kept[1])
    with pytest.raises(InputError, match="damaged"):
        restored(tmp_path / "x.run")


@pytest.mark.parametrize(
    "shape", [[-1, -1], [0, 2**62], [0, 2**40, 2**40], [1] * 100, ["1"], [1.0]]
)
def test_shapes_that_no_array_has_are_refused(kept, tmp_path, shape):
    header = copy.deepcopy(kept[0])
    header["arrays"].append(["x", "<f8", shape])
    write(tmp_path / "x.run", header, kept[1] + bytes(8))
    with pytest.raises(InputError):
        restored(tmp_path / "x.run")


@pytest.mark.parametrize(("name", "large"), [("lanes", 2**40), ("packs", 2**40)])
def test_a_small_file_that_announces_a_lot_takes_no_memory(kept, tmp_path, name, large):
    header = {**kept[0], name: large}
    write(tmp_path / "x.run", header, kept[1])
    restored_once = load(tmp_path / "x.run")  # compiles nothing, but imports
    prepared = prepare(GRAPH)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"the run holds no pack/"):
        restored_once.restore(prepared, SystematicScan())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**23


def test_lanes_in_every_array_are_still_too_many_for_the_memory_limit(kept, tmp_path):
    write(tmp_path / "x.run", *kept)
    with pytest.raises(LimitError, match="over the memory limit"):
        restored(tmp_path / "x.run", memory=len(kept[1]) - 1)


def test_a_header_that_would_not_fit_is_not_read(kept, tmp_path):
    write(tmp_path / "x.run", {**kept[0], "question": {"x": [[]] * 10_000}}, kept[1])
    with pytest.raises(LimitError, match="over the memory limit"):
        load(tmp_path / "x.run", memory=2**19)


def test_values_that_a_variable_lacks_are_refused(kept, tmp_path):
    header, body = kept
    places = np.cumsum([0] + [_bytes(entry) for entry in header["arrays"]])
    names = [entry[0] for entry in header["arrays"]]
    start = int(places[names.index("pack/1/values")])
    write(tmp_path / "x.run", header, body[:start] + b"\xff" + body[start + 1 :])
    with pytest.raises(InputError, match="a value that its variable lacks"):
        restored(tmp_path / "x.run")


def _bytes(entry):
    return int(np.prod(entry[2], dtype=np.int64)) * np.dtype(entry[1]).itemsize
