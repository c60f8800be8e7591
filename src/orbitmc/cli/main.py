"""All verbs of the command line."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, TextIO

import typer

from orbitmc.cli.compare import compare
from orbitmc.cli.getting_started import demo, warm
from orbitmc.cli.infer import infer, resume
from orbitmc.cli.learn import learn
from orbitmc.cli.model_files import check, convert, ground, symmetry
from orbitmc.cli.options import Verb
from orbitmc.cli.predict import predict
from orbitmc.cli.questions import ask, best, draw, joint, sweep
from orbitmc.cli.session import unwritten
from orbitmc.version import __version__

app = typer.Typer(
    name="orbitmc",
    help="Marginals of discrete graphical models and Markov logic programs, with standard errors.",
    epilog="Exit codes: 0 an answer, 2 not understood, 3 not converged, 4 contradiction, 5 a "
    "limit would be exceeded, 130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its three columns leave too little room for words at 80 letters
    context_settings={"help_option_names": ["-h", "--help"]},
)
SPRINKLER, SMOKERS = "examples/sprinkler.bif", "examples/smokers.mln examples/smokers.db"
VERBS: dict[Callable[..., None], str] = {
    infer: f"orbitmc infer {SPRINKLER} -e grass=wet -q rain,season --seconds 5",
    ask: f"orbitmc ask {SPRINKLER} \"rain != 'none'\" --given \"grass == 'wet'\"",
    joint: f"orbitmc joint {SPRINKLER} sprinkler rain -e grass=wet",
    draw: f"orbitmc draw {SPRINKLER} -e grass=wet -n 1000 -o states.csv",
    best: f"orbitmc best {SPRINKLER} -e grass=wet -k 3",
    predict: f"orbitmc predict {SPRINKLER} examples/days.csv -q rain -o rain.csv",
    sweep: "orbitmc sweep examples/ring.uai --beta 0.1:1:10",
    compare: f"orbitmc compare {SPRINKLER} --seconds 2 --seeds 2",
    symmetry: "orbitmc symmetry examples/ring.uai --exact-only",
    check: f"orbitmc check {SPRINKLER} -e grass=wet",
    convert: f"orbitmc convert {SPRINKLER} sprinkler.uai",
    ground: f"orbitmc ground {SMOKERS} -o smokers.uai",
    learn: f"orbitmc learn {SMOKERS} -o learned.mln",
    resume: "orbitmc resume sprinkler.run",
    demo: "orbitmc demo --seed 2",
    warm: "orbitmc warm gibbs symmetry",
}
"""Each with an example."""

for verb, example in VERBS.items():
    app.command(cls=Verb, epilog=example)(verb)


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
