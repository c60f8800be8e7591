"""Draw the picture of the README: where Gibbs is stuck and jumps are not.

Left, a cold lattice of spins (the model of `orbitmc demo`): estimates of one marginal against
sweeps. Right, the same lattice: the error of all marginals against CPU seconds of one core, for
Gibbs and for the jumps that a race chooses, which is charged for its race. CPU seconds, because
then it does not matter what else the machine does. `benchmarks/stuck.py` measures other models in
the same way.

What was measured is kept in `picture.json`; what is missing there is measured again.
"""

import json
import sys
from pathlib import Path

import matplotlib as mpl

import orbitmc as om
from orbitmc.cli.getting_started import demo_model
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.report.plots import BLUE, ORANGE, label_logarithms

mpl.use("svg")
import matplotlib.pyplot as plt  # the backend must be chosen first
from matplotlib.ticker import NullLocator

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent / "benchmarks"))

import stuck  # noqa: E402 - found by that line

SPIN = "s5_5"


def main() -> None:
    kept = FOLDER / "picture.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name, measure in MEASURED.items():
        if name not in found:
            found[name] = measure()
            kept.write_text(json.dumps(found, indent=1) + "\n")
    draw(found)


def lattice():
    """Estimates of one marginal with intervals, by sweeps."""
    model = demo_model()
    truth = float(om.marginals(model, method="exact")[SPIN].probability[1])
    place, prepared = model.index[SPIN], om.kernels.prepare(model.graph)
    jumps = om.kernels.alternation(SystematicScan(), om.kernels.flips(prepared), period=144)
    curves = {}
    for name, kernel in (("Gibbs", SystematicScan()), ("LMH", jumps)):
        schedule = om.Schedule(samples=3000, warm_up=5, snapshots=True)
        run = om.sample(prepared, kernel, schedule, seed=1)
        curves[name] = [(4 * one.samples, float(one.probability[place])) for one in run.snapshots]
    return {"truth": truth, "curves": curves}


def errors():
    """Errors of all marginals by CPU seconds, for each seed; jumps for a run of ten seconds."""
    jumps, _, found = stuck.curves(demo_model(), most=2.5, raced_for=10.0)
    return {"jumps": jumps, "curves": found}


MEASURED = {"lattice": lattice, "errors": errors}


def draw(found) -> None:
    plt.rcParams.update({"svg.hashsalt": "orbitmc", "font.size": 10, "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5), layout="constrained")
    colour = {"Gibbs": ORANGE, "LMH": BLUE}
    exact = found["lattice"]["truth"]
    left.axhline(exact, color="0.35", linewidth=1.2, linestyle="--")
    left.text(4, exact + 0.008, "exact", color="0.35")
    for name, curve in found["lattice"]["curves"].items():
        sweeps, p = zip(*curve, strict=True)
        left.plot(sweeps, p, "o-", markersize=3, color=colour[name])
        below = 0.018 if name == "LMH" else 0.0
        left.text(
            sweeps[-1] * 1.2, p[-1] - below, name, color=colour[name], va="center", weight="bold"
        )
    left.set(xscale="log", xlabel="sweeps of each chain", ylabel="estimate of P(spin up)")
    left.set_title("A cold lattice: Gibbs keeps its side", fontsize=10.5)
    left.set_xlim(3, 60_000)
    for name, curves in found["errors"]["curves"].items():
        for curve in curves:
            seconds, error = zip(*curve, strict=True)
            right.plot(seconds, error, color=colour[name], linewidth=1.5, alpha=0.85)
        right.text(
            seconds[-1] * 1.15, error[-1], name, color=colour[name], va="center", weight="bold"
        )
    right.set(
        xscale="log", yscale="log", xlabel="CPU seconds", ylabel="mean KL to the exact marginals"
    )
    right.set_title("Error of all 144 marginals, three runs each", fontsize=10.5)
    right.set_xlim(right=right.get_xlim()[1] * 2.5)
    label_logarithms(right)
    left.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    left.xaxis.set_minor_locator(NullLocator())
    for place in (left, right):
        place.grid(alpha=0.25)
        place.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "picture.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
