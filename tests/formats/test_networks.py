"""Networks of Hugin and GeNIe, and what each mistake is told."""

import numpy as np
import pytest

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
        ('<cpt id="rain">', '<noisymax id="x"></noisymax><cpt id="rain">', "a noisymax node is no"),
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
