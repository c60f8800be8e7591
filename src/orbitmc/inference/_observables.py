"""What physicists look at: energy, heat, magnetisation, susceptibility, correlations.

Each is the mean of a number that every state has, or a function of a few such means. Errors of
functions are those of the jackknife, and a verdict looks only at the numbers that it is about: the
energy may be known while chains still keep the sign of their spins.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from orbitmc import tuning
from orbitmc._util.arrays import Bytes, Floats
from orbitmc._util.interrupts import interruptible
from orbitmc._util.text import quote, suggestion
from orbitmc.errors import ContradictionError, InputError, LimitError
from orbitmc.estimate.answers import Estimate, Estimates, certain
from orbitmc.estimate.features import (
    column_means,
    expectations,
    half_width,
    jackknife,
    sums_by_column,
)
from orbitmc.estimate.statistics import standard_errors
from orbitmc.estimate.verdicts import EXACT, FROZEN, MISSED, SEVEREST, SUSPECT
from orbitmc.exact import joints
from orbitmc.graph.evidence import Evidence
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.hardening import harden
from orbitmc.graph.log_weights import extremes, large_factors, partial_log_weight
from orbitmc.graph.model import Model
from orbitmc.inference.answer import answer, exact_about
from orbitmc.inference.expectation import find_rows
from orbitmc.inference.feature_sampling import FeatureEstimate, sample_feature
from orbitmc.inference.plan import Plan, plan_elimination, plan_model
from orbitmc.inference.query import Query, View, list_items, view_of
from orbitmc.inference.settings import (
    Options,
    Settings,
    accepts_settings,
    describe_unused_settings,
    merge_options,
)

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import About
    from orbitmc.exact.plan import EliminationPlan
    from orbitmc.inference.cache import CachedElimination
    from orbitmc.inference.query import Program
    from orbitmc.sampling.run import RunObserver

Means = Mapping[str, float]
Asked = str | tuple[str, str]

USUAL = ("energy", "specific heat", "magnetisation", "|m|", "susceptibility", "Binder ratio")
ALIASES = {
    "e": "energy",
    "c": "specific heat",
    "specific_heat": "specific heat",
    "heat_capacity": "heat capacity",
    "energy_per_site": "energy per site",
    "m": "magnetisation",
    "magnetization": "magnetisation",
    "abs_m": "|m|",
    "order": "|m|",
    "order parameter": "|m|",
    "order_parameter": "|m|",
    "m^2": "m2",
    "m^4": "m4",
    "chi": "susceptibility",
    "binder": "Binder ratio",
    "binder_ratio": "Binder ratio",
    "binder ratio": "Binder ratio",
}
"""Other names that people use."""

CORRELATION = re.compile(r"correlation\((.+)\)")
SITE = re.compile(r"(.*?)([0-9]+)_([0-9]+)")
MOST_STATES = 2**20  # that are enumerated
STATES_AT_A_TIME = 2**14
ROUNDING = 1e-13  # of the largest number that a state may have
TOO_WIDE = "observables look at all variables, too many for a table"
DOUBTS = (FROZEN, SUSPECT, MISSED)
"""What makes any number about a run doubtful; that a variable has not mixed does not."""


@dataclass(frozen=True)
class Observable:
    """A function of the means of some numbers of states."""

    name: str
    needs: tuple[str, ...]
    function: Callable[[Means], float]

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of one number, as it is."""
        return self.needs == (self.name,)


def _plain(name: str) -> Observable:
    return Observable(name, (name,), lambda means: means[name])


def known_observables(beta: float, sites: int) -> dict[str, Observable]:
    """All that have a name, at an inverse temperature, of so many sites.

    The variance of the energy is that of what is left of it when its first guess is taken off.
    """

    def variance(means: Means) -> float:
        return max(means["energy²"] - means["energy"] ** 2, 0.0)

    every = [
        _plain("energy"),
        Observable("energy per site", ("energy",), lambda means: means["energy"] / sites),
        Observable("heat capacity", ("energy", "energy²"), lambda m: beta**2 * variance(m)),
        Observable("specific heat", ("energy", "energy²"), lambda m: beta**2 * variance(m) / sites),
        _plain("magnetisation"),
        _plain("|m|"),
        _plain("m2"),
        _plain("m4"),
        Observable(
            "susceptibility",
            ("m2", "|m|"),
            lambda means: beta * sites * max(means["m2"] - means["|m|"] ** 2, 0.0),
        ),
        Observable(
            "Binder ratio",
            ("m2", "m4"),
            lambda means: _binder_ratio(means["m2"], means["m4"]),
        ),
    ]
    return {observable.name: observable for observable in every}


