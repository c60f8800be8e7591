"""XMLBIF 0.3: Bayesian networks as XML.

`TABLE` lists probabilities with the `FOR` variable fastest, then the last `GIVEN`. Names lose white
space at both ends. Properties, comments and unknown elements are skipped; entities that a file
declares are refused, and nothing outside the file is ever read.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from orbitmc._util.arrays import Floats
from orbitmc._util.files import weight_texts, write_text
from orbitmc._util.text import MEMORY, quoted, read_bytes, suggestion
from orbitmc.errors import InputError, said_of
from orbitmc.formats.bif import bayes
from orbitmc.formats.xml_reading import Place, XmlReader
from orbitmc.graph.model import Model

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n'
)
FOOT = "</NETWORK>\n</BIF>\n"

Domains = dict[str, tuple[str, ...]]

PARTS = {"VARIABLE": ("NAME", "OUTCOME"), "DEFINITION": ("FOR", "GIVEN", "TABLE")}
SYNONYMS = {"VALUE": "OUTCOME"}


class Element(NamedTuple):
    """A VARIABLE or DEFINITION: where it begins, and the texts of its parts by their tags."""

    place: Place
    texts: dict[str, list[str]]

    def error(self, message: str) -> InputError:
        return self.place.error(message)


def read_xmlbif(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per definition, in the order of the file."""
    elements = parse_elements(read_bytes(path, memory=memory), str(path), memory)
    domains = _domains(elements["VARIABLE"])
    blocks: dict[str, bayes.Block] = {}
    for one in elements["DEFINITION"]:
        child = _child(one, domains, blocks)
        parents = one.texts["GIVEN"]
        sizes = [len(domains[name]) for name in [*parents, child]]
        blocks[child] = bayes.Block(parents, _probabilities(one, child, sizes))
    for variable, name in zip(elements["VARIABLE"], domains, strict=True):
        if name not in blocks:
            raise variable.error(f"variable {quoted(name)} has no DEFINITION")
    return bayes.network_model(domains, blocks, str(path))


def _domains(variables: Sequence[Element]) -> Domains:
    domains: Domains = {}
    for one in variables:
        names, values = one.texts["NAME"], one.texts["OUTCOME"]
        if not names or not values:
            raise one.error("expected a NAME and one OUTCOME or more in this VARIABLE")
        if names[0] in domains:
            raise one.error(f"variable {quoted(names[0])} is declared twice")
        if len(set(values)) != len(values):
            raise one.error(f"variable {quoted(names[0])} has a value twice")
        domains[names[0]] = tuple(values)
    return domains


def _child(one: Element, domains: Domains, defined: Container[str]) -> str:
    """The variable that is defined; all that are named are known, and none stands twice."""
    children, scope = one.texts["FOR"], [*one.texts["GIVEN"], *one.texts["FOR"]]
    if len(children) != 1:
        raise one.error(f"expected one FOR in this DEFINITION, found {len(children)}")
    for name in scope:
        if name not in domains:
            raise one.error(f"unknown variable {quoted(name)}{suggestion(name, domains)}")
    if len(set(scope)) != len(scope):
        raise one.error(f"a variable stands twice in the definition of {quoted(children[0])}")
    if children[0] in defined:
        raise one.error(f"a second definition of {quoted(children[0])}")
    return children[0]


def _probabilities(one: Element, child: str, sizes: Sequence[int]) -> Floats:
    words, count = "".join(one.texts["TABLE"]).split(), math.prod(sizes)
    if len(words) != count:
        wanted = str(count) if count < 10**15 else "far more"
        raise one.error(
            f"the table of {quoted(child)} needs {wanted} probabilities, found {len(words)}"
        )
    return one.place.probabilities(words, f"in the table of {quoted(child)}")


def write_xmlbif(model: Model, path: str | Path) -> None:
    """Write a Bayesian network; other models are refused."""
    with said_of(str(path)):
        content = HEAD + "".join(_pieces(model, bayes.conditionals(model, "XMLBIF"))) + FOOT
    write_text(path, content)


def _pieces(model: Model, network: Sequence[bayes.Conditional]) -> Iterator[str]:
    names = [_written(name) for name in model.names]
    for name, values in zip(names, model.values, strict=True):
        outcomes = "".join(f"<OUTCOME>{_written(value)}</OUTCOME>\n" for value in values)
        yield f'<VARIABLE TYPE="nature">\n<NAME>{name}</NAME>\n{outcomes}</VARIABLE>\n'
    for one in network:
        given = "".join(f"<GIVEN>{names[parent]}</GIVEN>\n" for parent in one.parents)
        table = " ".join(weight_texts(one.log_probabilities))
        yield f"<DEFINITION>\n<FOR>{names[one.child]}</FOR>\n{given}"
        yield f"<TABLE>{table}</TABLE>\n</DEFINITION>\n"


def _written(name: str) -> str:
    held = all(letter >= " " and not "\ufffe" <= letter <= "\uffff" for letter in name)
    if not held or name != name.strip() or not name:
        raise InputError(f"XMLBIF cannot hold the name {quoted(name)}; write .json instead")
    return escape(name)


def parse_elements(data: bytes, source: str, memory: int) -> dict[str, list[Element]]:
    """Find the variables and definitions in an XML file, and refuse its entities."""
    reader = _Elements(source)
    reader.parse(data, memory)
    return reader.elements


class _Elements(XmlReader):
    roots = ("BIF",)

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.elements: dict[str, list[Element]] = {tag: [] for tag in PARTS}

    def started(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in PARTS:
            texts: dict[str, list[str]] = {part: [] for own in PARTS.values() for part in own}
            self.elements[tag].append(Element(self.here(), texts))

    def ended(self, tag: str, text: str) -> None:
        inner = SYNONYMS.get(tag, tag)
        if inner in PARTS.get(self.outer, ()):
            self.elements[self.outer][-1].texts[inner].append(text)
