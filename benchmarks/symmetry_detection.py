"""How long does it take to find symmetries, beside igraph (BLISS) alone?

Each case runs in a process of its own with a time limit. Ours starts from the factor graph and
ends with checked generators. igraph gets the finished graph, without labels, and its time counts
from there to the generators; imports count for neither. Our first call in a fresh installation
also compiles: that is reported apart.
"""

import json
import math
import resource
import subprocess
import sys
import time

import measuring

CASES = ("grid 100x100", "chimera C8", "smokers 50", "smokers 200", "regular 1e5", "clique 1000")
QUICK_CASES = ("smokers 5", "clique 20")
SECONDS = 120  # limit for each process


def build(case):
    """The factor graph of a case."""
    import numpy as np

    from orbitmc.models._chimera import chimera
    from orbitmc.models._ising import ising, ising_grid

    if case == "grid 100x100":
        return ising_grid(100, 100, 0.3).graph
    if case == "chimera C8":
        return chimera(8, 8, 0.3).graph
    if case.startswith("smokers"):
        return smokers(int(case.split()[1]))
    if case == "regular 1e5":
        return ising(np.zeros(100_000), regular_edges(100_000, 4, seed=1), 0.3).graph
    members = int(case.split()[1])
    return ising(np.zeros(members), np.stack(np.triu_indices(members, 1), axis=1), 0.1).graph


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
    from orbitmc.models._ising import ising_grid
    from orbitmc.symmetry._automorphisms import automorphisms

    graph = build(case)
    first = time.perf_counter()
    for warm in (ising_grid(4, 4, 0.3).graph, build("smokers 5") if "smokers" in case else graph):
        automorphisms(warm)
    first = time.perf_counter() - first
    wall, cpu = time.perf_counter(), time.process_time()
    report = automorphisms(graph)
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
    from bliss import bliss_generators

    from orbitmc.symmetry.encoding import variable_graph
    from orbitmc.symmetry.terms import energy_form

    drawn = variable_graph(energy_form(build(case)))
    wall, cpu = time.perf_counter(), time.process_time()
    vertices, generators = bliss_generators(drawn, drawn.color)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"seconds": wall, "cpu": cpu, "generators": len(generators), "vertices": vertices}


def child(tool, case):
    outcome = run_ours(case) if tool == "ours" else run_igraph(case)
    outcome["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(outcome))


def measure(tool, case):
    """Run one tool on one case in a fresh process; None when it does not end in time."""
    command = [sys.executable, __file__, "--child", tool, case]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=True)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(done.stdout)


def row(case, ours, theirs):
    """Seconds, CPU seconds and megabytes of both, and how many times as long igraph took."""
    figures = ("seconds", "cpu", "megabytes")
    mine, yours = ([tool[name] if tool else None for name in figures] for tool in (ours, theirs))
    return [case, *mine, *yours, measuring.ratio(yours[1], mine[1])]


def main():
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    asked = measuring.arguments(__doc__ or "")
    measure("ours", "smokers 5")  # fill the cache of compiled code
    results = {}
    for case in QUICK_CASES if asked.quick else CASES:
        if not asked.only or case in asked.only:
            ours = measure("ours", case)
            theirs = None if asked.no_peers else measure("igraph", case)
            results[case] = {"ours": ours, "igraph": theirs}
    columns = ["case", "ours s", "cpu s", "MB", "igraph s", "cpu s", "MB", "x cpu"]
    rows = [row(case, one["ours"], one["igraph"]) for case, one in results.items()]
    measuring.print_table(f"Symmetries within {SECONDS} s, or none", columns, rows)
    measuring.write_results(
        asked.results, "symmetry_detection", results, quick=asked.quick, repetitions=1
    )


if __name__ == "__main__":
    main()
