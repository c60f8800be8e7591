"""Best states and draws by counting: those of elimination, and of the joint law."""

import json
import math
from collections import Counter

import numpy as np
import pytest

import orbitmc as om
from orbitmc import lifted
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.log_weights import exact_log_weight
from orbitmc.lifted import coordinates, counts, states
from tests.cli.commands import orbitmc
from tests.lifted.random_fragments import random_fragment
from tests.lifted.test_counting import SMOKERS, people, read

CLOSE = 1e-9
LOG_ALARM = math.log(2e9)  # so seldom is a frequency beyond Bernstein's bound


def fragment(seed):
    """A random program and whether it is possible; None if it is not."""
    written = random_fragment(seed)
    try:
        logic = read(written.program, written.database, opened=written.opened)
        om.log_z(logic, method="exact")
    except (ContradictionError, InputError):
        return None
    return logic


def weight_of(logic, state):
    """The log-weight of a state that is told in atoms, by the ground program."""
    values = np.zeros(len(logic.model.names), np.int64)
    for table in logic.ground.atoms.values():
        codes = table.unknown()
        names = om.mln.grounding.atom_names(table, codes, logic.ground.universe)
        true = codes[[state[name] == "true" for name in names]]
        variables, numbers = table.literals(true)
        values[variables] = numbers
    return exact_log_weight(logic.model.graph, values)


def best_outcome(seed):
    """Compare the best state with the one of elimination; says what became of a program."""
    logic = fragment(seed)
    if logic is None:
        return "impossible"
    exact, counted = om.best(logic, method="exact"), om.best(logic, method="counting")
    assert counted.proven
    assert counted[0].log_weight == pytest.approx(exact[0].log_weight, abs=CLOSE)
    assert counted.bound == counted[0].log_weight
    assert weight_of(logic, counted[0]) == pytest.approx(exact[0].log_weight, abs=CLOSE)
    assert list(counted[0]) == list(exact[0])
    return "counted"


@pytest.mark.parametrize("first", range(5000, 5240, 60))
def test_the_best_state_is_that_of_elimination(first):
    outcomes = Counter(best_outcome(seed) for seed in range(first, first + 60))
    assert outcomes["counted"] >= 40


def test_best_states_of_trees_are_those_of_elimination(monkeypatch):
    trees = []
    best_tree = states.best_tree
    monkeypatch.setattr(states, "best_tree", lambda tree: trees.append(1) or best_tree(tree))
    monkeypatch.setattr(coordinates, "SECONDS_PER_STATE", math.inf)
    outcomes = Counter(best_outcome(seed) for seed in range(5300, 5380))
    assert outcomes["counted"] >= 50
    assert trees


def test_a_best_state_that_counts_ways_to_deal_would_be_seen(monkeypatch):
    """With entropy, counts near the middle look better than the best state is."""

    def best_with_entropy(problem, **_):
        rows = all_counts(problem)
        weights = [counts._value(problem._replace(entropy=1.0), row) for row in rows]
        best = rows[int(np.argmax(weights))]
        return best, counts._value(problem, best)

    monkeypatch.setattr(states, "best_counts", best_with_entropy)
    with pytest.raises(AssertionError):
        [best_outcome(seed) for seed in range(5000, 5060)]


def random_problem(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=rng.integers(1, 4)) + 1
    block = np.repeat(np.arange(len(sizes)), sizes)
    quad = rng.normal(size=(len(block), len(block))) * rng.choice([0.1, 1.0])
    apart = rng.random((len(block), len(block))) < 0.05
    apart = apart | apart.T
    quad = np.where(apart, 0.0, quad + quad.T)
    total = rng.integers(1, 7, size=len(sizes))
    return counts.CountProblem(block, total, rng.normal(size=len(block)), quad, apart, 0.0)


def all_counts(problem):
    """Every state, by listing."""
    rows = [()]
    for block, total in enumerate(problem.total.tolist()):
        inside = int((problem.block == block).sum())
        parts = [p for p in np.ndindex(*(total + 1,) * inside) if sum(p) == total]
        rows = [(*row, *part) for row in rows for part in parts]
    return np.array(rows)


def test_the_largest_counts_are_those_of_all_states():
    checked = 0
    for seed in range(200):
        problem = random_problem(seed)
        values = [counts._value(problem, row) for row in all_counts(problem)]
        if not math.isfinite(max(values)):
            with pytest.raises(ContradictionError):
                counts.best_counts(problem)
            continue
        for leaf in (counts.FEW, math.log(2)):
            best, value = counts.best_counts(problem, leaf=leaf)
            assert value == pytest.approx(max(values), abs=1e-10)
            assert counts._value(problem, best) == value
        checked += 1
    assert checked > 150


def test_a_bound_that_is_too_low_would_be_seen(monkeypatch):
    """Dropping boxes that might hold more than the best loses the largest state somewhere."""
    prepare = counts._prepare
    monkeypatch.setattr(
        counts,
        "_prepare",
        lambda problem: (
            prepare(problem)[0]._replace(slack=math.inf, reference=all_counts(problem)[0]),
            prepare(problem)[1],
        ),
    )
    wrong = 0
    for seed in range(40):
        problem = random_problem(seed)
        values = [counts._value(problem, row) for row in all_counts(problem)]
        if math.isfinite(max(values)) and math.isfinite(values[0]):
            wrong += counts.best_counts(problem)[1] < max(values) - 1e-6
    assert wrong > 10


