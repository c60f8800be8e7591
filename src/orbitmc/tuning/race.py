"""A race in the warm-up: which jumps buy effective samples for their time, if any.

All that is decided here is decided before the first counted sample, from states that are thrown
away; afterwards nothing changes. The share of time that jumps may take is capped, so a wrong
choice cannot cost much.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from orbitmc._numba.jit import Stopwatch, WorkClock
from orbitmc._util.text import format_number
from orbitmc.conditionals.prepared import PreparedGraph
from orbitmc.graph.model import Model
from orbitmc.sampling.ladder import SWEEPS, choose_ladder
from orbitmc.sampling.schedule import SWEEPS_PER_SAMPLE
from orbitmc.tuning.families import (
    DESCENT,
    FAMILIES,
    FORWARD,
    MATCHING,
    ORDER,
    Family,
    find_matching,
    forward_acceptance,
    is_a_network,
    share_below,
)
from orbitmc.tuning.families import (
    SELDOM as SELDOM_DRAWN,
)
from orbitmc.tuning.panel import STATES, AskedFeatures, Panel, panel, widen
from orbitmc.tuning.record import BLOCKS, TEMPERING, Tuning
from orbitmc.tuning.stuck import StuckResult, StuckSearch
from orbitmc.tuning.trial import SHARE, TIMED, Arm, Trial, estimate_acceptance

# What a race has found: a recipe, why, and what each family was worth.


@dataclass(frozen=True)
class TrialResult:
    """What a family of jumps was worth beside the chain without it, and what became of it.

    There is no `gain` where jumps from a few states were enough to see that they hardly ever
    succeed, or where no time was left to try.
    """

    family: str
    gain: float | None
    acceptance: float | None
    verdict: str


@dataclass(frozen=True)
class RaceResult:
    """The outcome of a race.

    If the race has seen that chains are slow, a chain takes `memory` steps for an independent
    state, and a pack takes `step` seconds for a step of all its chains.
    """

    recipe: Tuning
    about: str
    prices: tuple[TrialResult, ...] = ()
    seconds: float = 0.0
    memory: float | None = None
    step: float = 0.0
    spacing: int | None = None


def tune_to_redraw(model: Model, acceptance: float) -> RaceResult:
    """Draw all variables anew for each state that a run records: many are independent then.

    If none is ever rejected, there are no sweeps in between. Elsewhere there is a part of one, and
    so many draws for a state that some of them are mostly accepted.
    """
    about = f"{FAMILIES[FORWARD].words}, {acceptance:.0%} of the draws"
    price = TrialResult(FORWARD, None, acceptance, "chosen")
    if is_a_network(model):
        return RaceResult(Tuning((FORWARD,), model.graph.variables), about, (price,))
    period = max(1, round(BETWEEN_DRAWS * model.graph.variables))
    spacing = math.ceil(DRAWS_ACCEPTED / acceptance) * period
    return RaceResult(Tuning((FORWARD,), period), about, (price,), spacing=spacing)


def tune_to_descend(model: Model, below: float, acceptance: float) -> RaceResult:
    """Draw what no evidence descends from anew, once in every sweep of the other variables.

    Draws of the whole network take turns with that where they are accepted now and then.
    """
    others = max(1, round((1.0 - below) * model.graph.variables))
    families = (DESCENT, FORWARD) if acceptance >= SELDOM_DRAWN else (DESCENT,)
    about = f"{below:.0%} of the {'; '.join(FAMILIES[name].words for name in families)}"
    prices = tuple(TrialResult(name, None, None, "chosen") for name in families)
    tuning, spacing = Tuning(families, others), SWEEPS_PER_SAMPLE * others
    return RaceResult(tuning, about, prices, spacing=spacing)


def tune_to_structure(model: Model) -> RaceResult | None:
    """Draw an order or the rows of a matching once in every sweep; None if a model has neither."""
    family = ORDER if model.orders else MATCHING
    if family == MATCHING and find_matching(model) is None:
        return None
    price = TrialResult(family, None, None, "chosen")
    return RaceResult(Tuning((family,), model.graph.variables), FAMILIES[family].words, (price,))


# Rungs for a tempered chain, in the time that a race has left.

LADDER_SHARE, ROUNDS = 0.4, 3  # of the time that is left, and how often a ladder is mended
COST, LEAST_SWEEPS = 250.0, 10  # plain sweeps for each sweep of a ladder, and how few help


def ladder_within(
    prepared: PreparedGraph, *, sweep: float, left: float, clock: Callable[[], float]
) -> tuple[float, ...] | None:
    """Rungs, found in a share of the seconds that are left; None if these are too few.

    `sweep` is how long the plain chain takes to visit each variable once.
    """
    sweeps = max(LEAST_SWEEPS, int(LADDER_SHARE * left / (COST * sweep)))
    if sweeps * COST * sweep > left:
        return None
    return choose_ladder(
        prepared,
        rounds=ROUNDS,
        sweeps=min(sweeps, SWEEPS),
        seconds=LADDER_SHARE * left,
        clock=clock,
    )


# The time of a race: how long trials are, and whether there is time for more of them.

CLEARLY_FRESH = 0.1  # share of independent states that leaves room to see a tenfold gain
DEPENDENT, DEEPER = 0.5, 2.0  # share of independent states, times as long a memory
LOOKED = 0.5  # of a lap, as long as one may look at states
LEAST_LOOK = 1e-9  # seconds


class Rebased:
    """A clock that shows how much later it is than now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.begun = clock, clock()

    def __call__(self) -> float:
        return self.clock() - self.begun


