"""Random models of many families, each small enough for an exact answer.

A family is a function from a generator of random numbers to a model.
"""

import tempfile
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from varied_models import binary, named, smokers

import orbitmc as om
from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.inference.program import MarkovLogic, ground_program
from orbitmc.mln.data.reader import parse_database
from orbitmc.mln.language.parser import parse
from orbitmc.models._chimera import random_chimera
from orbitmc.models._ising import ising, ising_grid, potts_grid

Rng = np.random.Generator
Tables = list[tuple[list[int], NDArray[np.float64]]]
Counted = tuple[MarkovLogic, dict[str, NDArray[np.float64]]]

INFLUENCE = 0.8  # below 1, Gibbs sampling forgets its start within a few sweeps (Dobrushin)


# Models that mix


def weak_tables(rng: Rng) -> Model:
    """Random tables of pairs and triples, made so weak that Gibbs sampling surely mixes."""
    sizes = rng.integers(2, 5, rng.integers(6, 21))
    tables = _random_tables(rng, sizes, 1.5 * len(sizes), arities=(2, 3))
    scale = min(1.0, INFLUENCE / max(influence(tables, len(sizes)), 1e-9))
    builder = Builder(sizes)
    for variable, size in enumerate(sizes):
        builder.add_factor([variable], rng.normal(0.0, 0.4, size))
    for scope, table in tables:
        builder.add_factor(scope, scale * table)
    return named(builder, sizes)


def weak_spins(rng: Rng) -> Model:
    """Spins on a random graph, every one with couplings that sum to less than 1."""
    spins = int(rng.integers(6, 25))
    edges = _random_edges(rng, spins, int(1.5 * spins))
    couplings = rng.normal(0.0, 0.5, len(edges))
    sums = np.bincount(edges.reshape(-1), np.repeat(np.abs(couplings), 2), spins)
    scale = min(1.0, INFLUENCE / sums.max())
    return ising(rng.normal(0.0, 0.4, spins), edges, scale * couplings)


def warm_grid(rng: Rng) -> Model:
    """A grid of spins above the temperature at which it orders."""
    rows, columns = rng.integers(2, 6, 2)
    coupling = rng.uniform(-0.2, 0.2)
    return ising_grid(rows, columns, coupling, rng.normal(0.0, 0.4, (rows, columns)))


def influence(tables: Tables, variables: int) -> float:
    """The most that the neighbours of a variable can move it: a bound on Dobrushin's sum.

    A change of log-odds by `d` moves a distribution by at most tanh(d / 4), which is below d / 4.
    """
    sums = np.zeros((variables, variables))
    for scope, table in tables:
        for one, other in combinations(range(len(scope)), 2):
            change = _largest_change(np.moveaxis(table, (one, other), (0, 1))) / 4
            sums[scope[one], scope[other]] += change
            sums[scope[other], scope[one]] += change
    return float(sums.sum(axis=1).max())


def _largest_change(table: NDArray[np.float64]) -> float:
    """How far the log-odds of two values of the first variable depend on the second."""
    odds = table[:, None] - table[None, :]
    return float(np.ptp(odds, axis=2).max())


# Models with a fringe of low width


def sparse_tables(rng: Rng) -> Model:
    """Random tables of few pairs: most variables hang on a small core, or on nothing."""
    count = int(rng.integers(20, 60))
    sizes = rng.integers(2, 4, count) if rng.random() < 0.5 else np.full(count, 2)
    spread = rng.uniform(0.3, 1.5)
    builder = Builder(sizes)
    for variable, size in enumerate(sizes):
        builder.add_factor([variable], rng.normal(0.0, 0.3, size))
    for edge in _random_edges(rng, count, int(rng.uniform(1.0, 1.4) * count)).tolist():
        builder.add_factor(edge, spread * rng.normal(size=sizes[edge]))
    return named(builder, sizes)


def grid_with_tails(rng: Rng) -> Model:
    """A grid of spins on which paths hang; some of them join two spins of the grid."""
    side, tails, length = 6, 6, 3
    edges = [(k, k + 1) for k in range(side * side) if (k + 1) % side]
    edges += [(k, k + side) for k in range(side * side - side)]
    spins = side * side
    for _ in range(tails):
        ends = rng.choice(side * side, 2, replace=False).tolist()
        path = [ends[0], *range(spins, spins + length), *ends[1:][: int(rng.integers(2))]]
        edges += pairwise(path)
        spins += length
    couplings = rng.uniform(0.2, 0.8) * rng.choice([-1.0, 1.0], len(edges))
    return ising(rng.normal(0.0, 0.2, spins), np.array(edges), couplings)


