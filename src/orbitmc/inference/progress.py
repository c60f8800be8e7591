"""How far a run is, shown for at most a hundredth of the time."""

from __future__ import annotations

import html
import time
from typing import TYPE_CHECKING, Any, Protocol

from orbitmc import sampling
from orbitmc.estimate.formatting import r_hat_in_words

if TYPE_CHECKING:
    from orbitmc.sampling.run import Run


COST = 0.01


class Display(Protocol):
    """What shows progress, again after so many seconds."""

    seconds: float

    def show(self, fraction: float, words: str) -> None:
        """Show how much is done."""

    def close(self) -> None:
        """Show nothing more."""


class ProgressObserver:
    """A watcher that shows progress, and less often the more that costs."""

    def __init__(self, display: Display | None) -> None:
        self.display = display
        self.due: float | None = None
        self.statistics_cost: float | None = None
        self.statistics_spent = 0.0
        self.quality = ""

    def __call__(self, run: Run) -> None:
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

    def show(self, fraction: float, words: str) -> None:
        """Show how far something is that is no run."""
        if self.display is None:
            return
        now = time.perf_counter()
        if self.due is None:
            self.due = now + self.display.seconds
        if now >= self.due:
            self.display.show(fraction, words)
            self.due = now + self.display.seconds

    def close(self) -> None:
        if self.display is not None:
            self.display.close()

    def _look(self, run: Run) -> None:
        """Find the worst ESS and R-hat so far, if that is cheap by now."""
        expected = self.statistics_cost or sampling.observers.SECONDS_PER_NUMBER * sum(
            pack.tally.sums.size for pack in run.packs
        )
        if run.recorded < 8 or self.statistics_spent + expected > COST / 2 * run.seconds:
            return
        begun = time.perf_counter()
        statistics = run.statistics()
        ess, r_hat = statistics.ess.min(initial=float("inf")), statistics.r_hat.max(initial=1.0)
        self.quality = f", worst ESS {ess:,.0f}, R-hat {r_hat_in_words(float(r_hat))}"
        self.statistics_cost = time.perf_counter() - begun
        self.statistics_spent += self.statistics_cost


def fraction(run: Run) -> float:
    """How much of a run, or of its present stage, is done."""
    if run.ends is not None:
        return min(1.0, run.seconds / run.ends)
    wanted = run.wanted or 1
    warming = 0 if run.piloted else run.schedule.warm_up_for(wanted)
    done = run.recorded + (0 if run.piloted else run.warmed)
    return min(1.0, done / (wanted + warming))


def rate(run: Run) -> str:
    """How many updates a second."""
    return f"{run.updates / max(run.seconds, 1e-9) / 1e6:,.0f} million updates/s"


def _stage(run: Run) -> str:
    if not run.recorded and not run.piloted:
        return "warming up"
    if run.schedule.standard_error is not None and not run.piloted:
        return "pilot"
    return f"{run.recorded:,} samples"


class NotebookBar:
    """A bar below the cell that asked; it comes when a run takes long, and goes when it ends."""

    seconds = 0.5

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, fraction: float, words: str) -> None:
        from IPython.display import HTML, display

        bar = HTML(
            f'<progress value="{fraction:.3f}" max="1" style="width:16em"></progress> '
            f"{fraction:.0%} {html.escape(words)}"
        )
        if self.handle is None:
            self.handle = display(bar, display_id=True)
        else:
            self.handle.update(bar)

    def close(self) -> None:
        if self.handle is not None:
            from IPython.display import HTML

            self.handle.update(HTML(""))
