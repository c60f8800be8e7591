"""A pack: chains advanced in lock-step, with all that they need to go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orbitmc._numba.jit import compiled, unit
from orbitmc._numba.units import Link, Linked, call_indirect, link, unpack_frame
from orbitmc._simd.random import COLUMNS, Generator, generator
from orbitmc._util.arrays import (
    LANE_UNIT,
    MOST_VALUES,
    Bytes,
    Floats,
    arrays_in,
    readonly,
    short_repr,
    zeros,
)
from orbitmc.conditionals.draws import scratch
from orbitmc.conditionals.layout import Scratch
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.statistics import persistence
from orbitmc.estimate.tally import (
    PARTS,
    JointTally,
    RaoBlackwellTally,
    Tally,
    ValueTally,
    all_sums,
    capacity,
    count_joints,
    joint_tally,
    merge_parts,
    record,
    tally,
)
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.feasibility import possible_states
from orbitmc.graph.log_weights import log_weights_of_parts
from orbitmc.kernels.protocol import (
    Kernel,
    Part,
    block_plans,
    constrained_variables,
    count_plan,
    link_kernel,
    partition_plan,
    start_states,
)

if TYPE_CHECKING:
    from orbitmc.sampling.block_tally import BlockTally, BlockValueTally
    from orbitmc.sampling.count_tally import CountTally
    from orbitmc.sampling.partition_tally import PartitionTally, PartitionValueTally


# Log-weights of chains at the ends of the parts of time.
#
# Marginals can look mixed while chains still remember their starts: a jump between two heavy states
# averages them to one half, however slowly chains find them. The log-weight shows it.

GROUPS = 64  # the largest components have one each, the others share the last
LOOKED_AT = 2**23  # factors times lanes; of larger models one lane of each column
ROUNDING = 1e-6  # of log-weights: less comes from adding many of them


class EnergyTrace(NamedTuple):
    """`log_weights[part, group, lane]` when a part of time was full; `group_of` each variable."""

    group_of: NDArray[np.int64]
    log_weights: Floats


def energy_trace(graph: FactorGraph, lanes: int, part_of: NDArray[np.int64]) -> EnergyTrace:
    """Give room for the log-weights of a pack; `part_of` has the component of each variable."""
    sizes = np.bincount(part_of)
    group = np.full(len(sizes), min(len(sizes), GROUPS) - 1, dtype=np.int64)
    largest = np.argsort(-sizes, kind="stable")[: GROUPS - 1]
    group[largest] = np.arange(len(largest))
    looked_at = lanes if graph.factors * lanes <= LOOKED_AT else COLUMNS
    groups = int(group.max(initial=-1)) + 1
    return EnergyTrace(readonly(group[part_of]), np.zeros((PARTS, groups, looked_at)))


def record_energy(ends: EnergyTrace, graph: FactorGraph, values: Bytes, part: int) -> None:
    """Remember the log-weights of the present states."""
    lanes = ends.log_weights.shape[2]
    ends.log_weights[part] = log_weights_of_parts(graph, values[:, :lanes], ends.group_of)


def merge_energy_parts(ends: EnergyTrace) -> None:
    """Follow `merge_parts`: of two parts that become one, the later end stays."""
    ends.log_weights[0], ends.log_weights[1] = ends.log_weights[1], ends.log_weights[3].copy()


def unmixed_variables(every: Sequence[EnergyTrace], recorded: int) -> NDArray[np.bool_]:
    """Say of each variable whether the log-weight of its group is kept by columns, or drifts."""
    full = recorded // capacity(recorded) if recorded else 0
    means = np.concatenate([_column_means(ends.log_weights[:full]) for ends in every], axis=2)
    verdict = persistence(means, np.ones(full), ROUNDING, means.shape[1])
    return (verdict.persists | verdict.drifts)[every[0].group_of]


def _column_means(log_weights: Floats) -> Floats:
    parts, groups, lanes = log_weights.shape
    means: Floats = log_weights.reshape(parts, groups, lanes // COLUMNS, COLUMNS).mean(axis=2)
    return means


# Where chains start: anywhere if every state is possible, otherwise in some possible state.

ROWS = 2**14  # variables whose starts are drawn together: the numbers take a few MiB


def start_values(
    graph: FactorGraph,
    lanes: int,
    seed: np.random.SeedSequence,
    wanted: NDArray[np.int16] | None = None,
) -> Bytes:
    """Draw a dispersed start for each lane.

    Variables for which `wanted[variable, lane]` is not negative get that value, unless zeros are in
    the way.
    """
    if graph.has_zeros():
        return possible_states(graph, lanes, seed, wanted)
    rng = np.random.default_rng(seed)
    values = np.empty((graph.variables, lanes), dtype=np.uint8)
    for first in range(0, graph.variables, ROWS):
        sizes = graph.cardinality[first : first + ROWS, None]
        values[first : first + ROWS] = rng.random((len(sizes), lanes)) * sizes
        if wanted is not None:
            given = wanted[first : first + ROWS]
            np.copyto(values[first : first + ROWS], given, where=given >= 0, casting="unsafe")
    return values


Groups = Sequence[Sequence[int]]
"""Variables whose joint values are counted, a few at a time."""


@dataclass(frozen=True)
class Pack:
    """The state of some chains; its arrays are overwritten as they advance.

    The `tally` is one of `estimate.tallies`, or has their fields in front. There are `joints` where
    joint values of some groups of variables are counted beside it.
    """

    values: Bytes
    memory: Any
    rng: Generator
    tally: Any
    scratch: Scratch
    outcomes: NDArray[np.int64]
    ends: EnergyTrace | None = None
    joints: JointTally | None = None

    def __repr__(self) -> str:
        return short_repr(self)


def start_pack(
    prepared: PreparedGraph,
    kernel: Kernel,
    *,
    seed: int,
    number: int,
    lanes: int,
    kind: type = RaoBlackwellTally,
    part_of: NDArray[np.int64] | None = None,
    groups: Groups = (),
) -> Pack:
    """Start a pack: it depends on the seed and its number, on nothing else.

    `kind` is what the pack counts, beside the joint values of `groups` of variables.

    >>> import orbitmc as om
    >>> prepared, kernel = om.kernels.prepare(om.ising_grid(3, 3, 0.3).graph), om.kernels.gibbs()
    >>> pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
    >>> pack.values.shape
    (9, 64)
    """
    pack = empty_pack(prepared, kernel, lanes=lanes, kind=kind, part_of=part_of, groups=groups)
    start = np.random.SeedSequence(seed, spawn_key=(number, 1))
    states = start_states(kernel, prepared.graph, lanes, start)
    pack.values[...] = start_values(prepared.graph, lanes, start) if states is None else states
    return replace(pack, rng=generator(seed, number, lanes))


def empty_pack(
    prepared: PreparedGraph,
    kernel: Kernel,
    *,
    lanes: int,
    kind: type = RaoBlackwellTally,
    part_of: NDArray[np.int64] | None = None,
    groups: Groups = (),
) -> Pack:
    """Give the arrays of a pack, not yet started.

    With `part_of`, the component of each variable, the pack notes log-weights as it advances.
    """
    graph = prepared.graph
    check_lanes(graph, lanes)
    memory = kernel.memory(prepared, lanes)
    return Pack(
        values=zeros((graph.variables, lanes), np.uint8),
        memory=memory,
        rng=generator(0, 0, lanes),
        tally=_tally(graph, lanes, kind, kernel, memory),
        scratch=scratch(prepared, lanes),
        outcomes=np.zeros(len(kernel.outcomes), dtype=np.int64),
        ends=None if part_of is None else energy_trace(graph, lanes, part_of),
        joints=joint_tally(graph.cardinality, groups, lanes) if groups else None,
    )


def _tally(
    graph: FactorGraph, lanes: int, kind: type, kernel: Kernel, memory: Any
) -> Tally | BlockTally | BlockValueTally | CountTally | PartitionTally | PartitionValueTally:
    """Give the tally that suits a kernel: of conditionals of variables, of blocks, or of items.

    Where the graph does not say all that is impossible, its conditionals are not to be believed.
    """
    if (blocks := block_plans(kernel, memory)) is not None:
        from orbitmc.sampling.block_tally import block_tally

        return block_tally(graph, lanes, kind, *blocks)
    if (items := partition_plan(kernel, memory)) is not None:
        from orbitmc.sampling.partition_tally import partition_tally

        return partition_tally(graph, lanes, kind, *items)
    if (cells := count_plan(kernel, memory)) is not None:
        from orbitmc.sampling.count_tally import count_tally

        return count_tally(graph, lanes, kind, *cells)
    return tally(graph, lanes, kind=kind if constrained_variables(kernel) is None else ValueTally)


def check_lanes(graph: FactorGraph, lanes: int) -> None:
    if lanes < LANE_UNIT or lanes % LANE_UNIT:
        raise InputError(f"a pack has a multiple of {LANE_UNIT} lanes, not {lanes}")
    most = int(graph.cardinality.max(initial=1))
    if most > MOST_VALUES:
        raise LimitError(f"a variable has {most} values, sampling handles up to {MOST_VALUES}")


def copy_pack(pack: Pack) -> Pack:
    """Give a pack that goes its own way from here.

    What is sealed is shared: a copy would lose the seal, and be compiled for once more.
    """
    arrays = arrays_in((pack.memory, pack.tally, pack.scratch, pack.ends, pack.joints))
    return deepcopy(pack, {id(array): array for array in arrays if not array.flags.writeable})


def recorded_sums(pack: Pack) -> tuple[Floats, ...]:
    """Everything in a pack that is summed up in parts of time."""
    sums = all_sums(pack.tally)
    return sums if pack.joints is None else (*sums, pack.joints.sums)


def arrays_of(holder: Any, name: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """All arrays in a pack and in the tuples within it, with their names."""
    if isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            yield name, holder
    elif isinstance(holder, Pack):
        for key, value in vars(holder).items():
            yield from arrays_of(value, f"{name}/{key}")
    elif hasattr(holder, "_fields"):
        for key, value in zip(holder._fields, holder, strict=True):
            yield from arrays_of(value, f"{name}/{key}")


def advance(
    prepared: PreparedGraph,
    kernel: Kernel,
    pack: Pack,
    *,
    recorded: int,
    samples: int,
    spacing: int,
    looks: int = 1,
) -> None:
    """Record `samples` more states, `spacing` steps apart, after `recorded` earlier ones.

    With more `looks` a sample is so many states, equally far apart.
    """
    stepping, recording = _step_unit(prepared, kernel, pack), _record_unit(prepared, pack)
    while samples > 0:
        size = capacity(recorded + 1)
        if recorded == PARTS * size // 2 and recorded > PARTS // 2:
            for sums in recorded_sums(pack):
                merge_parts(sums)
            if pack.ends is not None:
                merge_energy_parts(pack.ends)
        part = recorded // size
        now = min(samples, (part + 1) * size - recorded)
        _advance(*stepping.unit, *recording.unit, part, now * looks, spacing // looks)
        recorded += now
        samples -= now
        if pack.ends is not None and recorded % size == 0:
            record_energy(pack.ends, prepared.graph, pack.values, part)


def compile_recording(prepared: PreparedGraph, pack: Pack) -> None:
    """Compile what records, before there is anything to record."""
    _record_unit(prepared, pack)


NOWHERE = -1
NOTHING = Linked(0, 0)


def walk(prepared: PreparedGraph, kernel: Kernel, pack: Pack, steps_taken: int) -> None:
    """Take steps and look at nothing: for trials of kernels.

    >>> import orbitmc as om
    >>> prepared, kernel = om.kernels.prepare(om.ising_grid(3, 3, 0.3).graph), om.kernels.gibbs()
    >>> pack = start_pack(prepared, kernel, seed=1, number=0, lanes=64)
    >>> walk(prepared, kernel, pack, 90)
    >>> pack.outcomes.tolist()
    [90]
    """
    stepper(prepared, kernel, pack)(steps_taken)


def stepper(prepared: PreparedGraph, kernel: Kernel, pack: Pack) -> Callable[[int], None]:
    """Give what takes so many steps: to link a pack takes as long as sweeps of a small model."""
    stepping = _step_unit(prepared, kernel, pack)

    def take(steps_taken: int) -> None:
        _advance(*stepping.unit, *NOTHING, NOWHERE, 1, steps_taken)

    return take


def recorder(prepared: PreparedGraph, kernel: Kernel, pack: Pack) -> Callable[[int], None]:
    """Give what takes so many steps and records the state in the first part of a tally."""
    stepping, recording = _step_unit(prepared, kernel, pack), _record_unit(prepared, pack)

    def take(steps_taken: int) -> None:
        _advance(*stepping.unit, *recording.unit, 0, 1, steps_taken)

    return take


def _step_unit(prepared: PreparedGraph, kernel: Kernel, pack: Pack) -> Link:
    """Steps of a pack, as a unit of machine code."""
    return link_kernel(Part(kernel, prepared, pack.memory, pack.values, pack.outcomes, pack.rng))


def _record_unit(prepared: PreparedGraph, pack: Pack) -> Link:
    """Recording of a pack, as a unit of its own: kernels do not multiply with tallies."""
    frame = (pack.tally, prepared, pack.scratch, pack.values)
    if pack.joints is not None:
        return link(_record_with_joints, (*frame, pack.joints))
    return link(_record, frame)


@unit
def _record(frame: Any, part: int) -> None:
    tally, prepared, scratch, values = unpack_frame(frame)
    if part >= 0:  # so the compiler knows that no index counts from the end
        record(tally, prepared, scratch, values, part)


@unit
def _record_with_joints(frame: Any, part: int) -> None:
    tally, prepared, scratch, values, joints = unpack_frame(frame)
    if part >= 0:
        record(tally, prepared, scratch, values, part)
        count_joints(joints, values, part)


@compiled
def _advance(
    stepping: int,
    stepped: int,
    recording: int,
    recorded: int,
    part: int,
    samples: int,
    spacing: int,
) -> None:
    """Take `spacing` steps and record the state, again and again; both are called by address."""
    for _ in range(samples):
        call_indirect(stepping, stepped, spacing)
        if part >= 0:
            call_indirect(recording, recorded, part)
