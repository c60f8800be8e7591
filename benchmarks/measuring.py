"""What all benchmarks share: one core, the best of short turns, a table, and a JSON file.

The machine may be shared, so contestants take turns and each reports its best turn; ratios
within one run mean more than seconds. Nothing here fails because something was slow.
"""

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MILLION = 1e6

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
"""Libraries read these when they are loaded, so benchmarks import this module before them."""


def arguments(description: str) -> argparse.Namespace:
    """Read what every benchmark understands."""
    return argument_parser(description).parse_args()


def argument_parser(description: str) -> argparse.ArgumentParser:
    """A parser of what every benchmark understands, for those that understand more."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="tiny settings, a few seconds")
    parser.add_argument("--no-peers", action="store_true", help="measure only ourselves")
    parser.add_argument("--only", nargs="*", help="only these rows of the table")
    parser.add_argument("--results", type=Path, default=FOLDER / "results", metavar="FOLDER")
    return parser


def use_one_core() -> None:
    """Bind this process and its children to one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def first_and_best(work: Callable[[], float], turns: int) -> tuple[float, float]:
    """CPU seconds of the first call, and the best rate of later ones; `work` gives its amount."""
    begun = time.thread_time()
    work()
    first = time.thread_time() - begun
    return first, max(rate(work) for _ in range(turns))


def rate(work: Callable[[], float]) -> float:
    """Amount of work per second of CPU time."""
    begun = time.thread_time()
    amount = work()
    return amount / max(time.thread_time() - begun, 1e-9)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print numbers in columns, the first column being names."""
    cells = [list(columns), *([str(row[0]), *map(text, row[1:])] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(columns))]
    print(f"\n{title}\n")
    for row in cells:
        first, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join([row[0].ljust(len(first)), *rest]))
    print()


def text(value: Any) -> str:
    """Write a number with as many digits as mean something."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if value == 0 or 0.01 <= abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.1e}"


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """How many times as much; nothing when one of them is missing."""
    return ours / theirs if ours and theirs else None


def write_results(
    folder: Path,
    name: str,
    results: Mapping[str, Any],
    *,
    quick: bool,
    only: Sequence[str] | None = None,
    **about: Any,
) -> None:
    """Write `<name>.json`: the numbers, and all one needs to know to read them.

    If `only` some rows were measured, the others stay as they were; `rows` says of which commit
    and processor each one is, since the head of the file tells of the last run only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    origin = {"commit": _commit(), "processor": _processor()}
    rows = dict.fromkeys(results, origin)
    if only and path.exists():
        before = json.loads(path.read_text())
        rows = {**origins(before), **rows}
        results = {**before["results"], **results}
    record = {
        "benchmark": name,
        "quick": quick,
        "commit": _commit(),
        "processor": _processor(),
        "versions": _versions(),
        **about,
        "rows": rows,
        "results": results,
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written: {path.name}")


def origins(record: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Of which commit and processor each row of a file is; older files tell it once for all."""
    head = {key: record[key] for key in ("commit", "processor")}
    return {row: record.get("rows", {}).get(row, head) for row in record["results"]}


def _commit() -> str:
    command = ["git", "-C", str(FOLDER), "describe", "--always", "--dirty"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str]:
    import numba
    import numpy as np

    import orbitmc

    return {
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "orbitmc": orbitmc.__version__,
    }
