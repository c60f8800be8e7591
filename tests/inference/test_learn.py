"""Tables of networks from rows: counts equal sums over all states, likelihoods never fall."""

import itertools
import math
import signal

import numpy as np
import pandas as pd
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact import families
from orbitmc.exact.families import EvidenceRows, FamilyCounter, families_of
from orbitmc.exact.templates import batches
from orbitmc.inference import _learn as learning


def random_network(seed, variables=5):
    """A network with up to two parents for each variable, 2 or 3 values, scopes in any order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, variables)
    names = [f"v{k}" for k in range(variables)]
    factors = []
    for child in range(variables):
        parents = rng.choice(child, rng.integers(0, min(child, 2) + 1), replace=False).tolist()
        table = rng.dirichlet(np.ones(sizes[child]), [sizes[p] for p in parents] or None)
        scope = [*parents, child]
        order = rng.permutation(len(scope))
        factors.append(([names[scope[k]] for k in order], np.transpose(table, order)))
    rng.shuffle(factors)
    return om.model({n: [f"{n}.{k}" for k in range(s)] for n, s in zip(names, sizes, strict=True)},
                    factors)  # fmt: skip


def random_rows(model, seed, count=12, holes=0.4, soft=0.0):
    """Rows of any values, some missing, some with weights for all values."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        row = {}
        for name, values in model.domains().items():
            if rng.random() < soft:
                row[name] = (rng.random(len(values)) + 0.01).tolist()
            else:
                row[name] = None if rng.random() < holes else values[rng.integers(len(values))]
        rows.append(row)
    return rows


def counted_by_enumeration(model, parts, row):
    """Counts of all families given one row, and its probability: sums over all states."""
    domains = model.domains()
    states = np.array(list(itertools.product(*(range(len(v)) for v in domains.values()))))
    weight = np.ones(len(states))
    for family in parts:
        table = np.exp(model.graph.table_values(family.factor))
        weight *= table[tuple(states[:, v] for v in family.scope)]
    for k, (name, values) in enumerate(domains.items()):
        said = row.get(name)
        if isinstance(said, str):
            weight *= states[:, k] == values.index(said)
        elif said is not None:
            weight *= np.asarray(said)[states[:, k]]
    total = weight.sum()
    counts = []
    for family in parts:
        table = np.zeros([len(model.values[v]) for v in family.scope])
        np.add.at(table, tuple(states[:, v] for v in family.scope), weight / total)
        counts.append(table)
    return counts, math.log(total)


def counter(model, rows, weights=None):
    read = learning.weigh_rows(learning.read_evidence_rows(model, rows, ()), weights)
    parts = families_of(model.graph)
    return parts, FamilyCounter(
        model.graph.cardinality.tolist(), [family.scope for family in parts], read, 2**26
    )


@pytest.mark.parametrize("first", range(0, 320, 40))
def test_expected_counts_are_sums_over_all_states(monkeypatch, first):
    for seed in range(first, first + 40):
        model = random_network(seed)
        if seed % 3 == 0:  # patterns one by one, or many together by likelihoods
            monkeypatch.setattr(
                families, "batches", lambda observed, soft, few: batches(observed, soft, 1)
            )
        else:
            monkeypatch.setattr(families, "batches", batches)
        holes, soft = [(0.0, 0.0), (0.4, 0.0), (0.3, 0.3), (0.9, 0.0)][seed % 4]
        rows = random_rows(model, seed, holes=holes, soft=soft)
        weights = np.random.default_rng(seed).random(len(rows))
        parts, rows_counter = counter(model, rows, weights)
        counts = rows_counter.counts([model.graph.table_values(f.factor) for f in parts])
        expected = [counted_by_enumeration(model, parts, row) for row in rows]
        for number, table in enumerate(counts.tables):
            right = sum(w * one[0][number] for w, one in zip(weights, expected, strict=True))
            np.testing.assert_allclose(table, right, atol=1e-12)
        total = rows_counter.rows.weight @ counts.log_likelihood
        assert total == pytest.approx(weights @ [one[1] for one in expected], abs=1e-10)


def test_rows_without_their_weights_are_counted_wrong():
    """What the test above is there to find."""
    model = random_network(1)
    rows = random_rows(model, 1)
    parts, weighted = counter(model, rows, np.arange(1.0, 13.0))
    _, plain = counter(model, rows)
    tables = [model.graph.table_values(f.factor) for f in parts]
    assert np.abs(weighted.counts(tables).tables[0] - plain.counts(tables).tables[0]).max() > 0.1


