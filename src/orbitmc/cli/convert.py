"""`orbitmc convert`: the same model in another format."""

from pathlib import Path
from typing import Annotated

import typer

from orbitmc.cli.session.answers import require_other, require_writable
from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.options import MEMORY, Debug, EvidenceList, Memory, ModelFile, Quiet
from orbitmc.cli.session.questions import read_question


@verb
def convert(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The new file; its suffix says the format: .uai, .bif, .xmlbif, .json, or .gz.",
            show_default=False,
        ),
    ],
    evidence: EvidenceList = None,
    memory: Memory = MEMORY,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Write a model in another format, with its evidence built in."""
    require_writable(output)
    require_other(output, [model, *(evidence or ())])
    from orbitmc.formats.registry import write

    asked = read_question(model, evidence, memory).model
    write(asked, output)
    if not quiet:
        say(f"the model of {len(asked.order):,} variables is in {output}")
    return 0
