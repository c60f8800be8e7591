"""Every published file we know parses, with the counts that its folder states."""

import json
import math
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from orbitmc.formats import read, read_evidence, read_mar, read_pr
from tests.oracle.states import sum_of_weights
from tests.shared_data import FOLDER, shared

EXAMPLES = Path(sysconfig.get_path("purelib")) / "pgmpy" / "utils" / "example_models"

COUNTS = {  # variables, arcs, free parameters as the network repository states them
    "alarm": (37, 46, 509),
    "andes": (223, 338, 1157),
    "asia": (8, 8, 18),
    "barley": (48, 84, 114005),
    "cancer": (5, 4, 10),
    "child": (20, 25, 230),
    "diabetes": (413, 602, 429409),
    "earthquake": (5, 4, 10),
    "hailfinder": (56, 66, 2656),
    "hepar2": (70, 123, 1453),
    "insurance": (27, 52, 1008),
    "link": (724, 1125, 14211),
    "mildew": (35, 46, 540150),
    "munin": (1041, 1397, 80592),
    "munin1": (186, 273, 15622),
    "munin2": (1003, 1244, 69431),
    "munin3": (1041, 1306, 71059),
    "munin4": (1038, 1388, 80352),
    "pathfinder": (109, 195, 72079),
    "pigs": (441, 592, 5618),
    "sachs": (11, 17, 178),
    "survey": (6, 6, 21),
    "water": (32, 66, 10083),
    "win95pts": (76, 112, 574),
}


def table_of(folder):
    """The rows of the first table in a folder's README, by their first column."""
    readme = FOLDER / folder / "README.md"
    lines = readme.read_text().splitlines() if readme.exists() else []
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "|" in line]
    return {row[0]: row[1:] for row in rows[2:]}


def found(folder, name):
    return shared(
        f"{folder}/{name}" if (FOLDER / folder / name).exists() else f"{folder}/{name}.gz"
    )


def counts(model):
    graph = model.graph
    scopes = [graph.scope_of(factor) for factor in range(graph.factors)]
    free = sum(
        math.prod(graph.cardinality[scope].tolist())
        // int(graph.cardinality[scope[-1]])
        * (int(graph.cardinality[scope[-1]]) - 1)
        for scope in scopes
    )
    return graph.variables, sum(len(scope) - 1 for scope in scopes), free


@pytest.mark.parametrize("name", table_of("uai2014-mar") or ["Alchemy_11"])
def test_uai_models_have_the_counts_of_their_table(name):
    row = table_of("uai2014-mar").get(name)
    model = read(found("uai2014-mar", f"{name}.uai"))
    variables, factors, states, arity, observed = map(int, row[:5])
    graph = model.graph
    assert (graph.variables, graph.factors) == (variables, factors)
    assert (graph.cardinality.max(), np.diff(graph.scope_start).max()) == (states, arity)
    assert len(read_evidence(shared(f"uai2014-mar/{name}.uai.evid"), model)) == observed
    marginals = read_mar(shared(f"uai2014-mar/{name}.uai.MAR"))
    assert [len(row) for row in marginals] == graph.cardinality.tolist()
    assert math.isfinite(read_pr(shared(f"uai2014-mar/{name}.uai.PR")))


@pytest.mark.parametrize(
    ("name", "variables", "factors", "tables", "observed"),
    [("relational_1", 500, 62500, 1, 17), ("relational_3", 1000, 2000, 20, 7)],
)
def test_relational_models_share_their_tables(name, variables, factors, tables, observed):
    model = read(shared(f"uai2014-relational/{name}.uai.gz"))
    assert (model.graph.variables, model.graph.factors) == (variables, factors)
    assert len(model.graph.table_start) - 1 == tables
    evidence = read_evidence(shared(f"uai2014-relational/{name}.uai.evid"), model)
    assert set(evidence.values()) == {"1"}
    assert len(evidence) == observed
    assert len(read_mar(shared(f"uai2014-relational/{name}.uai.MAR"))) == variables


@pytest.mark.parametrize("name", table_of("bn-bif") or ["alarm"])
def test_shared_networks_have_the_counts_of_their_table(name):
    row = table_of("bn-bif").get(name)
    model = read(shared(f"bn-bif/{name}.bif"))
    assert counts(model) == COUNTS[name]
    nodes, arcs, states = map(int, row[:3])
    assert counts(model)[:2] == (nodes, arcs)
    assert model.graph.cardinality.max() == states


@pytest.mark.parametrize("name", ["asia", "cancer", "survey"])
def test_small_networks_have_the_published_marginals(name):
    """The program behind the answers kept single precision, so we round the tables likewise."""
    model = read(shared(f"bn-bif/{name}.bif"))
    answers = json.loads(shared(f"bn-bif/{name}.exact.json").read_text())["prior"]
    with np.errstate(divide="ignore"):
        rounded = np.log(np.exp(model.graph.table).astype(np.float32).astype(np.float64))
    z, weights = sum_of_weights(model.graph._replace(table=rounded))
    assert set(answers) == set(model.names)
    for variable, values, own in zip(model.names, model.values, weights, strict=True):
        wanted = [answers[variable][value] for value in values]
        np.testing.assert_allclose(own / z, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", COUNTS)
def test_all_networks_of_pgmpy_have_their_counts(name):
    path = EXAMPLES / f"{name}.bif.gz"
    if not path.exists():
        pytest.skip("pgmpy is not installed (pip install --no-deps pgmpy)")
    assert counts(read(path)) == COUNTS[name]


def test_pgmpy_ships_no_network_that_we_forget():
    if not EXAMPLES.exists():
        pytest.skip("pgmpy is not installed (pip install --no-deps pgmpy)")
    assert {path.name.split(".")[0] for path in EXAMPLES.glob("*.bif.gz")} == set(COUNTS)
