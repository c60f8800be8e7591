"""Programs mean what the language says; every formula is compared with all its parentheses."""

import math

import pytest

from orbitmc.errors import InputError, LimitError, ManyInputError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language import declarations
from orbitmc.mln.language.parser import parse
from orbitmc.mln.language.syntax import Predicate
from tests.mln.shown import shown

PEOPLE = "p={A,B}\nF(p,p)\nX(p)\nY(p)\nZ(p)\nRain\n"
TIMES = "t={1,...,4}\nX(t)\nY(t)\n"


def formulas(text, **settings):
    return [shown(rule.formula) for rule in parse(text, **settings).rules]


def places(text, **settings):
    with pytest.raises(ManyInputError) as caught:
        parse(text, **settings)
    return [(error.line, error.column, error.message) for error in caught.value.errors]


def test_clauses_with_negative_weights():
    program = parse(
        "person = {P0, P1, P2}\nFriends(person,person)\nSmokes(person)\nCancer(person)\n"
        "1.5 !Smokes(x) v Cancer(x)\n1.1 !Friends(x,y) v !Smokes(x) v Smokes(y)\n"
        "-1.0 Smokes(x)\n-2.0 Cancer(x)\n"
    )
    assert program.constants == {"person": ("P0", "P1", "P2")}
    assert program.predicates["Friends"] == Predicate(
        "Friends", ("person", "person"), (False, False)
    )
    assert [rule.weight for rule in program.rules] == [1.5, 1.1, -1.0, -2.0]
    assert [shown(rule.formula) for rule in program.rules] == [
        "(!Smokes(x) v Cancer(x))",
        "(!Friends(x,y) v !Smokes(x) v Smokes(y))",
        "Smokes(x)",
        "Cancer(x)",
    ]
    assert program.rules[1].types == {"x": "person", "y": "person"}
    assert (program.rules[1].place.line, program.rules[1].place.column) == (6, 5)
    assert program.rules[1].text == "!Friends(x,y) v !Smokes(x) v Smokes(y)"
    assert program.warnings == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 EXIST y F(x,y)", "EXIST y F(x,y)"),
        ("EXIST y F(x,y).", "EXIST y F(x,y)"),
        ("2 F(x,y) => x = y", "(F(x,y) => (x = y))"),
        ("2 F(x,y) ^ x != y => X(x)", "((F(x,y) ^ (x != y)) => X(x))"),
        ("1 X(x) ^ X(x') => Y(x')", "((X(x) ^ X(x')) => Y(x'))"),
        ("2 Rain => X(A)", "(Rain => X('A'))"),
        ("2 Rain() => X(A)", "(Rain => X('A'))"),
        ("1 X(x) ^ Y(x) v Z(x)", "((X(x) ^ Y(x)) v Z(x))"),
        ("1 X(x) v Y(x) ^ Z(x)", "(X(x) v (Y(x) ^ Z(x)))"),
        ("1 X(x)^Y(x)", "(X(x) ^ Y(x))"),
        ("1 X(x) => Y(x) => Z(x)", "((X(x) => Y(x)) => Z(x))"),
        ("1 X(x) <=> Y(x) <=> Z(x)", "((X(x) <=> Y(x)) <=> Z(x))"),
        ("1 X(x) => Y(x) <=> Z(x) v Rain", "((X(x) => Y(x)) <=> (Z(x) v Rain))"),
        ("1 X(x) => (Y(x) => Z(x))", "(X(x) => (Y(x) => Z(x)))"),
        ("1 !X(x) v Y(x)", "(!X(x) v Y(x))"),
        ("1 !(X(x) v Y(x))", "!(X(x) v Y(x))"),
        ("1 !!X(x)", "!!X(x)"),
        ("1 !(x = y) v F(x,y)", "(!(x = y) v F(x,y))"),
        ("1 [X(x) <=> Y(x)]", "(X(x) <=> Y(x))"),
        ("1 EXIST y F(x,y) ^ X(y)", "EXIST y (F(x,y) ^ X(y))"),
        ("1 (EXIST y F(x,y)) ^ X(x)", "(EXIST y F(x,y) ^ X(x))"),
        ("1 X(x) ^ EXIST y F(x,y) v Y(y)", "(X(x) ^ EXIST y (F(x,y) v Y(y)))"),
        ("1 !EXIST y F(x,y) ^ X(x)", "!EXIST y (F(x,y) ^ X(x))"),
        ("1 forall x, y F(x,y)", "FORALL x,y F(x,y)"),
        ("1 X(x) v exist x X(x)", "(X(x) v EXIST x_2 X(x_2))"),
        ("1 EXIST x X(x) ^ (EXIST x Y(x))", "EXIST x (X(x) ^ EXIST x_2 Y(x_2))"),
        ("1 (EXIST x X(x)) ^ (EXIST x Y(x))", "(EXIST x X(x) ^ EXIST x_2 Y(x_2))"),
        ("1 EXIST z X(x)", "X(x)"),
        ("1 F(x,v)", "F(x,v)"),
        ("1 F(x, v ) v X(v)", "(F(x,v) v X(v))"),
        ("1 X(x-1) v X(x_1)", "(X(x-1) v X(x_1))"),
        ("1 X(x)\tv\tY(x)", "(X(x) v Y(x))"),
        ("1 X(x) | Y(x)", "(X(x) v Y(x))"),
        ('1 X("Mary Ann") v X("a\\"b // c")', "(X('Mary Ann') v X('a\"b // c'))"),
        ("1 substr(x, y) ^ F(x,y)", "((x substr y) ^ F(x,y))"),
    ],
)
def test_formulas(text, expected):
    assert formulas(PEOPLE + text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 X(i) ^ i < j => Y(j)", "((X(i) ^ (i < j)) => Y(j))"),
        ("3 X(i) ^ lessThanEq(i,j) => Y(j)", "((X(i) ^ (i <= j)) => Y(j))"),
        ("3 X(i) => X(succ(i))", "(X(i) => X(succ(i)))"),
        ("3 X(i) => X(i+1)", "(X(i) => X(plus(i,'1')))"),
        ("3 X(i) => X(i - 1)", "(X(i) => X(minus(i,'1')))"),
        ("3 X(i + 2 * i % 3)", "X(plus(i,mod(times('2',i),'3')))"),
        ("3 X((i + 2) / 3)", "X(dividedBy(plus(i,'2'),'3'))"),
        ("3 (i + 1) = j ^ X(j)", "((plus(i,'1') = j) ^ X(j))"),
        ("3 i > 2 => X(i)", "((i > '2') => X(i))"),
        ("3 < i => X(i).", "(('3' < i) => X(i))"),
        ("1 X(2)", "X('2')"),
    ],
)
def test_comparisons_and_arithmetic(text, expected):
    assert formulas(TIMES + text) == [expected]