def test_complete_rows_give_shares_of_counts():
    model = random_network(3)
    rows = random_rows(model, 3, count=500, holes=0.0)
    learned = om.learn(model, rows, prior=0)
    for name, table in learned.tables.items():
        parents = learned.parents[name]
        for place in itertools.product(*(range(len(model.domains()[p])) for p in parents)):
            same = [
                row
                for row in rows
                if all(row[p] == model.domains()[p][k] for p, k in zip(parents, place, strict=True))
            ]
            shares = [np.mean([row[name] == value for row in same])
                      for value in model.domains()[name]]  # fmt: skip
            if same:
                np.testing.assert_allclose(table[place], shares, atol=1e-12)
    assert learned.converged
    assert learned.iterations == 1
    asked = sum(om.log_z(model_row(learned.model, row)).value for row in rows)
    assert learned.log_likelihood == pytest.approx(asked, rel=1e-9)


def model_row(model, row):
    return model.given({name: value for name, value in row.items() if value is not None})


def test_the_prior_is_worth_so_many_rows():
    structure = {"a": [], "b": ["a"]}
    rows = [{"a": "x", "b": "u"}] * 3 + [{"a": "y", "b": "u"}] * 1 + [{"a": "y", "b": "v"}] * 2
    learned = om.learn(structure, rows, prior=8.0)
    np.testing.assert_allclose(learned.tables["a"], [(3 + 4) / 14, (3 + 4) / 14])
    np.testing.assert_allclose(learned.tables["b"], [[5 / 7, 2 / 7], [3 / 7, 4 / 7]])


@pytest.mark.parametrize("seed", range(30))
def test_an_end_is_a_stationary_point_of_the_likelihood(seed):
    """One more step, with counts by enumeration, changes nothing; and no step fell (run time)."""
    model = random_network(seed, variables=4)
    rows = random_rows(model, seed, count=40, holes=0.3)
    objectives = []
    learned = om.learn(model, rows, prior=2.0, tolerance=1e-13, iterations=5000,
                       watch=lambda step: objectives.append(step.objective))  # fmt: skip
    assert all(b >= a - 1e-9 * abs(a) for a, b in itertools.pairwise(objectives))
    parts = families_of(learned.model.graph)
    every = [counted_by_enumeration(learned.model, parts, row)[0] for row in rows]
    for v, family in enumerate(parts):
        counts = sum(one[v] for one in every)
        counts = counts + 2.0 / counts.size
        table = counts / counts.sum(axis=family.axis, keepdims=True)
        right = np.moveaxis(table, family.axis, -1)
        np.testing.assert_allclose(learned.tables[model.names[v]], right, atol=2e-4)


def test_a_likelihood_that_falls_is_an_error(monkeypatch):
    model = random_network(5)
    rows = random_rows(model, 5, count=40)
    worse = [np.log(np.full(model.graph.table_values(f.factor).shape, 1e-3))
             for f in families_of(model.graph)]  # fmt: skip
    monkeypatch.setattr(learning._Task, "fit", lambda *given: worse)
    monkeypatch.setattr(
        learning._Search, "first_tables",
        lambda self, *given: [self.task.model.graph.table_values(f.factor)
                              for f in self.task.families],
    )  # fmt: skip
    with pytest.raises(RuntimeError, match="the likelihood fell"):
        om.learn(model, rows)


def test_generating_tables_are_found_within_their_errors():
    """Fifty networks, 4,000 rows with holes: squared z-scores of all entries average to about 1.

    Entries of a binomial share; where rows are complete their error is known. Missing values make
    errors larger, so only families that are mostly seen count. False alarm below 1e-6: the mean of
    more than 1,000 squared scores beyond 1.35.
    """
    squares = []
    for seed in range(50):
        model = random_network(seed)
        states = om.draws(model, method="exact", samples=4000, chains=1, seed=seed).values
        states = np.asarray(states).reshape(-1, model.graph.variables)
        rng = np.random.default_rng(seed + 1000)  # holes must not follow the random draws
        cells = np.array([[f"{n}.{k}" for k in states[:, v]] for v, n in enumerate(model.names)],
                         dtype=object)  # fmt: skip
        cells[rng.random(cells.shape) < 0.05] = None
        learned = om.learn(model, pd.DataFrame(cells.T, columns=model.names), prior=0)
        for v, family in enumerate(families_of(model.graph)):
            name = model.names[v]
            truth = np.moveaxis(np.exp(model.graph.table_values(family.factor)), family.axis, -1)
            cases = learned.counts[name].sum(axis=-1, keepdims=True)
            usual = (cases > 200) & (truth > 0.05) & (truth < 0.95)
            error = np.sqrt(truth * (1 - truth) / np.where(usual, cases, 1.0) * 1.1)
            squares += ((learned.tables[name] - truth) / error)[usual].tolist()
    squares = np.array(squares) ** 2
    assert len(squares) > 1000
    assert 0.7 < squares.mean() < 1.35


