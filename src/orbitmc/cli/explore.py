"""`orbitmc explore`: a page on this machine to click evidence in."""

import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from orbitmc import explorer
from orbitmc._util.text import MEMORY
from orbitmc.cli import inputs as questions
from orbitmc.cli import options
from orbitmc.cli.options import OUTPUT, option, parse_assignments, part_of
from orbitmc.cli.running import Compiling
from orbitmc.cli.session import print_remark, verb
from orbitmc.errors import InputError

PORT_HELP = "Serve on this port of loopback."
SECONDS_HELP = "Let a sampled answer become sharper for X seconds."
BROWSER_HELP = "Open the page in a browser, too."
MOST_PORTS = 2**16


@verb
def explore(
    model: options.ModelFile,
    evidence: options.EvidenceList = None,
    query: options.Query = None,
    method: options.MethodName = "auto",
    more: options.More = None,
    seconds: Annotated[
        float | None, option("--seconds", options.BUDGET, SECONDS_HELP, metavar="X", shown="60")
    ] = None,
    error: options.StandardError = None,
    seed: options.Seed = 0,
    memory: options.Memory = MEMORY,
    port: Annotated[int, option("--port", OUTPUT, PORT_HELP, metavar="N", shown="a free one")] = 0,
    browser: Annotated[bool, option("--browser", OUTPUT, BROWSER_HELP)] = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
    help_all: options.HelpAll = False,
) -> int:
    """Show a model in a browser, to click evidence in."""
    if not 0 <= port < MOST_PORTS:
        raise InputError(f"--port {port}: expected a number below {MOST_PORTS:,}")
    explorer.require_server()
    given = parse_assignments("explore", more)
    settings = options.settings_from(
        given, method=method, seconds=seconds, standard_error=error, seed=seed, memory=memory
    )
    asked_atoms = questions.as_one(query)
    logic = questions.LogicOptions(query=asked_atoms, **part_of(given, questions.LogicOptions))
    asked = questions.read_question(model, evidence, memory, logic)
    for remark in () if quiet else asked.remarks:
        print_remark(remark)
    program = asked.program is not None
    findings = {} if program else explorer.findings_of(asked.plain, asked.evidence)
    changed = settings.changed()
    origin = explorer.Origin(
        words=tuple(_words(model, evidence if program else None, query, more, changed)),
        python=tuple(_lines(model, evidence if program else None, asked_atoms, given)),
        title=model.name,
        settings=changed,
    )
    shown = explorer.explored(asked.source, findings, settings, origin)
    return _serve(shown, port, browser=browser, quiet=quiet)


def _serve(shown: "explorer.Explored", port: int, *, browser: bool, quiet: bool) -> int:
    """Serve a page until Ctrl-C, which is how this is meant to end."""
    with (
        suppress(KeyboardInterrupt),
        Compiling(quiet=quiet),
        explorer.serving(shown, port) as (address, serve),
    ):
        print(address, flush=True)
        if not quiet:
            print_remark("the page is at this address, for this machine only; Ctrl-C ends it")
        if browser:
            threading.Thread(target=webbrowser.open, args=(str(address),), daemon=True).start()
        serve()
    return 0


OPTION_OF = {"method": "--method", "seconds": "--seconds", "standard_error": "--error",
             "seed": "--seed", "memory": "--memory"}  # fmt: skip


def _words(
    model: Path,
    evidence: list[str] | None,
    query: list[str] | None,
    more: list[str] | None,
    changed: dict[str, Any],
) -> list[str]:
    """The command that asks the same once, before what was clicked."""
    words = ["orbitmc", "infer", str(model)]
    for name, pieces in (("-e", evidence), ("-q", query), ("--set", more)):
        words += [word for piece in pieces or () for word in (name, piece)]
    for name, value in changed.items():
        if name in OPTION_OF:
            words += [OPTION_OF[name], str(value)]
    return words


def _lines(
    model: Path, evidence: list[str] | None, query: str | None, given: dict[str, Any]
) -> list[str]:
    """The lines of Python that read the same."""
    if not questions.is_logic(model):
        return ["import orbitmc as om", "", f"model = om.read({str(model)!r})"]
    files, texts = questions.split_pieces(evidence or ())
    logic = part_of(given, questions.LogicOptions)
    options = {"query": query, "evidence": texts or None, **logic}
    named = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    names = [str(file) for file in files]
    return [
        "import orbitmc as om",
        "",
        f"program = om.read_logic({str(model)!r}, {names!r}{named})",
    ]
