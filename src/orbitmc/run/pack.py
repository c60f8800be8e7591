"""A pack: chains advanced in lock-step, with all that they need to go on."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.tallies import (
    PARTS,
    RaoBlackwellTally,
    Tally,
    capacity,
    merge_parts,
    record,
    tally,
)
from orbitmc.graph.conditionals.draws import scratch
from orbitmc.graph.conditionals.layout import Scratch
from orbitmc.graph.factor_graph import MOST_VALUES, FactorGraph
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.kernels.kernel import Kernel, steps
from orbitmc.machine.arrays import Bytes, Numbers
from orbitmc.machine.compiling import compiled
from orbitmc.machine.lanes.random import LANE_UNIT, Generator, generator
from orbitmc.run.part_ends import PartEnds, merge_ends, note_end, part_ends
from orbitmc.run.starts.start import start_values

if TYPE_CHECKING:
    from orbitmc.estimate.orbit_tally import OrbitTally
    from orbitmc.groups.permutation_groups import PermutationGroup


@dataclass(frozen=True)
class Pack:
    """The state of some chains; its arrays are overwritten as they advance."""

    values: Bytes
    memory: Any
    rng: Generator
    tally: Tally | OrbitTally
    scratch: Scratch
    outcomes: NDArray[np.int64]
    ends: PartEnds | None = None


def start_pack(
    prepared: PreparedGraph,
    kernel: Kernel,
    *,
    seed: int,
    number: int,
    lanes: int,
    kind: type = RaoBlackwellTally,
    group: PermutationGroup | None = None,
    part_of: NDArray[np.int64] | None = None,
) -> Pack:
    """Start a pack: it depends on the seed and its number, on nothing else.

    `kind` is what the pack counts; `group` is needed by a tally that averages over orbits.

    >>> import orbitmc as om
    >>> prepared, kernel = om.kernels.prepare(om.ising_grid(3, 3, 0.3).graph), om.kernels.gibbs()
    >>> pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
    >>> pack.values.shape
    (9, 64)
    """
    pack = empty_pack(prepared, kernel, lanes=lanes, kind=kind, group=group, part_of=part_of)
    start = np.random.SeedSequence(seed, spawn_key=(number, 1))
    pack.values[...] = start_values(prepared.graph, lanes, start)
    return replace(pack, rng=generator(seed, number, lanes))


def empty_pack(
    prepared: PreparedGraph,
    kernel: Kernel,
    *,
    lanes: int,
    kind: type = RaoBlackwellTally,
    group: PermutationGroup | None = None,
    part_of: NDArray[np.int64] | None = None,
) -> Pack:
    """Give the arrays of a pack, not yet started; with a `group` its tally averages over orbits.

    With `part_of`, the component of each variable, the pack notes log-weights as it advances.
    """
    graph = prepared.graph
    check_lanes(graph, lanes)
    return Pack(
        values=np.zeros((graph.variables, lanes), dtype=np.uint8),
        memory=kernel.memory(prepared, lanes),
        rng=generator(0, 0, lanes),
        tally=_tally(graph, lanes, kind, group),
        scratch=scratch(prepared, lanes),
        outcomes=np.zeros(len(kernel.outcomes), dtype=np.int64),
        ends=None if part_of is None else part_ends(graph, lanes, part_of),
    )


def _tally(
    graph: FactorGraph, lanes: int, kind: type, group: PermutationGroup | None
) -> Tally | OrbitTally:
    if group is None:
        return tally(graph, lanes, kind=kind)
    from orbitmc.estimate.orbit_tally import orbit_tally

    return orbit_tally(graph, lanes, group)


def check_lanes(graph: FactorGraph, lanes: int) -> None:
    if lanes < LANE_UNIT or lanes % LANE_UNIT:
        raise InputError(f"a pack has a multiple of {LANE_UNIT} lanes, not {lanes}")
    most = int(graph.cardinality.max(initial=1))
    if most > MOST_VALUES:
        raise LimitError(f"a variable has {most} values, sampling handles up to {MOST_VALUES}")


def copied(pack: Pack) -> Pack:
    """Give a pack that goes its own way from here.

    What is sealed is shared: a copy would lose the seal, and be compiled for once more.
    """
    sealed = _sealed_in((pack.memory, pack.tally, pack.scratch, pack.ends))
    return deepcopy(pack, {id(array): array for array in sealed})


def _sealed_in(holder: Any) -> Iterator[NDArray[Any]]:
    if isinstance(holder, np.ndarray) and not holder.flags.writeable:
        yield holder
    elif isinstance(holder, tuple):
        for part in holder:
            yield from _sealed_in(part)


def advance(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    *,
    recorded: int,
    samples: int,
    spacing: int,
) -> None:
    """Record `samples` more states, `spacing` steps apart, after `recorded` earlier ones."""
    while samples > 0:
        size = capacity(recorded + 1)
        if recorded == PARTS * size // 2 and recorded > PARTS // 2:
            merge_parts(pack.tally.sums)
            if pack.ends is not None:
                merge_ends(pack.ends)
        part = recorded // size
        now = min(samples, (part + 1) * size - recorded)
        _go_on(prepared, kernel, pack, part, now, spacing)
        recorded += now
        samples -= now
        if pack.ends is not None and recorded % size == 0:
            note_end(pack.ends, prepared.graph, pack.values, part)


def warm_up(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    *,
    samples: int,
    spacing: int,
) -> None:
    """Take as many steps as `samples` would, and record nothing."""
    _go_on(prepared, kernel, pack, NOWHERE, samples, spacing)


NOWHERE = -1


def _go_on(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    part: int,
    samples: int,
    spacing: int,
) -> None:
    """Hand the arrays of a pack to compiled code."""
    _advance(
        prepared,
        kernel,
        pack.memory,
        pack.values,
        pack.outcomes,
        pack.rng,
        pack.scratch,
        pack.tally,
        part,
        samples,
        spacing,
    )


def walk(prepared: PreparedGraph, kernel: Kernel, pack: Pack, steps_taken: int) -> None:
    """Take steps and look at nothing: for trials of kernels, which are compiled sooner so.

    >>> import orbitmc as om
    >>> prepared, kernel = om.kernels.prepare(om.ising_grid(3, 3, 0.3).graph), om.kernels.gibbs()
    >>> pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
    >>> walk(prepared, kernel, pack, 90)
    >>> pack.outcomes.tolist()
    [90]
    """
    _walk(prepared, kernel, pack.memory, pack.values, pack.outcomes, pack.rng, steps_taken)


@compiled
def _walk(
    prepared: PreparedGraph,
    kernel: Any,
    memory: Any,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    count: int,
) -> None:
    steps(prepared, kernel, memory, values, outcomes, rng, count)


@compiled
def _advance(
    prepared: PreparedGraph,
    kernel: Any,
    memory: Any,
    values: Bytes,
    outcomes: Numbers,
    rng: Any,
    scratch: Scratch,
    tally: Any,
    part: int,
    samples: int,
    spacing: int,
) -> None:
    for _ in range(samples):
        steps(prepared, kernel, memory, values, outcomes, rng, spacing)
        if part >= 0:
            record(tally, prepared, scratch, values, part)
