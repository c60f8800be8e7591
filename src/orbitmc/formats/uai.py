"""UAI models: `MARKOV` or `BAYES`, cardinalities, scopes, then tables of weights.

White space of any kind separates the words. Tables list weights (not logarithms), last variable of
the scope fastest. A factor over no variables multiplies all weights.

Variables are called "0", "1", ... and so are their values, because UAI holds no names. When a file
`X.uai.json` stands beside `X.uai` (or `X.uai.gz`), it gives the names; see `names`.

Writing: always `MARKOV`; variables in the author's order. An observed variable stays, with a factor
that allows only its value, so that the numbering survives. A clause becomes a table, if it is
short. What evidence has already decided (`constant`) becomes a factor over no variables.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from orbitmc.arrays import Floats
from orbitmc.errors import ContradictionError, InputError
from orbitmc.formats.assembly import Assembly
from orbitmc.formats.names import read_names, write_names
from orbitmc.formats.text import MEMORY, quoted, read_text, require_memory
from orbitmc.formats.weights import weight_texts
from orbitmc.formats.words import Words
from orbitmc.formats.writing import write_text
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model

BYTES_PER_NAME = 64
FEW_VALUES = 256
"""A variable may have so many values without any table that could list them."""

COUNTABLE = 10**18
"""Where we stop multiplying cardinalities: no file holds so many weights."""

LONGEST_TABLE_BITS = 16
"""A clause is written out as a table of at most 2^16 weights."""


def read_uai(path: str | Path, *, memory: int = MEMORY) -> Model:
    """Read a UAI model, with the names beside it if there are any."""
    words = Words(read_text(path, memory=memory), memory=memory)
    kind = words.word("MARKOV or BAYES")
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise words.error(0, f"expected MARKOV or BAYES, found {quoted(kind)}")
    sizes = _cardinalities(words, memory)
    assembly = Assembly(sizes, words.text.source)
    _read_factors(words, sizes, assembly)
    words.end()
    names, values = read_names(path, sizes, memory=memory)
    return Model(assembly.build(), names, values)


def _cardinalities(words: Words, memory: int) -> list[int]:
    count = words.integer("the number of variables")
    first = words.taken
    sizes = words.integers(count, "{} cardinalities", count)
    most = max(FEW_VALUES, len(words.text.content))
    for variable, size in enumerate(sizes):
        if not 1 <= size <= most:
            raise words.error(
                first + variable,
                f"variable {variable} has {size} values, expected 1 to {most} in a file of "
                f"{len(words.text.content)} characters",
            )
    require_memory(words.text.source, BYTES_PER_NAME * (count + sum(set(sizes))), memory)
    return sizes


def _read_factors(words: Words, sizes: Sequence[int], assembly: Assembly) -> None:
    count = words.integer("the number of factors")
    if 2 * count > words.left:
        raise words.error(
            words.taken - 1, f"{count} factors are announced, but only {words.left} words follow"
        )
    scopes = [_scope(words, factor, sizes) for factor in range(count)]
    known: dict[tuple[str, ...], int] = {}
    for factor, scope in enumerate(scopes):
        entries = _entries(words, factor, [sizes[variable] for variable in scope])
        first = words.taken
        key = tuple(words.take(entries, "{} weights of factor {}", entries, factor))
        if key not in known or not scope:
            words.taken = first
            weights = words.weights(entries, "{} weights of factor {}", entries, factor)
            if not scope:
                _add_constant(words, factor, weights[0], assembly)
                continue
            known[key] = assembly.table(weights)
        assembly.add_factor(scope, known[key])


def _add_constant(words: Words, factor: int, weight: float, assembly: Assembly) -> None:
    if weight == 0:
        raise ContradictionError(
            f"{words.text.source}: factor {factor} reads no variable and has weight 0, so no state "
            "is possible"
        )
    assembly.add_constant(weight)


def _scope(words: Words, factor: int, sizes: Sequence[int]) -> list[int]:
    arity = words.integer("the number of variables of factor {}", factor)
    first = words.taken
    scope = words.integers(arity, "{} variables of factor {}", arity, factor)
    for place, variable in enumerate(scope, first):
        if variable >= len(sizes):
            raise words.error(
                place, f"expected a variable from 0 to {len(sizes) - 1}, found {variable}"
            )
    if len(set(scope)) != arity:
        raise words.error(first, f"factor {factor} reads a variable twice")
    return scope


def _entries(words: Words, factor: int, sizes: Sequence[int]) -> int:
    """Read how many weights follow: as many as the variables have states, and as the file holds."""
    entries = words.integer("the number of weights of factor {}", factor)
    states = 1
    for size in sizes:
        states *= size
        if states > COUNTABLE:
            break
    if states != entries:
        wanted = f"{states}" if states <= COUNTABLE else "more than 10^18"
        raise words.error(
            words.taken - 1,
            f"factor {factor} over {len(sizes)} variables needs {wanted} weights, found {entries}",
        )
    return entries


def write_uai(model: Model, path: str | Path) -> None:
    """Write a model as UAI, and its names beside it unless they are plain numbers."""
    try:
        content = "\n".join(_lines(model))
    except InputError as error:
        raise InputError(f"{error.message}; write .json instead", source=str(path)) from None
    write_names(model, path)
    write_text(path, content + "\n")


def _lines(model: Model) -> Iterator[str]:
    graph, domains = model.graph, model.domains()
    number = {name: variable for variable, name in enumerate(model.order)}
    observed = [(number[name], seen) for name, seen in model.observed.items()]
    renamed = np.array([number[name] for name in model.names], dtype=np.int64)
    yield "MARKOV"
    yield str(len(domains))
    yield _joined(len(values) for values in domains.values())
    yield str(graph.factors + len(observed) + (graph.constant != 0))
    for factor in range(graph.factors):
        scope = renamed[graph.scope_of(factor)].tolist()
        yield _joined([len(scope), *scope])
    yield from (f"1 {variable}" for variable, _ in observed)
    yield from ["0"] * (graph.constant != 0)
    yield from _tables(graph)
    for _, seen in observed:
        yield _joined([len(seen.values), *np.eye(len(seen.values), dtype=int)[seen.value]])
    yield from [_weights(np.array([graph.constant]))] * (graph.constant != 0)


def _tables(graph: FactorGraph) -> Iterator[str]:
    written: dict[int, str] = {}
    for factor in range(graph.first_clause):
        table = int(graph.table_of[factor])
        if table not in written:
            written[table] = _weights(graph.table_values(factor))
        yield written[table]
    for clause in range(graph.first_clause, graph.factors):
        bits = np.log2(graph.cardinality[graph.scope_of(clause)]).sum()
        if bits > LONGEST_TABLE_BITS:
            raise InputError(
                f"UAI holds tables, and clause {clause} would need one of 2^{bits:.0f} weights"
            )
        yield _weights(graph.expanded(clause))


def _weights(log_weights: Floats) -> str:
    return _joined([log_weights.size, *weight_texts(log_weights)])


def _joined(words: Iterable[object]) -> str:
    return " ".join(map(str, words))
