"""Coupling from the past on a small Ising grid, in plain numpy, right and wrong."""

import numpy as np


def log_odds(neighbours, coupling, fields, spins, site):
    """Log-odds of "up" at a site given spins -1, +1 of all samples."""
    return 2 * (fields[site] + coupling * spins[neighbours[site]].sum(axis=0))


def heat_bath(neighbours, coupling, fields, spins, uniforms):
    """Update every site once, in place; the same uniforms serve all chains."""
    for site, uniform in enumerate(uniforms):
        odds = log_odds(neighbours, coupling, fields, spins, site)
        spins[site] = np.where(uniform < 1 / (1 + np.exp(-odds)), 1, -1)


def from_the_past(neighbours, coupling, fields, samples, seed, *, fresh=False):
    """Draw samples; with `fresh`, wrongly take new numbers each time one goes further back."""
    rng = np.random.default_rng(seed)
    sites = len(fields)
    found = np.zeros((sites, samples), dtype=int)
    waiting = np.arange(samples)
    past = rng.random((1, sites, samples))
    while len(waiting):
        upper, lower = np.ones((sites, len(waiting)), int), -np.ones((sites, len(waiting)), int)
        for uniforms in past:
            heat_bath(neighbours, coupling, fields, upper, uniforms)
            heat_bath(neighbours, coupling, fields, lower, uniforms)
        met = (upper == lower).all(axis=0)
        found[:, waiting[met]] = upper[:, met]
        waiting = waiting[~met]
        earlier = rng.random((len(past), sites, len(waiting)))
        later = rng.random(earlier.shape) if fresh else past[:, :, ~met]
        past = np.concatenate([earlier, later])
    return found


def until_they_meet(neighbours, coupling, fields, samples, seed):
    """Run forwards and, wrongly, read each sample at the moment its chains meet."""
    rng = np.random.default_rng(seed)
    sites = len(fields)
    upper, lower = np.ones((sites, samples), int), -np.ones((sites, samples), int)
    found = np.zeros((sites, samples), dtype=int)
    while not found.all():
        for site in range(sites):
            uniform = rng.random(samples)
            for spins in (upper, lower):
                odds = log_odds(neighbours, coupling, fields, spins, site)
                spins[site] = np.where(uniform < 1 / (1 + np.exp(-odds)), 1, -1)
            met = (upper == lower).all(axis=0) & (found[0] == 0)
            found[:, met] = upper[:, met]
    return found
