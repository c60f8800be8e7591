"""`orbitmc demo`: a model on which Gibbs fails and Lifted Metropolis-Hastings does not."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import orbitmc as om
from orbitmc import _numba, inference, report
from orbitmc._util.text import quote, suggestion
from orbitmc.cli import options
from orbitmc.cli.options import BUDGET, Debug, option
from orbitmc.cli.session import print_remark, verb
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from orbitmc import Model, Run
    from orbitmc._util.arrays import Floats


SAMPLES_HELP = "Samples in every chain."
SIDE, COUPLING, FIELD, TILT, FIELD_SEED = 12, 0.7, 0.02, 0.004, 1
SWEEPS = 4  # between two samples
SHOWN = ("s0_0", "s5_5", "s11_11")
GIBBS, LMH = "Gibbs", "LMH"
NEVER = 2**62  # steps: Gibbs is the chain that never jumps, so one compiled step serves both


@verb
def demo(
    samples: Annotated[
        int, option("--samples", BUDGET, SAMPLES_HELP, metavar="N", min=1, shown=True)
    ] = 2_000,
    seed: options.Seed = 1,
    debug: options.Debug = False,
) -> int:
    """Show where Gibbs fails and LMH does not."""
    print_remark("the first run compiles for a while")
    model = demo_model()
    truth = om.marginals(model, method="exact").columns.probability[1::2]
    periods = {GIBBS: NEVER, LMH: SIDE * SIDE}
    runs = {name: _run(model, period, samples, seed) for name, period in periods.items()}
    _show(model, truth, runs)
    for name, run in runs.items():
        print_remark(
            f"{name}: {run.seconds:.2g} s, {run.updates / run.seconds / 1e6:,.0f} million updates/s"
        )
    return 0


def demo_model() -> "Model":
    """A cold lattice: spins that like to agree, each with a weak field of its own."""
    import numpy as np

    noise = np.random.default_rng(FIELD_SEED).normal(size=(SIDE, SIDE))
    return om.ising_grid(SIDE, SIDE, COUPLING, FIELD * (noise - noise.mean()) + TILT)


def _run(model: "Model", period: int, samples: int, seed: int) -> "Run":
    """Gibbs, and a proposal to turn all spins over after every `period` of its steps."""
    prepared = om.kernels.prepare(model.graph)
    jumps = om.kernels.flips(prepared)
    kernel = om.kernels.alternation(om.kernels.gibbs(), jumps, period=period)
    schedule = om.Schedule(samples=samples, warm_up=5, snapshots=True)
    return om.sample(prepared, kernel, schedule, seed=seed)


def _show(model: "Model", truth: "Floats", runs: "dict[str, Run]") -> None:
    """Errors over time, some marginals beside the exact ones, and what happened."""
    print(f"{SIDE * SIDE} spins on a cold lattice, each with a weak field of its own\n")
    print("mean error of all marginals: g is Gibbs, L is LMH, which is Gibbs with jumps")
    curves = {letter: _errors(runs[name], truth) for letter, name in (("g", GIBBS), ("L", LMH))}
    print("\n".join(report.text_chart(curves)), "sweeps\n")
    rows = [
        (
            f"P({name} = up)",
            f"{truth[place]:.4f}",
            *(f"{run.snapshots[-1].probability[place]:.4f}" for run in runs.values()),
        )
        for name in SHOWN
        for place in [model.index[name]]
    ]
    r_hats = [report.r_hat_in_words(float(run.statistics().r_hat.max())) for run in runs.values()]
    rows.append(("worst R-hat", "", *r_hats))
    print(report.plain_table(("", "exact", *runs), rows, to_the_left=("",)))
    print(_sentence(runs[LMH]))


def _errors(run: "Run", truth: "Floats") -> list[tuple[float, float]]:
    """Sweeps of each chain, and the mean distance of all marginals from the exact ones."""
    import numpy as np

    return [
        (SWEEPS * seen.samples, float(np.abs(seen.probability - truth).mean()))
        for seen in run.snapshots
    ]


def _sentence(run: "Run") -> str:
    counts = run.outcomes
    share = counts["accepted"] / max(counts["proposals"], 1)
    return (
        "\nGibbs turns one spin at a time, so every chain stays on the side, up or down, where\n"
        "it began. LMH also proposes to turn all spins at once: nearly a symmetry of this model,\n"
        f"which accepts {share:.0%} of these jumps, so its chains visit both sides as they should."
    )


# `orbitmc warm`: compile beforehand what the usual commands need.


@verb
def warm(
    only: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WHAT]...", help="Such as gibbs, exact or symmetry.  [default: (everything)]"
        ),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Number of processes.  [default: (all cores)]")
    ] = None,
    debug: Debug = False,
) -> int:
    """Compile beforehand what the usual commands need.

    Nothing is compiled twice: what was compiled before takes no time.
    """
    names = _choose_questions(list(inference.QUESTIONS), only or [])
    with _pool(min(len(names), processes or inference.available_cores())) as pool:
        functions, seconds = _compile_questions(pool, names)
    print_remark(
        f"compiled {functions} functions in {seconds:.0f} s of all processes; "
        f"kept in {_numba.folder()}"
    )
    return 0


def _choose_questions(known: list[str], only: list[str]) -> list[str]:
    for name in only:
        if name not in known:
            raise InputError(
                f"there is nothing called {quote(name)} to compile{suggestion(name, known)}; "
                f"known are {', '.join(known)}"
            )
    return only or known


@contextmanager
def _pool(processes: int) -> "Iterator[ProcessPoolExecutor]":
    """Processes that begin anew, and that end at once when this one is interrupted."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _compile_questions(pool: "ProcessPoolExecutor", names: list[str]) -> tuple[int, float]:
    """How many functions, and how many seconds; a bar says which questions are being asked."""
    from concurrent.futures import FIRST_COMPLETED, wait

    functions, seconds = 0, 0.0
    waiting = {pool.submit(inference.compile_question, name): name for name in names}
    display, shown = inference.ProgressLines(), ""
    try:
        while waiting:
            now = "; ".join(name for future, name in waiting.items() if future.running())
            if now != shown:
                display.show(1 - len(waiting) / len(names), f"compiling for {now}")
                shown = now
            for future in wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED).done:
                del waiting[future]
                count, spent = future.result()
                functions, seconds = functions + count, seconds + spent
    finally:
        display.close()
    return functions, seconds
