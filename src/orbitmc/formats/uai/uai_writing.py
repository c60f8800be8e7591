"""Write UAI models: always `MARKOV`, variables in the author's order.

An observed variable stays, with a factor that allows only its value, so that the numbering
survives. A clause becomes a table, if it is short. What evidence has already decided (`constant`)
becomes a factor over no variables.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from orbitmc._util.arrays import Floats
from orbitmc._util.files import weight_texts, write_text
from orbitmc.errors import InputError
from orbitmc.formats.uai.uai_names import write_names
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model

LONGEST_TABLE_BITS = 16
"""A clause is written out as a table of at most 2^16 weights."""


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
