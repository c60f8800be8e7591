"""`orbitmc compare`: how fast several methods approach reference marginals."""

from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from orbitmc import report
from orbitmc._util.text import MEMORY
from orbitmc.cli import options
from orbitmc.cli.inputs import LogicOptions, as_one, read_question
from orbitmc.cli.options import BUDGET, METHOD, OUTPUT, option, parse_assignments
from orbitmc.cli.running import Compiling
from orbitmc.cli.session import INTERRUPTED, print_remark, verb
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.compare._error_curves import ErrorCurve, PreparedSampler
    from orbitmc.compare.figures import Row


REFERENCE_SHARE = (
    4.0  # times the seconds of a run go into each of the two that find reference marginals
)
REFERENCE_SEED = 1000  # apart from those of the runs
METHODS = "gibbs,lifted,lmh"
METHODS_HELP = "Methods to compare: gibbs, lifted, lmh, mcsat."
SEEDS_HELP = "Runs of each method."
REFERENCE_HELP = "Seconds of each of the two runs that replace exact marginals."
OUTPUT_HELP = "The folder for curves and figures."


@verb
def compare(
    model: options.ModelFile,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    methods: Annotated[
        list[str], option("--methods", METHOD, METHODS_HELP, metavar="NAMES", shown=METHODS)
    ] = [METHODS],  # noqa: B006
    seconds: Annotated[
        float, option("--seconds", BUDGET, "Seconds of each run.", metavar="X", shown=True)
    ] = 30.0,
    seeds: Annotated[
        int, option("--seeds", BUDGET, SEEDS_HELP, metavar="N", min=1, shown=True)
    ] = 5,
    seed: options.Seed = 0,
    reference_seconds: Annotated[
        float | None,
        option(
            "--reference-seconds", BUDGET, REFERENCE_HELP, metavar="X", shown="four times --seconds"
        ),
    ] = None,
    more: options.More = None,
    output: Annotated[
        Path, option("-o --output", OUTPUT, OUTPUT_HELP, metavar="FOLDER", shown=True)
    ] = Path("comparison"),
    memory: options.Memory = MEMORY,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Measure error against time of several methods, and draw it."""
    names = options.words_in(methods)
    given = parse_assignments("compare", more)
    estimator = given.pop("estimator", "rao-blackwell")
    _require(names, seconds, output, estimator)
    from orbitmc.compare._error_curves import by_method, error_curves, prepare_sampler, reference_of
    from orbitmc.compare.figures import FigureFiles

    asked = read_question(model, evidence, memory, LogicOptions(query=as_one(query), **given)).model
    for doubt in asked.doubts:
        print_remark(f"warning: {doubt}")
    samplers = [by_method(asked, name, seconds=seconds, memory=memory) for name in names]
    patience = reference_seconds or REFERENCE_SHARE * seconds
    with Compiling(quiet=quiet):
        reference = reference_of(asked, seconds=patience, seed=seed + REFERENCE_SEED, memory=memory)
        _tell(f"reference: {reference.how}", quiet)
        racing = [prepare_sampler(sampler) for sampler in samplers]
    for racer in racing:
        _tell(f"{racer.name}: {racer.about or 'no jumps'}; ready in {racer.seconds:.2g} s", quiet)
    figure_files, interrupted = FigureFiles(output, "comparison"), False
    runs = range(seed, seed + seeds)
    for racer, curve in error_curves(
        racing, reference, seconds=seconds, seeds=runs, estimators=[estimator]
    ):
        figure_files.add(model.name, racer, curve, reference)
        interrupted |= curve.interrupted
        _tell(_progress(racer, curve), quiet)
    settings = {
        "model": str(model),
        "evidence": evidence or [],
        "query": as_one(query),
        "methods": names,
        "seconds": seconds,
        "seeds": list(runs),
        "reference seconds": patience,
        "estimator": estimator,
    }
    written = figure_files.keep(f"{model.name}: {seeds} runs of each method", settings=settings)
    if not any(path.suffix == ".svg" for path in written):
        print_remark("there is no figure: drawing needs matplotlib (pip install 'orbitmc[plots]')")
    _summarise(figure_files.rows)
    _tell(f"the curves are in {output}", quiet)
    return INTERRUPTED if interrupted else 0


def _require(names: Sequence[str], seconds: float, output: Path, estimator: str) -> None:
    """Refuse what makes no sense before anything is read."""
    if estimator not in ("rao-blackwell", "values"):
        raise InputError(
            f"runs that are compared do not use {estimator}: say rao-blackwell or values"
        )
    if not names:
        raise InputError("name at least one method to compare")
    if not seconds > 0:
        raise InputError(f"--seconds must be above 0, not {seconds:g}")
    if output.exists() and not output.is_dir():
        raise InputError("this is a file; give the name of a folder", source=str(output))
    if not output.resolve().parent.is_dir():
        raise InputError(f"there is no folder {str(output.parent)!r}", source=str(output))


def _tell(words: str, quiet: bool) -> None:
    if not quiet:
        print_remark(words)


def _progress(sampler: "PreparedSampler", curve: "ErrorCurve") -> str:
    if not curve.points:
        return f"{sampler.name}: no time was left to record anything"
    last = curve.points[-1]
    return f"{sampler.name}, seed {last.seed}: KL {last.error.of_estimate:.3g}"


def _summarise(rows: Sequence["Row"]) -> None:
    """Print how far off every method was in the end: middle and band over seeds."""
    from rich.console import Console

    from orbitmc.compare.figures import endings

    titles = ("method", "seconds", "KL", "10 %", "90 %", "Hellinger", "floor of KL")
    ends = [astuple(ending) for ending in endings(rows)]
    lines = [[method, *(f"{number:.3g}" for number in numbers)] for method, *numbers in ends]
    report.show(titles, lines, Console(highlight=False))
