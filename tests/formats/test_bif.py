"""BIF as people write it, and what each mistake is told."""

import random

import numpy as np
import pytest

from orbitmc.errors import InputError, LimitError
from orbitmc.formats import bif as reader
from orbitmc.formats import read
from tests.formats.samples import BIF, assert_same

HEAD = "variable a { type discrete [ 2 ] { x, y }; }\nvariable b { type discrete[2] { x y }; }\n"
FLAT = "probability(a) { table 0.5 0.5; }\n"


@pytest.fixture
def bif(tmp_path):
    def write(content):
        (tmp_path / "m.bif").write_text(content)
        return tmp_path / "m.bif"

    return write


def test_weights_whose_sum_is_beyond_doubles_are_read(bif):
    model = read(
        bif(HEAD + "probability(a) { table 1e308, 1e308; }\n" + FLAT.replace("(a)", "(b)"))
    )
    np.testing.assert_allclose(model.graph.table_values(0), np.log(1e308))


def test_names_values_and_rows_are_found(bif):
    model = read(bif(BIF))
    assert model.domains() == {
        "rain": ("yes", "no"),
        "grass": ("<5", "5-12", "12 or more"),
        "sprinkler(1)": ("on", "off"),
    }
    rain, sprinkler, grass = (np.exp(model.graph.table_values(factor)) for factor in range(3))
    np.testing.assert_allclose(rain, [0.2, 0.8])
    np.testing.assert_allclose(sprinkler, [[0.01, 0.99], [0.4, 0.6]])
    np.testing.assert_allclose(grass[0, 1], [1, 0, 0])
    np.testing.assert_allclose(grass[1, 0], [0.5, 0.25, 0.25])
    assert [model.graph.scope_of(factor).tolist() for factor in range(3)] == [
        [0],
        [0, 2],
        [0, 2, 1],
    ]


def test_a_table_with_parents_lists_the_child_slowest(bif):
    both = HEAD + FLAT + 'probability ( "b" | "a" ) { table 0.6 0.05 0.4 0.95 ; }'
    table = read(bif(both)).graph.table_values(1)
    np.testing.assert_allclose(np.exp(table), [[0.6, 0.4], [0.05, 0.95]])


def test_the_old_style_without_bars_and_commas_is_read(bif):
    old = (
        'network "Old Style" { //3 variables\n property "made by hand" ;\n}\n'
        + "".join(f'variable  "{name}" {{ type discrete[2] {{ "t"  "f" }}; }}\n' for name in "abc")
        + 'probability (  "a" ) { table 0.15 0.85 ; }\nprobability (  "b" ) { table 0.01 0.99 ; }\n'
        + 'probability (  "c"  "b"  "a" ) { //8 values\n table .99 .97 .9 .3 .01 .03 .1 .7 ;\n}'
    )
    graph = read(bif(old)).graph
    assert graph.scope_of(2).tolist() == [1, 0, 2]
    wanted = [[[0.99, 0.01], [0.97, 0.03]], [[0.9, 0.1], [0.3, 0.7]]]
    np.testing.assert_allclose(np.exp(graph.table_values(2)), wanted)


def test_a_table_that_plainly_has_the_child_fastest_is_refused(bif):
    path = bif(HEAD + FLAT + "probability ( b | a ) { table 0.6 0.4 0.05 0.95; }")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}:4:15: the table of 'b' must list its first value for all parents, then the next"
    )


def test_rows_that_rounding_keeps_from_one_are_kept_as_given(bif):
    table = read(
        bif("variable a { type discrete [3] {x,y,z}; } probability(a) { table .33 .33 .33; }")
    )
    np.testing.assert_array_equal(table.graph.table, np.log([0.33] * 3))


def test_comments_in_quotes_are_names(bif):
    content = 'variable "a//b" { type discrete [1] { "/*" }; } probability ( "a//b" ) { table 1; }'
    assert read(bif(content)).domains() == {"a//b": ("/*",)}


