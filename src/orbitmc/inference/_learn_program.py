"""Learn the weights of a program from databases, with checkpoints, errors and held-out scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orbitmc import mln
from orbitmc._util.arrays import Floats
from orbitmc._util.files import lock_file, write_text
from orbitmc._util.interrupts import interruptible
from orbitmc._util.text import MEMORY, quote, suffix
from orbitmc.errors import InputError
from orbitmc.inference.program import MarkovLogic
from orbitmc.inference.query import Names, list_names
from orbitmc.inference.reading import PROGRAMS

if TYPE_CHECKING:
    from orbitmc.mln.data.database import Database
    from orbitmc.mln.language.scanner import Dialect
    from orbitmc.mln.language.syntax import Program
    from orbitmc.mln.learning.learner import LearningResult, Method, OptimiserName, WeightSemantics
    from orbitmc.mln.learning.objectives import Step
    from orbitmc.mln.learning.quality import Score

WIDTH = 2.0
SECONDS_BETWEEN_SAVES = 10.0
OBJECTIVES = {
    "pseudo": "pseudo-likelihood of all atoms",
    "conditional": "conditional pseudo-likelihood",
    "discriminative": "likelihood of all atoms",
}

Paths = str | Path | Sequence[str | Path]
"""A file, or several."""


@dataclass(frozen=True, repr=False)
class LearnedProgram:
    """A program with the weights that were learned; its `text` can be written and read.

    `weights` are in the order of the formulas of the text, `standard_errors` beside them if they
    were asked for. `held_out` is the score of databases that were not learned from. What was
    maximised is the `objective`, prior included, if it is known. `remarks` say what there is to
    say of the program and its databases; `unsaved` is why the checkpoint has not the last step.
    """

    text: str
    weights: Floats
    standard_errors: Floats | None
    held_out: Score | None
    objective: float
    iterations: int
    converged: bool
    interrupted: bool
    seconds: float
    prior: float
    remarks: tuple[str, ...]
    result: LearningResult
    unsaved: InputError | None = None

    def __str__(self) -> str:
        end = "" if self.converged else ", not converged"
        return (
            f"LearnedProgram({len(self.weights):,} weights, {describe_step(self.result.step)}{end})"
        )

    __repr__ = __str__

    def write(self, path: str | Path) -> None:
        """Write the program; it can be read like any other."""
        write_text(path, self.text)


def is_program(model: object) -> bool:
    """Whether weights are learned, not tables: for programs, and for files of them."""
    if isinstance(model, str | Path):
        if suffix(model) in PROGRAMS or ".pracmln:" in str(model):
            return True
        raise InputError(
            f"{quote(str(model))} is no program (.mln): read a model first, "
            "om.learn(om.read(path), table)"
        )
    return isinstance(model, MarkovLogic)


@interruptible()
def learn_program(
    program: str | Path | MarkovLogic,
    databases: Paths,
    *,
    method: Method | None = None,
    query: Names = (),
    hidden: Names = (),
    prior: float | Literal["auto"] = WIDTH,
    held_out: Paths = (),
    errors: bool = False,
    optimiser: OptimiserName | None = None,
    iterations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    meaning: WeightSemantics = "formula",
    dialect: Dialect = "alchemy",
    max_groundings: int | None = None,
    memory: int = MEMORY,
    checkpoint: str | Path | None = None,
    watch: Callable[[Step], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> LearnedProgram:
    """Learn the weights of a program; what `om.learn` does for programs."""
    settings = mln.learning.LearningSettings(
        method=method,
        query=frozenset(list_names(query)),
        hidden=frozenset(list_names(hidden)),
        deviation=_width(prior),
        seed=seed,
        iterations=iterations,
        seconds=seconds,
        optimiser=optimiser,
        meaning=meaning,
        max_groundings=mln.grounding.MOST_GROUNDINGS if max_groundings is None else max_groundings,
        memory=memory,
    )
    if isinstance(program, MarkovLogic):
        read = program.source.program
    else:
        read = mln.language.read_program(program, dialect=dialect, learning=True, memory=memory)
    worlds, unseen = (_read_databases(paths, read, memory) for paths in (databases, held_out))
    if not worlds:
        raise InputError("weights are learned from one database at least")
    remarks = _Remarks(tell)
    every = [*worlds, *unseen]
    for words in [*read.warnings, *(words for world in every for words in world.warnings)]:
        remarks.note(f"note: {words}")
    asked = mln.learning.learning_record(read, every, settings)
    path = None if checkpoint is None else Path(checkpoint)
    with lock_file(path):
        saving = _Saving(path, asked, remarks, watch)
        learned = mln.learning.learn(
            read, worlds, settings, held_out=unseen, start=saving.load(memory), watch=saving
        )
        deviations = mln.learning.standard_errors(learned.task, learned.weights) if errors else None
        score = _score(learned)
        unsaved = saving.save_last(learned.step)
    about = "\n".join([*_describe_learning(learned), *describe_score(score)])
    return LearnedProgram(
        text=mln.learning.program_text(
            learned.ground, learned.weights, remarks=about, errors=deviations
        ),
        weights=learned.weights,
        standard_errors=deviations,
        held_out=score,
        objective=learned.step.objective,
        iterations=learned.step.iteration,
        converged=learned.converged,
        interrupted=learned.interrupted,
        seconds=learned.seconds,
        prior=learned.task.prior.deviation,
        remarks=tuple(remarks.told),
        result=learned,
        unsaved=unsaved,
    )


def _width(prior: float | str) -> float | None:
    """The width of the prior, or none if it is to be chosen."""
    if isinstance(prior, str):
        if prior.strip().lower() == "auto":
            return None
        raise InputError(f"the prior of weights has a width, as in 2, or is 'auto', not {prior!r}")
    return float(prior)


def _read_databases(paths: Paths, program: Program, memory: int) -> list[Database]:
    files: Iterable[str | Path] = [paths] if isinstance(paths, str | Path) else paths
    return [
        database
        for path in files
        for database in mln.data.read_databases(path, program, memory=memory)
    ]


class _Remarks:
    """What there is to say, each once."""

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self.tell, self.told = tell, dict[str, None]()

    def note(self, words: str) -> None:
        if words not in self.told:
            self.told[words] = None
            if self.tell is not None:
                self.tell(words)


class _Saving:
    """Passes steps on, and keeps the last one in a file if one was named."""

    def __init__(
        self,
        path: Path | None,
        asked: str,
        remarks: _Remarks,
        watch: Callable[[Step], None] | None,
    ) -> None:
        self.path, self.asked, self.remarks, self.watch = path, asked, remarks, watch
        self.saved = time.perf_counter()

    def load(self, memory: int) -> Step | None:
        """The step that was kept, if there is one."""
        if self.path is None or not self.path.exists():
            return None
        step = mln.learning.load(self.path, self.asked, memory=memory)
        self.remarks.note(f"continuing after iteration {step.iteration}, from {self.path}")
        return step

    def __call__(self, step: Step) -> None:
        if self.watch is not None:
            self.watch(step)
        now = time.perf_counter()
        if now >= self.saved + SECONDS_BETWEEN_SAVES:
            self.saved = now
            try:
                self.save(step)
            except InputError as error:
                self.remarks.note(f"warning: the step was not saved: {error}; it continues")

    def save_last(self, step: Step) -> InputError | None:
        """Keep the last step; gives why that did not work."""
        try:
            self.save(step)
        except InputError as error:
            self.remarks.note(f"warning: the last step was not saved: {error}")
            return error
        return None

    def save(self, step: Step) -> None:
        if self.path is not None:
            mln.learning.save(self.path, step, self.asked)


def _score(learned: LearningResult) -> Score | None:
    """How the weights do on databases that they were not learned from."""
    task = learned.task
    if not task.held_out:
        return None
    return mln.learning.score(task.held_out, task.prior, learned.weights, seed=task.settings.seed)


def describe_score(score: Score | None) -> list[str]:
    """A score in words."""
    if score is None:
        return []
    alone = score.given_others
    others = "" if alone != alone else f", {alone:.4f} given all other atoms"
    return [
        f"held out: mean log-probability of {score.atoms:,} atoms {score.given_evidence:.4f} given "
        f"the evidence{others}"
    ]


def describe_step(step: Step) -> str:
    """How far learning has come, in words."""
    known = [f"iteration {step.iteration}"]
    if step.objective == step.objective:
        known.append(f"objective {step.objective:,.6g}")
    if step.slope == step.slope:
        known.append(f"largest slope {step.slope:.3g}")
    return ", ".join(known)


def _describe_learning(learned: LearningResult) -> list[str]:
    """What a reader of the learned program should know."""
    settings = learned.task.settings
    about = OBJECTIVES[settings.objective]
    if settings.objective == "discriminative" and settings.query:
        about = "conditional likelihood"
    of = f" of {', '.join(sorted(settings.query))}" if settings.query else ""
    chosen = ", chosen by cross-validation" if settings.deviation is None else ""
    return [
        f"Weights learned by orbitmc: {about}{of}, prior of width "
        f"{learned.task.prior.deviation:g}{chosen}.",
        f"{describe_step(learned.step).capitalize()}.",
    ]
