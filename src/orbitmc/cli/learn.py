"""`orbitmc learn`: a model or program and data in, the same with learned tables or weights out."""

import time
from pathlib import Path
from typing import Annotated, Literal

import orbitmc as om
from orbitmc._util.files import lock_file, write_text
from orbitmc._util.text import MEMORY
from orbitmc.cli import options
from orbitmc.cli.inputs import is_logic
from orbitmc.cli.learn_tables import TableOptions, learn_tables
from orbitmc.cli.options import (
    BUDGET,
    METHOD,
    OUTPUT,
    QUESTION,
    argument,
    option,
    parse_assignments,
)
from orbitmc.cli.output import require_other, require_writable
from orbitmc.cli.running import Compiling
from orbitmc.cli.session import INTERRUPTED, NOT_CONVERGED, print_remark, verb
from orbitmc.errors import InputError

SHOWN_SECONDS, GROWTH, MOST_SECONDS = 2.0, 1.3, 30.0
SECONDS_BETWEEN_SAVES = 10.0
METHOD_HELP = (
    "Pseudo-likelihood of all atoms, or of the query; discriminative: likelihood of the query."
)
QUERY_HELP = "Predicates to predict, as in Smokes,Cancer."
HIDDEN_HELP = "Predicates whose unlisted atoms are hidden, not false."
PRIOR_HELP = "Rows that a prior of tables is worth, or width of one of weights."
IGNORE_HELP = "A column of the table that is no variable."
WEIGHTS_HELP = "The column that says how much each row of a network's table counts."
FIXED_HELP = "Variables of a network whose tables stay as they are."
TIED_HELP = "Variables of a network that have the same table; may be repeated."
START_HELP = "Begin with the tables of the network, or with what complete rows say."
STARTS_HELP = "Learn tables from N starts, all but the first at random; the best end is taken."
OPTIMISER_HELP = "Use sampled slopes for discriminative, with this optimiser."
HELD_OUT_HELP = "A database to score the weights on; may be repeated."
ERRORS_HELP = "Write a standard error beside every weight."
CHECKPOINT_HELP = "Save the last step; the same command goes on from it."


