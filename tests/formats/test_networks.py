"""Networks of Hugin and GeNIe, and what each mistake is told."""

import numpy as np
import pytest

import orbitmc as om
from orbitmc.errors import InputError, LimitError
from orbitmc.formats import read
from tests.formats.samples import NET, XDSL

TABLE = [[[0.5, 0.25, 0.25], [1, 0, 0]], [[0.125, 0.125, 0.75], [0.1, 0.2, 0.7]]]


@pytest.fixture
def written(tmp_path):
    def write(content, suffix):
        (tmp_path / f"m{suffix}").write_text(content)
        return tmp_path / f"m{suffix}"

    return write


def tables(model):
    return [np.exp(model.graph.table_values(factor)) for factor in range(model.graph.factors)]


def scopes(model):
    every = range(model.graph.factors)
    return [[model.names[v] for v in model.graph.scope_of(factor)] for factor in every]


def test_hugin_lists_the_child_fastest_and_then_the_last_parent(written):
    model = read(written(NET, ".net"))
    assert model.domains() == {
        "rain": ("yes", "no"),
        "grass": ("<5", "5-12", "12 or more"),
        "warm air": ("yes", "no"),
    }
    assert scopes(model) == [["rain"], ["warm air"], ["rain", "warm air", "grass"]]
    rain, warm, grass = tables(model)
    np.testing.assert_allclose(rain, [0.2, 0.8])
    np.testing.assert_allclose(warm, [0.375, 0.625])
    np.testing.assert_allclose(grass, TABLE)


def test_genie_lists_the_child_fastest_and_then_the_last_parent(written):
    model = read(written(XDSL, ".xdsl"))
    assert model.names == ("rain", "warm", "grass", "boots")
    assert scopes(model)[2:] == [["rain", "warm", "grass"], ["grass", "boots"]]
    np.testing.assert_allclose(tables(model)[2], TABLE)
    np.testing.assert_allclose(tables(model)[3], [[0, 1], [1, 0], [1, 0]])


def test_a_potential_without_data_is_uniform(written):
    model = read(written("node a { states = (x y z w); } potential (a) { }", ".net"))
    np.testing.assert_allclose(tables(model)[0], [0.25] * 4)


A = "node a { states = (x y); }\n"
B = "node b { states = (x y); }\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ":1:1: expected net, node or potential, found the end of the file"),
        ("net { }", "expected net, node or potential, found the end of the file"),
        ("nodes a", ":1:1: expected net, node or potential, found 'nodes'"),
        ('node "a', ":1:6: the text that begins here never ends"),
        ("node a { }", ":1:6: node 'a' needs states"),
        ("node a { states = (x x); }", "node 'a' needs states = (...), all different"),
        ("node a { states = x; }", ":1:19: expected '(', found 'x'"),
        (A + A, ":2:6: node 'a' is declared twice"),
        (A, ":2:1: node 'a' has no potential"),
        ("decision d { states = (x y); }", ":1:1: a decision is no table"),
        ("continuous node d { }", "a continuous is no table"),
        ("discrete wurble d { }", "expected node after discrete"),
        (A + "potential (a b) { }", ":2:14: expected '|' or ')': a potential has one child"),
        (A + "potential (c) { }", ":2:12: unknown node 'c'"),
        (A + "potential (a | b) { }", ":2:16: unknown node 'b'"),
        (A + "potential (a | a) { }", "a node stands twice"),
        (A + "potential (a) { data = (1 2 3); }", "'a' needs 2 numbers, found 3"),
        (A + "potential (a) { data = (1 -2); }", ":2:27: expected a number (finite, not negative)"),
        (A + "potential (a) { data = (1 nan); }", "found 'nan'"),
        (A + "potential (a) { data = (1 2; }", "expected as many ')' as '('"),
        (A + "potential (a) { data = 1 2); }", "expected no more ')'"),
        (A + "potential (a) { data = (1 2)", "expected a number, found the end of the file"),
        (A + "potential (a) { model_data = (1); }", "given by a formula"),
        (A + "potential (a) { data = (1 2); }" * 2, "a second potential of 'a'"),
        (
            A
            + B
            + "potential (a | b) { data = (1 2 3 4); } potential (b | a) { data = (1 2 3 4); }",
            "the parents form a cycle",
        ),
    ],
)
def test_mistakes_in_hugin_files_are_named_with_their_place(written, content, message):
    path = written(content, ".net")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<smile", "<bif", "this is not XML"),
        ('<cpt id="rain">', "<cpt>", ":4:1: expected an id of this node"),
        ("0.2 0.8", "0.2", ":4:1: node 'rain' needs 2 probabilities, found 1"),
        ("0.2 0.8", "0.2 x", "expected a probability (finite, not negative) of 'rain', found 'x'"),
        ("0.2 0.8", "0.2 1e999", "found '1e999'"),
        ("rain warm<", "rain worm<", "unknown parent 'worm' of 'grass'; did you mean 'warm'?"),
        ("rain warm<", "rain rain<", "a parent of 'grass' stands there twice"),
        ('<cpt id="warm">', '<cpt id="rain">', "node 'rain' stands there twice"),
        ('<state id="wet" />', '<state id="dry" />', "node 'grass' needs states, all different"),
        ('<state id="wet" />', "<state />", "node 'grass' needs states, all different"),
        ("off on on", "off on", "node 'boots' needs 3 resulting states, found 2"),
        ("off on on", "off on up", "'up' is no state of 'boots'"),
        (
            '<cpt id="rain">',
            '<noisyadder id="x"></noisyadder><cpt id="rain">',
            "a noisyadder node is",
        ),
        ("<smile", '<!DOCTYPE smile [<!ENTITY a "b">]><smile', "entity 'a' is refused"),
        ("<nodes>", "<knots>", "this is not XML"),
    ],
)
def test_mistakes_in_genie_files_are_named(written, old, new, message):
    assert old in XDSL
    path = written(XDSL.replace(old, new, 1), ".xdsl")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_a_genie_file_without_nodes_or_with_a_cycle_is_refused(written):
    with pytest.raises(InputError, match="there is no node"):
        read(written("<smile><nodes></nodes></smile>", ".xdsl"))
    with pytest.raises(InputError, match="expected <SMILE> at the top, found <BIF>"):
        read(written("<BIF></BIF>", ".xdsl"))
    two = "".join(
        f'<cpt id="{one}"><state id="x"/><state id="y"/><parents>{other}</parents>'
        "<probabilities>1 0 0 1</probabilities></cpt>"
        for one, other in ("ab", "ba")
    )
    with pytest.raises(InputError, match="the parents form a cycle"):
        read(written(f"<smile><nodes>{two}</nodes></smile>", ".xdsl"))


