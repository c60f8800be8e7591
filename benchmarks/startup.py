"""How long until the first answer, on a fresh install and later?

A fresh install has no machine code yet; it is made anew in an empty folder. Each command is a new
process. The last table says which compiled functions the first answer waits for.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import arguments, print_table, use_one_core, write_results
from workloads import DATA

LONGEST_LATER_ANSWER = 3.0  # seconds; what we aim at
SAMPLES = "1000"
ORBITMC = [sys.executable, "-m", "orbitmc"]


def main() -> None:
    settings = arguments(__doc__.splitlines()[0])
    use_one_core()
    turns = 1 if settings.quick else 5
    network = DATA / "bn-bif" / "alarm.bif"
    results: dict[str, Any] = {
        "python": best([sys.executable, "-c", "pass"], turns),
        "import orbitmc": best([sys.executable, "-c", "import orbitmc"], turns),
        "orbitmc --help": best([*ORBITMC, "--help"], turns),
    }
    if network.exists():
        infer = [*ORBITMC, "infer", str(network), "-q", "--samples", SAMPLES, "--method"]
        results["later infer, exact"] = best([*infer, "exact"], turns)
        if not settings.quick:
            results |= fresh_and_later([*infer, "gibbs"], turns)
    print_table(
        "Seconds of a whole process",
        ["command", "CPU", "wall"],
        [[name, found["cpu"], found["wall"]] for name, found in results.items()],
    )
    functions = {} if settings.quick or not network.exists() else compilations(network)
    show_functions(functions)
    write_results(
        settings.results,
        "startup",
        {"commands": results, "compiled": functions},
        quick=settings.quick,
        unit="seconds",
        repetitions=turns,
    )


def best(command: list[str], turns: int, **environment: str) -> dict[str, float]:
    """The shortest of several runs, by CPU time."""
    return min((once(command, **environment) for _ in range(turns)), key=lambda t: t["cpu"])


def once(command: list[str], **environment: str) -> dict[str, float]:
    before, begun = _children(), time.perf_counter()
    subprocess.run(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return {"cpu": _children() - before, "wall": time.perf_counter() - begun}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fresh_and_later(command: list[str], turns: int) -> dict[str, dict[str, float]]:
    """The same command with an empty cache, and with the cache that it left."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": ""}
        first = once(command, **cache)
        later = best(command, turns, **cache)
    if later["wall"] > LONGEST_LATER_ANSWER:
        print(f"a later answer took more than {LONGEST_LATER_ANSWER:g} s", file=sys.stderr)
    return {"first infer, gibbs": first, "later infer, gibbs": later}


COMPILE = """
import json, sys, time
from numba.core import event
import orbitmc

class Clock(event.Listener):
    seen = []
    def on_start(self, e): self.note(e)
    def on_end(self, e): self.note(e)
    def note(self, e):
        function = e.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__name__}"
        self.seen.append((name, e.is_start, time.process_time()))

event.register("numba:compile", Clock())
orbitmc.marginals(orbitmc.read(sys.argv[1]), method="gibbs", samples=100)
print(json.dumps(Clock.seen))
"""


def compilations(network: Path) -> dict[str, float]:
    """Seconds of CPU time that each outermost compiled function takes, callees included."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": ""}
        command = [sys.executable, "-c", COMPILE, str(network)]
        said = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout
    found: dict[str, float] = {}
    begun: list[float] = []
    for name, is_start, when in json.loads(said):
        if is_start:
            begun.append(when)
        else:
            first = begun.pop()
            if not begun:
                found[name] = found.get(name, 0.0) + when - first
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def show_functions(functions: dict[str, float]) -> None:
    rows = [[name, seconds] for name, seconds in functions.items()]
    if rows:
        print_table("Compiled for the first answer", ["function", "CPU seconds"], rows)


if __name__ == "__main__":
    main()
