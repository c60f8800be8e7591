"""Print all measured figures as tables for the documentation, from their files alone.

For each panel, method and estimator: the longest run that both the method and Gibbs have made with
all seeds, the median error there, how many times smaller it is than that of Gibbs, how much
processor time an iteration takes beside one of Gibbs, the gain at equal time that follows from both
(errors fall as one over time), the same read from the clock with all preparations, the seconds of
preparing, and the accepted share of jumps, null jumps aside. Errors below that of the truth are not
read: they are written as at most that, and give no ratios.
"""

import argparse
import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from figure import FOLDER

from orbitmc.compare import Row, curves, panels, read_curves, read_error

BASE = "Gibbs"
CONTESTS = ("webkb", "osa_bias", "ising", "chimera", "ising_grid")
TABLES = ("ising_grid-table", "blocks_table", "uai_mar")
TITLES = (
    "panel",
    "method",
    "estimator",
    "iterations",
    "KL",
    "fewer iterations",
    "cost of an iteration",
    "gain at equal time",
    "on the clock",
    "prepared in s",
    "accepted",
    "null",
)
PEER_TITLES = ("panel", "method", "estimator", "seconds", "KL", "10 %", "90 %", "Gibbs needs s")
NOTHING = "—"


def contest_lines(source: Path) -> list[list[str]]:
    about = json.loads(source.with_suffix(".json").read_text())["panels"]
    jumps = shares(source.with_name(f"{source.stem}-jumps.csv"))
    found = []
    for panel, rows in panels(read_curves(source)).items():
        for estimator in dict.fromkeys(row.estimator for row in rows):
            own = [row for row in rows if row.estimator == estimator]
            for method in dict.fromkeys(row.method for row in own):
                words = compared(own, method, about[panel]["methods"])
                accepted, null = jumps.get((panel, method), (None, None))
                found.append(
                    [panel, method, estimator, *words, percentage(accepted), percentage(null)]
                )
    return found


def compared(rows: list[Row], method: str, about: dict[str, Any]) -> list[str]:
    """One method beside Gibbs, at the longest length that both have reached."""
    length = longest_of_both(rows, method)
    kl, base = (error_at(rows, name, length) for name in (method, BASE))
    floor = rows[0].kl_floor
    fewer = base / kl if kl > floor and base > floor else None
    step = "nanoseconds of a step of one chain"
    cost = [about.get(name, {}).get(step) for name in (method, BASE)]
    dearer = cost[0] / cost[1] if all(cost) else None
    gain = fewer / dearer if fewer and dearer else None
    return [
        f"{length:,}",
        f"{kl:.2e}" if kl > floor else f"≤ {floor:.1e}",
        *(ratio(number) for number in (fewer, dearer, gain)),
        on_the_clock(rows, method),
        f"{about[method]['prepared in seconds']:.2f}",
    ]


def longest_of_both(rows: Iterable[Row], method: str) -> int:
    """The most iterations that every run of the method and of Gibbs has made."""
    reached: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        if row.method in (method, BASE):
            reached.setdefault((row.method, row.seed), set()).add(row.iterations)
    return max(set.intersection(*reached.values()))


def error_at(rows: Iterable[Row], method: str, length: int) -> float:
    at = [row for row in rows if row.method == method and row.iterations == length]
    return float(np.median([read_error(row, "kl") for row in at]))


def on_the_clock(rows: list[Row], method: str) -> str:
    """How many times smaller the error is than that of Gibbs when the first of both ends.

    If Gibbs had ended before the method was ready, its last error stands in: at most so many times.
    """
    drawn = curves(rows, "seconds", "kl")
    own, base = (drawn[name, rows[0].estimator] for name in (method, BASE))
    together = own.axis[0] <= base.axis[-1]
    end = min(own.axis[-1], base.axis[-1]) if together else own.axis[-1]
    errors = [
        float(np.exp(np.interp(np.log(end), np.log(one.axis), np.log(one.middle))))
        for one in (base, own)
    ]
    found = ratio(errors[0] / errors[1] if min(errors) > rows[0].kl_floor else None)
    return found if together or found == NOTHING else f"< {found}"


def peer_lines(source: Path) -> list[list[str]]:
    """The last point of every method, and when Gibbs (Rao-Blackwell) is as close."""
    found = []
    for panel, rows in panels(read_curves(source)).items():
        drawn = curves(rows, "seconds", "kl")
        base = drawn[BASE, "rao-blackwell"]
        for (method, estimator), curve in drawn.items():
            close = base.axis[base.middle <= curve.middle[-1]]
            words = [f"{one[-1]:.2e}" for one in (curve.middle, curve.low, curve.high)]
            needs = f"{close[0]:.2g}" if len(close) else "more"
            found.append([panel, method, estimator, f"{curve.axis[-1]:.2g}", *words, needs])
    return found


def shares(path: Path) -> dict[tuple[str, str], tuple[float | None, float]]:
    """Accepted among real proposals, and null among all, by panel and method."""
    sums: dict[tuple[str, str], Any] = {}
    with path.open(newline="") as lines:
        for line in csv.DictReader(lines):
            numbers = [int(line[k]) for k in ("proposals", "null proposals", "accepted")]
            key = line["panel"], line["method"]
            sums[key] = sums.get(key, 0) + np.array(numbers)
    return {
        key: (a / (p - n) if p > n else None, n / p) for key, (p, n, a) in sums.items() if p > 0
    }


def ratio(number: float | None) -> str:
    if number is None:
        return NOTHING
    return f"{number:.2f}" if number >= 0.1 else f"{number:.1g}"


def percentage(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def markdown(titles: Sequence[object], lines: Iterable[Sequence[object]]) -> str:
    rows = [titles, ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)


def heading(source: Path) -> str:
    """What was measured, how long, with how many seeds, from which sources."""
    about = json.loads(source.with_suffix(".json").read_text())
    settings = about.get("settings", {})
    words = [f"commit {about['commit']}"]
    words += [f"{len(settings['seeds'])} seeds"] if "seeds" in settings else []
    sweeps = settings.get("sweeps")
    timed = [f"{settings['seconds']:g} s"] if "seconds" in settings else []
    words += [f"{sweeps} sweeps"] if sweeps else timed
    truths = {f"{panel}: {one['truth']}" for panel, one in about.get("panels", {}).items()}
    return "\n".join([f"## {source.stem} ({', '.join(words)})", "", *sorted(truths), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FOLDER / "out", help="folder of the results")
    out = parser.parse_args().out
    for name in CONTESTS:
        source = out / f"{name}.csv"
        if source.exists():
            print(heading(source), markdown(TITLES, contest_lines(source)), sep="\n", end="\n\n")
    source = out / "peers.csv"
    if source.exists():
        print(heading(source), markdown(PEER_TITLES, peer_lines(source)), sep="\n", end="\n\n")
    for name in TABLES:
        source = out / f"{name}.csv"
        if source.exists():
            titles, *lines = csv.reader(source.read_text().splitlines())
            print(f"## {name}\n", markdown(titles, lines), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
