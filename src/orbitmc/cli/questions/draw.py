"""`orbitmc draw`: states of a model."""

from dataclasses import replace
from functools import partial
from typing import Annotated

from orbitmc.cli.questions.asking import Asking, Reply, question
from orbitmc.cli.session.help import BUDGET
from orbitmc.cli.session.options import option
from orbitmc.errors import InputError

MOST_CHAINS = 64
STATES_HELP = "How many states to draw."
CHAINS_HELP = "In how many chains; states of one chain depend on each other."
States = Annotated[int, option("-n --states", BUDGET, STATES_HELP, metavar="N", min=1, shown=True)]
Chains = Annotated[
    int | None, option("--chains", BUDGET, CHAINS_HELP, metavar="N", min=1, shown="up to 64")
]


@question(without=("seconds", "samples", "error"), kinds=(".csv", ".npz", ".nc"))
def draw(asking: Asking, states: States = 1000, chains: Chains = None) -> Reply:
    """Draw states, independently where that is affordable."""
    each = _chains(states, chains)
    from orbitmc.inference._draws import draws
    from orbitmc.report.answer_files import WRITERS, csv_lines, json_text

    settings = replace(asking.settings, samples=states // each)
    drawn = draws(asking.source, chains=each, settings=settings, watchers=asking.watchers)
    return Reply(
        drawn.about,
        drawn.verdict,
        drawn.converged,
        table=lambda: csv_lines(drawn),
        json=lambda: json_text(drawn),
        csv=lambda: csv_lines(drawn),
        writers={kind: partial(writer, drawn) for kind, writer in WRITERS.items()},
    )


def _chains(states: int, chains: int | None) -> int:
    """How many chains give exactly so many states: as many as 64 if none are asked for."""
    if chains is None:
        return max(each for each in range(1, MOST_CHAINS + 1) if states % each == 0)
    if states % chains:
        raise InputError(f"{states} states cannot be drawn in {chains} chains of equal length")
    return chains
