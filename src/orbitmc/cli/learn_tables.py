"""`orbitmc learn` for models: a network or a field and a table in, learned tables out."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orbitmc as om
from orbitmc import inference
from orbitmc._util.text import suffix
from orbitmc.cli import options
from orbitmc.cli.predict import columns_named
from orbitmc.cli.session import INTERRUPTED, NOT_CONVERGED, print_remark
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.inference import Columns, FieldStep, LearningStep

SHOWN_SECONDS = 2.0


@dataclass(frozen=True)
class TableOptions:
    """What the command line says about learning tables."""

    prior: str | None
    weights: str | None
    ignore: Sequence[str] | None
    fixed: Sequence[str] | None
    tied: Sequence[str] | None
    start: str | None
    starts: int | None
    method: str | None
    iterations: int | None
    seconds: float | None
    seed: int
    memory: int
    quiet: bool


def learn_tables(
    path: Path, tables: Sequence[Path], held_out: Sequence[Path], output: Path, asked: TableOptions
) -> int:
    """Learn a network or a Markov random field from one table, and write it."""
    if len(tables) != 1:
        raise InputError(f"a model is learned from one table, not from {len(tables)}")
    network = om.read(path, memory=asked.memory)
    if not isinstance(network, om.Model):
        raise InputError("tables are learned for models; this is a program", source=str(path))
    om.formats.require_writer(output)
    rows, weights = _read(tables[0], network, asked)
    given: dict[str, Any] = {
        "method": asked.method,
        "prior": None if asked.prior is None else _number(asked.prior),
        "weights": weights,
        "fixed": options.words_in(asked.fixed) or None,
        "tied": [options.words_in([group]) for group in asked.tied or ()] or None,
        "start": asked.start,
        "starts": asked.starts,
        "iterations": asked.iterations,
        "seconds": asked.seconds,
        "watch": None if asked.quiet else _Watching(),
    }
    learned: om.Learned | om.LearnedField = om.learn(
        network,
        rows,
        seed=asked.seed,
        memory=asked.memory,
        **{name: value for name, value in given.items() if value is not None},
    )
    om.write(learned, output)
    if not asked.quiet:
        print_remark(_describe(learned))
        for other in held_out:
            unseen, _ = _read(other, network, asked)
            score = inference.log_likelihoods(learned, unseen, memory=asked.memory)
            print_remark(
                f"held out: mean log-probability of {len(score):,} rows {score.mean():.6g} "
                f"({other})"
            )
        for doubt in learned.doubts:
            print_remark(f"note: {doubt}")
        what = "network" if isinstance(learned, om.Learned) else "model"
        print_remark(f"the {what} is in {output}")
        if learned.precision is not None and suffix(output) != ".json":
            print_remark("write it as .json to keep how sure its tables are: answers have errors")
    if learned.interrupted and asked.seconds is None:
        print_remark("interrupted: these tables are not the best ones")
        return INTERRUPTED
    if not learned.converged:
        print_remark("not converged: give it more --iterations or --seconds")
        return NOT_CONVERGED
    return 0


def _read(
    path: Path, network: "om.Model", asked: TableOptions
) -> "tuple[Columns, list[float] | None]":
    """The rows of a table without columns that are ignored, and the weights among them."""
    table = inference.read_table(path, network.domains(), asked.memory)
    ignored = columns_named(table, asked.ignore)
    if asked.weights is not None:
        ignored.append(asked.weights)
    columns = table.columns({*ignored})
    missing = [name for name in ignored if name not in columns.cells]
    if missing:
        raise InputError(f"the table has no column {missing[0]!r}", source=str(path))
    kept = {name: cells for name, cells in columns.cells.items() if name not in ignored}
    weights = None
    if asked.weights is not None:
        try:
            weights = [float(cell) for _, cell in columns.cells[asked.weights]]
        except (TypeError, ValueError) as error:
            raise InputError(
                f"column {asked.weights!r} has a weight that is no number: {error}",
                source=str(path),
            ) from None
    return inference.Columns(kept, columns.count), weights


def _number(words: str) -> float:
    try:
        return float(words)
    except ValueError:
        raise InputError(
            f"--prior: for a network it is worth some rows, as in 1; not {words!r}"
        ) from None


def _describe(learned: "om.Learned | om.LearnedField") -> str:
    if isinstance(learned, om.LearnedField):
        return (
            f"{learned.graph.factors:,} factors from {learned.rows:,} rows by {learned.method}, "
            f"{learned.iterations} iterations, {learned.seconds:.1f} s: log-{learned.method} "
            f"{learned.log_likelihood:,.8g}, {learned.log_likelihood / learned.rows:.6g} a row; "
            f"prior {learned.prior:g}"
        )
    rows = f"{len(learned.parents)} tables from {learned.rows:,} rows"
    how = "counted" if learned.iterations == 1 else f"{learned.iterations} iterations"
    several = f", the best of {len(learned.objectives)} starts" if learned.objectives[1:] else ""
    return (
        f"{rows}, {how}{several}, {learned.seconds:.1f} s: log-likelihood "
        f"{learned.log_likelihood:,.8g}, {learned.log_likelihood / learned.rows:.6g} a row; "
        f"prior {learned.prior:g}"
    )


class _Watching:
    """Says how learning goes, now and then."""

    def __init__(self) -> None:
        self.shown = time.perf_counter()

    def __call__(self, step: "LearningStep | FieldStep") -> None:
        now = time.perf_counter()
        if now >= self.shown + SHOWN_SECONDS:
            number = getattr(step, "start", 1)
            start = f"start {number}, " if number > 1 else ""
            print_remark(f"{start}iteration {step.iteration}, objective {step.objective:,.8g}")
            self.shown = now
