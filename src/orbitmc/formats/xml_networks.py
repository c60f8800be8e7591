"""XMLBIF 0.3: Bayesian networks as XML.

`TABLE` lists probabilities with the `FOR` variable fastest, then the last `GIVEN`. Names lose white
space at both ends. Properties, comments and unknown elements are skipped; entities that a file
declares are refused, and nothing outside the file is ever read.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.files import write_text
from orbitmc._util.text import (
    MEMORY,
    number_in,
    quote,
    read_bytes,
    require_memory,
    shorten,
    suggestion,
)
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.formats import assembly as bayes
from orbitmc.formats.assembly import weight_texts
from orbitmc.formats.bif import BYTES_PER_ENTRY
from orbitmc.graph.causal_influence import Influences
from orbitmc.graph.model import Model

# Read XML piece by piece; entities that a file declares are refused, nothing else is loaded.

XML_BYTES_PER_BYTE = 50
"""What a byte of XML takes as names and numbers, at most: `1 ` is two and makes a number."""


class Place(NamedTuple):
    """A place in a file."""

    source: str
    line: int
    column: int

    def error(self, message: str) -> InputError:
        return InputError(message, source=self.source, line=self.line, column=self.column)

    def probabilities(self, words: Sequence[str], which: str) -> Floats:
        """Numbers that are finite and not negative."""
        numbers = [number_in(word) for word in words]
        for word, number in zip(words, numbers, strict=True):
            if not 0 <= number < math.inf:
                wanted = f"a probability (finite, not negative) {which}"
                raise self.error(f"expected {wanted}, found {quote(word)}")
        return np.array(numbers)


class XmlReader:
    """Calls `start_element` and `end_element`; `outer` is the tag around, in capitals."""

    roots: ClassVar[tuple[str, ...]] = ()

    def __init__(self, source: str) -> None:
        self.source, self.root = source, ""
        self.tags: list[str] = []
        self.letters: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.letters.append
        self.parser.EntityDeclHandler = self._refuse
        self.parser.SkippedEntityHandler = self._refuse

    def parse(self, data: bytes, memory: int) -> None:
        """Read a file; what is not XML, or begins with another element, is refused."""
        require_memory(self.source, XML_BYTES_PER_BYTE * len(data), memory)
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise InputError(
                f"this is not XML: {expat.ErrorString(error.code)}",
                source=self.source,
                line=error.lineno,
                column=error.offset + 1,
            ) from None
        except (ValueError, LookupError) as error:
            raise InputError(f"this is not XML we read: {error}", source=self.source) from None
        if self.root not in self.roots:
            wanted = " or ".join(f"<{root}>" for root in self.roots)
            raise InputError(
                f"expected {wanted} at the top, found <{shorten(self.root)}>", source=self.source
            )

    @property
    def outer(self) -> str:
        """The element around."""
        return self.tags[-1] if self.tags else ""

    def start_element(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; its tag is in capitals."""

    def end_element(self, tag: str, text: str) -> None:
        """An element ends; its text has no white space at its ends."""

    def here(self) -> Place:
        """Where the parser is."""
        line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber
        return Place(self.source, line, column + 1)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.root = self.root or tag.upper()
        self.letters.clear()
        self.start_element(tag.upper(), attributes)
        self.tags.append(tag.upper())

    def _end(self, tag: str) -> None:
        inner = self.tags.pop()
        self.end_element(inner, "".join(self.letters).strip())
        self.letters.clear()

    def _refuse(self, name: str, *details: object) -> NoReturn:
        raise self.here().error(f"entity {quote(name)} is refused; write its text instead")


HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n'
)
FOOT = "</NETWORK>\n</BIF>\n"

Domains = dict[str, tuple[str, ...]]

XMLBIF_PARTS = {"VARIABLE": ("NAME", "OUTCOME"), "DEFINITION": ("FOR", "GIVEN", "TABLE")}
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
    for definition in elements["DEFINITION"]:
        child = _child(definition, domains, blocks)
        parents = definition.texts["GIVEN"]
        sizes = [len(domains[name]) for name in [*parents, child]]
        blocks[child] = bayes.Block(parents, _probabilities(definition, child, sizes))
    for variable, name in zip(elements["VARIABLE"], domains, strict=True):
        if name not in blocks:
            raise variable.error(f"variable {quote(name)} has no DEFINITION")
    return bayes.network_model(domains, blocks, str(path))


def _domains(variables: Sequence[Element]) -> Domains:
    domains: Domains = {}
    for variable in variables:
        names, values = variable.texts["NAME"], variable.texts["OUTCOME"]
        if not names or not values:
            raise variable.error("expected a NAME and one OUTCOME or more in this VARIABLE")
        if names[0] in domains:
            raise variable.error(f"variable {quote(names[0])} is declared twice")
        if len(set(values)) != len(values):
            raise variable.error(f"variable {quote(names[0])} has a value twice")
        domains[names[0]] = tuple(values)
    return domains


