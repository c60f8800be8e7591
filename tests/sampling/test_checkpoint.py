"""A run in a file is the run, and nothing else passes for one."""

import numpy as np
import pytest

from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError, OrbitError
from orbitmc.estimate.tally import ValueTally
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels._tempering import tempering
from orbitmc.kernels.block_gibbs.kernel import low_width
from orbitmc.models._ising import ising_grid
from orbitmc.sampling.checkpoint import MAGIC, load, save
from orbitmc.sampling.executor import digest
from orbitmc.sampling.pack import arrays_of
from orbitmc.sampling.sampler import continue_sampling, sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle.random_models import random_graph

GIBBS = RandomScan()
QUESTION = {"model": "some.uai", "evidence": ["A=1"]}


def stopped_run(graph, schedule, after, *, kernel=GIBBS, **settings):
    def stop(found):
        if found.recorded + found.warmed > after:
            found.stop()

    return sample(prepare(graph), kernel, schedule, watchers=[stop], **settings)


def everything(run):
    pairs = [p for k, pack in enumerate(run.packs) for p in arrays_of(pack, str(k))]
    return {name: array.tobytes() for name, array in pairs if "scratch" not in name}


@pytest.mark.parametrize("scan", [RandomScan, SystematicScan])
@pytest.mark.parametrize("after", [0, 30, 300])
def test_a_stopped_run_continues_as_if_it_never_stopped(tmp_path, scan, after):
    graph = random_graph(3, variables=(5, 7), zeros=0.1)
    schedule = Schedule(samples=2000, warm_up=100, spacing=2, snapshots=True)
    partial = stopped_run(graph, schedule, after, kernel=scan(), seed=9, kind=ValueTally)
    assert partial.recorded < 2000
    save(partial, tmp_path / "half.orbit", QUESTION)
    found = load(tmp_path / "half.orbit")
    assert found.question == QUESTION
    prepared = prepare(graph)
    resumed = continue_sampling(found.restore(prepared, scan()), threads=1)
    whole = stopped_run(graph, schedule, 10**9, kernel=scan(), seed=9, kind=ValueTally)
    assert everything(resumed) == everything(whole)
    assert [s.samples for s in resumed.snapshots] == [s.samples for s in whole.snapshots]
    for one, two in zip(resumed.snapshots, whole.snapshots, strict=True):
        assert one.probability.tolist() == two.probability.tolist()


def test_a_tempered_run_keeps_its_hot_copies(tmp_path):
    graph = random_graph(3, variables=(5, 7), zeros=0.1)
    schedule = Schedule(samples=500, warm_up=20, spacing=3)
    prepared = prepare(graph)
    kernel = tempering(prepared, [1.0, 0.6, 0.3])
    save(stopped_run(graph, schedule, 40, kernel=kernel, packs=1), tmp_path / "r.orbit", QUESTION)
    found = load(tmp_path / "r.orbit").restore(prepared, kernel)
    assert 0 < found.recorded < 500
    whole = stopped_run(graph, schedule, 10**9, kernel=kernel, packs=1)
    assert everything(continue_sampling(found)) == everything(whole)


def test_a_run_that_stopped_while_it_was_annealed_goes_on_from_that_temperature(tmp_path):
    graph = ising_grid(6, 6, 0.8, 0.1).graph
    kernel = low_width(graph, most_entries=8)
    schedule = Schedule(samples=40, warm_up=60)
    stopped = stopped_run(graph, schedule, 10, kernel=kernel, packs=1)
    assert 0 < stopped.warm_up_steps < stopped.annealing
    save(stopped, tmp_path / "r.orbit", QUESTION)
    found = load(tmp_path / "r.orbit").restore(prepare(graph), kernel)
    whole = stopped_run(graph, schedule, 10**9, kernel=kernel, packs=1)
    assert everything(continue_sampling(found)) == everything(whole)


def test_another_model_is_refused(tmp_path):
    graph, other = random_graph(3, variables=(5, 6)), random_graph(4, variables=(5, 6))
    save(stopped_run(graph, Schedule(samples=10), 5), tmp_path / "run.orbit", QUESTION)
    prepared = prepare(other)
    with pytest.raises(InputError, match="another model"):
        load(tmp_path / "run.orbit").restore(prepared, RandomScan())


def test_other_jumps_are_refused(tmp_path):
    graph = random_graph(3, variables=(5, 6))
    save(stopped_run(graph, Schedule(samples=10), 5), tmp_path / "run.orbit", QUESTION)
    prepared = prepare(graph)
    with pytest.raises(InputError, match="other jumps"):
        load(tmp_path / "run.orbit").restore(prepared, SystematicScan())


def test_digests_see_every_number():
    graph = random_graph(3, variables=(5, 6))
    table = graph.table.copy()
    table[0] = np.nextafter(table[0], 9.0)
    assert digest(graph) == digest(random_graph(3, variables=(5, 6)))
    assert digest(graph) != digest(graph._replace(table=table))
    assert digest(graph) != digest(graph._replace(constant=1.0))


def test_a_damaged_file_is_refused(tmp_path):
    graph = random_graph(3, variables=(3, 4))
    path = tmp_path / "run.orbit"
    save(stopped_run(graph, Schedule(samples=5), 5, packs=1, lanes=32), path, QUESTION)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(200):
        broken = bytearray(whole)
        kind = rng.integers(3)
        place = int(rng.integers(len(whole)))
        if kind == 0:
            broken[place] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del broken[place:]
        else:
            broken[place:place] = rng.bytes(int(rng.integers(1, 20)))
        path.write_bytes(bytes(broken))
        with pytest.raises(OrbitError):
            load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        MAGIC,
        MAGIC + b"{}\n",
        MAGIC + b"[1, 2]\n",
        MAGIC + b'{"arrays": [["x", "<f8", [1000000000000]]]}\n',
        MAGIC + b'{"arrays": [["x", "O", [1]]]}\n',
        MAGIC + b'{"arrays": [["x", "<f8", [-1]]]}\n',
        MAGIC + b"[" * 100_000,
    ],
)
def test_what_is_no_run_is_refused_at_once(tmp_path, content):
    path = tmp_path / "no.orbit"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"no\.orbit"):
        load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.orbit"):
        load(tmp_path / "gone.orbit")


def test_saving_leaves_nothing_behind(tmp_path):
    graph = random_graph(3, variables=(3, 4))
    run = stopped_run(graph, Schedule(samples=5), 5)
    save(run, tmp_path / "run.orbit", QUESTION)
    save(run, tmp_path / "run.orbit", QUESTION)
    assert [path.name for path in tmp_path.iterdir()] == ["run.orbit"]
