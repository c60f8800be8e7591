"""Draw the picture of the README: estimates with error bars beside the exact answer."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import orbitmc as om
from orbitmc.cli.demo import demo_model

mpl.use("svg")
import matplotlib.pyplot as plt  # the backend must be chosen first

SAMPLES = 50  # few, so that the error bars can be seen at all
FILE = Path(__file__).with_name("picture.svg")


def main() -> None:
    model = demo_model()
    truth = om.marginals(model, method="exact")
    estimate = om.marginals(model, method="gibbs", samples=SAMPLES, warm_up=50, seed=1)
    exact = np.array([marginal.probability[1] for marginal in truth.values()])
    found, low, high = (
        np.array([getattr(marginal, name)[1] for marginal in estimate.values()])
        for name in ("probability", "low", "high")
    )
    draw(exact, found, low, high)


def draw(exact, found, low, high) -> None:
    plt.rcParams.update({"svg.hashsalt": "orbitmc", "font.size": 9, "svg.fonttype": "none"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    left.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0)
    left.errorbar(exact, found, [found - low, high - found], fmt=".", markersize=3, linewidth=0.8)
    left.set(xlabel="exact probability of up", ylabel="estimate", xlim=(0, 1), ylim=(0, 1))
    left.set_title("144 spins: the estimate against the truth")
    inside = (low <= exact) & (exact <= high)
    order = np.argsort(exact)
    for chosen, colour in ((inside, "tab:blue"), (~inside, "tab:orange")):
        kept = np.flatnonzero(chosen[order])
        spins = order[kept]
        middle = found[spins] - exact[spins]
        arms = [found[spins] - low[spins], high[spins] - found[spins]]
        right.errorbar(kept, middle, arms, fmt=".", markersize=3, linewidth=0.8, color=colour)
    right.axhline(0, color="0.7", linewidth=1, zorder=0)
    right.set(xlabel="spin, by exact probability", ylabel="estimate minus exact")
    right.set_title(f"{inside.sum()} of {len(exact)} 95 % intervals hold the truth")
    figure.savefig(FILE, metadata={"Date": None})


if __name__ == "__main__":
    main()
