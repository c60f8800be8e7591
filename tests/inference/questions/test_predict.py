"""Rows are answered together as they would be one by one, and none is lost."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import orbitmc as om
from orbitmc._numba.compile_log import asked_before
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.graph.model import Model
from orbitmc.inference import rows as answering
from orbitmc.inference import rows as wide
from orbitmc.inference._predict import predictions
from tests.graph.test_relevance import random_network
from tests.inference.questions.truth import over, require_honest, soft_models
from tests.oracle.random_models import random_graph

SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def _at_home(monkeypatch):
    """Single questions go the way that shares nothing with rows."""
    monkeypatch.chdir(Path(__file__).parents[3])
    monkeypatch.setattr("orbitmc.inference.answer.find_elimination", lambda *question: None)


def named(graph):
    names = tuple(f"v{k}" for k in range(graph.variables))
    return Model(graph, names, tuple(tuple(f"x{k}" for k in range(n)) for n in graph.cardinality))


def predicted(*arguments, **options):
    """The frame, with warnings about rows let pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return om.predict(*arguments, **options)


def random_row(model, rng):
    """A row with holes, weights, and weights of 0."""
    row = {}
    for name, values in model.domains().items():
        kind = rng.integers(0, 6)
        if kind < 2:
            row[name] = values[rng.integers(len(values))]
        elif kind == 2:
            weights = rng.random(len(values)) * (rng.random(len(values)) < 0.7)
            row[name] = weights.tolist() if weights.any() else None
    return row


def assert_as_alone(model, rows, found, names):
    for number, row in enumerate(rows):
        try:
            alone = om.marginals(model.given(row), method="exact")
        except ContradictionError:
            assert found.iloc[number].isna().all()
            assert "impossible" in found.attrs["problems"][number]
            continue
        assert number not in found.attrs["problems"]
        for name in names:
            np.testing.assert_allclose(
                found.iloc[number][name].to_numpy(), alone[name].probability, atol=1e-9
            )


@pytest.mark.parametrize("block", [*range(5), *(pytest.param(k, marks=SLOW) for k in range(5, 30))])
def test_rows_agree_with_single_questions(block):
    impossible = 0
    for seed in range(10 * block, 10 * (block + 1)):
        rng = np.random.default_rng([seed, 3])
        model = named(random_graph(seed, variables=(3, 7), zeros=0.2 * (seed % 2)))
        rows = [random_row(model, rng) for _ in range(12)]
        found = predicted(model, rows, query=model.names)
        assert_as_alone(model, rows, found, model.names)
        impossible += len(found.attrs["problems"])
    assert impossible > 0


REPEATED = "ignore:what is asked for is a column"


@pytest.mark.filterwarnings(REPEATED)
@pytest.mark.parametrize("few", [0, 1000])
def test_patterns_of_missing_values_alone_and_together_give_the_same(few, monkeypatch):
    model = om.ising_grid(3, 3, 0.4, 0.2)
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {n: rng.choice(["down", "up"], 60) for n in rng.permutation(model.names)[:6]}
    )
    frame = frame.mask(rng.random(frame.shape) < 0.4)
    patterns = answering.batches
    monkeypatch.setattr(answering, "batches", lambda *seen: patterns(*seen[:2], few))
    found = om.predict(model, frame, query=model.names)
    rows = [row.dropna().to_dict() for _, row in frame.iterrows()]
    assert_as_alone(model, rows, found, model.names)


@pytest.mark.filterwarnings(REPEATED)
def test_the_order_of_columns_makes_no_difference_and_the_index_stays():
    model = om.ising_grid(2, 3, 0.4, 0.2)
    frame = pd.DataFrame(
        {"s0_0": ["up", "down", None], "s1_2": ["down", "down", "up"]}, index=["a", "b", "a"]
    )
    found = om.predict(model, frame, query=["s0_1", "s0_0"])
    again = om.predict(model, frame[["s1_2", "s0_0"]], query=["s0_1", "s0_0"])
    assert list(found.index) == ["a", "b", "a"]
    assert list(found.columns) == [(n, v) for n in ("s0_1", "s0_0") for v in ("down", "up")]
    assert found.columns.names == ["variable", "value"]
    np.testing.assert_allclose(found, again, atol=1e-14)
    assert found["s0_0"].iloc[:2].to_numpy().tolist() == [[0, 1], [1, 0]]
    single = om.marginals(model, {"s1_2": "up"}, method="exact")
    np.testing.assert_allclose(found["s0_0"].iloc[2], single["s0_0"].probability, atol=1e-12)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_whatever_stands_for_nothing_is_nothing(missing):
    model = om.ising_grid(2, 2, 0.4, 0.2)
    found = om.predict(model, [{"s0_0": missing, "s1_1": 1}], query=["s0_1"])
    single = om.marginals(model, {"s1_1": 1}, method="exact")["s0_1"].probability
    np.testing.assert_allclose(found.iloc[0], single, atol=1e-12)


