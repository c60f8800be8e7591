"""What elimination affords is exact beside what is sampled, in one answer."""

from dataclasses import replace

import numpy as np
import pytest

import orbitmc as om
from orbitmc._numba.compile_log import asked_before
from orbitmc.graph.builder import Builder
from orbitmc.graph.relevance import components
from orbitmc.inference.plan import plan_components, split_components
from orbitmc.inference.settings import Settings
from tests.oracle.enumeration import enumerate_states

MEMORY = 2**25  # bytes: too few to eliminate the lattice
SIDE, TRIPLES = 24, 30


def triple(rng, number):
    """Three variables of their own: names and factors."""
    names = {f"c{number}_{k}": ["0", "1"] for k in range(3)}
    listed = list(names)
    return names, [(pair, rng.random((2, 2)) + 0.1) for pair in (listed[:2], listed[1:])]


def mixed(seed=1):
    """A lattice that is too wide, after small components with tables of their own."""
    rng = np.random.default_rng(seed)
    names, factors = {}, []
    for number in range(TRIPLES):
        own, tables = triple(rng, number)
        names |= own
        factors += tables
    spins = {f"g{i}_{j}": ["0", "1"] for i in range(SIDE) for j in range(SIDE)}
    names |= spins
    for i in range(SIDE):
        for j in range(SIDE):
            for other in ((i + 1, j), (i, j + 1)):
                if max(other) < SIDE:
                    scope = [f"g{i}_{j}", f"g{other[0]}_{other[1]}"]
                    factors.append((scope, np.exp(0.3 * rng.normal(size=(2, 2)))))
    return om.model(names, factors)


@pytest.fixture(scope="module")
def answer():
    return om.marginals(mixed(), samples=60, memory=MEMORY, packs=1, lanes=32, seed=2)


def test_components_are_exact_beside_what_is_sampled(answer):
    rng = np.random.default_rng(1)
    for number in range(TRIPLES):
        names, factors = triple(rng, number)
        truth = enumerate_states(om.model(names, factors).graph).marginals
        for name, expected in zip(names, truth, strict=True):
            assert answer[name].verdict == "exact"
            assert answer[name].probability == pytest.approx(expected, abs=1e-12)
            assert not answer[name].standard_error.any()
    assert answer["g3_4"].verdict != "exact"
    assert answer["g3_4"].standard_error.all()


def test_the_answer_says_what_was_done_with_which_part(answer):
    assert answer.about.reason.startswith(f"{3 * TRIPLES} variables in components of their own: ")
    assert f"the other {SIDE * SIDE}: " in answer.about.reason
    assert answer.about.log_z is None
    assert answer.about.method != "exact"


def test_variables_come_in_the_order_of_the_model(answer):
    assert list(answer) == list(mixed().order)


def test_evidence_is_told_once_and_counts_for_both():
    seen = {"c0_0": "1", "g0_0": "0"}
    found = om.marginals(mixed(), seen, samples=40, memory=MEMORY, packs=1, lanes=32, seed=2)
    assert found["c0_0"].verdict == found["g0_0"].verdict == "observed"
    assert found["c0_1"].verdict == "exact"
    assert len(found) == 3 * TRIPLES + SIDE * SIDE


def test_the_lattice_is_sampled_as_if_it_were_alone(answer):
    model = mixed()
    alone = om.model(
        {name: ["0", "1"] for name in model.names[3 * TRIPLES :]},
        [
            ([model.names[v] for v in model.graph.scope_of(f)], np.exp(model.graph.table_values(f)))
            for f in range(2 * TRIPLES, model.graph.factors)
        ],
    )
    other = om.marginals(alone, samples=60, memory=MEMORY, packs=1, lanes=32, seed=2)
    gaps = [
        abs(answer[name].probability[0] - other[name].probability[0])
        / np.hypot(answer[name].standard_error[0], other[name].standard_error[0])
        for name in alone.names
    ]
    # 576 spins: Student's t with 31 degrees passes 9.5 about once in 1e10 draws
    assert max(gaps) < 9.5


def test_a_method_that_is_asked_for_is_used_for_all():
    found = om.marginals(
        mixed(), samples=10, method="gibbs", memory=MEMORY, packs=1, lanes=32, seed=2
    )
    assert "exact" not in found.verdicts()


def test_a_run_that_is_kept_has_all_variables(tmp_path):
    run = tmp_path / "x.run"
    how = {"memory": MEMORY, "packs": 1, "lanes": 32, "seed": 2}
    first = om.marginals(mixed(), samples=20, checkpoint=run, **how)
    assert "exact" not in first.verdicts()
    again = om.resume(run, mixed())
    assert again["c0_0"].probability.tolist() == first["c0_0"].probability.tolist()


def test_one_component_or_an_affordable_whole_is_planned_as_before():
    grid = om.ising_grid(SIDE, SIDE, 0.3, 0.1)
    assert plan_components(grid, Settings(memory=MEMORY, samples=5)).beside is None
    small = om.ising_grid(3, 3, 0.3)
    assert plan_components(small, Settings()).elimination is not None


def test_an_impossible_component_is_a_contradiction():
    model = mixed()
    names = {name: ["0", "1"] for name in (*model.names, "x", "y")}
    factors = [
        ([model.names[v] for v in model.graph.scope_of(f)], np.exp(model.graph.table_values(f)))
        for f in range(model.graph.factors)
    ]
    never = [(["x", "y"], [[1.0, 0.0], [0.0, 1.0]]), (["y", "x"], [[0.0, 1.0], [1.0, 0.0]])]
    impossible = om.model(names, [*factors, *never])
    with pytest.raises(om.ContradictionError):
        om.marginals(impossible, samples=5, memory=MEMORY, packs=1, lanes=32)


def test_doubts_about_a_model_are_told_once():
    doubtful = replace(mixed(), doubts=("a row does not sum to 1",))
    found = om.marginals(doubtful, samples=5, memory=MEMORY, packs=1, lanes=32, seed=2)
    assert "exact" in found.verdicts()
    assert found.about.warnings.count("a row does not sum to 1") == 1


def test_components_are_set_apart_if_there_is_time_to_eliminate_them():
    settings = Settings(method="auto", seconds=100.0, memory=MEMORY)
    with asked_before(60.0):
        split = split_components(mixed(), settings)
        short = replace(settings, seconds=60.0)
        assert split_components(mixed(), short) is None
    assert split is not None
    assert split.easy.graph.variables == 3 * TRIPLES


def test_components_are_numbered_by_their_first_variables():
    builder = Builder([2] * 5)
    builder.add_factors([(4, 1), (2, 0)], builder.add_tables(np.zeros((2, 4))))
    assert components(builder.build()).tolist() == [0, 1, 0, 2, 1]
    assert components(builder.build(), np.array([True, False])).tolist() == [0, 1, 2, 3, 1]
