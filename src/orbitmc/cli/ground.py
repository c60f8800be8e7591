"""`orbitmc ground`: a Markov logic program on its constants, as a plain model."""

from pathlib import Path
from typing import Annotated

from orbitmc._util.text import MEMORY
from orbitmc.cli.session import options
from orbitmc.cli.session.answers import require_other, require_writable
from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.help import OUTPUT
from orbitmc.cli.session.options import argument, option
from orbitmc.cli.session.questions import LogicOptions, as_one, is_logic, read_question
from orbitmc.cli.session.settable import assigned
from orbitmc.errors import InputError

GROUND_OUTPUT_HELP = "Write the model: .uai or .json, also with .gz."


@verb
def ground(
    program: Annotated[Path, argument("PROGRAM", "A program: .mln, .pracmln.")],
    databases: Annotated[list[str] | None, argument("DATABASE", "Evidence: .db.")] = None,
    output: Annotated[
        Path | None,
        option(
            "-o --output", OUTPUT, GROUND_OUTPUT_HELP, metavar="FILE", shown="only say its size"
        ),
    ] = None,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Write the plain model that a program's groundings make."""
    require_writable(output)
    require_other(output, [program, *(databases or ()), *(evidence or ())])
    if not is_logic(program):
        raise InputError("a program has the suffix .mln or .pracmln", source=str(program))
    logic = LogicOptions(query=as_one(query), **assigned("ground", more))
    asked = read_question(program, [*(databases or ()), *(evidence or ())], memory, logic)
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
