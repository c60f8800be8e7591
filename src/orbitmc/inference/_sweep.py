"""A model at several inverse temperatures: energies, heat capacities, marginals."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Unpack

import numpy as np

from orbitmc._numba.compile_log import asked_before, spent_before
from orbitmc._numba.jit import Stopwatch
from orbitmc._simd.random import COLUMNS, generator
from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.interrupts import interruptible
from orbitmc.conditionals.prepared import prepare_briefly
from orbitmc.errors import InputError, LimitError
from orbitmc.estimate.answers import Estimate, Rung, Sweep, certain
from orbitmc.estimate.features import column_means, expectations, sums_by_column, worst_verdict
from orbitmc.estimate.marginals import Marginals
from orbitmc.estimate.statistics import part_lengths, standard_errors
from orbitmc.estimate.tally import PARTS
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.log_weights import extremes, log_weight, partial_log_weight
from orbitmc.graph.model import Model
from orbitmc.groups.permutation_groups import permutation_group
from orbitmc.groups.permutations import Permutation, from_images
from orbitmc.inference._marginals import marginals
from orbitmc.inference._observables import (
    MOST_STATES,
    TOO_WIDE,
    Asked,
    Measured,
    ObservablesFeature,
    derivative_estimate,
    doubts_of,
    enumerate_all,
    estimate_all,
    exact_energies,
    heat_capacity,
    list_observables,
    mean_energies,
    require_energies,
    states_of,
)
from orbitmc.inference.answer import (
    exact_in_time,
    explain_contradictions,
    require_no_checkpoint,
)
from orbitmc.inference.feature_sampling import (
    FeatureEstimate,
    join_models,
    sample_feature,
    split_marginals,
)
from orbitmc.inference.plan import (
    MAX_BLOCK_GIBBS_VARIABLES,
    Plan,
    count_frozen_by_single_site,
    plan_elimination,
    plan_for_kernel,
    plan_model,
    prepare_within,
    sampling_bytes,
    with_block_work,
)
from orbitmc.inference.query import View, view_of
from orbitmc.inference.settings import Options, Settings, accepts_settings, merge_options
from orbitmc.kernels import block_gibbs
from orbitmc.kernels._alternation import alternation
from orbitmc.kernels._gibbs import SystematicScan, gibbs
from orbitmc.kernels._orbital import orbital
from orbitmc.sampling.budget import LEAST_SHARE
from orbitmc.sampling.pack import empty_pack, start_values, walk
from orbitmc.sampling.schedule import LANES

if TYPE_CHECKING:
    from orbitmc.exact.plan import EliminationPlan
    from orbitmc.inference.query import Program
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.sampling.run import RunObserver


ELIMINATIONS = 8  # at each temperature, at least: marginals, the energy, and six more near it


@accepts_settings
@interruptible()
def sweep(
    model: Model | Program,
    betas: Sequence[float],
    evidence: Evidence | None = None,
    *,
    observables: Sequence[Asked] | str | None = None,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Sweep:
    """Look at a model at several inverse temperatures: all log-weights times `beta`.

    The energy of a state is minus its log-weight at beta 1; the heat capacity is its variance times
    beta squared. All temperatures are answered exactly where that is affordable. Elsewhere they are
    sampled side by side, in one run in which neighbouring temperatures exchange their states
    (parallel tempering), unless a `method` is asked for. `observables` are measured too, by the
    names that `om.observables` knows; each has a verdict of its own. Ctrl-C gives the partial
    answer.

    >>> import orbitmc as om
    >>> found = om.sweep(om.ising_grid(3, 3, 1.0), [0.2, 0.4])
    >>> [round(rung.energy.value, 5) for rung in found]
    [-2.49348, -5.4409]
    """
    chosen = merge_options(settings, options)
    require_no_checkpoint(chosen)
    wanted = _check_betas(betas)
    asked = view_of(model.without_helpers() if isinstance(model, Model) else model, evidence)
    names = [] if observables is None else list_observables(observables)
    with explain_contradictions(asked), exact_in_time(chosen):
        return _solve(asked, wanted, names, chosen, watchers)


def _solve(
    asked: View,
    betas: Sequence[float],
    names: Sequence[Asked],
    settings: Settings,
    watchers: Iterable[RunObserver],
) -> Sweep:
    coldest = asked.model.at(max(betas))  # refuses what is no beta
    settings.require_use()
    settings.schedule()  # refuses two ends
    measured = Measured(asked, asked, names, max(betas))
    exactly = measured.only_energies or states_of(asked.model.graph) <= MOST_STATES
    if settings.method == "exact" and not exactly:
        require_energies(measured)
    if not exactly:
        reason = TOO_WIDE
    elif settings.method in ("auto", "exact"):
        plan, reason = plan_elimination(coldest.graph, settings)
        if plan is not None:
            energy_at = mean_energies(asked.model, max(betas), settings)
            if _is_affordable_at_all(energy_at, betas, plan, settings):
                rungs = (_exact(asked, beta, names, energy_at, settings) for beta in betas)
                return Sweep(tuple(rungs))
    if settings.method not in ("auto", "exact"):
        reason = f"{settings.method} was asked for"

    return tempered_sweep(asked, betas, names, settings, reason, watchers)


def _is_affordable_at_all(
    energy_at: Callable[[float], float],
    betas: Sequence[float],
    plan: EliminationPlan,
    settings: Settings,
) -> bool:
    """Whether there is time to eliminate at all temperatures, several times at each.

    How long an energy takes is measured: its large tables may take longer than their sums.
    """
    if settings.method == "exact" or settings.seconds is None:
        return True
    times = len(betas) * ELIMINATIONS
    if times * plan.seconds > settings.seconds - spent_before():
        return False
    with Stopwatch() as watch:
        energy_at(betas[0])
    return times * watch.seconds <= settings.seconds - spent_before()


def _check_betas(betas: Sequence[float]) -> list[float]:
    try:
        checked = [float(beta) for beta in betas]
    except (TypeError, ValueError):
        raise InputError(f"betas are a list of numbers, not {betas!r}") from None
    if not checked:
        raise InputError("name at least one beta")
    return checked


def _exact(
    asked: View,
    beta: float,
    names: Sequence[Asked],
    energy_at: Callable[[float], float],
    settings: Settings,
) -> Rung:
    answer = marginals(asked.model.at(beta), settings=replace(settings, method="exact"))
    energy = energy_at(beta)
    heat = heat_capacity(energy_at, beta, energy)
    cooled = replace(asked, model=asked.model.at(beta))
    measured = Measured(asked, cooled, names, beta)
    observed = (
        exact_energies(measured, energy, heat, answer.about)
        if measured.only_energies
        else enumerate_all(measured, answer.about)
    )
    return Rung(
        beta,
        certain(energy, answer.about),
        derivative_estimate(*heat, answer.about),
        asked.render(answer),
        observed,
    )


# The energy of states, minus their log-weight, as a feature: its mean and its variance.

POWERS = 4
ROUNDING = 1e-12  # of the sum of all log-potentials: energies that differ by less are the same


class EnergyFeature:
    """Sums of the first four powers of the energy, less a constant near its mean."""

    averaged = -1
    rows = POWERS

    def __init__(self, graph: FactorGraph, near: float) -> None:
        self.graph, self.near = graph, near
        self.variables = np.arange(graph.variables)
        self.factors = np.arange(graph.factors, dtype=np.uint32)
        self.low, self.high = np.inf, -np.inf
        self.alone = threading.Lock()  # packs work in threads

    def energies(self, states: Bytes) -> Floats:
        """Minus the log-weight of each state, less the constant."""
        log_weight = partial_log_weight(self.graph, self.factors, np.ascontiguousarray(states))
        energies: Floats = -log_weight - self.graph.constant - self.near
        return energies

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        energies = self.energies(states)
        with self.alone:
            self.low = min(self.low, float(energies.min()))
            self.high = max(self.high, float(energies.max()))
        return sums_by_column(np.stack([energies**power for power in range(1, POWERS + 1)]))

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means[:1])

    def moments(self, every: list[Floats], recorded: int, lanes: int) -> list[Floats]:
        """Sums of the energy, its square, its squared deviation, and the square of that."""
        mean = float(column_means(every, recorded, lanes)[0].mean())
        return [
            _moments(sums, mean, counts) for sums, counts in _append_counts(every, recorded, lanes)
        ]

    def ends(self, mean: float) -> tuple[Floats, Floats]:
        """The least and largest energy and squared deviation that were seen.

        If all energies were the same, those of states that were not seen may still differ by what
        tables allow.
        """
        low, high = self.low, self.high
        least, most = (extreme[self.graph.table_of] for extreme in extremes(self.graph))
        if high - low <= ROUNDING * float(np.maximum(np.abs(least), np.abs(most)).sum()):
            low = min(low, -float(most.sum()) - self.graph.constant - self.near)
            high = max(high, -float(least.sum()) - self.graph.constant - self.near)
        furthest = max(mean - low, high - mean) ** 2
        return np.array([low, 0.0]), np.array([high, furthest])


def _append_counts(every: list[Floats], recorded: int, lanes: int) -> list[tuple[Floats, Floats]]:
    """Sums with how many states each column has in each part of time."""
    counts = np.zeros(PARTS)
    lengths = part_lengths(recorded)
    counts[: len(lengths)] = lengths * (lanes // COLUMNS)
    return [(sums, counts[:, None]) for sums in every]


def _moments(sums: Floats, mean: float, count: Floats) -> Floats:
    first, second, third, fourth = (sums[:, row] for row in range(POWERS))
    deviation = second - 2 * mean * first + mean**2 * count
    squared = (
        fourth - 4 * mean * third + 6 * mean**2 * second - 4 * mean**3 * first + mean**4 * count
    )
    return np.stack([first, second, deviation, squared], axis=1)


# A model at several temperatures in one run, whose neighbours exchange their states.
#
# Copies of the model stand side by side, and an exchange of two copies is a permutation of their
# variables: a symmetry but for the temperature, which orbital Metropolis accepts or rejects.

SECONDS_PER_ENTRY, SECONDS_PER_EDGE = 1e-7, 5e-6  # at least, before the first sample
EXCHANGES = 2  # sweeps of one copy between two exchanges: each pair has its turn once in a while


def tempered_sweep(
    asked: View,
    betas: Sequence[float],
    names: Sequence[Asked],
    settings: Settings,
    reason: str,
    watchers: Iterable[RunObserver],
) -> Sweep:
    """Sample all temperatures in one run, or one after the other where memory is short."""
    graph = asked.model.graph
    _require_time(graph, len(betas), settings)
    if len(betas) > 1 and len(betas) * sampling_bytes(graph, settings) > settings.memory:
        rungs: list[Rung] = []
        for place, beta in enumerate(betas):
            share = _share_of_time(settings, len(betas) - place)
            with asked_before():
                rungs += _rungs(asked, [beta], names, share, reason, watchers)
            if rungs[-1].marginals.about.interrupted:
                break
    else:
        rungs = _rungs(asked, betas, names, settings, reason, watchers)
    return Sweep(tuple(rungs), interrupted=rungs[-1].marginals.about.interrupted)


def _require_time(graph: FactorGraph, temperatures: int, settings: Settings) -> None:
    """Refuse a sweep that cannot be made ready for sampling in the time that was asked for."""
    entries, edges = len(graph.table), len(graph.scope)
    needed = temperatures * (SECONDS_PER_ENTRY * entries + SECONDS_PER_EDGE * edges)
    if settings.seconds is not None and needed > settings.seconds:
        raise LimitError(
            f"to sample this sweep takes about {needed:.2g} s before the first sample, for "
            f"{temperatures} times {graph.factors:,} factors: ask for more seconds, or for fewer "
            "temperatures"
        )


def _share_of_time(settings: Settings, waiting: int) -> Settings:
    """Settings for the next of so many temperatures that share what is left of the time."""
    if settings.seconds is None:
        return settings
    left = max(settings.seconds - spent_before(), LEAST_SHARE * settings.seconds)
    return replace(settings, seconds=left / waiting)


def _rungs(
    asked: View,
    betas: Sequence[float],
    names: Sequence[Asked],
    settings: Settings,
    reason: str,
    watchers: Iterable[RunObserver],
) -> list[Rung]:
    cooled = [asked.model.at(beta) for beta in betas]
    coldest = cooled[int(np.argmax(betas))].graph
    plan = _plan_rungs(join_models(cooled, _labels(betas)), betas, coldest, settings)
    reasons = "; ".join(dict.fromkeys((reason, plan.reason)))
    plan = replace(plan, reason=reasons, ruled_out=("exact",))
    feature = LadderFeature(asked, betas, names, settings.seed)
    noted = sample_feature(asked, plan, feature, watchers)
    if settings.method == "auto":
        about = replace(noted.about, method="tempering")
        noted = replace(noted, marginals=replace(noted.marginals, about=about))
    marginals_of = split_marginals(noted.marginals, cooled)
    return [_rung(asked, place, feature, noted, marginals_of[place]) for place in range(len(betas))]


def _labels(betas: Sequence[float]) -> list[str]:
    """A label for each copy; those that look the same are counted."""
    plain = [f"beta {beta:g}" for beta in betas]
    if len(set(plain)) == len(plain):
        return plain
    return [f"{label}, number {place}" for place, label in enumerate(plain, 1)]


def _plan_rungs(
    model: Model, betas: Sequence[float], coldest: FactorGraph, settings: Settings
) -> Plan:
    """Let neighbours exchange their states, unless another method is asked for."""
    if settings.method != "auto":
        return plan_model(model, settings)
    plan = plan_for_kernel(model, _kernel(model, betas, coldest, settings), settings)
    exchanges = "neighbouring temperatures exchange states" if len(set(betas)) > 1 else "Gibbs"
    return replace(plan, reason=exchanges)


def _kernel(
    model: Model, betas: Sequence[float], coldest: FactorGraph, settings: Settings
) -> Kernel:
    """Gibbs, in blocks where zeros freeze single variables, and exchanges of neighbours.

    Zeros are the same at all temperatures, so it is enough to look for frozen ones at the coldest.
    """
    graph, size = model.graph, model.graph.variables // len(betas)
    base: Kernel = gibbs()
    small = graph.has_zeros() and graph.variables <= MAX_BLOCK_GIBBS_VARIABLES
    alone = small and prepare_within(coldest, settings.schedule())
    if alone and count_frozen_by_single_site(alone, settings):
        work = with_block_work(replace(settings, base="low-width")).block_work
        base = block_gibbs.low_width_of_copies(coldest, graph, most_work=work or math.inf)
    pairs = [pair for pair in pairwise(np.argsort(betas).tolist()) if _differ(betas, *pair)]
    if not pairs or not size:
        return base
    swaps = [_exchange(graph.variables, size, *pair) for pair in pairs]
    jump = orbital(graph, permutation_group(graph.variables, swaps))
    return alternation(base, jump, period=EXCHANGES * size)


def _differ(betas: Sequence[float], first: int, second: int) -> bool:
    return betas[first] != betas[second]


def _exchange(variables: int, size: int, first: int, second: int) -> Permutation:
    """Two copies exchange their states."""
    here, there = (np.arange(k * size, (k + 1) * size) for k in (first, second))
    return from_images(variables, np.concatenate([here, there]), np.concatenate([there, here]))


class LadderFeature:
    """Powers of the energy of each copy, one copy after the other; then observables of each."""

    averaged = -1

    def __init__(
        self, asked: View, betas: Sequence[float], names: Sequence[Asked], seed: int
    ) -> None:
        model = asked.model
        self.betas, self.size = betas, model.graph.variables
        cooled = [model.at(beta).graph for beta in betas]
        self.near = _mean_energies(model.graph, cooled, betas, seed=seed)
        self.energies = [EnergyFeature(model.graph, near) for near in self.near]
        self.observed = []
        for beta, near in zip(betas, self.near, strict=True):
            measured = Measured(asked, asked, names, beta)
            measured.near = near
            self.observed.append(ObservablesFeature(measured))
        self.variables = np.arange(self.size * len(betas))
        self.rows = (POWERS + self.observed[0].rows) * len(betas)

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        copies = [states[self.part(k, self.size)] for k in range(len(self.betas))]
        parts = [
            feature.sums(copy, None) for feature, copy in zip(self.energies, copies, strict=True)
        ]
        if self.observed[0].rows:
            pairs = zip(self.observed, copies, strict=True)
            parts += [feature.sums(copy, None) for feature, copy in pairs]
        return np.concatenate(parts)

    def first_observed(self, place: int) -> int:
        """The first row of the observables of a copy."""
        return POWERS * len(self.betas) + place * self.observed[0].rows

    def part(self, place: int, size: int) -> slice:
        """Where a copy's numbers are, if each has so many."""
        return slice(place * size, (place + 1) * size)

    def errors(self, means: Floats) -> Floats:
        copies = enumerate(self.energies)
        return np.concatenate(
            [feature.errors(means[self.part(k, POWERS)]) for k, feature in copies]
        )


