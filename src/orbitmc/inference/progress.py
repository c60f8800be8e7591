"""How far a question is, shown for at most a hundredth of the time.

Questions have a keyword `progress` for it. What works meanwhile, a run or a search, tells
`current_progress`.
"""

from __future__ import annotations

import html
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from orbitmc import estimate, sampling
from orbitmc._numba.compile_log import LOGGER
from orbitmc._util.remarks import is_terminal, print_remark
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress

    from orbitmc.sampling.run import Run


COST = 0.01
BAR_SECONDS, LINE_SECONDS, GROWTH, MOST_SECONDS = 0.2, 2.0, 1.3, 30.0

Show = Callable[[float, str], None]
"""Is told which share is done, and words about it."""


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
        words = estimate.formatting.r_hat_in_words(float(r_hat))
        self.quality = f", worst ESS {ess:,.0f}, R-hat {words}"
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


_CURRENT: ContextVar[ProgressObserver | None] = ContextVar("progress", default=None)


def current_progress() -> ProgressObserver | None:
    """Who shows how far the present question is; None if nobody does."""
    return _CURRENT.get()


@contextmanager
def use_progress(observer: ProgressObserver) -> Iterator[None]:
    """Let an observer show how far the questions below are."""
    token = _CURRENT.set(observer)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        observer.close()


def show_progress(wanted: bool | Show | None) -> AbstractContextManager[None]:
    """Show how far a question is, as its `progress` says.

    A question within another one is shown with it, unless it says otherwise. Notebooks show a bar
    without being asked.
    """
    if wanted is None:
        if _CURRENT.get() is not None or not in_notebook():
            return nullcontext()
        return use_progress(ProgressObserver(NotebookBar()))
    if isinstance(wanted, bool):
        return use_progress(ProgressObserver(_choose_display() if wanted else None))
    if not callable(wanted):
        raise InputError(
            "progress: expected yes or no, or a function of the share that is done and of words, "
            f"not {wanted!r}"
        )
    return use_progress(ProgressObserver(Told(wanted)))


def _choose_display() -> Display:
    return NotebookBar() if in_notebook() else ProgressLines()


def in_notebook() -> bool:
    """Whether a notebook asks: an IPython that has a kernel, not a terminal."""
    python = sys.modules.get("IPython")
    shell = None if python is None else python.get_ipython()
    return getattr(shell, "kernel", None) is not None


class Told:
    """Tells a function, every time."""

    seconds = 0.0

    def __init__(self, show: Show) -> None:
        self.show = show

    def close(self) -> None:
        """There is nothing to take away."""


class ProgressLines:
    """A bar where somebody watches, or plain lines, fewer and fewer of them.

    Lines go to the logger `orbitmc`, as information, where a program listens to that; elsewhere to
    standard error.
    """

    def __init__(self) -> None:
        self.bar = _make_bar() if is_terminal() else None
        self.seconds = LINE_SECONDS if self.bar is None else BAR_SECONDS  # until it shows more

    def show(self, fraction: float, words: str) -> None:
        if self.bar is None:
            _print_line(f"{fraction:4.0%} {words}")
            self.seconds = min(MOST_SECONDS, self.seconds * GROWTH)
        else:
            self.bar.update(self.bar.task_ids[0], completed=fraction, description=words)
            self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _print_line(words: str) -> None:
    if LOGGER.hasHandlers() and LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("orbitmc: %s", words)
    else:
        print_remark(words)


def _make_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    words = TextColumn("{task.description}", markup=False)
    columns = (BarColumn(bar_width=24), TaskProgressColumn(), words)
    bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    bar.add_task("preparing", total=1.0)
    bar.start()
    bar.refresh()
    return bar


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
