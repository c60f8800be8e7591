"""Evidence means what people mean by it, or is refused; a bool is never a number."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.graph.evidence import resolve
from orbitmc.graph.model import model

YES_NO = ("yes", "no")


def found(seen, values):
    return resolve({"xray": seen}, {"xray": values}).hard["xray"]


@pytest.mark.parametrize("wrap", [bool, np.bool_, np.array], ids=["bool", "numpy", "array"])
@pytest.mark.parametrize(
    ("values", "true"),
    [
        (YES_NO, 0),
        (("no", "yes"), 1),
        (("False", "True"), 1),
        (("TRUE", "FALSE"), 0),
        (("0", "1"), 1),
        (("1", "0"), 0),
        (("unknown", "No", "Yes"), 2),
    ],
)
def test_a_bool_is_the_value_of_that_name(wrap, values, true):
    words = [word.casefold() for word in values]
    opposite = {"yes": "no", "true": "false", "1": "0"}[words[true]]
    assert found(wrap(True), values) == true
    assert found(wrap(False), values) == words.index(opposite)


@pytest.mark.parametrize(
    "values",
    [
        ("present", "absent"),
        ("high", "low"),
        ("0", "1", "2"),
        ("1", "2"),
        ("yes", "maybe"),
        ("yes", "no", "true", "false"),
        ("Yes", "yes", "no"),
    ],
)
def test_a_bool_is_never_a_number(values):
    for seen in (True, False, np.True_):
        with pytest.raises(InputError, match=r"not clearly a value of variable 'xray'.*its values"):
            found(seen, values)


def test_an_x_ray_seen_is_not_one_missed():
    lungs = model({"xray": YES_NO, "ill": YES_NO}, [(["xray", "ill"], [[8, 1], [1, 90]])])
    assert lungs.given({"xray": True}).observed["xray"].value == 0
    assert lungs.given({"xray": np.False_}).observed["xray"].value == 1


@pytest.mark.parametrize("seen", [1, np.int64(1), np.uint8(1), 1.0, np.float32(1), np.array(1)])
def test_numbers_of_any_kind_count_from_0(seen):
    assert found(seen, YES_NO) == 1


def test_a_name_comes_before_a_number():
    assert found(1, ("1", "0")) == 0
    assert found(np.int64(1), ("1", "0")) == 0
    assert found(np.str_("no"), YES_NO) == 1


@pytest.mark.parametrize("seen", [None, float("nan"), np.nan, np.float32("nan")])
def test_none_and_nan_mean_not_observed(seen):
    coin = model({"coin": ["heads", "tails"]}, [(["coin"], [3, 1])])
    assert coin.given({"coin": seen}).names == ("coin",)
    with pytest.raises(InputError, match="unknown variable 'cion'"):
        coin.given({"cion": seen})


@pytest.mark.parametrize("seen", [0.5, 2, -1, 2.0, float("inf"), np.int64(7)])
def test_other_numbers_are_refused(seen):
    with pytest.raises(InputError, match=r"unknown value .* of variable 'xray'"):
        found(seen, YES_NO)


@pytest.mark.parametrize("seen", [object(), [1, "x"], [None, 1], {"yes": "much"}, [1j, 0]])
def test_what_is_neither_value_nor_weights_is_refused(seen):
    with pytest.raises(InputError, match="neither a value nor a weight for each value"):
        found(seen, YES_NO)


def test_soft_evidence_may_be_an_array_or_name_bools():
    assert resolve({"x": np.array([0.2, 0.8])}, {"x": YES_NO}).soft == {"x": (0.2, 0.8)}
    assert resolve({"x": {True: 0.2, False: 0.8}}, {"x": YES_NO}).soft == {"x": (0.2, 0.8)}
    assert resolve({"x": {np.int64(1): 0.2}}, {"x": YES_NO}).soft == {"x": (0.0, 0.2)}


def test_a_set_means_one_of_its_values():
    colours = ("red", "green", "blue")
    weights = resolve({"light": {"red", np.int64(2)}}, {"light": colours}).soft["light"]
    assert weights == (1.0, 0.0, 1.0)
    with pytest.raises(InputError, match="is empty"):
        resolve({"light": set()}, {"light": colours})
    with pytest.raises(InputError, match="did you mean 'red'"):
        resolve({"light": {"read"}}, {"light": colours})


def test_a_row_of_a_data_frame_is_evidence():
    pd = pytest.importorskip("pandas")
    lungs = model({"xray": YES_NO, "ill": YES_NO}, [(["xray", "ill"], [[8, 1], [1, 90]])])
    rows = pd.DataFrame({"xray": ["yes", None, pd.NA], "ill": [np.nan, "no", pd.NaT]})
    assert [sorted(lungs.given(row).observed) for _, row in rows.iterrows()] == [
        ["xray"],
        ["ill"],
        [],
    ]


def test_evidence_by_keywords_joins_what_is_given_otherwise():
    lungs = model({"xray": YES_NO, "ill": YES_NO}, [(["xray", "ill"], [[8, 1], [1, 90]])])
    assert list(lungs.given({"xray": "yes"}, ill="no").observed) == ["xray", "ill"]


@pytest.mark.parametrize("wrong", [5, ["a"], "a"])
def test_evidence_that_names_nothing_is_refused_kindly(wrong):
    coin = om.model({"a": ["0", "1"]}, [(["a"], [1, 3])])
    asks = [
        lambda: coin.given(wrong),
        lambda: om.marginals(coin, wrong),
        lambda: om.draws(coin, wrong),
        lambda: om.best(coin, wrong),
        lambda: om.predict(coin, [{"a": "0"}], wrong),
    ]
    for ask in asks:
        with pytest.raises(InputError, match="evidence is a mapping from names to values"):
            ask()
