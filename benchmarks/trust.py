"""Can numbers that are called good or fair be believed?

Random models of many classes are answered by every method in runs of several lengths, and every
believed number is compared with the exact one. `off` counts those that are more than five reported
errors from the truth (rare values: beyond their bounds, as seldom); it should be no more than
Student's distribution expects. `lost` is the price: right numbers (within three errors) that are
not believed.

A model is the same in every run: `--class traps --first 17 --models 1` answers one model again.
Only the moves that lmh chooses for itself depend on how fast the machine is.
"""

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import measuring
import numpy as np
from trust_models import CLASSES, Case, case_of
from trust_scores import FAR, Scores, Summary, scores_of, scores_of_atoms, summary

import orbitmc as om
from orbitmc import tuning
from orbitmc._simd.random import COLUMNS
from orbitmc.inference import answer as inference_answer
from orbitmc.inference import plan
from orbitmc.tuning import RaceResult, Tuning

PACKS = 4
DEGREES = COLUMNS * PACKS - 1  # of freedom: each column of lanes is an independent estimate
METHODS: Mapping[str, Mapping[str, Any]] = {
    "gibbs": {"method": "gibbs"},
    "lmh tuned": {"method": "lmh"},
    "lmh paper": {"method": "lmh", "alpha": 0.8, "clusters": 6},
    "lifted": {"method": "lifted"},
    "mcsat": {"method": "mcsat"},
    "core": {"method": "auto"},
    "cells": {"method": "gibbs", "base": "counts"},
    "relations": {"method": "gibbs", "base": "relations"},
}
OF_CLASSES = {
    "partitions": "relations",
    "unground relations": "relations",
    "lifted, two modes": "cells",
    "lifted, hard rules": "cells",
}
"""Classes that have a method of their own, and no other one."""

LENGTHS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(METHODS, (2, 8, 50, 400)),
    "lmh tuned": (8, 400),  # half a second for finding moves is dear
    "mcsat": (2, 8, 30, 100),  # and so are its samples
}
COLUMNS_SHOWN = (
    "runs",
    "values",
    "believed",
    "rare",
    "mean_z",
    "sd_z",
    "coverage",
    "off",
    "expected",
    "beyond",
    "false_runs",
    "lost",
    "refused",
)


@dataclass(frozen=True)
class Answer:
    """One run on one model, and how far its numbers were off."""

    kind: str
    family: str
    number: int
    method: str
    samples: int
    scores: Scores


