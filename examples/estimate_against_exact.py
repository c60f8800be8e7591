"""Sample a grid of spins, and see how many intervals hold the exact value."""

import numpy as np

import orbitmc as om

fields = 0.3 * np.random.default_rng(1).normal(size=(8, 8))
model = om.ising_grid(8, 8, 0.3, fields)

truth = om.marginals(model, method="exact")
estimate = om.marginals(model, method="gibbs", samples=500, seed=1)

held = [
    bool(found.low[1] <= truth[name].probability[1] <= found.high[1])
    for name, found in estimate.items()
]
print(f"log Z = {truth.about.log_z:.6f}")
print(f"{sum(held)} of {len(held)} intervals of 95 % hold the exact probability")
print(f"verdicts: {estimate.verdicts()}, converged: {estimate.converged}")
