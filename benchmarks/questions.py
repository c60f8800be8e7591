"""How long do exact answers take, the first time and again, row by row, and for the best states?

Beside pgmpy's variable elimination and aGrUM's lazy propagation, in child processes that run in
the environment of `peers.py`. Seconds are CPU seconds of one core. A peer that takes longer than
its limit is killed and has no number.

- exact: all marginals of a network given one variable, of networks that come with pgmpy. `first`
  plans and answers, `again` asks about another value of the same variable. Both are the best of
  several, for peers, too: small networks take less than a millisecond. Whoever is asked a first
  question again has forgotten everything but the network. `new` is a first question without
  evidence in a process that has answered nothing but about a tiny model.
- rows: all other marginals for each of 10,000 rows of alarm. In `5 observed` many rows are equal;
  `20 with holes` are different, and a third of their cells is missing.
- draws: states of alarm given two variables.
- best, log_z: problems of UAI 2014, in `questions_uai.py`.
"""

import gzip
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import measuring
import numpy as np
import pandas as pd
import peers
import questions_uai

import orbitmc as om
from orbitmc.exact import order

FOLDER = Path(__file__).parent
LIMIT = 60.0  # wall seconds that a peer gets for a network
FIRSTS, FIRST_SECONDS = (3, 20), 1.0  # first questions: the second number, if that takes no longer
AGAIN = 400  # times that each of two rows is asked later, over the number of variables
ROWS, PEER_ROWS = 10_000, 40
SEEN = ("HRBP", "PRESS", "EXPCO2", "BP", "MINVOL")
DRAWS = 100_000
DRAWN_GIVEN = ("HRBP", "PRESS")


def main() -> None:
    parser = measuring.argument_parser(__doc__)
    parser.add_argument(
        "--data", type=Path, help="a folder of UAI problems, for `best` and `log_z`"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="for a long search")
    options = parser.parse_args()
    measuring.use_one_core()
    wanted = options.only or ["exact", "rows", "draws", "best", "log_z"]
    results: dict[str, Any] = {}
    if "exact" in wanted:
        results["exact"] = exact(options)
    if "rows" in wanted and "alarm" in networks():
        results["rows"] = rows(options)
    if "draws" in wanted and "alarm" in networks():
        results["draws"] = draws(options)
    for name, question in (("best", questions_uai.best), ("log_z", questions_uai.log_z)):
        if name in wanted and options.data is not None:
            results[name] = question(options)
    about = {"quick": options.quick, "only": options.only, "repetitions": 3}
    measuring.write_results(options.results, "questions", results, **about)


def networks() -> dict[str, Path]:
    """All Bayesian networks that come with pgmpy, small files first."""
    found = find_spec("pgmpy")
    if found is None or found.origin is None:
        return {}
    folder = Path(found.origin).parent / "utils" / "example_models"  # nothing of it is imported
    every = sorted(folder.glob("*.bif.gz"), key=lambda path: path.stat().st_size)
    return {path.name.removesuffix(".bif.gz"): path for path in every}


def exact(options: Any) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name in list(networks())[:4] if options.quick else networks():
        model, rows = om.read(networks()[name]), _rows_about_one(networks()[name])
        ours = {"first": _first(networks()[name], rows), "again": _again(model, rows)}
        ours |= {"new": _in_a_new_process(networks()[name])}
        theirs = {} if options.no_peers else _peer_answers(networks()[name], rows)
        results[name] = {"variables": len(model.order), "orbitmc": ours, **theirs}
        print(name, results[name], flush=True)
    columns = ["network", "variables", "new", "first", "again", "aGrUM first", "again", "pgmpy"]
    table = [
        [
            name,
            one["variables"],
            *(1e3 * one["orbitmc"][key] for key in ("new", "first", "again")),
            *(_milliseconds(one, "pyagrum", key) for key in ("first", "again")),
            _milliseconds(one, "pgmpy", "again"),
        ]
        for name, one in results.items()
    ]
    measuring.print_table("CPU milliseconds of all marginals", columns, table)
    return results


def _milliseconds(one: dict[str, Any], peer: str, key: str) -> float | None:
    return 1e3 * one[peer][key] if one.get(peer) else None


