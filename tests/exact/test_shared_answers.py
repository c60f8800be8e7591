"""Published models whose answers other programs have found."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from orbitmc._util.arrays import floats
from orbitmc.exact.contraction import marginals
from orbitmc.exact.plan import predict
from orbitmc.formats import assembly
from orbitmc.formats.evidence import read_evidence
from orbitmc.formats.registry import read
from orbitmc.formats.uai import read_mar
from orbitmc.models._chimera import read_chimera
from tests.shared_data import shared

NETWORKS = ["alarm", "asia", "cancer", "hailfinder", "insurance", "sachs", "survey", "win95pts"]

QUICK = [
    "Alchemy_11",
    "CSP_13",
    "DBN_11",
    "Grids_11",
    "Grids_12",
    "Pedigree_11",
    "Pedigree_13",
    "Promedus_11",
    "Promedus_13",
    "Promedus_15",
    "Promedus_17",
    "Promedus_21",
    "Promedus_23",
    "Promedus_25",
    "Promedus_27",
    "Promedus_29",
    "Promedus_31",
    "Promedus_33",
    "Promedus_35",
    "Promedus_37",
    "Segmentation_11",
    "Segmentation_13",
    "Segmentation_15",
]

LONG = [
    "CSP_11",
    "DBN_13",
    "DBN_15",
    "Grids_15",
    "Grids_17",
    "ObjectDetection_11",
    "ObjectDetection_13",
    "ObjectDetection_15",
    "ObjectDetection_17",
    "Promedus_19",
    "linkage_11",
    "linkage_13",
    "linkage_17",
]

WIDTHS = {  # of plain min-fill orders, published with the models
    "Promedus_11": 22,
    "Promedus_13": 10,
    "Promedus_17": 25,
    "Promedus_23": 25,
    "Promedus_25": 24,
    "Promedus_27": 17,
    "Promedus_37": 22,
    "Grids_12": 13,
    "Segmentation_11": 19,
    "Segmentation_15": 20,
}


def given(model, answer, name):
    """Marginals of all variables of a model by name, observed ones included."""
    free = dict(zip(model.names, answer.marginals, strict=True))
    if name in free:
        return free[name]
    seen = model.observed[name]
    return np.eye(len(seen.values))[seen.value]


def assert_network(model, expected, tolerance):
    answer = marginals(model.graph)
    values = model.domains()
    for name, probabilities in expected.items():
        found = dict(zip(values[name], given(model, answer, name), strict=True))
        for value, probability in probabilities.items():
            assert found[value] == pytest.approx(probability, abs=tolerance)
    return answer


def in_single_precision(model):
    """Round all weights as the program did that found the published answers."""
    with np.errstate(divide="ignore"):
        table = np.log(np.exp(model.graph.table).astype(np.float32).astype(np.float64))
    return replace(model, graph=model.graph._replace(table=floats(table)))


@pytest.mark.parametrize("name", NETWORKS)
def test_bayesian_networks_agree_with_an_exact_junction_tree(name, monkeypatch):
    """That program takes rows as they stand, also where they were rounded."""
    monkeypatch.setattr(assembly, "normalise_rounded_rows", lambda rows: rows)
    model = in_single_precision(read(shared(f"bn-bif/{name}.bif")))
    expected = json.loads(shared(f"bn-bif/{name}.exact.json").read_text())
    assert_network(model, expected["prior"], 1e-12)
    posterior = assert_network(model.given(expected["evidence"]), expected["posterior"], 1e-12)
    assert math.exp(posterior.log_z) == pytest.approx(expected["evidence_probability"], abs=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_bayesian_networks_in_full_precision_are_near_it(name):
    model = read(shared(f"bn-bif/{name}.bif"))
    expected = json.loads(shared(f"bn-bif/{name}.exact.json").read_text())
    prior = assert_network(model, expected["prior"], 1e-7)
    assert prior.log_z == pytest.approx(0, abs=1e-7)
    assert_network(model.given(expected["evidence"]), expected["posterior"], 1e-7)


def read_uai(folder, name):
    try:
        model = read(shared(f"{folder}/{name}.uai"))
    except pytest.skip.Exception:
        model = read(shared(f"{folder}/{name}.uai.gz"))
    return model.given(read_evidence(shared(f"{folder}/{name}.uai.evid"), model))


def assert_uai(folder, name):
    model = read_uai(folder, name)
    answer = marginals(model.graph)
    expected = read_mar(shared(f"{folder}/{name}.uai.MAR"))
    rounding = 5.1e-7  # six decimals are printed
    for variable, probabilities in zip(model.order, expected, strict=True):
        np.testing.assert_allclose(given(model, answer, variable), probabilities, atol=rounding)
    printed = shared(f"{folder}/{name}.uai.PR").read_text().split()[-1]
    last_digit = 10.0 ** -len(printed.partition(".")[2])
    assert answer.log_z / math.log(10) == pytest.approx(float(printed), abs=0.51 * last_digit)


@pytest.mark.parametrize("name", QUICK)
def test_competition_models_agree_with_the_published_marginals(name):
    assert_uai("uai2014-mar", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_large_competition_models_agree_with_the_published_marginals(name):
    assert_uai("uai2014-mar", name)


def test_a_relational_model_agrees_with_its_corrected_answer():
    assert_uai("uai2014-relational", "relational_3")


@pytest.mark.parametrize("name", WIDTHS)
def test_orders_are_no_wider_than_plain_greedy_ones_where_that_would_save_time(name):
    """Every order has as many buckets, so only operations within them can be saved."""
    plan = predict(read_uai("uai2014-mar", name).graph)
    assert plan.width <= WIDTHS[name] or plan.seconds < 0.02


@pytest.mark.parametrize(
    ("beta", "log_z"), [(0.25, 102.535942), (0.5, 134.928727), (1.0, 223.355537)]
)
def test_chimera_with_fields_agrees_with_row_by_row_transfer(beta, log_z):
    answer = marginals(read_chimera(shared("chimera/droplets-128-001.txt"), beta=beta).graph)
    assert answer.log_z == pytest.approx(log_z, abs=5.1e-7)
    expected = np.loadtxt(shared(f"chimera/droplets-128-001.beta{beta}.p1.txt"))
    np.testing.assert_allclose([m[1] for m in answer.marginals], expected, atol=5.1e-11)


@pytest.mark.parametrize(
    ("beta", "log_z"), [(0.25, 99.719249), (0.5, 128.863306), (1.0, 215.700039)]
)
def test_chimera_without_fields_is_even(beta, log_z):
    answer = marginals(read_chimera(shared("chimera/gaussian-128.txt"), beta=beta).graph)
    assert answer.log_z == pytest.approx(log_z, abs=5.1e-7)
    np.testing.assert_allclose(answer.marginals, 0.5, atol=1e-10)
