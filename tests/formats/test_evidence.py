"""Evidence from UAI and JSON files and typed by hand, and how pieces of it join."""

import pytest

from orbitmc.errors import ContradictionError, InputError
from orbitmc.formats import merge_evidence, read, read_evidence
from orbitmc.graph.model import model
from tests.formats.samples import BIF, EVIDENCE_JSON


@pytest.fixture
def weather(tmp_path):
    (tmp_path / "weather.bif").write_text(BIF)
    return read(tmp_path / "weather.bif")


@pytest.fixture
def file(tmp_path):
    def write(content):
        (tmp_path / "e").write_text(content)
        return tmp_path / "e"

    return write


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ("0", {}),
        ("0\n", {}),
        ("1 0", {}),
        ("1\n0\n", {}),
        ("1 0 1", {"rain": "no"}),
        ("1 1 0 1", {"rain": "no"}),
        ("1\n1 1 2", {"grass": "12 or more"}),
        ("2 0 1 1 2", {"rain": "no", "grass": "12 or more"}),
        ("1\n2 0 1 1 2\n", {"rain": "no", "grass": "12 or more"}),
        ("2 0 1 0 1", {"rain": "no"}),
    ],
)
def test_uai_evidence_is_read_with_and_without_a_sample_count(weather, file, content, seen):
    assert read_evidence(file(content), weather) == seen


def test_uai_evidence_counts_values_even_when_their_names_are_other_numbers(file):
    coin = model({"coin": ["1", "0"]}, [(["coin"], [3, 1])])
    assert read_evidence(file("1 0 0"), coin) == {"coin": "1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1:1: expected the number of observed variables, found the end of the file"),
        ("x", ":1:1: expected the number of observed variables, found 'x'"),
        (
            "2 0 1 1",
            ":1:1: expected the number of observed variables and as many pairs (or one sample of "
            "them), found '2' and 3 more words",
        ),
        ("2\n1 0 1 1 0 0", ":1:1: 2 observed variables take 4 words, but 6 follow"),
        ("3 0 1", ":1:1: 3 observed variables take 6 words, but 2 follow"),
        ("1 3 0", ":1:3: expected a variable from 0 to 2, found 3"),
        ("1\n1 0 2", ":2:5: expected a value of variable 0 from 0 to 1, found 2"),
        (
            "1000000000000 0 0",
            ":1:1: 1000000000000 observed variables take 2000000000000 words, but 2 follow",
        ),
        ('{"rain": "maybe"}', ": unknown value 'maybe' of variable 'rain'; its values are yes, no"),
        ('{"rian": "yes"}', ": unknown variable 'rian'; did you mean 'rain'?"),
        ('{"grass": true}', ": True is not clearly a value of variable 'grass'; its values are"),
        ('{"rain": null}', ": rain: expected a value or weights of values, found nothing"),
        ('{"rain": {"yes": -1}}', ": rain.yes: expected a weight (finite, not negative), found -1"),
        ('{"rain": [1, "x"]}', ": rain[1]: expected a weight, found 'x'"),
        (f'{{"rain": [1{"0" * 400}, 1]}}', ": rain[0]: expected a weight (finite, not negative)"),
        ('{"rain": [1]}', ": soft evidence on 'rain' needs 2 weights, got 1"),
        ('{"rain": {"yes": 0}}', ": soft evidence on 'rain' needs weights that are finite"),
        ("[1]", ": expected an object of variables, found a list of 1"),
        ('{"rain": "yes",}', ":1:16: this is not JSON: "),
    ],
)
def test_wrong_files_are_told_with_their_place(weather, file, content, message):
    path = file(content)
    with pytest.raises(InputError) as caught:
        read_evidence(path, weather)
    assert str(caught.value).startswith(f"{path}{message}")


def test_a_file_that_contradicts_itself_is_a_contradiction(weather, file):
    with pytest.raises(ContradictionError, match="'rain' is 'yes' and also 'no'"):
        read_evidence(file("2 0 0 0 1"), weather)


def test_json_evidence_is_hard_or_soft(weather, file):
    evidence = read_evidence(file(EVIDENCE_JSON), weather)
    assert evidence == {
        "rain": "yes",
        "grass": {"<5": 0.2, "5-12": 0.7},
        "sprinkler(1)": [1.0, 0.5],
    }
    assert weather.given(evidence).names == ("grass", "sprinkler(1)")


def test_true_in_json_is_the_value_called_yes(weather, file):
    evidence = read_evidence(file('{"rain": true}'), weather)
    assert weather.given(evidence).observed["rain"].value == 0


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("rain=yes", {"rain": "yes"}),
        (" rain = yes ", {"rain": "yes"}),
        ("rain=1", {"rain": 1}),
        ("sprinkler(1)=off", {"sprinkler(1)": "off"}),
        ("grass=12 or more", {"grass": "12 or more"}),
    ],
)
def test_typed_evidence_names_a_variable_and_a_value(weather, typed, seen):
    assert read_evidence(typed, weather) == seen


