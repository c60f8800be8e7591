"""A model at several inverse temperatures: energies, heat capacities, marginals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from orbitmc._util.interrupts import listening
from orbitmc.ask.answers import carry_out
from orbitmc.ask.keywords import Options, asks, with_options
from orbitmc.ask.method.decisions import decide, exact_plan
from orbitmc.ask.questions.features.answering import (
    explained,
    require_no_checkpoint,
)
from orbitmc.ask.questions.subject import Subject, subject
from orbitmc.ask.settings import Settings
from orbitmc.errors import InputError
from orbitmc.estimate.answers import Estimate, Rung, Sweep, certain
from orbitmc.estimate.marginals import About
from orbitmc.estimate.verdicts import EXACT
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.hardening import hardened
from orbitmc.graph.model import Model

if TYPE_CHECKING:
    from orbitmc.ask.query import Program
    from orbitmc.sampling.run import Watcher

STEPS = (1e-2, 1e-3, 1e-4)  # of beta, between exact energies that heat capacities are made of
BETA_ROUNDING = 1e-15  # of an energy
ENOUGH = 1e-6  # of a heat capacity: where steps cause more error, smaller ones are tried


@asks
@listening()
def sweep(
    model: Model | Program,
    betas: Sequence[float],
    evidence: Evidence | None = None,
    *,
    settings: Settings | None = None,
    watchers: Iterable[Watcher] = (),
    **options: Unpack[Options],
) -> Sweep:
    """Look at a model at several inverse temperatures: all log-weights times `beta`.

    The energy of a state is minus its log-weight at beta 1; the heat capacity is its variance times
    beta squared. All temperatures are answered exactly where that is affordable. Elsewhere they are
    sampled side by side, in one run in which neighbouring temperatures exchange their states
    (parallel tempering), unless a `method` is asked for. Ctrl-C gives the partial answer.

    >>> import orbitmc as om
    >>> found = om.sweep(om.ising_grid(3, 3, 1.0), [0.2, 0.4])
    >>> [round(rung.energy.value, 5) for rung in found]
    [-2.49348, -5.4409]
    """
    chosen = with_options(settings, options)
    require_no_checkpoint(chosen)
    wanted = _checked(betas)
    asked = subject(model, evidence)
    return explained(asked, lambda: _found(asked, wanted, chosen, watchers))


def _found(
    asked: Subject, betas: Sequence[float], settings: Settings, watchers: Iterable[Watcher]
) -> Sweep:
    coldest = asked.model.at(max(betas))  # refuses what is no beta
    settings.require_use()
    settings.schedule()  # refuses two ends
    if settings.method in ("auto", "exact"):
        plan, reason = exact_plan(coldest.graph, settings)
        if plan is not None:
            return Sweep(tuple(_exact(asked, beta, settings) for beta in betas))
    else:
        reason = f"{settings.method} was asked for"
    from orbitmc.ask.questions.features.tempered import tempered_sweep

    return tempered_sweep(asked, betas, settings, reason, watchers)


def _checked(betas: Sequence[float]) -> list[float]:
    try:
        found = [float(beta) for beta in betas]
    except (TypeError, ValueError):
        raise InputError(f"betas are a list of numbers, not {betas!r}") from None
    if not found:
        raise InputError("name at least one beta")
    return found


def _exact(asked: Subject, beta: float, settings: Settings) -> Rung:
    decision = decide(asked.model.at(beta), replace(settings, method="exact"))
    found = carry_out(decision)
    energy = _energy(asked.model, beta, settings)
    heat, off = _heat_capacity(asked.model, beta, energy, settings)
    return Rung(
        beta, certain(energy, found.about), _derived(heat, off, found.about), asked.told(found)
    )


def _energy(model: Model, beta: float, settings: Settings) -> float:
    """The mean energy: minus the mean log-weight, by elimination."""
    from orbitmc.exact.joints import mean_log_weight

    plan, _ = exact_plan(hardened(model.at(beta)).model.graph, replace(settings, method="exact"))
    assert plan is not None  # it is asked for
    return -mean_log_weight(plan) / beta


def _heat_capacity(
    model: Model, beta: float, energy: float, settings: Settings
) -> tuple[float, float]:
    """The variance of the energy times beta squared, which is how it falls with beta; its error.

    Near a sharp transition only small steps see how steep it is.
    """
    found = []
    for step in STEPS:
        near = {k: _energy(model, beta * (1 + k * step), settings) for k in (-4, -2, -1, 1, 2, 4)}
        fall, off = _extrapolated(*(-beta * _slope(near, gap, step) for gap in (1, 2)))
        lost = BETA_ROUNDING * abs(beta * energy) / step
        found.append((off + lost, fall))
        if off <= max(lost, ENOUGH * abs(fall)):
            break
    off, fall = min(found)
    return max(fall, 0.0), off


def _slope(f: dict[int, float], gap: int, step: float) -> float:
    """The first derivative, by differences of fourth order."""
    return (8 * (f[gap] - f[-gap]) - (f[2 * gap] - f[-2 * gap])) / (12 * gap * step)


def _extrapolated(fine: float, coarse: float) -> tuple[float, float]:
    """A derivative without its error of fourth order, and how far that is from the fine one."""
    better = fine + (fine - coarse) / 15.0
    return better, abs(better - fine)


def _derived(value: float, error: float, about: About) -> Estimate:
    """A number that is exact but for differences that stand for derivatives."""
    return Estimate(value, error, value - error, value + error, EXACT, about)
