"""`orbitmc sweep`: a model at several inverse temperatures."""

import json as json_module
from typing import TYPE_CHECKING, Annotated

from orbitmc.cli.questions.asking import Asking, Reply, question
from orbitmc.cli.session.help import QUESTION
from orbitmc.cli.session.options import option
from orbitmc.errors import InputError

if TYPE_CHECKING:
    from orbitmc.estimate.answers import Sweep

MOST = 10_000
BETA_HELP = "Inverse temperatures: FIRST:LAST:COUNT, or numbers with commas; may be repeated."
COLUMNS = ("value", "standard_error", "low", "high", "verdict")


@question()
def sweep(
    asking: Asking,
    beta: Annotated[list[str], option("--beta", QUESTION, BETA_HELP, metavar="BETAS")],
) -> Reply:
    """Give energies and heat capacities at several temperatures."""
    from orbitmc.inference import _sweep as asked

    found = asked.sweep(
        asking.source, [one for text in beta for one in betas_in(text)], **asking.how
    )
    return Reply(
        found[-1].marginals.about,
        found[-1].verdict,
        found.converged,
        table=lambda: f"{found}\n",
        json=lambda: sweep_json(found),
        csv=lambda: sweep_csv(found),
    )


def betas_in(text: str) -> list[float]:
    """Read `FIRST:LAST:COUNT`, or a list of numbers."""
    try:
        if ":" not in text:
            return [float(word) for word in text.split(",")]
        first, last, count = text.split(":")
        if not 1 <= int(count) <= MOST:
            raise InputError(f"a sweep has 1 to {MOST:,} temperatures, not {count}")
        gap = (float(last) - float(first)) / max(int(count) - 1, 1)
        return [float(first) + gap * place for place in range(int(count))]
    except ValueError:
        raise InputError(
            f"{text!r} names no inverse temperatures: write 0.1:1:10 or 0.1,0.5,1"
        ) from None


def sweep_json(found: "Sweep") -> str:
    rungs = [
        {
            **rung.record(),
            "marginals": {
                name: dict(zip(one.values, one.probability.tolist(), strict=True))
                for name, one in rung.marginals.items()
            },
        }
        for rung in found
    ]
    return json_module.dumps({"betas": rungs}, indent=2, ensure_ascii=False) + "\n"


def sweep_csv(found: "Sweep") -> str:
    """A line for each number at each temperature."""
    from orbitmc.report.terminal import csv_text

    numbers = [
        (rung.beta, name, getattr(rung, name).record())
        for rung in found
        for name in ("energy", "heat_capacity")
    ]
    rows = [(beta, name, *(own[column] for column in COLUMNS)) for beta, name, own in numbers]
    return csv_text(("beta", "quantity", *COLUMNS), rows)
