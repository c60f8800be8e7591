"""Starts in modes that random starts miss.

One column of eight starts from annealed states, the others at random. Starts do not bias a chain
that forgets them. If modes do not communicate, this column disagrees with the others for as long as
the run lasts, and that is seen; a mode that nobody has entered is not.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc._simd.random import COLUMNS, generator
from orbitmc._util.arrays import Bytes
from orbitmc.conditionals.prepared import prepare_briefly
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weights_of_parts
from orbitmc.graph.transforms import at_beta
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.run.pack import Pack, empty_pack, walk
from orbitmc.run.starts.heavy_factors import best_values, hidden_factors
from orbitmc.run.starts.start import start_values

COLD = 4.0  # inverse temperature of annealing
SWEEPS = 8
PURPOSE = 2**31  # keeps these random numbers apart from those of packs
NANOSECONDS = 20.0  # for each lane and each variable that is or that a factor reads
UNIFORM, HEAVY = 1, (2, 3)  # what lanes are annealed from, by their numbers modulo 4; 0 is random


def search_seconds(graph: FactorGraph, lanes: int) -> float:
    """About how long the search for modes takes, and what is made of it in the end."""
    return NANOSECONDS * 1e-9 * lanes * (graph.variables + len(graph.scope))


def search_modes(
    graph: FactorGraph,
    packs: Mapping[int, Pack | None],
    lanes: int,
    part_of: NDArray[np.int64],
    *,
    seed: int,
) -> Bytes:
    """Anneal states for packs with these numbers; give the heaviest state of all.

    One column of every pack that is there is put into its annealed states; it still depends on
    nothing but the seed and its number. `part_of` has the connected component of each variable.
    """
    share = lanes // COLUMNS
    found = []
    for group in sorted({number // COLUMNS for number in packs}):
        states = annealed_states(graph, seed=seed, group=group, lanes=lanes)
        for place in range(COLUMNS):
            if pack := packs.get(group * COLUMNS + place):
                pack.values[:, ::COLUMNS] = states[:, place * share : (place + 1) * share]
        found.append(heaviest(graph, states, part_of))
    return heaviest(graph, np.stack(found, axis=1), part_of)


def annealed_states(graph: FactorGraph, *, seed: int, group: int, lanes: int) -> Bytes:
    """Cool states down: random ones, uniform ones, and those in which some factors are best."""
    source = np.random.SeedSequence(seed, spawn_key=(PURPOSE + group,))
    wanted = _wanted(graph, lanes, np.random.default_rng(source.spawn(1)[0]))
    cold, kernel = prepare_briefly(at_beta(graph, COLD)), SystematicScan()
    pack = empty_pack(cold, kernel, lanes=lanes)
    pack.values[...] = start_values(graph, lanes, source, wanted)
    pack = replace(pack, rng=generator(seed, PURPOSE + group, lanes))
    walk(cold, kernel, pack, SWEEPS * graph.variables)
    return pack.values


def heaviest(graph: FactorGraph, states: Bytes, part_of: NDArray[np.int64]) -> Bytes:
    """The heaviest state that can be put together, each component from the lane that has it."""
    if states.shape[1] == 1:
        return states[:, 0]
    lane = log_weights_of_parts(graph, states, part_of).argmax(axis=1)
    best: Bytes = states[np.arange(graph.variables), lane[part_of]]
    return best


def _wanted(graph: FactorGraph, lanes: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """The values that each lane should have before it is cooled; -1 where any will do."""
    wanted = np.full((graph.variables, lanes), -1, dtype=np.int16)
    largest = graph.cardinality.astype(np.int64) - 1
    hidden = hidden_factors(graph)
    for lane in range(lanes):
        if lane % 4 == UNIFORM:
            wanted[:, lane] = np.minimum(lane // 4 % (1 + largest.max(initial=0)), largest)
        elif lane % 4 in HEAVY and len(hidden):
            wanted[:, lane] = best_values(graph, np.roll(hidden, -(lane // 2)), rng)
    return wanted