def test_variables_in_comparisons_have_the_type_of_what_they_are_compared_with():
    (rule,) = parse(TIMES + "3 i + 1 = j ^ j < k ^ X(k)").rules
    assert rule.types == {"i": "t", "j": "t", "k": "t"}


@pytest.mark.parametrize(
    ("text", "weight", "fixed"),
    [
        ("1.5 X(x)", 1.5, False),
        ("X(x).", math.inf, False),
        ("1. X(x)", 1.0, True),
        ("-0.5\tX(x)", -0.5, False),
        ("1e0 X(x)", 1.0, False),
        ("1.5e-3 X(x)", 0.0015, False),
        (".5 X(x)", 0.5, False),
        ("+1 X(x)", 1.0, False),
        ("1E3 X(x)", 1000.0, False),
        ("-2:20 X(x)", -2.0, False),
        ("2 *X(x)", 2.0, False),
    ],
)
def test_weights(text, weight, fixed):
    rule = parse(PEOPLE + text).rules[0]
    assert (rule.weight, rule.fixed) == (weight, fixed)


def test_what_alchemy_cannot_read_gives_a_warning():
    text = ".5 X(x)\n1 X(x)v Y(x)\n1 X(x), Y(x) => Z(x)\n*W(p)\n"
    warnings = parse(PEOPLE + text).warnings
    assert {tuple(warning.split(":")[1:3]) for warning in warnings} == {
        ("7", "1"),
        ("8", "7"),
        ("9", "7"),
        ("10", "2"),
    }


