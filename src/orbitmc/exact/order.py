"""Find an elimination order whose tables are small.

Plain greedy orders in Python settle easy graphs. For the rest, variables that are rightly
eliminated first are shaved off, and a compiled search orders what remains.
"""

import hashlib
import heapq
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence, Set
from typing import NamedTuple, TypeVar

import numpy as np

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import REGISTRATIONS
from orbitmc._util.arrays import Floats
from orbitmc.exact.order_search import LARGEST_COUNTS, WORTH_LOADING, search_order
from orbitmc.exact.problem import Problem
from orbitmc.graph.factor_graph import FactorGraph

# Which variables meet in a factor, and how that changes when one is eliminated.

Neighbours = list[set[int]]


def neighbours_of(variables: int, scopes: Iterable[Sequence[int]]) -> Neighbours:
    """Which variables share a factor with each variable."""
    neighbours: Neighbours = [set() for _ in range(variables)]
    for scope in scopes:
        for variable in scope:
            neighbours[variable].update(scope)
    for variable, near in enumerate(neighbours):
        near.discard(variable)
    return neighbours


def eliminate(neighbours: Neighbours, variable: int) -> set[int]:
    """Join the neighbours of a variable and remove it; gives the neighbours."""
    near = neighbours[variable]
    for member in near:
        joined = neighbours[member]
        joined |= near
        joined.remove(member)
        joined.discard(variable)
    return near


TRIVIAL = 2.0**12  # table entries that are eliminated while another order is looked for
EASY = 2.0**22  # table entries that are eliminated while a search begins: none is worth it
MOST_FILLED = 300  # variables of a graph whose missing neighbours are counted, which takes longer
TIE = 1e-3

BETWEEN_LOOKS = 64  # variables that are eliminated between two looks at the clock
ABOUT = 1.2
"""How much more an order may cost on a graph that is like its own; a search might find that."""

MOST_ORDERS, MOST_KEPT = 64, 5_000  # orders that are kept, and variables of their graphs
REMEMBERED_ORDERS: OrderedDict[object, tuple[float, "Order"]] = OrderedDict()
"""Orders by scopes and sizes, and how long they were looked for."""

KEPT_OF_GRAPHS: OrderedDict[bytes, "Order"] = OrderedDict()
"""Orders by the scopes of graphs, whatever their tables make impossible."""

_lock = threading.Lock()

MOST_CORE = 8192  # largest rest that is searched with rows of bits (8 MiB of them)
MOST_LOG_ENTRIES = 60  # no machine holds such tables; a greedy order that gets there is given up


Key = TypeVar("Key")
Value = TypeVar("Value")


class Order(NamedTuple):
    """Variables in the order they are eliminated, and what that costs (see `LARGEST_COUNTS`).

    It is empty, and the cost infinite, when every order met had tables beyond any machine.
    """

    variables: list[int]
    cost: float


def find_order(
    scopes: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    *,
    seconds: float,
    seed: int = 0,
    most: float = np.inf,
    times: int = 1,
    hint: Order | None = None,
    until: float = np.inf,
) -> Order:
    """Find a cheap order; the search ends when it took as long as eliminating so many `times`.

    Without any `seconds` to search, an order that costs more than `most` is given up. If there is
    no order `until` the working time is so late, there is none. Orders of
    the last few graphs are kept: the same scopes and sizes get the same one, unless there is more
    time to search than there was. The order of a similar graph, given as a `hint`, saves the search
    if it is about as good here as it was there.
    """
    question = (tuple(scopes), tuple(sizes), seconds > 0, seed, most, times)
    if len(sizes) > MOST_KEPT:
        return _search_order(*question[:2], seconds, seed, most, times, hint, until)
    with _lock:
        searched, known = REMEMBERED_ORDERS.get(question, (0.0, None))
    if known is None or (seconds > searched and times * known.cost > EASY):
        known = _search_order(*question[:2], seconds, seed, most, times, hint, until)
        if known.variables or working_time() < until:
            _keep(REMEMBERED_ORDERS, question, (seconds, known))
    return Order(list(known.variables), known.cost)


def find_greedy_order(
    scopes: Iterable[Sequence[int]], sizes: Sequence[int], *, until: float = np.inf
) -> Order:
    """The better of two greedy orders; it is not kept."""
    log_sizes = np.log2(np.asarray(sizes, dtype=np.float64)).tolist()
    return _first_order(neighbours_of(len(sizes), scopes), log_sizes, np.inf, until)


