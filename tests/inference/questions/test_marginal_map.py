"""The most probable values of some variables, everything else summed out."""

import itertools
import json
import math
import signal
from pathlib import Path

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact import map as elimination
from orbitmc.exact.order import Order, find_order
from orbitmc.graph.model import Model
from orbitmc.inference import _marginal_map as asking
from tests.cli.commands import answer_of, orbitmc
from tests.oracle.brute_force import log_weight, states
from tests.oracle.random_models import random_graph

SPRINKLER = "examples/sprinkler.bif"
SMOKERS = ("examples/smokers.mln", "examples/smokers.db")


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[3])


@pytest.fixture(params=["listed", "eliminated"])
def way(request, monkeypatch):
    """Small joints are listed; here they are also found by sums and then maxima."""
    if request.param == "eliminated":
        monkeypatch.setattr(asking, "MOST_LISTED", 0)
    return request.param


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(f"x{k}" for k in range(n)) for n in graph.cardinality))


def random_question(seed):
    """A model, evidence of both kinds or none, and names to maximise over, in any order."""
    rng = np.random.default_rng(10_000 + seed)
    model = named(random_graph(seed, variables=(3, 8), zeros=0.25 * (seed % 2)))
    names = [*model.names]
    evidence = {}
    if seed % 3 == 1:
        likely = max(states(model.graph), key=lambda state: log_weight(model.graph, state))
        seen = int(rng.integers(len(names)))
        evidence[names[seen]] = f"x{likely[seen]}"
    if seed % 3:
        seen = names[int(rng.integers(len(names)))]
        size = int(model.graph.cardinality[names.index(seen)])
        evidence.setdefault(seen, rng.uniform(0.1, 1.0, size=size).tolist())
    over = rng.permutation(names)[: int(rng.integers(1, len(names)))].tolist()
    return model, evidence, over


def list_joint(model, evidence, over):
    """The probability of every possible joint value, by listing all states."""
    sums = {}
    for state in states(model.graph):
        weight = math.exp(log_weight(model.graph, state))
        for name, seen in evidence.items():
            value = state[model.index[name]]
            weight *= float(seen == f"x{value}") if isinstance(seen, str) else seen[value]
        key = tuple(f"x{state[model.index[name]]}" for name in over)
        sums[key] = sums.get(key, 0.0) + weight
    total = sum(sums.values())
    return {key: weight / total for key, weight in sums.items() if weight > 0.0}


def require_best(model, evidence, over, k):
    expected = list_joint(model, evidence, over)
    answer = om.best(model, evidence, over=over, k=k)
    assert answer.proven
    assert len(answer) == min(k, len(expected))
    ranked = sorted(expected.values(), reverse=True)
    for place, one in enumerate(answer):
        assert list(one) == over
        assert one.probability == pytest.approx(ranked[place], rel=1e-9)
        assert expected[tuple(one.values())] == pytest.approx(one.probability, rel=1e-9)
        assert one.log_weight == pytest.approx(math.log(one.probability), abs=1e-12)
    assert len({tuple(one.items()) for one in answer}) == len(answer)
    assert answer.bound == answer[0].log_weight


@pytest.mark.parametrize("block", range(5))
def test_the_best_values_are_those_of_a_list_of_all_states(block, way):
    for seed in range(70 * block, 70 * (block + 1)):
        require_best(*random_question(seed), k=1 + seed % 5)


def test_maxima_before_sums_would_be_noticed(monkeypatch):
    """An order that mixes both is cheaper, and wrong: many of the questions above find out."""
    monkeypatch.setattr(asking, "MOST_LISTED", 0)

    def find_mixed_order(scopes, sizes, last, *, seconds, until):
        return Order(find_order(scopes, sizes, seconds=0.0).variables[::-1], 1.0)

    monkeypatch.setattr(elimination, "find_order_with_last", find_mixed_order)
    noticed = 0
    for seed in range(60):
        try:
            require_best(*random_question(seed), k=1)
        except (AssertionError, IndexError):
            noticed += 1
    assert noticed > 10