def _binder_ratio(second: float, fourth: float) -> float:
    """How far fourth moments are from those of a normal distribution: 0; 0 where all are 0."""
    square = second * second
    return 1.0 - fourth / (3.0 * square) if square > 0.0 else 0.0


@accepts_settings
@interruptible()
def observables(
    model: Model | Program,
    names: Sequence[Asked] | str | None = None,
    evidence: Evidence | None = None,
    *,
    beta: float = 1.0,
    settings: Settings | None = None,
    watchers: Iterable[RunObserver] = (),
    **options: Unpack[Options],
) -> Estimates:
    """Measure what physicists look at, each with its error and a verdict of its own.

    `names` are some of `energy`, `energy per site`, `heat capacity`, `specific heat`,
    `magnetisation`, `|m|`, `m2`, `m4`, `susceptibility`, `Binder ratio`; a pair of variables, or
    `correlation(a,b)`, is how much two of them agree; `correlation(3)` is that at this distance
    along the axes of a lattice, on average. Values 0 and 1 are spins -1 and +1; with q values,
    `|m|` is the order parameter of the Potts model, (q times the largest share - 1) / (q - 1). The
    energy of a state is minus its log-weight; `beta` is the inverse temperature. Small models are
    added up exactly, others are sampled. Ctrl-C gives the partial answer.

    >>> import orbitmc as om
    >>> spins = om.ising_grid(3, 3, 1.0, periodic=True)
    >>> found = om.observables(spins, ["energy per site", "|m|", ("s0_0", "s1_1")], beta=0.3)
    >>> print(found["|m|"])
    0.636502, exact
    """
    chosen = merge_options(settings, options)
    if not isinstance(model, Model):
        raise InputError("observables belong to a model: of a program, ask om.observables(p.model)")
    seen = view_of(model.without_helpers(), evidence)

    def bind(view: View) -> ObservablesQuestion:
        return ObservablesQuestion(view, Measured(seen, view, list_observables(names), beta))

    return answer(Query(seen.model.at(beta), None, bind), chosen, watchers)


def list_observables(names: Sequence[Asked] | str | None) -> list[Asked]:
    """All that is asked for; a single name may stand alone."""
    if names is None:
        return list(USUAL)
    listed: list[Asked] = list_items(names, "observables")
    if not listed:
        raise InputError(f"name at least one observable, such as {USUAL[0]}")
    return listed