def find_order_with_last(
    scopes: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    last: Set[int],
    *,
    seconds: float,
    until: float = np.inf,
) -> Order:
    """A cheap order in which some variables come last; empty if there is none.

    The others are ordered greedily. For those that come last, a search takes up to `seconds`.
    """
    log_sizes = np.log2(np.asarray(sizes, dtype=np.float64)).tolist()
    neighbours = neighbours_of(len(sizes), scopes)
    first = _first_order(neighbours, log_sizes, np.inf, until, last)
    if len(first.variables) + len(last) < len(sizes):
        return Order([], np.inf)
    for variable in first.variables:
        eliminate(neighbours, variable)
    places = sorted(last)
    number = {variable: place for place, variable in enumerate(places)}
    pairs = [(number[v], number[w]) for v in places for w in sorted(neighbours[v]) if v < w]
    rest = find_order(pairs, [sizes[v] for v in places], seconds=seconds, until=until)
    if len(rest.variables) < len(places):
        return Order([], np.inf)
    ordered = [places[place] for place in rest.variables]
    return Order([*first.variables, *ordered], first.cost + rest.cost)


def _keep(orders: OrderedDict[Key, Value], key: Key, value: Value) -> None:
    with _lock:
        orders[key] = value
        while len(orders) > MOST_ORDERS:
            orders.popitem(last=False)


def remember_order(graph: FactorGraph, problem: Problem, order: Sequence[int], cost: float) -> None:
    """Keep an order in terms of the graph's variables; those of helpers are not kept."""
    number = {place: variable for variable, place in enumerate(problem.place) if place >= 0}
    if graph.variables <= MOST_KEPT and len(number) == len(problem.sizes):
        known = Order([number[place] for place in order], cost)
        _keep(KEPT_OF_GRAPHS, _same_scopes(graph), known)


def remembered_order(graph: FactorGraph, problem: Problem) -> Order | None:
    """The order of an earlier graph with the same scopes, in numbers of a problem.

    So it is when other values of the same variables are observed: what is impossible then differs,
    and with it the problem, but an order that was good before is good again. Variables that were
    decided there and are open here come first: few factors are left of them.
    """
    if graph.variables > MOST_KEPT:
        return None
    with _lock:
        known = KEPT_OF_GRAPHS.get(_same_scopes(graph))
    if known is None:
        return None
    places = problem.places_of(known.variables)
    newly = sorted({*range(len(problem.sizes))} - {*places})
    return Order([*newly, *places], known.cost)


def _same_scopes(graph: FactorGraph) -> bytes:
    """What graphs with the same scopes share."""
    parts = (graph.cardinality, graph.scope_start, graph.scope)
    return hashlib.blake2b(b"|".join(part.tobytes() for part in parts)).digest()


def _search_order(
    scopes: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    seconds: float,
    seed: int,
    most: float,
    times: int,
    hint: Order | None,
    until: float,
) -> Order:
    begun = working_time()
    log_sizes = np.log2(np.asarray(sizes, dtype=np.float64))
    neighbours = neighbours_of(len(sizes), scopes)
    first = _first_order(neighbours, log_sizes.tolist(), most if seconds <= 0 else np.inf, until)
    easy = EASY if REGISTRATIONS.is_loaded else max(EASY, WORTH_LOADING)
    if times * first.cost <= easy or seconds <= 0 or working_time() > until:
        return first
    if hint is not None:
        cost = _cost([set(near) for near in neighbours], log_sizes.tolist(), hint.variables)
        if cost <= min(ABOUT * hint.cost, first.cost):
            return Order(hint.variables, cost)
    shaved = _eliminate_simplicial(neighbours, log_sizes)
    core = np.setdiff1d(np.arange(len(sizes)), shaved)
    if not 0 < len(core) <= MOST_CORE:
        return first
    number = {variable: index for index, variable in enumerate(core.tolist())}
    pairs = [(number[v], number[w]) for v in number for w in neighbours[v] if v < w]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    left = begun + seconds - working_time()
    if left <= 0:
        return first
    best, cost = search_order(edges, log_sizes[core], seconds=left, seed=seed, times=times)
    if cost > 2.0**MOST_LOG_ENTRIES:
        return first
    return Order(shaved + core[best].tolist(), cost) if cost < first.cost else first


def _cost(neighbours: Neighbours, log_sizes: Sequence[float], order: Sequence[int]) -> float:
    """What an order costs."""
    tables = []
    for variable in order:
        tables.append(2.0 ** _log_table(neighbours, log_sizes, variable))
        eliminate(neighbours, variable)
    return float(sum(tables) + LARGEST_COUNTS * max(tables, default=0.0))


