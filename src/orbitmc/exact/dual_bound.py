"""A bound on the weight of the best state, by moving weight between tables.

Whatever is taken from the table of a factor and given to one of its variables, the sum over all
tables is the same in every state. So the maxima of all tables add up to a bound, before and after.
Variables are visited in order, and back: each takes from its factors what the best values of
their other variables leave, and hands it out again, to those that are visited later (sequential
reweighted message passing, Kolmogorov 2015). The lowest bound is kept.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.tiers import tier
from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc.exact.problem import Problem, Scope
from orbitmc.graph.log_weights import exact_sum

WORK_AT_ONCE = 4_000_000  # entries that are looked at between two looks at the clock
MOST_PASSES = 400  # there and back
MOST_WORK = 4e9  # entries that are looked at in all passes
LEAST_GAIN = 1e-6  # of the bound in a pass, relatively: with less it is as good as at its end
PATIENCE = 5  # passes with less gain than that
ROUNDING = 16 * np.finfo(np.float64).eps  # of what is added up for a table

Flags = NDArray[np.bool_]


class DualGraph(NamedTuple):
    """Tables as compiled code reads them.

    Variable `v` has `unary[start[v]:start[v + 1]]`. Factor `f` reads the variables
    `scope[scope_start[f]:scope_start[f + 1]]`, each of these places an edge with its `stride`. Edge
    `e` has a message of as many numbers as its variable has values, from `message_start[e]` on.
    `incident` are the edges of each variable; some are of factors that read `later` variables, too,
    or `earlier` ones.
    """

    start: Numbers
    unary: Floats
    scope_start: Numbers
    scope: Numbers
    stride: Numbers
    factor_of: Numbers
    table_start: Numbers
    table: Floats
    message_start: Numbers
    incident_start: Numbers
    incident: Numbers
    later: Flags
    earlier: Flags


def _visit_work(graph: DualGraph, message: Floats, first: int, last: int, *rest: object) -> float:
    edges = graph.incident[graph.incident_start[first] : graph.incident_start[last]]
    factors = graph.factor_of[edges]
    entries = graph.table_start[factors + 1] - graph.table_start[factors]
    return float(8 * entries.sum())


@tier(_visit_work)
def _visit(
    graph: DualGraph, message: Floats, first: int, last: int, forward: bool, total: Floats
) -> None:
    """Visit variables from `first` up to `last`, or down to it; `total` has room for all values."""
    for turn in range(last - first):
        variable = first + turn if forward else last - 1 - turn
        values = graph.start[variable + 1] - graph.start[variable]
        for value in range(values):
            total[value] = graph.unary[graph.start[variable] + value]
        ahead, behind = 0, 0
        for place in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            edge = graph.incident[place]
            ahead += graph.later[edge]
            behind += graph.earlier[edge]
            _take(graph, message, edge, values)
            own = graph.message_start[edge]
            for value in range(values):
                total[value] += message[own + value]
        share = 1.0 / max(ahead, behind, 1)
        for place in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
            edge = graph.incident[place]
            if graph.later[edge] if forward else graph.earlier[edge]:
                own = graph.message_start[edge]
                for value in range(values):
                    if total[value] > -np.inf:
                        message[own + value] -= share * total[value]


def _take_work(graph: DualGraph, message: Floats, edge: int, values: int) -> float:
    factor = graph.factor_of[edge]
    return float(8 * (graph.table_start[factor + 1] - graph.table_start[factor]))


@tier(_take_work)
def _take(graph: DualGraph, message: Floats, edge: int, values: int) -> None:
    """Let a message be all that a factor leaves for each value of its variable."""
    factor = graph.factor_of[edge]
    begin, end = graph.scope_start[factor], graph.scope_start[factor + 1]
    own = graph.message_start[edge]
    for value in range(values):
        message[own + value] = -np.inf
    first_entry = graph.table_start[factor]
    for entry in range(graph.table_start[factor + 1] - first_entry):
        weight = graph.table[first_entry + entry]
        if weight == -np.inf:
            continue
        value, left = 0, entry
        for other in range(begin, end):
            digit = left // graph.stride[other]
            left -= digit * graph.stride[other]
            if other == edge:
                value = digit
            else:
                weight -= message[graph.message_start[other] + digit]
        if weight > message[own + value]:
            message[own + value] = weight
    for value in range(values):  # an impossible value has nothing to give
        if message[own + value] == -np.inf:
            message[own + value] = 0.0


def _top_work(graph: DualGraph, *rest: object) -> float:
    return float(8 * len(graph.table))


@tier(_top_work)
def _tops(graph: DualGraph, message: Floats, of_variables: Floats, of_factors: Floats) -> None:
    """The maxima of all tables after all moves."""
    for variable in range(len(of_variables)):
        of_variables[variable] = -np.inf
        for value in range(graph.start[variable + 1] - graph.start[variable]):
            weight = graph.unary[graph.start[variable] + value]
            for place in range(graph.incident_start[variable], graph.incident_start[variable + 1]):
                weight += message[graph.message_start[graph.incident[place]] + value]
            of_variables[variable] = max(of_variables[variable], weight)
    for factor in range(len(of_factors)):
        of_factors[factor] = -np.inf
        first_entry = graph.table_start[factor]
        for entry in range(graph.table_start[factor + 1] - first_entry):
            weight, left = graph.table[first_entry + entry], entry
            for edge in range(graph.scope_start[factor], graph.scope_start[factor + 1]):
                digit = left // graph.stride[edge]
                left -= digit * graph.stride[edge]
                weight -= message[graph.message_start[edge] + digit]
            of_factors[factor] = max(of_factors[factor], weight)


class DualAscent:
    """Messages between the tables of a problem, better with each pass."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.scopes = [scope for scope in problem.scopes if len(scope) > 1]
        self.graph = _lay_out(problem, self.scopes)
        self.message = np.zeros(int(self.graph.message_start[-1]))
        self.bound = self._find_bound()
        self._total = np.zeros(max(problem.sizes, default=1))

    def improve(self, is_over: Callable[[], bool], enough: float = -math.inf) -> float:
        """Pass messages until the bound hardly changes, is as low as `enough`, or time is over."""
        idle, best = 0, self.message.copy()
        work = float(np.diff(self.graph.table_start)[self.graph.factor_of].sum())
        for _ in range(int(min(MOST_PASSES, 1 + MOST_WORK / max(work, 1.0)))):
            if is_over() or not (self._pass(True, is_over) and self._pass(False, is_over)):
                break
            bound = self._find_bound()
            gain = self.bound - bound
            if bound < self.bound:
                self.bound, best = bound, self.message.copy()
            idle = 0 if gain > LEAST_GAIN * max(1.0, abs(bound)) else idle + 1
            if idle >= PATIENCE or self.bound <= enough:
                break
        self.message = best
        return self.bound

    def _pass(self, forward: bool, is_over: Callable[[], bool]) -> bool:
        """Visit all variables once; false if time was over before."""
        pieces = self._pieces if forward else self._pieces[::-1]
        for first, last in pieces:
            check_interrupt()
            _visit(self.graph, self.message, first, last, forward, self._total)
            if is_over():
                return False
        return True

    @property
    def _pieces(self) -> list[tuple[int, int]]:
        """Runs of variables that take a fraction of a second each."""
        graph = self.graph
        entries = np.diff(graph.table_start)[graph.factor_of[graph.incident]]
        work = np.concatenate([[0], np.cumsum(entries)])[graph.incident_start]
        ends = np.searchsorted(work, np.arange(WORK_AT_ONCE, work[-1], WORK_AT_ONCE))
        bounds = np.unique([0, *ends.tolist(), len(work) - 1]).tolist()
        return list(itertools.pairwise(bounds))

    def _find_bound(self) -> float:
        """What the maxima of all tables add up to, and what rounding may have lost."""
        of_variables, of_factors = np.zeros(len(self.problem.sizes)), np.zeros(len(self.scopes))
        _tops(self.graph, self.message, of_variables, of_factors)
        tops = [self.problem.constant, *of_variables.tolist(), *of_factors.tolist()]
        if -math.inf in tops:
            return -math.inf
        rounding = float(np.abs(self.message).sum()) + math.fsum(map(abs, tops))
        return exact_sum([*tops, ROUNDING * rounding])

    def moved(self) -> Problem:
        """The problem after all moves: all entries are at most 0, the constant is the bound."""
        problem, graph = self.problem, self.graph
        whole: list[tuple[Scope, Floats]] = [
            ((variable,), graph.unary[begin:end].copy())
            for variable, (begin, end) in enumerate(itertools.pairwise(graph.start.tolist()))
        ]
        for factor, scope in enumerate(self.scopes):
            table = graph.table[graph.table_start[factor] : graph.table_start[factor + 1]]
            table = table.reshape([problem.sizes[v] for v in scope]).copy()
            for axis, variable in enumerate(scope):
                sent = self._sent(int(graph.scope_start[factor]) + axis)
                table -= sent.reshape([-1 if k == axis else 1 for k in range(len(scope))])
                whole[variable][1][:] += sent
            whole.append((scope, table))
        return replace(
            problem,
            scopes=tuple(scope for scope, _ in whole),
            tables=tuple(_lower(table) for _, table in whole),
            constant=self.bound,
        )

    def _sent(self, edge: int) -> Floats:
        return self.message[self.graph.message_start[edge] : self.graph.message_start[edge + 1]]


