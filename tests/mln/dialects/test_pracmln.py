"""What pracmln and ProbCog write: marked variables, small constants, weights, directives."""

import math

import pytest

from orbitmc.errors import InputError, ManyInputError
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from tests.mln import shown as showing
from tests.mln.dialects.worlds import answered, by_worlds

DECLARED = "seen(time, thing)\nis(time, kind!)\nnear(time, time)\n"


def shown(formula):
    """The formula without the quotes of its constants."""
    return showing.shown(formula).replace("'", "")


def read(text, declared=DECLARED):
    return parse(declared + text, dialect="pracmln")


def refused(text, declared=DECLARED):
    with pytest.raises(ManyInputError) as caught:
        read(text, declared)
    (error,) = caught.value.errors
    return error.line, error.column, error.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "1 seen(?t,cup) ^ is(?t,drink) v near(?t,?u)",
            "((seen(?t,cup) ^ is(?t,drink)) v near(?t,?u))",
        ),
        (
            "1 seen(?t,cup.n.01) ^ ?t =/= ?u ^ near(?t,?u)",
            "(seen(?t,cup.n.01) ^ (?t != ?u) ^ near(?t,?u))",
        ),
        ("1 seen(?t,:left-side) ^ is(?t,Wow!)", "(seen(?t,:left-side) ^ is(?t,Wow!))"),
        ("1 EXIST ?u (near(?t,?u)) => seen(?t,2.5)", "(EXIST ?u near(?t,?u) => seen(?t,2.5))"),
    ],
)
def test_marked_variables_and_any_other_word_is_a_constant(text, expected):
    (rule,) = read(text).rules
    assert shown(rule.formula) == expected


def test_marks_change_what_binds_tighter():
    marked = read("1 seen(?t,A) ^ seen(?t,B) v seen(?t,C)").rules[0]
    plain = read("1 seen(t,A) ^ seen(t,B) v seen(t,C)").rules[0]
    assert shown(marked.formula) == "((seen(?t,A) ^ seen(?t,B)) v seen(?t,C))"
    assert shown(plain.formula) == "(seen(t,A) ^ (seen(t,B) v seen(t,C)))"


def test_a_variable_may_have_the_name_of_its_type():
    (rule,) = read(
        "1 near(time,thing) => seen(time,A)", "seen(time,thing)\nnear(time,thing)\n"
    ).rules
    assert rule.types == {"time": "time", "thing": "thing"}


def test_predicates_with_alternatives_make_a_formula_each():
    program = read("2 seen|on(?t,cup) => is(?t,drink)", DECLARED + "on(time,thing)\n")
    assert [shown(rule.formula) for rule in program.rules] == [
        "(seen(?t,cup) => is(?t,drink))",
        "(on(?t,cup) => is(?t,drink))",
    ]
    assert [rule.weight for rule in program.rules] == [2, 2]


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("logx(0) seen(t,A)", -100.0),
        ("logx(1) seen(t,A)", 0.0),
        ("log(0.3) seen(t,A)", math.log(0.3)),
        ("log(float(2)/3) seen(t,A)", math.log(2 / 3)),
        ("float('inf') seen(t,A)", math.inf),
    ],
)
def test_weights_by_a_grammar(text, weight):
    (rule,) = read(text).rules
    assert rule.weight == pytest.approx(weight, rel=1e-15)


def test_an_infinitely_negative_weight_forbids():
    (rule,) = read("-float('inf') seen(t,A)").rules
    assert (shown(rule.formula), rule.weight) == ("!seen(t,A)", math.inf)


@pytest.mark.parametrize(
    "text",
    [
        "float('nan') seen(t,A)",
        "float(open) seen(t,A)",
        "log(-1) seen(t,A)",
        "__import__('os') seen(t,A)",
        "exp(1000) seen(t,A)",
    ],
)
def test_what_is_no_weight_is_refused_and_never_executed(text):
    assert refused(text)[0] == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("$n = 3", "$ (ProbCog)"),
        ("log(1/$n) seen(t,A)", "expected a weight"),
        ("1 seen(t,$n)", "$ (ProbCog)"),
        ("2*domSize(time) seen(t,A)", "domSize"),
        ("#unique{x}", "expected variables"),
        ("#unique{+?x,+?y}\n1 seen(?t,A)", "?x is no variable"),
        ("#fuzzy\n1 seen(t,A)", "after #fuzzy"),
        ("#nonsense", "not supported"),
        ("1 COUNT(seen(t,x)) => near(t,t)", "after what is counted"),
        ("1 COUNT(x | seen(t,A)) = 1", "does not occur"),
        ("1 COUNT(x seen(t,x)) = 1", "'|'"),
        ("1 COUNT(x | seen(t,x)", "')'"),
        ("P(seen(t,A)) = 1.5", "between 0 and 1"),
        ("P(seen(t,A) = 0.5", "expected"),
        ("P(sen(t,A)) = 0.5", "not declared"),
    ],
)
def test_malformed_statements(text, words):
    assert words in refused(text)[2]