def test_hidden_variables_need_several_starts_and_the_best_is_taken():
    rng = np.random.default_rng(0)
    hidden = rng.random(3000) < 0.4
    rows = pd.DataFrame(
        {name: np.where(rng.random(3000) < np.where(hidden, 0.9, 0.15), "yes", "no")
         for name in ("a", "b", "c")}
    )  # fmt: skip
    network = om.model(
        {"h": ["0", "1"], "a": ["no", "yes"], "b": ["no", "yes"], "c": ["no", "yes"]},
        [(["h"], [0.5, 0.5]), *((["h", n], [[0.5, 0.5], [0.5, 0.5]]) for n in "abc")],
    )
    learned = om.learn(network, rows, starts=4, tolerance=1e-9, iterations=3000)
    assert len(learned.objectives) == 4
    assert learned.objective == max(learned.objectives)
    share = sorted(learned.tables["h"])[0]
    assert abs(share - 0.4) < 0.05
    assert sorted(learned.tables["a"][:, 1]) == pytest.approx([0.15, 0.9], abs=0.05)


def test_fixed_tables_stay_and_tied_ones_are_the_same():
    model = om.model(
        {name: ["0", "1"] for name in "abcd"},
        [(["a"], [0.3, 0.7]), *(([p, c], [[0.9, 0.1], [0.2, 0.8]]) for p, c in ("ab", "bc", "cd"))],
    )
    rows = random_rows(model, 2, count=60, holes=0.3)
    learned = om.learn(model, rows, fixed="a", tied=[["b", "c", "d"]])
    np.testing.assert_array_equal(learned.tables["a"], [0.3, 0.7])
    np.testing.assert_array_equal(learned.tables["b"], learned.tables["c"])
    np.testing.assert_array_equal(learned.tables["b"], learned.tables["d"])
    complete = [dict.fromkeys("abcd", "0")] * 2 + [{"a": "0", "b": "1", "c": "0", "d": "0"}]
    tied = om.learn(model, complete, prior=0, tied=[["b", "c", "d"]])
    np.testing.assert_allclose(tied.tables["b"], [[7 / 8, 1 / 8], [1.0, 0.0]])


def test_equal_rows_are_weights():
    model = random_network(8)
    rows = random_rows(model, 8, count=10)
    twice = om.learn(model, rows * 3)
    weighted = om.learn(model, rows, weights=[3.0] * 10)
    for name in model.names:
        np.testing.assert_allclose(twice.tables[name], weighted.tables[name], atol=1e-10)
    assert twice.log_likelihood == pytest.approx(weighted.log_likelihood)


def test_values_come_from_the_table_where_only_parents_are_given():
    frame = pd.DataFrame({"a": [3, 10, 3, None], "b": [True, False, True, True], "c": list("xyxx")})
    learned = om.learn({"a": [], "b": "a", "c": ["a", "b"]}, frame)
    assert learned.model.domains() == {"a": ("3", "10"), "b": ("false", "true"), "c": ("x", "y")}
    assert learned.parents == {"a": (), "b": ("a",), "c": ("a", "b")}
    again = om.learn(learned.model, frame)
    np.testing.assert_allclose(again.tables["c"], learned.tables["c"], atol=1e-6)


def test_a_frame_and_mappings_say_the_same():
    model = random_network(4)
    rows = random_rows(model, 4, count=30)
    by_rows, by_frame = om.learn(model, rows), om.learn(model, pd.DataFrame(rows))
    for name in model.names:
        np.testing.assert_allclose(by_rows.tables[name], by_frame.tables[name], atol=1e-10)


