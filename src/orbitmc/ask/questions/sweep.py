"""A model at several inverse temperatures: energies, heat capacities, marginals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from orbitmc.ask.keywords import Options, asks, with_options
from orbitmc.ask.marginals import carry_out
from orbitmc.ask.method.decisions import decide, exact_plan
from orbitmc.ask.questions.features.answering import (
    explained,
    require_no_checkpoint,
)
from orbitmc.ask.questions.subject import Subject, subject
from orbitmc.ask.settings import Settings
from orbitmc.errors import InputError
from orbitmc.estimate.answers.estimate import Estimate
from orbitmc.estimate.answers.sweep import Rung, Sweep
from orbitmc.estimate.marginals import About
from orbitmc.estimate.verdicts import EXACT
from orbitmc.graph.copies import at_beta
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.machine.interrupts import listening

if TYPE_CHECKING:
    from orbitmc.ask.marginals import Program
    from orbitmc.run.run import Watcher

STEP = 0.01  # of beta, between exact values of log Z that derivatives are made of


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
    graph = asked.model.graph
    near = {k: _log_z(graph, beta * (1.0 + k * STEP), decision.settings) for k in range(-4, 5)}
    step = beta * STEP
    slope, off = _extrapolated(*(_slope(near, gap, step) for gap in (1, 2)))
    energy = _derived(-slope, off, found.about)
    curve, off = _extrapolated(*(_curvature(near, gap, step) for gap in (1, 2)))
    heat = _derived(beta**2 * curve, beta**2 * off, found.about)
    return Rung(beta, energy, heat, asked.told(found))


def _log_z(graph: FactorGraph, beta: float, settings: Settings) -> float:
    from orbitmc.exact.elimination import marginals

    plan, _ = exact_plan(at_beta(graph, beta), settings)
    return marginals(at_beta(graph, beta), memory=settings.memory, plan=plan, wanted=[]).log_z


def _slope(f: dict[int, float], gap: int, step: float) -> float:
    """The first derivative, by differences of fourth order."""
    return (8 * (f[gap] - f[-gap]) - (f[2 * gap] - f[-2 * gap])) / (12 * gap * step)


def _curvature(f: dict[int, float], gap: int, step: float) -> float:
    """The second derivative, by differences of fourth order."""
    near, far = f[gap] + f[-gap], f[2 * gap] + f[-2 * gap]
    return (16 * near - far - 30 * f[0]) / (12 * (gap * step) ** 2)


def _extrapolated(fine: float, coarse: float) -> tuple[float, float]:
    """A derivative without its error of fourth order, and how far that is from the fine one."""
    better = fine + (fine - coarse) / 15.0
    return better, abs(better - fine)


def _derived(value: float, error: float, about: About) -> Estimate:
    """A number that is exact but for differences that stand for derivatives."""
    return Estimate(value, error, value - error, value + error, EXACT, about)
