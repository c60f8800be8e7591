"""Is the answer there in time, whatever is asked about whatever model?

Every verb that takes `--seconds` is asked about thirty odd models. Each question is a process of
its own, with machine code that is there already. What counts is the time from the command to its
end, less that of reading the file, which is measured beside it. An answer, a partial answer and a
refusal all count, if they are there in 1.1 times the seconds, and one more.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import argument_parser, print_table, write_results
from odd_models import ODD, Odd

SECONDS = 2.0
LONGEST = 60.0  # seconds after which a command is stopped
QUICK = ("one coin", "impossible", "all different")
QUICK_VERBS = ("infer auto", "best")
ANSWERED = (0, 2, 3, 4, 5)  # an answer, a doubtful one, or a refusal


def verbs(odd: Odd, folder: Path) -> dict[str, list[str]]:
    """The command line of every verb, less the seconds."""
    first, last = odd.names
    model = str(odd.path)
    seen = [word for one in odd.evidence for word in ("-e", one)]
    event = first if odd.is_program else f"'{first}' == '{odd.value}'"
    asked = ["-q", first] if odd.is_program else []
    rows = folder / "rows.csv"
    rows.write_text(f'"{last}"\n' + f"{odd.value}\n" * 5)
    found = {
        f"infer {method}": ["infer", model, *seen, *asked, "--method", method]
        for method in ("auto", "exact", "gibbs", "lmh", "mcsat", "lifted")
    }
    found["infer log z"] = ["infer", model, *seen, *asked, "--log-z"]
    found["ask"] = ["ask", model, event, *seen]
    found["joint"] = ["joint", model, first, last, *seen]
    found["best"] = ["best", model, *seen]
    found["draw"] = ["draw", model, *seen]
    found["sweep"] = ["sweep", model, "--beta", "0.5:1:3", *seen]
    found["symmetry"] = ["symmetry", model, *seen, *asked]
    found["predict"] = ["predict", model, str(rows), "-q", first, *seen]
    return found


def main() -> None:
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that are asked for")
    parser.add_argument("--verbs", nargs="*", help="only these verbs")
    asked = parser.parse_args()
    results: dict[str, Any] = {}
    limit = 1.1 * asked.seconds + 1.0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in QUICK if asked.quick else ODD:
            if asked.only and name not in asked.only:
                continue
            odd = ODD[name](folder, name.replace(" ", "-").replace(",", ""))
            results[name] = {}
            for verb, command in verbs(odd, folder).items():
                wanted = asked.verbs or (QUICK_VERBS if asked.quick else None)
                if wanted and verb not in wanted:
                    continue
                found = measure([*command, "--seconds", str(asked.seconds)], str(odd.path))
                results[name][verb] = found
                late = "" if found["kept"] <= limit else "  LATE"
                print(f"{name}, {verb}: {found}{late}", file=sys.stderr, flush=True)
    every = [(n, v, one) for n, own in results.items() for v, one in own.items()]
    print_table(
        f"Asked for {asked.seconds:g} s", ["question", "kept s", "CPU s", "reading s", "exit"],
        [[f"{n}, {v}", *(one[key] for key in ("kept", "cpu", "reading", "code"))]
         for n, v, one in every],
    )  # fmt: skip
    late = [f"{n}, {v}" for n, v, one in every if one["kept"] > limit]
    odd_ends = [f"{n}, {v}" for n, v, one in every if one["code"] not in ANSWERED]
    print(f"{len(every)} questions, {len(late)} late: {late}; ended otherwise: {odd_ends}")
    write_results(
        asked.results, "budgets", results, quick=asked.quick, only=asked.only,
        seconds=asked.seconds, repetitions=1,
    )  # fmt: skip


def measure(command: list[str], model: str) -> dict[str, Any]:
    """What a command took; once more if it had to compile something."""
    for _ in range(3):
        child = [sys.executable, __file__, "--child", model, *command]
        try:
            done = subprocess.run(child, capture_output=True, text=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return {"kept": LONGEST, "cpu": LONGEST, "reading": None, "code": None}
        if "compiled" not in done.stderr:
            break
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        return {"kept": LONGEST, "cpu": None, "reading": None, "code": done.stderr[-500:]}
    return dict(json.loads(lines[-1]))


def child(model: str, command: list[str]) -> None:
    """Carry a command out, and print what it took."""
    from orbitmc.cli.main import main as orbitmc

    reading = _read(model)
    kept, cpu, code = time.perf_counter(), time.process_time(), 0
    out = sys.stdout
    sys.argv = ["orbitmc", *command]
    with open(os.devnull, "w") as nowhere:
        sys.stdout = nowhere
        try:
            orbitmc()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        sys.stdout = out
    kept, cpu = time.perf_counter() - kept, time.process_time() - cpu
    print(json.dumps({"kept": kept - reading, "cpu": cpu, "reading": reading, "code": code}))


def _read(model: str) -> float:
    """Seconds that reading the file takes; a program is read when it is asked about."""
    if model.endswith(".mln"):
        return 0.0
    import orbitmc as om

    begun = time.perf_counter()
    om.read(model)
    return time.perf_counter() - begun


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3:])
    else:
        main()
