"""A race in the warm-up: which jumps buy effective samples for their time, if any.

All that is decided here is decided before the first counted sample, from states that are thrown
away; afterwards nothing changes. The share of time that jumps may take is capped, so a wrong
choice cannot cost much.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from orbitmc.graph.model import Model
from orbitmc.graph.prepared import PreparedGraph
from orbitmc.machine.compiling import Stopwatch, WorkClock
from orbitmc.machine.text import few_digits
from orbitmc.run.ladder import SWEEPS, choose_ladder
from orbitmc.run.schedule import SWEEPS_PER_SAMPLE
from orbitmc.tuning.arm import SHARE, Arm, guessed_acceptance
from orbitmc.tuning.choice import Choice, TrialResult, drawn_anew
from orbitmc.tuning.families.families import CONTENDERS
from orbitmc.tuning.families.family import Family
from orbitmc.tuning.families.network_families import forward_acceptance
from orbitmc.tuning.families.sizes import OFTEN, chosen_size
from orbitmc.tuning.panel import panel
from orbitmc.tuning.recipe import TEMPERING, Recipe
from orbitmc.tuning.trial import Trial

SHARES = (0.05, 0.0125)  # of the time for jumps, tried after a win beside the usual one
LARGE_SHARE = 0.5  # tried after a sure win, and where the chain is lost
KEPT_SHARE = 0.02  # for jumps between modes whose worth a short race cannot show
WIN, CLEAR_WIN = 1.2, 3.0  # times the effective samples per second of the chain without them
SURE_WIN = 2.0  # seen twice already, it lets jumps take the large share; a win if lanes are lost
SHORT = 100  # sweeps: a lap of so few has hardly time for jumps of many variables
SELDOM = 1e-3  # accepted less often, a jump is no use
FORGETFUL = 8.0  # sweeps: a chain that forgets so fast leaves little to gain
CALM = 30.0  # sweeps: chains that agree with each other so fast are in no different modes
JUMPS = 6  # of an arm, to see whether lanes that are lost forget by them where they came from
BESIDE = 0.25  # as long as a long trial, the standing chain runs beside it
AFFORDABLE = 0.8  # of the time that is left may go into one such trial
CLOUDED = 0.05  # share of independent states below which a lane has seen only a few
CLEARLY_FRESH = 0.1  # share of independent states that leaves room to see a tenfold gain
LAPS, CONFIRMING = 26, 2  # laps that are no family's, and how many a confirmation takes
RESERVE = 0.35  # of the time, which families leave for confirming and for tempering
TEMPERED = 4  # laps of a tempered chain at most: states need time to come down its ladder
TEMPERED_SHARE = 0.22  # of the time that is left, for each of its two laps
LADDER_SHARE, LADDER_ROUNDS = 0.4, 3  # to find a ladder: of the time that is left, and how often
LADDER_COST, LEAST_SWEEPS = 250.0, 10  # plain sweeps for each sweep of a ladder, and how few help
NO_TIME = "no time left"
PANEL_SEED = 0


def race(model: Model, prepared: PreparedGraph, *, seconds: float) -> Choice:
    """Choose jumps for a model, in about so many seconds of running (compiling not counted)."""
    with Stopwatch() as watch, WorkClock() as clock:
        found = _Race(model, prepared, seconds, clock).run()
    return replace(found, seconds=watch.seconds)


class _Race:
    """Families run one after the other, in the order of their usual worth.

    Each runs as long as the base chain does. A clear win is adopted at once, and what follows
    runs with it, unless the chain is no longer lost: then the race ends, because what is left would
    have to be compiled to be tried. A chain is lost if lanes from opposite starts stay apart; then
    jumps get time for several of them, and win by bringing lanes together. The standing chain is
    measured anew beside each family. Families are left out when the `clock` shows that time is up.
    """

    def __init__(
        self,
        model: Model,
        prepared: PreparedGraph,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self.model, self.prepared, self.seconds, self.clock = model, prepared, seconds, clock
        self.watched = panel(model.graph, PANEL_SEED)
        self.lap = seconds / (LAPS + len(CONTENDERS))
        self.gain = 1.0
        self.prices: list[TrialResult] = []

    def run(self) -> Choice:
        if not self.model.graph.variables:
            return Choice(Recipe(), "nothing is left to sample")
        if (drawn := forward_acceptance(self.model)) >= OFTEN:
            return drawn_anew(self.model, drawn)
        self.standing = Arm(self.model, self.prepared, {}, ())
        if self._sweep() > self.lap:
            return Choice(Recipe(), "a sweep takes too long for a race in this time: Gibbs alone")
        self.seen = self.first = self._first()
        if self.first.memory <= FORGETFUL:
            about = f"Gibbs alone forgets its past within {FORGETFUL:.0f} sweeps"
            return Choice(Recipe(), about)
        keeper = self._race_families()
        if self.seen.lost:
            self._try_tempering()
        return self._choice(keeper)

    def _sweep(self) -> float:
        """Seconds that the base chain needs to visit every variable once."""
        return self.standing.track.seconds_per_step(0.1 * self.lap) * self.model.graph.variables

    def _first(self) -> Trial:
        """What the base chain is worth, once it is away from its random starts."""
        self.standing.trial(self.watched, self.lap)
        return self._resolved(self.standing)

    def _resolved(self, arm: Arm) -> Trial:
        """A lap of an arm, so short that one can see how soon it forgets; so are later laps."""
        seen = arm.trial(self.watched, self.lap)
        while seen.fresh > CLEARLY_FRESH and seen.spacing > SWEEPS_PER_SAMPLE:
            self.lap *= 0.5
            seen = arm.trial(self.watched, self.lap)
        return seen

    def _left(self) -> float:
        return self.seconds - self.clock()

    def _race_families(self) -> Arm | None:
        """Let all families run; gives one that switches modes and may be worth keeping."""
        keeper: Arm | None = None
        second: tuple[float, Arm] | None = None
        for sizes in self._contenders():
            if self._left() < RESERVE * self.seconds:
                self.prices.append(TrialResult(next(iter(sizes)), None, None, NO_TIME))
                continue
            name = chosen_size(self.model, sizes, self.standing.track.pack.values)
            family = sizes[name]
            arm = self._arm(name, family)
            gain = self._gain(arm) if arm is not None else None
            if arm is None or gain is None:
                continue
            keeper = keeper or (arm if family.switches else None)
            if self._is_clear(arm, gain) and self._adopted(arm, CLEAR_WIN):
                if not self.seen.lost:
                    return keeper
                second = None
            elif gain >= self._least() and (second is None or gain > second[0]):
                second = gain, arm
        if second is not None:
            self._adopted(second[1], self._least())
        return keeper

    def _contenders(self) -> list[dict[str, Family]]:
        """All families; clusters first where the chain is lost and there is time for one trial."""
        lap = SHORT * self.first.per_step * self.model.graph.variables
        if not self.first.lost or self.lap > lap:
            return list(CONTENDERS)
        return sorted(CONTENDERS, key=lambda sizes: "clusters" not in sizes)

    def _arm(self, name: str, family: Family) -> Arm | None:
        """The standing chain with one more family; None where that makes no sense."""
        values = self.standing.track.pack.values
        propose = family.guess(self.model) if family.guess is not None else None
        if propose is not None:
            acceptance = guessed_acceptance(self.model, propose, values)
            if acceptance < SELDOM:
                self.prices.append(TrialResult(name, None, acceptance, "hardly ever accepted"))
                return None
        jump = family.build(self.model, self.prepared)
        if jump is None:
            return None
        others = self.standing.jumps.items()
        jumps = {other: own for other, own in others if other not in family.replaces}
        jumps[name] = jump
        return Arm(self.model, self.prepared, jumps, (), values, self.first.per_step)

    def _gain(self, arm: Arm) -> float | None:
        """Gain of an arm in one lap; None if its jumps are hardly ever accepted."""
        base = None if self.standing.jumps else self.standing.track
        arm.find_cost(0.3 * self.lap, LARGE_SHARE if self.seen.lost else SHARE, base)
        length = self._length(arm)
        if length is None:
            self.prices.append(TrialResult(arm.families[-1], None, None, NO_TIME))
            return None
        arm.seen = arm.trial(self.watched, length)
        gain = arm.seen.rate / self._again(length).rate
        rare = arm.acceptance is not None and arm.acceptance < SELDOM
        verdict = "hardly ever accepted" if rare else "no clear gain"
        self.prices.append(TrialResult(arm.families[-1], gain, arm.acceptance, verdict))
        return None if rare else gain

    def _is_clear(self, arm: Arm, gain: float) -> bool:
        """Whether a win is clear enough to try nothing else.

        Lanes that are lost give less than a sample each; that alone shows only that jumps help. It
        is enough where there is time for one trial.
        """
        if arm.seen is None or self._length(arm) != self.lap:
            return gain >= SURE_WIN
        return arm.seen.least_rate >= CLEAR_WIN * self.seen.least_rate

    def _length(self, arm: Arm) -> float | None:
        """How long a trial of an arm is: a lap, or some jumps of a lost chain if there is time."""
        longer = JUMPS * arm.cycle if self.seen.lost else 0.0
        if longer <= self.lap:
            return self.lap
        return longer if longer <= AFFORDABLE * self._left() else None

    def _again(self, length: float) -> Trial:
        """The standing chain, now; what it is worth in a long trial shows in a part of it."""
        self.seen = self.standing.trial(self.watched, max(self.lap, BESIDE * length))
        return self.seen

    def _adopted(self, arm: Arm, wanted: float) -> bool:
        """Whether an arm wins again; then it stands.

        Chains that hardly forget run longer; those that forget fast would no longer be seen to.
        One trial of a lost chain that took several laps is all that there is time for.
        """
        if arm.seen is not None and self._length(arm) != self.lap:
            self._hold(arm, arm.seen, self.seen.rate)
            return True
        short = self.seen.fresh > CLEARLY_FRESH or self.seen.lost
        longer = self.lap * (1 if short else CONFIRMING)
        before = self.standing.trial(self.watched, longer).rate
        if arm.trial(self.watched, longer).rate < wanted * before:
            return False
        self._stand(arm, before)
        return True

    def _stand(self, arm: Arm, before: float) -> None:
        """Make an arm the standing one, its jumps as often as is best, unless it is still lost."""
        trials = {arm.period: self._resolved(arm)}
        if trials[arm.period].lost:
            self._hold(arm, trials[arm.period], before)
            return
        sure = trials[arm.period].rate >= SURE_WIN * before
        shortest = arm.period_for(LARGE_SHARE if sure else SHARE)
        once = max(arm.track.sample, shortest)  # for each state that a run would record
        for period in {once, shortest, *map(arm.period_for, SHARES)} - trials.keys():
            arm.hold(period)
            trials[period] = arm.trial(self.watched, self.lap)
        best = max(trials, key=lambda period: trials[period].rate)
        arm.hold(best)
        self._hold(arm, trials[best], before)

    def _hold(self, arm: Arm, seen: Trial, before: float) -> None:
        """Let an arm stand that was seen to be better than what was before."""
        gain = seen.rate / before
        self.standing, self.seen, self.gain = arm, seen, self.gain * gain
        self._judge(arm.families[-1], gain=gain, verdict="chosen")

    def _judge(self, name: str, **known: Any) -> None:
        """Say more on a family's price tag."""
        self.prices = [replace(one, **known) if one.family == name else one for one in self.prices]

    def _try_tempering(self) -> None:
        """Let the standing jumps run on a tempered base chain, and see who wins in long laps."""
        before = self.standing
        betas = self._ladder()
        if betas is None:
            self.prices.append(TrialResult(TEMPERING, None, None, NO_TIME))
            return
        values = before.track.pack.values
        arm = Arm(self.model, self.prepared, before.jumps, betas, values)
        arm.hold(before.period)
        longer = max(self.lap, min(TEMPERED * self.lap, TEMPERED_SHARE * self._left()))
        seen = arm.trial(self.watched, longer)
        gain = seen.rate / self.standing.trial(self.watched, longer).rate
        verdict = "chosen" if gain >= WIN else "no clear gain"
        self.prices.append(TrialResult(TEMPERING, gain, None, verdict))
        if gain >= WIN:
            self.gain *= gain
            self.standing, self.seen = arm, seen

    def _ladder(self) -> tuple[float, ...] | None:
        """Rungs for a tempered chain, found in a share of the time that is left, if any is."""
        graph, left = self.model.graph, self._left()
        price = LADDER_COST * self.first.per_step * graph.variables
        sweeps = max(LEAST_SWEEPS, int(LADDER_SHARE * left / price))
        if sweeps * price > left:
            return None
        return choose_ladder(self.prepared, rounds=LADDER_ROUNDS, sweeps=min(sweeps, SWEEPS))

    def _choice(self, keeper: Arm | None) -> Choice:
        if self.standing.recipe != Recipe():
            times = f"{few_digits(self.gain)} times as many effective samples per second"
            about = f"{self.standing.words} ({times})"
            return Choice(self.standing.recipe, about, tuple(self.prices))
        if keeper is not None and self.seen.memory > CALM:
            keeper.hold(max(keeper.track.sample, keeper.period_for(KEPT_SHARE)))
            self._judge(keeper.families[-1], verdict="kept")
            about = f"{keeper.words}, seldom: modes may be far apart"
            return Choice(keeper.recipe, about, tuple(self.prices))
        return Choice(Recipe(), "no jumps gain anything here: Gibbs alone", tuple(self.prices))

    def _least(self) -> float:
        """The gain that counts as a win; small ones are noise where few states are independent."""
        return CLEAR_WIN if self.seen.fresh < CLOUDED else WIN