class Measured:
    """Numbers of states: which are asked for, and how they are found in many states at once.

    `base` says energies; `view` is the same model at its temperature, whose states these are.
    """

    def __init__(self, base: View, view: View, asked: Sequence[Asked], beta: float) -> None:
        self.base, self.graph = base.model, base.model.graph
        self.view, self.beta = view, beta
        self.near = 0.0
        known = known_observables(beta, max(len(view.names), 1))
        self.pairs: dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]] = {}
        self.observables = list(
            {entry.name: entry for entry in (self._resolve(name, known) for name in asked)}.values()
        )
        self.primary = list(
            dict.fromkeys(need for entry in self.observables for need in entry.needs)
        )
        if not self.only_energies:
            self._require_alike()

    @property
    def only_energies(self) -> bool:
        """Whether nothing is asked for but the energy and its variance."""
        return {*self.primary} <= {"energy", "energy²"}

    def _resolve(self, asked: Asked, known: Mapping[str, Observable]) -> Observable:
        if isinstance(asked, tuple):
            return self._pair(asked)
        name = str(asked).strip()
        name = ALIASES.get(name.casefold() if name not in known else name, name)
        if name in known:
            return known[name]
        inner = CORRELATION.fullmatch(name)
        if inner is None:
            near = suggestion(name, [*known, *ALIASES])
            raise InputError(
                f"there is no observable {quote(name)}{near}; known are {', '.join(known)} and "
                "correlation(a,b), correlation(distance)"
            )
        words = inner[1]
        if re.fullmatch(r"\s*[0-9]+\s*", words) and words not in self.view.known:
            return self._distance(int(words))
        for cut in (place for place, letter in enumerate(words) if letter == ","):
            pair = words[:cut].strip(), words[cut + 1 :].strip()
            if all(part in self.view.known for part in pair):
                return self._pair(pair)
        return self._pair(tuple(part.strip() for part in words.split(",")))

    def _pair(self, pair: tuple[str, ...]) -> Observable:
        if len(pair) != 2:
            raise InputError(f"a correlation is that of two variables, not of {len(pair)}")
        targets = self.view.named(pair)
        places = [self.view.names.index(target.name) for target in targets]
        name = f"correlation({targets[0].name},{targets[1].name})"
        self.pairs[name] = (np.array(places[:1]), np.array(places[1:]))
        return _plain(name)

    def _distance(self, distance: int) -> Observable:
        name = f"correlation({distance})"
        self.pairs[name] = lattice_pairs(self.view, distance)
        return _plain(name)

    def _require_alike(self) -> None:
        sizes = {len(self.view.find(name).values) for name in self.view.names}
        if len(sizes) != 1 or min(sizes) < 2:
            raise InputError(
                f"spins have the same number of values, 2 or more; here there are {sorted(sizes)}"
            )
        if self.values > 2 and "magnetisation" in self.primary:
            raise InputError(
                f"with {self.values} values there is no magnetisation up or down: ask for |m|"
            )

    @cached_property
    def values(self) -> int:
        """How many values a spin has."""
        return len(self.view.find(self.view.names[0]).values) if self.view.names else 2

    @cached_property
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int16]]:
        """The variable of each name, and what its values mean."""
        found = find_rows(self.view, self.view.names)
        return found.variables, found.meaning

    def numbers(self, states: Bytes) -> dict[str, Floats]:
        """All numbers that are needed, of states `[variable, state]`; energies less a constant."""
        found: dict[str, Floats] = {}
        if {"energy", "energy²"} & {*self.primary}:
            factors = np.arange(self.graph.factors, dtype=np.uint32)
            weights = partial_log_weight(self.graph, factors, np.ascontiguousarray(states))
            found["energy"] = -weights - self.graph.constant - self.near
            found["energy²"] = found["energy"] ** 2
        if any(name not in found for name in self.primary):
            spins = self._spins(states)
            shares = np.stack([(spins == value).mean(axis=0) for value in range(self.values)])
            q = self.values
            found["magnetisation"] = shares[-1] - shares[0]
            found["|m|"] = (q * shares.max(axis=0) - 1.0) / (q - 1.0)
            found["m2"] = (q * (shares**2).sum(axis=0) - 1.0) / (q - 1.0)
            found["m4"] = found["m2"] ** 2
            for name, (first, second) in self.pairs.items():
                same = (spins[first] == spins[second]).mean(axis=0)
                found[name] = (q * same - 1.0) / (q - 1.0)
        return found

    def _spins(self, states: Bytes) -> NDArray[np.int16]:
        variables, meaning = self.rows
        some = states if len(states) else np.zeros((1, states.shape[1]), dtype=np.uint8)
        numbers = np.where(variables[:, None] < 0, 0, some[variables])
        return np.take_along_axis(meaning, numbers.astype(np.intp), axis=1)

    def bounds(self, name: str) -> tuple[float, float]:
        """Between which numbers a state surely is."""
        if name in ("energy", "energy²"):
            least, most = (extreme[self.graph.table_of] for extreme in extremes(self.graph))
            low = -float(most.sum()) - self.graph.constant - self.near
            high = -float(least.sum()) - self.graph.constant - self.near
            return (low, high) if name == "energy" else (0.0, max(low**2, high**2))
        if name in ("|m|", "m2", "m4"):
            return 0.0, 1.0
        return (-1.0 / (self.values - 1.0) if name in self.pairs else -1.0), 1.0

    def report(self, observable: Observable, value: float) -> float:
        """An energy with the constant that was taken off; all others as they are."""
        if observable.name == "energy":
            return value + self.near
        if observable.name == "energy per site":
            return value + self.near / max(len(self.view.names), 1)
        return value


