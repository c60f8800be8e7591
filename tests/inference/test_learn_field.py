"""Tables of Markov random fields from rows: slopes, closed forms, weights that made the rows."""

import itertools
import math

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact import families
from orbitmc.inference import _learn as rows_of_data
from orbitmc.inference import _learn_field as learning
from tests.cli.commands import orbitmc
from tests.inference.test_learn import random_rows


def random_field(seed, zeros=False):
    """Four variables of two or three values, with pairs in a ring and one table for three."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, 4).tolist()
    names = [f"v{k}" for k in range(4)]
    scopes = [[k, (k + 1) % 4] for k in range(4)] + [rng.permutation(4)[:3].tolist()]
    factors = []
    for scope in scopes:
        table = np.exp(0.7 * rng.standard_normal([sizes[v] for v in scope]))
        if zeros and len(scope) == 3:
            table.reshape(-1)[rng.integers(table.size)] = 0.0
        factors.append(([names[v] for v in scope], table))
    domains = {n: [f"{n}.{k}" for k in range(s)] for n, s in zip(names, sizes, strict=True)}
    return om.model(domains, factors)


def states_of(model):
    return np.array(list(itertools.product(*(range(len(v)) for v in model.values))))


def log_weights(model, states):
    graph = model.graph
    return sum(
        graph.table_values(f)[tuple(states[:, v] for v in graph.scope_of(f))]
        for f in range(graph.factors)
    )


def possible_rows(model, seed, count=30, holes=0.0):
    """Rows that the model does not rule out."""
    rng = np.random.default_rng(seed)
    states = states_of(model)
    chances = np.exp(log_weights(model, states))
    chosen = states[rng.choice(len(states), count, p=chances / chances.sum())]
    return [
        {n: None if rng.random() < holes else model.values[k][row[k]]
         for k, n in enumerate(model.names)}
        for row in chosen
    ]  # fmt: skip


def objective_of(model, rows, method=None):
    parameters = learning._Parameters(model.graph)
    read = rows_of_data.weigh_rows(rows_of_data.read_evidence_rows(model, rows, ()), None)
    return parameters, learning._objective(parameters, read, method, 2**26)


def likelihood_by_enumeration(model, rows):
    """The log-likelihood of rows with holes, and the pseudo-log-likelihood of those without."""
    states = states_of(model)
    weight = np.exp(log_weights(model, states))
    total, pseudo = 0.0, 0.0
    for row in rows:
        fits = np.ones(len(states), bool)
        for k, name in enumerate(model.names):
            if row[name] is not None:
                fits &= states[:, k] == model.values[k].index(row[name])
        total += math.log(weight[fits].sum() / weight.sum())
        if fits.sum() == 1:
            (own,) = np.flatnonzero(fits)
            for k in range(len(model.names)):
                others = np.delete(states, k, axis=1)
                same = (others == others[own]).all(axis=1)
                pseudo += math.log(weight[own] / weight[same].sum())
    return total, pseudo


@pytest.mark.parametrize("first", range(0, 300, 60))
def test_values_are_sums_over_all_states_and_slopes_are_finite_differences(first):
    for seed in range(first, first + 60):
        model = random_field(seed, zeros=seed % 4 == 0)
        holes = 0.3 * (seed % 3 == 0)
        rows = possible_rows(model, seed, holes=holes)
        method = "pseudo-likelihood" if seed % 3 == 1 else None
        parameters, objective = objective_of(model, rows, method)
        value, slopes = objective.evaluate(parameters.values)
        right = likelihood_by_enumeration(model, rows)[method is not None]
        assert value == pytest.approx(right, rel=1e-10)
        rng = np.random.default_rng(seed)
        for _ in range(3):
            along = rng.standard_normal(parameters.count)
            low, high = (
                objective.evaluate(parameters.values + h * along)[0] for h in (-1e-5, 1e-5)
            )
            assert slopes @ along == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-5)


def test_slopes_of_another_objective_are_no_finite_differences():
    """What the test above is there to find."""
    model = random_field(1)
    rows = possible_rows(model, 1)
    parameters, likelihood = objective_of(model, rows)
    _, pseudo = objective_of(model, rows, "pseudo-likelihood")
    own, other = (o.evaluate(parameters.values)[1] for o in (likelihood, pseudo))
    assert np.abs(own - other).max() > 1.0


def test_a_saturated_field_has_the_frequencies_of_the_rows():
    domains = {"a": ["0", "1"], "b": ["0", "1", "2"]}
    model = om.model(domains, [(["a", "b"], np.ones((2, 3))), (["a"], [1, 1]), (["b"], [1, 1, 1])])
    counts = np.array([[5, 2, 1], [3, 9, 4]])
    rows = [{"a": str(i), "b": str(j)} for (i, j), n in np.ndenumerate(counts) for _ in range(n)]
    learned = om.learn(model, rows, prior=0)
    assert learned.method == "likelihood"
    assert learned.converged
    joint = om.joint(learned, ["a", "b"]).probability
    np.testing.assert_allclose(joint, counts / counts.sum(), atol=1e-6)
    assert learned.log_likelihood == pytest.approx(
        float((counts * np.log(counts / counts.sum())).sum()), abs=1e-6
    )


def test_a_tree_has_the_closed_form_of_trees():
    """P(a, b) P(b, c) / P(b), from the frequencies of pairs."""
    rng = np.random.default_rng(5)
    domains = {name: ["x", "y", "z"] for name in "abc"}
    pairs = [(["a", "b"], np.ones((3, 3))), (["b", "c"], np.ones((3, 3)))]
    model = om.model(domains, pairs)
    table = rng.integers(0, 3, (200, 3))
    table[:, 1] = (table[:, 0] + (rng.random(200) < 0.3)) % 3
    rows = [dict(zip("abc", ["xyz"[k] for k in row], strict=True)) for row in table.tolist()]
    learned = om.learn(model, rows, prior=0)
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, tuple(table.T), 1 / 200)
    first, second = counts.sum(axis=2), counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        right = np.nan_to_num(first[:, :, None] * second[None] / second.sum(axis=1)[None, :, None])
    joint = om.joint(learned, ["a", "b", "c"]).probability
    np.testing.assert_allclose(joint, right, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_weights_that_generated_the_rows_are_found_within_their_errors(seed):
    """Differences over errors: as many log-weights as a table has; 5.5 errors are beyond 1e-6."""
    model = random_field(seed)
    rows = possible_rows(model, seed, count=20_000)
    learned = om.learn(model, rows, prior=1e-3)
    parameters = learning._Parameters(learned.graph)
    truth = learning._Parameters(model.graph).values
    away = parameters.values - truth
    information, along = np.linalg.eigh(20_000 * parameters.covariance())
    seen = information > learning.FLAT * information.max()
    distance = (along[:, seen].T @ away) * np.sqrt(information[seen])
    assert np.abs(distance).max() < 5.5
    assert 0.3 < np.mean(distance**2) < 2.5
    assert all((error > 0).all() for error in learned.errors)


def test_factors_that_share_a_table_share_what_is_learned():
    grid = om.ising_grid(3, 3, 0.4)
    drawn = om.draws(grid, samples=100, packs=1, lanes=32, seed=1, method="exact")
    rows = [
        {
            n: domain[k]
            for n, domain, k in zip(drawn.names, drawn.domains().values(), state, strict=True)
        }
        for state in drawn.values.reshape(-1, 9)
    ]
    for method in ("likelihood", "pseudo-likelihood"):
        learned = om.learn(grid, rows, method=method, shared=True)
        tables = [learned.graph.table_values(f) for f in range(learned.graph.factors)]
        assert all((table == tables[0]).all() for table in tables)
        coupling = (tables[0][0, 0] + tables[0][1, 1] - tables[0][0, 1] - tables[0][1, 0]) / 4
        assert coupling == pytest.approx(0.4, abs=0.05)
        assert learned.method == method


def test_states_of_weight_0_stay_there():
    model = random_field(4, zeros=True)
    learned = om.learn(model, possible_rows(model, 4, count=200))
    zeros = np.isneginf(log_weights(model, states_of(model)))
    assert zeros.any()
    np.testing.assert_array_equal(zeros, np.isneginf(log_weights(learned, states_of(model))))
    state = states_of(model)[np.flatnonzero(zeros)[0]]
    row = {n: model.values[k][state[k]] for k, n in enumerate(model.names)}
    for method in ("likelihood", "pseudo-likelihood"):
        with pytest.raises(ContradictionError, match="some rows are impossible"):
            om.learn(model, [row], method=method)


def test_holes_are_summed_over_and_the_likelihood_is_stationary():
    model = random_field(8)
    rows = possible_rows(model, 8, count=100, holes=0.4)
    learned = om.learn(model, rows)
    assert learned.converged
    right, _ = likelihood_by_enumeration(learned, rows)
    assert learned.log_likelihood == pytest.approx(right, rel=1e-9)
    scores = om.inference.log_likelihoods(learned, rows)
    assert scores.sum() == pytest.approx(right, rel=1e-9)
    assert float(om.log_z(learned)) == pytest.approx(0.0, abs=1e-9)


def test_what_is_too_wide_is_learned_by_pseudo_likelihood_and_says_so(monkeypatch):
    monkeypatch.setattr(families, "MOST_ENTRIES", 10)
    model = random_field(3)
    rows = possible_rows(model, 3)
    learned = om.learn(model, rows)
    assert learned.method == "pseudo-likelihood"
    assert "by pseudo-likelihood" in str(learned)
    assert learned.log_likelihood == pytest.approx(
        likelihood_by_enumeration(learned, rows)[1], rel=1e-9
    )
    with pytest.raises(InputError, match="needs rows without holes"):
        om.learn(model, random_rows(model, 3))
    with pytest.raises(LimitError, match="too large"):
        om.learn(model, rows, method="likelihood")
    with pytest.raises(InputError, match="errors are known for the likelihood"):
        learned.errors  # noqa: B018


def test_ctrl_c_gives_the_tables_so_far():
    model = random_field(3)
    steps = []

    def interrupt(step):
        steps.append(step)
        if len(steps) == 2:
            raise KeyboardInterrupt

    learned = om.learn(model, possible_rows(model, 3), watch=interrupt)
    assert learned.interrupted
    assert not learned.converged
    assert learned.iterations == 2
    assert steps[1].objective >= steps[0].objective


def test_no_time_is_refused_in_words():
    model = random_field(3)
    with pytest.raises(LimitError, match="no time for one step"):
        om.learn(model, possible_rows(model, 3), seconds=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"starts": 2}, "starts is for networks"),
        ({"method": "exact"}, "'likelihood' or 'pseudo-likelihood'"),
        ({"prior": -1}, "1 / variance"),
        ({"tolerance": 2}, "tolerance"),
        ({"start": "middle"}, "starts from 'data'"),
    ],
)
def test_what_makes_no_sense_is_refused(options, words):
    model = random_field(1)
    with pytest.raises(InputError, match=words):
        om.learn(model, possible_rows(model, 1), **options)


def test_noisy_gates_are_not_learned():
    values = {name: ["no", "yes"] for name in "abc"}
    pair = (["a", "b"], np.ones((2, 2)))
    gate = om.noisy_or("c", {"a": 0.8, "b": 0.6})
    model = om.model(values, [pair, gate, pair])
    with pytest.raises(InputError, match="noisy gates are not learned"):
        om.learn(model, [dict.fromkeys("abc", "yes")])
    assert om.learn(model.without_helpers(), [dict.fromkeys("abc", "yes")]).converged


def test_models_with_evidence_or_clauses_are_refused():
    model = random_field(1)
    seen = model.given({"v0": "v0.0"})
    with pytest.raises(InputError, match="without evidence"):
        om.learn(seen, [{"v1": "v1.0"}])
    builder = om.graph.Builder([2, 2, 2])
    builder.add_clauses([[0, 1, 2]], [[1, 1, 1]], builder.add_tables([[0.0, 1.0]]))
    clause = om.Model(builder.build(), ("a", "b", "c"), (("no", "yes"),) * 3)
    with pytest.raises(InputError, match="learned for programs"):
        om.learn(clause, [{"a": "yes"}])


def test_rows_may_have_weights():
    model = random_field(2)
    rows = possible_rows(model, 2, count=12)
    weights = np.arange(12) % 4
    often = [row for row, times in zip(rows, weights, strict=True) for _ in range(times)]
    one, other = om.learn(model, rows, weights=weights), om.learn(model, often)
    np.testing.assert_allclose(
        learning._Parameters(one.graph).values, learning._Parameters(other.graph).values, atol=1e-6
    )


def test_the_command_line_learns_a_field(tmp_path):
    model, path, table = random_field(2), tmp_path / "field.uai", tmp_path / "rows.csv"
    rows = possible_rows(model, 2, count=50)
    om.write(model, path)
    read = om.read(path)
    numbers = {n: dict(zip(model.domains()[n], read.domains()[m], strict=True))
               for n, m in zip(model.names, read.names, strict=True)}  # fmt: skip
    lines = [",".join(read.names)]
    lines += [",".join(numbers[n][row[n]] for n in model.names) for row in rows]
    table.write_text("\n".join(lines) + "\n")
    for method, words in ((), "by likelihood"), (("--method", "pseudo"), "by pseudo-likelihood"):
        done = orbitmc("learn", path, table, "-o", tmp_path / "learned.uai", *method)
        assert done.returncode == 0, done.stderr
        assert words in done.stderr
    assert om.read(tmp_path / "learned.uai").graph.factors == model.graph.factors
    done = orbitmc("learn", path, table, "-o", tmp_path / "learned.uai", "--starts", "2")
    assert "starts is for networks" in done.stderr
    held = orbitmc("learn", path, table, "-o", tmp_path / "l.json", "--held-out", table)
    assert "held out: mean log-probability of 50 rows" in held.stderr


def test_equal_tables_of_a_file_are_learned_apart_unless_they_are_to_be_shared(tmp_path):
    path = tmp_path / "field.uai"
    ones, others = "4\n1 1 1 1\n", ("4\n2 2 2 2\n", "4\n3 3 3 3\n")
    head = "MARKOV\n3\n2 2 2\n3\n2 0 1\n2 1 2\n2 0 2\n"
    rng = np.random.default_rng(1)
    rows = [dict(zip("012", map(str, row), strict=True)) for row in rng.integers(0, 2, (30, 3))]
    rows += [{"0": "0", "1": "1", "2": "0"}] * 10
    path.write_text(head + ones + "".join(others))
    apart = om.learn(om.read(path), rows)
    path.write_text(head + 3 * ones)
    equal, shared = om.learn(om.read(path), rows), om.learn(om.read(path), rows, shared=True)
    assert equal.log_likelihood == pytest.approx(apart.log_likelihood, abs=1e-9)
    assert shared.log_likelihood < equal.log_likelihood - 1.0
    assert len(set(shared.graph.table_of.tolist())) == 1
