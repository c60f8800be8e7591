"""How often coupled pairs agree: exactly, and counted in the states that chains go through."""

import time

import numpy as np
from numpy.typing import NDArray

from orbitmc import Model
from orbitmc.compare import (
    SWEEPS_PER_SAMPLE,
    WARM_UP,
    Builder,
    Divergence,
    ErrorCurve,
    Pack,
    Point,
    PreparedSampler,
    Reference,
    divergence,
    next_snapshot,
    start_pack,
    walk,
)
from orbitmc.exact.contraction import marginals as exact_marginals

Edges = NDArray[np.int64]

AGREES = np.array([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])  # [one, other, verdict]


def pair_truth(model: Model, edges: Edges) -> Reference:
    """Exact chances that pairs agree: one more variable per pair says so, and is eliminated."""
    graph = model.graph
    builder = Builder(np.full(graph.variables + len(edges), 2))
    for factor in range(graph.factors):
        builder.add_factor(graph.scope_of(factor), graph.table_values(factor))
    with np.errstate(divide="ignore"):
        (number,) = builder.add_tables(np.log(AGREES).reshape(1, -1))
    verdicts = graph.variables + np.arange(len(edges))
    builder.add_factors(np.column_stack([edges, verdicts]), number)
    found = exact_marginals(builder.build()).marginals[graph.variables :]
    return Reference(np.concatenate(found), Divergence(0.0, 0.0, 0.0), "exact")


def pair_course(
    one: PreparedSampler, edges: Edges, truth: Reference, *, seconds: float, seed: int, lanes: int
) -> ErrorCurve:
    """Run one sampler, counting how often pairs agree; counting is not charged for."""
    graph = one.model.graph
    pack = start_pack(one.prepared, one.kernel, seed=seed, number=0, lanes=lanes)
    walk(one.prepared, one.kernel, pack, 0)  # compiles
    spacing = SWEEPS_PER_SAMPLE * graph.variables
    start = np.arange(0, 2 * len(edges) + 1, 2, dtype=np.uint32)
    agreeing = np.zeros(len(edges))
    spent, samples, points = one.seconds, 0, []
    spent += _walked(one, pack, WARM_UP // SWEEPS_PER_SAMPLE * spacing)
    while spent < seconds or not samples:
        spent += _walked(one, pack, spacing)
        samples += 1
        agreeing += (pack.values[edges[:, 0]] == pack.values[edges[:, 1]]).sum(axis=1)
        if samples == next_snapshot(samples - 1):
            share = agreeing / (samples * lanes)
            found = np.column_stack([1 - share, share]).ravel()
            points.append(
                Point(
                    one.name,
                    "values",
                    seed,
                    iterations=(WARM_UP // SWEEPS_PER_SAMPLE + samples) * spacing,
                    updates=_outcomes(one, pack).get("updates", 0) * lanes,
                    seconds=spent,
                    error=divergence(truth.probability, found, start),
                )
            )
    return ErrorCurve(tuple(points), _outcomes(one, pack))


def _outcomes(one: PreparedSampler, pack: Pack) -> dict[str, int]:
    return dict(zip(one.kernel.outcomes, pack.outcomes.tolist(), strict=True))


def _walked(one: PreparedSampler, pack: Pack, steps: int) -> float:
    begun = time.perf_counter()
    walk(one.prepared, one.kernel, pack, steps)
    return time.perf_counter() - begun