@pytest.mark.parametrize(("suffix", "content"), [(".net", NET), (".xdsl", XDSL)])
def test_a_network_that_memory_does_not_hold_is_refused(written, suffix, content):
    with pytest.raises(LimitError, match="over the memory limit"):
        read(written(content, suffix), memory=6000)


def test_a_small_file_that_announces_much_is_refused(written):
    nodes = "".join(f"node v{k} {{ states = (a b c d e f g h); }}\n" for k in range(20))
    parents = " ".join(f"v{k}" for k in range(1, 20))
    with pytest.raises(LimitError, match="over the memory limit"):
        read(written(f"{nodes} potential (v0 | {parents}) {{ }}", ".net"))


# Noisy gates.

NOISY = """<smile><nodes>
<cpt id="a"><state id="high"/><state id="low"/><state id="off"/>
<probabilities>0.2 0.3 0.5</probabilities></cpt>
<cpt id="b"><state id="no"/><state id="yes"/><probabilities>0.6 0.4</probabilities></cpt>
<noisymax id="y"><state id="much"/><state id="some"/><state id="none"/>
<parents>a b</parents><strengths>1 0 2 1 0</strengths>
<parameters>0.1 0.2 0.7 0.5 0.3 0.2 0 0 1 0.25 0.25 0.5 0 0 1 0.01 0.04 0.95</parameters></noisymax>
</nodes></smile>"""
COLUMNS = {
    "a": {"low": [0.1, 0.2, 0.7], "high": [0.5, 0.3, 0.2], "off": [0, 0, 1]},
    "b": {"yes": [0.25, 0.25, 0.5], "no": [0, 0, 1]},
}
LEAK = [0.01, 0.04, 0.95]


def test_a_noisymax_is_the_product_of_its_cumulative_columns(written):
    """The first state is the largest, and strengths say whose column is which."""
    model = read(written(NOISY, ".xdsl"))
    assert model.order == ("a", "b", "y")
    for a, first in COLUMNS["a"].items():
        for b, second in COLUMNS["b"].items():
            below = [np.cumsum(column[::-1]) for column in (first, second, LEAK)]
            expected = np.diff([0, *np.prod(below, axis=0)])[::-1]
            answer = om.marginals(model, {"a": a, "b": b})["y"].probability
            np.testing.assert_allclose(answer, expected, atol=1e-12)


