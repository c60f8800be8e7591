"""Databases: every kind of line, every kind of mistake, and several together."""

import gzip
import math

import pytest

from orbitmc.errors import LimitError, ManyInputError
from orbitmc.mln.data.database import FALSE, TRUE, UNKNOWN, merge_databases
from orbitmc.mln.data.reader import parse_database, read_database
from orbitmc.mln.language.parser import parse

PROGRAM = parse("Rain\nWet\nFriends(p,p)\nX(p)\np MotherOf(p)\nAt(p,t)\n")


def known(text, program=PROGRAM):
    """Atoms with their truth and log odds, and the warnings."""
    database = parse_database(text, program)
    return atoms_of(database), database.warnings


def atoms_of(database):
    found = {}
    for name, facts in database.facts.items():
        rows = zip(*facts.columns, strict=True) if facts.columns else [()]
        for row, truth, log_odds in zip(rows, facts.truth, facts.log_odds, strict=True):
            assert (name, *row) not in found
            found[name, *row] = (int(truth), float(log_odds))
    return found


def places(text, program=PROGRAM):
    with pytest.raises(ManyInputError) as caught:
        parse_database(text, program)
    return [(error.line, error.column, error.message) for error in caught.value.errors]


def test_every_kind_of_line():
    atoms, warnings = known(
        "Friends(Anna, Bob) // friends\r\n\r\n  !X( Bob )\n?X(Anna)\t\nRain\n!Wet()\n"
        'Anna = MotherOf(Bob)\nAt(Anna,3) At(Bob,-2), !At("Mary Ann", 4)\n'
        'X("http://a.b/c")\n!X("a, b")\nX("Eve") /* X(Zoe)\nX(Zoe) */\nX(Faculty-emeritus)'
    )
    assert {atom: truth for atom, (truth, _) in atoms.items()} == {
        ("Friends", "Anna", "Bob"): TRUE,
        ("X", "Bob"): FALSE,
        ("X", "Anna"): UNKNOWN,
        ("Rain",): TRUE,
        ("Wet",): FALSE,
        (PROGRAM.functions["MotherOf"], "Anna", "Bob"): TRUE,
        ("At", "Anna", "3"): TRUE,
        ("At", "Bob", "-2"): TRUE,
        ("At", "Mary Ann", "4"): FALSE,
        ("X", "http://a.b/c"): TRUE,
        ("X", "a, b"): FALSE,
        ("X", "Eve"): TRUE,
        ("X", "Faculty-emeritus"): TRUE,
    }
    assert warnings == ()


@pytest.mark.parametrize(
    ("line", "truth", "log_odds"),
    [
        ("0.7 X(A)", UNKNOWN, math.log(7 / 3)),
        ("0.7 !X(A)", UNKNOWN, math.log(3 / 7)),
        (".5 X(A)", UNKNOWN, 0.0),
        ("1 X(A)", TRUE, 0.0),
        ("0 X(A)", FALSE, 0.0),
        ("1.0 !X(A)", FALSE, 0.0),
        ("0.0 !X(A)", TRUE, 0.0),
        ("1e-300 X(A)", UNKNOWN, -300 * math.log(10)),
    ],
)
def test_soft_evidence(line, truth, log_odds):
    ((found_truth, found_log_odds),) = known(line)[0].values()
    assert found_truth == truth
    assert found_log_odds == pytest.approx(log_odds, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "truth", "count"),
    [
        ('X(A)\nX( A )\nX("A")\n', TRUE, 0),
        ("X(A)\n!X(A)\n", FALSE, 1),
        ("0.7 X(A)\nX(A)\n", TRUE, 1),
        ("X(A)\n0.7 X(A)\n", UNKNOWN, 1),
        ("0.7 X(A)\n0.3 !X(A)\n?X(A)", UNKNOWN, 1),
        ("X(A)\n" + "!X(A)\nX(A)\n" * 20, TRUE, 11),
    ],
)
def test_the_last_value_counts_and_a_change_gives_a_warning(text, truth, count):
    atoms, warnings = known(text)
    assert [value for value, _ in atoms.values()] == [truth]
    assert len(warnings) == count


