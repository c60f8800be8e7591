"""A model at several temperatures in one run, whose neighbours exchange their states.

Copies of the model stand side by side, and an exchange of two copies is a permutation of their
variables: a symmetry but for the temperature, which orbital Metropolis accepts or rejects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from orbitmc.ask.method.decisions import (
    MOST_IN_BLOCKS,
    Decision,
    decide,
    decide_for,
    with_block_work,
)
from orbitmc.ask.method.freezing import frozen_alone
from orbitmc.ask.method.memory import sampling_bytes
from orbitmc.ask.questions.features.answering import Noted, sample_feature
from orbitmc.ask.questions.features.energy import POWERS, EnergyFeature
from orbitmc.ask.questions.features.side_by_side import apart, together
from orbitmc.ask.settings import Settings
from orbitmc.conditionals.prepared import prepare
from orbitmc.errors import InputError
from orbitmc.estimate.answers import Estimate, Rung, Sweep
from orbitmc.estimate.features import column_means, expectations, worst_verdict
from orbitmc.estimate.marginals import Marginals
from orbitmc.graph.model import Model
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.groups.permutations import Permutation, from_images
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._gibbs import gibbs
from orbitmc.kernels._orbital import orbital
from orbitmc.sampling.annealed_importance import mean_log_weight

if TYPE_CHECKING:
    from orbitmc._util.arrays import Bytes, Floats
    from orbitmc.ask.questions.subject import Subject
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.sampling.run import Watcher

EXCHANGES = 2  # sweeps of one copy between two exchanges: each pair has its turn once in a while


def tempered_sweep(
    asked: Subject,
    betas: Sequence[float],
    settings: Settings,
    reason: str,
    watchers: Iterable[Watcher],
) -> Sweep:
    """Sample all temperatures in one run, or one after the other where memory is short."""
    graph = asked.model.graph
    if len(betas) > 1 and len(betas) * sampling_bytes(graph, settings) > settings.memory:
        shared = replace(settings, seconds=settings.seconds and settings.seconds / len(betas))
        rungs: list[Rung] = []
        for beta in betas:
            rungs += _rungs(asked, [beta], shared, reason, watchers)
            if rungs[-1].marginals.about.interrupted:
                break
    else:
        rungs = _rungs(asked, betas, settings, reason, watchers)
    return Sweep(tuple(rungs), interrupted=rungs[-1].marginals.about.interrupted)


def _rungs(
    asked: Subject,
    betas: Sequence[float],
    settings: Settings,
    reason: str,
    watchers: Iterable[Watcher],
) -> list[Rung]:
    cooled = [asked.model.at(beta) for beta in betas]
    decision = _decided(together(cooled, _labels(betas)), betas, settings)
    reasons = "; ".join(dict.fromkeys((reason, decision.reason)))
    decision = replace(decision, reason=reasons, ruled_out=("exact",))
    feature = LadderFeature(asked.model, betas, settings.seed)
    noted = sample_feature(asked, decision, feature, watchers)
    if settings.method == "auto":
        about = replace(noted.about, method="tempering")
        noted = replace(noted, marginals=replace(noted.marginals, about=about))
    own = apart(noted.marginals, cooled)
    return [_rung(asked, place, feature, noted, own[place]) for place in range(len(betas))]


def _labels(betas: Sequence[float]) -> list[str]:
    """A label for each copy; those that look the same are counted."""
    plain = [f"beta {beta:g}" for beta in betas]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{label}, number {place}" for place, label in enumerate(plain, 1)]


def _decided(model: Model, betas: Sequence[float], settings: Settings) -> Decision:
    """Let neighbours exchange their states, unless another method is asked for."""
    if settings.method != "auto":
        return decide(model, settings)
    decision = decide_for(model, _kernel(model, betas, settings), settings)
    exchanges = "neighbouring temperatures exchange states" if len(set(betas)) > 1 else "Gibbs"
    return replace(decision, reason=exchanges)


def _kernel(model: Model, betas: Sequence[float], settings: Settings) -> Kernel:
    """Gibbs, in blocks where zeros freeze single variables, and exchanges of neighbours."""
    graph, size = model.graph, model.graph.variables // len(betas)
    base: Kernel = gibbs()
    if graph.has_zeros() and graph.variables <= MOST_IN_BLOCKS:
        from orbitmc.kernels.block_gibbs.kernel import low_width

        if frozen_alone(prepare(graph), settings):
            work = with_block_work(replace(settings, base="low-width")).block_work
            base = low_width(graph, most_work=work or math.inf)
    pairs = [pair for pair in pairwise(np.argsort(betas).tolist()) if _differ(betas, *pair)]
    if not pairs or not size:
        return base
    swaps = [_exchange(graph.variables, size, *pair) for pair in pairs]
    jump = orbital(graph, permutation_group(graph.variables, swaps))
    return alternation(base, jump, period=EXCHANGES * size)


def _differ(betas: Sequence[float], one: int, other: int) -> bool:
    return betas[one] != betas[other]


def _exchange(variables: int, size: int, one: int, other: int) -> Permutation:
    """Two copies exchange their states."""
    here, there = (np.arange(k * size, (k + 1) * size) for k in (one, other))
    return from_images(variables, np.concatenate([here, there]), np.concatenate([there, here]))


class LadderFeature:
    """Powers of the energy of each copy, one copy after the other."""

    averaged = -1

    def __init__(self, model: Model, betas: Sequence[float], seed: int) -> None:
        self.betas, self.size = betas, model.graph.variables
        self.near = [-mean_log_weight(model.at(b).graph, seed=seed) / b for b in betas]
        self.own = [EnergyFeature(model.graph, near) for near in self.near]
        self.variables = np.arange(self.size * len(betas))
        self.rows = POWERS * len(betas)

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        copies = enumerate(self.own)
        parts = [own.sums(states[self.part(k, self.size)], None) for k, own in copies]
        return np.concatenate(parts)

    def part(self, place: int, size: int) -> slice:
        """Where a copy's numbers are, if each has so many."""
        return slice(place * size, (place + 1) * size)

    def errors(self, means: Floats) -> Floats:
        copies = enumerate(self.own)
        return np.concatenate([own.errors(means[self.part(k, POWERS)]) for k, own in copies])


def _rung(
    asked: Subject, place: int, feature: LadderFeature, noted: Noted, found: Marginals
) -> Rung:
    """The energy and the heat capacity of one copy, with its marginals."""
    beta, near, own = feature.betas[place], feature.near[place], feature.own[place]
    sums = [every[:, feature.part(place, POWERS)] for every in noted.sums]
    mean = float(column_means(sums, noted.recorded, noted.lanes)[0].mean())
    moments = own.moments(sums, noted.recorded, noted.lanes)
    rows = len(noted.rows) // len(feature.betas)
    depends = np.zeros_like(noted.rows)
    depends[feature.part(place, rows)] = True
    both = expectations(moments, noted.recorded, noted.lanes, noted.known, depends, own.ends(mean))
    verdicts = noted.verdicts[feature.part(place, feature.size)]
    energy, heat = (
        Estimate(
            value=shift + factor * float(one.probability[0]),
            standard_error=factor * float(one.standard_error[0]),
            low=shift + factor * float(one.low[0]),
            high=shift + factor * float(one.high[0]),
            verdict=worst_verdict(one.verdict(), verdicts),
            about=noted.about,
        )
        for one, shift, factor in ((both.row(0), near, 1.0), (both.row(1), 0.0, beta**2))
    )
    if not math.isfinite(energy.value):
        raise InputError(f"the energy at beta {beta:g} is beyond the largest double")
    return Rung(beta, energy, heat, asked.told(found))