def main() -> None:
    asked = arguments()
    begun = time.perf_counter()
    answers = list(answered(asked))
    groups = {
        "by class": grouped(answers, "kind"),
        "by class, method and samples": grouped(answers, "kind", "method", "samples"),
        "by family and method": grouped(answers, "kind", "family", "method"),
    }
    show("by class", groups["by class"])
    show("by class, method and samples", groups["by class, method and samples"])
    show("families with values that are off", with_some_off(groups["by family and method"]))
    say(answers)
    print(f"{len(answers)} runs in {time.perf_counter() - begun:.0f} s")
    results = {title: plain(rows) for title, rows in groups.items()}
    results["worst runs"] = [described(one) for one in worst_runs(answers)]
    measuring.write_results(
        asked.results, "trust", results, quick=asked.quick, repetitions=asked.models
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 models of a class, short runs")
    parser.add_argument("--class", dest="kinds", nargs="*", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--method", nargs="*", choices=METHODS, default=list(METHODS))
    parser.add_argument("--models", type=int, help="how many of each class; 300 unless said")
    parser.add_argument("--first", type=int, default=0, help="number of the first model")
    parser.add_argument("--samples", type=int, nargs="*", help="lengths of runs, for all methods")
    parser.add_argument(
        "--results", type=Path, default=measuring.FOLDER / "results", metavar="FOLDER"
    )
    asked = parser.parse_args()
    asked.models = asked.models or (5 if asked.quick else 300)
    if asked.quick and not asked.samples:
        asked.samples = [2, 30]
    return asked


def answered(asked: argparse.Namespace) -> Iterator[Answer]:
    """Answer every model by every method, and tell after each class how far we are."""
    for kind in asked.kinds:
        for number in range(asked.first, asked.first + asked.models):
            case = case_of(kind, number)
            for method in methods_for(kind, asked.method):
                for samples in asked.samples or LENGTHS[method]:
                    yield answer(case, method, samples)
        print(f"{kind}: {asked.models} models", flush=True)


def methods_for(kind: str, asked: Sequence[str]) -> list[str]:
    """Those that were asked for, unless a class has a method of its own."""
    own = OF_CLASSES.get(kind)
    return [m for m in asked if (m not in OF_CLASSES.values() if own is None else m == own)]


def answer(case: Case, method: str, samples: int, **changes: Any) -> Answer:
    """Run a method on a model; its number is the seed."""
    settings = {**METHODS[method], "samples": samples, "packs": PACKS, "threads": 1, **changes}
    with sampling_cores() if method == "core" else nullcontext():
        found = om.marginals(case.model, seed=case.number, **settings)
    program = not isinstance(case.model, om.Model)
    scores = (scores_of_atoms if program else scores_of)(found, case.truth, DEGREES)
    return Answer(case.kind, case.family, case.number, method, samples, scores)


@contextmanager
def sampling_cores() -> Iterator[None]:
    """Let `auto` eliminate nothing as a whole, try no jumps, and sum out whatever is cheap."""
    with ExitStack() as patches:
        for where, name, new in (
            (plan, "plan_elimination", lambda *asked: (None, "not asked for")),
            (plan, "plan_marginals", lambda *asked: (None, "not asked for")),
            (plan, "MOST_COST", np.inf),
            (plan, "MOST_CORE", 1.0),
            (inference_answer, "find_elimination", lambda *asked: None),
            (tuning, "run_race", lambda *asked, **limits: RaceResult(Tuning(), "no race")),
        ):
            patches.enter_context(patch.object(where, name, new, create=True))
        yield


Groups = dict[tuple[Any, ...], Summary]


def grouped(answers: Sequence[Answer], *names: str) -> Groups:
    """One summary for all answers that have the same of these names."""
    found: dict[tuple[Any, ...], list[Scores]] = {}
    for one in answers:
        found.setdefault(tuple(getattr(one, name) for name in names), []).append(one.scores)
    return {key: summary(runs, DEGREES) for key, runs in found.items()}


def show(title: str, rows: Groups) -> None:
    if not rows:
        return
    lines = []
    for key, row in rows.items():
        cells = asdict(row)
        lines.append([", ".join(map(str, key)), *(cells[name] for name in COLUMNS_SHOWN)])
    columns = [name.replace("_", " ") for name in COLUMNS_SHOWN]
    measuring.print_table(title, ["", *columns], lines)


def with_some_off(rows: Groups) -> Groups:
    return {key: row for key, row in rows.items() if row.off}


def say(answers: Sequence[Answer]) -> None:
    """The one number that counts, and the runs that spoil it."""
    total = summary([one.scores for one in answers], DEGREES)
    rate = 1e5 / max(total.believed, 1)
    print(
        f"{total.believed} values are believed; per 100,000 of them {rate * total.off:.1f} are "
        f"more than {FAR:g} errors off, {rate * total.expected:.1f} expected"
    )
    for one in worst_runs(answers):
        print(
            "  {kind} {number} ({family}), {method}, {samples} samples: {off} off".format_map(
                described(one)
            )
        )


def worst_runs(answers: Sequence[Answer], most: int = 20) -> list[Answer]:
    """Runs with the most believed values that are off."""
    wrong = [one for one in answers if one.scores.off.any()]
    return sorted(wrong, key=lambda one: -one.scores.off.sum())[:most]


def described(one: Answer) -> dict[str, Any]:
    names = ("kind", "family", "number", "method", "samples")
    return {**{name: getattr(one, name) for name in names}, "off": int(one.scores.off.sum())}


def plain(rows: Groups) -> list[dict[str, Any]]:
    return [{"of": list(map(str, key)), **asdict(row)} for key, row in rows.items()]


if __name__ == "__main__":
    main()