def _rung(
    asked: View, place: int, feature: LadderFeature, noted: FeatureEstimate, marginals: Marginals
) -> Rung:
    """The energy and the heat capacity of one copy, with its marginals."""
    beta, near, energy_feature = feature.betas[place], feature.near[place], feature.energies[place]
    sums = [every[:, feature.part(place, POWERS)] for every in noted.sums]
    mean = float(column_means(sums, noted.recorded, noted.lanes)[0].mean())
    moments = energy_feature.moments(sums, noted.recorded, noted.lanes)
    nothing = np.zeros_like(noted.rows)  # the signs of spins say nothing of energies
    both = expectations(
        moments, noted.recorded, noted.lanes, noted.known, nothing, energy_feature.ends(mean)
    )
    verdicts = noted.verdicts[feature.part(place, feature.size)]
    energy, heat = (
        Estimate(
            value=shift + factor * float(expected.probability[0]),
            standard_error=factor * float(expected.standard_error[0]),
            low=shift + factor * float(expected.low[0]),
            high=shift + factor * float(expected.high[0]),
            verdict=worst_verdict(expected.verdict(), doubts_of(verdicts)),
            about=noted.about,
        )
        for expected, shift, factor in ((both.row(0), near, 1.0), (both.row(1), 0.0, beta**2))
    )
    if not math.isfinite(energy.value):
        raise InputError(f"the energy at beta {beta:g} is beyond the largest double")
    observed = {}
    if feature.observed[place].rows:
        first = feature.first_observed(place)
        observed = estimate_all(feature.observed[place], noted, first, verdicts)
    return Rung(beta, energy, heat, asked.render(marginals), observed)