def test_strengths_may_be_left_out_and_a_gate_may_have_no_parents(written):
    plain = NOISY.replace("<strengths>1 0 2 1 0</strengths>", "")
    first = om.marginals(read(written(plain, ".xdsl")), {"a": "high", "b": "no"})["y"]
    below = [np.cumsum(c[::-1]) for c in (COLUMNS["a"]["low"], COLUMNS["b"]["yes"], LEAK)]
    np.testing.assert_allclose(
        first.probability, np.diff([0, *np.prod(below, axis=0)])[::-1], atol=1e-12
    )
    alone = (
        '<smile><nodes><noisymax id="y"><state id="s"/><state id="t"/>'
        "<parameters>0.3 0.7</parameters></noisymax></nodes></smile>"
    )
    answer = om.marginals(read(written(alone, ".xdsl")))["y"].probability
    np.testing.assert_allclose(answer, [0.3, 0.7])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("0.95</param", "</param", "node 'y' needs 18 parameters, found 17"),
        ("0.95</param", "0.9</param", "column 6 of the parameters of 'y' sums to 0.95, not to 1"),
        (
            "0.95</param",
            "-1</param",
            "expected a probability (finite, not negative) of 'y', found '-1'",
        ),
        ("0.95</param", "nan</param", "expected a probability (finite, not negative) of 'y'"),
        ("1 0 2 1 0", "1 0 2 1", "node 'y' needs 5 strengths, found 4"),
        ("1 0 2 1 0", "1 0 1 1 0", "the strengths of 'a' in 'y' are its states 0 to 2, each once"),
        ("1 0 2 1 0", "1 0 x 1 0", "the strengths of 'a' in 'y' are its states 0 to 2, each once"),
        ("<parents>a b<", "<parents>a c<", "unknown parent 'c' of 'y'"),
        ("<parents>a b<", "<parents>a y<", "a parent of 'y' stands there twice"),
        ('<noisymax id="y">', "<noisymax>", "expected an id of this node"),
        ('<state id="none"/>', '<state id="some"/>', "node 'y' needs states, all different"),
    ],
)
def test_a_broken_noisymax_is_refused(written, before, after, message):
    assert before in NOISY
    with pytest.raises(InputError) as refusal:
        read(written(NOISY.replace(before, after), ".xdsl"))
    assert message in str(refusal.value)


def test_a_noisymax_may_close_no_cycle(written):
    circle = NOISY.replace(
        "<probabilities>0.6 0.4</probabilities>",
        "<parents>y</parents><probabilities>0.6 0.4 0.6 0.4 0.6 0.4</probabilities>",
    )
    with pytest.raises(InputError, match="the parents form a cycle"):
        read(written(circle, ".xdsl"))


def test_thirty_causes_of_a_noisymax_are_read_without_a_table_of_all(written):
    causes = [f"c{k}" for k in range(30)]
    nodes = "".join(
        f'<cpt id="{name}"><state id="yes"/><state id="no"/>'
        "<probabilities>0.1 0.9</probabilities></cpt>"
        for name in causes
    )
    gate = (
        f'<noisymax id="y"><state id="yes"/><state id="no"/><parents>{" ".join(causes)}</parents>'
        f"<parameters>{'0.5 0.5 0 1 ' * 30} 0.02 0.98</parameters></noisymax>"
    )
    model = read(written(f"<smile><nodes>{nodes}{gate}</nodes></smile>", ".xdsl"))
    assert len(model.order) == 31
    answer = om.marginals(model)["y"].probability[1]
    assert answer == pytest.approx(0.98 * 0.95**30)


HUGIN = """net { }
node a { states = ("false" "true"); }
node b { states = ("true" "false"); }
node y { states = ("false" "true"); }
potential (a) { data = (0.5 0.5); }
potential (b) { data = (0.5 0.5); }
potential (y | a b) { model_nodes = (); samples_per_interval = 25;
  model_data = ( NoisyOR (a, 0.1, b, 0.25, true, 0.9) ); }
"""


def test_a_noisy_or_of_hugin_multiplies_what_fails(written):
    model = read(written(HUGIN, ".net"))
    for a, first in (("true", 0.1), ("false", 1.0)):
        for b, second in (("true", 0.25), ("false", 1.0)):
            answer = om.marginals(model, {"a": a, "b": b})["y"].probability
            assert answer[0] == pytest.approx(first * second * 0.9)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("NoisyOR", "Binomial", "a potential given by a formula: save it as a table"),
        ("(a, 0.1,", "(a,", "a potential given by a formula"),
        ("(a, 0.1,", "(a + b, 0.1,", "'a + b' is no parent of 'y'"),
        ("(a, 0.1,", "(c, 0.1,", "'c' is no parent of 'y'"),
        ("(a, 0.1,", "(a, 1.1,", "expected a probability after 'a', found '1.1'"),
        (
            'node a { states = ("false" "true")',
            'node a { states = ("u" "v")',
            "which of the values u",
        ),
        ("0.9) );", '0.9) ) = "x";', "a potential given by a formula"),
    ],
)
def test_another_formula_of_hugin_is_refused(written, before, after, message):
    assert before in HUGIN
    with pytest.raises(InputError) as refusal:
        read(written(HUGIN.replace(before, after), ".net"))
    assert message in str(refusal.value)
