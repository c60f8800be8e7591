"""Odd models, each written to files: hard, huge, empty or impossible ones."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model

Table = tuple[Sequence[int], np.ndarray]


class Odd(NamedTuple):
    """A file, evidence, and two names of it that questions are about, with a value of the first."""

    path: Path
    evidence: tuple[str, ...]
    names: tuple[str, str]
    value: str

    @property
    def is_program(self) -> bool:
        return self.path.suffix == ".mln"


def model_of(sizes: Sequence[int], tables: Sequence[Table]) -> Model:
    """A model with variables 0, 1, ... and tables of weights."""
    builder = Builder(sizes)
    with np.errstate(divide="ignore"):
        for scope, table in tables:
            builder.add_factor(scope, np.log(table))
    values = {size: tuple(map(str, range(size))) for size in set(sizes)}
    return Model(builder.build(), tuple(map(str, range(len(sizes)))), [values[n] for n in sizes])


def pairs(rng: np.random.Generator, edges: Sequence[tuple[int, int]], size: int = 2) -> list[Table]:
    """A table of its own for every edge."""
    weights = np.exp(rng.normal(scale=0.7, size=(len(edges), size, size)))
    return [(edge, table) for edge, table in zip(edges, weights, strict=True)]


def lattice(side: int, first: int = 0) -> list[tuple[int, int]]:
    place = np.arange(first, first + side * side).reshape(side, side)
    across = zip(place[:, :-1].ravel().tolist(), place[:, 1:].ravel().tolist(), strict=True)
    down = zip(place[:-1].ravel().tolist(), place[1:].ravel().tolist(), strict=True)
    return [*across, *down]


def network(rng: np.random.Generator, count: int, most_parents: int = 3) -> list[Table]:
    """A random Bayesian network: every variable has a few parents among those before it."""
    tables: list[Table] = []
    for child in range(count):
        parents = rng.choice(child, min(child, int(rng.integers(most_parents + 1))), replace=False)
        rows = rng.dirichlet([1.0, 1.0], size=(2,) * len(parents))
        tables.append(([*sorted(parents.tolist()), child], rows))
    return tables


def _plain(
    make: Callable[[np.random.Generator], Model], suffix: str = ".uai", **evidence: str
) -> Callable[..., Odd]:
    def write(folder: Path, name: str) -> Odd:
        model = make(np.random.default_rng(7))
        path = folder / f"{name}{suffix}"
        om.write(model, path)
        seen = tuple(f"{variable[1:]}={value}" for variable, value in evidence.items())
        free = [one for one in model.names if one not in {two.split("=")[0] for two in seen}]
        return Odd(path, seen, (free[0], free[-1]), model.values[model.index[free[0]]][0])

    return write


def _program(rules: str, facts: Callable[[], Sequence[str]], *names: str) -> Callable[..., Odd]:
    def write(folder: Path, name: str) -> Odd:
        path, database = folder / f"{name}.mln", folder / f"{name}.db"
        path.write_text(rules)
        database.write_text("".join(f"{fact}\n" for fact in facts()))
        return Odd(path, (str(database),), (names[0], names[1]), "true")

    return write


def _all_different(count: int) -> Model:
    table = 1.0 - np.eye(count)
    return model_of([count] * count, [(e, table) for e in itertools.combinations(range(count), 2)])


def _parity(count: int) -> Model:
    table = np.zeros((2, 2, 2))
    for a, b in itertools.product(range(2), repeat=2):
        table[a, b, a ^ b] = 1.0
    return model_of([2] * count, [((k, k + 1, k + 2), table) for k in range(count - 2)])


def _clause(count: int) -> Model:
    builder = Builder([2] * count)
    builder.add_clause(list(range(count)), [1] * count, 3.0)
    names = tuple(map(str, range(count)))
    return Model(builder.build(), names, (("0", "1"),) * count)


def _colouring(rng: np.random.Generator, nodes: int, edges: int) -> Model:
    """Three colours; a hidden right colouring, so that there is one."""
    colour = rng.integers(3, size=nodes)
    table, chosen = 1.0 - np.eye(3), set[tuple[int, int]]()
    while len(chosen) < edges:
        a, b = sorted(rng.choice(nodes, 2, replace=False).tolist())
        if colour[a] != colour[b]:
            chosen.add((a, b))
    return model_of([3] * nodes, [(edge, table) for edge in sorted(chosen)])


def beside_a_grid(rng: np.random.Generator, components: int, side: int) -> Model:
    first = 3 * components
    edges = [(3 * k + a, 3 * k + b) for k in range(components) for a, b in ((0, 1), (1, 2))]
    return model_of([2] * (first + side * side), pairs(rng, [*edges, *lattice(side, first)]))


def _tree(count: int) -> list[tuple[int, int]]:
    return [((k - 1) // 2, k) for k in range(1, count)]


SAME = """SameCit(cit, cit)
Alike(cit, cit)
SameCit(x,x).
SameCit(x,y) => SameCit(y,x).
SameCit(x,y) ^ SameCit(y,z) => SameCit(x,z).
1.5 Alike(x,y) => SameCit(x,y)
-2 SameCit(x,y)
"""
MATCH = """Match(left, right)
Near(left, right)
Match(x,y) ^ Match(x,z) => y = z.
Match(x,y) ^ Match(z,y) => x = z.
EXIST y Match(x,y).
1.2 Near(x,y) => Match(x,y)
"""
SMOKERS = """Friends(person, person)
Smokes(person)
1.1 Smokes(x) ^ Friends(x,y) => Smokes(y)
-0.5 Smokes(x)
"""
TRIPLES = """R(thing, thing)
0.3 R(x,y) ^ R(y,z) => R(x,z)
-1 R(x,y)
"""
EXISTS = """Knows(person, person)
Happy(person)
0.7 Happy(x) => EXIST y Knows(x,y)
-2 Knows(x,y)
"""
HOLES = """In(pigeon, hole)
EXIST y In(x,y).
In(x,y) ^ In(z,y) => x = z.
"""


def _alike() -> list[str]:
    rng = np.random.default_rng(3)
    return [f"Alike(C{a},C{b})" for a, b in rng.integers(20, size=(40, 2)).tolist()]


def _near() -> list[str]:
    rng = np.random.default_rng(4)
    return [f"Near(L{a},R{b})" for a in range(15) for b in rng.integers(15, size=3).tolist()]


def _friends() -> list[str]:
    rng = np.random.default_rng(5)
    drawn = np.unique(rng.integers(2_000, size=(101_000, 2)), axis=0)[:100_000]
    return [f"Friends(P{a},P{b})" for a, b in drawn.tolist()]


ODD: dict[str, Callable[..., Odd]] = {
    "equivalence": _program(SAME, _alike, "SameCit(C0,C1)", "SameCit(C2,C3)"),
    "matching": _program(MATCH, _near, "Match(L0,R1)", "Match(L2,R3)"),
    "100,000 facts": _program(SMOKERS, _friends, "Smokes(P0)", "Smokes(P1)"),
    "triples": _program(
        TRIPLES, lambda: [f"!R(T{k},T{k})" for k in range(60)], "R(T0,T1)", "R(T2,T3)"
    ),
    "exists": _program(
        EXISTS, lambda: [f"Happy(P{k})" for k in range(0, 300, 2)], "Happy(P1)", "Knows(P0,P1)"
    ),
    "pigeons": _program(
        HOLES,
        lambda: [f"!In(P{k},H{k})" for k in range(8)] + ["!In(P8,H0)"],
        "In(P0,H1)",
        "In(P1,H0)",
    ),
    "one table": _plain(lambda rng: model_of([2] * 22, [(range(22), rng.random((2,) * 22))])),
    "one clause": _plain(lambda rng: _clause(10_000), ".json"),
    "one large variable": _plain(lambda rng: model_of([100_000], [((0,), rng.random(100_000))])),
    "two large variables": _plain(
        lambda rng: model_of([1_500, 1_500], [((0, 1), rng.random((1_500, 1_500)))])
    ),
    "dense 500": _plain(
        lambda rng: model_of([2] * 500, pairs(rng, list(itertools.combinations(range(500), 2))))
    ),
    "hub": _plain(
        lambda rng: model_of([2] * 20_001, pairs(rng, [(0, k + 1) for k in range(20_000)]))
    ),
    "chain": _plain(
        lambda rng: model_of([2] * 50_000, pairs(rng, [(k, k + 1) for k in range(49_999)]))
    ),
    "tree": _plain(lambda rng: model_of([2] * 50_000, pairs(rng, _tree(50_000)))),
    "grid": _plain(lambda rng: model_of([2] * 200**2, pairs(rng, lattice(200)))),
    "components and a grid": _plain(lambda rng: beside_a_grid(rng, 6_000, 40)),
    "network": _plain(lambda rng: model_of([2] * 20_000, network(rng, 20_000))),
    "network, seen": _plain(
        lambda rng: model_of([2] * 20_000, network(rng, 20_000)),
        **{f"v{k}": "1" for k in range(999, 20_000, 1_000)},
    ),
    "parity": _plain(lambda rng: _parity(200)),
    "noisy or": _plain(
        lambda rng: model_of([2] * 21, [(range(21), rng.dirichlet([1.0, 1.0], size=(2,) * 20))])
    ),
    "colouring": _plain(lambda rng: _colouring(rng, 200, 440)),
    "all different": _plain(lambda rng: _all_different(12)),
    "one coin": _plain(lambda rng: model_of([2], [])),
    "20,000 coins": _plain(lambda rng: model_of([2] * 20_000, [])),
    "huge weights": _plain(
        lambda rng: model_of(
            [2] * 900, [(e, np.exp(rng.uniform(-700.0, 700.0, (2, 2)))) for e in lattice(30)]
        )
    ),
    "tiny weights": _plain(
        lambda rng: model_of([2] * 900, [(e, 1e-300 * t) for e, t in pairs(rng, lattice(30))])
    ),
    "200 values": _plain(
        lambda rng: model_of([200] * 300, pairs(rng, [(k, k + 1) for k in range(299)], 200))
    ),
    "impossible": _plain(
        lambda rng: model_of([2] * 3, [((k, (k + 1) % 3), 1.0 - np.eye(2)) for k in range(3)])
    ),
    "sparse 20,000": _plain(
        lambda rng: model_of(
            [2] * 20_000,
            pairs(rng, [tuple(rng.choice(20_000, 2, replace=False)) for _ in range(22_000)]),
        )
    ),
    "clique of ten values": _plain(
        lambda rng: model_of([10] * 40, pairs(rng, list(itertools.combinations(range(40), 2)), 10))
    ),
}
