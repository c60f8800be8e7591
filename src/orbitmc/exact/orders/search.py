"""A search for an elimination order: greedy ones, sweeps, and patches to the best so far.

The order inside any stretch of eliminations does not matter to what comes before or after it. So
the best order is improved by doing one stretch again, greedily and with some chance, and keeping
the outcome if it is no worse: a thousand such patches find orders that fresh starts never do.
"""

import itertools
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from orbitmc._numba.compile_log import working_time
from orbitmc._numba.jit import ThreadClock
from orbitmc._numba.tiers import compile_next, is_compiled
from orbitmc._util.arrays import Floats, Numbers
from orbitmc.exact.orders import greedy

ENTRIES_PER_SECOND = 2e8
"""Elimination handles about a quarter of that; a search longer than the work is a waste."""

SHORT, MANY = 0.1, 2e7
"""Seconds of search that nobody notices beside the elimination of so many entries."""

BEYOND = 2.0**75
"""Entries of orders that patches do not bring into the reach of any machine."""

WORTH_COMPILING = 2e7
"""Entries whose elimination takes half a second: then orders are tried by compiled code."""

RULES = (greedy.FILL, greedy.WEIGHTED_FILL, greedy.WEIGHT)

SLACKS = (0.0, 0.05, 0.1, 0.2, 0.4)  # how far from the best choice a greedy order may stray

STRETCHES = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)  # parts of an order that are done again

PATCHES_PER_LAYOUT = 20  # patches before branches are laid out in another order

LANDMARKS = 4  # variables that distances are counted from

RUNS = (1, 2, 4, 8, 16, 32)  # variables in a row that make a stage


def search_order(
    edges: Numbers, log_sizes: Floats, *, seconds: float, seed: int, times: int = 1
) -> tuple[Numbers, float]:
    """Give the cheapest order met, and its cost; ends when further search would not pay.

    An order that is used several `times` may be looked for longer.
    """
    with ThreadClock() as clock:
        search = _OrderSearch(edges, log_sizes, seconds, seed, clock, times)
        for rule, slack, stages in _fresh_starts(edges, len(log_sizes)):
            if search.is_over():
                break
            search.attempt(rule, slack, stages)
        while search.cost < np.inf and not search.is_over():
            search.patch()
    return search.order, search.cost


def _fresh_starts(edges: Numbers, variables: int) -> Iterator[tuple[int, float, Numbers]]:
    """Each rule once, then sweeps."""
    together = np.zeros(variables, dtype=np.int64)
    yield from ((rule, 0.0, together) for rule in RULES)
    yield from ((rule, 0.0, stages) for stages in sweeps(variables, edges) for rule in RULES[::2])


