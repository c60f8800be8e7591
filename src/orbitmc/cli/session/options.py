"""Options that several verbs share, and how their words are read."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from orbitmc.cli.session.help import BUDGET, METHOD, OUTPUT, QUESTION, show_everything

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
MODEL_HELP = (
    "A model: .uai, .bif, .xmlbif, .json, .net, .xdsl, .coo, .ising, .bqm, or a program: .mln, "
    ".pracmln."
)


def size_in_bytes(words: str) -> int:
    """Read a size such as `4G`, `512 MiB` or `1000000`.

    >>> size_in_bytes("1.5G")
    1610612736
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(?:i?B)?\s*", str(words), re.IGNORECASE)
    size = round(float(found[1]) * UNITS[found[2].upper()]) if found else 0
    if size < 1:
        raise typer.BadParameter(f"{words!r} is no size; write for example 512M or 4G")
    return size


def words_in(pieces: Sequence[str] | None) -> list[str]:
    """Words with commas between, from an option that may be repeated; each once."""
    found = (word.strip() for piece in pieces or () for word in piece.split(","))
    return list(dict.fromkeys(word for word in found if word))


def argument(metavar: str, about: str) -> Any:
    """What has no name on the command line."""
    return typer.Argument(metavar=metavar, help=about, show_default=False)


def option(names: str, group: str, about: str, *, shown: bool | str = False, **more: Any) -> Any:
    """What has a name, and a group in the help, which says of its default what is `shown`."""
    return typer.Option(
        *names.split(), help=about, rich_help_panel=group, show_default=shown, **more
    )


ModelFile = Annotated[Path, argument("MODEL", MODEL_HELP)]
OptionalModelFile = Annotated[Path | None, argument("MODEL", MODEL_HELP)]
PROGRAM_HELP = "The program, instead of MODEL, as in Alchemy."
ProgramFile = Annotated[
    Path | None, option("-i", QUESTION, PROGRAM_HELP, metavar="PROGRAM", hidden=True)
]
EVIDENCE_HELP = "NAME=VALUE, an atom, or a file; may be repeated."
EvidenceList = Annotated[
    list[str] | None, option("-e --evidence", QUESTION, EVIDENCE_HELP, metavar="EVIDENCE")
]
NAMES_HELP = "What to report: A,B or Smokes,Friends(Anna,x)."
Names = Annotated[list[str] | None, option("-q --query", QUESTION, NAMES_HELP, metavar="NAMES")]
QUERY_HELP = "Atoms to ask a program about: Smokes,Friends(Anna,x)."
Query = Annotated[list[str] | None, option("-q --query", QUESTION, QUERY_HELP, metavar="ATOMS")]
METHOD_HELP = (
    "auto is exact where that is affordable; lifted jumps along exact symmetries, lmh along "
    "approximate ones."
)
MethodName = Annotated[
    Literal["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"],
    option("--method", METHOD, METHOD_HELP, shown=True),
]
GENERATORS_HELP = (
    "Permutations to jump by, as '(A B)(C D)', or a file of them; may be repeated. A wrong one "
    "does not bias the answer."
)
Generators = Annotated[
    list[str] | None,
    option("-g --generators", METHOD, GENERATORS_HELP, metavar="CYCLES", hidden=True),
]
SeldomGenerators = Annotated[
    list[str] | None,
    option("-g --generators", METHOD, GENERATORS_HELP, metavar="CYCLES", hidden=True),
]
"""The same, for a verb that has more important options to show."""

More = Annotated[
    list[str] | None,
    option("--set", METHOD, "Any other setting; --help-all lists them.", metavar="NAME=VALUE"),
]
HelpAll = Annotated[
    bool,
    option(
        "--help-all",
        OUTPUT,
        "Show all options and settings.",
        is_eager=True,
        callback=show_everything,
        expose_value=False,
    ),
]
SECONDS_HELP = "Answer after X seconds of work, compiling aside."
Seconds = Annotated[
    float | None, option("--seconds", BUDGET, SECONDS_HELP, metavar="X", shown="10")
]
SAMPLES_HELP = "Or record N samples in every chain."
Samples = Annotated[int | None, option("--samples", BUDGET, SAMPLES_HELP, metavar="N")]
ERROR_HELP = "Or sample until standard errors are about X."
StandardError = Annotated[float | None, option("--error", BUDGET, ERROR_HELP, metavar="X")]
SEED_HELP = "The same seed gives the same samples."
Seed = Annotated[int, option("--seed", BUDGET, SEED_HELP, metavar="N", min=0, shown=True)]
Memory = Annotated[
    int,
    option(
        "--memory",
        BUDGET,
        "Refuse a run that needs more; 512M, 4G.",
        parser=size_in_bytes,
        metavar="SIZE",
        shown="4G",
    ),
]
CLUSTER_HELP = "Let dask workers do the work: tcp://HOST:PORT, or local."
Cluster = Annotated[
    Any, option("--cluster", BUDGET, CLUSTER_HELP, parser=str, metavar="ADDRESS", hidden=True)
]
"""An address; commands are given the executor that was found there."""

Json = Annotated[bool, option("--json", OUTPUT, "Print one JSON object.")]
OUTPUT_HELP = "Write the answer to a file: .MAR, .json or .csv."
Output = Annotated[Path | None, option("-o --output", OUTPUT, OUTPUT_HELP, metavar="FILE")]
LOG_Z_HELP = "Give log Z too; sampling it takes as long again."
LogZ = Annotated[bool, option("--log-z", QUESTION, LOG_Z_HELP, hidden=True)]
RESULTS_HELP = "Write lines `Atom probability`, as Alchemy does."
Results = Annotated[
    Path | None, option("-r --results", OUTPUT, RESULTS_HELP, metavar="FILE", hidden=True)
]
WORLD_HELP = "Print the most probable world, its true atoms, as Alchemy does."
World = Annotated[bool, option("-m", OUTPUT, WORLD_HELP, hidden=True)]
ATOMS_HELP = "Print the most probable world, all atoms with 0 or 1, as Alchemy does."
WorldOfAll = Annotated[bool, option("-a", OUTPUT, ATOMS_HELP, hidden=True)]
REPORT_HELP = "Write a page with tables, charts and the verdict: .html."
Report = Annotated[Path | None, option("--report", OUTPUT, REPORT_HELP, metavar="FILE")]
CHECKPOINT_HELP = "Save the run to a file, for `orbitmc resume`."
CheckpointFile = Annotated[
    Path | None, option("--checkpoint", OUTPUT, CHECKPOINT_HELP, metavar="FILE")
]
Quiet = Annotated[bool, option("--quiet", OUTPUT, "Print no progress and no remarks.")]
Debug = Annotated[bool, option("--debug", OUTPUT, "Print the traceback of a bug.", hidden=True)]
