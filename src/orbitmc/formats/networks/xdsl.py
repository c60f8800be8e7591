"""GeNIe's .xdsl: Bayesian networks as XML.

A `cpt` has its states, its parents and its probabilities: its own states change fastest, then those
of the last parent. A `deterministic` node lists which state results. Other nodes are refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.text import MEMORY, quoted, read_bytes, require_memory, suggestion
from orbitmc.errors import InputError
from orbitmc.formats.bif import bayes
from orbitmc.formats.bif.bif_tables import BYTES_PER_ENTRY
from orbitmc.formats.xml_reading import Place, XmlReader
from orbitmc.graph.model import Model

TABLE, DETERMINISTIC = "cpt", "deterministic"
REFUSED = ("noisymax", "noisyadder", "decision", "utility", "mau", "equation", "demorgan")
XDSL_PARTS = ("parents", "probabilities", "resultingstates")


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

    def started(self, tag: str, attributes: Mapping[str, str]) -> None:
        kind = tag.lower()
        inside = self.outer == "NODES"
        if inside and kind in (TABLE, DETERMINISTIC):
            name = attributes.get("id", "")
            if not name:
                raise self.here().error("expected an id of this node")
            self.nodes.append(Node(kind, name, self.here()))
        elif inside and kind in REFUSED:
            raise self.here().error(
                f"a {kind} node is no table: in GeNIe, change its type to a chance node first"
            )
        elif kind == "state" and self.outer in (TABLE.upper(), DETERMINISTIC.upper()):
            self.nodes[-1].states.append(attributes.get("id", ""))

    def ended(self, tag: str, text: str) -> None:
        kind = tag.lower()
        if kind in XDSL_PARTS and self.outer in (TABLE.upper(), DETERMINISTIC.upper()):
            self.nodes[-1].texts[kind] = text


def read_xdsl(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per node, in the order of the file."""
    reader = _Nodes(str(path))
    reader.parse(read_bytes(path, memory=memory), memory)
    domains: dict[str, tuple[str, ...]] = {}
    for node in reader.nodes:
        if node.name in domains:
            raise node.place.error(f"node {quoted(node.name)} stands there twice")
        if not node.states or len(set(node.states)) != len(node.states) or "" in node.states:
            raise node.place.error(f"node {quoted(node.name)} needs states, all different")
        domains[node.name] = tuple(node.states)
    if not domains:
        raise InputError("there is no node in this file", source=str(path))
    blocks, entries = {}, 0
    for node in reader.nodes:
        parents = _parents(node, domains)
        sizes = [len(domains[name]) for name in [*parents, node.name]]
        entries += math.prod(sizes)
        require_memory(str(path), BYTES_PER_ENTRY * entries, memory)
        blocks[node.name] = bayes.Block(parents, _table(node, sizes))
    return bayes.network_model(domains, blocks, str(path))


def _parents(node: Node, domains: Mapping[str, tuple[str, ...]]) -> list[str]:
    parents = node.texts.get("parents", "").split()
    for name in parents:
        if name not in domains:
            raise node.place.error(
                f"unknown parent {quoted(name)} of {quoted(node.name)}{suggestion(name, domains)}"
            )
    if len({*parents, node.name}) != len(parents) + 1:
        raise node.place.error(f"a parent of {quoted(node.name)} stands there twice")
    return parents


def _table(node: Node, sizes: list[int]) -> Floats:
    if node.kind == DETERMINISTIC:
        return _results(node, sizes)
    words = node.texts.get("probabilities", "").split()
    _require_count(node, len(words), math.prod(sizes), "probabilities")
    return node.place.probabilities(words, f"of {quoted(node.name)}")


def _results(node: Node, sizes: list[int]) -> Floats:
    """A table that has 1 for the state that results."""
    words = node.texts.get("resultingstates", "").split()
    _require_count(node, len(words), math.prod(sizes[:-1]), "resulting states")
    number = {state: place for place, state in enumerate(node.states)}
    for word in words:
        if word not in number:
            raise node.place.error(f"{quoted(word)} is no state of {quoted(node.name)}")
    table = np.zeros((len(words), sizes[-1]))
    table[np.arange(len(words)), [number[word] for word in words]] = 1.0
    return table


def _require_count(node: Node, found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise node.place.error(f"node {quoted(node.name)} needs {wanted} {what}, found {found}")
