"""BIF: Bayesian networks with named values, as found in the wild.

Comments (`//` and `/* */`) and `property` lines are skipped. Commas between names and numbers are
optional. A name may contain any character except white space and `{}()[]|,;"`, may end in something
in parentheses, or may be quoted and then contain anything but a quote or a line end.

Probabilities of a child with parents come in rows `(parent values) p, p, ...;` in any order;
`default` fills the rows that are left out. `table` lists all, the child slowest and the last parent
fastest. Numbers are kept as given, also when rounding keeps them from adding up to one.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from orbitmc.arrays import Floats
from orbitmc.errors import InputError
from orbitmc.formats.assembly import Assembly
from orbitmc.formats.bayes import Conditional, conditionals, find_cycle
from orbitmc.formats.bif_scanner import Mark, Scanner, written_name
from orbitmc.formats.bif_tables import read_table
from orbitmc.formats.text import MEMORY, quoted, read_text
from orbitmc.formats.weights import weight_texts
from orbitmc.formats.writing import write_text
from orbitmc.graph.evidence import suggestion
from orbitmc.graph.model import Model

Domains = dict[str, tuple[str, ...]]


def read_bif(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a Bayesian network: one factor per probability block, in the order of the file."""
    scanner = Scanner(read_text(path, memory=memory))
    domains: Domains = {}
    blocks: dict[str, tuple[Mark, list[str], Floats]] = {}
    while not scanner.ended():
        at = scanner.at
        word = scanner.name("network, variable or probability").lower()
        if word == "network":
            _skip_network(scanner)
        elif word == "variable":
            _read_variable(scanner, domains)
        elif word == "probability":
            _read_probability(scanner, domains, blocks, memory)
        else:
            raise scanner.error(at, f"expected network, variable or probability, found {word!r}")
    return _network(scanner, domains, blocks)


def _skip_network(scanner: Scanner) -> None:
    if not scanner.next_is("{"):
        scanner.name("the name of the network")
    scanner.take("{")
    while not scanner.took("}"):
        scanner.skip_property()


def _read_variable(scanner: Scanner, domains: Domains) -> None:
    at = scanner.at
    name = scanner.name("the name of a variable")
    if name in domains:
        raise scanner.error(at, f"variable {name!r} is declared twice")
    scanner.take("{")
    values: list[str] = []
    while not scanner.took("}"):
        if scanner.took_word("type"):
            values = _read_values(scanner)
        else:
            scanner.skip_property()
    if not values:
        raise scanner.error(at, f"variable {name!r} has no `type discrete [ n ] {{ ... }};`")
    domains[name] = tuple(values)


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
    values = scanner.names("}", "a value")
    scanner.take(";")
    if str(len(values)) != count.lstrip("0"):
        raise scanner.error(at, f"{quoted(count)} values are announced, found {len(values)}")
    if len(set(values)) != len(values):
        raise scanner.error(at, "a value stands there twice")
    return values


def _read_probability(
    scanner: Scanner,
    domains: Domains,
    blocks: dict[str, tuple[Mark, list[str], Floats]],
    memory: int,
) -> None:
    scanner.take("(")
    at = scanner.at
    scope: list[str] = []
    while not scanner.took(")"):
        place = scanner.at
        name = scanner.name("a variable")
        if name not in domains:
            raise scanner.error(
                place, f"unknown variable {name!r}{suggestion(name, domains)} (declare it before)"
            )
        if name in scope:
            raise scanner.error(place, f"variable {name!r} stands there twice")
        scope.append(name)
        scanner.took("|") or scanner.took(",")
    if not scope:
        raise scanner.error(at, "expected a variable, found ')'")
    child, *parents = scope
    if child in blocks:
        raise scanner.error(at, f"a second probability block for {child!r}")
    values = [domains[name] for name in [*parents, child]]
    blocks[child] = (at, parents, read_table(scanner, at, child, values, memory))


def _network(
    scanner: Scanner, domains: Domains, blocks: dict[str, tuple[Mark, list[str], Floats]]
) -> Model:
    for name in domains:
        if name not in blocks:
            raise scanner.error(scanner.at, f"variable {name!r} has no probability block")
    cycle = find_cycle({child: parents for child, (_, parents, _) in blocks.items()})
    if cycle:
        at = blocks[cycle[0]][0]
        raise scanner.error(at, f"the parents form a cycle: {' <- '.join(map(quoted, cycle))}")
    number = {name: variable for variable, name in enumerate(domains)}
    assembly = Assembly([len(values) for values in domains.values()])
    for child, (_, parents, table) in blocks.items():
        scope = [number[name] for name in [*parents, child]]
        assembly.add_factor(scope, assembly.table(table))
    return Model(assembly.build(), tuple(domains), tuple(domains.values()))


def write_bif(model: Model, path: str | Path) -> None:
    """Write a Bayesian network; other models are refused."""
    try:
        content = "".join(_pieces(model, conditionals(model, "BIF")))
    except InputError as error:
        raise InputError(error.message, source=str(path)) from None
    write_text(path, content)


def _pieces(model: Model, network: Sequence[Conditional]) -> Iterator[str]:
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


def _rows(one: Conditional, values: Sequence[Sequence[str]]) -> Iterator[str]:
    rows = one.log_probabilities.reshape(-1, len(values[one.child]))
    for place, row in enumerate(rows):
        where = np.unravel_index(place, one.log_probabilities.shape[:-1]) if one.parents else ()
        seen = [values[p][int(v)] for p, v in zip(one.parents, where, strict=True)]
        head = f"({', '.join(seen)})" if seen else "table"
        yield f"  {head} {', '.join(weight_texts(row))};\n"
