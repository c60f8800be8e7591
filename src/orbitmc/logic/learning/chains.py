"""Chains that go on while the weights of their model change."""

import numpy as np

from orbitmc.errors import InputError
from orbitmc.graph.prepared import PreparedGraph, prepare
from orbitmc.kernels.base.gibbs import SystematicScan
from orbitmc.logic.grounding.assembly import graph_of
from orbitmc.logic.grounding.grounding import Ground
from orbitmc.logic.learning.counts import States, TrueCounts
from orbitmc.logic.learning.step import Arrays, require_like
from orbitmc.machine.arrays import Floats
from orbitmc.machine.lanes.random import generator
from orbitmc.run.pack import Pack, empty_pack, start_pack, walk

LANES = 64  # as in other runs, so that one compiled program serves all


class Chains:
    """A pack of chains on one world; it depends on the seed, the world's number and the weights.

    Small changes of the weights move the distribution little, so a few sweeps after each keep the
    chains near it (persistent contrastive divergence). `kept` is all they need to go on.
    """

    def __init__(self, ground: Ground, *, seed: int, number: int, lanes: int = LANES) -> None:
        self.ground, self.counts = ground, TrueCounts(ground)
        self.seed, self.number, self.lanes = seed, number, lanes
        self.kept: Arrays = {}

    def sample(self, weights: Floats, *, sweeps: int) -> States:
        """Go on for some sweeps under these weights, and count in the states reached."""
        prepared = prepare(graph_of(self.ground, weights))
        kernel = SystematicScan()
        pack = self._pack(prepared, kernel)
        spacing = sweeps * prepared.graph.variables
        walk(prepared, kernel, pack, spacing)
        self.kept = _arrays(pack)
        return States(self.counts(pack.values), np.full(self.lanes, 1.0 / self.lanes))

    def restore(self, kept: Arrays) -> None:
        """Go on where other chains on the same world stopped."""
        cardinality = self.ground.cardinality
        rng = generator(self.seed, self.number, self.lanes)
        values = np.zeros((len(cardinality), self.lanes), dtype=np.uint8)
        require_like(kept, {"values": values, "common": rng.common, "streams": rng.streams})
        if (kept["values"] >= cardinality[:, None]).any():
            raise InputError("the chains that were kept have values that no atom has")
        self.kept = kept

    def _pack(self, prepared: PreparedGraph, kernel: SystematicScan) -> Pack:
        """A pack for these weights, in the state in which the last one was left."""
        if not self.kept:
            return start_pack(
                prepared, kernel, seed=self.seed, number=self.number, lanes=self.lanes
            )
        pack = empty_pack(prepared, kernel, lanes=self.lanes)
        for name, array in _arrays(pack).items():
            array[...] = self.kept[name]
        return pack


def _arrays(pack: Pack) -> Arrays:
    return {"values": pack.values, "common": pack.rng.common, "streams": pack.rng.streams}
