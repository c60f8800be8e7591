"""A race in the warm-up: which jumps buy effective samples for their time, if any.

All that is decided here is decided before the first counted sample, from states that are thrown
away; afterwards nothing changes. The share of time that jumps may take is capped, so a wrong
choice cannot cost much.
"""

from dataclasses import dataclass, replace

from orbitmc.compiled import Stopwatch
from orbitmc.graph.conditionals import Conditionals
from orbitmc.graph.model import Model
from orbitmc.kernels.alternation import Alternation, alternation
from orbitmc.kernels.gibbs import SystematicScan
from orbitmc.kernels.kernel import Kernel
from orbitmc.tune.families import FAMILIES
from orbitmc.tune.panel import panel
from orbitmc.tune.recipe import Recipe
from orbitmc.tune.trial import Track, Trial

SHARE, LARGE_SHARE = 0.2, 0.5  # of the time, for jumps; the large one after a clear win
KEPT_SHARE = 0.05  # for jumps between modes whose worth a short race cannot show
WIN, CLEAR_WIN = 1.2, 3.0  # times the effective samples per second of the base chain
SELDOM = 1e-3  # accepted less often, a jump is no use
FORGETFUL = 5.0  # sweeps: a base chain that forgets so fast leaves nothing to gain
CLEARLY_FRESH, FINEST = 0.3, 2.0  # a share of states, and sweeps between them
LAPS, CONFIRMING = 8, 2  # laps that are no family's, and how many a confirmation takes
LEAST_COST = 0.02  # of a jump, in sweeps: less cannot be measured
PANEL_SEED = 0


@dataclass(frozen=True)
class PriceTag:
    """What a family of jumps was worth beside the base chain alone, and what became of it."""

    family: str
    gain: float
    acceptance: float | None
    verdict: str


@dataclass(frozen=True)
class Choice:
    """The outcome of a race."""

    recipe: Recipe
    about: str
    prices: tuple[PriceTag, ...] = ()
    seconds: float = 0.0


def race(model: Model, prepared: Conditionals, *, seconds: float) -> Choice:
    """Choose jumps for a model, in about so many seconds of running (compiling not counted)."""
    with Stopwatch() as watch:
        found = _Race(model, prepared, seconds).run()
    return Choice(found.recipe, found.about, found.prices, watch.seconds)


class _Arm:
    """A family in the race, its jumps as often as their share of the time allows."""

    def __init__(self, name: str, jump: Kernel, base: Kernel, alone: Track, step: float) -> None:
        self.name = name
        self.period = max(1, alone.graph.variables)
        kernel = alternation(base, jump, period=self.period)
        self.track = Track(alone.graph, kernel, alone.pack.values)
        self.step = step

    def find_period(self, seconds: float) -> None:
        """Let a jump come after so many base steps that it takes its share of the time."""
        together = self.track.seconds_per_step(seconds)
        cost = max(together / self.step - 1.0, LEAST_COST) * self.period
        self.period = max(1, round((1.0 - SHARE) / SHARE * cost))
        kernel = self.track.kernel
        assert isinstance(kernel, Alternation)
        self.track.kernel = kernel._replace(period=self.period)
        self.track.pack.memory.left[0] = self.period

    @property
    def switches(self) -> bool:
        return FAMILIES[self.name].switches

    @property
    def words(self) -> str:
        return FAMILIES[self.name].words


class _Race:
    """Families run one after the other, in the order of their usual worth.

    Each runs as long as the base chain does. The first clear win ends the race: what is left
    would have to be compiled to be tried.
    """

    def __init__(self, model: Model, prepared: Conditionals, seconds: float) -> None:
        self.model, self.prepared = model, prepared
        self.base = SystematicScan(prepared)
        self.watched = panel(model.graph, PANEL_SEED)
        self.lap = seconds / (LAPS + len(FAMILIES))
        self.prices: list[PriceTag] = []

    def run(self) -> Choice:
        if not self.model.graph.variables:
            return self._gibbs("nothing is left to sample")
        alone = Track(self.model.graph, self.base, None)
        first = self._first(alone)
        if first.memory <= FORGETFUL:
            return self._gibbs(f"Gibbs alone forgets its past within {FORGETFUL:.0f} sweeps")
        best: tuple[float, _Arm] | None = None
        keeper: _Arm | None = None
        for name, family in FAMILIES.items():
            jump = family.build(self.model, self.prepared)
            if jump is None:
                continue
            arm = _Arm(name, jump, self.base, alone, first.per_step)
            gain = self._lap(arm, first)
            if gain is None:
                continue
            keeper = keeper or (arm if arm.switches else None)
            if best is None or gain > best[0]:
                best = gain, arm
            if gain >= CLEAR_WIN and (confirmed := self._confirmed(arm, alone)) >= CLEAR_WIN:
                return self._win(arm, confirmed)
        return self._end(best, keeper, alone)

    def _first(self, alone: Track) -> Trial:
        """A lap of the base chain, short enough to see how soon it forgets."""
        alone.trial(self.watched, self.lap)  # away from the random starts
        first = alone.trial(self.watched, self.lap)
        while first.fresh > CLEARLY_FRESH and first.spacing > FINEST:
            self.lap *= 0.5
            first = alone.trial(self.watched, self.lap)
        return first

    def _lap(self, arm: _Arm, first: Trial) -> float | None:
        """Gain of an arm in one lap; None if its jumps are hardly ever accepted."""
        arm.find_period(0.3 * self.lap)
        seen = arm.track.trial(self.watched, self.lap)
        gain = seen.rate / first.rate
        rare = seen.acceptance is not None and seen.acceptance < SELDOM
        verdict = "hardly ever accepted" if rare else "no clear gain"
        self.prices.append(PriceTag(arm.name, gain, seen.acceptance, verdict))
        return None if rare else gain

    def _confirmed(self, arm: _Arm, alone: Track) -> float:
        """Gain in a longer run, both from where they are."""
        longer = CONFIRMING * self.lap
        base = alone.trial(self.watched, longer)
        return arm.track.trial(self.watched, longer).rate / base.rate

    def _end(self, best: tuple[float, _Arm] | None, keeper: _Arm | None, alone: Track) -> Choice:
        if best is not None and best[0] >= WIN:
            confirmed = self._confirmed(best[1], alone)
            if confirmed >= WIN:
                return self._win(best[1], confirmed)
        if keeper is not None:
            recipe = Recipe((keeper.name,), _rescaled(keeper.period, KEPT_SHARE))
            about = f"{keeper.words}, seldom: modes may be far apart"
            return Choice(recipe, about, self._prices(keeper.name, "kept"))
        return self._gibbs("no jumps gain anything here: Gibbs alone")

    def _win(self, arm: _Arm, gain: float) -> Choice:
        share = LARGE_SHARE if gain >= CLEAR_WIN else SHARE
        about = f"{arm.words} ({gain:.2g} times as many effective samples per second as Gibbs)"
        recipe = Recipe((arm.name,), _rescaled(arm.period, share))
        return Choice(recipe, about, self._prices(arm.name, "chosen"))

    def _gibbs(self, about: str) -> Choice:
        return Choice(Recipe(), about, tuple(self.prices))

    def _prices(self, name: str, verdict: str) -> tuple[PriceTag, ...]:
        return tuple(
            replace(price, verdict=verdict) if price.family == name else price
            for price in self.prices
        )


def _rescaled(period: int, share: float) -> int:
    """The period that gives jumps another share of the time than the usual one."""
    return max(1, round(period * SHARE / (1.0 - SHARE) * (1.0 - share) / share))
