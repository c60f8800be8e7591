"""How answers depend on tables: derivatives equal finite differences, thresholds are reached."""

import itertools
import json

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.exact import families as parts
from orbitmc.exact.families import families_of
from tests.cli.commands import orbitmc
from tests.inference.test_learn import random_network


def moved(model, entry, step):
    """The model with so much added to an entry, and the others of its row in proportion."""
    factors = []
    for v, family in enumerate(families_of(model.graph)):
        table = np.exp(model.graph.table_values(family.factor))
        if model.names[v] == entry.variable:
            given = dict(entry.given)
            place = [
                slice(None) if k == family.axis else model.values[u].index(given[model.names[u]])
                for k, u in enumerate(family.scope)
            ]
            row = table[tuple(place)]
            chosen = model.values[v].index(entry.value)
            scaled = row * (1 - row[chosen] - step) / (1 - row[chosen])
            scaled[chosen] = row[chosen] + step
            table[tuple(place)] = scaled
        factors.append(([model.names[u] for u in family.scope], table))
    return om.model(model.domains(), factors)


def ask(model, event, evidence):
    return float(om.probability(model, event, evidence))


def question(model, seed):
    """An event and evidence, hard and soft, of random variables."""
    rng = np.random.default_rng(seed + 5000)
    names = rng.permutation(model.names).tolist()
    first, second = model.domains()[names[0]], model.domains()[names[1]]
    event = f"{names[0]} == '{first[rng.integers(len(first))]}'"
    if seed % 3 == 0:
        event += f" and {names[1]} in ('{second[0]}', '{second[-1]}')"
    third, fourth = model.domains()[names[2]], model.domains()[names[3]]
    evidence = {names[2]: third[rng.integers(len(third))]}
    if seed % 2:
        evidence[names[3]] = (rng.random(len(fourth)) + 0.1).tolist()
    return event, evidence


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_derivatives_are_finite_differences(first):
    for seed in range(first, first + 50):
        model = random_network(seed)
        event, evidence = question(model, seed)
        answer = om.sensitivity(model, event, evidence, threshold=0.4)
        assert answer.probability == pytest.approx(ask(model, event, evidence), abs=1e-12)
        for entry in itertools.islice(answer, 0, None, 4):
            step = 1e-5 * min(entry.probability, 1 - entry.probability)
            up, down = (ask(moved(model, entry, d), event, evidence) for d in (step, -step))
            assert entry.derivative == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-7)
            if entry.probability < 0.9:
                more = ask(moved(model, entry, 0.1 * entry.probability), event, evidence)
                assert entry.high == pytest.approx(more, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_the_threshold_is_reached_where_an_entry_can(seed):
    model = random_network(seed)
    event, evidence = question(model, seed)
    now = ask(model, event, evidence)
    answer = om.sensitivity(model, event, evidence, threshold=0.9 * now)
    for entry in answer:
        ends = [ask(moved(model, entry, d), event, evidence)
                for d in (-entry.probability + 1e-9, 1 - entry.probability - 1e-9)]  # fmt: skip
        if entry.needed is None:
            assert min(ends) > 0.9 * now - 1e-6 or max(ends) < 0.9 * now + 1e-6
        elif abs(entry.needed) > 1e-6 and 1e-6 < entry.probability + entry.needed < 1 - 1e-6:
            there = ask(moved(model, entry, entry.needed), event, evidence)
            assert there == pytest.approx(0.9 * now, abs=1e-9)


def test_what_changes_most_comes_first_and_what_does_not_is_left_out():
    model = om.model(
        {"a": ["0", "1"], "b": ["0", "1"], "c": ["0", "1"]},
        [(["a"], [0.4, 0.6]), (["a", "b"], [[0.9, 0.1], [0.2, 0.8]]), (["c"], [0.5, 0.5])],
    )
    answer = om.sensitivity(model, "b == '1'")
    assert {entry.variable for entry in answer} == {"a", "b"}
    sizes = [abs(entry.high - entry.low) for entry in answer]
    assert sizes == sorted(sizes, reverse=True)
    assert answer[0].name == "P(b=1 | a=1)"
    assert answer[0].derivative == pytest.approx(0.6)
    assert "P(b == '1') = 0.52" in str(answer)


def test_entries_of_0_and_1_are_no_parameters():
    model = om.model(
        {"a": ["0", "1"], "b": ["0", "1"]}, [(["a"], [1.0, 0.0]), (["a", "b"], [[0.9, 0.1]] * 2)]
    )
    assert {entry.variable for entry in om.sensitivity(model, "b == '1'")} == {"b"}


@pytest.mark.parametrize(
    ("event", "options", "words"),
    [
        ("rain == 'heavy' or season == 'dry'", {}, "joined by 'and'"),
        ("rain == 'heavy'", {"threshold": 1.5}, "between 0 and 1"),
        ("snow == 'heavy'", {}, "unknown variable"),
    ],
)
def test_what_has_no_sensitivity_is_refused(event, options, words):
    with pytest.raises(InputError, match=words):
        om.sensitivity(om.read("examples/sprinkler.bif"), event, **options)


def test_other_models_and_impossible_evidence_are_refused(monkeypatch):
    with pytest.raises(InputError, match="no Bayesian network"):
        om.sensitivity(om.ising_grid(2, 2, 0.3), "'0,0' == '1'")
    model = om.model({"a": ["0", "1"], "b": ["0", "1"]}, [(["a"], [1, 0]), (["b"], [0.5, 0.5])])
    with pytest.raises(ContradictionError, match="impossible"):
        om.sensitivity(model, "b == '1'", {"a": "1"})
    monkeypatch.setattr(parts, "MOST_ENTRIES", 1.0)
    with pytest.raises(LimitError, match="too large"):
        om.sensitivity(om.read("examples/sprinkler.bif"), "rain == 'heavy'")


def test_the_command_line_lists_entries(tmp_path):
    asked = ("ask", "examples/sprinkler.bif", "rain == 'heavy'", "-e", "grass=wet")
    done = orbitmc(*asked, "--sensitivity", "--threshold", "0.3")
    assert done.returncode == 0, done.stderr
    assert "change to reach 0.3" in done.stdout
    record = json.loads(orbitmc(*asked, "--sensitivity", "--json").stdout)
    answer = om.sensitivity(om.read("examples/sprinkler.bif"), "rain == 'heavy'", {"grass": "wet"})
    assert record["probability"] == answer.probability
    assert [entry["derivative"] for entry in record["entries"]] == [e.derivative for e in answer]
    output = tmp_path / "entries.csv"
    assert orbitmc(*asked, "--sensitivity", "-o", output).returncode == 0
    assert output.read_text().startswith("entry,probability,derivative,low,high,needed")
    refused = orbitmc("ask", "examples/sprinkler.bif", "--about", "rain", "--sensitivity")
    assert refused.returncode == 2
    assert "belongs to an event" in refused.stderr


def test_a_tornado_has_two_bars_for_each_entry():
    pytest.importorskip("matplotlib")
    answer = om.sensitivity(om.read("examples/sprinkler.bif"), "rain == 'heavy'", threshold=0.3)
    place = answer.plot()
    bars = [bar for bar in place.patches if bar.get_width() != 0]
    assert len(bars) == 2 * min(12, len(answer))
    frame = answer.to_frame()
    assert frame["derivative"].tolist() == [entry.derivative for entry in answer]
