"""`orbitmc demo`: a model on which Gibbs fails and Lifted Metropolis-Hastings does not."""

from typing import TYPE_CHECKING, Annotated

from orbitmc.cli.session import options
from orbitmc.cli.session.exits import say, verb
from orbitmc.cli.session.help import BUDGET
from orbitmc.cli.session.options import option

if TYPE_CHECKING:
    from orbitmc._util.arrays import Floats
    from orbitmc.conditionals.prepared import PreparedGraph
    from orbitmc.graph.model import Model
    from orbitmc.kernels.protocol import Kernel
    from orbitmc.sampling.run import Run

SAMPLES_HELP = "Samples in every chain."
SIDE, COUPLING, FIELD, TILT, FIELD_SEED = 12, 0.7, 0.02, 0.004, 1
SWEEPS = 4  # between two samples
SHOWN = ("s0_0", "s5_5", "s11_11")
GIBBS, LMH = "Gibbs", "LMH"
NEVER = 2**62  # steps: Gibbs is the chain that never jumps, so one compiled step serves both


@verb
def demo(
    samples: Annotated[
        int, option("--samples", BUDGET, SAMPLES_HELP, metavar="N", min=1, shown=True)
    ] = 2_000,
    seed: options.Seed = 1,
    debug: options.Debug = False,
) -> int:
    """Show where Gibbs fails and LMH does not."""
    say("the first run compiles for a while")
    from orbitmc.conditionals.prepared import prepare
    from orbitmc.inference._marginals import marginals

    model = demo_model()
    truth = marginals(model, method="exact").columns.probability[1::2]
    prepared = prepare(model.graph)
    periods = {GIBBS: NEVER, LMH: SIDE * SIDE}
    runs = {name: _run(prepared, period, samples, seed) for name, period in periods.items()}
    _show(model, truth, runs)
    for name, run in runs.items():
        say(
            f"{name}: {run.seconds:.2g} s, {run.updates / run.seconds / 1e6:,.0f} million updates/s"
        )
    return 0


def demo_model() -> "Model":
    """A cold lattice: spins that like to agree, each with a weak field of its own."""
    import numpy as np

    from orbitmc.models._ising import ising_grid

    own = np.random.default_rng(FIELD_SEED).normal(size=(SIDE, SIDE))
    return ising_grid(SIDE, SIDE, COUPLING, FIELD * (own - own.mean()) + TILT)


def _kernel(prepared: "PreparedGraph", period: int) -> "Kernel":
    """Gibbs, and a proposal to turn all spins over after every `period` of its steps."""
    from orbitmc.kernels._alternation import alternation
    from orbitmc.kernels._flips import flips
    from orbitmc.kernels._gibbs import SystematicScan

    return alternation(SystematicScan(), flips(prepared), period=period)


def _run(prepared: "PreparedGraph", period: int, samples: int, seed: int) -> "Run":
    from orbitmc.sampling.sampler import sample
    from orbitmc.sampling.schedule import Schedule

    schedule = Schedule(samples=samples, warm_up=5, snapshots=True)
    return sample(prepared, _kernel(prepared, period), schedule, seed=seed)


def _show(model: "Model", truth: "Floats", runs: "dict[str, Run]") -> None:
    """Errors over time, some marginals beside the exact ones, and what happened."""
    from orbitmc.estimate.formatting import plain_table, r_hat_in_words
    from orbitmc.report.terminal import text_chart

    print(f"{SIDE * SIDE} spins on a cold lattice, each with a weak field of its own\n")
    print("mean error of all marginals: g is Gibbs, L is LMH, which is Gibbs with jumps")
    curves = {letter: _errors(runs[name], truth) for letter, name in (("g", GIBBS), ("L", LMH))}
    print("\n".join(text_chart(curves)), "sweeps\n")
    rows = [
        (
            f"P({name} = up)",
            f"{truth[place]:.4f}",
            *(f"{run.snapshots[-1].probability[place]:.4f}" for run in runs.values()),
        )
        for name in SHOWN
        for place in [model.index[name]]
    ]
    r_hats = [r_hat_in_words(float(run.statistics().r_hat.max())) for run in runs.values()]
    rows.append(("worst R-hat", "", *r_hats))
    print(plain_table(("", "exact", *runs), rows, to_the_left=("",)))
    print(_sentence(runs[LMH]))


def _errors(run: "Run", truth: "Floats") -> list[tuple[float, float]]:
    """Sweeps of each chain, and the mean distance of all marginals from the exact ones."""
    import numpy as np

    return [
        (SWEEPS * seen.samples, float(np.abs(seen.probability - truth).mean()))
        for seen in run.snapshots
    ]


def _sentence(run: "Run") -> str:
    found = run.outcomes
    share = found["accepted"] / max(found["proposals"], 1)
    return (
        "\nGibbs turns one spin at a time, so every chain stays on the side, up or down, where\n"
        "it began. LMH also proposes to turn all spins at once: nearly a symmetry of this model,\n"
        f"which accepts {share:.0%} of these jumps, so its chains visit both sides as they should."
    )