WRONG = {
    "": "1:1: expected network, variable or probability, found the end of the file",
    " // nothing\n": "2:1: expected network, variable or probability, found the end of the file",
    "nonsense {": "1:1: expected network, variable or probability, found 'nonsense'",
    "{": "1:1: expected network, variable or probability, found '{'",
    "network x {\n": "2:1: expected property or '}', found the end of the file",
    "/* no end": "1:1: the comment that begins here never ends",
    "variable a { type continuous; }": "1:19: expected type discrete, found 'continuous'",
    "variable a { }": "1:10: variable 'a' has no `type discrete [ n ] { ... };`",
    "variable a { type discrete [3] { x, y }; }": "1:29: '3' values are announced, found 2",
    "variable a { type discrete [2] { x, x }; }": "1:29: a value stands there twice",
    "variable a { type discrete [2] { x, y } }": "1:41: expected ';', found '}'",
    "variable a { property no end }": "1:23: expected ';' after the property, found 'no'",
    HEAD + "variable a {": "3:10: variable 'a' is declared twice",
    HEAD + "probability ( c ) {": "3:15: unknown variable 'c' (declare it before)",
    HEAD + "probability ( ) {": "3:15: expected a variable, found ')'",
    HEAD + "probability ( a | a ) {": "3:19: variable 'a' stands there twice",
    HEAD + FLAT + FLAT: "4:13: a second probability block for 'a'",
    HEAD + FLAT: "4:1: variable 'b' has no probability block",
    HEAD + "probability(a) { table 0.5; }": "3:24: expected 2 probabilities, found 1",
    HEAD + "probability(a) { table 0.5, -0.5; }": (
        "3:29: expected a probability (finite, not negative), found '-0.5'"
    ),
    HEAD + "probability(a) { table 0.5, nan; }": (
        "3:29: expected a probability (finite, not negative), found 'nan'"
    ),
    HEAD + "probability(a) { table 1_0, 2; }": (
        "3:24: expected a probability (finite, not negative), found '1_0'"
    ),
    HEAD + "probability(a) { table 0.5, 1e999; }": (
        "3:29: expected a probability (finite, not negative), found '1e999'"
    ),
    HEAD + "probability(a) { table 0.5, 0.5 }": "3:33: expected ';', found '}'",
    HEAD + "probability(a|b) { (z) 0.5 0.5; }": ("3:21: unknown value 'z'; expected one of x, y"),
    HEAD + "probability(a|b) { (x, y) 0.5 0.5; }": "3:24: expected ')', found 'y'",
    HEAD + "probability(a|b) { (x) 0.5 0.5; (x) 0.5 0.5; }": "3:33: this row stands there twice",
    HEAD + "probability(a|b) { (x) 0.5 0.5; }": (
        "3:13: 'a' has no probabilities for (y), and no default"
    ),
    HEAD + "probability(a|b) {default .5 .5;} probability(b|a) {default .5 .5;}": (
        "3:13: the parents form a cycle: 'a' <- 'b' <- 'a'"
    ),
}


@pytest.mark.parametrize("content", WRONG, ids=repr)
def test_each_mistake_is_told_with_its_place(bif, content):
    path = bif(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}:{WRONG[content]}"


def test_an_unknown_variable_gets_the_nearest_name(bif):
    with pytest.raises(InputError, match=r"unknown variable 'rian'; did you mean 'rain'\?"):
        read(bif(BIF.replace("| rain ", "| rian ")))


def test_many_small_defaults_cannot_blow_up_memory_together(bif):
    names = [f"v{number}" for number in range(200)]
    declared = "".join(f"variable {name} {{ type discrete [2] {{ x, y }}; }}" for name in names)
    blocks = (
        f"probability ( {names[number]} | {', '.join(names[number - 15 : number])} ) "
        "{ default 0.5 0.5; }"
        for number in range(15, 200)
    )
    with pytest.raises(LimitError, match=r"takes about 66\.0 MiB, over the memory limit of 64"):
        read(bif(declared + "".join(blocks)), memory=2**26)


def test_a_default_cannot_blow_up_a_table(bif):
    names = [f"v{number}" for number in range(60)]
    declared = "".join(f"variable {name} {{ type discrete [2] {{ x, y }}; }}" for name in names)
    path = bif(f"{declared} probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5 0.5; }}")
    with pytest.raises(LimitError, match=r"TiB, over the memory limit of 4\.0 GiB"):
        read(path)


