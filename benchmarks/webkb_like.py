"""How much sooner do jumps bring the marginals of a model like WebKB close to the truth?

The model mimics collective classification of linked web pages. Each of 286 pages has seven labels,
each an atom that is true or false: 2,002 binary variables. Words give every atom log-odds of its
own (spread 1), so no two atoms have the same field. A link joins every label of one page with
every label of the other by a coupling that depends on the two labels only; an atom has about 45
neighbours. Links go anywhere, or from three kinds of pages to the hubs of their kind, one in fifty
elsewhere, as in sites where everybody is linked with the same few pages. In some rows labels of one
page also exclude each other. How strong couplings are decides how often a jump is accepted, so rows
go from weak to strong, including where jumps do not pay.

Contestants are Gibbs (random scan) and Lifted Metropolis-Hastings in the paper's settings: weight
4/5 for Gibbs, and shuffles of blocks: of thirty atoms that a pilot run finds about equally
probable, or those of the paper (six clusters of weights, links of Boolean rank 5, about twenty
atoms by the subgroup heuristic). Shuffles of the labels of a page, blocks given by hand, stand
beside them. A step of a chain, Gibbs or jump, is one iteration. Every lane is a repetition: a
single chain that counts values, as in the paper, from a warmed-up start. At equal time Gibbs takes
as many more iterations as it can. The truth comes from long runs of two samplers; half of what they
disagree by is the noise.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import measuring
import numpy as np
from numpy.typing import NDArray

from orbitmc._util.arrays import Floats
from orbitmc.conditionals.prepared import PreparedGraph, prepare
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.groups._exchange_blocks import ExchangeBlocks, exchange_blocks
from orbitmc.inference.lift import cheap_blocks, over_symmetric, pilot_blocks
from orbitmc.kernels._gibbs import RandomScan, SystematicScan
from orbitmc.kernels._mixture import lifted
from orbitmc.kernels.exchange import shuffle
from orbitmc.kernels.metropolis import JUMP_OUTCOMES
from orbitmc.kernels.protocol import Kernel
from orbitmc.models._ising import add_scaled
from orbitmc.sampling.pack import start_pack, walk
from orbitmc.sampling.sampler import sample
from orbitmc.sampling.schedule import Schedule
from orbitmc.sampling.warmup import warm_up

LABELS = 7
NEIGHBOURS = 45
PAGES_AROUND = (NEIGHBOURS - LABELS + 1) / LABELS
LANES = 64  # repetitions
RECORDS = 2000  # states counted in each chain
KINDS, HUBS, SHARE_ASTRAY = 3, 24, 0.02  # of pages, where all link to the same few

Links = Callable[[int, np.random.Generator], NDArray[np.int64]]


def links_anywhere(pages: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Random links, each between two pages and in one direction."""
    count = round(pages * PAGES_AROUND / 2)
    drawn = rng.integers(0, pages, (round(count * 1.1) + 10, 2))
    links = np.unique(drawn[drawn[:, 0] != drawn[:, 1]], axis=0)
    return rng.permutation(links)[:count]


