"""Random models that fool samplers: modes that hardly anybody enters, and values that are rare."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import bisect
from scipy.special import comb, logsumexp
from varied_models import binary, named, smokers

from orbitmc.graph.builder import Builder
from orbitmc.graph.model import Model
from orbitmc.models._ising import add_scaled

Rng = np.random.Generator
Truth = dict[str, NDArray[np.float64]]


# A few states that weigh as much as all others


def heavy_table(rng: Rng) -> tuple[Model, Truth]:
    """One table over all atoms in which one or two states stand out."""
    atoms = int(rng.integers(8, 17))
    fields, heavy, weights = _heavy(rng, atoms)
    table = np.zeros((2,) * atoms)
    for state, weight in zip(heavy, weights, strict=True):
        table[tuple(state)] = weight
    builder = _independent(fields)
    builder.add_factor(list(range(atoms)), table)
    return binary(builder), heavy_truth(fields, heavy, weights)


def heavy_conjunction(rng: Rng) -> tuple[Model, Truth]:
    """One or two conjunctions of many atoms: a weight that only one state earns."""
    atoms = int(rng.integers(12, 41))
    fields, heavy, weights = _heavy(rng, atoms)
    builder = _independent(fields)
    for state, weight in zip(heavy, weights, strict=True):
        builder.add_clause(list(range(atoms)), (1 - state).tolist(), -weight)
    return binary(builder), heavy_truth(fields, heavy, weights)


def heavy_truth(fields: np.ndarray, heavy: np.ndarray, weights: np.ndarray) -> Truth:
    """Marginals of independent atoms, of which some states weigh `exp(weight)` times as much."""
    chance = 1 / (1 + np.exp(-fields))
    states = np.exp(np.log(np.where(heavy == 1, chance, 1 - chance)).sum(axis=1))
    extra = states * np.expm1(weights)
    p = (chance + extra @ heavy) / (1 + extra.sum())
    return {f"v{atom}": np.array([1 - p[atom], p[atom]]) for atom in range(len(p))}


def _heavy(rng: Rng, atoms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fields, and one or two states that weigh a twentieth to ten times as much as all others."""
    fields = rng.normal(0.0, rng.choice([0.0, 0.3]), atoms)
    first = rng.integers(0, 2, atoms)
    heavy = np.stack([first, 1 - first])[: rng.integers(1, 3)]
    shares = np.exp(rng.uniform(np.log(0.05), np.log(10.0), len(heavy)))
    free = np.log1p(np.exp(fields)).sum()
    return fields, heavy, np.log(shares) + free - heavy @ fields


def _independent(fields: np.ndarray) -> Builder:
    builder = Builder(np.full(len(fields), 2))
    for atom in np.flatnonzero(fields).tolist():
        builder.add_factor([atom], [0.0, fields[atom]])
    return builder


# A switch between much room and much weight


def switch(rng: Rng) -> Model:
    """One value of a switch leaves atoms free, another rewards them for agreeing with a pattern.

    Both are about as probable, but a chain that has one hardly ever comes to the other.
    """
    atoms, positions = int(rng.integers(6, 31)), int(rng.integers(2, 4))
    strength = rng.uniform(1.0, 4.0)
    builder = Builder([positions, *([2] * atoms)])
    room = np.zeros(positions)
    for atom in range(1, atoms + 1):
        table = np.zeros((positions, 2))
        table[1:, :] = strength * rng.permuted(np.tile([0.0, 1.0], (positions - 1, 1)), axis=1)
        builder.add_factor([0, atom], table)
        room += np.log(np.exp(table).sum(axis=1))
    builder.add_factor([0], rng.normal(0.0, 1.0, positions) - room)
    return named(builder, np.array([positions, *([2] * atoms)]))