# Components of which some are easy


def grid_beside_components(rng: Rng) -> Model:
    """A grid of spins, and small trees and triangles beside it."""
    side, parts = 6, int(rng.integers(3, 9))
    edges = [(k, k + 1) for k in range(side * side) if (k + 1) % side]
    edges += [(k, k + side) for k in range(side * side - side)]
    for first in range(side * side, side * side + 3 * parts, 3):
        edges += [(first, first + 1), (first + 1, first + 2)]
        edges += [(first, first + 2)] if rng.random() < 0.5 else []
    spins = side * side + 3 * parts
    return ising(rng.normal(0.0, 0.3, spins), np.array(edges), rng.normal(0.0, 0.4, len(edges)))


# Models with several modes


def cold_grid(rng: Rng) -> Model:
    """A grid of spins below the temperature at which it orders, of either sign."""
    rows, columns = rng.integers(2, 5, 2)
    coupling = rng.uniform(0.3, 1.2) * rng.choice([-1.0, 1.0])
    fields = rng.normal(0.0, rng.uniform(0.0, 0.3), (rows, columns))
    return ising_grid(rows, columns, coupling, fields)


def magnet(rng: Rng) -> Model:
    """Spins that are all coupled: two modes, and a field that makes them unequal."""
    spins = int(rng.integers(6, 15))
    coupling = rng.uniform(0.8, 3.0) / spins
    return ising(np.full(spins, rng.normal(0.0, 0.1)), _all_pairs(spins), coupling)


def glass(rng: Rng) -> Model:
    seed = int(rng.integers(2**31))
    shape = (1, int(rng.integers(1, 3)))
    return random_chimera(*shape, beta=rng.uniform(0.3, 1.5), field=rng.uniform(0, 0.5), seed=seed)


def cold_labels(rng: Rng) -> Model:
    """Labels on a grid that prefer to agree."""
    rows, columns = rng.integers(2, 4, 2)
    labels = int(rng.integers(3, 5))
    fields = rng.normal(0.0, 0.1, (rows, columns, labels))
    return potts_grid(rows, columns, labels, rng.uniform(0.7, 2.2), fields)


def strong_tables(rng: Rng) -> Model:
    sizes = rng.integers(2, 4, rng.integers(6, 16))
    builder = Builder(sizes)
    spread = rng.uniform(0.7, 2.5)
    for scope, table in _random_tables(rng, sizes, 1.5 * len(sizes), arities=(2, 3)):
        builder.add_factor(scope, spread * table)
    return named(builder, sizes)


# Models with zeros


def tables_with_zeros(rng: Rng) -> Model:
    """Random tables in which a third of the entries is forbidden; a hidden state is allowed."""
    sizes = rng.integers(2, 4, rng.integers(5, 13))
    hidden = rng.integers(0, sizes)
    builder = Builder(sizes)
    for scope, table in _random_tables(rng, sizes, 1.2 * len(sizes), arities=(2, 3)):
        table[rng.random(table.shape) < 0.33] = -np.inf
        table[tuple(hidden[scope])] = 0.0
        builder.add_factor(scope, table)
    return named(builder, sizes)


def hard_clauses(rng: Rng) -> Model:
    """Clauses of three literals that a hidden state satisfies, and fields."""
    atoms = int(rng.integers(8, 17))
    hidden = rng.integers(0, 2, atoms)
    builder = Builder(np.full(atoms, 2))
    for atom in range(atoms):
        builder.add_factor([atom], [0.0, rng.normal(0.0, 1.0)])
    for _ in range(int(rng.uniform(1.5, 3.5) * atoms)):
        scope = rng.choice(atoms, 3, replace=False)
        wanted = rng.integers(0, 2, 3)
        wanted[0] = hidden[scope[0]]
        builder.add_clause(scope.tolist(), wanted.tolist(), np.inf)
    return binary(builder)


