"""How far a run is: a bar on a terminal, lines in a log, at most a hundredth of the time."""

import sys
import time
from typing import TYPE_CHECKING

from orbitmc.cli.session.exits import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from orbitmc.run.run import Run

COST = 0.01
SECONDS_PER_NUMBER = 1e-8  # what statistics take per tallied number, before they are measured
BAR_SECONDS, LINE_SECONDS, GROWTH, MOST_SECONDS = 0.2, 2.0, 1.3, 30.0


class Display:
    """A bar where somebody watches, or plain lines, fewer and fewer of them."""

    def __init__(self) -> None:
        self.bar = _bar() if sys.stderr.isatty() else None
        self.seconds = LINE_SECONDS if self.bar is None else BAR_SECONDS  # until it shows more

    def show(self, fraction: float, words: str) -> None:
        if self.bar is None:
            say(f"{fraction:4.0%} {words}")
            self.seconds = min(MOST_SECONDS, self.seconds * GROWTH)
        else:
            self.bar.update(self.bar.task_ids[0], completed=fraction, description=words)
            self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


class Watching:
    """A watcher that shows progress, and less often the more that costs."""

    def __init__(self, *, quiet: bool) -> None:
        self.display = None if quiet else Display()
        self.due: float | None = None
        self.statistics_cost: float | None = None
        self.statistics_spent = 0.0
        self.quality = ""

    def __call__(self, run: "Run") -> None:
        begun = time.perf_counter()
        if self.display is None:
            return
        if self.due is None:
            self.due = begun + self.display.seconds
        if begun < self.due:
            return
        self._look(run)
        self.display.show(fraction(run), f"{_stage(run)}, {rate(run)}{self.quality}")
        now = time.perf_counter()
        self.due = now + max(self.display.seconds, (now - begun) / COST)

    def close(self) -> None:
        if self.display is not None:
            self.display.close()

    def _look(self, run: "Run") -> None:
        """Find the worst ESS and R-hat so far, if that is cheap by now."""
        expected = self.statistics_cost or SECONDS_PER_NUMBER * sum(
            pack.tally.sums.size for pack in run.packs
        )
        if run.recorded < 8 or self.statistics_spent + expected > COST / 2 * run.seconds:
            return
        begun = time.perf_counter()
        found = run.statistics()
        ess, r_hat = found.ess.min(initial=float("inf")), found.r_hat.max(initial=1.0)
        self.quality = f", worst ESS {ess:,.0f}, R-hat {r_hat:.3f}"
        self.statistics_cost = time.perf_counter() - begun
        self.statistics_spent += self.statistics_cost


def fraction(run: "Run") -> float:
    """How much of a run, or of its present stage, is done."""
    if run.ends is not None:
        return min(1.0, run.seconds / run.ends)
    wanted = run.wanted or 1
    warming = 0 if run.piloted else run.schedule.warm_up_for(wanted)
    done = run.recorded + (0 if run.piloted else run.warmed)
    return min(1.0, done / (wanted + warming))


def rate(run: "Run") -> str:
    """How many updates a second."""
    return f"{run.updates / max(run.seconds, 1e-9) / 1e6:,.0f} million updates/s"


def _stage(run: "Run") -> str:
    if not run.recorded and not run.piloted:
        return "warming up"
    if run.schedule.standard_error is not None and not run.piloted:
        return "pilot"
    return f"{run.recorded:,} samples"


def _bar() -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(bar_width=24), TaskProgressColumn(), words)
    bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    bar.add_task("preparing", total=1.0)
    bar.start()
    bar.refresh()
    return bar
