"""Options that several verbs share, and how their words are read."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


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


ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="A model: .uai, .bif, .xmlbif, .json, or a program: .mln; also with .gz.",
        show_default=False,
    ),
]
OptionalModelFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="MODEL",
        help="A model: .uai, .bif, .xmlbif, .json, or a program: .mln; also with .gz.",
        show_default=False,
    ),
]
EvidenceList = Annotated[
    list[str] | None,
    typer.Option(
        "-e",
        "--evidence",
        metavar="EVIDENCE",
        help="NAME=VALUE, a .evid or JSON file; for programs a .db file or an atom. May be "
        "repeated.",
        show_default=False,
    ),
]
Query = Annotated[
    str | None,
    typer.Option(
        "-q",
        "--query",
        metavar="ATOMS",
        help="Atoms to ask a program about: Smokes,Friends(Anna,x).",
        show_default="all that are not known",
    ),
]
Opened = Annotated[
    list[str] | None,
    typer.Option(
        "--open",
        metavar="PREDICATE",
        help="Unlisted atoms are unknown; may be repeated.",
        show_default=False,
    ),
]
Closed = Annotated[
    list[str] | None,
    typer.Option(
        "--closed",
        metavar="PREDICATE",
        help="Unlisted atoms are false; may be repeated.",
        show_default=False,
    ),
]
DialectOption = Annotated[
    Literal["alchemy", "pracmln", "tuffy"],
    typer.Option("--dialect", help="How the program is written."),
]
MeaningOption = Annotated[
    Literal["formula", "alchemy"],
    typer.Option(
        "--weights", help="What a program's weights are paid for: formulas, or their clauses."
    ),
]
MaxGroundings = Annotated[
    int | None,
    typer.Option(min=1, help="Refuse a program with more groundings.", show_default="100 million"),
]
Generators = Annotated[
    list[str] | None,
    typer.Option(
        "-g",
        "--generators",
        "--generator",
        metavar="CYCLES",
        help="Your own, as '(A B)(C D)', or a file with one in each line; may be repeated. Any "
        "permutation is safe to jump by, or to average over.",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same samples.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="Cores to use; changes no number.", show_default="all"),
]
Memory = Annotated[
    int,
    typer.Option(
        parser=size_in_bytes,
        metavar="SIZE",
        help="Refuse what would take more; 512M, 4G.",
        show_default="4G",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the answer to a file instead: .MAR, .json or .csv, also with .gz.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress, no remarks.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where a bug struck.", hidden=True)]
CheckpointEvery = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        help="How often to write the checkpoint.",
        show_default="30, less often if that is slow",
    ),
]

MEMORY = 4 * 2**30
