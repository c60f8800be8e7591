"""Does a run keep the seconds it was asked for, and the memory it predicted?

Each run is a process of its own, with machine code that is there already. The clock runs from the
question to the answer in words; the model is there before. Memory is the peak above what an
interpreter takes that has answered a small question, model included.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from measuring import arguments, print_table, write_results

RUNS = [(300, "gibbs", 10), (300, "auto", 10), (1000, "gibbs", 10), (1000, "gibbs", 30),
        (1000, "auto", 30), (1000, "gibbs", 60)]  # fmt: skip
QUICK = [(30, "gibbs", 1)]


def main() -> None:
    settings = arguments(__doc__.splitlines()[0])
    results = {}
    for side, method, seconds in QUICK if settings.quick else RUNS:
        name = f"{side}x{side} {method} {seconds} s"
        if settings.only and name not in settings.only:
            continue
        command = [sys.executable, __file__, "--child", str(side), method, str(seconds)]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        results[name] = json.loads(found.splitlines()[-1])
    columns = ["asked", "kept", "preparing", "chains", "samples", "predicted MiB", "peak MiB"]
    print_table(
        "Seconds and memory of timed runs", ["run", *columns],
        [[name, *(found[column] for column in columns)] for name, found in results.items()],
    )  # fmt: skip
    worst = max(found["kept"] / found["asked"] for found in results.values())
    print(f"the longest took {worst:.2f} times as long as asked")
    write_results(
        settings.results, "kept_seconds", results, quick=settings.quick, unit="seconds",
        repetitions=1,
    )  # fmt: skip


def child(side: int, method: str, seconds: float) -> None:
    """Answer once, and print what it took."""
    import orbitmc as om
    from orbitmc.inference.plan import sampling_bytes
    from orbitmc.inference.settings import Settings
    from orbitmc.report.answer_files import json_pieces
    from orbitmc.sampling.run import Run

    om.marginals(_grid(20), method="lmh" if method == "auto" else method, seconds=1)
    before, runs = _resident("VmRSS"), list[Run]()
    model = _grid(side)
    begun = time.perf_counter()
    found = om.marginals(model, method=method, seconds=seconds, watchers=[runs.append])
    kept = time.perf_counter() - begun
    written = sum(map(len, json_pieces(found)))
    predicted = sampling_bytes(model.graph, Settings(method=method))
    print(json.dumps({
        "asked": seconds,
        "kept": kept,
        "preparing": runs[-1].budget.preparing,
        "chains": found.about.chains,
        "samples": found.about.samples,
        "predicted MiB": predicted / 2**20,
        "peak MiB": (_resident("VmHWM") - before) / 2**20,
        "letters of JSON": written,
    }))  # fmt: skip


def _grid(side: int) -> Any:
    import numpy as np

    from orbitmc.models._ising import ising_grid

    fields = np.random.default_rng(1).uniform(-0.5, 0.5, (side, side))
    return ising_grid(side, side, 0.3, fields)


def _resident(key: str) -> int:
    """A figure of this process in bytes; the peak so far where the system tells no more."""
    status = Path("/proc/self/status")
    if not status.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    line = next(line for line in status.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
    else:
        main()
