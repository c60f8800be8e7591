"""How much memory does a million-variable grid take, and where does it go?

Each stage runs in one process; the peak of every stage is asked of the system, which is told to
forget the peak before the next one begins.
"""

import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measuring import arguments, print_table, write_results

LIMIT = 2**30
LANES, PACKS, SAMPLES = 64, 1, 3


def main() -> None:
    settings = arguments(__doc__.splitlines()[0])
    side = 50 if settings.quick else 1000
    command = [sys.executable, __file__, "--child", str(side)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    stages = [line.split("\t") for line in found.splitlines()]
    results = {name: {"peak": int(peak), "after": int(after)} for name, peak, after in stages}
    rows = [[name, s["peak"] / 2**20, s["after"] / 2**20] for name, s in results.items()]
    print_table(
        f"Memory of a {side}x{side} grid, {LANES} lanes, MiB", ["stage", "peak", "after"], rows
    )
    highest = max(stage["peak"] for stage in results.values())
    print(f"highest: {highest / 2**20:.0f} MiB, {highest / LIMIT:.2f} of 1 GiB")
    write_results(
        settings.results,
        "memory",
        results,
        quick=settings.quick,
        unit="bytes resident",
        side=side,
        lanes=LANES,
        packs=PACKS,
        repetitions=1,
    )


def child(side: int) -> None:
    """Go through the stages; prints the name, the peak and what is left of each."""
    for name in _stages(side):
        print(name, status("VmHWM"), status("VmRSS"), sep="\t", flush=True)
        forget_peak()


def _stages(side: int) -> Iterator[str]:
    """Everything from an empty process to marginals; names stages when they are over."""
    import numpy as np

    yield "start"
    from orbitmc.conditionals.prepared import prepare
    from orbitmc.kernels._gibbs import SystematicScan
    from orbitmc.models._ising import ising_grid
    from orbitmc.sampling.sampler import sample
    from orbitmc.sampling.schedule import Schedule

    yield "import"
    fields = np.random.default_rng(1).uniform(-0.5, 0.5, (side, side))
    model = ising_grid(side, side, 0.3, fields)
    yield "model"
    prepared = prepare(model.graph)
    yield "conditionals"
    run = _sample(sample, prepared, SystematicScan(), Schedule)
    yield "sampling"
    run.statistics()
    yield "statistics"


def _sample(sample: Any, prepared: Any, kernel: Any, schedule: Any) -> Any:
    return sample(
        prepared,
        kernel,
        schedule(samples=SAMPLES),
        packs=PACKS,
        lanes=LANES,
        threads=1,
    )


def status(key: str) -> int:
    """A figure of this process in bytes; the peak so far where the system tells no more."""
    status = Path("/proc/self/status")
    if not status.exists():
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    line = next(line for line in status.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    forget = Path("/proc/self/clear_refs")
    if forget.exists():
        with contextlib.suppress(OSError):  # then peaks only grow
            forget.write_text("5")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]))
    else:
        main()