def hard_colouring(rng: Rng) -> Model:
    """Neighbours have different colours, as in a hidden colouring; sites have preferences."""
    sites, colours = int(rng.integers(6, 13)), int(rng.integers(3, 5))
    hidden = rng.integers(0, colours, sites)
    builder = Builder(np.full(sites, colours))
    for site in range(sites):
        builder.add_factor([site], rng.normal(0.0, 0.5, colours))
    differ = builder.add_table(np.where(np.eye(colours) > 0, -np.inf, 0.0).reshape(-1))
    edges = _random_edges(rng, sites, int(1.5 * sites))
    allowed = edges[hidden[edges[:, 0]] != hidden[edges[:, 1]]]
    if len(allowed):
        builder.add_factors(allowed, differ)
    return named(builder, np.full(sites, colours))


def exactly_one(rng: Rng) -> Model:
    """Groups of atoms of which exactly one is true; links between the groups."""
    groups, size = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    atoms = np.arange(groups * size).reshape(groups, size)
    builder = Builder(np.full(atoms.size, 2))
    for atom in range(atoms.size):
        builder.add_factor([atom], [0.0, rng.normal(0.0, 0.5)])
    for group in atoms.tolist():
        builder.add_clause(group, [1] * size, np.inf)
        for two in combinations(group, 2):
            builder.add_clause(two, [0, 0], np.inf)
    for _ in range(2 * groups):
        one, other = rng.choice(groups, 2, replace=False)
        scope = [int(rng.choice(atoms[one])), int(rng.choice(atoms[other]))]
        builder.add_factor(scope, [0.0, 0.0, 0.0, rng.normal(0.0, 1.0)])
    return binary(builder)


def gates(rng: Rng) -> Model:
    """A circuit of gates (and, or, either) above random inputs."""
    inputs, gates = int(rng.integers(4, 9)), int(rng.integers(3, 9))
    kinds = ([0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 1, 0])
    builder = Builder(np.full(inputs + gates, 2))
    for atom in range(inputs):
        builder.add_factor([atom], [0.0, rng.normal(0.0, 1.0)])
    for gate in range(inputs, inputs + gates):
        result = np.array(kinds[rng.integers(3)])
        table = np.where(np.arange(2) == result[:, None], 0.0, -np.inf)
        builder.add_factor([*rng.choice(gate, 2, replace=False).tolist(), gate], table.reshape(-1))
    return binary(builder)


# Models with symmetries, and with nearly some


def exchangeable(rng: Rng) -> Model:
    """Variables of two or three values; all of them, and all pairs, are alike."""
    return _alike(rng, noise=0.0)


def nearly_exchangeable(rng: Rng) -> Model:
    return _alike(rng, noise=10 ** rng.uniform(-3, -0.5))


def ring(rng: Rng) -> Model:
    """A ring of variables of two to four values with one table."""
    return _ring(rng, noise=0.0)


def nearly_ring(rng: Rng) -> Model:
    return _ring(rng, noise=10 ** rng.uniform(-3, -0.5))


def two_sides(rng: Rng) -> Model:
    """Everybody of one side is coupled to everybody of the other."""
    return _sides(rng, noise=0.0)


def nearly_two_sides(rng: Rng) -> Model:
    return _sides(rng, noise=10 ** rng.uniform(-3, -0.5))


def people(rng: Rng) -> Model:
    """Friends and smokers of whom nothing is known: people are alike."""
    return smokers(int(rng.integers(2, 4)), 0.0, rng.uniform(0.3, 1.5), open_world=True)


def towns(rng: Rng) -> Counted:
    """People who smoke together or not at all, some of them observed friends.

    Its cells are sampled; constants that are alike can be counted, so the truth is known.
    """
    count = int(rng.integers(20, 120))
    strength, lean = rng.uniform(0.5, 8.0) / count, rng.normal(0.0, 1.0) / count
    names = ", ".join(f"P{number}" for number in range(count))
    rules = (
        f"p = {{{names}}}\nSmokes(p)\nFriends(p, p)\n"
        f"{strength!r} Friends(x,y) => (Smokes(x) <=> Smokes(y))\n{lean!r} Smokes(x)\n"
        f"{float(rng.normal(-1.0, 1.0))!r} Friends(x,y)\n"
    )
    return _town(rng, rules, "Smokes;Friends(P0,x)", ["Smokes"])


