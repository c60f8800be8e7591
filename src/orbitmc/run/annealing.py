"""Starts in modes that random starts miss.

One column of eight starts from annealed states, the others at random. Starts do not bias a chain
that forgets them. If modes do not communicate, this column disagrees with the others for as long as
the run lasts, and that is seen; a mode that nobody has entered is not.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orbitmc.arrays import Bytes, sealed
from orbitmc.estimate.tallies import ChanceTally
from orbitmc.graph.components import components
from orbitmc.graph.conditionals import conditionals
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import log_weights_of_parts
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.random import COLUMNS, generator
from orbitmc.run.heavy_factors import best_values, hidden_factors
from orbitmc.run.pack import Pack, empty_pack, walk
from orbitmc.run.start import start_values

COLD = 4.0  # inverse temperature of annealing
SWEEPS = 8
PURPOSE = 2**31  # keeps these random numbers apart from those of packs
UNIFORM, HEAVY = 1, (2, 3)  # what lanes are annealed from, by their numbers modulo 4; 0 is random


def occupy_modes(graph: FactorGraph, packs: tuple[Pack, ...], *, seed: int) -> Bytes:
    """Let one column of every pack start from annealed states; give the heaviest state of all.

    A pack still depends on nothing but the seed and its number.
    """
    lanes = packs[0].values.shape[1]
    share = lanes // COLUMNS
    found = []
    for first, states in _groups(graph, len(packs), lanes, seed):
        for place, pack in enumerate(packs[first : first + COLUMNS]):
            pack.values[:, ::COLUMNS] = states[:, place * share : (place + 1) * share]
        found.append(heaviest(graph, states))
    return heaviest(graph, np.stack(found, axis=1))


def heaviest_state(graph: FactorGraph, packs: int, lanes: int, *, seed: int) -> Bytes:
    """The heaviest of the annealed states that so many packs start from."""
    found = [heaviest(graph, states) for _, states in _groups(graph, packs, lanes, seed)]
    return heaviest(graph, np.stack(found, axis=1))


def _groups(graph: FactorGraph, packs: int, lanes: int, seed: int) -> Iterator[tuple[int, Bytes]]:
    """Annealed states for eight packs at a time, and the number of the first."""
    for first in range(0, packs, COLUMNS):
        yield first, annealed_states(graph, seed=seed, group=first // COLUMNS, lanes=lanes)


def annealed_states(graph: FactorGraph, *, seed: int, group: int, lanes: int) -> Bytes:
    """Cool states down: random ones, uniform ones, and those in which some factors are best."""
    source = np.random.SeedSequence(seed, spawn_key=(PURPOSE + group,))
    wanted = _wanted(graph, lanes, np.random.default_rng(source.spawn(1)[0]))
    cold = graph._replace(table=sealed(COLD * graph.table), constant=COLD * graph.constant)
    kernel = SystematicScan(conditionals(cold))
    pack = empty_pack(cold, kernel, lanes=lanes, kind=ChanceTally.__name__)
    pack.values[...] = start_values(graph, lanes, source, wanted)
    pack = replace(pack, rng=generator(seed, PURPOSE + group, lanes))
    walk(cold, kernel, pack, SWEEPS * graph.variables)
    return pack.values


def heaviest(graph: FactorGraph, states: Bytes) -> Bytes:
    """The heaviest state that can be put together, each component from the lane that has it."""
    part_of = components(graph)
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