def test_the_best_state_of_all_need_not_have_the_best_values_of_some(way):
    """A disease with one likely course beats a likelier disease with many courses."""
    model = om.model(
        {"disease": ["flu", "cold"], "course": ["a", "b", "c"]},
        [(["disease"], [0.4, 0.6]), (["disease", "course"], [[1, 0, 0], [0.4, 0.3, 0.3]])],
    )
    assert om.best(model)[0]["disease"] == "flu"
    summed = om.best(model, over="disease", k=2)
    assert [dict(one) for one in summed] == [{"disease": "cold"}, {"disease": "flu"}]
    assert [one.probability for one in summed] == pytest.approx([0.6, 0.4])


def test_ties_come_in_the_order_of_their_values(way):
    """Sums of the same numbers in another order differ by rounding."""
    tables = [(["a", "c"], [[0.1, 0.2, 0.7], [0.7, 0.1, 0.2]]), (["b", "c"], np.ones((2, 3)))]
    model = om.model({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y", "z"]}, tables)
    best = om.best(model, over=["b", "a"], k=4)
    assert [tuple(one.values()) for one in best] == [*itertools.product("xy", "xy")]
    assert om.best(model, over=["b", "a"], k=5).about.warnings == (
        "only 4 joint values are possible",
    )


def test_many_variables_that_a_chain_ties_are_maximised_without_their_joint_table():
    """Forty asked variables of a hidden chain: their joint table would have 2 ** 40 entries."""
    rng = np.random.default_rng(5)
    names = {f"{kind}{t}": ["0", "1"] for t in range(40) for kind in "hs"}
    steps = [([f"h{t}", f"h{t + 1}"], rng.uniform(0.1, 1.0, (2, 2))) for t in range(39)]
    signals = [([f"h{t}", f"s{t}"], rng.uniform(0.1, 1.0, (2, 2))) for t in range(40)]
    model = om.model(names, [*steps, *signals])
    hidden = [f"h{t}" for t in range(40)]
    answer = om.best(model, over=hidden, k=3)
    assert answer.proven
    # the signals sum out one by one, so the best hidden states are those of a chain alone
    alone = om.model(
        {name: ["0", "1"] for name in hidden},
        [*steps, *(([f"h{t}"], signals[t][1].sum(axis=1)) for t in range(40))],
    )
    log_z = float(om.log_z(alone))
    for one, other in zip(answer, om.best(alone, k=3), strict=True):
        assert dict(one) == dict(other)
        assert one.log_weight == pytest.approx(other.log_weight - log_z, abs=1e-9)


def test_what_says_nothing_about_the_names_is_left_out():
    model = om.read(SPRINKLER)
    answer = om.best(model, over=["season", "rain"], method="exact")
    assert answer[0].probability == om.joint(model, ["season", "rain"]).probability.max()
    wide = om.model(
        {**{f"a{k}": ["0", "1"] for k in range(14)}, "b": ["0", "1"], "c": ["0", "1"]},
        [([f"a{k}", f"a{k + 1}"], [[2, 1], [1, 1]]) for k in range(13)]
        + [(["b", "c"], [[3, 1], [1, 1]])],
    )
    pruned = om.best(wide, over=[f"a{k}" for k in range(13)])
    assert "14 of 16 variables matter" in pruned.about.reason
    assert pruned.proven


def test_observed_names_have_their_value_and_all_names_are_the_best_states():
    model = om.read(SPRINKLER)
    best = om.best(model, {"grass": "wet"}, over=["grass", "season"], k=2)
    assert [one["grass"] for one in best] == ["wet", "wet"]
    assert list(best[0]) == ["grass", "season"]
    assert sum(one.probability for one in best) == pytest.approx(1.0)
    known = om.best(model, {"grass": "wet"}, over="grass", k=2)
    assert [(dict(one), one.probability) for one in known] == [({"grass": "wet"}, 1.0)]
    everything, plain = om.best(model, over=list(model.names), k=2), om.best(model, k=2)
    assert [dict(one) for one in everything] == [dict(one) for one in plain]
    assert [one.log_weight for one in everything] == pytest.approx(
        [one.log_weight for one in plain]  # a network: log Z is 0
    )
    grid = om.ising_grid(4, 4, 0.5, 0.1)
    searched = om.best(grid, over=list(grid.names), method="gibbs", seconds=60)
    assert searched.about.method == "annealing"
    assert searched.proven  # and so it ends long before its time
    assert searched[0].probability is None


@pytest.mark.parametrize("how", ["listed", "rated", "weighed"])
def test_sampled_values_have_errors_and_are_never_proven(how, monkeypatch):
    """A false alarm: 20 numbers beyond 6 standard errors, less than one in 10^7."""
    monkeypatch.setattr(asking, "MOST_LISTED", 2**12 if how == "listed" else 0)
    if how == "rated":
        monkeypatch.setattr(asking.ConditionalWeights, "of", lambda *question: None)
    for seed in range(0, 20, 2):  # without zeros: nothing is frozen
        model, evidence, over = random_question(seed)
        expected = list_joint(model, evidence, over)
        answer = om.best(
            model, evidence, over=over, k=2, method="gibbs", samples=200, seed=seed, packs=1
        )
        assert not answer.proven
        assert answer.sampled
        assert "sampled" in answer.verdict()
        for one in answer:
            error = max(one.standard_error, 1e-4)
            assert abs(expected[tuple(one.values())] - one.probability) < 6 * error
        assert answer[0].log_weight <= answer.bound == 0.0
        top = max(expected.values())
        if how == "weighed":  # ratios are exact
            assert expected[tuple(answer[0].values())] == pytest.approx(top, rel=1e-9)
        assert expected[tuple(answer[0].values())] > top - 12 * max(answer[0].standard_error, 1e-4)


@pytest.fixture
def wide():
    """A grid, half of whose variables are asked about: too many values, too wide an order."""
    rng = np.random.default_rng(1)
    grid = om.ising_grid(16, 16, 0.3, rng.normal(size=(16, 16)))
    how = {"memory": 2**25, "packs": 1, "samples": 10, "threads": 1}
    return grid, list(grid.names)[::2], how


def test_what_is_too_wide_is_sampled_and_says_so(wide, monkeypatch):
    grid, over, how = wide
    monkeypatch.setattr(asking.ConditionalWeights, "of", lambda *question: None)
    answer = om.best(grid, over=over, k=2, **how)
    assert not answer.proven
    assert "rated by a second run" in answer.about.reason
    assert "sampled" in str(answer)
    with pytest.raises(LimitError):
        om.best(grid, over=over, method="exact", memory=2**25)


def test_values_that_can_be_weighed_are_improved_until_no_single_change_helps(wide):
    grid, over, how = wide
    answer = om.best(grid, over=over, k=2, **how)
    assert not answer.proven
    assert "weighed exactly" in answer.about.reason
    best = dict(answer[0])
    weight = float(om.log_z(grid, best))
    assert weight >= float(om.log_z(grid, dict(answer[1])))
    for name in over[::9]:
        other = {**best, name: "up" if best[name] == "down" else "down"}
        assert float(om.log_z(grid, other)) <= weight + 1e-9


def test_atoms_of_one_variable_are_weighed_together():
    """Values of names, three to a variable, become values of variables and back."""
    meanings = [np.array([1, 0, 0, 0]), np.array([0, 1, 0, 0]), np.array([0, 0, 1, 0])]
    named = [asking.Target(f"a{k}", ("no", "yes"), 5, one) for k, one in enumerate(meanings)]
    named.insert(1, asking.Target("b", ("x", "y"), 2, np.array([0, 1])))
    weights = asking.ConditionalWeights(None, named, 0)
    assert weights._states([bytes([0, 1, 0, 1]), bytes([0, 0, 0, 0])]).tolist() == [[2, 3], [1, 0]]
    near = weights._neighbours(bytes([0, 1, 0, 1]))
    assert set(near) == {
        bytes(one) for one in ([1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1])
    }


def test_a_program_is_asked_in_atoms(way):
    program = om.read_logic(*SMOKERS, query="Smokes,Cancer")
    every = om.best(program, k=10**6)
    log_z = np.logaddexp.reduce([one.log_weight for one in every])
    over = [name for name in every[0] if name.startswith("Smokes")]
    sums = {}
    for one in every:
        key = tuple(one[name] for name in over)
        sums[key] = sums.get(key, 0.0) + math.exp(one.log_weight - log_z)
    answer = om.best(program, over="Smokes", k=3)
    assert list(answer[0]) == over
    ranked = sorted(sums.values(), reverse=True)
    for place, one in enumerate(answer):
        assert one.probability == pytest.approx(ranked[place], rel=1e-9)
        assert sums[tuple(one.values())] == pytest.approx(one.probability, rel=1e-9)


def test_atoms_that_share_a_variable_are_told_apart_only_as_far_as_they_are_named(tmp_path):
    path = tmp_path / "colours.mln"
    path.write_text("thing = {A,B}\nhue = {R,G,Y}\nIs(thing,hue!)\n1 Is(A,R)\n0.4 Is(A,G)\n")
    program = om.read(path)
    best = om.best(program, over=["Is(A,G)", "Is(B,R)"], k=4)
    weight = math.exp(0.4) / (math.e + math.exp(0.4) + 1.0)
    assert best[0].probability == pytest.approx((1.0 - weight) * 2 / 3)
    assert dict(best[0]) == {"Is(A,G)": "false", "Is(B,R)": "false"}


def test_what_makes_no_sense_is_refused():
    model = om.read(SPRINKLER)
    with pytest.raises(InputError, match=r"unknown variable 'rian'.*did you mean 'rain'"):
        om.best(model, over=["rian"])
    with pytest.raises(InputError, match="over is empty"):
        om.best(model, over=[])
    with pytest.raises(InputError, match="leave out the query"):
        om.best(model, over="rain", query="rain")
    with pytest.raises(InputError, match="it sums none out"):
        om.best(model, over="rain", method="counting")
    with pytest.raises(InputError, match="k is how many"):
        om.best(model, over="rain", k=0)
    impossible = om.model({"a": ["x", "y"], "b": ["x", "y"]}, [(["a"], [1, 0]), (["a"], [0, 1])])
    with pytest.raises(ContradictionError):
        om.best(impossible, over="b")


def test_answers_have_probabilities_in_every_form():
    answer = om.best(om.read(SPRINKLER), {"grass": "wet"}, over=["season"], k=2)
    held = json.loads(answer.to_json())
    assert held["states"][0]["probability"] == answer[0].probability
    assert held["states"][0]["standard_error"] == 0.0
    assert answer.to_csv().splitlines()[0] == "rank,log_weight,probability,standard_error,season"
    assert answer.to_frame()["probability"].tolist() == [one.probability for one in answer]
    assert str(answer).splitlines()[1].startswith("probability")
    assert "probability" in answer._repr_html_()


def test_ctrl_c_in_the_first_run_gives_what_was_counted(monkeypatch):
    monkeypatch.setattr(asking, "MOST_LISTED", 0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    model, _, over = random_question(0)
    shares = []

    def press(share, words):
        shares.append(share)
        if len(shares) == 2:
            signal.raise_signal(signal.SIGINT)

    how = {"method": "gibbs", "samples": 10**7, "warm_up": 20, "threads": 1, "packs": 1}
    answer = om.best(model, over=over, progress=press, **how)
    signal.signal(signal.SIGINT, before)
    assert answer.about.interrupted
    assert answer.sampled == "too few samples"
    assert 0 < answer[0].probability <= 1


def test_on_the_command_line_a_query_sums_all_else_out():
    held = answer_of("best", SPRINKLER, "-e", "grass=wet", "-q", "season,rain", "-k", "2")
    expected = om.best(om.read(SPRINKLER), {"grass": "wet"}, over=["season", "rain"], k=2)
    assert [one["values"] for one in held["states"]] == [dict(one) for one in expected]
    assert [one["probability"] for one in held["states"]] == [one.probability for one in expected]
    told = answer_of("best", SPRINKLER, "-e", "grass=wet", "--tell", "season,rain", "-k", "2")
    plain = om.best(om.read(SPRINKLER), {"grass": "wet"}, query=["season", "rain"], k=2)
    assert [one["values"] for one in told["states"]] == [dict(one) for one in plain]
    assert "probability" not in told["states"][0]


def test_of_a_program_the_command_line_prints_probabilities():
    done = orbitmc("best", SMOKERS[0], "-e", SMOKERS[1], "-q", "Smokes", "-k", "2")
    assert done.returncode == 0
    expected = om.best(om.read_logic(*SMOKERS, query="Smokes"), over="Smokes", k=2)
    first = done.stdout.splitlines()[0]
    assert first == f"# state 1, probability {expected[0].probability:.6g}"