def lattice_pairs(view: View, distance: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of all pairs of sites so far apart, along rows and columns.

    Names say where a site is; where the first site of a row shares a factor with the last one, the
    lattice is closed that way.
    """
    sites: dict[tuple[int, int], int] = {}
    for place, name in enumerate(view.names):
        match = SITE.fullmatch(name)
        if match is None:
            raise InputError(
                "distances are those of a lattice, whose variables are called s0_0, s0_1, … by row "
                f"and column, and one is called {quote(name)}: name pairs instead"
            )
        sites[int(match[2]), int(match[3])] = place
    shape = tuple(1 + max(site[axis] for site in sites) for axis in (0, 1))
    if len(sites) != len(view.names) or len(sites) != shape[0] * shape[1]:
        raise InputError(f"{len(view.names)} variables are no lattice of {shape[0]} by {shape[1]}")
    first: list[int] = []
    second: list[int] = []
    for axis in (0, 1):
        closed = shape[axis] > 2 and _share_factor(view, sites, axis, shape[axis])
        for site, place in sites.items():
            other = list(site)
            other[axis] += distance
            if closed:
                other[axis] %= shape[axis]
            if other[axis] < shape[axis] and (place != sites[other[0], other[1]] or not distance):
                first.append(place)
                second.append(sites[other[0], other[1]])
    if not first:
        raise InputError(
            f"no two sites of a lattice of {shape[0]} by {shape[1]} are {distance} apart along a "
            "row or a column"
        )
    return np.array(first), np.array(second)


def _share_factor(view: View, sites: Mapping[tuple[int, int], int], axis: int, size: int) -> bool:
    """Whether a factor reads the first and the last site of some row or column."""
    graph, find = view.model.graph, view.find
    for (row, column), place in sites.items():
        if (row, column)[axis]:
            continue
        far = (size - 1, column) if axis == 0 else (row, size - 1)
        here, there = (find(view.names[p]).variable for p in (place, sites[far]))
        if min(here, there) >= 0:
            shared = np.intersect1d(graph.factors_of(here), graph.factors_of(there))
            if len(shared):
                return True
    return False


class ObservablesFeature:
    """Sums of numbers of states and of their squares, in turns, and the ends of each."""

    averaged = -1

    def __init__(self, measured: Measured) -> None:
        self.measured = measured
        self.variables = np.arange(measured.view.model.graph.variables)
        self.rows = 2 * len(measured.primary)
        self.low = np.full(len(measured.primary), np.inf)
        self.high = np.full(len(measured.primary), -np.inf)
        self.alone = threading.Lock()  # packs work in threads

    def sums(self, states: Bytes, chances: Floats | None) -> Floats:
        found = self.measured.numbers(states)
        numbers = np.stack([found[name] for name in self.measured.primary])
        with self.alone:
            self.low = np.minimum(self.low, numbers.min(axis=1))
            self.high = np.maximum(self.high, numbers.max(axis=1))
        powers = np.empty((self.rows, states.shape[1]))
        powers[0::2], powers[1::2] = numbers, numbers**2
        return sums_by_column(powers)

    def errors(self, means: Floats) -> Floats:
        return standard_errors(means[0::2])

    def ends(self, place: int) -> tuple[Floats, Floats]:
        """The least and largest number that was seen, or that may be where all were the same."""
        low, high = float(self.low[place]), float(self.high[place])
        if high - low <= 1e-12 * max(abs(low), abs(high)):
            least, most = self.measured.bounds(self.measured.primary[place])
            low, high = min(low, least), max(high, most)
        return np.array([low]), np.array([high])


def estimate_all(
    feature: ObservablesFeature,
    noted: FeatureEstimate,
    first: int = 0,
    verdicts: Sequence[str] | None = None,
) -> dict[str, Estimate]:
    """What is known of all observables after a run; their sums begin at row `first`.

    `verdicts` are those of the variables that they look at; of all, if none are given.
    """
    measured = feature.measured
    sums = [every[:, first : first + feature.rows] for every in noted.sums]
    nothing = np.zeros_like(noted.rows)
    doubts = doubts_of(noted.verdicts if verdicts is None else verdicts)
    means = column_means(sums, noted.recorded, noted.lanes)[0::2]
    alone = {}
    for place, name in enumerate(measured.primary):
        rows = [every[:, 2 * place : 2 * place + 2] for every in sums]
        alone[name] = expectations(
            rows, noted.recorded, noted.lanes, noted.known, nothing, feature.ends(place)
        )
    estimates = {}
    for entry in measured.observables:
        parts = [alone[name].verdict() for name in entry.needs]
        verdict = min([*parts, *doubts], key=SEVEREST.index)
        if entry.is_mean:
            mean = alone[entry.name]
            numbers = (mean.probability[0], mean.standard_error[0], mean.low[0], mean.high[0])
        else:
            places = [measured.primary.index(name) for name in entry.needs]
            number, spread = jackknife(_of_means(entry), means[places])
            half = half_width(spread, means.shape[1])
            numbers = (number, spread, number - half, number + half)
        value, error, low, high = map(float, numbers)
        low, high = measured.report(entry, low), measured.report(entry, high)
        value = measured.report(entry, value)
        estimates[entry.name] = Estimate(value, error, low, high, verdict, noted.about)
    return estimates


def doubts_of(verdicts: Sequence[str]) -> list[str]:
    """What makes any number about a run doubtful, of the verdicts of its variables."""
    return [verdict for verdict in verdicts if verdict in DOUBTS]


def _of_means(entry: Observable) -> Callable[[Floats], float]:
    return lambda means: entry.function(dict(zip(entry.needs, means.tolist(), strict=True)))


def enumerate_all(measured: Measured, about: About) -> dict[str, Estimate]:
    """All observables of a small model, added up over its states."""
    graph = measured.view.model.graph
    sizes = graph.cardinality.astype(np.int64)
    total, factors = math.prod(sizes.tolist()), np.arange(graph.factors, dtype=np.uint32)
    sums = dict.fromkeys(measured.primary, 0.0)
    top, weight = -math.inf, 0.0
    for start in range(0, total, STATES_AT_A_TIME):
        numbers = np.arange(start, min(start + STATES_AT_A_TIME, total))
        places = np.unravel_index(numbers, sizes) if len(sizes) else ()
        states = np.array(places, dtype=np.uint8).reshape(len(sizes), len(numbers))
        logs = partial_log_weight(graph, factors, states)
        best = max(top, float(logs.max()))
        if best == -math.inf:
            continue
        shrink, weights = math.exp(top - best), np.exp(logs - best)
        possible = weights > 0
        found = measured.numbers(np.ascontiguousarray(states[:, possible]))
        for name in measured.primary:
            sums[name] = sums[name] * shrink + float(weights[possible] @ found[name])
        top, weight = best, weight * shrink + float(weights.sum())
    if weight == 0.0:
        raise ContradictionError("no state is possible")
    means = {name: _round_off(measured, name, total / weight) for name, total in sums.items()}
    return {
        entry.name: certain(measured.report(entry, entry.function(means)), about)
        for entry in measured.observables
    }


def _round_off(measured: Measured, name: str, mean: float) -> float:
    """A mean, or 0 if it is nothing but rounding."""
    return 0.0 if abs(mean) < ROUNDING * max(map(abs, measured.bounds(name))) else mean


def exact_energies(
    measured: Measured, energy: float, heat: tuple[float, float], about: About
) -> dict[str, Estimate]:
    """Observables that are the energy or the heat capacity, in all or for each site."""
    sites = max(len(measured.view.names), 1)
    known = {
        "energy": certain(energy, about),
        "energy per site": certain(energy / sites, about),
        "heat capacity": derivative_estimate(*heat, about),
        "specific heat": derivative_estimate(heat[0] / sites, heat[1] / sites, about),
    }
    return {entry.name: known[entry.name] for entry in measured.observables}


def require_energies(measured: Measured) -> None:
    """Refuse what elimination cannot tell of a model with many states."""
    if not measured.only_energies:
        raise LimitError(
            "observables other than energies are exact where all states can be added up: of "
            f"{states_of(measured.view.model.graph):.3g} the limit is {MOST_STATES:,}; let them be "
            "sampled"
        )


def states_of(graph: FactorGraph) -> int:
    """How many states there are."""
    sizes: list[int] = graph.cardinality.tolist()
    return math.prod(sizes)


class ObservablesQuestion:
    """Observables of a model, added up where there are few states, and sampled elsewhere."""

    can_resume = False
    scopes = None
    needs = None

    def __init__(self, view: View, measured: Measured) -> None:
        self.view, self.measured = view, measured

    def from_cache(
        self, row: CachedElimination, evidence: Evidence | None, settings: Settings
    ) -> None:
        return None

    def plan(self, settings: Settings) -> Plan:
        if self.is_small and settings.method in ("auto", "exact"):
            return plan_model(self.view.model, replace(settings, method="exact"))
        if settings.method == "exact":
            require_energies(self.measured)
        features = tuning.AskedFeatures(len(self.measured.primary), self._evaluate)
        return plan_model(
            self.view.model,
            settings,
            too_wide="" if self.measured.only_energies else TOO_WIDE,
            collapses=True,
            features=features,
        )

    @property
    def is_small(self) -> bool:
        """Whether all states can be added up."""
        return states_of(self.view.model.graph) <= MOST_STATES

    def _evaluate(self, states: Bytes) -> Floats:
        found = self.measured.numbers(states)
        return np.stack([found[name] for name in self.measured.primary])

    def from_elimination(self, plan: Plan) -> Estimates:
        if not self.is_small:
            return self._energies(plan)
        count = states_of(self.view.model.graph)
        unused = describe_unused_settings(plan.settings)
        about = replace(exact_about(plan), reason=f"all {count:,} states are added up{unused}")
        return Estimates(enumerate_all(self.measured, about), about)

    def _energies(self, plan: Plan) -> Estimates:
        about, beta = exact_about(plan), self.measured.beta
        energy_at = mean_energies(self.measured.base, beta, plan.settings)
        energy = energy_at(beta)
        heat = heat_capacity(energy_at, beta, energy)
        return Estimates(exact_energies(self.measured, energy, heat, about), about)

    def from_chains(self, plan: Plan, observers: Iterable[RunObserver]) -> Estimates:
        feature = ObservablesFeature(self.measured)
        noted = sample_feature(self.view, plan, feature, observers)
        return Estimates(estimate_all(feature, noted), noted.about)


# Mean energies and heat capacities by elimination, where that is affordable.

STEPS = (1e-2, 1e-3, 1e-4)  # of beta, between exact energies that heat capacities are made of
FARTHEST = 1 + 4 * STEPS[0]  # times beta: the coldest of these energies
BETA_ROUNDING = 1e-15  # of an energy
ENOUGH = 1e-6  # of a heat capacity: where steps cause more error, smaller ones are tried


def mean_energies(model: Model, coldest: float, settings: Settings) -> Callable[[float], float]:
    """The mean energy by inverse temperature: minus the mean log-weight, by elimination.

    One plan does for all, unless weights are so large that temperatures decide what is impossible.
    """
    exactly = replace(settings, method="exact")

    def plan_at(beta: float) -> EliminationPlan:
        plan, _ = plan_elimination(harden(model.at(beta)).model.graph, exactly)
        assert plan is not None  # it is asked for
        return plan

    def hottest() -> float:
        return 0.0 - mean_at_zero(model, exactly)

    if coldest == 0:
        return lambda beta: hottest()
    end = coldest * FARTHEST
    if len(large_factors(model.at(end).graph)):
        return lambda beta: -joints.mean_log_weight(plan_at(beta)) / beta if beta else hottest()
    plan = plan_at(end)
    return lambda beta: -joints.mean_log_weight(plan.at(beta / end)) / beta if beta else hottest()


def heat_capacity(
    energy_at: Callable[[float], float], beta: float, energy: float
) -> tuple[float, float]:
    """The variance of the energy times beta squared, which is how it falls with beta; its error.

    Near a sharp transition only small steps see how steep it is.
    """
    if beta == 0:
        return 0.0, 0.0
    candidates = []
    for step in STEPS:
        near = {k: energy_at(beta * (1 + k * step)) for k in (-4, -2, -1, 1, 2, 4)}
        fall, off = _richardson(*(-beta * _slope(near, gap, step) for gap in (1, 2)))
        lost = BETA_ROUNDING * abs(beta * energy) / step
        candidates.append((off + lost, fall))
        if off <= max(lost, ENOUGH * abs(fall)):
            break
    off, fall = min(candidates)
    return max(fall, 0.0), off


def _slope(f: dict[int, float], gap: int, step: float) -> float:
    """The first derivative, by differences of fourth order."""
    return (8 * (f[gap] - f[-gap]) - (f[2 * gap] - f[-2 * gap])) / (12 * gap * step)


def _richardson(fine: float, coarse: float) -> tuple[float, float]:
    """A derivative without its error of fourth order, and how far that is from the fine one."""
    better = fine + (fine - coarse) / 15.0
    return better, abs(better - fine)


def derivative_estimate(value: float, error: float, about: About) -> Estimate:
    """A number that is exact but for differences that stand for derivatives."""
    return Estimate(value, error, value - error, value + error, EXACT, about)


def mean_at_zero(model: Model, settings: Settings) -> float:
    """The mean log-weight of all possible states alike."""
    even = harden(model.at(0.0)).model
    graph = model.graph
    scopes = [tuple(graph.scope_of(factor).tolist()) for factor in range(graph.factors)]
    plan, _ = plan_elimination(joints.tie_scopes(even.graph, scopes), settings)
    assert plan is not None  # it is asked for
    means = []
    for factor, chances in enumerate(joints.joints(plan, scopes)):
        logs, weights = graph.full_table(factor).reshape(-1), chances.reshape(-1)
        possible = weights > 0
        means.append(float(weights[possible] @ logs[possible]))
    return graph.constant + math.fsum(means)
