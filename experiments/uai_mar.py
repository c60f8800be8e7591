"""UAI 2014, task MAR: mean Hellinger distance of our answer after ten seconds and after sixty.

The method is `auto`: exact where that is affordable, else Lifted Metropolis-Hastings with raced
jumps. The distance is the mean over variables that are not observed, as in the competition; the
published answers have six decimals, so distances below about 1e-4 are rounding. Relational
instances come first. Each instance has a process and a limit of memory of its own, and its rows
are written as they come; what is in the table already is not measured again.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from figure import FOLDER, SHARED, note, write

import orbitmc as om
from orbitmc.compare import divergence, manifest_text, read_evidence, read_mar

FOLDERS = ("uai2014-relational", "uai2014-mar")
COLUMNS = ("instance", "seconds", "took", "method", "hellinger", "kl_of_truth", "verdicts", "why")
MEMORY = 12 * 10**9  # bytes of addresses for one instance
PATIENCE = 300  # seconds for reading, compiling and what else is not counted


def instances(data: Path, only: Sequence[str], part: str) -> list[Path]:
    """Published answers, relational ones first; part `2/3` is every third, from the second on."""
    found = [path for name in FOLDERS for path in sorted((data / name).glob("*.uai.MAR"))]
    wanted = [path for path in found if not only or path.name.split(".")[0] in only]
    first, step = (int(word) for word in part.split("/"))
    return wanted[first - 1 :: step]


def in_a_child(answer: Path, seconds: Sequence[float]) -> list[list[str]]:
    """Rows of one instance; if it fails, they say so."""
    name = answer.name.split(".")[0]
    command = [sys.executable, __file__, "--child", str(answer), "--seconds", *map(str, seconds)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE + 3 * sum(seconds),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
    except subprocess.TimeoutExpired:
        return [failure(name, limit, "no end within the time allowed") for limit in seconds]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    last = (done.stderr.strip().splitlines() or ["no word"])[-1]
    missing = [failure(name, limit, f"failed: {last}") for limit in seconds[len(rows) :]]
    return rows + missing


def failure(name: str, seconds: float, why: str) -> list[str]:
    return [name, f"{seconds:g}", "", "none", "", "", "", why]


def measured(answer: Path, seconds: float) -> list[str]:
    """One row: how far our answer is from the published one."""
    plain = answer.with_suffix("")
    model = om.read(plain if plain.exists() else plain.with_name(plain.name + ".gz"))
    evidence = read_evidence(plain.with_name(plain.name + ".evid"), model)
    begun = time.perf_counter()
    try:
        found = om.marginals(model, evidence, seconds=seconds, seed=1)
    except om.OrbitError as error:
        return failure(plain.stem, seconds, str(error))
    took = time.perf_counter() - begun
    truth = read_mar(answer)
    free = [place for place, name in enumerate(model.names) if name not in evidence]
    pairs = [(truth[place], found[model.names[place]].probability) for place in free]
    start = np.concatenate([[0], np.cumsum([len(right) for right, _ in pairs])])
    right, guess = (np.concatenate(side) for side in zip(*pairs, strict=True))
    apart = divergence(right, guess, start)
    return [
        plain.stem,
        f"{seconds:g}",
        f"{took:.1f}",
        found.about.method,
        f"{apart.hellinger:.3g}",
        f"{apart.of_truth:.3g}",
        str(found.verdicts()),
        found.about.reason,
    ]


def already(path: Path) -> set[tuple[str, float]]:
    """What the table holds, by instance and seconds."""
    if not path.exists():
        return set()
    with path.open(newline="") as lines:
        return {(line["instance"], float(line["seconds"])) for line in csv.DictReader(lines)}


def add(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Add rows to the table, under its titles."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = not path.exists()
    with path.open("a", newline="") as table:
        csv.writer(table, lineterminator="\n").writerows([COLUMNS, *rows] if fresh else rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two instances, a second each")
    parser.add_argument("--seconds", type=float, nargs="*", default=[10.0, 60.0])
    parser.add_argument("--only", nargs="*", default=[], help="only these instances")
    parser.add_argument("--part", default="1/1", help="such as 2/3: the second of three parts")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the folders")
    parser.add_argument("--out", type=Path, default=FOLDER / "out", help="folder for results")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        for seconds in asked.seconds:
            print(json.dumps(measured(asked.child, seconds)), flush=True)
        return
    only = asked.only or (["Grids_12", "Alchemy_11"] if asked.quick else [])
    limits = [1.0] if asked.quick else asked.seconds
    out = asked.out / "quick" if asked.quick else asked.out
    table = out / "uai_mar.csv"
    write(out / "uai_mar.json", manifest_text(seed=1, seconds=limits))
    known = already(table)
    wanted = instances(asked.data, only, asked.part)
    if not wanted:
        note("there are no such instances in the data")
    for answer in wanted:
        name = answer.name.split(".")[0]
        missing = [seconds for seconds in limits if (name, seconds) not in known]
        rows = in_a_child(answer, missing) if missing else []
        add(table, rows)
        for row in rows:
            note(" ".join(str(cell) for cell in row))


if __name__ == "__main__":
    main()
