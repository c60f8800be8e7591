"""BIF: Bayesian networks with named values, as found in the wild.

Comments (`//` and `/* */`) and `property` lines are skipped. Commas between names and numbers are
optional. A name may contain any character except white space and `{}()[]|,;"`, may end in something
in parentheses, or may be quoted and then contain anything but a quote or a line end. Names with
spaces and without quotes, as pgmpy writes them, are understood where commas show where they end.

Probabilities of a child with parents come in rows `(parent values) p, p, ...;` in any order;
`default` fills the rows that are left out. `table` lists all, the child slowest and the last parent
fastest. Numbers are kept as given, also when rounding keeps them from adding up to one.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from orbitmc._util.files import weight_texts
from orbitmc._util.text import MEMORY, quoted, read_text, require_memory, suggestion
from orbitmc.errors import said_of
from orbitmc.formats.bif import bayes
from orbitmc.formats.bif.bif_scanner import Scanner, written_name
from orbitmc.formats.bif.bif_tables import BYTES_PER_ENTRY, read_table
from orbitmc.graph.model import Model

MOST_DIGITS = 18  # of a number of values: no file has more
BYTES_PER_CHARACTER = 32
"""What a character takes while reading, at most: `1,` is two and makes a number in a list."""


def read_bif(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per probability block, in the order of the file."""
    text = read_text(path, memory=memory)
    require_memory(text.source, BYTES_PER_CHARACTER * len(text.content), memory)
    scanner, network = Scanner(text), bayes.Network()
    if scanner.ended():
        scanner.name("network, variable or probability")  # an empty file is a mishap, not a model
    while not scanner.ended():
        at = scanner.at
        word = scanner.name("network, variable or probability").lower()
        if word == "network":
            _skip_network(scanner)
        elif word == "variable":
            _read_variable(scanner, network)
        elif word == "probability":
            _read_probability(scanner, network, memory)
        else:
            raise scanner.error(
                at, f"expected network, variable or probability, found {quoted(word)}"
            )
    _require_complete(scanner, network)
    return network.model(text)


def _skip_network(scanner: Scanner) -> None:
    while not scanner.took("{"):
        scanner.name("the name of the network")
    while not scanner.took("}"):
        scanner.skip_property()


def _read_variable(scanner: Scanner, network: bayes.Network) -> None:
    at = scanner.at
    name = scanner.phrase("{", "the name of a variable")
    if name in network.domains:
        raise scanner.error(at, f"variable {quoted(name)} is declared twice")
    scanner.take("{")
    values: list[str] = []
    while not scanner.took("}"):
        if scanner.took_word("type"):
            values = _read_values(scanner)
        else:
            scanner.skip_property()
    if not values:
        raise scanner.error(at, f"variable {quoted(name)} has no `type discrete [ n ] {{ ... }};`")
    network.declare(name, values)


def _read_values(scanner: Scanner) -> list[str]:
    at = scanner.at
    kind = scanner.name("discrete")
    if kind.lower() != "discrete":
        raise scanner.error(at, f"expected type discrete, found {quoted(kind)}")
    scanner.take("[")
    at = scanner.at
    count = scanner.name("the number of values")
    scanner.take("]")
    scanner.take("{")
    values = scanner.names("}", "a value", announced(count))
    scanner.take(";")
    if len(values) != announced(count):
        raise scanner.error(at, f"{quoted(count)} values are announced, found {len(values)}")
    if len(set(values)) != len(values):
        raise scanner.error(at, "a value stands there twice")
    return values


def announced(count: str) -> int:
    """How many values a file says there are, 0 if that is no such number."""
    return int(count) if count.isascii() and count.isdigit() and len(count) < MOST_DIGITS else 0


def _read_probability(scanner: Scanner, network: bayes.Network, memory: int) -> None:
    scanner.take("(")
    at = scanner.at
    scope = _read_scope(scanner, network)
    if not scope:
        raise scanner.error(at, "expected a variable, found ')'")
    child, *parents = scope
    if child in network.blocks:
        raise scanner.error(at, f"a second probability block for {quoted(child)}")
    values = [network.domains[name] for name in [*parents, child]]
    network.entries += math.prod(len(own) for own in values)
    require_memory(scanner.text.source, BYTES_PER_ENTRY * network.entries, memory)
    network.places[child] = at
    network.blocks[child] = bayes.Block(parents, read_table(scanner, at, child, values))


def _read_scope(scanner: Scanner, network: bayes.Network) -> list[str]:
    scope: list[str] = []
    known = network.domains
    while not scanner.took(")"):
        at = scanner.at
        name = scanner.known("a variable", known, network.beginnings)
        if name not in known:
            near = suggestion(name, known)
            raise scanner.error(at, f"unknown variable {quoted(name)}{near} (declare it before)")
        if name in scope:
            raise scanner.error(at, f"variable {quoted(name)} stands there twice")
        scope.append(name)
        scanner.took("|") or scanner.took(",")
    return scope


def _require_complete(scanner: Scanner, network: bayes.Network) -> None:
    for name in network.domains:
        if name not in network.blocks:
            raise scanner.error(scanner.at, f"variable {quoted(name)} has no probability block")


def write_bif(model: Model, path: str | Path) -> None:
    """Write a Bayesian network; other models are refused."""
    from orbitmc._util.files import write_text

    with said_of(str(path)):
        content = "".join(_pieces(model, bayes.conditionals(model, "BIF")))
    write_text(path, content)


def _pieces(model: Model, network: Sequence[bayes.Conditional]) -> Iterator[str]:
    names = [written_name(name) for name in model.names]
    values = [[written_name(value) for value in own] for own in model.values]
    yield "network unknown {\n}\n"
    for name, own in zip(names, values, strict=True):
        yield f"variable {name} {{\n  type discrete [ {len(own)} ] {{ {', '.join(own)} }};\n}}\n"
    for one in network:
        given = f" | {', '.join(names[parent] for parent in one.parents)}" if one.parents else ""
        yield f"probability ( {names[one.child]}{given} ) {{\n"
        yield from _rows(one, values)
        yield "}\n"


def _rows(one: bayes.Conditional, values: Sequence[Sequence[str]]) -> Iterator[str]:
    texts = weight_texts(one.log_probabilities)
    size = len(values[one.child])
    for row, seen in enumerate(itertools.product(*(values[parent] for parent in one.parents))):
        head = f"({', '.join(seen)})" if seen else "table"
        yield f"  {head} {', '.join(texts[row * size : (row + 1) * size])};\n"
