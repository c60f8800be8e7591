"""`orbitmc convert`: the same model in another format."""

from pathlib import Path
from typing import Annotated

from orbitmc._util.text import MEMORY
from orbitmc.cli.session import options
from orbitmc.cli.session.answers import require_other, require_writable
from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.options import argument
from orbitmc.cli.session.questions import read_question

OUTPUT_HELP = "The new file; its suffix says the format: .uai, .bif, .xmlbif, .json, or .gz."


@verb
def convert(
    model: options.ModelFile,
    output: Annotated[Path, argument("OUT", OUTPUT_HELP)],
    evidence: options.EvidenceList = None,
    memory: options.Memory = MEMORY,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> int:
    """Write a model in another format, with its evidence built in."""
    require_writable(output)
    require_other(output, [model, *(evidence or ())])
    from orbitmc.formats.registry import write

    asked = read_question(model, evidence, memory).model
    write(asked, output)
    for doubt in asked.doubts:
        say(f"warning: {doubt}")
    if not quiet:
        say(f"the model of {len(asked.order):,} variables is in {output}")
    return 0
