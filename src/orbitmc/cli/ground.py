"""`orbitmc ground`: a Markov logic program on its constants, as a plain model."""

from pathlib import Path
from typing import Annotated

import typer

from orbitmc.cli.session.answers import require_writable
from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.help import OUTPUT
from orbitmc.cli.session.options import (
    MEMORY,
    Debug,
    EvidenceList,
    HelpAll,
    Memory,
    More,
    Query,
    Quiet,
)
from orbitmc.cli.session.questions import LogicOptions, is_logic, read_question
from orbitmc.cli.session.settable import assigned
from orbitmc.errors import InputError


@verb
def ground(
    program: Annotated[
        Path,
        typer.Argument(metavar="PROGRAM", help="A program: .mln.", show_default=False),
    ],
    databases: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATABASE", help="Evidence: .db.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the model: .uai or .json, also with .gz.",
            show_default="only say its size",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    evidence: EvidenceList = None,
    query: Query = None,
    more: More = None,
    memory: Memory = MEMORY,
    quiet: Quiet = False,
    debug: Debug = False,
    help_all: HelpAll = False,
) -> int:
    """Write the plain model that a program's groundings make."""
    require_writable(output)
    if not is_logic(program):
        raise InputError("a program has the suffix .mln", source=str(program))
    options = LogicOptions(query=query, **assigned("ground", more))
    asked = read_question(program, [*(databases or ()), *(evidence or ())], memory, options)
    if output is not None:
        from orbitmc.formats.registry import write

        write(asked.model, output)
    if not quiet:
        for remark in asked.remarks:
            say(remark)
    graph = asked.model.graph
    where = f" in {output}" if output else ""
    print(f"{graph.variables:,} variables and {graph.factors:,} factors{where}")
    return 0