def test_numbers_of_frames_are_values_by_number():
    model = om.ising_grid(2, 2, 0.4, 0.2)
    frame = pd.DataFrame({"s0_0": [1.0, np.nan, 0.0], "s1_1": np.array([1, 0, 1], dtype=np.int8)})
    found = om.predict(model, frame)
    rows = [{"s0_0": "up", "s1_1": "up"}, {"s1_1": "down"}, {"s0_0": "down", "s1_1": "up"}]
    assert_as_alone(model, rows, found, ["s0_1", "s1_0"])
    assert list(found.columns.get_level_values(0).unique()) == ["s0_1", "s1_0"]


def test_rows_that_make_no_sense_are_named_and_not_lost():
    model = om.model(
        {"a": ["x", "y"], "b": ["x", "y"], "c": ["u", "v"]},
        [(["a", "b"], [[1, 0], [1, 1]]), (["b", "c"], [[2, 1], [1, 3]])],
    )
    rows = [{"a": "x"}, {"a": "z"}, {"a": "x", "b": "y"}, {"b": "x"}]
    with pytest.warns(UserWarning, match=r"2 of 4 rows have no answer: row 1: unknown value 'z'"):
        found = om.predict(model, rows, query=["c"])
    assert found.isna().all(axis=1).tolist() == [False, True, True, False]
    assert "its values are x, y" in found.attrs["problems"][1]
    assert "impossible" in found.attrs["problems"][2]


def test_evidence_for_all_rows_is_part_of_each():
    model = om.ising_grid(2, 3, 0.4, 0.2)
    both = om.predict(model, [{"s0_0": 1}], {"s1_2": 0}, query=["s0_1"])
    each = om.predict(model, [{"s0_0": 1, "s1_2": 0}], query=["s0_1"])
    np.testing.assert_allclose(both, each, atol=1e-14)
    wrong = predicted(model, [{"s1_2": 1}, {"s1_2": 0}], {"s1_2": 0}, query=["s0_1"])
    assert wrong.isna().all(axis=1).tolist() == [True, False]
    assert "already observed" in wrong.attrs["problems"][0]


def test_a_column_that_is_no_variable_is_refused_with_a_suggestion():
    model = om.ising_grid(2, 2, 0.4)
    with pytest.raises(InputError, match="'s0_O' that is no variable; did you mean 's0_"):
        om.predict(model, pd.DataFrame({"s0_O": [1]}))
    with pytest.raises(InputError, match="unknown variable 's9'"):
        om.predict(model, [{}], query=["s9"])
    with pytest.raises(InputError, match="a list with a mapping for each row"):
        om.predict(model, {"s0_0": 1})


def few_columns(rng, network):
    """Rows that observe two variables, softly or not, and ask about one or two others."""
    names = rng.permutation(network.names).tolist()
    rows = [{n: v for n, v in random_row(network, rng).items() if n in names[:2]} for _ in range(8)]
    return rows, names[2 : 3 + rng.integers(2)]


@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_rows_about_few_variables_leave_out_what_they_do_not_need(zeros, monkeypatch):
    sizes = []
    plain = answering.RowAnswerer.__init__
    monkeypatch.setattr(
        answering.RowAnswerer,
        "__init__",
        lambda self, model, *rest: sizes.append(len(model.names)) or plain(self, model, *rest),
    )
    rng, smaller = np.random.default_rng(5), 0
    for _ in range(60):
        network = random_network(rng, 7, zeros=zeros)
        rows, names = few_columns(rng, network)
        found = predicted(network, rows, query=names)
        assert_as_alone(network, rows, found, names)
        smaller += sizes[-1] < 7
    assert smaller > 20


