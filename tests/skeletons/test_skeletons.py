"""Each skeleton, put where a copy of it would be, does what its kind has to do."""

import importlib.util
import itertools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import orbitmc as om
from orbitmc.cli.options import Verb
from orbitmc.errors import InputError
from orbitmc.formats import registry

PLACE = Path(__file__).parents[2] / "docs" / "skeletons"
SURELY = 6.0  # standard errors: a false alarm below 1e-7 for all numbers of this file


def copy(name, target, monkeypatch):
    """A skeleton as the module that it would be in the package."""
    spec = importlib.util.spec_from_file_location(target, PLACE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, target, module)
    spec.loader.exec_module(module)
    return module


def farthest(answer, exact):
    """The largest distance of two answers, in standard errors."""
    return max(
        float(np.max(abs(answer[name].probability - exact[name].probability) / error))
        for name in exact
        if (error := answer[name].standard_error).all()
    )


def test_the_kernel_keeps_the_distribution_and_reaches_it(monkeypatch):
    module = copy("kernel", "orbitmc.kernels.value_exchange", monkeypatch)
    models = [om.ising_grid(2, 2, 0.4, 0.1), om.potts_grid(1, 3, 3, 0.7)]
    for model in models:
        report = om.testing.check_kernel(module.value_exchange(model.graph), models=[model])
        assert report.stationary < 1e-12
        assert report.ergodic
    model = models[0]
    answer = om.marginals(model, kernel=module.value_exchange(model.graph), samples=400, seed=1)
    assert answer.converged
    assert farthest(answer, om.marginals(model, method="exact")) < SURELY


@pytest.fixture
def pairs(monkeypatch):
    copy("format", "orbitmc.formats.pairs", monkeypatch)
    entry = registry.Format("pairs:read_pairs", "", ())
    monkeypatch.setitem(registry.FORMATS, ".pairs", entry)


def test_the_format_is_read_by_its_suffix(pairs, tmp_path):
    path = tmp_path / "three.pairs"
    path.write_text("# a chain\nA B 0.5\n\nB C -1.25  # they differ\n")
    model = om.read(path)
    assert model.names == ("A", "B", "C")
    agree = np.exp(0.5) / (1 + np.exp(0.5))
    differ = 1 / (1 + np.exp(-1.25))
    joint = om.joint(model, ["A", "B", "C"]).probability
    for a, b, c in itertools.product(range(2), repeat=3):
        chance = 0.5 * (agree if a == b else 1 - agree) * (differ if b != c else 1 - differ)
        assert joint[a, b, c] == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("A B\n", "1:1"),
        ("A B 1\nA A 2\n", "2:1"),
        ("A B 1\n\nB C inf\n", "3:5"),
        ("# none\n", "1:1"),
        ("A B x # x\n", "1:5"),
        ("A B 1_0\n", "1:5"),
    ],
)
def test_the_format_names_the_place_of_a_mistake(pairs, tmp_path, text, place):
    path = tmp_path / "wrong.pairs"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"wrong\.pairs:{place}: "):
        om.read(path)


def test_the_approximation_has_more_symmetries_and_lmh_stays_unbiased(monkeypatch):
    module = copy("approximation", "orbitmc.symmetry.round_weights", monkeypatch)
    fields = dict(enumerate([0.03, -0.05, 0.02, 0.06]))
    model = om.ising(J=dict.fromkeys(itertools.combinations(range(4), 2), 0.4), h=fields)
    rounded = module.round_weights(model, 0.2)
    assert rounded.names == model.names
    exact, approximate = (om.symmetry.automorphisms(one.graph) for one in (model, rounded))
    assert exact.order == 1
    assert approximate.order >= 24
    kernel = om.kernels.lifted(
        om.kernels.gibbs(), [om.kernels.orbital(model.graph, approximate.group)], alpha=0.5
    )
    assert om.testing.check_kernel(kernel, models=[model]).stationary < 1e-12
    answer = om.marginals(model, kernel=kernel, samples=400, seed=2)
    assert answer.converged
    assert farthest(answer, om.marginals(model, method="exact")) < SURELY
    with pytest.raises(InputError, match="positive"):
        module.round_weights(model, 0.0)


@pytest.fixture
def agreement(monkeypatch):
    return copy("question", "orbitmc.inference.agreement", monkeypatch).agreement


def test_the_question_is_answered_exactly_and_by_chains(agreement):
    model = om.ising_grid(2, 3, 0.4, 0.1)
    names = model.names[:3]
    joint = om.joint(model, names).probability
    expected = joint[0, 0, 0] + joint[1, 1, 1]
    exact = agreement(model, names, method="exact")
    assert exact.value == pytest.approx(expected, abs=1e-12)
    sampled = agreement(model, names, method="gibbs", samples=1000, seed=1)
    assert sampled.converged
    assert abs(sampled.value - expected) < SURELY * sampled.standard_error
    seen = agreement(model, names, {names[0]: "up"}, method="exact")
    assert seen.value == pytest.approx(joint[1, 1, 1] / joint[1].sum(), abs=1e-12)


def test_the_question_has_the_same_answer_on_the_command_line(agreement, monkeypatch, tmp_path):
    verb = copy("verb", "orbitmc.cli.agree", monkeypatch).agree
    app = typer.Typer()
    app.command(cls=Verb)(verb)
    model, path = om.ising_grid(2, 3, 0.4, 0.1), tmp_path / "grid.json"
    om.write(model, path)
    settings = {"method": "gibbs", "samples": 50, "seed": 3}
    words = [word for key, value in settings.items() for word in (f"--{key}", str(value))]
    done = CliRunner().invoke(app, [str(path), *model.names[:2], *words, "--json", "--quiet"])
    assert done.exit_code in (0, 3), done.stderr
    (printed,) = json.loads(done.stdout)["estimates"].values()
    answer = agreement(model, model.names[:2], **settings)
    assert printed["value"] == answer.value
    assert printed["standard_error"] == answer.standard_error
