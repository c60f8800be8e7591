"""What does a jump cost beside the Gibbs updates that touch the same factors?

The table divides the time of a jump by the time of as many Gibbs updates as it looks at variables;
1 means that proposing new places for values costs as much as drawing values. Both look at as many
variables in a turn, so that starting compiled code weighs the same. Half of the permutations of
two members leave both in place; such jumps count, and they are cheap. A swap of differing members
picks its pair in each lane, and so looks at the whole block. `moved` are variables that got a new
value, in all lanes.
"""

from collections.abc import Callable
from typing import Any

import measuring
import numpy as np
import workloads

from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.groups._exchange_blocks import ExchangeBlocks
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.metropolis import ACCEPTED, MOVED, NULL, PROPOSALS
from orbitmc.kernels.protocol import Kernel
from orbitmc.sampling.pack import Pack, start_pack, walk
from orbitmc.symmetry.blocks import blocks

LANES = 64
MEMBERS = 20


def blocks_of(graph: FactorGraph) -> ExchangeBlocks:
    """Blocks of about twenty variables, as if the whole model were one orbit."""
    degree = np.diff(graph.incident_start.astype(np.int64)).mean()
    orbit = np.zeros(graph.variables, dtype=np.int64)
    return blocks(graph, orbit, max_moved=int(MEMBERS * degree))


def started(prepared: PreparedGraph, kernel: Kernel) -> Pack:
    """A pack near its distribution, its counts at zero."""
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=LANES)
    calm = SystematicScan()
    memory = start_pack(prepared, calm, seed=1, number=0, lanes=LANES)
    walk(prepared, calm, memory, 20 * prepared.graph.variables)
    np.copyto(pack.values, memory.values)
    return pack


def seconds_per_step(
    prepared: PreparedGraph, kernel: Kernel, steps: int, turns: int
) -> tuple[float, Pack]:
    pack = started(prepared, kernel)

    def work() -> float:
        walk(prepared, kernel, pack, steps)
        return float(steps)

    _, best = measuring.first_and_best(work, turns)
    return 1.0 / best, pack


def jumps(prepared: PreparedGraph) -> dict[str, tuple[float, Kernel]]:
    """Jumps by title: how many variables each looks at, and its kernel."""
    exchanged = blocks_of(prepared.graph)
    members = len(exchanged.member) / exchanged.blocks
    found: dict[str, tuple[float, Kernel]] = {
        "whole block": (members, shuffle(prepared, exchanged)),
    }
    for title, size in (("four members", 4), ("two members", 2)):
        found[title] = (float(size), shuffle(prepared, exchanged, rows=size))
    return found


def cost_rows(name: str, graph: FactorGraph, steps: int, turns: int) -> list[list[Any]]:
    prepared = prepare(graph)
    update, _ = seconds_per_step(prepared, RandomScan(), steps, turns)
    rows = []
    for title, (size, kernel) in jumps(prepared).items():
        jump, pack = seconds_per_step(prepared, kernel, int(steps / size) + 1, turns)
        tried = pack.outcomes[PROPOSALS] - pack.outcomes[NULL]
        moved = pack.outcomes[MOVED] / pack.outcomes[PROPOSALS] * LANES / jump
        rows.append(
            [
                f"{name}, {title}",
                size,
                update * 1e9,
                jump * 1e9,
                LANES / update / measuring.MILLION,
                LANES * size / jump / measuring.MILLION,
                float(moved) / measuring.MILLION,
                jump / (size * update),
                float(pack.outcomes[ACCEPTED] / max(tried, 1)),
            ]
        )
    return rows


def models(quick: bool) -> dict[str, Callable[[], Any]]:
    chosen = workloads.speed_workloads(quick=quick)
    return {name: chosen[name] for name in ("Ising grid", "45 neighbours", "ternary grid")}


def main() -> None:
    asked = measuring.arguments(__doc__ or "")
    measuring.use_one_core()
    steps, turns = (200, 1) if asked.quick else (100_000, 10)
    costs = [
        row
        for name, make in models(asked.quick).items()
        if not asked.only or name in asked.only
        for row in cost_rows(name, make().model.graph, steps, turns)
    ]
    columns = ["jump", "variables", "update ns", "jump ns", "M updates/s", "M looked at/s"]
    columns += ["M moved/s", "cost", "accepted"]
    measuring.print_table("Jumps beside Gibbs updates of as many variables", columns, costs)
    measuring.write_results(
        asked.results,
        "orbital_moves",
        {"costs": costs},
        quick=asked.quick,
        repetitions=turns,
    )


if __name__ == "__main__":
    main()
