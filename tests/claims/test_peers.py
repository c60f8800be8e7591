"""Rows, joints, log Z and best states agree with pgmpy and aGrUM, where these are installed.

They are in the environment that `benchmarks/peers.py` makes.
"""

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import orbitmc as om

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SEEN = ("HRBP", "PRESS", "EXPCO2", "BP")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asking():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        found = importlib.import_module("questions")
        if not importlib.import_module("peers").python().exists():
            pytest.skip("needs the environment of benchmarks/peers.py")
        if "alarm" not in found.networks():
            pytest.skip("needs the networks that come with pgmpy")
        yield found
    for name in ("questions", "questions_uai", "peers", "measuring"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def rows(asking):
    model = om.read(asking.networks()["alarm"])
    rng = np.random.default_rng(7)
    return asking._random_rows(model, SEEN, 3, 0.3, rng)


@pytest.mark.parametrize("peer", ["pyagrum", "pgmpy"])
def test_rows_of_alarm_agree(asking, rows, peer):
    path = asking.networks()["alarm"]
    told = asking.ask_peer(peer, path, rows, limit=300.0)
    if told is None:
        pytest.skip(f"{peer} gave no answer")
    found = om.predict(om.read(path), rows, query=om.read(path).order)
    compared = 0
    for name, p in told["marginals"].items():
        if name not in rows[-1]:
            np.testing.assert_allclose(found.iloc[-1][name], p, atol=1e-6)
            compared += 1
    assert compared >= 33


def test_the_best_state_of_alarm_agrees(asking, rows):
    path = asking.networks()["alarm"]
    told = asking.ask_peer("pgmpy", path, rows, limit=300.0, best=True)
    if told is None:
        pytest.skip("pgmpy gave no answer")
    model = om.read(path)
    found = om.best(model, rows[-1])
    assert found.proven
    theirs = om.best(model, told["best"] | rows[-1])[0].log_weight
    assert theirs <= found[0].log_weight + 1e-9
    assert {name: found[0][name] for name in told["best"]} == told["best"]


@pytest.mark.parametrize("peer", ["pyagrum", "pgmpy"])
def test_joints_log_z_and_information_agree(asking, rows, peer):
    """Information is that of the peer's table, whose entries are within 1e-9 of ours.

    aGrUM has a function for it, which differs from what its own table says.
    """
    path, pair = asking.networks()["alarm"], ["CO", "TPR"]
    told = asking.ask_peer(peer, path, rows[-1:], limit=300.0, pair=pair)
    if told is None:
        pytest.skip(f"{peer} gave no answer")
    model = om.read(path)
    found = om.joint(model, pair, rows[-1])
    np.testing.assert_allclose(found.probability, told["joint"], atol=1e-9)
    event = f"CO == {model.domains()['CO'][0]!r} and TPR != {model.domains()['TPR'][0]!r}"
    expected = np.array(told["joint"])[0, 1:].sum()
    assert float(om.probability(model, event, rows[-1])) == pytest.approx(expected, abs=1e-9)
    table = np.array(told["joint"])
    alone = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
    bits = float((table * np.log2(table / alone)).sum())
    found = om.information(model, "CO", ["TPR"], rows[-1])["TPR"]
    assert float(found) == pytest.approx(bits, abs=1e-7)
    if peer == "pyagrum":
        assert om.log_z(model, rows[-1]).value == pytest.approx(math.log(told["evidence"]))