def _town(rng: Rng, rules: str, query: str, opened: list[str]) -> Counted:
    """A program with some observed friends, and the truth: constants that are alike are counted."""
    ends = [(a, b) for a in range(4) for b in range(4) if a != b and rng.random() < 0.5]
    facts = "".join(f"{rng.choice(['', '!'])}Friends(P{a},P{b})\n" for a, b in ends)
    with tempfile.TemporaryDirectory() as folder:
        program, known = Path(folder, "town.mln"), Path(folder, "town.db")
        program.write_text(rules)
        known.write_text(facts)
        asked = om.read_logic(program, known, query=query, opened=[*opened, "Friends"])
    truth = om.marginals(asked, method="counting")
    return asked, {name: one.probability for name, one in truth.items()}


def led_town(rng: Rng) -> Counted:
    """At most one leads, which hard rules say."""
    count = int(rng.integers(6, 30))
    rules = (
        "x != y => !(Leads(x) ^ Leads(y)).\n"
        f"{rng.normal(0.0, 10.0)!r} Leads(x)\n"
        f"{rng.uniform(0.0, 4.0) / count!r} Friends(x,y) => (Leads(x) <=> Leads(y))\n"
    )
    return _town(rng, _people(count, "Leads") + rules, "Leads", ["Leads"])


def united_town(rng: Rng) -> Counted:
    """All smoke or none, which hard rules say: no chain crosses from one to the other."""
    count = int(rng.integers(6, 30))
    rules = (
        f"Smokes(x) <=> Smokes(y).\n{rng.normal(0.0, 2.0) / count!r} Smokes(x)\n"
        f"{rng.uniform(0.0, 4.0) / count!r} Friends(x,y) => (Old(x) <=> Old(y))\n"
        "0.5 Smokes(x) => Old(x)\n"
    )
    return _town(rng, _people(count, "Smokes", "Old") + rules, "Smokes;Old", ["Smokes", "Old"])


def parted_town(rng: Rng) -> Counted:
    """Two parties that hard rules forbid to be there at once."""
    count = int(rng.integers(6, 30))
    rules = (
        f"!(Red(x) ^ Blue(y)).\n{rng.normal(0.0, 2.0)!r} Red(x)\n{rng.normal()!r} Blue(x)\n"
        "0.1 Friends(x,y) ^ Red(x) => Red(y)\n"
    )
    return _town(rng, _people(count, "Red", "Blue") + rules, "Red;Blue", ["Red", "Blue"])


def _people(count: int, *traits: str) -> str:
    names = ", ".join(f"P{number}" for number in range(count))
    declared = "".join(f"{trait}(p)\n" for trait in traits)
    return f"p = {{{names}}}\n{declared}Friends(p, p)\n"


def _alike(rng: Rng, noise: float) -> Model:
    count, size = int(rng.integers(5, 10)), int(rng.integers(2, 4))
    builder = Builder(np.full(count, size))
    field, pair = rng.normal(0.0, 0.5, size), rng.normal(0.0, 1.0, (size, size))
    pair = rng.uniform(0.5, 4.0) * (pair + pair.T) / count
    for variable in range(count):
        builder.add_factor([variable], field + noise * rng.normal(size=size))
    for scope in _all_pairs(count).tolist():
        builder.add_factor(scope, pair)
    return named(builder, np.full(count, size))


def _ring(rng: Rng, noise: float) -> Model:
    count, size = int(rng.integers(5, 16)), int(rng.integers(2, 5))
    builder = Builder(np.full(count, size))
    pair = rng.normal(0.0, rng.uniform(0.3, 1.5), (size, size))
    for variable in range(count):
        table = pair + noise * rng.normal(size=pair.shape)
        builder.add_factor([variable, (variable + 1) % count], table)
    return named(builder, np.full(count, size))


def _sides(rng: Rng, noise: float) -> Model:
    left, right = rng.integers(3, 8, 2)
    edges = [(one, left + other) for one in range(left) for other in range(right)]
    fields = np.repeat(rng.normal(0.0, 0.3, 2), [left, right])
    coupling = rng.normal(0.0, 1.0) / np.sqrt(left * right)
    noisy = coupling + noise * rng.normal(size=len(edges)) / np.sqrt(left * right)
    return ising(fields + noise * rng.normal(size=left + right), edges, noisy)