class TrialBudget:
    """Trials of a `length` each, as long as a clock shows that there is time.

    A trial takes longer than its steps: these are timed before, and states are looked at and
    judged. How much longer is seen in the first trials.
    """

    def __init__(
        self, watched: Panel, seconds: float, count: int, clock: Callable[[], float]
    ) -> None:
        self.watched, self.seconds, self.clock = watched, seconds, clock
        self.length = self.first = seconds / count
        self.overhead = self.extra = 0.0

    def prepare(self, arm: Arm) -> None:
        """Look at fewer states where that takes long."""
        states = LOOKED * self.length / max(arm.track.look(self.watched), LEAST_LOOK)
        self.watched = replace(self.watched, states=min(int(states), STATES))

    @property
    def left(self) -> float:
        """Seconds."""
        return self.seconds + self.extra - self.clock()

    def extend(self, seconds: float) -> None:
        """Give more time, after something that does not count."""
        self.extra += seconds

    def affords(self, *trials: float) -> bool:
        """Whether there is time for trials of so many seconds."""
        return (1.0 + TIMED) * sum(trials) + len(trials) * self.overhead <= self.left

    def trial(self, arm: Arm, seconds: float) -> Trial:
        """Let an arm run for so long."""
        begun = self.clock()
        seen = arm.trial(self.watched, seconds)
        self.overhead = max(self.overhead, self.clock() - begun - (1.0 + TIMED) * seconds)
        return seen

    def first_look(self, arm: Arm) -> Trial:
        """A lap that shows how soon an arm forgets, also what it seldom leaves.

        A short lap may miss modes that chains seldom leave. So a whole one counts if its states are
        far from independent, at their larger distance, and the memory is longer than it seemed.
        """
        short = self.resolve(arm)
        if self.length == self.first or not self.affords(self.first):
            return short
        whole = self.trial(arm, self.first)
        deeper = whole.fresh < DEPENDENT and whole.memory > DEEPER * short.memory
        return whole if deeper else short

    def resolve(self, arm: Arm) -> Trial:
        """A lap of an arm, so short that one can see how soon it forgets; so are later laps."""
        seen = self.trial(arm, self.length)
        while seen.fresh > CLEARLY_FRESH and seen.spacing > SWEEPS_PER_SAMPLE:
            if not self.affords(0.5 * self.length):
                break
            self.length *= 0.5
            seen = self.trial(arm, self.length)
        return seen


