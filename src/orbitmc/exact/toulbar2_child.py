"""Solve a cost function network: a program of its own, which reads one file and writes another.

It imports nothing of this package, so that it starts quickly. The solver keeps its state in global
variables and takes signals for itself; in a process of its own it can be stopped at any time.
"""

import json
import math
import sys
import time

import numpy as np

FORBIDDEN = -1


def main(source: str, target: str, seconds: int) -> None:
    """Read a problem, solve it, and write what is known of it."""
    import pytoulbar2

    with np.load(source) as arrays:
        sizes, scope_start, scope = (arrays[k].tolist() for k in ("sizes", "scope_start", "scope"))
        cost_start, cost, most = arrays["cost_start"].tolist(), arrays["cost"], int(arrays["most"])
    network = pytoulbar2.CFN(ubinit=most)
    for variable, size in enumerate(sizes):
        network.AddVariable(f"v{variable}", range(size))
    for factor in range(len(scope_start) - 1):
        costs = cost[cost_start[factor] : cost_start[factor + 1]].tolist()
        members = scope[scope_start[factor] : scope_start[factor + 1]]
        network.AddFunction(members, [math.inf if c == FORBIDDEN else c for c in costs])
    begun = time.process_time()
    answer = network.Solve(timeLimit=seconds)
    values = None if answer is None else [int(value) for value in answer[0]]
    dual, early = network.GetDDualBound(), time.process_time() - begun < 0.9 * seconds
    known = {"values": values, "dual": dual if math.isfinite(dual) else None, "early": early}
    with open(target, "w", encoding="ascii") as file:
        json.dump(known, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
