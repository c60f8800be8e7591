"""How long until the first answer, on a fresh install and later?

A fresh install has no machine code yet; it is made anew in an empty folder, by commands one after
the other, each a new process. An earlier release is measured in the same run, from a work tree of
its own, if git has it here. The last table says which compiled functions the first answer waits
for.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import argument_parser, print_table, use_one_core, write_results
from workloads import DATA

ROOT = Path(__file__).parent.parent
ORBITMC = ["-m", "orbitmc"]
NETWORKS = DATA / "bn-bif"
ALARM, ASIA, INSURANCE = (str(NETWORKS / f"{name}.bif") for name in ("alarm", "asia", "insurance"))
RING = str(ROOT / "examples" / "ring.uai")
LMH = ["--samples", "1000", "--method", "lmh"]


JUMP = """
import sys, orbitmc as om
chosen = {"families": [sys.argv[2]], "period": 10}
om.marginals(om.read(sys.argv[1]), method="lmh", samples=1000, moves=chosen)
"""


def jump_by(family: str) -> list[str]:
    return ["-c", JUMP, RING, family]


FIRST = {
    "first demo": [*ORBITMC, "demo"],
    "then first infer, lmh": [*ORBITMC, "infer", ALARM, *LMH],
    "then a family of jumps": jump_by("flip"),
    "then a further family": jump_by("clusters"),
    "then first symmetry, 27 variables": [*ORBITMC, "symmetry", INSURANCE],
    "then second infer, alarm": [*ORBITMC, "infer", ALARM],
}
"""Commands from an empty folder, in this order."""

EARLIER = "855ad9b"  # the last release that kept machine code as Numba does
ANSWERS = (0, 3)  # exit codes: an answer, or one that has not converged


def main() -> None:
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument(
        "--before", metavar="COMMIT", default=EARLIER, help=f"beside ours, default {EARLIER}"
    )
    settings = parser.parse_args()
    use_one_core()
    turns = 1 if settings.quick else 5
    results: dict[str, Any] = {
        "python": best([sys.executable, "-c", "pass"], turns),
        "import orbitmc": best([sys.executable, "-c", "import orbitmc"], turns),
        "orbitmc --help": best([sys.executable, *ORBITMC, "--help"], turns),
    }
    whole = NETWORKS.exists() and not settings.quick
    if NETWORKS.exists():
        results["orbitmc infer, asia"] = best([sys.executable, *ORBITMC, "infer", ASIA], turns)
    if whole:
        results |= from_nothing(ROOT)
    print_table(
        "Seconds of a whole process",
        ["command", "CPU", "wall", "MB"],
        [[name, found["cpu"], found["wall"], found["MB"]] for name, found in results.items()],
    )
    before = compare_with(settings.before, results) if whole and is_here(settings.before) else {}
    functions = compilations(Path(ALARM)) if whole else {}
    show_functions(functions)
    write_results(
        settings.results,
        "startup",
        {"commands": results, "before": before, "compiled": functions},
        quick=settings.quick,
        unit="seconds",
        repetitions=turns,
    )


def from_nothing(root: Path) -> dict[str, dict[str, float]]:
    """The usual first commands of a work tree, with a folder for machine code that is empty."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "XDG_CACHE_HOME": folder,
            "NUMBA_CACHE_DIR": "",
            "PYTHONPATH": str(root / "src"),
        }
        return {
            name: once([sys.executable, *words], **environment) for name, words in FIRST.items()
        }


def is_here(commit: str) -> bool:
    """Whether git can give the files of a commit; a copy of the sources may have no history."""
    asked = ["git", "-C", str(ROOT), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def compare_with(commit: str, ours: dict[str, Any]) -> dict[str, dict[str, float]]:
    with work_tree(commit) as root:
        before = from_nothing(root)
    rows = [[name, found["cpu"], ours[name]["cpu"]] for name, found in before.items()]
    print_table("CPU seconds from nothing", ["command", f"at {commit[:12]}", "now"], rows)
    return before


@contextmanager
def work_tree(commit: str) -> Iterator[Path]:
    """The files of a commit, for as long as they are needed."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def best(command: list[str], turns: int, **environment: str) -> dict[str, float]:
    """The shortest of several runs, by CPU time."""
    return min((once(command, **environment) for _ in range(turns)), key=lambda t: t["cpu"])


def once(command: list[str], **environment: str) -> dict[str, float]:
    """CPU and wall seconds of a process, and the most memory that it had."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=said, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in ANSWERS:
            said.seek(0)
            raise RuntimeError(f"{' '.join(command)} failed: {said.read()}")
    wall = time.perf_counter() - begun
    return {"cpu": used.ru_utime + used.ru_stime, "wall": wall, "MB": used.ru_maxrss / 1024}


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
