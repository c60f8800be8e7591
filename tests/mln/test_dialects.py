"""What pracmln and Tuffy write differently, and includes, which all have."""

import math

import pytest

from orbitmc.errors import InputError, ManyInputError
from orbitmc.mln.data.reader import parse_database, parse_databases
from orbitmc.mln.language.parser import parse, read_program
from tests.mln.shown import shown

PEOPLE = "F(p,p)\nX(p)\nY(p)\nZ(p)\n"


def formulas(text, dialect):
    return [shown(rule.formula) for rule in parse(PEOPLE + text, dialect=dialect).rules]


def message(text, dialect):
    with pytest.raises(ManyInputError) as caught:
        parse(PEOPLE + text, dialect=dialect)
    (error,) = caught.value.errors
    return error.line, error.column, error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 X(x) ^ Y(x) v Z(x)", "(X(x) ^ (Y(x) v Z(x)))"),
        ("1 X(x) v Y(x) ^ Z(x)", "((X(x) v Y(x)) ^ Z(x))"),
        ("1 X(x)vY(x)", "(X(x) v Y(x))"),
        ("1 EXIST y (F(x,y)) ^ X(x)", "(EXIST y F(x,y) ^ X(x))"),
        ("1 F(x,y) ^ !(x=y) => X(x)", "((F(x,y) ^ !(x = y)) => X(x))"),
        ("1 F(x,y) => x =/= y", "(F(x,y) => (x != y))"),
        ("X(x).", "X(x)"),
    ],
)
def test_pracmln_formulas(text, expected):
    assert formulas(text, "pracmln") == [expected]


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("log(4)/2 X(x)", math.log(2)),
        ("logx(.75/.25) X(x)", math.log(3)),
        ("-log(0.5)*2 X(x)", 2 * math.log(2)),
        ("2**3 X(x)", 8),
        ("(1+2)*3 X(x)", 9),
        ("0.5 X(x)", 0.5),
    ],
)
def test_pracmln_weights_are_calculated(text, weight):
    (rule,) = parse(PEOPLE + text, dialect="pracmln").rules
    assert rule.weight == pytest.approx(weight, abs=1e-15)


@pytest.mark.parametrize("text", ["log(0) X(x)", "log(1,2) X(x)", "exp(1e9) X(x)", "2**1e9 X(x)"])
def test_pracmln_weights_that_are_no_numbers(text):
    assert message(text, "pracmln")[0] == 5


def test_pracmln_weights_are_never_executed(tmp_path):
    path = tmp_path / "made"
    assert message(f"log(open('{path}','w').fileno()) X(x)", "pracmln")[0] == 5
    assert not path.exists()


def test_pracmln_fixed_weights_and_at_most_one():
    program = parse("X(p)\nCol(p,c?)\n#fixweight\n2 X(x)\n1 X(x)\n", dialect="pracmln")
    assert [(rule.weight, rule.fixed) for rule in program.rules] == [
        (math.inf, True),
        (2, True),
        (1, False),
    ]
    assert shown(program.rules[0].formula) == (
        "(!Col(first_0,first_1) v !Col(first_0,other_1) v (first_1 = other_1))"
    )


def test_pracmln_has_one_implication():
    assert message("1 X(x) => Y(x) => Z(x)", "pracmln")[:2] == (5, 16)


def test_pracmln_databases():
    program = parse(PEOPLE, dialect="pracmln")
    text = "p = {A, B}\nX(A)\n0.6 Y(A)\n---\n!X(B)\n"
    first, second = parse_databases(text, program)
    assert first.constants == {"p": ("A", "B")}
    assert list(first.facts) == ["X", "Y"]
    assert second.facts["X"].columns == (("B",),)
    with pytest.raises(InputError, match=r"<text>:4:1: --- separates"):
        parse_database(text, program)
    with pytest.raises(InputError, match=r"<text>:6:2: the predicate 'W'"):
        parse_databases(text + " W(A)", program)


def test_tuffy_declarations():
    program = parse(
        "*wrote(person author, paper p)\n**refers(paper,paper)\ncategory(paper, cat!)\n"
        "1 wrote(person, p) => category(p, Networking)\n",
        dialect="tuffy",
    )
    assert [predicate.closed for predicate in program.predicates.values()] == [True, True, None]
    assert program.predicates["wrote"].types == ("person", "paper")
    assert program.predicates["category"].exclusive == (False, True)
    assert program.constants["cat"] == ("Networking",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "1.5 X(x), F(x,y), x != y => X(y) v Y(y)",
            "((X(x) ^ F(x,y) ^ (x != y)) => (X(y) v Y(y)))",
        ),
        ("1 EXIST y F(x,y), X(x) => Y(y)", "EXIST y ((F(x,y) ^ X(x)) => Y(y))"),
        ("1 F(a,b), [a + 1 < b AND NOT a <> 3] => X(a)", None),
        ('[Label] "one" 1 X(x)', "X(x)"),
        ("!X(x) v Y(x).", "(!X(x) v Y(x))"),
    ],
)
def test_tuffy_formulas(text, expected):
    bracketed = "((F(a,b) ^ ((plus(a,'1') < b) ^ !(a != '3'))) => X(a))"
    assert formulas(text, "tuffy") == [expected or bracketed]


