"""Make the gold for grids too wide for elimination: two long runs of different samplers.

Their mean is kept, with how far they are apart; independent perfect samples must agree with it
within their error. The file belongs to exactly one model of `workloads.py`.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from accuracy import GOLD
from workloads import accuracy_workloads

import orbitmc

sys.path.insert(0, str(Path(__file__).parents[1] / "experiments"))
from coupling_from_the_past import perfect_marginals, perfect_samples

NAME = "Ising 30x30 J=0.44"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300.0, help="for each of the two runs")
    parser.add_argument("--samples", type=int, default=20_000, help="perfect ones, to compare")
    asked = parser.parse_args()
    workload = accuracy_workloads(quick=False)[NAME]()
    assert workload
    runs = [_long_run(workload.model, scan, asked.seconds) for scan in ("systematic", "random")]
    gold = np.mean(runs, axis=0)
    apart = 0.25 * _divergence(*runs)
    perfect = perfect_marginals(perfect_samples(workload.model.graph, asked.samples, seed=1))
    scores = (perfect.probability - gold) / perfect.standard_error
    record = {
        "model": NAME,
        "expected_divergence": apart,
        "perfect_samples": asked.samples,
        "mean_square_score": float(np.mean(scores**2)),
        "probability": gold.tolist(),
    }
    GOLD.mkdir(exist_ok=True)
    (GOLD / f"{NAME.replace(' ', '-')}.json").write_text(json.dumps(record) + "\n")
    print({key: value for key, value in record.items() if key != "probability"})


def _long_run(model: orbitmc.Model, scan: str, seconds: float) -> np.ndarray:
    found = orbitmc.marginals(model, method="gibbs", seconds=seconds, scan=scan, seed=len(scan))
    return np.array([marginal.probability[1] for marginal in found.values()])


def _divergence(first: np.ndarray, second: np.ndarray) -> float:
    """Mean KL of two close distributions, to second order."""
    middle = (first + second) / 2
    return float(np.mean((first - second) ** 2 / (2 * middle * (1 - middle))))


if __name__ == "__main__":
    main()