def test_typed_evidence_is_split_where_the_names_of_the_model_say():
    odd = model({"a=b": ["c", "d"], "x": [">=5", "<5"]}, [])
    assert read_evidence("a=b=c", odd) == {"a=b": "c"}
    assert read_evidence("x=>=5", odd) == {"x": ">=5"}
    both = model({"a": ["b=c", "d"], "a=b": ["c", "d"]}, [])
    with pytest.raises(InputError, match="can be read in 2 ways"):
        read_evidence("a=b=c", both)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("rian=yes", "unknown variable 'rian' in 'rian=yes'; did you mean 'rain'?"),
        (
            "rain=yess",
            "unknown value 'yess' of variable 'rain'; its values are yes, no; did you mean 'yes'?",
        ),
        ("rain", "which value has 'rain'? say rain=VALUE"),
        ("rain=2", "unknown value '2' of variable 'rain'; its values are yes, no"),
        ("=", "unknown variable '' in '='"),
        ("no/such/file.evid", "no/such/file.evid: there is no such file"),
        ("a=\0", "unknown variable 'a' in 'a=\\x00'"),
    ],
)
def test_wrong_typed_evidence_gets_the_nearest_name(weather, typed, message):
    with pytest.raises(InputError) as caught:
        read_evidence(typed, weather)
    assert str(caught.value).startswith(message)


def test_pieces_of_evidence_join(weather):
    pieces = [{"rain": "yes"}, {"rain": 0, "grass": [2, 4, 0]}, {"grass": {"<5": 3, "5-12": 3}}]
    joined = merge_evidence(pieces, weather)
    assert joined == {"rain": "yes", "grass": (6.0, 12.0, 0.0)}  # as they are: log Z counts them
    assert merge_evidence([], weather) == {}
    assert merge_evidence([{"rain": [0.5, 1]}, {"rain": "no"}], weather) == {"rain": "no"}


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_that_cannot_be_multiplied_are_refused(weather, weight):
    with pytest.raises(InputError, match="on 'rain' are too large or too small to multiply"):
        merge_evidence([{"rain": [weight, 1]}, {"rain": [weight, 1]}], weather)


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([{"rain": "yes"}, {"rain": "no"}], "'rain' is 'yes' and also 'no'"),
        ([{"rain": [0, 1]}, {"rain": "yes"}], "'rain' is 'yes', which other evidence excludes"),
        ([{"rain": [0, 1]}, {"rain": [1, 0]}], "on 'rain' exclude every value"),
    ],
)
def test_pieces_that_contradict_each_other_are_a_contradiction(weather, pieces, message):
    with pytest.raises(ContradictionError, match=message):
        merge_evidence(pieces, weather)


def test_evidence_on_an_observed_variable_uses_its_names(weather):
    seen = weather.given({"rain": "yes"})
    assert read_evidence("rain=no", seen) == {"rain": "no"}
    with pytest.raises(ContradictionError, match="already observed to be 'yes'"):
        seen.given(read_evidence("rain=no", seen))


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("rain={yes, no}", {"rain": {"yes", "no"}}),
        ('rain={"yes"}', {"rain": {"yes"}}),
        ("grass = { '12 or more' , dry }", {"grass": {"12 or more", "dry"}}),
        ('rain={"yes": .8, "no": .2}', {"rain": {"yes": 0.8, "no": 0.2}}),
        ("grass={12 or more: 1e-3}", {"grass": {"12 or more": 0.001}}),
    ],
)
def test_sets_and_weights_are_typed_in_braces(weather, typed, seen):
    assert read_evidence(typed, weather) == seen


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("rain={}", "neither a set of values"),
        ("rain={", "neither a set of values"),
        ("rain={yes", "neither a set of values"),
        ("rain={yes,}", "neither a set of values"),
        ("rain={yes} no", "neither a set of values"),
        ("rain={yes: .8, no}", "neither a set of values"),
        ("rain={yes: .8: .1}", "neither a set of values"),
        ("rain={yes: much}", "'much' in .* is not a weight"),
        ("rain={yes, yes}", "names the value 'yes' twice"),
    ],
)
def test_broken_braces_are_refused(weather, typed, message):
    with pytest.raises(InputError, match=message):
        read_evidence(typed, weather)


def test_unknown_values_in_braces_get_a_suggestion(weather):
    with pytest.raises(InputError, match="did you mean 'yes'"):
        merge_evidence([read_evidence("rain={yess, no}", weather)], weather)
