"""Options that several verbs share, and how their words are read."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from orbitmc.cli.session.help import BUDGET, METHOD, OUTPUT, QUESTION, show_everything

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
MODEL_HELP = "A model: .uai, .bif, .xmlbif, .json, or a program: .mln."


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


ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)]
OptionalModelFile = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help=MODEL_HELP, show_default=False)
]
ProgramFile = Annotated[
    Path | None,
    typer.Option(
        "-i",
        metavar="PROGRAM",
        help="The program, instead of MODEL, as in Alchemy.",
        hidden=True,
        rich_help_panel=QUESTION,
    ),
]
EvidenceList = Annotated[
    list[str] | None,
    typer.Option(
        "-e",
        "--evidence",
        metavar="EVIDENCE",
        help="NAME=VALUE, an atom, or a file; may be repeated.",
        show_default=False,
        rich_help_panel=QUESTION,
    ),
]
Names = Annotated[
    str | None,
    typer.Option(
        "-q",
        "--query",
        metavar="NAMES",
        help="What to report: A,B or Smokes,Friends(Anna,x).",
        show_default=False,
        rich_help_panel=QUESTION,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "-q",
        "--query",
        metavar="ATOMS",
        help="Atoms to ask a program about: Smokes,Friends(Anna,x).",
        show_default=False,
        rich_help_panel=QUESTION,
    ),
]
MethodName = Annotated[
    Literal["auto", "exact", "gibbs", "mcsat", "lifted", "lmh"],
    typer.Option(
        help="auto is exact where that is affordable; lifted jumps along exact symmetries, lmh "
        "along approximate ones.",
        rich_help_panel=METHOD,
    ),
]
Generators = Annotated[
    list[str] | None,
    typer.Option(
        "-g",
        "--generators",
        metavar="CYCLES",
        help="Permutations to jump by, as '(A B)(C D)', or a file of them; may be repeated. "
        "A wrong one does not bias the answer.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
More = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting; --help-all lists them.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all",
        help="Show all options and settings.",
        is_eager=True,
        callback=show_everything,
        expose_value=False,
        rich_help_panel=OUTPUT,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Answer after X seconds of work, compiling aside.",
        show_default="10",
        rich_help_panel=BUDGET,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Or record N samples in every chain.",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
StandardError = Annotated[
    float | None,
    typer.Option(
        "--error",
        metavar="X",
        help="Or sample until standard errors are about X.",
        show_default=False,
        rich_help_panel=BUDGET,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, metavar="N", help="The same seed gives the same samples.", rich_help_panel=BUDGET
    ),
]
Memory = Annotated[
    int,
    typer.Option(
        parser=size_in_bytes,
        metavar="SIZE",
        help="Refuse a run that needs more; 512M, 4G.",
        show_default="4G",
        rich_help_panel=BUDGET,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the answer to a file: .MAR, .json or .csv.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Results = Annotated[
    Path | None,
    typer.Option(
        "-r",
        "--results",
        metavar="FILE",
        help="Write lines `Atom probability`, as Alchemy does.",
        show_default=False,
        hidden=True,
        rich_help_panel=OUTPUT,
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FILE",
        help="Save the run to a file, for `orbitmc resume`.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print no progress and no remarks.", rich_help_panel=OUTPUT)
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", help="Print the traceback of a bug.", hidden=True, rich_help_panel=OUTPUT
    ),
]

MEMORY = 4 * 2**30
