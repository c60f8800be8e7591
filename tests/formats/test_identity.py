"""Write, then read: what a format can hold comes back."""

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbitmc.errors import InputError
from orbitmc.formats import read, write
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model, model
from tests.formats.samples import (
    JSON,
    TEXTS,
    assert_close_factors,
    assert_same,
    models,
    networks,
)
from tests.oracle.states import log_weight

ODD = st.text(alphabet=" abc019_.,;:<>=+-/*(){}[]|'&#%~é∞\t", max_size=6)
VISIBLE = ODD.filter(lambda name: name == name.strip() != "" and "\t" not in name)

quick = settings(max_examples=150, derandomize=True, deadline=None)


def again(model, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        write(model, path)
        return read(path)


@quick
@given(models())
def test_json_keeps_every_bit_of_any_model(model):
    assert_same(model, again(model, ".json"))


@quick
@given(models(clauses=False, observed=False))
def test_uai_keeps_tables_and_names(model):
    there = Model(model.graph, model.names, model.values)
    assert_close_factors(there, again(there, ".uai"))


@quick
@given(networks(ODD))
def test_bif_keeps_any_bayesian_network_with_any_name_it_can_quote(network):
    assert_close_factors(network, again(network, ".bif"))


@quick
@given(networks(VISIBLE))
def test_xmlbif_keeps_any_bayesian_network(network):
    assert_close_factors(network, again(network, ".xmlbif"))


@pytest.mark.parametrize("suffix", [*TEXTS, ".json.gz", ".uai.gz", ".bif.gz"])
def test_what_was_read_is_written_to_the_bit(suffix, tmp_path):
    plain = suffix.removesuffix(".gz")
    (tmp_path / f"first{plain}").write_text(TEXTS[plain])
    first = read(tmp_path / f"first{plain}")
    assert_same(first, again(first, suffix))


@settings(max_examples=60, derandomize=True, deadline=None)
@given(models().filter(lambda model: np.abs(model.graph.constant) < 100))
def test_uai_keeps_the_weights_of_clauses_and_of_observed_variables(model):
    before, after = model.graph, again(model, ".uai")
    assert after.domains() == model.domains()
    assert after.names == model.order
    for values in itertools.product(*(range(size) for size in before.cardinality)):
        known = dict(zip(model.names, values, strict=True))
        known.update({name: one.value for name, one in model.observed.items()})
        there = log_weight(after.graph, [known[name] for name in model.order])
        np.testing.assert_allclose(there, log_weight(before, values), rtol=1e-12, atol=1e-11)


def test_observed_variables_in_uai_exclude_their_other_values(tmp_path):
    (tmp_path / "m.json").write_text(JSON)
    seen = again(read(tmp_path / "m.json"), ".uai")
    assert seen.names == ("c", "a", "b")
    assert log_weight(seen.graph, [0, 0, 0]) == -np.inf
    assert log_weight(seen.graph, [1, 0, 0]) > -np.inf


def test_plain_numbers_need_no_names_beside_the_model(tmp_path):
    plain = model({"0": ["0", "1"], "1": ["0", "1"]}, [(["0", "1"], [[1, 2], [3, 4]])])
    write(plain, tmp_path / "m.uai")
    assert [path.name for path in tmp_path.iterdir()] == ["m.uai"]


def test_old_names_beside_a_model_are_replaced(tmp_path):
    path = tmp_path / "m.uai.gz"
    write(model({"coin": ["heads", "tails"]}, [(["coin"], [3, 1])]), path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.uai.gz", "m.uai.json"]
    write(model({"0": ["0", "1"]}, [(["0"], [3, 1])]), path)
    assert read(path).names == ("0",)


def test_another_json_file_beside_a_model_is_left_alone(tmp_path):
    coin = model({"coin": ["heads", "tails"]}, [(["coin"], [3, 1])])
    write(coin, tmp_path / "m.uai.json")
    with pytest.raises(InputError, match=r"m\.uai\.json: this is no file of names"):
        write(coin, tmp_path / "m.uai")
    write(model({"0": ["0", "1"]}, [(["0"], [3, 1])]), tmp_path / "m.uai")
    assert read(tmp_path / "m.uai").names == ("0",)
    assert_same(read(tmp_path / "m.uai.json"), coin)


def test_uai_refuses_a_clause_too_long_for_a_table(tmp_path):
    builder = Builder([2] * 40)
    builder.add_clause(range(40), [1] * 40, 1.0)
    names = tuple(map(str, range(40)))
    with pytest.raises(InputError) as caught:
        write(Model(builder.build(), names, (("0", "1"),) * 40), tmp_path / "m.uai")
    assert str(caught.value) == (
        f"{tmp_path}/m.uai: UAI holds tables, and clause 0 would need one of 2^40 weights; "
        "write .json instead"
    )
    assert list(tmp_path.iterdir()) == []


def test_uai_refuses_a_weight_that_would_become_zero(tmp_path):
    builder = Builder([2])
    builder.add_factor([0], [0.0, -800.0])
    with pytest.raises(InputError, match=r"cannot hold exp\(-800\); write \.json instead"):
        write(Model(builder.build(), ("0",), (("0", "1"),)), tmp_path / "m.uai")


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif"])
def test_bayesian_formats_refuse_other_models_and_say_which_can(suffix, tmp_path):
    pair = model({"a": "xy", "b": "xy"}, [(["a", "b"], [[5, 1], [1, 5]])])
    with pytest.raises(InputError, match="not every variable is the last one of exactly one"):
        write(pair, tmp_path / f"m{suffix}")
    loose = model({"a": "xy"}, [(["a"], [5, 1])])
    with pytest.raises(InputError, match=r"'a' does not sum to one; write \.uai or \.json"):
        write(loose, tmp_path / f"m{suffix}")
    ring = model(
        {"a": "xy", "b": "xy"},
        [(["a", "b"], [[0.5, 0.5]] * 2), (["b", "a"], [[0.5, 0.5]] * 2)],
    )
    with pytest.raises(InputError, match="form a cycle"):
        write(ring, tmp_path / f"m{suffix}")
    coin = model({"a": "xy", "b": "xy"}, [(["a"], [0.5, 0.5]), (["b"], [0.5, 0.5])])
    with pytest.raises(InputError, match="'a' is observed"):
        write(coin.given({"a": "x"}), tmp_path / f"m{suffix}")


def test_names_that_a_format_cannot_hold_are_refused(tmp_path):
    coin = model({'a"b': "xy"}, [(['a"b'], [0.5, 0.5])])
    with pytest.raises(InputError, match=r"BIF cannot hold the name 'a\"b'; write \.json"):
        write(coin, tmp_path / "m.bif")
    bell = model({"a": ["\a", "b"]}, [(["a"], [0.5, 0.5])])
    with pytest.raises(InputError, match=r"XMLBIF cannot hold the name '\\x07'"):
        write(bell, tmp_path / "m.xml")