def _first_order(
    neighbours: Neighbours,
    log_sizes: Sequence[float],
    most: float,
    until: float,
    without: Set[int] = frozenset(),
) -> Order:
    """The better of two greedy orders: smallest tables first, and fewest new neighbours first."""

    def order_by(price_of: Price, most: float) -> Order:
        copied = [set(near) for near in neighbours]
        return _greedy(copied, log_sizes, price_of, most, until, without)

    sizes_first = order_by(_size_price, most)
    if sizes_first.cost <= TRIVIAL or len(neighbours) > MOST_FILLED:
        return sizes_first
    fill_first = order_by(_log_fill, min(most, sizes_first.cost))
    return fill_first if fill_first.cost < sizes_first.cost else sizes_first


Price = Callable[[Neighbours, Sequence[float], int], float]


def _greedy(
    neighbours: Neighbours,
    log_sizes: Sequence[float],
    price_of: Price,
    most: float,
    until: float,
    without: Set[int] = frozenset(),
) -> Order:
    """Take what has the lowest price next; memory stays linear, for graphs of any size.

    It gives up when it is too late. Prices of neighbours are kept up to date; those of variables
    farther away may have become lower, and are not looked at again. Some variables may be left
    out: they are not eliminated.
    """
    prices = [price_of(neighbours, log_sizes, v) for v in range(len(neighbours))]
    heap = [(price, variable) for variable, price in enumerate(prices) if variable not in without]
    heapq.heapify(heap)
    order: list[int] = []
    total, largest = 0.0, 0.0
    while heap:
        price, variable = heapq.heappop(heap)
        if price != prices[variable]:
            continue
        table = _log_table(neighbours, log_sizes, variable)
        if table > MOST_LOG_ENTRIES or total + LARGEST_COUNTS * largest > most:
            return Order([], np.inf)
        if len(order) % BETWEEN_LOOKS == 0 and working_time() > until:
            return Order([], np.inf)
        prices[variable] = -1.0
        order.append(variable)
        total += 2.0**table
        largest = max(largest, 2.0**table)
        for member in eliminate(neighbours, variable):
            if member not in without:
                prices[member] = price_of(neighbours, log_sizes, member)
                heapq.heappush(heap, (prices[member], member))
    cost = total + LARGEST_COUNTS * largest
    return Order(order, cost) if cost <= most else Order([], np.inf)


def _log_table(neighbours: Neighbours, log_sizes: Sequence[float], variable: int) -> float:
    return log_sizes[variable] + sum(map(log_sizes.__getitem__, neighbours[variable]))


def _size_price(neighbours: Neighbours, log_sizes: Sequence[float], variable: int) -> float:
    """How large the table is; tables of many variables, which no order may have, are not counted.

    So a variable with many neighbours is looked at in no time whenever one of them goes.
    """
    if len(neighbours[variable]) > MOST_LOG_ENTRIES:
        return np.inf
    return _log_table(neighbours, log_sizes, variable)


def _log_fill(neighbours: Neighbours, log_sizes: Sequence[float], variable: int) -> float:
    """What would be joined by eliminating a variable, by its weight; small tables break ties."""
    near = neighbours[variable]
    missing = 0.0
    for member in near:
        apart = near - neighbours[member]
        missing += log_sizes[member] * (sum(map(log_sizes.__getitem__, apart)) - log_sizes[member])
    return missing + TIE * _log_table(neighbours, log_sizes, variable)


def _eliminate_simplicial(neighbours: Neighbours, log_sizes: Floats) -> list[int]:
    """Eliminate variables whose neighbours are joined already: always right to do first.

    With two neighbours the same holds as soon as the variable is no smaller than one of them.
    """
    waiting = set(range(len(neighbours)))
    shaved = []
    while waiting:
        variable = waiting.pop()
        near = neighbours[variable]
        if _is_joined(neighbours, near) or (
            len(near) == 2 and log_sizes[variable] >= min(log_sizes[member] for member in near)
        ):
            shaved.append(variable)
            waiting |= eliminate(neighbours, variable)
    return shaved


def _is_joined(neighbours: Neighbours, near: set[int]) -> bool:
    """Whether neighbours of a variable are neighbours of each other; the number tells most."""
    enough = len(near)
    return all(
        len(neighbours[member]) >= enough and len(near - neighbours[member]) == 1 for member in near
    )