def test_utilities_are_ignored_with_a_warning():
    program = parse(PEOPLE + "-2:20 X(x)\n:-1 Y(x)\n")
    assert [shown(rule.formula) for rule in program.rules] == ["X(x)"]
    assert ["utilities are ignored" in warning for warning in program.warnings] == [True]


def test_a_weight_per_constant():
    (rule,) = parse(
        "HasWord(word, page)\nTopic(class!, page)\n1 HasWord(+w,p) => Topic(+c,p)"
    ).rules
    assert rule.per_constant == ("w", "c")
    assert rule.types == {"w": "word", "p": "page", "c": "class"}


def test_starred_atoms_are_affirmed_and_negated():
    assert formulas(PEOPLE + "1.5 *X(x) ^ *Y(x)") == [
        "(X(x) ^ Y(x))",
        "(X(x) ^ !Y(x))",
        "(!X(x) ^ Y(x))",
        "(!X(x) ^ !Y(x))",
    ]


def test_blocks():
    program = parse("c={R,G,B}\nCol(p,c!)\nTwo(p,c!,d!)\n1 Col(x,R)")
    assert program.predicates["Col"].exclusive == (False, True)
    assert program.predicates["Two"].exclusive == (False, True, True)
    assert program.constants == {"c": ("R", "G", "B"), "p": (), "d": ()}


def test_constants_come_from_lists_ranges_and_formulas():
    program = parse(
        'a = { Anna, Bob "Mary Ann"\n , C }\na = {D, Anna}\nt = { 1, ..., 3 }\nu={1,2,5}\n'
        "X(a)\nT(t)\nU(u)\n1 X(E) ^ T(7) => x = Nobody ^ X(x)\n1 T(i + 9)\n"
    )
    assert program.constants["a"] == ("Anna", "Bob", "Mary Ann", "C", "D", "E")
    assert program.constants["t"] == ("1", "2", "3", "7")
    assert program.constants["u"] == ("1", "2", "5")


def test_functions_become_predicates_with_the_value_first():
    program = parse("p = {A}\nX(p)\np MotherOf(p)\n2 X(MotherOf(x)) ^ MotherOf(x) != MotherOf(A)\n")
    name = program.functions["MotherOf"]
    assert program.predicates[name] == Predicate(name, ("p", "p"), (False, False), True)
    (rule,) = program.rules
    assert shown(rule.formula) == (
        f"(!{name}(value,x) v !{name}(value_2,'A') v (X(value) ^ (value != value_2)))"
    )
    assert rule.types == {"x": "p", "value": "p", "value_2": "p"}


def test_functions_of_functions_and_of_bound_variables():
    start = "p = {A}\nX(p)\np M(p)\n"
    assert formulas(start + "1 X(M(M(x)))") == ["(!M=(value,x) v !M=(value_2,value) v X(value_2))"]
    assert formulas(start + "1 EXIST y X(M(y)) ^ X(x)") == [
        "EXIST y,value (M=(value,y) ^ (X(value) ^ X(x)))"
    ]
    assert formulas(start + "1 FORALL y X(M(y))") == ["FORALL y,value (!M=(value,y) v X(value))"]


def test_learning_needs_no_weights():
    text = "Democrat(rep)\nCrime(rep)\nDemocrat(x)\nCrime(x) ^ Democrat(x)\n"
    program = parse(text, learning=True)
    assert [rule.weight for rule in program.rules] == [None, None]
    assert [(line, column) for line, column, _ in places(text)] == [(3, 1), (4, 1)]


