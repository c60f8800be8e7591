"""XMLBIF 0.3: Bayesian networks as XML.

`TABLE` lists probabilities with the `FOR` variable fastest, then the last `GIVEN`. Names lose white
space at both ends. Properties, comments and unknown elements are skipped; entities that a file
declares are refused, and nothing outside the file is ever read.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np

from orbitmc.errors import InputError
from orbitmc.formats.assembly import Assembly
from orbitmc.formats.bif.bayes import Conditional, conditionals, find_cycle
from orbitmc.formats.bif.xmlbif_elements import Definition, Elements, parse_elements
from orbitmc.formats.weights import weight_texts
from orbitmc.formats.writing import write_text
from orbitmc.graph.model import Model
from orbitmc.machine.arrays import Floats
from orbitmc.machine.text import MEMORY, quoted, read_bytes, suggestion

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n'
)
FOOT = "</NETWORK>\n</BIF>\n"


def read_xmlbif(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per definition, in the order of the file."""
    elements = parse_elements(read_bytes(path, memory=memory), str(path), memory)
    domains = _domains(elements)
    number = {name: variable for variable, name in enumerate(domains)}
    assembly = Assembly([len(values) for values in domains.values()], elements.source)
    parents: dict[str, list[str]] = {}
    for one in elements.definitions:
        _require_names(one, domains, parents)
        parents[one.child] = one.parents
        scope = [number[name] for name in [*one.parents, one.child]]
        sizes = [len(domains[name]) for name in [*one.parents, one.child]]
        assembly.add_factor(scope, assembly.table(_probabilities(one, sizes)))
    _require_complete(elements, domains, parents)
    return Model(assembly.build(), tuple(domains), tuple(domains.values()))


def _domains(elements: Elements) -> dict[str, tuple[str, ...]]:
    domains: dict[str, tuple[str, ...]] = {}
    for one in elements.variables:
        if not one.names or not one.values:
            raise one.place.error("expected a NAME and one OUTCOME or more in this VARIABLE")
        if one.names[0] in domains:
            raise one.place.error(f"variable {one.names[0]!r} is declared twice")
        if len(set(one.values)) != len(one.values):
            raise one.place.error(f"variable {one.names[0]!r} has a value twice")
        domains[one.names[0]] = tuple(one.values)
    return domains


def _require_names(
    one: Definition, domains: dict[str, tuple[str, ...]], parents: dict[str, list[str]]
) -> None:
    if len(one.children) != 1:
        raise one.place.error(f"expected one FOR in this DEFINITION, found {len(one.children)}")
    scope = [*one.parents, one.child]
    for name in scope:
        if name not in domains:
            raise one.place.error(f"unknown variable {name!r}{suggestion(name, domains)}")
    if len(set(scope)) != len(scope):
        raise one.place.error(f"a variable stands twice in the definition of {one.child!r}")
    if one.child in parents:
        raise one.place.error(f"a second definition of {one.child!r}")


def _probabilities(one: Definition, sizes: Sequence[int]) -> Floats:
    words = "".join(one.table).split()
    if len(words) != math.prod(sizes):
        raise one.place.error(
            f"the table of {one.child!r} needs {_short(math.prod(sizes))} probabilities, found "
            f"{len(words)}"
        )
    numbers = [_number(word) for word in words]
    for word, number in zip(words, numbers, strict=True):
        if not 0 <= number < math.inf:
            raise one.place.error(
                f"expected a probability (finite, not negative) in the table of {one.child!r}, "
                f"found {quoted(word)}"
            )
    return np.array(numbers)


def _number(word: str) -> float:
    try:
        return float(word) if word.isascii() and "_" not in word else math.nan
    except ValueError:
        return math.nan


def _short(count: int) -> str:
    return str(count) if count < 10**15 else "far more"


def _require_complete(
    elements: Elements, domains: dict[str, tuple[str, ...]], parents: dict[str, list[str]]
) -> None:
    for variable, name in zip(elements.variables, domains, strict=True):
        if name not in parents:
            raise variable.place.error(f"variable {name!r} has no DEFINITION")
    cycle = find_cycle(parents)
    if cycle:
        shown = " <- ".join(map(quoted, cycle))
        raise InputError(f"the parents form a cycle: {shown}", source=elements.source)


def write_xmlbif(model: Model, path: str | Path) -> None:
    """Write a Bayesian network; other models are refused."""
    try:
        content = HEAD + "".join(_pieces(model, conditionals(model, "XMLBIF"))) + FOOT
    except InputError as error:
        raise InputError(error.message, source=str(path)) from None
    write_text(path, content)


def _pieces(model: Model, network: Sequence[Conditional]) -> Iterator[str]:
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
