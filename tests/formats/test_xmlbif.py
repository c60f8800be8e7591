"""XMLBIF: networks are read, and nothing outside or hidden in the file is."""

import numpy as np
import pytest

from orbitmc.errors import InputError, LimitError
from orbitmc.formats import read
from tests.formats.samples import XMLBIF

VARIABLE = "<VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
DEFINITION = "<DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>"


@pytest.fixture
def xml(tmp_path):
    def write(content):
        (tmp_path / "m.xml").write_text(content)
        return tmp_path / "m.xml"

    return write


def bif(*parts):
    return "<BIF>\n" + "".join(parts) + "</BIF>"


def test_tables_list_the_child_fastest(xml):
    model = read(xml(XMLBIF))
    assert model.domains() == {"rain": ("yes", "no"), "grass": ("<5", "5-12", "more")}
    np.testing.assert_allclose(np.exp(model.graph.table_values(0)), [0.2, 0.8])
    np.testing.assert_allclose(np.exp(model.graph.table_values(1)), [[0.1, 0.2, 0.7], [1, 0, 0]])


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "utf-16"])
def test_the_encoding_is_what_the_file_says(tmp_path, encoding):
    content = f'<?xml version="1.0" encoding="{encoding}"?>' + bif(VARIABLE, DEFINITION)
    (tmp_path / "m.xml").write_bytes(content.replace(">x<", ">é<").encode(encoding))
    assert read(tmp_path / "m.xml").domains() == {"a": ("é", "y")}


WRONG = {
    "": "1:1: this is not XML: no element found",
    "<BIF>\n <X></BIF>": "2:7: this is not XML: mismatched tag",
    "<HTML/>": " expected <BIF> at the top, found <HTML>",
    bif("<VARIABLE><NAME>a</NAME></VARIABLE>"): (
        "2:1: expected a NAME and one OUTCOME or more in this VARIABLE"
    ),
    bif(VARIABLE, "\n", VARIABLE): "3:1: variable 'a' is declared twice",
    bif(VARIABLE.replace("y", "x")): "2:1: variable 'a' has a value twice",
    bif(VARIABLE): "2:1: variable 'a' has no DEFINITION",
    bif(VARIABLE, "\n", "<DEFINITION/>"): "3:1: expected one FOR in this DEFINITION, found 0",
    bif(VARIABLE, "\n", DEFINITION.replace(">a<", ">b<")): "3:1: unknown variable 'b'",
    bif(VARIABLE, DEFINITION, "\n", DEFINITION): "3:1: a second definition of 'a'",
    bif(VARIABLE, "\n", DEFINITION.replace("<TABLE>", "<GIVEN>a</GIVEN><TABLE>")): (
        "3:1: a variable stands twice in the definition of 'a'"
    ),
    bif(VARIABLE, "\n", DEFINITION.replace("0.5 0.5", "1")): (
        "3:1: the table of 'a' needs 2 probabilities, found 1"
    ),
    bif(VARIABLE, "\n", DEFINITION.replace("0.5 0.5", "1 -1")): (
        "3:1: expected a probability (finite, not negative) in the table of 'a', found '-1'"
    ),
    bif(VARIABLE, "\n", DEFINITION.replace("0.5 0.5", "1 1_0")): (
        "3:1: expected a probability (finite, not negative) in the table of 'a', found '1_0'"
    ),
    bif(
        VARIABLE,
        VARIABLE.replace(">a<", ">b<"),
        "<DEFINITION><FOR>a</FOR><GIVEN>b</GIVEN><TABLE>1 0 1 0</TABLE></DEFINITION>",
        "<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>1 0 1 0</TABLE></DEFINITION>",
    ): " the parents form a cycle: 'a' <- 'b' <- 'a'",
    '<!DOCTYPE BIF SYSTEM "http://localhost/bif.dtd"><BIF>\n&secret;</BIF>': (
        "2:1: entity 'secret' is refused; write its text instead"
    ),
}


@pytest.mark.parametrize("content", WRONG, ids=repr)
def test_each_mistake_is_told_with_its_place(xml, content):
    path = xml(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == f"{path}:{WRONG[content]}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<?xml version="1.0" encoding="klingon"?><BIF/>', "this is not XML.*unknown encoding"),
        ('<!DOCTYPE BIF [\n<!ENTITY x "y">]><BIF>&x;</BIF>', r":2:\d+: entity 'x' is refused"),
        (
            '<!DOCTYPE BIF [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><BIF/>',
            r":1:\d+: entity 'p' is refused",
        ),
    ],
)
def test_entities_and_unknown_encodings_are_refused(xml, content, message):
    with pytest.raises(InputError, match=message):
        read(xml(content))


def test_a_billion_laughs_are_refused_before_the_first(xml):
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    path = xml(f'<!DOCTYPE BIF [<!ENTITY l0 "ha">{lines}]><BIF>&l9;</BIF>')
    with pytest.raises(InputError, match="entity 'l0' is refused"):
        read(path)


def test_deep_nesting_is_no_trouble(xml):
    deep = "<X>" * 100_000 + "</X>" * 100_000
    assert read(xml(bif(VARIABLE, DEFINITION, deep))).names == ("a",)


def test_a_large_file_is_refused_under_a_small_limit(xml):
    with pytest.raises(LimitError, match=r"over the memory limit of 9\.8 KiB"):
        read(xml(XMLBIF), memory=10_000)
