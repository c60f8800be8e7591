"""What all figures share: arguments, a folder for results, and turns that are kept as they end.

A figure is measured with several seeds (20 unless told otherwise), drawn from its CSV alone, and
comes with a manifest. `--quick` measures little, to see that everything works.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from orbitmc.compare import (
    SWEEPS_PER_SAMPLE,
    FigureFiles,
    PreparedSampler,
    Reference,
    Sampler,
    error_curve,
    prepare_sampler,
    start_pack,
    walk,
)

FOLDER = Path(__file__).parent
SHARED = FOLDER.parents[1] / "shared" / "data"
SEEDS, QUICK_SEEDS = 20, 3
LANES = 64
RACE_FOR = 20.0
TURNS = 5


@dataclass(frozen=True)
class Asked:
    """How much to measure, and where to."""

    quick: bool
    seeds: Sequence[int]
    seconds: float
    sweeps: int | None
    truth_seconds: float
    out: Path
    data: Path
    only: Sequence[str]

    @property
    def race_for(self) -> float:
        """How long a run the jumps of tuned chains are raced for: a race takes a share of it."""
        return self.seconds if self.quick else max(RACE_FOR, self.seconds)

    @property
    def cache(self) -> Path:
        """Where weights and truths are kept, so that they are found once."""
        return self.out / ("quick" if self.quick else "")

    def wants(self, name: str) -> bool:
        return not self.only or name in self.only


def arguments(
    description: str, *, seconds: float, quick_seconds: float, data: str = "webkb"
) -> Asked:
    """Read what every figure understands."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument("--seeds", type=int, help=f"runs of each method; {SEEDS} unless quick")
    parser.add_argument("--seconds", type=float, help=f"of sampling; {seconds:g} unless quick")
    parser.add_argument("--sweeps", type=int, help="of sampling, however long they take")
    parser.add_argument("--truth-seconds", type=float, help="of each of two runs for the truth")
    parser.add_argument("--out", type=Path, default=FOLDER / "out", help="folder for results")
    parser.add_argument("--data", type=Path, default=SHARED / data, help="folder with the data")
    parser.add_argument("--only", nargs="*", default=[], help="only these panels")
    asked = parser.parse_args()
    run = asked.seconds or (quick_seconds if asked.quick else seconds)
    return Asked(
        quick=asked.quick,
        seeds=range(1, 1 + (asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS))),
        seconds=run,
        sweeps=asked.sweeps,
        truth_seconds=asked.truth_seconds or 10 * run,
        out=asked.out,
        data=asked.data,
        only=asked.only,
    )


def figure_files(asked: Asked, name: str, *, resumed: bool = False) -> FigureFiles:
    """Files of a figure; one that is `resumed` goes on where a run like this one was stopped."""
    kept = FigureFiles(asked.out, name)
    if resumed and kept.resume(like=settings(asked)):
        note(f"{name}: goes on after {len(kept.jumps)} runs")
    return kept


def measure(
    kept: FigureFiles,
    panel: str,
    samplers: Iterable[Sampler],
    truth: Reference,
    asked: Asked,
    *,
    estimators: Sequence[str] = ("values", "rao-blackwell"),
    counted_after: float = SWEEPS_PER_SAMPLE,
) -> None:
    """Let all samplers run with all seeds, taking turns.

    Values are counted after so many sweeps.
    All sample equally long; what they prepare comes before, and counts on the axis of time. Runs
    that are there already are left out, and each is kept as soon as it ends.
    """
    begun = time.perf_counter()
    racing = [prepare_sampler(sampler) for sampler in samplers]
    for seed, one, estimator in product(asked.seeds, racing, estimators):
        if kept.has(panel, one.name, estimator, seed):
            continue
        between = counted_after if estimator == "values" else SWEEPS_PER_SAMPLE
        found = error_curve(
            one,
            truth,
            seconds=None if asked.sweeps else asked.seconds,
            samples=round(asked.sweeps / between) if asked.sweeps else None,
            seed=seed,
            estimator=estimator,
            lanes=LANES,
            sweeps=between,
        )
        if found.interrupted:
            sys.exit("interrupted")
        kept.add(panel, one, found, truth)
        kept.keep_numbers(panel, settings=settings(asked))
    for one in racing:
        kept.panels[panel]["methods"][one.name]["nanoseconds of a step of one chain"] = cost(one)
    note(f"{panel}: {time.perf_counter() - begun:.0f} s; truth: {truth.how}")


def cost(one: PreparedSampler) -> float:
    """Processor time of a step of one chain, the best of a few turns; load does not change it."""
    graph = one.model.graph
    pack = start_pack(one.prepared, one.kernel, seed=1, number=0, lanes=LANES)
    walk(one.prepared, one.kernel, pack, 2 * graph.variables)
    steps, found = 4 * graph.variables, []
    for _ in range(TURNS):
        begun = time.thread_time()
        walk(one.prepared, one.kernel, pack, steps)
        found.append((time.thread_time() - begun) / (steps * LANES))
    return 1e9 * min(found)


def settings(asked: Asked, **more: object) -> dict[str, object]:
    """What the manifest says of a measurement."""
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "seeds": list(asked.seeds),
        "seconds": asked.seconds,
        "sweeps": asked.sweeps,
        "truth seconds": asked.truth_seconds,
        "chains in each run": LANES,
        **more,
    }


def finish(
    kept: FigureFiles, title: str, asked: Asked, *, more: dict[str, object], **drawing
) -> None:  # type: ignore[no-untyped-def]
    """Write everything, and say where it is."""
    written = kept.keep(title, settings=settings(asked, **more), **drawing)
    note("written: " + ", ".join(path.name for path in written))
    if not any(path.suffix == ".svg" for path in written):
        note("there is no figure: drawing needs matplotlib")


def write(path: Path, text: str) -> None:
    """Write a file of results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def note(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
