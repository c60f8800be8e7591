"""`orbitmc resume`: go on with a run as if it had never stopped."""

from pathlib import Path
from typing import Annotated

import typer

from orbitmc.cli.session.answers import deliver, require_output
from orbitmc.cli.session.exits import verb
from orbitmc.cli.session.options import (
    MEMORY,
    CheckpointEvery,
    Debug,
    Json,
    Memory,
    Output,
    Quiet,
    Threads,
)
from orbitmc.cli.session.records import ask_again, kernel_settings, ruled_out_methods
from orbitmc.machine.locks import owned


@verb
def resume(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="What `infer --checkpoint` wrote.", show_default=False),
    ],
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Where the model is now.", show_default="where it was"),
    ] = None,
    threads: Threads = None,
    memory: Memory = MEMORY,
    checkpoint_every: CheckpointEvery = None,
    json: Json = False,
    output: Output = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Go on with a run, bit for bit as if it had never stopped."""
    require_output(output)
    from orbitmc.ask.answers import answer, averaged_group
    from orbitmc.ask.decisions import Decision
    from orbitmc.ask.methods import kernel_for
    from orbitmc.cli.session.sampling import Session
    from orbitmc.estimate.marginals import with_warnings
    from orbitmc.graph.prepared import prepare
    from orbitmc.graph.weights.hardening import hardened
    from orbitmc.run.kept.checkpoint import load
    from orbitmc.run.sampler import proceed

    with owned(run):
        kept = load(run, memory=memory)
        question = dict(kept.question)
        again = ask_again(question, model, memory, str(run))
        firm = hardened(again.model)
        asked = firm.model
        prepared = prepare(asked.graph)
        settings = kernel_settings(question, str(run))
        ruled_out = ruled_out_methods(question, str(run))
        chosen = kernel_for(asked, prepared, settings, again.ground)
        group = averaged_group(asked, settings)
        going = kept.restore(prepared, chosen.kernel, group, memory=memory)
        with Session(quiet, run, checkpoint_every, question) as session:
            done = proceed(going, threads=threads, watchers=session.watchers)
            reason = f"a run resumed from {run.name}"
            decision = Decision(asked, settings, reason, ruled_out=ruled_out)
            found = answer(done, decision, chosen)
        found = with_warnings(found, firm.remarks)
        code = deliver(again.in_words(found), json=json, output=output, quiet=quiet)
        return code or session.exit_code
