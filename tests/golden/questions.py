"""Eighty questions whose answers must not change when code is moved, through public names only.

Runs end after samples, not seconds, and what a race chose is given as recorded moves, so the clock
decides nothing. Each question gives an object that JSON has.
"""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import orbitmc as om
from tests.cli.commands import orbitmc

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SPRINKLER, MONITOR = EXAMPLES / "sprinkler.bif", EXAMPLES / "monitor.bif"
RING, DAYS = EXAMPLES / "ring.uai", EXAMPLES / "days.csv"
SMOKERS, FACTS = EXAMPLES / "smokers.mln", EXAMPLES / "smokers.db"
WET = ("-e", "grass=wet")

UNTOLD = (
    *("seconds", "updates_per_second", "reason", "race", "course", "warnings", "estimator"),
    *("version", "versions", "command"),
)
"""What depends on the clock or is said in words."""

EXACT: dict[str, Callable[[Path], Any]] = {}
SAMPLED: dict[str, Callable[[Path], Any]] = {}


def told(answer: Any) -> Any:
    """An answer without what depends on the clock."""
    if isinstance(answer, Mapping):
        return {key: told(value) for key, value in answer.items() if key not in UNTOLD}
    if isinstance(answer, list | tuple):
        return [told(one) for one in answer]
    if isinstance(answer, np.ndarray | np.generic):
        return told(answer.tolist())
    return answer


def printed(*words: str | Path) -> Any:
    """What a command prints as JSON."""
    quiet = () if words[0] in ("symmetry", "check") else ("--quiet",)
    done = orbitmc(*words, "--json", *quiet)
    assert done.returncode in (0, 3), done.stderr
    answer = json.loads(done.stdout)
    if isinstance(answer.get("variables"), dict):
        answer.pop("verdict", None)  # a sentence
    return told(answer)


def command(name: str, *words: str | Path, sampled: bool = False) -> None:
    (SAMPLED if sampled else EXACT)[name] = lambda _: printed(*words)


def asked(name: str, question: Callable[[], Any], *, sampled: bool = False) -> None:
    """A question in Python."""
    (SAMPLED if sampled else EXACT)[name] = lambda _: told(content(question()))


MARGINAL = ("values", "probability", "standard_error", "low", "high", "ess", "r_hat", "verdict")
JOINT = ("names", "values", "probability", "standard_error", "low", "high", "verdict")
ESTIMATE = ("value", "standard_error", "low", "high", "verdict")


def content(answer: Any) -> Any:
    """The numbers of an answer, by their public names."""
    if isinstance(answer, om.Marginals):
        rows = {name: {key: getattr(one, key) for key in MARGINAL} for name, one in answer.items()}
        return {"variables": rows, "samples": answer.about.samples, "log_z": answer.about.log_z}
    if isinstance(answer, om.Joint):
        return {key: getattr(answer, key) for key in JOINT}
    if isinstance(answer, om.Estimate):
        return {key: getattr(answer, key) for key in ESTIMATE}
    if isinstance(answer, om.BestStates):
        return json.loads(answer.to_json())
    return json.loads(answer.to_frame().to_json())


def grid(side: int = 6) -> om.Model:
    """A small lattice without symmetries."""
    field = np.linspace(-0.4, 0.5, side * side).reshape(side, side)
    return om.ising_grid(side, side, 0.35, field)


def tied() -> om.Model:
    """Zeros tie three variables together, so that none of them changes alone."""
    values = ["0", "1"]
    same = [[3.0, 0.0], [0.0, 1.0]]
    names = dict.fromkeys("abcde", values)
    pairs = [(["a", "b"], same), (["b", "c"], same), (["c", "d"], [[2, 1], [1, 3]])]
    return om.model(names, [*pairs, (["d", "e"], [[1, 2], [2, 1]])])


def exclusive() -> om.Model:
    """One of four is true, by hard factors."""
    names = {f"x{k}": ["0", "1"] for k in range(4)}
    never = [[1.0, 1.0], [1.0, 0.0]]
    pairs = [([f"x{i}", f"x{j}"], never) for i in range(4) for j in range(i)]
    return om.model(
        names, [*pairs, (["x0"], [1, 3]), (["x1"], [1, 2]), (["x2", "x3"], [[1, 2], [4, 1]])]
    )


def smokers() -> Any:
    return om.read(SMOKERS, [FACTS])


