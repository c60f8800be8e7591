"""UAI 2014, task MAR: every problem in a folder, after some seconds of one thread, as a scoreboard.

The folder holds `NAME.uai`, `NAME.uai.evid` and the published answer `NAME.uai.MAR`, at any depth,
as the repository mroavi/uai has them. The error of a problem is the mean Hellinger distance over
its unobserved variables. Its score is 1 for the published answer and 0 for one no better than equal
probabilities (the rule of the UAI evaluation of 2022). Published answers have six decimals, so
errors below about 1e-4 are rounding.

A believed answer that is far from the published one is checked by another way, for the variable
that differs most. If it is exact: log Z with each value as evidence, less log Z. If it was sampled:
its probabilities given the values of all its neighbours, whose averages they are. Where the first
agrees with our answer, or the published one is outside the second, the published one is named as
wrong.

Each problem has a process and a limit of memory of its own. Results are written as they come;
problems that are in the file already are left out, and an exact answer is not measured again with
more seconds.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from figure import FOLDER, note, write

import orbitmc as om
from orbitmc.compare import divergence, read_evidence, read_mar

RESULTS = FOLDER.parent / "benchmarks" / "results" / "uai_scoreboard.json"
PICTURE = FOLDER.parent / "docs" / "experiments" / "uai.svg"
SECONDS = (20.0, 120.0)
MEMORY = 12 * 10**9  # bytes of addresses for one problem
PATIENCE = 300  # seconds for reading, compiling and what else is not counted
FAR = 1e-3  # an exact answer this far from the published one is looked at
AGREES = 1e-6  # between two ways to one probability
MOST_CONDITIONS = 64  # joint values of neighbours that are looked at one by one
PUBLISHED = {
    "winner of 2014, 20 s": 0.27,
    "winner of 2014, 1,200 s": 0.98,
}  # on 132 of the problems
LEAST = 1e-6  # the lowest error in the picture

Row = dict[str, Any]


def problems(folder: Path, only: Sequence[str]) -> list[Path]:
    """Published answers, in the order of their names."""
    answers = sorted(folder.rglob("*.uai.MAR"), key=lambda path: path.name)
    return [path for path in answers if not only or name_of(path) in only]


def name_of(answer: Path) -> str:
    return answer.name.split(".")[0]


def measure(answer: Path, seconds: float) -> Row:
    """How far our answer to one problem is from the published one."""
    plain = answer.with_suffix("")
    model = om.read(plain if plain.exists() else plain.with_name(plain.name + ".gz"))
    evidence = read_evidence(plain.with_name(plain.name + ".evid"), model)
    begun, cpu = time.perf_counter(), time.process_time()
    try:
        marginals = om.marginals(model, evidence, seconds=seconds, seed=1, threads=1)
    except om.OrbitError as error:
        return failure(str(error))
    took, spent = time.perf_counter() - begun, time.process_time() - cpu
    truth, free = read_mar(answer), [name for name in model.names if name not in evidence]
    pairs = [(truth[model.names.index(name)], marginals[name].probability) for name in free]
    error, apart = distance(pairs)
    trivial, _ = distance([(right, np.full(len(right), 1 / len(right))) for right, _ in pairs])
    row = {
        "method": marginals.about.method,
        "exact": marginals.about.is_exact,
        "believed": marginals.converged,
        "hellinger": error,
        "score": max(0.0, 1.0 - error / trivial) if trivial > 0 else float(error == 0),
        "seconds": took,
        "cpu": spent,
        "verdicts": dict(marginals.verdicts()),
        "reason": marginals.about.reason,
    }
    if marginals.converged and error > FAR:
        row["checked"] = check(model, evidence, marginals, free[apart], pairs[apart][0])
    return row


def distance(pairs: Sequence[tuple[Any, Any]]) -> tuple[float, int]:
    """The mean Hellinger distance, and where it is largest."""
    start = np.concatenate([[0], np.cumsum([len(right) for right, _ in pairs])])
    right, ours = (np.concatenate(side) for side in zip(*pairs, strict=True))
    gaps = [float(np.linalg.norm(np.sqrt(a) - np.sqrt(b))) for a, b in pairs]
    return float(divergence(right, ours, start).hellinger), int(np.argmax(gaps))


def check(
    model: om.Model,
    evidence: Mapping[str, str],
    marginals: om.Marginals,
    name: str,
    published: Sequence[float],
) -> str:
    """Find the marginal that differs most by another way: log Z with each value as evidence."""
    if not marginals.about.is_exact:
        return check_range(model, evidence, name, published)
    whole, ours = float(om.log_z(model, evidence, method="exact")), marginals[name]
    for value, probability in zip(ours.values, ours.probability.tolist(), strict=True):
        try:
            part = float(om.log_z(model, {**evidence, name: value}, method="exact"))
        except om.ContradictionError:
            part = -math.inf
        if abs(math.exp(part - whole) - probability) > AGREES:
            return f"not confirmed: log Z says otherwise of {name} = {value}"
    return f"confirmed: log Z with each value of {name} as evidence agrees with our answer"


def check_range(
    model: om.Model, evidence: Mapping[str, str], name: str, published: Sequence[float]
) -> str:
    """Say whether published probabilities can be averages of those given all that is beside.

    Whatever the rest of the model does, a marginal is an average over the values of the neighbours.
    """
    graph, variable = model.graph, model.index[name]
    beside = {int(v) for f in graph.factors_of(variable) for v in graph.scope_of(f)} - {variable}
    names = [model.order[v] for v in sorted(beside) if model.order[v] not in evidence]
    domains = model.domains()
    if math.prod(len(domains[each]) for each in names) > MOST_CONDITIONS:
        return f"not confirmed: {name} was sampled, and has many neighbours"
    given = [dict(zip(names, state, strict=True)) for state in product(*map(domains.get, names))]
    alone = [
        om.marginals(model, {**evidence, **held}, query=[name], method="exact")[name].probability
        for held in given
    ]
    outside = np.maximum(np.min(alone, axis=0) - published, published - np.max(alone, axis=0)).max()
    if outside <= FAR:
        return f"not confirmed: {name} was sampled"
    return f"confirmed: no values of the neighbours of {name} make it that probable: {outside:.2g}"


def failure(why: str) -> Row:
    """What is kept of a problem that has no answer: it scores nothing."""
    lost = {"method": "none", "exact": False, "believed": False, "hellinger": None, "score": 0.0}
    return {**lost, "reason": why}


def measure_apart(answer: Path, seconds: float) -> Row:
    """The same in a process of its own; if it fails, the row says so."""
    command = [sys.executable, __file__, "--child", str(answer), "--seconds", f"{seconds:g}"]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE + 3 * seconds,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
    except subprocess.TimeoutExpired:
        return failure("no end within the time allowed")
    if done.returncode or not done.stdout:
        return failure(f"failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    row: Row = json.loads(done.stdout)
    return row


def summarise(rows: Mapping[str, Mapping[str, Row]], seconds: str) -> Row | None:
    """The scoreboard of one time limit; None where nothing was measured with it."""
    found = {name: row[seconds] for name, row in rows.items() if seconds in row}
    if not found:
        return None
    wrong = sorted(n for n, row in found.items() if row.get("checked", "").startswith("confirmed"))
    sampled = [
        row["hellinger"]
        for name, row in found.items()
        if not row["exact"] and row["hellinger"] is not None
    ]
    fair = [row["score"] for name, row in found.items() if name not in wrong]
    return {
        "problems": len(found),
        "exact": sum(row["exact"] for row in found.values()),
        "believed": sum(row["believed"] for row in found.values()),
        "no answer": sum(row["method"] == "none" for row in found.values()),
        "mean score": float(np.mean([row["score"] for row in found.values()])),
        "mean score without wrong published answers": float(np.mean(fair)) if fair else None,
        "median error of sampled ones": median(sampled) if sampled else None,
        "published answers that are wrong": wrong,
    }


def draw(rows: Mapping[str, Mapping[str, Row]], path: Path) -> None:
    """Errors of all problems, the smallest first, for each time limit."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "uai"
    from matplotlib import pyplot

    canvas, place = pyplot.subplots(figsize=(7.0, 3.2), layout="constrained")
    styles = zip(times_in(rows), ("#d55e00", "#0072b2", "#009e73"), ("s", "o", "^"), strict=False)
    for seconds, colour, mark in styles:
        found = [row[seconds] for row in rows.values() if seconds in row]
        errors = sorted(
            1.0 if r["hellinger"] is None else max(r["hellinger"], LEAST) for r in found
        )
        exact = sum(row["exact"] for row in found)
        label = f"{float(seconds):g} s: {exact} of {len(found)} exact"
        place.plot(range(1, len(errors) + 1), errors, mark, color=colour, ms=3, label=label)
    place.axhline(1e-4, color="#7b8190", linewidth=0.8, linestyle="--")
    place.text(1, 1.15e-4, "rounding of the published answers", fontsize=8, color="#7b8190")
    place.set(
        yscale="log", xlabel="problems, smallest error first", ylabel="mean Hellinger distance"
    )
    place.legend(frameon=False, fontsize=9, loc="upper left")
    place.grid(alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, metadata={"Date": None})


