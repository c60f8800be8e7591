"""`orbitmc ask`: how probable an event is, or what would tell most about a variable."""

from typing import TYPE_CHECKING, Annotated, Any

from orbitmc.cli.questions.asking import Asking, Reply, question
from orbitmc.cli.session import options
from orbitmc.cli.session.help import QUESTION
from orbitmc.cli.session.options import argument, option
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.estimate.answers import Estimates

EVENT_HELP = "As in \"A == 'x' and B != 'y'\", or a formula of ground atoms."
GIVEN_HELP = "What holds, as an event."
ABOUT_HELP = "Instead of EVENT: list what would tell most about a variable."
ANSWER = "probability"


@question()
def ask(
    asking: Asking,
    event: Annotated[str | None, argument("EVENT", EVENT_HELP)] = None,
    given: Annotated[str | None, option("--given", QUESTION, GIVEN_HELP, metavar="EVENT")] = None,
    about: Annotated[str | None, option("--about", QUESTION, ABOUT_HELP, metavar="NAME")] = None,
    query: options.Names = None,
) -> Reply:
    """Say how probable an event is, or what is informative."""
    _require_one(event, about, given, query)
    found = _answer(asking.source, event, given, about, query, **asking.how)
    from orbitmc.report import terminal as shown

    return Reply(
        found.about,
        ", ".join(dict.fromkeys(one.verdict for one in found.values())),
        found.converged,
        table=lambda: f"{found[ANSWER]}\n" if event else shown.estimates_table(found),
        json=lambda: shown.estimates_json(found),
        csv=lambda: shown.estimates_csv(found),
    )


def _answer(
    source: Any,
    event: str | None,
    given: str | None,
    about: str | None,
    query: list[str] | None,
    **how: Any,
) -> "Estimates":
    if event is not None:
        from orbitmc.estimate.answers import Estimates
        from orbitmc.inference._probability import probability

        found = probability(source, event, given=given, **how)
        return Estimates({ANSWER: found}, found.about)
    from orbitmc.inference._information import information

    return information(source, about or "", _names(source, query), **how)


def _names(source: Any, query: list[str] | None) -> list[str] | None:
    """Candidates of a query: variables with commas between, or atoms."""
    from orbitmc.graph.model import Model
    from orbitmc.inference.query import names_in

    if not query:
        return None
    if isinstance(source, Model):
        return names_in(query, source)
    return list(source.atoms_in(query))


def _require_one(
    event: str | None, about: str | None, given: str | None, query: list[str] | None
) -> None:
    if (event is None) == (about is None):
        raise InputError("give an event, or --about a variable")
    if about is not None and given is not None:
        raise InputError("--given belongs to an event; with --about, give evidence by -e")
    if about is None and query:
        raise InputError("-q names what may tell about a variable: it belongs to --about")