def test_names_with_spaces_and_without_quotes_are_understood(bif):
    """As pgmpy writes them."""
    content = (
        "network unknown {\n}\n"
        "variable A b {\n    type discrete [ 2 ] { low risk, high-risk };\n}\n"
        "variable C {\n    type discrete [ 2 ] { True, False };\n}\n"
        "probability ( A b ) {\n    table 0.2, 0.8 ;\n}\n"
        "probability ( C | A b ) {\n    ( low risk ) 0.1, 0.9;\n    ( high-risk ) 0.3, 0.7;\n\n}\n"
    )
    model = read(bif(content))
    assert model.domains() == {"A b": ("low risk", "high-risk"), "C": ("True", "False")}
    np.testing.assert_allclose(np.exp(model.graph.table_values(1)), [[0.1, 0.9], [0.3, 0.7]])


def test_commas_that_do_not_help_leave_the_count_wrong(bif):
    with pytest.raises(InputError, match="'3' values are announced, found 4"):
        read(bif("variable a { type discrete [ 3 ] { <5, 5,10, >10 }; }"))
    with pytest.raises(InputError, match="'2' values are announced, found 3"):
        read(bif("variable a { type discrete [ 2 ] { x y z }; }"))


PLAIN = """variable a { type discrete [ 2 ] { x, y }; }
variable b { type discrete [ 3 ] { x, y, z_1 }; }
variable c { type discrete [ 2 ] { x, y }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { (x) 0.5, 0.25, 0.25; (y) 1, 0, 0; }
probability ( c | a, b ) {
  (y, x) 0.5, 0.5; (x, x) .125, 0.875; (x, y) 1e-3, 0.999;
  (x, z_1) 0.5 0.5; (y, y) 0, 1; (y, z_1) 1, 0;
}
"""
CHANGES = [*"(),;{}|_-x1. ", "\n", '"', "", "nan", "inf", "1e400", "z_1", "\u0663", "default"]


def outcome(path):
    try:
        return read(path)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(40))
def test_a_block_read_at_once_is_what_it_is_piece_by_piece(bif, seed, monkeypatch):
    rng, same = random.Random(seed), 0
    for _ in range(25):
        text = PLAIN
        for _ in range(rng.randrange(3)):
            first = rng.randrange(len(text))
            text = text[:first] + rng.choice(CHANGES) + text[first + rng.randrange(3) :]
        path = bif(text)
        at_once = outcome(path)
        with monkeypatch.context() as patch:
            patch.setattr(reader, "_read_plain_rows", lambda *given: None)
            patch.setattr(reader.Scanner, "plain", lambda *given: None)
            by_piece = outcome(path)
        assert isinstance(at_once, str) == isinstance(by_piece, str), text
        if isinstance(at_once, str):
            assert at_once == by_piece
        else:
            assert_same(at_once, by_piece)
            same += 1
    assert same


def test_the_same_text_for_other_values_is_another_table(bif):
    """What a block says is kept for the next one with the same text, if its values are the same."""
    head = HEAD.replace("b { type discrete[2] { x y }", "b { type discrete[2] { y, x }")
    child = "variable %s { type discrete [ 2 ] { x, y }; }\n"
    rows = "probability ( %s | %s ) {\n  (x) 0.25, 0.75;\n  (y) 0.5, 0.5;\n}\n"
    names = [("c", "a"), ("d", "b"), ("e", "a")]
    text = head + "".join(child % name for name, _ in names) + FLAT + FLAT.replace("(a)", "(b)")
    text += "".join(rows % pair for pair in names)
    tables = [np.exp(read(bif(text)).graph.table_values(k)).tolist() for k in (2, 3, 4)]
    assert tables == [[[0.25, 0.75], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75]], tables[0]]
    wrong = text.replace("e { type discrete [ 2 ] { x, y }", "e { type discrete [ 3 ] { x, y, z }")
    with pytest.raises(InputError, match=r"m.bif:17:7: expected 3 probabilities, found 2"):
        read(bif(wrong))


def test_whole_rows_are_read_at_once(bif, monkeypatch):
    monkeypatch.setattr(reader, "_read_row", lambda *given: pytest.fail("read piece by piece"))
    model = read(bif(PLAIN))
    probabilities = [[[0.125, 0.875], [0.001, 0.999], [0.5, 0.5]], [[0.5, 0.5], [0, 1], [1, 0]]]
    np.testing.assert_allclose(np.exp(model.graph.table_values(2)), probabilities)
