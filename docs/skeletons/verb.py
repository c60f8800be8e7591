"""`orbitmc agree MODEL NAME...`: the question on the command line; it parses and prints only."""

from typing import Annotated

from orbitmc.inference.agreement import agreement

from orbitmc import report
from orbitmc.cli.options import argument
from orbitmc.cli.questions import QuestionCommand, Reply, question
from orbitmc.inference import Estimates

NAMES_HELP = "Variables that may agree."


@question()
def agree(
    asking: QuestionCommand, names: Annotated[list[str], argument("NAME...", NAMES_HELP)]
) -> Reply:
    """Say how probable it is that variables have the same value."""
    answer = agreement(asking.source, names, **asking.how)
    answers = Estimates({" = ".join(names): answer}, answer.about)
    return Reply(
        answer.about,
        answer.verdict,
        answer.converged,
        table=lambda: f"{answer}\n",
        json=lambda: report.estimates_json(answers),
        csv=lambda: report.estimates_csv(answers),
    )
