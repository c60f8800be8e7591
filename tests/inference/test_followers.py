"""Chains do not sample what others decide; answers about that are as good as about the others."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError
from orbitmc.graph.fringe import find_followers
from orbitmc.inference import plan as planning
from orbitmc.tuning.race import RaceResult, Tuning
from tests.oracle.enumeration import enumerate_states, log_weights_of_all

FEW = {"samples": 200, "packs": 1, "threads": 1}


@pytest.fixture(autouse=True)
def too_wide(monkeypatch):
    """Nothing is eliminated as a whole, and the clock chooses no jumps."""
    for plan in ("plan_elimination", "plan_marginals"):
        monkeypatch.setattr(planning, plan, lambda graph, settings: (None, "too wide"))
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
    monkeypatch.setattr(
        "orbitmc.tuning.run_race",
        lambda *asked, **limits: RaceResult(Tuning(), "no race"),
    )


def copies(seed, count=5):
    """A loop of variables, each with a copy or a negation far away, and one that has no choice."""
    rng = np.random.default_rng(seed)
    names = [f"{kind}{k}" for k in range(count) for kind in "vc"] + ["sure"]
    values = {name: ["0", "1"] for name in names}
    factors = []
    for k in range(count):
        follows = np.eye(2)[:, ::-1] if rng.random() < 0.5 else np.eye(2)
        factors.append(([f"v{k}", f"c{k}"], follows))
        factors.append(([f"v{k}", f"c{(k + 1) % count}"], np.exp(0.5 * rng.normal(size=(2, 2)))))
    factors.append((["sure", "v0"], [[0, 0], [1, 1]]))
    return om.model(values, factors)


def truth_of(model):
    return dict(zip(model.names, enumerate_states(model.graph).marginals, strict=True))


def assert_honest(answers):
    """Errors of believed numbers are as large as they say: 6 of them would be a false alarm."""
    off = []
    for answer, truth in answers:
        for name, exact in truth.items():
            error = answer[name].standard_error[0]
            if error > 0:
                off.append((answer[name].probability[0] - exact[0]) / error)
            else:
                assert answer[name].probability == pytest.approx(exact, abs=1e-12)
    assert np.abs(off).max() < 6
    assert 0.5 < np.std(off) < 1.6


@pytest.mark.parametrize("method", ["auto", "mcsat"])
def test_followers_are_as_good_as_who_decides_them(method):
    answers = []
    for seed in range(8):
        model = copies(seed)
        answer = om.marginals(model, method=method, seed=seed, **FEW)
        assert "1 variables have one possible value; 5 variables follow" in answer.about.reason
        assert "frozen" not in answer.verdicts()
        assert answer["sure"].verdict in ("exact", "forced")
        for k in range(5):
            assert sorted(answer[f"c{k}"].probability) == pytest.approx(
                sorted(answer[f"v{k}"].probability), abs=1e-12
            )
        answers.append((answer, truth_of(model)))
    assert_honest(answers)


def test_followers_with_the_values_of_others_would_be_noticed(monkeypatch):
    def find_wrongly(graph):
        fringe = find_followers(graph)
        wrong = [step._replace(chances=step.chances[::-1]) for step in fringe.network]
        return replace(fringe, network=tuple(wrong))

    monkeypatch.setattr(planning, "find_followers", find_wrongly)
    model = copies(0)
    answer = om.marginals(model, seed=1, **FEW)
    with pytest.raises(AssertionError):
        assert_honest([(answer, truth_of(model))])


def test_other_questions_know_followers_too():
    model = copies(3)
    weights = np.exp(log_weights_of_all(model.graph)).reshape(model.graph.cardinality)
    axes = [model.names.index(name) for name in ("c1", "c2")]
    others = tuple(axis for axis in range(weights.ndim) if axis not in axes)
    truth = weights.sum(axis=others) / weights.sum()
    truth = truth if axes[0] < axes[1] else truth.T
    joint = om.joint(model, ["c1", "c2"], seed=1, **FEW)
    assert "follow from others" in joint.about.reason
    assert (np.abs(joint.probability - truth) < 6 * joint.standard_error).all()
    draws = om.draws(model, chains=4, samples=50, seed=1)
    first, second = (draws.values[..., draws.names.index(name)] for name in ("v1", "c1"))
    equal = first == second
    assert equal.all() or not equal.any()


def test_workers_give_the_same_numbers():
    alone = om.marginals(copies(1), seed=4, **FEW)
    with ThreadPoolExecutor(2) as executor:
        together = om.marginals(copies(1), seed=4, executor=executor, samples=200, packs=1)
    for name in alone:
        assert (alone[name].probability == together[name].probability).all()


def test_a_run_goes_on_as_if_never_stopped(tmp_path):
    def stop(run):
        run.stop()

    how = {**FEW, "seed": 5, "method": "mcsat"}
    whole = om.marginals(copies(1), **how)
    part = om.marginals(copies(1), checkpoint=tmp_path / "x.run", watchers=[stop], **how)
    assert part.about.interrupted
    resumed = om.resume(tmp_path / "x.run", copies(1))
    for name in whole:
        assert (resumed[name].probability == whole[name].probability).all()
        assert (resumed[name].standard_error == whole[name].standard_error).all()


def test_evidence_and_queries_are_as_elsewhere():
    model, seen = copies(2), {"c1": "1", "v3": [0.2, 0.8]}
    answer = om.marginals(model, seen, query=["c1", "v1", "c3"], seed=2, **FEW)
    truth = truth_of(model.given(seen))
    assert answer["c1"].verdict == "observed"
    assert answer["v1"].probability == pytest.approx(truth["v1"], abs=1e-12)
    assert answer["c3"].probability == pytest.approx(truth["c3"], abs=0.05)


@pytest.mark.parametrize("method", ["auto", "mcsat"])
def test_what_trying_values_finds_impossible_is_refused(method):
    pair = [[0, 1], [1, 0]]
    model = om.model(
        {name: ["0", "1"] for name in "abc"},
        [(["a", "b"], pair), (["b", "c"], pair), (["c", "a"], pair)],
    )
    with pytest.raises(ContradictionError, match="contradict"):
        om.marginals(model, method=method, **FEW)


def test_symmetries_of_a_program_are_not_lost():
    answer = om.marginals(copies(1), method="lifted", seed=1, **FEW)
    assert "follow from others" not in answer.about.reason