class _OrderSearch:
    """The best order so far, the entries of its tables, its cost, and how long it all takes."""

    def __init__(
        self,
        edges: Numbers,
        log_sizes: Floats,
        seconds: float,
        seed: int,
        clock: ThreadClock,
        times: int,
    ) -> None:
        self.seconds, self.times = seconds, times
        self.interactions = greedy.InteractionGraph(
            greedy.bit_rows(len(log_sizes), edges), log_sizes
        )
        self.rng = np.random.default_rng(seed)
        self.order = np.arange(len(log_sizes))
        self.entries = np.zeros(len(log_sizes))
        self.cost, self.longest = np.inf, 0.0
        self.together = np.zeros(len(log_sizes), dtype=np.int64)
        # what the machine does besides is no reason to search less
        self.start, self.clock = working_time(), clock
        self.attempt(greedy.FILL, 0.0, self.together)
        if self.cost < np.inf:
            self._lay_out()

    def is_over(self) -> bool:
        """Whether there is no time for another order, or none is worth it."""
        left = self.seconds - (working_time() - self.start)
        if left > 0 and not is_compiled(greedy.order_stretch) and self.cost > WORTH_COMPILING:
            compile_next(greedy.order_stretch)
            self.longest = 0.0
            return False
        if left < self.longest:
            return True
        entries = self.times * self.cost
        return self.clock() > SHORT * min(1.0, entries / MANY) + entries / ENTRIES_PER_SECOND

    def attempt(self, rule: int, slack: float, stages: Numbers) -> None:
        """Make one greedy order of everything."""
        self._redo(0, len(self.order), rule, slack, stages)

    def patch(self) -> None:
        """Do some stretches of the best order again, each with a rule and a slack by chance."""
        self._lay_out()
        for _ in range(PATCHES_PER_LAYOUT):
            first, last = self._costly_stretch()
            rule, slack = int(self.rng.choice(RULES)), float(self.rng.choice(SLACKS))
            self._redo(first, last, rule, slack, self.together)

    def _costly_stretch(self) -> tuple[int, int]:
        """Choose a stretch of random length around a table, the larger the likelier."""
        length = int(np.ceil(len(self.order) * self.rng.choice(STRETCHES)))
        weights = np.cumsum(np.sqrt(self.entries))
        table = int(np.searchsorted(weights, weights[-1] * self.rng.random()))
        earliest, latest = max(0, table - length + 1), min(table, len(self.order) - length)
        first = int(self.rng.integers(earliest, latest + 1))
        return first, first + length

    def _redo(self, first: int, last: int, rule: int, slack: float, stages: Numbers) -> None:
        """Order a stretch anew; an equally good one is welcome, it leads elsewhere."""
        begun = working_time()
        outside = np.concatenate([self.entries[:first], self.entries[last:]])
        choice = greedy.GreedyChoice(rule, slack, stages, int(self.rng.integers(2**62)))
        stretch, entries, cost = greedy.order_stretch(
            self.interactions,
            self.order,
            first,
            last,
            choice,
            float(outside.sum()),
            float(outside.max(initial=0.0)),
            min(self.cost * (1 + 1e-9), BEYOND),
        )
        self.longest = max(self.longest, working_time() - begun)
        if cost < np.inf:
            self.order[first:last] = stretch
            self.entries[first:last] = entries
            self.cost = float(cost)

    def _lay_out(self) -> None:
        """Put the branches of the elimination one after the other, in an order by chance.

        Variables of different branches may change places at no cost; where they stand decides
        which stretches can be done again together.
        """
        children: dict[int, list[int]] = {}
        for variable, above in enumerate(greedy.parents_in(self.interactions, self.order).tolist()):
            children.setdefault(above, []).append(variable)
        waiting = children.get(-1, [])
        laid_out: list[int] = []
        while waiting:
            laid_out.append(waiting.pop())
            branches = children.get(laid_out[-1], [])
            waiting += self.rng.permutation(branches).tolist() if len(branches) > 1 else branches
        entries = np.empty(len(self.order))
        entries[self.order] = self.entries
        self.order = np.array(laid_out[::-1], dtype=np.int64)
        self.entries = entries[self.order]


def sweeps(variables: int, edges: Numbers) -> Iterator[Numbers]:
    """Stages per variable: as numbered, and by distances from far-apart variables.

    On a grid, the sum and the difference of the distances from two corners of one side are rows
    and columns, which no local rule finds.
    """
    for run in RUNS:
        yield np.arange(variables) // run
    distances = _distances(variables, edges)
    yield from distances
    for first, second in itertools.combinations(distances, 2):
        yield first + second
        yield first - second


def _distances(variables: int, edges: Numbers) -> list[Numbers]:
    """Steps from a few variables, each as far as possible from those before."""
    links = csr_array((np.ones(len(edges)), edges.T), (variables, variables))

    def steps_from(start: int) -> Numbers:
        steps = dijkstra(links, directed=False, unweighted=True, indices=start)
        return np.asarray(np.minimum(steps, variables), dtype=np.int64)

    found = [steps_from(int(steps_from(0).argmax()))]
    while len(found) < LANDMARKS:
        nearest = np.minimum.reduce(found)
        found.append(steps_from(int(nearest.argmax())))
    return found