# A first look at how heavy the states of a model are.

FIRST_SWEEPS = 20
FIRST_STARTS = 8  # different ones where there are zeros: to find one may take long


def _mean_energies(
    graph: FactorGraph, cooled: Sequence[FactorGraph], betas: Sequence[float], *, seed: int
) -> list[float]:
    """About the mean energy of one graph at several temperatures, after a few sweeps.

    All have the same zeros, so chains start in the same states.
    """
    different = FIRST_STARTS if cooled[0].has_zeros() else LANES
    first = np.random.SeedSequence(seed, spawn_key=(0, 1))
    starts = np.tile(start_values(cooled[0], different, first), LANES // different)
    energies = []
    for colder, beta in zip(cooled, betas, strict=True):
        states = _few_sweeps(colder, starts, seed)
        weight = float(np.mean(log_weight(colder if beta else graph, states)))
        energies.append(-weight / (beta or 1.0))
    return energies


def _few_sweeps(graph: FactorGraph, starts: Bytes, seed: int) -> Bytes:
    prepared, kernel = prepare_briefly(graph), SystematicScan()
    pack = replace(empty_pack(prepared, kernel, lanes=LANES), rng=generator(seed, 0, LANES))
    pack.values[...] = starts
    walk(prepared, kernel, pack, FIRST_SWEEPS * graph.variables)
    return pack.values
