"""All bindings of a formula's variables that evidence leaves interesting, chunk by chunk.

Guards on closed predicates are joined by an embedded database, on the few atoms that are not
false; the variables that no guard mentions run over all constants of their type.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError
from orbitmc.mln.data.database import NO_NUMBER, Ints, Universe, integer_of
from orbitmc.mln.grounding.atoms import Atoms
from orbitmc.mln.grounding.folding import COPY
from orbitmc.mln.grounding.rewriting import Guard
from orbitmc.mln.language.syntax import Atom, Comparison, Constant, Term, Variable, free_variables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


MOST_UNCOUNTED = 2**12  # rows of a join that are fetched before they are counted
MOST_JOINED = 2**22  # rows of a join that are held at once
WORTH_JOINING = 0.5  # of a predicate's atoms are possible: joining more would not prune


class Tables:
    """An embedded database with the possible atoms of every predicate that was asked for."""

    def __init__(self, atoms: Mapping[str, Atoms], universe: Universe) -> None:
        self.atoms, self.universe = atoms, universe
        self._registered: dict[str, str] = {}

    @cached_property
    def connection(self) -> "DuckDBPyConnection":
        import duckdb

        connection = duckdb.connect(":memory:")
        connection.execute("SET threads = 1")  # rows come in the same order every time
        return connection

    def ask(self, query: str) -> dict[str, Any]:
        """The columns that a query gives."""
        return self.connection.execute(query).fetchnumpy()

    def table(self, predicate: str) -> str:
        """The name of the table of a predicate's possible atoms."""
        if predicate not in self._registered:
            name = f"atoms_{len(self._registered)}"
            atoms = self.atoms[predicate]
            columns = atoms.arguments(atoms.possible(), self.universe)
            named = {f"a{place}": column for place, column in enumerate(columns)}
            self.connection.register(name, named)
            self._registered[predicate] = name
        return self._registered[predicate]

    def copies(self, listed: Mapping[str, Ints]) -> str:
        """The name of the table of what is listed, until that is asked about another list."""
        rows = len(next(iter(listed.values())))
        self.connection.register("listed", {"copy": np.arange(rows), **listed})
        return "listed"


