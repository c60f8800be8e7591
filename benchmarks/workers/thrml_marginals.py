"""THRML: block Gibbs on JAX, one block per colour, many chains at once."""

import os
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import networkx as nx
import numpy as np
from jax import numpy as jnp
from protocol import Turn, serve, setting, two_values
from thrml import Block, MomentAccumulatorObserver, SamplingSchedule, SpinNode
from thrml.block_sampling import sample_with_observation
from thrml.models.ising import IsingEBM, IsingSamplingProgram, hinton_init

CHAINS = setting("THRML_CHAINS", 64)
UPDATES_PER_CALL = 2e6  # a call cannot be cut short


class BlockGibbs:
    """Chains that go on where the last call left them; moments are gathered inside."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.nodes = [SpinNode() for _ in model["fields"]]
        edges = [(self.nodes[a], self.nodes[b]) for a, b in model["edges"]]
        fields, couplings = jnp.array(model["fields"]), jnp.array(model["couplings"])
        self.model = IsingEBM(self.nodes, edges, fields, couplings, jnp.array(1.0))
        self.blocks = [Block([self.nodes[k] for k in part]) for part in colours(model)]
        program = IsingSamplingProgram(self.model, self.blocks, [])
        self.samples = max(1, int(UPDATES_PER_CALL / (CHAINS * len(self.nodes))))
        schedule = SamplingSchedule(0, self.samples, 1)
        moments = MomentAccumulatorObserver([[(node,) for node in self.nodes]])
        last = LastState(moments, self.blocks)

        def one_chain(key: Any, state: Any) -> Any:
            (sums, state), _ = sample_with_observation(
                key, program, schedule, state, [], (moments.init(), state), last
            )
            return sums[0], state

        self.call = jax.jit(jax.vmap(one_chain))

    def run(self, seconds: float, seed: int) -> tuple[int, list[list[float]]]:
        key = jax.random.key(seed)
        state = hinton_init(key, self.model, self.blocks, (CHAINS,))
        up, recorded, updates, turn = np.zeros(len(self.nodes)), 0, 0, Turn(seconds)
        while turn.lasts() or not recorded:
            key, now = jax.random.split(key)
            sums, state = self.call(jax.random.split(now, CHAINS), state)
            sums = np.asarray(sums)
            updates += self.samples * CHAINS * len(self.nodes)
            if not turn.warming():
                up += sums.sum(axis=0)
                recorded += self.samples * CHAINS
        return updates, two_values(up, recorded)


class LastState:
    """An observer that adds moments and also remembers where the chain is."""

    def __init__(self, moments: MomentAccumulatorObserver, blocks: list[Block]) -> None:
        self.moments, self.blocks = moments, blocks

    def __call__(self, program: Any, free: Any, clamped: Any, carry: Any, iteration: Any) -> Any:
        sums, _ = self.moments(program, free, clamped, carry[0], iteration)
        return (sums, free), None


def colours(model: dict[str, Any]) -> list[list[int]]:
    """Sets of spins without couplings among them."""
    graph = nx.Graph(model["edges"])
    graph.add_nodes_from(range(len(model["fields"])))
    if nx.is_bipartite(graph):
        colour = nx.bipartite.color(graph)
    else:
        colour = nx.greedy_color(graph, strategy="saturation_largest_first")
    return [[k for k in colour if colour[k] == c] for c in range(max(colour.values()) + 1)]


if __name__ == "__main__":
    serve("thrml", BlockGibbs)
