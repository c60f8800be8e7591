"""How long do all marginals of munin1 and link take, beside peers?

On these networks the order of elimination matters most. Without evidence, in CPU seconds of one
core, the file read and our code compiled before. aGrUM's lazy propagation and pgmpy's variable
elimination run in child processes that may take `--limit` wall seconds and `--peer-memory` GiB; one
that takes more has no number.
"""

import subprocess
import time
from typing import Any

import measuring
import peers
from questions import ask_peer, networks

import orbitmc as om
from orbitmc.exact import order

NETWORKS, QUICK = ("munin1", "link"), ("asia",)
TURNS = 3


def main() -> None:
    parser = measuring.argument_parser(__doc__)
    parser.add_argument("--limit", type=float, default=600.0, help="wall seconds of a peer")
    parser.add_argument("--peer-memory", type=float, default=12.0, help="GiB of a peer")
    options = parser.parse_args()
    measuring.use_one_core()
    wanted = options.only or (QUICK if options.quick else NETWORKS)
    results = {name: measured(name, options) for name in wanted if name in networks()}
    columns = ["network", "variables", "orbitmc", "MiB", "pyagrum", "pgmpy"]
    rows = [[name, *(one.get(key) for key in columns[1:])] for name, one in results.items()]
    measuring.print_table("CPU seconds of all marginals, without evidence", columns, rows)
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
