"""UAI models and results: what is accepted, and what each mistake is told."""

import json

import numpy as np
import pytest

from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.formats import read, read_mar, read_pr, write_mar, write_pr
from tests.formats.samples import UAI


@pytest.fixture
def uai(tmp_path):
    def write(content, name="m.uai"):
        (tmp_path / name).write_text(content)
        return tmp_path / name

    return write


def test_tables_are_weights_with_the_last_variable_fastest(uai):
    graph = read(uai(UAI)).graph
    assert graph.cardinality.tolist() == [2, 2, 3]
    np.testing.assert_array_equal(graph.table_values(1), np.log([[0.128, 0.872], [0.92, 0.08]]))
    assert graph.table_values(2)[1, 1] == -np.inf


@pytest.mark.parametrize("space", [" ", "\n", "\r\n", "\t \n\n"])
def test_any_white_space_separates(uai, space):
    content = space.join(UAI.split())
    assert read(uai(space + content)).graph.table.tobytes() == read(uai(UAI)).graph.table.tobytes()


def test_bayes_is_read_like_markov(uai):
    assert (
        read(uai("bayes 1 2 1 1 0 2 .25 75e-2")).graph.table.tolist()
        == np.log([0.25, 0.75]).tolist()
    )


def test_equal_tables_are_stored_once_however_they_are_written(uai):
    graph = read(uai("MARKOV 2 2 2 3 1 0 1 1 1 0 2 1 0.5 2 1.0 5e-1 2 0.5 1")).graph
    assert graph.table_of.tolist() == [0, 0, 1]


def test_a_factor_over_no_variables_multiplies_all_weights(uai):
    graph = read(uai("MARKOV 1 2 2 0 1 0 1 8.0 2 1 2")).graph
    assert graph.factors == 1
    assert graph.constant == np.log(8.0)
    with pytest.raises(ContradictionError, match="factor 0 reads no variable and has weight 0"):
        read(uai("MARKOV 1 2 1 0 1 0"))


WRONG = {
    "": "1:1: expected MARKOV or BAYES, found the end of the file",
    "MARKOW 1": "1:1: expected MARKOV or BAYES, found 'MARKOW'",
    "MARKOV\n two": "2:2: expected the number of variables, found 'two'",
    "MARKOV -1": "1:8: expected the number of variables, found '-1'",
    "MARKOV 1_0": "1:8: expected the number of variables, found '1_0'",
    "MARKOV 3\n2 2": "2:4: expected 3 cardinalities, found only 2 more words",
    "MARKOV 2\n2 0 0": "2:3: variable 1 has 0 values, expected 1 to 256 in a file of 14 characters",
    "MARKOV 1 2 1": "1:12: 1 factors are announced, but only 0 words follow",
    "MARKOV 1 2 1\n1 1 2 1 1": "2:3: expected a variable from 0 to 0, found 1",
    "MARKOV 2 2 2 1\n2 1 1 4 1 1 1 1": "2:3: factor 0 reads a variable twice",
    "MARKOV 1 2 1\n1 0\n3 1 1 1": "3:1: factor 0 over 1 variables needs 2 weights, found 3",
    "MARKOV 1 2 1\n1 0\n2 1": "3:4: expected 2 weights of factor 0, found only 1 more words",
    "MARKOV 1 2 1 1 0 2\n1\n-0.5": "3:1: expected a weight (finite, not negative), found '-0.5'",
    "MARKOV 1 2 1 1 0 2 nan 1": ("1:20: expected a weight (finite, not negative), found 'nan'"),
    "MARKOV 1 2 1 1 0 2 1 1e999": ("1:22: expected a weight (finite, not negative), found '1e999'"),
    "MARKOV 1 2 1 1 0 2 1_0 1": "1:20: expected a weight (finite, not negative), found '1_0'",
    "MARKOV 1 2 1 1 0 2 one 1": "1:20: expected a weight (finite, not negative), found 'one'",
    "MARKOV 1 2 1 1 0 2 1 1\njunk": "2:1: expected the end of the file, found 'junk'",
    "MARKOV 1 ٢ 0": "1:10: expected words and numbers, found '٢'",
}


@pytest.mark.parametrize("content", WRONG, ids=repr)
def test_each_mistake_is_told_with_its_place(uai, content):
    path = uai(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}:{WRONG[content]}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("MARKOV 1000000000000 2 2 2", "expected 1000000000000 cardinalities, found only 3 more"),
        ("MARKOV 99999999999999999999999 2", "expected the number of variables, found '9999999"),
        ("MARKOV 1 1000000000 0", "variable 0 has 1000000000 values, expected 1 to 256"),
        ("MARKOV 1 2 1000000000000 1 0", "1000000000000 factors are announced, but only 2 words"),
        ("MARKOV 1 2 1 999999999999 0", "expected 999999999999 variables of factor 0"),
        ("MARKOV 1 2 1 1 0 999999999999 1", "needs 2 weights, found 999999999999"),
        (
            "MARKOV 40" + " 2" * 40 + " 1 40 " + " ".join(map(str, range(40))) + " 4 1",
            "needs 1099511627776",
        ),
        ("MARKOV 99" + " 2" * 99 + " 1 99 " + " ".join(map(str, range(99))) + " 4", "more than"),
    ],
)
def test_a_small_file_that_announces_much_is_refused_at_once(uai, content, message):
    with pytest.raises(InputError, match=message):
        read(uai(content))