def test_lines_comments_and_blanks():
    program = parse(
        "// a comment\r\n\tp = {A, /* not B,\r\n C */ D}\r\n\r\nX(p)  // here\r\n"
        "1\tX(x) => // goes on\r\n  \r\n X(y) v\r\n X(z)\r\n2 X(x)"
    )
    assert program.constants == {"p": ("A", "D")}
    assert [shown(rule.formula) for rule in program.rules] == ["(X(x) => (X(y) v X(z)))", "X(x)"]
    assert [rule.place.line for rule in program.rules] == [6, 10]


def test_long_lists_over_many_lines():
    program = parse("w = {\n" + "".join(f"W{k},\n" for k in range(20000)) + "\n}\nX(w)\n1 X(x)")
    assert len(program.constants["w"]) == 20000
    assert program.rules[0].place.line == 20005
    unclosed = places("w = { A,\n B,\nX(w)\n1 X(x)\n")
    assert [(line, column) for line, column, _ in unclosed] == [(2, 4)]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("q = {anna}", 7, 6, "small letter"),
        ("W(p,)", 7, 5, "expected an atom or a term"),
        ("1 X(x).", 7, 7, "full stop"),
        ("1 W(x)", 7, 3, "not declared"),
        ("1 X(x) ^ Xx(x)", 7, 10, "did you mean 'X'?"),
        ("1 X(x,y)", 7, 3, "1 argument, found 2"),
        ("1 Rain(x)", 7, 3, "0 arguments, found 1"),
        ("1 X(x) ^ Y(p)", 7, 12, "name of a type"),
        ("1 X(Rain) ^ EXIST p X(p)", 7, 19, "name of a type"),
        ("W(q)\n1 F(x,y) ^ W(y)", 8, 14, "of type q here, but of type p"),
        ("X(x) => Y(x)", 7, 1, "no weight"),
        ("1 X(x) ^\n\n1 Y(x)", 9, 3, "found 'Y'"),
        ("1 X(x)\n => Y(x)", 8, 2, "end of the line"),
        ("1 X(x", 7, 6, "expected a comma or ')', found the end"),
        ("1 X(x))", 7, 7, "expected the end of the formula, found ')'"),
        ("1 X(x) & Y(x)", 7, 8, "written ^"),
        ("1 X(x) -> Y(x)", 7, 8, "written =>"),
        ("1 X(?x)", 7, 5, "pracmln"),
        ("1 X(1.5)", 7, 5, "whole number"),
        ("1 !*X(x)", 7, 3, "cannot be negated"),
        ("1 EXIST y F(+y,x)", 7, 14, "cannot have +"),
        ("1 EXIST A X(A)", 7, 9, "expected a variable"),
        ("1 X(X(x))", 7, 5, "is a predicate"),
        ("1 X(f(x))", 7, 5, "function 'f' is not declared"),
        ("1 x = y", 7, 3, "no type"),
        ("1 x ^ X(x)", 7, 3, "not declared"),
        ("1 3 ^ X(x)", 7, 3, "found a term"),
        ("1 X(x) * (X(x) = 0.3)", 7, 8, "hybrid"),
        ("1 X(x, )", 7, 8, "expected an atom or a term"),
        ("F(p,p)", 7, 1, "declared already, in line 2"),
        ("t = {1, ..., }", 7, 9, "two whole numbers"),
        ("t = {5, ..., 1}", 7, 9, "empty"),
        ("t = {1, 2", 7, 10, "expected '}'"),
        ("log(4)/2 X(x)", 7, 1, "pracmln"),
        ("#fixweight", 7, 1, "pracmln"),
        ("#define x", 7, 1, "not supported"),
        ("@5 X(x)", 7, 1, "Tuffy"),
        ("W(q?)", 7, 1, "pracmln"),
        ("p M(p!)", 7, 1, "function"),
        ("1 " + "(" * 200 + "X(x)" + ")" * 200, 0, 0, ""),
        ("1 " + "!" * 200 + "X(x)", 7, 3, "nested"),
        ("1 " + "X(x) => " * 200 + "X(x)", 7, 3, "nested"),
        ('1 X("abc', 7, 5, "ends on the line"),
        ("1", 7, 2, "found the end"),
    ],
)
def test_errors_say_where_and_why(text, line, column, words):
    if not line:
        assert formulas(PEOPLE + text) == ["X(x)"]
        return
    ((found_line, found_column, message),) = places(PEOPLE + text)
    assert (found_line, found_column) == (line, column)
    assert words in message


