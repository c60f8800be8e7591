"""Independent, exact states by elimination.

Upward as for marginals. Downward, each bucket draws its variable given those it shares with its
parent, which have been drawn already.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats, Numbers
from orbitmc._util.interrupts import check_interrupt
from orbitmc.exact.blocks import Steps, single_steps, steps_within, strides_of
from orbitmc.exact.contraction import Arithmetic, Bucket, Passes, Term, in_range
from orbitmc.exact.plan import EliminationPlan
from orbitmc.exact.problem import Problem, Scope
from orbitmc.exact.tree import condition

DRAWS_AT_ONCE = 2**14  # states that are drawn together: what a processor keeps close by
BYTE = 256  # values that fit into one

States = NDArray[Any]


def independent_states(plan: EliminationPlan, count: int, *, seed: int) -> States:
    """Draw so many states `[variable, state]` of the graph that was planned for.

    They are bytes, unless a variable has more values than these hold.
    """

    def draw(arithmetic: Arithmetic, steps: Steps) -> States:
        return _draw(plan, count, np.random.default_rng(seed), arithmetic, steps)

    steps = steps_within(plan.tree, plan.steps.bytes, single_steps)
    return _over_all_values(plan.problem, in_range(plan, steps, draw))


def _draw(
    plan: EliminationPlan,
    count: int,
    rng: np.random.Generator,
    arithmetic: Arithmetic,
    steps: Steps,
) -> States:
    problem = plan.problem
    states = np.zeros((len(problem.sizes), count), dtype=dtype_for(problem.sizes))
    first = 0
    for fixed, share in _shares(plan, count, rng, arithmetic, steps):
        passes = Passes(condition(problem, fixed), plan.tree, steps, arithmetic)
        _fill(passes, states[:, first : first + share], fixed, rng)
        first += share
    if plan.cutset:
        states = states[:, rng.permutation(count)]  # states with the same held values lie together
    return states


def state_bytes(plan: EliminationPlan, count: int) -> int:
    """How much memory the states of a plan take while they are drawn."""
    sizes = plan.problem.sizes
    each = dtype_for(sizes).itemsize * len(sizes)
    whole = dtype_for(plan.problem.cardinality).itemsize * len(plan.problem.cardinality)
    return count * (each * (2 if plan.cutset else 1) + whole)


def dtype_for(sizes: Sequence[int]) -> np.dtype[Any]:
    """The smallest numbers that count the values of all variables."""
    return np.dtype(np.uint8 if max(sizes, default=1) <= BYTE else np.uint32)


def _shares(
    plan: EliminationPlan,
    count: int,
    rng: np.random.Generator,
    arithmetic: Arithmetic,
    steps: Steps,
) -> list[tuple[dict[int, int], int]]:
    """How many states each way to hold the cutset gets, by its share of the weight."""
    if not plan.cutset:
        return [({}, count)]
    ways, log_weights = zip(
        *plan.by_conditioning(
            lambda fixed, problem: (fixed, Passes(problem, plan.tree, steps, arithmetic).up())
        ),
        strict=True,
    )
    weights = np.exp(np.array(log_weights) - max(log_weights))
    shares = rng.multinomial(count, weights / weights.sum()).tolist()
    return [(fixed, share) for fixed, share in zip(ways, shares, strict=True) if share]


def _fill(
    passes: Passes, states: States, fixed: Mapping[int, int], rng: np.random.Generator
) -> None:
    """Draw all variables; those that are held have their values."""
    passes.up()
    for step in passes.descend(range(len(passes.tree.sizes))):
        for variable in reversed(step.variables):
            _draw_variable(passes, variable, states, rng)
    for variable, value in fixed.items():
        states[variable] = value


def _draw_variable(passes: Passes, variable: int, states: States, rng: np.random.Generator) -> None:
    """Draw the variable of a bucket given those that it is shared with."""
    shared, sizes = passes.tree.shared[variable], passes.tree.sizes
    bucket = Bucket(variable, shared, sizes)
    terms, arithmetic = passes.terms_of_draws(bucket)
    entries, count = passes.tree.message_entries(variable), states.shape[1]
    table = None
    if entries <= count:
        every = np.indices(bucket.shape).reshape(len(shared), entries)
        above = dict(zip(shared, every, strict=True))
        table = _chances(bucket, terms, above, sizes, arithmetic)
    for first in range(0, count, DRAWS_AT_ONCE):
        check_interrupt()
        now = slice(first, first + DRAWS_AT_ONCE)
        above = {member: states[member, now].astype(np.int64) for member in shared}
        chances = (
            _chances(bucket, terms, above, sizes, arithmetic)
            if table is None
            else table[:, _offsets(shared, above, sizes)]
        )
        level = rng.random(min(DRAWS_AT_ONCE, count - first))
        states[variable, now] = (level >= chances[:-1]).sum(axis=0)


def _chances(
    bucket: Bucket,
    terms: Sequence[Term],
    above: Mapping[int, Numbers],
    sizes: Sequence[int],
    arithmetic: Arithmetic,
) -> Floats:
    """Cumulative probabilities `[value, state]` of a bucket's variable, given those above it."""
    states = len(next(iter(above.values()))) if above else 1
    weights = np.full((bucket.values, states), arithmetic.one)
    for scope, _, table, view in terms:
        offsets = _offsets(scope, above, sizes)
        for value in range(bucket.values):
            chosen = table[offsets + value * view.step]
            arithmetic.times(weights[value], chosen, out=weights[value])
    weights = arithmetic.weigh(weights)
    np.cumsum(weights, axis=0, out=weights)
    weights /= np.maximum(weights[-1], np.finfo(np.float64).tiny)  # impossible: nobody asks
    return weights


def _offsets(scope: Scope, above: Mapping[int, Numbers], sizes: Sequence[int]) -> Numbers:
    """Where a flat table has its entries for some states, its own variable at value 0."""
    offsets = np.zeros(1, dtype=np.int64)
    for member, stride in strides_of(scope, sizes).items():
        if member in above:
            offsets = offsets + stride * above[member]
    return offsets


def _over_all_values(problem: Problem, states: States) -> States:
    """Say states in terms of the graph's values; variables with one value left have that."""
    in_values = np.empty((len(problem.place), states.shape[1]), dtype_for(problem.cardinality))
    for variable, place in enumerate(problem.place):
        possible = problem.possible[variable]
        in_values[variable] = possible[states[place]] if place >= 0 else possible[0]
    return in_values
