"""The grammar of events: what it accepts, and where it says that something is wrong."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError
from orbitmc.inference.events import MOST_DEPTH, read_event, read_formula
from orbitmc.inference.query import view_of
from tests.inference.questions.events import holds

MODEL = om.model(
    {"A": ["x", "y"], "B": ["y", "z", "in"], "odd name": ["1", "0"], "T": ["no", "Yes"]}, []
)
PIECES = [
    *("A", "B", "'odd name'", "T", "x", "'y'", '"z"', "==", "!=", "=", "in", "not", "and", "or"),
    *("(", ")", "[", "]", "{", "}", ",", "&", "|", "!", "~", "<", ">=", "'", '"', "\\", "1", "é"),
    *(" ", "\n", "True", "false", "C", "9" * 12, "==='", "&&", "||", "\0"),
]


def read(text):
    return read_event(text, view_of(MODEL), "event")


def chance(text):
    return float(om.probability(MODEL, text, method="exact"))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("A = x", "A == 'x'"),
        ("A == x & B != y", "A == 'x' and B != 'y'"),
        ("A == x && !(B == y)", "A == 'x' and not B == 'y'"),
        ("A == x || ~ B == y", "A == 'x' or not B == 'y'"),
        ("A==x AND B==y OR A==y", "A == 'x' and B == 'y' or A == 'y'"),
        ("B in [y, 'in']", "B in ('y', 'in')"),
        ("B not in {y}", "B not in ('y',)"),
        ("not not A == x", "A == 'x'"),
        ("A == 0", "A == 'x'"),
        ("A == B", "A == B"),
        ("A <> B", "A != B"),
        ("(((A == x)))", "A == 'x'"),
        ("A\n==\n x", "A == 'x'"),
    ],
)
def test_other_spellings_mean_the_same(text, same):
    expected = holds(same, MODEL).mean()
    assert chance(text) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'odd name' == 1", 1 / 2),
        ("'odd name' == true", 1 / 2),
        ("T", 1 / 2),
        ("not T and A == x", 1 / 4),
        ("B == in", None),
        ("B == 'in'", 1 / 3),
    ],
)
def test_quotes_numbers_and_truths(text, expected):
    if expected is None:
        with pytest.raises(InputError):
            read(text)
    else:
        assert chance(text) == pytest.approx(expected, abs=1e-12)


def test_and_binds_tighter_than_or_as_in_python():
    for text in ("A == 'x' or A == 'y' and B == 'z'", "A == 'x' and B == 'z' or B == 'y'"):
        assert chance(text) == pytest.approx(holds(text, MODEL).mean(), abs=1e-12)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "1:1", "expected a variable, found the end"),
        ("A == x and Bee == y", "1:12", "unknown variable 'Bee'"),
        ("A == z", "1:6", "unknown value 'z' of variable 'A'"),
        ("A == x and\n(B == q)", "2:7", "unknown value 'q'"),
        ("A", "1:1", "True is not clearly a value of variable 'A'"),
        ("A x", "1:3", "expected ==, !=, in"),
        ("A == 'x", "1:6", "a quote is not closed"),
        ("(A == x", "1:8", "expected and, or, or ')'"),
        ("A == x)", "1:7", "expected and, or, or the end"),
        ("A < x", "1:3", "values have no order"),
        ("A in x", "1:6", "expected a list of values"),
        ("A in ()", "1:7", "expected a value of A"),
        ("A in (x y)", "1:9", "expected a comma or ')'"),
        ("A == T", "1:6", "A and T have no value in common"),
        ("A ==", "1:5", "expected a value of A"),
    ],
)
def test_mistakes_are_placed(text, place, said):
    with pytest.raises(InputError) as error:
        read(text)
    assert str(error.value).startswith(f"event:{place}: ")
    assert said in str(error.value)


def test_depth_is_limited_and_length_is_not():
    deep = MOST_DEPTH + 1
    with pytest.raises(InputError, match="nested more than 100 deep"):
        read("(" * deep + "A == x" + ")" * deep)
    read("(" * MOST_DEPTH + "A == x" + ")" * MOST_DEPTH)
    read("not " * 10_001 + "A == x")
    read(" and ".join(["A == x"] * 10_000))


def test_fuzzed_events_give_only_our_error():
    rng, understood = np.random.default_rng(1), 0
    for _ in range(20_000):
        text = " ".join(rng.choice(PIECES, size=rng.integers(1, 9)))
        try:
            read(text)
        except InputError as error:
            assert str(error).startswith("event:")  # noqa: PT017
        else:
            understood += 1
    assert understood > 50


def test_fuzzed_formulas_give_only_our_error():
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    pieces = ["Cancer(Anna)", "Smokes", "(", ")", "!", "^", " v ", "=>", "<=>", "x", "Anna", ","]
    pieces += ["EXIST x", "Friends(Anna,Bob)", "=", "+", "*", '"', "3", "Cancer", ".", "FORALL"]
    rng, understood = np.random.default_rng(1), 0
    for _ in range(5000):
        text = " ".join(rng.choice(pieces, size=rng.integers(1, 7)))
        try:
            read_formula(text, program, "event")
        except InputError as error:
            assert str(error).startswith("event:")  # noqa: PT017
        else:
            understood += 1
    assert understood > 50


def test_deep_formulas_are_refused_kindly():
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    with pytest.raises(InputError, match="nested more than"):
        read_formula("Cancer(Anna) => " * 2000 + "Cancer(Bob)", program, "event")
    read_formula(" ^ ".join(["Cancer(Anna)"] * 5000), program, "event")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Cancr(Anna)", "did you mean 'Cancer'"),
        ("Cancer(Ana)", "did you mean 'Anna'"),
        ("EXIST x Cancer(x)", "quantifiers are not read here"),
        ("Cancer(Anna, Bob)", "takes 1 argument"),
        ("Cancer(Anna) and Cancer(Bob)", "expected a connective"),
    ],
)
def test_mistakes_in_formulas_are_placed(text, said):
    program = om.read("examples/smokers.mln", "examples/smokers.db")
    with pytest.raises(InputError, match=said) as error:
        read_formula(text, program, "event")
    assert str(error.value).startswith("event:1:")


def test_names_with_times_need_no_quotes():
    values = ["a", "b"]
    model = om.model(
        {"x[0]": values, "x[12]": values, "in": values},
        [(["x[0]"], [0.25, 0.75]), (["x[12]"], [0.5, 0.5]), (["in"], [0.1, 0.9])],
    )
    for event, expected in {
        "x[0] == 'a'": 0.25,
        "x[0]=b and not x[12]=a": 0.375,
        "x[0] == x[12]": 0.5,
        "x[0] in[0]": 0.25,
        "x[0] in ['a', 'b'] and 'x[12]' == 0": 0.5,
    }.items():
        assert float(om.probability(model, event)) == pytest.approx(expected), event
