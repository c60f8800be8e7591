"""Errors of exact answers that come from learned tables: derivatives, posteriors, coverage."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.exact.families import FamilyCounter, families_of
from orbitmc.exact.templates import Elimination
from orbitmc.inference import _learn as learning
from orbitmc.inference import table_errors
from tests.cli.commands import orbitmc
from tests.inference.test_learn import random_network, random_rows


def joint_of(model, tables):
    """The probabilities of all states, an axis for each variable."""
    sizes = [len(values) for values in model.values]
    states = np.array(list(itertools.product(*map(range, sizes))))
    weight = np.ones(len(states))
    for family, table in zip(families_of(model.graph), tables, strict=True):
        weight *= table[tuple(states[:, v] for v in family.scope)]
    return weight.reshape(sizes)


def tables_of(model):
    return [np.exp(model.graph.table_values(f.factor)) for f in families_of(model.graph)]


def asked_of(joint, evidence, asked):
    """The probability of weights of values, given others, by sums over all states."""

    def total(weights):
        masses = joint
        for v, weight in weights.items():
            shape = [1] * joint.ndim
            shape[v] = -1
            masses = masses * weight.reshape(shape)
        return masses.sum()

    return total(table_errors._both(evidence, asked)) / total(evidence)


def moved(model, tables, entries, variable, row, value, step):
    """Tables after a step of the log-odds of one entry, in all tables that are the same."""
    after = list(tables)
    for v, first in enumerate(entries.same_as):
        if first == variable:
            axis = entries.families[v].axis
            last = np.moveaxis(tables[v], axis, -1)
            flat = last.reshape(-1, last.shape[-1]).copy()
            flat[row, value] *= np.exp(step)
            flat[row] /= flat[row].sum()
            after[v] = np.moveaxis(flat.reshape(last.shape), -1, axis)
    return after


def question(model, seed):
    """Evidence, hard or soft, and something to ask about one or two other variables."""
    rng = np.random.default_rng(seed + 9000)
    order = rng.permutation(len(model.names)).tolist()
    sizes = [len(values) for values in model.values]
    first, second, third, fourth = order[:4]
    evidence = {first: np.eye(sizes[first])[rng.integers(sizes[first])]}
    if seed % 2:
        evidence[second] = rng.random(sizes[second]) + 0.1
    asked = {third: np.eye(sizes[third])[rng.integers(sizes[third])]}
    if seed % 3 == 0:
        asked[fourth] = np.eye(sizes[fourth])[0]
    return evidence, asked


def learned_network(seed, **options):
    model = random_network(seed)
    return om.learn(model, random_rows(model, seed, count=40, holes=0.3 * (seed % 2)), **options)


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_derivatives_are_finite_differences(first):
    for seed in range(first, first + 50):
        learned = learned_network(seed, iterations=3)
        evidence, asked = question(learned, seed)
        probability, by_entry = table_errors.derivatives(learned, evidence, [asked])
        tables, entries = tables_of(learned), table_errors.free_entries(learned)
        right = asked_of(joint_of(learned, tables), evidence, asked)
        assert probability[0] == pytest.approx(right, abs=1e-12)
        place = 0
        for variable, free in entries.free.items():
            for row, value in zip(*np.nonzero(free), strict=True):
                low, high = (
                    asked_of(
                        joint_of(learned, moved(learned, tables, entries, variable, row, value, h)),
                        evidence,
                        asked,
                    )
                    for h in (-1e-4, 1e-4)
                )
                slope = (high - low) / 2e-4
                assert by_entry[place, 0] == pytest.approx(slope, abs=1e-7)
                place += 1
        assert place == entries.count


def test_tied_tables_move_together_and_fixed_ones_do_not():
    steps = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}
    rng = np.random.default_rng(4)
    rows = [dict(zip(steps, rng.choice(["x", "y"], 4, p=[0.3, 0.7]), strict=True))
            for _ in range(60)]  # fmt: skip
    learned = om.learn(steps, rows, tied=[["d", "b"]], fixed=["c"])
    entries = table_errors.free_entries(learned)
    assert learned.precision.same_as == (0, 3, -1, 3)
    assert learned.precision.counts[3].sum() == pytest.approx(2 * 60 + 1)
    asked = {3: np.array([1.0, 0.0])}
    _, by_entry = table_errors.derivatives(learned, {}, [asked])
    tables = tables_of(learned)
    place = entries.first[3]
    row, value = np.argwhere(entries.free[3])[0]
    low, high = (
        asked_of(joint_of(learned, moved(learned, tables, entries, 3, row, value, h)), {}, asked)
        for h in (-1e-4, 1e-4)
    )
    assert by_entry[place, 0] == pytest.approx((high - low) / 2e-4, abs=1e-8)
    assert not learned.errors["c"].any()


def posterior_tables(learned, rng):
    """Tables from the posterior of complete rows: Dirichlet, row by row."""
    tables = []
    for v, family in enumerate(families_of(learned.graph)):
        counts = learned.counts[learned.names[v]]
        shape = counts.shape
        alpha = (counts + learned.prior / counts.size).reshape(-1, shape[-1])
        drawn = np.array([rng.dirichlet(row) for row in alpha])
        tables.append(np.moveaxis(drawn.reshape(shape), -1, family.axis))
    return tables


def sampled_network(seed, rows, holes=0.0, variables=5):
    """A network, and rows drawn from it, with values missing by chance."""
    model = random_network(seed, variables)
    drawn = om.draws(model, samples=rows, packs=1, lanes=32, seed=seed, method="exact")
    states = drawn.values.reshape(-1, drawn.values.shape[-1])[:rows]
    rng = np.random.default_rng(seed + 1000)  # holes must not follow the random draws
    missing = rng.random(states.shape) < holes
    named = list(drawn.domains().items())
    table = [
        {n: None if gone else domain[k]
         for (n, domain), k, gone in zip(named, state, lost, strict=True)}
        for state, lost in zip(states, missing, strict=True)
    ]  # fmt: skip
    return model, table


@pytest.mark.parametrize("seed", range(6))
def test_errors_are_those_of_the_posterior_where_rows_are_many(seed):
    """20,000 rows: the posterior is nearly normal. 2,000 draws give a spread to within 1.6 %.

    Five such errors and half a per cent of curvature: a false alarm is less likely than 1e-6.
    """
    model, rows = sampled_network(seed, 20_000)
    learned = om.learn(model, rows)
    evidence, asked = question(learned, seed)
    spread = table_errors.spread_of(learned, *table_errors.derivatives(learned, evidence, [asked]))
    rng = np.random.default_rng(seed)
    draws = [
        asked_of(joint_of(learned, posterior_tables(learned, rng)), evidence, asked)
        for _ in range(2000)
    ]
    ratio = spread.standard_error[0] / np.std(draws)
    assert abs(ratio - 1.0) < 5 / np.sqrt(2 * 2000) + 0.005, ratio


def test_errors_without_the_covariance_within_a_row_are_not_those_of_the_posterior():
    """What the test above is there to find: entries of a row cannot all move by themselves."""
    model, rows = sampled_network(0, 20_000)
    learned = om.learn(model, rows)
    evidence, asked = question(learned, 0)
    _, by_entry = table_errors.derivatives(learned, evidence, [asked])
    right = np.sqrt(table_errors.variances(learned, by_entry))[0]
    entries = table_errors.free_entries(learned)
    alone = 0.0
    for variable, table in entries.tables.items():
        derivative = entries.of_table(variable, by_entry)[:, :, 0]
        rows_behind = learned.precision.counts[variable][:, None]
        alone += (derivative**2 / (table * (1 - table) * rows_behind)).sum()
    assert abs(np.sqrt(alone) / right - 1.0) > 0.1


def test_an_entry_has_the_error_of_its_dirichlet_distribution():
    model, rows = sampled_network(2, 50)
    learned = om.learn(model, rows)
    for name, table in learned.tables.items():
        total = learned.counts[name].sum(axis=-1, keepdims=True) + (
            learned.prior / table.size * table.shape[-1]
        )
        right = np.sqrt(table * (1 - table) / (total + 1))
        np.testing.assert_allclose(learned.errors[name], right, rtol=1e-9)


def test_rows_without_holes_give_the_same_information_either_way():
    """One row of 301 says nothing: what it hides, from draws, is all that is not exact."""
    model, rows = sampled_network(3, 300)
    complete = om.learn(model, rows)
    hole = om.learn(model, [*rows, dict.fromkeys(model.names)], tolerance=1e-12)
    assert complete.precision.information is None
    assert hole.precision.information is not None
    for name in model.names:
        np.testing.assert_allclose(hole.tables[name], complete.tables[name], rtol=1e-6)
        np.testing.assert_allclose(hole.errors[name], complete.errors[name], rtol=2e-3)


def log_posterior(learned, table):
    """The log-posterior by sums over all states, as a function of steps of all entries."""
    entries, tables = table_errors.free_entries(learned), tables_of(learned)
    sizes = [len(values) for values in learned.values]
    states = np.array(list(itertools.product(*map(range, sizes))))
    fits = np.ones((len(table), len(states)), bool)
    for k, name in enumerate(learned.names):
        for row, said in enumerate(table):
            if said[name] is not None:
                fits[row] &= states[:, k] == learned.values[k].index(said[name])
    places = [(v, *place) for v, free in entries.free.items() for place in np.argwhere(free)]

    def value(steps):
        after = tables
        for (variable, row, chosen), step in zip(places, steps, strict=True):
            if step:
                after = moved(learned, after, entries, variable, row, chosen, step)
        prior = sum(learned.prior / t.size * np.log(t).sum() for t in after)
        return np.log(fits @ joint_of(learned, after).reshape(-1)).sum() + prior

    return value, len(places)


def second_derivatives(value, count, step=1e-3):
    """By differences, two entries at a time."""
    matrix = np.zeros((count, count))
    for i, j in itertools.combinations_with_replacement(range(count), 2):
        total = 0.0
        for a, b in itertools.product((-1, 1), repeat=2):
            steps = np.zeros(count)
            steps[i] += a * step
            steps[j] += b * step
            total += a * b * value(steps)
        matrix[i, j] = matrix[j, i] = total / (4 * step**2)
    return matrix


@pytest.mark.parametrize("seed", range(8))
def test_errors_with_holes_come_from_the_second_derivatives_of_the_posterior(seed):
    """What rows hide is drawn: errors are within 5 % of those of second derivatives."""
    model, table = sampled_network(seed, 150, 1 / 3, variables=4)
    learned = om.learn(model, table, tolerance=1e-12)
    value, count = log_posterior(learned, table)
    entries = table_errors.free_entries(learned)
    one_row = {v: np.ones(len(t)) for v, t in entries.tables.items()}
    information = entries.information(one_row) - second_derivatives(value, count)
    evidence, asked = question(learned, seed)
    _, slopes = table_errors.derivatives(learned, evidence, [asked])
    right = slopes[:, 0] @ np.linalg.solve(information, slopes[:, 0])
    ours = table_errors.variances(learned, slopes)[0]
    assert np.sqrt(ours / right) == pytest.approx(1.0, abs=0.05)


def test_draws_of_what_is_hidden_have_its_distribution():
    """40,000 draws of each of two rows; five errors of a share: a false alarm below 1e-6 each."""
    model = random_network(7)
    rows = [dict.fromkeys(model.names), dict.fromkeys(model.names)]
    rows[1][model.names[0]] = model.values[0][1]
    read = learning.read_evidence_rows(model, rows, ())
    parts = families_of(model.graph)
    counting = FamilyCounter(
        model.graph.cardinality.tolist(), [family.scope for family in parts], read, 2**26
    )
    joint = joint_of(model, tables_of(model))
    for number, batch in enumerate(counting.batches):
        log_tables = [model.graph.table_values(family.factor) for family in parts]
        elimination = Elimination(counting._template(number, log_tables))
        _, upward, _ = counting._upward(elimination, batch, batch.rows)
        drawn = elimination.draw(upward, len(batch.rows), 40_000, np.random.default_rng(1))
        for column, row in enumerate(batch.rows):
            given = joint.copy()
            if row == 1:
                given[np.arange(len(given)) != 1] = 0.0
            given /= given.sum()
            values = [drawn[elimination.template.place[v]][:, column] if v in
                      elimination.template.place else np.ones(40_000, int)
                      for v in range(len(model.names))]  # fmt: skip
            shares = np.zeros_like(joint)
            np.add.at(shares, tuple(values), 1 / 40_000)
            error = np.sqrt(given * (1 - given) / 40_000) + 1e-9
            assert (np.abs(shares - given) / error).max() < 5.5


def coverage(networks, rows, holes, *changes):
    """How many 95 % intervals hold the truth, one number from each network; by each change."""
    covered = np.zeros(len(changes), int)
    for seed in range(networks):
        model, table = sampled_network(seed, rows, holes)
        learned = om.learn(model, table)
        evidence, asked = question(learned, seed)
        truth = asked_of(joint_of(model, tables_of(model)), evidence, asked)
        for k, change in enumerate(changes):
            changed = change(learned)
            spread = table_errors.spread_of(
                changed, *table_errors.derivatives(changed, evidence, [asked])
            )
            covered[k] += bool(spread.low[0] <= truth <= spread.high[0])
    return covered


def is_far(covered, networks):
    """Whether a true coverage from 92 to 97 % would give such a number less than once in 10**6."""
    return binom.cdf(covered, networks, 0.92) < 5e-7 or binom.sf(covered - 1, networks, 0.97) < 5e-7


def as_it_is(learned):
    return learned


def forget_holes(learned):
    """Expected counts as if they had been seen."""
    return replace(learned, precision=replace(learned.precision, information=None))


@pytest.mark.parametrize("rows", [100, 500])
def test_intervals_cover_the_truth(rows):
    """Fixed seeds; true coverages from 92 to 97 % alarm less than once in a million."""
    (covered,) = coverage(600, rows, 0.0, as_it_is)
    assert not is_far(covered, 600)
    assert 0.92 <= covered / 600 <= 0.97


def test_intervals_cover_the_truth_where_a_third_is_missing():
    """As above; intervals that forget what is missing do not: they would be found out."""
    covered, forgetful = coverage(500, 300, 1 / 3, as_it_is, forget_holes)
    assert not is_far(covered, 500)
    assert 0.92 <= covered / 500 <= 0.97
    assert forgetful / 500 < 0.92


# What people see of it.


@pytest.fixture(scope="module")
def learned():
    model, table = sampled_network(11, 200, 0.2)
    return om.learn(model, table)


def test_a_learned_network_is_a_model_in_every_question(learned):
    name, other = learned.names[:2]
    value = learned.domains()[name][0]
    assert isinstance(learned, om.Model)
    assert om.marginals(learned)[name].standard_error.all()
    assert om.joint(learned, [name, other]).standard_error.all()
    assert om.probability(learned, f"{name} == '{value}'").standard_error > 0
    assert len(om.draws(learned, samples=5))
    assert om.best(learned).proven
    assert float(om.log_z(learned)) == pytest.approx(0.0, abs=1e-9)
    assert len(om.sensitivity(learned, f"{name} == '{value}'"))
    assert om.overview(learned.model) is not None


def test_all_questions_agree_on_one_error(learned):
    name, other = learned.names[0], learned.names[1]
    value, seen = learned.domains()[name][0], learned.domains()[other][0]
    marginal = om.marginals(learned, {other: seen})[name]
    joint = om.joint(learned, [name], {other: seen})
    event = om.probability(learned, f"{name} == '{value}'", {other: seen})
    given = om.probability(learned, f"{name} == '{value}'", given=f"{other} == '{seen}'")
    for number in (joint.standard_error[0], event.standard_error, given.standard_error):
        assert number == pytest.approx(marginal.standard_error[0], rel=1e-9)
    either = om.probability(learned, f"{name} == '{value}' or {other} == '{seen}'")
    neither = om.probability(learned, f"{name} != '{value}' and {other} != '{seen}'")
    assert either.standard_error == pytest.approx(neither.standard_error, rel=1e-9)


def test_observed_values_and_certain_events_have_no_error(learned):
    name, value = learned.names[0], learned.domains()[learned.names[0]][0]
    seen = om.marginals(learned, {name: value})[name]
    assert not seen.standard_error.any()
    assert (seen.low == seen.probability).all()
    sure = om.probability(learned, f"{name} == '{value}'", {name: value})
    assert (sure.value, sure.standard_error, sure.low) == (1.0, 0.0, 1.0)


def test_models_that_are_changed_forget_how_sure_they_were(learned):
    assert learned.at(2.0).precision is None
    assert not isinstance(learned.at(2.0), om.Learned)
    assert learned.given({learned.names[0]: learned.values[0][0]}).precision is None


def test_sampled_answers_say_which_errors_they_have(learned):
    about = om.marginals(learned, method="gibbs", samples=20).about
    assert (
        "± is that of sampling, that of tables learned from 200 rows is not in it" in about.reason
    )
    assert not about.errors_from


def test_too_many_numbers_are_answered_without_errors(learned, monkeypatch):
    monkeypatch.setattr(table_errors, "MOST_WORK", 10)
    answer = om.marginals(learned)
    assert not answer.columns.standard_error.any()
    assert not answer.about.errors_from
    assert "is not known: " in answer.about.warnings[0]


def test_too_many_entries_are_learned_without_errors(monkeypatch):
    monkeypatch.setattr(learning, "MOST_PARAMETERS", 3)
    model, table = sampled_network(11, 50, 0.2)
    learned = om.learn(model, table)
    assert learned.precision is None
    assert "which is known for up to 3" in om.marginals(learned).about.warnings[0]
    with pytest.raises(InputError, match="how sure the tables are is not known"):
        learned.errors  # noqa: B018


def test_every_view_of_an_answer_marks_where_its_errors_come_from(learned, tmp_path):
    answer = om.marginals(learned)
    source = "tables learned from 200 rows"
    assert f"± from {source}" in str(answer)
    assert "95 % interval" in str(answer)
    assert source in answer._repr_html_()
    assert "±" in answer._repr_html_()
    page = answer.report(tmp_path / "page.html").read_text()
    assert f"Errors and intervals come from {source}" in page
    assert "by the delta method" in page
    joint = om.joint(learned, learned.names[:2])
    assert source in str(joint)
    assert source in joint._repr_html_()
    assert "5 tables from 200 rows" in learned._repr_html_()


def test_a_file_keeps_how_sure_tables_are(learned, tmp_path):
    path = tmp_path / "learned.json"
    om.write(learned, path)
    again = om.read(path)
    before, after = om.marginals(learned), om.marginals(again)
    np.testing.assert_array_equal(after.columns.standard_error, before.columns.standard_error)
    done = orbitmc("infer", path, "--json")
    result = json.loads(done.stdout)
    assert result["errors_from"] == "tables learned from 200 rows"
    name = learned.names[0]
    assert result["variables"][name]["standard_error"] == before[name].standard_error.tolist()
    event = f"{name} == '{learned.domains()[name][0]}'"
    asked = json.loads(orbitmc("ask", path, event, "--json").stdout)
    error = before[name].standard_error[0]
    assert asked["estimates"]["probability"]["standard_error"] == pytest.approx(error, rel=1e-9)
    joint = json.loads(orbitmc("joint", path, name, "--json").stdout)
    assert joint["standard_error"][0] == pytest.approx(error, rel=1e-9)
    assert joint["errors_from"] == asked["errors_from"] == "tables learned from 200 rows"
    table = orbitmc("infer", path).stdout
    assert "95 % interval" in table
    assert "ESS" not in table
    om.write(learned, tmp_path / "learned.uai")
    assert om.read(tmp_path / "learned.uai").precision is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: p.update(rows=-1), "precision.rows"),
        (lambda p: p.update(same_as=[9] * 5), r"precision.same_as\[0\]"),
        (lambda p: p.update(same_as=[0]), "5 entries each"),
        (lambda p: p["counts"].__setitem__(0, [-1.0]), r"counts\[0\]"),
        (lambda p: p["counts"].__setitem__(0, ["x"]), "finite numbers"),
        (lambda p: p["counts"].__setitem__(0, [1.0] * 9), "counts of variable 0"),
        (lambda p: p["information"].__setitem__(1, [1.0]), r"information\[1\]"),
        (lambda p: p.update(information=[[1.0]]), "free entries, not 1"),
        (lambda p: p.update(same_as=[1, 1, 2, 3, 4]), "counts of variable 0"),
        (lambda p: p.update(other=1), "unknown key"),
    ],
)
def test_files_that_say_it_wrongly_are_refused(learned, tmp_path, change, words):
    path = tmp_path / "learned.json"
    om.write(learned, path)
    content = json.loads(path.read_text())
    change(content["precision"])
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=words):
        om.read(path)


def test_a_matrix_that_is_no_information_is_refused(learned, tmp_path):
    path = tmp_path / "learned.json"
    om.write(learned, path)
    content = json.loads(path.read_text())
    content["precision"]["information"][0][0] = -5.0
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="not positive definite"):
        om.marginals(om.read(path))


def test_learn_on_the_command_line_keeps_it_where_the_format_can(tmp_path):
    days = "rainy,heavy\ndry,none\nrainy,\n" * 3
    (tmp_path / "days.csv").write_text(f"season,rain\n{days}")
    kept = orbitmc("learn", "examples/sprinkler.bif", tmp_path / "days.csv", "-o",
                   tmp_path / "l.json")  # fmt: skip
    assert "write it as .json" not in kept.stderr
    lost = orbitmc("learn", "examples/sprinkler.bif", tmp_path / "days.csv", "-o",
                   tmp_path / "l.bif")  # fmt: skip
    assert "write it as .json to keep how sure its tables are" in lost.stderr
    assert "± from tables learned from 9 rows" in orbitmc("infer", tmp_path / "l.json").stderr