# What they share


def _random_tables(rng: Rng, sizes: np.ndarray, count: float, arities: tuple[int, ...]) -> Tables:
    found: Tables = []
    for _ in range(int(count)):
        scope = rng.choice(len(sizes), rng.choice(arities), replace=False)
        found.append((scope.tolist(), rng.normal(size=sizes[scope])))
    return found


def _all_pairs(count: int) -> np.ndarray:
    return np.array(list(combinations(range(count), 2)))


def _random_edges(rng: Rng, count: int, edges: int) -> np.ndarray:
    pairs = _all_pairs(count)
    return pairs[rng.choice(len(pairs), min(edges, len(pairs)), replace=False)]


# Rows and columns that are matched once, and a few variables that cannot change alone


def matched(rng: Rng) -> Model:
    """Rows and columns of which each is matched at most once."""
    return _matching(rng, *rng.integers(2, 5, size=2).tolist(), perfect=False)


def perfectly_matched(rng: Rng) -> Model:
    """As many rows as columns, each matched once."""
    return _matching(rng, *[int(rng.integers(2, 5))] * 2, perfect=True)


def _matching(rng: Rng, rows: int, columns: int, *, perfect: bool) -> Model:
    table = np.arange(rows * columns).reshape(rows, columns)
    builder = Builder(np.full(table.size + 2, 2))
    for variable in range(table.size + 2):
        builder.add_factor([variable], [0.0, rng.normal(0.0, 1.5)])
    for line in (*table.tolist(), *table.T.tolist()):
        for two in combinations(line, 2):
            builder.add_clause(two, [0, 0], np.inf)
        if perfect:
            builder.add_clause(line, [1] * len(line), np.inf)
    for other in range(2):
        pair = int(rng.integers(table.size))
        builder.add_factor([pair, table.size + other], rng.normal(0.0, 1.0, size=(2, 2)))
    return binary(builder)


def tied_by_parity(rng: Rng) -> Model:
    """A chain of variables; in two places three are tied by parity, and two of these agree."""
    return _tied(rng, 3)


def one_of_some(rng: Rng) -> Model:
    """A chain of variables; in two places exactly one of four is 1, or it costs a lot."""
    return _tied(rng, 4)


def _tied(rng: Rng, size: int) -> Model:
    count, strength = 24, float(rng.uniform(3.0, 15.0))
    builder = Builder(np.full(count, 2))
    for variable in range(count):
        builder.add_factor([variable], [0.0, rng.normal(0.0, 0.5)])
    for two in pairwise(range(count)):
        coupling = rng.normal(0.0, 0.3)
        builder.add_factor(two, [coupling, 0.0, 0.0, coupling])
    ones = np.indices((2,) * size).sum(axis=0)
    wanted = ones % 2 == 0 if size == 3 else ones == 1
    for first in (2, 13):
        builder.add_factor(list(range(first, first + size)), strength * wanted)
        if size == 3:
            builder.add_factor([first, first + 1], [strength, 0.0, 0.0, strength])
    return binary(builder)


# Equivalence relations that factors do not say

Truth = dict[str, NDArray[np.float64]]
RELATION = (
    "Same(thing, thing)",
    "Red(thing)",
    "Same(x,x).",
    "Same(x,y) => Same(y,x).",
    "Same(x,y) ^ Same(y,z) => Same(x,z).",
)


def partitions(items: int) -> Iterator[list[int]]:
    """The block of each item, blocks numbered as they come, in every way."""
    if items == 0:
        yield []
        return
    for labels in partitions(items - 1):
        for label in range(max(labels, default=-1) + 2):
            yield [*labels, label]


