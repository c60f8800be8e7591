"""From what a file lists, in its order, to a factor graph with shared tables."""

import graphlib
import itertools
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc._util.text import Text, quote, shorten
from orbitmc.errors import InputError, attribute_to_file
from orbitmc.graph.builder import Builder
from orbitmc.graph.causal_influence import Influences, add_helpers
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model

Piece = TypeVar("Piece", bound=Sized)


class Assembly:
    """Collects factors in the order of a file; equal tables are stored once."""

    def __init__(self, cardinality: Sequence[int], source: str) -> None:
        self._source = source
        self._builder = Builder(cardinality)
        self._tables: dict[bytes, int] = {}
        self._scopes: list[Sequence[int]] = []
        self._table_of: list[int] = []

    def table(self, weights: Sequence[float] | Floats) -> int:
        """Give the number of the table that holds these weights."""
        return self.log_table(_log(np.asarray(weights, dtype=np.float64)))

    def log_table(self, log_weights: Floats) -> int:
        """The same for logarithms of weights."""
        return self._tables.setdefault(log_weights.tobytes(), len(self._tables))

    def add_factor(self, scope: Sequence[int], table: int) -> None:
        self._scopes.append(scope)
        self._table_of.append(table)

    def add_constant(self, weight: float) -> None:
        """Multiply all weights by a number that is not zero."""
        self._builder.constant += float(np.log(weight))

    def build(self) -> FactorGraph:
        with attribute_to_file(self._source):
            for rows in runs(np.frombuffer(entries) for entries in self._tables):
                self._builder.add_tables(rows)
            self._builder.add_factors_of_any_arity(self._scopes, self._table_of)
            return self._builder.build()