def test_ones_and_truths_in_a_column_of_objects_stay_different():
    frame = pd.DataFrame({"a": pd.Series([1, True, "0"], dtype=object)})
    model = om.model({"a": ["no", "yes", "0"]}, [(["a"], [1, 1, 1])])
    learned = om.learn(model, frame, prior=0)
    np.testing.assert_allclose(learned.tables["a"], [0, 2 / 3, 1 / 3])
    model = om.model({"a": ["1", "yes", "no"]}, [(["a"], [1, 1, 1])])
    frame = pd.DataFrame({"a": pd.Series([1, True, False], dtype=object)})
    learned = om.learn(model, frame, prior=0)
    np.testing.assert_allclose(learned.tables["a"], [1 / 3, 1 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("structure", "rows", "options", "words"),
    [
        ({"a": ["b"], "b": ["a"]}, [{"a": 1}], {}, "its own ancestor: "),
        ({"a": ["c"]}, [{"a": 1}], {}, "'c', a parent of 'a', is no variable"),
        ({"a": []}, [{"a": 1}], {}, "the table says only '1' of 'a'"),
        ({"a": [], "b": []}, [{"a": 1}, {"a": 2}], {}, "the table says nothing of 'b'"),
        ({"a": []}, [{"a": 1, "z": 3}], {}, "column 'z' that is no variable"),
        ({"a": []}, [{"a": {"x": 1}}], {}, "is no value"),
        ({"a": []}, [{"a": k} for k in range(1001)], {}, "1,001 different values"),
        ({"a": []}, [{"a": 1}, {"a": 2}], {"prior": -1}, "a prior is worth some rows"),
        ({"a": []}, [{"a": 1}, {"a": 2}], {"weights": [1]}, "weights are 2 numbers"),
        ({"a": []}, [{"a": 1}, {"a": 2}], {"weights": [0, 0]}, "all rows have weight 0"),
        ({"a": []}, [{"a": 1}, {"a": 2}], {"fixed": "b"}, "'b' cannot be fixed"),
        ({"a": [], "b": ["a"]}, [{"a": 1, "b": 1}, {"a": 2, "b": 2}], {"tied": [["a", "b"]]},
         "cannot have the same table"),
        ({"a": []}, [{"a": 1}, {"a": 2}], {"start": "zero"}, "'data' or from the 'model'"),
        (["a"], [{"a": 1}], {}, "a mapping from variables to their parents"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_is_refused(structure, rows, options, words):
    with pytest.raises(InputError, match=words):
        om.learn(structure, rows, **options)


def test_models_that_are_no_networks_are_refused():
    with pytest.raises(InputError, match="no Bayesian network"):
        om.sensitivity(om.ising_grid(2, 2, 0.3), "'s0,0' == '1'")
    network = om.read("examples/sprinkler.bif")
    with pytest.raises(InputError, match="without evidence"):
        om.learn(network.given(rain="heavy"), [{}])
    with pytest.raises(InputError, match="row 1 of the table makes no sense"):
        om.learn(network, [{"rain": "heavy"}, {"rain": "strong"}])
    with pytest.raises(InputError, match="no rows"):
        om.learn(network, [])
    with pytest.raises(InputError, match="there is no such file"):
        om.learn(network, "examples/dayz.csv")


def test_a_table_may_be_a_file(tmp_path):
    network = om.read("examples/sprinkler.bif")
    rows = [
        {"season": "rainy", "rain": "heavy"},
        {"rain": "light", "grass": "wet"},
        {"season": "dry"},
    ]
    names = ("season", "rain", "grass")
    lines = [",".join(row.get(name, "") for name in names) for row in rows]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    for table in (path, str(path)):
        from_file, from_rows = om.learn(network, table), om.learn(network, rows)
        for name in network.names:
            assert from_file.tables[name].tolist() == from_rows.tables[name].tolist()
        answers = om.predict(network, table, query="sprinkler")
        assert answers.to_numpy().tolist() == (
            om.predict(network, rows, query="sprinkler").to_numpy().tolist()
        )
    structure = {"season": [], "rain": ["season"], "grass": ["rain"]}
    path.write_text("season,rain,grass\n0,True,wet\n1,False,dry\n1,True,wet\n")
    assert om.learn(structure, path).domains()["rain"] == ("false", "true")
    assert om.learn(structure, path).domains()["season"] == ("0", "1")


def test_impossible_rows_name_what_is_impossible():
    network = om.model({"a": ["0", "1"], "b": ["0", "1"]},
                       [(["a"], [1, 0]), (["a", "b"], [[0.5, 0.5], [0.5, 0.5]])])  # fmt: skip
    with pytest.raises(ContradictionError, match="such as a=1"):
        om.learn(network, [{"a": "1"}, {"b": "1"}], fixed="a")
    with pytest.raises(ContradictionError, match="such as a=1, b=0"):
        om.learn(network, [{"a": "1", "b": "0"}], fixed="a")


def test_no_time_at_all_is_refused_and_some_time_gives_what_there_is(monkeypatch):
    model = random_network(6)
    rows = random_rows(model, 6, count=50)
    with pytest.raises(LimitError, match="no time for"):
        om.learn(model, rows, seconds=-1.0)
    steps = []

    def stop(step):
        steps.append(step)
        if len(steps) == 3:
            signal.raise_signal(signal.SIGINT)

    learned = om.learn(model, rows, tolerance=1e-12, watch=stop)
    assert learned.interrupted
    assert not learned.converged
    assert learned.iterations == 3


class Clock:
    """A clock that goes on by a hundredth of a second whenever somebody looks at it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 0.01
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in ("_numba.compile_log", "exact.families", "inference._learn"):
        monkeypatch.setattr(f"orbitmc.{module}.working_time", clock)
    return clock


@pytest.mark.parametrize("seconds", [0.05, 1.0, 3.0])
def test_learning_is_never_late(clock, seconds):
    """Whatever takes time looks at the clock: there is no way to end more than a tenth late."""
    model = random_network(6)
    rows = random_rows(model, 6, count=300)
    try:
        learned = om.learn(model, rows, seconds=seconds, tolerance=1e-15)
    except LimitError:
        assert seconds < 1
    else:
        assert learned.interrupted
        assert not learned.converged
    assert clock.now <= 1.1 * seconds + 0.1


def test_time_is_left_for_how_sure_tables_are(clock, monkeypatch):
    """Climbing ends before the seconds are over; without its share, nothing would be left."""
    model = random_network(6)
    rows = random_rows(model, 6, count=30)
    learned = om.learn(model, rows, seconds=3.0, tolerance=1e-15)
    assert learned.interrupted
    assert learned.precision is not None
    monkeypatch.setattr(learning, "CLIMBING_SHARE", 1.0)
    assert om.learn(model, rows, seconds=3.0, tolerance=1e-15).precision is None


def test_families_are_found_by_scopes_alone():
    for seed in range(50):
        model = random_network(seed, variables=8)
        parts = families_of(model.graph)
        assert [family.scope[family.axis] for family in parts] == list(range(8))
        for family in parts:
            table = np.exp(model.graph.table_values(family.factor))
            np.testing.assert_allclose(table.sum(axis=family.axis), 1.0)
    assert families_of(om.ising_grid(2, 2, 0.3).graph) is None
    circle = om.model({n: ["0", "1"] for n in "abc"},
                      [(list(pair), [[1, 2], [3, 4]]) for pair in ("ab", "bc", "ca")])  # fmt: skip
    assert families_of(circle.graph) is None
    twice = om.model({n: ["0", "1"] for n in "ab"}, [(["a"], [1, 2]), (["a"], [2, 1])])
    assert families_of(twice.graph) is None


def test_an_empty_batch_of_rows_counts_nothing():
    rows = EvidenceRows((0,), np.full((1, 1), -1), np.zeros((1, 1), bool), np.zeros(1),
                        lambda column, chosen: np.zeros((2, len(chosen))))  # fmt: skip
    counts = FamilyCounter([2], [(0,)], rows, 2**20).counts([np.log([0.5, 0.5])])
    assert counts.tables[0].tolist() == [0.0, 0.0]


def test_tables_are_tied_once():
    structure = {name: [] for name in "abc"}
    rows = [dict.fromkeys("abc", value) for value in ("0", "1")]
    with pytest.raises(InputError, match="'a' is tied twice"):
        om.learn(structure, rows, tied=[["a", "b"], ["c", "a"]])
    with pytest.raises(InputError, match="a list of lists of names"):
        om.learn(structure, rows, tied=["a", "b"])
    with pytest.raises(InputError, match="worth some rows"):
        om.learn(structure, rows, prior="auto")


def test_answers_without_errors_of_tables_say_so():
    learned = om.learn({"x": []}, [{"x": "no"}, {"x": "yes"}, {"x": "no"}])
    words = "errors of tables that were learned from 3 rows are not in it"
    assert words in om.expect(learned, {"p": (["x"], [0, 1])}).about.reason
    assert words in om.log_z(learned).about.reason
    assert words not in om.marginals(learned).about.reason