SHARES = (0.05, 0.0125)  # of the time for jumps, tried after a win beside the usual one
LARGE_SHARE = 0.5  # tried after a sure win, and where the chain is lost
GREAT_SHARE = 0.8  # tried after a great win
KEPT_SHARE = 0.02  # for jumps between modes whose worth a short race cannot show
WIN, CLEAR_WIN = 1.2, 3.0  # times the effective samples per second of the chain without them
GREAT_WIN = 10.0  # twice what the great share may cost if jumps were worth nothing
SURE_WIN = 2.0  # seen twice, it lets jumps take the large share; seen once, a long trial wins
SHORT = 100  # sweeps: a lap of so few has hardly time for jumps of many variables
EARLY = {"flip", "clusters"}  # families that are tried first then, and for the slowest kind
BETWEEN_DRAWS = 1 / 16  # of a sweep, between draws of a whole network: a draw takes as long
DRAWS_ACCEPTED = 1.5  # of these, between two states that a run records
MOSTLY_BELOW = 0.5  # of the variables: then a sweep of the others costs less than half
OFTEN = 0.1  # accepted so often, draws of a whole network need no other jumps
SELDOM = 1e-3  # accepted less often, a jump is no use
FORGETFUL = 6.0  # sweeps: a chain that forgets so fast leaves little to gain
SLOW = 100.0  # sweeps: of a chain that forgets so slowly one may temper ten copies
CALM = 30.0  # sweeps: chains that agree with each other so fast are in no different modes
JUMPS = 6, 5, 4  # of an arm, to see whether lost lanes forget where they came from: if time allows
BESIDE = 0.4  # as long as a long trial, the standing chain runs beside it
CLOUDED = 0.05  # share of independent states below which a lane has seen only a few
LAPS, CONFIRMING = 26, 2  # laps that are no family's, and how many a confirmation takes
RESERVE = 0.45  # of the time, which families leave for a pilot, confirming and tempering
TEMPERED, TEMPERED_SHARE = 4, 0.22  # most laps of a tempered chain, and most of the time left
WORTH_MORE = 4.0  # times the race's time for finding out whether draws are independent
PILOT = 0.4  # of the time, to find variables that are stuck
FORGET = 0.06  # of the time: as long as chains may remember (a race is a twentieth of a run)
SLOW_WIN, SLOW_JUMPS, SLOW_TRIALS = 1.2, 6, 2  # by the slowest kind: gain, jumps of a trial
HOPELESS = 0.7  # times the effective samples, in a first trial
AFTER_PILOT = 0.2  # of the time is left for tempering
NO_TIME, UNCLEAR = "no time left", "no clear gain"
TOO_LONG = "a sweep takes too long for a race in this time: Gibbs alone"
SEED = 0  # of the panel


def run_race(
    model: Model,
    prepared: PreparedGraph,
    *,
    seconds: float,
    features: AskedFeatures | None = None,
    least_sweep: float = 0.0,
) -> RaceResult:
    """Choose jumps for a model, in about so many seconds of running (compiling not counted).

    Where chains are slow it may take twice as long. `features` that a question asks for are
    watched, too. A sweep takes `least_sweep` seconds for sure: no start is looked for where that is
    too long.
    """
    model.require_all_factors()
    with Stopwatch() as watch, WorkClock() as clock:
        result = _Race(model, prepared, seconds, clock, features).run(least_sweep)
    return replace(result, seconds=watch.seconds)