def runs(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Group neighbours of one length, so that each group is added in one call.

    >>> list(runs(["a", "b", "cd", "e"]))
    [['a', 'b'], ['cd'], ['e']]
    """
    return (list(group) for _, group in itertools.groupby(pieces, key=len))


# Bayesian networks, as BIF and XMLBIF hold them: one conditional probability per variable.
#
# A factor is a conditional probability when its last variable is the child and its table sums to
# one over the child for all values of the parents (up to the rounding found in files). A table of a
# network that does not still has a meaning: its entries are weights, and the product of all tables
# is normalised. But that changes how probable the parents are, and is seldom what was meant.


class Beginnings:
    """The names among some that have several words, to look up how a name may begin."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = sorted(name for name in names if " " in name)

    def add(self, name: str) -> None:
        if " " in name:
            insort(self.names, name)

    def have(self, words: str) -> bool:
        """Whether a name begins with these words, and has more."""
        wanted = f"{words} "
        place = bisect_left(self.names, wanted)
        return place < len(self.names) and self.names[place].startswith(wanted)


ROW_ERROR = 1e-3  # how far the sum of probabilities may be from one: files round
EXACT_SUM = 1e-12  # how far from one a sum is that misses it by its arithmetic only
SUM_SLACK = 1e-9  # of sums that are just so far
ENTRIES_AT_ONCE = 2**16  # of tables that are looked at together, if they are small
MOST_ROWS_NAMED = 3  # rows named as examples
SUM_TOLERANCE = 0.02
"""How far from one the probabilities in published files add up, for want of digits."""


@dataclass(frozen=True)
class Conditional:
    """The probability of a child given its parents, as logarithms, child fastest."""

    child: int
    parents: tuple[int, ...]
    log_probabilities: Floats


class Block(NamedTuple):
    """What a file says of a child: its parents, and probabilities in rows for their values."""

    parents: list[str]
    table: Floats


@dataclass
class BayesianNetwork:
    """What has been read so far, and where; `entries` counts those of all tables."""

    domains: dict[str, tuple[str, ...]] = field(default_factory=dict)
    blocks: dict[str, Block | Influences] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    entries: int = 0
    beginnings: Beginnings = field(default_factory=Beginnings)

    def declare(self, name: str, values: Iterable[str]) -> None:
        """Let a name be known, and how it begins."""
        self.domains[name] = tuple(values)
        self.beginnings.add(name)

    def model(self, text: Text) -> Model:
        """The model of a network whose children stand at their places in a text."""
        place = self.places.__getitem__
        return network_model(
            self.domains, self.blocks, text.source, lambda child, why: text.error(place(child), why)
        )


def network_model(
    domains: Mapping[str, tuple[str, ...]],
    blocks: Mapping[str, Block | Influences],
    source: str,
    error: Callable[[str, str], InputError] | None = None,
) -> Model:
    """The model of a network that was read: a factor for each child, in the order of the file.

    A noisy gate has a factor for each cause, and helpers between them that nobody sees. `error`
    says what is wrong with a child, and where.
    """
    cycle = find_cycle({child: block.parents for child, block in blocks.items()})
    if cycle:
        why = f"the parents form a cycle: {' <- '.join(map(quote, cycle))}"
        raise InputError(why, source=source) if error is None else error(cycle[0], why)
    number = {name: variable for variable, name in enumerate(domains)}
    gates = [block for block in blocks.values() if isinstance(block, Influences)]
    whole = {**domains, **add_helpers(gates, domains)}
    assembly, helper = Assembly([len(values) for values in whole.values()], source), len(domains)
    tables = {  # several blocks may have the same
        id(block.table): np.asarray(block.table, dtype=np.float64).reshape(-1, len(domains[child]))
        for child, block in blocks.items()
        if isinstance(block, Block)
    }
    log_tables = dict(zip(tables, log_conditionals(list(tables.values())), strict=True))
    for child, block in blocks.items():
        if isinstance(block, Influences):
            for link_scope, weights in block.chain(helper, number):
                assembly.add_factor(link_scope, assembly.table(weights))
            helper += block.helpers
            continue
        scope = [number[name] for name in [*block.parents, child]]
        assembly.add_factor(scope, assembly.log_table(log_tables[id(block.table)]))
    model = Model(assembly.build(), tuple(whole), tuple(whole.values()), order=tuple(domains))
    return network_of_rows(model)


def conditionals(model: Model, format_name: str) -> list[Conditional]:
    """Take a model as a Bayesian network, or say why it is none."""
    graph = model.graph
    reason = _reason(model)
    if reason:
        raise InputError(
            f"{format_name} holds Bayesian networks only, and {reason}; write .uai or .json instead"
        )
    scopes = [graph.scope_of(factor).tolist() for factor in range(graph.factors)]
    return [
        Conditional(scope[-1], tuple(scope[:-1]), graph.table_values(factor))
        for factor, scope in enumerate(scopes)
    ]


def find_cycle(parents: Mapping[str, Sequence[str]]) -> list[str]:
    """Find variables that are each other's ancestors, or nothing."""
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def _reason(model: Model) -> str:
    graph = model.graph
    if model.observed:
        return f"{quote(next(iter(model.observed)))} is observed"
    if graph.first_clause != graph.factors or graph.constant != 0:
        return "this model has clauses or a constant"
    scopes = [tuple(graph.scope_of(factor).tolist()) for factor in range(graph.factors)]
    if sorted(scope[-1:] for scope in scopes) != [(v,) for v in range(graph.variables)]:
        return "not every variable is the last one of exactly one factor"
    names = model.names
    parents = {names[scope[-1]]: [names[v] for v in scope[:-1]] for scope in scopes}
    if find_cycle(parents):
        return f"the parents of {quote(find_cycle(parents)[0])} form a cycle"
    for factor, scope in enumerate(scopes):
        with np.errstate(over="ignore"):
            sums = np.exp(graph.table_values(factor)).sum(axis=-1)
        if (np.abs(sums - 1) > SUM_TOLERANCE).any():
            return f"the factor of {quote(names[scope[-1]])} does not sum to one"
    return ""


class Rows(NamedTuple):
    """The weights of a child, the last of its names, in a row for all values of its parents."""

    names: Sequence[str]
    values: Sequence[Sequence[str]]
    weights: Floats


def network_of_rows(model: Model) -> Model:
    """A Bayesian network whose factors have their children last, with what is doubtful in it."""
    return replace(model, doubts=(*model.doubts, *row_doubts(wrong_tables(model))))


def wrong_tables(model: Model) -> Iterator[Rows]:
    """Factors with rows that do not sum to one; a table that many share is looked at once."""
    graph = model.graph
    for factor in _wrong_factors(graph).tolist():
        scope = graph.scope_of(factor).tolist()
        names, values = [model.names[v] for v in scope], [model.values[v] for v in scope]
        yield Rows(names, values, _weights(graph, factor))


def _wrong_factors(graph: FactorGraph) -> NDArray[np.int64]:
    """Factors with rows that do not sum to one, found for all children of a size at once."""
    start = graph.scope_start[: graph.first_clause + 1].astype(np.int64)
    factors = np.flatnonzero(start[1:] > start[:-1])
    sizes = graph.cardinality[graph.scope[start[factors + 1] - 1]].astype(np.int64)
    is_wrong = np.zeros(graph.first_clause, dtype=np.bool_)
    for size in np.unique(sizes).tolist():
        some = factors[sizes == size]
        tables, which = np.unique(graph.table_of[some], return_inverse=True)
        begin, end = (graph.table_start[tables + k].astype(np.int64) for k in (0, 1))
        rows = (end - begin) // size
        first = np.cumsum(rows) - rows
        places = np.repeat(begin - size * first, rows) + size * np.arange(rows.sum())
        wrong_row = np.zeros(len(places), dtype=np.bool_)
        at_once = max(1, ENTRIES_AT_ONCE // size)
        for row in range(0, len(places), at_once):
            entries = places[row : row + at_once, None] + np.arange(size)
            with np.errstate(over="ignore"):
                wrong_row[row + wrong_rows(np.exp(graph.table[entries]))] = True
        is_wrong[some] = np.logical_or.reduceat(wrong_row, first)[which]
    return np.flatnonzero(is_wrong).astype(np.int64)


def _weights(graph: FactorGraph, factor: int) -> Floats:
    with np.errstate(over="ignore"):
        weights: Floats = np.exp(graph.table_values(factor))
    return weights


def wrong_rows(weights: Floats) -> NDArray[np.int64]:
    """Which rows, over the last axis, do not sum to one but for rounding."""
    off = np.abs(_sums(weights) - 1)
    return np.flatnonzero(~(off <= ROW_ERROR + SUM_SLACK)).astype(np.int64)


def normalise_rounded_rows(weights: Floats, axis: int = -1) -> Floats:
    """Let rows sum to one that miss it because their file rounds; others are left as they are.

    A row means a distribution. If its sum were a weight, a variable that nobody asks about would
    change how probable its parents are.
    """
    with np.errstate(over="ignore"):
        sums = weights.sum(axis=axis, keepdims=True)
    off = np.abs(sums - 1)
    rounded = (off > EXACT_SUM) & (off <= ROW_ERROR + SUM_SLACK)
    return weights / np.where(rounded, sums, 1.0) if rounded.any() else weights


def log_conditionals(tables: Sequence[Floats]) -> list[Floats]:
    """Logarithms of tables with a row for all values of the parents, as `normalise_rounded_rows`.

    Small tables of children of one size are worked on together.
    """
    logs = [np.zeros((0, 0))] * len(tables)
    by_size: dict[int, list[int]] = {}
    for number, table in enumerate(tables):
        by_size.setdefault(table.shape[1], []).append(number)
    for size, numbers in by_size.items():
        ends = np.cumsum([len(tables[number]) for number in numbers])
        parts = ends * size // ENTRIES_AT_ONCE
        for part in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(parts)) + 1):
            some = [numbers[k] for k in part.tolist()]
            together = _log(normalise_rounded_rows(np.concatenate([tables[k] for k in some])))
            before = ends[part[0]] - len(tables[some[0]])
            logs_of_some = np.split(together, ends[part[:-1]] - before)
            for number, log_table in zip(some, logs_of_some, strict=True):
                logs[number] = log_table
    return logs


