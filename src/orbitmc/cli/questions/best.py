"""`orbitmc best`: the most probable states of a model, or the true atoms of a program."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from orbitmc.cli.questions.asking import Asking, Reply, question
from orbitmc.cli.session import options, questions
from orbitmc.cli.session.exits import INTERRUPTED, say
from orbitmc.cli.session.help import QUESTION
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.estimate.answers import BestStates
    from orbitmc.inference.settings import Settings

Count = Annotated[
    int, options.option("-k --states", QUESTION, "How many states.", metavar="K", shown=True)
]
METHOD_HELP = "exact proves them, gibbs searches; auto searches where a proof costs too much."
MethodName = Annotated[
    Literal["auto", "exact", "gibbs"], options.option("--method", "Method", METHOD_HELP, shown=True)
]


@question(without=("samples", "error"), method=MethodName, opens_query=True)
def best(asking: Asking, count: Count = 1, query: options.Names = None) -> Reply:
    """Find the most probable states, all variables together."""
    from orbitmc.graph.model import Model
    from orbitmc.inference._best import best as ask_best
    from orbitmc.inference.query import names_in

    source = asking.source
    model = source if isinstance(source, Model) else None
    names = names_in(query, model) if model is not None and query else None
    found = ask_best(source, k=count, query=names, settings=asking.settings, progress=asking.show)
    return Reply(
        found.about,
        found.verdict(),
        converged=True,
        table=lambda: f"{found}\n" if model is not None else _true_atoms(found),
        json=lambda: found.to_json() + "\n",
        csv=found.to_csv,
    )


def require_program(model: Path, method: str) -> None:
    """Refuse to ask anything but a program for its world, or by a method that finds none."""
    if not questions.is_logic(model):
        raise InputError(
            "-m and -a are for programs; orbitmc best takes any model", source=str(model)
        )
    if method not in ("auto", "exact", "gibbs"):
        raise InputError(f"-m and -a find worlds by auto, exact or gibbs, not by {method}")


def best_world(
    model: Path,
    evidence: list[str] | None,
    settings: "Settings",
    logic: questions.LogicOptions,
    whole: bool,
    results: Path | None,
    quiet: bool,
) -> int:
    """Print the most probable world of a program as Alchemy does, or write it to a file."""
    from orbitmc.inference._best import best_of_program

    program = questions.read_program(model, tuple(evidence or ()), settings.memory, logic)
    for remark in () if quiet else program.remarks:
        say(remark)
    found = best_of_program(program, settings, 1)
    state = next(iter(found))
    lines = [
        f"{name} {int(value == 'true')}" if whole else name
        for name, value in state.items()
        if whole or value == "true"
    ]
    text = "".join(f"{line}\n" for line in lines)
    if results is not None:
        from orbitmc._util.files import write_text

        write_text(results, text)
    else:
        print(text, end="")
    return _ended(found, quiet)


def _true_atoms(found: "BestStates") -> str:
    """For each state a line with its weight, then the atoms that are true in it."""
    told = []
    for rank, state in enumerate(found, 1):
        told.append(f"# state {rank}, log weight {state.log_weight:.6g}")
        told += [name for name, value in state.items() if value == "true"]
    return "".join(f"{line}\n" for line in told)


def _ended(found: "BestStates", quiet: bool) -> int:
    """Say what to think of the answer; gives the exit code."""
    for warning in found.about.warnings:
        say(f"warning: {warning}")
    if not quiet or not found.proven:
        about = found.about
        say(f"{about.method} ({about.reason}), {about.seconds:.2g} s: {found.verdict()}")
    if found.about.interrupted:
        say("interrupted: the best states so far")
        return INTERRUPTED
    return 0