# exact answers: infer and the questions, on the command line
command("infer sprinkler", "infer", SPRINKLER)
command("infer sprinkler, seen", "infer", SPRINKLER, *WET)
command("infer sprinkler, some", "infer", SPRINKLER, *WET, "-q", "rain,season")
command("infer sprinkler, exact", "infer", SPRINKLER, "--method", "exact", *WET)
command("infer sprinkler, log z", "infer", SPRINKLER, *WET, "--log-z")
command("infer monitor", "infer", MONITOR)
command("infer ring", "infer", RING)
command("infer smokers", "infer", SMOKERS, "-e", FACTS, "-q", "Smokes,Cancer")
command("ask sprinkler", "ask", SPRINKLER, "rain != 'none' and sprinkler == 'on'", *WET)
command("ask given", "ask", SPRINKLER, "rain == 'none'", "--given", "grass == 'wet'")
command("ask about", "ask", SPRINKLER, "--about", "rain", *WET)
command("ask smokers", "ask", SMOKERS, "Smokes(Anna) v Cancer(Bob)", "-e", FACTS)
command("joint sprinkler", "joint", SPRINKLER, "rain", "sprinkler", *WET)
command("joint smokers", "joint", SMOKERS, "Smokes(Anna)", "Cancer(Bob)", "-e", FACTS)
command("best sprinkler", "best", SPRINKLER, *WET, "-k", "3")
command("best monitor", "best", MONITOR)
command("best smokers", "best", SMOKERS, "-e", FACTS)
command("sweep ring", "sweep", RING, "--beta", "0.5:1.5:3")
command("symmetry ring", "symmetry", RING)
command("symmetry ring, values", "symmetry", RING, "--values", "--exact-only")
command("check sprinkler", "check", SPRINKLER)
command("check smokers", "check", SMOKERS, "-e", FACTS)

# exact answers in Python
asked("marginals", lambda: om.marginals(om.read(SPRINKLER), {"grass": "wet"}))
asked("marginals, soft", lambda: om.marginals(om.read(SPRINKLER), {"grass": [0.2, 0.8]}))
asked("marginals of a grid", lambda: om.marginals(grid()))
asked("marginals of ties", lambda: om.marginals(tied(), {"e": "1"}))
asked("marginals of Potts", lambda: om.marginals(om.potts_grid(3, 3, 3, 0.4)))
asked("marginals of a program", lambda: smokers().marginals())
asked("joint", lambda: om.joint(om.read(SPRINKLER), ["rain", "season"], {"grass": "wet"}))
asked(
    "probability", lambda: om.probability(om.read(SPRINKLER), "rain == 'heavy'", {"grass": "wet"})
)
asked("log z", lambda: om.log_z(grid()))
asked("best", lambda: om.best(grid(), k=4))
asked("best of ties", lambda: om.best(tied(), k=3))
asked("sweep", lambda: om.sweep(om.ising_grid(4, 4, 0.4, 0.1), [0.5, 1.0]))
EXACT["information"] = lambda _: told(
    {name: one.value for name, one in om.information(om.read(SPRINKLER), "rain").items()}
)
EXACT["expect"] = lambda _: told(
    {
        name: one.value
        for name, one in om.expect(
            om.read(SPRINKLER), {"sources": lambda s: (s["rain"] > 0) + s["sprinkler"]}
        ).items()
    }
)