def test_unique_copies_are_unordered_pairs_of_different_constants():
    text = "c = {R, G, B}\np = {X}\nHas(p, c)\n#unique{+a,+b}\n0.7 Has(x,+a) ^ Has(x,+b)\n"
    atoms = [f"Has(X,{colour})" for colour in "RGB"]

    def pairs(world):
        r, g, b = (world[atom] for atom in atoms)
        return 0.7 * ((r and g) + (r and b) + (g and b))

    assert answered(text, dialect="pracmln") == pytest.approx(by_worlds(atoms, pairs), abs=1e-12)


def test_small_constants_in_databases_and_queries():
    text = "person = {bob}\nsmokes(person)\n1 smokes(x)\n"
    found = answered(text, "!smokes(anna)", dialect="pracmln", query="smokes(bob)")
    assert found == {'smokes("bob")': pytest.approx(1 / (1 + math.exp(-1)), abs=1e-12)}


def test_evidence_leaves_predicates_open_and_closed_names_close_them():
    text = "p = {A, B}\nX(p)\nY(p)\n1 X(x) => Y(x)\n"
    opened = answered(text, "X(A)", dialect="pracmln", query="Y")
    closed = answered(text, "X(A)", dialect="pracmln", query="Y", closed=["X"])
    assert opened["Y(B)"] == pytest.approx(2 * math.e / (3 * math.e + 1), abs=1e-12)
    assert closed["Y(B)"] == pytest.approx(0.5, abs=1e-12)


def test_a_type_without_constants_has_no_groundings():
    text = "p = {A}\nX(p)\nY(q)\n2 X(x)\n1 Y(y)\n"
    program = parse(text, dialect="pracmln")
    assert answered(text, dialect="pracmln") == {
        "X(A)": pytest.approx(1 / (1 + math.exp(-2)), abs=1e-12)
    }
    with pytest.raises(InputError, match="no constant"):
        answered(text, dialect="alchemy")
    with pytest.raises(InputError, match="no constant"):
        answered(text, dialect="pracmln", query="Y")
    assert parse_database("", program).facts == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 X(?x)", "see dialect pracmln"),
        ("P(X(x)) = 0.1", "see dialect pracmln"),
        ("log(0.3) X(x)", "see dialect pracmln"),
        ("#unique{+x,+y}", "see dialect pracmln"),
        ("1 X(t++)", "see dialect lomrf"),
        ("X(x) :- Y(x).", "see dialect lomrf"),
        ("w: !Z(x,w) v X(x)", "see dialect tuffy"),
        ("|x| X(x) <= 1", "see dialect tuffy"),
        ("1 X(x) 3.5", "Forclift"),
        ("\\exists y: X(y)", "EXIST y"),
    ],
)
def test_alchemy_names_the_dialect_that_has_a_construct(text, words):
    with pytest.raises(ManyInputError) as caught:
        parse("X(p)\nY(p)\nZ(p,q)\n" + text)
    assert words in str(caught.value)


def test_a_variable_that_ends_like_a_step_back_is_remarked():
    program = parse("X(p)\n1 X(t--)\n")
    assert any("see dialect lomrf" in warning for warning in program.warnings)


@pytest.mark.parametrize(
    ("text", "words"),
    [("#fuzzy\nX(p)\nX(x)\n", "cannot be learned from"), ("X(p)\nP(X(x)) = 0.2\n", "leave it out")],
)
def test_what_cannot_be_learned(text, words):
    with pytest.raises(ManyInputError, match=words):
        parse(text, dialect="pracmln", learning=True)