class _Race:
    """Families run one after the other, in the order of their usual worth.

    Each runs for a lap, and the standing chain beside it. A clear win is adopted at once. A chain
    is lost if lanes from opposite starts stay apart: then jumps get time for several of them, win
    by bringing lanes together, and what follows runs with them; otherwise it runs against them.
    The race ends when the standing chain leaves little to gain: what is left would have to be
    compiled to be tried. Families are left out when a clock shows that time is up.
    """

    def __init__(
        self,
        model: Model,
        prepared: PreparedGraph,
        seconds: float,
        clock: Callable[[], float],
        features: AskedFeatures | None = None,
    ) -> None:
        self.model, self.prepared, self.features = model, prepared, features
        self.laps = TrialBudget(panel(model.graph, SEED), seconds, LAPS + len(FAMILIES), clock)
        self.gain, self.slowest = 1.0, ""
        self.memory: float | None = None  # of the slowest kind, in steps
        self.step = 0.0
        self.prices: list[TrialResult] = []

    def run(self, least_sweep: float) -> RaceResult:
        if not self.model.graph.variables:
            return RaceResult(Tuning(), "nothing is left to sample")
        if (drawn := forward_acceptance(self.model, WORTH_MORE * self.laps.seconds)) >= OFTEN:
            return tune_to_redraw(self.model, drawn)
        if (below := share_below(self.model, WORTH_MORE * self.laps.seconds)) >= MOSTLY_BELOW:
            return tune_to_descend(self.model, below, drawn)
        if least_sweep > self.laps.length:
            return RaceResult(Tuning(), TOO_LONG)
        self.standing = Arm(self.model, self.prepared, {}, ())
        self.laps.prepare(self.standing)
        if self._sweep() > self.laps.length:
            return RaceResult(Tuning(), TOO_LONG)
        self.laps.trial(self.standing, self.laps.length)  # away from its starts
        self.seen = self.first = self.laps.first_look(self.standing)
        if self._leaves_little:
            return self._with_blocks(RaceResult(Tuning(), self._forgotten()), self._find_stuck())
        keeper, second = self._race_families()
        stuck = self._find_stuck()
        if stuck is None or not stuck.blocks:
            self._finish_families(second)
        if stuck is None and not self.standing.betas:
            self._race_for_the_slowest()
        choice = self._choice(keeper)
        return self._with_blocks(replace(choice, about=choice.about + self.slowest), stuck)

    def _finish_families(self, second: tuple[float, Arm] | None) -> None:
        """Try tempering, and the second best."""
        if self._lost or self._sweeps > SLOW:
            self._try_tempering()
        if second is not None and not self.standing.betas:
            gain, arm = second
            self._adopt(arm, WIN**2 / gain if self._has_rivals else self._least())

    def _race_for_the_slowest(self) -> None:
        """Let flips or clusters run where one kind of statistics is slow with what was chosen.

        They are judged by that kind alone, on average over trials, in more time.
        """
        if not self.laps.affords(self.laps.length):
            return
        watched = widen(self.laps.watched, self.model.graph, SEED, self.features)
        seen = self.standing.trial(watched, self.laps.length)
        if seen.memory <= SLOW or (seen.fresh > DEPENDENT and not seen.lost()):
            return
        extra = TrialBudget(watched, self.laps.seconds, LAPS, Rebased(self.laps.clock))
        best, gain = self.standing, SLOW_WIN
        for name in [name for name in FAMILIES if name in EARLY - self.standing.jumps.keys()]:
            arm = self._arm(name, FAMILIES[name])
            if arm is None:
                continue
            arm.find_cost(0.3 * self.laps.length, LARGE_SHARE, others=self.standing.cost)
            length = max(self.laps.length, SLOW_JUMPS * arm.cycle)
            if not extra.affords(length, length):
                continue
            worth, trial = self._worth(arm, extra, length)
            self.prices = [price for price in self.prices if price.family != name]
            self.prices.append(TrialResult(name, worth, arm.acceptance, UNCLEAR))
            if worth > gain:
                best, gain, seen = arm, worth, trial
        if best is not self.standing:
            self._hold(best, seen, seen.rate / gain)
        self.slowest = f"; {seen.slowest} took {format_number(seen.memory)} sweeps to forget"
        self.memory, self.step = seen.memory * self.model.graph.variables, seen.per_step

    def _worth(self, arm: Arm, laps: TrialBudget, length: float) -> tuple[float, Trial]:
        """The gain of an arm on average over trials; one is enough if there is no hope."""
        gains = list[float]()
        while laps.affords(length, length) and len(gains) < SLOW_TRIALS:
            trial = laps.trial(arm, length)
            gains.append(trial.rate / laps.trial(self.standing, length).rate)
            if gains[0] < HOPELESS:
                break
        return math.exp(sum(map(math.log, gains)) / len(gains)), trial

    def _find_stuck(self) -> StuckResult | None:
        """The few variables that are stuck with the standing jumps, and blocks that free them."""
        seen = self.seen if self.standing.jumps else self.first
        search = StuckSearch(
            self.prepared,
            self.standing.track.pack.values,
            sweep=seen.per_step * self.model.graph.variables,
            jump=self.standing.recipe.jump(self.model, self.prepared),
            period=self.standing.period,
        )
        most = max(self.laps.left - AFTER_PILOT * self.laps.seconds, 0.5 * self.laps.left)
        seconds, ends = min(PILOT * self.laps.seconds, most), self.laps.clock() + most
        stuck = search.run(seconds=seconds, forget=FORGET * self.laps.seconds)
        self.laps.extend(max(0.0, self.laps.clock() - ends))
        return stuck

    def _with_blocks(self, result: RaceResult, stuck: StuckResult | None) -> RaceResult:
        """Draw blocks beside what was chosen, and say what they free."""
        result = replace(result, memory=self.memory, step=self.step)
        if stuck is None or result.recipe.betas:
            return result
        price = TrialResult(BLOCKS, stuck.gain, None, "chosen" if stuck.blocks else UNCLEAR)
        return replace(
            result,
            recipe=replace(result.recipe, blocks=stuck.blocks, block_period=stuck.period),
            memory=max(result.memory or 0.0, FORGET * self.laps.seconds / self.first.per_step),
            step=result.step or self.first.per_step,
            about=f"{result.about}; {stuck.describe(self.model)}",
            prices=(*result.prices, price),
        )

    def _forgotten(self) -> str:
        """What the race has looked at when it saw nothing to gain: that is not everything."""
        seen, every = len(self.laps.watched.watched), self.model.graph.variables
        some = "all" if seen == every else f"{seen} of {every:,}"
        return (
            f"a short race tried no jumps: Gibbs forgot what the race watched ({some} variables, "
            f"combinations of variables and the log-weight) within {FORGETFUL:.0f} sweeps"
        )

    def _sweep(self) -> float:
        """Seconds that the base chain needs to visit every variable once."""
        step = self.standing.track.seconds_per_step(0.1 * self.laps.length)
        return step * self.model.graph.variables

    def _race_families(self) -> tuple[Arm | None, tuple[float, Arm] | None]:
        """Let all families run; gives one that switches modes and may be worth keeping.

        The best of those that do not win clearly is given, too, with its gain.
        """
        keeper: Arm | None = None
        second: tuple[float, Arm] | None = None
        for name in self._contenders():
            if self.laps.left < RESERVE * self.laps.seconds:
                self.prices.append(TrialResult(name, None, None, NO_TIME))
                continue
            arm = self._arm(name, FAMILIES[name])
            gain = self._gain(arm) if arm is not None else None
            if arm is None or gain is None:
                continue
            keeper = keeper or (arm if FAMILIES[name].switches else None)
            if self._is_clear(arm, gain) and self._adopt(arm, CLEAR_WIN):
                second = (second[0] / gain, second[1]) if second and second[0] > gain else None
                if self._leaves_little:
                    break
            elif gain >= self._least() and (second is None or gain > second[0]):
                second = gain, arm
        return keeper, second

    @property
    def _lost(self) -> bool:
        """Whether lanes of the standing chain would remember where they came from after a lap."""
        return self.seen.lost(self.laps.first)

    @property
    def _has_rivals(self) -> bool:
        """Whether families run against the standing jumps, not with them: lanes have met."""
        return bool(self.standing.jumps) and not self._lost

    @property
    def _sweeps(self) -> float:
        """In the time of how many plain sweeps the standing chain gives an effective sample."""
        return self.seen.memory * self.seen.per_step / self.first.per_step

    @property
    def _leaves_little(self) -> bool:
        return not self._lost and self._sweeps <= FORGETFUL

    def _contenders(self) -> list[str]:
        """All families; some come first where the chain is lost and there is time for a few."""
        lap = SHORT * self.first.per_step * self.model.graph.variables
        if not self._lost or self.laps.length > lap:
            return list(FAMILIES)
        return sorted(FAMILIES, key=lambda name: name not in EARLY)

    def _arm(self, name: str, family: Family) -> Arm | None:
        """The standing chain with one more family; None where that makes no sense."""
        values = self.standing.track.pack.values
        propose = family.guess(self.model) if family.guess is not None else None
        if propose is not None:
            acceptance = estimate_acceptance(self.model, propose, values)
            if acceptance < SELDOM:
                self.prices.append(TrialResult(name, None, acceptance, "hardly ever accepted"))
                return None
        jump = family.build(self.model, self.prepared)
        if jump is None:
            return None
        others = () if self._has_rivals else self.standing.jumps.items()
        jumps = {other: other_jump for other, other_jump in others if other not in family.replaces}
        jumps[name] = jump
        return Arm(self.model, self.prepared, jumps, (), values, self.first.per_step)

    def _gain(self, arm: Arm) -> float | None:
        """Gain of an arm in one lap; None if its jumps are hardly ever accepted."""
        base = None if self.standing.jumps else self.standing.track
        usual = LARGE_SHARE if self._lost else SHARE
        arm.find_cost(
            0.3 * self.laps.length, max(usual, self.standing.share), base, self.standing.cost
        )
        length = self._length(arm)
        if length is None:
            self.prices.append(TrialResult(arm.families[-1], None, None, NO_TIME))
            return None
        arm.alone, arm.seen = length > self.laps.length, self.laps.trial(arm, length)
        self.seen = self.laps.trial(self.standing, self._beside(length))
        gain = arm.seen.rate / self.seen.rate
        rare = arm.acceptance is not None and arm.acceptance < SELDOM
        verdict = "hardly ever accepted" if rare else UNCLEAR
        self.prices.append(TrialResult(arm.families[-1], gain, arm.acceptance, verdict))
        return None if rare else gain

    def _length(self, arm: Arm) -> float | None:
        """How long a trial of an arm is: a lap, or some jumps of a lost chain, if there is time."""
        jumps = JUMPS if self._lost else (0,)
        for length in (max(self.laps.length, count * arm.cycle) for count in jumps):
            if self.laps.affords(length, self._beside(length)):
                return length
        return None

    def _beside(self, length: float) -> float:
        """How long the standing chain runs beside a trial."""
        return max(self.laps.length, BESIDE * length)

    def _is_clear(self, arm: Arm, gain: float) -> bool:
        """Whether a win is clear enough to try nothing else.

        Lanes that are lost give less than a sample each; that alone shows only that jumps help. It
        is enough where there is time for one trial, and so is a small gain if lanes have met.
        """
        if arm.seen is None or arm.alone:
            return gain >= (WIN if arm.seen is not None and not arm.seen.lost() else SURE_WIN)
        return arm.seen.least_rate >= CLEAR_WIN * self.seen.least_rate

    def _adopt(self, arm: Arm, wanted: float) -> bool:
        """Whether an arm wins again; then it stands.

        Chains that hardly forget run longer; those that forget fast would no longer be seen to.
        One trial of a lost chain that took several laps is all that there is time for.
        """
        if arm.seen is not None and arm.alone:
            self._hold(arm, arm.seen, self.seen.rate)
            return True
        short = self.seen.fresh > CLEARLY_FRESH or self._lost
        longer = self.laps.length * (1 if short else CONFIRMING)
        if not self.laps.affords(longer, longer, self.laps.length):
            return False
        before = self.laps.trial(self.standing, longer).rate
        if self.laps.trial(arm, longer).rate < wanted * before:
            return False
        self._stand(arm, before)
        return True

    def _stand(self, arm: Arm, before: float) -> None:
        """Make an arm the standing one, its jumps as often as is best, unless it is still lost."""
        trials = {arm.period: self.laps.resolve(arm)}
        if trials[arm.period].lost(self.laps.first):
            self._hold(arm, trials[arm.period], before)
            return
        gain = self.gain * trials[arm.period].rate / before
        most = GREAT_SHARE if gain >= GREAT_WIN else LARGE_SHARE if gain >= SURE_WIN else SHARE
        shortest = arm.period_for(most)
        once = max(arm.track.sample, shortest)  # for each state that a run would record
        shares = SHARES if most == SHARE else (LARGE_SHARE, *SHARES)
        for period in {once, shortest, *map(arm.period_for, shares)} - trials.keys():
            if self.laps.affords(self.laps.length):
                arm.hold(period)
                trials[period] = self.laps.trial(arm, self.laps.length)
        best = max(trials, key=lambda period: trials[period].recorded_rate)
        arm.hold(best)
        self._hold(arm, trials[best], before)

    def _hold(self, arm: Arm, seen: Trial, before: float) -> None:
        """Let an arm stand that was seen to be better than what was before."""
        gain = seen.rate / before
        self.standing, self.seen, self.gain = arm, seen, self.gain * gain
        self._judge(arm.families[-1], gain=gain, verdict="chosen")

    def _judge(self, name: str, **known: Any) -> None:
        """Say more on a family's price tag."""
        self.prices = [
            replace(price, **known) if price.family == name else price for price in self.prices
        ]

    def _try_tempering(self) -> None:
        """Let the standing jumps run on a tempered base chain, and see who wins in long laps."""
        before, sweep = self.standing, self.first.per_step * self.model.graph.variables
        left, clock = self.laps.left, self.laps.clock
        betas = ladder_within(self.prepared, sweep=sweep, left=left, clock=clock)
        if betas is None:
            self.prices.append(TrialResult(TEMPERING, None, None, NO_TIME))
            return
        values = before.track.pack.values
        arm = Arm(self.model, self.prepared, before.jumps, betas, values)
        arm.hold(before.period)
        lap = self.laps.length
        longer = max(lap, min(TEMPERED * lap, TEMPERED_SHARE * self.laps.left))
        if not self.laps.affords(longer, longer):
            self.prices.append(TrialResult(TEMPERING, None, None, NO_TIME))
            return
        seen = self.laps.trial(arm, longer)
        gain = seen.rate / self.laps.trial(self.standing, longer).rate
        verdict = "chosen" if gain >= SURE_WIN else UNCLEAR
        self.prices.append(TrialResult(TEMPERING, gain, None, verdict))
        if gain >= SURE_WIN:
            self.gain *= gain
            self.standing, self.seen = arm, seen

    def _choice(self, keeper: Arm | None) -> RaceResult:
        if self.standing.recipe != Tuning():
            times = f"({format_number(self.gain)} times as many effective samples per second)"
            about = f"{self.standing.words} {times}"
            return RaceResult(self.standing.recipe, about, tuple(self.prices))
        if keeper is not None and max(self.first.memory, self.seen.memory) > CALM:
            keeper.hold(max(keeper.track.sample, keeper.period_for(KEPT_SHARE)))
            self._judge(keeper.families[-1], verdict="kept")
            about = f"{keeper.words}, seldom: modes may be far apart"
            return RaceResult(keeper.recipe, about, tuple(self.prices))
        return RaceResult(Tuning(), "no jumps gain anything here: Gibbs alone", tuple(self.prices))

    def _least(self) -> float:
        """The gain that counts as a win; small ones are noise where few states are independent."""
        if self._has_rivals:
            return 1.0  # more is asked for when it is seen again
        return CLEAR_WIN if self.seen.fresh < CLOUDED else WIN