def crowd(rng: Rng) -> tuple[Model, Truth]:
    """Atoms that gain from every three of them that are true: all of them, or hardly any.

    Random starts come to few true atoms, though many are about as probable.
    """
    atoms, field = int(rng.integers(8, 18)), rng.uniform(-3.0, 0.0)
    share = rng.uniform(0.1, 0.9)
    weight = bisect(lambda w: many(crowd_sizes(atoms, field, w)) - share, 0.0, 10.0)
    builder = _independent(np.full(atoms, field))
    triples = np.array(list(combinations(range(atoms), 3)))
    add_scaled(builder, triples, weight, np.eye(8)[7])
    p = float(crowd_sizes(atoms, field, weight) @ np.arange(atoms + 1)) / atoms
    return binary(builder), {f"v{atom}": np.array([1 - p, p]) for atom in range(atoms)}


def crowd_sizes(atoms: int, field: float, weight: float) -> NDArray[np.float64]:
    """How probable each number of true atoms is."""
    true = np.arange(atoms + 1)
    logs = np.log(comb(atoms, true)) + field * true + weight * comb(true, 3)
    found: NDArray[np.float64] = np.exp(logs - logsumexp(logs))
    return found


def many(sizes: NDArray[np.float64]) -> float:
    """How probable it is that more than two thirds of a crowd are true."""
    return float(sizes[2 * len(sizes) // 3 :].sum())


# Slices that leave almost no choice


def forced_slices(rng: Rng) -> Model:
    """Exchangeable ternary variables that prefer one value: MC-SAT forces most in every slice."""
    count = int(rng.integers(6, 13))
    builder = Builder(np.full(count, 3))
    field, preference = rng.uniform(2.0, 4.0), rng.normal(0.0, 1.0)
    agree = builder.add_table(rng.uniform(2.5, 5.0) / count * np.eye(3).reshape(-1))
    for variable in range(count):
        builder.add_factor([variable], [field, 0.0, 0.0])
        builder.add_factor([variable], [0.0, 0.0, preference])
    builder.add_factors(np.stack(np.triu_indices(count, 1), axis=1), agree)
    return named(builder, np.full(count, 3))


def known_people(rng: Rng) -> Model:
    """Friends and smokers of whom something is known."""
    return smokers(int(rng.integers(6, 13)), 3.0, rng.uniform(0.5, 2.0))


# Values that are rare


def rare_neighbours(rng: Rng) -> Model:
    """An effect that is rare, and causes that are rarer still but nearly always bring it."""
    causes = int(rng.integers(1, 5))
    builder = Builder([2] * (causes + 1))
    base, prior = rng.uniform(6.0, 20.0), rng.uniform(6.0, 20.0, causes)
    builder.add_factor([causes], [0.0, -base])
    for cause in range(causes):
        builder.add_factor([cause], [0.0, -prior[cause]])
        lift = rng.uniform(0.3, 1.2) * base
        builder.add_factor([cause, causes], [0.0, 0.0, 0.0, lift])
    return binary(builder)


def rare_causes(rng: Rng) -> Model:
    """A tree of causes and effects; what has no cause happens seldom, or never quite."""
    count = int(rng.integers(4, 16))
    builder = Builder([2] * count)
    builder.add_factor([0], _log_chances(_rare(rng)))
    for effect in range(1, count):
        without, given = _rare(rng), rng.uniform(0.1, 0.99)
        rows = [*_log_chances(without), *_log_chances(given)]
        builder.add_factor([int(rng.integers(effect)), effect], rows)
    return binary(builder)


def rare_values(rng: Rng) -> Model:
    """Variables with values from common to very rare, and couplings between them."""
    sizes = rng.integers(2, 5, rng.integers(4, 16))
    builder = Builder(sizes)
    for variable, size in enumerate(sizes):
        builder.add_factor([variable], [0.0, *(-rng.uniform(0.0, 18.0, size - 1))])
    for _ in range(len(sizes)):
        scope = rng.choice(len(sizes), 2, replace=False)
        builder.add_factor(scope.tolist(), rng.normal(0.0, 2.0, sizes[scope]))
    return named(builder, sizes)


def _rare(rng: Rng) -> float:
    return float(np.exp(-rng.uniform(4.0, 18.0)))


def _log_chances(chance: float) -> list[float]:
    return [float(np.log1p(-chance)), float(np.log(chance))]
