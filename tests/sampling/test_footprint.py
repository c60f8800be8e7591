"""What a run will take is known beforehand: at least what it takes, and not much more."""

import subprocess
import sys

import numpy as np
import pytest

import orbitmc as om
from orbitmc.conditionals.prepared import conditionals, prepare
from orbitmc.errors import LimitError
from orbitmc.groups._exchange_blocks import exchange_blocks
from orbitmc.inference.plan import sampling_bytes, sampling_bytes_of
from orbitmc.inference.settings import Settings
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels._tempering import tempering
from orbitmc.kernels.exchange import shuffle
from orbitmc.models._ising import ising_grid, potts_grid
from orbitmc.sampling.budget import (
    RunShape,
    answer_bytes,
    array_bytes,
    conditionals_bytes,
    pack_bytes,
    run_bytes,
)
from orbitmc.sampling.pack import start_pack
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from tests.oracle.random_models import random_graph

SHAPE = RunShape(packs=1, lanes=64)


def grid(side=40, **settings):
    fields = np.random.default_rng(1).uniform(-0.5, 0.5, (side, side))
    return ising_grid(side, side, 0.3, fields, **settings)


def graphs():
    varied = np.random.default_rng(2).normal(size=2 * 40 * 39)
    yield "grid", grid().graph
    yield "glass", ising_grid(40, 40, varied, np.zeros((40, 40))).graph
    yield "potts", potts_grid(30, 30, 4, 0.5).graph
    for seed in range(6):
        yield f"random {seed}", random_graph(seed, variables=(60, 80), zeros=0.1 * (seed % 2))


@pytest.mark.parametrize(("name", "graph"), list(graphs()), ids=lambda given: str(given)[:9])
def test_packs_and_conditionals_fit_into_what_was_predicted(name, graph):
    prepared = prepare(graph)
    assert array_bytes(prepared.conditionals) <= conditionals_bytes(graph) + 4096, name
    pack = start_pack(prepared, SystematicScan(), seed=0, number=0, lanes=64)
    held = pack.values.nbytes + pack.tally.sums.nbytes + pack.tally.open.nbytes
    held += pack.scratch.counts.nbytes + pack.memory.scratch.counts.nbytes
    assert pack_bytes(graph, SHAPE) == held


def test_large_conditionals_are_not_predicted_far_too_large():
    for graph in (grid(200).graph, potts_grid(100, 100, 4, 0.5).graph):
        assert conditionals_bytes(graph) <= 3 * array_bytes(conditionals(graph))


def test_the_answer_fits_into_what_was_predicted():
    model = grid(60)
    found = om.marginals(model, method="gibbs", samples=4, packs=1)
    columns = array_bytes(tuple(vars(found.columns).values()))
    run = sample(prepare(model.graph), SystematicScan(), Schedule(samples=4))
    statistics = array_bytes(tuple(vars(run.statistics()).values()))
    assert columns + statistics <= answer_bytes(model.graph, SHAPE)


def test_arrays_that_are_shared_count_once():
    one, other = np.zeros(10), np.zeros(5, dtype=np.uint8)
    assert array_bytes((one, (one, other), "word", 3)) == 85


def test_more_of_everything_takes_more():
    graph = grid().graph
    least = run_bytes(graph, SHAPE)
    assert run_bytes(graph, SHAPE._replace(packs=2)) > least
    assert run_bytes(graph, SHAPE._replace(lanes=128)) > least
    assert run_bytes(graph, SHAPE._replace(shared=10**6)) == least + 10**6


def test_hot_copies_of_a_tempered_run_are_counted():
    graph = grid().graph
    prepared = prepare(graph)
    settings = Settings(packs=4)
    plain = sampling_bytes_of(prepared, SystematicScan(), settings)
    hot = tempering(prepared, [1.0, 0.5, 0.25])
    more = sampling_bytes_of(prepared, hot, settings) - plain
    assert more >= 4 * 2 * graph.variables * 64 + array_bytes(hot.hotter)


def test_what_a_kernel_holds_of_its_graph_counts_once():
    prepared, settings = prepare(grid().graph), Settings(packs=1)
    kernel = shuffle(prepared, exchange_blocks([range(10)]), symmetric=True)
    assert kernel.conditionals is prepared.conditionals
    copied = prepared.conditionals._replace(limit=prepared.conditionals.limit.copy())
    own = kernel._replace(conditionals=copied)
    once = sampling_bytes_of(prepared, kernel, settings)
    assert sampling_bytes_of(prepared, own, settings) == once + copied.limit.nbytes


def test_a_run_that_would_not_fit_is_refused_with_the_figure():
    model = grid()
    needed = sampling_bytes(model.graph, Settings(method="gibbs"))
    with pytest.raises(LimitError, match="4 packs of 64 chains need"):
        om.marginals(model, method="gibbs", samples=1, memory=needed - 1)


PEAK = """
import sys
from pathlib import Path
import numpy as np
import orbitmc as om
from orbitmc.models._ising import ising_grid
from orbitmc.inference.plan import sampling_bytes, sampling_bytes_of
from orbitmc.inference.settings import Settings

def resident(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024

def grid(side):
    fields = np.random.default_rng(1).uniform(-0.5, 0.5, (side, side))
    return ising_grid(side, side, 0.3, fields)

asked = {"method": sys.argv[1], "packs": int(sys.argv[2])}
om.marginals(grid(20), samples=20, **asked)
before = resident("VmRSS")
model = grid(400)
found = om.marginals(model, samples=9, **asked)
print(sampling_bytes(model.graph, Settings(**asked)), resident("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux for the peak")
@pytest.mark.parametrize("asked", [("gibbs", "4"), ("gibbs", "1"), ("lmh", "2")])
def test_the_peak_of_a_process_is_what_was_predicted(asked):
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *asked], capture_output=True, text=True, check=True
    )
    predicted, measured = map(int, done.stdout.split())
    assert measured <= predicted <= 2 * measured