@verb
def learn(
    program: Annotated[Path, argument("MODEL", "A network, or a program; weights may be missing.")],
    databases: Annotated[
        list[Path],
        argument("DATA", "A table (.csv), or databases of a program."),
    ],
    output: Annotated[
        Path, option("-o --output", OUTPUT, "Where to write what was learned.", metavar="FILE")
    ],
    method: Annotated[
        Literal["pseudo", "conditional", "discriminative"] | None,
        option("--method", METHOD, METHOD_HELP, shown="by the query"),
    ] = None,
    query: Annotated[
        list[str] | None, option("-q --query", QUESTION, QUERY_HELP, metavar="NAMES")
    ] = None,
    hidden: Annotated[
        list[str] | None, option("--hidden", QUESTION, HIDDEN_HELP, metavar="NAMES")
    ] = None,
    held_out: Annotated[
        list[Path] | None, option("--held-out", QUESTION, HELD_OUT_HELP, metavar="DATABASE")
    ] = None,
    prior: Annotated[
        str | None,
        option("--prior", METHOD, PRIOR_HELP, metavar="X|auto", shown="1, or 2"),
    ] = None,
    ignore: Annotated[
        list[str] | None, option("--ignore", QUESTION, IGNORE_HELP, metavar="COLUMN")
    ] = None,
    weights: Annotated[
        str | None, option("--weights", QUESTION, WEIGHTS_HELP, metavar="COLUMN", hidden=True)
    ] = None,
    fixed: Annotated[
        list[str] | None, option("--fixed", METHOD, FIXED_HELP, metavar="NAMES", hidden=True)
    ] = None,
    tied: Annotated[
        list[str] | None, option("--tied", METHOD, TIED_HELP, metavar="NAMES", hidden=True)
    ] = None,
    start: Annotated[
        Literal["data", "model"] | None,
        option("--start", METHOD, START_HELP, shown="data", hidden=True),
    ] = None,
    starts: Annotated[
        int | None,
        option("--starts", METHOD, STARTS_HELP, metavar="N", min=1, shown="1", hidden=True),
    ] = None,
    optimiser: Annotated[
        Literal["newton", "adam"] | None,
        option(
            "--optimiser",
            METHOD,
            OPTIMISER_HELP,
            shown="newton where components are too large to be summed up",
            hidden=True,
        ),
    ] = None,
    errors: Annotated[bool, option("--errors", OUTPUT, ERRORS_HELP)] = False,
    iterations: Annotated[
        int | None,
        option(
            "--iterations",
            BUDGET,
            "Stop after N steps.",
            metavar="N",
            min=1,
            shown="1000 or 200",
        ),
    ] = None,
    seconds: Annotated[
        float | None, option("--seconds", BUDGET, "Stop after X seconds.", metavar="X")
    ] = None,
    seed: options.Seed = 0,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    checkpoint: Annotated[
        Path | None, option("--checkpoint", OUTPUT, CHECKPOINT_HELP, metavar="FILE")
    ] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Learn tables of a network, or weights of a program."""
    require_writable(output)
    require_other(output, [*databases, *(held_out or ())])
    require_writable(checkpoint)
    given = parse_assignments("learn", more)
    of_tables = {"--ignore": ignore, "--weights": weights, "--fixed": fixed, "--tied": tied,
                 "--start": start, "--starts": starts}  # fmt: skip
    of_weights = {
        "--method": method, "--query": query, "--hidden": hidden, "--set": given,
        "--optimiser": optimiser, "--errors": errors, "--checkpoint": checkpoint,
    }  # fmt: skip
    network = not is_logic(program)
    for name, value in (of_weights if network else of_tables).items():
        if value:
            raise InputError(
                f"{name} is for {'programs' if network else 'networks'}, and this is a "
                f"{'network' if network else 'program'}: leave it out"
            )
    if network:
        asked_tables = TableOptions(
            prior, weights, ignore, fixed, tied, start or "data", starts or 1, iterations, seconds,
            seed, memory, quiet,
        )  # fmt: skip
        return learn_tables(program, databases, held_out or (), output, asked_tables)

    settings = om.mln.learning.LearningSettings(
        method=method,
        query=_names(query),
        hidden=_names(hidden),
        deviation=_deviation(prior or "2"),
        seed=seed,
        iterations=iterations,
        seconds=seconds,
        optimiser=optimiser,
        meaning=given.get("meaning", "formula"),
        max_groundings=given.get("max_groundings", om.mln.grounding.MOST_GROUNDINGS),
        memory=memory,
    )
    dialect = given.get("dialect", "alchemy")
    read = om.mln.language.read_program(program, dialect=dialect, learning=True, memory=memory)
    worlds, unseen = (
        [
            database
            for path in paths
            for database in om.mln.data.read_databases(path, read, memory=memory)
        ]
        for paths in (databases, held_out or ())
    )
    if not quiet:
        for warning in dict.fromkeys(
            [*read.warnings, *(words for world in (*worlds, *unseen) for words in world.warnings)]
        ):
            print_remark(f"note: {warning}")
    asked = om.mln.learning.learning_record(read, [*worlds, *unseen], settings)
    with lock_file(checkpoint):
        saved = None
        if checkpoint is not None and checkpoint.exists():
            saved = om.mln.learning.load(checkpoint, asked, memory=memory)
            if not quiet:
                print_remark(f"continuing after iteration {saved.iteration}, from {checkpoint}")
        watching = _Watching(quiet, checkpoint, asked)
        with Compiling(quiet=quiet):
            learned = om.mln.learning.learn(
                read, worlds, settings, held_out=unseen, start=saved, watch=watching
            )
            deviations = (
                om.mln.learning.standard_errors(learned.task, learned.weights) if errors else None
            )
            scored = _describe_score(learned)
        remarks = "\n".join([*_remarks(learned), *scored])
        text = om.mln.learning.program_text(
            learned.ground, learned.weights, remarks=remarks, errors=deviations
        )
        write_text(output, text)
        watching.keep(learned.step)
    for words in () if quiet else scored:
        print_remark(words)
    return _end(learned, output, quiet)


def _names(pieces: list[str] | None) -> frozenset[str]:
    return frozenset(options.words_in(pieces))


def _deviation(words: str) -> float | None:
    """The width of the prior, or none if it is to be chosen."""
    if words.strip().lower() == "auto":
        return None
    try:
        return float(words)
    except ValueError:
        raise InputError(f"--prior: expected a number or auto, not {words!r}") from None


def _describe_score(learned: "om.mln.learning.LearningResult") -> list[str]:
    """How the weights do on databases that they were not learned from, in words."""
    task = learned.task
    if not task.held_out:
        return []
    score = om.mln.learning.score(
        task.held_out, task.prior, learned.weights, seed=task.settings.seed
    )
    alone = score.given_others
    others = "" if alone != alone else f", {alone:.4f} given all other atoms"
    return [
        f"held out: mean log-probability of {score.atoms:,} atoms {score.given_evidence:.4f} given "
        f"the evidence{others}"
    ]


class _Watching:
    """Shows how learning goes, and keeps it in a file if one was named."""

    def __init__(self, quiet: bool, checkpoint: Path | None, asked: str) -> None:
        self.quiet, self.checkpoint, self.asked = quiet, checkpoint, asked
        self.wait = SHOWN_SECONDS
        self.shown = self.saved = time.perf_counter()

    def __call__(self, step: "om.mln.learning.Step") -> None:
        now = time.perf_counter()
        if not self.quiet and now >= self.shown + self.wait:
            print_remark(_words(step))
            self.shown, self.wait = now, min(MOST_SECONDS, GROWTH * self.wait)
        if now >= self.saved + SECONDS_BETWEEN_SAVES:
            self.saved = now
            try:
                self.keep(step)
            except InputError as error:
                print_remark(f"warning: the step was not saved: {error}; it continues")

    def keep(self, step: "om.mln.learning.Step") -> None:
        if self.checkpoint is not None:
            om.mln.learning.save(self.checkpoint, step, self.asked)


def _words(step: "om.mln.learning.Step") -> str:
    known = [f"iteration {step.iteration}"]
    if step.objective == step.objective:
        known.append(f"objective {step.objective:,.6g}")
    if step.slope == step.slope:
        known.append(f"largest slope {step.slope:.3g}")
    return ", ".join(known)


def _remarks(learned: "om.mln.learning.LearningResult") -> list[str]:
    """What a reader of the learned program should know."""
    settings = learned.task.settings
    about = {
        "pseudo": "pseudo-likelihood of all atoms",
        "conditional": "conditional pseudo-likelihood",
        "discriminative": "conditional likelihood" if settings.query else "likelihood of all atoms",
    }[settings.objective]
    of = f" of {', '.join(sorted(settings.query))}" if settings.query else ""
    chosen = ", chosen by cross-validation" if settings.deviation is None else ""
    return [
        f"Weights learned by orbitmc: {about}{of}, prior of width "
        f"{learned.task.prior.deviation:g}{chosen}.",
        f"{_words(learned.step).capitalize()}.",
    ]


def _end(learned: "om.mln.learning.LearningResult", output: Path, quiet: bool) -> int:
    """Say how it went; gives the exit code."""
    if not quiet or not learned.converged or learned.interrupted:
        print_remark(f"{_words(learned.step)}, {learned.seconds:.1f} s")
    if not quiet:
        if learned.task.settings.deviation is None:
            print_remark(
                f"cross-validation chose a prior of width {learned.task.prior.deviation:g}"
            )
        if not learned.task.worlds:
            print_remark(
                "the likelihood was counted, and nothing was ground: "
                f"{learned.task.explained_atoms:,} atoms are explained"
            )
        if learned.task.exact is None and not learned.task.is_hidden:
            print_remark(
                "the objective shown is the pseudo-likelihood; that of likelihood is not known"
            )
        print_remark(f"{len(learned.weights):,} weights are in {output}")
    if learned.interrupted:
        print_remark("interrupted: these weights are not the best ones")
        return INTERRUPTED
    if not learned.converged:
        print_remark("not converged: give it more --iterations or --seconds")
        return NOT_CONVERGED
    return 0
