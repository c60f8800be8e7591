"""Chimera 4x4x8 with couplings plus or minus one: KL against iterations and time.

The symmetries are those of the model with all couplings equal and, where there are fields, without
them. With zero field every single spin is up half of the time, so its marginal tells nothing:
there, the error is that of coupled pairs, how often they agree, counted in the recorded states. The
truth is exact in every panel; for pairs, a variable per pair that says whether it agrees is
added to the model before it is eliminated, never to one that is sampled.
"""

from collections.abc import Sequence

from figure import LANES, Asked, arguments, cost, figure_files, finish, measure, note
from pairs import pair_course, pair_truth
from samplers import gibbs, lifted_mcmc, tuned_lmh, with_jumps, with_symmetries_of

from orbitmc import Model, random_chimera
from orbitmc.compare import (
    FigureFiles,
    Kernel,
    PreparedGraph,
    Sampler,
    automorphisms,
    blocks,
    chimera_edges,
    flips,
    one_coupling,
    orbit_cells,
    prepare_sampler,
    reference_of,
    shuffle,
    without_fields,
)

CELLS, QUICK_CELLS = 4, 2
BETAS = (0.2, 0.5, 1.0)
FIELD = 0.5  # within plus or minus this times beta
INSTANCE = 1
MAX_MOVED = 50


def equal_couplings(model: Model) -> Model:
    return one_coupling(without_fields(model))


def heuristic_blocks(model: Model, prepared: PreparedGraph) -> Sequence[Kernel]:
    """Blocks of the subgroup heuristic inside the orbits of the model with equal couplings."""
    orbits = orbit_cells(automorphisms(equal_couplings(model).graph).group)
    return [shuffle(prepared, blocks(model.graph, orbits, max_moved=MAX_MOVED))]


def all_flipped(model: Model, prepared: PreparedGraph) -> Sequence[Kernel]:
    return [flips(prepared)]


def samplers_for(model: Model, seconds: float) -> list[Sampler]:
    return [
        gibbs(model),
        lifted_mcmc(model),
        with_symmetries_of("LMH, equal couplings", model, equal_couplings),
        with_jumps("LMH, blocks", model, heuristic_blocks),
        with_jumps("LMH, flip", model, all_flipped),
        tuned_lmh(model, seconds),
    ]


def with_fields(kept: FigureFiles, cells: int, beta: float, asked: Asked) -> None:
    model = random_chimera(cells, cells, beta=beta, field=FIELD, seed=INSTANCE)
    truth = reference_of(model, seconds=asked.truth_seconds)
    name = f"β = {beta:g}, fields within ±{FIELD:g}β: spins"
    measure(kept, name, samplers_for(model, asked.race_for), truth, asked)


def without_any_field(kept: FigureFiles, cells: int, beta: float, asked: Asked) -> None:
    model = random_chimera(cells, cells, beta=beta, seed=INSTANCE)
    edges = chimera_edges(cells, cells)
    truth = pair_truth(model, edges)
    name = f"β = {beta:g}, no field: coupled pairs"
    racing = [prepare_sampler(sampler) for sampler in samplers_for(model, asked.race_for)]
    for seed in asked.seeds:
        for one in racing:
            seconds = one.seconds + asked.seconds
            found = pair_course(one, edges, truth, seconds=seconds, seed=seed, lanes=LANES)
            kept.add(name, one, found, truth)
    for one in racing:
        kept.panels[name]["methods"][one.name]["nanoseconds of a step of one chain"] = cost(one)
    note(f"{name}: measured; truth: {truth.how}")


def main() -> None:
    asked = arguments(__doc__, seconds=5.0, quick_seconds=0.2)
    cells = QUICK_CELLS if asked.quick else CELLS
    kept = figure_files(asked, "chimera")
    for beta in BETAS[1:2] if asked.quick else BETAS:
        if asked.wants(f"{beta:g}"):
            without_any_field(kept, cells, beta, asked)
            with_fields(kept, cells, beta, asked)
    acceptances(kept)
    title = f"Chimera {cells}x{cells}x8 with fields: Gibbs with and without jumps"
    drawing = {"estimators": ["rao-blackwell"], "shown": lambda panel: "fields" in panel}
    finish(kept, title, asked, more={"instance": INSTANCE}, **drawing)


def acceptances(kept: FigureFiles) -> None:
    for panel, about in kept.panels.items():
        for method in about["methods"]:
            accepted = kept.acceptance(panel, method)
            if accepted is not None:
                note(f"{panel}: {method} accepts {accepted:.2%}")


if __name__ == "__main__":
    main()
