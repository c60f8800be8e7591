"""Try control variates out, and choose by what the trial has shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from orbitmc._numba.jit import Stopwatch
from orbitmc._util.text import few_digits
from orbitmc.estimate.control_variates import (
    STATES,
    Controls,
    radii_for,
    scaled,
    secants,
    terms_for,
)
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.run.control.choice import ControlChoice, plainly
from orbitmc.run.control.trial import GAIN_OF_SLOW, LEAST_GAIN, Best, best_way, is_slow, trial_of

if TYPE_CHECKING:
    from orbitmc.run.run import Run


SLOW = "chains remember their states for too long"


def tried(run: Run, samples: int, *, cheap: bool) -> ControlChoice:
    """Choose how a run estimates by a trial of so many samples.

    Where chains are slow, a few columns may seem to gain by chance: then control variates are
    looked at only if they are `cheap`, and used only if they gain clearly.
    """
    trial = trial_of(run, samples)
    slow = is_slow(trial)
    if slow and not cheap:
        return plainly(SLOW)
    states = np.ascontiguousarray(run.packs[0].values[:, :STATES])
    with Stopwatch() as watch:
        matrix = secants(run.graph, states)
        ways = {radius: _scaled_controls(matrix, radius) for radius in radii_for(matrix)}
        sweeps = run.spacing / run.graph.variables
        found = {radius: best_way(trial, way, sweeps) for radius, way in ways.items()}
    radius = max(found, key=lambda one: found[one].gain)
    best, controls = found[radius], ways[radius]
    if best.gain < (GAIN_OF_SLOW if slow else LEAST_GAIN):
        return plainly(SLOW if slow else "they would not pay")
    run.controls = controls
    run.after += watch.seconds if run.schedule.seconds is not None else 0.0
    return ControlChoice(best.looks, controls.terms, _words(best), radius, states)


def controls_of(graph: FactorGraph, choice: ControlChoice) -> Controls:
    """What corrects the estimates of a run."""
    return _scaled_controls(secants(graph, choice.states), choice.radius)


def _scaled_controls(matrix: csr_array, radius: float) -> Controls:
    return Controls(scaled(matrix, radius), terms_for(radius))


def _words(best: Best) -> str:
    looks = f"{best.looks} looks for each sample, " if best.looks > 1 else ""
    gain = few_digits(best.gain)
    return f"control variates, {looks}about {gain} times less variance in the same time"