def table(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def predict_rows(folder: Path) -> Any:
    out = folder / "rows.csv"
    done = orbitmc("predict", SPRINKLER, DAYS, "-q", "rain", "-o", out, "--quiet")
    assert done.returncode == 0, done.stderr
    return table(out)


def converted(suffix: str, *evidence: str) -> Callable[[Path], Any]:
    def convert(folder: Path) -> Any:
        out = folder / f"model{suffix}"
        done = orbitmc("convert", SPRINKLER, out, *evidence, "--quiet")
        assert done.returncode == 0, done.stderr
        return printed("infer", out)

    return convert


def grounded(folder: Path) -> Any:
    out = folder / "ground.uai"
    done = orbitmc("ground", SMOKERS, FACTS, "-o", out, "--quiet")
    assert done.returncode == 0, done.stderr
    return [float(word) if "." in word else word for word in out.read_text().split()]


def learned(method: str) -> Callable[[Path], Any]:
    def learn(folder: Path) -> Any:
        out = folder / "learned.mln"
        query = () if method == "pseudo" else ("-q", "Smokes,Cancer")
        words = ("learn", SMOKERS, FACTS, *query, "--method", method, "-o", out)
        done = orbitmc(*words, "--iterations", "5", "--quiet")
        assert done.returncode in (0, 3), done.stderr
        rules = [line for line in out.read_text().splitlines() if not line.startswith("//")]
        return [_number(word) for line in rules for word in line.split()]

    return learn


def _number(word: str) -> Any:
    try:
        return float(word)
    except ValueError:
        return word


EXACT["predict"] = predict_rows
EXACT["ground"] = grounded
EXACT["learn, pseudo"] = learned("pseudo")
EXACT["learn, conditional"] = learned("conditional")
for kind in (".uai", ".json", ".bif", ".xmlbif"):
    EXACT[f"convert {kind}"] = converted(kind)
EXACT["convert .json, seen"] = converted(".json", *WET)

# sampled answers, on the command line
FEW = ("--samples", "40", "--seed", "3")
for method in ("gibbs", "mcsat", "lifted"):
    words = ("--method", method, *FEW)
    command(f"infer monitor, {method}", "infer", MONITOR, *words, sampled=True)
    command(f"infer smokers, {method}", "infer", SMOKERS, "-e", FACTS, *words, sampled=True)
command("infer ring, random scan", "infer", RING, "--method", "gibbs", "--set", "scan=random", *FEW,
        sampled=True)  # fmt: skip
command("infer sprinkler, counts", "infer", SPRINKLER, "--method", "gibbs", "--set",
        "estimator=values", *FEW, sampled=True)  # fmt: skip
command("infer smokers, rank", "infer", SMOKERS, "-e", FACTS, "--method", "lmh", "--set",
        "approximation=rank", *FEW, sampled=True)  # fmt: skip
command("infer monitor, paper", "infer", MONITOR, "--method", "lmh", "--set", "blocks=paper", *FEW,
        sampled=True)  # fmt: skip
command(
    "joint, sampled", "joint", MONITOR, "heart", "oxygen", "--method", "gibbs", *FEW, sampled=True
)
command("ask, sampled", "ask", SMOKERS, "Smokes(Anna)", "-e", FACTS, "--method", "mcsat", *FEW,
        sampled=True)  # fmt: skip
command("sweep, sampled", "sweep", RING, "--beta", "0.5,1", "--method", "gibbs", *FEW, sampled=True)

# sampled answers in Python
FIXED: dict[str, Any] = {"samples": 60, "seed": 5, "estimator": "rao-blackwell"}


def raced(*families: str, betas: tuple[float, ...] = ()) -> dict[str, Any]:
    """What a race has chosen before."""
    moves = {"base": "tempering" if betas else "gibbs", "families": list(families), "period": 40}
    return {**moves, "betas": list(betas)} if betas else moves


def sampled(name: str, model: Callable[[], Any], **settings: Any) -> None:
    asked(name, lambda: om.marginals(model(), **{**FIXED, **settings}), sampled=True)


sampled("grid, gibbs", grid, method="gibbs")
sampled("grid, control variates", grid, method="gibbs", estimator="control-variates", samples=400)
sampled("grid, flip", grid, method="lmh", moves=raced("flip"))
sampled("grid, clusters", grid, method="lmh", moves=raced("clusters"))
sampled("grid, two families", grid, method="lmh", moves=raced("flip", "reflections"))
sampled("grid, tempering", grid, method="lmh", moves=raced(betas=(1.0, 0.6, 0.3)))
sampled("grid, paper", grid, method="lmh", alpha=0.7, clusters=4)
sampled("grid, pilot", grid, method="lmh", blocks="pilot")
sampled("grid, lifted", lambda: om.ising_grid(5, 5, 0.3, 0.1), method="lifted")
sampled("chimera", lambda: om.random_chimera(2, 2, beta=0.7, seed=3), method="gibbs")
sampled("Potts, labels", lambda: om.potts_grid(4, 4, 3, 0.5), method="lmh", moves=raced("labels"))
sampled("ties in blocks", tied, method="gibbs")
sampled("exclusive, one-hot", exclusive, method="lmh", moves=raced("one-hot"))
sampled("exclusive, mcsat", exclusive, method="mcsat")
sampled("exclusive, blocks", exclusive, method="gibbs", base="low-width")
sampled("generators", lambda: om.read(RING), method="lmh", generators=["(0 1 2)"])
asked(
    "probability, sampled",
    lambda: om.probability(grid(), "s0_0 == s5_5", method="gibbs", **FIXED),
    sampled=True,
)
asked(
    "joint, sampled in Python",
    lambda: om.joint(grid(), ["s0_0", "s1_1"], method="gibbs", **FIXED),
    sampled=True,
)
SAMPLED["expect, sampled"] = lambda _: told(
    om.expect(grid(), {"m": lambda s: s["s0_0"] + s["s5_5"]}, method="gibbs", **FIXED)["m"].value
)
SAMPLED["draws, independent"] = lambda _: told(om.draws(grid(), samples=20, seed=1).values)
SAMPLED["draws, chains"] = lambda _: told(
    om.draws(grid(), samples=2, chains=32, method="gibbs", seed=1).values
)
SAMPLED["best, searched"] = lambda _: told(
    [dict(one) for one in om.best(grid(8), k=2, method="gibbs", samples=2, seed=1)]
)


def own_kernel() -> om.Marginals:
    prepared = om.kernels.prepare(grid().graph)
    kernel = om.kernels.alternation(om.kernels.gibbs(), om.kernels.flips(prepared), period=30)
    return om.marginals(grid(), kernel=kernel, samples=40, seed=2)


asked("own kernel", own_kernel, sampled=True)


def resumed(folder: Path) -> Any:
    run = folder / "run"
    om.marginals(grid(), method="gibbs", samples=30, seed=4, checkpoint=run)
    return told(content(om.resume(run, grid())))


SAMPLED["resume"] = resumed
