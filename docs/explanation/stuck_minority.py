"""Draw what a minority of stuck chains looks like: their columns stay apart all the time."""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import orbitmc as om
from orbitmc.conditionals.prepared import prepare
from orbitmc.estimate.statistics import part_lengths, statistics
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.sampling.pack import advance, start_pack

mpl.use("svg")
import matplotlib.pyplot as plt  # the backend must be chosen first

ATOMS, SAMPLES, PACKS, LANES, COLUMNS = 19, 512, 4, 64, 8
FILE = Path(__file__).with_name("stuck_minority.svg")


def main() -> None:
    draw([("all chains mix", atoms(0.0)), ("a few chains are stuck", atoms(3.0))])


def atoms(odds: float) -> om.Model:
    """Coupled atoms; the state of all ones weighs about `odds` times as much as all others."""
    rng = np.random.default_rng(1)
    names = [f"v{number}" for number in range(ATOMS)]
    pairs = [(names[k : k + 2], np.exp(rng.normal(0, 0.3, (2, 2)))) for k in range(ATOMS - 1)]
    table = np.ones((2,) * ATOMS)
    table[(1,) * ATOMS] += odds * 2**ATOMS
    return om.model({name: ["0", "1"] for name in names}, [*pairs, (names, table)])


def draw(models) -> None:
    plt.rcParams.update({"svg.hashsalt": "orbitmc", "font.size": 9, "svg.fonttype": "none"})
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained", sharey=True)
    for axis, (title, model) in zip(axes, models, strict=True):
        means, r_hat = columns_of(model)
        apart = means[-1] > np.median(means) + 0.02
        axis.plot(range(1, len(means) + 1), means[:, ~apart], color="0.6", linewidth=0.8)
        axis.plot(range(1, len(means) + 1), means[:, apart], color="tab:red", linewidth=1.2)
        axis.set(xticks=range(1, len(means) + 1), xlabel="part of time")
        axis.set_title(f"{title}: R-hat {r_hat:.3f}")
    axes[0].set_ylabel("mean of a column of 8 chains")
    figure.savefig(FILE, metadata={"Date": None})


def columns_of(model: om.Model) -> tuple[np.ndarray, float]:
    """Means of the first variable's columns in parts of time, and its R-hat.

    The chains start at random: annealed starts would give the heavy state away.
    """
    prepared, kernel = prepare(model.graph), SystematicScan()
    packs = [
        start_pack(prepared, kernel, seed=1, number=number, lanes=LANES) for number in range(PACKS)
    ]
    for pack in packs:
        advance(prepared, kernel, pack, recorded=0, samples=SAMPLES, spacing=4 * ATOMS)
    lengths = part_lengths(SAMPLES)
    sums = np.concatenate([pack.tally.sums[: len(lengths), 0] for pack in packs], axis=1)
    known = statistics([pack.tally for pack in packs], SAMPLES, LANES)
    return sums / (lengths[:, None] * LANES / COLUMNS), float(known.r_hat[0])


if __name__ == "__main__":
    main()