@pytest.mark.parametrize(
    ("text", "weight", "fixed"),
    [("+.5 X(x)", 0.5, False), (".25 X(x)", 0.25, False), ("@5 X(x)", 5.0, True)],
)
def test_tuffy_weights(text, weight, fixed):
    (rule,) = parse(PEOPLE + text, dialect="tuffy").rules
    assert (rule.weight, rule.fixed) == (weight, fixed)


@pytest.mark.parametrize(
    ("text", "words"),
    [("X(x) := Y(x).", "not supported"), ("X(x) :- Y(x).", "not supported")],
)
def test_tuffy_rules_that_are_refused(text, words):
    assert words in message(text, "tuffy")[2]


def test_a_list_of_constants_does_not_look_like_tuffy():
    assert "Alchemy" in parse("p = {A}\nX(p)\n", dialect="tuffy").warnings[0]


def test_includes_are_relative_to_the_file(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "all.mln").write_text('#include "parts/some.mln"\n1 X(x)\n')
    (tmp_path / "parts" / "some.mln").write_text('#include "types.mln"\nX(p)\n')
    (tmp_path / "parts" / "types.mln").write_text("p = {A}\n")
    program = read_program(tmp_path / "all.mln")
    assert program.constants == {"p": ("A",)}
    assert len(program.rules) == 1
    again = read_program([tmp_path / "parts" / "some.mln", tmp_path / "parts" / "types.mln"])
    assert list(again.predicates) == ["X"]


def test_includes_that_cannot_be(tmp_path):
    (tmp_path / "a.mln").write_text(
        '#include "b.mln"\n#include "c.mln"\n#include "f.cpp"\n#include "e.db"\n#include x\n'
    )
    (tmp_path / "b.mln").write_text('\n  #include "a.mln"\n1 W(x)')
    with pytest.raises(ManyInputError) as caught:
        read_program(tmp_path / "a.mln")
    found = [(error.source, error.line, error.column) for error in caught.value.errors]
    assert found == [
        (str(tmp_path / "b.mln"), 2, 12),
        (str(tmp_path / "b.mln"), 3, 3),
        *((str(tmp_path / "a.mln"), line, 10) for line in (2, 3, 4, 5)),
    ]


FOREIGN = {
    "pracmln": (
        {
            "COUNT(x | X(x)) = 1.": "counts are pracmln's; see dialect pracmln",
            "count(X(x) | x) = 1.": "counts are pracmln's; see dialect pracmln",
            "count(X(x)) = 1.": "counts are pracmln's; see dialect pracmln",
            "1 X|Y(x)": "groups of predicates X|Y(?x) are pracmln's",
            "logx(0.3) X(x)": "calculated is pracmln's; see dialect pracmln",
            "P(X(x)) = 0.1": "probability constraints are pracmln's",
            "1 X(?x)": "variables that begin with ? are pracmln's",
        },
        ("alchemy", "tuffy", "lomrf"),
    ),
    "tuffy": (
        {
            '[Label] "one" 1 X(x)': "labels of rules are Tuffy's; see dialect tuffy",
            "wrote(person author)": "found 'author'; names of arguments are Tuffy's",
            "w: X(w)": "a weight taken from a variable is Tuffy's",
            "|x| X(x) <= 1": "cardinalities |x| are RockIt's; see dialect tuffy",
            "@1 X(x)": "@ before a weight belongs to Tuffy",
        },
        ("alchemy", "pracmln", "lomrf"),
    ),
    "lomrf": (
        {
            "1 Y(x) :- X(x)": "definite clause of LoMRF (see dialect lomrf)",
            "1 X(t++)": "next time step of LoMRF; see dialect lomrf",
        },
        ("alchemy", "pracmln", "tuffy"),
    ),
}
REFUSED = [
    (text, dialect, said)
    for texts, dialects in FOREIGN.values()
    for text, said in texts.items()
    for dialect in dialects
]


@pytest.mark.parametrize(("text", "dialect", "said"), REFUSED)
def test_what_another_dialect_has_is_refused_by_name(text, dialect, said):
    assert said in message(text, dialect)[2]
