"""Work on the workers of dask: the same bytes as here, also when one is killed."""

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import orbitmc as om
from orbitmc.cli import session
from orbitmc.cli.session import cluster as cluster_at
from orbitmc.errors import InputError
from tests.interop.libraries import library

distributed = library("distributed")

ROOT = Path(__file__).parents[2]
GRID = om.ising_grid(8, 8, 0.4, 0.1)
HOW = {"method": "gibbs", "samples": 600, "seed": 3, "estimator": "rao-blackwell"}


@pytest.fixture(scope="module")
def cluster():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as found:
            yield found


@pytest.fixture
def executor(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client.get_executor(retries=3, pure=False)


def same(one, other):
    for column in ("probability", "standard_error", "verdict"):
        assert getattr(one.columns, column).tobytes() == getattr(other.columns, column).tobytes()
    assert one.about.outcomes == other.about.outcomes


def test_questions_have_the_same_bytes(executor):
    same(om.marginals(GRID, executor=executor, **HOW), om.marginals(GRID, **HOW))
    short = {**HOW, "samples": 40}
    here, there = (
        om.joint(GRID, ["s0_0", "s7_7"], **short, **more) for more in ({}, {"executor": executor})
    )
    assert here.probability.tobytes() == there.probability.tobytes()


def test_a_killed_worker_loses_nothing(cluster, executor):
    killed = []

    def kill(run):
        if not killed and run.recorded:
            worker = next(iter(cluster.workers.values()))
            killed.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)

    found = om.marginals(GRID, executor=executor, watchers=[kill], **HOW)
    assert killed
    same(found, om.marginals(GRID, **HOW))


def test_rows_are_answered_on_workers(executor):
    rows = [{"s0_0": value, "s7_7": other} for value in ("up", "down") for other in ("up", None)]
    here = om.predict(GRID, rows, query=["s3_3"])
    there = om.predict(GRID, rows, query=["s3_3"], executor=executor)
    assert here.to_numpy().tobytes() == there.to_numpy().tobytes()


def test_a_run_ends_after_seconds(executor):
    found = om.marginals(GRID, method="gibbs", seconds=1.0, seed=1, executor=executor)
    assert found.about.samples > 0
    assert not found.about.interrupted


def answer(*options):
    command = [sys.executable, "-m", "orbitmc", "infer", "examples/ring.uai", "--method", "gibbs"]
    return subprocess.run(
        [*command, "--samples", "60", "--seed", "2", "--json", "--quiet", *options],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
    )


def test_the_command_line_takes_a_cluster(cluster):
    plain, found = answer(), answer("--cluster", cluster.scheduler_address)
    assert json.loads(found.stdout)["variables"] == json.loads(plain.stdout)["variables"]
    assert found.stderr == ""


def test_a_cluster_of_this_machine_comes_and_goes():
    with cluster_at("local") as own:
        same(om.marginals(GRID, executor=own, **HOW), om.marginals(GRID, **HOW))
        client = own._client
    assert client.status == "closed"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("somewhere", "expected an address such as tcp://HOST:8786, or local"),
        ("http://somewhere:1", "expected an address such as tcp://HOST:8786, or local"),
        ("tcp://127.0.0.1:9", "no scheduler of dask with a worker answers there"),
    ],
)
def test_an_address_that_is_none_is_refused(address, message, monkeypatch):
    monkeypatch.setattr(session, "SECONDS", 1)
    with pytest.raises(InputError, match=message), cluster_at(address):
        pass
