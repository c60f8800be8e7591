"""Low-width fringes of what is sampled are summed out, and recovered with honest errors."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.exact.contraction import marginals as eliminate
from orbitmc.graph.fringe import eliminate_fringe
from orbitmc.inference import plan as planning
from orbitmc.inference.plan import find_fringe
from orbitmc.inference.settings import Settings
from orbitmc.sampling.collapsed import recovery_of
from orbitmc.tuning import RaceResult, Tuning
from tests.inference.questions.truth import require_honest
from tests.sampling.executors import Copying

FEW = {"samples": 60, "packs": 2, "lanes": 32, "threads": 1}


def sparse(seed=1, variables=60, degree=2.4, values=2, scale=0.6):
    """A random Markov network with few factors for each variable."""
    rng = np.random.default_rng(seed)
    pairs = set()
    while len(pairs) < degree * variables / 2:
        pairs.add(tuple(sorted(rng.choice(variables, 2, replace=False).tolist())))
    names = {f"v{k}": [str(value) for value in range(values)] for k in range(variables)}
    tables = [
        ([f"v{i}", f"v{j}"], np.exp(scale * rng.normal(size=(values, values))))
        for i, j in sorted(pairs)
    ]
    singles = [([name], np.exp(0.3 * rng.normal(size=values))) for name in names]
    return om.model(names, [*tables, *singles])


@pytest.fixture(autouse=True)
def too_wide(monkeypatch):
    """Nothing is eliminated as a whole, and the clock chooses no jumps."""
    for plan in ("plan_elimination", "plan_marginals"):
        monkeypatch.setattr(planning, plan, lambda graph, settings: (None, "too wide"))
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)
    monkeypatch.setattr(
        "orbitmc.tuning.run_race",
        lambda *asked, **limits: RaceResult(Tuning(), "no race"),
        raising=False,
    )


def truth_of(model):
    """Marginals by name."""
    return dict(zip(model.names, eliminate(model.graph).marginals, strict=True))


def collapsed(answer):
    return "summed out" in answer.about.reason


def test_the_answer_says_what_was_summed_out():
    answer = om.marginals(sparse(), seed=1, **FEW)
    fringe = eliminate_fringe(sparse().graph)
    assert 0 < fringe.core.variables < 20
    assert f"{len(fringe.network)} of 60 variables are summed out" in answer.about.reason
    assert list(answer) == list(sparse().order)


@pytest.mark.parametrize("values", [2, 3])
def test_errors_are_honest_in_the_core_and_in_the_fringe(values):
    """Many short runs; one variable of each kind, so that scores are independent."""
    model = sparse(degree=2.7 if values == 2 else 2.4, values=values, scale=1.2)
    fringe, truth = eliminate_fringe(model.graph), truth_of(model)
    firmest = sorted(fringe.given_core(), key=lambda step: -np.ptp(step.chances[1]))
    places = {
        "core": int(fringe.places[0]),
        "tree": next(step.variable for step in firmest if len(step.given) == 1),
        "bridge": next(step.variable for step in firmest if len(step.given) > 1),
    }
    runs = [om.marginals(model, seed=seed, **FEW) for seed in range(60)]
    for place in places.values():
        name = model.names[place]
        found = [run[name] for run in runs]
        off = [(m.probability[1] - truth[name][1]) / m.standard_error[1] for m in found]
        inside = [m.low[1] <= truth[name][1] <= m.high[1] for m in found]
        require_honest(np.array(off), np.array(inside))
        with pytest.raises(AssertionError):  # errors that are a tenth would be noticed
            require_honest(10 * np.array(off), np.array(inside))


def test_control_variates_are_honest_in_the_fringe_too():
    model = sparse()
    truth = truth_of(model)
    known = recovery_of(eliminate_fringe(model.graph)).known
    off, inside = [], []
    for seed in np.flatnonzero(~known)[:40].tolist():
        run = om.marginals(model, seed=seed, samples=400, packs=2, threads=1)
        if run.about.estimator.startswith("no control variates"):
            continue
        name = model.names[seed]
        off.append((run[name].probability[1] - truth[name][1]) / run[name].standard_error[1])
        inside.append(run[name].low[1] <= truth[name][1] <= run[name].high[1])
    assert len(off) > 20
    require_honest(np.array(off), np.array(inside))


def test_what_depends_on_nothing_sampled_is_exact():
    model = sparse(degree=2.1, variables=100)
    answer, truth = om.marginals(model, seed=1, **FEW), truth_of(model)
    exact = [name for name in answer if answer[name].verdict == "exact"]
    assert 0 < len(exact) < 100
    for name in exact:
        np.testing.assert_allclose(answer[name].probability, truth[name], atol=1e-12)
        assert not answer[name].standard_error.any()


def numbers(answer):
    return {name: answer[name].probability.tobytes() for name in answer}


def stop(run):
    if run.recorded > 0:
        run.stop()


@pytest.mark.parametrize("samples", [60, 400])
def test_a_run_goes_on_as_if_never_stopped(tmp_path, samples):
    how = {**FEW, "samples": samples, "seed": 5}
    whole = om.marginals(sparse(), **how)
    part = om.marginals(sparse(), checkpoint=tmp_path / "x.run", watchers=[stop], **how)
    assert part.about.interrupted
    assert collapsed(part)
    going = om.resume(tmp_path / "x.run", sparse())
    assert numbers(going) == numbers(whole)
    assert going.verdicts() == whole.verdicts()


def test_a_run_of_the_whole_is_not_taken_for_one_of_the_core(tmp_path):
    om.marginals(sparse(), method="gibbs", checkpoint=tmp_path / "x.run", seed=5, **FEW)
    going = om.resume(tmp_path / "x.run", sparse())
    assert numbers(going) == numbers(om.marginals(sparse(), method="gibbs", seed=5, **FEW))


def test_workers_give_the_same_bytes():
    here = om.marginals(sparse(), seed=3, **FEW)
    there = om.marginals(sparse(), seed=3, executor=Copying(), **FEW)
    assert numbers(here) == numbers(there)
    pairs = [("v1", "v2"), ("v7", "v30")]
    for pair in pairs:
        here = om.joint(sparse(), pair, seed=3, **FEW)
        there = om.joint(sparse(), pair, seed=3, executor=Copying(), **FEW)
        assert (here.probability == there.probability).all()


def test_evidence_and_queries_are_as_elsewhere():
    model, seen = sparse(), {"v3": "1", "v10": [0.2, 0.8]}
    answer = om.marginals(model, seen, query=["v3", "v5", "v20"], seed=2, **FEW)
    truth = truth_of(model.given(seen))
    assert answer["v3"].verdict == "observed"
    for name in ("v5", "v20"):
        off = (answer[name].probability - truth[name]) / answer[name].standard_error
        assert np.abs(off).max() < 10


def test_joint_values_of_the_fringe_are_honest():
    model = sparse()
    fringe = eliminate_fringe(model.graph)
    step = next(step for step in fringe.network if len(step.given) == 2)
    names = [model.names[place] for place in (step.variable, *step.given)]
    alone = om.joint(model, names, method="gibbs", samples=4000, seed=9, packs=2)
    off, inside = [], []
    for seed in range(20):
        found = om.joint(model, names, seed=seed, **FEW)
        assert collapsed(found)
        error = np.hypot(found.standard_error, alone.standard_error)
        off.append(((found.probability - alone.probability) / error)[1, 1, 0])
        wide = 2 * alone.standard_error
        below, above = found.low - wide, found.high + wide
        inside.append(((below <= alone.probability) & (alone.probability <= above))[1, 1, 0])
    require_honest(np.array(off), np.array(inside))


def test_expectations_and_events_of_the_fringe_are_honest():
    model = sparse()
    truth = truth_of(model)
    off, inside = [], []
    for seed in range(20):
        mean = om.expect(model, {"on": lambda v: v["v4"]}, seed=seed, **FEW)["on"]
        found = om.probability(model, "v4 == '1'", seed=seed, **FEW)
        assert collapsed(found)
        for estimate in (mean, found):
            off.append((estimate.value - truth["v4"][1]) / estimate.standard_error)
            inside.append(estimate.low <= truth["v4"][1] <= estimate.high)
    require_honest(np.array(off[1::2]), np.array(inside[1::2]))
    require_honest(np.array(off[::2]), np.array(inside[::2]))


def test_draws_are_states_of_the_whole_with_their_weights():
    model = sparse()
    drawn = om.draws(model, samples=40, chains=64, seed=4, lanes=32, packs=2, threads=1)
    assert drawn.names == model.order
    states = drawn.values.reshape(-1, 60).T
    logs = np.zeros(states.shape[1])
    for factor in range(model.graph.factors):
        logs += model.graph.table_values(factor)[tuple(states[model.graph.scope_of(factor)])]
    logs += model.graph.constant
    np.testing.assert_allclose(drawn.log_weight.reshape(-1), logs, atol=1e-9)
    truth = np.array([m[1] for m in truth_of(model).values()])
    means = drawn.values.mean(axis=(0, 1))
    spread = drawn.values.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(64)
    assert np.abs((means - truth) / spread).max() < 8  # 63 degrees: 60 of 4e-11


def test_symmetries_and_methods_that_were_asked_for_stay(monkeypatch):
    assert not collapsed(om.marginals(sparse(), method="gibbs", seed=1, **FEW))
    monkeypatch.setattr(
        "orbitmc.tuning.run_race",
        lambda *asked, **limits: RaceResult(Tuning(("flip",), 5), "a flip"),
        raising=False,
    )
    assert not collapsed(om.marginals(sparse(), seed=1, **FEW))


@pytest.mark.parametrize(
    "model",
    [om.ising_grid(12, 12, 0.3, 0.1), om.potts_grid(8, 8, 3, 0.4)],
    ids=["grid", "Potts"],
)
def test_lattices_have_no_fringe_that_pays(model):
    assert find_fringe(model.graph, Settings()) is None


def test_nothing_is_summed_out_without_time_for_it():
    graph = sparse(variables=500).graph
    assert find_fringe(graph, Settings(seconds=2.0)) is not None
    assert find_fringe(graph, Settings(seconds=0.1)) is None
