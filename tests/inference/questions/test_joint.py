"""Joint probabilities: exact ones equal brute force, sampled ones lie within their errors."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.features import Conditional
from tests.inference.questions.truth import hard_models, over, require_honest, soft_models

SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers"


@pytest.fixture
def sprinkler():
    return om.read(SPRINKLER)


def test_exact_joints_equal_brute_force(way):
    for seed, model, truth in hard_models(300):
        axes = np.random.default_rng(seed).permutation(5)[:3].tolist()
        found = om.joint(model, [model.names[axis] for axis in axes], method="exact")
        np.testing.assert_allclose(found.probability, over(truth, axes), atol=1e-9)
        assert found.verdict == "exact"
        assert (found.standard_error == 0).all()


def test_evidence_conditions_a_joint_and_observed_names_have_one_value(way):
    for seed, model, truth in hard_models(40):
        value = int(np.argmax(truth.sum(axis=(1, 2, 3, 4))))
        seen = truth[value] / truth[value].sum()
        found = om.joint(model, ["B", "A", "D"], {"A": value}, method="exact")
        expected = np.zeros(found.probability.shape)
        expected[:, value] = over(seen, [0, 2])
        np.testing.assert_allclose(found.probability, expected, atol=1e-9, err_msg=f"{seed}")


def scores(models, **options):
    """Errors in units of the standard error of believed numbers; how many intervals hold them."""
    off, inside = [], []
    for seed, model, truth in models:
        axes = np.random.default_rng(seed).permutation(len(model.names))[:2].tolist()
        names = [model.names[axis] for axis in axes]
        found = om.joint(model, names, method="gibbs", samples=60, seed=seed, threads=1, **options)
        expected = over(truth, axes)[0, 0]
        assert found.probability.sum() == pytest.approx(1)
        if found.converged:
            off.append((found.probability[0, 0] - expected) / found.standard_error[0, 0])
            inside.append(found.low[0, 0] <= expected <= found.high[0, 0])
    return np.array(off), np.array(inside)


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_sampled_joints_lie_within_their_errors(count):
    off, inside = scores(soft_models(count))
    assert len(off) > 0.7 * count
    require_honest(off, inside)


def test_wrong_numbers_would_be_noticed(monkeypatch):
    """If chances belonged to other values, scores would be far too large."""
    plain = Conditional.chances
    monkeypatch.setattr(
        Conditional, "chances", lambda self, states, count: plain(self, states, count)[::-1]
    )
    off, _ = scores(soft_models(20))
    assert np.abs(off).max() > 8


def test_without_averaging_the_numbers_are_right_too(monkeypatch):
    """A variable with too many factors is not averaged over; the same bound as above."""
    monkeypatch.setattr("orbitmc.inference.feature_sampling.MOST_FACTORS", -1)
    off, _ = scores(soft_models(30))
    assert np.abs(off).max() < 8


def test_averaging_makes_errors_smaller(sprinkler, monkeypatch):
    options = {"method": "gibbs", "samples": 2000, "seed": 1}
    averaged = om.joint(sprinkler, ["rain", "grass"], **options)
    monkeypatch.setattr("orbitmc.inference.feature_sampling.MOST_FACTORS", -1)
    counted = om.joint(sprinkler, ["rain", "grass"], **options)
    assert averaged.standard_error.mean() < 0.9 * counted.standard_error.mean()


def test_a_question_about_one_variable_agrees_with_its_marginal(sprinkler):
    options = {"method": "gibbs", "samples": 200, "seed": 1}
    alone = om.joint(sprinkler, ["rain"], **options)
    marginal = om.marginals(sprinkler, query=["rain"], **options)["rain"]
    np.testing.assert_array_equal(alone.probability, marginal.probability)
    np.testing.assert_array_equal(alone.standard_error, marginal.standard_error)


def test_atoms_of_a_program_have_joints(way):
    program = om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db", opened=["Smokes"], query="Smokes,Cancer")
    names = ["Smokes(Anna)", "Cancer(Anna)", "Smokes(Bob)"]
    exact = om.joint(program, names)
    single = om.marginals(program, method="exact")
    assert exact.values == (("false", "true"),) * 3
    for axis, name in enumerate(names):
        p = over(exact.probability, [axis])[1]
        assert p == pytest.approx(float(single[name].probability[0]), abs=1e-12)
    sampled = om.joint(program, names, method="gibbs", samples=500, seed=1)
    off = np.abs(sampled.probability - exact.probability) / np.maximum(sampled.standard_error, 1e-9)
    assert off.max() < 8  # as above


def test_a_frozen_pair_is_said_to_be_frozen():
    model = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A", "B"], [[0.5, 0], [0, 0.5]])])
    found = om.joint(model, ["A", "B"], method="gibbs", scan="systematic", samples=100)
    assert found.verdict == "frozen"
    assert not found.converged
    assert any("frozen" in warning for warning in found.about.warnings)


def test_trouble_elsewhere_in_the_component_is_told_and_elsewhere_alone_is_not():
    equal, loose = [[0.5, 0], [0, 0.7]], [[2.0, 1], [1, 2]]
    values = {name: ["x", "y"] for name in "ABCDE"}
    tied = [(["A", "B"], equal), (["B", "C"], loose), (["D", "E"], loose)]
    model = om.model(values, tied)
    alone = {"method": "gibbs", "scan": "systematic", "samples": 100}
    assert om.joint(model, ["C"], **alone).verdict == "tied to frozen"
    assert om.joint(model, ["D", "E"], **alone).verdict == "good"


def test_a_row_of_a_frame_is_evidence(sprinkler):
    row = pd.Series({"grass": "wet", "season": np.nan})
    from_row = om.joint(sprinkler, ["rain", "season"], row)
    from_dict = om.joint(sprinkler, ["rain", "season"], {"grass": "wet"})
    assert (from_row.probability == from_dict.probability).all()


def test_auto_samples_where_elimination_is_too_wide():
    """The answer says so; up and down are equally probable in a grid without fields."""
    wide = om.ising_grid(30, 30, 0.2)
    found = om.joint(wide, ["s0_0", "s0_1"], memory=2**25, scan="random", samples=200, seed=1)
    assert found.about.method != "exact"
    assert "eliminat" in found.about.reason  # its price, or that no order was found in time
    assert "exact" in found.about.ruled_out
    assert abs(found.probability[1].sum() - 0.5) < 8 * found.standard_error[1].sum()
    assert found.probability[1, 1] - found.probability[1, 0] > 8 * found.standard_error.max()


def test_it_stops_at_a_standard_error(sprinkler):
    found = om.joint(sprinkler, ["rain", "season"], method="gibbs", standard_error=0.002, seed=1)
    assert 0.0008 < found.standard_error.max() < 0.004
    assert found.converged


def test_a_timed_run_answers_and_says_how_long_it_took(sprinkler):
    found = om.joint(sprinkler, ["rain"], method="gibbs", seconds=0.3, seed=1)
    assert found.about.samples > 0


def test_an_early_end_gives_what_is_known_so_far(sprinkler):
    def stop(run):
        if run.recorded > 20:
            run.stop()

    found = om.joint(
        sprinkler, ["rain", "grass"], method="gibbs", samples=10**6, warm_up=9, watchers=[stop]
    )
    assert found.about.interrupted
    assert found.probability.sum() == pytest.approx(1)


def test_an_end_in_the_warm_up_gives_a_glimpse(sprinkler):
    def stop(run):
        run.stop()

    found = om.joint(
        sprinkler, ["rain"], method="gibbs", samples=100, warm_up=10**7, watchers=[stop]
    )
    assert found.probability.sum() == pytest.approx(1)
    assert not found.converged
    assert "warm-up" in found.about.warnings[0]


def test_results_do_not_depend_on_threads(sprinkler):
    ways = [
        om.joint(sprinkler, ["rain"], method="gibbs", samples=50, seed=1, threads=threads)
        for threads in (1, 2)
    ]
    assert (ways[0].probability == ways[1].probability).all()
    assert (ways[0].standard_error == ways[1].standard_error).all()


def test_frames_and_tables_have_a_row_per_joint_value(sprinkler, monkeypatch):
    found = om.joint(sprinkler, ["sprinkler", "rain"], {"grass": "wet"})
    frame = found.to_frame()
    assert frame.index.names == ["sprinkler", "rain"]
    assert frame.loc[("on", "none"), "probability"] == found.probability[1, 0]
    assert "on         none   0.44967" in str(found)
    monkeypatch.setitem(
        sys.modules, "xarray", SimpleNamespace(Dataset=lambda data, **more: {**data, **more})
    )
    data = found.to_xarray()
    assert data["probability"][0] == ("sprinkler", "rain")
    assert data["coords"]["rain"] == ["none", "light", "heavy"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["rian"], "did you mean 'rain'"),
        ([], "name at least one"),
        (["rain", "rain"], "named twice"),
    ],
)
def test_wrong_names_are_explained(sprinkler, names, said):
    with pytest.raises(InputError, match=said):
        om.joint(sprinkler, names)


def test_wrong_atoms_are_explained():
    program = om.read(f"{SMOKERS}.mln", f"{SMOKERS}.db")
    with pytest.raises(InputError, match="did you mean 'Cancer'"):
        om.joint(program, ["Cancr(Anna)"])
    with pytest.raises(InputError, match="name one ground atom"):
        om.joint(program, ["Cancer(x)"])
    with pytest.raises(InputError, match="database"):
        om.joint(program, ["Cancer(Anna)"], {"Cancer(Bob)": True})


def test_limits_and_contradictions_are_refused(sprinkler):
    model = om.ising_grid(5, 5, 0.1)
    with pytest.raises(LimitError, match="entries"):
        om.joint(model, model.names)
    with pytest.raises(LimitError, match="notes of 4 packs need"):
        om.joint(model, model.names[:18], method="gibbs", samples=9, memory=2**27)
    with pytest.raises(InputError, match="checkpoint"):
        om.joint(sprinkler, ["rain"], checkpoint="x.run")
    impossible = om.model({"A": ["x", "y"], "B": ["x", "y"]}, [(["A", "B"], [[1, 0], [0, 1]])])
    with pytest.raises(ContradictionError):
        om.joint(impossible, ["A"], {"A": "x", "B": "y"})


WIDE = om.ising_grid(40, 40, 0.4, 0.1)


def test_names_that_evidence_decides_are_not_sampled():
    seen = {"s0_0": "up", "s0_1": "down"}
    for names in (["s0_0", "s0_1"], ["s0_0"]):
        found = om.joint(WIDE, names, seen, method="gibbs", seconds=20)
        assert (found.verdict, found.about.method) == ("exact", "exact")
        assert found.probability[tuple(int(seen[name] == "up") for name in names)] == 1.0
        assert found.probability.sum() == 1.0


def test_an_observed_atom_leaves_the_marginal_of_the_other(tmp_path):
    """Elimination is too wide for the lattice of friends, and cheap for a person without any."""
    side = 40
    pairs = [
        (f"P{i}_{j}", f"P{k}_{m}")
        for i in range(side)
        for j in range(side)
        for k, m in ((i + 1, j), (i, j + 1))
        if max(k, m) < side
    ]
    program, facts = tmp_path / "lattice.mln", tmp_path / "lattice.db"
    program.write_text(
        "*Friends(person, person)\nSmokes(person)\n0.3 Smokes(x)\n"
        "1.1 Friends(x, y) => (Smokes(x) <=> Smokes(y))\n"
    )
    facts.write_text(
        "".join(f"Friends({a},{b})\n" for a, b in pairs) + "Smokes(P0_0)\n!Friends(Alone,Alone)\n"
    )
    read = om.read(program, facts, query="Smokes")
    found = om.joint(read, ["Smokes(P0_0)", "Smokes(Alone)"], seconds=30)
    chance = 1 / (1 + np.exp(-0.3))
    np.testing.assert_allclose(found.probability, [[0, 0], [1 - chance, chance]], atol=1e-12)
    assert found.verdict == "exact"


def test_impossible_evidence_is_refused_where_nothing_is_sampled():
    model = om.model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a", "b"], [[1.0, 0.0], [0.0, 1.0]])])
    with pytest.raises(om.ContradictionError):
        om.joint(model, ["a", "b"], {"a": "0", "b": "1"}, method="gibbs", samples=10)
