"""Ising 100x100: a ferromagnet with a field of its own at every spin; KL against time.

Neither coupling nor fields are known from the paper, so this goes over a grid of both: couplings
from disordered to ordered (critical is 0.4407), fields uniform within plus or minus h. The
symmetries are those of the lattice without fields: eight rotations and reflections. Every fifth
sweep is a jump: a symmetry of the whole lattice moves as many spins as a sweep does. Beside it: the
flip of all spins, clusters, and raced jumps. The truth comes from two
samplers that agree; where coupling from the past is quick, its samples must agree with them too.
"""

import csv
import io
from collections.abc import Callable

import numpy as np
from coupling_from_the_past import perfect_marginals, perfect_samples
from figure import Asked, arguments, figure_files, finish, measure, note, write
from samplers import gibbs, tuned_lmh

from orbitmc import LimitError, Model, ising_grid
from orbitmc.compare import (
    Kernel,
    PlannedKernel,
    PreparedGraph,
    RandomScan,
    Reference,
    Sampler,
    SystematicScan,
    alternation,
    automorphisms,
    clusters,
    endings,
    flips,
    lifted,
    orbital_kernels,
    reference_of,
    without_fields,
)

SIDE, QUICK_SIDE = 100, 12
SHOWN = ((0.2, 0.2), (0.4407, 0.05), (0.5, 0.005))  # coupling, field: the figure's panels
COUPLINGS = (0.1, 0.2, 0.3, 0.4, 0.5)
FIELDS = (0.05, 0.2, 0.5, 1.0)
SWEEPS = 4  # before each jump of the whole lattice
PERFECT = 256  # samples by coupling from the past, where that is quick
COLD = 0.35
CRITICAL = 0.43  # from about here on single updates are too slow for the truth

Make = Callable[[Model, PreparedGraph], Kernel]


def field_grid(side: int, coupling: float, field: float) -> Model:
    fields = np.random.default_rng(side).uniform(-field, field, (side, side))
    return ising_grid(side, side, coupling, fields)


def now_and_then(name: str, model: Model, jump: Make, period: int) -> Sampler:
    """Gibbs with a jump after so many single updates."""

    def make(asked: Model, prepared: PreparedGraph) -> PlannedKernel:
        kernel = alternation(RandomScan(), jump(asked, prepared), period=period)
        return PlannedKernel(kernel, f"a jump after every {period} updates")

    return Sampler(name, model, make)


def lattice_symmetries(model: Model, prepared: PreparedGraph) -> Kernel:
    """Rotations and reflections, found on the lattice without fields."""
    found = automorphisms(without_fields(model).graph)
    assert found.order == 8
    (kernel,) = orbital_kernels(prepared, found.group)
    return kernel


def flipped(model: Model, prepared: PreparedGraph) -> Kernel:
    return flips(prepared)


def clustered(model: Model, prepared: PreparedGraph) -> Kernel:
    return clusters(prepared)


def samplers_for(model: Model, seconds: float) -> list[Sampler]:
    lattice = SWEEPS * model.graph.variables
    return [
        gibbs(model),
        now_and_then("LMH, lattice symmetries", model, lattice_symmetries, lattice),
        now_and_then("LMH, flip", model, flipped, lattice),
        now_and_then("clusters", model, clustered, lattice),
        tuned_lmh(model, seconds),
    ]


def seldom_clusters(name: str, model: Model, period: int) -> Sampler:
    """Gibbs in fixed order, with a cluster update at random, once in so many steps."""

    def make(asked: Model, prepared: PreparedGraph) -> PlannedKernel:
        jumps = [clusters(prepared)]
        return PlannedKernel(lifted(SystematicScan(), jumps, alpha=1 - 1 / period), "")

    return Sampler(name, model, make)


def truth_for(model: Model, coupling: float, asked: Asked) -> Reference:
    """Two samplers that cross between all-up and all-down in different ways.

    Near and below the critical temperature single updates need thousands of sweeps, so both use
    clusters there, seldom and often.
    """
    spins = model.graph.variables
    pair = [
        now_and_then("Gibbs with flips", model, flipped, SWEEPS * spins),
        seldom_clusters("Gibbs with clusters", model, SWEEPS * spins),
    ]
    if coupling >= CRITICAL:
        pair[0] = now_and_then("Gibbs with many clusters", model, clustered, spins)
    truth = reference_of(model, seconds=asked.truth_seconds, seed=1000, samplers=pair)
    if coupling <= COLD and truth.how != "exact":
        perfect = perfect_marginals(perfect_samples(model.graph, PERFECT, seed=1))
        up = truth.probability[1::2]
        score = (perfect.probability - up) / np.sqrt(up * (1 - up) / PERFECT)
        mean = float((score**2).mean())
        note(f"coupling from the past: mean squared score {mean:.3f} (1 when right)")
        return Reference(truth.probability, truth.floor, f"{truth.how}; perfect samples {mean:.3f}")
    return truth


def name_of(coupling: float, field: float) -> str:
    return f"J = {coupling:g}, h = {field:g}"


def figure(asked: Asked, side: int) -> None:
    kept = figure_files(asked, "ising")
    for coupling, field in SHOWN[: 1 if asked.quick else None]:
        name = name_of(coupling, field)
        model = field_grid(side, coupling, field)
        try:
            truth = truth_for(model, coupling, asked)
        except LimitError as error:
            note(f"{name}: left out; {error}")
            continue
        measure(kept, name, samplers_for(model, asked.race_for), truth, asked)
        title = f"Ising {side}x{side}: Gibbs with and without jumps"
        finish(kept, title, asked, more={"side": side}, estimators=["rao-blackwell"])


def table(asked: Asked, side: int) -> None:
    """The whole grid: who is how far off at the end, and how often jumps are accepted."""
    kept = figure_files(asked, "ising_grid")
    columns = ["J", "h", "method", "seconds", "kl", "kl_low", "kl_high", "kl_floor", "acceptance"]
    lines: list[list[object]] = []
    for coupling in COUPLINGS[: 1 if asked.quick else None]:
        for field in FIELDS[: 1 if asked.quick else None]:
            name = name_of(coupling, field)
            model = field_grid(side, coupling, field)
            try:
                truth = truth_for(model, coupling, asked)
            except LimitError as error:
                note(f"{name}: left out; {error}")
                lines.append([coupling, field, "none: the truth is not known"])
                continue
            samplers = samplers_for(model, asked.race_for)[:4]
            measure(kept, name, samplers, truth, asked, estimators=["rao-blackwell"])
            for end in endings([row for row in kept.rows if row.panel == name]):
                numbers = [end.seconds, end.kl, end.kl_low, end.kl_high, end.kl_floor]
                accepted = kept.acceptance(name, end.method)
                lines.append([coupling, field, end.method, *numbers, accepted])
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerows([columns, *lines])
            write(kept.path("-table.csv"), written.getvalue())
    finish(kept, f"Ising {side}x{side}, the grid", asked, more={"side": side})


def main() -> None:
    asked = arguments(__doc__, seconds=10.0, quick_seconds=0.2)
    side = QUICK_SIDE if asked.quick else SIDE
    if asked.wants("figure"):
        figure(asked, side)
    if asked.wants("grid"):
        table(asked, side)


if __name__ == "__main__":
    main()
