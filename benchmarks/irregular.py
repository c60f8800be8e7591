"""How do the seconds and the memory of every phase grow with a model whose tables are all distinct?

Models of nine kinds (`irregular_models.py`) have a thousand to a million variables. Each of them is
a process of its own on one core, with machine code that is there already. Phases do their work
without any limit of time, once if that takes long, otherwise two or three times: the first time,
memory has to be fetched, which doubles the time of some. What counts is the least CPU time for
each variable, and what they add to the memory. It should be the same from ten thousand variables
on: `growth` is how many times as much the largest model takes. Verbs are asked for an
answer in some seconds; what counts there is how many CPU seconds they take. What would take too
long, or too much memory, is left out or refused, and named.

A large model does not fit into the caches of a core. How much that alone costs is measured, too:
reads of as many objects of Python, and of as many numbers, in random order (`machine: ...`).
"""

import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from measuring import argument_parser, print_table, use_one_core, write_results
from memory import forget_peak, status

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUICK = (1_000, 2_000)
SECONDS = 2.0  # that verbs are asked for
ALLOWED = 1.1, 1.0  # times the seconds, and seconds more
LEFT_OUT = 100.0  # CPU seconds that a phase would take, by how long it took on a smaller model
MOST_ENTRIES = 4_000_000  # of tables: larger models are not written to files
FAST, SLOW = 0.5, 20.0  # CPU seconds of phases that are measured three times, and once
FROM = 10_000  # variables, from which on costs should be flat
FLAT = 2.0
COLUMNS = ("kind and phase", "µs at 1e3", "1e4", "1e5", "1e6", "growth", "bytes", "remark")


def main() -> None:
    parser = argument_parser(__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="variables")
    parser.add_argument("--kinds", nargs="*", help="only these kinds of models")
    parser.add_argument("--no-verbs", action="store_true", help="phases only")
    asked = parser.parse_args()
    use_one_core()
    sizes = [size for size in (QUICK if asked.quick else SIZES) if size <= asked.most]
    seconds = 0.0 if asked.no_verbs else 0.05 if asked.quick else SECONDS
    from irregular_models import KINDS

    results: dict[str, Any] = {}
    for kind in asked.kinds or list(KINDS)[: 2 if asked.quick else None]:
        results[kind] = _of_kind(kind, sizes, seconds)
        print(f"{kind}: done", file=sys.stderr, flush=True)
    rows = [row for kind, found in results.items() for row in _rows(kind, found)]
    print_table("CPU time and memory of phases, for each variable", COLUMNS, rows)
    steep = [
        f"{row[0]} {row[5]:.1f}" for row in rows if isinstance(row[5], float) and row[5] > FLAT
    ]
    print(f"more than {FLAT:g} times as much at the largest size: {', '.join(steep) or 'nothing'}")
    print_table(
        f"CPU seconds of verbs that were asked for an answer in {seconds:g} s",
        ["kind and verb", *map(str, sizes), "late"], list(_verbs(results, seconds)),
    )  # fmt: skip
    write_results(
        asked.results, "irregular", results, quick=asked.quick, only=asked.kinds,
        repetitions=1, seconds=seconds,
    )  # fmt: skip


def _of_kind(kind: str, sizes: list[int], seconds: float) -> dict[str, Any]:
    """What models of one kind take, by size; phases that would take too long are left out."""
    found: dict[str, Any] = {}
    for size in sizes:
        skipped = [phase for phase, cost in _expected(found, size).items() if cost > LEFT_OUT]
        told = [kind, str(size), str(seconds), ",".join(skipped)]
        command = [sys.executable, __file__, "--child", *told]
        found[str(size)] = dict(_told(kind, size, command))
    return found


