"""`orbitmc learn`: a model or program and data in, the same with learned tables or weights out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import orbitmc as om
from orbitmc import inference
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

if TYPE_CHECKING:
    from orbitmc.inference import LearnedProgram

SHOWN_SECONDS, GROWTH, MOST_SECONDS = 2.0, 1.3, 30.0
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
    program: Annotated[Path, argument("MODEL", "A model, or a program; weights may be missing.")],
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
    """Learn tables of a model, or weights of a program."""
    require_writable(output)
    require_other(output, [*databases, *(held_out or ())])
    require_writable(checkpoint)
    given = parse_assignments("learn", more)
    of_tables = {"--ignore": ignore, "--weights": weights, "--fixed": fixed, "--tied": tied,
                 "--start": start, "--starts": starts}  # fmt: skip
    of_weights = {
        "--method": method if method != "pseudo" else None, "--query": query,
        "--hidden": hidden, "--set": given, "--optimiser": optimiser,
        "--errors": errors, "--checkpoint": checkpoint,
    }  # fmt: skip
    network = not is_logic(program)
    for name, value in (of_weights if network else of_tables).items():
        if value:
            raise InputError(
                f"{name} is for {'programs' if network else 'models'}, and this is a "
                f"{'model' if network else 'program'}: leave it out"
            )
    if network:
        asked_tables = TableOptions(
            prior, weights, ignore, fixed, tied, start, starts, method and f"{method}-likelihood",
            iterations, seconds, seed, memory, quiet,
        )  # fmt: skip
        return learn_tables(program, databases, held_out or (), output, asked_tables)

    asked = WeightOptions(
        method, query, hidden, prior or "2", optimiser, errors, iterations, seconds, seed,
        checkpoint, given, memory, quiet,
    )  # fmt: skip
    return learn_weights(program, databases, held_out or (), output, asked)


@dataclass(frozen=True)
class WeightOptions:
    """What the command line says about learning weights."""

    method: Literal["pseudo", "conditional", "discriminative"] | None
    query: Sequence[str] | None
    hidden: Sequence[str] | None
    prior: str
    optimiser: Literal["newton", "adam"] | None
    errors: bool
    iterations: int | None
    seconds: float | None
    seed: int
    checkpoint: Path | None
    more: Mapping[str, Any]
    memory: int
    quiet: bool


def learn_weights(
    program: Path,
    databases: Sequence[Path],
    held_out: Sequence[Path],
    output: Path,
    asked: WeightOptions,
) -> int:
    """Learn a program from databases, and write it."""

    def tell(words: str) -> None:
        if not asked.quiet or words.startswith("warning"):
            print_remark(words)

    with Compiling(quiet=asked.quiet):
        learned = om.learn(
            program,
            databases,
            method=asked.method,
            query=options.words_in(asked.query),
            hidden=options.words_in(asked.hidden),
            prior=_width(asked.prior),
            held_out=held_out,
            errors=asked.errors,
            optimiser=asked.optimiser,
            iterations=asked.iterations,
            seconds=asked.seconds,
            seed=asked.seed,
            memory=asked.memory,
            checkpoint=asked.checkpoint,
            watch=None if asked.quiet else _Watching(),
            tell=tell,
            **asked.more,
        )
    learned.write(output)
    if learned.unsaved is not None:
        raise learned.unsaved
    for words in () if asked.quiet else inference.describe_score(learned.held_out):
        print_remark(words)
    return _end(learned, output, asked.quiet)


def _width(words: str) -> "float | Literal['auto']":
    """The width of the prior, or that it is to be chosen."""
    if words.strip().lower() == "auto":
        return "auto"
    try:
        return float(words)
    except ValueError:
        raise InputError(f"--prior: expected a number or auto, not {words!r}") from None


class _Watching:
    """Shows how learning goes."""

    def __init__(self) -> None:
        self.wait, self.shown = SHOWN_SECONDS, time.perf_counter()

    def __call__(self, step: "om.mln.learning.Step") -> None:
        now = time.perf_counter()
        if now >= self.shown + self.wait:
            print_remark(inference.describe_step(step))
            self.shown, self.wait = now, min(MOST_SECONDS, GROWTH * self.wait)


def _end(learned: "LearnedProgram", output: Path, quiet: bool) -> int:
    """Say how it went; gives the exit code."""
    task = learned.result.task
    if not quiet or not learned.converged or learned.interrupted:
        print_remark(f"{inference.describe_step(learned.result.step)}, {learned.seconds:.1f} s")
    if not quiet:
        if task.settings.deviation is None:
            print_remark(f"cross-validation chose a prior of width {learned.prior:g}")
        if not task.worlds:
            print_remark(
                "the likelihood was counted, and nothing was ground: "
                f"{task.explained_atoms:,} atoms are explained"
            )
        if task.exact is None and not task.is_hidden:
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