def test_evidence_that_says_nothing_about_the_query_may_still_be_impossible():
    model = om.model(
        {name: ["x", "y"] for name in "ABC"},
        [(["A"], [0.3, 0.7]), (["B", "C"], [[0.5, 0.0], [0.0, 0.5]])],
    )
    rows = [{"B": "x", "C": "y"}, {"B": "x", "C": "x"}]
    for method in ("exact", "gibbs"):
        found = predicted(
            model, rows, query=["A"], method=method, samples=None if method == "exact" else 50
        )
        assert list(found.attrs["problems"]) == [0]
        assert found["A", "x"][1] == pytest.approx(0.3, abs=0.02)


def test_rows_of_a_wide_network_are_exact_where_few_variables_matter():
    leaves = [f"leaf{a}.{b}" for a in range(40) for b in range(a)]
    roots = [f"r{k}" for k in range(40)]
    rng = np.random.default_rng(1)
    factors = [([root], rng.dirichlet([1, 1])) for root in roots]
    for leaf in leaves:
        a, b = leaf[4:].split(".")
        factors.append(([f"r{a}", f"r{b}", leaf], rng.dirichlet([1, 1], (2, 2))))
    network = om.model({name: ["x", "y"] for name in (*roots, *leaves)}, factors)
    found = om.predict(network, [{"leaf1.0": "x"}, {"r1": "y"}], query=["r0"])
    assert not found.attrs["sampled"]
    small = om.model(
        {name: ["x", "y"] for name in ("r0", "r1", "leaf1.0")},
        [factors[0], factors[1], factors[40]],
    )
    assert_as_alone(small, [{"leaf1.0": "x"}, {"r1": "y"}], found, ["r0"])


def test_no_rows_give_no_answers():
    found = om.predict(om.ising_grid(2, 2, 0.4), [])
    assert found.shape == (0, 8)


def test_equal_rows_are_answered_once(monkeypatch):
    model = om.ising_grid(3, 3, 0.4, 0.1)
    asked = []
    upward = answering.Elimination.upward
    monkeypatch.setattr(
        answering.Elimination,
        "upward",
        lambda self, rows, more=(): asked.append(rows.shape[1]) or upward(self, rows, more),
    )
    found = om.predict(model, [{"s0_0": 1}, {"s0_0": 0}] * 50, query=["s1_1"])
    assert asked == [2, 1]  # two kinds of rows, and once without any for all log-likelihoods
    assert found.iloc[0].equals(found.iloc[98])
    assert not np.allclose(found.iloc[0], found.iloc[1])


def test_rows_are_cut_into_pieces_that_fit(monkeypatch):
    model = om.ising_grid(3, 3, 0.4, 0.1)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({n: rng.choice(["down", "up"], 80) for n in model.names[:6]})
    whole = om.predict(model, frame)
    pieces = answering.chunks
    monkeypatch.setattr(answering, "chunks", lambda one, rows, memory: pieces(one, rows, 1))
    told = []
    apart = om.predict(model, frame, progress=lambda share, words: told.append((share, words)))
    np.testing.assert_allclose(whole, apart, atol=1e-14)
    assert len(told) > 10
    assert told[-1] == (1.0, "80 of 80 rows")
    assert [share for share, _ in told] == sorted(share for share, _ in told)


def sampled_scores(models):
    """How many errors believed numbers are off, and how many intervals hold the truth."""
    off, inside = [], []
    settings = om.Settings(method="gibbs", samples=60, threads=1)
    for seed, model, truth in models:
        rows = [{}, {"A": 0}, {"A": 1}, {"A": 0}]
        found = predictions(model, rows, query=["B"], settings=replace(settings, seed=seed))
        assert sorted(found.sampled) == [0, 1, 2, 3]
        assert (found.probability[:, 1] == found.probability[:, 3]).all()
        expected = [over(truth, [1]), *(over(truth, [0, 1])[k] for k in (0, 1))]
        for row, p in enumerate(expected):
            if found.sampled[row] in ("good", "fair"):
                value, errors = found.probability[0, row], found.errors[row]
                right = p[0] / p.sum()
                off.append((value - right) / errors.standard_error[0])
                inside.append(errors.low[0] <= right <= errors.high[0])
    return np.array(off), np.array(inside)


