"""Moved variables and potentials of the subgroup heuristic, for all models and several limits.

Orbits of an over-symmetric approximation are cut into blocks that move at most K potentials each.
The table says how many variables and potentials all blocks move, and how often a shuffle of a
block is accepted in states of a short Gibbs run, null shuffles aside.
"""

import csv
import io
from collections.abc import Callable, Iterator

import numpy as np
from figure import Asked, arguments, note, settings, write
from ising import field_grid
from webkb_data import learned_model, universities

from orbitmc import Model, random_chimera
from orbitmc.compare import (
    ExchangeBlocks,
    Links,
    SystematicScan,
    automorphisms,
    blocks,
    links,
    manifest_text,
    moved,
    one_coupling,
    orbit_cells,
    over_symmetric,
    prepare,
    shuffle,
    start_pack,
    walk,
    without_fields,
)

LIMITS = (10, 50, 200, 1000)  # K: potentials that a block may move
SWEEPS, JUMPS, LANES = 50, 400, 64
COLUMNS = (
    "model",
    "approximation",
    "K",
    "blocks",
    "moved variables",
    "moved potentials",
    "variables per potential",
    "acceptance",
)


def structure(model: Model) -> Model:
    return one_coupling(without_fields(model))


def models(asked: Asked) -> Iterator[tuple[str, Model, str, Callable[[Model], Model]]]:
    """A name, a model, and the approximation whose orbits are cut."""
    folds, remark = universities(asked.data, quick=asked.quick)
    cache = asked.cache
    for name in list(folds)[: 1 if asked.quick else None]:
        model = learned_model(folds, name, cache)
        title = f"WebKB {name}" if "SYNTHETIC" not in remark else name
        yield title, model, "rank 5, 6 weights", over_symmetric
    side, cells = (12, 2) if asked.quick else (100, 4)
    for coupling, field in ((0.2, 0.2), (0.4, 0.05)):
        name = f"Ising {side}x{side}, J = {coupling:g}, h = {field:g}"
        yield name, field_grid(side, coupling, field), "no fields", without_fields
    for beta in (0.2, 1.0):
        chip = random_chimera(cells, cells, beta=beta, field=0.5, seed=1)
        yield f"Chimera {cells}x{cells}x8, β = {beta:g}, fields", chip, "one coupling", structure


def acceptance(model: Model, exchanged: ExchangeBlocks) -> float | None:
    """The share of shuffles that would change something and are accepted."""
    prepared = prepare(model.graph)
    scan = SystematicScan()
    visited = start_pack(prepared, scan, seed=1, number=0, lanes=LANES)
    walk(prepared, scan, visited, SWEEPS * model.graph.variables)
    kernel = shuffle(prepared, exchanged)
    pack = start_pack(prepared, kernel, seed=1, number=1, lanes=LANES)
    pack.values[...] = visited.values
    walk(prepared, kernel, pack, JUMPS)
    seen = dict(zip(kernel.outcomes, pack.outcomes.tolist(), strict=True))
    real = seen["proposals"] - seen["null proposals"]
    return seen["accepted"] / real if real else None


def line(
    name: str, model: Model, known: Links, title: str, orbits: np.ndarray, limit: int
) -> list[object]:
    found = blocks(model.graph, orbits, max_moved=limit, connections=known)
    rows = (found.rows(block) for block in range(found.blocks))
    factors = sum(len(moved(model.graph, row, connections=known)) for row in rows)
    variables = len(found.member)
    ratio = f"{variables / factors:.3f}" if factors else ""
    accepted = acceptance(model, found) if found.blocks else None
    said = "" if accepted is None else f"{accepted:.3f}"
    return [name, title, limit, found.blocks, variables, factors, ratio, said]


def main() -> None:
    asked = arguments(__doc__, seconds=1.0, quick_seconds=1.0)
    lines: list[list[object]] = []
    for name, model, title, approximate in models(asked):
        orbits = orbit_cells(automorphisms(approximate(model).graph).group)
        known = links(model.graph)
        lines += [line(name, model, known, title, orbits, limit) for limit in LIMITS]
        note(f"{name}: {lines[-1][3:]}")
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([COLUMNS, *lines])
    write(asked.out / "blocks_table.csv", written.getvalue())
    write(asked.out / "blocks_table.json", manifest_text(settings=settings(asked)))
    print(markdown([COLUMNS, *lines]))


def markdown(rows: list[list[object]]) -> str:
    """A table for the documentation."""
    texts = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([texts[0], "|" + "---|" * len(rows[0]), *texts[1:]])


if __name__ == "__main__":
    main()
