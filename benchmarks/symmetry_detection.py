"""How long does it take to find symmetries, beside igraph (BLISS) alone?

Each case runs in a process of its own with a time limit. Ours starts from the factor graph and
ends with checked generators. igraph gets the finished graph, without labels, and its time counts
from there to the generators; imports count for neither. Our first call in a fresh installation
also compiles: that is reported apart.

    python benchmarks/symmetry_detection.py [--seconds 60] [--json FILE]
"""

import argparse
import json
import math
import platform
import resource
import subprocess
import sys
import time

CASES = ("grid 100x100", "chimera C8", "smokers 50", "smokers 200", "regular 1e5", "clique 1000")


def build(case):
    """The factor graph of a case."""
    import numpy as np

    from orbitmc.models.chimera import chimera
    from orbitmc.models.ising import ising, ising_grid

    if case == "grid 100x100":
        return ising_grid(100, 100, 0.3).graph
    if case == "chimera C8":
        return chimera(8, 8, 0.3).graph
    if case.startswith("smokers"):
        return smokers(int(case.split()[1]))
    if case == "regular 1e5":
        return ising(np.zeros(100_000), regular_edges(100_000, 4, seed=1), 0.3).graph
    return ising(np.zeros(1000), np.stack(np.triu_indices(1000, 1), axis=1), 0.1).graph


def smokers(people):
    """Smokes(x) => Cancer(x); Friends(x, y) & Smokes(x) => Smokes(y) for x != y."""
    import numpy as np

    from orbitmc.graph.builder import Builder

    person = np.arange(people)
    builder = Builder(np.full(2 * people + people * people, 2))
    number = builder.add_table([0.0, 1.5])
    builder.add_clauses(np.stack([person, people + person], 1), [[0, 1]] * people, number)
    x, y = np.nonzero(~np.eye(people, dtype=bool))
    scopes = np.stack([2 * people + people * x + y, x, y], axis=1)
    builder.add_clauses(scopes, np.tile([0, 0, 1], (len(x), 1)), builder.add_table([0.0, 1.1]))
    return builder.build()


def regular_edges(count, degree, seed):
    """Pair up half-edges at random until there are no loops or double edges."""
    import numpy as np

    rng = np.random.default_rng(seed)
    ends = rng.permutation(np.repeat(np.arange(count), degree)).reshape(-1, 2)
    while True:
        ends.sort(axis=1)
        _, first = np.unique(ends @ np.array([count, 1]), return_index=True)
        bad = np.ones(len(ends), dtype=bool)
        bad[first] = False
        bad |= ends[:, 0] == ends[:, 1]
        if not bad.any():
            return ends
        bad[rng.integers(len(ends), size=8 + int(bad.sum()))] = True
        ends[bad] = rng.permutation(ends[bad].reshape(-1)).reshape(-1, 2)


def run_ours(case):
    from orbitmc.models.ising import ising_grid
    from orbitmc.symmetry.automorphisms import automorphisms

    graph = build(case)
    first = time.perf_counter()
    for warm in (ising_grid(4, 4, 0.3).graph, build("smokers 5") if "smokers" in case else graph):
        automorphisms(warm, bliss=False)
    first = time.perf_counter() - first
    wall, cpu = time.perf_counter(), time.process_time()
    report = automorphisms(graph, bliss=False)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    order = None if report.order is None else round(float(math.log10(report.order)), 3)
    generators = len(report.group.start) - 1
    return {
        "seconds": wall,
        "cpu": cpu,
        "warm_up": first,
        "generators": generators,
        "log10_order": order,
        "complete": report.complete,
    }


def run_igraph(case):
    import igraph
    import numpy as np

    from orbitmc.symmetry.bliss import plain_graph
    from orbitmc.symmetry.encoding import variable_graph
    from orbitmc.symmetry.energy_form import energy_form

    drawn = variable_graph(energy_form(build(case)))
    edges, colors = plain_graph(drawn, drawn.color, np.ones(drawn.vertices, dtype=bool))
    _, color = np.unique(colors, return_inverse=True)
    wall, cpu = time.perf_counter(), time.process_time()
    graph = igraph.Graph(n=len(colors), edges=edges, directed=False)
    generators = graph.automorphism_group(color=color.tolist())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"seconds": wall, "cpu": cpu, "generators": len(generators), "vertices": len(colors)}


def child(tool, case):
    outcome = run_ours(case) if tool == "ours" else run_igraph(case)
    outcome["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(outcome))


def measure(tool, case, seconds):
    """Run one tool on one case in a fresh process; None when it does not end in time."""
    command = [sys.executable, __file__, "--child", tool, case]
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def row(case, ours, theirs, seconds):
    mine = f"{ours['seconds']:8.2f} {ours['cpu']:7.2f} {ours['megabytes']:6.0f}" if ours else "—"
    if theirs is None:
        return f"{case:14s} {mine} {'> ' + str(seconds):>9s} {'':>7s} {'':>6s} {'':>8s}"
    yours = f"{theirs['seconds']:9.2f} {theirs['cpu']:7.2f} {theirs['megabytes']:6.0f}"
    return f"{case:14s} {mine} {yours} {theirs['cpu'] / ours['cpu']:7.1f}x"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", nargs=2, metavar=("TOOL", "CASE"), help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=120, help="limit per process")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    measure("ours", "smokers 5", 600)  # fill the cache of compiled code
    print(f"{'case':14s} {'ours s':>8s} {'cpu s':>7s} {'MB':>6s} ", end="")
    print(f"{'igraph s':>9s} {'cpu s':>7s} {'MB':>6s} {'ratio':>8s}")
    results = {}
    for case in CASES:
        ours, theirs = (measure(tool, case, arguments.seconds) for tool in ("ours", "igraph"))
        results[case] = {"ours": ours, "igraph": theirs}
        print(row(case, ours, theirs, arguments.seconds), flush=True)
    if arguments.json:
        about = {"python": platform.python_version(), "machine": platform.machine()}
        with open(arguments.json, "w") as file:
            json.dump({"about": about, "cases": results}, file, indent=1)


if __name__ == "__main__":
    main()