@pytest.mark.parametrize("count", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_rows_sampled_side_by_side_lie_within_their_errors(count):
    off, inside = sampled_scores(soft_models(count))
    assert len(off) > 2 * count
    require_honest(off, inside)


def test_answers_of_other_rows_would_be_noticed(monkeypatch):
    plain = wide.split_marginals
    monkeypatch.setattr(wide, "split_marginals", lambda found, models: plain(found, models)[::-1])
    off, _ = sampled_scores(soft_models(10))
    assert np.abs(off).max() > 8


def test_auto_samples_rows_that_are_too_wide_in_one_run(monkeypatch):
    runs = []
    plain = wide.execute_plan
    monkeypatch.setattr(wide, "execute_plan", lambda *one: runs.append(one) or plain(*one))
    grid = om.ising_grid(26, 26, 0.2, 0.1)
    rows = [{"s0_0": k % 2, "s1_1": k // 2} for k in range(4)]
    with pytest.warns(UserWarning, match="4 rows were sampled, side by side"):
        found = om.predict(grid, rows, query=["s0_1"], samples=30, memory=2**28, packs=1, seed=1)
    assert len(runs) == 1
    up = found["s0_1", "up"]
    assert up[3] > max(up[1], up[2]) > min(up[1], up[2]) > up[0]
    assert found.attrs["standard_error"][0]["s0_1"]["up"] > 0


def test_no_order_for_one_row_is_looked_for_when_half_of_the_seconds_are_over(monkeypatch):
    grid = om.ising_grid(16, 16, coupling=0.3, field=0.1)
    monkeypatch.setattr(wide, "prepare_elimination", lambda *batch: None)
    monkeypatch.setattr(wide, "plan_marginals", lambda *late: pytest.fail("was looked for"))
    with asked_before(1.2), pytest.warns(UserWarning, match="1 rows were sampled"):
        answers = om.predict(grid, [{grid.names[0]: "up"}], query=grid.names[-1], seconds=2.0)
    assert set(answers.attrs["sampled"]) == {0}
    with pytest.raises(pytest.fail.Exception, match="was looked for"):
        om.predict(grid, [{grid.names[0]: "up"}], query=grid.names[-1], seconds=1000.0)


def test_an_impossible_row_is_found_among_those_that_are_sampled():
    equal = [[0.5, 0.0], [0.0, 0.5]]
    model = om.model(
        {name: ["x", "y"] for name in "ABCD"},
        [(["A", "B"], equal), (["B", "C"], equal), (["C", "D"], equal)],
    )
    rows = [{"A": "x"}, {"A": "x", "D": "y"}, {"D": "y"}]
    settings = om.Settings(method="gibbs", samples=30)
    found = predictions(model, rows, query=["B"], settings=settings)
    assert list(found.problems) == [1]
    np.testing.assert_allclose(found.probability[0, [0, 2]], [1.0, 0.0])
    assert np.isnan(found.probability[:, 1]).all()


def test_answers_that_do_not_fit_are_refused_before_they_are_looked_for():
    model = om.ising_grid(3, 3, 0.4)
    with pytest.raises(LimitError, match="fewer rows"):
        om.predict(model, [{"s0_0": 0}] * 100, memory=2**12)


def test_ctrl_c_gives_rows_that_are_being_sampled():
    def stop(run):
        if run.recorded > 20:
            run.stop()

    settings = om.Settings(method="gibbs", samples=10**6, warm_up=9)
    found = predictions(
        om.ising_grid(3, 3, 0.4), [{"s0_0": 0}, {}], settings=settings, watchers=[stop]
    )
    assert found.about.interrupted
    assert np.isfinite(found.probability).all()


def test_ctrl_c_gives_the_rows_so_far(monkeypatch):
    model = om.ising_grid(3, 3, 0.4, 0.1)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({n: rng.choice(["down", "up"], 80) for n in model.names[:6]})
    pieces = answering.chunks
    monkeypatch.setattr(answering, "chunks", lambda one, rows, memory: pieces(one, rows, 1))

    def interrupt(share, words):
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        found = om.predict(model, frame, progress=interrupt)
    missing = found.isna().all(axis=1).sum()
    assert 0 < missing < 80
    assert found.attrs["interrupted"]


def test_a_program_is_asked_in_its_atoms():
    asked = om.read_logic("examples/smokers.mln", "examples/smokers.db", query="Smokes,Cancer")
    name, other = asked.model.names[:2]
    found = om.predict(asked, [{name: True}, {name: False}, {}], query=[other])
    single = om.marginals(asked.model, {name: True}, method="exact")[other].probability
    np.testing.assert_allclose(found.iloc[0], single, atol=1e-12)


def test_soft_evidence_that_contradicts_what_is_observed_is_a_problem_of_its_row():
    model = om.model({"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[1, 3], [2, 3]])])
    rows = [{"a": [0.0, 1.0]}, {"a": {"y"}}, {"a": [0.5, 0.5]}]
    found = predictions(model.given({"a": "x"}), rows, query=["b"], settings=om.Settings())
    assert sorted(found.problems) == [0, 1]
    assert "already observed to be 'x', which has weight 0" in found.problems[0]
    np.testing.assert_allclose(found.probability[:, 2], [0.25, 0.75], atol=1e-12)


def test_the_verdict_of_a_sampled_row_is_not_that_of_its_observed_variables():
    model = om.model({"a": ["x", "y"], "b": ["x", "y"]}, [(["a", "b"], [[1, 3], [2, 3]])])
    settings = om.Settings(method="gibbs", samples=20)
    found = predictions(model, [{"a": "x"}], query=["a", "b"], settings=settings)
    alone = om.marginals(model, {"a": "x"}, settings=settings)
    assert (alone["a"].verdict, found.verdict(0)) == ("observed", alone["b"].verdict)


def test_a_column_of_what_is_asked_is_named_in_a_warning():
    model = om.read("examples/sprinkler.bif")
    rows = [{"grass": "wet", "rain": "heavy"}, {"grass": "dry", "rain": None}]
    with pytest.warns(UserWarning, match=r"a column of the table: 'rain' \(in 1 rows\)") as said:
        found = om.predict(model, rows, query="rain")
    assert len(said) == 1
    assert found["rain", "heavy"].iloc[0] == 1.0
    hidden = om.predict(model, rows, query="rain", ignore="rain")
    single = om.marginals(model, {"grass": "wet"}, method="exact")["rain"].probability
    np.testing.assert_allclose(hidden.iloc[0], single, atol=1e-12)


def test_a_column_of_what_is_asked_that_says_nothing_is_no_mistake():
    model = om.read("examples/sprinkler.bif")
    om.predict(model, [{"grass": "wet", "rain": None}], query="rain")  # warnings are errors here


def test_columns_that_are_no_evidence_are_ignored_or_copied():
    model = om.read("examples/sprinkler.bif")
    frame = pd.DataFrame({"day": [7, 9], "note": ["x", "y"], "grass": ["wet", "dry"]})
    with pytest.raises(InputError, match=r"'day' that is no variable; .*--ignore.*--id"):
        om.predict(model, frame, query="rain")
    plain = om.predict(model, frame[["grass"]], query="rain")
    found = om.predict(model, frame, query="rain", ignore=["note"], id="day")
    assert found.index.name == "day"
    assert found.index.tolist() == [7, 9]
    np.testing.assert_array_equal(found, plain)
    both = om.predict(model, frame, query="rain", id=["note", "day"])
    assert both.index.tolist() == [("x", 7), ("y", 9)]
    np.testing.assert_array_equal(both, plain)
    listed = [{"day": 7, "grass": "wet"}, {"grass": "dry"}]
    assert om.predict(model, listed, query="rain", id="day").index.tolist()[0] == 7
    for columns in ({"ignore": "nite"}, {"id": "nite"}):
        with pytest.raises(InputError, match="no column 'nite'; did you mean 'note'"):
            om.predict(model, frame, query="rain", **columns)


def test_a_variable_that_is_an_id_is_no_evidence():
    model = om.read("examples/sprinkler.bif")
    rows = [{"grass": "wet", "season": "rainy"}]
    found = om.predict(model, rows, query="rain", id="season")
    np.testing.assert_array_equal(found, om.predict(model, [{"grass": "wet"}], query="rain"))
