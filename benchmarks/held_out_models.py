"""Models that nobody looked at while the race was given its settings.

Classes of `varied_models` with sizes, strengths and seeds drawn at random, and kinds that are not
among them. The draws are the same in every run; each model is small enough for exact marginals.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product

import numpy as np
from varied_models import (
    Builds,
    assignment,
    binary,
    colouring,
    machine,
    named,
    random_tables,
    smokers,
    uai,
    webkb_like_ring,
)

from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.models._chimera import random_chimera
from orbitmc.models._ising import grid_edges, ising, ising_grid, potts_grid

SEED = 20_261_116
UAI = ("Grids_12", "Grids_17", "Segmentation_13", "Promedus_13", "DBN_13")

Rng = np.random.Generator
Drawn = tuple[str, Callable[[], Model | None]]


def held_out_models() -> Builds:
    """How to build each model, by its class and its name."""
    rng = np.random.default_rng(SEED)
    found: Builds = {}
    for kind, draw, count in _classes():
        for number in range(count):
            name, build = draw(rng)
            found[kind, f"{name} ({number + 1})"] = build
    return found | {("UAI", name): lambda name=name: uai(name) for name in UAI}


def _classes() -> Iterator[tuple[str, Callable[[Rng], Drawn], int]]:
    yield "ordered Ising", _ordered, 3
    yield "antiferromagnet", _antiferromagnet, 2
    yield "one-hot", _one_hot, 3
    yield "matching", _matching, 2
    yield "Potts labels", _potts, 2
    yield "K44 glass", _k44, 2
    yield "Chimera glass", _chimera, 2
    yield "grid glass", _glass, 2
    yield "other Ising", _strong_fields, 2
    yield "random", _random, 4
    yield "smokers", _smokers, 2
    yield "colouring", _colouring, 2
    yield "RBM-like", _machine, 2
    yield "small world", _small_world, 2
    yield "hard core", _hard_core, 2
    yield "mixed arities", _mixed, 2
    yield "noisy-or", _noisy_or, 2
    yield "ranking", _ranking, 2
    yield "all with all", _dense, 1
    yield "chain", _chain, 1


def _grid(rng: Rng, coupling: float, spread: float) -> tuple[str, Model]:
    height, width = rng.integers(4, 11), rng.integers(4, 11)
    fields = rng.normal(0.0, spread, (height, width))
    name = f"{height}x{width} J {coupling:.2f}, fields {spread:.2f}"
    return name, ising_grid(int(height), int(width), coupling, fields)


def _ready(name: str, model: Model) -> Drawn:
    return name, lambda: model


def _ordered(rng: Rng) -> Drawn:
    return _ready(*_grid(rng, rng.uniform(0.45, 0.8), rng.uniform(0.01, 0.1)))


def _antiferromagnet(rng: Rng) -> Drawn:
    return _ready(*_grid(rng, -rng.uniform(0.45, 0.8), rng.uniform(0.01, 0.1)))


def _strong_fields(rng: Rng) -> Drawn:
    return _ready(*_grid(rng, rng.uniform(-0.7, 0.7), rng.uniform(0.5, 1.5)))


def _one_hot(rng: Rng) -> Drawn:
    pages, labels = int(rng.integers(6, 14)), int(rng.integers(3, 6))
    links, exclusion = rng.uniform(0.1, 0.5), rng.uniform(7.0, 15.0)
    name = f"{pages} pages, {labels} labels, exclusion {exclusion:.1f}"
    return _ready(name, webkb_like_ring(pages, links, exclusion, labels))


def _matching(rng: Rng) -> Drawn:
    size, weight = int(rng.integers(3, 6)), rng.uniform(4.0, 9.0)
    return _ready(f"{size} with {size}, weight {weight:.1f}", assignment(size, weight, -2 * weight))


def _potts(rng: Rng) -> Drawn:
    side, labels, coupling = int(rng.integers(4, 7)), int(rng.integers(3, 5)), rng.uniform(1.0, 1.8)
    fields = rng.normal(0.0, 0.05, (side, side, labels))
    name = f"{side}x{side}, {labels} labels J {coupling:.2f}"
    return _ready(name, potts_grid(side, side, labels, coupling, fields))


def _k44(rng: Rng) -> Drawn:
    beta, seed = rng.uniform(0.5, 1.5), int(rng.integers(1000))
    return _ready(f"beta {beta:.2f}", random_chimera(1, 1, beta=beta, field=0.1, seed=seed))


def _chimera(rng: Rng) -> Drawn:
    beta, wide, seed = rng.uniform(0.5, 1.3), int(rng.integers(2, 4)), int(rng.integers(1000))
    model = random_chimera(2, wide, beta=beta, field=0.05, seed=seed)
    return _ready(f"2x{wide} cells, beta {beta:.2f}", model)


def _glass(rng: Rng) -> Drawn:
    side, strength, spread = int(rng.integers(6, 10)), rng.uniform(0.5, 1.5), rng.uniform(0.1, 0.6)
    edges = grid_edges(side, side)
    couplings = strength * rng.choice([-1.0, 1.0], len(edges))
    model = ising(rng.normal(0.0, spread, side * side), edges, couplings)
    return _ready(f"{side}x{side} J {strength:.2f}, fields {spread:.2f}", model)


def _random(rng: Rng) -> Drawn:
    arity, spread, seed = int(rng.integers(2, 5)), rng.uniform(0.3, 1.8), int(rng.integers(1000))
    model = random_tables(26, arity, 52 // arity, spread, seed=seed, values=(2, 4))
    return _ready(f"tables of {arity}, spread {spread:.2f}", model)


def _smokers(rng: Rng) -> Drawn:
    people, influence = int(rng.integers(8, 26)), rng.uniform(0.5, 2.0)
    friendships = rng.uniform(2.0, 4.0)
    return _ready(
        f"{people} people, influence {influence:.2f}", smokers(people, friendships, influence)
    )


def _colouring(rng: Rng) -> Drawn:
    sites, colours, dislike = int(rng.integers(12, 22)), int(rng.integers(3, 5)), rng.uniform(1, 5)
    model = colouring(sites, int(1.4 * sites), colours, dislike)
    return _ready(f"{sites} sites, {colours} colours, dislike {dislike:.1f}", model)


def _machine(rng: Rng) -> Drawn:
    hidden, visible = int(rng.integers(5, 12)), int(rng.integers(12, 40))
    strength = rng.uniform(0.3, 2.0)
    name = f"{hidden} hidden, {visible} visible, strength {strength:.2f}"
    return _ready(name, machine(hidden, visible, strength))


def _small_world(rng: Rng) -> Drawn:
    """A ring of spins with neighbours of neighbours, and a few shortcuts."""
    spins, coupling, spread = int(rng.integers(30, 50)), rng.uniform(0.2, 0.6), rng.uniform(0, 0.3)
    ring = [(k, (k + step) % spins) for k in range(spins) for step in (1, 2)]
    cuts = [tuple(sorted(rng.choice(spins, 2, replace=False).tolist())) for _ in range(8)]
    edges = sorted({(min(pair), max(pair)) for pair in (*ring, *cuts)})
    model = ising(rng.normal(0.0, spread, spins), edges, np.full(len(edges), coupling))
    return _ready(f"{spins} spins, J {coupling:.2f}, fields {spread:.2f}", model)


def _hard_core(rng: Rng) -> Drawn:
    """Particles on a grid that never sit next to each other."""
    side, fugacity = int(rng.integers(5, 9)), rng.uniform(-1.0, 1.8)
    builder = Builder(np.full(side * side, 2))
    for site in range(side * side):
        builder.add_factor([site], [0.0, fugacity + rng.normal(0.0, 0.1)])
    never = builder.add_table([0.0, 0.0, 0.0, -np.inf])
    builder.add_factors([list(edge) for edge in grid_edges(side, side)], never)
    return _ready(f"{side}x{side}, log-fugacity {fugacity:.2f}", binary(builder))


def _mixed(rng: Rng) -> Drawn:
    """Tables over two, three and four variables of three values."""
    spread, sizes = rng.uniform(0.5, 1.5), np.full(18, 3)
    builder = Builder(sizes)
    for arity, factors in ((2, 10), (3, 5), (4, 3)):
        for _ in range(factors):
            scope = rng.choice(len(sizes), arity, replace=False)
            builder.add_factor(scope.tolist(), rng.normal(0.0, spread, sizes[scope]))
    return _ready(f"18 variables, spread {spread:.2f}", named(builder, sizes))


def _noisy_or(rng: Rng) -> Drawn:
    """Rare causes, each of which may bring about effects that were seen or not."""
    causes, effects, prior = int(rng.integers(12, 20)), 12, rng.uniform(0.05, 0.3)
    builder = Builder(np.full(causes, 2))
    for cause in range(causes):
        builder.add_factor([cause], np.log([1.0 - prior, prior]))
    for _ in range(effects):
        scope = rng.choice(causes, int(rng.integers(2, 5)), replace=False)
        states = np.array(list(product((0, 1), repeat=len(scope))))
        missed = 0.99 * (1.0 - rng.uniform(0.3, 0.95, len(scope))) ** states
        silent = missed.prod(axis=1)
        seen = rng.random() < 0.5
        builder.add_factor(scope.tolist(), np.log(1.0 - silent if seen else silent))
    return _ready(f"{causes} causes, prior {prior:.2f}", binary(builder))


def _ranking(rng: Rng) -> Drawn:
    """Every item takes a place and every place an item, or nearly so; some come before others."""
    size, strictness = int(rng.integers(3, 5)), rng.uniform(4.0, 8.0)
    atoms = np.arange(size * size).reshape(size, size)
    builder = Builder(np.full(size * size, 2))
    for atom in range(size * size):
        builder.add_factor([atom], [0.0, strictness / 2 + rng.normal(0.0, 0.3)])
    for line in (*atoms, *atoms.T):
        for pair in combinations(line.tolist(), 2):
            builder.add_factor(list(pair), [0.0, 0.0, 0.0, -strictness])
    for first, second in combinations(range(size), 2):
        liking = rng.normal(0.0, 0.5)
        for early, late in combinations(range(size), 2):
            builder.add_factor([atoms[first, early], atoms[second, late]], [0.0, 0.0, 0.0, liking])
    return _ready(f"{size} items, strictness {strictness:.1f}", binary(builder))


def _dense(rng: Rng) -> Drawn:
    """Every spin coupled with every other one, a little."""
    spins, coupling = 18, rng.uniform(0.05, 0.15)
    edges = list(combinations(range(spins), 2))
    model = ising(rng.normal(0.0, 0.05, spins), edges, np.full(len(edges), coupling))
    return _ready(f"{spins} spins, J {coupling:.2f}", model)


def _chain(rng: Rng) -> Drawn:
    """A sticky walk through five values, seen through noise."""
    length, stickiness = int(rng.integers(20, 50)), rng.uniform(2.0, 4.0)
    builder = Builder(np.full(length, 5))
    for place in range(length):
        builder.add_factor([place], rng.normal(0.0, 0.7, 5))
    step = builder.add_table(stickiness * np.eye(5).reshape(-1))
    builder.add_factors([[k, k + 1] for k in range(length - 1)], step)
    name = f"{length} places, stickiness {stickiness:.1f}"
    return _ready(name, named(builder, np.full(length, 5)))
