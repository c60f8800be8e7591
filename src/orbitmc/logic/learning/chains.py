"""Chains that go on while the weights of their model change."""

import numpy as np

from orbitmc._simd.random import generator
from orbitmc._util.arrays import Bytes, Floats, indices
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.errors import InputError
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.transforms import condition
from orbitmc.kernels._gibbs import PartialScan, SystematicScan
from orbitmc.logic.grounding.assembly import graph_of
from orbitmc.logic.learning.counts import States, TrueCounts
from orbitmc.logic.learning.step import Arrays, require_like
from orbitmc.logic.learning.worlds import TrainingWorld
from orbitmc.sampling.pack import Pack, empty_pack, start_pack, start_values, walk

LANES = 64  # as in other runs, so that one compiled program serves all


class Chains:
    """A pack of chains on one world; it depends on the seed, the world's number and the weights.

    Small changes of the weights move the distribution little, so a few sweeps after each keep the
    chains near it (persistent contrastive divergence). `kept` is all they need to go on. Chains
    that are `given` the data change hidden variables only.
    """

    def __init__(
        self,
        world: TrainingWorld,
        *,
        seed: int,
        number: int,
        lanes: int = LANES,
        given: bool = False,
    ) -> None:
        self.world, self.ground, self.counts = world, world.ground, TrueCounts(world.ground)
        self.seed, self.number, self.lanes, self.given = seed, number, lanes, given
        self.changing = indices(np.flatnonzero(world.hidden | (not given)))
        self.kept: Arrays = {}

    def states(self, weights: Floats, *, sweeps: int) -> Bytes:
        """Go on for some sweeps under these weights; gives the states [variable, lane] reached."""
        prepared = prepare(graph_of(self.ground, weights))
        kernel = PartialScan(self.changing) if self.given else SystematicScan()
        pack = self._pack(prepared, kernel)
        walk(prepared, kernel, pack, sweeps * len(self.changing))
        self.kept = _arrays(pack)
        return pack.values

    def sample(self, weights: Floats, *, sweeps: int) -> States:
        """Go on for some sweeps under these weights, and count in the states reached."""
        counts = self.counts(self.states(weights, sweeps=sweeps))
        return States(counts, np.full(self.lanes, 1.0 / self.lanes))

    def restore(self, kept: Arrays) -> None:
        """Go on where other chains on the same world stopped."""
        cardinality = self.ground.cardinality
        rng = generator(self.seed, self.number, self.lanes)
        values = np.zeros((len(cardinality), self.lanes), dtype=np.uint8)
        require_like(kept, {"values": values, "common": rng.common, "streams": rng.streams})
        if (kept["values"] >= cardinality[:, None]).any():
            raise InputError("the chains that were kept have values that no atom has")
        self.kept = kept

    def _pack(self, prepared: PreparedGraph, kernel: SystematicScan | PartialScan) -> Pack:
        """A pack for these weights, in the state in which the last one was left."""
        if not self.kept:
            pack = start_pack(
                prepared, kernel, seed=self.seed, number=self.number, lanes=self.lanes
            )
            if self.given:
                self._show_data(prepared.graph, pack)
            return pack
        pack = empty_pack(prepared, kernel, lanes=self.lanes)
        for name, array in _arrays(pack).items():
            array[...] = self.kept[name]
        return pack

    def _show_data(self, graph: FactorGraph, pack: Pack) -> None:
        """Begin where the data are, with hidden values that they leave possible."""
        shown = np.flatnonzero(~self.world.hidden)
        known = dict(zip(shown.tolist(), self.world.values[shown].tolist(), strict=True))
        start = np.random.SeedSequence(self.seed, spawn_key=(self.number, 1))
        pack.values[...] = self.world.values[:, None]
        pack.values[self.changing] = start_values(condition(graph, known), self.lanes, start)


def _arrays(pack: Pack) -> Arrays:
    return {"values": pack.values, "common": pack.rng.common, "streams": pack.rng.streams}