def _child(definition: Element, domains: Domains, defined: Container[str]) -> str:
    """The variable that is defined; all that are named are known, and none stands twice."""
    children, scope = (
        definition.texts["FOR"],
        [*definition.texts["GIVEN"], *definition.texts["FOR"]],
    )
    if len(children) != 1:
        raise definition.error(f"expected one FOR in this DEFINITION, found {len(children)}")
    for name in scope:
        if name not in domains:
            raise definition.error(f"unknown variable {quote(name)}{suggestion(name, domains)}")
    if len(set(scope)) != len(scope):
        raise definition.error(f"a variable stands twice in the definition of {quote(children[0])}")
    if children[0] in defined:
        raise definition.error(f"a second definition of {quote(children[0])}")
    return children[0]


def _probabilities(definition: Element, child: str, sizes: Sequence[int]) -> Floats:
    words, count = "".join(definition.texts["TABLE"]).split(), math.prod(sizes)
    if len(words) != count:
        wanted = str(count) if count < 10**15 else "far more"
        raise definition.error(
            f"the table of {quote(child)} needs {wanted} probabilities, found {len(words)}"
        )
    return definition.place.probabilities(words, f"in the table of {quote(child)}")


def write_xmlbif(model: Model, path: str | Path) -> None:
    """Write a Bayesian network; other models are refused."""
    with attribute_to_file(str(path)):
        content = HEAD + "".join(_pieces(model, bayes.conditionals(model, "XMLBIF"))) + FOOT
    write_text(path, content)


def _pieces(model: Model, network: Sequence[bayes.Conditional]) -> Iterator[str]:
    names = [_escape_name(name) for name in model.names]
    for name, values in zip(names, model.values, strict=True):
        outcomes = "".join(f"<OUTCOME>{_escape_name(value)}</OUTCOME>\n" for value in values)
        yield f'<VARIABLE TYPE="nature">\n<NAME>{name}</NAME>\n{outcomes}</VARIABLE>\n'
    for conditional in network:
        condition = "".join(f"<GIVEN>{names[parent]}</GIVEN>\n" for parent in conditional.parents)
        table = " ".join(weight_texts(conditional.log_probabilities))
        yield f"<DEFINITION>\n<FOR>{names[conditional.child]}</FOR>\n{condition}"
        yield f"<TABLE>{table}</TABLE>\n</DEFINITION>\n"