def test_a_function_has_one_value():
    atoms, warnings = known("A = MotherOf(B)\nC = MotherOf(B)\nC = MotherOf(D)\n")
    assert list(atoms) == [("MotherOf=", "C", "B"), ("MotherOf=", "C", "D")]
    assert [warning.split(":")[1] for warning in warnings] == ["2"]


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ("X(anna)", 3, 'write Anna or "anna"'),
        ("Friends(A, bob)", 12, "small letter"),
        ("0.3 X(anna)", 7, "small letter"),
        ("Xx(A)", 1, "did you mean 'X'?"),
        ("0.3 Xx(A)", 5, "did you mean 'X'?"),
        ("X(A,B)", 1, "1 argument, found 2"),
        ('X("A",B)', 1, "1 argument, found 2"),
        ("Rain(A)", 1, "0 arguments, found 1"),
        ("X", 1, "1 argument, found 0"),
        ("X(A", 2, "')'"),
        ('X("A)', 2, "')'"),
        ("X(A) 0.32", 6, "hybrid"),
        ("X(A)=False", 5, "not compared"),
        ("1.5 X(A)", 1, "probability"),
        ("0.5 ?X(A)", 5, "cannot have ?"),
        ("MotherOf(A)", 1, "function"),
        ("A = FatherOf(B)", 5, "not declared"),
        ("X(A) v X(B)", 6, "not declared"),
        ("& X(A)", 1, "expected a ground atom"),
        ("pp = {A}", 1, "did you mean 'p'?"),
        ("p = {A, b}", 9, "small letter"),
    ],
)
def test_errors_say_where_and_why(line, column, words):
    program = parse("Rain\nFriends(p,p)\nX(p)\np MotherOf(p)\n")
    ((found_line, found_column, message),) = places("X(A)\n  \n" + line, program)
    assert (found_line, found_column) == (3, column)
    assert words in message


def test_all_errors_are_collected_and_undeclared_predicates_counted():
    found = places("X(a)\nLinks(A,B)\nX(A,B)\n Links(B,C)\n0.3 X(b)\n X(B) X(c)\n")
    assert [(line, column) for line, column, _ in found] == [(1, 3), (2, 1), (3, 1), (5, 7), (6, 9)]
    assert "(in 2 lines)" in found[1][2]


def test_constants_may_be_listed():
    assert parse_database("p = {A, B}\np = {C}\nX(A)", PROGRAM).constants == {"p": ("A", "B", "C")}


def test_tuffy_knows_no_variables_in_databases():
    program = parse("X(p)", dialect="tuffy")
    assert list(known("X(anna)", program)[0]) == [("X", "anna")]


def test_packed_files(tmp_path):
    path = tmp_path / "e.db.gz"
    path.write_bytes(gzip.compress(b"X(A)\n"))
    assert list(atoms_of(read_database(path, PROGRAM))) == [("X", "A")]
    with pytest.raises(LimitError):
        read_database(path, PROGRAM, memory=50)


def test_merged_databases():
    first = parse_database("X(A)\nRain\n0.7 X(C)\np = {A}", PROGRAM)
    second = parse_database("!X(A)\nX(B)\nRain\n0.7 X(C)\np = {B}", PROGRAM)
    both = merge_databases([first, second])
    assert {atom: truth for atom, (truth, _) in atoms_of(both).items()} == {
        ("X", "A"): FALSE,
        ("X", "C"): UNKNOWN,
        ("X", "B"): TRUE,
        ("Rain",): TRUE,
    }
    assert both.constants == {"p": ("A", "B")}
    (warning,) = both.warnings
    assert warning.startswith("1 atom of X with")
    assert merge_databases([first]) is first
    assert merge_databases([]).facts == {}


@pytest.mark.parametrize(
    "line", ["foo bar {n}", 'W{n}("A b")', "W{n}(A)", "X(anna{n})", "X(A,B{n})"]
)
def test_of_very_many_errors_the_first_are_told(line):
    program = parse("X(p)")
    with pytest.raises(ManyInputError) as error:
        parse_database("\n".join(line.format(n=n) for n in range(3000)), program)
    assert 1000 <= len(error.value.errors) < 1010
    assert str(error.value).splitlines()[-1].endswith("more like these; what follows was not read")
