"""`orbitmc resume`: go on with a run as if it had never stopped."""

from pathlib import Path
from typing import Annotated

from orbitmc.cli.session import options
from orbitmc.cli.session.answers import deliver, require_output
from orbitmc.cli.session.exits import verb
from orbitmc.cli.session.help import QUESTION
from orbitmc.cli.session.options import argument, option
from orbitmc.cli.session.records import ask_again
from orbitmc.cli.session.settable import assigned
from orbitmc.machine.files import owned
from orbitmc.machine.text import MEMORY

MODEL_HELP = "Where the model is now."


@verb
def resume(
    run: Annotated[Path, argument("RUN", "What `infer --checkpoint` wrote.")],
    model: Annotated[
        Path | None,
        option("--model", QUESTION, MODEL_HELP, metavar="MODEL", shown="where it was"),
    ] = None,
    more: options.More = None,
    memory: options.Memory = MEMORY,
    cluster: options.Cluster = None,
    json: options.Json = False,
    output: options.Output = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Go on with a run, bit for bit as if it had never stopped."""
    require_output(output)
    given = assigned("resume", more)
    from orbitmc.ask.resuming import go_on, kept_query, kept_settings
    from orbitmc.cli.session.sampling import Session
    from orbitmc.run.kept.checkpoint import load

    with owned(run):
        kept = load(run, memory=memory)
        kept_settings(kept.question, str(run))  # refuses what cannot go on before a model is read
        again = ask_again(kept.question, model, memory, str(run))
        names = None if again.ground is not None else kept_query(kept, again.model)
        with Session(quiet, run, given.get("checkpoint_every"), kept.question) as session:
            found = go_on(
                kept,
                again.model,
                again.ground,
                threads=given.get("threads"),
                executor=cluster,
                memory=memory,
                watchers=session.watchers,
            )
        found = again.in_words(found.only(names))
        code = deliver(found, json=json, output=output, quiet=quiet)
        return code or session.exit_code