def _escape_name(name: str) -> str:
    printable = all(letter >= " " and not "\ufffe" <= letter <= "\uffff" for letter in name)
    if not printable or name != name.strip() or not name:
        raise InputError(f"XMLBIF cannot hold the name {quote(name)}; write .json instead")
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
        self.elements: dict[str, list[Element]] = {tag: [] for tag in XMLBIF_PARTS}

    def start_element(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in XMLBIF_PARTS:
            texts: dict[str, list[str]] = {
                part: [] for parts in XMLBIF_PARTS.values() for part in parts
            }
            self.elements[tag].append(Element(self.here(), texts))

    def end_element(self, tag: str, text: str) -> None:
        inner = SYNONYMS.get(tag, tag)
        if inner in XMLBIF_PARTS.get(self.outer, ()):
            self.elements[self.outer][-1].texts[inner].append(text)


# GeNIe's .xdsl: Bayesian networks as XML.
#
# A `cpt` has its states, its parents and its probabilities: its own states change fastest, then
# those of the last parent. A `deterministic` node lists which state results. A `noisymax` has, for
# each parent, a column of probabilities of its own states for each state of that parent, and a last
# column for the leak; the first of its own states is the largest. `strengths` say to which state of
# a parent each of its columns belongs. Other nodes are refused.

TABLE, DETERMINISTIC, NOISY_MAX = XDSL_KINDS = ("cpt", "deterministic", "noisymax")
XDSL_REFUSED = ("noisyadder", "decision", "utility", "mau", "equation", "demorgan")
XDSL_PARTS = ("parents", "probabilities", "resultingstates", "parameters", "strengths")
COLUMN_ERROR = 1e-3  # how far from one a column of a noisymax may add up: files round


@dataclass
class Node:
    """What a file says of a node, and where."""

    kind: str
    name: str
    place: Place
    states: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


class _Nodes(XmlReader):
    """Collects nodes while the file is read."""

    roots = ("SMILE",)

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.nodes: list[Node] = []

    def start_element(self, tag: str, attributes: Mapping[str, str]) -> None:
        kind = tag.lower()
        inside = self.outer == "NODES"
        if inside and kind in XDSL_KINDS:
            name = attributes.get("id", "")
            if not name:
                raise self.here().error("expected an id of this node")
            self.nodes.append(Node(kind, name, self.here()))
        elif inside and kind in XDSL_REFUSED:
            raise self.here().error(
                f"a {kind} node is no table: in GeNIe, change its type to a chance node first"
            )
        elif kind == "state" and self.outer.lower() in XDSL_KINDS:
            self.nodes[-1].states.append(attributes.get("id", ""))

    def end_element(self, tag: str, text: str) -> None:
        kind = tag.lower()
        if kind in XDSL_PARTS and self.outer.lower() in XDSL_KINDS:
            self.nodes[-1].texts[kind] = text


def read_xdsl(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per node, in the order of the file."""
    reader = _Nodes(str(path))
    reader.parse(read_bytes(path, memory=memory), memory)
    domains: dict[str, tuple[str, ...]] = {}
    for node in reader.nodes:
        if node.name in domains:
            raise node.place.error(f"node {quote(node.name)} stands there twice")
        if not node.states or len(set(node.states)) != len(node.states) or "" in node.states:
            raise node.place.error(f"node {quote(node.name)} needs states, all different")
        domains[node.name] = tuple(node.states)
    if not domains:
        raise InputError("there is no node in this file", source=str(path))
    blocks: dict[str, bayes.Block | Influences] = {}
    entries = 0
    for node in reader.nodes:
        parents = _parents(node, domains)
        sizes = [len(domains[name]) for name in [*parents, node.name]]
        noisy = node.kind == NOISY_MAX
        entries += sizes[-1] ** 2 * sum(sizes) if noisy else math.prod(sizes)
        require_memory(str(path), BYTES_PER_ENTRY * entries, memory)
        if noisy:
            blocks[node.name] = _influences(node, parents, sizes)
        else:
            blocks[node.name] = bayes.Block(parents, _table(node, sizes))
    return bayes.network_model(domains, blocks, str(path))


def _influences(node: Node, parents: Sequence[str], sizes: Sequence[int]) -> Influences:
    """The columns of a noisymax, in the order of the states of its parents, and its leak."""
    words, size = node.texts.get("parameters", "").split(), sizes[-1]
    _require_count(node, len(words), size * (sum(sizes[:-1]) + 1), "parameters")
    columns = node.place.probabilities(words, f"of {quote(node.name)}").reshape(-1, size)
    sums = columns.sum(axis=1, keepdims=True)
    wrong = np.flatnonzero(np.abs(sums - 1) > COLUMN_ERROR)
    if len(wrong):
        column = int(wrong[0])
        raise node.place.error(
            f"column {column + 1} of the parameters of {quote(node.name)} sums to "
            f"{float(sums[column, 0]):.6g}, not to 1"
        )
    columns = columns / sums
    states, tables, first = _strengths(node, parents, sizes), [], 0
    for place in range(len(parents)):
        table = np.empty((sizes[place], size))
        table[states[place]] = columns[first : first + sizes[place]]
        tables.append(table)
        first += sizes[place]
    return Influences(node.name, tuple(parents), tuple(tables), columns[-1], "smallest")


def _strengths(node: Node, parents: Sequence[str], sizes: Sequence[int]) -> list[list[int]]:
    """The states of each parent in the order of its columns."""
    words = node.texts.get("strengths", "").split()
    if not words:
        return [list(range(size)) for size in sizes[:-1]]
    _require_count(node, len(words), sum(sizes[:-1]), "strengths")
    states, first = [], 0
    for name, size in zip(parents, sizes, strict=False):
        listed = words[first : first + size]
        if sorted(listed) != sorted(map(str, range(size))):
            raise node.place.error(
                f"the strengths of {quote(name)} in {quote(node.name)} are its states 0 to "
                f"{size - 1}, each once, not {' '.join(map(shorten, listed))}"
            )
        states.append([int(word) for word in listed])
        first += size
    return states


def _parents(node: Node, domains: Mapping[str, tuple[str, ...]]) -> list[str]:
    parents = node.texts.get("parents", "").split()
    for name in parents:
        if name not in domains:
            raise node.place.error(
                f"unknown parent {quote(name)} of {quote(node.name)}{suggestion(name, domains)}"
            )
    if len({*parents, node.name}) != len(parents) + 1:
        raise node.place.error(f"a parent of {quote(node.name)} stands there twice")
    return parents


def _table(node: Node, sizes: list[int]) -> Floats:
    if node.kind == DETERMINISTIC:
        return _results(node, sizes)
    words = node.texts.get("probabilities", "").split()
    _require_count(node, len(words), math.prod(sizes), "probabilities")
    return node.place.probabilities(words, f"of {quote(node.name)}")


def _results(node: Node, sizes: list[int]) -> Floats:
    """A table that has 1 for the state that results."""
    words = node.texts.get("resultingstates", "").split()
    _require_count(node, len(words), math.prod(sizes[:-1]), "resulting states")
    number = {state: place for place, state in enumerate(node.states)}
    for word in words:
        if word not in number:
            raise node.place.error(f"{quote(word)} is no state of {quote(node.name)}")
    table = np.zeros((len(words), sizes[-1]))
    table[np.arange(len(words)), [number[word] for word in words]] = 1.0
    return table


def _require_count(node: Node, count: int, wanted: int, what: str) -> None:
    if count != wanted:
        raise node.place.error(f"node {quote(node.name)} needs {wanted} {what}, found {count}")