# Draws.


def joint_deviation(seed, count=4000):
    """How far drawn joint frequencies of three atoms are from their law, by Bernstein's bound."""
    logic = fragment(seed)
    if logic is None:
        return None
    names = list(om.marginals(logic, method="exact"))
    some = np.random.default_rng(seed).permutation(names)[:3].tolist()
    law = om.joint(logic, some, method="exact").probability
    drawn = om.draws(logic, method="counting", chains=2, samples=count // 2, seed=seed)
    assert drawn.verdict == "exact"
    places = [drawn.names.index(name) for name in some]
    flat = drawn.values.reshape(count, -1)[:, places]
    seen = np.zeros(law.shape)
    np.add.at(seen, tuple(flat.T.astype(np.int64)), 1.0 / count)
    bound = np.sqrt(2 * law * (1 - law) * LOG_ALARM / count) + 2 * LOG_ALARM / (3 * count)
    assert not seen[law < 1e-14].any()
    state = dict(
        zip(drawn.names, ("true" if v else "false" for v in drawn.values[0, 0]), strict=True)
    )
    if len(drawn.names) == sum(t.size for t in logic.ground.atoms.values()):
        assert drawn.log_weight[0, 0] == pytest.approx(weight_of(logic, state), abs=CLOSE)
    return float(np.abs((seen - law) / bound).max())


@pytest.mark.parametrize("first", [6000, 6040])
def test_drawn_atoms_follow_their_joint_law(first):
    """A thousand frequencies at most: a false alarm has a chance below 1e-6."""
    scores = [joint_deviation(seed) for seed in range(first, first + 40)]
    assert sum(score is not None for score in scores) > 25
    assert max(filter(None, scores)) < 1


def test_draws_of_trees_follow_their_joint_law(monkeypatch):
    monkeypatch.setattr(coordinates, "SECONDS_PER_STATE", math.inf)
    scores = [joint_deviation(seed) for seed in range(6100, 6130)]
    assert max(filter(None, scores)) < 1


def test_atoms_of_constants_that_are_all_written_out_are_drawn_anew_for_each_state():
    """Nothing is left to count then. Bounds of seven frequencies: a false alarm in 1e8."""
    program = "thing = {A, B}\nS(thing, thing)\nBlue(thing)\nRain\n0.4 S(x,y) ^ S(y,z)\n"
    logic = read(program, "0.3 Blue(A)\n", opened=["S", "Blue", "Rain"])
    chance = {name: m.probability[-1] for name, m in om.marginals(logic, method="exact").items()}
    drawn = om.draws(logic, method="counting", chains=2, samples=4000, seed=1)
    true = drawn.values.reshape(8000, -1).mean(axis=0)
    law = np.array([chance[name] for name in drawn.names])
    assert len(law) == 7
    assert np.abs(true - law).max() < math.sqrt(math.log(1e9) / (2 * 8000))  # Hoeffding


def test_pairs_drawn_without_their_cells_would_be_seen(monkeypatch):
    read_pairs = states._AtomReader._choose_pairs

    def choose_blindly(self, case, key, pairs, cells, choose):
        return read_pairs(self, case, key, pairs, [np.zeros_like(part) for part in cells], choose)

    monkeypatch.setattr(states._AtomReader, "_choose_pairs", choose_blindly)
    with pytest.raises(AssertionError):
        test_drawn_atoms_follow_their_joint_law(6000)


def test_counts_are_drawn_from_far_modes_as_they_weigh():
    """Both modes of 300 people who all smoke or all do not, by a binomial law of the modes."""
    logic = read(
        people(300) + "Smokes(p)\n".replace("p", "person") + "F(person,person)\n"
        "0.05 F(x,y) => (Smokes(x) <=> Smokes(y))\n0.002 Smokes(x)\n"
    )
    exact = om.marginals(logic, query="Smokes(P0)")["Smokes(P0)"].probability[0]
    drawn = om.draws(logic.asking("Smokes"), chains=1, samples=4000, seed=3)
    share = drawn.values.mean(axis=(0, 1))
    spread = drawn.values[0].mean(axis=1).std()
    assert spread > 0.4  # whole towns smoke, or none
    assert abs(share.mean() - exact) < 6 * spread / math.sqrt(4000)


# How it is asked.


def test_large_programs_have_best_states_and_draws_without_groundings():
    logic = read(people(3000) + SMOKERS, "Smokes(P0)\n!Smokes(P1)\n", opened=["Smokes"])
    best = om.best(logic)
    assert best.about.method == "counting"
    assert best.about.warnings == ("name atoms of Friends to see them: they are too many",)
    assert best.verdict() == "proven"
    assert best[0]["Smokes(P0)"] == "true"
    assert not any(name.startswith("Friends") for name in best[0])
    named = om.best(logic, query="Friends(P0,x);Smokes(P1)")
    assert len(named[0]) == 3001
    drawn = om.draws(
        logic.asking("Smokes(P5);Friends(P5,P6);Friends(P6,P5)"), chains=2, samples=300
    )
    assert drawn.names == ("Smokes(P5)", "Friends(P5,P6)", "Friends(P6,P5)")
    assert drawn.about.method == "counting"
    assert np.isnan(drawn.log_weight).all()
    assert not logic.is_ground
    again = om.draws(logic, query="Smokes(P5)", chains=2, samples=300, seed=0)
    assert again.about.samples == 300


def test_the_best_state_of_many_people_is_at_least_as_heavy_as_others():
    """Its weight is that of the counts: all smoke, or none, whatever is heavier."""
    logic = read(
        people(2000) + "Smokes(person)\nF(person,person)\n"
        "0.001 F(x,y) => (Smokes(x) <=> Smokes(y))\n0.5 Smokes(x)\n"
    )
    best = om.best(logic, query="Smokes")
    assert set(best[0].values()) == {"true"}
    assert best[0].log_weight == pytest.approx(0.5 * 2000 + 0.001 * 2000**2, rel=1e-12)


def test_everybody_may_have_evidence_of_their_own():
    facts = "\n".join(f"{0.1 + 0.8 * n / 300:.4f} Smokes(P{n})" for n in range(300))
    rules = "Smokes(person)\nF(person,person)\n-0.001 F(x,y) ^ Smokes(x) ^ Smokes(y)\n"
    logic = read(people(300) + rules, facts, opened=["Smokes"])
    best = om.best(logic.asking("Smokes"))
    assert best.about.method == "counting"
    smoke = [best[0][f"Smokes(P{n})"] == "true" for n in range(300)]
    assert smoke == sorted(smoke)
    drawn = om.draws(logic.asking("Smokes"), chains=1, samples=40)
    marginals = om.marginals(logic, query="Smokes").columns.probability
    error = np.sqrt(marginals * (1 - marginals) / 40)
    assert np.abs((drawn.values.mean(axis=(0, 1)) - marginals) / error).max() < 6.5


def test_what_counting_cannot_say_of_states_is_refused():
    logic = read(people(30) + SMOKERS)
    with pytest.raises(InputError, match="counting finds one best state"):
        om.best(logic, k=2, method="counting")
    with pytest.raises(InputError, match="draws, best states and numbers of true groundings"):
        om.best(om.ising_grid(2, 2, 0.1), method="counting")
    with pytest.raises(LimitError, match="draw fewer, or name the atoms to draw"):
        om.draws(logic, method="counting", memory=2**16)
    pairs = read(people(200) + "F(person,person)\n0.1 F(x,y) => F(y,x)\n")
    with pytest.raises(InputError, match="name atoms of F: they are too many to tell them all"):
        om.best(pairs, method="counting")
    other = read(people(8) + SMOKERS + "0.1 Friends(x,y) ^ Friends(y,z) => Friends(x,z)\n")
    with pytest.raises(InputError, match="rule 3"):
        om.best(other, method="counting")


def test_too_many_counts_are_refused(monkeypatch):
    monkeypatch.setattr(states, "MOST_STATES", 0.0)
    logic = read(people(30) + "Smokes(person)\n1 Smokes(x)\n-0.1 Smokes(x) ^ Smokes(y)\n")
    with pytest.raises(LimitError, match="counting finds no best state"):
        om.best(logic, method="counting")


def test_the_setting_of_draws_is_the_one_that_was_counted():
    logic = read(people(4) + SMOKERS)
    counted = logic.source.lifting.count()
    rng = np.random.default_rng(0)
    (truth,) = lifted.draw_atoms(counted, [("Smokes", np.arange(4))], rng, 5)
    assert truth.shape == (5, 4)


@pytest.fixture
def town(tmp_path):
    path = tmp_path / "town.mln"
    path.write_text(people(3000) + SMOKERS.lstrip())
    return str(path)


def test_best_on_the_command_line(town):
    done = orbitmc("best", town, "--tell", "Smokes")
    assert done.returncode == 0
    assert "counting (the best counts of cells instead of 9,006,000 atoms)" in done.stderr
    assert "proven" in done.stderr


def test_atoms_of_a_large_program_are_not_summed_out(town):
    done = orbitmc("best", town, "--query", "Smokes")
    assert done.returncode == 5
    assert "9,006,000 unknown atoms is too large" in done.stderr
    assert "--tell" in done.stderr


def test_draw_on_the_command_line(town):
    done = orbitmc(
        "draw", town, "--query", "Smokes(P1);Friends(P1,P2)", "-n", "8", "--json", "--seconds", "60"
    )
    drawn = json.loads(done.stdout)
    assert drawn["method"] == "counting"
    assert drawn["verdict"] == "exact"
    assert drawn["names"] == ["Smokes(P1)", "Friends(P1,P2)"]
    assert np.array(drawn["values"]).shape == (8, 1, 2)
    assert drawn["log_weight"] == [[None]] * 8