def _lower(table: Floats) -> Floats:
    """A table with its largest entry at 0; one without any possible entry stays."""
    top = float(table.max())
    return table - top if top > -math.inf else table


def _lay_out(problem: Problem, scopes: Sequence[Scope]) -> DualGraph:
    sizes = np.array(problem.sizes, dtype=np.int64)
    start = _starts(sizes)
    unary = np.zeros(int(start[-1]))
    tables = dict(zip(problem.scopes, problem.tables, strict=True))
    for scope, table in tables.items():
        if len(scope) == 1:
            unary[start[scope[0]] : start[scope[0] + 1]] += table
    arities = np.array([len(scope) for scope in scopes], dtype=np.int64)
    members = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    strides = [
        math.prod(problem.sizes[v] for v in s[k + 1 :]) for s in scopes for k in range(len(s))
    ]
    entries = np.array([tables[s].size for s in scopes], dtype=np.int64)
    incident = np.argsort(members, kind="stable")
    first = [min(s) for s in scopes for _ in s]
    last = [max(s) for s in scopes for _ in s]
    return DualGraph(
        start=start,
        unary=unary,
        scope_start=_starts(arities),
        scope=members,
        stride=np.array(strides, dtype=np.int64),
        factor_of=np.repeat(np.arange(len(scopes)), arities),
        table_start=_starts(entries),
        table=np.concatenate([np.zeros(0), *(tables[s].reshape(-1) for s in scopes)]),
        message_start=_starts(sizes[members]),
        incident_start=_starts(np.bincount(members, minlength=len(sizes))),
        incident=incident,
        later=np.array(last, dtype=np.int64) > members,
        earlier=np.array(first, dtype=np.int64) < members,
    )


def _starts(counts: Numbers) -> Numbers:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
