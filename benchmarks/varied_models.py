"""Models of many kinds, on most of which plain Gibbs does well and on some of which it is lost.

Every model is the same in every run, and small enough for exact marginals.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path

import numpy as np
from workloads import DATA

from orbitmc.formats.evidence import read_evidence
from orbitmc.formats.registry import read
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.mln.grounding.ground_model import model_of
from orbitmc.mln.grounding.grounding import ground
from orbitmc.models._chimera import random_chimera
from orbitmc.models._friends import friends
from orbitmc.models._ising import add_scaled, grid_edges, ising, ising_grid, potts_grid

MODES = (
    "ordered Ising",
    "antiferromagnet",
    "one-hot",
    "matching",
    "Potts labels",
    "K44 glass",
    "Chimera glass",
)
"""Classes whose modes are nearly images of each other."""

UAI = ("Grids_11", "Grids_15", "Segmentation_11", "Promedus_11", "ObjectDetection_11", "DBN_11")


Builds = dict[tuple[str, str], Callable[[], Model | None]]


def varied_models() -> Builds:
    """How to build each model, by its class and its name."""
    found: Builds = {}
    for kind, models in _classes().items():
        found |= {(kind, name): build for name, build in models.items()}
    return found


def _classes() -> Mapping[str, Mapping[str, Callable[[], Model | None]]]:
    return {
        "ordered Ising": {
            "3x3 J .8, fields .2": lambda: _grid(3, 0.8, 0.2),
            "8x8 J .6, fields .05": lambda: _grid(8, 0.6, 0.05),
            "10x10 J .5, fields .02": lambda: _grid(10, 0.5, 0.02),
        },
        "antiferromagnet": {
            "4x4 J -.8, fields .2": lambda: _grid(4, -0.8, 0.2),
            "8x8 J -.55, fields .1": lambda: _grid(8, -0.55, 0.1),
        },
        "one-hot": {
            "9 pages, exclusion 8": lambda: webkb_like_ring(9, 0.2, 8.0),
            "12 pages, exclusion 10": lambda: webkb_like_ring(12, 0.4, 10.0),
            "9 pages, exclusion 12": lambda: webkb_like_ring(9, 0.2, 12.0),
            "12 pages, exclusion 14": lambda: webkb_like_ring(12, 0.4, 14.0),
        },
        "matching": {
            "5 with 5, weight 6": lambda: assignment(5, 6.0, -12.0),
            "5 with 5, hard": lambda: assignment(5, 5.0, -np.inf),
            "4 with 4, weight 8": lambda: assignment(4, 8.0, -16.0),
        },
        "Potts labels": {
            "6x6, 3 labels J 1.4": lambda: _potts(6, 3, 1.4, 0.05),
            "5x5, 4 labels J 1.6": lambda: _potts(5, 4, 1.6, 0.05),
        },
        "K44 glass": {
            f"beta {beta}": lambda beta=beta: random_chimera(1, 1, beta=beta, field=0.2, seed=5)
            for beta in (0.3, 0.8, 1.2)
        },
        "Chimera glass": {
            "2x2 cells, beta .5": lambda: random_chimera(2, 2, beta=0.5, field=0.05, seed=7),
            "2x2 cells, beta 1": lambda: random_chimera(2, 2, beta=1.0, field=0.05, seed=7),
            "4x4 cells, beta .7": lambda: random_chimera(4, 4, beta=0.7, field=0.05, seed=7),
        },
        "rugged glass": {
            "3x3 cells, beta 2": lambda: random_chimera(3, 3, beta=2.0, field=0.5, seed=9),
            "8x8 grid, J 1.5": lambda: _glass_grid(8, 1.5, 0.3),
        },
        "glass, stronger fields": {
            "10x10 grid, fields .3": lambda: _glass_grid(10, 0.8, 0.3),
        },
        "Chimera, strong fields": {
            "2x2 cells, beta 1": lambda: random_chimera(2, 2, beta=1.0, field=1.0, seed=8),
            "4x4 cells, beta .5": lambda: random_chimera(4, 4, beta=0.5, field=1.0, seed=8),
        },
        "other Ising": {
            "8x8 J .2, fields .5": lambda: _grid(8, 0.2, 0.5),
            "10x10 J .44, fields .5": lambda: _grid(10, 0.44, 0.5),
            "8x8 J .7, fields 1": lambda: _grid(8, 0.7, 1.0),
            "10x10 J .44, field .1 up": lambda: ising_grid(10, 10, 0.44, 0.1),
            "8x8 J -.5, fields 1": lambda: _grid(8, -0.5, 1.0),
        },
        "random": {
            "pairs, weak": lambda: random_tables(30, 2, 45, 0.5, seed=1),
            "pairs, strong": lambda: random_tables(30, 2, 45, 1.5, seed=2),
            "pairs of 2 to 4 values": lambda: random_tables(25, 2, 35, 0.8, seed=3, values=(2, 5)),
            "triples, weak": lambda: random_tables(30, 3, 30, 0.5, seed=4),
            "triples, strong": lambda: random_tables(30, 3, 30, 1.5, seed=5),
            "fours": lambda: random_tables(24, 4, 18, 1.0, seed=6),
        },
        "WebKB-like": {
            "10 pages, links .1": lambda: webkb_like_ring(10, 0.1, 0.0),
            "10 pages, links .4": lambda: webkb_like_ring(10, 0.4, 0.0),
            "10 pages, exclusion 4": lambda: webkb_like_ring(10, 0.1, 4.0),
        },
        "smokers": {
            "12 people": lambda: smokers(12, 3.0, 1.1),
            "20 people, strong": lambda: smokers(20, 3.0, 2.0),
            "5 people, open": lambda: smokers(5, 0.0, 1.1, open_world=True),
        },
        "colouring": {
            "20 sites, 3 colours": lambda: colouring(20, 28, 3, 2.0),
            "16 sites, 4 colours": lambda: colouring(16, 26, 4, 4.0),
        },
        "RBM-like": {
            "10 hidden, weak": lambda: machine(10, 14, 0.3),
            "10 hidden, strong": lambda: machine(10, 14, 1.0),
        },
        "UAI": {name: lambda name=name: uai(name) for name in UAI},
    }


def _grid(side: int, coupling: float, spread: float) -> Model:
    fields = np.random.default_rng(side).normal(0.0, spread, (side, side))
    return ising_grid(side, side, coupling, fields)


def _glass_grid(side: int, strength: float, spread: float) -> Model:
    rng = np.random.default_rng(side)
    edges = grid_edges(side, side)
    couplings = rng.choice([-strength, strength], len(edges))
    return ising(rng.normal(0.0, spread, side * side), edges, couplings)


def _potts(side: int, labels: int, coupling: float, spread: float) -> Model:
    fields = np.random.default_rng(side).normal(0.0, spread, (side, side, labels))
    return potts_grid(side, side, labels, coupling, fields)


def webkb_like_ring(pages: int, coupling: float, exclusion: float, labels: int = 4) -> Model:
    """Pages in a ring, each with labels that may exclude each other; links join all labels."""
    rng = np.random.default_rng(pages)
    atoms = np.arange(pages * labels).reshape(pages, labels)
    builder = Builder(np.full(atoms.size, 2))
    words = rng.normal(0.0, 0.5, atoms.size) + exclusion / 2
    add_scaled(builder, atoms.reshape(-1, 1), words, np.array([0.0, 1.0]))
    both = np.array([0.0, 0.0, 0.0, 1.0])
    weights = rng.normal(0.0, coupling, (labels, labels))
    for one in range(labels):
        for other in range(labels):
            scopes = np.stack([atoms[:, one], np.roll(atoms, 1, axis=0)[:, other]], axis=1)
            add_scaled(builder, scopes, weights[one, other], both)
    first, second = np.triu_indices(labels, 1)
    within = np.stack([atoms[:, first], atoms[:, second]], axis=2).reshape(-1, 2)
    add_scaled(builder, within, -exclusion, both)
    return binary(builder)


def assignment(size: int, weight: float, exclusion: float) -> Model:
    """Pairs that are made or not; nobody likes to be in two of them."""
    rng = np.random.default_rng(size)
    pairs = np.arange(size * size).reshape(size, size)
    builder = Builder(np.full(size * size, 2))
    for pair in pairs.reshape(-1):
        builder.add_factor([pair], [0.0, weight + rng.normal(0.0, 0.3)])
    both = builder.add_table([0.0, 0.0, 0.0, exclusion])
    rivals = [two for line in (*pairs, *pairs.T) for two in combinations(line, 2)]
    builder.add_factors(rivals, both)
    return binary(builder)


def random_tables(
    variables: int,
    arity: int,
    factors: int,
    spread: float,
    *,
    seed: int,
    values: tuple[int, int] = (2, 3),
) -> Model:
    """Random tables over random sets of variables."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(*values, variables)
    builder = Builder(sizes)
    for _ in range(factors):
        scope = rng.choice(variables, arity, replace=False)
        builder.add_factor(scope.tolist(), rng.normal(0.0, spread, sizes[scope]))
    return named(builder, sizes)


