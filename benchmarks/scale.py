"""How do time and memory grow from ten thousand variables to four million?

Friends and smokers with open friendships, where everybody smokes depending on all others, and Ising
grids. Each row is a process of its own, asked for marginals in some seconds with all defaults:
packs, lanes and steps between samples are chosen for it. Building, preparing and answering are
seconds of CPU time; a sample of four sweeps is counted in nanoseconds for each variable and chain.
`memory ns` is how long memory alone would take for that, at the pace at which one core of this
machine adds to a large array: every sweep reads and writes all states and reads the conditionals,
and states again where factors are added up; a sample adds to its sums.
"""

import json
import subprocess
import sys
import time
from typing import Any

from measuring import argument_parser, print_table, write_results
from memory import status

SECONDS = 10.0
SWEEPS = 4  # of a sample whose time is measured
SIZES = {"smokers": (100, 316, 1000, 2000), "Ising": (100, 316, 1000, 2000)}
MEMORY = {"smokers": 4 * 2**30, "Ising": 6 * 2**30}  # the usual limit; four million spins need more
QUICK = {"smokers": (12,), "Ising": (12,)}
COLUMNS = (
    *("model", "variables", "factors", "build s", "prepare s", "answer s", "chains", "samples"),
    *("ns a sample", "memory ns", "build µs", "peak MiB"),
)


def main() -> None:
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a run")
    asked = parser.parse_args()
    seconds = 0.1 if asked.quick else asked.seconds
    results: dict[str, Any] = {}
    for kind, sizes in (QUICK if asked.quick else SIZES).items():
        for size in sizes:
            name = f"{kind} {size}"
            if asked.only and name not in asked.only:
                continue
            command = [sys.executable, __file__, "--child", kind, str(size), str(seconds)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            results[name] = json.loads(done.stdout)
            print(f"{name}: {results[name]}", file=sys.stderr, flush=True)
    rows = [[name, *(found[column] for column in COLUMNS[1:])] for name, found in results.items()]
    print_table(f"Runs of {seconds:g} s", COLUMNS, rows)
    write_results(
        asked.results, "scale", results, quick=asked.quick, repetitions=1, seconds=seconds
    )


def child(kind: str, size: int, seconds: float) -> None:
    """Build a model, ask for its marginals, and print what all of it took."""
    from orbitmc.inference.answer import run_chains, summarise_run
    from orbitmc.inference.plan import plan_model
    from orbitmc.inference.settings import Settings

    compile_all(kind)
    watch = Watch()
    model, program = built(kind, size)
    build = watch()
    decision = plan_model(
        model, Settings(method="gibbs", seconds=seconds, seed=1, memory=MEMORY[kind])
    )
    run, chosen = run_chains(decision, (), program and program.ground)
    watch()
    found = summarise_run(run, decision, chosen)
    told = found if program is None else program.in_atoms(found)
    answering, peak = watch(), status("VmHWM")  # what follows only measures
    graph = model.graph
    print(
        json.dumps(
            {
                "variables": graph.variables,
                "factors": graph.factors,
                "build s": build,
                "prepare s": run.budget.preparing,
                "answer s": answering,
                "chains": told.about.chains,
                "samples": told.about.samples,
                "sweeps": run.spacing / graph.variables,
                "ns a sample": nanoseconds(run),
                "memory ns": moved_bytes(run) / bytes_per_nanosecond(),
                "build µs": 1e6 * build / graph.variables,
                "peak MiB": peak / 2**20,
            }
        )
    )


class Watch:
    """CPU seconds of this process since it was last asked."""

    def __init__(self) -> None:
        self.last = time.process_time()

    def __call__(self) -> float:
        before, self.last = self.last, time.process_time()
        return self.last - before


def built(kind: str, size: int) -> tuple[Any, Any]:
    """A model, and the program that it means, if there is one."""
    import numpy as np

    import orbitmc

    if kind == "Ising":
        fields = np.random.default_rng(1).uniform(-0.5, 0.5, (size, size))
        return orbitmc.ising_grid(size, size, 0.3, fields), None
    from orbitmc.inference.program import ground_program
    from orbitmc.models._friends import friends

    program = ground_program(*friends(size))
    return program.model, program


def compile_all(kind: str) -> None:
    """Answer for a small model in packs of all sizes, so that nothing is compiled later."""
    import orbitmc

    for lanes in (64, 32):
        orbitmc.marginals(built(kind, 70)[0], method="gibbs", samples=2, packs=1, lanes=lanes)


def nanoseconds(run: Any) -> float:
    """What one sample takes for each variable and chain, in CPU time."""
    from orbitmc.sampling.pack import advance

    best = float("inf")
    for turn in range(3):
        begun = time.process_time()
        advance(
            run.prepared, run.kernel, run.packs[0], recorded=4 + turn, samples=1,
            spacing=SWEEPS * run.graph.variables,
        )  # fmt: skip
        best = min(best, time.process_time() - begun)
    return 1e9 * best / (run.graph.variables * run.lanes)


def moved_bytes(run: Any) -> float:
    """What one sample reads and writes at least, for each variable and chain."""
    from orbitmc.sampling.budget import array_bytes

    known, variables = run.prepared.conditionals, run.graph.variables
    groups = known.groups
    read = (known.path, known.neighbour_start, known.neighbour, known.role, known.start)
    read += (known.limit, groups.literal, groups.unwanted, groups.long_start)
    rows = 2 * variables + len(groups.literal) / 2  # of the states that clauses read, half are near
    sweep = array_bytes(read) + rows * run.lanes
    recording = sweep + 2 * run.packs[0].tally.sums[0].nbytes
    return (SWEEPS * sweep + recording) / (variables * run.lanes)


def bytes_per_nanosecond() -> float:
    """How fast one core reads and writes memory beyond its caches, in CPU time."""
    import numpy as np

    numbers, best = np.ones(2**25), float("inf")
    for _ in range(5):
        begun = time.process_time()
        numbers += 1.0
        best = min(best, time.process_time() - begun)
    return 2 * numbers.nbytes / (1e9 * best)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