def shown_error(row: Row) -> float:
    return 1.0 if row["hellinger"] is None else max(float(row["hellinger"]), LEAST)


def times_in(rows: Mapping[str, Mapping[str, Row]]) -> list[str]:
    return sorted({seconds for row in rows.values() for seconds in row}, key=float)


def run(
    answers: Sequence[Path], seconds: Sequence[float], rows: dict[str, dict[str, Row]]
) -> Iterator[str]:
    """Measure what is missing, one problem after the other; gives the name after each."""
    for answer in answers:
        name = name_of(answer)
        known = rows.setdefault(name, {})
        for limit in sorted(seconds):
            if f"{limit:g}" in known:
                continue
            exact = next((row for row in known.values() if row["exact"]), None)
            known[f"{limit:g}"] = row = exact or measure_apart(answer, limit)
            error = "none" if row["hellinger"] is None else f"{row['hellinger']:.2g}"
            note(f"{name} {limit:g} s: {row['method']}, error {error} {row.get('checked', '')}")
            yield name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="holds problems and answers")
    parser.add_argument("--seconds", type=float, nargs="*", default=list(SECONDS))
    parser.add_argument("--only", nargs="*", default=[], help="only these problems")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file of results")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="an SVG file")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(measure(asked.child, asked.seconds[0])), flush=True)
        return
    answers = problems(asked.folder, asked.only) if asked.folder else []
    if not answers:
        parser.error("there are no files NAME.uai.MAR in that folder")
    known = json.loads(asked.out.read_text()) if asked.out.exists() else {}
    rows: dict[str, dict[str, Row]] = known.get("problems", {})
    for _ in run(answers, asked.seconds, rows):
        write(asked.out, as_text(rows))
    write(asked.out, as_text(rows))
    draw(rows, asked.picture)
    for seconds in times_in(rows):
        note(f"{seconds} s: {json.dumps(summarise(rows, seconds))}")


def as_text(rows: Mapping[str, Mapping[str, Row]]) -> str:
    """The file of results: the scoreboard of each time limit, published figures, all problems."""
    boards = {seconds: summarise(rows, seconds) for seconds in times_in(rows)}
    content = {"benchmark": "uai_scoreboard", "results": boards, "published": PUBLISHED}
    return json.dumps({**content, "problems": rows}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
