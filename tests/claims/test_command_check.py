"""`orbitmc check` counts right, prices right, and sees what looks wrong."""

import json

import numpy as np
import pytest

import orbitmc as om
from tests.cli.commands import grid, orbitmc, rain


def checked(path, *words):
    done = orbitmc("check", path, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_grid_is_counted(tmp_path):
    found = checked(grid(tmp_path, side=4))
    assert found["variables"] == 16
    assert found["factors"] == 16 + 24
    assert found["cardinalities"] == {"2": 16}
    assert (found["smallest_degree"], found["largest_degree"]) == (2, 4)
    assert found["mean_degree"] == pytest.approx(3.0)
    assert found["components"] == 1
    assert found["zeros"] == 0.0
    assert found["exact"]["width"] == 4
    assert found["exact"]["refusal"] is None
    assert found["remarks"] == []


def test_what_is_too_dear_says_why(tmp_path):
    found = checked(grid(tmp_path, side=40), "--memory", "1G")
    reasons = ("GiB", "entries", "in the time there is")  # the last on a busy machine
    assert any(words in found["exact"]["refusal"] for words in reasons)
    assert found["sampling_bytes"] > 40 * 40 * 256


def test_evidence_counts(tmp_path):
    found = checked(rain(tmp_path), "-e", "grass=wet")
    assert (found["variables"], found["observed"], found["components"]) == (3, 1, 2)


def test_people_get_words(tmp_path):
    done = orbitmc("check", rain(tmp_path))
    assert done.returncode == 0
    assert "variables     3 (0 observed, 0 forced)" in done.stdout
    assert "exact         about" in done.stdout


@pytest.mark.parametrize(
    ("factors", "remark"),
    [
        ([(["a"], [1, 2]), (["a", "b"], [[1, 2], [3, 4]])], "no factor reads c"),
        ([(["a"], [1, 2]), (["b", "c"], [[1, 2], [3, 4]])], "no factor connects a"),
        ([(["a", "b"], [[1, 2], [3, 4]])] * 2 + [(["c"], [1, 2])], "1 factors read the same"),
        ([(["a", "b", "c"], [[[2, 2], [2, 2]]] * 2)], "1 factors have equal entries only"),
        ([(["a", "b", "c"], [[[1, 0], [2, 2]]] * 2)], "some states are impossible"),
        ([(["a", "b", "c"], [[[1, 0], [2, 0]]] * 2)], "one value only to c"),
        (
            [
                (["a"], [0.5, 0.5]),
                (["a", "b"], [[0.1, 0.9], [0.3, 0.8]]),
                (["b", "c"], [[0.1, 0.9], [0.2, 0.8]]),
            ],
            "those of b given a=1 sum to 1.1",
        ),
    ],
)
def test_what_looks_wrong_is_said(factors, remark):
    model = om.model({name: ["0", "1"] for name in "abc"}, factors)
    assert any(remark in found for found in om.overview(model).remarks)


def test_a_model_without_variables_is_no_mishap():
    assert om.overview(om.model({}, [])).variables == 0


def test_it_says_which_variables_are_eliminated_and_which_are_sampled(tmp_path):
    """Two hundred pairs are easy beside a lattice that is not."""
    wide = om.ising_grid(40, 40, 0.3)
    pairs = om.ising([0.1] * 400, [(2 * k, 2 * k + 1) for k in range(200)], 0.5)
    both = join(wide, pairs)
    path = tmp_path / "both.uai"
    om.write(both, path)
    overview = om.overview(om.read(path), memory=2**30)
    assert (overview.needed, overview.exact_variables) == (2000, 400)
    done = orbitmc("check", path, "--memory", "1G")
    assert "eliminates 400 of them, samples 1,600" in done.stdout
    one = orbitmc("check", path, "--memory", "1G", "-q", "1999")
    assert "needs 2 of 2,000 variables, eliminates all of them" in one.stdout
    assert om.overview(wide, memory=2**30).exact_variables == 0


def test_it_says_what_is_summed_out_of_what_is_sampled(tmp_path):
    """A random network with 2.2 neighbours for each variable."""
    rng = np.random.default_rng(1)
    names = {f"v{k}": ["0", "1"] for k in range(900)}
    pairs = {tuple(sorted(rng.choice(900, 2, replace=False).tolist())) for _ in range(990)}
    tables = [([f"v{i}", f"v{j}"], np.exp(rng.normal(size=(2, 2)))) for i, j in sorted(pairs)]
    model = om.model(names, tables)
    overview = om.overview(model, memory=2**30)
    sampled = overview.needed - overview.exact_variables
    assert 0 < overview.summed_out < sampled
    om.write(model, tmp_path / "sparse.uai")
    done = orbitmc("check", tmp_path / "sparse.uai", "--memory", "1G")
    core = sampled - overview.summed_out
    assert f"samples {sampled:,}; {core:,} only, unless jumps" in done.stdout.replace("\n", " ")


def join(first, second):
    """Two models beside each other, without a factor between them."""
    names = [f"{k}" for k in range(len(first.names) + len(second.names))]
    factors = []
    for model, shift in ((first, 0), (second, len(first.names))):
        graph = model.graph
        for factor in range(graph.factors):
            scope = [names[shift + int(v)] for v in graph.scope_of(factor)]
            factors.append((scope, np.exp(graph.table_values(factor))))
    return om.model({name: ["0", "1"] for name in names}, factors)


def test_an_unknown_name_gets_a_suggestion(tmp_path):
    done = orbitmc("check", "examples/sprinkler.bif", "-q", "rian")
    assert done.returncode == 2
    assert "did you mean 'rain'" in done.stderr
