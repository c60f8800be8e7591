"""`orbitmc warm`: compile beforehand what the usual commands need."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.options import Debug

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


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
    from orbitmc._numba.store import folder
    from orbitmc.inference.precompile import QUESTIONS
    from orbitmc.sampling.budget import available_cores

    names = _chosen(list(QUESTIONS), only or [])
    with _pool(min(len(names), processes or available_cores())) as pool:
        functions, seconds = _compiled(pool, names)
    say(f"compiled {functions} functions in {seconds:.0f} s of all processes; kept in {folder()}")
    return 0


def _chosen(known: list[str], only: list[str]) -> list[str]:
    from orbitmc._util.text import quoted, suggestion
    from orbitmc.errors import InputError

    for name in only:
        if name not in known:
            raise InputError(
                f"there is nothing called {quoted(name)} to compile{suggestion(name, known)}; "
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


def _compiled(pool: "ProcessPoolExecutor", names: list[str]) -> tuple[int, float]:
    """How many functions, and how many seconds; a bar says which questions are being asked."""
    from concurrent.futures import FIRST_COMPLETED, wait

    from orbitmc.cli.session.progress import Display
    from orbitmc.inference.precompile import compile_for

    functions, seconds = 0, 0.0
    waiting = {pool.submit(compile_for, name): name for name in names}
    display, shown = Display(), ""
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
