"""Build a factor graph piece by piece, checking each piece at the door."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orbitmc._util.arrays import Floats, Numbers, floats, indices, readonly, starts
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph, incidence, strides

IntRows = NDArray[np.int64]

MOST_CARDINALITY = 2**31  # the largest cardinality and table size that the flat arrays can index
MOST_AXES = 64  # how many variables a table can be shaped by; only those of one value allow so many


class Builder:
    """Collects variables, tables, factors and clauses; `build` gives the factor graph.

    >>> builder = Builder([2, 2])
    >>> builder.add_factor([0, 1], np.log([[3.0, 1.0], [1.0, 3.0]]))
    >>> builder.build().factors
    1
    """

    def __init__(self, cardinality: ArrayLike) -> None:
        sizes = np.asarray(cardinality, dtype=np.int64)
        if (sizes < 1).any() or (sizes >= MOST_CARDINALITY).any():
            variable = int(np.flatnonzero((sizes < 1) | (sizes >= MOST_CARDINALITY))[0])
            raise InputError(
                f"variable {variable} has {sizes[variable]} values, expected 1 to "
                f"{MOST_CARDINALITY - 1}"
            )
        self._cardinality = sizes
        self._tables: list[Floats] = []
        self._table_sizes: list[int] = []
        self._scopes: list[tuple[Numbers, Numbers, Numbers]] = []
        self._clauses: list[tuple[IntRows, IntRows, NDArray[np.int64]]] = []
        self._factors = 0
        self.constant = 0.0

    def add_table(self, log_potentials: ArrayLike) -> int:
        """Store a table that several factors may share; gives its number."""
        return int(self.add_tables(np.reshape(log_potentials, (1, -1)))[0])

    def add_tables(self, log_potentials: ArrayLike) -> NDArray[np.int64]:
        """Store many tables of one size, a row each; gives their numbers."""
        rows = floats(log_potentials)
        wrong = np.flatnonzero((np.isnan(rows) | np.isposinf(rows)).any(axis=1))
        first = len(self._table_sizes)
        if len(wrong):
            raise InputError(
                f"table {first + wrong[0]} has an entry that is not a number or plus infinity; "
                "log-potentials are finite or minus infinity"
            )
        self._tables.append(rows.reshape(-1))
        self._table_sizes += [rows.shape[1]] * len(rows)
        return np.arange(first, first + len(rows))

    def add_factor(self, scope: Sequence[int], log_potentials: ArrayLike) -> None:
        """Add one factor with a table of its own, last variable of the scope fastest."""
        scope_row = np.asarray(scope, dtype=np.int64).reshape(1, -1)
        self._check_scopes(scope_row, (0,))
        wanted = tuple(int(self._cardinality[variable]) for variable in scope)
        shape = np.shape(log_potentials)
        if len(shape) != 1 and shape != wanted:
            raise InputError(
                f"factor {self._factors} over {list(scope)} needs a table of shape {wanted}, "
                f"got {shape}"
            )
        self.add_factors(scope_row, self.add_table(log_potentials))

    def add_factors(self, scopes: ArrayLike, tables: ArrayLike) -> None:
        """Add many factors of one arity: a row of variables and a table number for each."""
        rows = np.atleast_2d(np.asarray(scopes, dtype=np.int64))
        numbers = np.broadcast_to(np.asarray(tables, dtype=np.int64), (len(rows),))
        self._check_factors(rows, numbers, range(len(rows)))
        self._scopes.append((np.full(len(rows), rows.shape[1]), rows.reshape(-1), numbers))
        self._factors += len(rows)

    def add_factors_of_any_arity(
        self, scopes: Sequence[Sequence[int]], tables: Sequence[int]
    ) -> None:
        """Add many factors: some variables and a table number for each."""
        numbers = np.array(tables, dtype=np.int64)
        arities = np.array([*map(len, scopes)], dtype=np.int64)
        scope = np.array([*itertools.chain.from_iterable(scopes)], dtype=np.int64)
        start = np.cumsum(arities) - arities
        for arity in np.unique(arities).tolist():
            some = np.flatnonzero(arities == arity)
            rows = scope[start[some, None] + np.arange(arity)]
            self._check_factors(rows, numbers[some], some)
        self._scopes.append((arities, scope, numbers))
        self._factors += len(arities)

    def _check_factors(
        self, rows: IntRows, tables: NDArray[np.int64], places: Sequence[int] | NDArray[np.int64]
    ) -> None:
        """Refuse new factors that do not fit their tables; they come at these places."""
        self._check_scopes(rows, places)
        if len(rows) and rows.shape[1] > MOST_AXES:
            raise InputError(
                f"factor {self._factors + places[0]} reads {rows.shape[1]} variables, a table at "
                f"most {MOST_AXES}"
            )
        wanted = np.prod(self._cardinality[rows].astype(np.float64), axis=1)
        sizes = self._sizes_of(tables)
        wrong = np.flatnonzero(wanted != sizes)
        if len(wrong):
            factor = wrong[0]
            raise InputError(
                f"factor {self._factors + places[factor]} over {rows[factor].tolist()} needs "
                f"{wanted[factor]:.0f} table entries, got {sizes[factor]}"
            )

    def add_clause(self, scope: Sequence[int], satisfying: Sequence[int], weight: float) -> None:
        """Add one clause: it earns `weight` when any variable has its satisfying value.

        A weight of plus infinity makes it a hard constraint.
        """
        entries = [-np.inf, 0.0] if np.isposinf(weight) else [0.0, weight]
        self.add_clauses([scope], [satisfying], self.add_table(entries))

    def add_clauses(self, scopes: ArrayLike, satisfying: ArrayLike, tables: ArrayLike) -> None:
        """Add many clauses of one length; each table holds (unsatisfied, satisfied)."""
        rows = np.atleast_2d(np.asarray(scopes, dtype=np.int64))
        values = np.atleast_2d(np.asarray(satisfying, dtype=np.int64))
        numbers = np.broadcast_to(np.asarray(tables, dtype=np.int64), (len(rows),))
        self._check_scopes(rows, range(len(rows)))
        if values.shape != rows.shape:
            raise InputError(f"clauses need a satisfying value for each of {rows.shape} variables")
        wrong = np.argwhere((values < 0) | (values >= self._cardinality[rows]))
        if len(wrong):
            clause, place = wrong[0]
            raise InputError(
                f"clause {clause} over {rows[clause].tolist()} wants value {values[clause, place]} "
                f"of variable {rows[clause, place]}, which has "
                f"{self._cardinality[rows[clause, place]]} values"
            )
        if (self._sizes_of(numbers) != 2).any():
            raise InputError("a clause needs a table of two entries: unsatisfied, satisfied")
        self._clauses.append((rows, values, numbers))

    def _sizes_of(self, tables: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many entries tables have; all sizes are looked up only where most are asked for."""
        if 2 * len(tables) > len(self._table_sizes):
            return np.array(self._table_sizes, dtype=np.int64)[tables]
        return np.array([self._table_sizes[table] for table in tables.tolist()], dtype=np.int64)

    def _check_scopes(self, rows: IntRows, places: Sequence[int] | NDArray[np.int64]) -> None:
        wrong = np.flatnonzero(((rows < 0) | (rows >= len(self._cardinality))).any(axis=1))
        if len(wrong):
            raise InputError(
                f"factor {self._factors + places[wrong[0]]} reads {rows[wrong[0]].tolist()}, but "
                f"the variables are 0 to {len(self._cardinality) - 1}"
            )
        if (rows[:, 1:] > rows[:, :-1]).all():
            return
        ordered = np.sort(rows, axis=1)
        repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(repeated):
            raise InputError(
                f"factor {self._factors + places[repeated[0]]} reads a variable twice: "
                f"{rows[repeated[0]].tolist()}"
            )

    def build(self) -> FactorGraph:
        """Give the finished graph: tables first, then clauses, in the order they were added."""
        blocks = list(self._scopes)
        blocks += [
            (np.full(len(rows), rows.shape[1]), rows.reshape(-1), numbers)
            for rows, _, numbers in self._clauses
        ]
        first_clause = sum(len(arities) for arities, _, _ in self._scopes)
        lengths = _flatten([arities for arities, _, _ in blocks])
        scope = indices(_flatten([scope for _, scope, _ in blocks]))
        satisfying = np.zeros(len(scope), dtype=np.uint32)
        wanted = _flatten([values for _, values, _ in self._clauses])
        satisfying[len(scope) - len(wanted) :] = wanted
        cardinality, scope_start = indices(self._cardinality), starts(lengths)
        incident_start, incident = incidence(len(cardinality), scope_start, scope)
        return FactorGraph(
            cardinality=cardinality,
            scope_start=scope_start,
            scope=scope,
            stride=strides(cardinality, scope_start, scope, first_clause),
            table_of=indices(_flatten([numbers for _, _, numbers in blocks])),
            table_start=starts(np.array(self._table_sizes, dtype=np.int64)),
            table=floats(np.concatenate([*self._tables, np.zeros(0)])),
            first_clause=first_clause,
            satisfying=readonly(satisfying),
            incident_start=incident_start,
            incident=incident,
            constant=self.constant,
        )


class SharedTables:
    """Tables of a builder, each of the same content once."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.numbers: dict[bytes, int] = {}

    def number(self, log_potentials: ArrayLike) -> int:
        """The number of the table with these entries."""
        entries = np.ascontiguousarray(log_potentials, dtype=np.float64).reshape(-1)
        key = entries.tobytes()
        if key not in self.numbers:
            self.numbers[key] = self.builder.add_table(entries)
        return self.numbers[key]


def _flatten(blocks: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *(block.reshape(-1) for block in blocks)])
