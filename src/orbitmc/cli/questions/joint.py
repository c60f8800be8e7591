"""`orbitmc joint`: how probable the joint values of a few variables are."""

from typing import Annotated

from orbitmc.cli.questions.asking import Asking, Reply, question
from orbitmc.cli.session.options import argument

NAMES_HELP = "Variables, or ground atoms of a program."


@question()
def joint(asking: Asking, names: Annotated[list[str], argument("NAME...", NAMES_HELP)]) -> Reply:
    """Say how probable the joint values of variables are."""
    from orbitmc.inference import _joint as asked
    from orbitmc.report.terminal import joint_csv, joint_json, joint_table

    found = asked.joint(asking.source, names, **asking.how)
    return Reply(
        found.about,
        found.verdict,
        found.converged,
        table=lambda: joint_table(found),
        json=lambda: joint_json(found),
        csv=lambda: joint_csv(found),
    )