def test_reading_never_takes_more_memory_than_allowed(uai):
    sizes = range(1, 3000)
    path = uai(f"MARKOV {len(sizes)} {' '.join(map(str, sizes))} 0")
    with pytest.raises(LimitError, match=r"takes about 274\.\d MiB, over the memory limit of 1\.0"):
        read(path, memory=2**20)
    with pytest.raises(LimitError, match=r"takes about \d+\.\d KiB, over the memory limit of 100"):
        read(path, memory=100 * 2**10)


def test_names_beside_a_model_are_read(uai):
    path = uai("MARKOV 2 2 1 1 1 0 2 1 3")
    names = [{"name": "coin", "values": ["heads", "tails"]}, {"name": "one", "values": ["only"]}]
    held = {"format": "orbitmc-names", "version": 1, "variables": names}
    path.with_name("m.uai.json").write_text(json.dumps(held))
    assert read(path).domains() == {"coin": ("heads", "tails"), "one": ("only",)}
    held["variables"].pop()
    path.with_name("m.uai.json").write_text(json.dumps(held))
    with pytest.raises(InputError, match=r"m\.uai\.json: the names here are not those of m\.uai"):
        read(path)


def test_marginals_come_back_to_the_bit(tmp_path):
    rows = [np.array([1 / 3, 2 / 3]), np.array([0.0, 1e-300, 1.0])]
    write_mar(tmp_path / "x.MAR", rows)
    back = read_mar(tmp_path / "x.MAR")
    assert [row.tolist() for row in back] == [row.tolist() for row in rows]


@pytest.mark.parametrize(
    ("content", "sizes"),
    [
        ("MAR\n2 2 0.5 0.5 1 1.0", [2, 1]),
        ("MAR 1\n2 2 0.5 0.5 1 1.0", [2, 1]),
        ("MAR\n1 2 0 1", [2]),
        ("MAR\n1 1 2 0 1", [2]),
        ("MAR\n0", []),
    ],
)
def test_marginals_are_read_with_and_without_a_count_of_answers(uai, content, sizes):
    assert [len(row) for row in read_mar(uai(content))] == sizes


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("PR\n1", ":1:1: expected MAR, found 'PR'"),
        ("MAR\n1 2 0.5", ":2:8: expected 2 probabilities of variable 0, found only 1 more words"),
        ("MAR\n1 2 0.5 1.5", ":2:9: expected a probability, found 1.5"),
        ("MAR\n1 2 0.5 x", ":2:9: expected a weight (finite, not negative), found 'x'"),
        (
            "MAR\n99999999999 2",
            ":2:1: 99999999999 variables are announced, but only 1 words follow",
        ),
        ("MAR\n1 1 1.0 junk", ":2:9: expected the end of the file, found 'junk'"),
    ],
)
def test_wrong_marginals_are_told_with_their_place(uai, content, message):
    path = uai(content)
    with pytest.raises(InputError) as caught:
        read_mar(path)
    assert str(caught.value) == f"{path}{message}"


def test_marginals_that_are_no_probabilities_are_not_written(tmp_path):
    with pytest.raises(InputError, match="must be probabilities"):
        write_mar(tmp_path / "x.MAR", [[np.nan, 1.0]])
    assert list(tmp_path.iterdir()) == []


def test_the_partition_function_comes_back(uai, tmp_path):
    write_pr(tmp_path / "x.PR", -17.2155)
    assert (tmp_path / "x.PR").read_text() == "PR\n-17.2155\n"
    assert read_pr(tmp_path / "x.PR") == -17.2155
    assert read_pr(uai("PR -inf")) == -np.inf
    for content in ("PR", "PR nan", "PR 1_0", "PR x", "PR 2 3", "PR 1 2 3", "MAR 1"):
        with pytest.raises(InputError, match="expected"):
            read_pr(uai(content))


def test_comments_are_skipped_and_places_stay_true(tmp_path):
    path = tmp_path / "m.uai"
    path.write_text("MARKOV # by pyAgrum\n1\n2\n1\n1 0 # a\n\n2\n 0.25 x\n")
    with pytest.raises(InputError, match=r"m\.uai:8:7: expected a weight"):
        read(path)
    path.write_text(path.read_text().replace("x", "0.75 # end"))
    np.testing.assert_allclose(np.exp(read(path).graph.table_values(0)), [0.25, 0.75])


@pytest.mark.parametrize(
    "content",
    [
        "MAR\n1 2 0.25 0.75",
        "MAR\n1\n1 2 0.25 0.75",
        "MAR\n1 2 0.5 0.5\n-BEGIN-\n1 2 0.25 0.75",
        "MAR\n1\n1 2 0.5 0.5\n-BEGIN-\n1\n1 2 0.25 0.75\n",
        "MAR\n-BEGIN-\nMAR\n1 2 0.25 0.75",
    ],
)
def test_marginals_of_other_solvers_are_read(tmp_path, content):
    (tmp_path / "m.MAR").write_text(content)
    assert [own.tolist() for own in read_mar(tmp_path / "m.MAR")] == [[0.25, 0.75]]


@pytest.mark.parametrize("content", ["PR\n-17.5", "PR\n1\n-17.5", "PR\n1\n-9\n-BEGIN-\n1\n-17.5\n"])
def test_partition_functions_of_other_solvers_are_read(tmp_path, content):
    (tmp_path / "m.PR").write_text(content)
    assert read_pr(tmp_path / "m.PR") == -17.5


def test_an_answer_that_never_begins_is_refused(tmp_path):
    (tmp_path / "m.MAR").write_text("MAR\n1 2 0.25 0.75\n-BEGIN-\n")
    with pytest.raises(InputError, match="expected the number of variables, found the end"):
        read_mar(tmp_path / "m.MAR")