def close_items(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items of which any two may be the same."""
    return _equivalence(rng, int(rng.integers(4, 8)), -0.5, 1.5)


def far_items(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items that are hardly ever the same, but for a few pairs."""
    return _equivalence(rng, int(rng.integers(5, 9)), -5.0, 3.0)


def two_groups(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items that are one block or two, and seldom anything in between."""
    items = int(rng.integers(4, 8))
    inside = np.arange(items) < items // 2
    gain = np.where(inside[:, None] == inside, 2.5, 0.0)
    across = 2.0 * rng.normal() / max(1, int(inside.sum() * (~inside).sum()))
    return _equivalence(rng, items, 0.0, 0.2, gain + np.where(gain == 0.0, across, 0.0))


def some_items(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items that may be in no block at all."""
    return _equivalence(rng, int(rng.integers(3, 7)), 0.0, 1.5, partial=True)


def _equivalence(
    rng: Rng,
    items: int,
    mean: float,
    spread: float,
    beside: NDArray[np.float64] | float = 0.0,
    *,
    partial: bool = False,
) -> tuple[MarkovLogic, Truth]:
    """A program in which pairs of items have random gains, and some decide other atoms.

    Items that share the block of one more are in none, if the relation is `partial`.
    """
    pairs = _all_pairs(items)
    gain = rng.normal(mean, spread, len(pairs)) + (np.zeros((items, items)) + beside)[*pairs.T]
    atoms = int(rng.integers(0, 3))
    tied, pull = rng.integers(len(pairs), size=atoms), rng.normal(0.0, 2.0, size=atoms)
    names = [f"Same(C{one},C{other})" for one, other in pairs.tolist()]
    rules = [f"{worth!r} {name}" for name, worth in zip(names, gain.tolist(), strict=True)]
    rules += [f"{float(pull[a])!r} {names[tied[a]]} ^ Red(C{a})" for a in range(atoms)]
    things = ", ".join(f"C{item}" for item in range(items))
    laws = [law for law in RELATION if not partial or law != "Same(x,x)."]
    alone = rng.normal(0.0, 1.5, items) if partial else np.zeros(items)
    rules += [f"{float(alone[c])!r} Same(C{c},C{c})" for c in range(items) if partial]
    text = "\n".join([f"thing = {{ {things} }}", *laws, *rules])
    labels = np.array(list(partitions(items + partial)))
    inside = labels[:, :items] != labels[:, [-1]] if partial else labels >= 0
    same = (labels[:, pairs[:, 0]] == labels[:, pairs[:, 1]]) & inside[:, pairs[:, 0]]
    free = np.logaddexp(0.0, pull) - np.log(2.0)  # of an atom whose pair is 1
    weights = np.exp(same @ gain + same[:, tied] @ free + inside @ alone)
    chance, there = (weights @ flags / weights.sum() for flags in (same, inside))
    red = np.full(items, 0.5)
    red[:atoms] = chance[tied] / (1.0 + np.exp(-pull)) + (1.0 - chance[tied]) / 2.0
    truth = {f"Red(C{item})": red[[item]] for item in range(items)}
    truth |= {f"Same(C{item},C{item})": there[[item]] for item in range(items)}
    for (one, other), p in zip(pairs.tolist(), chance.tolist(), strict=True):
        truth[f"Same(C{one},C{other})"] = truth[f"Same(C{other},C{one})"] = np.array([p])
    program = parse(text)
    return ground_program(program, parse_database("", program)), truth


# Total orders

ORDER = (
    "Before(thing, thing)",
    "Red(thing)",
    "!Before(x,x).",
    "x != y => (Before(x,y) v Before(y,x)).",
    "Before(x,y) ^ Before(y,z) => Before(x,z).",
)


def loose_order(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items that like some places a little more than others."""
    return _order(rng, int(rng.integers(3, 7)), 0.5)


def tight_order(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items of which many pairs have a strong preference, in circles, too."""
    return _order(rng, int(rng.integers(3, 7)), 3.0)


def _order(rng: Rng, items: int, spread: float) -> tuple[MarkovLogic, Truth]:
    """A program in which pairs of items have random gains, and some decide other atoms."""
    pairs = _all_pairs(items)
    places = np.array(list(permutations(range(items))))
    before = places[:, :, None] < places[:, None, :]
    things = f"thing = {{ {', '.join(f'C{item}' for item in range(items))} }}"
    return _program_of(rng, [things, *ORDER], "Before({},{})", pairs, before, spread)


def _program_of(
    rng: Rng,
    text: list[str],
    atom: str,
    pairs: NDArray[np.int64],
    every: NDArray[np.bool_],
    spread: float,
) -> tuple[MarkovLogic, Truth]:
    """A program in which some pairs have random gains, and some of these decide other atoms.

    `every[state, first, second]` are all relations that hard rules allow. Constants are called C0,
    C1 and so on, of a second sort D0, D1 and so on.
    """
    gain, atoms = rng.normal(0.0, spread, len(pairs)), int(rng.integers(0, 3))
    tied, pull = rng.integers(len(pairs), size=atoms), rng.normal(0.0, 2.0, size=atoms)
    second = "D" if any(line.startswith("place = ") for line in text) else "C"

    def name(one: int, other: int) -> str:
        return atom.format(f"C{one}", f"{second}{other}")

    names = [name(*pair) for pair in pairs.tolist()]
    rules = [f"{worth!r} {name}" for name, worth in zip(names, gain.tolist(), strict=True)]
    rules += [f"{float(pull[a])!r} {names[tied[a]]} ^ Red(C{a})" for a in range(atoms)]
    program = parse("\n".join([*text, *rules]))
    holds = every[:, pairs[:, 0], pairs[:, 1]]
    free = np.logaddexp(0.0, pull) - np.log(2.0)  # of an atom whose pair is 1
    weights = np.exp(holds @ gain + holds[:, tied] @ free)
    chance = np.einsum("s,sij->ij", weights, every) / weights.sum()
    decides = chance[pairs[tied, 0], pairs[tied, 1]]
    red = np.full(every.shape[1], 0.5)
    red[:atoms] = decides / (1.0 + np.exp(-pull)) + (1.0 - decides) / 2.0
    truth = {f"Red(C{item})": red[[item]] for item in range(every.shape[1])}
    truth |= {name(*place): np.array([p]) for place, p in np.ndenumerate(chance)}
    return ground_program(program, parse_database("", program)), truth


# Forests, and matchings of two sorts

FOREST = (
    "Above(thing, thing)",
    "Red(thing)",
    "!Above(x,x).",
    "Above(x,y) ^ Above(y,z) => Above(x,z).",
    "Above(x,z) ^ Above(y,z) => (Above(x,y) v Above(y,x) v x = y).",
)
MATCHING = (
    "At(thing, place)",
    "Red(thing)",
    "At(x,p) ^ At(x,q) => p = q.",
    "At(x,p) ^ At(y,p) => x = y.",
)


def some_forest(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Items that may stand above others."""
    items = int(rng.integers(3, 6))
    things = f"thing = {{ {', '.join(f'C{item}' for item in range(items))} }}"
    every = np.array([above for parents in product(range(-1, items), repeat=items)
                      if (above := _ancestors(parents)) is not None])  # fmt: skip
    return _program_of(rng, [things, *FOREST], "Above({},{})", _all_pairs(items), every, 1.5)


def _ancestors(parents: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Who is above whom; None if somebody is above himself."""
    above = np.zeros((len(parents), len(parents)), dtype=np.bool_)
    for item in range(len(parents)):
        other = parents[item]
        while other >= 0 and not above[other, item]:
            above[other, item], other = True, parents[other]
    return None if above.diagonal().any() else above


def some_matching(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Things of which each has a place of its own, or none."""
    return _places(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)), ())


def full_matching(rng: Rng) -> tuple[MarkovLogic, Truth]:
    """Things of which each has a place of its own."""
    rows = int(rng.integers(2, 5))
    return _places(rng, rows, rows + int(rng.integers(0, 2)), ("EXIST p At(x,p).",))


def _places(rng: Rng, rows: int, columns: int, more: tuple[str, ...]) -> tuple[MarkovLogic, Truth]:
    sorts = [
        f"{sort} = {{ {', '.join(f'{letter}{k}' for k in range(count))} }}"
        for sort, letter, count in (("thing", "C", rows), ("place", "D", columns))
    ]
    choices = product(range(-(not more), columns), repeat=rows)
    every = np.array([
        np.array(chosen)[:, None] == np.arange(columns)
        for chosen in choices
        if len({*chosen} - {-1}) == rows - chosen.count(-1)
    ])  # fmt: skip
    pairs = np.argwhere(np.ones((rows, columns), dtype=np.bool_))
    return _program_of(rng, [*sorts, *MATCHING, *more], "At({},{})", pairs, every, 1.5)