def _told(kind: str, size: int, command: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a process tells of each phase, as soon as it does."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            one = json.loads(line)
            print(f"{kind} {size}: {one}", file=sys.stderr, flush=True)
            yield one.pop("phase"), one
    if process.returncode:
        print(f"{kind} {size}: stopped, {process.returncode}", file=sys.stderr, flush=True)


def _expected(found: dict[str, Any], size: int) -> dict[str, float]:
    """CPU seconds that phases would take, by the largest model so far."""
    if not found:
        return {}
    before = max(map(int, found))
    return {
        phase: one["seconds"] * size / before
        for phase, one in found[str(before)].items()
        if "seconds" in one and not one.get("asked")
    }


def _rows(kind: str, found: dict[str, Any]) -> Iterator[list[Any]]:
    phases = dict.fromkeys(phase for one in found.values() for phase in one)
    for phase in phases:
        one = {int(size): own[phase] for size, own in found.items() if phase in own}
        if any(cost.get("asked") for cost in one.values()):
            continue
        costs = {n: 1e6 * cost["seconds"] / cost["variables"] for n, cost in one.items()
                 if "seconds" in cost}  # fmt: skip
        flat = [cost for n, cost in costs.items() if n >= FROM]
        growth = flat[-1] / flat[0] if len(flat) > 1 and flat[0] > 0 else None
        largest = one[max(costs)] if costs else {}
        held = largest["bytes"] / largest["variables"] if largest else None
        said = {word for cost in one.values() for word in ("refused", "left out") if word in cost}
        yield [
            f"{kind}, {phase}",
            *(costs.get(n) for n in SIZES),
            growth,
            held,
            ", ".join(sorted(said)) or None,
        ]


def _verbs(results: dict[str, Any], seconds: float) -> Iterator[list[Any]]:
    for kind, found in results.items():
        verbs = dict.fromkeys(v for own in found.values() for v in own if own[v].get("asked"))
        for verb in verbs:
            spent = [own.get(verb, {}).get("seconds", math.inf) for own in found.values()]
            late = sum(one > ALLOWED[0] * seconds + ALLOWED[1] for one in spent)
            yield [f"{kind}, {verb}", *spent, late or "no"]


def child(kind: str, size: int, seconds: float, skipped: list[str]) -> None:
    """Make a model, let it go through all phases and verbs, and print what each of them takes."""
    from irregular_models import irregular

    with contextlib.redirect_stdout(io.StringIO()):
        small = irregular(kind, 400)
        for _, work in chain(_phases(small), _asked(small, min(seconds, 0.5))):
            _measured(work, 1)  # compiles
    model = irregular(kind, size)
    variables = len(model.order)
    for name, work in chain(_reads(model), _phases(model)):
        if name in skipped:
            found: dict[str, Any] = {"left out": f"more than {LEFT_OUT:.0f} s"}
        else:
            found = _measured(work, 3)
        print(json.dumps({"phase": name, "variables": variables, **found}), flush=True)
    for name, work in _asked(model, seconds):
        found = _measured(work, 1)
        told = {"phase": name, "variables": variables, "asked": True, **found}
        print(json.dumps(told), flush=True)


def _measured(work: Callable[[], Any], turns: int) -> dict[str, Any]:
    """CPU seconds and bytes of some work; if it refuses, what it says."""
    from orbitmc._numba.compile_log import REMARKS
    from orbitmc.errors import OrbitError

    best, more, refused = math.inf, 0, {}
    for turn in range(turns):
        forget_peak()
        before, compiled, begun = status("VmRSS"), REMARKS.seconds, time.process_time()
        said: Any = None
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                said = work()
        except OrbitError as error:
            refused = {"refused": str(error)}
        spent = time.process_time() - begun - (REMARKS.seconds - compiled)
        best, more = min(best, spent), max(more, status("VmHWM") - before)
        if isinstance(said, str):
            return {"left out": said}
        if spent > (SLOW if turn == 0 else FAST):
            break
    return {"seconds": max(0.0, best), "bytes": more, **refused}


def _reads(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Reads, in random order, of as much as a model of this size is made of."""
    import numpy as np

    variables = len(model.order)
    rng = np.random.default_rng(0)
    others = rng.integers(0, variables, (variables, 3)).tolist()
    places = rng.integers(0, len(model.graph.table), variables)
    yield "machine: objects", lambda: (sum(len(others[n]) for row in others for n in row), None)[1]
    yield "machine: numbers", lambda: (model.graph.table[places].sum(), None)[1]


def _phases(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What happens between a file and an answer, one after the other."""
    import numpy as np

    from orbitmc.conditionals.prepared import prepare
    from orbitmc.exact.plan import predict
    from orbitmc.formats.registry import read, write
    from orbitmc.graph.ancestral import network_of
    from orbitmc.graph.hardening import harden
    from orbitmc.graph.support import possible_values
    from orbitmc.inference._draws import draws
    from orbitmc.inference._overview import overview
    from orbitmc.inference.answer import summarise_run
    from orbitmc.inference.plan import Plan, PlannedKernel
    from orbitmc.inference.settings import Settings
    from orbitmc.kernels._gibbs import SystematicScan
    from orbitmc.report.answer_files import json_pieces
    from orbitmc.report.terminal import plain_pieces
    from orbitmc.sampling.sampler import sample
    from orbitmc.sampling.schedule import Schedule
    from orbitmc.symmetry._automorphisms import automorphisms

    graph, held = model.graph, {}
    small = len(graph.table) <= MOST_ENTRIES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.uai"
        large = f"{len(graph.table):.1g} entries in a file"
        yield "convert: write", lambda: write(model, path) if small else large
        yield "read", lambda: (read(path), None)[1] if small else large
    seen = dict(zip(model.names[::1000], (own[0] for own in model.values[::1000]), strict=True))
    yield "evidence", lambda: (model.given(seen), None)[1]
    yield "harden", lambda: (harden(model), None)[1]
    if graph.has_zeros():
        yield "support", lambda: (possible_values(graph), None)[1]
    yield "order", lambda: (predict(graph, seconds=0.1, within=1e9), None)[1]
    yield "network", lambda: (network_of(graph, 0.25 * graph.variables), None)[1]

    def preparing() -> None:
        held["prepared"] = prepare(graph)

    def sampling() -> None:
        kernel, schedule = SystematicScan(), Schedule(samples=1, warm_up=1)
        held["run"] = sample(held["prepared"], kernel, schedule, packs=1, lanes=32, threads=1)

    def answering() -> None:
        decision = Plan(model, Settings(method="gibbs", samples=1), "")
        held["answer"] = summarise_run(held["run"], decision, PlannedKernel(held["run"].kernel, ""))

    yield "prepare", preparing
    yield "start, two samples", sampling
    yield "answer", answering
    yield "print", lambda: print(np.sum([len(piece) for piece in plain_pieces(held["answer"])]))
    yield "print JSON", lambda: print(sum(map(len, json_pieces(held["answer"]))))
    held.clear()
    few = {"samples": 1, "chains": 32, "warm_up": 1, "spacing": 1, "method": "gibbs"}
    yield "draw a state", lambda: (draws(model, **few), None)[1]
    yield "symmetry: search", lambda: (automorphisms(graph, seconds=10.0), None)[1]
    yield "check", lambda: (overview(model), None)[1]


def _asked(model: Any, seconds: float) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Verbs with a limit of time, if there is one."""
    if not seconds:
        return
    import orbitmc as om
    from orbitmc.inference.symmetries import symmetry_overview

    first, last = model.names[0], model.names[-1]
    event = f"{first} = {model.values[0][0]}"
    how: dict[str, Any] = {"seconds": seconds, "threads": 1}
    questions: dict[str, Callable[[], Any]] = {
        "infer, gibbs": lambda: om.marginals(model, method="gibbs", **how),
        "infer, auto": lambda: om.marginals(model, **how),
        "ask": lambda: om.probability(model, event, **how),
        "joint": lambda: om.joint(model, [first, last], **how),
        "sweep": lambda: om.sweep(model, [0.5, 1.0], **how),
        "log Z": lambda: om.log_z(model, **how),
        "best": lambda: om.best(model, **how),
        "symmetry": lambda: symmetry_overview(model, seconds=seconds),
    }
    for name, ask in questions.items():
        yield name, lambda ask=ask: (ask(), None)[1]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        kind, size, seconds, skipped = sys.argv[2:]
        child(kind, int(size), float(seconds), skipped.split(","))
    else:
        main()