def links_to_hubs(pages: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Pages of each kind link to the same hubs, but for a few links that go to another hub."""
    hubs = min(HUBS, pages // 2)
    degree = min(hubs, round(PAGES_AROUND))
    of_kind = np.array([rng.choice(hubs, degree, replace=False) for _ in range(KINDS)])
    goals = of_kind[rng.integers(0, KINDS, pages - hubs)]
    astray = rng.random(goals.shape) < SHARE_ASTRAY
    goals[astray] = rng.integers(0, hubs, int(astray.sum()))
    sources = np.repeat(np.arange(hubs, pages), degree)
    return np.unique(np.stack([sources, goals.reshape(-1)], axis=1), axis=0)


ROWS: dict[str, tuple[Links, float, float]] = {
    "hubs .02": (links_to_hubs, 0.02, 0.0),
    "hubs .05": (links_to_hubs, 0.05, 0.0),
    "hubs .1": (links_to_hubs, 0.1, 0.0),
    "links .02": (links_anywhere, 0.02, 0.0),
    "links .05": (links_anywhere, 0.05, 0.0),
    "links .1": (links_anywhere, 0.1, 0.0),
    "links .2": (links_anywhere, 0.2, 0.0),
    "links .4": (links_anywhere, 0.4, 0.0),
    "links .05, exclusion 4": (links_anywhere, 0.05, 4.0),
    "links .05, exclusion 6": (links_anywhere, 0.05, 6.0),
    "links .05, exclusion 8": (links_anywhere, 0.05, 8.0),
}


def webkb_like(pages: int, linked: Links, coupling: float, exclusion: float) -> Model:
    """Labels of linked pages; `coupling` is the spread of link weights.

    `exclusion` is how much two labels of one page dislike each other; half as much speaks for
    every label, so that pages have about one.
    """
    rng = np.random.default_rng(pages)
    atoms = np.arange(pages * LABELS).reshape(pages, LABELS)
    builder = Builder(np.full(atoms.size, 2))
    words = rng.normal(0.0, 1.0, atoms.size) + exclusion / 2
    add_scaled(builder, atoms.reshape(-1, 1), words, np.array([0.0, 1.0]))
    weights = rng.normal(0.0, coupling, (LABELS, LABELS))
    links = linked(pages, rng)
    both = np.array([0.0, 0.0, 0.0, 1.0])
    for one in range(LABELS):
        for other in range(LABELS):
            scopes = np.stack([atoms[links[:, 0], one], atoms[links[:, 1], other]], axis=1)
            add_scaled(builder, scopes, weights[one, other], both)
    first, second = np.triu_indices(LABELS, 1)
    within = np.stack([atoms[:, first], atoms[:, second]], axis=2).reshape(-1, 2)
    add_scaled(builder, within, -exclusion, both)
    names = tuple(f"page{page}_{label}" for page in range(pages) for label in range(LABELS))
    return Model(builder.build(), names, (("false", "true"),) * atoms.size)


def pages_of(model: Model) -> ExchangeBlocks:
    """The labels of each page."""
    return exchange_blocks(np.arange(model.graph.variables).reshape(-1, LABELS))


@dataclass(frozen=True)
class Trial:
    """Single chains of one kernel: their mean error, seconds, and accepted share of jumps."""

    error: float
    seconds: float
    accepted: float | None


def trial(prepared: PreparedGraph, kernel: Kernel, truth: Floats, iterations: int) -> Trial:
    """Let every lane take so many iterations and count its values; time is the steps' alone."""
    pack = start_pack(prepared, kernel, seed=1, number=0, lanes=LANES)
    walk(prepared, kernel, pack, 0)  # compiles
    warm_up(prepared, kernel, pack, steps=max(iterations // 4, 1))
    pack.outcomes[:] = 0
    counts = np.zeros(pack.values.shape)
    seconds = 0.0
    for _ in range(RECORDS):
        begun = time.thread_time()
        walk(prepared, kernel, pack, max(iterations // RECORDS, 1))
        seconds += time.thread_time() - begun
        counts += pack.values
    errors = [divergence(truth, lane) for lane in counts.T / RECORDS]
    seen = dict(zip(kernel.outcomes, pack.outcomes.tolist(), strict=True))
    proposals, null, accepted, _ = (seen.get(name, 0) for name in JUMP_OUTCOMES)
    share = accepted / (proposals - null) if proposals > null else None
    return Trial(float(np.mean(errors)), seconds, share)


def divergence(truth: Floats, found: Floats) -> float:
    """Mean KL divergence from the truth to binary estimates kept off 0 and 1."""
    p, q = np.clip(truth, 1e-9, 1 - 1e-9), np.clip(found, 1e-4, 1 - 1e-4)
    return float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())


def truth_of(prepared: PreparedGraph, jumps: Kernel, seconds: float) -> tuple[Floats, float]:
    """Marginals of two long runs together, and half of what they disagree by."""
    long = [
        sample(prepared, kernel, Schedule(seconds=seconds), seed=99 + number)
        for number, kernel in enumerate((SystematicScan(), jumps))
    ]
    one, two = (run.statistics().probability for run in long)
    return (one + two) / 2, divergence(one, two) / 2


def measure(name: str, pages: int, iterations: int, seconds: float) -> list[list[Any]]:
    """One row for each kind of blocks."""
    model = webkb_like(pages, *ROWS[name])
    prepared = prepare(model.graph)
    base = RandomScan()
    paper = cheap_blocks(model, over_symmetric(model).graph, None, None)
    kinds = {"pilot": pilot_blocks(prepared), "the paper's": paper, "pages": pages_of(model)}
    kernels = {
        kind: lifted(base, [shuffle(prepared, exchanged)]) for kind, exchanged in kinds.items()
    }
    truth, noise = truth_of(prepared, kernels["pages"], seconds)
    gibbs = trial(prepared, base, truth, iterations)
    rows = []
    for kind, kernel in kernels.items():
        lmh = trial(prepared, kernel, truth, iterations)
        patient = trial(prepared, base, truth, round(iterations * lmh.seconds / gibbs.seconds))
        figures = [gibbs.error, lmh.error, gibbs.error / lmh.error, patient.error / lmh.error]
        size = size_of_jump(kinds[kind])
        rows.append([f"{name}; {kind}", size, lmh.accepted, noise, *figures])
    return rows


def size_of_jump(exchanged: ExchangeBlocks) -> float:
    """Mean size of the blocks that jumps choose."""
    sizes = np.diff(exchanged.start.astype(np.int64))
    return float((sizes**2).sum() / sizes.sum())


def main() -> None:
    asked = measuring.arguments(__doc__ or "")
    measuring.use_one_core()
    pages, iterations, seconds = (20, 4000, 0.2) if asked.quick else (286, 1_000_000, 10.0)
    rows = [
        row
        for name in (["links .1"] if asked.quick else ROWS)
        if not asked.only or name in asked.only
        for row in measure(name, pages, iterations, seconds)
    ]
    columns = ["model; blocks", "block", "accepted", "noise", "Gibbs KL", "LMH KL"]
    measuring.print_table(
        f"Mean KL after {iterations} iterations of single chains, and that of Gibbs over LMH's",
        [*columns, "at equal iterations", "at equal time"],
        rows,
    )
    measuring.write_results(
        asked.results, "webkb_like", {"rows": rows}, quick=asked.quick, repetitions=LANES
    )


if __name__ == "__main__":
    main()
