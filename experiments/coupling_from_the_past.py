"""Independent, exact samples of attractive models by monotone coupling from the past.

Two chains, from all up and from all down, share their random numbers and stay ordered when no
pair of spins prefers to differ. Started far enough in the past they meet before time 0, and so
would a chain from any state, even one that started infinitely long ago: where they stand at time
0 is an exact sample (Propp & Wilson 1996). Going further back re-uses the numbers of later times,
and the answer is read at time 0 only; fresh numbers, or stopping at the meeting, would bias it.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbitmc._numba.jit import compiled, shared
from orbitmc._simd.bits import splitmix
from orbitmc._util.arrays import Bytes, Floats, Indices, Numbers, floats, indices, readonly, starts
from orbitmc.errors import InputError, LimitError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import require_narrow

LANES = 64
"""Samples that are made together."""

UPDATES_PER_CALL = 10**7  # a few tenths of a second, so that Ctrl-C is heard


class Attraction(NamedTuple):
    """Log-odds of "up" per variable: `field`, and `pull` for each neighbour that is up.

    The neighbours of variable `v` are `neighbour[start[v]:start[v + 1]]`.
    """

    field: Floats
    start: Indices
    neighbour: Indices
    pull: Floats


@dataclass(frozen=True)
class PerfectMarginals:
    """Estimated probability of value 1 per variable, with its standard error."""

    probability: Floats
    standard_error: Floats


def perfect_samples(
    graph: FactorGraph,
    samples: int,
    *,
    seed: int,
    first_sweeps: int = 32,
    most_sweeps: int = 2**17,
) -> Bytes:
    """Draw independent states [samples, variables] from exactly the distribution of the graph.

    The model must be binary and pairwise, finite, and no pair may prefer to differ; fields are
    free. `first_sweeps` changes the time it takes, never the samples. Near and below a critical
    temperature chains meet late: beyond `most_sweeps` this gives up rather than bias.

    >>> import orbitmc as om
    >>> om.exact.perfect_samples(om.ising_grid(3, 3, 0.2, 0.1).graph, 100, seed=1).shape
    (100, 9)
    """
    attraction = attraction_of(graph)
    packs = [
        _perfect_pack(attraction, seed, pack, first_sweeps, most_sweeps)
        for pack in range(-(-samples // LANES))
    ]
    found = np.concatenate([np.zeros((graph.variables, 0), dtype=np.uint8), *packs], axis=1)
    return readonly(found[:, :samples].T)


def perfect_marginals(samples: Bytes) -> PerfectMarginals:
    """Average independent samples.

    >>> perfect_marginals(np.array([[0, 1], [1, 1]], dtype=np.uint8)).probability.tolist()
    [0.5, 1.0]
    """
    up = samples.mean(axis=0)
    return PerfectMarginals(floats(up), floats(np.sqrt(up * (1 - up) / len(samples))))


def attraction_of(graph: FactorGraph) -> Attraction:
    """Write a graph as fields and pulls, or say which factor stands against it."""
    require_narrow(graph)
    if (graph.cardinality != 2).any():
        variable = int(np.flatnonzero(graph.cardinality != 2)[0])
        raise InputError(
            f"perfect samples need binary variables, but variable {variable} has "
            f"{graph.cardinality[variable]} values"
        )
    lengths = graph.scope_start[1:] - graph.scope_start[:-1]
    _refuse(graph, np.flatnonzero(lengths > 2), "factors of at most two variables")
    field = np.zeros(graph.variables)
    variables, tables = _tables(graph, np.flatnonzero(lengths == 1), 1)
    np.add.at(field, variables[:, 0], tables[:, 1] - tables[:, 0])
    pairs = np.flatnonzero(lengths == 2)
    ends, tables = _tables(graph, pairs, 2)
    neither, second, first, both = tables.T
    np.add.at(field, ends[:, 0], first - neither)
    np.add.at(field, ends[:, 1], second - neither)
    pulls = neither + both - first - second
    rounding = 1e-12 * np.abs(tables).max(axis=1, initial=0.0)
    _refuse(graph, pairs[pulls < -rounding], "pairs that prefer to agree")
    return _attraction(field, ends, np.maximum(pulls, 0.0))


def _refuse(graph: FactorGraph, factors: Numbers, needed: str) -> None:
    if len(factors):
        scope = graph.scope_of(factors[0]).tolist()
        raise InputError(f"perfect samples need {needed}, unlike factor {factors[0]} over {scope}")


def _tables(graph: FactorGraph, factors: Numbers, arity: int) -> tuple[Numbers, Floats]:
    """Scopes and full tables of binary factors, clauses too, a row each."""
    places = graph.edges_of(factors, arity)
    expanded = [graph.full_table(factor).reshape(-1) for factor in factors.tolist()]
    tables = np.array(expanded).reshape(len(factors), 2**arity)
    _refuse(graph, factors[~np.isfinite(tables).all(axis=1)], "weights above zero")
    return graph.scope[places].astype(np.int64), tables


def _attraction(field: Floats, ends: Numbers, pulls: Floats) -> Attraction:
    owner = np.concatenate([ends[:, 0], ends[:, 1]])
    order = np.argsort(owner, kind="stable")
    return Attraction(
        field=floats(field),
        start=starts(np.bincount(owner, minlength=len(field))),
        neighbour=indices(np.concatenate([ends[:, 1], ends[:, 0]])[order]),
        pull=floats(np.concatenate([pulls, pulls])[order]),
    )


def _perfect_pack(
    attraction: Attraction, seed: int, pack: int, first_sweeps: int, most_sweeps: int
) -> Bytes:
    """Go back 2, 4, 8 … times as far until the two chains of every lane meet."""
    source = np.random.SeedSequence(entropy=seed, spawn_key=(pack,))
    key = source.generate_state(1, np.uint64)[0]
    sweeps = max(first_sweeps, 1)
    while sweeps <= most_sweeps:
        upper, lower = _run_to_now(attraction, key, sweeps)
        if (upper == lower).all():
            return upper
        sweeps *= 2
    raise LimitError(
        f"coupling from the past would need {sweeps} sweeps or more, the limit is {most_sweeps}; "
        "the model is too cold for it"
    )


def _run_to_now(attraction: Attraction, key: np.uint64, sweeps: int) -> tuple[Bytes, Bytes]:
    variables = len(attraction.field)
    upper = np.ones((variables, LANES), dtype=np.uint8)
    lower = np.zeros((variables, LANES), dtype=np.uint8)
    at_once = max(1, UPDATES_PER_CALL // (LANES * max(variables, 1)))
    for time in range(sweeps, 0, -at_once):
        sweep(attraction, key, time, min(at_once, time), upper, lower)
    return upper, lower


@compiled
def sweep(
    attraction: Attraction, key: np.uint64, time: int, sweeps: int, upper: Bytes, lower: Bytes
) -> None:
    """Update every variable of both chains once per sweep, from `time` sweeps ago towards now.

    The random number of (time, variable, lane) is a hash of these three, so every visit to a
    time sees the same numbers.
    """
    variables, lanes = upper.shape
    high = np.empty(lanes)
    low = np.empty(lanes)
    for ago in range(time, time - sweeps, -1):
        base = splitmix(key + np.uint64(ago) * np.uint64(0xD1342543DE82EF95))
        for variable in range(variables):
            high[:] = attraction.field[variable]
            low[:] = attraction.field[variable]
            for edge in range(attraction.start[variable], attraction.start[variable + 1]):
                neighbour, pull = attraction.neighbour[edge], attraction.pull[edge]
                for lane in range(lanes):
                    high[lane] += pull * upper[neighbour, lane]
                    low[lane] += pull * lower[neighbour, lane]
            for lane in range(lanes):
                number = np.uint64(variable * lanes + lane)
                level = random_log_odds(base + number * np.uint64(0x9E3779B97F4A7C15))
                upper[variable, lane] = level < high[lane]
                lower[variable, lane] = level < low[lane]


@shared
def random_log_odds(counter: np.uint64) -> float:
    """A logistic random number: it is below `a` with probability 1 / (1 + exp(-a))."""
    uniform = (np.float64(splitmix(counter) >> np.uint64(11)) + 0.5) * 2.0**-53
    return math.log(uniform / (1.0 - uniform))
