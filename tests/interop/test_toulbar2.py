"""Best states by toulbar2 are those of elimination, to the precision that it says."""

import math
import signal
import threading

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact import toulbar2
from orbitmc.exact.problem import prepare
from orbitmc.graph.model import Model
from orbitmc.graph.transforms import side_by_side
from orbitmc.inference import _best as asking
from tests.interop.libraries import library
from tests.oracle.brute_force import log_weight, states
from tests.oracle.random_models import random_graph

library("pytoulbar2")

SECONDS = 60  # nothing here takes a tenth of it


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(f"x{k}" for k in range(n)) for n in graph.cardinality))


@pytest.mark.parametrize("block", range(10))
def test_thirty_models_side_by_side_have_the_best_states_of_a_list(block):
    """A solver needs a moment to start, so it gets many models that do not touch."""
    seeds = range(30 * block, 30 * (block + 1))
    graphs = [random_graph(seed, variables=(2, 8), zeros=0.25 * (seed % 2)) for seed in seeds]
    together = named(side_by_side(graphs))
    answer = om.best(together, method="toulbar2", seconds=SECONDS)
    assert answer.proven
    assert answer.about.method == "toulbar2"
    assert 0 < answer.precision < 1e-8
    values = [together.values[v].index(answer[0][name]) for v, name in enumerate(together.names)]
    first, total = 0, 0.0
    for graph in graphs:
        best = max(log_weight(graph, state) for state in states(graph))
        here = log_weight(graph, values[first : first + graph.variables])
        assert best - answer.precision <= here <= best + 1e-9
        first, total = first + graph.variables, total + best
    assert answer[0].log_weight == pytest.approx(total, abs=1e-8)
    assert total - 1e-9 <= answer.bound <= total + 2 * answer.precision
    assert f"proven, to {answer.precision:.1g}" in answer.verdict()


def test_costs_that_are_rounded_too_coarsely_would_be_noticed(monkeypatch):
    """With a tenth of a nat as the unit, states are given that are not the best ones."""
    monkeypatch.setattr(toulbar2, "FINEST", 1.0)
    monkeypatch.setattr(toulbar2.Costs, "precision", 1e-9)
    with pytest.raises(AssertionError):
        test_thirty_models_side_by_side_have_the_best_states_of_a_list(0)


def test_coarse_costs_are_said_to_be_coarse(monkeypatch):
    monkeypatch.setattr(toulbar2, "MOST_COST", 2.0**12)
    graph = random_graph(5, variables=(6, 8))
    best = max(log_weight(graph, state) for state in states(graph))
    answer = om.best(named(graph), method="toulbar2", seconds=SECONDS)
    assert answer.precision > 1e-4
    assert best - answer.precision <= answer[0].log_weight <= best + 1e-9
    assert answer.bound >= best


def test_weights_beyond_the_integers_are_scaled_down():
    problem = prepare(om.ising_grid(3, 3, 1e5, 1.0).graph)
    costs = toulbar2.round_costs(problem)
    assert costs.most <= toulbar2.MOST_COST + len(costs.tables)
    assert costs.precision == len(costs.tables) / costs.scale


def test_a_program_has_its_best_state():
    program = om.read_logic("examples/smokers.mln", "examples/smokers.db", query="Smokes,Cancer")
    answer, plain = om.best(program, method="toulbar2", seconds=SECONDS), om.best(program)
    assert answer[0].log_weight == pytest.approx(plain[0].log_weight, abs=1e-8)
    assert answer.proven


def test_auto_proves_by_it_what_elimination_cannot_afford(monkeypatch):
    monkeypatch.setattr(asking, "_find_bound", lambda problem, clock: math.inf)
    monkeypatch.setattr(asking, "_plan", lambda model, settings: (None, "too wide"))
    monkeypatch.setattr(asking, "_solve_from_cache", lambda *question: None)
    rng = np.random.default_rng(2)
    names = {f"n{k}": ["a", "b", "c"] for k in range(40)}
    pairs = [rng.choice(40, 2, replace=False) for _ in range(90)]
    tables = [([f"n{a}", f"n{b}"], rng.uniform(0.05, 1.0, (3, 3))) for a, b in pairs]
    model = om.model(names, tables)
    answer = om.best(model, seconds=SECONDS)
    assert answer.proven
    assert answer.about.method == "toulbar2"
    assert answer.precision > 0
    alone = om.best(model, method="toulbar2", seconds=SECONDS)
    assert answer[0].log_weight == pytest.approx(alone[0].log_weight, abs=1e-8)


def hard_model():
    """Nobody proves its best state today."""
    rng = np.random.default_rng(0)
    builder = om.graph.builder.Builder([4] * 150)
    for _ in range(900):
        a, b = rng.choice(150, 2, replace=False).tolist()
        builder.add_factor([a, b], rng.normal(size=(4, 4)))
    return named(builder.build())


def test_time_that_is_over_leaves_a_bound():
    answer = om.best(hard_model(), method="toulbar2", seconds=2)
    assert not answer.proven
    assert answer[0].log_weight <= answer.bound
    assert answer.precision == 0.0


def test_ctrl_c_gives_the_best_state_so_far():
    model = hard_model()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(2.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    answer = om.best(model, method="toulbar2", seconds=600)
    signal.signal(signal.SIGINT, before)
    assert answer.about.interrupted
    assert not answer.proven
    assert answer[0].log_weight <= answer.bound < math.inf


def test_a_contradiction_is_explained():
    pigeons = {f"p{k}": ["a", "b"] for k in range(3)}
    differ = [([f"p{a}", f"p{b}"], 1.0 - np.eye(2)) for a in range(3) for b in range(a)]
    with pytest.raises(ContradictionError):
        om.best(om.model(pigeons, differ), method="toulbar2", seconds=SECONDS)


def test_what_it_cannot_do_is_refused():
    grid = om.ising_grid(2, 2, 0.3)
    with pytest.raises(InputError, match="one best state"):
        om.best(grid, k=2, method="toulbar2")
    with pytest.raises(InputError, match="no samples"):
        om.best(grid, method="toulbar2", samples=3)
    with pytest.raises(InputError, match="sums none out"):
        om.best(grid, over="s0_0", method="toulbar2")
    with pytest.raises(InputError, match="nothing of probabilities"):
        om.marginals(grid, method="toulbar2")
    with pytest.raises(InputError):
        om.log_z(grid, method="toulbar2")


def test_a_solver_that_dies_is_a_limit(monkeypatch, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit(1)\n")
    monkeypatch.setattr(toulbar2, "CHILD", broken)
    with pytest.raises(LimitError, match="found no state"):
        om.best(om.ising_grid(2, 2, 0.3), method="toulbar2", seconds=5)


def test_its_bound_is_never_below_the_best_state():
    for seed in range(4):
        graph = random_graph(seed, variables=(6, 8), zeros=0.2)
        best = max(log_weight(graph, state) for state in states(graph))
        with toulbar2.Toulbar2(prepare(graph), SECONDS) as solver:
            proof = solver.wait(SECONDS)
        assert proof is not None
        assert best <= proof.bound < best + 1e-8
        assert math.isfinite(proof.bound)