def colouring(sites: int, edges: int, colours: int, dislike: float) -> Model:
    """Neighbours dislike to have the same colour; sites have slight preferences."""
    rng = np.random.default_rng(sites)
    builder = Builder(np.full(sites, colours))
    for site in range(sites):
        builder.add_factor([site], rng.normal(0.0, 0.1, colours))
    pairs = np.array(list(combinations(range(sites), 2)))
    chosen = pairs[rng.choice(len(pairs), edges, replace=False)]
    add_scaled(builder, chosen, -dislike, np.eye(colours).reshape(-1))
    return named(builder, np.full(sites, colours))


def machine(hidden: int, visible: int, strength: float) -> Model:
    """Two layers, all between them coupled at random."""
    rng = np.random.default_rng(hidden)
    edges = [(one, hidden + other) for one in range(hidden) for other in range(visible)]
    couplings = rng.normal(0.0, strength / np.sqrt(hidden), len(edges))
    return ising(rng.normal(0.0, 0.2, hidden + visible), edges, couplings)


def uai(name: str) -> Model | None:
    """A model of the UAI competition with its evidence; nothing when it is not at hand."""
    folder = DATA / "uai2014-mar"
    paths = [path for path in (folder / f"{name}.uai", folder / f"{name}.uai.gz") if path.exists()]
    if not paths:
        return None
    return read_given(paths[0], folder / f"{name}.uai.evid")


def read_given(path: Path, evidence: Path) -> Model:
    model = read(path)
    return model.given(read_evidence(evidence, model))


def smokers(
    people: int, friendships: float, influence: float, *, open_world: bool = False
) -> Model:
    program, known = friends(
        people, open_world=open_world, friendships=friendships, smokers=0.1, influence=influence
    )
    return model_of(ground(program, known))


def binary(builder: Builder) -> Model:
    graph = builder.build()
    return named(builder, np.full(graph.variables, 2))


def named(builder: Builder, sizes: np.ndarray) -> Model:
    names = tuple(f"v{number}" for number in range(len(sizes)))
    values = tuple(tuple(str(value) for value in range(size)) for size in sizes)
    return Model(builder.build(), names, values)
