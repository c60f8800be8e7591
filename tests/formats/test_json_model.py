"""Our own format: what it says, and what each mistake is told."""

import json

import numpy as np
import pytest

from orbitmc.errors import InputError, LimitError
from orbitmc.formats import read
from orbitmc.graph.model import Observed
from tests.formats.samples import JSON


@pytest.fixture
def stored(tmp_path):
    def write(content):
        (tmp_path / "m.json").write_text(content)
        return tmp_path / "m.json"

    return write


def test_the_documented_fields_mean_what_the_documentation_says(stored):
    model = read(stored(JSON))
    graph = model.graph
    assert model.domains() == {"c": ("no", "yes"), "a": ("x", "y"), "b": ("0", "1", "2")}
    assert model.observed == {"c": Observed(("no", "yes"), 1)}
    np.testing.assert_array_equal(graph.table_values(0), [[0, -1.5, -np.inf], [2, 0.25, 1e-3]])
    assert graph.first_clause == 2
    assert graph.scope_of(2).tolist() == [0, 1]
    assert graph.satisfying[-2:].tolist() == [1, 2]
    assert graph.constant == -0.5


def test_what_may_be_left_out_may_be_left_out(stored):
    held = json.loads(JSON)
    for key in ("clauses", "constant", "observed", "order"):
        del held[key]
    model = read(stored(json.dumps(held)))
    assert (model.observed, model.graph.constant, model.graph.factors) == ({}, 0.0, 2)


def test_the_memory_limit_is_kept(stored):
    with pytest.raises(LimitError, match=r"over the memory limit of 4\.9 KiB"):
        read(stored(JSON), memory=5_000)


WRONG = {
    '{"a": 1': ":1:8: this is not JSON: expecting ',' delimiter",
    "": ":1:1: this is not JSON: expecting value",
    "[" * 100_000: ": the JSON is nested too deeply",
    '{"a": 1, "b": 2, "a": 3}': ": this is not JSON we read: key 'a' stands twice in one object",
    '{"a": NaN}': ": this is not JSON we read: NaN is not a JSON number",
    "[]": ": expected a JSON object, found a list of 0",
    "{}": ': format: expected "orbitmc-model", found nothing',
    '{"format": "orbitmc-names"}': ": format: expected \"orbitmc-model\", found 'orbitmc-names'",
    '{"format": "orbitmc-model", "version": 2}': ": version: expected 1, found 2",
    '{"format": "orbitmc-model", "version": true}': ": version: expected 1, found True",
}

CHANGES = {
    ("extra", "1"): "unknown key 'extra'",
    ("variables", "{}"): "variables: expected a list, found an object",
    ("variables", "[3]"): "variables[0]: expected an object, found 3",
    ("variables", '[{"name": 3}]'): "variables[0].name: expected a name in quotes, found 3",
    ("variables", '[{"name": "\\ud800"}]'): (
        "variables[0].name: expected a name that UTF-8 can hold, found '\\ud800'"
    ),
    ("variables", '[{"name": "a", "values": []}]'): (
        "variables[0].values: expected one value name or more, found a list of 0"
    ),
    ("variables", '[{"name": "a", "values": ["x", "x"]}]'): (
        "variables[0].values: 'x' stands there twice"
    ),
    ("variables", '[{"name": "a", "values": ["x"]}, {"name": "a", "values": ["x"]}]'): (
        "variables: 'a' stands there twice"
    ),
    ("tables", "[[0, 1e999]]"): 'tables[0]: expected a finite number or "-inf", found inf',
    ("tables", "[[0, true]]"): 'tables[0]: expected a finite number or "-inf", found True',
    ("tables", '[[0, "inf"]]'): "tables[0]: expected a finite number or \"-inf\", found 'inf'",
    ("tables", f"[[1{'0' * 400}]]"): (
        'tables[0]: expected a finite number or "-inf", found '
        "1000000000000000000000000000000000000..."
    ),
    ("factors", "[[]]"): "factors[0]: expected a table number below 2, found nothing",
    ("factors", "[[2, 0]]"): "factors[0]: expected a table number below 2, found 2",
    ("factors", "[[0, -1]]"): "factors[0][1]: expected a whole number, not negative, found -1",
    ("factors", "[[0, 0.5]]"): "factors[0][1]: expected a whole number, not negative, found 0.5",
    ("factors", "[[0, 0, 7]]"): "factor 0 reads [0, 7], but the variables are 0 to 1",
    ("factors", "[[0, 0]]"): "factor 0 over [0] needs 2 table entries, got 6",
    ("clauses", "[[1, 0]]"): "clauses: expected a table number, then pairs of variable and value",
    ("clauses", "[[0, 0, 0]]"): ("a clause needs a table of two entries: unsatisfied, satisfied"),
    ("clauses", "[[1, 0, 2]]"): (
        "clause 0 over [0] wants value 2 of variable 0, which has 2 values"
    ),
    ("observed", '[{"name": "c", "values": ["no", "yes"], "value": 2}]'): (
        "observed[0].value: expected a number from 0 to 1, found 2"
    ),
    ("order", '["a", "b"]'): (
        "order: expected the names of all variables, observed or not, once each"
    ),
    ("constant", "null"): 'constant: expected a finite number or "-inf", found nothing',
}


@pytest.mark.parametrize("content", WRONG, ids=lambda content: repr(content[:40]))
def test_each_mistake_is_told_with_its_place(stored, content):
    path = stored(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}{WRONG[content]}"


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: repr(change)[:60])
def test_each_wrong_field_is_told_by_name(stored, change):
    key, value = change
    held = {name: json.dumps(one) for name, one in json.loads(JSON).items()}
    held[key] = value
    path = stored("{" + ", ".join(f'"{name}": {one}' for name, one in held.items()) + "}")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: {CHANGES[change]}"
