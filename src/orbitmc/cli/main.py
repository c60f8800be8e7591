"""All verbs of the command line."""

import importlib
import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from orbitmc.cli.options import Verb
from orbitmc.cli.session import unwritten
from orbitmc.version import __version__

SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers.mln examples/smokers.db"
VERBS: Mapping[str, tuple[str, str]] = {
    "infer": ("infer", f"orbitmc infer {SPRINKLER} -e grass=wet -q rain,season --seconds 5"),
    "ask": (
        "questions",
        f"orbitmc ask {SPRINKLER} \"rain != 'none'\" --given \"grass == 'wet'\"",
    ),
    "joint": ("questions", f"orbitmc joint {SPRINKLER} sprinkler rain -e grass=wet"),
    "draw": ("questions", f"orbitmc draw {SPRINKLER} -e grass=wet -n 1000 -o states.csv"),
    "best": ("questions", f"orbitmc best {SPRINKLER} -e grass=wet -k 3"),
    "predict": ("predict", f"orbitmc predict {SPRINKLER} examples/days.csv -q rain -o rain.csv"),
    "sweep": ("questions", "orbitmc sweep examples/ring.uai --beta 0.1:1:10"),
    "explore": ("explore", f"orbitmc explore {SPRINKLER} -e grass=wet"),
    "compare": ("compare", f"orbitmc compare {SPRINKLER} --seconds 2 --seeds 2"),
    "symmetry": ("model_files", "orbitmc symmetry examples/ring.uai --exact-only"),
    "check": ("model_files", f"orbitmc check {SPRINKLER} -e grass=wet"),
    "convert": ("model_files", f"orbitmc convert {SPRINKLER} sprinkler.uai"),
    "unroll": (
        "model_files",
        "orbitmc unroll examples/umbrella.bif --steps 100 -o umbrella.json",
    ),
    "ground": ("model_files", f"orbitmc ground {SMOKERS} -o smokers.uai"),
    "learn": ("learn", f"orbitmc learn {SMOKERS} -o learned.mln"),
    "resume": ("infer", "orbitmc resume sprinkler.run"),
    "demo": ("getting_started", "orbitmc demo --seed 2"),
    "warm": ("getting_started", "orbitmc warm gibbs symmetry"),
}
"""The file of each verb, which is loaded when it is used, and an example."""


class Verbs(TyperGroup):
    """All verbs; each is loaded when it is used."""

    def __init__(self, *settings: Any, **options: Any) -> None:
        super().__init__(*settings, **options)
        self.commands = dict.fromkeys(VERBS)  # type: ignore[assignment] # names to suggest

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module, example = VERBS[cmd_name]
        verb = getattr(importlib.import_module(f"orbitmc.cli.{module}"), cmd_name)
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(cmd_name, cls=Verb, epilog=example)(verb)
        return typer.main.get_command(single)


app = typer.Typer(
    name="orbitmc",
    cls=Verbs,
    help="Marginals of discrete graphical models and Markov logic programs, with standard errors.",
    epilog="Exit codes: 0 an answer, 2 not understood, 3 not converged, 4 contradiction, 5 a "
    "limit would be exceeded, 130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its three columns leave too little room for words at 80 letters
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"orbitmc {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line."""
    sys.stdout, sys.stderr = (
        _replace_closed_streams(sys.stdout),
        _replace_closed_streams(sys.stderr),
    )
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_letters(stream)
    try:
        _run()
    except OSError as error:  # help and versions are printed outside of all verbs
        sys.exit(unwritten(error))


def _run() -> None:
    """Parse and carry out; what is printed has been written when this ends."""
    try:
        app(prog_name="orbitmc")
    finally:
        sys.stdout.flush()


def _replace_closed_streams(stream: TextIO | None) -> TextIO:
    """Let what is said to a closed stream vanish, as services start programs with these."""
    if stream is not None:
        return stream
    return open(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def _never_fail_on_letters(stream: TextIO) -> None:
    """Let a terminal that cannot show a letter show its number instead."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
