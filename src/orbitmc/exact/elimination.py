"""All marginals and the sum of weights by eliminating one variable after the other.

Upward, each bucket sums its variable out of its factors and of the messages it got, and sends
the result on. Downward, each bucket learns how probable the values are that it shares with its
parent, and so its own marginal. Messages are logarithms, so nothing under- or overflows, and
impossible stays impossible.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orbitmc._util.arrays import Floats, floats
from orbitmc._util.text import MEMORY
from orbitmc.errors import ContradictionError
from orbitmc.exact.bucket import Bucket, Term, collect, log_sum_exp, summed_onto
from orbitmc.exact.orders.cutset import Part, Region, mixed
from orbitmc.exact.orders.tree import Tree
from orbitmc.exact.plan import Plan, predict, require_fit
from orbitmc.exact.problem import Problem
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import exact_sum


@dataclass(frozen=True)
class ExactAnswer:
    """The natural logarithm of the sum of all weights, and the marginals of every variable."""

    log_z: float
    marginals: tuple[Floats, ...]


def marginals(
    graph: FactorGraph,
    *,
    memory: int = MEMORY,
    plan: Plan | None = None,
    seconds: float = 5.0,
    wanted: Sequence[int] | None = None,
) -> ExactAnswer:
    """Give every marginal and log Z, exactly; refuses when more than `memory` bytes are needed.

    A plan of `predict` saves the search for an order, which otherwise takes up to `seconds`. If
    only some variables are `wanted`, only their marginals are computed and given, in that order.

    >>> import orbitmc as om
    >>> graph = om.ising_grid(2, 2, 0.3).graph
    >>> [marginal.round(6).tolist() for marginal in marginals(graph, wanted=[3]).marginals]
    [[0.5, 0.5]]
    """
    plan = plan or predict(graph, memory=memory, seconds=seconds)
    require_fit(plan, memory)
    chosen = range(graph.variables) if wanted is None else wanted
    log_z, found = _eliminate(plan, [plan.problem.place[variable] for variable in chosen])
    return ExactAnswer(log_z, _over_all_values(plan.problem, found, chosen))


def _eliminate(plan: Plan, wanted: Sequence[int]) -> tuple[float, list[Floats]]:
    """Go up and down once for every way to hold the cutset."""

    def both_ways(held: dict[int, int], problem: Problem) -> Part:
        passes = Passes(problem, plan.tree, plan.regions)
        return Part(held, passes.up(), passes.down(wanted))

    log_z, found = mixed(plan.by_conditioning(both_ways), plan.problem.sizes)
    return exact_sum([plan.problem.constant, log_z]), found


def _over_all_values(
    problem: Problem, found: list[Floats], wanted: Sequence[int]
) -> tuple[Floats, ...]:
    """Give impossible values probability 0, and decided variables certainty."""
    result = []
    for variable in wanted:
        place = problem.place[variable]
        whole = np.zeros(problem.cardinality[variable])
        whole[problem.possible[variable]] = found[place] if place >= 0 else 1.0
        result.append(floats(whole))
    return tuple(result)


def terms_in(
    bucket: Bucket, tree: Tree, problem: Problem, messages: Mapping[int, Floats]
) -> list[Term]:
    """What is added up in a bucket: factors and messages, small ones a few at a time."""
    terms = []
    for factors, children in tree.groups[bucket.variable]:
        pieces = [(problem.scopes[factor], problem.tables[factor]) for factor in factors]
        pieces += [(tree.shared[child], messages[child]) for child in children]
        scope, table = pieces[0] if len(pieces) == 1 else bucket.together(pieces)
        terms.append(Term(scope, table.reshape(-1), bucket.view(scope, tree.sizes)))
    return terms


class Passes:
    """Messages while they travel through the tree; each is let go when nobody needs it."""

    def __init__(self, problem: Problem, tree: Tree, regions: Sequence[Region]) -> None:
        self.problem, self.tree, self.regions = problem, tree, regions
        self.messages: dict[int, Floats] = {}
        self.taken_off: dict[int, float] = {}
        self.beliefs: dict[int, Floats] = {}

    def up(self) -> float:
        """Send all messages up, keep those that regions start from; gives log Z."""
        taken_off = [self.problem.constant]
        kept = {child for region in self.regions for child in region.below}
        for region in reversed(self.regions):
            for variable in region.buckets:
                taken_off.append(self._send(variable))
                for child in self.tree.children[variable]:
                    if child not in kept and len(self.regions) > 1:
                        del self.messages[child]
        return exact_sum(taken_off)

    def down(self, wanted: Iterable[int]) -> list[Floats]:
        """Give the marginals that are wanted, region by region from the roots; zeros elsewhere."""
        found: list[Floats] = [np.zeros(size) for size in self.tree.sizes]
        needed = self.tree.above(wanted)
        for region in self.regions:
            for variable in region.buckets:
                if variable not in self.messages and not needed.isdisjoint(region.buckets):
                    self._send(variable)
            for variable in reversed(region.buckets):
                if variable in needed:
                    found[variable] = self.receive(variable)
                else:
                    self.messages.pop(variable, None)
                    self.beliefs.pop(variable, None)
        return found

    def terms(self, bucket: Bucket) -> list[Term]:
        """What is added up in a bucket."""
        return terms_in(bucket, self.tree, self.problem, self.messages)

    def _send(self, variable: int) -> float:
        """Sum a variable out; its message has maximum 0, and what that takes off is returned."""
        bucket = Bucket(variable, self.tree.shared[variable], self.tree.sizes)
        message = np.empty(bucket.slabs * bucket.places)
        for slab, sums in bucket.sums(self.terms(bucket)):
            message[slab * bucket.places : (slab + 1) * bucket.places] = log_sum_exp(sums)
        largest = float(message.max())
        if largest == -np.inf:
            raise ContradictionError("no state is possible: every state has weight 0")
        message -= largest
        self.messages[variable] = message
        self.taken_off[variable] = largest
        return largest

    def receive(self, variable: int) -> Floats:
        """Turn a bucket's sums into beliefs, tell its children, and give its marginal."""
        bucket = Bucket(variable, self.tree.shared[variable], self.tree.sizes)
        terms = self.terms(bucket)
        told = [
            (term, np.zeros(len(term.table)), group.children)
            for term, group in zip(terms, self.tree.groups[variable], strict=True)
            if group.children
        ]
        ratio = self._ratio(variable)
        marginal = np.zeros(bucket.values)
        for slab, sums in bucket.sums(terms):
            sums += ratio[slab * bucket.places : (slab + 1) * bucket.places]
            np.exp(sums, out=sums)
            self.look(bucket, slab, sums)
            marginal += sums.sum(axis=1)
            for (_, _, view), beliefs, _ in told:
                collect(sums, beliefs, view.step, view.high[slab], view.low)
        for term, beliefs, children in told:
            self._tell(term, beliefs, children)
        marginal /= marginal.sum()
        return marginal

    def look(self, bucket: Bucket, slab: int, beliefs: Floats) -> None:
        """Called with the beliefs of every slab, for those who want more than marginals."""

    def _tell(self, term: Term, beliefs: Floats, children: Sequence[int]) -> None:
        """Leave every child the probabilities of what it shares; large ones go as they are."""
        shared, sizes = self.tree.shared, self.tree.sizes
        if len(children) == 1 and shared[children[0]] == term.scope:
            self.beliefs[children[0]] = beliefs
            return
        for child in children:
            self.beliefs[child] = summed_onto(beliefs, term.scope, shared[child], sizes)

    def _ratio(self, variable: int) -> Floats:
        """Log of how probable the shared values are, over what this bucket had said of them."""
        message = self.messages.pop(variable)
        belief = self.beliefs.pop(variable, np.ones(1))
        message[belief == 0] = 0.0  # impossible: whatever was said, belief 0 decides
        with np.errstate(divide="ignore"):
            np.log(belief, out=belief)
        belief -= message
        belief -= self.taken_off[variable]
        return belief