def test_all_errors_are_collected_in_order():
    text = "p = {anna, B, bob}\nX(p)\n1 X(x).\n1 W(x) ^ V(x)\nX(x)\n1 X(x) &\n1 X(x)"
    assert [(line, column) for line, column, _ in places(text)] == [
        (1, 6),
        (1, 15),
        (3, 7),
        (4, 3),
        (4, 10),
        (5, 1),
        (6, 8),
    ]


def test_a_predicate_may_be_declared_after_its_use():
    assert formulas("1 X(x)\nX(p)\n") == ["X(x)"]


@pytest.mark.parametrize(
    "text",
    [
        "t = {1, ..., 99999999999}",
        "t = {1, ..., 10000000}",
        "t = {1, ..., 5, 100, ..., 10000099}",
    ],
)
def test_a_huge_range_is_refused_before_it_is_made(monkeypatch, text):
    made = []
    monkeypatch.setattr(declarations, "range", lambda *ends: made.append(ends) or (), raising=False)
    with pytest.raises(LimitError, match=r"<text>:\d:\d.*4.0 GiB"):
        parse(text)
    assert all(high - low < 1000 for low, high in made)


def test_ranges_of_one_program_add_up():
    parse("t = {1, ..., 900}\nX(t)", memory=500_000)
    with pytest.raises(LimitError, match=r"<text>:2:9"):
        parse("t = {1, ..., 900}\nu = {1, ..., 900}", memory=500_000)
    with pytest.raises(LimitError, match=r"<text>:1:22"):
        parse("t = {1, ..., 900, 1, ..., 900}", memory=500_000)
    program = parse("X(t)")
    with pytest.raises(LimitError, match=r"<text>:2:9"):
        parse_database("t = {1, ..., 900}\nt = {1, ..., 900}", program, memory=500_000)


def test_of_very_many_errors_the_first_are_told():
    with pytest.raises(ManyInputError) as error:
        parse("X(p)\n" + "1 X(x) &\n" * 5000)
    assert len(error.value.errors) == 1000
    lines = str(error.value).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "… and 980 more like these; what follows was not read"
    with pytest.raises(ManyInputError) as error:
        parse("X(p)\n1 " + " ^ ".join(f"W{number}(x)" for number in range(5000)))
    assert len(error.value.errors) == 1000


def test_texts_that_begin_much_and_end_nothing():
    """Each would take hours if reading went on to the end from every beginning."""
    for piece in ("/* x ", '1 X("\\" ', '\\"', "1 X(", "t = {", "1 EXIST x ("):
        with pytest.raises(InputError):
            parse('X(p)\n1 X("' + piece * 100_000)
        with pytest.raises(InputError):
            parse("X(p)\nt = {" + '"' + piece * 100_000)


def test_copies_by_stars_are_limited(monkeypatch):
    monkeypatch.setattr("orbitmc.mln.language.parser.MOST_STAR_COPIES", 20)
    line = "1 *X(x) v *X(y) v *X(z)\n"
    assert len(parse("X(p)\n" + line * 2).rules) == 16
    with pytest.raises(LimitError, match=r"<text>:4:3: .* more than 20 copies"):
        parse("X(p)\n" + line * 9)


def test_an_unknown_dialect_is_refused():
    with pytest.raises(InputError, match="did you mean 'tuffy'"):
        parse("", dialect="tufy")