def _sums(weights: Floats) -> Floats:
    with np.errstate(over="ignore"):
        sums: Floats = np.asarray(weights).sum(axis=-1).reshape(-1)
    return sums


def row_doubts(tables: Iterable[Rows]) -> tuple[str, ...]:
    """One sentence about all rows that do not sum to one, or nothing."""
    sentences: list[str] = []
    count = 0
    for table in tables:
        wrong = wrong_rows(table.weights)
        sentences += [
            _describe_row(table, int(row))
            for row in wrong[: max(0, MOST_ROWS_NAMED - len(sentences))]
        ]
        count += len(wrong)
    if not count:
        return ()
    more = f", and {count - len(sentences):,} more rows" if count > len(sentences) else ""
    return (
        f"probabilities do not sum to 1: {'; '.join(sentences)}{more}. They count as weights, and "
        "only the product of all tables is normalised",
    )


def _describe_row(table: Rows, row: int) -> str:
    """A row by its variable, the values of its parents, and its sum."""
    *parents, child = table.names
    sizes = [len(domain) for domain in table.values[:-1]]
    places = np.unravel_index(row, sizes) if parents else ()
    parent_values = [
        f"{shorten(name)}={shorten(domain[int(place)])}"
        for name, domain, place in zip(parents, table.values, places, strict=False)
    ]
    condition = f" given {', '.join(parent_values)}" if parent_values else ""
    return f"those of {shorten(child)}{condition} sum to {float(_sums(table.weights)[row]):.6g}"


LARGEST_LOG = 700.0  # beyond this, a weight or its inverse does not fit in a floating-point number


def weight_texts(log_weights: Floats) -> list[str]:
    """Write weights so that their logarithms come back: to the bit if they once were weights."""
    logs = log_weights.reshape(-1)
    finite = logs[np.isfinite(logs)]
    if (np.abs(finite) > LARGEST_LOG).any():
        extreme = finite[np.abs(finite).argmax()]
        raise InputError(f"the format holds weights, and cannot hold exp({extreme:.6g})")
    weights = np.exp(logs)
    short = [f"{weight:.15g}" for weight in weights.tolist()]
    chosen = _with_logarithm(logs, weights)
    enough = _log(np.array(short, dtype=np.float64)) == logs
    return [a if fits else repr(b) for a, fits, b in zip(short, enough, chosen, strict=True)]


def _with_logarithm(logs: Floats, weights: Floats) -> list[float]:
    """Choose each weight or a number next to it, so that its logarithm is exactly the given one."""
    chosen = weights.copy()
    for near in (np.nextafter(weights, 0.0), np.nextafter(weights, np.inf)):
        better = (_log(chosen) != logs) & (_log(near) == logs)
        chosen[better] = near[better]
    return [float(weight) for weight in chosen]


def _log(weights: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights))
