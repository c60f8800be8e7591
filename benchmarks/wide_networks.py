"""How long do all marginals of munin1 and link take, beside peers?

On these networks the order of elimination matters most. Without evidence, in CPU seconds of one
core, the file read and our code compiled before. aGrUM's lazy propagation and pgmpy's variable
elimination run in child processes that may take `--limit` wall seconds and `--peer-memory` GiB; one
that takes more has no number.

Then elimination alone, once its order is known, also of UAI problems without their evidence. Each
entry of a bucket counts three operations for each table that the bucket reads: one upward, two
downward. `of product` is what was done as products of matrices, over the best that the processor
does as one such product of doubles.
"""

import math
import subprocess
import time
from pathlib import Path
from typing import Any

import measuring
import peers
from questions import ask_peer, networks
from yardstick import matrix_product

import orbitmc as om
from orbitmc.exact import order
from orbitmc.exact.blocks import Block
from orbitmc.exact.plan import EliminationPlan, predict

NETWORKS, QUICK = ("munin1", "link"), ("asia",)
PROBLEMS = ("ObjectDetection_15", "ObjectDetection_17", "Grids_17", "linkage_13")
SUFFIXES = (".uai", ".uai.gz")
TURNS = 3
MEMORY = 2**33


def main() -> None:
    parser = measuring.argument_parser(__doc__)
    parser.add_argument("--limit", type=float, default=600.0, help="wall seconds of a peer")
    parser.add_argument("--peer-memory", type=float, default=12.0, help="GiB of a peer")
    parser.add_argument("--data", type=Path, help="a folder of UAI problems")
    options = parser.parse_args()
    measuring.use_one_core()
    wanted = options.only or (QUICK if options.quick else (*NETWORKS, *PROBLEMS))
    results = {name: measured(name, options) for name in wanted if name in networks()}
    columns = ["network", "variables", "orbitmc", "MiB", "pyagrum", "pgmpy"]
    rows = [[name, *(one.get(key) for key in columns[1:])] for name, one in results.items()]
    measuring.print_table("CPU seconds of all marginals, without evidence", columns, rows)
    most = matrix_product()
    models = {name: networks()[name] for name in wanted if name in networks()}
    if options.data is not None:
        files = [options.data / f"{name}{suffix}" for name in wanted for suffix in SUFFIXES]
        models |= {path.name.split(".")[0]: path for path in files if path.exists()}
    alone = {f"elimination, {name}": elimination(path, most) for name, path in models.items()}
    columns = ["network", "predicted", "seconds", "G operations", "a second", "of product"]
    print(f"one product of matrices: {most:.1f} G operations a second")
    rows = [[name, *one.values()] for name, one in alone.items()]
    measuring.print_table("CPU seconds of elimination alone", columns, rows)
    results |= alone
    about = {"quick": options.quick, "only": options.only, "repetitions": TURNS}
    measuring.write_results(options.results, "wide_networks", results, **about)


def measured(name: str, options: Any) -> dict[str, Any]:
    path = networks()[name]
    model = om.read(path)
    plan = om.exact.predict(model.graph)
    found: dict[str, Any] = {"variables": len(model.order), "MiB": plan.bytes / 2**20}
    found["orbitmc"] = min(_seconds(om.read(path)) for _ in range(TURNS))
    for peer in () if options.no_peers else filter(is_there, ("pyagrum", "pgmpy")):
        begun = time.perf_counter()
        told = ask_peer(peer, path, [{}], options.limit, gigabytes=options.peer_memory)
        found[peer] = None if told is None else told["seconds"][0]
        late = time.perf_counter() - begun >= options.limit
        found[f"{peer} ended"] = (
            f"more than {options.limit:.0f} s" if late else f"more than {options.peer_memory:g} GiB"
        )
    print(name, found, flush=True)
    return found


def elimination(path: Path, most: float) -> dict[str, float]:
    """Seconds and operations of all marginals, once there is a plan."""
    graph = om.read(path).graph
    plan = predict(graph, memory=MEMORY)
    seconds = math.inf
    for _ in range(1 + TURNS):  # the first one loads machine code
        begun = time.process_time()
        om.exact.marginals(graph, plan=plan, memory=MEMORY)
        seconds = min(seconds, time.process_time() - begun)
    tree = plan.tree
    operations = 3e-9 * sum(tree.table_entries(v) * len(tree.pieces(v)) for v in plan.order)
    return {
        "predicted": plan.seconds,
        "seconds": seconds,
        "operations": operations,
        "a second": operations / seconds,
        "of product": matrix_operations(plan) / seconds / most,
    }


def matrix_operations(plan: EliminationPlan) -> float:
    """G operations of all products of matrices, upward and downward."""
    total = 0.0
    for block in (step for steps in plan.steps.of_region for step in steps):
        if isinstance(block, Block):
            _, *sides = ([plan.tree.sizes[v] for v in scope] for scope in block.layout)
            total += 6e-9 * math.prod(map(math.prod, sides))
    return total


def is_there(peer: str) -> bool:
    """Whether a peer is installed in the environment of peers."""
    found = subprocess.run([str(peers.python()), "-c", f"import {peer}"], capture_output=True)
    return found.returncode == 0


def _seconds(model: om.Model) -> float:
    """The first question to a model; orders that were found before are forgotten."""
    order.REMEMBERED_ORDERS.clear()
    order.KEPT_OF_GRAPHS.clear()
    begun = time.process_time()
    om.marginals(model, method="exact")
    return time.process_time() - begun


if __name__ == "__main__":
    main()