class Bindings:
    """How to enumerate bindings: a join of so many `rows`, and variables that run freely.

    What is `listed` follows from the number of the copy.
    """

    def __init__(
        self,
        tables: Tables,
        sizes: Mapping[str, int],
        query: str,
        column_of: Mapping[str, str],
        listed: Mapping[str, Ints],
    ) -> None:
        self.tables, self.sizes, self.query, self.column_of = tables, sizes, query, column_of
        self.listed = listed
        self.joined = [name for name in sizes if name in column_of]
        self.free = [name for name in sizes if name not in column_of]
        self.rows = 1
        self.small: Mapping[str, Ints] | None = None
        if query:
            self._fetch_or_count()
        self.copies = math.prod(sizes[name] for name in self.free)
        self.count = self.rows * self.copies

    def _fetch_or_count(self) -> None:
        """Fetch the join if it is small, else count its rows."""
        if self.joined:
            columns = self._fetch(f"{self.query} LIMIT {MOST_UNCOUNTED + 1}")
            self.rows = len(columns[self.joined[0]])
            if self.rows <= MOST_UNCOUNTED:
                self.small = columns
                return
        self.rows = int(self.tables.ask(f"SELECT count(*) AS rows {self.query}")["rows"][0])

    def chunks(self, most: int) -> Iterator[tuple[dict[str, Ints], int]]:
        """The bindings, and how many, at most so many at a time."""
        for columns, rows in self._joins():
            total = rows * self.copies
            for start in range(0, total, most):
                stop = min(start + most, total)
                yield self._cross(columns, np.arange(start, stop)), stop - start

    def _cross(self, columns: Mapping[str, Ints], number: Ints) -> dict[str, Ints]:
        row, rest = np.divmod(number, self.copies)
        crossed = {name: columns[name][row] for name in self.joined}
        for name in reversed(self.free):
            rest, crossed[name] = np.divmod(rest, self.sizes[name])
        return crossed | {name: column[crossed[COPY]] for name, column in self.listed.items()}

    def _joins(self) -> Iterator[tuple[Mapping[str, Ints], int]]:
        """The join's columns, in pieces that fit."""
        if not self.joined:
            yield {}, self.rows
            return
        if self.small is not None:
            yield self.small, self.rows
            return
        pieces = min(-(-self.rows // MOST_JOINED), self.sizes[self.joined[0]])
        edges = np.linspace(0, self.sizes[self.joined[0]], pieces + 1).astype(int)
        for low, high in itertools.pairwise(edges):
            first = self.column_of[self.joined[0]]
            columns = self._fetch(f"{self.query} AND {first} >= {low} AND {first} < {high}")
            yield columns, len(columns[self.joined[0]])

    def _fetch(self, query: str) -> Mapping[str, Ints]:
        names = [f"{self.column_of[name]} AS v{n}" for n, name in enumerate(self.joined)]
        columns = self.tables.ask(f"SELECT {', '.join(names)} {query}")
        return {
            name: np.asarray(columns[f"v{n}"], dtype=np.int64) for n, name in enumerate(self.joined)
        }


def bindings(
    guards: Sequence[Guard], sizes: Mapping[str, int], tables: Tables, listed: Mapping[str, Ints]
) -> Bindings:
    """Plan how to enumerate the bindings of variables, pruned by guards on evidence."""
    joinable = [guard for guard in guards if _joinable(guard, tables)]
    named = {name for guard in joinable for name in free_variables(guard.part)}
    places: dict[str, str] = {}
    sources: list[str] = []
    conditions: list[str] = []
    if not named.isdisjoint(listed):
        sources.append(f"{tables.copies(listed)} AS copies")
        places = {COPY: "copies.copy"} | {name: f'copies."{name}"' for name in listed}
    for guard in joinable:
        assert isinstance(guard.part, Atom)
        alias = f"t{len(sources)}"
        sources.append(f"{tables.table(guard.part.predicate)} AS {alias}")
        kinds = tables.atoms[guard.part.predicate].predicate.types
        for place, (term, kind) in enumerate(zip(guard.part.arguments, kinds, strict=True)):
            column = f"{alias}.a{place}"
            if isinstance(term, Constant):
                conditions.append(f"{column} = {tables.universe.numbers[kind][term.name]}")
            elif isinstance(term, Variable):
                if term.name in places:
                    conditions.append(f"{column} = {places[term.name]}")
                places.setdefault(term.name, column)
    query = f"FROM {', '.join(sources)} WHERE {' AND '.join(['true', *conditions])}"
    return Bindings(tables, sizes, query if sources else "", places, listed)


def _joinable(guard: Guard, tables: Tables) -> bool:
    part = guard.part
    if not isinstance(part, Atom) or not guard.needed or not part.arguments:
        return False
    plain = all(isinstance(term, Constant | Variable) for term in part.arguments)
    atoms = tables.atoms[part.predicate]
    return plain and atoms.possible_count() <= WORTH_JOINING * atoms.size


# Numbers of the constants that terms stand for, a column of bindings at a time.

NO_CONSTANT = -1  # stands for a term whose result is no constant of the wanted type


class BoundTerms:
    """Looks up terms for some bindings of a rule's variables."""

    def __init__(
        self, universe: Universe, types: Mapping[str, str], bound: Mapping[str, Ints], rows: int
    ) -> None:
        self.universe, self.types, self.bound, self.rows = universe, types, bound, rows

    def numbers(self, term: Term, kind: str) -> Ints:
        """The constant of type `kind` that a term stands for, or NOBODY."""
        match term:
            case Variable(name):
                return self.bound[name]
            case Constant(name):
                return np.full(self.rows, self.universe.numbers[kind].get(name, NO_CONSTANT))
        if term.function == "concat":
            numbers = self.universe.numbers[kind]
            constants = [numbers.get(name, NO_CONSTANT) for name in self.names(term)]
            return np.array(constants, dtype=np.int64)
        return self._by_integer(self.integers(term), kind)

    def integers(self, term: Term) -> Ints:
        """The integer that a term is, or NO_NUMBER."""
        match term:
            case Variable(name):
                return self.universe.integers[self.types[name]][self.bound[name]]
            case Constant(name):
                return np.full(self.rows, integer_of(name), dtype=np.int64)
        inner = [self.integers(part) for part in term.arguments]
        valid = np.logical_and.reduce([part != NO_NUMBER for part in inner])
        with np.errstate(over="ignore", divide="ignore"):
            result = INTEGER_FUNCTIONS[term.function](*inner)
        if term.function in ("dividedBy", "mod"):
            valid &= inner[1] != 0
        return np.where(valid, result, NO_NUMBER)

    def names(self, term: Term) -> list[str]:
        """The name that a term stands for."""
        match term:
            case Variable(name):
                constants = self.universe.constants[self.types[name]]
                return [constants[number] for number in self.bound[name]]
            case Constant(name):
                return [name] * self.rows
        if term.function == "concat":
            columns = [self.names(part) for part in term.arguments]
            return ["".join(row) for row in zip(*columns, strict=True)]
        return [str(number) for number in self.integers(term)]

    def holds(self, comparison: Comparison) -> NDArray[np.bool_]:
        """Whether a comparison holds, for every binding."""
        left, right = comparison.left, comparison.right
        if comparison.operator in ("=", "!="):
            return np.asarray(self._equal(left, right) == (comparison.operator == "="))
        if comparison.operator == "precedes":
            first, second = (self.numbers(term, "") for term in (left, right))
            return np.asarray(first < second)
        if comparison.operator == "substr":
            pairs = zip(self.names(left), self.names(right), strict=True)
            return np.array([inner in outer for inner, outer in pairs], dtype=bool)
        first, second = self.integers(left), self.integers(right)
        if (first == NO_NUMBER).any() or (second == NO_NUMBER).any():
            raise InputError(
                f"`{comparison.operator}` compares integers, but a constant here is no integer"
            )
        return np.asarray(ORDERS[comparison.operator](first, second))

    def _equal(self, left: Term, right: Term) -> NDArray[np.bool_]:
        match left, right:
            case Variable(first), Variable(second) if self.types[first] == self.types[second]:
                return np.asarray(self.bound[first] == self.bound[second])
            case (Variable(first), Constant(name)) | (Constant(name), Variable(first)):
                number = self.universe.numbers[self.types[first]].get(name, NO_CONSTANT)
                return np.asarray(self.bound[first] == number)
        pairs = zip(self.names(left), self.names(right), strict=True)
        return np.array([first == second for first, second in pairs], dtype=bool)

    def _by_integer(self, integers: Ints, kind: str) -> Ints:
        known = self.universe.integers[kind]
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known[order], integers), len(known) - 1)
        hit = (known[order][place] == integers) & (integers != NO_NUMBER)
        return np.where(hit, order[place], NO_CONSTANT)


INTEGER_FUNCTIONS: Mapping[str, Callable[..., Ints]] = {
    "succ": lambda number: number + 1,
    "plus": np.add,
    "minus": np.subtract,
    "times": np.multiply,
    "dividedBy": lambda left, right: np.floor_divide(left, np.where(right == 0, 1, right)),
    "mod": lambda left, right: np.mod(left, np.where(right == 0, 1, right)),
}

ORDERS: Mapping[str, Callable[[Ints, Ints], NDArray[np.bool_]]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