def _rows_about_one(path: Path) -> list[dict[str, int]]:
    """Two possible values, in turn, of the last variable that has as many."""
    model = om.read(path)
    every = om.marginals(model, method="exact")
    name = next(n for n in reversed(model.order) if (every[n].probability > 0).sum() > 1)
    likely = np.argsort(-every[name].probability)
    times = max(2, AGAIN // len(model.order))
    return [{name: int(value)} for value in [likely[0], *(likely[[1, 0]].tolist() * times)]]


def _likely(model: om.Model, name: str) -> Any:
    """The numbers of a variable's values, the most probable first."""
    return np.argsort(-om.marginals(model, method="exact", query=[name])[name].probability)


def _first(path: Path, rows: list[dict[str, int]]) -> float:
    """The quickest of several first questions, each to a model that was just read.

    Orders that were found before are forgotten: nobody else has them.
    """
    seconds: list[float] = []
    while len(seconds) < FIRSTS[0] or (len(seconds) < FIRSTS[1] and sum(seconds) < FIRST_SECONDS):
        model = om.read(path)
        order.REMEMBERED_ORDERS.clear()
        order.KEPT_OF_GRAPHS.clear()
        seconds.append(_timed(lambda model=model: _ask(model, rows[0])))
    return min(seconds)


ALONE = """
import sys, time, orbitmc as om
om.marginals(om.ising_grid(2, 2, 0.3), method="exact")
model = om.read(sys.argv[1])
begun = time.process_time()
om.marginals(model, method="exact")
print(time.process_time() - begun)
"""


def _in_a_new_process(path: Path) -> float:
    """The quickest of three first questions, each in a process of its own."""
    command = [sys.executable, "-c", ALONE, str(path)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def _again(model: om.Model, rows: list[dict[str, int]]) -> float:
    _ask(model, rows[0])
    return min(_timed(lambda row=row: _ask(model, row)) for row in rows[1:])


def _ask(model: om.Model, row: dict[str, int]) -> None:
    om.marginals(model, row, method="exact")


def _timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _peer_answers(path: Path, rows: list[dict[str, int]]) -> dict[str, Any]:
    """CPU seconds of peers; their marginals must be ours."""
    truth = om.marginals(om.read(path), rows[-1], method="exact")
    found: dict[str, Any] = {}
    for peer in ("pyagrum", "pgmpy"):
        told = ask_peer(peer, path, rows, firsts=FIRSTS, first_seconds=FIRST_SECONDS)
        if told is not None:
            _require_same(peer, truth, told["marginals"])
            first, *later = told["seconds"]
            found[peer] = {"first": first, "again": min(later), "version": told["version"]}
    return found


def ask_peer(
    peer: str,
    path: Path,
    rows: list[dict[str, int]],
    limit: float = LIMIT,
    *,
    gigabytes: float | None = None,
    **more: Any,
) -> dict[str, Any] | None:
    """What a peer says about a network; None if it is not there, or takes too long or too much."""
    python = peers.python()
    if not python.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.name.removesuffix(".gz")
        packed = path.name.endswith(".gz")
        plain.write_bytes(gzip.decompress(path.read_bytes()) if packed else path.read_bytes())
        try:
            done = subprocess.run(
                [str(python), str(FOLDER / "workers" / f"{peer}_questions.py")],
                input=json.dumps({"path": str(plain), "rows": rows, **more}),
                capture_output=True,
                text=True,
                timeout=limit,
                check=True,
                preexec_fn=None if gigabytes is None else lambda: _limit_memory(gigabytes),
            )
            return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError, IndexError):
            print(f"missing: {peer} on {path.name}", file=sys.stderr)
            return None


def _limit_memory(gigabytes: float) -> None:
    import resource

    most = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _require_same(peer: str, truth: om.Marginals, told: dict[str, list[float]]) -> None:
    """Say it when answers differ: then nobody's seconds mean anything."""
    worst = max(
        (abs(np.array(p) - truth[name].probability).max() for name, p in told.items()), default=0.0
    )
    if worst > 1e-6:
        print(f"different: {peer} is {worst:.2g} away from ours", file=sys.stderr)


def rows(options: Any) -> dict[str, Any]:
    path = networks()["alarm"]
    model = om.read(path)
    rng = np.random.default_rng(0)
    count = 200 if options.quick else ROWS
    tables = {
        "5 observed": _random_rows(model, SEEN, count, 0.0, rng),
        "20 with holes": _random_rows(model, model.order[:20], count, 0.33, rng),
    }
    results: dict[str, Any] = {}
    for name, table in tables.items():
        om.predict(model, table[:50])
        results[name] = {"orbitmc": 1e3 * _timed(lambda t=table: _quietly(model, t)) / count}
        for peer in () if options.no_peers else ("pyagrum", "pgmpy"):
            some = PEER_ROWS if peer == "pyagrum" else 2
            told = ask_peer(peer, path, table[:some])
            later = told["seconds"][1:] if told else []
            results[name][peer] = 1e3 * sum(later) / len(later) if later else None
    columns = ["rows of alarm", "orbitmc", "aGrUM", "pgmpy", "aGrUM / ours"]
    shown = [
        [
            n,
            one["orbitmc"],
            one.get("pyagrum"),
            one.get("pgmpy"),
            measuring.ratio(one.get("pyagrum"), one["orbitmc"]),
        ]
        for n, one in results.items()
    ]
    measuring.print_table("CPU milliseconds for each row", columns, shown)
    return results


def _quietly(model: om.Model, table: list[dict[str, int]]) -> pd.DataFrame:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return om.predict(model, table)


def _random_rows(
    model: om.Model, names: Any, count: int, holes: float, rng: np.random.Generator
) -> list[dict[str, int]]:
    """Rows that are possible: each is a part of a state that the model itself would draw."""
    states = om.sample(
        om.kernels.prepare(model.graph), om.kernels.gibbs(), om.Schedule(samples=1, warm_up=20)
    )
    lanes = np.concatenate([pack.values for pack in states.packs], axis=1)
    found = []
    for _ in range(count):
        lane = rng.integers(lanes.shape[1])
        kept = [name for name in names if rng.random() >= holes]
        found.append({name: int(lanes[model.index[name], lane]) for name in kept})
    return found


def draws(options: Any) -> dict[str, Any]:
    """CPU seconds for states of alarm given evidence; pgmpy rejects those that contradict it."""
    path, count = networks()["alarm"], 1_000 if options.quick else DRAWS
    model = om.read(path)
    seen = {name: int(_likely(model, name)[0]) for name in DRAWN_GIVEN}
    om.draws(model, seen, samples=10, chains=1)
    ours = _timed(lambda: om.draws(model, seen, samples=count // 10, chains=10, seed=1))
    told = None if options.no_peers else ask_peer("pgmpy", path, [seen], 10 * LIMIT, draws=count)
    theirs = told["draws"] if told else None
    found = {"draws": count, "orbitmc": ours, "pgmpy": theirs}
    columns = ["draws of alarm", "orbitmc", "pgmpy", "pgmpy / ours"]
    ratio = measuring.ratio(theirs, ours)
    measuring.print_table("CPU seconds", columns, [[count, ours, theirs, ratio]])
    return found


if __name__ == "__main__":
    main()
