"""`orbitmc demo`: the main job on a built-in model, with the exact answer beside it."""

from itertools import islice
from typing import TYPE_CHECKING, Annotated

from orbitmc.cli.session import options
from orbitmc.cli.session.exits import NOT_CONVERGED, say, verb
from orbitmc.cli.session.help import BUDGET
from orbitmc.cli.session.options import option

if TYPE_CHECKING:
    from orbitmc.estimate.marginals import Marginals
    from orbitmc.graph.model import Model

SAMPLES_HELP = "Samples in every chain."
SIDE, COUPLING, FIELD, FIELD_SEED, SHOWN = 12, 0.3, 0.3, 1, 12


@verb
def demo(
    samples: Annotated[
        int, option("--samples", BUDGET, SAMPLES_HELP, metavar="N", min=1, shown=True)
    ] = 2_000,
    seed: options.Seed = 1,
    debug: options.Debug = False,
) -> int:
    """Sample a built-in model, the true answer beside the estimate."""
    say(f"a {SIDE} by {SIDE} grid of spins with random fields (the first run compiles for a while)")
    from orbitmc.ask.marginals import marginals
    from orbitmc.report.words import doing, verdict

    model = demo_model()
    marginals(model, method="gibbs", samples=1, warm_up=0)  # compiles; what follows is timed
    estimate = marginals(model, method="gibbs", samples=samples, seed=seed)
    truth = marginals(model, method="exact")
    _show(estimate, truth)
    say(doing(estimate))
    say(verdict(estimate))
    say(doing(truth))
    return 0 if estimate.converged else NOT_CONVERGED


def demo_model() -> "Model":
    """A grid of spins that like to agree, each with a field of its own."""
    import numpy as np

    from orbitmc.models.ising_models import ising_grid

    fields = FIELD * np.random.default_rng(FIELD_SEED).normal(size=(SIDE, SIDE))
    return ising_grid(SIDE, SIDE, COUPLING, fields)


def _show(estimate: "Marginals", truth: "Marginals") -> None:
    from rich.console import Console

    from orbitmc.report.comparison import TITLES, compare, comparison_rows
    from orbitmc.report.tables import show

    lines = list(islice(comparison_rows(estimate, truth), SHOWN))
    show(TITLES, lines, Console(highlight=False))
    found = compare(estimate, truth)
    print(
        f"… and {found.compared - SHOWN} more. {found.covered} of {found.compared} intervals hold "
        f"the exact value ({found.covered / found.compared:.0%}; 95 % should). Errors are "
        f"{found.mean_error:.5f} on average, {found.largest_error:.5f} at most."
    )
