"""Small blocks for the few variables in which chains are stuck.

A race watches some variables, and a few that hardly ever change are easily missed. Here a pilot
watches all of them. A variable is slow if lanes that differ in it still differ after as long as a
run may take to forget. It is drawn together with neighbours that differ in the same lanes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orbitmc import kernels
from orbitmc._util.arrays import Bytes, Floats, Numbers
from orbitmc._util.text import first_few
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.factor_graph import FactorGraph
from orbitmc.graph.model import Model
from orbitmc.kernels._alternation import Alternation, alternation
from orbitmc.kernels._gibbs import SystematicScan
from orbitmc.kernels.protocol import Kernel
from orbitmc.tuning.record import MOST_DRAWN_ENTRIES
from orbitmc.tuning.trial import LOOKS, SETTLING, WINDOWS, TrialChain, WindowMeans

KEPT = 0.15  # of what tells lanes apart, in the next window
NOISE = 4.0  # standard deviations, of a correlation that is nothing
LEAST = 1e-3  # covariance of lanes, in units of the squared range: less is no matter
MOST_SLOW = 0.2  # of all variables: where more are slow, blocks of a few are no help
MOST_GROUPS = 1000
ROUNDS = (4, 7)  # members of a group at most, in the first round and in the next
SMALL = 4  # members up to which groups of each size are drawn
ALIKE = 0.1  # correlation of lane means with those of a slow variable
LONGEST_SCOPE = 32  # variables of a factor whose others are looked at as neighbours
BLOCK_SHARE = 0.3  # of the time
WON = 0.5  # of the covariance that may be left
FEWEST_SWEEPS = 0.5  # between looks, for a pilot that is worth its time
SECONDS_PER_LOOK, SECONDS_PER_MEAN = 1e-9, 5e-9  # for each variable and lane
TIMED = 4.0  # sweeps, to find out how long blocks take
NAMED = 3  # variables
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SlowVariables:
    """Variables that lanes do not forget, the slowest first, and their covariances."""

    variables: Numbers
    covariance: Floats

    @property
    def total(self) -> float:
        return float(self.covariance.sum())


@dataclass(frozen=True)
class StuckResult:
    """Which variables are slow without `blocks` and which with them, and how often to draw these.

    There are no blocks if none helped enough. `gain` is how many times as much of what tells lanes
    apart they would keep without them.
    """

    slow: Numbers
    left: Numbers
    blocks: Groups = ()
    period: int = 1
    gain: float = 1.0

    def describe(self, model: Model) -> str:
        """What is freed and what is not, in words."""
        freed = self.slow[~np.isin(self.slow, self.left)]
        if not self.blocks:
            return f"{_name(model, self.slow)} change seldom, and small blocks are no help"
        words = f"{_name(model, freed)} change seldom alone, {len(self.blocks)} blocks free them"
        return words + (f", but not {_name(model, self.left)}" if len(self.left) else "")


def _name(model: Model, variables: Numbers) -> str:
    names = first_few([model.names[variable] for variable in variables[:NAMED].tolist()])
    more = ", …" if len(variables) > NAMED else ""
    return f"{len(variables)} variables ({names}{more})"


def find_slow(graph: FactorGraph, means: WindowMeans, kept: float = KEPT) -> SlowVariables:
    """Variables of which a share above `kept` of what tells lanes apart stays for long.

    It is the covariance over lanes of a window and the next one, beside the variance of windows.
    Squared values count in units of the range of a variable.
    """
    windows, _, lanes = means.shape
    scale = np.maximum(graph.cardinality - 1, 1).astype(np.float32)
    apart = means / scale[:, None]
    apart -= apart.mean(axis=(0, 2), keepdims=True)
    pairs = (windows - 1) * lanes
    covariance = np.einsum("wvl,wvl->v", apart[:-1], apart[1:]).astype(np.float64) / pairs
    variance = np.einsum("wvl,wvl->v", apart, apart) / (windows * lanes)
    correlation = covariance / np.maximum(variance, np.finfo(np.float32).tiny)
    least = max(kept, NOISE / np.sqrt(pairs))
    slow = np.flatnonzero((correlation > least) & (covariance > LEAST))
    slow = slow[np.argsort(-covariance[slow], kind="stable")]
    return SlowVariables(slow, covariance[slow])


def grow_groups(graph: FactorGraph, means: WindowMeans, slow: Numbers, most: int) -> Groups:
    """Each slow variable with those neighbours that tell the same lanes apart, the closest first.

    Groups of each size up to `SMALL`, and the largest.
    """
    apart = means.mean(axis=0)
    apart -= apart.mean(axis=1, keepdims=True)
    length = np.sqrt((apart**2).sum(axis=1))
    groups = dict[tuple[int, ...], None]()
    for variable in slow.tolist():
        near = _neighbours(graph, variable)
        products = np.abs(apart[near] @ apart[variable])
        alike = products / np.maximum(length[near] * length[variable], np.finfo(np.float32).tiny)
        order = np.argsort(-alike, kind="stable")[: most - 1]
        others = near[order[alike[order] > ALIKE]].tolist()
        for size in {*range(1, min(len(others), SMALL - 1) + 1), len(others)} - {0}:
            groups[tuple(sorted([variable, *others[:size]]))] = None
    return tuple(groups)[:MOST_GROUPS]


def _neighbours(graph: FactorGraph, variable: int) -> Numbers:
    """The others in the factors of a variable that are not long."""
    scopes = [graph.scope_of(factor) for factor in graph.factors_of(variable)]
    short = [scope for scope in scopes if len(scope) <= LONGEST_SCOPE]
    near = np.unique(np.concatenate([*short, np.array([variable], np.uint32)])).astype(np.int64)
    others: Numbers = near[near != variable]
    return others


class StuckSearch:
    """Looks for slow variables of a chain, and for blocks that free them.

    The chain is Gibbs with a `jump` after every `period` of its steps, if there is one, and goes on
    from given states. A `sweep` takes so many seconds.
    """

    def __init__(
        self,
        prepared: PreparedGraph,
        values: Bytes,
        *,
        sweep: float,
        jump: Kernel | None = None,
        period: int = 1,
    ) -> None:
        self.prepared, self.graph, self.values = prepared, prepared.graph, values
        self.sweep, self.jump, self.period = sweep, jump, period

    def run(self, *, seconds: float, forget: float) -> StuckResult | None:
        """Find what lanes do not forget in so many seconds; None if that is nothing, or too much.

        To see that nothing is slow takes `seconds`, to try blocks some times as long.
        """
        sweeps = self._sweeps(seconds)
        if sweeps < FEWEST_SWEEPS * WINDOWS * LOOKS:
            return None
        kept = _kept(sweeps * self.sweep / WINDOWS, forget)
        chain = self._chain(SystematicScan())
        means = chain.watch(sweeps)
        slow = find_slow(self.graph, means, kept)
        if not 0 < len(slow.variables) <= MOST_SLOW * self.graph.variables:
            return None
        self.values = chain.pack.values.copy()
        best, left, groups = None, slow, Groups()
        for most in ROUNDS:
            groups = _join(groups, grow_groups(self.graph, means, left.variables, most))
            base = self._alternate(groups)
            means = self._watch(base, (1.0 - BLOCK_SHARE) * sweeps)
            left = find_slow(self.graph, means, kept)
            if best is None or left.total < best.left.total:
                best = _Round(groups, base.period, left)
            if not len(left.variables):
                break
        beside = find_slow(self.graph, chain.watch(sweeps), kept)  # lanes may meet without blocks
        if best is None or best.left.total > WON * beside.total or not len(beside.variables):
            return StuckResult(slow.variables, slow.variables)
        gain = beside.total / max(best.left.total, LEAST)
        return StuckResult(slow.variables, best.left.variables, best.blocks, best.period, gain)

    def _sweeps(self, seconds: float) -> float:
        """How many sweeps a pilot of so many seconds has, beside looking and judging."""
        looking = SECONDS_PER_LOOK * LOOKS * WINDOWS * self.values.size
        judging = SECONDS_PER_MEAN * WINDOWS * self.values.size
        return (seconds - looking - judging) / ((1.0 + SETTLING) * self.sweep)

    def _chain(self, base: Kernel) -> TrialChain:
        """The jumping chain on another base."""
        jumping = None if self.jump is None else alternation(base, self.jump, period=self.period)
        return TrialChain(self.prepared, jumping or base, self.values)

    def _watch(self, base: Kernel, sweeps: float) -> WindowMeans:
        """Go on with another base, and watch all variables."""
        chain = self._chain(base)
        means = chain.watch(sweeps)
        self.values = chain.pack.values.copy()
        return means

    def _alternate(self, groups: Groups) -> Alternation:
        """Gibbs with blocks that take their share of the time, as it is measured here."""
        drawn = kernels.chosen_blocks(self.graph, groups, most_entries=MOST_DRAWN_ENTRIES)
        both = alternation(SystematicScan(), drawn, period=1)
        seconds = TIMED * self.sweep
        cycle = max(self.graph.variables, drawn.record_every)
        times = [
            TrialChain(self.prepared, kernel, self.values).seconds_per_step(seconds, cycle)
            for kernel in (SystematicScan(), both)
        ]
        cost = times[1] / times[0] - 1.0
        return both._replace(period=max(1, round(cost * (1.0 - BLOCK_SHARE) / BLOCK_SHARE)))


class _Round(NamedTuple):
    """Blocks, how often they are drawn, and what is slow with them."""

    blocks: Groups
    period: int
    left: SlowVariables


def _kept(window: float, forget: float) -> float:
    """What lanes may keep from window to window, if these are shorter than they may remember."""
    return float(KEPT ** min(1.0, window / forget))


def _join(some: Groups, more: Groups) -> Groups:
    return tuple(dict.fromkeys((*some, *more)))[:MOST_GROUPS]
